"""`assay answers`: check generated answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import CORPUS
from assay.cli.output import Json, emit, progress_bar, say
from assay.core.errors import UsageError

app = typer.Typer(
    help="Check the citations, quotations and figures of generated answers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def group() -> None:
    """Check the citations, quotations and figures of generated answers."""


@app.command("check")
def check(
    answers: Annotated[
        Path,
        typer.Argument(
            help="Answers as JSONL, JSON or CSV: our own rows, ragas, deepeval, promptfoo, "
            "LangSmith, chat messages or a TREC RAG run."
        ),
    ],
    corpus: Annotated[
        str,
        typer.Option(help=f"The documents that citations lead to: {CORPUS}."),
    ] = "",
    as_of: Annotated[
        str, typer.Option(help="The date on which law must be in force, such as 2025-01-31.")
    ] = "",
    dataset: Annotated[
        Path | None, typer.Option(help="A gold set that names the documents to be cited.")
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(help="Map a column: answer=COLUMN. Repeat for more."),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(help="A gate: missing_citations=0 or authority_recall>=0.8. Repeat for more."),
    ] = None,
    name: Annotated[str, typer.Option(help="The system that wrote the answers.")] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the results JSON here.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a report: .html, .md, .xml (JUnit) or .csv.")
    ] = None,
    language: Annotated[str, typer.Option(help="The language of reports: en, fi or he.")] = "en",
    json: Json = False,
) -> None:
    """Check every citation, quotation and figure against the corpus and the retrieved passages.
    Without --corpus, only the passages are used."""
    from assay.core.results import EXIT
    from assay.reports.answers import card
    from assay.workbench.scoring.answers import check_file
    from assay.workbench.searching.corpora import corpus_at_hand

    pairs = [pair.partition("=") for pair in map or ()]
    if any(not (target and column) for target, _, column in pairs):
        raise UsageError("a mapping is written FIELD=COLUMN", hint="For example answer=response.")
    with progress_bar() as tick:
        results = check_file(
            answers,
            corpus=corpus_at_hand(corpus, say=say),
            as_of=as_of,
            dataset=dataset,
            mapping={target: column for target, _, column in pairs},
            gates=gate or (),
            output=output,
            report=report,
            language=language,
            name=name,
            progress=tick,
        )
    read = ", ".join(f"{field} from {column}" for field, column in results.receipt.columns.items())
    say(f"Read {read}.", style="dim")
    emit(results, lambda: card(results, language), json=json)
    if output is not None:
        say(f"results written to {output}", style="dim")
    if results.verdict is not None:
        raise typer.Exit(EXIT[results.verdict.status])
