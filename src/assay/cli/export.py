"""`assay export`: a run for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, emit, say
from assay.core.errors import UsageError


def export(
    run: Annotated[Path, typer.Argument(help="A results file of assay score, or any run.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="run.trec (TREC), or run.json (BEIR's results)."),
    ] = None,
    to: Annotated[
        str, typer.Option(help="trec or beir.", show_default="by the ending of the output")
    ] = "",
    mlflow: Annotated[
        str, typer.Option(metavar="URI", help="Log the results in MLflow: a folder or a server.")
    ] = "",
    experiment: Annotated[str, typer.Option(help="With --mlflow: the experiment.")] = "assay",
    json: Json = False,
) -> None:
    """Write a run as a TREC or BEIR file, or log results in MLflow."""
    from assay.workbench.export import export_run, log_to_mlflow

    if output is None and not mlflow:
        raise UsageError("give --output FILE or --mlflow URI")
    done: dict[str, object] = {}
    if output is not None:
        hits = export_run(run, output, format=to or None)
        done |= {"output": str(output), "hits": hits}
        say(f"{hits:,} hits written to {output}")
    if mlflow:
        id = log_to_mlflow(run, mlflow, experiment=experiment)
        done |= {"mlflow_run": id, "experiment": experiment}
        say(f"logged as run {id} of the experiment {experiment}")
    if json:
        emit(done, lambda: None, json=True)
