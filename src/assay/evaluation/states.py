"""Two results on one gold set in different states: judgments came in between, or rows changed.

The difference of two values is then partly that of the judgments. So only queries that were judged
alike in both are compared; where there is none, nothing can be said of the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.core.results import Entry, GoldenEntry, Results

State = Literal["", "some", "all"]


def judged_alike(first: Entry, second: Entry) -> bool:
    """Whether a query asks for the same in both: the same grades of judged documents, and of every
    hit that both have; of a golden set the same expectation."""
    if isinstance(first, GoldenEntry) and isinstance(second, GoldenEntry):
        asked = [(one.expected_any, one.k, one.min_score) for one in (first, second)]
        return asked[0] == asked[1]
    grades = [dict(zip(one.results, one.grades, strict=False)) for one in (first, second)]
    shared = grades[0].keys() & grades[1].keys()
    same_hits = all(grades[0][doc_id] == grades[1][doc_id] for doc_id in shared)
    return same_hits and sorted(first.judged) == sorted(second.judged)


def in_one_state(results: Sequence[Results]) -> tuple[Sequence[Results], State]:
    """The results with the queries alone that all judge alike, and whether some were left out, or
    all would be: then they stay as they are."""
    base = {entry.query_id: entry for entry in results[0].per_query}
    changed = {
        entry.query_id
        for other in results[1:]
        if other.receipt.gold.fingerprint != results[0].receipt.gold.fingerprint
        for entry in other.per_query
        if entry.query_id in base and not judged_alike(base[entry.query_id], entry)
    }
    if not changed:
        return results, ""
    if changed >= base.keys():
        return results, "all"
    return [_without(each, changed) for each in results], "some"


def _without(results: Results, changed: set[str]) -> Results:
    left = [entry for entry in results.per_query if entry.query_id not in changed]
    return msgspec.structs.replace(results, per_query=left)
