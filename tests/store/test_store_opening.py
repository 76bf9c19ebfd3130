"""Opening a store, and being refused, as commands say it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.testing import open_store
from kit.commands import Assay
from kit.stores import database, log_one_search


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        ("postgresql://user:secret@127.0.0.1:1/none", 4, "refused"),
        ("mysql://user:secret@host/db", 2, "no store on 'mysql'"),
        ("mysql://user:secret@host/db", 2, "sqlite:///FILE or postgresql://"),
        ("sqlite://", 2, "in-memory"),
        ("/proc/nowhere/assay.db", 4, "/proc/nowhere"),
        (".", 2, "is a folder"),
    ],
)
def test_what_cannot_be_opened(assay_cli: Assay, target: str, code: int, message: str) -> None:
    done = log_one_search(assay_cli, target)
    assert (done.code, message in done.err, "secret" in done.err) == (code, True, False), done.err


def test_reading_does_not_make_a_store(assay_cli: Assay, store_url: str) -> None:
    done = assay_cli("people", "list", "--store", store_url)
    assert (done.code, "there is no store here" in done.err) == (2, True), done.err
    done = log_one_search(assay_cli, store_url)
    assert (done.code, "new store" in done.err) == (0, True), done.err
    done = assay_cli("people", "list", "--store", store_url)
    assert (done.code, "new store" in done.err) == (0, False), done.err


def test_a_store_of_a_newer_assay_is_refused(assay_cli: Assay, store_url: str) -> None:
    open_store(store_url).close()
    with database(store_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    done = assay_cli("people", "list", "--store", store_url)
    assert (done.code, "newer than this Assay" in done.err) == (4, True), done.err


def test_a_server_that_takes_no_changes(assay_cli: Assay, postgres_url: str) -> None:
    open_store(postgres_url).close()
    with database(postgres_url) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert assay_cli("people", "list", "--store", postgres_url).code == 0
    done = log_one_search(assay_cli, postgres_url)
    assert (done.code, "the store cannot be written. Use a server" in done.err) == (2, True), done


def test_the_last_migration_is_the_schema_of_a_new_store(store_url: str) -> None:
    """Migrations follow each other by number, and each file is named by its own."""
    folder = Path(assay.__file__).parent / "store" / "migrations" / "versions"
    before = "None"
    for path in sorted(folder.glob("[0-9]*.py")):
        number = path.name.partition("_")[0]
        written = path.read_text(encoding="utf-8")
        assert f'revision = "{number}"\ndown_revision = {before}\n' in written, path.name
        before = f'"{number}"'
    store = open_store(store_url)
    assert store.health().schema == number
    store.close()


OLD = (
    "DROP INDEX decisions_case",
    "DROP INDEX search_logs_case",
    *(f"ALTER TABLE runs DROP COLUMN {name}" for name in ("summary", "verdict", "asked")),
    "UPDATE alembic_version SET version_num = '0004'",
)


def test_runs_of_an_older_store_are_known_by_the_path_of_their_set(store_url: str) -> None:
    """The short names of the table gold_sets are renamed; what it does not know stays."""
    project = Path(store_url).parent if "://" not in store_url else Path("/elsewhere")
    inside = project / "eval" / "a.json"
    sets = {
        "https://old.example/law.git#eval/dataset.json": "dataset",
        "https://new.example/law.git#eval/dataset.json": "eval/dataset",
        "./gold-set.jsonl": "gold-set",
        str(inside): "a",
        "/far/away/b.json": "b",
        "git@host:law.git#folder/a": "folder/a",
    }
    open_store(store_url).close()
    with database(store_url) as connection:
        for statement in OLD:
            connection.execute(statement)
        for identity, name in sets.items():
            connection.execute(f"INSERT INTO gold_sets VALUES ('{identity}', '{name}')")
        for name in (*sets.values(), "unknown"):
            connection.execute(
                "INSERT INTO runs (id, at, engine, gold, gold_fingerprint, corpus_fingerprint, "
                f"results) VALUES ('{name}', '2026-05-31', 'e', '{name}', '', '', "
                f"'{json.dumps({'n': 1})}')"
            )
    store = open_store(store_url)
    found = {run.id: run.gold for run in store.runs()}
    assert found == {
        "dataset": "eval/dataset.json",
        "eval/dataset": "eval/dataset.json",
        "gold-set": "gold-set.jsonl",
        "a": "eval/a.json" if "://" not in store_url else str(inside),
        "b": "/far/away/b.json",
        "folder/a": "folder/a",
        "unknown": "unknown",
    }
    first = store.run("dataset")
    assert first is not None
    assert (first.results, first.summary, first.verdict, first.asked) == ({"n": 1}, None, None, "")
    store.close()
