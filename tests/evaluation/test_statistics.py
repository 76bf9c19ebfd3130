"""The one statistic: its interval, p and probability agree; every formula against SciPy, or against
all cases counted out; intervals cover and tests have their size in simulations."""

from __future__ import annotations

import importlib
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation import statistics
from assay.evaluation.statistics import adjust_tests

RNG = np.random.default_rng(11)

differences = st.lists(st.integers(-20, 20), min_size=2, max_size=40).map(
    lambda xs: np.array(xs, float)[:, None] / 20
)


def column(*values: float) -> np.ndarray:
    return np.array(values, float)[:, None]


def ends(found: statistics.Interval) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


# ── a change ──────────────────────────────────────────────────────────────────────────────────────


def by_hand(changes: np.ndarray, level: float) -> tuple[float, float, float, float]:
    """The rule as it is written down: low, high, p and the probability of a change above 0."""
    n, mean = len(changes), changes.mean()
    error = math.sqrt((((changes - mean) ** 2).sum() + 2 * 0.25**2) / ((n + 1) * n))
    half = scipy.stats.t.ppf((1 + level) / 2, n - 1) * error
    p = 2 * scipy.stats.t.sf(abs(mean) / error, n - 1)
    above = scipy.stats.t.cdf(mean / error, n - 1)
    return max(mean - half, -1), min(mean + half, 1), p, above


