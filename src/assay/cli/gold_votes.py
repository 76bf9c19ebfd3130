"""The commands of `assay gold` from votes to labels: merge, policy, adjudicate, sample, rebuild and
export-votes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import CORPUS, GoldFile
from assay.cli.output import Json, emit, say, tell, warn
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.workbench.judging.rulings import RulingOutcome
    from assay.workbench.judging.votes_to_labels import MergeOutcome

Corpus = Annotated[
    Path | None,
    typer.Option(help=f"The corpus that was judged: {CORPUS}.", show_default="the pool's"),
]
Partial = Annotated[
    bool, typer.Option("--partial", help="Import valid rows; exit 1 if any were rejected.")
]
LEFT_OUT = 10  # rejected rows that are listed; taste
Kind = Annotated[
    str,
    typer.Option(
        help="The kind of judge, if the file does not say: human or machine.", show_default="human"
    ),
]


def merge(
    dataset: GoldFile,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="The files judges sent back. If omitted, recompute the labels."),
    ] = None,
    judge: Annotated[
        str,
        typer.Option("--judge", "--by", help="The judge, if the file names none."),
    ] = "",
    kind: Kind = "",
    corpus: Corpus = None,
    unasked: Annotated[
        bool, typer.Option(help="Accept pairs that nobody was asked to judge.")
    ] = False,
    sample: Annotated[
        bool,
        typer.Option(
            help="Treat the votes as a spot check, which measures labels without changing them."
        ),
    ] = False,
    partial: Partial = False,
    store: Annotated[str, typer.Option(hidden=True, help="No longer needed.")] = "",
    json: Json = False,
) -> None:
    """Merge judges' votes into the set's log and update its labels."""
    from assay.reports import listing
    from assay.workbench.judging import packets, votes_to_labels

    if files:
        pairs = packets.sampled_pairs(dataset) if sample else None
        merged = votes_to_labels.merge_files(
            dataset,
            files,
            judge=judge,
            kind=kind,
            corpus=corpus,
            sample=pairs,
            allow=votes_to_labels.MergeOverrides(unasked=unasked, partial=partial),
        )
    else:
        merged = votes_to_labels.recompute_labels(dataset, corpus=corpus)
    counts = {"labels": 0, "labels_in_all": merged.labels}
    counts |= {"changed": 0, "labels_changed": len(merged.changed)}
    counts |= {"left_out": len(merged.left_out)}
    emit(merged, lambda: listing.nonzero_values(merged, **counts), json=json)
    _say_merged(merged)
    if files and merged.left_out:
        sys.exit(1)


def _say_merged(merged: MergeOutcome) -> None:
    from assay.core.types import counted

    _say_left_out(merged.left_out)
    _say_edited(merged.edited)
    if merged.spot_checks:
        votes = counted(merged.spot_checks, "spot-check vote")
        say(f"{votes}: they measure labels and change none")
    if merged.without_grade:
        say(f"skipped {counted(merged.without_grade, 'row')} without a grade")
    if merged.outdated:
        warn(
            f"skipped {counted(merged.outdated, 'row')} with a vote that the judge has changed "
            "since; to restore it, give the row a time in `at`"
        )
    if merged.stale:
        warn(f"{counted(merged.stale, 'vote')} on documents that have changed since they were read")
    if merged.second:
        verb = "needs" if merged.second == 1 else "need"
        warn(
            f"{counted(merged.second, 'pair')} {verb} a second judge: the first was unsure; "
            "assay gold pool assigns one"
        )
    _say_standing(merged.gold, merged.not_counted, merged.by_machine, merged.open)


def _say_edited(sentence: str) -> None:
    if sentence:
        warn(f"{sentence}; the edit is kept")


def _say_left_out(sentences: list[str]) -> None:
    for sentence in sentences[:LEFT_OUT]:
        warn(f"rejected: {sentence}")
    if len(sentences) > LEFT_OUT:
        more = len(sentences) - LEFT_OUT
        warn(f"rejected: {more} more; --json lists all of them")


def _say_standing(gold: str, not_counted: int, by_machine: int, waiting: int) -> None:
    from assay.core.types import counted

    if not_counted:
        say(
            f"{counted(not_counted, 'pair')} without a label: under the policy none of the votes "
            f"count; to count machines: assay gold policy {gold} --counts human,machine"
        )
    if by_machine:
        verb = "rests" if by_machine == 1 else "rest"
        labels = counted(by_machine, "label")
        warn(f"provisional: {labels} {verb} on machines alone")
    if waiting:
        verb = "needs" if waiting == 1 else "need"
        warn(f"{counted(waiting, 'pair')} {verb} a ruling: assay gold adjudicate {gold}")


def policy(
    dataset: GoldFile,
    name: Annotated[
        str,
        typer.Argument(
            help="adjudicated, majority, senior or latest. If omitted, show the policy."
        ),
    ] = "",
    counts: Annotated[
        str, typer.Option(help="Whose votes count: human, machine or human,machine.")
    ] = "",
    senior: Annotated[
        list[str] | None,
        typer.Option(help="A judge whose vote decides. Repeat for more, most senior first."),
    ] = None,
    second: Annotated[
        str,
        typer.Option(
            help="When to ask a second judge: deciding (a verdict rests on one judge) or never."
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Show or set how labels are computed from votes; setting it updates the labels."""
    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench.judging import votes_to_labels

    if name or counts or senior or second:
        kinds = [kind.strip() for kind in counts.split(",") if kind.strip()]
        view = votes_to_labels.set_policy(
            dataset, name, counts=kinds, seniors=senior or (), second=second
        )
        say(f"{counted(len(view.changed), 'label')} changed")
    else:
        view = votes_to_labels.show_policy(dataset)
    emit(
        view,
        lambda: listing.policy_page(view.policy, view.labelling, view.labels, view.status),
        json=json,
    )
    if view.overruled:
        rulings = counted(view.overruled, "ruling")
        verb = "has" if view.overruled == 1 else "have"
        warn(
            f"{rulings} {verb} no effect under this policy; to let rulings decide: "
            f"assay gold policy {view.gold} adjudicated"
        )
    _say_standing(view.gold, view.not_counted, view.labelling.by_machine, view.labelling.open)


