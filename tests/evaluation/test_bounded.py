"""Intervals of bounded means hold for few queries and for values that bunch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation import bounded, statistics

changes = st.lists(st.integers(-10, 10), min_size=2, max_size=30).map(
    lambda xs: np.array(xs, float)[:, None] / 10
)


def interval(values: list[float], level: float = 0.95) -> tuple[float, float]:
    (found,) = statistics.change_intervals(np.array(values)[:, None], level=level)
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@given(changes)
def test_an_interval_has_a_width_holds_the_mean_and_stays_on_the_scale(values: np.ndarray) -> None:
    low, high = interval(values[:, 0].tolist())
    assert -1 <= low <= values.mean() <= high <= 1
    assert high - low > 0.1 / len(values)


@given(changes)
def test_the_other_way_round_is_the_mirror_image(values: np.ndarray) -> None:
    low, high = interval(values[:, 0].tolist())
    assert interval((-values[:, 0]).tolist()) == pytest.approx((-high, -low), abs=1e-7)


@given(changes)
def test_a_higher_level_is_wider(values: np.ndarray) -> None:
    narrow, wide = interval(values[:, 0].tolist(), 0.8), interval(values[:, 0].tolist(), 0.99)
    assert wide[0] <= narrow[0] + 1e-9
    assert narrow[1] <= wide[1] + 1e-9
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


@pytest.mark.parametrize("n", [5, 10, 33, 200])
def test_nothing_moved_leaves_what_a_few_queries_cannot_tell(n: int) -> None:
    """The weight of the query not seen is a beta variable; about 3.7 / n with 95%."""
    expected = scipy.stats.beta.ppf(0.975, 1, n)
    low, high = interval([0.0] * n)
    assert high == pytest.approx(expected, rel=0.02)
    assert low == pytest.approx(-high)


def test_the_bounds_are_quantiles_of_the_mean_with_random_weights() -> None:
    """Computed, not drawn: the same as a million draws to three decimals."""
    values = np.random.default_rng(2).choice([0, 0, 0, 0.1, -0.3, 0.9], size=(14, 1))
    low, high = interval(values[:, 0].tolist())
    weights = np.random.default_rng(1).dirichlet(np.ones(15), 400_000)
    for bound, end, tail in ((low, -1, 0.025), (high, 1, 0.975)):
        drawn = weights @ np.append(values[:, 0], end)
        assert bound == pytest.approx(np.quantile(drawn, tail), abs=0.003)


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=12),
    st.data(),
    st.sampled_from([0.5, 0.8, 0.95, 0.99]),
)
def test_raising_a_value_never_lowers_a_bound(
    twentieths: list[int], data: st.DataObject, level: float
) -> None:
    """So that no engine fails a gate that a worse one passes."""
    place = data.draw(st.integers(0, len(twentieths) - 1))
    raised = list(twentieths)
    raised[place] = data.draw(st.integers(twentieths[place], 20))
    columns = np.array([twentieths, raised], float).T / 20
    z = statistics.NORMAL.inv_cdf((1 + level) / 2)
    for scale in (bounded.SHARE, bounded.CHANGE):
        for before, after in bounded.bounds(columns * (scale[1] - scale[0]) + scale[0], z, scale):
            assert after >= before - 1e-8


def test_what_is_nearly_right_passes_nothing_that_what_is_right_does_not() -> None:
    lows = [interval(values)[0] for values in ([1.0, 1.0, 1.0], [1.0, 0.9, 0.8])]
    assert lows[0] > lows[1]


@pytest.mark.parametrize("n", [5, 10, 20, 33, 65])
@pytest.mark.parametrize("missed", [0.03, 0.08, 0.12, 0.25])
def test_a_mean_is_covered_where_some_queries_fail_wholly(missed: float, n: int) -> None:
    """Values of .8 to 1, and rarely 0."""
    rng = np.random.default_rng([n, int(100 * missed)])
    drawn = np.where(rng.random((n, 800)) < missed, 0.0, rng.uniform(0.8, 1, (n, 800)))
    held = bounded.holds(drawn, 0.9 * (1 - missed), statistics.NORMAL.inv_cdf(0.975), (0.0, 1.0))
    assert held.mean() >= 0.94


def _rate_intervals(n: int) -> np.ndarray:
    counts = np.arange(n + 1)
    columns = (np.arange(n)[:, None] < counts).astype(float)
    found = statistics.mean_intervals(columns)
    return np.array([(each.low, each.high) for each in found])


@pytest.mark.parametrize("n", [5, 10, 20, 33, 65])
def test_a_rate_is_covered_whatever_it_is(n: int) -> None:
    """Exactly, over every count that may come: at least 95% at any rate, and wrong on one side at
    most 2.5% of the time."""
    (lows, highs), rates = _rate_intervals(n).T, np.linspace(0.002, 0.998, 499)[:, None]
    inside = (lows <= rates) & (rates <= highs)
    chances = scipy.stats.binom.pmf(np.arange(n + 1), n, rates)
    assert (chances * inside).sum(axis=1).min() >= 0.95
    assert (chances * (lows > rates)).sum(axis=1).max() <= 0.0251
    assert (chances * (highs < rates)).sum(axis=1).max() <= 0.0251


# what a query's difference may be: one in fifty wholly, ties, two humps, a rare loss among gains
NASTY = {
    "one in fifty": ([0.0, 1.0], [0.98, 0.02]),
    "nine ties in ten": ([0.0, 1.0, -1.0], [0.9, 0.07, 0.03]),
    "two humps": ([-0.5, 0.5], [0.3, 0.7]),
    "a rare loss": ([0.05, -1.0], [0.95, 0.05]),
    "fifths": ([-0.4, -0.2, 0.0, 0.2, 0.6], [0.1, 0.2, 0.4, 0.2, 0.1]),
}


@pytest.mark.parametrize("n", [10, 20, 33, 65])
@pytest.mark.parametrize("name", NASTY)
def test_a_change_is_covered_where_values_bunch(name: str, n: int) -> None:
    values, chances = NASTY[name]
    drawn = np.random.default_rng([n, len(name)]).choice(values, size=(n, 600), p=chances)
    truth = float(np.dot(values, chances))
    found = statistics.change_intervals(drawn)
    inside = [each.low <= truth <= each.high for each in found]  # type: ignore[operator]
    assert np.mean(inside) >= 0.93


def test_an_interval_says_when_it_is_too_wide() -> None:
    (thin,) = statistics.change_intervals(np.array([[1.0], [-1.0], [0.0]]))
    assert thin.note == "only 3 queries, too wide to be of use"
    (many,) = statistics.change_intervals(np.zeros((100, 1)))
    assert many.note == ""


def test_what_has_no_ends_has_a_bootstrap_interval_or_none() -> None:
    millis = np.random.default_rng(1).gamma(2, 30, (40, 1))
    (found,) = statistics.mean_intervals(millis, scale=statistics.OPEN)
    theirs = scipy.stats.bootstrap((millis[:, 0],), np.mean, rng=1).confidence_interval
    assert found.low == pytest.approx(theirs.low, rel=0.05)
    assert found.high == pytest.approx(theirs.high, rel=0.05)
    (still,) = statistics.mean_intervals(np.full((9, 1), 12.0))
    assert (still.low, still.high) == (None, None)


def test_a_column_beyond_the_scale_does_not_open_the_others() -> None:
    values = np.random.default_rng(1).random((20, 2))
    beside = np.column_stack([values, values[:, 0] * 100])
    assert statistics.mean_intervals(beside)[:2] == statistics.mean_intervals(values)


def test_changes_for_the_better_alone_may_still_be_for_the_worse() -> None:
    """Differences that happen to be positive have the scale of differences, when it is said."""
    gains = np.array([[0.0]] * 9 + [[0.5]])
    (found,) = statistics.change_intervals(gains)
    assert found.low is not None
    assert found.low < 0