@given(differences, st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_a_change_follows_the_rule_as_it_is_written(values: np.ndarray, level: float) -> None:
    (found,) = statistics.change_intervals(values, level=level)
    low, high, p, above = by_hand(values[:, 0], level)
    assert ends(found) == pytest.approx((low, high), abs=1e-9)
    assert statistics.change_tests(values)[0] == pytest.approx(p, abs=1e-9)
    assert statistics.chances_above(values)[0] == pytest.approx(above, abs=1e-9)


@given(differences, st.floats(0.0001, 0.9), st.sampled_from([0.0, -0.02, 0.3]))
def test_the_interval_and_p_never_contradict_each_other(
    values: np.ndarray, alpha: float, at: float
) -> None:
    """At any level and any limit: p is 1 - the level at which an end touches the limit, and half of
    it the error of a decision on one side."""
    p = float(statistics.change_tests(values, at=at)[0])
    above = float(statistics.chances_above(values, at=at)[0])
    assert p == pytest.approx(2 * min(above, 1 - above), abs=1e-12)
    if abs(p - alpha) < 1e-9:
        return
    low, high = ends(statistics.change_intervals(values, level=1 - alpha)[0])
    assert (p < alpha) == (low > at or high < at)
    if at == 0:
        told = statistics.significant(values, alpha=alpha)[0]
        assert told == (0 if low <= 0 <= high else 1 if low > 0 else -1)


@given(st.lists(differences, min_size=1, max_size=6), st.sampled_from([0.05]))
def test_an_adjusted_interval_holds_zero_where_the_adjusted_p_is_not_significant(
    columns: list[np.ndarray], alpha: float
) -> None:
    p_values = [float(statistics.change_tests(each)[0]) for each in columns]
    for each, held, p in zip(columns, adjust_tests(p_values), p_values, strict=True):
        assert held.p_adjusted >= p
        low, high = ends(statistics.change_intervals(each, level=held.level)[0])
        if abs(held.p_adjusted - alpha) > 1e-9:
            assert (held.p_adjusted < alpha) == (low > 0 or high < 0)


def test_a_test_behind_one_that_is_not_significant_counts_with_as_many() -> None:
    held = adjust_tests([0.01, 0.04, 0.03])
    assert [one.p_adjusted for one in held] == pytest.approx([0.03, 0.06, 0.06])
    assert [one.times for one in held] == pytest.approx([3, 1.5, 2])
    assert adjust_tests([0.0])[0].times == 1


def test_a_measure_without_a_range_has_plain_t() -> None:
    moved = RNG.normal(3, 20, size=(12, 1))
    (found,) = statistics.change_intervals(moved)
    expected = scipy.stats.ttest_1samp(moved[:, 0], 0)
    assert ends(found) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert statistics.change_tests(moved)[0] == pytest.approx(expected.pvalue)
    still = np.full((5, 2), 4.0) * [1, 0]
    assert statistics.change_tests(still).tolist() == [0, 1]


def test_queries_that_tie_leave_a_width_and_one_query_none() -> None:
    for n in (2, 10, 33):
        low, high = ends(statistics.change_intervals(np.zeros((n, 1)))[0])
        half = scipy.stats.t.ppf(0.975, n - 1) * math.sqrt(0.125 / ((n + 1) * n))
        assert (low, high) == pytest.approx((-min(half, 1), min(half, 1)))
        assert statistics.change_tests(np.zeros((n, 1)))[0] == 1
    (alone,) = statistics.change_intervals(np.array([[0.3]]))
    assert (alone.low, alone.high, alone.note) == (None, None, "too few queries")
    assert statistics.change_tests(np.array([[0.3]]))[0] == 1
    assert statistics.chances_above(np.array([[0.3]]))[0] == 0.5


def test_a_p_too_small_for_one_minus_is_not_nothing() -> None:
    sure = np.full((100, 1), 0.5)
    assert 0 < statistics.change_tests(sure)[0] < 1e-100


def test_an_interval_says_when_it_is_thin_or_wide() -> None:
    (thin,) = statistics.change_intervals(column(1.0, -1.0, 0.0))
    assert thin.note == "only 3 queries, too wide to be useful"
    assert statistics.change_intervals(np.zeros((100, 1)))[0].note == ""


@pytest.mark.parametrize(
    ("values", "kind", "rows"),
    [
        ([0.0] * 20, "", []),
        ([0.0] * 19 + [0.2], "ties", [19]),
        ([0.0] * 18 + [0.1, -0.4], "ties", [19, 18]),
        ([0.0] * 17 + [0.1, -0.1, 0.1], "", []),
        ([0.02, -0.02] * 10 + [-1.0], "extreme", [20]),
        ([0.3, -0.3] * 10 + [-0.9], "", []),
        ([1.0, 0.0, 0.0, 0.0], "", []),
    ],
)
def test_values_that_make_an_interval_doubtful_are_named(
    values: list[float], kind: str, rows: list[int]
) -> None:
    assert statistics.risky_rows(np.array(values)) == (kind, rows)
    risk = statistics.risky_queries({f"q{row}": value for row, value in enumerate(values)})
    assert (risk is not None) == bool(kind)
    if risk is not None:
        assert (risk.kind, risk.queries) == (kind, [f"q{row}" for row in rows])


# ── means and rates ───────────────────────────────────────────────────────────────────────────────


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=30).filter(lambda xs: not {*xs} <= {0, 20}),
    st.sampled_from([0.8, 0.95]),
)
def test_a_mean_has_wilsons_interval_with_its_effective_queries(
    twentieths: list[int], level: float
) -> None:
    values = np.array(twentieths) / 20
    n, mean = len(values), values.mean()
    worth = n * (n + 0.5) / (n * values.var() / (mean * (1 - mean)) + 0.5)
    t = scipy.stats.t.ppf((1 + level) / 2, n - 1)
    # Wilson's ends are where (mean - x)² = t² x (1 - x) / worth
    a, b, c = 1 + t**2 / worth, -(2 * mean + t**2 / worth), mean**2
    root = math.sqrt(b * b - 4 * a * c)
    (found,) = statistics.mean_intervals(values[:, None], level=level)
    expected = (-b - root) / (2 * a), (-b + root) / (2 * a)
    assert ends(found) == pytest.approx(expected, abs=1e-9)
    assert worth >= n - 1e-9


