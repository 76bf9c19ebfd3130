"""Commands that ask before they send texts to a language model: `assay questions`, for questions
that documents answer, and `assay gold judge`, for judgments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import CORPUS, GoldFile
from assay.cli.output import Json, emit, progress_bar, put, say, warn
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.workbench.judging.machine_judges import JudgingOutcome, JudgingPlan, WritingPlan

# why a command stopped: its exit code
EXIT = {"": 0, "refused": 2, "ceiling": 3, "outage": 4, "unusable": 4, "interrupted": 130}


def questions(
    corpus: Annotated[str, typer.Argument(help=f"The corpus: {CORPUS}.")],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="The model that writes the questions: NAME of a table judges.NAME in assay.toml.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The file to write. Documents in it are not sent again."
        ),
    ],
    count: Annotated[
        int, typer.Option(min=1, max=20, help="The number of questions for each document.")
    ] = 4,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Send at most this many documents.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send the texts without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the first prompt without sending anything.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="The configuration file.", show_default="assay.toml")
    ] = None,
    json: Json = False,
) -> None:
    """Have a language model write the questions that documents answer, for assay index --questions.

    Only documents without questions are sent. The command first says which, and where to."""
    from assay.reports import listing
    from assay.workbench.judging.machine_judges import plan_questions, write_questions
    from assay.workbench.searching.corpora import imported_corpus

    name = imported_corpus(corpus, say=say)
    plan = plan_questions(name, by, output, config=config, count=count, limit=limit)
    _announce_questions(plan)
    if dry_run:
        _show_prompt(plan.prompt(plan.documents[0]) if plan.documents else ())
        return
    if plan.documents and not yes:
        _ask_leave()
    with progress_bar() as bar:
        done = write_questions(plan, lambda n, of: bar("writing", n, of))
    emit(done, lambda: listing.key_values(done, spent=listing.spending(done.spent)), json=json)
    if done.stopped:
        say(f"stopped: {done.why}; the same command goes on from there", style="red")
    elif done.documents:
        say(f"next: assay index {corpus} --questions {output}")
    sys.exit(EXIT[done.stopped])


def _announce_questions(plan: WritingPlan) -> None:
    from assay.core.types import counted

    if plan.known:
        say(f"{counted(plan.known, 'document')} with questions already: nothing is sent for them")
    texts = f"{counted(len(plan.documents), 'document')} of corpus {plan.corpus}"
    asked = f"{texts}, {counted(plan.characters, 'character')} with what is asked"
    _announce(asked if plan.documents else "", plan)


# ── `assay gold judge` ────────────────────────────────────────────────────────────────────────────


def judge(
    dataset: GoldFile,
    by: Annotated[str, typer.Option("--by", help="The judge, by its name in assay.toml.")],
    judged: Annotated[
        bool, typer.Option(help="Judge pairs that people have judged, to see how far they agree.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Retry pairs that got no usable answer.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge at most this many pairs.")] = None,
    corpus: Annotated[
        str,
        typer.Option(help=f"Where the documents are: {CORPUS}.", show_default="what was pooled"),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Send the texts without asking.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the first prompt and the cost without sending anything."
        ),
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="The configuration file.", show_default="assay.toml")
    ] = None,
    json: Json = False,
) -> None:
    """Let a machine judge vote on the pairs of the pool that it has not judged.

    Its votes are kept apart from people's, and affect labels only if the policy counts machines."""
    from assay.reports import listing
    from assay.workbench.deciding import baseline
    from assay.workbench.judging import machine_judges

    plan = machine_judges.plan_judging(
        dataset, by, config=config, corpus=corpus, judged=judged, again=again, limit=limit
    )
    _announce_pairs(plan)
    if dry_run:
        _show_prompt(plan.to_send[0].request.messages if plan.to_send else ())
        return
    if plan.to_send and not yes:
        _ask_leave()
    with progress_bar() as bar:
        done = machine_judges.judge_pairs(
            plan, by=baseline.who_records(""), tick=lambda n, of: _progress(bar, n, of)
        )
    emit(
        done,
        lambda: listing.key_values(
            done, unusable=len(done.unusable), spent=listing.spending(done.spent)
        ),
        json=json,
    )
    _say_end(done, plan)
    sys.exit(4 if done.unusable and not done.stopped else EXIT[done.stopped])


