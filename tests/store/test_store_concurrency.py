"""Eight programs that write searches and decisions to one store at once, as commands in processes
of their own: nothing is lost, nothing is kept twice, and no database is locked."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assay.testing import open_store
from kit.commands import run_assay
from kit.stores import database

NOW = datetime(2026, 5, 31, tzinfo=UTC)
WRITERS, BATCHES, SEARCHES = 8, 4, 5


def write(folder: Path, store_url: str, writer: int) -> None:
    """Searches and decisions of all writers are about the same documents, so that their feedback
    meets."""
    log, decisions = folder / f"log-{writer}.jsonl", folder / f"decisions-{writer}.jsonl"
    for batch in range(BATCHES):
        searched, decided = (NOW + timedelta(minutes=batch, seconds=late) for late in (0, 30))
        searches = (
            {
                "id": f"l-{writer}-{batch}-{n}",
                "at": searched.isoformat(),
                "query": f"q{n}",
                "results": [f"d{n % 3}", "shared"],
            }
            for n in range(SEARCHES)
        )
        log.write_text("\n".join(map(json.dumps, searches)))
        cites = [f"d{batch % 3}", "shared"]
        decision = {"id": f"D-{writer}-{batch}", "at": decided.isoformat(), "cites": cites}
        decisions.write_text(json.dumps(decision))
        for command in (("import", log), ("decisions", decisions)):
            code = run_assay("logs", *command, "--store", store_url)
            if code:
                raise SystemExit(code)


def expected_feedback() -> int:
    """Every (search, document) for which some decision of any writer comes later."""
    count = 0
    for batch in range(BATCHES):
        later = range(batch, BATCHES)
        for n in range(SEARCHES):
            count += any(d % 3 == n % 3 for d in later) + 1
    return count * WRITERS


def test_eight_writers(store_url: str, store: Any, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    jobs = [(tmp_path, store_url, number) for number in range(WRITERS)]
    processes = [context.Process(target=write, args=job) for job in jobs]
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
    assert [process.exitcode for process in processes] == [0] * WRITERS
    searches = WRITERS * BATCHES * SEARCHES
    with database(store_url) as connection:
        rows = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("search_logs", "shown_results", "decisions", "relevance_feedback")
        }
    assert rows == {
        "search_logs": searches,
        "shown_results": searches * 2,
        "decisions": WRITERS * BATCHES,
        "relevance_feedback": expected_feedback(),
    }


def test_many_open_a_new_store_at_once(store_url: str) -> None:
    def open_and_close(_: int) -> str:
        store = open_store(store_url)
        schema = store.health().schema
        store.close()
        return schema

    with ThreadPoolExecutor(8) as pool:
        schemas = set(pool.map(open_and_close, range(8)))
    with database(store_url) as connection:
        kept = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    assert kept == [(schema,) for schema in schemas]
