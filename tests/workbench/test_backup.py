"""`assay backup` and `assay restore`: a project comes back as it was, whole or not at all, and
nothing is overwritten."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.formats.gold_jsonl import lock_gold_set
from assay.store import open_store
from assay.store.records import SearchLog, ShownResult
from assay.workbench.project import backup
from kit.commands import Assay, Outcome

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
FORMAT_1 = Path(__file__).parents[1] / "fixtures" / "backup-format-1.zip"
MANIFEST = "backup.json"
GOLD = Path("eval/gold-set.jsonl")
ROW = '{"id":"g1","query":"q","source":"chair"}\n'
SEARCHES = [
    {"id": "l1", "at": "2026-05-01", "query": 'היטל "השבחה"\n\\N', "results": ["א", "b\\\t"]},
    {"id": "l2", "at": "2026-05-02", "query": "levy", "results": ["א", "c"]},
]
DECISIONS = [{"id": "D", "at": "2026-05-20", "cites": ["א"]}]


@pytest.fixture
def cli(assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Assay:
    """The commands, in an empty project folder."""
    for name in ("ASSAY_HOME", "ASSAY_STORE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return assay_cli


@pytest.fixture
def project(store_url: str, cli: Assay, monkeypatch: pytest.MonkeyPatch) -> Assay:
    """The commands, in a project with logs, an approved row, a corpus, an index and people."""
    if "://" in store_url:
        monkeypatch.setenv("ASSAY_STORE", store_url)
    for verb, rows in (("import", SEARCHES), ("decisions", DECISIONS)):
        put(f"{verb}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        done(cli("logs", verb, f"{verb}.jsonl"))
    put("people.toml", 'p1 = "דפנה"\n')
    GOLD.parent.mkdir()
    done(cli("gold", "bootstrap", "--gold", GOLD))
    done(cli("gold", "promote", "g001", "--by", "דפנה", "--gold", GOLD))
    put(".assay/corpora/c/corpus.json", "{}")
    put(".assay/indexes/c/x.npy", "0" * 100)
    return cli


@pytest.fixture
def small(cli: Assay) -> Assay:
    """The commands, in a project with one gold set and a backup of it, `../b.tar.gz`."""
    put("gold.jsonl", ROW)
    done(cli("backup", "../b.tar.gz", "--gold", "gold.jsonl"))
    return cli


def put(name: str | Path, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    return outcome


def files_in(folder: Path | str) -> dict[str, bytes]:
    """Every file below a folder but the databases, which are compared by their rows."""
    place = Path(folder)
    return {
        str(file.relative_to(place)): file.read_bytes()
        for file in place.rglob("*")
        if file.is_file() and not file.name.startswith("assay.db")
    }


def rows_in(store: str) -> dict[str, list[str]]:
    """Every table of a database, its rows as text."""
    connection: Any
    if "://" in store:
        import psycopg

        connection = psycopg.connect(store)
        names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    else:
        connection = sqlite3.connect(store)
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    try:
        tables = [name for (name,) in connection.execute(names).fetchall()]
        return {
            name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"').fetchall()))
            for name in tables
        }
    finally:
        connection.close()


def empty_database(address: str) -> str:
    """A second database on the same server."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS restored")
        connection.execute("CREATE DATABASE restored")
    return address.replace(address.partition("?")[0].rpartition("/")[2], "restored", 1)


