"""The labels of a gold set, and the disputes that need a ruling. A named policy says whose votes
count and which of them stands:

- `adjudicated`: the latest ruling; where there is none, the majority.
- `majority`: the grade that more judges gave than any other; rulings are votes like the others, and
  where votes are tied the latest ruling decides.
- `senior`: the vote of the first of `seniors` who has voted; where none has, the majority.
- `latest`: the vote given last.

A pair on which the votes are tied has no label until somebody rules, and neither has one on which a
judge gave two grades in two copies of a project. Unsure votes never count, and spot checks measure
labels and do not make them. A label that somebody edited in the gold file stands under every policy
until somebody rules; an edit and a ruling, or two edits, that do not know of each other wait for
one. The policy is kept beside the set, in STEM.policy.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import read_json, write_atomic
from assay.core.types import GoldSet, Judgment, Labelling, Vote, VoteKind, counted
from assay.gold.people import IMPORTED, People
from assay.gold.rows import sibling_path
from assay.gold.votes import (
    EDITED,
    RULING,
    SPOT_CHECK,
    PairKey,
    by_pair,
    contradicts_itself,
    current_votes,
)

# ── the policy ────────────────────────────────────────────────────────────────────────────────────

PolicyName = Literal["adjudicated", "majority", "senior", "latest"]
Second = Literal["deciding", "never"]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How labels come from votes, and whose votes count: people's unless it says otherwise. A
    `second` judge is asked where a verdict rests on what one judge said unchecked, or never."""

    name: PolicyName = "adjudicated"
    counts: tuple[VoteKind, ...] = ("human",)
    seniors: tuple[str, ...] = ()
    second: Second = "deciding"


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """The label from the votes on one pair. `standing` are the votes behind the grade; without a
    grade the pair is open, and `why` says so."""

    query_id: str
    doc_id: str
    grade: int | None
    standing: tuple[Vote, ...]
    votes: tuple[Vote, ...]
    why: Literal["", "unsure", "tie", "not counted"] = ""

    @property
    def by_machine(self) -> bool:
        """Whether the grade rests on machines alone."""
        return self.grade is not None and all(vote.kind == "machine" for vote in self.standing)


def policy_path(dataset: Path) -> Path:
    return sibling_path(dataset, "policy.json")


def read_policy(dataset: Path) -> Policy:
    path = policy_path(dataset)
    if not path.exists():
        return Policy()
    try:
        policy = msgspec.convert(read_json(path), thread_safe(Policy))
    except msgspec.ValidationError as error:
        raise InputError(
            f"not a policy: {error}",
            where=str(path),
            hint='Expected {"name": "adjudicated", "counts": ["human"]} or the like.',
        ) from error
    named = tuple(map(People(dataset).name_of, policy.seniors))
    return check_policy(msgspec.structs.replace(policy, seniors=named), str(path))


def check_policy(policy: Policy, where: str = "") -> Policy:
    """The policy, if it can be followed; else an error that says why."""
    if not policy.counts:
        raise InputError("nobody's votes count", where=where, hint="Count human, machine or both.")
    if (policy.name == "senior") != bool(policy.seniors):
        raise InputError(
            "only the policy senior uses senior judges, and it needs at least one",
            where=where,
            hint="Name them in order of seniority: assay gold policy DATASET senior --senior NAME",
        )
    return policy


def write_policy(dataset: Path, policy: Policy) -> None:
    ids = tuple(map(People(dataset).id_of, policy.seniors))
    kept = msgspec.structs.replace(policy, seniors=ids)
    content = msgspec.json.format(msgspec.json.encode(kept), indent=2)
    write_atomic(policy_path(dataset), content + b"\n")


def compute_labels(votes: Iterable[Vote], policy: Policy) -> dict[PairKey, Label]:
    """The label of every pair that somebody has voted on."""
    return {
        pair: label_of(pair, votes_on_pair, policy)
        for pair, votes_on_pair in by_pair(current_votes(votes)).items()
    }


def label_of(pair: PairKey, votes: Sequence[Vote], policy: Policy) -> Label:
    """The label that the votes on one pair make."""
    making = [vote for vote in votes if vote.source != SPOT_CHECK]
    edited = [vote for vote in making if vote.source == EDITED]
    counted = [vote for vote in making if vote.kind in policy.counts]
    graded = [vote for vote in counted if vote.grade is not None]
    standing: list[Vote] = []
    disputed = bool(edited) and len({v.grade for v in making if v.source in (EDITED, RULING)}) > 1
    if edited and not disputed:
        standing = [vote for vote in edited[-1:] if vote.grade is not None]
    elif graded and not disputed and not _undecided(counted):
        standing = _POLICIES[policy.name](graded, policy)
    why: Literal["", "unsure", "tie", "not counted"] = ""
    if disputed:
        why = "tie"
    elif not standing and not edited:
        why = "tie" if graded else "unsure" if counted else "not counted"
    return Label(
        query_id=pair[0],
        doc_id=pair[1],
        grade=standing[0].grade if standing else None,
        standing=tuple(standing),
        votes=tuple(votes),
        why=why,
    )


