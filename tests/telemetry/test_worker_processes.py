"""Searches that worker processes log arrive, although such a process skips exit handlers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay import telemetry
from assay.store import StoreError, open_store
from assay.telemetry import recorder as recording


def work(path: str, name: str) -> None:
    telemetry.configure(path)
    for n in range(50):
        telemetry.log_search(f"query {name} {n}", ["a", "b"])


def searches_in(path: str) -> int:
    store = open_store(path)
    found = store.health().rows["search_logs"]
    store.close()
    return found


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_workers_log_arrives(tmp_path: Path, method: str) -> None:
    path = str(tmp_path / "assay.db")  # made by all of them at once
    context = multiprocessing.get_context(method)
    workers = [context.Process(target=work, args=(path, str(n))) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert searches_in(path) == 200


def log_some(job: tuple[str, int]) -> None:
    work(job[0], str(job[1]))


def test_what_a_pool_logs_arrives_although_it_is_terminated(tmp_path: Path) -> None:
    """The pool sends SIGTERM as soon as the last answer is there."""
    path = str(tmp_path / "assay.db")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(log_some, [(path, 1), (path, 2)], chunksize=1)
    assert searches_in(path) == 100


def test_a_worker_ends_by_the_signal_it_was_sent(tmp_path: Path) -> None:
    """Also where its store is away, and the lock of the counts is held by what it interrupts."""
    (tmp_path / "a file").touch()
    begun = multiprocessing.get_context("fork").Event()

    def work() -> None:
        options = telemetry.Recording(close_timeout=0.1)
        recorder = telemetry.Recorder(lambda: open_store(tmp_path / "a file" / "x.db"), options)
        recorder.log_search("q")
        recorder.drain(0.1)
        with recorder._lock:
            begun.set()
            time.sleep(60)

    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    assert begun.wait(30)
    worker.terminate()
    worker.join(30)
    assert worker.exitcode == -signal.SIGTERM


def test_threads_that_fork_at_once_let_go_of_what_they_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "WRITING", 0.01)
    recorder = telemetry.Recorder(lambda: open_store("unused.db"))
    recording._before_fork()
    assert not recorder.hold()

    def fork() -> None:  # it goes on without: the first took too long
        recording._before_fork()
        recording._after_in_parent()

    other = threading.Thread(target=fork)
    other.start()
    other.join()
    assert not recorder.hold(), "the first still holds it"
    recording._after_in_parent()
    assert recorder.hold()
    recorder.let_go()


def test_flush_says_what_it_could_not_write(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a file").touch()
    options = telemetry.Recording(close_timeout=0.0)
    recorder = telemetry.Recorder(lambda: open_store(tmp_path / "a file" / "assay.db"), options)
    recorder.log_search("q")
    assert recorder.flush(0.5) is False
    assert "1 searches are not written yet" in caplog.text
    assert "a file" in caplog.text
    recorder.close()


def test_flush_says_what_the_store_refused(caplog: pytest.LogCaptureFixture) -> None:
    class Refusing:
        def add_searches(self, searches: object) -> int:
            raise StoreError("index row too large")

        def close(self) -> None: ...

    recorder = telemetry.Recorder(Refusing)  # type: ignore[arg-type]
    recorder.log_search("q")
    assert recorder.flush() is False
    assert "1 searches could not be written (StoreError: index row too large)" in caplog.text
    recorder.close()


def in_a_child(work: Callable[[], bool]) -> int:
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_fork_does_not_break_the_loading_of_modules_in_two() -> None:
    begun, loaded = threading.Event(), []

    class Taking:
        def add_searches(self, searches: Sequence[object]) -> int:
            return len(searches)

        def close(self) -> None: ...

    def opened() -> Any:
        begun.set()
        time.sleep(0.2)
        loaded.append(True)
        return Taking()

    recorder = telemetry.Recorder(opened)
    recorder.log_search("in the parent")
    assert begun.wait(10)

    def child() -> bool:
        nothing_yet = recorder.flush(0) and recorder.counts().accepted == 0
        recorder.log_search("in the child")
        return len(loaded) == 1 and nothing_yet and recorder.flush(10)

    assert in_a_child(child) == 0
    assert recorder.flush(10)
    recorder.close()


def test_a_child_does_not_inherit_locks_that_nobody_gives_back(tmp_path: Path) -> None:
    recorder = telemetry.configure(tmp_path / "assay.db")
    with recorder._lock, telemetry._lock:

        def child() -> bool:
            return telemetry.counts() == telemetry.Counts() and telemetry._lock.acquire(timeout=1)

        assert in_a_child(child) == 0


def test_configuring_the_same_again_keeps_the_recorder(tmp_path: Path) -> None:
    first = telemetry.configure(tmp_path / "assay.db", redactions=["email"])
    assert telemetry.configure(tmp_path / "assay.db", redactions=["email"]) is first
    other = telemetry.configure(tmp_path / "assay.db")
    assert other is not first
    other.log_search("q")
    other.close()
    assert telemetry.configure(tmp_path / "assay.db") is not other


def test_what_is_slow_is_not_called_lost(caplog: pytest.LogCaptureFixture) -> None:
    given = threading.Event()

    def opened() -> Any:
        given.wait(10)
        raise StoreError("too late")

    recorder = telemetry.Recorder(
        opened, telemetry.Recording(close_timeout=0.1 - recording.LOADING)
    )
    recorder.log_search("q")
    recorder.close()
    assert "0 searches written, 1 not yet, 0 kept in a file, 0 dropped, 0 lost" in caplog.text
    given.set()
