"""`assay start`: the guided way from own documents to a decision, made of ordinary commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.output import Json, emit, put, say
from assay.core.errors import AssayError

if TYPE_CHECKING:
    from assay.workbench.project.start import StartAnswers, StartStep


def start(
    documents: Annotated[
        str, typer.Argument(help="A file or folder of documents.", show_default="asked")
    ] = "",
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help="An engine to compare: bm25, the name of the corpus (Assay's own), a Python file, "
            "an address with {{query}}, or saved results. Repeat for more."
        ),
    ] = None,
    judges: Annotated[str, typer.Option(help="The judges, such as ann,ben.")] = "",
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Pairs for each judge.", show_default="60")
    ] = None,
    show: Annotated[
        bool, typer.Option("--steps", help="Show all steps and where you are; run nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Run each step that needs no answer.")
    ] = False,
    json: Json = False,
) -> None:
    """Go from your documents to a decision between two engines. Each step is a command that is
    shown before it runs. Leave with Ctrl-C; start again to go on."""
    from msgspec.structs import replace

    from assay.workbench.project import start as way

    answers = way.known_answers()
    given = {"documents": documents, "judges": judges, "engines": ",".join(engine or ())}
    for asked, text in given.items():
        if text:
            answers = way.answered(answers, asked, text)
    if pairs:
        answers = replace(answers, pairs=pairs)
    way.keep_answers(answers)
    if show or json:
        found_steps = way.steps(answers)
        emit(found_steps, lambda: _step_lines(found_steps), json=json)
        return
    while (at := way.next_step(answers)) is not None:
        number, step = at
        say(f"\nStep {number} of {len(way.steps(answers))}: {step.title}", style="bold")
        if step.asks:
            changed = _ask_answers(step, answers)
            if changed is None:
                return
            answers = changed
            way.keep_answers(answers)
        elif not _run(step, yes=yes):
            return
    say(
        "\nDone: report.html has the answer. To judge more, fill in pairs.csv, then: "
        "assay gold merge set.json pairs.csv --judge NAME."
    )


def _step_lines(steps: list[StartStep]) -> str:
    lines = []
    for number, step in enumerate(steps, start=1):
        lines.append(f"{'✓' if step.is_done else ' '} {number:2} {step.title}")
        lines += [f"       {line}" for line in step.lines]
    return "\n".join(lines)


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask_answers(step: StartStep, answers: StartAnswers) -> StartAnswers | None:
    """The answers with the one that the step asks for; None where nobody can be asked."""
    from assay.workbench.project import start as way

    if not _can_ask():
        say(f"next: {HOW[step.asks]}")
        return None
    while True:
        if step.asks == "queries":
            say("Paste one query a line, then an empty line. Or write logs, for the search log.")
            if not (text := _pasted_queries()):
                return None
        else:
            text = str(
                typer.prompt(
                    HOW[step.asks], err=True, default=way.usual_answer(step, answers) or None
                )
            )
        try:
            return way.answered(answers, step.asks, text)
        except AssayError as error:
            say(f"{error}", style="red")


HOW = {
    "documents": "Where are your documents? (assay start FOLDER)",
    "queries": "write queries.txt with one query a line, then: assay start",
    "engines": "Which engines, with commas between? bm25, the name of the corpus (Assay's own), a "
    "Python file, an address with {{query}}, or saved results (assay start --engine A --engine B)",
    "judges": "Who judges, with commas between? (assay start --judges ann,ben)",
}


def _pasted_queries() -> str:
    lines = []
    for line in sys.stdin:
        if not line.strip():
            break
        lines.append(line)
    return "".join(lines)


def _run(step: StartStep, *, yes: bool) -> bool:
    """Show the commands of a step and run them; whether the way goes on."""
    from assay.reports.words import page_words
    from assay.workbench.project import start as way

    if step.by_hand:
        say(page_words("en", "start")[f"by_hand {step.by_hand}"])
    for line in step.lines:
        put(line)
    if not step.commands or (step.by_hand and not _can_ask()):
        say("Then: assay start")
        return False
    if not yes:
        if not _can_ask():
            say("next: run it, or assay start --yes")
            return False
        if not typer.confirm("Run it?", default=True, err=True):
            return False
    if not way.run_commands(step):
        say("Then: assay start")
        return False
    now = next(
        next_step for next_step in way.steps(way.known_answers()) if next_step.key == step.key
    )
    if now == step:
        say("This step is not done yet. Then: assay start")
    return now != step
