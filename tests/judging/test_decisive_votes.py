"""What a label or a plan turns on, one by one: each test here is of a fault that the others let
through (benchmarks/mutants.py)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.results import GradedEntry
from assay.core.types import GoldSet, Query, Vote, judgment_frame
from assay.evaluation.guessed import FEWEST
from assay.formats.ballots import Ballot, Ballots
from assay.judging.next import decision_state, next_to_judge
from assay.judging.policy import Policy, judgment_of, labels
from assay.judging.received import MergeDefaults, VoteLimits, merge_ballots
from assay.judging.votes import IMPORTED, UNNAMED

AT = "2026-05-31T12:00:00+00:00"
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def vote(id: str, grade: int = 1, **more: Any) -> Vote:
    fields = {"judge": "ada", "kind": "human", "at": AT} | more
    return Vote(id=id, query_id="q", doc_id="d", grade=grade, **fields)


@pytest.mark.parametrize(
    ("votes", "source"),
    [
        ([vote("a", judge=UNNAMED, source=IMPORTED)], ""),
        ([vote("a", judge="bea", source=IMPORTED)], IMPORTED),
        ([vote("a", judge=UNNAMED, source="other")], "other"),
    ],
)
def test_a_label_that_the_set_had_says_nothing_of_where_it_is_from(
    votes: list[Vote], source: str
) -> None:
    judgment = judgment_of(labels(votes, Policy())["q", "d"])
    assert judgment is not None
    assert judgment.source == source


# ── merging ───────────────────────────────────────────────────────────────────────────────────────


def merged(known: list[Vote], said: MergeDefaults | None = None, **ballot: Any) -> list[Vote]:
    gold = GoldSet(
        name="g", queries=(Query(id="q", text="x"),), judgments=judgment_frame([], [], [])
    )
    limits = VoteLimits(
        gold=gold, votes=known, queries=frozenset({"q"}), grades=(0, 1, 2), rubric="r@1"
    )
    row = Ballot(
        **({"where": "f:1", "query_id": "q", "doc_id": "d", "grade": 1, "judge": "ada"} | ballot)
    )
    return merge_ballots([Ballots(rows=[row])], limits, said or MergeDefaults(at=NOW)).new


def test_what_comes_back_without_a_reason_is_nothing_new() -> None:
    assert merged([vote("a", rationale="it decides")]) == []


def test_another_reason_is_another_vote() -> None:
    (new,) = merged([vote("a", rationale="it decides")], rationale="on reflection")
    assert (new.supersedes, new.rationale) == ("a", "on reflection")


def test_a_time_without_a_zone_is_utc() -> None:
    (new,) = merged([], rationale="so", at="2026-05-31T14:00:00")
    assert new.at == "2026-05-31T14:00:00+00:00"
    (new,) = merged([], rationale="so", at="2026-05-31T14:00:00+02:00")
    assert new.at == "2026-05-31T12:00:00+00:00"


def test_a_judge_is_not_made_a_machine_by_an_option() -> None:
    with pytest.raises(InputError, match="--kind is machine"):
        merged([], MergeDefaults(at=NOW, kind="machine"), rationale="so", kind="human")


# ── what to judge next ────────────────────────────────────────────────────────────────────────────


def entry(ranking: str, grades: dict[str, int]) -> list[GradedEntry]:
    found = [grades.get(doc) for doc in ranking]
    return [
        GradedEntry(query_id="q", results=list(ranking), judged=[2, 1], grades=found, metrics={})
    ]


def test_a_change_is_the_effect_by_its_chance() -> None:
    pairs = next_to_judge(entry("xayb", {"a": 2, "b": 1}), measure="P@4", threshold=0.1).pairs
    assert pairs
    assert all(0 < abs(pair.change) < abs(pair.effect) for pair in pairs)


def test_a_level_that_no_judgment_reaches_asks_for_all_of_them() -> None:
    known = entry("xayb", {"a": 2, "b": 1})
    decision = next_to_judge(known, measure="P@4", threshold=0.1, level=1.01)
    assert decision.needed == len(decision.pairs) == 2


def test_a_few_are_judged_before_anything_is_believed() -> None:
    """Of the hits that count: two of four are judged, and what is below the cutoff does not
    count."""
    stand = decision_state(entry("xaybzzz", {"a": 2, "b": 1}), measure="P@4", threshold=0.1)
    assert stand.first == min(FEWEST - 2, 2)
