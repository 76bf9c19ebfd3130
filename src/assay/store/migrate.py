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
    missing_store,
    outdated_store,
    read,
    write,
)
from assay.store.records import StoreError, StoreOutdated
from assay.store.tables import LEGACY, metadata

if TYPE_CHECKING:
    from alembic.config import Config

_FOLDER = Path(__file__).parent / "migrations"
# By the names of the files: a store that is up to date is opened without loading Alembic.
SCHEMAS = sorted(path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*_*.py"))
HEAD = SCHEMAS[-1]
OLDEST_READABLE = "0003"  # from here on every table that reviews were kept in has its last form
# Tables that a store of any version has.
OURS = {"alembic_version", "decision_citations", "decisions", "search_logs", "shown_results"}
_REVISION = text("SELECT version_num FROM alembic_version")


def upgrade(engine: Engine, *, create: bool = True) -> bool:
    """Run the migrations that a store lacks, and return whether there was no store before. Alembic
    is loaded only where it has to run."""
    now = _schema(engine)
    if now == HEAD:
        return False
    if now not in SCHEMAS:
        read(engine, refuse_collision)
    if now is None and not create:
        raise missing_store(address(engine))
    _refuse_newer(now)
    write(engine, lambda connection: _migrate(connection, "head"))
    return now is None


def readable(engine: Engine) -> str:
    """Return the schema of a store that is only read, if that can be done with this schema."""
    now = _schema(engine)
    if now is None:
        raise missing_store(address(engine))
    if now not in SCHEMAS:
        read(engine, refuse_collision)
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


def refuse_collision(connection: Connection) -> None:
    """Refuse tables of another program in the place of ours. A file of SQLite belongs to one
    program: there, any table of another program is refused."""
    names = set(inspect(connection).get_table_names())
    if names >= OURS:
        return
    if revision(connection) is None:
        names.discard("alembic_version")  # all that a downgrade leaves behind
    is_file = connection.dialect.name == "sqlite"
    tables = sorted(names if is_file else names & {*metadata.tables, *LEGACY, *OURS})
    if not tables:
        return
    listed = ", ".join(tables[:3])
    where = address(connection.engine)
    if is_file:
        raise InputError(
            f"not a store: a database of another program, with tables {listed}",
            where=where,
            hint="Give a file that does not exist yet.",
        )
    schema = connection.execute(text("SELECT current_schema()")).scalar()
    raise InputError(
        f"the schema {schema} has tables of another program that are named like those of Assay: "
        f"{listed}",
        where=where,
        hint="Nothing was written. Name another schema in the address: add "
        "?options=-csearch_path%3DNAME to it (& instead of ? if it has a ?).",
    )


def _make_schema(connection: Connection) -> None:
    """Create the schema that the search path names, if it has none that exists."""
    if connection.dialect.name != "postgresql":
        return
    found, path = connection.execute(
        text("SELECT current_schema(), current_setting('search_path')")
    ).one()
    if found is None:
        name = path.partition(",")[0].strip().strip('"').replace('"', '""')
        connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{name}"'))


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
    _make_schema(connection)
    command.upgrade(_alembic(connection), schema)


def _migrate(connection: Connection, to: str) -> None:
    from alembic import command

    lock(connection, MIGRATION_LOCK)
    _make_schema(connection)
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
