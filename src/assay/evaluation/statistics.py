"""Compute intervals and tests of means, rates and paired changes, with corrections for several
tests, effect sizes and power.

One statistic decides about a change: Student's t as if two more queries had been seen, a quarter of
the measure's range above and below the mean,

    mean ± t(n - 1) · √((SS + 2 · 0.25²) / ((n + 1) n)),    SS = Σ (change - mean)²

Its interval, its p and the probability that the change is above 0 come from this t alone, so they
cannot contradict each other: p is 1 - the level at which the interval touches 0. The two queries
keep a width where all queries tie, and they fade as queries are added. A measure without a range,
such as a latency, has none of them: then it is plain t.

A mean on [0, 1] has Wilson's interval with an effective number of queries, which is larger than n
the less the values vary; a rate has Wilson's, and Clopper and Pearson's where a gate decides.
docs/statistics.md says how often each holds.

With `worst_case`, means and changes have an interval that holds for any distribution of the values:
Gaffke's bound (2005). The queries seen get random weights, as in the Bayesian bootstrap (Rubin
1981), and so does one query that was not seen, at the end of the scale: 0 for the lower bound, 1
for the upper. The bounds are quantiles of that weighted mean. So:

- for a rate it is Clopper and Pearson's interval;
- it is monotone: raising a value never lowers a bound;
- it held the truth as often as it says in all cases tried. That it always does is a conjecture:
  nobody has proven it or found a case against it (Learned-Miller and Thomas 2020);
- it is wide: n ties leave about ±3.7/n, ±0.11 with 33 queries. Hence it is an option, for those who
  must be safe against rare complete failures.

The distribution of the weighted mean is computed by Lugannani and Rice's saddlepoint formula as
Barndorff-Nielsen (1986) writes it, good to a part in a hundred of the width even where one query
makes it.

Everything here takes arrays with one row a query and one column a measure. Nothing is drawn at
random, except in `randomization_test` and `slice_chances`, which have a fixed seed. Agreement
between judges is in `concordance`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from assay.core.results import ALPHA as ALPHA
from assay.core.results import WIDE, RiskyQueries

Floats = np.ndarray[Any, np.dtype[np.float64]]
Risk = Literal["", "ties", "extreme"]

POWER = 0.8  # the usual chance to find a change that is there
SAMPLES = 10_000  # random signs of a test; chosen
SEED = 20_260  # any number, so that a test always says the same
EXACT = 13  # queries: 2**13 assignments of signs are fewer than SAMPLES, so each is looked at
SMALL = 10  # below this many queries an interval is shown with a warning (rule of thumb)
BLOCK_CELLS = 200_000  # small blocks stay in cache (taste)
NORMAL = NormalDist()
TIE = 1e-9  # a change no larger than this is a tie; sums in floating point are less exact than 0
FEW_MOVED = 0.1  # the share of queries that move, up to which nearly all tie (taste)
FAR = 0.5  # of the range: a query so far from the mean lost or won nearly everything (taste)
ADDED = 2 * 0.25**2  # what the two queries add to the sum of squares (decision 34)
HALF = 0.5  # of a query with the variance of a rate, which every mean on [0, 1] is given (taste)
MAX_QUERIES = 1_000_000  # queries (taste): beyond, the answer is that it cannot be done
ALIKE = "every query has the same value, which tells nothing about others"


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A confidence interval of a mean. `low` and `high` are None where there is too little data."""

    low: float | None
    high: float | None
    n: int
    level: float
    note: str = ""


# ── means and rates ───────────────────────────────────────────────────────────────────────────────


def mean_intervals(
    values: Floats,
    *,
    level: float = 0.95,
    ranged: bool = True,
    exact: bool = False,
    worst_case: bool = False,
) -> list[Interval]:
    """The interval of the mean of each column on [0, 1]; a column of 0 and 1 is a rate, `exact` for
    a gate. A column that is not `ranged`, or has values beyond [0, 1], has plain t. NaN is no
    value."""
    return [
        _mean_interval(column[~np.isnan(column)], level, ranged, exact, worst_case)
        for column in values.T
    ]


