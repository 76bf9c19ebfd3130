"""Moments that are exactly the limit: faults in them were let through (benchmarks/mutants.py)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from assay.store import Store
from assay.store.records import SearchLog, Shown

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


def test_a_search_made_at_the_moment_that_is_asked_from_counts(store: Store) -> None:
    log = SearchLog(id="s", at=NOW, query="q", corpus="c", results=(Shown("d", 1),))
    store.add_searches([log])
    assert store.showings(["q"], since=NOW) == {("q", "c", "d"): 1}
    assert store.showings(["q"], since=NOW + timedelta(microseconds=1)) == {}
