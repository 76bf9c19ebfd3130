"""`assay questions`: a language model writes the questions that documents answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import CORPUS, announce, ask_leave, show_prompt
from assay.cli.output import Json, emit, progress_bar, say

if TYPE_CHECKING:
    from assay.workbench.judging.questions import WritingPlan

EXIT = {"": 0, "refused": 2, "ceiling": 3, "outage": 4, "unusable": 4}


def questions(
    corpus: Annotated[str, typer.Argument(help=f"The corpus: {CORPUS}.")],
    by: Annotated[
        str,
        typer.Option(
            "--by", help="The model that writes: NAME, of a table judges.NAME in assay.toml."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The file to write. Documents in it are not sent again."
        ),
    ],
    count: Annotated[
        int, typer.Option(min=1, max=20, help="How many questions for each document.")
    ] = 4,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Send at most this many documents.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send the texts without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the first prompt, send nothing.")
    ] = False,
    config: Annotated[Path | None, typer.Option(help="By default assay.toml.")] = None,
    json: Json = False,
) -> None:
    """Have a language model write the questions that documents answer, for assay index --questions.

    Only documents without questions are sent, after saying which, and where to."""
    from assay.reports import listing
    from assay.workbench.judging.questions import plan_questions, write_questions
    from assay.workbench.searching.corpus_lookup import corpus_at_hand

    name = corpus_at_hand(corpus, say=say)
    plan = plan_questions(name, by, output, config=config, count=count, limit=limit)
    _announce(plan)
    if dry_run:
        show_prompt(plan.asked(plan.documents[0]) if plan.documents else ())
        return
    if plan.documents and not yes:
        ask_leave()
    with progress_bar() as bar:
        done = write_questions(plan, lambda n, of: bar("writing", n, of))
    emit(done, lambda: listing.key_values(done, spent=listing.spending(done.spent)), json=json)
    if done.stopped:
        say(f"stopped: {done.why}; the same command goes on from there", style="red")
    elif done.documents:
        say(f"next: assay index {corpus} --questions {output}")
    sys.exit(EXIT[done.stopped])


def _announce(plan: WritingPlan) -> None:
    from assay.core.types import counted

    if plan.known:
        say(f"{counted(plan.known, 'document')} with questions already: nothing is sent for them")
    texts = f"{counted(len(plan.documents), 'document')} of corpus {plan.corpus}"
    asked = f"{texts}, {counted(plan.characters, 'character')} with what is asked"
    announce(asked if plan.documents else "", plan.machine)