def _mean_interval(
    values: Floats, level: float, ranged: bool, exact: bool, worst_case: bool
) -> Interval:
    n = len(values)
    if n < 2:
        return Interval(low=None, high=None, n=n, level=level, note="too few queries")
    if not ranged or values.min() < -1e-9 or values.max() > 1 + 1e-9:
        return _student(values, level)
    values = np.clip(values, 0.0, 1.0)
    if worst_case:
        low, high = (float(end[0]) for end in worst_case_bounds(values[:, None], level, SHARE))
    elif ((values == 0) | (values == 1)).all():
        rate = rate_interval(int(values.sum()), n, level=level, exact=exact)
        low, high = rate.low or 0.0, 1.0 if rate.high is None else rate.high
    else:
        low, high = wilson(float(values.mean()), _effective_number(values), _t_factor(level, n))
    return Interval(low=low, high=high, n=n, level=level, note=_note(n, high - low))


def _effective_number(values: Floats) -> float:
    """The number of pass-or-fail queries that would tell as much: n where the values vary as those
    do, more where they vary less. Half a query of the largest variance is added to them, so that
    it stays finite."""
    n, mean = len(values), float(values.mean())
    return effective_queries(n, float(values.var()) / max(mean * (1 - mean), 1e-300))


def effective_queries(n: int, ratio: float) -> float:
    """Of n queries whose variance is this part of the largest that their mean allows."""
    return n * (n + HALF) / (n * min(ratio, 1.0) + HALF)


