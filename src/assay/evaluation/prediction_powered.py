"""Estimate the mean over all queries from machine judgments, corrected by the queries that people
judged: prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023),
power-tuned (Angelopoulos, Duchi and Zrnic 2023, 'PPI++').

    value = mean of people - weight * (mean of machine, there - mean of machine, everywhere)

With a fixed weight it is unbiased whatever the machine says, where the queries that people judged
are a random part of all. The weight is the slope of people on machine (which is where PPI++ tunes
it to, with the judged queries among all), drawn towards 0 and kept within [0, 1]: with little
evidence for the machine the estimate is people's mean.

A query on which people find nothing relevant has no value (NaN), and nobody knows how many of the
others are such. The mean is then a ratio: of the sum of the values to the number of queries that
have one. Both are estimated, by their linear part (the delta method): what a query adds to people's
mean is predicted by the machine's value there, less the mean where the machine tells which queries
have a value. Where people find something on every query this is the formula above.

The interval is made for 10 to 60 judged queries and values in [0, 1], many of them 0 or 1, where
Student's t and the bootstrap miss too often (research/judgments.md):

- it is Wilson's (1927), with the number of queries that the variance is worth (as for rates in
  surveys, Dean and Pagano 2015), so that ten times 1 is not certainty;
- the variance of the residuals counts one more query, on which the machine was as wrong as could
  be: that people and machine agreed everywhere they were compared does not mean that they always
  do. How wrong that is depends on how many of people's values are the same, because lumpy values
  disagree seldom and then wholly;
- what the machine says beyond all that it said on the judged queries has not been compared with
  people at all. As far as the estimate rests on it, it counts as doubt;
- Student's quantile has the freedom that the residuals leave (Satterthwaite 1946): where two
  queries make the variance, it is not known well;
- where it comes out wider than people alone, people alone stand.

Queries count as a sample of all queries that could be asked, as everywhere else in Assay; with
`finite` the interval is for these queries only: what people would find had they judged all.

Arrays have the queries along the last axis, the judged ones first; leading axes are repetitions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.evaluation.statistics import NORMAL, TINY, Floats, t_quantile

Flags = np.ndarray[Any, np.dtype[np.bool_]]

# Chosen by coverage in simulations: research/judgments.md, experiment 14.
PRIOR = 1.0  # queries that are assumed beside those seen
CAUTION = 3.0  # weight is times n/(n + CAUTION): a slope from few queries is too bold
DOUBT = 2.0  # the square of Student's t that a slope has by chance, or nearly
FAR = 0.75  # how near the query not seen is to the furthest seen (1), where all values differ
BEYOND = 4.0  # how much the square of what rests on machine values beyond those compared counts


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


@dataclass(frozen=True, kw_only=True)
class _People:
    """People's values; `off` is how far each is from the mean, 0 where there is none."""

    values: Floats
    known: Flags
    count: Floats
    mean: Floats
    off: Floats
    variance: Floats


def estimate(
    people: Floats, machine: Floats, *, finite: bool = False, level: float = 0.95
) -> Estimates:
    """`people` on the judged queries; `machine` on all, the judged ones first. NaN is nothing
    relevant."""
    n, queries = people.shape[-1], machine.shape[-1]
    judged = _people(people)
    values = people[judged.known]
    in_range = bool(values.size) and float(values.min()) >= 0 and float(values.max()) <= 1
    share = judged.count / n  # of queries that have a value
    hidden, asked = 1 / n - 1 / queries, 0.0 if finite else 1 / queries
    drawn = judged.variance * asked / share
    alone = _Spread(variance=judged.variance * hidden / share + drawn, freedom=judged.count - 1)
    people_low, people_high = _bounds(judged.mean, alone, judged.count, level, in_range)
    predicted = _predictions(judged, machine)
    adds = judged.off / share[..., None]
    weight = power_tuned(adds, predicted[..., :n]) * (queries > n)
    value = judged.mean - weight * _mean_gap(predicted, n)
    spread = _corrected(judged, predicted, weight, (hidden, drawn))
    low, high = _bounds(value, spread, judged.count, level, in_range)
    helps = (weight > 0) & (high - low < people_high - people_low)
    return Estimates(
        value=np.where(helps, np.clip(value, 0, 1) if in_range else value, judged.mean),
        low=np.where(helps, low, people_low),
        high=np.where(helps, high, people_high),
        weight=np.where(helps, weight, 0.0),
        people=judged.mean,
        people_low=people_low,
        people_high=people_high,
    )


def power_tuned(people: Floats, machine: Floats) -> Floats:
    """The weight of the machine's values: the slope of people on machine, less what chance gives,
    within [0, 1]."""
    n = people.shape[-1]
    off_people, off_machine = _centred(people), _centred(machine)
    across = (off_people * off_machine).sum(axis=-1)
    in_people, in_machine = (off_people**2).sum(axis=-1), (off_machine**2).sum(axis=-1)
    slope = _ratio(across, in_machine)
    fit = np.minimum(_ratio(across**2, in_people * in_machine), 1.0)
    evidence = fit * (n - 2) / np.maximum(1 - fit, TINY)
    kept = np.clip(1 - DOUBT / np.maximum(evidence, TINY), 0, 1)
    return np.asarray(np.clip(slope * kept, 0, 1) * n / (n + CAUTION))


