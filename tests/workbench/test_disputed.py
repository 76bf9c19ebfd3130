"""Pairs that wait for a ruling, kept while votes come in: always what all votes together say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.types import Vote
from assay.judging.disputes import is_disputed
from assay.judging.policy import Policy, labels, write_policy
from assay.judging.votes import RULING, Pair, log_path, read_votes
from assay.workbench.desk import desk_of
from assay.workbench.disputed import (
    disputes_of,
    open_labels,
    pair_as_it_stands,
    uncounted,
)
from assay.workbench.voting import give
from judged_pages import both, judged_set

ONE, TWO, THREE = ("q1", "d1"), ("q1", "d2"), ("q2", "d4")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return judged_set(tmp_path, both(ONE, TWO, THREE), judges=("Ada", "Ben"))


def vote(judge: str, pair: Pair, grade: int | None, at: int, source: str = "") -> Vote:
    return Vote(
        id=f"vote-{at:04}",
        query_id=pair[0],
        doc_id=pair[1],
        grade=grade,
        judge=judge,
        kind="human",
        at=f"2026-05-01T00:00:{at:02}Z",
        rationale="it decides the point",
        source=source,
    )


def waiting(dataset: Path) -> set[Pair]:
    """As it is kept; and held against all votes, read from the beginning."""
    desk = desk_of(dataset)
    kept = {(label.query_id, label.doc_id) for label in open_labels(desk)}
    made = labels(read_votes(dataset), desk.policy)
    ids = set(desk.gold.query_ids)
    assert kept == {pair for pair, label in made.items() if pair[0] in ids and is_disputed(label)}
    return kept


def test_every_vote_is_looked_at_as_it_comes(dataset: Path) -> None:
    assert open_labels(desk_of(dataset)) == []
    steps: list[tuple[Vote, set[Pair]]] = [
        (vote("Ada", ONE, 2, 1), set()),
        (vote("Ben", ONE, 0, 2), {ONE}),
        (vote("Ada", THREE, 0, 3), {ONE}),
        (vote("Ben", THREE, 2, 4), {ONE, THREE}),
        (vote("Ben", ONE, 2, 5), {THREE}),  # another word of the same judge
        (vote("Dora", THREE, 1, 6, RULING), set()),
    ]
    for given, expected in steps:
        give(dataset, [given])
        assert waiting(dataset) == expected


def test_another_file_and_another_policy_are_read_from_the_beginning(dataset: Path) -> None:
    give(dataset, [vote("Ada", ONE, 2, 1), vote("Ben", ONE, 1, 2)])
    assert waiting(dataset) == {ONE}
    write_policy(dataset, Policy(name="latest"))
    assert waiting(dataset) == set()
    log_path(dataset).unlink()
    give(dataset, [vote("Ada", TWO, 2, 3), vote("Ben", TWO, None, 4)])
    write_policy(dataset, Policy())
    waiting(dataset)


def test_a_query_that_left_the_set_waits_for_nobody(dataset: Path) -> None:
    give(
        dataset,
        [vote(judge, THREE, grade, grade) for judge, grade in (("Ada", 0), ("Ben", 2))],
    )
    assert waiting(dataset) == {THREE}
    content = json.loads(dataset.read_text())
    content["queries"] = [query for query in content["queries"] if query["id"] != "q2"]
    dataset.write_text(json.dumps(content))
    assert waiting(dataset) == set()
    assert uncounted(desk_of(dataset)) == 0


def test_most_apart_comes_first_and_a_pair_can_be_looked_at(dataset: Path) -> None:
    votes = [
        vote("Ada", ONE, 1, 1),
        vote("Ben", ONE, 2, 2),
        vote("Ada", TWO, 0, 3),
        vote("Ben", TWO, 2, 4),
    ]
    give(dataset, votes)
    desk = desk_of(dataset)
    found = [(each.query_id, each.doc_id) for each in disputes_of(desk, None)]
    assert found == [TWO, ONE]
    stands = pair_as_it_stands(desk, ONE)
    assert stands is not None
    assert {each.judge: each.grade for each in stands.votes} == {"Ada": 1, "Ben": 2}
    assert pair_as_it_stands(desk, THREE) is None, "nobody has voted on it"


def test_what_is_not_in_the_labels_yet(dataset: Path) -> None:
    give(dataset, [vote("Ada", ONE, 2, 1), vote("Ben", ONE, 2, 2)])
    assert uncounted(desk_of(dataset)) == 1
    content = json.loads(dataset.read_text())
    for query in content["queries"]:
        if query["id"] == "q1":
            query["relevance_judgments"] = [{"opinion_id": "d1", "score": 2, "rationale": "so"}]
    dataset.write_text(json.dumps(content))
    assert uncounted(desk_of(dataset)) == 0
    give(dataset, [vote("Ada", ONE, 1, 3), vote("Ben", ONE, 1, 4)])
    assert uncounted(desk_of(dataset)) == 1
