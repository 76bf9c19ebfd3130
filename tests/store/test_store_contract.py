"""What every store promises, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assay.testing import STORE_CHECKS
from kit.stores import database

AUDITED = "INSERT INTO audit_trail VALUES ('x', '2026-05-31', 'a', 'b', 'c', '', NULL, NULL)"
VOTED = (
    "INSERT INTO votes VALUES "
    "('g', 'x', 'q', 'd', 1, 'ada', 'human', '2026', '', '', '', NULL, '', '')"
)


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_every_promise_is_kept(store: Any, check: Callable[[Any], None]) -> None:
    check(store)


@pytest.mark.parametrize(("table", "row"), [("votes", VOTED), ("audit_trail", AUDITED)])
@pytest.mark.parametrize("change", ["UPDATE {} SET id = 'y'", "DELETE FROM {}"])
def test_audit_and_old_votes_are_append_only_in_the_database_itself(
    store: Any, store_url: str, table: str, row: str, change: str
) -> None:
    store.close()
    with database(store_url) as connection:
        connection.execute(row)
    with pytest.raises(Exception, match="append-only"), database(store_url) as connection:
        connection.execute(change.format(table))
