"""`assay report`: a report for people or programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, tell


def report(
    results: Annotated[Path, typer.Argument(help="A results file written by assay score.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="report.html, .md, .xml (JUnit), .csv or .tex")
    ],
    against: Annotated[
        Path | None, typer.Option(help="Another results file to compare with.")
    ] = None,
    language: Annotated[str, typer.Option(help="The report's language: en, fi or he.")] = "en",
    force: Annotated[
        bool, typer.Option(help="Compare even on different gold sets or corpora.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a report for people or programs. The ending of the output picks the format."""
    from assay.workbench.report import report_file

    report_file(results, output, against=against, language=language, force=force)
    tell({"report": str(output)}, f"report written to {output}", json=json)