def _undecided(votes: Sequence[Vote]) -> bool:
    """A judge, or two who ruled, said two things and took neither back."""
    rulings = [vote for vote in votes if vote.source == RULING]
    return contradicts_itself(rulings or votes)


def _majority(graded: Sequence[Vote], policy: Policy) -> list[Vote]:
    """The votes for the grade that most judges gave. A tie between two grades needs a ruling. A
    judge who voted and then ruled counts once, with the ruling."""
    by_judge = {vote.judge: vote for vote in graded}
    if len(by_judge) < len(graded):
        by_judge = {vote.judge: vote for vote in sorted(graded, key=_vote_order)}
    counts = Counter(vote.grade for vote in by_judge.values()).most_common()
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        rulings = [vote for vote in graded if vote.source == RULING]
        return _latest(rulings, policy) if rulings else []
    return [vote for vote in by_judge.values() if vote.grade == counts[0][0]]


def _adjudicated(graded: Sequence[Vote], policy: Policy) -> list[Vote]:
    rulings = [vote for vote in graded if vote.source == RULING]
    return _latest(rulings, policy) if rulings else _majority(graded, policy)


def _senior(graded: Sequence[Vote], policy: Policy) -> list[Vote]:
    for senior in policy.seniors:
        if votes_of_senior := [vote for vote in graded if vote.judge == senior]:
            return _latest(votes_of_senior, policy)
    return _majority(graded, policy)


def _latest(graded: Sequence[Vote], policy: Policy) -> list[Vote]:
    """The latest votes. Two grades of the same moment are a tie, unless one is a ruling: the order
    of lines decides nothing."""
    last = max(vote.at for vote in graded)
    given = [vote for vote in graded if vote.at == last]
    given = [vote for vote in given if vote.source == RULING] or given
    return given if len({vote.grade for vote in given}) == 1 else []


def _vote_order(vote: Vote) -> tuple[str, bool, str, str]:
    """The order of votes: by time, then rulings after votes, then by name."""
    return vote.at, vote.source == RULING, vote.judge, vote.id


_POLICIES: dict[PolicyName, Callable[[Sequence[Vote], Policy], list[Vote]]] = {
    "adjudicated": _adjudicated,
    "majority": _majority,
    "senior": _senior,
    "latest": _latest,
}


NameOfJudge = Callable[
    [str, str], str
]  # from the name and kind of a judge to what a file calls them


def name_unchanged(judge: str, kind: str) -> str:
    return judge


def judgment_of(label: Label, called: NameOfJudge = name_unchanged) -> Judgment | None:
    """The label as it stands in the gold set: who is behind it (as `called`), what they wrote, and
    when."""
    if label.grade is None:
        return None
    behind = sorted(label.standing, key=_vote_order)
    wrote = dict.fromkeys(vote.rationale.strip() for vote in behind)
    named = [vote for vote in behind if vote.judge != IMPORTED]
    sources = dict.fromkeys(vote.source for vote in behind if vote.source)
    if any(vote.source == IMPORTED and vote.judge == IMPORTED for vote in behind):
        sources.pop(IMPORTED)  # a label that the set had says nothing of where it is from
    return Judgment(
        query_id=label.query_id,
        doc_id=label.doc_id,
        grade=label.grade,
        rationale=" · ".join(text for text in wrote if text),
        judge=", ".join(dict.fromkeys(called(vote.judge, vote.kind) for vote in named)),
        source=", ".join(sources),
        rubric=behind[-1].rubric,
        at=behind[-1].at,
    )


# ── labels ────────────────────────────────────────────────────────────────────────────────────────


class LabelChange(msgspec.Struct, frozen=True, kw_only=True):
    """A label that changed; None for a label that is new or gone."""

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


