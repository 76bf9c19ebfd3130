"""The worst-case interval holds for few queries and for values that bunch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation import statistics

changes = st.lists(st.integers(-10, 10), min_size=2, max_size=30).map(
    lambda xs: np.array(xs, float)[:, None] / 10
)


def interval(values: list[float], level: float = 0.95) -> tuple[float, float]:
    column = np.array(values)[:, None]
    (found,) = statistics.change_intervals(column, level=level, worst_case=True)
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@given(changes)
def test_it_has_a_width_holds_the_mean_and_stays_on_the_scale(values: np.ndarray) -> None:
    low, high = interval(values[:, 0].tolist())
    assert -1 <= low <= values.mean() <= high <= 1
    assert high - low > 0.1 / len(values)
    assert interval((-values[:, 0]).tolist()) == pytest.approx((-high, -low), abs=1e-7)


@given(changes)
def test_its_p_is_the_level_at_which_it_touches_zero(values: np.ndarray) -> None:
    p = float(statistics.change_tests(values, worst_case=True)[0])
    above = float(statistics.chances_above(values, worst_case=True)[0])
    assert p == pytest.approx(2 * min(above, 1 - above))
    for alpha in (0.01, 0.05, 0.3):
        if abs(p - alpha) > 1e-5:
            low, high = interval(values[:, 0].tolist(), 1 - alpha)
            assert (p < alpha) == (low > 0 or high < 0)
            told = statistics.significant(values, alpha=alpha, worst_case=True)[0]
            assert told == (np.sign(values.mean()) if p < alpha else 0)


@pytest.mark.parametrize("n", [5, 10, 33, 200])
def test_nothing_moved_leaves_what_a_few_queries_cannot_tell(n: int) -> None:
    """The weight of the query not seen is a beta variable; about 3.7 / n with 95%."""
    expected = scipy.stats.beta.ppf(0.975, 1, n)
    low, high = interval([0.0] * n)
    assert high == pytest.approx(expected, rel=0.02)
    assert low == pytest.approx(-high)


def test_the_bounds_are_quantiles_of_the_mean_with_random_weights() -> None:
    """Computed, not drawn: the same as many draws to three decimals."""
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
    place = data.draw(st.integers(0, len(twentieths) - 1))
    raised = list(twentieths)
    raised[place] = data.draw(st.integers(twentieths[place], 20))
    columns = np.array([twentieths, raised], float).T / 20
    for scale in (statistics.SHARE, statistics.CHANGE):
        on_scale = columns * (scale[1] - scale[0]) + scale[0]
        for before, after in statistics.worst_case_bounds(on_scale, level, scale):
            assert after >= before - 1e-8


@pytest.mark.parametrize("n", [5, 20, 65])
@pytest.mark.parametrize("missed", [0.03, 0.12, 0.25])
def test_a_mean_is_covered_where_some_queries_fail_wholly(missed: float, n: int) -> None:
    """Values of .8 to 1, and rarely 0."""
    rng = np.random.default_rng([n, int(100 * missed)])
    drawn = np.where(rng.random((n, 160)) < missed, 0.0, rng.uniform(0.8, 1, (n, 160)))
    truth = 0.9 * (1 - missed)
    found = statistics.mean_intervals(drawn, worst_case=True)
    held = [each.low <= truth <= each.high for each in found]  # type: ignore[operator]
    assert np.mean(held) >= 0.93


def test_the_worst_case_of_a_rate_is_clopper_and_pearsons() -> None:
    for successes in range(13):
        column = (np.arange(12) < successes).astype(float)[:, None]
        (found,) = statistics.mean_intervals(column, worst_case=True)
        exact = scipy.stats.binomtest(successes, 12).proportion_ci(0.95, "exact")
        assert (found.low, found.high) == pytest.approx(tuple(exact), abs=0.004)


# what a query's difference may be: one in fifty wholly, ties, two humps, a rare loss among gains
NASTY = {
    "one in fifty": ([0.0, 1.0], [0.98, 0.02]),
    "nine ties in ten": ([0.0, 1.0, -1.0], [0.9, 0.07, 0.03]),
    "two humps": ([-0.5, 0.5], [0.3, 0.7]),
    "a rare loss": ([0.05, -1.0], [0.95, 0.05]),
}


@pytest.mark.parametrize("n", [10, 33])
@pytest.mark.parametrize("name", NASTY)
def test_a_change_is_covered_where_values_bunch(name: str, n: int) -> None:
    values, chances = NASTY[name]
    drawn = np.random.default_rng([n, len(name)]).choice(values, size=(n, 160), p=chances)
    truth = float(np.dot(values, chances))
    found = statistics.change_intervals(drawn, worst_case=True)
    inside = [each.low <= truth <= each.high for each in found]  # type: ignore[operator]
    assert np.mean(inside) >= 0.93
