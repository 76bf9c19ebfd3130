"""The file of a store on SQLite: private, durable, and missed when it goes. Programs keep a store
open, so faults are made while one is open; a secret is the smallest thing to keep in it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from assay.testing import StoreUnavailable, open_store
from kit.commands import Assay
from kit.stores import database, log_one_search


def kept_in(path: Path) -> set[str]:
    with database(str(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM server_secrets")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "assay.db"


def test_nobody_else_reads_it(path: Path) -> None:
    before = os.umask(0)
    try:
        store = open_store(path)
        store.server_secret("a")
        modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}, modes
    assert len(modes) == 3, "the database, its log and its index"
    store.close()


def test_one_that_others_could_read_is_closed_to_them(assay_cli: Assay, path: Path) -> None:
    assert log_one_search(assay_cli, path).code == 0
    path.chmod(0o664)
    assert assay_cli("people", "list", "--store", path).code == 0
    assert path.stat().st_mode & 0o777 == 0o660, "a group that shares it goes on sharing it"


def test_it_is_one_file_with_a_write_ahead_log(assay_cli: Assay, tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "50%" / "assay.db"
    assert log_one_search(assay_cli, path).code == 0
    with database(str(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_closed_store_holds_no_file(path: Path) -> None:
    store = open_store(path)
    store.server_secret("a")
    store.close()
    assert [each.name for each in path.parent.iterdir()] == ["assay.db"], "no log, and no index"


def test_a_database_that_was_moved_away_takes_nothing(path: Path) -> None:
    store = open_store(path)
    store.server_secret("a")
    moved = path.rename(path.with_name("elsewhere.db"))
    for name in "bcd":
        with pytest.raises(StoreUnavailable, match="the database is gone"):
            store.server_secret(name)
    with pytest.raises(StoreUnavailable, match="the database is gone"):
        store.health()
    assert not path.exists()
    moved.rename(path)
    store.server_secret("b")
    assert kept_in(path) == {"a", "b"}
    store.close()


def test_one_put_in_its_place_is_noticed_and_then_used(path: Path) -> None:
    backup, old = path.with_name("backup.db"), path.with_name("old.db")
    open_store(backup).close()
    store = open_store(path)
    store.server_secret("a")
    path.rename(old)
    backup.rename(path)
    with pytest.raises(StoreUnavailable, match="replaced"):
        store.server_secret("b")
    store.server_secret("c")
    assert kept_in(path) == {"c"}, "nothing of the former log, which still lay there"
    store.close()
    path.with_name("assay.db-wal.former").rename(path.with_name("old.db-wal"))
    assert kept_in(old) == {"a"}


@pytest.mark.parametrize("how", ["log deleted", "log replaced", "moved and linked"])
def test_a_database_that_is_no_longer_whole_takes_nothing(path: Path, how: str) -> None:
    log = path.with_name("assay.db-wal")
    store = open_store(path)
    store.server_secret("a")
    if how.startswith("log"):
        log.rename(path.with_name("kept"))
        if how == "log replaced":
            log.touch()
    else:
        path.rename(path.with_name("real.db"))
        path.symlink_to("real.db")
    for name in "bc":
        with pytest.raises(StoreUnavailable, match="gone"):
            store.server_secret(name)
    with pytest.raises(StoreUnavailable, match="gone"):
        store.health()
    store.close()


@pytest.mark.parametrize("how", ["emptied", "log deleted"])
def test_what_was_acknowledged_before_is_kept_and_nothing_more_taken(path: Path, how: str) -> None:
    """A file that was emptied is filled from its log."""
    store = open_store(path)
    store.server_secret("a")
    if how == "emptied":
        os.truncate(path, 0)
    else:
        path.with_name("assay.db-wal").unlink()
    lost = "the database" if how == "emptied" else r"assay\.db-wal"
    with pytest.raises(StoreUnavailable, match=f"{lost} is gone"):
        store.server_secret("b")
    store.close()
    open_store(path).close()
    assert kept_in(path) == {"a"}


def test_a_file_that_is_not_a_database(assay_cli: Assay, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("this is not a database, it is a long enough text file\n" * 100)
    done = assay_cli("people", "list", "--store", notes)
    assert (done.code, "not a database" in done.err) == (2, True), done.err


def test_a_database_of_another_program_is_left_alone(assay_cli: Assay, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.db"
    with sqlite3.connect(theirs) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER)")
    connection.close()
    done = log_one_search(assay_cli, theirs)
    assert (done.code, "another program, with tables customers" in done.err) == (2, True), done.err
