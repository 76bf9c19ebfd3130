"""Moments that are exactly the limit: faults in them were let through (benchmarks/mutants.py)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from assay.store import Store
from assay.store.records import Account, AuditEntry, SearchLog, Session, Shown

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


def test_a_search_made_at_the_moment_that_is_asked_from_counts(store: Store) -> None:
    log = SearchLog(id="s", at=NOW, query="q", corpus="c", results=(Shown("d", 1),))
    store.add_searches([log])
    assert store.showings(["q"], since=NOW) == {("q", "c", "d"): 1}
    assert store.showings(["q"], since=NOW + timedelta(microseconds=1)) == {}


def test_a_session_is_over_at_the_moment_it_ends(store: Store) -> None:
    entry = AuditEntry(id="e", at=NOW, by="root", action="people.join", subject="a")
    store.put_account(Account(name="a", role="judge", created_at=NOW), entry)
    end = NOW + timedelta(days=1)
    store.add_session(Session(id="s", name="a", created_at=NOW, expires_at=end))
    just_before = end - timedelta(microseconds=1)
    assert [one.id for one in store.sessions(just_before)] == ["s"]
    assert store.sessions(end) == []
    assert store.signed_in("s", just_before) is not None
    assert store.signed_in("s", end) is None


def test_nothing_to_queue_queues_nothing(store: Store) -> None:
    assert store.add_review_items([]) == 0
