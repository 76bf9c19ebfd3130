"""The file of an SQLite store: private, durable, and noticed when it goes."""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.core import files
from assay.store import StoreUnavailable, open_store
from assay.store.database import connect
from assay.store.records import SearchLog


def search(name: str) -> SearchLog:
    return SearchLog(id=name, at=datetime(2026, 5, 31, tzinfo=UTC), query="q")


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = open_store(tmp_path / "assay.db")
        store.add_searches([search("a")])
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}, modes
    store.close()


def test_one_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "assay.db"
    open_store(path).close()
    path.chmod(0o664)
    open_store(path).close()
    assert path.stat().st_mode & 0o777 == 0o660  # a group that shares it goes on sharing it


def test_what_is_committed_is_on_the_disk(tmp_path: Path) -> None:
    engine = connect(tmp_path / "assay.db")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    engine.dispose()


def test_a_new_name_is_on_the_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def noted(handle: int) -> None:
        synced.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    files.write_atomic(tmp_path / "a", "a")
    assert synced == ["file", "folder"]


def test_a_database_that_was_moved_away_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "assay.db"
    store = open_store(path)
    store.add_searches([search("a")])
    moved = path.rename(tmp_path / "elsewhere.db")
    for name in "bcd":
        with pytest.raises(StoreUnavailable, match="the database is gone"):
            store.add_searches([search(name)])
    with pytest.raises(StoreUnavailable, match="the database is gone"):
        store.health()
    assert not path.exists()
    moved.rename(path)
    assert store.add_searches([search("b")]) == 1
    assert [row.id for row in store.searches(["a", "b", "c", "d"])] == ["a", "b"]
    store.close()


def test_a_write_that_ends_in_a_moved_file_is_not_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "assay.db"
    store = open_store(path)
    with pytest.raises(StoreUnavailable, match="the database is gone"):
        store.rule([], then=lambda: path.rename(tmp_path / "elsewhere.db") and None)
    store.close()


def test_one_put_in_its_place_is_noticed_and_then_used(tmp_path: Path) -> None:
    path = tmp_path / "assay.db"
    open_store(tmp_path / "backup.db").close()
    store = open_store(path)
    store.add_searches([search("a")])
    path.rename(tmp_path / "old.db")
    (tmp_path / "backup.db").rename(path)
    with pytest.raises(StoreUnavailable, match="replaced"):
        store.add_searches([search("b")])
    assert store.add_searches([search("c")]) == 1
    with sqlite3.connect(path) as there:
        # and nothing of the former one's log, which still lay there
        assert there.execute("SELECT id FROM search_logs").fetchall() == [("c",)]
    store.close()
    (tmp_path / "assay.db-wal.former").rename(tmp_path / "old.db-wal")
    with sqlite3.connect(tmp_path / "old.db") as old:
        assert old.execute("SELECT id FROM search_logs").fetchall() == [("a",)]


@pytest.mark.parametrize("how", ["log deleted", "log replaced", "moved and linked"])
def test_a_database_that_is_no_longer_whole_takes_nothing(tmp_path: Path, how: str) -> None:
    path, log = tmp_path / "assay.db", tmp_path / "assay.db-wal"
    store = open_store(path)
    store.add_searches([search("a")])
    if how.startswith("log"):
        log.rename(tmp_path / "kept")
        if how == "log replaced":
            log.touch()
    else:
        path.rename(tmp_path / "real.db")
        path.symlink_to("real.db")
    for name in "bc":
        with pytest.raises(StoreUnavailable, match="gone"):
            store.add_searches([search(name)])
    with pytest.raises(StoreUnavailable, match="gone"):
        store.health()
    store.close()


def test_a_database_that_was_emptied_takes_nothing_and_is_filled_from_its_log(
    tmp_path: Path,
) -> None:
    path = tmp_path / "assay.db"
    store = open_store(path)
    store.add_searches([search("a")])
    os.truncate(path, 0)
    with pytest.raises(StoreUnavailable, match="gone"):
        store.add_searches([search("b")])
    store.close()
    again = open_store(path)
    assert [row.id for row in again.searches(["a", "b"])] == ["a"]
    again.close()


def test_what_was_said_before_its_log_was_deleted_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "assay.db"
    store = open_store(path)
    store.add_searches([search("a")])
    (tmp_path / "assay.db-wal").unlink()
    with pytest.raises(StoreUnavailable, match=r"assay\.db-wal is gone"):
        store.add_searches([search("b")])
    store.close()
    again = open_store(path)
    assert [row.id for row in again.searches(["a", "b"])] == ["a"]
    again.close()
