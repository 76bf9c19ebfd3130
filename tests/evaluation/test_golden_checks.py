from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Hit, Query, QueryResult
from assay.evaluation.golden.scoring import check_question, check_questions, results_of
from assay.law.matching import KnownDocument, PlaceKey
from kit.golden_cases import hit, outcome, question
from kit.spec_runner import eval_one

S110 = {"section": "110", "moment": "3"}


NONE = [{"section": "118"}]


def test_what_is_named_as_a_negative_is_never_the_expected_hit() -> None:
    asked = question(
        expected_any=[{"section": "118"}], expected_none=[{"section": "118", "moment": "2"}]
    )
    assert outcome(asked, hit(118, 2), hit(118, 1)).failure == "hard_negative"
    assert outcome(asked, hit(118, 1), hit(118, 2)).first_rank == 1


def test_when_nothing_is_expected_a_negative_anywhere_in_the_top_k_fails() -> None:
    asked = question(expected_none=NONE, k=2)
    assert outcome(asked, hit(1, 1), hit(118, 1)).failure == "hard_negative"
    assert outcome(asked, hit(1, 1), hit(2, 1), hit(118, 1)).passed
    assert outcome(asked).passed
    assert outcome(asked, hit(1, 1)).rr is None, (
        "a question that asks for no hit has no reciprocal rank"
    )


def test_evidence_must_stand_in_the_text_of_the_hit() -> None:
    asked = question(expected_any=[S110], evidence=["alijäämä", "vuosi"])
    good = hit(110, 3, text="Alijäämän kattamisesta neljän vuoden aikana.")
    assert outcome(asked, good).passed
    bad = outcome(asked, hit(110, 3, text="Jotain muuta."))
    assert (bad.failure, bad.placed and bad.placed.rank) == ("evidence", 1)
    assert "alijäämä, vuosi" in bad.reason
    assert outcome(asked, hit(110, 3)).failure == "evidence"
    assert outcome(asked, hit(110, 3, title="Alijäämä ja vuosi")).failure == "evidence", (
        "a title is no evidence"
    )
    assert outcome(asked, hit(110, 3, text="Ei."), good).first_rank == 2
    assert outcome(
        asked,
        Hit(doc_id="x:110:3", score=1.0),
        locate=lambda _: KnownDocument(PlaceKey(), "alijäämä vuosi"),
    ).passed


def test_the_right_section_in_the_wrong_version_is_its_own_failure() -> None:
    asked = question(expected_any=[{"section": "5"}], as_of="2014-06-01")
    new = hit(5, 1, valid_from="2015-05-01")
    old = hit(5, 1, valid_from="1995-07-01", valid_to="2015-04-30")
    assert outcome(asked, new).failure == "wrong_version"
    assert outcome(asked, new, old).first_rank == 2
    named = question(expected_any=[{"section": "5", "version": "fin@20140001"}])
    assert outcome(named, hit(5, 1, version="fin@20230780")).failure == "wrong_version"
    assert outcome(named, hit(5, 1, version="fin@20140001")).passed


def test_recall_counts_an_expectation_only_when_its_own_version_and_evidence_are_there() -> None:
    versions = question(
        expected_any=[{"section": "5", "version": "a"}, {"section": "5", "version": "b"}]
    )
    assert outcome(versions, hit(5, 1, version="a")).recall == 0.5
    terms = question(
        expected_any=[{"section": "5", "evidence": "kunta"}, {"section": "5", "evidence": "laina"}]
    )
    assert outcome(terms, hit(5, 1, text="Kunnan talous")).recall == 0.5


@pytest.mark.parametrize(
    "checks",
    [
        {"expected_any": [{"section": " "}]},
        {"expected_none": [{"section": " "}]},
        {"confusion": ""},
        {"expected_any": [S110], "evidence": [""]},
        {"expected_any": [S110], "evidence": "§"},
        {"expected_any": [{**S110, "evidence": {"a": 1}}]},
        {"expected_any": [S110], "min_score": float("nan")},
    ],
)
def test_a_check_that_could_never_be_met_or_never_fail_is_an_error(checks: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        outcome(question(**checks), hit(110, 3))


def test_a_number_is_a_term_of_evidence() -> None:
    asked = question(expected_any=[{**S110, "evidence": [2022]}])
    assert outcome(asked, hit(110, 3, text="vuonna 2022")).passed
    assert outcome(asked, hit(110, 3, text="vuonna 2023")).failure == "evidence"


def test_a_trap_alone_says_what_came_and_no_more() -> None:
    found = outcome(question(confusion="Kirjanpitolaki"), hit(3, 1, law="Kirjanpitolaki"))
    assert found.reason == "the wrong law is on top: Kirjanpitolaki 3 § 1 mom."


@pytest.mark.parametrize("day", ["2015-03-01", "20150301", "2015-W09-7"])
def test_a_day_is_the_same_however_iso_writes_it(day: str) -> None:
    asked = question(expected_any=[{"section": "5"}], as_of=day)
    assert outcome(asked, hit(5, 1, valid_from="2015-05-01")).failure == "wrong_version"
    assert outcome(asked, hit(5, 1, valid_from="20150201")).passed


def test_checks_combine() -> None:
    asked = question(must_abstain=True, expected_none=NONE)
    assert outcome(asked, hit(118, 1, 0.3)).failure == "hard_negative"
    assert outcome(asked, hit(118, 1, 0.9)).failure == "answered"
    assert outcome(asked, hit(118, 1, 0.9), abstained=True).passed


def test_runs_with_ids_alone_are_scored_by_their_node_ids() -> None:
    answers = [
        QueryResult(
            query_id="q", hits=(Hit(doc_id="410/2015:fin@20230780:110:3", score=0.7),), millis=3.0
        )
    ]
    again = results_of(run_from_results("e", answers))
    assert again == answers
    gold = GoldSet(name="g", queries=(question(expected_any=[S110]),))
    assert [found.passed for found in check_questions(gold, again)] == [True]


SECTIONS = st.sampled_from(["110", "110a", "110 a", "110 A", "111", "7"])
HITS = st.lists(
    st.fixed_dictionaries(
        {"section_num": SECTIONS, "moment": st.sampled_from(["1", "2", " 3"])},
        optional={"score": st.sampled_from([0.0, 0.2, 0.59999, 0.6, 0.7, 1.0])},
    ),
    max_size=5,
)
EXPECTED = st.lists(
    st.fixed_dictionaries(
        {"section": SECTIONS}, optional={"moment": st.sampled_from(["1", "2", "3", ""])}
    ),
    max_size=3,
)


@given(HITS, EXPECTED, st.sampled_from([0.0, 0.55, 0.6, 0.7]))
def test_agrees_with_the_published_runner(
    hits: list[dict[str, Any]], expected: list[Any], min_score: float
) -> None:
    theirs = eval_one({"expected_any": expected, "min_score": min_score}, hits)
    query = Query(id="q", text="?", k=5, min_score=min_score, checks={"expected_any": expected})
    answer = QueryResult(
        query_id="q",
        hits=tuple(Hit(doc_id="d", score=h.get("score"), metadata=h) for h in hits),
    )
    ours = check_question(query, answer)
    assert (ours.passed, ours.first_rank) == (theirs["passed"], theirs["first_rank"])
    assert (ours.rr or 0.0) == theirs["rr"]
