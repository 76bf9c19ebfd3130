"""The mean over all queries from machine judgments, corrected by the queries that people judged:
prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023), power-tuned
(Angelopoulos, Duchi and Zrnic 2023, 'PPI++').

    value = mean of people - weight * (mean of machine, there - mean of machine, everywhere)

With a fixed weight it is unbiased whatever the machine says, where the queries that people judged
are a random part of all. The weight is the slope of people on machine (which is where PPI++ tunes
it to, with the judged queries among all), drawn towards 0 and kept within [0, 1]: with little
evidence for the machine the estimate is people's mean.

The interval is made for 10 to 60 judged queries and values in [0, 1], many of them 0 or 1, where
Student's t and the bootstrap miss too often (docs/experiments/14-machine-judgments.md):

- it is Wilson's (1927), with the number of queries that the variance is worth (as for rates in
  surveys, Dean and Pagano 2015), so that ten times 1 is not certainty;
- the variance of the residuals counts one more query, on which the machine was as wrong as could
  be: that people and machine agreed everywhere they were compared does not mean that they always
  do. How wrong that is depends on how many of people's values are the same, because lumpy values
  disagree seldom and then wholly;
- Student's quantile has the freedom that the residuals leave (Satterthwaite 1946): where two
  queries make the variance, it is not known well;
- where it comes out wider than people alone, people alone stand.

Queries count as a sample of all queries that could be asked, as everywhere else in Assay; with
`finite` the interval is for these queries only: what people would find had they judged all.

Arrays have the judged queries along the last axis; leading axes are repetitions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.evaluation.statistics import NORMAL, t_quantile

Floats = np.ndarray[Any, np.dtype[np.float64]]

PRIOR = 1.0  # queries that are assumed beside those seen
CAUTION = 3.0  # weight is times n/(n + CAUTION): a slope from few queries is too bold
DOUBT = 2.0  # the square of Student's t that a slope has by chance, or nearly
TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """One estimate for each repetition, and people alone beside it."""

    value: Floats
    low: Floats
    high: Floats
    weight: Floats  # of the machine's values: 0 is people alone
    people: Floats
    people_low: Floats
    people_high: Floats


@dataclass(frozen=True, kw_only=True)
class _Spread:
    """A variance of the mean, and its degrees of freedom."""

    variance: Floats
    freedom: Floats


def estimate(
    people: Floats,
    machine: Floats,
    everywhere: Floats,
    queries: int,
    *,
    finite: bool = False,
    level: float = 0.95,
) -> Estimates:
    """`people` and `machine` on the judged queries, the machine's mean over all `queries`."""
    n = people.shape[-1]
    weight = power_tuned(people, machine) if queries > n else np.zeros(people.shape[:-1])
    mean = people.mean(axis=-1)
    apart = machine.mean(axis=-1) - everywhere
    value = mean - weight * apart
    variance = _variance(people)
    in_range = bool(people.size) and float(people.min()) >= 0 and float(people.max()) <= 1
    hidden, drawn = 1 / n - 1 / queries, variance * (0.0 if finite else 1 / queries)
    alone = _Spread(variance=variance * hidden + drawn, freedom=np.full_like(mean, n - 1))
    people_low, people_high = _bounds(mean, alone, n, level, in_range)
    spread = _corrected(people, machine, weight, apart, (hidden, drawn))
    low, high = _bounds(value, spread, n, level, in_range)
    helps = (weight > 0) & (high - low < people_high - people_low)
    return Estimates(
        value=np.where(helps, np.clip(value, 0, 1) if in_range else value, mean),
        low=np.where(helps, low, people_low),
        high=np.where(helps, high, people_high),
        weight=np.where(helps, weight, 0.0),
        people=mean,
        people_low=people_low,
        people_high=people_high,
    )


def power_tuned(people: Floats, machine: Floats) -> Floats:
    """The weight of the machine's values: the slope of people on machine, less what chance gives,
    within [0, 1]."""
    n = people.shape[-1]
    off_people = people - people.mean(axis=-1, keepdims=True)
    off_machine = machine - machine.mean(axis=-1, keepdims=True)
    across = (off_people * off_machine).sum(axis=-1)
    in_people, in_machine = (off_people**2).sum(axis=-1), (off_machine**2).sum(axis=-1)
    slope = _ratio(across, in_machine)
    fit = np.minimum(_ratio(across**2, in_people * in_machine), 1.0)
    evidence = fit * (n - 2) / np.maximum(1 - fit, TINY)
    kept = np.clip(1 - DOUBT / np.maximum(evidence, TINY), 0, 1)
    return np.asarray(np.clip(slope * kept, 0, 1) * n / (n + CAUTION))


def _variance(people: Floats) -> Floats:
    """Of people's values, with one more as uncertain as a coin of their mean: ten times 1 does not
    mean that nothing else can come."""
    n = people.shape[-1]
    mean = people.mean(axis=-1)
    likely = np.clip((mean * n + PRIOR / 2) / (n + PRIOR), 0, 1)
    seen = ((people - mean[..., None]) ** 2).sum(axis=-1)
    return np.asarray((seen + PRIOR * likely * (1 - likely)) / (n - 1 + PRIOR))


