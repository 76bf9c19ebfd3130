"""`assay gold merge`, `policy`, `adjudicate` and `sample`: from votes to labels people can stand
behind. The verbs are in `workbench/voting.py`, `adjudicating.py` and `sampling.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import CORPUS, GoldFile
from assay.cli.output import Json, emit, say, tell
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.workbench.adjudicating import Ruled
    from assay.workbench.voting import Merged

Corpus = Annotated[
    Path | None,
    typer.Option(help=f"The corpus that was judged: {CORPUS}.", show_default="the pool's"),
]
Partial = Annotated[
    bool, typer.Option("--partial", help="Import valid rows; exit 1 if any were rejected.")
]
LEFT_OUT = 10  # rows that are named
Kind = Annotated[
    str, typer.Option(help="human or machine, where a file does not say.", show_default="human")
]


def merge(
    dataset: GoldFile,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="What judges sent back. If omitted, recompute the labels."),
    ] = None,
    judge: Annotated[
        str,
        typer.Option("--judge", "--by", help="Who judged; needed where a file does not say."),
    ] = "",
    kind: Kind = "",
    corpus: Corpus = None,
    unasked: Annotated[bool, typer.Option(help="Take pairs that nobody was asked for.")] = False,
    sample: Annotated[
        bool, typer.Option(help="These votes are a spot check: they measure labels.")
    ] = False,
    partial: Partial = False,
    store: Annotated[str, typer.Option(hidden=True, help="No longer needed.")] = "",
    json: Json = False,
) -> None:
    """Bring judges' votes into the set: its log keeps them, and the labels follow."""
    from assay.reports import listing
    from assay.workbench import sampling, voting

    if files:
        pairs = sampling.sampled_pairs(dataset) if sample else None
        merged = voting.merge_files(
            dataset,
            files,
            judge=judge,
            kind=kind,
            corpus=corpus,
            sample=pairs,
            allow=voting.Allowed(unasked=unasked, partial=partial),
        )
    else:
        merged = voting.label_again(dataset, corpus=corpus)
    counts = {"labels": 0, "labels_in_all": merged.labels}
    counts |= {"changed": 0, "labels_changed": len(merged.changed)}
    counts |= {"left_out": len(merged.left_out)}
    emit(merged, lambda: listing.what_happened(merged, **counts), json=json)
    _say_merged(merged)
    if files and merged.left_out:
        sys.exit(1)


def _say_merged(merged: Merged) -> None:
    from assay.core.types import counted

    _say_left_out(merged.left_out)
    _say_edited(merged.edited)
    if merged.spot_checks:
        votes = counted(merged.spot_checks, "vote")
        say(f"{votes} of a spot check: they measure labels, and make none")
    if merged.without_grade:
        say(f"{counted(merged.without_grade, 'row')} without a grade: left for later")
    if merged.outdated:
        say(
            f"{counted(merged.outdated, 'row')} said before what the judge has changed since; "
            "to go back to it, give the row a time in `at`",
            style="yellow",
        )
    if merged.stale:
        say(
            f"{counted(merged.stale, 'vote')} on documents that have changed since they were read",
            style="yellow",
        )
    if merged.second:
        verb = "waits" if merged.second == 1 else "wait"
        say(
            f"{counted(merged.second, 'pair')} {verb} for a second judge: the only one was unsure; "
            "pooling again deals them",
            style="yellow",
        )
    _say_standing(merged.gold, merged.not_counted, merged.by_machine, merged.open)


def _say_edited(sentence: str) -> None:
    if sentence:
        say(f"{sentence}; the file wins", style="yellow")


def _say_left_out(sentences: list[str]) -> None:
    for sentence in sentences[:LEFT_OUT]:
        say(f"left out: {sentence}", style="yellow")
    if len(sentences) > LEFT_OUT:
        say(f"left out: {len(sentences) - LEFT_OUT} more; --json has them all", style="yellow")


