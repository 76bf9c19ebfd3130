"""Estimate how relevant unjudged hits are, from the judged ones.

`compare`, gates and `gold next` all use it; docs/statistics.md states it, and says how often it was
right. It is a Bayesian logistic regression of "relevant" on where a hit stands, which systems
return it and which of them higher, its query, and how it came to be judged. The last is what makes
it honest: what is judged was chosen, mostly because other engines had found it, and says too much
for the rest. At a rank of which a share s is judged, a judged hit has the contrast -(1 - s) and an
unjudged one +s, so that both together are the rank as it is; hits that were judged because this
model asked for them count with the unjudged. How much worse the unjudged are is in doubt, by more
for the difference of two systems than the judged hits tell, and each query has its own departures
from all this. Where somebody listed what is relevant, nothing is judged as not relevant; there an
unjudged hit counts as a small part of one that is not, which tells what the lists favour.

`fit_relevance` finds the posterior by Newton's steps and keeps its curvature (Laplace's
approximation: MacKay 1992, "The evidence framework applied to classification networks"), so that
the uncertainty is kept and not only the mean. `relevance_chances` gives the mean probability of
each hit. `draw_chances` draws probabilities that vary together where hits share a query or a rank.
`plan_judgments` puts the hits in the order in which judging removes most of the uncertainty: the
linear rule of Gaussian conditioning, applied greedily.

The spreads below were chosen on pools of real engines: see benchmarks/unjudged_tables.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

# The columns of `features`, after which a constant stands first in the design.
COLUMNS = ("rank", "both", "side", "lean", "chosen", "chosen by side")
# Mean and spread of each coefficient before any judgment, the constant's first, in log-odds: chosen
# on 28 pairs of public engines (research/judgments.md, experiments 16 to 30), as are those below.
PRIOR_MEAN = np.array([0.0, 1.0, 0.5, 0.0, 0.0, -0.8, 0.0])
PRIOR_SPREAD = np.array([1.0, 2.0, 1.0, 0.4, 0.7, 0.8, 0.7])
# Columns of the design whose coefficient each query has its own departure of, and their spreads,
# chosen on the same pairs.
QUERY_COLUMNS = (0, 4, 5)
QUERY_SPREAD = np.array([1.0, 0.7, 0.5])
ROUNDS = 12  # Newton's steps at the most (taste)
# so many pairs are put in order one by one; the rest by their value at that point (taste)
PLANNED = 500
TIE = 1e-9  # values nearer than this share are equal: sums in another order differ by less


@dataclass(frozen=True, kw_only=True)
class RelevanceModel:
    """The posterior: coefficients with covariance, each query's own departures with theirs given
    the coefficients, how these depend on the coefficients, and how the grades of relevant hits are
    spread."""

    coefficients: Floats
    covariance: Floats
    own: Floats  # [queries, QUERY_COLUMNS]
    own_covariance: Floats  # [queries, QUERY_COLUMNS, QUERY_COLUMNS]
    follows: Floats  # [queries, QUERY_COLUMNS, coefficients]
    grades: Integers  # 1 and up
    shares: Floats


def fit_relevance(
    features: Floats,
    query: Integers,
    grade: Integers,
    weight: Floats,
    queries: int,
    top: int,
) -> RelevanceModel:
    """From hits with a grade and the weight of each, one row each, in the order of COLUMNS; `top`
    is the highest grade."""
    design = _with_intercept(features)
    mine = design[:, QUERY_COLUMNS]
    relevant = (grade > 0).astype(np.float64)
    precision, own_precision = PRIOR_SPREAD**-2.0, np.diag(QUERY_SPREAD**-2.0)
    coefficients, own = PRIOR_MEAN.copy(), np.zeros((queries, len(QUERY_COLUMNS)))
    for _ in range(ROUNDS):
        chance = _logistic(design @ coefficients + (mine * own[query]).sum(axis=1))
        curve, left = weight * chance * (1 - chance), weight * (relevant - chance)
        whole = (design * curve[:, None]).T @ design + np.diag(precision)
        inner = _sum_by_query(mine, mine * curve[:, None], query, queries) + own_precision
        across = _sum_by_query(mine, design * curve[:, None], query, queries)
        slope = design.T @ left - precision * (coefficients - PRIOR_MEAN)
        own_slope = _sum_by_query(mine, left[:, None], query, queries)[:, :, 0]
        own_slope = own_slope - own @ own_precision
        # both steps at once: what the queries' own departures explain is taken out first
        inverse = np.linalg.inv(inner)
        follows = -inverse @ across
        whole = whole + np.einsum("qik,qij->kj", across, follows)
        step = np.linalg.solve(whole, slope + np.einsum("qik,qi->k", follows, own_slope))
        coefficients = coefficients + step
        own = own + np.einsum("qij,qj->qi", inverse, own_slope) + follows @ step
    counts = np.bincount(np.clip(grade, 0, top), weight, minlength=top + 1)[1:] + 0.5
    return RelevanceModel(
        coefficients=coefficients,
        covariance=np.asarray(np.linalg.inv(whole), np.float64),
        own=own,
        own_covariance=np.asarray(inverse, np.float64),
        follows=follows,
        grades=np.arange(1, top + 1),
        shares=counts / counts.sum(),
    )


def relevance_chances(belief: RelevanceModel, features: Floats, query: Integers) -> Floats:
    """The mean probability that each hit is relevant."""
    design = _with_intercept(features)
    mine = design[:, QUERY_COLUMNS]
    both = design + np.einsum("ni,nik->nk", mine, belief.follows[query])
    spread = np.einsum("ij,jk,ik->i", both, belief.covariance, both)
    spread = spread + np.einsum("ni,nij,nj->n", mine, belief.own_covariance[query], mine)
    middle = design @ belief.coefficients + (mine * belief.own[query]).sum(axis=1)
    # MacKay's correction: doubt about the log-odds draws the mean probability towards a half
    return _logistic(middle / np.sqrt(1 + np.pi * spread / 8))


def draw_chances(
    belief: RelevanceModel,
    features: Floats,
    query: Integers,
    samples: int,
    rng: np.random.Generator,
) -> Floats:
    """The chance that each hit is relevant, [hits, samples]: a sample draws the coefficients and
    the queries' departures, so that hits that share them are doubted together."""
    design = _with_intercept(features)
    root = np.linalg.cholesky(belief.covariance + 1e-12 * np.eye(len(belief.covariance)))
    moved = root @ rng.standard_normal((len(root), samples))
    log_odds = design @ (belief.coefficients[:, None] + moved)
    roots = np.linalg.cholesky(belief.own_covariance)
    noise = rng.standard_normal((len(QUERY_COLUMNS), len(belief.own), samples))
    for place, column in enumerate(QUERY_COLUMNS):
        own = belief.own[:, place, None] + belief.follows[:, place] @ moved
        own = own + np.einsum("qj,jqs->qs", roots[:, place], noise)
        log_odds += design[:, column, None] * own[query]
    return _logistic(log_odds)


