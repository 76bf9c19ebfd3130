"""The store on SQLAlchemy Core: every method of the contract as one transaction. See
`assay.store.Store`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, text

from assay.core.types import Vote
from assay.store import log_rows, migrate, reviews
from assay.store.accounts import Accounts
from assay.store.database import address, connect, lock_rulings, read, write
from assay.store.records import (
    AuditEntry,
    CaseCounts,
    Decision,
    Feedback,
    Neighbours,
    Purged,
    QueueCount,
    ReviewFilter,
    ReviewItem,
    ReviewState,
    Ruling,
    RunRecord,
    SearchLog,
    StoreFacts,
    Support,
)
from assay.store.tables import metadata


class SqlStore(Accounts):
    def __init__(self, target: str | Path, *, create: bool = True) -> None:
        self._engine = connect(target, create=create)
        self.address = address(self._engine)
        try:
            self.created = migrate.upgrade(self._engine, create=create)
        except BaseException:
            self._engine.dispose()
            raise

    def close(self) -> None:
        self._engine.dispose()

    # ── searches and feedback ─────────────────────────────────────────────────────────────────────

    def add_searches(self, searches: Sequence[SearchLog]) -> int:
        return write(self._engine, lambda connection: log_rows.add_searches(connection, searches))

    def searches(self, ids: Sequence[str]) -> list[SearchLog]:
        return read(self._engine, lambda connection: log_rows.searches(connection, ids))

    def add_decisions(self, decisions: Sequence[Decision], *, same_case: bool = False) -> int:
        return write(
            self._engine,
            lambda connection: log_rows.add_decisions(connection, decisions, same_case),
        )

    def add_feedback(self, feedback: Sequence[Feedback]) -> int:
        return write(self._engine, lambda connection: log_rows.add_feedback(connection, feedback))

    def feedback(
        self,
        *,
        log_id: str = "",
        decision_id: str = "",
        doc_id: str = "",
        query: str = "",
        limit: int = 1000,
    ) -> list[Feedback]:
        filters = {"log_id": log_id, "decision_id": decision_id, "doc_id": doc_id}
        return read(
            self._engine, lambda connection: log_rows.feedback(connection, filters, query, limit)
        )

    def case_counts(self, decision_ids: Sequence[str]) -> CaseCounts:
        return read(self._engine, lambda connection: log_rows.case_counts(connection, decision_ids))

    def of_other_cases(self, doc_id: str, log_ids: Sequence[str]) -> set[str]:
        return read(
            self._engine, lambda connection: log_rows.of_other_cases(connection, doc_id, log_ids)
        )

    def shown_documents(self, ids: Sequence[str]) -> set[str]:
        return read(self._engine, lambda connection: log_rows.shown_documents(connection, ids))

    def search_total(self) -> int:
        return read(self._engine, log_rows.search_total)

    def support(
        self, *, min_score: int = 3, since: datetime | None = None, corpora: Sequence[str] = ()
    ) -> list[Support]:
        return read(
            self._engine, lambda connection: log_rows.support(connection, min_score, since, corpora)
        )

    def showings(
        self, queries: Sequence[str], *, since: datetime | None = None
    ) -> dict[tuple[str, str, str], int]:
        return read(self._engine, lambda connection: log_rows.showings(connection, queries, since))

    def query_counts(self) -> dict[tuple[str, str], int]:
        return read(self._engine, log_rows.query_counts)

    def purge(self, before: datetime, *, keep_cited: bool = False) -> Purged:
        return write(
            self._engine, lambda connection: log_rows.purge(connection, before, keep_cited)
        )

    # ── review ────────────────────────────────────────────────────────────────────────────────────

    def append_votes(self, gold: str, votes: Sequence[Vote]) -> int:
        return write(self._engine, lambda connection: reviews.append_votes(connection, gold, votes))

    def votes(self, gold: str, *, query_id: str = "") -> list[Vote]:
        return read(self._engine, lambda connection: reviews.votes(connection, gold, query_id))

    def sync_gold_rows(self, items: Sequence[ReviewItem], *, gold: str, at: datetime) -> int:
        return write(
            self._engine, lambda connection: reviews.sync_gold_rows(connection, items, gold, at)
        )

    def withdraw(self, items: Sequence[ReviewItem], *, by: str, at: datetime, reason: str) -> int:
        return write(
            self._engine, lambda connection: reviews.withdraw(connection, items, by, at, reason)
        )

    def gold_name(
        self,
        identity: str,
        names: Sequence[str],
        *,
        gone: Callable[[str], bool],
        claim: bool = True,
    ) -> str:
        known = read(self._engine, reviews.names)
        if identity in known or not claim:
            return known.get(identity) or reviews.free_name(known, names, gone)
        return write(
            self._engine, lambda connection: reviews.claim_name(connection, identity, names, gone)
        )

    def gold_identities(self) -> dict[str, str]:
        return read(self._engine, reviews.names)

    def gold_names(self) -> list[str]:
        return read(self._engine, reviews.gold_names)

    def issued_ids(self, gold: str) -> dict[str, str]:
        return read(self._engine, lambda connection: reviews.issued(connection, gold))

    def add_review_items(self, items: Sequence[ReviewItem]) -> int:
        return write(self._engine, lambda connection: reviews.add_items(connection, items))

    def review_items(
        self,
        *,
        gold: str = "",
        kind: str = "",
        state: str = "",
        ids: Sequence[str] = (),
        limit: int = 100,
        offset: int = 0,
    ) -> list[ReviewItem]:
        filters = {"gold": gold, "kind": kind, "state": state}
        return read(
            self._engine, lambda connection: reviews.items(connection, filters, ids, limit, offset)
        )

    def find_items(
        self, wanted: ReviewFilter, *, limit: int = 100, offset: int = 0
    ) -> list[ReviewItem]:
        return read(
            self._engine, lambda connection: reviews.find(connection, wanted, limit, offset)
        )

    def count_items(self, wanted: ReviewFilter) -> int:
        return read(self._engine, lambda connection: reviews.how_many(connection, wanted))

    def item_neighbours(self, wanted: ReviewFilter, item: ReviewItem) -> Neighbours:
        return read(self._engine, lambda connection: reviews.neighbours(connection, wanted, item))

    def queue_counts(self) -> list[QueueCount]:
        return read(self._engine, reviews.queue_counts)

    def last_decided(self, by: str) -> list[ReviewItem]:
        return read(self._engine, lambda connection: reviews.last_decided(connection, by))

    def rule(self, rulings: Sequence[Ruling], *, then: Callable[[], None] = lambda: None) -> None:
        def work(connection: Connection) -> None:
            reviews.rule(connection, rulings)
            then()

        write(self._engine, work)

    def was_ruled(self, gold: str, ref: str, *, action: str, by: str, at: datetime) -> bool:
        # as a writer, so that SQLite waits too
        return write(
            self._engine,
            lambda connection: reviews.was_ruled(connection, (gold, ref), action, (by, at)),
        )

    def review_times(self, gold: str = "") -> list[tuple[ReviewState, datetime, datetime | None]]:
        return read(self._engine, lambda connection: reviews.times(connection, gold))

    def waiting(self) -> tuple[int, datetime | None]:
        return read(self._engine, reviews.waiting)

    # ── history ───────────────────────────────────────────────────────────────────────────────────

    def put_run(self, run: RunRecord) -> None:
        write(self._engine, lambda connection: reviews.put_run(connection, run))

    def run(self, run_id: str) -> RunRecord | None:
        return read(self._engine, lambda connection: reviews.run(connection, run_id))

    def runs(self, *, gold: str = "", limit: int = 50, offset: int = 0) -> list[RunRecord]:
        return read(
            self._engine, lambda connection: reviews.run_list(connection, gold, limit, offset)
        )

    def append_audit(
        self,
        entries: Sequence[AuditEntry],
        *,
        gold: str = "",
        then: Callable[[], None] = lambda: None,
    ) -> None:
        def work(connection: Connection) -> None:
            if gold:
                lock_rulings(connection, gold)
            reviews.append_audit(connection, entries)
            then()

        write(self._engine, work)

    def was_noted(self, gold: str, entry_id: str) -> bool:
        # as a writer, so that SQLite waits too
        return write(self._engine, lambda connection: reviews.was_noted(connection, gold, entry_id))

    def audit(
        self, *, subject: str = "", action: str = "", limit: int = 100, offset: int = 0
    ) -> list[AuditEntry]:
        return read(
            self._engine,
            lambda connection: reviews.audit(connection, subject, action, limit, offset),
        )

    def health(self) -> StoreFacts:
        return read(self._engine, _facts)


def _facts(connection: Connection) -> StoreFacts:
    backend = connection.dialect.name
    version = "SHOW server_version" if backend == "postgresql" else "SELECT sqlite_version()"
    tables = metadata.tables.items()
    return StoreFacts(
        backend=backend,
        version=str(connection.execute(text(version)).scalar()),
        schema=migrate.revision(connection) or "",
        rows={name: reviews.count(connection, table) for name, table in tables},
    )
