"""The two looks of a table on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table


def plain() -> Table:
    """Columns without heads or lines."""
    return Table(box=None, pad_edge=False, show_header=False)


def headed(*names: str, right: Sequence[str] = ()) -> Table:
    """Columns with heads; those of `right` come last and are figures."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in names:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right")
    return table
