"""Bringing a store's schema up to date, from any number of processes at once.

A migration is one file, `migrations/versions/NUMBER_what.py`, with the same number as its
`revision`. The highest number is the schema that this Assay wants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from assay.core.errors import InputError
from assay.store.database import (
    MIGRATION_LOCK,
    address,
    lock,
    missing,
    outdated_store,
    read,
    write,
)
from assay.store.errors import StoreError, StoreOutdated
from assay.store.tables import LEGACY, metadata

if TYPE_CHECKING:
    from alembic.config import Config

_FOLDER = Path(__file__).parent / "migrations"
# By the names of the files: a store that is up to date is opened without loading Alembic.
SCHEMAS = sorted(path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*_*.py"))
HEAD = SCHEMAS[-1]
OLDEST_READABLE = "0003"  # from here on every table that reviews were kept in has its last form
_REVISION = text("SELECT version_num FROM alembic_version")


def upgrade(engine: Engine, *, create: bool = True) -> bool:
    """Run the migrations that a store lacks, and return whether there was no store before. Alembic
    is loaded only where it has to run."""
    now = _schema(engine)
    if now is None and not create:
        raise missing(address(engine))
    if now == HEAD:
        return False
    _refuse_newer(now)
    if now is None and engine.dialect.name == "sqlite":
        _refuse_foreign(engine)
    write(engine, lambda connection: _migrate(connection, "head"))
    return now is None


def readable(engine: Engine) -> str:
    """Return the schema of a store that is only read, if that can be done with this schema."""
    now = _schema(engine)
    if now is None:
        raise missing(address(engine))
    _refuse_newer(now)
    if now < OLDEST_READABLE:
        raise outdated_store(address(engine))
    return now


def _schema(engine: Engine) -> str | None:
    """The schema of a store, in one statement."""
    try:
        return read(engine, lambda connection: connection.execute(_REVISION).scalar())
    except StoreOutdated:  # without the table of the schema
        return None


def _refuse_newer(schema: str | None) -> None:
    if schema is not None and schema not in SCHEMAS:
        message = f"the store has schema {schema!r}, newer than this Assay ({HEAD}): upgrade Assay"
        raise StoreError(message)


def _refuse_foreign(engine: Engine) -> None:
    ours = {*metadata.tables, *LEGACY, "alembic_version"}
    names = read(engine, lambda connection: inspect(connection).get_table_names())
    if tables := sorted(set(names) - ours):
        raise InputError(
            f"not a store: a database of another program, with tables {', '.join(tables[:3])}",
            where=address(engine),
            hint="Give a file that does not exist yet.",
        )


def downgrade(engine: Engine, to: str = "base") -> None:
    write(engine, lambda connection: _migrate(connection, to))


def revision(connection: Connection) -> str | None:
    """Return the schema of a store, or None if there is none, in the caller's transaction."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    number: str | None = connection.execute(_REVISION).scalar()
    return number


def create_at(connection: Connection, schema: str) -> None:
    """An empty store as it was at an earlier schema, for what a backup of that time has."""
    from alembic import command

    lock(connection, MIGRATION_LOCK)
    command.upgrade(_alembic(connection), schema)


def _migrate(connection: Connection, to: str) -> None:
    from alembic import command

    lock(connection, MIGRATION_LOCK)
    now = revision(connection)  # again, under the lock: another process may have been first
    _refuse_newer(now)
    if to != "head":
        command.downgrade(_alembic(connection), to)
    elif now != HEAD:
        command.upgrade(_alembic(connection), to)


def _alembic(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
