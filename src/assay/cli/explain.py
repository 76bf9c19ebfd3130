"""`assay explain`: the sum behind one number."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, emit, say


def explain(
    results: Annotated[Path, typer.Argument(help="A results file written by assay score.")],
    query: Annotated[str, typer.Argument(help="The id of a query.")],
    dataset: Annotated[
        Path | None, typer.Option(help="The gold set, when another tool wrote the results.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the sum behind every number of one query, rank by rank."""
    from assay.core.results_file import entry_to_json
    from assay.reports.explanation import explanation
    from assay.workbench.explain import explain

    told = explain(results, query, dataset)
    emit(entry_to_json(told.entry), lambda: explanation(told.entry, told.measures), json=json)
    if told.note:
        say(f"Gold set {told.note}.", style="yellow")
