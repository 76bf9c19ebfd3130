"""The agreement between judges, for a terminal."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from assay.judging.agreement import Agreement
from assay.reports.agreement_tables import agreement_tables, notes
from assay.reports.grids import headed

WIDE = 118  # columns in which the widest table has room for whole cells


@dataclass(frozen=True)
class _Page:
    agreement: Agreement

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Names give way before figures do; a narrow screen breaks a cell rather than cut it."""
        yield from (Text(self.agreement.statement), Text())
        for part in agreement_tables(self.agreement):
            table = headed(part.names[0], right=part.names[1:])
            for column, name in zip(table.columns[1:], part.names[1:], strict=True):
                column.no_wrap = options.max_width >= WIDE and bool(name)
            for row in part.rows:
                table.add_row(*row)
            yield from (Text(part.title, style="bold"), table, Text())
        yield from (Text(note, style="dim") for note in notes(self.agreement))


def agreement_page(agreement: Agreement) -> RenderableType:
    return _Page(agreement)