def compute_labelled_set(
    gold: GoldSet,
    votes: Iterable[Vote],
    policy: Policy,
    *,
    grades: Set[int] | None = None,
    called: NameOfJudge = name_unchanged,
) -> LabelledSet:
    """Compute the labels of a set, and how they differ from those in its file. Votes on queries
    that have left the set make no label. `called` gives the id that the file has for a person. A
    label that was edited by hand stays as the file has it."""
    ids = set(gold.query_ids)
    made = [
        label
        for label in compute_labels(votes, policy).values()
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


def _as_edited(label: Label, own_judgments: Mapping[PairKey, Judgment]) -> Judgment | None:
    """The label as somebody wrote it in the gold file, if the file still has that edit."""
    edit = next((vote for vote in reversed(label.standing) if vote.source == EDITED), None)
    own = own_judgments.get((label.query_id, label.doc_id))
    if edit is None or own is None:
        return None
    return own if (own.grade, own.rationale) == (edit.grade, edit.rationale) else None


def grade_given(label: Label) -> int | None:
    """The grade that the set will have of a pair; None where it will have none."""
    return label.grade if _has_own_votes(label) else None


def needs_ruling(label: Label) -> bool:
    """Whether a pair waits for a ruling: its votes are level, or all of them are unsure."""
    return label.why in ("tie", "unsure") and _has_own_votes(label) and not _asks_another(label)


def _asks_another(label: Label) -> bool:
    """Whether the only judge was unsure, so that a second one is asked."""
    judges = {vote.judge for vote in label.votes if vote.source != SPOT_CHECK}
    return label.why == "unsure" and len(judges) == 1


def _overruled(label: Label) -> bool:
    rulings = [v for v in label.votes if v.source == RULING and v.grade is not None]
    return bool(rulings) and max(rulings, key=lambda vote: vote.at).grade != label.grade


def _has_own_votes(label: Label) -> bool:
    """A pair that has only been spot-checked has lost its votes elsewhere, and asks nobody."""
    return any(vote.source != SPOT_CHECK for vote in label.votes)


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
            hint="Check whether the rubric lost a grade. Nothing was changed.",
        )


def _status(gold: GoldSet, after: Labelling) -> str:
    """Labels by machines alone make a set provisional. Once people have judged every pair, it is
    no longer provisional. Approving it remains a person's decision."""
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
    """Most apart first, labels that a spot check doubts last among equals, then as the set has its
    queries."""
    places = {query_id: place for place, query_id in enumerate(gold.query_ids)}

    def order(label: Label) -> tuple[int, bool, int, str]:
        distance, doubted = grade_distance(label.votes), fails_spot_check(label)
        return -distance, doubted, places[label.query_id], label.doc_id

    return sorted(waiting, key=order)


def grade_distance(votes: Iterable[Vote]) -> int:
    grades = [vote.grade for vote in votes if vote.grade is not None]
    return max(grades) - min(grades) if grades else 0


def fails_spot_check(label: Label) -> bool:
    """Whether a spot check found a label otherwise, and nobody has ruled since."""
    if label.grade is None:
        return False
    ruled = max((vote.at for vote in label.votes if vote.source == RULING), default="")
    return any(
        vote.source == SPOT_CHECK
        and vote.grade is not None
        and vote.grade != label.grade
        and vote.at > ruled
        for vote in label.votes
    )


# ── pairs without agreement ───────────────────────────────────────────────────────────────────────

WHY_SPOT_CHECK = "spot check"


class JudgeOpinion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The opinion of one judge; `stale` if the document has changed since."""

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
    votes: list[JudgeOpinion]


def list_disputes(
    gold: GoldSet, made: Iterable[Label], *, stale: Set[str] = frozenset(), blind: bool = False
) -> list[Dispute]:
    """The labels that need a ruling, as disputes."""
    texts = {query.id: query.text for query in gold.queries}
    return [_dispute(label, texts, stale, blind) for label in disputed_labels(gold, made)]


def disputed_labels(gold: GoldSet, made: Iterable[Label]) -> list[Label]:
    """The labels that need a ruling, in the order in which they are shown."""
    ids = set(gold.query_ids)
    return most_apart_first(gold, [x for x in made if x.query_id in ids and is_disputed(x)])


def dispute_of(gold: GoldSet, label: Label) -> Dispute | None:
    """A pair as a dispute, ruled on or not; None if its query has left the set."""
    texts = {query.id: query.text for query in gold.queries}
    return _dispute(label, texts, frozenset(), False) if label.query_id in texts else None


def is_disputed(label: Label) -> bool:
    return needs_ruling(label) or fails_spot_check(label)


def _dispute(label: Label, texts: Mapping[str, str], stale: Set[str], blind: bool) -> Dispute:
    # in the order of ids, which tells nothing of who is who
    votes = sorted(label.votes, key=lambda vote: vote.id)
    judges = dict.fromkeys(vote.judge for vote in votes)
    names = {judge: f"judge {place + 1}" for place, judge in enumerate(judges)}
    return Dispute(
        query_id=label.query_id,
        query=texts[label.query_id],
        doc_id=label.doc_id,
        why=WHY_SPOT_CHECK if fails_spot_check(label) else label.why,
        apart=grade_distance(label.votes),
        label=label.grade,
        votes=[
            JudgeOpinion(
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


def opinion_line(opinion: JudgeOpinion) -> str:
    grade = "unsure" if opinion.grade is None else str(opinion.grade)
    kind = " (machine)" if opinion.kind == "machine" else ""
    role = f" [{opinion.source}]" if opinion.source == SPOT_CHECK else ""
    old = " (the document has changed since)" if opinion.stale else ""
    return f"{opinion.judge}{kind}{role}: {grade}. {opinion.rationale or 'No rationale.'}{old}"
