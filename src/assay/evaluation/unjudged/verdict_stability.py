"""Estimate how likely a verdict is to stay the same once every hit is judged.

A verdict counts an unjudged hit as not relevant. Here it is computed again with grades drawn from
the one belief about such hits (`relevance_model`); the share of the draws with the same verdict is
the chance that it stands. Where fewer than 20 hits are judged, nothing is known about the others:
then the verdict stands only if no grading changes it. Two lists that are judged to depth 5 are
taken as they are.

Nothing is unjudged in a closed set: a golden set, or one that lists relevant documents alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from assay.core.results import Entry, GoldenResults, Results
from assay.evaluation.measures import (
    NO_GRADE,
    NO_RANK,
    Floats,
    Integers,
    JudgedHits,
    Measure,
    is_external,
    parse_measure,
)
from assay.evaluation.statistics import chances_above
from assay.evaluation.unjudged import (
    JUDGED_ONLY_MEASURES,
    TwoLists,
    largest_fall,
    lowest_and_highest,
)
from assay.evaluation.unjudged.imputed_measures import (
    ABSENT,
    UNJUDGED,
    HitTable,
    hit_table,
    impute,
    measure_table,
    sampled_values,
    values_as_judged,
)

# a verdict stands where the unjudged turn it with no more than one chance in twenty (decision 18)
SURE = 0.95

# columns of values by query -> what is decided on each: 1 better or a pass, -1 worse or a failure
Rule = Callable[[Floats], Integers]


@dataclass(frozen=True, kw_only=True)
class Stability:
    """`unjudged` hits that count; `stands` is the chance that the verdict is the same with all of
    them judged, `up` that it is then better or a pass, `down` that it is worse or a failure, and
    `expected`, `low` and `high` where the mean would be (95%). `ahead` is the probability that a
    mean change is above 0, over queries and grades: the mean over the draws of what the statistic
    that decides says of each. All None where nothing is known about them, and some grading turns
    the verdict."""

    unjudged: int
    judged: int
    stands: float | None
    up: float | None = None
    down: float | None = None
    ahead: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    one_sided: bool = False  # of the hits that only one of two systems returns, none is judged

    @property
    def is_open(self) -> bool:
        return self.stands is None or self.stands < SURE


def is_closed(results: Results) -> bool:
    """Whether what is not judged is known to be not relevant: a question of a golden set states
    what it expects, and a set without a rubric that lists relevant documents alone lists them
    all."""
    if isinstance(results, GoldenResults):
        return True
    lowest = [min(entry.judged) for entry in results.per_query if entry.judged]
    return not results.receipt.gold.rubric and bool(lowest) and min(lowest) > 0


def stability_of(
    entries: Sequence[Sequence[Entry]],
    measure: str,
    values: Mapping[str, float],
    rule: Rule,
    now: int,
    *,
    worst_case: bool = False,
) -> Stability | None:
    """How stable the verdict `now` is, which `rule` gives on `values` by query: those of one
    system, or with two the changes from the first to the second. None where no hit that counts is
    unjudged, both of two lists are judged to depth 5, or the measure does not look at such hits. Of
    a measure that is not ours nothing is known."""
    wanted = parse_measure(measure)
    if wanted.name in JUDGED_ONLY_MEASURES:
        return None
    first, second = entries[0], entries[1] if len(entries) > 1 else None
    table = hit_table(first, second, wanted)
    unjudged, judged = table.unjudged_hits, table.judged_hits
    if not unjudged or table.is_judged_on_top:
        return None
    if is_external(wanted):
        return Stability(unjudged=unjudged, judged=judged, stands=None)
    rows = [row for row, entry in enumerate(table.entries) if entry.query_id in values]
    settled = [value for key, value in values.items() if key not in _query_ids(table)]
    start = np.array([values[table.entries[row].query_id] for row in rows])
    known = not table.first
    # a value depends on what there is to find, a difference hardly
    moved = (
        _imputed_moves(table, wanted, with_unseen=second is None)
        if known
        else _extreme_moves(table, wanted)
    )
    if not np.abs(moved[rows]).max(initial=0.0) > 1e-12:
        return None  # both return them alike
    columns = start[:, None] + moved[rows]
    columns = np.vstack([columns, np.repeat(np.array(settled)[:, None], columns.shape[1], axis=1)])
    found = rule(columns)
    if not known:
        stands = 1.0 if (found == now).all() else None
        return Stability(unjudged=unjudged, judged=judged, stands=stands)
    stands = float((found == now).mean())
    means = columns.mean(axis=0)
    low, high = np.quantile(means, [0.025, 0.975]).tolist()
    return Stability(
        unjudged=unjudged,
        judged=judged,
        stands=stands,
        up=float((found == 1).mean()),
        down=float((found == -1).mean()),
        ahead=None
        if second is None
        else float(chances_above(columns, worst_case=worst_case).mean()),
        expected=float(means.mean()),
        low=low,
        high=high,
        one_sided=second is not None and _is_one_sided(table),
    )


def _is_one_sided(table: HitTable) -> bool:
    """Whether a system has hits of its own that count, and none of them is judged."""
    inside = [ranks <= table.depth for ranks in table.ranks]
    own = [inside[0] & ~inside[1], inside[1] & ~inside[0]]
    return any(bool(mine.any()) and not bool((table.grades[mine] >= 0).any()) for mine in own)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How much two systems differ from query to query with everything judged: the standard
    deviation, None where nothing is known of the unjudged hits."""

    unjudged: int
    hits: int
    spread: float | None


