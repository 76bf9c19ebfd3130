"""The change of every figure since a baseline, over the queries that both have and judge alike: a
mean of nine queries less one of ten is no change of anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.core.results import (
    Bounds,
    Entry,
    GoldenEntry,
    GoldenResults,
    Metrics,
    Results,
    is_variant,
)
from assay.evaluation import statistics
from assay.evaluation.states import alike

Value = Callable[[Entry], float | None]
Pairs = Sequence[tuple[Entry, Entry]]


@dataclass(frozen=True, kw_only=True)
class Deltas:
    """The changes by figure, and by kind and name of slice; `intervals` and `p` are of the paired
    differences overall. `n` queries are in both, judged alike and scored; `n_apart` are in one, or
    not judged alike."""

    n: int
    n_apart: int
    delta: dict[str, float]
    slices: dict[str, dict[str, dict[str, float]]]
    intervals: dict[str, Bounds] = field(default_factory=dict)
    p: dict[str, float] = field(default_factory=dict)


def deltas(now: Results, then: Results) -> Deltas:
    """What changed from `then` to `now`. A figure that is no mean over queries, such as a latency,
    is compared where both have the same queries."""
    before = {entry.query_id: entry for entry in _questions(then)}
    after = {entry.query_id: entry for entry in _questions(now)}
    shared = alike(then, now)
    pairs = [
        (before[query_id], entry)
        for query_id, entry in after.items()
        if query_id in before and query_id in shared
    ]
    apart = len(before.keys() | after.keys()) - len(pairs)
    values = _values(now)
    overall, intervals, p = _changes(pairs, values)
    if not apart:
        overall = _difference(now.overall, then.overall) | overall
    slices: dict[str, dict[str, dict[str, float]]] = {}
    for kind, names in now.slices.items():
        known = then.slices.get(kind) or {}
        for name in names.keys() & known.keys():
            part = [pair for pair in pairs if _slice(pair[1], kind) == name]
            found = _changes(part, values)[0] if part else {}
            if not apart:
                found = _difference(names[name], known[name]) | found
            slices.setdefault(kind, {})[name] = found
    return Deltas(
        n=sum(_has_change(pair, values.values()) for pair in pairs),
        n_apart=apart,
        delta=overall,
        slices=slices,
        intervals=intervals,
        p=p,
    )


def _has_change(pair: tuple[Entry, Entry], values: Iterable[Value]) -> bool:
    """A query of which nothing is judged has no value in either, and moves nothing."""
    return any(all(value(entry) is not None for entry in pair) for value in values)


def _changes(
    pairs: Pairs, values: dict[str, Value]
) -> tuple[dict[str, float], dict[str, Bounds], dict[str, float]]:
    """By figure: the mean difference over the pairs that both have a value for, its interval and
    the p of the paired randomization test."""
    delta: dict[str, float] = {}
    intervals: dict[str, Bounds] = {}
    p_values: dict[str, float] = {}
    for name, value in values.items():
        moves = [
            is_now - was
            for was, is_now in ((value(first), value(second)) for first, second in pairs)
            if was is not None and is_now is not None
        ]
        if moves:
            column = np.array(moves, np.float64)[:, None]
            (interval,) = statistics.change_intervals(column)
            delta[name] = float(column.mean())
            intervals[name] = (interval.low, interval.high)
            p_values[name] = float(statistics.randomization_test(column)[0])
    return delta, intervals, p_values


def _values(results: Results) -> dict[str, Value]:
    """By figure: its value on one query. Figures of golden sets are means over a part of them."""
    if not isinstance(results, GoldenResults):
        return {line.key: _metric(line.key) for line in results.receipt.measures}
    return {
        "pass_rate_total": _metric("pass"),
        "pass_rate_must": _passed(must=True),
        "pass_rate_should": _passed(must=False),
        "mrr_at_k": _metric("mrr_at_k"),
        "recall_at_k": _metric("recall_at_k"),
    }


def _metric(key: str) -> Value:
    return lambda entry: entry.metrics.get(key)


def _passed(*, must: bool) -> Value:
    def value(entry: Entry) -> float | None:
        held = isinstance(entry, GoldenEntry) and entry.must == must
        return entry.metrics.get("pass") if held else None

    return value


def _questions(results: Results) -> Iterable[Entry]:
    if not isinstance(results, GoldenResults):
        return results.per_query
    known = {entry.query_id for entry in results.per_query}
    return [entry for entry in results.per_query if not is_variant(entry, known)]


def _slice(entry: Entry, kind: str) -> str:
    if isinstance(entry, GoldenEntry):
        stated = entry.stated.get(kind) if kind not in ("category", "language") else None
        return str(stated or getattr(entry, kind, "") or "")
    return entry.in_slice(kind)


def _difference(now: Metrics, then: Metrics) -> dict[str, float]:
    """Where both have a value."""
    return {
        key: value - before
        for key, value in now.items()
        if value is not None and (before := then.get(key)) is not None
    }