def _say_standing(gold: str, not_counted: int, by_machine: int, waiting: int) -> None:
    from assay.core.types import counted

    if not_counted:
        say(
            f"{counted(not_counted, 'pair')} without a label: only judges have voted whose votes "
            f"do not count; `assay gold policy {gold} --counts human,machine` counts machines"
        )
    if by_machine:
        verb = "rests" if by_machine == 1 else "rest"
        labels = counted(by_machine, "label")
        say(f"provisional: {labels} {verb} on machines alone", style="yellow")
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        say(
            f"{counted(waiting, 'pair')} {verb} for a ruling: assay gold adjudicate {gold}",
            style="yellow",
        )


def policy(
    dataset: GoldFile,
    name: Annotated[
        str,
        typer.Argument(
            help="adjudicated, majority, senior or latest. Without it: show the policy."
        ),
    ] = "",
    counts: Annotated[
        str, typer.Option(help="Whose votes count: human, machine or human,machine.")
    ] = "",
    senior: Annotated[
        list[str] | None,
        typer.Option(help="Whose vote decides, the most senior first. Repeat for more."),
    ] = None,
    second: Annotated[
        str,
        typer.Option(
            help="When a second judge is asked: deciding (a verdict rests on one) or never."
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Show or set how labels come from votes; setting it computes them anew."""
    from assay.core.types import counted
    from assay.reports import terminal_judging
    from assay.workbench import voting

    if name or counts or senior or second:
        kinds = [kind.strip() for kind in counts.split(",") if kind.strip()]
        view = voting.set_policy(dataset, name, counts=kinds, seniors=senior or (), second=second)
        say(f"{counted(len(view.changed), 'label')} changed")
    else:
        view = voting.show_policy(dataset)
    emit(
        view,
        lambda: terminal_judging.policy_page(view.policy, view.labelling, view.labels, view.status),
        json=json,
    )
    if view.overruled:
        rulings = counted(view.overruled, "ruling")
        verb = "does" if view.overruled == 1 else "do"
        say(
            f"{rulings} {verb} not decide by this policy: the label is another, or there is none; "
            f"`assay gold policy {view.gold} adjudicated` has rulings decide",
            style="yellow",
        )
    _say_standing(view.gold, view.not_counted, view.labelling.by_machine, view.labelling.open)


def adjudicate(
    dataset: GoldFile,
    query: Annotated[str, typer.Argument(help="Rule on this query …")] = "",
    document: Annotated[str, typer.Argument(help="… and this document.")] = "",
    grade: Annotated[int | None, typer.Option(help="The grade.")] = None,
    rationale: Annotated[str, typer.Option(help="Why this grade is right.")] = "",
    by: Annotated[str, typer.Option("--by", help="Who rules.")] = "",
    kind: Kind = "",
    rulings: Annotated[
        Path | None, typer.Option("--from", help="Rulings from a file that was filled in.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the disagreements as .csv or .jsonl."),
    ] = None,
    blind: Annotated[bool, typer.Option(help="Do not say who said what.")] = False,
    partial: Partial = False,
    corpus: Corpus = None,
    json: Json = False,
) -> None:
    """List the pairs on which judges do not agree, or rule on them."""
    from assay.core.types import counted
    from assay.reports import terminal_judging
    from assay.workbench import adjudicating
    from assay.workbench.outputs import refuse_outputs
    from assay.workbench.sparing import spare_judgments

    if query or rulings is not None:
        if rulings is not None:
            if query or grade is not None:
                raise UsageError("rule on one pair, or on those of a file, not both")
            done = adjudicating.rule_from(dataset, rulings, by=by, kind=kind, partial=partial)
        elif not document or grade is None or not by.strip():
            raise UsageError(
                "a ruling needs a query, a document, --grade, --rationale and --by",
                hint="Without any of them the disagreements are listed.",
            )
        else:
            done = adjudicating.rule(
                dataset, query, document, grade, rationale=rationale, by=by, kind=kind
            )
        _ruled(done, json=json)
        return
    refuse_outputs(output)
    spare_judgments(output)
    found = adjudicating.disputes(dataset, blind=blind, corpus=corpus)
    if output is not None:
        adjudicating.write_disputes(dataset, found, output, corpus=corpus)
        say(f"{counted(len(found), 'disagreement')} written to {output}; fill in, then --from it")
    emit(found, lambda: terminal_judging.disputes_page(found), json=json)
    if found and not json:
        say(
            f"{counted(len(found), 'disagreement')}; rule with "
            f'assay gold adjudicate {dataset} QUERY DOC --grade G --rationale "…" --by NAME'
        )


def _ruled(done: Ruled, *, json: bool) -> None:
    from assay.core.types import counted
    from assay.reports import listing

    emit(done, lambda: listing.key_values(done, left_out=len(done.left_out)), json=json)
    _say_left_out(done.left_out)
    _say_edited(done.edited)
    if done.overruled:
        say(
            f"{counted(done.overruled, 'ruling')} without effect: by the policy {done.policy} "
            f"the label is another; `assay gold policy {done.gold} adjudicated` has rulings "
            "decide",
            style="yellow",
        )
    _say_standing(done.gold, 0, 0, done.open)
    if done.left_out:
        sys.exit(1)


def sample(
    dataset: GoldFile,
    size: Annotated[int, typer.Option(min=1, help="How many labelled pairs to draw.")] = 50,
    seed: Annotated[int, typer.Option(help="The same seed draws the same pairs.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write them, blind: .html, .jsonl or .csv."),
    ] = None,
    corpus: Corpus = None,
    report: Annotated[
        bool, typer.Option("--report", help="What the last draw says of the labels.")
    ] = False,
    json: Json = False,
) -> None:
    """Draw labelled pairs to judge again, or report how many labels they show to be wrong."""
    from assay.reports import terminal_judging
    from assay.workbench import sampling
    from assay.workbench.outputs import refuse_outputs
    from assay.workbench.sparing import spare_judgments

    if report:
        checked = sampling.spot_check(dataset)
        emit(checked, lambda: terminal_judging.spot_check_page(checked), json=json)
        if checked.waiting:
            say(f"{checked.waiting} of {checked.drawn} pairs are not judged yet")
        if checked.own:
            say(
                f"{checked.own} pairs were checked by somebody who made the label: "
                "they measure how steady a judge is, not whether the label is right",
                style="yellow",
            )
        return
    refuse_outputs(output)
    spare_judgments(output)
    drawn = sampling.draw_sample(dataset, size, seed=seed, output=output, corpus=corpus)
    emit(drawn, lambda: terminal_judging.draw_page(drawn), json=json)
    if output is not None:
        say(
            f"{len(drawn.pairs)} pairs written to {output}; when they are judged: "
            f"assay gold merge {dataset} FILE --sample --judge NAME"
        )


def rebuild(dataset: GoldFile, json: Json = False) -> None:
    """Write the gold file again from its log: after a merge in git, or where it is behind."""
    from assay.workbench import rebuilding

    said = rebuilding.rebuild(dataset)
    answer = {"gold": str(dataset), "changed": bool(said), "said": said}
    tell(answer, said or f"{dataset}: nothing to do", json=json)


def export_votes(
    dataset: GoldFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write.", show_default="STEM.votes.jsonl"),
    ] = None,
    json: Json = False,
) -> None:
    """Write the votes of a set in the form of earlier versions, to go back to one."""
    from assay.core.types import counted
    from assay.workbench import rebuilding

    written, votes = rebuilding.export_votes(dataset, output)
    answer = {"gold": str(dataset), "written": str(written), "votes": votes}
    tell(answer, f"{counted(votes, 'vote')} written to {written}", json=json)


GOLD_COMMANDS = (merge, policy, adjudicate, sample, rebuild, export_votes)
