"""Who may call what, as a table: `python -m assay.web.role_table docs/workbench/roles.md` (`make
schema`) writes it again after a change of the route tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from assay.web.access import Guarded
from assay.web.app import TABLES


def role_table(table: Iterable[Guarded]) -> str:
    """Who may call what, as a table in Markdown that a phone has room for."""
    lines = ["| who | call |", "|---|---|"]
    for row in table:
        who = f"{row.key} key, {row.role}" if row.key else row.role
        lines.append(f"| {who} | `{'/'.join(row.methods)} {row.path}`<br>{row.summary} |")
    return "\n".join(lines) + "\n"


def write(path: Path) -> None:
    """The table at the end of a page, in place of the one that is there."""
    before, _, _ = path.read_text(encoding="utf-8").partition("| who |")
    path.write_text(before + role_table(row for rows in TABLES for row in rows), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
