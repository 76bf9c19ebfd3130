"""The commands `assay answers …`: check generated answers, pool them for judges, score votes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import CORPUS
from assay.cli.output import Json, emit, progress_bar, say, tell
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.workbench.judging.answer_figures import JudgedAnswers

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
        typer.Option(
            help="A gate: missing_citations=0 or authority_recall>=0.8. Repeat for more. "
            "By default, the gates on answers in assay.toml."
        ),
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
    from assay.workbench.scoring.answers import check_file, configured_gates
    from assay.workbench.scoring.recording import record_here
    from assay.workbench.searching.corpora import imported_corpus

    pairs = [pair.partition("=") for pair in map or ()]
    if any(not (target and column) for target, _, column in pairs):
        raise UsageError("a mapping is written FIELD=COLUMN", hint="For example answer=response.")
    with progress_bar() as tick:
        results = check_file(
            answers,
            corpus=imported_corpus(corpus, say=say),
            as_of=as_of,
            dataset=dataset,
            mapping={target: column for target, _, column in pairs},
            gates=gate or configured_gates(),
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
    if kept := record_here([(results, answers, "")], language=language):
        say(kept)
    if results.verdict is not None:
        raise typer.Exit(EXIT[results.verdict.status])


@app.command("pool")
def pool(
    results: Annotated[
        list[Path], typer.Argument(help="Results of `assay answers check`, of one system or more.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The set to make, such as drafts.json.")
    ],
    nuggets: Annotated[
        Path | None,
        typer.Option(help="Points that answers should make, vital or okay (nuggetizer JSONL)."),
    ] = None,
    judges: Annotated[
        str, typer.Option(help="Who judges, as in anna,bertil. Default: anybody.")
    ] = "",
    overlap: Annotated[float, typer.Option(help="The share of answers that two judge.")] = 0.0,
    json: Json = False,
) -> None:
    """Prepare checked answers for judges: what the exact check left open, claim by claim. The names
    of the systems are kept from them."""
    from assay.workbench.judging.answer_pool import pool_answers

    names = tuple(name.strip() for name in judges.split(",")) if judges else ()
    made = pool_answers(results, output, nuggets=nuggets, judges=names, overlap=overlap)
    sentence = f"{made.answers:,} answers, {made.claims:,} claims to judge in {made.gold}"
    if made.settled:
        sentence += f"; {made.settled:,} faulty citations are settled by the check"
    if made.without_text:
        sentence += f"; {made.without_text:,} citations lead to no text at hand"
    tell(made, f"{sentence}. Judge with: assay serve --gold {made.gold}", json=json)


@app.command("score")
def score(
    answers: Annotated[Path, typer.Argument(help="A set made by `assay answers pool`.")],
    json: Json = False,
) -> None:
    """Score judged answers: support, nuggets, and whether answers are correct and grounded. Machine
    votes count only where people's votes can correct them."""
    from assay.workbench.judging.answer_figures import judged_answers

    found = judged_answers(answers)
    emit(found, lambda: _judged_sentence(found), json=json)


def _judged_sentence(answers: JudgedAnswers) -> Any:
    """The figures of every system, with the share of claims that people judged first."""
    from rich.console import Group
    from rich.table import Table

    sentence = f"People judged {answers.by_people:,} of {answers.claims:,} claims"
    if answers.by_machines:
        sentence += f", machines {answers.by_machines:,}; people checked {answers.checked or 0:.0%}"
    parts: list[Any] = [f"{sentence}."]
    for system in answers.systems:
        table = Table(box=None, pad_edge=False, title=system.system, title_justify="left")
        for column in ("Measure", "Value", "95% interval", "Questions", "Note"):
            table.add_column(column)
        for measure, figure in system.figures.items():
            value = "–" if figure.value is None else f"{figure.value:.3f}"
            between = "{:.3f} to {:.3f}".format(*figure.interval) if figure.interval else "–"
            corrected = "machine votes, corrected" if figure.by == "corrected" else figure.reason
            judged = f"{figure.people} of {figure.questions}"
            table.add_row(measure.replace("_", " "), value, between, judged, corrected)
        verdicts = ", ".join(f"{what}: {count}" for what, count in system.verdicts.items())
        parts += [table, f"Answers: {verdicts}." if verdicts else "No answer has a verdict yet."]
    return Group(*parts)