def _corrected(
    people: Floats, machine: Floats, weight: Floats, apart: Floats, parts: tuple[float, Floats]
) -> _Spread:
    """The variance of the corrected mean: `parts` are the share of the residuals' variance, and
    what people's own variance adds."""
    n = people.shape[-1]
    share, of_people = parts
    off_people = people - people.mean(axis=-1, keepdims=True)
    off_machine = machine - machine.mean(axis=-1, keepdims=True)
    residuals = off_people - weight[..., None] * off_machine
    surprise = _surprise(people, off_people)
    squares = (residuals**2).sum(axis=-1) + PRIOR * surprise
    fourths = (residuals**4).sum(axis=-1) + PRIOR * surprise**2
    peaked = np.maximum((n + PRIOR) * _ratio(fourths, squares**2), 1 + 1e-6)
    freedom = np.minimum(n - 2, 2 * (n + PRIOR) / (peaked - 1))
    # the slope is itself estimated: the further the judged queries lie from all, the more it shows
    tilted = _ratio(apart**2, (off_machine**2).sum(axis=-1))
    of_residuals = (share + tilted) * squares / (n - 2 + PRIOR)
    whole = of_residuals + of_people
    pooled = _ratio(whole**2, of_residuals**2 / freedom + of_people**2 / (n - 1))
    return _Spread(variance=whole, freedom=np.clip(pooled, 1, n - 2))


def _surprise(people: Floats, off_people: Floats) -> Floats:
    """How wrong the machine is, squared, on the query that was not seen: as far as people's values
    go where half of them are the same, halfway to their variance where all differ."""
    n = people.shape[-1]
    furthest = (off_people**2).max(axis=-1)
    lumps = np.clip(0.5 + _longest_run(people) / n, 0, 1)
    return np.asarray(_variance(people) ** (1 - lumps) * furthest**lumps)


def _longest_run(people: Floats) -> Floats:
    """How many queries have the value that most have."""
    ordered = np.sort(people, axis=-1)
    places = np.broadcast_to(np.arange(people.shape[-1]), people.shape)
    new = np.concatenate(
        [np.ones((*people.shape[:-1], 1), bool), np.diff(ordered, axis=-1) > 1e-9], axis=-1
    )
    starts = np.maximum.accumulate(np.where(new, places, 0), axis=-1)
    return np.asarray((places - starts + 1).max(axis=-1), np.float64)


def _bounds(
    value: Floats, spread: _Spread, n: int, level: float, in_range: bool
) -> tuple[Floats, Floats]:
    """Wilson's interval for a mean of values in [0, 1]; Student's for any other."""
    quantile = _quantiles(spread.freedom, level)
    if not in_range:
        half = quantile * np.sqrt(spread.variance)
        return value - half, value + half
    mean = np.clip(value, 0, 1)
    likely = (mean * n + PRIOR / 2) / (n + PRIOR)
    coin = (n * mean * (1 - mean) + PRIOR * likely * (1 - likely)) / (n - 1 + PRIOR)
    width = quantile**2 * spread.variance / coin
    centre = (mean + width / 2) / (1 + width)
    half = np.sqrt(width * mean * (1 - mean) + width**2 / 4) / (1 + width)
    return np.minimum(centre - half, mean), np.maximum(centre + half, mean)


def _quantiles(freedom: Floats, level: float) -> Floats:
    """Student's quantile for any freedom of at least 1, between whole ones by the inverse."""
    below = np.floor(freedom).astype(int)
    known = {int(whole): t_quantile((1 + level) / 2, int(whole)) for whole in np.unique(below)}
    known |= {whole + 1: t_quantile((1 + level) / 2, whole + 1) for whole in list(known)}
    wholes = np.array(sorted(known))
    table = np.array([known[whole] for whole in wholes])
    return np.asarray(np.interp(1 / freedom, 1 / wholes[::-1], table[::-1]))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """0 where the denominator is 0."""
    return np.asarray(
        np.divide(
            numerator, denominator, out=np.zeros_like(denominator), where=denominator > TINY**2
        )
    )


# ── are the judged queries a random part? ─────────────────────────────────────────────────────────


def shift(judged: Floats, others: Floats) -> float:
    """The chance that the machine's mean differs so much between the judged queries and the others,
    were the judged ones drawn at random."""
    n, m = len(judged), len(others)
    if not n or not m:
        return 1.0
    deviation = float(np.concatenate([judged, others]).std(ddof=1))
    apart = abs(float(judged.mean() - others.mean()))
    if deviation < TINY:
        return 1.0
    return 2 * (1 - NORMAL.cdf(apart / (deviation * math.sqrt(1 / n + 1 / m))))


def lopsided(judged_of_group: int, judged: int, group: int, queries: int) -> float:
    """The chance that a group of queries has so many or so few of the judged ones, were those drawn
    at random (the hypergeometric distribution, both tails)."""
    least, most = max(0, judged - (queries - group)), min(judged, group)
    ways = [
        math.comb(group, hits) * math.comb(queries - group, judged - hits)
        for hits in range(least, most + 1)
    ]
    seen = ways[judged_of_group - least]
    return sum(way for way in ways if way <= seen) / math.comb(queries, judged)
