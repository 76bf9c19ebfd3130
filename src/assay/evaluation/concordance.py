"""Measure the agreement between judges: kappas, Krippendorff's alpha, and intervals over queries.

Every figure here is a function of sums over queries: tables of two grades, and means. So the
bootstrap resamples queries, not pairs. The pairs of one query hang together (a judge who reads the
question otherwise is off on all of its documents), and intervals over pairs would be too narrow.
Where a figure is not defined it is NaN, never 0 or 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.evaluation.statistics import NORMAL, SEED, t_quantile

Floats = np.ndarray[Any, np.dtype[np.float64]]
Statistic = Callable[[Floats], Floats]  # [..., columns] of sums to [..., figures]

SAMPLES = 2_000  # bootstrap samples; chosen
LEVEL = 0.95  # of intervals; the usual
BLOCK_CELLS = 2_000_000  # sampled at a time, to bound memory; chosen
MOST_ROWS = 5_000  # that are resampled: its noise is below that of 2,000 samples; chosen
# taste: with fewer queries there are too few ways to draw them, and pairs are resampled
MIN_CLUSTERS = 5
MIN_DEFINED = 0.5  # the share of resamples that must have a value (taste)

ALWAYS_SAME = "every resample gives the same value"
TOO_FEW = "too few pairs"
OFTEN_UNDEFINED = "undefined on most resamples"


class Estimate(NamedTuple):
    """A figure with its interval; None where it is not defined, and then `note` says why."""

    value: float | None
    interval: tuple[float, float] | None
    note: str = ""


# ── figures from tables ───────────────────────────────────────────────────────────────────────────


def exact_agreement(tables: Floats) -> Floats:
    """The share on the diagonal, over all pairs of judges: tables are [..., judges, grade,
    grade]."""
    agreed = np.trace(tables, axis1=-2, axis2=-1).sum(axis=-1)
    return _ratio(agreed, tables.sum(axis=(-3, -2, -1)))


def kappa(tables: Floats, power: int = 0) -> Floats:
    """Cohen's kappa (1960), or weighted (1968) with costs |a - b| ** power: 1 is linear, 2
    quadratic. Several pairs of judges are pooled: what was seen and what chance gives are summed
    over them before they are divided (De Vries and others 2008), so that with two judges it is
    theirs. Undefined where chance would agree always: one grade only."""
    size = tables.shape[-1]
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    cost = (steps > 0).astype(np.float64) if power == 0 else steps**power
    rows, columns, n = tables.sum(axis=-1), tables.sum(axis=-2), tables.sum(axis=(-2, -1))
    chance = _ratio(((rows @ cost) * columns).sum(axis=-1), n, empty=0.0).sum(axis=-1)
    return 1 - _ratio((tables * cost).sum(axis=(-3, -2, -1)), chance)


def ordinal_alpha(coincidences: Floats) -> Floats:
    """Krippendorff's alpha with the ordinal distance (2004): [..., grade, grade] to [...]. The
    distance of two grades is how many values lie between them, squared."""
    totals = coincidences.sum(axis=-1)
    upto = np.cumsum(totals, axis=-1)
    middle = upto - totals / 2
    distance = (middle[..., :, None] - middle[..., None, :]) ** 2
    n = totals.sum(axis=-1)
    observed = (coincidences * distance).sum(axis=(-2, -1))
    expected = (totals[..., :, None] * totals[..., None, :] * distance).sum(axis=(-2, -1))
    return np.asarray(1 - (n - 1) * _ratio(observed, expected))


def two_grade_tables(tables: Floats, first: int) -> Floats:
    """Tables with two grades: below `first`, and from it on."""
    sides = np.zeros((tables.shape[-1], 2))
    sides[:first, 0] = sides[first:, 1] = 1
    return np.asarray(sides.T @ tables @ sides)


def one_against_rest(tables: Floats, grade: int) -> Floats:
    """Tables with two grades: another one, and this."""
    sides = np.zeros((tables.shape[-1], 2))
    sides[:, 0], sides[grade] = 1, (0, 1)
    return np.asarray(sides.T @ tables @ sides)


def specific_agreement(tables: Floats, grade: int) -> Floats:
    """Of the votes for a grade, the share whose other judge gave it too (Cicchetti and Feinstein
    1990)."""
    both = 2 * tables[..., grade, grade].sum(axis=-1)
    given = tables[..., grade, :].sum(axis=(-2, -1)) + tables[..., :, grade].sum(axis=(-2, -1))
    return _ratio(both, given)


def mean_of(sums: Floats) -> Floats:
    """[..., (sum, count)] to a mean."""
    return _ratio(sums[..., 0], sums[..., 1])[..., None]


def change_of_means(sums: Floats) -> Floats:
    """[..., (sum, count, later sum, later count)] to (mean, later mean, change)."""
    before, after = mean_of(sums[..., :2]), mean_of(sums[..., 2:])
    return np.concatenate([before, after, after - before], axis=-1)


def _ratio(part: Floats, whole: Floats, empty: float = math.nan) -> Floats:
    part, whole = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    out = np.full(part.shape, empty)
    return np.asarray(np.divide(part, whole, out=out, where=np.abs(whole) > 1e-12))


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────


def bootstrap_estimates(parts: Floats, statistic: Statistic) -> list[Estimate]:
    """Figures of the sum of `parts`, which has one row a query, with BCa bootstrap intervals over
    its rows (Efron 1987), percentiles widened for few of them (Hesterberg 2015)."""
    n = len(parts)
    values = statistic(parts.sum(axis=0)[None])[0]
    if n < 2:
        return [_estimate(value, None, TOO_FEW) for value in values]
    resampled = np.concatenate([statistic(sums) for sums in _resamples(parts)])
    without_one = statistic(parts.sum(axis=0) - parts)
    return [
        _bca(values[place], resampled[:, place], without_one[:, place], n)
        for place in range(len(values))
    ]


def resampling_rows(clusters: ArrayLike) -> tuple[int, np.ndarray[Any, np.dtype[np.int64]]]:
    """How many rows to resample, and the row of each item: one for each cluster. More clusters
    than `MOST_ROWS` are dealt at random into so many rows, which keeps the spread of their sums and
    bounds time and memory."""
    names, row = np.unique(clusters, return_inverse=True)
    if len(names) > MOST_ROWS:
        row = (np.random.default_rng(SEED).permutation(len(names)) % MOST_ROWS)[row]
    return min(len(names), MOST_ROWS), row


def _resamples(parts: Floats) -> Iterator[Floats]:
    """The sums of the parts over resamples of the rows, some resamples at a time."""
    times = _times_drawn(len(parts))
    block = max(1, BLOCK_CELLS // max(parts.shape))
    for start in range(0, SAMPLES, block):
        yield times[start : start + block].astype(np.float64) @ parts


@lru_cache(maxsize=16)  # the figures of one set are over the same queries again and again
def _times_drawn(n: int) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """How often each of n rows is in each resample: [SAMPLES, n]."""
    rng = np.random.default_rng(SEED)
    counts = np.empty((SAMPLES, n), np.uint16)
    for sample in range(SAMPLES):
        counts[sample] = np.bincount(rng.integers(0, n, size=n), minlength=n)
    return counts


def _estimate(value: float, interval: tuple[float, float] | None, note: str = "") -> Estimate:
    if not math.isfinite(value):
        return Estimate(None, None)
    return Estimate(float(value), interval, note)


def _bca(value: float, resampled: Floats, without_one: Floats, n: int) -> Estimate:
    resampled = np.sort(resampled[np.isfinite(resampled)])
    if not math.isfinite(value):
        return Estimate(None, None)
    if len(resampled) < MIN_DEFINED * SAMPLES:
        return _estimate(value, None, OFTEN_UNDEFINED)
    if resampled[-1] - resampled[0] < 1e-12:
        return _estimate(value, None, ALWAYS_SAME)  # one of no width would be a promise
    below = (resampled < value - 1e-12).mean() + (np.abs(resampled - value) <= 1e-12).mean() / 2
    bias = NORMAL.inv_cdf(min(max(float(below), 1e-6), 1 - 1e-6))
    acceleration = _acceleration(without_one)
    wide = math.sqrt(n / (n - 1)) * t_quantile((1 + LEVEL) / 2, n - 1)
    bounds = []
    for z in (-wide, wide):
        shifted = bias + (bias + z) / max(1 - acceleration * (bias + z), 1e-6)
        bounds.append(float(np.quantile(resampled, NORMAL.cdf(shifted))))
    return _estimate(value, (min(bounds[0], float(value)), max(bounds[1], float(value))))


def _acceleration(without_one: Floats) -> float:
    """How the spread changes with the value, by leaving out one query at a time."""
    finite = without_one[np.isfinite(without_one)]
    centred = finite.mean() - finite if len(finite) else finite
    spread = float((centred**2).sum())
    return 0.0 if spread < 1e-24 else float((centred**3).sum()) / (6 * spread**1.5)
