"""Intervals, paired tests with correction, and effect sizes. Seeded, vectorised, checked against
SciPy. Agreement between judges is in `concordance`.

Everything here takes arrays with one row a query and one column a measure, and nothing else.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from assay.core.verdicts import WIDE
from assay.evaluation import bounded
from assay.evaluation.bounded import Scale

Floats = np.ndarray[Any, np.dtype[np.float64]]

SAMPLES = 10_000
SEED = 20_260
EXACT = 13  # up to this many queries every assignment of signs is looked at
SMALL = 10  # below this many queries an interval is shown with a warning
SHARE, CHANGE = bounded.SHARE, bounded.CHANGE
OPEN: Scale = (-math.inf, math.inf)  # latencies and scores: nothing bounds them
BLOCK_CELLS = 200_000  # small blocks stay in cache
DRAWS = 10**8  # of queries; beyond 10,000 queries there are fewer resamples
ONE_THREAD = 2**18  # multiplications
AHEAD = 2
SHORT = 1_000  # queries: slices up to here are computed together
NORMAL = NormalDist()


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A confidence interval of a mean. `low` and `high` are None when there is too little to
    say."""

    low: float | None
    high: float | None
    n: int
    level: float
    note: str = ""


# ── the interval of a mean ────────────────────────────────────────────────────────────────────────


def mean_intervals(
    values: Floats, *, level: float = 0.95, scale: Scale | None = None, seed: int = SEED
) -> list[Interval]:
    """The interval of the mean of each column: of measures on [0, 1], or with `scale` CHANGE of
    their differences on [-1, 1], which negative values are taken to be. See `bounded`; it is never
    of no width, because queries that were not seen may differ. A column with values beyond 1, or
    with `scale` OPEN, has no ends to reckon with: it gets a bootstrap interval. NaN is no value."""
    n = (~np.isnan(values)).sum(axis=0)
    few = n < 2
    ends = scale or (CHANGE if bool((values < 0).any()) else SHARE)
    beyond = (values < ends[0] - 1e-9) | (values > ends[1] + 1e-9)
    held = ~few & ~beyond.any(axis=0) & (ends != OPEN)
    found = {
        column: Interval(low=None, high=None, n=int(n[column]), level=level, note="too few queries")
        for column in np.flatnonzero(few).tolist()
    }
    for column in np.flatnonzero(~few & ~held).tolist():
        found[column] = _bootstrapped(values[~np.isnan(values[:, column]), column], level, seed)
    columns = np.flatnonzero(held).tolist()
    if columns:
        z = NORMAL.inv_cdf((1 + level) / 2)
        lows, highs = bounded.bounds(np.clip(values[:, held], *ends), z, ends)
        means = np.nanmean(values[:, held], axis=0)
        for column, low, high, mean in zip(columns, lows, highs, means, strict=True):
            low, high, count = float(min(low, mean)), float(max(high, mean)), int(n[column])
            note = _note(count, high - low)
            found[column] = Interval(low=low, high=high, n=count, level=level, note=note)
    return [found[column] for column in range(values.shape[1])]


def slice_intervals(slices: Sequence[Floats], *, level: float = 0.95) -> list[list[Interval]]:
    """`mean_intervals` of every slice, of the same measures each: the short ones at one go."""
    found: dict[int, list[Interval]] = {}
    short = [place for place, rows in enumerate(slices) if len(rows) <= SHORT]
    longest = max((len(slices[place]) for place in short), default=0)
    if longest:
        width = slices[0].shape[1]
        padded = [np.full((longest, width), np.nan) for _ in short]
        for filled, place in zip(padded, short, strict=True):
            filled[: len(slices[place])] = slices[place]
        together = mean_intervals(np.hstack(padded), level=level)
        found = {
            place: together[nth * width : (nth + 1) * width] for nth, place in enumerate(short)
        }
    return [
        found[place] if place in found else mean_intervals(rows, level=level)
        for place, rows in enumerate(slices)
    ]


def change_intervals(differences: Floats, *, level: float = 0.95) -> list[Interval]:
    """The interval of the mean difference of each column, paired by query."""
    return mean_intervals(differences, level=level, scale=CHANGE)


def _note(n: int, width: float) -> str:
    """Said rather than narrowed."""
    notes = [f"only {n} queries"] if n < SMALL else []
    notes += ["too wide to be of use"] if width > WIDE else []
    return ", ".join(notes)


