"""`assay init`: begin a project."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import CORPUS
from assay.cli.output import Json, emit, say
from assay.core.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.workbench.project.init import Answers


def init(
    dataset: Annotated[
        str,
        typer.Option(help="The gold set; 'sample' writes one.", show_default="sample"),
    ] = "",
    engine: Annotated[
        str,
        typer.Option(
            help="What to score: a module or file.py, an address with {{query}}, saved results, an "
            "indexed corpus, or bm25 with --corpus.",
            show_default="bm25",
        ),
    ] = "",
    corpus: Annotated[
        str,
        typer.Option(help=f"For bm25 and random: {CORPUS}.", show_default="that of the sample"),
    ] = "",
    minimum: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="What the measure must reach.", show_default="0.4"),
    ] = None,
    ci: Annotated[
        str,
        typer.Option(
            help="Where it runs by itself: github, gitlab or none.", show_default="github"
        ),
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: what is not said has its default.")
    ] = False,
    json: Json = False,
) -> None:
    """Begin a project: four questions, then assay.toml, a sample set and a file for CI. No file is
    overwritten."""
    from msgspec.structs import replace

    from assay.workbench.project.init import Answers, begin, check_ci, check_folder, check_set

    check_folder()
    ask = not yes and not json and _at_a_terminal()
    usual = Answers(corpus=corpus)
    question = "Which gold set? A file, or a sample"
    chosen = dataset or _prompt_until_valid(ask, question, usual.dataset, check_set)
    check_set(chosen)
    answers = _with_engine(ask, replace(usual, dataset=chosen), engine)
    question = "Where do checks run? github, gitlab or none"
    answers = replace(
        answers,
        minimum=_prompt_threshold(ask, usual.minimum) if minimum is None else minimum,
        ci=ci or _prompt_until_valid(ask, question, usual.ci, check_ci),
    )
    begun = begin(answers)
    emit(begun, lambda: "\n".join(begun.files), json=json)
    say(f"next: {begun.next}")


def _with_engine(ask: bool, answers: Answers, engine: str) -> Answers:
    """One that is found; of a baseline, what it searches is asked too where nothing says it."""
    from msgspec.structs import replace

    from assay.workbench.project.init import asks_for_corpus, check_engine

    def found(text: str) -> None:
        named = replace(answers, engine=text)
        if not asks_for_corpus(named):
            check_engine(named)

    question = "Which engine? A module, an address, saved results, or"
    chosen = replace(
        answers, engine=engine or _prompt_until_valid(ask, question, answers.engine, found)
    )
    if not ask:
        return chosen
    if asks_for_corpus(chosen):
        question = "Which corpus does it search? A file, or the name of an imported one"
        searched = _prompt_until_valid(
            ask, question, None, lambda text: check_engine(replace(chosen, corpus=text))
        )
        return replace(chosen, corpus=searched)
    check_engine(chosen)
    return chosen


def _at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _prompt_until_valid(
    ask: bool, question: str, usual: str | None, check: Callable[[str], object]
) -> str:
    """Ask a question until `check` accepts the answer; without `ask`, the usual answer."""
    while ask:
        text = str(typer.prompt(question, default=usual, err=True)).strip()
        try:
            check(text)
        except AssayError as error:
            say(str(error), style="red")
        else:
            return text
    return usual or ""


def _prompt_threshold(ask: bool, usual: float) -> float:
    question = "What must it reach at least, 0 to 1?"
    return _parse_share(_prompt_until_valid(ask, question, f"{usual:g}", _parse_share))


def _parse_share(text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise UsageError(f"{text!r} is not a number") from None
    if not 0 <= number <= 1:
        raise UsageError(f"{text} is not between 0 and 1")
    return number
