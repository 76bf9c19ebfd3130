"""What the votes of a set come to, kept vote by vote: always what all votes together say."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.results import Pair
from assay.core.types import Vote
from assay.gold.people import IMPORTED
from assay.gold.rows import log_path
from assay.gold.votes import RULING, SPOT_CHECK, WITHDRAWN
from assay.judging.labels import (
    Policy,
    compute_labelled_set,
    compute_labels,
    is_disputed,
    write_policy,
)
from assay.judging.pool import PEOPLE_ONLY, pairs_left, pool_path, read_pool
from assay.judging.votes import read_votes
from assay.workbench.judging.agreement import judges_agreement
from assay.workbench.judging.session import JudgingSession, open_session
from assay.workbench.judging.vote_totals import (
    MIN_SHARED_DOCUMENTS,
    set_progress,
    split_by_votes,
    vote_totals,
)
from assay.workbench.judging.votes_to_labels import append_votes, recompute_labels
from kit.sets import both, judged_set
from kit.votes import unchecked_votes, vote, vote_on

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
            set(totals.disputes()),
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
    made, ids = compute_labels(votes, session.policy), set(session.gold.query_ids)
    return (
        {pair for pair, label in made.items() if pair[0] in ids and is_disputed(label)},
        unchecked_votes(votes),
        {pair.key for pair in pairs_left(pool, session.gold, votes, PEOPLE_ONLY)},
        rounded(agreed.weighted_kappa.value),
        agreed.pairs,
        len(compute_labelled_set(session.gold, votes, session.policy).changes),
    )


def drawn(lot: random.Random, number: int, given: list[Vote]) -> Vote:
    query_id, doc_id = lot.choice(PAIRS)
    given_at = {
        "id": f"vote-{number:04}",
        "at": f"2026-05-01T00:{number // 60:02}:{number % 60:02}Z",
    }
    grade, judge = lot.choice((0, 1, 2, None)), lot.choice(JUDGES)
    source = lot.choice(("", "", "", "", RULING, SPOT_CHECK))
    if given and lot.random() < 0.1:
        before = lot.choice(given)
        taken_back = {"grade": None, "supersedes": before.id, "source": WITHDRAWN}
        return msgspec.structs.replace(before, **given_at, **taken_back)
    return vote(
        grade=grade, query_id=query_id, doc_id=doc_id, judge=judge, source=source, **given_at
    )


@pytest.mark.parametrize("seed", range(3))
def test_vote_by_vote_is_the_same_as_from_the_beginning(dataset: Path, seed: int) -> None:
    lot, given = random.Random(seed), list[Vote]()
    for number in range(60):
        new = drawn(lot, number, given)
        append_votes(dataset, [new])
        given += [new] if new.source != WITHDRAWN else []
        if number % 3 == 0:
            session = open_session(dataset)
            assert told(session) == from_the_beginning(session), number


def test_another_set_pool_policy_and_log_are_seen(dataset: Path) -> None:
    lot = random.Random(7)

    def check() -> None:
        session = open_session(dataset)
        assert told(session) == from_the_beginning(session)

    append_votes(dataset, [drawn(lot, number, []) for number in range(20)])
    check()
    content = json.loads(dataset.read_text())
    content["queries"][0]["relevance_judgments"] = [
        {"opinion_id": "d1", "score": 2, "rationale": "so"}
    ]
    dataset.write_text(json.dumps(content))
    pool = json.loads(pool_path(dataset).read_text())
    pool["pairs"] = pool["pairs"][:2]
    pool_path(dataset).write_text(json.dumps(pool))
    check()
    write_policy(dataset, Policy(name="latest"))
    check()
    recompute_labels(dataset)
    check()
    assert told(open_session(dataset))[-1] == 0, "every label is what the votes say"
    log_path(dataset).unlink()
    append_votes(dataset, [drawn(lot, number, []) for number in range(20, 30)])
    check()


def test_what_the_only_judge_is_unsure_of_is_left_for_that_judge(tmp_path: Path) -> None:
    alone = judged_set(tmp_path, {("q1", "d1"): ("Ada",)}, judges=("Ada",))
    ranks: dict[str, Any] = {"rank_a": 1, "rank_b": None}
    doubt = {"effect": 0.1, "change": 0.1, "narrowing": 0.1}
    pair = Pair(query_id="q1", query_text="", doc_id="d1", **ranks, **doubt)
    append_votes(alone, [vote_on("q1", "d1", "Ada", None)])
    assert split_by_votes(alone, [pair], "Ada").left == [pair]
    append_votes(alone, [vote_on("q2", "d4", "Ben", 1, rationale="It decides the point.")])
    assert split_by_votes(alone, [pair], "Ada").left == [], "Ben can be asked"


def test_a_query_that_left_the_set_waits_for_nobody(dataset: Path) -> None:
    for judge, grade in (("Ada", 0), ("Ben", 2)):
        votes = [vote_on("q2", "d4", judge, grade), vote_on("q2", "d1", judge, 1)]
        append_votes(dataset, votes)
    assert told(open_session(dataset))[0] == {("q2", "d4")}
    content = json.loads(dataset.read_text())
    dataset.write_text(json.dumps(content | {"queries": content["queries"][:1]}))
    session = open_session(dataset)
    assert (told(session)[0], told(session)[-1]) == (set(), 0)


def test_a_set_whose_rubric_is_not_here_stands_the_same(dataset: Path) -> None:
    lot = random.Random(3)
    append_votes(dataset, [drawn(lot, number, []) for number in range(30)])
    open_set = set_progress("set", dataset)
    content = json.loads(dataset.read_text())
    dataset.write_text(json.dumps(content | {"rubric": "nobody-has-this"}))
    closed = set_progress("set", dataset)
    for field in ("kappa", "shared", "judges", "to_judge", "disputes", "judgments"):
        assert getattr(closed, field) == getattr(open_set, field), field
    assert not closed.error
    assert open_set.kappa is not None


@pytest.mark.parametrize("at_once", [True, False])
def test_an_undo_that_comes_before_its_vote_takes_it_back(dataset: Path, at_once: bool) -> None:
    """Lines may come in any order, as a merge leaves them, also in two readings."""
    given = vote_on("q1", "d1", "Ada")
    undo = msgspec.structs.replace(
        given,
        id="u",
        grade=None,
        judge="Ben",
        source=WITHDRAWN,
        supersedes=given.id,
        at="2026-05-31",
    )
    append_votes(dataset, [given])
    append_votes(dataset, [undo])
    log = log_path(dataset)
    begun, first, last = log.read_bytes().splitlines(keepends=True)
    for part in [last + first] if at_once else [last, last + first]:
        log.write_bytes(begun + part)
        assert open_session(dataset).votes.current_votes(("q1", "d1")) == []


# ── votes that nobody has checked ─────────────────────────────────────────────────────────────────


def said(judge: str, doc: str, grade: int | None, **keys: str) -> Vote:
    kind = "machine" if judge == "bot" else "human"
    return vote_on("q0", doc, judge, grade, kind=kind, **keys)


def shared(one: str, other: str, agree: bool) -> list[Vote]:
    """Documents that two judges graded; where they agree, on nearly all."""
    votes = []
    for n in range(MIN_SHARED_DOCUMENTS):
        grade = n % 3
        second = grade if agree else (grade + 1 + n % 2) % 3
        votes += [said(one, f"s{n}", grade), said(other, f"s{n}", second)]
    return votes


def test_who_judges_alone_is_unchecked() -> None:
    assert unchecked_votes([said("ada", "a", 2), said("ada", "b", 0)]) == {
        "ada": {("q0", "a"), ("q0", "b")}
    }


def test_a_second_judge_and_a_ruling_are_checks() -> None:
    votes = [said("ada", "a", 2), said("ben", "a", 1), said("ada", "b", 2)]
    assert unchecked_votes(votes) == {"ada": {("q0", "b")}}
    assert unchecked_votes([*votes, said("dora", "b", 1, source=RULING)]) == {}


def test_neither_doubt_nor_a_machine_checks() -> None:
    votes = [said("ada", "a", 2), said("ben", "a", None), said("bot", "a", 2)]
    assert unchecked_votes(votes) == {"ada": {("q0", "a")}}
    assert unchecked_votes([said(IMPORTED, "a", 2)]) == {}, "nobody knows who made these labels"


def test_a_judge_who_agrees_with_others_is_believed_on_the_rest() -> None:
    alone = said("ada", "a", 2)
    assert unchecked_votes([alone, *shared("ada", "ben", agree=True)]) == {}
    assert unchecked_votes([alone, *shared("ada", "ben", agree=False)]) == {"ada": {("q0", "a")}}
    few = shared("ada", "ben", agree=True)[: 2 * MIN_SHARED_DOCUMENTS - 2]
    assert unchecked_votes([alone, *few]) == {"ada": {("q0", "a")}}