def _bootstrapped(values: Floats, level: float, seed: int) -> Interval:
    """BCa bootstrap interval of a mean (Efron 1987), with percentiles widened for small samples
    (Hesterberg 2015, 'expanded percentiles')."""
    column = values.reshape(-1, 1)
    resampled = bootstrap_means(column, samples=samples_of(len(values)), seed=seed)
    return _bca(values, float(values.mean()), resampled[:, 0], level)


def samples_of(n: int) -> int:
    """How many resamples of n queries: 10,000, and fewer of more than 10,000 queries, whose
    intervals are narrow anyway."""
    return int(min(SAMPLES, max(DRAWS // max(n, 1), 1_000)))


def _bca(values: Floats, mean: float, resampled: Floats, level: float) -> Interval:
    n = len(values)
    note = f"only {n} queries" if n < SMALL else ""
    centred = values - mean
    spread = float((centred**2).sum())
    if spread < 1e-24:
        alike = "every query has the same value, which tells nothing of others"
        return Interval(low=None, high=None, n=n, level=level, note=alike)
    acceleration = float((centred**3).sum()) / (6 * spread**1.5)
    below = float(
        (resampled < mean - 1e-12).mean() + (np.abs(resampled - mean) <= 1e-12).mean() / 2
    )
    bias = NORMAL.inv_cdf(min(max(below, 1e-6), 1 - 1e-6))
    wide = math.sqrt(n / (n - 1)) * t_quantile((1 + level) / 2, n - 1)
    bounds = []
    for z in (-wide, wide):
        shifted = bias + (bias + z) / max(1 - acceleration * (bias + z), 1e-6)
        bounds.append(float(np.quantile(resampled, NORMAL.cdf(shifted))))
    return Interval(low=bounds[0], high=bounds[1], n=n, level=level, note=note)


def bootstrap_means(values: Floats, *, samples: int = SAMPLES, seed: int = SEED) -> Floats:
    """The mean of each column over `samples` resamples of the rows: [samples, columns]."""
    rng = np.random.default_rng(seed)
    n = len(values)
    small = np.uint16 if n <= 2**16 else np.uint32
    parts = []
    with ThreadPoolExecutor(max_workers=1) as beside:  # draws while the drawn are counted
        drawing: deque[Future[Any]] = deque()
        for size in _block_sizes(samples, n):
            drawing.append(beside.submit(rng.integers, 0, n, size=(size, n), dtype=small))
            if len(drawing) > AHEAD:
                parts.append(_resampled(drawing.popleft().result(), values))
        parts += [_resampled(drawn.result(), values) for drawn in drawing]
    return np.concatenate(parts)


def _resampled(drawn: Any, values: Floats) -> Floats:
    size, n = drawn.shape
    places = np.add(drawn, np.arange(size)[:, None] * n, dtype=np.int64)
    counts = np.bincount(places.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
    # so few rows at a time that BLAS takes one thread: for products this small more of them spend
    # most of their time waiting for each other
    step = max(1, ONE_THREAD // values.size)
    rows = [counts[start : start + step] @ values for start in range(0, size, step)]
    means: Floats = np.concatenate(rows) / n
    return means


def _block_sizes(total: int, width: int) -> Iterator[int]:
    block = max(1, BLOCK_CELLS // max(width, 1))
    while total > 0:
        yield min(block, total)
        total -= block


@lru_cache(maxsize=4_096)
def rate_interval(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """The interval of a rate, which is that of a mean of 0 and 1: Clopper and Pearson's (1934)."""
    if n == 0:
        return Interval(low=None, high=None, n=0, level=level, note="no queries")
    column = (np.arange(n) < successes).astype(np.float64)[:, None]
    low, high = bounded.bounds(column, NORMAL.inv_cdf((1 + level) / 2), SHARE)
    return Interval(low=float(low[0]), high=float(high[0]), n=n, level=level)


def quantile_interval(values: Sequence[float], quantile: float, *, level: float = 0.95) -> Interval:
    """The interval of a quantile between two order statistics, whatever the distribution (David and
    Nagaraja 2003, 7.1). None where the sample is too small to bound it, and always for the smallest
    and the largest value."""
    n, tail = len(values), (1 - level) / 2
    if not 0 < quantile < 1 or n == 0:
        return Interval(low=None, high=None, n=n, level=level, note="no interval for an extreme")
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(quantile)
        + (n - k) * math.log1p(-quantile)
        for k in range(n + 1)
    ]
    below = np.cumsum(np.exp(logs))  # below[k]: at most k values lie below the quantile
    low, high = int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1 - tail))
    if low == 0 or high >= n:
        return Interval(low=None, high=None, n=n, level=level, note="too few queries")
    ordered = sorted(values)
    return Interval(low=float(ordered[low - 1]), high=float(ordered[high]), n=n, level=level)


# ── paired tests ──────────────────────────────────────────────────────────────────────────────────


def randomization_test(differences: Floats, *, samples: int = SAMPLES, seed: int = SEED) -> Floats:
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
    rng = np.random.default_rng(seed)
    extreme = np.zeros(columns)
    for size in _block_sizes(samples, n):
        bits = np.unpackbits(rng.integers(0, 256, size=(size, -(-n // 8)), dtype=np.uint8), axis=1)[
            :, :n
        ]
        extreme += (np.abs((1.0 - 2.0 * bits) @ differences) >= observed).sum(axis=0)
    return np.asarray((extreme + 1) / (samples + 1))


def never_above(differences: Floats) -> float:
    """What p of the exact randomization test of one column is at most (Chernoff 1952). Draws say
    nothing of a p below one in their number; this does, for any number of queries. It is p itself
    where all queries went one way by as much, and a few times p elsewhere."""
    sizes = np.abs(differences[differences != 0])
    total = abs(float(differences.sum())) * (1 - 1e-12)
    if not len(sizes) or not total:
        return 1.0
    slopes = np.geomspace(1e-3, 1e3, 400)[:, None] / sizes.mean()
    # log cosh x = x + log((1 + exp(-2x)) / 2)
    steep = (slopes * sizes + np.log1p(np.exp(-2 * slopes * sizes)) - math.log(2)).sum(axis=1)
    return float(min(1.0, 2 * math.exp(float((steep - slopes[:, 0] * total).min()))))


def t_test(differences: Floats) -> Floats:
    """Two-sided paired t test (Student 1908) for each column. No variation: 1 without a difference,
    else 0."""
    n = len(differences)
    if n < 2:
        return np.ones(differences.shape[1])
    means, deviations = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    results = []
    for mean, deviation in zip(means, deviations, strict=True):
        if deviation < 1e-15:
            results.append(1.0 if abs(mean) < 1e-15 else 0.0)
        else:
            results.append(2 * (1 - t_cdf(abs(mean) / (deviation / math.sqrt(n)), n - 1)))
    return np.array(results)


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
    order = np.argsort(p_values)
    adjusted, running = np.empty(len(p_values)), 0.0
    for rank, index in enumerate(order):
        running = max(running, (len(p_values) - rank) * p_values[index])
        adjusted[index] = min(1.0, running)
    return [float(value) for value in adjusted]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini & Hochberg 1995: the expected share of false alarms among those reported stays at
    alpha."""
    order = np.argsort(p_values)[::-1]
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


def fewest_changes(alpha: float = 0.05) -> int:
    """How many queries have to change before the randomization test can show anything: with n of
    them all one way its p is 2 / 2**n."""
    return math.ceil(1 - math.log2(alpha) - 1e-9)


def standard_difference(n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The true difference, in units of the spread, that the randomization test shows on n queries
    with this power; infinite where it can show none. It is the t test's at a level that this one
    can reach. Where a tail has one assignment of signs alone, all queries have to go one way, and
    with two or three it lies between (within 4% of what was counted on normal differences)."""
    tail = int(alpha * 2.0 ** (min(n, 40) - 1) + 1e-9)
    if tail < 1:
        return math.inf
    level = tail / 2.0 ** (n - 1) if n <= EXACT else alpha
    students = (t_quantile(1 - level / 2, n - 1) + t_quantile(power, n - 1)) / math.sqrt(n)
    one_way = NORMAL.inv_cdf(power ** (1 / n))
    return students + max(one_way - students, 0.0) / tail**2 if n <= EXACT else students


def detectable_difference(
    differences: Floats, *, alpha: float = 0.05, power: float = 0.8
) -> Floats:
    """The smallest true difference that this many queries would show with the given power, by the
    spread seen."""
    n = len(differences)
    factor = standard_difference(n, alpha=alpha, power=power) if n > 1 else math.inf
    if factor == math.inf:
        return np.full(differences.shape[1], np.inf)
    return np.asarray(factor * differences.std(axis=0, ddof=1))


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
    low, high = -1e3, 1e3
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
    for m in range(1, 300):
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
