"""Find where the level of an engine changed, over its runs on one gold set in order of time.

Every run is compared, query by query, with the run that the present level began with. Where the
paired test is sure, the level changed: a new one begins. So a slow slide is found too, which no two
runs in a row would show.

The tests of one level share 5%, however many there will be: the first EARLY have half of it, and
each later one less than the one before, so that all the rest have the other half. A run that
changed no query, or whose values were seen before in this level, is no test of its own. So over a
whole history of an engine that did not change the chance of any mark is at most 5%, and runs to
come take no mark away.

Judging more documents changes figures, and no engine. So runs are scored again with the labels of
today where their hits are kept. Where they cannot be, a set that changed begins a new level: what
it measures is not the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec
import numpy as np

from assay.core.results import GitState
from assay.evaluation import statistics

EARLY = 8  # tests of a level that are held to the same p (taste)
QUERIES_NAMED = 3  # queries that are named on each side (taste)

Values = Mapping[str, float]  # of the figure, by query


class Kind(StrEnum):
    FIRST = "first"
    SET = "set"  # the labels or queries are others
    SAME = "same"  # every query has the value it had
    OPEN = "open"  # some moved, which chance explains
    UP = "up"
    DOWN = "down"


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run: its set as it was, and its values. Those that were `rescored` are by the labels of
    today, and the set as it was is forgotten."""

    fingerprint: str
    values: Values
    rescored: bool = False
    git: GitState | None = None  # what was measured


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did. `since` is the place of the run it is compared with; `p` is corrected for
    the tests of its level so far; `fell` and `rose` are the queries that moved most."""

    kind: Kind
    since: int
    n: int = 0
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    fell: tuple[str, ...] = ()
    rose: tuple[str, ...] = ()


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured: `by` and `subject` are empty where the commit is not in this folder's
    repository; `dirty` says that files had changed since."""

    id: str
    dirty: bool
    by: str = ""
    subject: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the history of an engine: the figure as it was recorded, and `today` with the
    labels of today, where the run could be scored again."""

    id: str
    at: datetime
    measure: str
    value: float | None
    low: float | None
    high: float | None
    today: float | None
    queries: int
    step: Step
    commit: Commit | None


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one engine on one set, the oldest first."""

    gold: str
    engine: str
    events: list[Event]


def steps(history: Sequence[PastRun], *, alpha: float = statistics.ALPHA) -> list[Step]:
    """One for each run, the oldest first."""
    found: list[Step] = []
    level, seen = 0, dict[frozenset[tuple[str, float]], Step]()
    for place, past in enumerate(history):
        begun = history[level]
        if not place or past.fingerprint != begun.fingerprint:
            found.append(Step(kind=Kind.SET if place else Kind.FIRST, since=level))
            level, seen = place, {}
            continue
        values = frozenset(past.values.items())
        step = seen.get(values) or _step(
            begun.values, past.values, since=level, times=_times(len(seen) + 1), alpha=alpha
        )
        found.append(step)
        if step.kind is Kind.OPEN:
            seen[values] = step
        elif step.kind is not Kind.SAME:
            level, seen = place, {}
    return found


def _times(nth: int) -> float:
    """What p of the nth test of a level is multiplied with: one over these, summed over all n, is
    1."""
    return max(2 * EARLY, 2 * nth * (nth - 1) / EARLY)


def _step(then: Values, now: Values, *, since: int, times: float, alpha: float) -> Step:
    common = [query for query in now if query in then]
    moves = {query: now[query] - then[query] for query in common}
    if not any(moves.values()):
        return Step(kind=Kind.SAME, since=since, n=len(common), change=0.0 if common else None)
    column = np.array(list(moves.values()), np.float64)[:, None]
    (interval,) = statistics.change_intervals(column)
    change = float(column.mean())
    p = min(float(statistics.change_tests(column)[0]) * times, 1.0)
    sure = Kind.UP if change > 0 else Kind.DOWN
    by_size = sorted(common, key=lambda query: (moves[query], query))
    return Step(
        kind=sure if p <= alpha and change else Kind.OPEN,
        since=since,
        n=len(common),
        change=change,
        low=interval.low,
        high=interval.high,
        p=p,
        fell=tuple(query for query in by_size[:QUERIES_NAMED] if moves[query] < 0),
        rose=tuple(query for query in by_size[::-1][:QUERIES_NAMED] if moves[query] > 0),
    )
