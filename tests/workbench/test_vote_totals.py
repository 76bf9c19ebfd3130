"""What the votes of a set come to, kept vote by vote: always what all votes together say."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest

from assay.core.types import Vote
from assay.judging.labels import relabel, unchecked_votes
from assay.judging.pool import PEOPLE, pairs_to_judge, pool_path, read_pool
from assay.judging.votes import RULING, SAMPLE, WITHDRAWN, log_path, read_votes
from assay.workbench.judging.agreement import judges_agreement
from assay.workbench.judging.progress import set_standing
from assay.workbench.judging.session import JudgingSession, open_session
from assay.workbench.judging.vote_totals import vote_totals
from assay.workbench.judging.votes_to_labels import append_votes
from kit.sets import both, judged_set

PAIRS = [("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q2", "d4"), ("q2", "d1")]
JUDGES = ("Ada", "Ben", "Cleo")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return judged_set(tmp_path, both(*PAIRS), judges=("Ada", "Ben"))


def rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 12)


def told(session: JudgingSession) -> tuple[object, ...]:
    with vote_totals(session) as totals:
        return (
            totals.unchecked.by_judge(),
            set(totals.wanted),
            rounded(totals.people.kappa),
            totals.people.shared,
            len(totals.uncounted),
        )


def from_the_beginning(session: JudgingSession) -> tuple[object, ...]:
    votes, pool = read_votes(session.dataset), read_pool(session.dataset)
    assert pool is not None
    agreed = judges_agreement(session.dataset)
    return (
        unchecked_votes(votes),
        {pair.key for pair in pairs_to_judge(pool, session.gold, votes, PEOPLE)},
        rounded(agreed.weighted_kappa.value),
        agreed.pairs,
        len(relabel(session.gold, votes, session.policy).changes),
    )


def drawn(lot: random.Random, number: int, given: list[Vote]) -> Vote:
    query_id, doc_id = lot.choice(PAIRS)
    vote = Vote(
        id=f"vote-{number:04}",
        query_id=query_id,
        doc_id=doc_id,
        grade=lot.choice((0, 1, 2, None)),
        judge=lot.choice(JUDGES),
        kind="human",
        at=f"2026-05-01T00:{number // 60:02}:{number % 60:02}Z",
        rationale="it decides the point",
        source=lot.choice(("", "", "", "", RULING, SAMPLE)),
    )
    if given and lot.random() < 0.1:
        before = lot.choice(given)
        return Vote(
            id=vote.id,
            query_id=before.query_id,
            doc_id=before.doc_id,
            grade=None,
            judge=before.judge,
            kind="human",
            at=vote.at,
            supersedes=before.id,
            source=WITHDRAWN,
        )
    return vote


@pytest.mark.parametrize("seed", range(3))
def test_vote_by_vote_is_the_same_as_from_the_beginning(dataset: Path, seed: int) -> None:
    lot, given = random.Random(seed), list[Vote]()
    for number in range(60):
        vote = drawn(lot, number, given)
        append_votes(dataset, [vote])
        given += [vote] if vote.source != WITHDRAWN else []
        if number % 3 == 0:
            session = open_session(dataset)
            assert told(session) == from_the_beginning(session), number


def test_another_set_and_another_pool_are_seen(dataset: Path) -> None:
    lot = random.Random(7)
    append_votes(dataset, [drawn(lot, number, []) for number in range(20)])
    told(open_session(dataset))
    content = json.loads(dataset.read_text())
    content["queries"][0]["relevance_judgments"] = [
        {"opinion_id": "d1", "score": 2, "rationale": "so"}
    ]
    dataset.write_text(json.dumps(content))
    pool = json.loads(pool_path(dataset).read_text())
    pool["pairs"] = pool["pairs"][:2]
    pool_path(dataset).write_text(json.dumps(pool))
    session = open_session(dataset)
    assert told(session) == from_the_beginning(session)


def test_a_set_whose_rubric_is_not_here_stands_the_same(dataset: Path) -> None:
    lot = random.Random(3)
    append_votes(dataset, [drawn(lot, number, []) for number in range(30)])
    open_set = set_standing("set", dataset)
    content = json.loads(dataset.read_text())
    dataset.write_text(json.dumps(content | {"rubric": "nobody-has-this"}))
    closed = set_standing("set", dataset)
    for field in ("kappa", "shared", "judges", "to_judge", "disputes", "judgments"):
        assert getattr(closed, field) == getattr(open_set, field), field
    assert not closed.error
    assert open_set.kappa is not None


@pytest.mark.parametrize("at_once", [True, False])
def test_an_undo_that_comes_before_its_vote_takes_it_back(dataset: Path, at_once: bool) -> None:
    """Lines may come in any order, as a merge leaves them, also in two readings."""
    vote = Vote(id="v", query_id="q1", doc_id="d1", grade=1, judge="Ada", kind="human",
                at="2026-05-31T12:00:00+00:00")  # fmt: skip
    undo = msgspec.structs.replace(
        vote, id="u", grade=None, judge="Ben", source=WITHDRAWN, supersedes="v", at="2026-05-31"
    )
    append_votes(dataset, [vote])
    append_votes(dataset, [undo])
    log = log_path(dataset)
    begun, given, taken = log.read_bytes().splitlines(keepends=True)
    for part in [taken + given] if at_once else [taken, taken + given]:
        log.write_bytes(begun + part)
        assert open_session(dataset).votes.everything(("q1", "d1")) == []
