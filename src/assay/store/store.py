"""A store on SQLAlchemy Core, in a file of SQLite or a database of PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, func, inspect, select, text

from assay.store import migrate
from assay.store.accounts import Accounts
from assay.store.audit import AuditTrail
from assay.store.database import address, connect, is_writable, reading
from assay.store.logs import Logs
from assay.store.records import StoreFacts
from assay.store.runs import Runs
from assay.store.tables import metadata

NOT_WRITABLE = "the store cannot be written; it is only read"
OUTDATED = (
    "the store is of an earlier version (schema {schema}); what writes to it next upgrades it"
)


class Store(Logs, Runs, Accounts, AuditTrail):
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

    def close(self) -> None:
        self._engine.dispose()
