"""Intervals cover, tests have their size, and p-values agree with SciPy."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation import statistics

differences = st.lists(st.integers(-20, 20), min_size=5, max_size=40).map(
    lambda xs: np.array(xs, float)[:, None] / 20
)


@given(differences)
def test_t_agrees_with_scipy(values: np.ndarray) -> None:
    if values.std() > 1e-9:
        assert statistics.t_test(values)[0] == pytest.approx(
            scipy.stats.ttest_1samp(values[:, 0], 0).pvalue, abs=1e-9
        )


@given(differences)
def test_wilcoxon_agrees_with_scipy(values: np.ndarray) -> None:
    moved = values[values[:, 0] != 0, 0]
    if len(moved) < 5:
        return
    exact = len(np.unique(np.abs(moved))) == len(moved) == len(values)
    if len(moved) <= 13:
        ranks = np.sign(moved) * scipy.stats.rankdata(np.abs(moved))
        every = {"permutation_type": "samples", "n_resamples": np.inf, "vectorized": True}
        expected = scipy.stats.permutation_test((ranks,), np.sum, **every).pvalue
    else:
        expected = scipy.stats.wilcoxon(
            values[:, 0], method="exact" if exact else "approx", correction=False
        ).pvalue
    assert statistics.wilcoxon_test(values)[0] == pytest.approx(min(expected, 1.0), abs=1e-9)


def test_a_tie_is_a_tie_whatever_the_last_bit_says() -> None:
    before = np.array([0.2, 0.4, 0.6, 0.0, 0.2, 0.4] * 4)
    moved = np.tile([[0.2], [-0.2], [0.2]], (8, 1))
    assert (
        statistics.wilcoxon_test((before[:, None] + moved) - before[:, None])[0]
        == statistics.wilcoxon_test(moved)[0]
    )


def test_randomization_agrees_with_scipy() -> None:
    values = np.random.default_rng(3).normal(0.05, 0.2, (33, 1))
    expected = scipy.stats.permutation_test(
        (values[:, 0],), np.mean, permutation_type="samples", n_resamples=50_000, rng=1
    ).pvalue
    assert statistics.randomization_test(values, samples=50_000)[0] == pytest.approx(
        expected, abs=0.01
    )


def test_randomization_is_exact_on_few_queries() -> None:
    """All three differences positive: 2 of 8 sign patterns are as extreme."""
    assert statistics.randomization_test(np.array([[1.0], [2.0], [3.0]]))[0] == 0.25


def test_corrections_agree_with_scipy() -> None:
    p_values = [0.01, 0.04, 0.03, 0.2, 0.001]
    assert statistics.benjamini_hochberg(p_values) == pytest.approx(
        scipy.stats.false_discovery_control(p_values)
    )
    assert statistics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_no_query_gives_no_interval() -> None:
    empty = statistics.rate_interval(0, 0)
    assert (empty.low, empty.high, empty.n) == (None, None, 0)


def test_samples_that_fill_their_blocks_exactly_are_all_drawn() -> None:
    values = np.ones((100, 1))
    assert statistics.BLOCK_CELLS % len(values) == 0
    samples = 2 * statistics.BLOCK_CELLS // len(values)
    assert statistics.bootstrap_means(values, samples=samples).shape == (samples, 1)


@given(st.floats(0.01, 0.99), st.integers(1, 200))
def test_t_quantile_inverts_the_distribution(p: float, freedom: int) -> None:
    assert statistics.t_quantile(p, freedom) == pytest.approx(
        scipy.stats.t.ppf(p, freedom), rel=1e-6, abs=1e-7
    )


def test_intervals_are_reproducible_and_say_when_they_are_thin() -> None:
    values = np.random.default_rng(1).random((8, 2))
    first, second = statistics.mean_intervals(values), statistics.mean_intervals(values)
    assert first == second
    assert "only 8 queries" in first[0].note
    assert statistics.mean_intervals(values[:1])[0].low is None
    (alike,) = statistics.mean_intervals(np.full((5, 1), 0.5))
    assert alike.low is not None
    assert alike.high is not None
    assert alike.low < 0.4 < 0.6 < alike.high


@pytest.fixture
def simulations(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that makes docs/measured/coverage-*.csv."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("coverage_tables")


@pytest.mark.slow
@pytest.mark.parametrize("n", [33, 65, 200])
@pytest.mark.parametrize("name", ["skewed", "reciprocal rank", "precision@10"])
def test_intervals_cover_the_mean(name: str, n: int, simulations: Any) -> None:
    """95% intervals hold the true mean in 94 to 99% of the simulated gold sets."""
    assert 0.94 <= simulations.coverage(name, n, 4_000) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("test", ["randomization", "t", "Wilcoxon"])
@pytest.mark.parametrize(
    ("name", "n"), [("smooth", 12), ("smooth", 33), ("smooth", 200), ("mostly ties", 33)]
)
def test_size_of_the_tests(name: str, n: int, test: str, simulations: Any) -> None:
    """Without a difference, p <= 0.05 in 4 to 6% of the simulated comparisons."""
    assert 0.04 <= simulations.size(name, test, n, 4_000) <= 0.06
