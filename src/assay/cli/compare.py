"""`assay compare`: is B better than A?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, emit


def compare(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Results files, or engines that `assay run` has scored; "
            "each is compared with the first."
        ),
    ],
    force: Annotated[
        bool, typer.Option(help="Compare even on different gold sets or corpora.")
    ] = False,
    primary: Annotated[
        str, typer.Option(help="The measure that decides. By default nDCG@10, or the pass rate.")
    ] = "",
    equivalence: Annotated[
        float | None,
        typer.Option(
            help="A margin such as 0.02: also say whether B is shown to be no worse than that."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Is B better than A? Differences with intervals and tests, and the queries that moved."""
    from assay.reports.terminal_comparison import comparison_table
    from assay.workbench.compare import compare_results

    if any(not path.exists() for path in results):
        from assay.workbench.run import kept_results

        results = kept_results(results)
    comparison = compare_results(results, force=force, primary=primary, equivalence=equivalence)
    emit(comparison, lambda: comparison_table(comparison), json=json)
