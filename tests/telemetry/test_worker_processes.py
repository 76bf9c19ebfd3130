"""Searches that worker processes log arrive, although such a process skips exit handlers."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from assay import telemetry
from assay.store import open_store


def work(path: str, name: str) -> None:
    telemetry.configure(path)
    for n in range(50):
        telemetry.log_search(f"query {name} {n}", ["a", "b"])


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
    store = open_store(path)
    assert store.health().rows["search_logs"] == 200
    store.close()


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
