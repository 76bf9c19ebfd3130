"""`assay init`: begin a project."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from assay.cli.options import CORPUS
from assay.cli.output import Json, emit, say
from assay.core.errors import UsageError


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
    from assay.workbench.init import Answers, begin

    usual = Answers()
    ask = not yes and not json and sys.stdin.isatty() and sys.stderr.isatty()
    answers = Answers(
        dataset=dataset or _asked(ask, "Which gold set? A file, or a sample", usual.dataset),
        engine=engine
        or _asked(ask, "Which engine? A module, an address, saved results, or", usual.engine),
        corpus=corpus,
        minimum=_number(ask, usual.minimum) if minimum is None else minimum,
        ci=ci or _asked(ask, "Where do checks run? github, gitlab or none", usual.ci),
    )
    begun = begin(answers)
    emit(begun, lambda: "\n".join(begun.files), json=json)
    say(f"next: {begun.next}")


def _asked(ask: bool, question: str, usual: str) -> str:
    return str(typer.prompt(question, default=usual, err=True)).strip() if ask else usual


def _number(ask: bool, usual: float) -> float:
    text = _asked(ask, "What must it reach at least, 0 to 1?", f"{usual:g}")
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise UsageError(f"{text!r} is not a number") from None
    if not 0 <= number <= 1:
        raise UsageError(f"{text} is not between 0 and 1")
    return number
