"""Plan how many queries and judgments a decision takes, from a pilot of two engines.

**Queries.** What decides is how much the difference of the two engines varies from query to query.
With that spread, so many queries show a difference of the size asked for with the power asked for,
by the statistic that `compare` and gates use. The spread of a small pilot is itself uncertain; the
range says by how much.

**Passing or not.** Where a question passes or fails, a difference D of two pass rates means that a
share of D of the questions changed at least, so that the spread is no less than the root of
D (1 - D). How many change is what a pilot tells, and the range is that of their share (Clopper and
Pearson 1934).

**Gates.** Each kind of gate with `significance` has its own answer: on a drop, for an engine that
did not change on average; on a minimum, for one whose mean lies above it by the difference.

**Judges.** Two who agree imperfectly measure with noise. With the agreement K between two judges,
one judge's labels correlate with what many would say as the root of K (Spearman 1904), so a true
difference shows as that much less; the labels of m judges together as the root of
mK / (1 + (m - 1) K) (Spearman and Brown 1910).
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from assay.core.errors import InputError
from assay.core.results import Gate
from assay.evaluation.comparison import Difference
from assay.evaluation.gate_values import queries_needed
from assay.evaluation.statistics import (
    ALPHA,
    MAX_QUERIES,
    POWER,
    detectable_change,
    fewest_queries,
    rate_interval,
)

__all__ = ["MAX_QUERIES", "POWER"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
DEFAULT_DIFFERENCE = 0.03  # the difference that is asked for where nobody says (taste)
PASS = "pass"  # the key of what decides a golden set
DRAWS = 2_000  # for the range of the spread; chosen
PERCENTS = (10, 90)  # the range of the spread that is shown, in percent (taste)
JUDGES = (1, 2, 3)  # of each pair, for which a plan is shown; taste


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """A difference to be shown, where differences by query have this standard deviation; of
    queries that pass or fail, where they `pass_or_fail`."""

    difference: float
    spread: float
    power: float
    level: float
    pass_or_fail: bool = False

    @property
    def least(self) -> float:
        """The smallest spread that there can be with such a difference."""
        return math.sqrt(self.difference * (1 - self.difference)) if self.pass_or_fail else 0.0


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """So many queries show a difference of this size; `low` and `high` because the pilot's spread
    is uncertain. None: more than a million."""

    difference: float
    queries: int | None
    low: int | None
    high: int | None


class GateNeed(msgspec.Struct, frozen=True, kw_only=True):
    """So many queries let a gate with this condition pass, with `significance` 0.05."""

    condition: str
    limit: float
    queries: int | None


class JudgingLoad(msgspec.Struct, frozen=True, kw_only=True):
    """With so many judges for every pair."""

    judges: int
    queries: int | None
    judgments: int | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    measure: str
    baseline: str
    system: str
    pilot: int  # queries
    spread: float  # the standard deviation of the differences by query
    mean: float  # of the second engine
    power: float
    level: float
    needs: list[Need]  # the difference asked for first
    gates: list[GateNeed]
    documents: float | None = None  # a query, in the top results of both engines; of a graded set
    judgments: int | None = None  # in all, for the difference asked for
    changed: int | None = None  # questions of the pilot, where they pass or fail
    agreement: float | None = None
    crowds: list[JudgingLoad] = []
    unjudged: int = 0  # hits that count, which the spread takes for not relevant
    hits: int = 0
    believed: float | None = None  # the spread with these imputed; None where nothing is known
    queries_believed: int | None = None  # that the difference asked for takes with that spread


def queries_for(goal: Goal) -> int | None:
    """The fewest queries that show it; None where a million do not."""
    alpha, spread = 1 - goal.level, max(goal.spread, goal.least)
    return fewest_queries(
        lambda n: detectable_change(spread, n, alpha=alpha, power=goal.power) <= goal.difference
    )


def queries_to_show(row: Difference, difference: float, *, tests: int = 1) -> int | None:
    """How many queries show such a difference, by the spread of a comparison that is one of so many
    tests; None where its queries tell nothing about that, or a million do not."""
    if not row.spread:
        return None
    return queries_for(
        Goal(
            difference=difference,
            spread=row.spread,
            power=POWER,
            level=1 - ALPHA / tests,
            pass_or_fail=row.key == PASS,
        )
    )


def gate_needs(moves: Floats, values: Floats, goal: Goal) -> list[GateNeed]:
    """What each kind of gate takes: `moves` are the changes by query, `values` those of the second
    engine."""
    still, mean = moves - moves.mean(), float(values.mean())
    lowest, sure = round(mean - goal.difference, 3), Gate(measure="", significance=1 - goal.level)
    gates = {
        "max_drop": (goal.difference, still),
        "no_worse_than": (goal.difference, still),
        "minimum": (lowest, values),
    }
    return [
        GateNeed(
            condition=name,
            limit=limit,
            queries=queries_needed(replace(sure, **{name: limit}), rows.tolist(), power=goal.power),
        )
        for name, (limit, rows) in gates.items()
        if 0 < limit < 1
    ]


def queries_needed_for(moves: Floats, goal: Goal) -> Need:
    """From the differences by query of a pilot, with the range of its spread."""
    low, high = _likely_spreads(moves, goal)
    return Need(
        difference=goal.difference,
        queries=queries_for(goal),
        low=queries_for(replace(goal, spread=max(low, 1e-9))),
        high=queries_for(replace(goal, spread=high)),
    )


def _likely_spreads(moves: Floats, goal: Goal) -> tuple[float, float]:
    """The spread is drawn anew from what was seen, and as that of normal values would be, which a
    few queries tell even less of; the range holds both. Where queries pass or fail it follows from
    the share of those that changed."""
    n = len(moves)
    if goal.pass_or_fail:
        share = rate_interval(
            int((moves != 0).sum()), n, level=(PERCENTS[1] - PERCENTS[0]) / 100, exact=True
        )
        mean = float(moves.mean())
        spreads = [math.sqrt(max((end or 0.0) - mean**2, 0.0)) for end in (share.low, share.high)]
        return min(spreads[0], goal.spread), max(spreads[1], goal.spread)
    rng = np.random.default_rng(0)
    seen = np.percentile(rng.choice(moves, (DRAWS, n)).std(axis=1, ddof=1), PERCENTS)
    normal = np.percentile(goal.spread * np.sqrt((n - 1) / rng.chisquare(n - 1, DRAWS)), PERCENTS)
    return float(min(seen[0], normal[0])), float(max(seen[1], normal[1]))


def crowds_of(agreement: float, goal: Goal, documents: float | None) -> list[JudgingLoad]:
    """What one, two or three judges a pair take, with so many documents a query."""
    if not 0 < agreement <= 1:
        raise InputError(
            f"an agreement must be between 0 and 1, not {agreement:g}",
            hint="Give the weighted kappa or alpha that `assay gold agreement` prints.",
        )
    rows = []
    for judges in JUDGES:
        together = judges * agreement / (1 + (judges - 1) * agreement)
        n = queries_for(replace(goal, difference=goal.difference * math.sqrt(together)))
        judgments = None if n is None or documents is None else math.ceil(n * documents * judges)
        rows.append(JudgingLoad(judges=judges, queries=n, judgments=judgments))
    return rows