def wilson(mean: float, n: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval (1927) of a mean on [0, 1] that is worth n pass-or-fail queries."""
    over = quantile**2 / n
    centre = (mean + over / 2) / (1 + over)
    half = quantile / (1 + over) * math.sqrt(max(mean * (1 - mean), 0.0) / n + over / (4 * n))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _student(values: Floats, level: float) -> Interval:
    """Plain t, for values without a range; no interval where they do not vary at all."""
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(n)
    if error < 1e-12 * max(abs(mean), 1.0):
        return Interval(low=None, high=None, n=n, level=level, note=ALIKE)
    half = _t_factor(level, n) * error
    note = f"only {n} queries" if n < SMALL else ""
    return Interval(low=mean - half, high=mean + half, n=n, level=level, note=note)


def _t_factor(level: float, n: int) -> float:
    return t_quantile((1 + level) / 2, n - 1)


def _note(n: int, width: float) -> str:
    """Said rather than narrowed."""
    notes = [f"only {n} queries"] if n < SMALL else []
    notes += ["too wide to be useful"] if width > WIDE else []
    return ", ".join(notes)


@lru_cache(maxsize=4_096)
def rate_interval(successes: int, n: int, *, level: float = 0.95, exact: bool = False) -> Interval:
    """Wilson's interval of a rate, or where it is `exact` Clopper and Pearson's (1934), which never
    holds the truth less often than it says."""
    if n == 0:
        return Interval(low=None, high=None, n=0, level=level, note="no queries")
    if exact:
        low, high = clopper_pearson(successes, n, level)
    else:
        low, high = wilson(successes / n, n, NORMAL.inv_cdf((1 + level) / 2))
    return Interval(low=low, high=high, n=n, level=level)


def clopper_pearson(successes: float, n: float, level: float) -> tuple[float, float]:
    """The exact interval of a rate, from 0 to 1 where n is 0; an effective n may be a fraction."""
    tail = (1 - level) / 2
    low = beta_quantile(tail, successes, n - successes + 1) if successes > 0 else 0.0
    high = beta_quantile(1 - tail, successes + 1, n - successes) if successes < n else 1.0
    return low, high


def quantile_interval(values: Sequence[float], quantile: float, *, level: float = 0.95) -> Interval:
    """The interval of a quantile between two order statistics, whatever the distribution (David and
    Nagaraja 2003, 7.1). None where the sample is too small to bound it, and always for the smallest
    and the largest value."""
    n, tail = len(values), (1 - level) / 2
    if not 0 < quantile < 1 or n == 0:
        return Interval(low=None, high=None, n=n, level=level, note="no interval for an extreme")
    # at most k values lie below the quantile with the probability below[k]
    below = [binomial_cdf(k, n, quantile) for k in range(n + 1)]
    low, high = bisect_left(below, tail), bisect_left(below, 1 - tail)
    if low == 0 or high >= n:
        return Interval(low=None, high=None, n=n, level=level, note="too few queries")
    ordered = sorted(values)
    return Interval(low=float(ordered[low - 1]), high=float(ordered[high]), n=n, level=level)


# ── changes ───────────────────────────────────────────────────────────────────────────────────────


def change_intervals(
    changes: Floats, *, level: float = 0.95, worst_case: bool = False
) -> list[Interval]:
    """The interval of the mean change of each column, paired by query. A column with a change
    beyond ±1 is of a measure without a range."""
    n = len(changes)
    if n < 2:
        none = Interval(low=None, high=None, n=n, level=level, note="too few queries")
        return [none] * changes.shape[1]
    means, half = changes.mean(axis=0), _t_factor(level, n) * _errors(changes)
    lows, highs, ranged = means - half, means + half, _is_ranged(changes)
    lows[ranged], highs[ranged] = np.maximum(lows[ranged], -1), np.minimum(highs[ranged], 1)
    if worst_case and ranged.any():
        lows[ranged], highs[ranged] = worst_case_bounds(changes[:, ranged], level, CHANGE)
    return [
        Interval(low=low, high=high, n=n, level=level, note=_note(n, high - low))
        for low, high in zip(lows.tolist(), highs.tolist(), strict=True)
    ]


def change_tests(changes: Floats, *, at: float = 0.0, worst_case: bool = False) -> Floats:
    """The two-sided p of each column's mean change being `at`: 1 - the level at which an end of
    `change_intervals` touches it."""
    n, columns = changes.shape
    if n < 2:
        return np.ones(columns)
    ratios = np.abs(_ratios(changes, at)).tolist()
    found = np.array([2 * t_cdf(-ratio, n - 1) for ratio in ratios])
    ranged = _is_ranged(changes)
    if worst_case and ranged.any():
        above = worst_case_chances(changes[:, ranged], at, CHANGE)
        found[ranged] = 2 * np.minimum(above, 1 - above)
    return found


def chances_above(changes: Floats, *, at: float = 0.0, worst_case: bool = False) -> Floats:
    """The probability that the mean change of each column is above `at`, by the statistic that
    gives the interval: F(t) with n - 1 degrees of freedom, t = (mean - at) / standard error."""
    n, columns = changes.shape
    if n < 2:
        return np.full(columns, 0.5)
    found = np.array([t_cdf(ratio, n - 1) for ratio in _ratios(changes, at).tolist()])
    ranged = _is_ranged(changes)
    if worst_case and ranged.any():
        found[ranged] = worst_case_chances(changes[:, ranged], at, CHANGE)
    return found


def significant(changes: Floats, *, alpha: float = ALPHA, worst_case: bool = False) -> Floats:
    """For each column 1 where the mean change is significantly above 0, -1 where it is below, and
    else 0: `change_tests` without a p."""
    n = len(changes)
    if worst_case or n < 2:
        sure = change_tests(changes, worst_case=worst_case) <= alpha
    else:
        sure = np.abs(_ratios(changes, 0.0)) >= _t_factor(1 - alpha, n)
    return np.where(sure, np.sign(changes.mean(axis=0)), 0.0)


def _is_ranged(changes: Floats) -> Any:
    return np.abs(changes).max(axis=0) <= 1 + 1e-9


def _ratios(changes: Floats, at: float) -> Floats:
    """How many standard errors each mean lies above `at`; infinitely many where a measure without
    a range does not vary."""
    means, errors = changes.mean(axis=0) - at, _errors(changes)
    sure = np.where(np.abs(means) < 1e-15, 0.0, np.copysign(math.inf, means))
    return np.asarray(np.divide(means, errors, out=sure, where=errors > 1e-15))


def _errors(changes: Floats) -> Floats:
    n = len(changes)
    squares = ((changes - changes.mean(axis=0)) ** 2).sum(axis=0)
    ranged = (squares + ADDED) / ((n + 1) * n)
    plain = squares / ((n - 1) * n)
    return np.asarray(np.sqrt(np.where(_is_ranged(changes), ranged, plain)))


def standard_error(spread: float, n: int) -> float:
    """Of the mean of n changes with this standard deviation, by the rule for changes."""
    return math.sqrt(((n - 1) * spread**2 + ADDED) / ((n + 1) * n))


def risky_rows(values: Floats) -> tuple[Risk, list[int]]:
    """Why the intervals of these values, or changes, may be too narrow, and the rows that say so:
    `ties` where nine queries in ten do not change, `extreme` where one query makes most of the
    spread. Then queries not seen may differ in a way that those seen do not show."""
    n, moved = len(values), np.flatnonzero(np.abs(values) > TIE)
    if n < 5:
        return "", []
    if 0 < len(moved) <= n * FEW_MOVED:
        return "ties", sorted(moved.tolist(), key=lambda row: -abs(values[row]))
    squares = (values - values.mean()) ** 2
    worst = int(squares.argmax())
    if squares[worst] >= FAR**2 and squares[worst] > squares.sum() / 2:
        return "extreme", [worst]
    return "", []


def risky_queries(values: Mapping[str, float]) -> RiskyQueries | None:
    """The queries that make the interval of these values, or changes, doubtful; None where it is
    not."""
    kind, rows = risky_rows(np.array(list(values.values()), np.float64))
    ids = list(values)
    return RiskyQueries(kind=kind, queries=[ids[row] for row in rows]) if kind else None


# ── power ─────────────────────────────────────────────────────────────────────────────────────────


def reach(n: int, *, level: float, power: float = POWER) -> float:
    """How many standard errors a true change must lie from a limit, for n queries to show on which
    side it is with this power, by intervals of this level."""
    return t_quantile((1 + level) / 2, n - 1) + t_quantile(power, n - 1)


def level_for_power(level: float, power: float = POWER) -> float:
    """The level of intervals that are wider by what this power takes, for normal deviations."""
    z = NORMAL.inv_cdf((1 + level) / 2) + NORMAL.inv_cdf(power)
    return 2 * NORMAL.cdf(z) - 1


def detectable_change(
    spread: float, n: int, *, alpha: float = ALPHA, power: float = POWER
) -> float:
    """The smallest true change that n queries show with this power."""
    return reach(n, level=1 - alpha, power=power) * standard_error(spread, n) if n > 1 else math.inf


def fewest_queries(
    shows: Callable[[int], bool], *, least: int = 2, most: int = MAX_QUERIES
) -> int | None:
    """The fewest queries that show something, from `least` on; None where the `most` do not."""
    low, high = least - 1, least
    while not shows(high):
        low, high = high, high * 2
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def rate_power(chance: float, bound: float, n: int, level: float) -> float:
    """The probability that n pass-or-fail queries, each passed with this chance, put the exact
    interval on the right side of a bound."""
    if chance < bound:
        chance, bound = 1 - chance, 1 - bound
    low, high = 0, n + 1  # the fewest successes whose interval lies above the bound
    while low < high:
        middle = (low + high) // 2
        cleared = 1 - binomial_cdf(middle - 1, n, bound) < (1 - level) / 2
        low, high = (low, middle) if cleared else (middle + 1, high)
    return 1 - binomial_cdf(low - 1, n, chance)


def binomial_cdf(k: int, n: int, chance: float) -> float:
    """The probability of at most k successes of n."""
    if k < 0:
        return 0.0
    return 1.0 if k >= n else _incomplete_beta(n - k, k + 1, 1 - chance)


# ── other tests, and corrections ──────────────────────────────────────────────────────────────────


def randomization_test(differences: Floats, *, samples: int = SAMPLES) -> Floats:
    """Two-sided paired randomization test (Fisher 1935; Smucker et al. 2007) for each column: under
    no difference the sign of each query's difference is arbitrary. Exact up to 13 queries (EXACT),
    else Monte Carlo with the observed assignment counted, so p is never 0."""
    n, columns = differences.shape
    if n == 0:
        return np.ones(columns)
    observed = np.abs(differences.sum(axis=0)) - 1e-12 * np.maximum(
        1.0, np.abs(differences).sum(axis=0)
    )
    if n <= EXACT:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return np.asarray((np.abs(signs @ differences) >= observed).mean(axis=0))
    rng = np.random.default_rng(SEED)
    extreme = np.zeros(columns)
    for size in _block_sizes(samples, n):
        bits = np.unpackbits(rng.integers(0, 256, size=(size, -(-n // 8)), dtype=np.uint8), axis=1)[
            :, :n
        ]
        extreme += (np.abs((1.0 - 2.0 * bits) @ differences) >= observed).sum(axis=0)
    return np.asarray((extreme + 1) / (samples + 1))


def _block_sizes(total: int, width: int) -> Iterator[int]:
    block = max(1, BLOCK_CELLS // max(width, 1))
    while total > 0:
        yield min(block, total)
        total -= block


def wilcoxon_test(differences: Floats) -> Floats:
    """Two-sided Wilcoxon signed-rank test for each column: zeros dropped, exact up to 13 queries
    that moved, and to 50 where no two moved alike; else the normal approximation with tie
    correction."""
    return np.array([_wilcoxon(differences[:, column]) for column in range(differences.shape[1])])


def _wilcoxon(differences: Floats) -> float:
    rounded = np.round(
        differences, 12
    )  # 0.6 - 0.4 and 0.4 - 0.2 are a tie, whatever their last bit says
    moved = rounded[rounded != 0]
    n = len(moved)
    if n == 0:
        return 1.0
    sizes, inverse, counts = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    if n <= EXACT:
        return float(randomization_test((np.sign(moved) * ranks)[:, None])[0])
    positive = float(ranks[moved > 0].sum())
    statistic = min(positive, n * (n + 1) / 2 - positive)
    if n <= 50 and len(sizes) == n and n == len(differences):
        return min(1.0, 2 * _signed_rank_cdf(int(statistic), n))
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((counts**3 - counts).sum()) / 48
    return float(min(1.0, 2 * NORMAL.cdf((statistic - n * (n + 1) / 4) / math.sqrt(variance))))


def _signed_rank_cdf(statistic: int, n: int) -> float:
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, n + 1):
        ways[rank:] = ways[rank:] + ways[:-rank]
    return float(ways[: statistic + 1].sum() / 2.0**n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm 1979: the chance of any false alarm among these tests stays at alpha."""
    order = np.argsort(p_values, kind="stable")
    adjusted, running = np.empty(len(p_values)), 0.0
    for rank, index in enumerate(order):
        running = max(running, (len(p_values) - rank) * p_values[index])
        adjusted[index] = min(1.0, running)
    return [float(value) for value in adjusted]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini & Hochberg 1995: the expected share of false alarms among those reported stays at
    alpha."""
    order = np.argsort(p_values, kind="stable")[::-1]
    adjusted, running = np.empty(len(p_values)), 1.0
    for place, index in enumerate(order):
        running = min(running, p_values[index] * len(p_values) / (len(p_values) - place))
        adjusted[index] = running
    return [float(value) for value in adjusted]


def effect_size(differences: Floats) -> Floats:
    """Cohen's d of paired differences: the mean in units of its own spread. 0 without a difference;
    NaN where there is one and it does not vary."""
    means = differences.mean(axis=0)
    deviations = (
        differences.std(axis=0, ddof=1) if len(differences) > 1 else np.zeros(differences.shape[1])
    )
    still = np.where(np.abs(means) > 1e-12, np.nan, 0.0)
    return np.asarray(np.divide(means, deviations, out=still, where=deviations > 1e-12))


# ── Student's t ───────────────────────────────────────────────────────────────────────────────────


def t_cdf(t: float, freedom: int) -> float:
    """The distribution of Student's t, by the regularised incomplete beta function."""
    tail = _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=256)
