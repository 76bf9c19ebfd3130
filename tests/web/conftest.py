from functools import cache
from typing import Any

import pytest

import kit.server  # noqa: F401 - the server takes the host name of the test client from now on
from assay.workbench.project import people
from kit.stores import migrated_file, postgres_server, postgres_url, store
from kit.stores import sqlite_store_url as store_url

__all__ = ["migrated_file", "postgres_server", "postgres_url", "store", "store_url"]


@pytest.fixture(autouse=True)
def quick_passwords(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same algorithm at a price that tests can pay; `dear` in a test's name keeps the price."""
    if "dear" not in request.node.name:
        monkeypatch.setattr(people, "_hasher", _cheap)


@cache
def _cheap() -> Any:
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
