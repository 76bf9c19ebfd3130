"""What every store promises, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text

from assay.core.types import Vote
from assay.store import Store, StoreError
from assay.store.people_promises import PEOPLE_PROMISES
from assay.store.promises import PROMISES
from assay.store.records import AuditEntry, SearchLog

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("keeps", [*PROMISES, *PEOPLE_PROMISES], ids=lambda check: check.__name__)
def test_every_promise_is_kept(store: Store, keeps: Callable[[Store], None]) -> None:
    keeps(store)


@pytest.mark.parametrize("table", ["votes", "audit_trail"])
@pytest.mark.parametrize("change", ["UPDATE {} SET id = 'x'", "DELETE FROM {}"])
def test_votes_and_audit_are_append_only_in_the_database_itself(
    store: Any, table: str, change: str
) -> None:
    vote = Vote(id="v", query_id="q", doc_id="d", grade=1, judge="j", kind="human", at="2026")
    store.append_votes("g", [vote])
    store.append_audit([AuditEntry(id="a", at=NOW, by="b", action="c", subject="d")])
    with (
        pytest.raises(Exception, match="append-only"),
        store._engine.begin() as connection,
    ):
        connection.execute(text(change.format(table)))


def test_driver_errors_do_not_escape(store: Any) -> None:
    with pytest.raises(StoreError):
        store.add_searches([SearchLog(id="l1", at=None, query="q")])  # type: ignore[arg-type]