def test_a_rate_has_wilsons_interval_and_in_gates_clopper_and_pearsons() -> None:
    for n, level in itertools.product((1, 2, 7, 40), (0.8, 0.95, 0.99)):
        for successes in range(n + 1):
            for exact, method in ((False, "wilson"), (True, "exact")):
                found = statistics.rate_interval(successes, n, level=level, exact=exact)
                expected = scipy.stats.binomtest(successes, n).proportion_ci(level, method)
                assert ends(found) == pytest.approx(tuple(expected), abs=1e-9)
                values = (np.arange(n) < successes).astype(float)[:, None]
                (mean,) = statistics.mean_intervals(values, level=level, exact=exact)
                if n > 1:
                    assert ends(mean) == ends(found)
    none = statistics.rate_interval(0, 0, level=0.9)
    assert (none.low, none.high, none.n, none.note) == (None, None, 0, "no queries")


def test_values_that_are_all_alike_still_leave_a_width() -> None:
    (alike,) = statistics.mean_intervals(np.full((10, 1), 0.5))
    low, high = ends(alike)
    assert 0.4 < low < 0.45
    assert low == pytest.approx(1 - high)
    assert ends(statistics.mean_intervals(np.ones((10, 1)))[0]) == pytest.approx(
        (0.722, 1), abs=1e-3
    )


def test_what_has_no_range_or_lies_beyond_it_has_plain_t() -> None:
    millis = RNG.gamma(2, 30, (40, 1))
    expected = scipy.stats.ttest_1samp(millis[:, 0], 0).confidence_interval(0.95)
    assert ends(statistics.mean_intervals(millis)[0]) == pytest.approx(tuple(expected))
    shares = RNG.uniform(size=(14, 1))
    plain = scipy.stats.ttest_1samp(shares[:, 0], 0).confidence_interval(0.95)
    found = statistics.mean_intervals(shares, ranged=False)[0]
    assert ends(found) == pytest.approx(tuple(plain))
    assert found != statistics.mean_intervals(shares)[0]
    both = np.column_stack([shares, 9 * shares])
    assert statistics.mean_intervals(both)[0] == statistics.mean_intervals(shares)[0]
    (still,) = statistics.mean_intervals(np.full((9, 1), 12.0))
    assert (still.low, still.high) == (None, None)


def test_a_value_that_is_missing_is_none() -> None:
    values = RNG.uniform(size=(12, 2))
    values[3:, 1] = np.nan
    found = statistics.mean_intervals(values)
    assert [each.n for each in found] == [12, 3]
    assert found[1] == statistics.mean_intervals(values[:3, 1:])[0]
    assert statistics.mean_intervals(values[:1])[0].low is None


@pytest.mark.parametrize("n", [5, 20, 65])
def test_a_gate_is_wrong_about_a_rate_at_most_as_often_as_it_says(n: int) -> None:
    """Exactly, over every count that may come: on one side at most 2.5% of the time."""
    counts, rates = np.arange(n + 1), np.linspace(0.002, 0.998, 499)[:, None]
    found = np.array([ends(statistics.rate_interval(int(k), n, exact=True)) for k in counts])
    chances = scipy.stats.binom.pmf(counts, n, rates)
    assert (chances * (found[:, 0] > rates)).sum(axis=1).max() <= 0.025 + 1e-9
    assert (chances * (found[:, 1] < rates)).sum(axis=1).max() <= 0.025 + 1e-9


def test_a_quantile_has_the_narrowest_ranks_that_hold_the_level() -> None:
    for n, level, quantile in itertools.product((5, 6, 30, 100), (0.8, 0.95), (0.1, 0.5, 0.7)):
        values = list(range(n, 0, -1))  # in any order
        found = statistics.quantile_interval(values, quantile, level=level)
        low, high = scipy.stats.binom.ppf([(1 - level) / 2, (1 + level) / 2], n, quantile)
        if low == 0 or high >= n:
            assert (found.low, found.high, found.note) == (None, None, "too few queries")
        else:
            assert (found.low, found.high, found.note) == (low, high + 1, "")
    assert statistics.quantile_interval([1.0, 2.0], 1.0).low is None


