"""Who may call what, as a table: `python -m assay.web.role_table docs/workbench/roles.md` (`make
schema`) writes it again after a change of the route tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from assay.web.access import ROLES, Guarded
from assay.web.app import TABLES


def role_table(table: Iterable[Guarded]) -> str:
    """Who may call what, as a table in Markdown."""
    columns = ("anyone", "log key", "watch key", *ROLES)
    lines = [
        f"| call | {' | '.join(columns)} | |",
        f"|---|{':-:|' * len(columns)}---|",
    ]
    for row in table:
        least = -1 if row.role == "anyone" else ROLES.index(row.role)
        cells = [
            least < 0,
            least < 0 or row.key == "log",
            least < 0 or row.key == "watch",
            *(place >= least for place in range(len(ROLES))),
        ]
        marks = " | ".join("✓" if cell else "" for cell in cells)
        lines.append(f"| `{'/'.join(row.methods)} {row.path}` | {marks} | {row.summary} |")
    return "\n".join(lines) + "\n"


def write(path: Path) -> None:
    """The table at the end of a page, in place of the one that is there."""
    before, _, _ = path.read_text(encoding="utf-8").partition("| call |")
    path.write_text(before + role_table(row for rows in TABLES for row in rows), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