def adjudicate(
    dataset: GoldFile,
    query: Annotated[str, typer.Argument(help="The query to rule on.")] = "",
    document: Annotated[str, typer.Argument(help="The document to rule on.")] = "",
    grade: Annotated[int | None, typer.Option(help="The grade.")] = None,
    rationale: Annotated[str, typer.Option(help="Why this grade is right.")] = "",
    by: Annotated[str, typer.Option("--by", help="The name of the person who rules.")] = "",
    kind: Kind = "",
    completed: Annotated[
        Path | None, typer.Option("--from", help="Read rulings from a completed file.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the disagreements to a .csv or .jsonl file."),
    ] = None,
    blind: Annotated[bool, typer.Option(help="Hide the names of the judges.")] = False,
    partial: Partial = False,
    corpus: Corpus = None,
    json: Json = False,
) -> None:
    """List the pairs on which judges disagree, or rule on them."""
    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench.judging import rulings
    from assay.workbench.judging.packets import spare_judgments
    from assay.workbench.project.output_files import refuse_outputs

    if query or completed is not None:
        if completed is not None:
            if query or grade is not None:
                raise UsageError("rule on one pair or on the pairs of a file, not both")
            outcome = rulings.rule_from(dataset, completed, by=by, kind=kind, partial=partial)
        elif not document or grade is None or not by.strip():
            raise UsageError(
                "a ruling needs a query, a document, --grade, --rationale and --by",
                hint="Without arguments, the command lists the disagreements.",
            )
        else:
            outcome = rulings.rule(
                dataset, query, document, grade, rationale=rationale, by=by, kind=kind
            )
        _print_rulings(outcome, json=json)
        return
    refuse_outputs(output)
    spare_judgments(output)
    found = rulings.disputes(dataset, blind=blind, corpus=corpus)
    emit(found, lambda: listing.disputes_page(found), json=json)
    count = counted(len(found), "disagreement")
    if output is not None:
        rulings.write_disputes(dataset, found, output, corpus=corpus)
        said = f"{count} written to {output}. Fill in the columns grade and rationale, then: "
        say(f"{said}assay gold adjudicate {dataset} --from {output} --by NAME")
    elif found and not json:
        ruling = 'QUERY DOC --grade G --rationale "…" --by NAME'
        say(f"{count}. To rule: assay gold adjudicate {dataset} {ruling}")