# ── power ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [8, 16, 33])
def test_the_change_called_detectable_is_shown_by_four_in_five(n: int) -> None:
    size = statistics.detectable_change(0.2, n)
    drawn = np.random.default_rng(n).normal(size, 0.2, (n, 2_000))
    shown = (statistics.significant(np.clip(drawn, -1, 1)) > 0).mean()
    assert shown == pytest.approx(0.8, abs=0.06)


def test_the_power_of_a_gate_on_a_rate_is_counted_out() -> None:
    for n, chance, bound, level in itertools.product(
        (10, 60), (0.3, 0.95, 1.0), (0.2, 0.8), (0.9, 0.95)
    ):
        counts = np.arange(n + 1)
        found = [statistics.clopper_pearson(int(k), n, level) for k in counts]
        clear = [low > bound if chance > bound else high < bound for low, high in found]
        expected = scipy.stats.binom.pmf(counts, n, chance)[np.array(clear)].sum()
        assert statistics.rate_power(chance, bound, n, level) == pytest.approx(expected, abs=1e-9)


def test_the_fewest_queries_are_found_or_there_are_too_many() -> None:
    assert statistics.fewest_queries(lambda n: n >= 37) == 37
    assert statistics.fewest_queries(lambda n: True) == 2
    assert statistics.fewest_queries(lambda n: True, least=40) == 40
    assert statistics.fewest_queries(lambda n: False, most=500) is None


# ── distributions ─────────────────────────────────────────────────────────────────────────────────


def test_students_t_is_scipys() -> None:
    for freedom, t in itertools.product((1, 2, 3, 10, 100, 5000), (-40, -2, -0.1, 0, 0.1, 2, 40)):
        expected = scipy.stats.t.cdf(t, freedom)
        assert statistics.t_cdf(t, freedom) == pytest.approx(expected, rel=1e-9), (t, freedom)
    for freedom, p in itertools.product((1, 2, 5, 60), (1e-5, 0.025, 0.4, 0.5, 0.9, 0.99999)):
        expected = scipy.stats.t.ppf(p, freedom)
        assert statistics.t_quantile(p, freedom) == pytest.approx(expected, rel=1e-7), (p, freedom)
    assert statistics.t_quantile(0.5, 7) == 0


