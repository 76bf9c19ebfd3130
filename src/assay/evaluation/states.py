"""Two results on one gold set in different states: judgments came in between, or rows changed.

The difference of two values is then partly that of the judgments. So only queries that were judged
alike in both are compared; where there is none, nothing can be said of the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.core.results import Entry, GoldenEntry, Metrics, Results

State = Literal["", "some", "all"]

# what a question asks for beside a place; the rest that is stated of it does not decide
ASKED = ("expected_none", "evidence", "confusion", "must_abstain", "as_of")


def judged_alike(first: Entry, second: Entry) -> bool:
    """Whether a query asks for the same in both: the same grades of judged documents, and of every
    hit that both have; of a golden set the same expectations."""
    if isinstance(first, GoldenEntry) and isinstance(second, GoldenEntry):
        return _asked(first) == _asked(second)
    grades = [dict(zip(one.results, one.grades, strict=False)) for one in (first, second)]
    shared = grades[0].keys() & grades[1].keys()
    same_hits = all(grades[0][doc_id] == grades[1][doc_id] for doc_id in shared)
    return same_hits and sorted(first.judged) == sorted(second.judged)


def _asked(entry: GoldenEntry) -> tuple[object, ...]:
    stated = {key: value for key in ASKED if (value := entry.stated.get(key))}
    return entry.expected_any, entry.k, entry.min_score, entry.as_of, stated


def alike(first: Results, second: Results) -> set[str]:
    """The queries that both have and judge alike."""
    before = {entry.query_id: entry for entry in first.per_query}
    same = first.receipt.gold.fingerprint == second.receipt.gold.fingerprint
    return {
        entry.query_id
        for entry in second.per_query
        if entry.query_id in before and (same or judged_alike(before[entry.query_id], entry))
    }


def values_alike(before: Results, after: Results) -> dict[str, Metrics]:
    """By query the values before, of those that can be set beside the values after."""
    shared = alike(before, after)
    return {each.query_id: each.metrics for each in before.per_query if each.query_id in shared}


def in_one_state(results: Sequence[Results]) -> tuple[Sequence[Results], State]:
    """The results with the queries alone that all judge alike, and whether some were left out, or
    all would be: then they stay as they are."""
    base = {entry.query_id for entry in results[0].per_query}
    both = [base & {entry.query_id for entry in other.per_query} for other in results[1:]]
    changed = set[str]()
    for other, shared in zip(results[1:], both, strict=True):
        changed |= shared - alike(results[0], other)
    if not changed:
        return results, ""
    if any(shared and changed >= shared for shared in both):
        return results, "all"
    return [_without(each, changed) for each in results], "some"


def _without(results: Results, changed: set[str]) -> Results:
    left = [entry for entry in results.per_query if entry.query_id not in changed]
    return msgspec.structs.replace(results, per_query=left)