# ── what comes back ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("store_url", ["sqlite", "postgresql"], indirect=True)
def test_the_round_trip(
    project: Assay, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = os.environ.get("ASSAY_STORE", "")
    told = done(project("backup", "../b.tar.gz", "--json")).json
    assert told["gold_sets"] == ["gold-set"]
    assert (tmp_path / "b.tar.gz").stat().st_mode & 0o777 == 0o600
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    target = empty_database(live) if live else ""
    to = ("--store", target) if live else ()
    back = done(project("restore", "../b.tar.gz", "--to", "../there", *to, "--json")).json
    there = tmp_path / "there"
    wanted = files_in(".")
    del wanted["import.jsonl"], wanted["decisions.jsonl"]
    assert files_in(there) == wanted
    database = there / ".assay/assay.db"
    assert rows_in(target or str(database)) == rows_in(live or ".assay/assay.db")
    if not live:
        assert Path(back["store"]).resolve() == database
        assert database.stat().st_mode & 0o777 == 0o600
        assert not [file for file in database.parent.iterdir() if "db-" in file.name]
    before = done(project("backlog", "--json", *(("--store", live) if live else ()))).json
    monkeypatch.chdir(there)
    assert done(project("backlog", "--json", *to)).json["approved"] == before["approved"] == 1


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_a_database_that_is_in_use_is_not_restored_into(
    project: Assay, store_url: str, tmp_path: Path
) -> None:
    done(project("backup", "../b.tar.gz"))
    there = tmp_path / "there"
    before = rows_in(store_url)
    refused = project("restore", "../b.tar.gz", "--to", there, "--store", store_url)
    assert refused.code == 2
    assert "the database already has a store" in refused.err
    refused = project("restore", "../b.tar.gz", "--to", there, "--store", tmp_path / "x.db")
    assert refused.code == 2
    assert "is on postgresql and is restored there" in refused.err
    assert rows_in(store_url) == before
    assert not there.exists()


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("table", "columns"),
    [("payroll", ["name"]), ("search_logs", ['id") FROM STDIN; DROP TABLE payroll; --'])],
)
def test_a_crafted_backup_reaches_no_table_of_another_program(
    project: Assay, store_url: str, tmp_path: Path, table: str, columns: list[str]
) -> None:
    import psycopg

    done(project("backup", "../b.tar.gz"))
    target = empty_database(store_url)
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("CREATE TABLE payroll (name text)")
    members = unpacked(tmp_path / "b.tar.gz")
    members["store/payroll.copy"] = b"eve\n"
    manifest = json.loads(members[MANIFEST])
    manifest["store"]["tables"] |= {table: columns}
    bad = packed(tmp_path / "bad", members | {MANIFEST: json.dumps(manifest).encode()})
    refused = project("restore", bad, "--to", "../there", "--store", target)
    assert refused.code == 2
    assert "a store has no table" in refused.err
    assert rows_in(target) == {"payroll": []}
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("content", [b"garbage\n", None])
def test_a_table_that_cannot_be_loaded(
    project: Assay, store_url: str, tmp_path: Path, content: bytes | None
) -> None:
    done(project("backup", "../b.tar.gz"))
    target = empty_database(store_url)
    members = unpacked(tmp_path / "b.tar.gz")
    del members["store/search_logs.copy"]
    if content is not None:
        members["store/search_logs.copy"] = content
    bad = packed(tmp_path / "bad", members)
    refused = project("restore", bad, "--to", "../there", "--store", target)
    assert refused.code == 2
    assert "its table 'search_logs'" in refused.err
    assert rows_in(target) == {}
    assert not (tmp_path / "there").exists()


def test_indexes_can_be_left_out(project: Assay, tmp_path: Path) -> None:
    done(project("backup", "../b.tar.gz", "--no-indexes"))
    names = unpacked(tmp_path / "b.tar.gz")
    assert not [name for name in names if "indexes" in name]
    assert "workspace/corpora/c/corpus.json" in names


def test_a_corpus_on_another_disk_is_in_it(project: Assay, tmp_path: Path) -> None:
    put("../disk/corpus.json", "[]")
    Path(".assay/corpora/linked").symlink_to(tmp_path / "disk")
    put(".assay/corpora/linked/.hidden/x.json", "{}")
    told = done(project("backup", "../store", "--json"))  # any name will do for the file
    assert "left_out" not in told.json
    names = [name for name in unpacked(tmp_path / "store") if "linked" in name]
    assert names == ["workspace/corpora/linked/corpus.json"]


