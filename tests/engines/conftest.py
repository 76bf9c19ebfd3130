"""Databases and search servers for the tests of engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.search_server import SearchServer, search_server
from kit.stores import migrated_file, postgres_server, postgres_url, store, store_url

__all__ = ["migrated_file", "postgres_server", "postgres_url", "store", "store_url"]


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with search_server() as running:
        yield running