def draw_grades(belief: RelevanceModel, chance: Floats, rng: np.random.Generator) -> Integers:
    """A grade for each of these chances."""
    steps = np.concatenate([[0.0], np.cumsum(belief.shares)])[:-1]
    # one uniform number decides both: below the chance it is relevant, and how far below picks the
    # grade
    level = rng.random(chance.shape) / np.maximum(chance, 1e-12)
    return np.where(
        level < 1, belief.grades[np.searchsorted(steps, np.minimum(level, 1), side="right") - 1], 0
    )


def plan_judgments(
    belief: RelevanceModel,
    features: Floats,
    query: Integers,
    chance: Floats,
    effects: Floats,
    extra: Floats,
    asked: int | None = None,
) -> tuple[Integers, Floats]:
    """The order to judge in, and the share of the variance that each judgment takes away.

    The total is a sum of effect times relevance. Knowing one hit takes away its own variance and,
    through the coefficients and its query's departures, some of that of all hits like it: by the
    linear rule, covariance with the total squared over the hit's variance. Greedy: the largest
    first, then the belief is narrowed as if it were known. `extra` is the variance that the exact
    grade adds. Pairs that change nothing are left out, and so are all after the first `asked`:
    nobody can be asked for those, but the total depends on them through the same coefficients."""
    doubt = _OpenVariance(belief, features, query, chance, effects, extra)
    left = np.abs(effects) + extra > 1e-12
    if asked is not None:
        left[asked:] = False
        doubt.effects[asked:] = 0.0
    variance = whole = max(doubt.variance(), 1e-300)
    order, shares = list[int](), list[float]()
    value = np.zeros(len(effects))
    while left.any() and len(order) < PLANNED:
        value = np.where(left, doubt.values(), -1.0)
        best = int(np.argmax(value >= value.max() * (1 - TIE)))  # of equal ones the first
        doubt.know(best)
        left[best] = False
        order.append(best)
        now = doubt.variance()
        shares.append(max(variance - now, 0.0) / whole)
        variance = min(variance, now)
    rest = np.flatnonzero(left)[np.argsort(-value[left], kind="stable")]
    tail = value[rest] / value[rest].sum() * variance / whole if len(rest) else np.empty(0)
    return np.concatenate([np.array(order, np.int64), rest]), np.concatenate(
        [np.array(shares), tail]
    )