def test_a_project_elsewhere_without_a_store(
    project: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("assay.toml", '[engines.words]\nengine = "bm25"\ncorpus = "x.jsonl"\n')
    shutil.rmtree(".assay")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    told = done(project("backup", "../b.tar.gz", "--config", "../project/assay.toml", "--json"))
    assert told.json["gold_sets"] == ["gold-set"]
    assert "project/eval/gold-set.log.jsonl" in unpacked(tmp_path / "b.tar.gz")


def test_a_workspace_elsewhere(
    project: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(project("backup", "../b.tar.gz"))
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    done(project("restore", "../b.tar.gz", "--to", "../there"))
    assert (tmp_path / "home/corpora/c/corpus.json").read_text() == "{}"
    assert rows_in(str(tmp_path / "home/assay.db")) == rows_in(".assay/assay.db")
    assert not (tmp_path / "there/.assay").exists()


def test_all_that_the_configuration_names_is_in_it(cli: Assay, tmp_path: Path) -> None:
    """Also if nobody has made a store."""
    toml = (
        '[gold.a]\npath = "eval/a.qrels"\nbaseline = "kept/then.json"\n'
        '[gold.b]\npath = "eval/b"\n[gold.c]\npath = "eval/c.json"\n'
        '[engines.then]\nrun = "runs/x.trec"\n'
        '[engines.mine]\nsearch_module = "mine.py"\n'
        '[engines.bm25]\nengine = "bm25"\ncorpus = "docs.jsonl"\n'
    )
    held = (
        "people.toml rubrics/ours.toml eval/a.qrels eval/a.topics.tsv eval/a.log.jsonl "
        "eval/a.votes.jsonl.before-log eval/a.pool.json eval/a.policy.json eval/a.receipts.jsonl "
        "kept/then.json eval/baseline.json eval/b/queries.jsonl eval/b/qrels/test.tsv "
        "eval/b.votes.jsonl eval/rubrics/own.toml runs/x.trec docs.jsonl"
    ).split()
    for name in (*held, "mine.py", "eval/pyproject.toml"):
        put(name, f"content of {name}")
    put("assay.toml", toml)
    told = cli("backup", "../b.tar.gz", "--json")
    assert done(told).json["gold_sets"] == ["a", "b"]
    project = tmp_path / "project"
    left_out = [f"{project / 'eval/c.json'} (missing)", str(project / "mine.py")]
    assert told.json["left_out"] == left_out
    assert "left out" in told.err
    done(cli("restore", "../b.tar.gz", "--to", "../there"))
    wanted = {name: f"content of {name}".encode() for name in held}
    assert files_in(tmp_path / "there") == wanted | {"assay.toml": toml.encode()}


def test_sets_outside_the_project(cli: Assay, tmp_path: Path) -> None:
    outside = put("../elsewhere/other.jsonl", ROW)
    hidden = put('.sets/דו"ח.jsonl', ROW)
    code = put('.sets/דו"ח.py', "engine")
    told = cli("backup", "../b.tar.gz", "--gold", outside, "--gold", hidden, "--json")
    assert done(told).json["left_out"] == [str(code.resolve())]
    back = done(cli("restore", "../b.tar.gz", "--to", "../there", "--json"))
    places = [Path(path).resolve() for path in back.json["outside"]]
    assert sorted(place.name for place in places) == sorted([outside.name, hidden.name])
    assert all(place.is_relative_to(tmp_path / "there/outside") for place in places)
    assert [place.read_text() for place in places] == [ROW, ROW]
    assert back.err.count("from outside the project is now in") == 2


def test_a_set_that_cannot_be_backed_up_is_not_left_out(cli: Assay, tmp_path: Path) -> None:
    refused = cli("backup", "../b.tar.gz", "--gold", put("qrels.robust04", "1 0 d 1\n"))
    assert refused.code == 2
    assert "cannot be backed up" in refused.err
    assert os.listdir(tmp_path) == ["project"]


def test_two_names_of_one_file(cli: Assay, tmp_path: Path) -> None:
    put("set.json", '{"queries": []}')
    Path("link.json").symlink_to("set.json")
    sets = {"one": "set.json", "two": "./set.json", "three": "link.json"}
    tables = [f'[gold.{name}]\npath = "{path}"\n' for name, path in sets.items()]
    put("assay.toml", "".join([*tables, '[engines.words]\nengine = "bm25"\ncorpus = "x.jsonl"\n']))
    done(cli("backup", "../b.tar.gz"))
    assert sorted(unpacked(tmp_path / "b.tar.gz")) == [
        MANIFEST, "project/assay.toml", "project/set.json",
    ]  # fmt: skip


def test_a_backup_is_consistent_while_others_write(
    project: Assay, store_url: str, tmp_path: Path
) -> None:
    """A search that arrives during the copy is in it with all that it showed, or not at all."""
    stop = threading.Event()

    def write() -> None:
        store, number = open_store(".assay/assay.db"), 0
        while not stop.is_set():
            number += 1
            shown = tuple(ShownResult(f"d{rank}", rank) for rank in range(1, 6))
            store.add_searches([SearchLog(id=f"x{number}", at=NOW, query="q", results=shown)])
        store.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        done(project("backup", "../b.tar.gz"))
    finally:
        stop.set()
        thread.join()
    done(project("restore", "../b.tar.gz", "--to", "../there"))
    connection = sqlite3.connect(tmp_path / "there/.assay/assay.db")
    shown = "SELECT count(*) FROM shown_results WHERE log_id LIKE 'x%' GROUP BY log_id"
    assert {count for (count,) in connection.execute(shown)} <= {5}
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_backup_waits_for_whoever_writes_a_set(small: Assay, tmp_path: Path) -> None:
    gold = Path("gold.jsonl").absolute()
    holding, ready = threading.Event(), threading.Event()

    def decide() -> None:
        with lock_gold_set(gold):
            holding.set()
            ready.wait(5)
            gold.write_text(ROW + "# decided\n")

    thread = threading.Thread(target=decide)
    thread.start()
    holding.wait(5)
    threading.Timer(0.2, ready.set).start()
    done(small("backup", "../c.tar.gz", "--gold", "gold.jsonl"))
    thread.join()
    assert unpacked(tmp_path / "c.tar.gz")["project/gold.jsonl"].endswith(b"# decided\n")


def test_a_backup_of_format_1_is_restored(cli: Assay) -> None:
    """It was a zip file, written by Assay before issue 30."""
    done(cli("restore", FORMAT_1, "--to", "there"))
    assert sorted(files_in("there")) == [
        "assay.toml", "gold-set.jsonl", "gold-set.votes.jsonl", "then.trec",
    ]  # fmt: skip
    assert "g001" in Path("there/gold-set.jsonl").read_text()
    assert len(rows_in("there/.assay/assay.db")["search_logs"]) == 1
    raw = bytearray(FORMAT_1.read_bytes())
    raw[len(raw) // 2] ^= 1
    Path("bad.zip").write_bytes(raw)
    assert cli("restore", "bad.zip", "--to", "other").code == 2
    assert not Path("other").exists()


# ── nothing is overwritten ────────────────────────────────────────────────────────────────────────


def test_nothing_is_overwritten(project: Assay, tmp_path: Path) -> None:
    mine = put("../mine.tar.gz", "mine")
    assert project("backup", mine).code == 2
    assert project("backup", "../c.tar.gz", "--store", "none.db").code == 2
    assert mine.read_text() == "mine"
    done(project("backup", "../b.tar.gz"))
    for name in (GOLD, Path("assay.db"), Path(".assay/corpora/mine.json")):
        there = tmp_path / f"there-{name.stem}"
        put(there / name, "theirs")
        store = ("--store", there / name) if name.suffix == ".db" else ()
        refused = project("restore", "../b.tar.gz", "--to", there, *store)
        assert refused.code == 2
        assert "this path is already in use" in refused.err
        assert [file.read_text() for file in there.rglob("*") if file.is_file()] == ["theirs"]
    fresh = tmp_path / "fresh"
    put(fresh / "notes.txt", "mine")
    done(project("restore", "../b.tar.gz", "--to", fresh))  # a file of another name is no obstacle
    assert project("restore", "../b.tar.gz", "--to", fresh).code == 2


def test_a_failure_half_way_removes_what_was_placed(project: Assay, tmp_path: Path) -> None:
    done(project("backup", "../b.tar.gz"))
    there = tmp_path / "there"
    put(there / "eval", "a file where the backup has a folder")
    refused = project("restore", "../b.tar.gz", "--to", there)
    assert refused.code == 2
    assert list(files_in(there)) == ["eval"]
    assert os.listdir(there) == ["eval"]
    place = tmp_path / "other"
    store = put(tmp_path / "file", "mine") / "assay.db"  # the store comes last
    assert project("restore", "../b.tar.gz", "--to", place, "--store", store).code == 2
    assert not place.exists()


# ── damaged and hostile files ─────────────────────────────────────────────────────────────────────


def unpacked(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def packed(path: Path, members: Mapping[str, bytes], *, sealed: bool = True) -> Path:
    """An archive of these members; `sealed`, its manifest has their sizes and digests."""
    content = dict(members)
    manifest = content.pop(MANIFEST, None)
    if manifest is not None and sealed:
        parts = {
            name: {"size": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
            for name, raw in content.items()
        }
        manifest = json.dumps(json.loads(manifest) | {"parts": parts}).encode()
    with tarfile.open(path, "w:gz") as archive:
        for name, raw in [*content.items(), *([(MANIFEST, manifest)] if manifest else [])]:
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    return path


def refused_for(cli: Assay, bad: Path, why: str) -> None:
    refused = cli("restore", bad, "--to", "../there")
    assert refused.code == 2, refused.err
    assert why in refused.err
    assert not Path("../there").exists()


def in_manifest(old: str, new: str) -> Callable[[str, bytes], bytes | None]:
    return lambda name, raw: raw.replace(old.encode(), new.encode()) if name == MANIFEST else raw


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda name, raw: raw[:-1] if name.endswith(".log.jsonl") else raw,
            "does not match the backup",
        ),
        (
            lambda name, raw: raw + b" " if name.endswith(".log.jsonl") else raw,
            "does not match the backup",
        ),
        (
            lambda name, raw: None if name.endswith(".log.jsonl") else raw,
            "its files do not match the backup",
        ),
        (lambda name, raw: None if name == MANIFEST else raw, "cannot be restored"),
        (lambda name, raw: b"[]" if name == MANIFEST else raw, "cannot be restored"),
        (lambda name, raw: b"[" * 100_000 if name == MANIFEST else raw, "cannot be restored"),
        (in_manifest('"project/eval', '"project/../eval'), "its files do not match the backup"),
        (in_manifest('"project/eval', '"project/evil'), "its files do not match the backup"),
        (in_manifest('"format": 2', '"format": 3'), "newer Assay"),
        (in_manifest('"schema": "0', '"schema": "9'), "newer Assay"),
        (in_manifest('"schema": "', '"schema": "x'), "newer Assay"),
        (in_manifest('"sqlite"', '"mysql"'), "cannot be restored"),
    ],
)
def test_a_damaged_backup_leaves_nothing_behind(
    project: Assay, tmp_path: Path, change: Callable[[str, bytes], bytes | None], why: str
) -> None:
    done(project("backup", "../b.tar.gz"))
    changed = {name: change(name, raw) for name, raw in unpacked(tmp_path / "b.tar.gz").items()}
    members = {name: raw for name, raw in changed.items() if raw is not None}
    refused_for(project, packed(tmp_path / "bad", members, sealed=False), why)


def test_a_flipped_byte_is_found(small: Assay, tmp_path: Path) -> None:
    good = (tmp_path / "b.tar.gz").read_bytes()
    dice = random.Random(3)
    for number in range(60):
        raw = bytearray(good)
        raw[dice.randrange(len(raw))] ^= dice.randrange(1, 256)
        bad, there = tmp_path / "bad", tmp_path / f"there{number}"
        bad.write_bytes(raw)
        if small("restore", bad, "--to", there).code == 2:
            assert not there.exists()
        else:  # a date in the archive, or the like
            assert files_in(there) == {"gold.jsonl": ROW.encode()}
    for cut in range(0, len(good), 97):
        bad.write_bytes(good[:cut])
        refused_for(small, bad, "cannot be restored")


def test_a_file_that_is_no_backup(cli: Assay, tmp_path: Path) -> None:
    for content in ("no", "", "PK", "PK\x03\x04 and nothing more"):
        refused_for(cli, put(tmp_path / "no", content), "cannot be restored")
    refused_for(cli, tmp_path / "missing", "no such file")
    refused_for(cli, tmp_path, "is a directory")


@pytest.mark.parametrize(
    "name",
    [
        "project/.git/config",
        "project/.GIT/hooks/pre-commit",
        "project/sub/.github/x.json",
        "project/conftest.py",
        "project/gold.PY",
        "project/Makefile",
        "project/pyproject.toml",
        "project/PyProject.TOML",
        "project/.assay/assay.db",
        "project/../x.json",
        "project/a/../../x.json",
        "project//tmp/x.json",
        "../x.json",
        "/tmp/x.json",
        "x.json",
        "project/C:\\evil.json",
        "project/C:evil.json",
        "project/a\\..\\b.json",
        "project/x.json.",
        "project/x.json ",
        "project/\u200c.git/x.json",
        "workspace/site.pth",
        "outside/.ssh/config",
        "elsewhere/x.json",
    ],
)
def test_only_data_is_restored(small: Assay, tmp_path: Path, name: str) -> None:
    members = unpacked(tmp_path / "b.tar.gz")
    more = packed(tmp_path / "more", members | {"project/notes.json": b"{}"})
    assert done(small("restore", more, "--to", "../fine", "--json")).json["files"] == 2
    refused_for(small, packed(tmp_path / "bad", members | {name: b"x"}), "holds only data")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_only_regular_files_are_restored(small: Assay, tmp_path: Path, kind: bytes) -> None:
    members = unpacked(tmp_path / "b.tar.gz") | {"project/gold.jsonl": b""}
    packed(tmp_path / "sealed", members)
    content = unpacked(tmp_path / "sealed")
    with tarfile.open(tmp_path / "bad", "w:gz") as archive:
        for name, raw in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            if name != MANIFEST:
                member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member, io.BytesIO(raw))
    refused_for(small, tmp_path / "bad", "is not a regular file")


def test_a_member_that_comes_twice_is_refused(small: Assay, tmp_path: Path) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, content in [*unpacked(tmp_path / "b.tar.gz").items()] * 2:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    (tmp_path / "bad").write_bytes(raw.getvalue())
    refused_for(small, tmp_path / "bad", "'project/gold.jsonl' twice")


def test_what_the_disk_cannot_hold_is_not_unpacked(small: Assay, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bad", "w:gz") as archive:
        member = tarfile.TarInfo("project/gold.jsonl")
        member.size = shutil.disk_usage(tmp_path).free + 2**40
        archive.addfile(member)  # the header alone
    refused_for(small, tmp_path / "bad", "it would unpack to")


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_member_of_less_than_nothing(small: Assay, tmp_path: Path, kind: bytes) -> None:
    """Python's tarfile would read such an archive in circles."""
    member = tarfile.TarInfo("project/x.json")
    member.type, member.size = kind, -1024
    with tarfile.open(tmp_path / "bad", "w:gz", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(member)
    refused_for(small, tmp_path / "bad", "cannot be restored")


def test_what_is_too_much_for_a_backup(
    small: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty files cost a disk more than an archive, and so do folders in each other; behind the
    last file may be more than the disk holds."""
    good = tmp_path / "b.tar.gz"
    packed(tmp_path / "deep", unpacked(good) | {f"project/{'a/' * 2_000}x.json": b""})
    refused_for(small, tmp_path / "deep", "a backup holds only data")
    behind = gzip.compress(bytes(2**21))
    (tmp_path / "long").write_bytes(good.read_bytes() + behind)
    refused_for(small, tmp_path / "long", "it goes on behind its last file")
    monkeypatch.setattr(backup, "MOST_MEMBERS", 0)
    refused_for(small, good, "it has more than 0 files")
    assert (
        "more than 0 files to back up" in small("backup", "../c.tar.gz", "--gold", "gold.jsonl").err
    )


def test_a_name_that_unpacks_to_very_much_is_not_read(small: Assay, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bad", "w:gz", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("project/" + "x" * 64 * 2**20 + ".json"))
    assert (tmp_path / "bad").stat().st_size < 2**20
    refused_for(small, tmp_path / "bad", "the name of a member is too long")


@pytest.mark.parametrize("content", [b"garbage" * 1000, b""])
def test_a_store_that_is_none_is_not_put_in_place(
    project: Assay, tmp_path: Path, content: bytes
) -> None:
    done(project("backup", "../b.tar.gz"))
    members = unpacked(tmp_path / "b.tar.gz") | {"store/assay.db": content}
    refused_for(project, packed(tmp_path / "bad", members), "database in it is damaged")


@pytest.mark.parametrize(
    "code",
    [
        "CREATE TRIGGER t AFTER INSERT ON search_logs BEGIN DELETE FROM search_logs; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE v USING fts5(x)",
        "DROP TRIGGER {own}; CREATE TRIGGER {own} AFTER INSERT ON runs BEGIN SELECT 1; END",
        "CREATE TRIGGER t AFTER INSERT ON search_logs BEGIN DELETE FROM search_logs; END;"
        "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_master SET type = 'table' WHERE name = 't'",
    ],
)
def test_a_database_that_brings_programs_is_not_restored(
    project: Assay, tmp_path: Path, code: str
) -> None:
    done(project("backup", "../b.tar.gz"))
    members = unpacked(tmp_path / "b.tar.gz")
    path = tmp_path / "crafted.db"
    path.write_bytes(members["store/assay.db"])
    database = sqlite3.connect(path)
    own = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchone()
    if "{own}" in code and own is None:
        pytest.skip("this schema has no trigger")
    database.executescript(code.format(own=own and own[0]))
    database.close()
    crafted = members | {"store/assay.db": path.read_bytes()}
    refused_for(project, packed(tmp_path / "bad", crafted), "database")


# ── full disks and kills ──────────────────────────────────────────────────────────────────────────


def started(*args: str | Path, largest: int = 0) -> subprocess.Popen[str]:
    """`assay ARGS` as a process of its own; `largest` is the most that it can write to a file."""

    def limit() -> None:
        if largest:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    return subprocess.Popen(
        [sys.executable, "-m", "assay", *map(str, args)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=limit,
        env=os.environ
        | {"PYTHONPATH": str(Path(assay.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.mark.parametrize("act", ["backup", "restore"])
def test_a_full_disk_leaves_nothing_behind(project: Assay, tmp_path: Path, act: str) -> None:
    Path(".assay/corpora/c/x.npy").write_bytes(random.Random(1).randbytes(4 * 2**20))
    done(project("backup", "../b.tar.gz"))
    before = sorted(os.listdir(tmp_path))
    args = (
        ("backup", "../c.tar.gz")
        if act == "backup"
        else ("restore", "../b.tar.gz", "--to", "../there")
    )
    process = started(*args, largest=2**20)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 2, said
    assert "file too large" in said
    assert sorted(os.listdir(tmp_path)) == before


def test_a_restore_that_is_killed(project: Assay, tmp_path: Path) -> None:
    """It leaves the live project alone, and a folder that has the store has everything."""
    for number in range(300):
        put(f".assay/corpora/c/{number}.json", json.dumps(list(range(number * 20))))
    done(project("backup", "../b.tar.gz"))
    live, rows = files_in("."), rows_in(".assay/assay.db")
    done(project("restore", "../b.tar.gz", "--to", "../whole"))
    whole = files_in("../whole")
    dice = random.Random(5)
    for number in range(3):
        there = tmp_path / f"there{number}"
        process = started("restore", "../b.tar.gz", "--to", there)
        deadline = time.monotonic() + 30
        while not there.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        found = {name: raw for name, raw in files_in(there).items() if ".restore." not in name}
        assert found.items() <= whole.items()
        if (there / ".assay/assay.db").exists():
            assert found == whole
            assert rows_in(str(there / ".assay/assay.db")) == rows
        shutil.rmtree(there)
        assert (files_in("."), rows_in(".assay/assay.db")) == (live, rows)
        done(project("restore", "../b.tar.gz", "--to", there))
        assert files_in(there) == whole


def test_a_backup_that_is_killed_is_not_there(small: Assay, tmp_path: Path) -> None:
    Path(".assay").mkdir()
    Path(".assay/x.npy").write_bytes(random.Random(1).randbytes(40 * 2**20))
    process = started("backup", "../c.tar.gz", "--gold", "gold.jsonl")
    while not list(tmp_path.glob(".c.tar.gz.*")) and process.poll() is None:
        time.sleep(0.001)
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "c.tar.gz").exists()
    done(small("backup", "../c.tar.gz", "--gold", "gold.jsonl"))