def _announce_pairs(plan: JudgingPlan) -> None:
    from assay.core.types import counted

    if plan.gone:
        say(f"{counted(plan.gone, 'pair')} left out: the set has their queries no more")
    in_vain = len(plan.unusable_before)
    if known := len(plan.items) - len(plan.to_send) - in_vain:
        say(f"{counted(known, 'answer')} known from before: nothing is sent for them")
    if in_vain:
        say(
            f"{counted(in_vain, 'pair')} got no usable answer before: nothing is sent for them; "
            "--again asks once more"
        )
    if plan.again:
        say(f"{plan.again} judged before, with another document, rubric or model: judged again")
    if not plan.to_send:
        _announce("", plan)
        return
    texts = f"{counted(plan.documents, 'document')} of corpus {plan.corpus}"
    pairs = f"{texts} for {counted(len(plan.to_send), 'pair')}"
    _announce(f"{pairs}, {counted(plan.characters, 'character')} with the rubric", plan)
    price = "without prices its cost is not known"
    if plan.cost is not None:
        price = f"about {plan.cost:,.4f} by the prices of the table"
    ceiling = plan.machine.max_cost
    most = f", at most {ceiling:,g}" if ceiling is not None else ""
    say(f"about {plan.tokens:,} tokens: {price}{most}")


def _progress(bar: Callable[[str, int, int], None], done: int, of: int) -> None:
    """A bar where somebody watches, else a line for every tenth."""
    if sys.stderr.isatty():
        bar("judging", done, of)
    elif done % max(1, of // 10) == 0 or done == of:
        say(f"{done} of {of} pairs")


def _say_end(done: JudgingOutcome, plan: JudgingPlan) -> None:
    from assay.core.types import counted

    for pair in done.unusable:
        warn(f"no vote on {pair.doc_id} for {pair.query_id}: {pair.why}")
    kept = f"{counted(done.votes, 'vote')} kept, {counted(done.left, 'pair')} left"
    if done.stopped:
        worst = done.stopped in ("outage", "refused", "unusable")
        say(f"{'error: ' if worst else ''}stopped: {done.why}", style="red" if worst else "yellow")
        first = ""
        if done.stopped == "refused":
            first = f"fix the key or the table [judges.{done.judge}] in assay.toml; then "
        say(f"{kept}; {first}the same command goes on from there")
    else:
        say(kept)
    if done.changed_labels is not None:
        say(f"the policy counts machines: {counted(done.changed_labels, 'label')} changed")
    if done.votes and plan.people:
        say(f"assay gold agreement {plan.dataset} shows how far they agree with people's, by topic")


# ── sending texts to a language model ─────────────────────────────────────────────────────────────


def _announce(what: str, plan: WritingPlan | JudgingPlan) -> None:
    """Say which texts will be sent, and where; `what` is empty if there are none."""
    if not what:
        say("nothing is to be sent")
        return
    machine = plan.machine
    say(f"to be sent: {what}, to {machine.host}, model {machine.model}", style="bold")
    if machine.base_url.startswith("http:"):
        warn("the connection is not encrypted (http)")


def _show_prompt(messages: Iterable[Any]) -> None:
    """Print the messages of a prompt, for --dry-run."""
    for message in messages:
        put(f"── {message.role} ──\n{message.content}")
    say("dry run: nothing was sent, nothing was written")


def _ask_leave() -> None:
    """Ask before texts leave the machine."""
    watched = sys.stdin.isatty() and sys.stderr.isatty()
    if not watched or not typer.confirm("Send them?", err=True):
        raise UsageError(
            "nothing was sent",
            hint="Give --yes to send these texts; --dry-run shows the first prompt.",
        )