def imputed_spread(entries: Sequence[Sequence[Entry]], measure: str) -> Spread:
    """Of the changes by query from the first to the second, the median over the draws."""
    wanted = parse_measure(measure)
    if wanted.name in JUDGED_ONLY_MEASURES or is_external(wanted):
        return Spread(unjudged=0, hits=0, spread=None)
    table = hit_table(entries[0], entries[1], wanted)
    hits = table.unjudged_hits + table.judged_hits
    if not table.unjudged_hits or table.first or len(table.entries) < 2:
        return Spread(unjudged=table.unjudged_hits, hits=hits, spread=None)
    start = values_as_judged(table, wanted)
    moves = (start[1] - start[0])[:, None] + _imputed_moves(table, wanted)
    spread = float(np.median(moves.std(axis=0, ddof=1)))
    return Spread(unjudged=table.unjudged_hits, hits=hits, spread=spread)


def _query_ids(table: HitTable) -> set[str]:
    return {entry.query_id for entry in table.entries}


def _imputed_moves(table: HitTable, measure: Measure, *, with_unseen: bool = False) -> Floats:
    """How each query's value moves under every draw: [queries, samples]."""
    guess = impute(table, with_unseen=with_unseen)
    return _moves_from(values_as_judged(table, measure), sampled_values(table, measure, guess))


def _extreme_moves(table: HitTable, measure: Measure) -> Floats:
    """The same where every grading is possible: as it is, and the least and the most that grades
    make of each query. Of one list these are the bounds that the scorecard prints. Of two they are
    searched for, and beside them hits of the first alone, of the second alone and of both are all
    of the top grade or none: a test may ask for changes that are alike, not for large ones."""
    if len(table.ranks) == 1:
        lowest, highest = lowest_and_highest(_judged_hits(table), measure, table.depth)
        start = values_as_judged(table, measure)[0]
        return np.column_stack([np.zeros(len(start)), lowest - start, highest - start])
    falls = [
        [largest_fall(measure, two) for two in _two_lists(table, way)] for way in ((1, 0), (0, 1))
    ]
    lowest, highest = -np.array(falls[0]), np.array(falls[1])
    return np.column_stack([_all_or_none_moves(table, measure), lowest, highest])


def _judged_hits(table: HitTable) -> JudgedHits:
    """The judged hits of the one list, in rank order."""
    ranks = np.where(table.grades >= 0, table.ranks[0], NO_RANK)
    order = np.argsort(ranks, axis=1, kind="stable")
    ranks, grades = (np.take_along_axis(each, order, axis=1) for each in (ranks, table.grades))
    return JudgedHits(
        ranks=ranks,
        grades=np.where(ranks < NO_RANK, grades, NO_GRADE),
        ideal=-np.sort(-table.judged, axis=1),
        returned=table.returned[0],
        max_grade=table.top,
    )


def _two_lists(table: HitTable, way: tuple[int, int]) -> Iterator[TwoLists]:
    """Each query's two lists, the one whose lead is asked about first."""
    for row in range(len(table.entries)):
        here = table.grades[row] != ABSENT
        grades = table.grades[row][here]
        yield TwoLists(
            places=np.column_stack([table.ranks[system][row][here] for system in way]),
            grades=np.where(grades == UNJUDGED, NO_GRADE, grades),
            is_open=grades == UNJUDGED,
            judged=table.judged[row],
            returned=(int(table.returned[way[0]][row]), int(table.returned[way[1]][row])),
            top=table.top,
        )


def _all_or_none_moves(table: HitTable, measure: Measure) -> Floats:
    inside = [ranks < NO_RANK for ranks in table.ranks]
    parts = [inside[0] & ~inside[1], inside[1] & ~inside[0], inside[0] & inside[1]]
    rows = np.arange(len(table.entries))
    start, columns = values_as_judged(table, measure), []
    for chosen in product((0, table.top), repeat=len(parts)):
        grades = table.grades.copy()
        for part, grade in zip(parts, chosen, strict=True):
            grades[part & (table.grades == UNJUDGED)] = grade
        found = [each[:, None] for each in measure_table(table, measure, rows, grades)]
        columns.append(_moves_from(start, found))
    return np.hstack(columns)


def _moves_from(start: list[Floats], found: list[Floats]) -> Floats:
    moves = [then - before[:, None] for before, then in zip(start, found, strict=True)]
    return moves[0] if len(moves) == 1 else moves[1] - moves[0]
