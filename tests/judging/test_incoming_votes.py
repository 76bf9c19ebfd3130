"""Votes from the files that judges send back: what is refused, what is new and what it supersedes
(benchmarks/mutants.py)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.types import GoldSet, Query, judgment_frame
from assay.formats.ballots import Ballot, Ballots
from assay.gold.people import IMPORTED
from assay.gold.votes import RULING, SPOT_CHECK, not_before
from assay.judging.incoming_votes import (
    NAMED_ROWS,
    UNCHANGED,
    MergeDefaults,
    MergedVotes,
    VoteLimits,
    limits_of_set,
    merge_ballots,
)
from assay.judging.votes import LONGEST_REASON
from kit.votes import VOTED_AT as AT
from kit.votes import vote

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def ballot(**fields: Any) -> Ballot:
    given = {"where": "f:2", "query_id": "q", "doc_id": "d", "grade": 1, "judge": "ada"}
    return Ballot(**(given | {"rationale": "so"} | fields))


def limits(**more: Any) -> VoteLimits:
    gold = GoldSet(
        name="g", queries=(Query(id="q", text="x"),), judgments=judgment_frame([], [], [])
    )
    fields = {"gold": gold, "votes": [], "queries": frozenset({"q"}), "grades": {0, 1, 2}} | more
    return VoteLimits(**fields)


def taken(*rows: Ballot, partial: bool = False, said: Any = None, **more: Any) -> MergedVotes:
    given = MergeDefaults(**({"at": NOW} | (said or {})))
    file = Ballots(rows=list(rows), has_rationales=more.pop("has_rationales", True))
    return merge_ballots([file], limits(**more), given, partial=partial)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({"judge": ""}, {}, "the row names no judge", "Give --judge NAME."),
    ({"kind": "human"}, {"said": {"kind": "machine"}},
     "the file has ada as human, but --kind is machine", UNCHANGED),
    ({"source": RULING}, {}, "the row is a ruling, which `gold merge` does not import",
     f"Import it with `assay gold adjudicate SET --from FILE --by NAME`. {UNCHANGED}"),
    ({"query_id": "z"}, {}, "the gold set 'g' has no query 'z'",
     f"Check that this is the set that was judged. {UNCHANGED}"),
    ({"grade": 3}, {}, "grade 3 of d on query q is not on the scale, which is 0 to 2", UNCHANGED),
    ({"grade": 1}, {"grades": {0, 2, 5}},
     "grade 1 of d on query q is not on the scale, which is 0, 2, 5", UNCHANGED),
    ({}, {"allowed_pairs": {("q", "e")}}, "'d' on query 'q' was not assigned to anyone",
     f"Add --unasked to import it anyway. {UNCHANGED}"),
    ({}, {"documents": {"e"}}, "the corpus has no document 'd'",
     f"Check that this is the corpus that was judged. {UNCHANGED}"),
    ({"rationale": ""}, {"said": {"source": RULING}}, "the ruling has no rationale",
     f"Explain why this grade is right. {UNCHANGED}"),
    ({"rationale": ""}, {"needs_rationale": True},
     "d on query q has no rationale, and the rubric requires one",
     f"Ask the judge to write it. {UNCHANGED}"),
    ({"rationale": "x" * (LONGEST_REASON + 1)}, {},
     f"the reason for d on query q has {LONGEST_REASON + 1:,} characters, and at most "
     f"{LONGEST_REASON:,} are kept", f"Ask the judge to shorten it. {UNCHANGED}"),
    ({"at": "soon"}, {}, "'soon' is not a date or time",
     f"Write it as 2026-01-31 or 2026-01-31T14:00:00Z. {UNCHANGED}"),
    ({"at": "2026-06-02T12:00:01+00:00"}, {},
     "the vote has a date in the future, 2026-06-02T12:00:01+00:00",
     f"Check the clock of the judge's computer. {UNCHANGED}"),
    ({"kind": "machine"}, {"votes": [vote("a", doc_id="e")]},
     "ada has voted as human before; this vote is machine",
     f"Use --kind human, or give the other judge another name. {UNCHANGED}"),
    ({"id": "a", "grade": 2, "at": AT}, {"votes": [vote("a", rationale="so")]},
     "the vote 'a' of ada on 'd' for query 'q' is in the log with different content",
     f"Votes never change. Give a new vote a new id, or none. {UNCHANGED}"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "more", "message", "hint"), REFUSED)
def test_a_ballot_that_is_refused(
    row: dict[str, Any], more: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(InputError) as error:
        taken(ballot(**row), **more)
    said = (error.value.message, error.value.where, error.value.hint)
    assert said == (message, "f:2", hint)


@pytest.mark.parametrize(
    ("row", "more"),
    [
        ({"judge": ""}, {"said": {"judge": "ada"}}),
        ({"kind": "machine"}, {"said": {"kind": "machine"}}),
        ({"source": RULING, "id": "x"}, {}),
        ({"source": RULING}, {"said": {"source": SPOT_CHECK}}),
        ({"grade": None}, {"needs_rationale": True}),
        ({"grade": 7}, {"grades": None}),
        ({}, {"allowed_pairs": {("q", "d")}}),
        ({}, {"allowed_pairs": set(), "judged": {("q", "d")}}),
        ({"id": "x"}, {"allowed_pairs": set(), "documents": set()}),
        ({}, {"documents": {"d"}}),
        ({"rationale": ""}, {"needs_rationale": True, "has_rationales": False}),
        ({"rationale": ""}, {}),
        ({"rationale": "", "id": "x"}, {"needs_rationale": True}),
        ({"rationale": "x" * LONGEST_REASON}, {}),
        ({"rationale": "x" * (LONGEST_REASON + 1), "id": "x"}, {}),
        ({"at": "2026-06-02T12:00:00+00:00"}, {}),  # a day ahead may be the judge's clock
        ({"kind": "machine"}, {"votes": [vote("a", doc_id="e", judge="bea")]}),
        ({"kind": "machine", "judge": IMPORTED},
         {"votes": [vote("a", doc_id="e", judge=IMPORTED)]}),
    ],
)  # fmt: skip
def test_the_ballot_beside_it_is_taken(row: dict[str, Any], more: dict[str, Any]) -> None:
    found = taken(ballot(**row), **more)
    assert (len(found.new), found.already, found.outdated, found.left_out) == (1, 0, 0, [])


@pytest.mark.parametrize("bad", [1, 2, NAMED_ROWS, NAMED_ROWS + 1, NAMED_ROWS + 3])
@pytest.mark.parametrize("good", [0, 1, 2])
def test_what_cannot_be_taken_is_told_at_once(bad: int, good: int) -> None:
    """Ten rows by name, how many more there are, and what --partial would take."""
    assert NAMED_ROWS == 10
    wrong = [ballot(where=f"f:{n}", query_id=f"z{n}") for n in range(bad)]
    right = [ballot(where=f"f:9{n}", doc_id=f"d{n}") for n in range(good)]
    with pytest.raises(InputError) as error:
        taken(*wrong, *right)
    first, *lines = error.value.message.splitlines()
    assert first == "the gold set 'g' has no query 'z0'"
    named = [
        f"  f:{n}: the gold set 'g' has no query 'z{n}'" for n in range(1, min(bad, NAMED_ROWS))
    ]
    assert lines == named + ([f"  and {bad - NAMED_ROWS} more"] if bad > NAMED_ROWS else [])
    rest = {
        0: "",
        1: " --partial imports the other 1 row.",
        2: " --partial imports the other 2 rows.",
    }
    assert (
        error.value.hint == f"Check that this is the set that was judged. {UNCHANGED}{rest[good]}"
    )
    part = taken(*wrong, *right, partial=True)
    assert (len(part.new), len(part.left_out)) == (good, bad)


def test_of_two_rows_on_one_pair_neither_is_taken() -> None:
    rows = [ballot(where="f:2"), ballot(where="f:7", grade=2), ballot(where="f:8", doc_id="e")]
    with pytest.raises(InputError) as error:
        taken(*rows)
    assert error.value.message == "ada has already voted on 'd' for query 'q', in line 2"
    assert error.value.where == "f:7"
    assert error.value.hint.startswith(f"Keep one of the two. {UNCHANGED}")
    part = taken(*rows, partial=True)
    assert [each.doc_id for each in part.new] == ["e"]
    assert part.left_out[0].where == "f:7"
    ids = [ballot(where="f:2", id="x"), ballot(where="f:7", id="y", at="2026-05-30")]
    assert [each.id for each in taken(*ids).new] == ["x", "y"]


def test_a_ballot_becomes_a_vote_with_all_that_it_says() -> None:
    row = ballot(document="fp", rubric="r@2", seconds=3.5, at="2026-05-30", judge=" ada ")
    (new,) = taken(row, rubric="r@1").new
    assert (new.query_id, new.doc_id, new.grade, new.judge, new.kind) == (
        "q",
        "d",
        1,
        "ada",
        "human",
    )
    assert (new.at, new.rationale, new.rubric, new.document) == ("2026-05-30", "so", "r@2", "fp")
    assert (new.seconds, new.supersedes, new.source) == (3.5, "", "")
    assert re.fullmatch("[0-9a-f]{24}", new.id)
    assert taken(row, rubric="r@1").new == [new]  # the same ballot gives the same vote
    others = [
        {"rationale": "x"}, {"grade": 2}, {"judge": "b"}, {"at": AT}, {"document": ""},
        {"rubric": ""}, {"source": "s"}, {"kind": "machine"},
    ]  # fmt: skip
    ids = {taken(ballot(**{"document": "fp", "rubric": "r@2", "at": "2026-05-30"} | each)).new[0].id
           for each in others}  # fmt: skip
    assert len(ids | {new.id}) == len(others) + 1
    (plain,) = taken(ballot(), rubric="r@1").new
    assert (plain.rubric, plain.at) == ("r@1", "2026-06-01T12:00:00+00:00")
    (kept,) = taken(ballot(id="x"), rubric="r@1").new
    assert (kept.id, kept.rubric, kept.at) == ("x", "", "")
    assert taken(ballot(), has_rationales=False).new[0].source == IMPORTED
    assert taken(ballot(source="s"), has_rationales=False).new[0].source == "s"
    assert taken(ballot(source="s"), said={"source": SPOT_CHECK}).new[0].source == SPOT_CHECK
    assert taken(ballot(), said={"kind": "machine"}).new[0].kind == "machine"


@pytest.mark.parametrize(
    ("at", "moment"),
    [
        ("2026-05-30", "2026-05-30"),
        ("2026-05-30T10:00:00", "2026-05-30T10:00:00+00:00"),
        ("2026-05-30T10:00:00Z", "2026-05-30T10:00:00+00:00"),
        ("2026-05-30T10:00:00.25-02:00", "2026-05-30T12:00:00.250000+00:00"),
    ],
)
def test_moments_are_in_utc(at: str, moment: str) -> None:
    assert taken(ballot(at=at)).new[0].at == moment


@pytest.mark.parametrize(
    ("row", "there", "new"),
    [
        ({}, {"rationale": "so"}, False),
        ({"rationale": ""}, {"rationale": "so"}, False),  # never displaces one with a reason
        ({"rationale": "", "at": "2026-05-31T13:00:00+00:00"}, {"rationale": "so"}, False),
        ({"rationale": "so"}, {"rationale": " so "}, False),
        ({"rationale": "other"}, {"rationale": "so"}, True),
        ({"grade": 2}, {"rationale": "so"}, True),
        ({"rationale": ""}, {}, False),
        ({"rationale": "", "at": AT}, {}, False),
        ({"rationale": "", "at": "2026-05-31T13:00:00+00:00"}, {}, True),
        ({"rationale": "", "at": "2026-05-31T13:00:00+00:00", "echo": "a"}, {}, False),
        ({"rationale": "", "document": "x"}, {"document": "x"}, False),
        ({"rationale": "", "document": "x"}, {"document": "y"}, True),
        ({"rationale": "", "document": "x"}, {}, False),
        ({"rationale": "", "rubric": "r@1"}, {"rubric": "r@2"}, True),
        ({"rationale": "", "rubric": "r@1"}, {"rubric": "r@1"}, False),
        ({"rationale": "", "source": SPOT_CHECK}, {}, True),  # another role
    ],
)
def test_what_says_nothing_new(row: dict[str, Any], there: dict[str, Any], new: bool) -> None:
    found = taken(ballot(**row), votes=[vote("a", **there)])
    assert (len(found.new), found.already, found.outdated) == (int(new), int(not new), 0)
    if new:
        same_role = row.get("source", "") == ""
        assert found.new[0].supersedes == ("a" if same_role else "")


@pytest.mark.parametrize("times", [("", ""), ("2026-06-01", "2026-06-01")])
def test_the_order_in_which_files_are_named_decides_nothing(times: tuple[str, str]) -> None:
    """Two words of one judge at one moment: neither is taken, and both places are told."""
    files = [
        Ballots(rows=[ballot(grade=grade, at=at, where=f"{name}:2"), ballot(doc_id=name)])
        for name, grade, at in zip("ab", (0, 2), times, strict=True)
    ]
    for first, second in (files, files[::-1]):
        named = first.rows[0].where
        with pytest.raises(InputError, match=f"on 'd' for query 'q', in {named}"):
            merge_ballots([first, second], limits(votes=[vote("x")]), MergeDefaults(at=NOW))
        found = merge_ballots(
            [first, second], limits(votes=[vote("x")]), MergeDefaults(at=NOW), partial=True
        )
        assert {each.doc_id for each in found.new} == {"a", "b"}
        assert [each.where for each in found.left_out] == [second.rows[0].where]


def test_bounds_are_what_the_set_and_its_votes_say() -> None:
    gold = GoldSet(
        name="g",
        queries=(Query(id="q", text="x"), Query(id="r", text="y")),
        judgments=judgment_frame(["q"], ["a"], [2]),
    )
    found = limits_of_set(gold, [vote("v", query_id="r", doc_id="b")])
    assert found.queries == {"q", "r"}
    assert found.judged == {("q", "a"), ("r", "b")}
    assert found.grades == (set(range(gold.top_grade + 1)) if gold.top_grade else None)
    assert (found.allowed_pairs, found.documents, found.needs_rationale) == (None, None, False)


def test_a_new_word_comes_after_what_the_clock_has_not_seen() -> None:
    at = datetime(2026, 6, 1, 11, tzinfo=UTC)
    for given, moment in (
        ([], at),
        ([AT], at),
        (["2026-06-01T12:00:00.000+00:00"], at),
        (["2026-06-01T12:00:01+00:00", AT], datetime(2026, 6, 1, 12, 0, 2, tzinfo=UTC)),
        (["2026-06-09"], datetime(2026, 6, 9, 0, 0, 1, tzinfo=UTC)),
        (["spring 2019"], at),
        (["2026-06-01T12:30:00+02:00"], at),
        (["2026-06-01T14:30:00+02:00"], datetime(2026, 6, 1, 12, 30, 1, tzinfo=UTC)),
    ):
        assert not_before(at, [vote("v", at=each) for each in given], NOW) == moment, given
