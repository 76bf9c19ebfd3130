"""`assay compare`: is B better than A?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, emit


def compare(
    results: Annotated[
        list[Path], typer.Argument(help="Results files; each is compared with the first.")
    ],
    force: Annotated[
        bool, typer.Option(help="Compare even on different gold sets or corpora.")
    ] = False,
    json: Json = False,
) -> None:
    """Is B better than A? Paired differences with intervals, tests and the queries that moved."""
    from assay.reports.terminal_comparison import comparison_table
    from assay.workbench.compare import compare_results

    comparison = compare_results(results, force=force)
    emit(comparison, lambda: comparison_table(comparison), json=json)
