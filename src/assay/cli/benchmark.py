"""`assay benchmark`: public benchmarks of legal retrieval, listed and run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, emit, progress_bar, say, searching
from assay.cli.score import ConfigFile, Output, TopK

app = typer.Typer(help="Run public benchmarks of legal retrieval.", no_args_is_help=True)


@app.command("list")
def list_them(json: Json = False) -> None:
    """List the benchmarks, with licence and size. Every irds:ID of ir_datasets can be run too."""
    from assay.reports.listing import benchmark_list
    from assay.workbench.scoring.benchmark import list_benchmarks

    found = list_benchmarks()
    emit(found, lambda: benchmark_list(found), json=json)


@app.command("run")
def run(
    name: Annotated[str, typer.Argument(help="A benchmark from the list, or irds:ID.")],
    engine: Annotated[
        str,
        typer.Option(
            help="An engine of assay.toml, bm25, random, or assay for Assay's own engine."
        ),
    ],
    path: Annotated[
        Path | None,
        typer.Option(help="A folder with the publisher's files, instead of a download."),
    ] = None,
    config: ConfigFile = None,
    top_k: TopK = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Score an engine on a benchmark and show published scores of other engines."""
    from assay.reports.listing import benchmark_report
    from assay.workbench.scoring.benchmark import run_benchmark

    with progress_bar() as tick:
        report = run_benchmark(
            name,
            engine,
            path=path,
            config=config,
            top_k=top_k,
            output=output,
            progress=searching,
            tick=tick,
            say=say,
        )
    emit(report, lambda: benchmark_report(report), json=json)
    if report.failed:
        say(f"the engine failed on {report.failed} queries", style="red")
        sys.exit(4)
