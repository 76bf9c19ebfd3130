"""One Chromium for all tests of this folder; every test has people of its own in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.store import Store
from kit.stores import migrated_file, postgres_server, postgres_url, store
from kit.stores import sqlite_store_url as store_url

__all__ = ["migrated_file", "postgres_server", "postgres_url", "store", "store_url"]


@pytest.fixture(scope="package")
def started_browser() -> Iterator[Any]:
    """Until the tests of this folder are done: while it runs, nothing else in this thread can use
    asyncio."""
    from kit.browser import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture
def url(store: Store, dataset: Path) -> Iterator[str]:
    """A server on the graded set of a test, which is called `set` there."""
    from kit.browser import served_set

    with served_set(store, dataset) as address:
        yield address


@pytest.fixture
def browser(started_browser: Any) -> Iterator[Any]:
    yield started_browser
    for context in started_browser.contexts:
        context.close()