def _people(given: Floats) -> _People:
    """The variance counts one more value, as uncertain as a coin of their mean: ten times 1 does
    not mean that nothing else can come."""
    known = ~np.isnan(given)
    count = np.maximum(known.sum(axis=-1), 1).astype(np.float64)
    mean = np.where(known, given, 0).sum(axis=-1) / count
    off = np.where(known, given - mean[..., None], 0)
    likely = np.clip((mean * count + PRIOR / 2) / (count + PRIOR), 0, 1)
    squares = (off**2).sum(axis=-1) + PRIOR * likely * (1 - likely)
    variance = squares / (count - 1 + PRIOR)
    return _People(values=given, known=known, count=count, mean=mean, off=off, variance=variance)


def _predictions(judged: _People, machine: Floats) -> Floats:
    """What the machine's values say that a query adds to people's mean: its value, 0 where it finds
    nothing; less the mean, as far as its finding something tells that people do."""
    n = judged.values.shape[-1]
    found = ~np.isnan(machine)
    has, says = _centred(judged.known.astype(np.float64)), _centred(found[..., :n] * 1.0)
    tells = np.clip(_ratio((has * says).sum(axis=-1), (says**2).sum(axis=-1)), 0, 1)
    value = np.where(found, machine - (tells * judged.mean)[..., None], 0)
    return np.asarray(value / (judged.count / n)[..., None])


def _corrected(
    judged: _People, predicted: Floats, weight: Floats, parts: tuple[float, Floats]
) -> _Spread:
    """The variance of the corrected mean: `parts` are the share of the residuals' variance, and
    what people's own variance adds."""
    n = judged.values.shape[-1]
    hidden, of_people = parts
    share = judged.count / n
    there = predicted[..., :n]
    off_machine = _centred(there)
    residuals = judged.off / share[..., None] - weight[..., None] * off_machine
    surprise = _unseen_error(judged) / share**2
    squares = (residuals**2).sum(axis=-1) + PRIOR * surprise
    fourths = (residuals**4).sum(axis=-1) + PRIOR * surprise**2
    peaked = np.maximum((n + PRIOR) * _ratio(fourths, squares**2), 1 + 1e-6)
    most = np.maximum(judged.count - 2, 1)
    freedom = np.minimum(most, 2 * (n + PRIOR) / (peaked - 1))
    # the slope is itself estimated: the further the judged queries lie from all, the more it shows
    tilted = _ratio(_mean_gap(predicted, n) ** 2, (off_machine**2).sum(axis=-1))
    least, furthest = there.min(axis=-1, keepdims=True), there.max(axis=-1, keepdims=True)
    beyond = np.abs(predicted - np.clip(predicted, least, furthest)).mean(axis=-1)
    of_machine = (hidden + tilted) * squares / (n - 2 + PRIOR) + BEYOND * (weight * beyond) ** 2
    whole = of_machine + of_people
    pooled = _ratio(whole**2, of_machine**2 / freedom + of_people**2 / np.maximum(most, 1))
    return _Spread(variance=whole, freedom=np.clip(pooled, 1, most))


def _unseen_error(judged: _People) -> Floats:
    """How wrong the machine is, squared, on the query that was not seen: as far as people's values
    go where many of them are the same, nearer to their variance where all differ."""
    furthest = (judged.off**2).max(axis=-1)
    lumps = np.clip(FAR + _longest_run(judged) / judged.count, 0, 1)
    return np.asarray(judged.variance ** (1 - lumps) * furthest**lumps)


def _longest_run(judged: _People) -> Floats:
    """How many queries have the value that most have."""
    shape = judged.values.shape
    places = np.broadcast_to(np.arange(shape[-1]), shape)
    apart = 1e6 * (1 + places)  # queries without a value are like no other
    ordered = np.sort(np.where(judged.known, judged.values, apart), axis=-1)
    new = np.concatenate(
        [np.ones((*shape[:-1], 1), bool), np.diff(ordered, axis=-1) > 1e-9], axis=-1
    )
    starts = np.maximum.accumulate(np.where(new, places, 0), axis=-1)
    return np.asarray((places - starts + 1).max(axis=-1), np.float64)


def _mean_gap(predicted: Floats, n: int) -> Floats:
    return np.asarray(predicted[..., :n].mean(axis=-1) - predicted.mean(axis=-1))


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def _bounds(
    value: Floats, spread: _Spread, n: Floats, level: float, in_range: bool
) -> tuple[Floats, Floats]:
    """Wilson's interval for a mean of values in [0, 1]; Student's for any other."""
    quantile = _quantiles(np.maximum(spread.freedom, 1), level)
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


def chance_of_shift(judged: Floats, others: Floats) -> float:
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


def chance_of_imbalance(judged_of_group: int, judged: int, group: int, queries: int) -> float:
    """The chance that a group of queries has so many or so few of the judged ones, were those drawn
    at random (the hypergeometric distribution, both tails)."""
    least, most = max(0, judged - (queries - group)), min(judged, group)
    ways = [
        math.comb(group, hits) * math.comb(queries - group, judged - hits)
        for hits in range(least, most + 1)
    ]
    seen = ways[judged_of_group - least]
    return sum(way for way in ways if way <= seen) / math.comb(queries, judged)
