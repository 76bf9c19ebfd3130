"""Whose votes nobody has checked."""

from __future__ import annotations

from assay.core.types import Vote
from assay.judging.labels import SHARED, unchecked_votes
from assay.judging.pool import Pool, PooledPair, pairs_to_judge, with_second_look
from assay.judging.votes import RULING, UNNAMED
from kit.sets import write_set
from kit.votes import vote_on


def vote(judge: str, doc: str, grade: int | None, **keys: str) -> Vote:
    kind = "machine" if judge == "bot" else "human"
    return vote_on("q0", doc, judge, grade, kind=kind, **keys)


def shared(one: str, other: str, agree: bool) -> list[Vote]:
    """Documents that two judges graded; where they agree, on nearly all."""
    votes = []
    for n in range(SHARED):
        grade = n % 3
        second = grade if agree else (grade + 1 + n % 2) % 3
        votes += [vote(one, f"s{n}", grade), vote(other, f"s{n}", second)]
    return votes


def test_who_judges_alone_is_unchecked() -> None:
    assert unchecked_votes([vote("ada", "a", 2), vote("ada", "b", 0)]) == {
        "ada": {("q0", "a"), ("q0", "b")}
    }


def test_a_second_judge_and_a_ruling_are_checks() -> None:
    votes = [vote("ada", "a", 2), vote("ben", "a", 1), vote("ada", "b", 2)]
    assert unchecked_votes(votes) == {"ada": {("q0", "b")}}
    assert unchecked_votes([*votes, vote("dora", "b", 1, source=RULING)]) == {}


def test_neither_doubt_nor_a_machine_checks() -> None:
    votes = [vote("ada", "a", 2), vote("ben", "a", None), vote("bot", "a", 2)]
    assert unchecked_votes(votes) == {"ada": {("q0", "a")}}
    assert unchecked_votes([vote(UNNAMED, "a", 2)]) == {}, "nobody knows who made these labels"


def test_a_judge_who_agrees_with_others_is_believed_on_the_rest() -> None:
    alone = vote("ada", "a", 2)
    assert unchecked_votes([alone, *shared("ada", "ben", agree=True)]) == {}
    assert unchecked_votes([alone, *shared("ada", "ben", agree=False)]) == {"ada": {("q0", "a")}}
    few = shared("ada", "ben", agree=True)[: 2 * SHARED - 2]
    assert unchecked_votes([alone, *few]) == {"ada": {("q0", "a")}}


def test_a_second_look_is_asked_of_somebody_else(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from assay import formats

    gold = formats.read_gold(write_set(tmp_path))
    dealt = Pool(
        judges=("ada", "ben", "cy"),
        pairs=(
            PooledPair(query_id="q0", doc_id="a", judges=("ada",)),
            PooledPair(query_id="q0", doc_id="b", judges=("ben",)),
        ),
    )
    asked = with_second_look(dealt, [("q0", "a")])
    assert {pair.doc_id: pair.judges for pair in asked.pairs} == {"a": ("ada", "cy"), "b": ("ben",)}
    assert with_second_look(asked, [("q0", "a")]) == asked, "once is enough"

    anybodys = Pool(pairs=(PooledPair(query_id="q0", doc_id="a"),))
    again = with_second_look(anybodys, [("q0", "a"), ("q0", "new")])
    first = [vote("ada", "a", 2)]
    assert not pairs_to_judge(anybodys, gold, first)
    assert {pair.doc_id for pair in pairs_to_judge(again, gold, first)} == {"a", "new"}
    both = [*first, vote("ben", "a", 1)]
    assert {pair.doc_id for pair in pairs_to_judge(again, gold, both)} == {"new"}
