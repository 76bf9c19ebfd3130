"""Figures that a decision turns on, one by one: each test here is of a fault that the others let
through (benchmarks/mutants.py)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from assay.core.results import (
    Gate,
    GoldCard,
    GradedEntry,
    GradedReceipt,
    GradedResults,
    MeasureLine,
)
from assay.evaluation import statistics
from assay.evaluation.gates import DEFAULT_POLICY, _told, decide, mistake
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


@pytest.mark.parametrize(("p", "a", "b"), [(0.025, 3, 7), (0.5, 2, 2), (0.975, 9, 1.5)])
def test_quantiles_of_beta_are_scipys(p: float, a: float, b: float) -> None:
    expected = scipy.stats.beta.ppf(p, a, b)
    assert statistics.beta_quantile(p, a, b) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("n", "quantile"), [(20, 0.5), (60, 0.9), (100, 0.25)])
def test_the_interval_of_a_quantile_has_the_ranks_of_the_binomial(n: int, quantile: float) -> None:
    found = statistics.quantile_interval([float(value) for value in range(1, n + 1)], quantile)
    low, high = scipy.stats.binom.ppf([0.025, 0.975], n, quantile)
    assert (found.low, found.high) == (low, high + 1)


@pytest.mark.parametrize(("scale", "n"), [(statistics.SHARE, 600), (statistics.OPEN, 30)])
def test_an_interval_is_about_as_wide_as_students(scale: statistics.Scale, n: int) -> None:
    """Where nothing bounds the values, and else where one query more counts little."""
    values = np.random.default_rng(0).normal(0.5, 0.1, n)
    (found,) = statistics.mean_intervals(values[:, None], scale=scale)
    half = scipy.stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n)
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.25)


def test_the_smallest_difference_that_would_be_shown() -> None:
    moved = np.array([[0.1], [0.2], [-0.1], [0.3], [0.0], [0.2]] * 3)
    factor = scipy.stats.t.ppf(0.975, 17) + scipy.stats.t.ppf(0.8, 17)
    expected = factor * moved.std(ddof=1) / math.sqrt(18)
    assert statistics.detectable_difference(moved)[0] == pytest.approx(expected)
    assert statistics.detectable_difference(moved[:5]).tolist() == [math.inf]


@pytest.mark.parametrize("alpha", [0.05, 0.025, 0.05 / 7])
def test_power_is_that_of_the_test_that_decides(alpha: float) -> None:
    """Where the test can show nothing no difference is promised, and what is promised is shown by
    some four in five pilots: counted, on normal differences."""
    fewest = statistics.fewest_changes(alpha)
    for n in (fewest - 1, fewest, fewest + 1):
        smallest = statistics.randomization_test(np.ones((n, 1)))[0]
        size = statistics.standard_difference(n, alpha=alpha)
        assert (smallest <= alpha) == (n >= fewest) == (size < math.inf)
        if n >= fewest:
            drawn = np.random.default_rng(1).normal(size, 1, (n, 500))
            assert (statistics.randomization_test(drawn) <= alpha).mean() == pytest.approx(
                0.8, abs=0.07
            )


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
    assert bool(mistake(Gate(measure="P@5", minimum=0.5, min_queries=given))) == wrong


def test_a_bound_inside_a_narrow_interval_is_not_called_too_wide() -> None:
    entries = [
        GradedEntry(query_id=f"q{n}", metrics={"p": 0.6 + n % 3 / 50}, results=["a"], grades=[1],
                    judged=[1])
        for n in range(60)
    ]  # fmt: skip
    line = MeasureLine(key="p", measure="P@5", cutoff=5)
    receipt = GradedReceipt(measures=[line], gold=GoldCard(fingerprint="g"))
    found = GradedResults(timestamp="t", engine="e", overall={}, per_query=entries, receipt=receipt)
    gate = Gate(measure="P@5", minimum=0.62, significance=0.05)
    (check,) = decide(found, [gate], None).checks
    assert check.status == "inconclusive"
    assert "the interval includes that limit" in check.message
    assert "too wide" not in check.message


@pytest.mark.parametrize(("minimum", "told"), [(0.3, 1), (0.62, 0), (0.9, -1)])
def test_what_a_gate_that_asks_to_be_sure_says_of_values(minimum: float, told: int) -> None:
    values = np.array([0.6, 0.62, 0.64] * 20)[:, None]
    gate = Gate(measure="P@5", minimum=minimum, significance=0.05)
    assert _told(gate, values).tolist() == [told]


def test_a_trap_on_top_is_a_confusion_and_says_so() -> None:
    trapped = question(expected_any=[S110], confusion=[{"section": "1"}])
    assert outcome(trapped, hit(1, 1), hit(110, 3)).confused is True
    assert outcome(trapped, hit(110, 3), hit(1, 1)).confused is False
