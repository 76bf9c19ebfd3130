"""The agreement between judges, for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from assay.judging.agreement_figures import Agreement
from assay.reports.agreement_tables import agreement_tables, notes
from assay.reports.grids import headed


def agreement_page(agreement: Agreement) -> RenderableType:
    shown: list[RenderableType] = [Text(agreement.statement), Text()]
    for part in agreement_tables(agreement):
        table = headed(part.names[0], right=part.names[1:])
        for row in part.rows:
            table.add_row(*row)
        shown += [Text(part.title, style="bold"), table, Text()]
    shown += [Text(note, style="dim") for note in notes(agreement)]
    return Group(*shown)
