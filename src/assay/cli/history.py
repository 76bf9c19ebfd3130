"""`assay history`: how engines have done over time."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.options import StoreUrl, opened
from assay.cli.output import Json, emit


def history(
    dataset: Annotated[
        str, typer.Option("--dataset", "--gold", help="Only this gold set: a name or a file.")
    ] = "",
    engine: Annotated[str, typer.Option(help="Only this engine.")] = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Show how engines have done over time, and the runs where the level changed."""
    from assay.reports.terminal_comparison import trend_lines
    from assay.workbench.trend import trends

    with opened(store, create=False) as service:
        found = trends(service, gold=dataset, engine=engine)
    emit(found, lambda: trend_lines(found), json=json)