def _print_rulings(done: RulingOutcome, *, json: bool) -> None:
    from assay.core.types import counted
    from assay.reports import listing

    emit(done, lambda: listing.key_values(done, left_out=len(done.left_out)), json=json)
    _say_left_out(done.left_out)
    _say_edited(done.edited)
    if done.overruled:
        warn(
            f"{counted(done.overruled, 'ruling')} without effect under the policy {done.policy}; "
            f"to let rulings decide: assay gold policy {done.gold} adjudicated"
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
        typer.Option(
            "--output", "-o", help="Write the pairs without their grades: .html, .jsonl or .csv."
        ),
    ] = None,
    corpus: Corpus = None,
    report: Annotated[
        bool, typer.Option("--report", help="Show what the last sample found.")
    ] = False,
    json: Json = False,
) -> None:
    """Draw labelled pairs to judge again, or report how many labels were wrong."""
    from assay.reports import listing
    from assay.workbench.judging import packets
    from assay.workbench.judging.packets import spare_judgments
    from assay.workbench.project.output_files import refuse_outputs

    if report:
        checked = packets.spot_check(dataset)
        emit(checked, lambda: listing.spot_check_page(checked), json=json)
        if checked.waiting:
            say(f"{checked.waiting} of {checked.drawn} pairs have no judgment yet")
        if checked.own:
            warn(
                f"{checked.own} pairs were checked by the judge who made the label: "
                "they measure the judge's consistency, not whether the label is right"
            )
        return
    refuse_outputs(output)
    spare_judgments(output)
    drawn = packets.draw_sample(dataset, size, seed=seed, output=output, corpus=corpus)
    emit(drawn, lambda: listing.draw_page(drawn), json=json)
    if output is not None:
        say(
            f"{len(drawn.pairs)} pairs written to {output}; merge the judgments with "
            f"assay gold merge {dataset} FILE --sample --judge NAME"
        )


def rebuild(dataset: GoldFile, json: Json = False) -> None:
    """Rebuild the gold file from its log, for example after a git merge."""
    from assay.workbench.review import rebuild as rebuilding

    sentences = rebuilding.rebuild(dataset)
    answer = {"gold": str(dataset), "changed": bool(sentences), "said": sentences}
    tell(answer, sentences or f"{dataset}: nothing to do", json=json)


def export_votes(
    dataset: GoldFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write.", show_default="STEM.votes.jsonl"),
    ] = None,
    json: Json = False,
) -> None:
    """Export the votes of a set in the format of earlier versions of Assay."""
    from assay.core.types import counted
    from assay.workbench.review import rebuild as rebuilding

    done = rebuilding.export_votes(dataset, output)
    answer = {"gold": str(dataset), "written": str(done.written), "votes": done.votes}
    tell(answer, f"{counted(done.votes, 'vote')} written to {done.written}", json=json)
    if done.left_out:
        acts = counted(done.left_out, "other act")
        say(f"{acts} stay in the log only: review decisions, suggestions, flags, added queries")


GOLD_COMMANDS = (merge, policy, adjudicate, sample, rebuild, export_votes)
