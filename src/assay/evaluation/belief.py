"""The one belief about unjudged hits: what one is probably worth, learnt from the judged ones.

It is a Bayesian logistic regression of "relevant" on where the hit stands, which systems return it,
the query's own rate, and whether it was judged because it was asked for. The last is what makes it
honest: hits judged in the past were chosen, mostly since they looked good, and say too much for the
rest; hits judged on request are a fair sample of it.

`learn` finds the posterior by Newton's steps and keeps its curvature (Laplace's approximation:
MacKay 1992, "The evidence framework applied to classification networks"), so the doubt is kept and
not only the mean. `chances` gives the mean probability of each hit, `draw` grades that are doubted
together where hits share a query or a rank, and `plan` the order in which judging takes the most of
that doubt away: the linear rule of Gaussian conditioning, applied greedily.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

# before any judgment, three hits in ten are taken to be relevant
START, START_SPREAD = np.log(0.3 / 0.7), 1.5
SLOPE_SPREAD = 1.0
# what is still unjudged is taken to be worse than what judges were shown first
ASKED, ASKED_SPREAD = -1.0, 1.0
QUERY_SPREAD = 1.0  # how far, in log-odds, queries differ in how much of what is found is relevant
ROUNDS = 8
PLANNED = 500  # so many pairs are put in order one by one; the rest by their value at that point


@dataclass(frozen=True, kw_only=True)
class Belief:
    """The posterior: coefficients with covariance, each query's own shift with variance, and how
    the grades of relevant hits are spread."""

    coefficients: Floats
    covariance: Floats
    shift: Floats
    shift_variance: Floats
    grades: Integers  # 1 and up
    shares: Floats


def learn(features: Floats, query: Integers, grade: Integers, queries: int, top: int) -> Belief:
    """From judged hits, one row each. `features` has no constant column, and its last column tells
    the hits judged because they were asked for; `top` is the highest grade."""
    design = np.column_stack([np.ones(len(features)), features])
    relevant = (grade > 0).astype(np.float64)
    slopes = design.shape[1] - 2
    prior_mean = np.array([START, *[0.0] * slopes, ASKED])
    precision = np.array([START_SPREAD, *[SLOPE_SPREAD] * slopes, ASKED_SPREAD]) ** -2.0
    coefficients, shift = prior_mean.copy(), np.zeros(queries)
    for _ in range(ROUNDS):  # Newton's steps in turn: the coefficients, then every query's shift
        chance = _chance(design @ coefficients + shift[query])
        weight = chance * (1 - chance)
        curvature = (design * weight[:, None]).T @ design + np.diag(precision)
        coefficients = coefficients + np.linalg.solve(
            curvature, design.T @ (relevant - chance) - precision * (coefficients - prior_mean)
        )
        chance = _chance(design @ coefficients + shift[query])
        information = np.bincount(query, chance * (1 - chance), queries) + QUERY_SPREAD**-2
        pull = np.bincount(query, relevant - chance, queries) - shift * QUERY_SPREAD**-2
        shift = shift + pull / information
    counts = np.bincount(np.clip(grade, 0, top), minlength=top + 1)[1:] + 0.5
    return Belief(
        coefficients=coefficients,
        covariance=np.asarray(np.linalg.inv(curvature), np.float64),
        shift=shift,
        shift_variance=1 / information,
        grades=np.arange(1, top + 1),
        shares=counts / counts.sum(),
    )


def chances(belief: Belief, features: Floats, query: Integers) -> Floats:
    """The mean probability that each hit is relevant."""
    design = np.column_stack([np.ones(len(features)), features])
    spread = (
        np.einsum("ij,jk,ik->i", design, belief.covariance, design) + belief.shift_variance[query]
    )
    # MacKay's correction: doubt about the log-odds draws the mean probability towards a half
    return _chance(
        (design @ belief.coefficients + belief.shift[query]) / np.sqrt(1 + np.pi * spread / 8)
    )


def draw(
    belief: Belief, features: Floats, query: Integers, samples: int, rng: np.random.Generator
) -> Integers:
    """Grades for each hit, [hits, samples]: a sample draws the coefficients and the queries' shifts
    too, so that hits that share them are doubted together."""
    design = np.column_stack([np.ones(len(features)), features])
    root = np.linalg.cholesky(belief.covariance + 1e-12 * np.eye(len(belief.covariance)))
    coefficients = belief.coefficients[:, None] + root @ rng.standard_normal((len(root), samples))
    noise = (
        rng.standard_normal((len(belief.shift), samples)) * np.sqrt(belief.shift_variance)[:, None]
    )
    chance = _chance(design @ coefficients + (belief.shift[:, None] + noise)[query])
    steps = np.concatenate([[0.0], np.cumsum(belief.shares)])[:-1]
    # one uniform number decides both: below the chance it is relevant, and how far below picks the
    # grade
    level = rng.random(chance.shape) / np.maximum(chance, 1e-12)
    return np.where(
        level < 1, belief.grades[np.searchsorted(steps, np.minimum(level, 1), side="right") - 1], 0
    )


def plan(
    belief: Belief,
    features: Floats,
    query: Integers,
    chance: Floats,
    effects: Floats,
    extra: Floats,
) -> tuple[Integers, Floats]:
    """The order to judge in, and the share of the variance that each judgment takes away.

    The total is a sum of effect times relevance. Knowing one hit takes away its own variance and,
    through the coefficients and its query's shift, some of that of all hits like it: by the linear
    rule, covariance with the total squared over the hit's variance. Greedy: the largest first, then
    the belief is narrowed as if it were known. `extra` is the variance that the exact grade adds.
    Pairs that change nothing are left out."""
    x = np.column_stack([np.ones(len(features)), features])
    weight = np.maximum(chance * (1 - chance), 1e-6)
    effects, extra, covariance, shift = (
        effects.copy(),
        extra.copy(),
        belief.covariance.copy(),
        belief.shift_variance,
    )
    shift = shift.copy()
    pull, own_pull = (
        (effects * weight) @ x,
        np.bincount(query, effects * weight, len(shift)).astype(np.float64),
    )
    variance = whole = _variance(pull, own_pull, covariance, shift, weight, effects, extra)
    left = np.abs(effects) + extra > 1e-12
    order, shares = list[int](), list[float]()
    while left.any() and len(order) < PLANNED:
        known = covariance @ x.T
        doubt = np.einsum("ij,ji->i", x, known) + shift[query]
        together = effects * weight + weight * (pull @ known + own_pull[query] * shift[query])
        value = np.where(left, together**2 / (weight + weight**2 * doubt) + extra, -1.0)
        best = int(np.argmax(value))
        spread = 1 / weight[best] + doubt[best]
        covariance = covariance - np.outer(known[:, best], known[:, best]) / spread
        shift[query[best]] -= shift[query[best]] ** 2 / spread
        pull = pull - effects[best] * weight[best] * x[best]
        own_pull[query[best]] -= effects[best] * weight[best]
        effects[best] = extra[best] = 0.0
        left[best] = False
        order.append(best)
        now = _variance(pull, own_pull, covariance, shift, weight, effects, extra)
        shares.append(max(variance - now, 0.0) / whole)
        variance = min(variance, now)
    rest = (
        np.flatnonzero(left)[np.argsort(-value[left], kind="stable")]
        if left.any()
        else np.empty(0, np.int64)
    )
    tail = value[rest] / value[rest].sum() * variance / whole if len(rest) else np.empty(0)
    return np.concatenate([np.array(order, np.int64), rest]), np.concatenate(
        [np.array(shares), tail]
    )


def _variance(
    pull: Floats,
    own_pull: Floats,
    covariance: Floats,
    shift: Floats,
    weight: Floats,
    effects: Floats,
    extra: Floats,
) -> float:
    """The variance of the total: what the coefficients, the queries and the hits themselves leave
    open."""
    single = float((weight * effects**2 + extra).sum())
    return float(pull @ covariance @ pull) + float((shift * own_pull**2).sum()) + single


def _chance(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -30, 30))))
