"""From votes to labels: a named policy says whose votes count and which of them stands.

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
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.errors import InputError
from assay.core.files import read_json, write_atomic
from assay.core.types import Judgment, Vote, VoteKind
from assay.gold.people import People
from assay.judging.votes import (
    EDITED,
    IMPORTED,
    RULING,
    SAMPLE,
    UNNAMED,
    Pair,
    beside,
    by_pair,
    contradicts_itself,
    current,
)

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
    """What the votes on one pair come to. `standing` are the votes behind the grade; without a
    grade the pair is open, and `why` says so."""

    query_id: str
    doc_id: str
    grade: int | None
    standing: tuple[Vote, ...]
    votes: tuple[Vote, ...]
    why: Literal["", "unsure", "tie", "not counted"] = ""

    @property
    def by_machine(self) -> bool:
        """No person stands behind the grade."""
        return self.grade is not None and all(vote.kind == "machine" for vote in self.standing)


def policy_path(dataset: Path) -> Path:
    return beside(dataset, "policy.json")


def read_policy(dataset: Path) -> Policy:
    path = policy_path(dataset)
    if not path.exists():
        return Policy()
    try:
        policy = msgspec.convert(read_json(path), Policy)
    except msgspec.ValidationError as error:
        raise InputError(
            f"not a policy: {error}",
            where=str(path),
            hint='Expected {"name": "adjudicated", "counts": ["human"]} or the like.',
        ) from error
    named = tuple(map(People(dataset).name_of, policy.seniors))
    return checked(msgspec.structs.replace(policy, seniors=named), str(path))


def checked(policy: Policy, where: str = "") -> Policy:
    """A policy that can be followed."""
    if not policy.counts:
        raise InputError("nobody's votes count", where=where, hint="Count human, machine or both.")
    if (policy.name == "senior") != bool(policy.seniors):
        raise InputError(
            "seniors go with the policy senior, and it needs them",
            where=where,
            hint="Name them in their order: assay gold policy DATASET senior --senior NAME",
        )
    return policy


def write_policy(dataset: Path, policy: Policy) -> None:
    ids = tuple(map(People(dataset).id_of, policy.seniors))
    kept = msgspec.structs.replace(policy, seniors=ids)
    content = msgspec.json.format(msgspec.json.encode(kept), indent=2)
    write_atomic(policy_path(dataset), content + b"\n")


def labels(votes: Iterable[Vote], policy: Policy) -> dict[Pair, Label]:
    """Every pair that somebody has voted on, with what its votes come to."""
    return {pair: label_of(pair, said, policy) for pair, said in by_pair(current(votes)).items()}


def label_of(pair: Pair, said: Sequence[Vote], policy: Policy) -> Label:
    """What the votes on one pair that hold now come to."""
    making = [vote for vote in said if vote.source != SAMPLE]
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
        votes=tuple(said),
        why=why,
    )


def _undecided(counted: Sequence[Vote]) -> bool:
    """A judge, or two who ruled, said two things and took neither back."""
    rulings = [vote for vote in counted if vote.source == RULING]
    return contradicts_itself(rulings or counted)


def _majority(graded: Sequence[Vote], policy: Policy) -> list[Vote]:
    """The votes for the grade that most judges gave. Where two grades are level it is for a ruling
    to decide. Who ruled after voting is one judge, and the ruling is what they say now."""
    by_judge = {vote.judge: vote for vote in graded}
    if len(by_judge) < len(graded):
        by_judge = {vote.judge: vote for vote in sorted(graded, key=_when)}
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
        if said := [vote for vote in graded if vote.judge == senior]:
            return _latest(said, policy)
    return _majority(graded, policy)


def _latest(graded: Sequence[Vote], policy: Policy) -> list[Vote]:
    """Two grades given at the same moment are a tie, unless one is a ruling: the order of lines
    decides nothing."""
    last = max(vote.at for vote in graded)
    given = [vote for vote in graded if vote.at == last]
    given = [vote for vote in given if vote.source == RULING] or given
    return given if len({vote.grade for vote in given}) == 1 else []


def _when(vote: Vote) -> tuple[str, bool, str, str]:
    """In the order of time; at one moment a ruling comes after a vote, and names decide the
    rest."""
    return vote.at, vote.source == RULING, vote.judge, vote.id


_POLICIES: dict[PolicyName, Callable[[Sequence[Vote], Policy], list[Vote]]] = {
    "adjudicated": _adjudicated,
    "majority": _majority,
    "senior": _senior,
    "latest": _latest,
}


Called = Callable[[str, str], str]  # from the name and kind of a judge to what a file calls them


def as_named(judge: str, kind: str) -> str:
    return judge


def judgment_of(label: Label, called: Called = as_named) -> Judgment | None:
    """The label as it stands in the gold set: who is behind it (as `called`), what they wrote, and
    when."""
    if label.grade is None:
        return None
    behind = sorted(label.standing, key=_when)
    wrote = dict.fromkeys(vote.rationale.strip() for vote in behind)
    named = [vote for vote in behind if vote.judge != UNNAMED]
    sources = dict.fromkeys(vote.source for vote in behind if vote.source)
    if any(vote.source == IMPORTED and vote.judge == UNNAMED for vote in behind):
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
