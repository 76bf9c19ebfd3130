"""The agreement between judges, as a page in Markdown."""

from __future__ import annotations

from assay.judging.agreement import Agreement
from assay.reports.agreement_tables import TitledTable, agreement_tables, notes


def agreement_markdown(agreement: Agreement) -> str:
    lines = [f"# Agreement on {agreement.dataset}", "", agreement.statement, ""]
    for part in agreement_tables(agreement):
        lines += _table(part)
    for note in notes(agreement):
        lines += [note, ""]
    return "\n".join(lines)


def _table(part: TitledTable) -> list[str]:
    marks = ["---", *("---:" for _ in part.names[1:])]
    rows = [part.names, marks, *part.rows]
    shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [f"## {part.title}", "", *shown, ""]
