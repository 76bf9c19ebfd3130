"""The labels that a policy makes of the votes on a gold set, the disputes that need a ruling, and
the votes that no second judge has checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

import msgspec

from assay.core.errors import InputError
from assay.core.types import GoldSet, Judgment, Labelling, Vote, counted
from assay.gold.votes import VoteInMemory
from assay.judging.agreement import linear_kappa
from assay.judging.policy import Called, Label, Policy, as_named, judgment_of, labels
from assay.judging.votes import EDITED, RULING, SAMPLE, UNNAMED, Pair, by_pair, current

# ── labels ────────────────────────────────────────────────────────────────────────────────────────


class LabelChange(msgspec.Struct, frozen=True, kw_only=True):
    """A label that is another one now; None where there was none, or is none any more."""

    query_id: str
    doc_id: str
    before: int | None
    after: int | None


class LabelledSet(msgspec.Struct, frozen=True, kw_only=True):
    """The labels of a set by its votes. `open` are the pairs without agreement, `second` those
    whose only judge was unsure, which ask for another; `not_counted` the number of pairs on which
    only judges have voted whose votes the policy does not count."""

    judgments: list[Judgment]
    labelling: Labelling
    status: str
    changes: list[LabelChange]
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
) -> LabelledSet:
    """The labels that the policy makes of the votes. Votes on queries that have left the set stay
    in the log, and make no label. `called` gives the id that the file has for a person. A label
    that was edited by hand stays as the file has it."""
    ids = set(gold.query_ids)
    made = [
        label
        for label in labels(votes, policy).values()
        if label.query_id in ids and _has_own_votes(label)
    ]
    _refuse_off_scale([vote for label in made for vote in label.votes], grades)
    second = [label for label in made if _asks_another(label)]
    waiting = [label for label in made if needs_ruling(label)]
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
    return LabelledSet(
        judgments=judgments,
        labelling=labelling,
        status=_status(gold, labelling),
        changes=_changes(gold, judgments),
        open=most_apart_first(gold, waiting),
        second=most_apart_first(gold, second),
        not_counted=sum(label.why == "not counted" for label in made),
        overruled=[label for label in made if _overruled(label)],
    )


def _as_edited(label: Label, own: Mapping[Pair, Judgment]) -> Judgment | None:
    """The label as somebody wrote it in the gold file, if the file still has that edit."""
    edit = next((vote for vote in reversed(label.standing) if vote.source == EDITED), None)
    mine = own.get((label.query_id, label.doc_id))
    if edit is None or mine is None:
        return None
    return mine if (mine.grade, mine.rationale) == (edit.grade, edit.rationale) else None


def grade_given(label: Label) -> int | None:
    """The grade that the set will have of a pair; None where it will have none."""
    return label.grade if _has_own_votes(label) else None


def needs_ruling(label: Label) -> bool:
    """Whether a pair waits for a ruling: its votes are level, or all of them are unsure."""
    return label.why in ("tie", "unsure") and _has_own_votes(label) and not _asks_another(label)


def _asks_another(label: Label) -> bool:
    """Nobody disagrees with a judge who was unsure alone."""
    judges = {vote.judge for vote in label.votes if vote.source != SAMPLE}
    return label.why == "unsure" and len(judges) == 1


def _overruled(label: Label) -> bool:
    rulings = [v for v in label.votes if v.source == RULING and v.grade is not None]
    return bool(rulings) and max(rulings, key=lambda vote: vote.at).grade != label.grade


def _has_own_votes(label: Label) -> bool:
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


def _changes(gold: GoldSet, judgments: Sequence[Judgment]) -> list[LabelChange]:
    before = {(row.query_id, row.doc_id): row.grade for row in gold.iter_judgments()}
    after = {(row.query_id, row.doc_id): row.grade for row in judgments}
    return [
        LabelChange(
            query_id=pair[0], doc_id=pair[1], before=before.get(pair), after=after.get(pair)
        )
        for pair in sorted(before.keys() | after.keys())
        if before.get(pair) != after.get(pair)
    ]


def most_apart_first(gold: GoldSet, waiting: Iterable[Label]) -> list[Label]:
    """Most apart first, then as the set has its queries."""
    places = {query_id: place for place, query_id in enumerate(gold.query_ids)}

    def order(label: Label) -> tuple[int, int, str]:
        return -grade_distance(label.votes), places[label.query_id], label.doc_id

    return sorted(waiting, key=order)


def grade_distance(votes: Iterable[Vote]) -> int:
    """How many grades lie between the votes."""
    grades = [vote.grade for vote in votes if vote.grade is not None]
    return max(grades) - min(grades) if grades else 0


def fails_spot_check(label: Label) -> bool:
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


# ── pairs without agreement ───────────────────────────────────────────────────────────────────────

SPOT_CHECK = "spot check"


class Opinion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one judge said; `stale` where the document reads otherwise now."""

    judge: str
    kind: str
    grade: int | None
    rationale: str
    at: str = ""
    source: str = ""
    stale: bool = False


class Dispute(msgspec.Struct, frozen=True, kw_only=True):
    """A pair without agreement: a tie, several judges who are all unsure, or a label that a spot
    check found otherwise. `apart` is how many grades lie between the judges."""

    query_id: str
    query: str
    doc_id: str
    why: str
    apart: int
    label: int | None
    votes: list[Opinion]


