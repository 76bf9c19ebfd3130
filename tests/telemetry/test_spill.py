"""Searches that are logged while the store is away: kept in a file, and sent by this process or by
the next one."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.store import StoreUnavailable, open_store
from assay.telemetry.recorder import Recorder, Recording
from assay.telemetry.spill import Spill
from kit.commands import Assay

LOG = """
import sys, time
from assay import telemetry
telemetry.configure(sys.argv[1], redactions=["email"], interval=0.01)
for number in range(int(sys.argv[2])):
    telemetry.log_search(f"levy {number} a@b.fi", ["d1", "d2"], id=f"{sys.argv[3]}-{number}")
"""
THEN_HANG = "time.sleep(1)\nprint('ready', flush=True)\ntime.sleep(60)"


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The address of a store that cannot be opened: its folder is a file."""
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    (tmp_path / "data").write_text("not a folder")
    return tmp_path / "data" / "assay.db"


def bring_back(store: Path) -> None:
    store.parent.unlink()
    store.parent.mkdir()


def log(store: Path, many: int, name: str) -> str:
    command = [sys.executable, "-c", LOG, str(store), str(many), name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def unsent(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "home" / "unsent").glob("*.jsonl"))


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def total(store: Path) -> int:
    opened = open_store(store)
    try:
        return opened.search_total()
    finally:
        opened.close()


def test_the_next_process_sends_what_an_earlier_one_could_not(
    assay_cli: Assay, tmp_path: Path, away: Path
) -> None:
    """More than the queue holds; private, without what the rules hide, and said."""
    said = log(away, 12_000, "a")
    assert "12000 kept in a file, 0 dropped, 0 lost" in said
    (file,) = unsent(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "a@b.fi" not in file.read_text()
    assert "[email]" in file.read_text()
    note = assay_cli("doctor", "--json").json["workspace"]["note"]
    assert note.startswith("12000 searches wait")
    bring_back(away)
    assert "12000 searches that had waited in a file are written" in log(away, 1, "b")
    assert (total(away), unsent(tmp_path)) == (12_001, [])


def test_a_process_that_was_killed_loses_at_most_a_line(tmp_path: Path, away: Path) -> None:
    command = [sys.executable, "-c", LOG + THEN_HANG, str(away), "500", "a"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        until(lambda: len(unsent(tmp_path)) == 1)
        kept: list[Any] = []
        Spill(away, 2**20).send(kept.extend)
        assert not kept, "while the other one lives, its file is its own"
        os.kill(process.pid, signal.SIGKILL)
    bring_back(away)
    file = unsent(tmp_path)[0]
    file.write_bytes(file.read_bytes() + b'{"search":{"id":"half')
    log(away, 1, "c")
    assert (total(away), unsent(tmp_path)) == (501, [])


class Switched:
    """A store that is down until it is brought back."""

    def __init__(self, store: Path) -> None:
        self.store, self.up, self.opened = store, False, None

    def __call__(self) -> Any:
        if not self.up:
            raise StoreUnavailable("connection refused")
        self.opened = self.opened or open_store(self.store)
        return self.opened


def test_the_same_process_sends_when_the_store_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Switched(tmp_path / "assay.db")
    spill = Spill("s", 2**20, tmp_path / "unsent")
    recorder = Recorder(store, Recording(capacity=100, interval=0.01), spill)
    for number in range(1000):
        recorder.log_search(f"levy {number}", ["a"], id=str(number))
        time.sleep(0.0005)
    recorder.log_click("1", "a")
    until(lambda: recorder.counts().spilled == 1001)
    assert not recorder.flush(0.1)
    assert f"searches are kept in {tmp_path / 'unsent'}" in caplog.text
    store.up = True
    until(lambda: recorder.counts().written == 1001)
    counts = recorder.counts()
    assert (counts.spilled, counts.queued, counts.dropped, counts.lost) == (0, 0, 0, 0)
    assert recorder.flush()
    recorder.close()
    assert (total(tmp_path / "assay.db"), spill.files()) == (1000, [])


def test_the_files_are_bounded_and_what_has_no_room_is_counted(tmp_path: Path) -> None:
    spill = Spill("s", 20_000, tmp_path / "unsent")
    options = Recording(capacity=50, interval=0.01, close_timeout=0.1)
    recorder = Recorder(Switched(tmp_path / "x.db"), options, spill)
    for number in range(2000):
        recorder.log_search(f"levy {number}", ["a"])
    recorder.close()
    counts = recorder.counts()
    assert counts.dropped > 0
    assert counts.spilled + counts.dropped + counts.lost + counts.queued == 2000
    assert sum(file.stat().st_size for file in spill.files()) < 40_000


def test_a_store_that_hangs_does_not_fill_the_queue(tmp_path: Path) -> None:
    def hang() -> Any:
        time.sleep(30)

    options = Recording(capacity=100, interval=0.01, close_timeout=0.1)
    recorder = Recorder(hang, options, Spill("s", 2**20, tmp_path / "unsent"))
    for number in range(1000):
        recorder.log_search(f"levy {number}", ["a"])
        time.sleep(0.0005)
    counts = recorder.counts()
    assert (counts.dropped, counts.spilled >= 900) == (0, True)


def test_text_that_no_file_could_hold_is_mended(tmp_path: Path) -> None:
    spill, kept = Spill("s", 2**20, tmp_path / "unsent"), list[Any]()
    recorder = Recorder(Switched(tmp_path / "x.db"), Recording(interval=0.01), spill)
    recorder.log_search("half \ud800", ["a\ud800"])
    until(lambda: recorder.counts().spilled == 1)
    spill.send(kept.extend)
    assert (kept[0].query, kept[0].results[0].doc_id) == ("half ?", "a?")


def test_files_of_another_store_are_left_alone(tmp_path: Path, away: Path) -> None:
    log(away, 3, "a")
    log(tmp_path / "other.db", 1, "b")
    assert (total(tmp_path / "other.db"), len(unsent(tmp_path))) == (1, 1)
