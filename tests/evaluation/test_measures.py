"""Measures as values: names that round-trip, and every formula against a sum done by hand."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.evaluation.graded import evaluate
from assay.evaluation.measures import (
    GRADED_SUITE,
    MEASURES,
    Measure,
    parse_measure,
    parse_measures,
    result_key,
)

# ── names ─────────────────────────────────────────────────────────────────────────────────────────

VALUES = {
    "rel": st.integers(1, 9).map(str),
    "max": st.integers(1, 9).map(str),
    "p": st.sampled_from(["0.5", "0.8", "0.95", ".5"]),
    "gain": st.sampled_from(["linear", "exp2"]),
}


@st.composite
def written_measures(draw: st.DrawFn) -> str:
    """Any measure as a person may write it: spaces, quotes, parameters in any order, defaults
    spelled out."""
    name = draw(st.sampled_from(list(MEASURES)))
    formula = MEASURES[name]
    chosen = draw(st.permutations(sorted(formula.params)))[
        : draw(st.integers(0, len(formula.params)))
    ]
    quote = draw(st.sampled_from(["", "'", '"']))
    params = [f"{key}={quote}{draw(VALUES[key])}{quote}" for key in chosen]
    inside = draw(st.sampled_from([",", ", ", " , "])).join(params)
    may_cut = {"required": True, "none": False, "optional": draw(st.booleans())}[formula.cutoff]
    cutoff = f"@{draw(st.integers(1, 1000))}" if may_cut else ""
    spelling = draw(st.sampled_from([name, name.lower(), name.upper()]))
    return spelling + (f"({inside})" if params else "") + cutoff


@given(written_measures())
def test_name_round_trips(text: str) -> None:
    """Whatever was written, the printed name parses back to an equal measure with the same name."""
    measure = parse_measure(text)
    assert parse_measure(str(measure)) == measure
    assert str(parse_measure(str(measure))) == str(measure)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("nDCG@10", "nDCG@10"),
        ("ndcg@10", "nDCG@10"),
        ("nDCG(dcg='exp-log2')@10", "nDCG(gain=exp2)@10"),
        ("nDCG(dcg='log2')@10", "nDCG@10"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("P(rel=1)@5", "P@5"),
        ("precision@5", "P@5"),
        ("recall@20", "R@20"),
        ("MRR(rel=2)", "RR(rel=2)"),
        ("MAP", "AP"),
        ("hit@3", "Success@3"),
        ("RBP(rel=1, p=0.8)", "RBP(rel=1)"),
        (" P @ 5 ", "P@5"),
    ],
)
def test_aliases_are_printed_in_one_way(written: str, printed: str) -> None:
    assert str(parse_measure(written)) == printed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "unknown measure"),
        ("foo@10", "unknown measure 'foo@10'"),
        ("nDCG@-1", "unknown measure"),
        ("nDCG@ten", "unknown measure"),
        ("P", "needs a cutoff"),
        ("nDCG@0", "cutoff of at least 1"),
        ("Bpref@10", "takes no cutoff"),
        ("P(rel=0)@5", "rel=0 is not a whole number from 1"),
        ("P(rel=two)@5", "rel=two is not"),
        ("P(gain=exp2)@5", "unknown parameter 'gain=exp2'"),
        ("P(rel)@5", "unknown parameter 'rel'"),
        ("nDCG(curve=exp2)@5", "unknown parameter 'curve=exp2'"),
        ("nDCG(gain=cubic)@5", "gain=cubic is not linear or exp2"),
        ("RBP(p=1.5)", "p=1.5 is not a number between 0 and 1"),
        ("RBP(p=0)", "p=0 is not"),
        ("P@99999999999999999999999", "cutoff"),
    ],
)
def test_a_wrong_name_is_refused_and_quoted(text: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        parse_measure(text)
    assert says in str(error.value)
    assert repr(text) in str(error.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"nDCG, P, R, RR, AP, Success, Judged, Bpref, RBP, ERR"):
        parse_measure("foo")


def test_measures_given_twice_come_once_in_the_order_given() -> None:
    assert parse_measures(["P@5", "nDCG@10", "precision@5"]) == (
        Measure("P", 5),
        Measure("nDCG", 10),
    )


def test_the_graded_suite_is_the_spec_s_seven_in_its_own_keys() -> None:
    suite = parse_measures(GRADED_SUITE)
    assert [result_key(measure, suite) for measure in suite] == [
        "mrr",
        "ndcg@10",
        "ndcg@5",
        "precision@5",
        "precision@10",
        "recall@10",
        "recall@20",
    ]


def test_keys_of_other_measures_are_their_own_names_and_never_collide() -> None:
    """A second RR and a P with another threshold keep their full name, so no value overwrites
    another."""
    wanted = parse_measures(["RR", "RR(rel=2)", "P@5", "P(rel=2)@5", "AP", "RR@10"])
    keys = [result_key(measure, wanted) for measure in wanted]
    assert keys == ["RR", "mrr", "precision@5", "P(rel=2)@5", "AP", "RR@10"]


# ── formulas, by hand ─────────────────────────────────────────────────────────────────────────────

# ranks:   1    2        3    4        5        and "z" (grade 2), "y" (grade 0) are judged but not
# returned
RANKING = ["a", "other", "b", "c", "another"]
GRADES = {"a": 1, "b": 0, "c": 2, "z": 2, "y": 0}

BY_HAND = {
    "nDCG": (1 / log2(2) + 2 / log2(5)) / (2 / log2(2) + 2 / log2(3) + 1 / log2(4)),
    "nDCG@3": (1 / log2(2)) / (2 / log2(2) + 2 / log2(3) + 1 / log2(4)),
    "nDCG@1": 1 / 2,
    "nDCG(gain=exp2)@5": (1 / log2(2) + 3 / log2(5)) / (3 / log2(2) + 3 / log2(3) + 1 / log2(4)),
    "P@3": 1 / 3,
    "P@10": 2 / 10,
    "P(rel=2)@5": 1 / 5,
    "R@3": 1 / 3,
    "R@5": 2 / 3,
    "R(rel=2)@5": 1 / 2,
    "RR": 1.0,
    "RR(rel=2)": 1 / 4,
    "RR(rel=2)@3": 0.0,
    "AP": (1 / 1 + 2 / 4) / 3,
    "AP@3": (1 / 1) / 3,
    "AP(rel=2)": (1 / 4) / 2,
    "Success@1": 1.0,
    "Success(rel=2)@3": 0.0,
    "Success(rel=2)@4": 1.0,
    "Judged@3": 2 / 3,
    "Judged@10": 3 / 5,
    "Judged": 3 / 5,
    # above c stands one judged not-relevant document (b) of at most min(3 relevant, 2 not relevant)
    # = 2
    "Bpref": (1 + (1 - 1 / 2)) / 3,
    "RBP": 0.2 * (1 / 2 + 1 * 0.8**3),
    "RBP(p=0.5)@3": 0.5 * (1 / 2),
    "RBP(p=0.5,rel=1)": 0.5 * (1 + 0.5**3),
    "RBP(rel=2)": 0.2 * 0.8**3,
    # a satisfies with (2-1)/4, c with (4-1)/4
    "ERR": 1 / 4 + (3 / 4) * (3 / 4) / 4,
    "ERR@3": 1 / 4,
    "ERR(max=4)": 1 / 16 + (15 / 16) * (3 / 16) / 4,
}


@pytest.mark.parametrize(("name", "value"), BY_HAND.items())
def test_formula(name: str, value: float) -> None:
    """a(1) other b(0) c(2) another, with z(2) and y(0) judged and not returned."""
    scored = {"q": {doc_id: float(-rank) for rank, doc_id in enumerate(RANKING)}}
    sheet = evaluate(scored, {"q": GRADES}, [name])
    assert sheet.score("q", name).value == pytest.approx(value, abs=1e-15)


def test_every_measure_has_a_sum_done_by_hand() -> None:
    assert {parse_measure(name).name for name in BY_HAND} == set(MEASURES)


@pytest.mark.parametrize(
    "name", [name for name in BY_HAND if not name.startswith(("RBP", "ERR", "Judged", "P@10"))]
)
def test_a_perfect_ranking_scores_one(name: str) -> None:
    """Every judged document, best first; RBP and ERR never reach 1."""
    judged = {"a": 2, "b": 2, "c": 2, "d": 0}
    scored = {"q": {doc_id: float(-rank) for rank, doc_id in enumerate(judged)}}
    value = evaluate(scored, {"q": judged}, [name]).score("q", name).value
    expected = {"P(rel=2)@5": 3 / 5}.get(name, 1.0)
    assert value == pytest.approx(expected, abs=1e-15)


def test_err_stays_a_probability_when_a_grade_is_above_max() -> None:
    """ERR(max=1) reads a grade 2 as 1."""
    sheet = evaluate({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 2, "b": 2}}, ["ERR(max=1)"])
    assert sheet.score("q", "ERR(max=1)").value == pytest.approx(1 / 2 + (1 / 2) * (1 / 2) / 2)
