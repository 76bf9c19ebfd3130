"""A store on SQLAlchemy Core, in a file of SQLite or a database of PostgreSQL, with the methods for
runs and for the audit trail."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    Select,
    bindparam,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)

from assay.store import migrate
from assay.store.accounts import Accounts
from assay.store.database import address, connect, insert_new, is_writable, reading, row_of, writing
from assay.store.logs import Logs
from assay.store.records import ANSWERS, AuditEntry, RunRecord, StoreFacts
from assay.store.tables import ABOUT_SETS, audit_trail, metadata, runs

NOT_WRITABLE = "the store cannot be written; it is only read"
OUTDATED = (
    "the store is of an earlier version (schema {schema}); what writes to it next upgrades it"
)


class Store(Logs, Accounts):
    """An open store. `assay.testing.check_store` checks these promises on both databases:

    - Every method is one transaction: all of it happens or none.
    - A method that returns has made its change durable and visible to every other connection.
    - Writing the same thing twice (same id, or same identity where there is one) changes nothing
      the second time.
    - Concurrent writers wait for each other; none sees an error because another one is writing.
    - An unreachable store raises `StoreUnavailable`; any other failure raises `StoreError`. No
      error of a driver escapes. An address that names no store raises `InputError`.
    """

    def __init__(self, target: str | Path, *, create: bool = True, read_only: bool = False) -> None:
        self._engine = connect(target, create=create, read_only=read_only)
        self.address = address(self._engine)  # without its password
        self.read_only = read_only
        self.created = False
        self.notes: list[str] = []  # what keeps the store from being as it should
        try:
            if not read_only:
                self.created = migrate.upgrade(self._engine, create=create)
            elif (schema := migrate.readable(self._engine)) != migrate.HEAD:
                self.notes.append(OUTDATED.format(schema=schema))
            if self._engine.dialect.name == "sqlite" and not is_writable(Path(self.address)):
                self.notes.append(NOT_WRITABLE)
        except BaseException:
            self._engine.dispose()
            raise

    @reading
    def health(self, connection: Connection) -> StoreFacts:
        """Return the backend, its version, the schema revision and the number of rows by table."""
        backend = connection.dialect.name
        there = set(inspect(connection).get_table_names())
        version = "SHOW server_version" if backend == "postgresql" else "SELECT sqlite_version()"
        return StoreFacts(
            backend=backend,
            version=str(connection.execute(text(version)).scalar()),
            schema=migrate.revision(connection) or "",
            rows={
                name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
                for name, table in metadata.tables.items()
                if name in there
            },
        )

    @writing
    def put_run(self, connection: Connection, run: RunRecord) -> None:
        """Keep a run. A run that is already there stays as it is."""
        connection.execute(insert_new(connection, runs), row_of(run))

    @reading
    def run(self, connection: Connection, run_id: str) -> RunRecord | None:
        """Return a run with its results."""
        row = connection.execute(select(runs).where(runs.c.id == run_id)).mappings().first()
        return None if row is None else _record(row)

    @reading
    def runs(
        self,
        connection: Connection,
        *,
        gold: str | Sequence[str] = "",
        engine: str = "",
        answers: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> list[RunRecord]:
        """Return runs without their results, newest first: those on a gold set or on any of
        several names, and those of an engine. Without a name, runs on every gold set, or the
        checks of every file of answers."""
        query = _runs_query(gold != "", bool(engine), answers)
        names = [gold] if isinstance(gold, str) else list(gold)
        asked = {"golds": names, "engine": engine, "limit": limit, "offset": offset}
        return [_record(row) for row in connection.execute(query, asked).mappings()]

    @reading
    def whole_runs(self, connection: Connection, run_ids: Sequence[str]) -> list[RunRecord]:
        """Return several runs with their results."""
        query = select(runs).where(runs.c.id.in_(run_ids))
        return [_record(row) for row in connection.execute(query).mappings()]

    @reading
    def run_golds(self, connection: Connection) -> list[str]:
        """Return the name of every gold set that has runs, in order."""
        return sorted(connection.execute(select(runs.c.gold).distinct()).scalars())

    @writing
    def keep_summaries(self, connection: Connection, records: Sequence[RunRecord]) -> None:
        """Keep the summary and the verdict of runs, with the digest of the gates and the baseline
        that the verdict answers."""
        names = ("summary", "verdict", "asked")
        kept = update(runs).where(runs.c.id == bindparam("run"))
        kept = kept.values({name: bindparam(f"new_{name}") for name in names})
        rows = [
            {"run": each.id} | {f"new_{name}": getattr(each, name) for name in names}
            for each in records
        ]
        if rows:
            connection.execute(kept, rows)

    @writing
    def append_audit(self, connection: Connection, entries: Sequence[AuditEntry]) -> None:
        """Add entries to the audit trail of the server: who changed accounts, keys and settings,
        when and why. The database itself refuses to change or remove them."""
        if entries:
            connection.execute(insert(audit_trail), [row_of(entry) for entry in entries])

    @reading
    def audit(
        self,
        connection: Connection,
        *,
        subject: str = "",
        action: str = "",
        limit: int = 100,
        offset: int = 0,
    ) -> list[AuditEntry]:
        """Return entries, newest first. Those of earlier versions about gold sets are left out:
        they are in the logs of the sets."""
        query = _audit_query(bool(subject), bool(action))
        asked = {"subject": subject, "action": action, "limit": limit, "offset": offset}
        return [AuditEntry(**row) for row in connection.execute(query, asked).mappings()]

    def close(self) -> None:
        self._engine.dispose()


def _record(row: Any) -> RunRecord:
    return RunRecord(**{**row, "asked": row["asked"] or ""})


# Statements of pages are made once: to make one takes as long as to run it.


@cache
def _runs_query(of_sets: bool, of_engine: bool, answers: bool) -> Select[Any]:
    query = select(*(column for column in runs.columns if column.name != "results"))
    if of_sets:
        query = query.where(runs.c.gold.in_(bindparam("golds", expanding=True)))
    else:
        of_answers = runs.c.gold.startswith(ANSWERS, autoescape=True)
        query = query.where(of_answers if answers else ~of_answers)
    if of_engine:
        query = query.where(runs.c.engine == bindparam("engine"))
    return _page(query.order_by(runs.c.at.desc(), runs.c.id.desc()))


@cache
def _audit_query(of_subject: bool, of_action: bool) -> Select[Any]:
    query = select(audit_trail).order_by(audit_trail.c.at.desc(), audit_trail.c.id.desc())
    if of_subject:
        query = query.where(audit_trail.c.subject == bindparam("subject"))
    if of_action:
        query = query.where(audit_trail.c.action == bindparam("action"))
    return _page(query.where(*(audit_trail.c.action.notlike(f"{start}%") for start in ABOUT_SETS)))


def _page(query: Select[Any]) -> Select[Any]:
    return query.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=Integer))