def t_quantile(p: float, freedom: int) -> float:
    """The inverse of `t_cdf`, by bisection."""
    if p == 0.5:
        return 0.0
    low, high = -1e9, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, freedom) < p else (low, middle)
    return (low + high) / 2


def beta_quantile(p: float, a: float, b: float) -> float:
    """The inverse of the beta distribution, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _incomplete_beta(a, b, middle) < p else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Lentz's continued fraction (Press et al., Numerical Recipes, 6.4)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = (
        math.exp(
            math.lgamma(a + b)
            - math.lgamma(a)
            - math.lgamma(b)
            + a * math.log(x)
            + b * math.log(1 - x)
        )
        / a
    )
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), 1e-300)
    total = d
    for m in range(1, 3_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + numerator * d)
            c = 1 + numerator / c
            total *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * total


# ── corrections for several tests at once ─────────────────────────────────────────────────────────
# Claims against one baseline are corrected over the systems that are shown, the leaderboard over
# all its pairs, both by Holm (1979): the chance of any false claim among them is at most 5%. An
# adjusted interval belongs to every adjusted p: its level is what Holm's rule leaves of 95% for
# that test, so that it holds 0 just where the adjusted p is above 0.05.
#
# Claims by slice ("B is better for keywords") are a family of their own: every pair in every slice.
# They are held to the largest value that any of them reaches when the signs of the queries are
# arbitrary (Westfall and Young 1993). The value is the sum of the differences over the root of
# their squares. No slice of n queries can exceed the root of n, so that a slice of five cannot
# shout.

FLIPS = 4_000  # assignments of signs (taste): p near .05 is exact to .003


@dataclass(frozen=True, kw_only=True)
class AdjustedTest:
    """What one test of several is held to: its adjusted p, and `times`, the number of tests that
    its interval counts with."""

    p_adjusted: float
    times: float = 1.0

    @property
    def level(self) -> float:
        """Of the adjusted interval."""
        return 1 - ALPHA / self.times


def adjust_tests(p_values: Sequence[float]) -> list[AdjustedTest]:
    """By Holm, in the order given. A test behind one that is not significant counts with as many
    tests as its adjusted p says."""
    corrected = holm(p_values)
    ranks = np.argsort(np.argsort(p_values, kind="stable"), kind="stable").tolist()
    return [
        AdjustedTest(p_adjusted=held, times=max(len(p_values) - rank, held / p if p > 0 else 1.0))
        for p, held, rank in zip(p_values, corrected, ranks, strict=True)
    ]


def slice_chances(values: Floats, parts: Sequence[Sequence[int]]) -> Floats:
    """[slice, system, system]: the corrected p of each difference in each slice, which is how often
    any difference in any slice is as large by chance alone. `values` are [query, system]."""
    rng = np.random.default_rng(SEED)
    signs = rng.choice([-1.0, 1.0], (FLIPS, len(values)))
    largest = np.zeros(FLIPS)
    seen = []
    for part in parts:
        rows = values[list(part)]
        gaps = rows[:, :, None] - rows[:, None, :]
        size = np.sqrt((gaps**2).sum(axis=0))
        scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 1e-12)
        seen.append(np.abs(gaps.sum(axis=0)) * scale)
        flipped = signs[:, list(part)] @ rows
        for one, other in combinations(range(values.shape[1]), 2):
            reached = np.abs(flipped[:, one] - flipped[:, other]) * scale[one, other]
            largest = np.maximum(largest, reached)
    if not seen:
        return np.ones((0, values.shape[1], values.shape[1]))
    found = np.stack(seen)
    beyond = FLIPS - np.searchsorted(np.sort(largest), found - 1e-9)
    return np.asarray((beyond + 1) / (FLIPS + 1))


# ── intervals that hold for any distribution ──────────────────────────────────────────────────────

Scale = tuple[float, float]

SHARE: Scale = (0.0, 1.0)  # of a measure
CHANGE: Scale = (-1.0, 1.0)  # of the difference of two
TINY = 1e-12  # against division by nothing; chosen
# taste: where the secant steps end, and after how many of them every second one halves the range
CLOSE = 1e-7  # of a deviation
PATIENT = 8  # steps


def worst_case_bounds(values: Floats, level: float, scale: Scale) -> tuple[Floats, Floats]:
    """The bounds of the mean of each column."""
    z, means = NORMAL.inv_cdf((1 + level) / 2), values.mean(axis=0)
    lows, highs = _bound(values, scale[0], -z), _bound(values, scale[1], z)
    return np.minimum(lows, means), np.maximum(highs, means)


def worst_case_chances(values: Floats, at: float, scale: Scale) -> Floats:
    """The probability that the mean of each column is above `at`: as far from a half as the bound
    nearer to `at` allows, and a half where both ends of every interval lie around it."""
    places = np.full(values.shape[1], at)
    low, high = (_deviation(_with_unseen(values, end), places) for end in scale)
    return np.array(
        [
            NORMAL.cdf(-min(least, 0.0) - max(most, 0.0))
            for least, most in zip(low, high, strict=True)
        ]
    )


def _with_unseen(values: Floats, unseen: float) -> Floats:
    """The values and the query that was not seen."""
    return np.vstack([values, np.full((1, values.shape[1]), unseen)])


def _bound(values: Floats, unseen: float, z: float) -> Floats:
    """Where the weighted mean has the deviation `z`: between the mean and the unseen query.

    The deviation grows with the place, nearly as a line: secant steps inside a bracket, by halves
    where they leave it or take long. Columns that are found are left alone."""
    points, n = _with_unseen(values, unseen), len(values)
    inner, outer = values.mean(axis=0), np.full(values.shape[1], unseen)
    last, last_off = inner, _deviation(points, inner) - z
    guess = inner + z * values.std(axis=0) / np.sqrt(n)
    place = np.where((outer - guess) * z > 0, guess, (inner + outer) / 2)
    found, left = place.copy(), np.arange(len(place))
    for step in range(200):
        off = _deviation(points, place) - z
        beyond = off * z > 0
        outer, inner = np.where(beyond, place, outer), np.where(beyond, inner, place)
        found[left] = place
        going = (np.abs(off) > CLOSE) & (np.abs(outer - inner) > TINY)
        if not going.any():
            break
        rise = off - last_off
        secant = place - off * (place - last) / np.where(np.abs(rise) < TINY, np.nan, rise)
        within = (secant - inner) * (outer - secant) > 0
        by_halves = ~within | (step > PATIENT and step % 2 == 1)
        last, last_off = place[going], off[going]
        place = np.where(by_halves, (inner + outer) / 2, secant)[going]
        inner, outer, left = inner[going], outer[going], left[going]
        points = points[:, going]
    return np.asarray(found)


def _deviation(points: Floats, place: Floats) -> Floats:
    """The normal deviation whose chance is that of a weighted mean of at most `place`.

    The mean with random weights is at most m where the sum of G (x - m) is at most 0, with G
    exponential: its cumulant function is K(t) = -sum log(1 - t (x - m))."""
    off = points - place
    low, high = off.min(axis=0), off.max(axis=0)
    inside = (low < -TINY) & (high > TINY)
    found = np.where(high > TINY, -1e3, 1e3)
    found[~inside & (low >= -TINY) & (high <= TINY)] = 0.0
    if not inside.any():
        return found
    off = off[:, inside]
    tilt = _saddlepoint(off)
    held = tilt * off
    ratio = off / (1 - held)
    cumulant, spread = -np.log1p(-held).sum(axis=0), (ratio**2).sum(axis=0)
    root = np.sign(tilt) * np.sqrt(np.maximum(-2 * cumulant, 0))
    skew = (ratio**3).sum(axis=0) / (3 * spread**1.5)
    safe = np.where(np.abs(root) < 1e-4, 1.0, root)
    scaled = np.where(np.abs(root) < 1e-4, 1.0, tilt * np.sqrt(spread))
    corrected = root + np.log(np.maximum(scaled / safe, TINY)) / safe
    found[inside] = np.where(np.abs(root) < 1e-4, root - skew, corrected)
    return found


def _saddlepoint(off: Floats) -> Floats:
    """Where the derivative of the cumulant function is 0, by Newton's steps inside a bracket."""
    low, high = 1 / off.min(axis=0), 1 / off.max(axis=0)
    tilt = np.zeros(off.shape[1])
    for _ in range(100):
        ratio = off / (1 - tilt * off)
        slope, curve = ratio.sum(axis=0), (ratio**2).sum(axis=0)
        low, high = np.where(slope < 0, tilt, low), np.where(slope > 0, tilt, high)
        stepped = tilt - slope / curve
        outside = (stepped <= low) | (stepped >= high)
        stepped = np.where(outside, (low + high) / 2, stepped)
        still = float((np.abs(stepped - tilt) * np.sqrt(curve)).max()) < 1e-9
        tilt = stepped
        if still:
            break
    return tilt
