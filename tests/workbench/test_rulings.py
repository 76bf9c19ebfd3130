"""Disputes while votes come in: always what all votes together say; and rulings on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.types import Vote
from assay.judging.labels import is_disputed
from assay.judging.policy import Policy, labels, write_policy
from assay.judging.votes import RULING, Pair, log_path, read_votes
from assay.workbench.judging.rulings import dispute_count, open_disputes, rule, ruled_pair
from assay.workbench.judging.session import open_session
from assay.workbench.judging.vote_totals import uncounted
from assay.workbench.judging.votes_to_labels import append_votes
from kit.sets import both, judged_set

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
    session = open_session(dataset)
    kept = {(each.query_id, each.doc_id) for each in open_disputes(dataset)}
    assert dispute_count(dataset) == len(kept)
    made = labels(read_votes(dataset), session.policy)
    ids = set(session.gold.query_ids)
    assert kept == {pair for pair, label in made.items() if pair[0] in ids and is_disputed(label)}
    return kept


def test_every_vote_is_looked_at_as_it_comes(dataset: Path) -> None:
    assert open_disputes(dataset) == []
    steps: list[tuple[Vote, set[Pair]]] = [
        (vote("Ada", ONE, 2, 1), set()),
        (vote("Ben", ONE, 0, 2), {ONE}),
        (vote("Ada", THREE, 0, 3), {ONE}),
        (vote("Ben", THREE, 2, 4), {ONE, THREE}),
        (vote("Ben", ONE, 2, 5), {THREE}),  # another word of the same judge
        (vote("Dora", THREE, 1, 6, RULING), set()),
    ]
    for given, expected in steps:
        append_votes(dataset, [given])
        assert waiting(dataset) == expected


def test_another_file_and_another_policy_are_read_from_the_beginning(dataset: Path) -> None:
    append_votes(dataset, [vote("Ada", ONE, 2, 1), vote("Ben", ONE, 1, 2)])
    assert waiting(dataset) == {ONE}
    write_policy(dataset, Policy(name="latest"))
    assert waiting(dataset) == set()
    log_path(dataset).unlink()
    append_votes(dataset, [vote("Ada", TWO, 2, 3), vote("Ben", TWO, None, 4)])
    write_policy(dataset, Policy())
    waiting(dataset)


def test_a_query_that_left_the_set_waits_for_nobody(dataset: Path) -> None:
    append_votes(
        dataset,
        [vote(judge, THREE, grade, grade) for judge, grade in (("Ada", 0), ("Ben", 2))],
    )
    assert waiting(dataset) == {THREE}
    content = json.loads(dataset.read_text())
    content["queries"] = [query for query in content["queries"] if query["id"] != "q2"]
    dataset.write_text(json.dumps(content))
    assert waiting(dataset) == set()
    assert uncounted(dataset) == 0


def test_most_apart_comes_first_and_a_ruled_pair_can_be_looked_at(dataset: Path) -> None:
    votes = [
        vote("Ada", ONE, 1, 1),
        vote("Ben", ONE, 2, 2),
        vote("Ada", TWO, 0, 3),
        vote("Ben", TWO, 2, 4),
    ]
    append_votes(dataset, votes)
    found = [(each.query_id, each.doc_id) for each in open_disputes(dataset)]
    assert found == [TWO, ONE]
    assert ruled_pair(dataset, *ONE) is None, "nobody has ruled on it"
    assert ruled_pair(dataset, *THREE) is None, "nobody has voted on it"
    rule(dataset, *ONE, 2, rationale="it decides the point", by="Dora")
    ruled = ruled_pair(dataset, *ONE)
    assert ruled is not None
    assert {each.judge: each.grade for each in ruled.votes} == {"Ada": 1, "Ben": 2, "Dora": 2}


def test_what_is_not_in_the_labels_yet(dataset: Path) -> None:
    append_votes(dataset, [vote("Ada", ONE, 2, 1), vote("Ben", ONE, 2, 2)])
    assert uncounted(dataset) == 1
    content = json.loads(dataset.read_text())
    for query in content["queries"]:
        if query["id"] == "q1":
            query["relevance_judgments"] = [{"opinion_id": "d1", "score": 2, "rationale": "so"}]
    dataset.write_text(json.dumps(content))
    assert uncounted(dataset) == 0
    append_votes(dataset, [vote("Ada", ONE, 1, 3), vote("Ben", ONE, 1, 4)])
    assert uncounted(dataset) == 1