class _OpenVariance:
    """The variance of the total, as it shrinks while hits become known."""

    def __init__(
        self,
        belief: RelevanceModel,
        features: Floats,
        query: Integers,
        chance: Floats,
        effects: Floats,
        extra: Floats,
    ) -> None:
        self.x, self.query = _with_intercept(features), query
        self.mine = self.x[:, QUERY_COLUMNS]
        self.weight = np.maximum(chance * (1 - chance), 1e-6)
        self.effects, self.extra = effects.copy(), extra.copy()
        self.covariance, self.own = belief.covariance.copy(), belief.own_covariance.copy()
        scaled = effects * self.weight
        self.pull = scaled @ self.x
        self.own_pull = _sum_by_query(self.mine, scaled[:, None], query, len(self.own))[:, :, 0]

    def variance(self) -> float:
        """What the coefficients, the queries and the hits themselves leave open."""
        single = float((self.weight * self.effects**2 + self.extra).sum())
        own = float(np.einsum("qi,qij,qj->", self.own_pull, self.own, self.own_pull))
        return float(self.pull @ self.covariance @ self.pull) + own + single

    def values(self) -> Floats:
        """What knowing each hit would take away."""
        known = self.covariance @ self.x.T
        own = np.einsum("nij,nj->ni", self.own[self.query], self.mine)
        spread = np.einsum("ij,ji->i", self.x, known) + (self.mine * own).sum(axis=1)
        through = self.pull @ known + (self.own_pull[self.query] * own).sum(axis=1)
        together = self.weight * (self.effects + through)
        return np.asarray(together**2 / (self.weight + self.weight**2 * spread) + self.extra)

    def know(self, hit: int) -> None:
        row, at = self.x[hit], self.query[hit]
        known, own = self.covariance @ row, self.own[at] @ self.mine[hit]
        spread = 1 / self.weight[hit] + float(row @ known) + float(self.mine[hit] @ own)
        self.covariance = self.covariance - np.outer(known, known) / spread
        self.own[at] -= np.outer(own, own) / spread
        scaled = self.effects[hit] * self.weight[hit]
        self.pull = self.pull - scaled * row
        self.own_pull[at] -= scaled * self.mine[hit]
        self.effects[hit] = self.extra[hit] = 0.0


def _with_intercept(features: Floats) -> Floats:
    return np.column_stack([np.ones(len(features)), features])


def _sum_by_query(left: Floats, right: Floats, query: Integers, queries: int) -> Floats:
    """By query the sum of outer products of the rows: [queries, left, right]."""
    total = np.zeros((queries, left.shape[1], right.shape[1]))
    for i in range(left.shape[1]):
        for j in range(right.shape[1]):
            total[:, i, j] = np.bincount(query, left[:, i] * right[:, j], queries)
    return total


def _logistic(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -30, 30))))