def find_disputes(
    gold: GoldSet,
    votes: Sequence[Vote],
    policy: Policy,
    *,
    stale: Set[str] = frozenset(),
    blind: bool = False,
) -> list[Dispute]:
    """Every pair that waits for a ruling, most apart first."""
    return list_disputes(gold, labels(votes, policy).values(), stale=stale, blind=blind)


def list_disputes(
    gold: GoldSet, made: Iterable[Label], *, stale: Set[str] = frozenset(), blind: bool = False
) -> list[Dispute]:
    """Those of some labels that wait for a ruling."""
    texts = {query.id: query.text for query in gold.queries}
    return [_dispute(label, texts, stale, blind) for label in disputed_labels(gold, made)]


def disputed_labels(gold: GoldSet, made: Iterable[Label]) -> list[Label]:
    """Of some labels those that wait for a ruling, in the order in which they are shown."""
    places = {query.id: place for place, query in enumerate(gold.queries)}

    def order(label: Label) -> tuple[int, bool, int, str]:
        return (
            -grade_distance(label.votes),
            fails_spot_check(label),
            places[label.query_id],
            label.doc_id,
        )

    waiting = [label for label in made if label.query_id in places and is_disputed(label)]
    return sorted(waiting, key=order)


def dispute_of(gold: GoldSet, label: Label) -> Dispute | None:
    """A pair as it stands, ruled on or not; none where its query has left the set."""
    texts = {query.id: query.text for query in gold.queries}
    return _dispute(label, texts, frozenset(), False) if label.query_id in texts else None


def is_disputed(label: Label) -> bool:
    return needs_ruling(label) or fails_spot_check(label)


def _dispute(label: Label, texts: Mapping[str, str], stale: Set[str], blind: bool) -> Dispute:
    # in the order of ids, which tells nothing of who is who
    votes = sorted(label.votes, key=lambda vote: vote.id)
    names = {judge: f"judge {place + 1}" for place, judge in enumerate(_judges(votes))}
    return Dispute(
        query_id=label.query_id,
        query=texts[label.query_id],
        doc_id=label.doc_id,
        why=SPOT_CHECK if fails_spot_check(label) else label.why,
        apart=grade_distance(label.votes),
        label=label.grade,
        votes=[
            Opinion(
                judge=names[vote.judge] if blind else vote.judge,
                kind=vote.kind,
                grade=vote.grade,
                rationale=vote.rationale,
                at="" if blind else vote.at,
                source=vote.source,
                stale=vote.id in stale,
            )
            for vote in votes
        ],
    )


def _judges(votes: Sequence[Vote]) -> list[str]:
    return list(dict.fromkeys(vote.judge for vote in votes))


def opinion_line(said: Opinion) -> str:
    grade = "unsure" if said.grade is None else str(said.grade)
    kind = " (machine)" if said.kind == "machine" else ""
    role = f" [{said.source}]" if said.source == SAMPLE else ""
    old = " (the document has changed since)" if said.stale else ""
    return f"{said.judge}{kind}{role}: {grade}. {said.rationale or 'No rationale.'}{old}"


# ── votes that nobody has checked ─────────────────────────────────────────────────────────────────

# documents that a judge must share with others before the rest of their votes counts as checked;
# taste
SHARED = 10
AGREES = 0.4  # weighted kappa with them; below it agreement is minimal (McHugh 2012)


def unchecked_votes(votes: Iterable[Vote]) -> dict[str, frozenset[Pair]]:
    """By judge, the pairs that they alone graded; none of judges who agree with others. A ruling is
    a check, and so is a spot check by somebody else."""
    found = UncheckedVotes()
    for pair, said in by_pair(current(votes)).items():
        found.count(pair, said)
    return found.by_judge()


class UncheckedVotes:
    """The same of votes that come one by one: a vote changes one pair, so one is counted again."""

    def __init__(self) -> None:
        self._alone: dict[str, set[Pair]] = {}
        self._shared: dict[str, Counter[tuple[int, int]]] = {}

    def count(self, pair: Pair, said: Iterable[Vote | VoteInMemory], by: int = 1) -> None:
        """Count what holds of a pair, or with `by` -1 no longer does."""
        graded = [
            (vote.judge, vote.grade, vote.source)
            for vote in said
            if vote.kind == "human" and vote.grade is not None
        ]
        judges = {judge for judge, *_ in graded}
        if len(judges) == 1:
            (judge,) = judges
            if judge != UNNAMED and not any(source in (RULING, EDITED) for *_, source in graded):
                alone = self._alone.setdefault(judge, set())
                alone.add(pair) if by > 0 else alone.discard(pair)
            return
        for judge, grade, _ in graded:
            for other, others, _ in graded:
                if judge != other:
                    self._shared.setdefault(judge, Counter())[grade, others] += by

    def by_judge(self) -> dict[str, frozenset[Pair]]:
        return {
            judge: frozenset(pairs)
            for judge, pairs in self._alone.items()
            if pairs and not _agrees(self._shared.get(judge, Counter()))
        }


def _agrees(shared: Counter[tuple[int, int]]) -> bool:
    if shared.total() < SHARED:
        return False
    kappa = linear_kappa([shared])
    same = all(one == other for (one, other), times in shared.items() if times)
    return kappa >= AGREES if kappa is not None else same
