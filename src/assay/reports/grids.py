"""Terminal tables with and without headings, and paragraphs with a hanging indent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

STATUS_STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}


def bare_table() -> Table:
    """Columns without heads or lines."""
    return Table(box=None, pad_edge=False, show_header=False)


def headed_table(*names: str, right: Sequence[str] = ()) -> Table:
    """Columns with heads; those of `right` come last and are figures."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in names:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right")
    return table


def keep_on_one_line(table: Table, *names: str) -> None:
    """Columns whose cells stay on one line; the others give way."""
    for column in table.columns:
        if column.header in names:
            column.no_wrap = True


@dataclass(frozen=True)
class HangingText:
    """A text whose lines after the first are moved in."""

    text: Text
    by: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, line in enumerate(self.text.wrap(console, options.max_width - self.by)):
            line.rstrip()
            yield Text.assemble(" " * self.by if number else "", line)
