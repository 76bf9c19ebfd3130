"""How many queries and judgments a decision takes, from a pilot: two engines on some queries.

**Queries.** What decides is how much the difference of the two engines varies from query to query.
With that spread, so many queries show a difference of the size asked for with the power asked for,
by the test that decides: paired, two-sided, and unable to show anything on fewer than six queries.
The spread of a small pilot is itself uncertain; the range says by how much.

**Passing or not.** Where a question passes or fails, a difference D of two pass rates means that a
share of D of the questions changed at least, so that the spread is no less than the root of
D (1 - D). How many change is what a pilot tells, and the range is that of their share (Clopper and
Pearson 1934).

**Judges.** Two who agree imperfectly measure with noise. With the agreement K between two judges,
one judge's labels correlate with what many would say as the root of K (Spearman 1904), so a true
difference shows as that much less; the labels of m judges together as the root of
mK / (1 + (m - 1) K) (Spearman and Brown 1910).

**Pools.** Judging only the top d of each engine costs less a query, and tells less. How much less
is the correlation r of the differences by query with those of the deepest pool: one query counts
for r squared of one. So n / r² queries at depth d show what n at full depth do, and the depth with
the fewest judgments in all is the cheapest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from assay.core.errors import InputError
from assay.core.results import GradedEntry, GradedResults
from assay.evaluation.differences import ALPHA, Difference
from assay.evaluation.graded import evaluate
from assay.evaluation.statistics import fewest_changes, rate_interval, standard_difference

Floats = np.ndarray[Any, np.dtype[np.float64]]
POWER = 0.8
MATTERS = 0.03  # the difference that is asked for where nobody says
PASS = "pass"  # the key of what decides a golden set
DEPTHS = (1, 2, 3, 5, 10, 20)
MOST = 1_000_000  # queries: beyond, the answer is that it cannot be done
DRAWS = 2_000
LIKELY = (10, 90)  # the range of the spread, in percent
POOR = 0.7  # a pool whose differences agree less than this with the deepest tells too little
JUDGES = (1, 2, 3)


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


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """Judging the top `depth` of both engines: documents a query, how the differences agree with
    those of the deepest pool, and what it takes in all for the difference asked for."""

    depth: int
    documents: float
    agreement: float | None
    queries: int | None
    judgments: int | None


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
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
    power: float
    level: float
    needs: list[Need]  # the difference asked for first
    depths: list[Depth] = []  # of a graded set
    cheapest: int | None = None  # depth
    changed: int | None = None  # questions of the pilot, where they pass or fail
    agreement: float | None = None
    crowds: list[Crowd] = []
    unjudged: int = 0  # hits that count, which the spread takes for not relevant
    hits: int = 0
    believed: float | None = None  # the spread with these guessed; None where nothing is known
    queries_believed: int | None = None  # that the difference asked for takes with that spread


def queries_for(goal: Goal) -> int | None:
    """The fewest queries that show it; None where a million do not."""

    alpha = 1 - goal.level
    spread = max(goal.spread, goal.least)

    def shows(n: int) -> bool:
        factor = standard_difference(n, alpha=alpha, power=goal.power)
        return factor * spread <= goal.difference

    low, high = fewest_changes(alpha) - 1, fewest_changes(alpha)
    while not shows(high):
        low, high = high, high * 2
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def queries_to_show(row: Difference, difference: float, *, tests: int = 1) -> int | None:
    """How many queries show such a difference, by the spread of a comparison that is one of so many
    tests; None where its queries tell nothing of that, or a million do not."""
    alpha = ALPHA / tests
    if row.detectable is None:
        return None
    spread = row.detectable / standard_difference(row.n, alpha=alpha, power=POWER)
    binary = row.key == PASS
    return queries_for(
        Goal(
            difference=difference,
            spread=spread,
            power=POWER,
            level=1 - alpha,
            pass_or_fail=binary,
        )
    )


def needed(moves: Floats, goal: Goal) -> Need:
    """From the differences by query of a pilot, with the range of its spread."""
    low, high = _likely(moves, goal)
    return Need(
        difference=goal.difference,
        queries=queries_for(goal),
        low=queries_for(replace(goal, spread=max(low, 1e-9))),
        high=queries_for(replace(goal, spread=high)),
    )


def _likely(moves: Floats, goal: Goal) -> tuple[float, float]:
    """The spread is drawn anew from what was seen, and as that of normal values would be, which a
    few queries tell even less of; the range holds both. Where queries pass or fail it follows from
    the share of those that changed."""
    n = len(moves)
    if goal.pass_or_fail:
        share = rate_interval(int((moves != 0).sum()), n, level=(LIKELY[1] - LIKELY[0]) / 100)
        mean = float(moves.mean())
        spreads = [math.sqrt(max((end or 0.0) - mean**2, 0.0)) for end in (share.low, share.high)]
        return min(spreads[0], goal.spread), max(spreads[1], goal.spread)
    rng = np.random.default_rng(0)
    seen = np.percentile(rng.choice(moves, (DRAWS, n)).std(axis=1, ddof=1), LIKELY)
    normal = np.percentile(goal.spread * np.sqrt((n - 1) / rng.chisquare(n - 1, DRAWS)), LIKELY)
    return float(min(seen[0], normal[0])), float(max(seen[1], normal[1]))


# ── deeper pools or more queries ──────────────────────────────────────────────────────────────────


def depths_of(
    base: GradedResults, other: GradedResults, measure: str, queries: int | None
) -> list[Depth]:
    """What each depth costs and tells, where `queries` would do with the deepest pool."""
    entries = [{entry.query_id: entry for entry in each.per_query} for each in (base, other)]
    ids = [query_id for query_id in entries[0] if query_id in entries[1]]
    kept = max((len(table[query_id].results) for table in entries for query_id in ids), default=0)
    depths = [depth for depth in DEPTHS if depth <= kept]
    runs = [{query_id: _scores(table[query_id]) for query_id in ids} for table in entries]
    deepest = _moves(runs, _pool(entries, ids, max(depths, default=1)), ids, measure)
    rows = []
    for depth in depths:
        pool = _pool(entries, ids, depth)
        agreement = _correlation(_moves(runs, pool, ids, measure), deepest)
        documents = sum(len(_top(entries, query_id, depth)) for query_id in ids) / len(ids)
        tells = agreement is not None and agreement >= POOR and queries is not None
        n = math.ceil(queries / agreement**2) if tells and queries and agreement else None
        rows.append(
            Depth(
                depth=depth,
                documents=documents,
                agreement=agreement,
                queries=n,
                judgments=None if n is None else math.ceil(n * documents),
            )
        )
    return rows


def _scores(entry: GradedEntry) -> dict[str, float]:
    return {doc_id: float(-rank) for rank, doc_id in enumerate(entry.results)}


def _top(entries: Sequence[Mapping[str, GradedEntry]], query_id: str, depth: int) -> set[str]:
    return {doc_id for table in entries for doc_id in table[query_id].results[:depth]}


def _pool(
    entries: Sequence[Mapping[str, GradedEntry]], ids: Sequence[str], depth: int
) -> dict[str, dict[str, int]]:
    """The judgments that a pool of this depth would have: those among the top of either."""
    pool: dict[str, dict[str, int]] = {}
    for query_id in ids:
        known = {
            doc_id: grade
            for table in entries
            for doc_id, grade in zip(
                table[query_id].results[:depth], table[query_id].grades[:depth], strict=False
            )
            if grade is not None
        }
        if known:
            pool[query_id] = known
    return pool


def _moves(
    runs: Sequence[Mapping[str, Mapping[str, float]]],
    pool: Mapping[str, Mapping[str, int]],
    ids: Sequence[str],
    measure: str,
) -> Floats:
    """The differences by query with these judgments alone; 0 where a query has none."""
    sheets = [evaluate(run, pool, [measure]) for run in runs]
    values = [
        dict(zip((query.id for query in sheet.queries), sheet.values[:, 0], strict=True))
        for sheet in sheets
    ]
    moves = [values[1].get(query_id, 0.0) - values[0].get(query_id, 0.0) for query_id in ids]
    return np.nan_to_num(np.array(moves, np.float64))


def _correlation(moves: Floats, deepest: Floats) -> float | None:
    if moves.std() < 1e-12 or deepest.std() < 1e-12:
        return None
    return float(np.corrcoef(moves, deepest)[0, 1])


# ── judges who do not always agree ────────────────────────────────────────────────────────────────


def crowds_of(agreement: float, goal: Goal, pool: Depth | None) -> list[Crowd]:
    """What one, two or three judges a pair take, with pools of this depth."""
    if not 0 < agreement <= 1:
        raise InputError(
            f"an agreement lies between 0 and 1, not {agreement:g}",
            hint="Give the weighted kappa or alpha that `assay gold agreement` prints.",
        )
    rows = []
    for judges in JUDGES:
        together = judges * agreement / (1 + (judges - 1) * agreement)
        n = queries_for(replace(goal, difference=goal.difference * math.sqrt(together)))
        judgments = None
        if n is not None and pool is not None and pool.agreement:
            n = math.ceil(n / pool.agreement**2)
            judgments = math.ceil(n * pool.documents * judges)
        rows.append(Crowd(judges=judges, queries=n, judgments=judgments))
    return rows
