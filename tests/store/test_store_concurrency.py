"""Eight writers and a reviewer, as processes of their own: nothing lost, nothing twice, no locked
database."""

from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.store import Store, open_store
from assay.store.records import Decision, ReviewItem, Ruling, SearchLog, Shown

NOW = datetime(2026, 5, 31, tzinfo=UTC)
WRITERS, BATCHES, ITEMS = 8, 12, 40


def write_searches(url: str, writer: int) -> None:
    """Searches and decisions of all writers are about the same documents, so that their feedback
    meets."""
    store = open_store(url)
    for batch in range(BATCHES):
        store.add_searches(
            [
                SearchLog(
                    id=f"l-{writer}-{batch}-{n}",
                    at=NOW + timedelta(minutes=batch),
                    query=f"q{n}",
                    results=(Shown(f"d{n % 3}", 1), Shown("shared", 2)),
                )
                for n in range(5)
            ]
        )
        cites = (f"d{batch % 3}", "shared")
        store.add_decisions(
            [
                Decision(
                    id=f"D-{writer}-{batch}",
                    at=NOW + timedelta(minutes=batch, seconds=30),
                    cites=cites,
                )
            ]
        )
    store.close()


def review_all(url: str) -> None:
    store = open_store(url)
    for item in store.review_items(limit=ITEMS):
        store.rule([Ruling(item=item, state="approved", by="dafna", at=NOW)])
    store.close()


def guarded(errors: Any, work: Any, *args: Any) -> None:
    try:
        work(*args)
    except BaseException as error:
        errors.put(f"{type(error).__name__}: {error}")
        raise


def expected_feedback() -> int:
    """Every (search, document) for which some decision of any writer comes later."""
    count = 0
    for batch in range(BATCHES):
        later = range(batch, BATCHES)
        for n in range(5):
            count += any(d % 3 == n % 3 for d in later) + 1
    return count * WRITERS


def test_eight_writers_and_a_reviewer(store_url: str, store: Store) -> None:
    store.add_review_items(
        [
            ReviewItem(
                id=f"i{n}",
                gold="g",
                kind="gold_row",
                key=f"k{n}",
                ref=f"g{n}",
                query="q",
                created_at=NOW,
            )
            for n in range(ITEMS)
        ]
    )
    context = multiprocessing.get_context("fork")
    errors = context.SimpleQueue()
    jobs = [(write_searches, store_url, n) for n in range(WRITERS)] + [(review_all, store_url)]
    processes = [context.Process(target=guarded, args=(errors, *job)) for job in jobs]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert errors.empty(), errors.get()
    assert [process.exitcode for process in processes] == [0] * (WRITERS + 1)
    rows = store.health().rows
    assert rows["search_logs"] == WRITERS * BATCHES * 5
    assert rows["shown_results"] == WRITERS * BATCHES * 5 * 2
    assert rows["relevance_feedback"] == expected_feedback()
    assert len(store.review_items(state="approved", limit=100)) == rows["audit_trail"] == ITEMS
