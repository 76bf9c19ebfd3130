"""Names of measures that round-trip, and the keys of their values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.evaluation.measures import (
    GRADED_SUITE,
    MEASURES,
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


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"nDCG, P, R, RR, AP, Success, Judged, Bpref, RBP, ERR"):
        parse_measure("foo")


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
