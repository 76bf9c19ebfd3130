"""Votes for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.core.types import Vote
from assay.gold.votes import PairKey, by_pair, current_votes
from assay.workbench.judging.vote_totals import UncheckedVotes

VOTED_AT = "2026-05-31T12:00:00+00:00"


def vote(id: str, grade: int | None = 1, **fields: Any) -> Vote:
    """A vote of the person ada on the document d for the query q, unless `fields` say otherwise."""
    usual = {"query_id": "q", "doc_id": "d", "judge": "ada", "kind": "human", "at": VOTED_AT}
    return Vote(id=id, grade=grade, **(usual | fields))


def vote_on(query: str, doc: str, judge: str, grade: int | None = 1, **fields: Any) -> Vote:
    """A vote of a judge on a pair; its id is made of the three."""
    id = f"{query}-{doc}-{judge}"
    return vote(id, grade, query_id=query, doc_id=doc, judge=judge, **fields)


def unchecked_votes(votes: Iterable[Vote]) -> dict[str, frozenset[PairKey]]:
    """By judge, the pairs that nobody else has checked, counted from the beginning."""
    found = UncheckedVotes()
    for pair, said in by_pair(current_votes(votes)).items():
        found.count(pair, said)
    return found.by_judge()
