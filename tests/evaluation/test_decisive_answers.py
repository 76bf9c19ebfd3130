"""Every way a golden question passes or fails, with the whole sentence that says so
(benchmarks/mutants.py)."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import InputError, UsageError
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Hit, QueryResult, judgment_frame
from assay.evaluation.golden.scoring import (
    Outcome,
    check_question,
    check_questions,
    checks_of,
    results_of,
)
from assay.law.matching import CellText, KnownDocument, place_of
from kit.golden_cases import hit, outcome, question

S1, S2 = {"section": "1"}, {"section": "2", "moment": "3"}
KL, HL = {"law": "Kuntalaki", "section": "1"}, {"law": "Hallintolaki", "section": "9"}
ONE = [S1]


def other(section: int, score: float | None = 0.9, **fields: Any) -> Hit:
    return hit(section, 1, score, **fields)


CASES: list[tuple[dict[str, Any], list[Hit], str, str]] = [
    ({"expected_any": ONE}, [other(1, 0.6)], "", "1 § 1 mom. is at rank 1 with score 0.6"),
    ({"expected_any": ONE}, [other(1, 0.59)], "low_score",
     "1 § 1 mom. is at rank 1, but its score 0.59 is under 0.6"),
    ({"expected_any": ONE}, [other(1, 0.59), other(1, 0.7)], "",
     "1 § 1 mom. is at rank 2 with score 0.7"),
    ({"expected_any": ONE}, [other(1, None)], "low_score",
     "1 § 1 mom. is at rank 1, but its score 0 is under 0.6"),
    ({"expected_any": ONE, "min_score": 0.0}, [other(1, None)], "",
     "1 § 1 mom. is at rank 1 with score 0"),
    ({"expected_any": ONE}, [other(8)] * 5 + [other(1)], "below_k",
     "1 § 1 mom. is at rank 6, below the top 5"),
    ({"expected_any": ONE}, [other(8)] * 4 + [other(1)], "",
     "1 § 1 mom. is at rank 5 with score 0.9"),
    ({"expected_any": ONE, "k": 2}, [other(8)] * 2 + [other(1)], "below_k",
     "1 § 1 mom. is at rank 3, below the top 2"),
    ({"expected_any": [S1, S2]}, [], "empty", "nothing came back; expected 1 § or 2 § 3 mom."),
    ({"expected_any": ONE}, [other(8)], "not_found",
     "1 § is not in the top 5; 8 § 1 mom. came first"),
    ({"expected_any": ONE}, [other(2)], "near_miss", "close: 2 § 1 mom. is on top instead of 1 §"),
    ({"expected_any": ONE}, [other(8), other(2)], "not_found",
     "1 § is not in the top 5; 8 § 1 mom. came first"),
    ({"expected_any": [S2]}, [other(2)], "near_miss",
     "close: 2 § 1 mom. is on top instead of 2 § 3 mom."),
    ({"expected_any": []}, [other(1)], "nothing_expected",
     "the question expects nothing, so nothing can pass it"),
    ({"must_abstain": True}, [other(1, 0.6)], "answered",
     "should have abstained, but 1 § 1 mom. came first with score 0.6"),
    ({"must_abstain": True}, [other(1, 0.59)], "", "abstained, as it should"),
    ({"must_abstain": True}, [other(1, None)], "answered",
     "should have abstained, but 1 § 1 mom. came first with score 0"),
    ({"must_abstain": True}, [], "", "abstained, as it should"),
    ({"must_abstain": True, "k": 1}, [other(1, 0.1), other(2, 0.9)], "", "abstained, as it should"),
    ({"expected_none": ONE}, [other(8), other(1)], "hard_negative",
     "1 § 1 mom. must not be in the top 5, and is at rank 2"),
    ({"expected_none": ONE}, [other(8)] * 5 + [other(1)], "",
     "nothing that must not come is there"),
    ({"expected_any": ONE, "expected_none": [{"section": "7"}]}, [other(7), other(1)],
     "hard_negative", "7 § 1 mom. must not come before what is expected, and is at rank 1"),
    ({"expected_any": ONE, "expected_none": [{"section": "7"}]}, [other(1), other(7)], "",
     "1 § 1 mom. is at rank 1 with score 0.9"),
    ({"expected_any": ONE, "expected_none": [{"section": "7"}]}, [other(7), other(1, 0.1)],
     "hard_negative", "7 § 1 mom. must not come before what is expected, and is at rank 1"),
    ({"expected_any": ONE, "expected_none": [{"section": "7"}]}, [other(1, 0.1), other(7)],
     "low_score", "1 § 1 mom. is at rank 1, but its score 0.1 is under 0.6"),
    ({"expected_any": ONE, "expected_none": [{"section": "7"}], "k": 2},
     [other(8), other(7), other(1)], "hard_negative",
     "7 § 1 mom. must not come before what is expected, and is at rank 2"),
    ({"expected_any": ONE, "expected_none": [{"section": "1", "moment": "1"}]}, [other(1)],
     "hard_negative", "1 § 1 mom. must not come before what is expected, and is at rank 1"),
    ({"expected_any": [KL], "confusion": [{"section": "9"}]}, [other(9), other(1, law="Kuntalaki")],
     "confusion", "the wrong law is on top: 9 § 1 mom. instead of Kuntalaki 1 §"),
    ({"confusion": [{"section": "9"}]}, [other(9)], "confusion",
     "the wrong law is on top: 9 § 1 mom."),
    ({"confusion": [{"section": "9"}]}, [other(8), other(9)], "",
     "nothing that must not come is there"),
    ({"expected_any": [KL], "confusion": [True]},
     [other(1, law="Hallintolaki"), other(1, law="Kuntalaki")], "confusion",
     "the wrong law is on top: Hallintolaki 1 § 1 mom. instead of Kuntalaki 1 §"),
    ({"expected_any": [KL]}, [other(1, law="Hallintolaki"), other(1, law="Kuntalaki")], "",
     "Kuntalaki 1 § 1 mom. is at rank 2 with score 0.9"),
    ({"expected_any": [KL]}, [other(1, law="Hallintolaki")], "confusion",
     "the wrong law is on top: Hallintolaki 1 § 1 mom. instead of Kuntalaki 1 §"),
    ({"expected_any": [KL, S1]}, [other(7, law="Hallintolaki")], "not_found",
     "Kuntalaki 1 § or 1 § is not in the top 5; Hallintolaki 7 § 1 mom. came first"),
    ({"expected_any": [{"section": "1", "version": "2"}]}, [other(1, version="1")], "wrong_version",
     "1 § 1 mom. is at rank 1 in a version other than asked for"),
    ({"expected_any": ONE, "as_of": "2020-01-01"}, [other(1, valid_from="2020-01-02")],
     "wrong_version",
     "1 § 1 mom. is at rank 1 in a version that was not in force on 2020-01-01"),
    ({"expected_any": ONE, "as_of": "2020-01-01"}, [other(1, valid_from="2020-01-01")], "",
     "1 § 1 mom. is at rank 1 with score 0.9"),
    ({"expected_any": ONE, "evidence": ["gift", "limit"]}, [other(1, text="a gift")], "evidence",
     "1 § 1 mom. is at rank 1, but its text lacks the evidence: limit"),
    ({"expected_any": ONE, "evidence": ["gift"]}, [other(1, text="a gift")], "",
     "1 § 1 mom. is at rank 1 with score 0.9"),
    ({"expected_any": [{**S1, "evidence": ["fee", "tax"]}, {"section": "1", "moment": "1",
                                                        "evidence": "gift"}]},
     [other(1, text="a limit")], "evidence",
     "1 § 1 mom. is at rank 1, but its text lacks the evidence: gift"),
    ({"expected_any": [{**S1, "evidence": ["fee"]}, {"section": "1", "moment": "1"}]},
     [other(1, text="a limit")], "", "1 § 1 mom. is at rank 1 with score 0.9"),
    ({"expected_any": ONE, "must_abstain": True}, [], "", "abstained, as it should"),
]  # fmt: skip


@pytest.mark.parametrize(("checks", "hits", "failure", "reason"), CASES)
def test_what_a_question_comes_to(
    checks: dict[str, Any], hits: list[Hit], failure: str, reason: str
) -> None:
    found = outcome(question(**checks), *hits)
    assert (found.failure, found.reason.strip()) == (failure, reason)
    assert found.passed == (not failure)


def facts(found: Outcome) -> dict[str, Any]:
    names = (
        "first_rank",
        "recall",
        "negative_violated",
        "confused",
        "near_miss",
        "abstained",
        "rr",
    )
    told = {name: getattr(found, name) for name in names}
    told["placed"] = found.placed.rank if found.placed else None
    told["negative"] = found.negative.rank if found.negative else None
    return {name: value for name, value in told.items() if value is not None and value is not False}


@pytest.mark.parametrize(
    ("checks", "hits", "told"),
    [
        ({"expected_any": [S1, S2]}, [other(8), other(1)],
         {"first_rank": 2, "recall": 0.5, "rr": 0.5, "placed": 2}),
        ({"expected_any": [S1, S2]}, [hit(2, 3), other(1), other(1)],
         {"first_rank": 1, "recall": 1.0, "rr": 1.0, "placed": 1}),
        ({"expected_any": ONE}, [other(8), other(1, 0.2), other(1)],
         {"first_rank": 3, "recall": 1.0, "rr": 1 / 3, "placed": 3}),
        ({"expected_any": ONE}, [other(8), other(1, 0.2)], {"recall": 0.0, "rr": 0.0, "placed": 2}),
        ({"expected_any": ONE}, [other(8)] * 5 + [other(1)],
         {"recall": 0.0, "rr": 0.0, "placed": 6}),
        ({"expected_any": ONE}, [other(2)], {"recall": 0.0, "rr": 0.0, "near_miss": True}),
        ({"expected_any": ONE}, [other(2), other(1)],
         {"first_rank": 2, "recall": 1.0, "rr": 0.5, "placed": 2}),
        ({"expected_none": ONE}, [other(8), other(1)], {"negative": 2, "negative_violated": True}),
        ({"expected_any": ONE, "expected_none": [{"section": "7"}]}, [other(1), other(7)],
         {"first_rank": 1, "recall": 1.0, "rr": 1.0, "placed": 1, "negative": 2}),
        ({"expected_any": [KL]}, [other(1, law="Hallintolaki")],
         {"recall": 0.0, "rr": 0.0, "confused": True}),
        ({"must_abstain": True}, [other(1, 0.1)], {"abstained": True}),
        ({"expected_any": ONE}, [], {"recall": 0.0, "rr": 0.0, "abstained": True}),
    ],
)  # fmt: skip
def test_the_figures_of_an_answer(
    checks: dict[str, Any], hits: list[Hit], told: dict[str, Any]
) -> None:
    assert facts(outcome(question(**checks), *hits)) == told


@pytest.mark.parametrize(
    ("checks", "hits", "confused"),
    [
        ({"confusion": ["Hallintolaki"]}, [], False),
        ({"expected_any": ONE, "confusion": True}, [], False),
        ({"expected_any": ONE}, [], None),
        ({"expected_any": ONE}, [other(1)], None),
        ({"expected_any": [KL]}, [other(1)], None),
        ({"expected_any": [KL]}, [other(1, law="Kuntalaki")], False),
        ({"expected_any": [KL, HL]}, [other(1, law="Hallintolaki")], False),
        ({"expected_any": [KL, S1]}, [other(1, law="Hallintolaki")], None),
        ({"expected_any": ONE, "confusion": ["Hallintolaki"]}, [other(1, law="Kuntalaki")], False),
        ({"expected_any": ONE, "confusion": ["Hallintolaki"]}, [other(1, law="Hallintolaki")],
         True),
    ],
)  # fmt: skip
def test_whether_the_law_on_top_is_wrong(
    checks: dict[str, Any], hits: list[Hit], confused: bool | None
) -> None:
    assert outcome(question(**checks), *hits).confused is confused


def test_a_negative_that_did_not_come_is_not_violated() -> None:
    asked = question(expected_any=ONE, expected_none=[{"section": "7"}])
    assert outcome(asked, other(1)).negative_violated is False


def test_no_answer_and_a_failed_call_are_told_apart() -> None:
    asked = question(expected_any=ONE)
    missing = check_question(asked, None)
    assert (missing.passed, missing.failure, missing.recall, missing.rr) == (False, "missing", 0, 0)
    assert missing.reason == "the run has no answer to this question"
    told = (missing.negative_violated, missing.near_miss, missing.abstained)
    assert told == (False, False, False)
    failed = outcome(asked, error="down")
    assert (failed.passed, failed.failure, failed.recall, failed.rr) == (False, "error", None, None)
    assert failed.reason == "the engine failed: down"
    assert check_question(question(must_abstain=True), None).recall is None
    said = outcome(question(must_abstain=True, expected_none=ONE), other(1), abstained=True)
    assert (said.passed, said.abstained, said.negative) == (True, True, None)
    none = outcome(question(must_abstain=True), other(1, 0.1))
    assert (none.rr, none.first_rank) == (None, None)


def test_limits_come_from_the_call_the_question_or_the_suite() -> None:
    plain, own = question(expected_any=ONE), question(expected_any=ONE, k=3, min_score=0.0)
    assert (checks_of(plain).k, checks_of(plain).min_score) == (5, 0.6)
    assert (checks_of(own).k, checks_of(own).min_score) == (3, 0.0)
    assert (checks_of(own, k=2, min_score=0.5).k, checks_of(own, min_score=0.5).min_score) == (
        2,
        0.5,
    )
    for least in (float("nan"), float("inf"), -0.1, 1.01, 60):
        with pytest.raises(UsageError, match=f"min_score is {least:g}, expected 0 to 1"):
            checks_of(plain, min_score=least)
    with_law = checks_of(question(confusion=[True, "Hallintolaki"]))
    assert (with_law.wrong_law_fails, len(with_law.traps)) == (True, 1)
    assert not checks_of(question(confusion=["Hallintolaki"])).wrong_law_fails
    assert checks_of(question(confusion=False)).traps == ()
    assert checks_of(question(evidence=7)).evidence == ("7",)
    assert checks_of(question(must_abstain=1)).must_abstain is True
    assert checks_of(question(expected_any=ONE, language="fin"), language="sv").language == "sv"


@pytest.mark.parametrize(
    ("checks", "message", "where"),
    [
        ({"expected_any": [S1, {"section": ""}]}, "the place is empty",
         "q: expected_any[1]"),
        ({"expected_none": [{"section": "1-3"}]}, "'1-3' is not one section",
         "q: expected_none[0].section"),
        ({"expected_any": ONE, "evidence": ["ok", "--"]}, "'--' is not a search term",
         "q: evidence"),
        ({"expected_any": ONE, "evidence": [True]}, "True is not a search term",
         "q: evidence"),
        ({"expected_any": ONE, "evidence": {"x": 1}}, "{'x': 1} is not a search term",
         "q: evidence"),
        ({"expected_any": [S1, {**S2, "evidence": [None]}]}, "None is not a search term",
         "q: expected_any[1].evidence"),
    ],
)  # fmt: skip
def test_a_check_that_cannot_be_read_says_where(
    checks: dict[str, Any], message: str, where: str
) -> None:
    with pytest.raises(InputError) as error:
        checks_of(question(**checks))
    assert (error.value.message, error.value.where) == (message, where)
    assert error.value.hint


def test_evidence_of_a_column_is_looked_for_in_its_cell() -> None:
    cells = (CellText("2023", "1 200", "t€"), CellText("2022", "900", "t€"))
    known = KnownDocument(
        place_of({"table": "t", "row": "r", "columns": ["2023", "2022"]}), "r", "", cells
    )
    asked = question(expected_any=[{"table": "t", "row": "r", "column": "2023"}], evidence=["900"])
    found = outcome(asked, Hit(doc_id="d", score=0.9), locate=lambda _: known)
    assert found.failure == "evidence"
    assert "but its column 2023 says 1 200 (t€) and lacks the evidence: 900 (" in found.reason
    right = question(expected_any=[{"table": "t", "row": "r", "column": "2022"}], evidence=["900"])
    assert outcome(right, Hit(doc_id="d", score=0.9), locate=lambda _: known).passed


def test_a_set_and_a_run_are_read_in_their_order() -> None:
    queries = (question("b", expected_any=ONE), question("a", expected_any=ONE))
    gold = GoldSet(name="g", queries=queries, judgments=judgment_frame([], [], []))
    low = QueryResult(query_id="a", hits=(other(1, 0.5),))
    found = check_questions(gold, [low])
    assert [(each.query.id, each.failure) for each in found] == [
        ("b", "missing"),
        ("a", "low_score"),
    ]
    assert [each.passed for each in check_questions(gold, [low], min_score=0.5)] == [False, True]
    three = QueryResult(query_id="b", hits=(other(8), other(8), other(1)))
    assert [each.failure for each in check_questions(gold, [three, low], k=2)] == [
        "below_k",
        "low_score",
    ]
    known = KnownDocument(place_of(S1))
    bare = [QueryResult(query_id=id, hits=(Hit(doc_id="x", score=1.0),)) for id in "ab"]
    assert all(each.passed for each in check_questions(gold, bare, locate=lambda _: known))
    run = run_from_results(
        "e",
        [
            QueryResult(query_id="x", hits=(Hit(doc_id="a", score=2.0), Hit(doc_id="b", score=1.0)),
                        millis=3.0),
            QueryResult(query_id="y", hits=(), error="down"),
            QueryResult(query_id="z", hits=(Hit(doc_id="c", score=0.5),)),
        ],
    )  # fmt: skip
    told = [
        (each.query_id, [(h.doc_id, h.score) for h in each.hits], each.error, each.abstained)
        for each in results_of(run)
    ]
    assert told == [
        ("x", [("a", 2.0), ("b", 1.0)], None, False),
        ("y", [], "down", False),
        ("z", [("c", 0.5)], None, False),
    ]
    assert results_of(run)[0].millis == 3.0
