"""Who may call what, as a Markdown table for the reference page on roles."""

from __future__ import annotations

from collections.abc import Iterable

from assay.web.access import Guarded


def role_table(table: Iterable[Guarded]) -> str:
    """Who may call what, as a table in Markdown that a phone has room for."""
    lines = ["| who | call |", "|---|---|"]
    for row in table:
        who = f"{row.key} key, {row.role}" if row.key else row.role
        lines.append(f"| {who} | `{'/'.join(row.methods)} {row.path}`<br>{row.summary} |")
    return "\n".join(lines) + "\n"
