"""What the votes come to for a whole set: its labels, what changes, and what waits for a ruling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import msgspec

from assay.core.errors import InputError
from assay.core.types import GoldSet, Judgment, Labelling, Vote, counted
from assay.judging.policy import Called, Label, Policy, as_named, judgment_of, labels
from assay.judging.votes import EDITED, RULING, SAMPLE, Pair


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A label that is another one now; None where there was none, or is none any more."""

    query_id: str
    doc_id: str
    before: int | None
    after: int | None


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """The labels of a set by its votes. `open` are the pairs without agreement, `second` those
    whose only judge was unsure, which ask for another; `not_counted` the number of pairs on which
    only judges have voted whose votes the policy does not count."""

    judgments: list[Judgment]
    labelling: Labelling
    status: str
    changes: list[Change]
    open: list[Label]
    second: list[Label]
    not_counted: int
    overruled: list[Label]  # somebody has ruled otherwise than the label is


def relabel(
    gold: GoldSet,
    votes: Iterable[Vote],
    policy: Policy,
    *,
    grades: Set[int] | None = None,
    called: Called = as_named,
) -> Labelled:
    """The labels that the policy makes of the votes. Votes on queries that have left the set stay
    in the log, and make no label. `called` gives the id that the file has for a person. A label
    that was edited by hand stays as the file has it."""
    ids = set(gold.query_ids)
    made = [
        label for label in labels(votes, policy).values() if label.query_id in ids and _makes(label)
    ]
    _refuse_off_scale([vote for label in made for vote in label.votes], grades)
    second = [label for label in made if _asks_another(label)]
    waiting = [label for label in made if waits(label)]
    labelling = Labelling(
        policy=policy.name,
        counts=policy.counts,
        by_machine=sum(label.by_machine for label in made),
        open=len(waiting),
    )
    own = {(row.query_id, row.doc_id): row for row in gold.iter_judgments()}
    judgments = [
        judgment
        for label in made
        if (judgment := _as_edited(label, own) or judgment_of(label, called)) is not None
    ]
    return Labelled(
        judgments=judgments,
        labelling=labelling,
        status=_status(gold, labelling),
        changes=_changes(gold, judgments),
        open=in_order(gold, waiting),
        second=in_order(gold, second),
        not_counted=sum(label.why == "not counted" for label in made),
        overruled=[label for label in made if _overruled(label)],
    )


def _as_edited(label: Label, own: Mapping[Pair, Judgment]) -> Judgment | None:
    by_hand = any(vote.source == EDITED for vote in label.standing)
    return own.get((label.query_id, label.doc_id)) if by_hand else None


def grade_given(label: Label) -> int | None:
    """The grade that the set will have of a pair; None where it will have none."""
    return label.grade if _makes(label) else None


def waits(label: Label) -> bool:
    """Whether a pair waits for a ruling: its votes are level, or all of them are unsure."""
    return label.why in ("tie", "unsure") and _makes(label) and not _asks_another(label)


def _asks_another(label: Label) -> bool:
    """Nobody disagrees with a judge who was unsure alone."""
    judges = {vote.judge for vote in label.votes if vote.source != SAMPLE}
    return label.why == "unsure" and len(judges) == 1


def _overruled(label: Label) -> bool:
    rulings = [v for v in label.votes if v.source == RULING and v.grade is not None]
    return bool(rulings) and max(rulings, key=lambda vote: vote.at).grade != label.grade


def _makes(label: Label) -> bool:
    """A pair that has only been spot-checked has lost its votes elsewhere, and asks nobody."""
    return any(vote.source != SAMPLE for vote in label.votes)


def _refuse_off_scale(votes: Sequence[Vote], grades: Set[int] | None) -> None:
    """A rubric that lost a grade would leave votes that nobody could read, whether they make a
    label or stand against one."""
    off = [
        vote
        for vote in votes
        if grades is not None and vote.grade is not None and vote.grade not in grades
    ]
    if off:
        shown = ", ".join(map(str, sorted(grades or ())))
        raise InputError(
            f"the scale is {shown}, and {counted(len(off), 'vote')} have another grade, first "
            f"{off[0].grade} of {off[0].judge} on {off[0].doc_id!r} for query "
            f"{off[0].query_id!r}",
            hint="Has the rubric lost a grade? Nothing was changed.",
        )


def _status(gold: GoldSet, after: Labelling) -> str:
    """Labels by machines alone make a set provisional. When people have judged all of it, what
    machines made so is undone; that somebody approves is for somebody to say."""
    if after.by_machine:
        return "provisional"
    before = gold.labelling
    return "" if before is not None and before.by_machine else gold.status


def _changes(gold: GoldSet, judgments: Sequence[Judgment]) -> list[Change]:
    before = {(row.query_id, row.doc_id): row.grade for row in gold.iter_judgments()}
    after = {(row.query_id, row.doc_id): row.grade for row in judgments}
    return [
        Change(query_id=pair[0], doc_id=pair[1], before=before.get(pair), after=after.get(pair))
        for pair in sorted(before.keys() | after.keys())
        if before.get(pair) != after.get(pair)
    ]


def in_order(gold: GoldSet, waiting: Iterable[Label]) -> list[Label]:
    """Most apart first, then as the set has its queries."""
    places = {query_id: place for place, query_id in enumerate(gold.query_ids)}

    def order(label: Label) -> tuple[int, int, str]:
        return -apart(label.votes), places[label.query_id], label.doc_id

    return sorted(waiting, key=order)


def apart(votes: Iterable[Vote]) -> int:
    """How many grades lie between the votes."""
    grades = [vote.grade for vote in votes if vote.grade is not None]
    return max(grades) - min(grades) if grades else 0


def contradicted(gold: GoldSet, votes: Iterable[Vote], policy: Policy) -> list[Label]:
    """The labels that a spot check found otherwise, where nobody has ruled since."""
    ids = set(gold.query_ids)
    return in_order(
        gold,
        (
            label
            for label in labels(votes, policy).values()
            if label.query_id in ids and differs(label)
        ),
    )


def differs(label: Label) -> bool:
    """Whether a spot check found a label otherwise, and nobody has ruled since."""
    if label.grade is None:
        return False
    ruled = max((vote.at for vote in label.votes if vote.source == RULING), default="")
    return any(
        vote.source == SAMPLE
        and vote.grade is not None
        and vote.grade != label.grade
        and vote.at > ruled
        for vote in label.votes
    )
