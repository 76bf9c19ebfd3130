"""Compare two golden results: the questions that broke or were repaired, MUST questions first, and
the change of every figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

from assay.core.results import (
    Bounds,
    Entry,
    GoldenEntry,
    GoldenResults,
    Metrics,
    Results,
    by_need,
    is_variant,
)
from assay.evaluation import statistics

# pass rate: whether it is over MUST questions, others, or both
RATES = {
    "pass_rate_total": (True, False),
    "pass_rate_must": (True,),
    "pass_rate_should": (False,),
}

EntryPair = tuple[GoldenEntry, GoldenEntry]  # a question before and after


class VariantChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How many perturbed variants of questions broke and were repaired."""

    broke: int
    repaired: int


class GoldenChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Question by question. `figures` are the pass rates, before and after, of the questions
    compared; one that only one of the two has, that asks for something else now, or whose call
    failed, is `not_compared`."""

    baseline: str
    warnings: list[str]
    figures: dict[str, tuple[float, float]]
    broke: list[EntryPair]
    repaired: list[EntryPair]
    both_fail: int
    not_compared: list[str]
    variants: VariantChanges | None  # counted apart; None where there are none


def compare_golden(
    before: GoldenResults, after: GoldenResults, *, name: str, warnings: Sequence[str] = ()
) -> GoldenChanges:
    """The changes from the results `before`, which are called `name`, to the results `after`."""
    then = {entry.query_id: entry for entry in before.per_query}
    now = {entry.query_id: entry for entry in after.per_query}
    shared = comparable_queries(before, after)
    pairs = [(then[query_id], entry) for query_id, entry in now.items() if query_id in shared]
    answered = [pair for pair in pairs if not any(entry.error for entry in pair)]
    originals = [pair for pair in answered if not is_variant(pair[1], now)]
    variants = [pair for pair in answered if is_variant(pair[1], now)]
    compared = {after.query_id for _, after in answered}
    groups = {
        rate: [pair for pair in originals if pair[1].must in needs] for rate, needs in RATES.items()
    }
    broke, repaired = _changed_pairs(variants, to=False), _changed_pairs(variants, to=True)
    return GoldenChanges(
        baseline=name,
        warnings=list(warnings),
        figures={
            rate: (_pass_rate(group, 0), _pass_rate(group, 1))
            for rate, group in groups.items()
            if group
        },
        broke=_changed_pairs(originals, to=False),
        repaired=_changed_pairs(originals, to=True),
        both_fail=sum(not first.passed and not second.passed for first, second in originals),
        not_compared=[query_id for query_id in {**then, **now} if query_id not in compared],
        variants=VariantChanges(broke=len(broke), repaired=len(repaired)) if variants else None,
    )


def _pass_rate(pairs: Sequence[EntryPair], side: int) -> float:
    return sum(pair[side].passed for pair in pairs) / len(pairs)


def _changed_pairs(pairs: Sequence[EntryPair], *, to: bool) -> list[EntryPair]:
    turned = [pair for pair in pairs if pair[0].passed != to and pair[1].passed == to]
    return sorted(turned, key=lambda pair: by_need(pair[1]))


# ── queries that two results judge alike ──────────────────────────────────────────────────────────

GoldDifference = Literal["", "some", "all"]

# what a question asks for beside a place; the rest that is stated of it does not decide
DECIDING_KEYS = ("expected_none", "evidence", "confusion", "must_abstain", "as_of")


def judged_alike(first: Entry, second: Entry) -> bool:
    """Whether a query asks for the same in both: the same grades of judged documents, and of every
    hit that both have; of a golden set the same expectations."""
    if isinstance(first, GoldenEntry) and isinstance(second, GoldenEntry):
        return _expectations(first) == _expectations(second)
    grades = [dict(zip(one.results, one.grades, strict=False)) for one in (first, second)]
    shared = grades[0].keys() & grades[1].keys()
    same_hits = all(grades[0][doc_id] == grades[1][doc_id] for doc_id in shared)
    return same_hits and sorted(first.known_grades) == sorted(second.known_grades)


def _expectations(entry: GoldenEntry) -> tuple[object, ...]:
    stated = {key: value for key in DECIDING_KEYS if (value := entry.stated.get(key))}
    return entry.expected_any, entry.k, entry.min_score, entry.as_of, stated


def comparable_queries(first: Results, second: Results) -> set[str]:
    """The queries that both have and judge alike."""
    before = {entry.query_id: entry for entry in first.per_query}
    same = first.receipt.gold.fingerprint == second.receipt.gold.fingerprint
    return {
        entry.query_id
        for entry in second.per_query
        if entry.query_id in before and (same or judged_alike(before[entry.query_id], entry))
    }


def comparable_values(before: Results, after: Results) -> dict[str, Metrics]:
    """By query the values before, of those that can be set beside the values after."""
    shared = comparable_queries(before, after)
    return {each.query_id: each.metrics for each in before.per_query if each.query_id in shared}


def with_same_judgments(results: Sequence[Results]) -> tuple[Sequence[Results], GoldDifference]:
    """The results without the queries that are judged differently, and whether that left out some.
    Where it would leave out all of them, the results stay as they are."""
    base = {entry.query_id for entry in results[0].per_query}
    both = [base & {entry.query_id for entry in other.per_query} for other in results[1:]]
    changed = set[str]()
    for other, shared in zip(results[1:], both, strict=True):
        changed |= shared - comparable_queries(results[0], other)
    if not changed:
        return results, ""
    if any(shared and changed >= shared for shared in both):
        return results, "all"
    return [_without_queries(each, changed) for each in results], "some"


def _without_queries(results: Results, changed: set[str]) -> Results:
    left = [entry for entry in results.per_query if entry.query_id not in changed]
    return msgspec.structs.replace(results, per_query=left)


# ── the change of every figure since a baseline ───────────────────────────────────────────────────

Value = Callable[[Entry], float | None]
Pairs = Sequence[tuple[Entry, Entry]]


@dataclass(frozen=True, kw_only=True)
class FigureChanges:
    """The changes by figure, and by kind and name of slice; `intervals` and `p` are of the paired
    differences overall. `n` queries are in both, judged alike and scored; `n_apart` are in one, or
    not judged alike."""

    n: int
    n_apart: int
    delta: dict[str, float]
    slices: dict[str, dict[str, dict[str, float]]]
    intervals: dict[str, Bounds] = field(default_factory=dict)
    p: dict[str, float] = field(default_factory=dict)


def figure_changes(now: Results, then: Results) -> FigureChanges:
    """What changed from `then` to `now`. A figure that is no mean over queries, such as a latency,
    is compared where both have the same queries."""
    before = {entry.query_id: entry for entry in scored_questions(then)}
    after = {entry.query_id: entry for entry in scored_questions(now)}
    shared = comparable_queries(then, now)
    pairs = [
        (before[query_id], entry)
        for query_id, entry in after.items()
        if query_id in before and query_id in shared
    ]
    apart = len(before.keys() | after.keys()) - len(pairs)
    values = figure_values(now)
    overall, intervals, p = _mean_changes(pairs, values, now.worst_case)
    if not apart:
        overall = _figure_differences(now.overall, then.overall) | overall
    slices: dict[str, dict[str, dict[str, float]]] = {}
    for kind, names in now.slices.items():
        known = then.slices.get(kind) or {}
        for name in names.keys() & known.keys():
            part = [pair for pair in pairs if slice_name(pair[1], kind) == name]
            found = _mean_changes(part, values, now.worst_case)[0] if part else {}
            if not apart:
                found = _figure_differences(names[name], known[name]) | found
            slices.setdefault(kind, {})[name] = found
    return FigureChanges(
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


def _mean_changes(
    pairs: Pairs, values: dict[str, Value], worst_case: bool
) -> tuple[dict[str, float], dict[str, Bounds], dict[str, float]]:
    """By figure: the mean difference over the pairs that both have a value for, its interval and
    its p."""
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
            (interval,) = statistics.change_intervals(column, worst_case=worst_case)
            delta[name] = float(column.mean())
            intervals[name] = (interval.low, interval.high)
            p_values[name] = float(statistics.change_tests(column, worst_case=worst_case)[0])
    return delta, intervals, p_values


def figure_values(results: Results) -> dict[str, Value]:
    """By figure: its value on one query. Figures of golden sets are means over a part of them;
    those that are no such mean are left out."""
    if not isinstance(results, GoldenResults):
        return {line.key: _metric_reader(line.key) for line in results.receipt.measures}
    return {
        "pass_rate_total": _metric_reader("pass"),
        "pass_rate_must": _pass_reader(must=True),
        "pass_rate_should": _pass_reader(must=False),
        "mrr_at_k": _metric_reader("mrr_at_k"),
        "recall_at_k": _metric_reader("recall_at_k"),
    }


def _metric_reader(key: str) -> Value:
    return lambda entry: entry.metrics.get(key)


def _pass_reader(*, must: bool) -> Value:
    def value(entry: Entry) -> float | None:
        held = isinstance(entry, GoldenEntry) and entry.must == must
        return entry.metrics.get("pass") if held else None

    return value


def scored_questions(results: Results) -> Iterable[Entry]:
    if not isinstance(results, GoldenResults):
        return results.per_query
    known = {entry.query_id for entry in results.per_query}
    return [entry for entry in results.per_query if not is_variant(entry, known)]


def slice_name(entry: Entry, kind: str) -> str:
    if isinstance(entry, GoldenEntry):
        stated = entry.stated.get(kind) if kind not in ("category", "language") else None
        return str(stated or entry.in_slice(kind))
    return entry.in_slice(kind)


def _figure_differences(now: Metrics, then: Metrics) -> dict[str, float]:
    """Where both have a value."""
    return {
        key: value - before
        for key, value in now.items()
        if value is not None and (before := then.get(key)) is not None
    }
