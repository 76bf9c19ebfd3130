"""Statistics against SciPy and against all cases counted out, at the ends of every rule: few and
many queries, ties, zeros, levels other than the usual one (benchmarks/mutants.py)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

from assay.evaluation import bounded, statistics
from assay.evaluation.statistics import CHANGE, OPEN, SHARE

RNG = np.random.default_rng(11)


def column(*values: float) -> np.ndarray:
    return np.array(values, float)[:, None]


# ── distributions ─────────────────────────────────────────────────────────────────────────────────


def test_students_t_is_scipys() -> None:
    for freedom, t in itertools.product((1, 2, 3, 10, 100, 5000), (-40, -2, -0.1, 0, 0.1, 2, 40)):
        expected = scipy.stats.t.cdf(t, freedom)
        assert statistics.t_cdf(t, freedom) == pytest.approx(expected, rel=1e-9), (t, freedom)
    for freedom, p in itertools.product((1, 2, 5, 60), (0.001, 0.025, 0.4, 0.5, 0.9, 0.9995)):
        expected = scipy.stats.t.ppf(p, freedom)
        assert statistics.t_quantile(p, freedom) == pytest.approx(expected, rel=1e-8), (p, freedom)
    assert statistics.t_quantile(0.5, 7) == 0


def test_the_beta_distribution_is_scipys() -> None:
    shapes = (0.3, 0.5, 1, 2, 7.5, 200)
    for a, b, x in itertools.product(shapes, shapes, (-1, 0, 1e-6, 0.02, 0.4, 0.5, 0.97, 1, 2)):
        expected = scipy.special.betainc(a, b, min(max(x, 0), 1))
        assert statistics._incomplete_beta(a, b, x) == pytest.approx(
            expected, rel=1e-10, abs=1e-300
        ), (a, b, x)
    for a, b, p in itertools.product(shapes[1:], shapes[1:], (0.01, 0.5, 0.975)):
        expected = scipy.stats.beta.ppf(p, a, b)
        assert statistics.beta_quantile(p, a, b) == pytest.approx(expected, abs=1e-12), (a, b, p)


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────


def test_a_rate_has_clopper_and_pearsons_interval_at_every_level() -> None:
    for n, level in itertools.product((1, 2, 7, 40), (0.8, 0.95, 0.99)):
        for successes in range(n + 1):
            found = statistics.rate_interval(successes, n, level=level)
            expected = scipy.stats.binomtest(successes, n).proportion_ci(level, "exact")
            assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.004)
            assert (found.n, found.level, found.note) == (n, level, "")
    none = statistics.rate_interval(0, 0, level=0.9)
    assert (none.low, none.high, none.n, none.level, none.note) == (
        None,
        None,
        0,
        0.9,
        "no queries",
    )


def test_a_quantile_has_the_narrowest_ranks_that_hold_the_level() -> None:
    for n, level, quantile in itertools.product((5, 6, 30), (0.8, 0.95), (0.1, 0.5, 0.7)):
        values = list(range(n, 0, -1))  # in any order
        found = statistics.quantile_interval(values, quantile, level=level)
        low, high = scipy.stats.binom.ppf([(1 - level) / 2, (1 + level) / 2], n, quantile)
        if low == 0 or high == n:
            assert (found.low, found.high, found.note) == (None, None, "too few queries")
        else:
            assert (found.low, found.high, found.note) == (low, high + 1, "")
        assert (found.n, found.level) == (n, level)


def test_means_have_the_bounds_of_their_scale() -> None:
    """What the ends are, by what is asked or by the values; NaN is no value."""
    shares = RNG.uniform(size=(12, 2))
    shares[3:, 1] = np.nan
    for values, scale, ends in (
        (shares, None, SHARE),
        (shares - 0.5, None, CHANGE),
        (shares, CHANGE, CHANGE),
        (np.vstack([shares, [[-1e-9, 1 + 1e-9]]]), SHARE, SHARE),  # no more than rounding
    ):
        for level, z in ((0.95, 1.959964), (0.8, 1.281552)):
            found = statistics.mean_intervals(values, level=level, scale=scale)
            lows, highs = bounded.bounds(np.clip(values, *ends), z, ends)
            for place, each in enumerate(found):
                expected = (float(lows[place]), float(highs[place]))
                assert (each.low, each.high) == pytest.approx(expected, abs=1e-6)
                assert (each.n, each.level) == (int((~np.isnan(values[:, place])).sum()), level)
                assert ("only" in each.note) == (each.n < 10)


def test_what_lies_beyond_the_scale_is_resampled() -> None:
    inside = RNG.uniform(size=14)
    plain = statistics.mean_intervals(inside[:, None], scale=OPEN)[0]
    for far, scale in ((1 + 2e-9, SHARE), (-2e-9, SHARE), (-1 - 2e-9, CHANGE), (1 + 2e-9, CHANGE)):
        beyond = np.append(inside, far)[:, None]
        found = statistics.mean_intervals(beyond, scale=scale)[0]
        assert found == statistics.mean_intervals(beyond, scale=OPEN)[0]
        assert found != statistics.mean_intervals(np.clip(beyond, *scale), scale=scale)[0]
    assert plain != statistics.mean_intervals(inside[:, None], scale=SHARE)[0]
    # of two columns the one that is inside keeps its bounds
    both = np.column_stack([inside, 9 * inside])
    assert statistics.mean_intervals(both)[0] == statistics.mean_intervals(inside[:, None])[0]
    assert statistics.mean_intervals(both)[1] == statistics.mean_intervals(9 * inside[:, None])[0]


def test_a_resampled_interval_is_efrons_with_hesterbergs_percentiles() -> None:
    for values, level in (
        (RNG.exponential(80, 9), 0.95),
        (RNG.exponential(80, 10), 0.8),
        (-RNG.exponential(3, 40), 0.9),
        (np.array([3.0, 5.0]), 0.95),
        (np.append(np.full(30, 2.0), 90.0), 0.95),
    ):
        n, mean = len(values), values.mean()
        drawn = statistics.bootstrap_means(values[:, None])[:, 0]
        below = np.mean(drawn < mean - 1e-12) + np.mean(np.abs(drawn - mean) <= 1e-12) / 2
        bias, skew = scipy.stats.norm.ppf(below), scipy.stats.skew(values)
        wide = scipy.stats.t.ppf((1 + level) / 2, n - 1) * math.sqrt(n / (n - 1))
        z = bias + np.array([-wide, wide])
        at = scipy.stats.norm.cdf(bias + z / (1 - skew / (6 * math.sqrt(n)) * z))
        found = statistics.mean_intervals(values[:, None], level=level, scale=OPEN)[0]
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, at)), rel=1e-9)
        assert (found.n, found.level) == (n, level)
        assert found.note == (f"only {n} queries" if n < 10 else "")


def test_means_are_resampled_as_numpy_draws() -> None:
    values = RNG.normal(size=(20, 3))
    for seed in (0, 5):
        rows = np.random.default_rng(seed).integers(0, 20, size=(50, 20), dtype=np.uint16)
        found = statistics.bootstrap_means(values, samples=50, seed=seed)
        assert found == pytest.approx(values[rows].mean(axis=1))
    many = statistics.bootstrap_means(values)
    assert many.shape == (10_000, 3)
    assert many.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=0.01)
    assert many.std(axis=0) == pytest.approx(values.std(axis=0) / math.sqrt(20), rel=0.03)
    assert many == pytest.approx(statistics.bootstrap_means(values, seed=20_260))


def test_resamples_of_many_queries_are_drawn_block_by_block() -> None:
    """In one stream and in their order, while the last are still being counted."""
    values = RNG.normal(size=(3_000, 2))
    rng, blocks = np.random.default_rng(3), []
    for size in (66, 66, 66, 66, 36):  # 200,000 cells each
        drawn = rng.integers(0, 3_000, size=(size, 3_000), dtype=np.uint16)
        blocks.append(np.stack([values[row].mean(axis=0) for row in drawn]))
    found = statistics.bootstrap_means(values, samples=300, seed=3)
    assert found == pytest.approx(np.concatenate(blocks))


def test_how_many_resamples() -> None:
    sizes = (0, 1, 10_000, 20_000, 100_000, 10**9)
    assert [statistics.samples_of(n) for n in sizes] == [10_000] * 3 + [5_000, 1_000, 1_000]


def test_a_thin_or_wide_interval_says_so() -> None:
    said = [statistics._note(n, width) for n, width in ((9, 0.4), (10, 0.4), (9, 0.41), (10, 0.41))]
    assert said == [
        "only 9 queries",
        "",
        "only 9 queries, too wide to be of use",
        "too wide to be of use",
    ]


# ── paired tests ──────────────────────────────────────────────────────────────────────────────────


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
    assert statistics.randomization_test(up, samples=99)[0] == pytest.approx(0.01)
    assert statistics.randomization_test(0 * up)[0] == 1
    moved = RNG.normal(0.2, 0.5, size=(14, 2))
    exact = (np.abs(signs(14) @ moved) >= np.abs(moved.sum(axis=0)) - 1e-9).mean(axis=0)
    found = statistics.randomization_test(moved, samples=40_000)
    assert found == pytest.approx(exact, abs=0.01)
    assert found.tolist() != exact.tolist()  # drawn from 14 queries on
    assert found == pytest.approx(statistics.randomization_test(moved, samples=40_000, seed=20_260))
    assert found.tolist() != statistics.randomization_test(moved, samples=40_000, seed=1).tolist()


def test_wilcoxon_is_scipys_where_its_rules_change() -> None:
    for n in (14, 25, 50, 51):
        alone = np.arange(1, n + 1) * RNG.choice([-1, 1], n) / 100
        method = "exact" if n <= 50 else "approx"
        expected = scipy.stats.wilcoxon(alone, method=method, correction=False).pvalue
        assert statistics.wilcoxon_test(column(*alone))[0] == pytest.approx(expected), n
        for other in (np.append(alone, alone[0]), np.append(alone, 0)):  # a tie, a zero
            expected = scipy.stats.wilcoxon(other, method="approx", correction=False).pvalue
            assert statistics.wilcoxon_test(column(*other))[0] == pytest.approx(expected), n
    level = np.array([1, -2, -3, 4, 5, -6, -7, 8, 9, -10, -11, 12, 13, -14, -15, 16]) / 10
    assert statistics.wilcoxon_test(column(*level)).tolist() == [1]  # both sums are 68
    nearly = 0.3 - 0.2, 0.1, 0.2 - 0.1  # one tie, whatever the last bit says
    assert statistics.wilcoxon_test(column(*nearly)) == statistics.wilcoxon_test(column(1, 1, 1))


def test_a_t_test_is_scipys_and_knows_no_spread() -> None:
    for n in (2, 3, 30):
        moved = RNG.normal(0.1, 0.3, size=(n, 2))
        expected = scipy.stats.ttest_1samp(moved, 0).pvalue
        assert statistics.t_test(moved) == pytest.approx(expected)
        assert statistics.effect_size(moved) == pytest.approx(
            moved.mean(axis=0) / moved.std(axis=0, ddof=1)
        )
        factor = scipy.stats.t.ppf([0.95, 0.5], n - 1).sum() if n > 3 else math.inf
        found = statistics.detectable_difference(moved, alpha=0.1, power=0.5)
        assert found == pytest.approx(factor * moved.std(axis=0, ddof=1) / math.sqrt(n))
    both = np.column_stack([np.zeros(5), np.full(5, 0.25)])
    assert statistics.t_test(both).tolist() == [1, 0]


def test_corrections_are_theirs_by_definition() -> None:
    """Holm's and Benjamini and Hochberg's, counted out from the sorted list."""
    for given in ([], [0.5], [0.04, 0.01, 0.04, 0.9, 0.02], [0.6, 0.7, 0.4], [1.0, 1.0], [0, 0.03]):
        m, ordered = len(given), sorted(given)
        holm = [
            max(min(1, (m - j) * ordered[j]) for j in range(m) if ordered[j] <= p) for p in given
        ]
        share = [
            min([1, *(ordered[j] * m / (j + 1) for j in range(m) if ordered[j] >= p)])
            for p in given
        ]
        assert statistics.holm(given) == pytest.approx(holm)
        assert statistics.benjamini_hochberg(given) == pytest.approx(share)
        if given:
            assert share == pytest.approx(scipy.stats.false_discovery_control(given))