def test_the_beta_and_binomial_distributions_are_scipys() -> None:
    shapes = (0.3, 0.5, 1, 2, 7.5, 200)
    for a, b, x in itertools.product(shapes, shapes, (-1, 0, 1e-6, 0.02, 0.4, 0.5, 0.97, 1, 2)):
        expected = scipy.special.betainc(a, b, min(max(x, 0), 1))
        found = statistics._incomplete_beta(a, b, x)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-300), (a, b, x)
    for a, b, p in itertools.product(shapes[1:], shapes[1:], (0.01, 0.5, 0.975)):
        expected = scipy.stats.beta.ppf(p, a, b)
        assert statistics.beta_quantile(p, a, b) == pytest.approx(expected, abs=1e-12), (a, b, p)
    for n, chance in ((7, 0.2), (200_000, 0.4)):
        for k in (-1, 0, n // 3, int(n * chance), n):
            expected = scipy.stats.binom.cdf(k, n, chance)
            assert statistics.binomial_cdf(k, n, chance) == pytest.approx(expected, abs=1e-9)


# ── other tests, and corrections ──────────────────────────────────────────────────────────────────


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


def test_wilcoxon_is_scipys_where_its_rules_change() -> None:
    for n in (14, 25, 50, 51):
        alone = np.arange(1, n + 1) * RNG.choice([-1, 1], n) / 100
        method = "exact" if n <= 50 else "approx"
        expected = scipy.stats.wilcoxon(alone, method=method, correction=False).pvalue
        assert statistics.wilcoxon_test(column(*alone))[0] == pytest.approx(expected), n
        for other in (np.append(alone, alone[0]), np.append(alone, 0)):  # a tie, a zero
            expected = scipy.stats.wilcoxon(other, method="approx", correction=False).pvalue
            assert statistics.wilcoxon_test(column(*other))[0] == pytest.approx(expected), n
    nearly = 0.3 - 0.2, 0.1, 0.2 - 0.1  # one tie, whatever the last bit says
    assert statistics.wilcoxon_test(column(*nearly)) == statistics.wilcoxon_test(column(1, 1, 1))


def signs(n: int) -> np.ndarray:
    return 1.0 - 2.0 * ((np.arange(2**n)[:, None] // 2 ** np.arange(n)) % 2)


def test_few_queries_have_every_sign_counted() -> None:
    for n in (1, 2, 5, 13):
        moved = RNG.integers(-3, 4, size=(n, 3)) / 10
        every = np.abs(signs(n) @ moved) >= np.abs(moved.sum(axis=0)) - 1e-9
        assert statistics.randomization_test(moved) == pytest.approx(every.mean(axis=0))


def test_many_queries_have_signs_drawn_and_their_own_counted() -> None:
    up = np.full((40, 1), 0.1)
    assert statistics.randomization_test(up)[0] == pytest.approx(1 / 10_001)
    assert statistics.randomization_test(0 * up)[0] == 1
    moved = RNG.normal(0.2, 0.5, size=(14, 2))
    exact = (np.abs(signs(14) @ moved) >= np.abs(moved.sum(axis=0)) - 1e-9).mean(axis=0)
    found = statistics.randomization_test(moved, samples=40_000)
    assert found == pytest.approx(exact, abs=0.01)
    assert found.tolist() == statistics.randomization_test(moved, samples=40_000).tolist()


def test_corrections_are_theirs_by_definition() -> None:
    """Holm's and Benjamini and Hochberg's, counted out from the sorted list."""
    for given_ in (
        [],
        [0.5],
        [0.04, 0.01, 0.04, 0.9, 0.02],
        [0.6, 0.7, 0.4],
        [1.0, 1.0],
        [0, 0.03],
    ):
        m, ordered = len(given_), sorted(given_)
        holm = [
            max(min(1, (m - j) * ordered[j]) for j in range(m) if ordered[j] <= p) for p in given_
        ]
        share = [
            min([1, *(ordered[j] * m / (j + 1) for j in range(m) if ordered[j] >= p)])
            for p in given_
        ]
        assert statistics.holm(given_) == pytest.approx(holm)
        assert [held.p_adjusted for held in adjust_tests(given_)] == pytest.approx(holm)
        assert statistics.benjamini_hochberg(given_) == pytest.approx(share)


def test_an_effect_is_in_units_of_its_own_spread() -> None:
    moved = RNG.normal(0.1, 0.3, size=(30, 2))
    found = statistics.effect_size(moved)
    assert found == pytest.approx(moved.mean(axis=0) / moved.std(axis=0, ddof=1))
    still = statistics.effect_size(np.column_stack([np.zeros(5), np.full(5, 0.25)]))
    assert still[0] == 0
    assert math.isnan(still[1])


# ── simulations ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def simulations(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that makes docs/measured/decisions-*.csv."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("decisions")


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 33, 66])
@pytest.mark.parametrize("name", ["skewed", "reciprocal rank", "precision@10"])
def test_intervals_cover_the_mean(name: str, n: int, simulations: Any) -> None:
    """95% intervals hold the true mean in 94 to 98.5% of the simulated gold sets."""
    assert 0.94 <= simulations.coverage(name, n, 2_000) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("n", [16, 33, 66])
@pytest.mark.parametrize("name", ["TREC-like, nDCG", "TREC-like, P@10", "smooth"])
def test_intervals_cover_a_change_and_claims_are_seldom_false(
    name: str, n: int, simulations: Any
) -> None:
    draw, truth = simulations.CASES[name]
    values = np.asarray(draw(np.random.default_rng(n), (n, 2_000)), float)
    false = (statistics.change_tests(values, at=truth) <= 0.05).mean()
    assert 0.015 <= false <= 0.06
