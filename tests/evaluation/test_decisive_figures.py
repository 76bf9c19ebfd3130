"""Figures that a decision turns on, one by one: each test here is of a fault that the others let
through (benchmarks/mutants.py)."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.results import (
    Gate,
)
from assay.evaluation.gates import DEFAULT_POLICY, _gate_outcomes, gate_mistake
from assay.evaluation.graded import default_measures
from assay.evaluation.measures import BINARY_SUITE, GRADED_SUITE, parse_measure, result_key
from kit.golden_cases import hit, outcome, question
from kit.random_data import as_gold

S110 = {"section": "110", "moment": "3"}


@pytest.mark.parametrize(("grade", "suite"), [(1, BINARY_SUITE), (2, GRADED_SUITE)])
def test_the_measures_follow_the_grades(grade: int, suite: tuple[str, ...]) -> None:
    assert default_measures(as_gold({"q1": {"d1": grade}})) == suite


@pytest.mark.parametrize(
    ("among", "key"),
    [(BINARY_SUITE, "mrr"), ((*BINARY_SUITE, "P@3"), "mrr"), (BINARY_SUITE[1:], "RR")],
)
def test_plain_rr_is_the_suites_where_the_whole_suite_is_there(
    among: tuple[str, ...], key: str
) -> None:
    assert result_key(parse_measure("RR"), [parse_measure(name) for name in among]) == key


def test_the_policy_that_holds_where_none_is_given() -> None:
    stated = [(gate.measure, gate.minimum, gate.below, gate.max_drop) for gate in DEFAULT_POLICY]
    assert stated == [
        ("pass_rate_must", 0.95, None, None),
        ("pass_rate_total", 0.90, None, None),
        ("avg_latency_ms", None, 150.0, None),
        ("pass_rate_must", None, None, 0.02),
    ]


@pytest.mark.parametrize(("given", "wrong"), [(0, True), (1, False), (2, False)])
def test_one_query_may_be_demanded(given: int, wrong: bool) -> None:
    assert bool(gate_mistake(Gate(measure="P@5", minimum=0.5, min_queries=given))) == wrong


@pytest.mark.parametrize(("minimum", "told"), [(0.3, 1), (0.62, 0), (0.9, -1)])
def test_what_a_gate_that_asks_to_be_sure_says_of_values(minimum: float, told: int) -> None:
    values = np.array([0.6, 0.62, 0.64] * 20)[:, None]
    gate = Gate(measure="P@5", minimum=minimum, significance=0.05)
    assert _gate_outcomes(gate, values).tolist() == [told]


def test_a_trap_on_top_is_a_confusion_and_says_so() -> None:
    trapped = question(expected_any=[S110], confusion=[{"section": "1"}])
    assert outcome(trapped, hit(1, 1), hit(110, 3)).confused is True
    assert outcome(trapped, hit(110, 3), hit(1, 1)).confused is False
