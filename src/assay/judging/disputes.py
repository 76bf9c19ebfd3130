"""Pairs without agreement, as somebody who rules on them sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import msgspec

from assay.core.types import GoldSet, Vote
from assay.judging.labelling import apart, differs, waits
from assay.judging.policy import Label, Policy, labels
from assay.judging.votes import SAMPLE

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
    return [_dispute(label, texts, stale, blind) for label in most_apart(gold, made)]


def most_apart(gold: GoldSet, made: Iterable[Label]) -> list[Label]:
    """Of some labels those that wait for a ruling, in the order in which they are shown."""
    places = {query.id: place for place, query in enumerate(gold.queries)}

    def order(label: Label) -> tuple[int, bool, int, str]:
        return -apart(label.votes), differs(label), places[label.query_id], label.doc_id

    waiting = [label for label in made if label.query_id in places and is_disputed(label)]
    return sorted(waiting, key=order)


def dispute_of(gold: GoldSet, label: Label) -> Dispute | None:
    """A pair as it stands, ruled on or not; none where its query has left the set."""
    texts = {query.id: query.text for query in gold.queries}
    return _dispute(label, texts, frozenset(), False) if label.query_id in texts else None


def is_disputed(label: Label) -> bool:
    return waits(label) or differs(label)


def _dispute(label: Label, texts: Mapping[str, str], stale: Set[str], blind: bool) -> Dispute:
    # in the order of ids, which tells nothing of who is who
    votes = sorted(label.votes, key=lambda vote: vote.id)
    names = {judge: f"judge {place + 1}" for place, judge in enumerate(_judges(votes))}
    return Dispute(
        query_id=label.query_id,
        query=texts[label.query_id],
        doc_id=label.doc_id,
        why=SPOT_CHECK if differs(label) else label.why,
        apart=apart(label.votes),
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


def one_line(said: Opinion) -> str:
    grade = "unsure" if said.grade is None else str(said.grade)
    kind = " (machine)" if said.kind == "machine" else ""
    role = f" [{said.source}]" if said.source == SAMPLE else ""
    old = " (the document has changed since)" if said.stale else ""
    return f"{said.judge}{kind}{role}: {grade}. {said.rationale or 'No rationale.'}{old}"
