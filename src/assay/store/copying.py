"""A whole store as files, and back again, for `assay backup` and `assay restore`.

SQLite is copied with VACUUM INTO, which reads one consistent state while others write. PostgreSQL
is copied table by table in one transaction, in its own COPY format."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any, Literal

import msgspec
from sqlalchemy import Connection, create_engine, inspect

from assay.core.errors import InputError
from assay.store import migrate, open_store
from assay.store.database import address, connect, missing, read, url_of, write
from assay.store.records import StoreError
from assay.store.tables import LEGACY, metadata

DATABASE = "assay.db"
# Everything in a database that can run when it is used: triggers, views and virtual tables. SQLite
# obeys the text of an entry whatever type the entry claims, so the text counts too.
CODE = """SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL
AND NOT (type = 'table' AND sql LIKE 'create table %')
AND NOT (type = 'index' AND (sql LIKE 'create index %' OR sql LIKE 'create unique index %'))"""


class StoreCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A store in files. `tables` are the PostgreSQL tables with their columns, parents before
    children; a SQLite store is one file."""

    backend: Literal["sqlite", "postgresql"]
    schema: str
    tables: dict[str, list[str]] = {}


def copy_out(target: str, folder: Path) -> StoreCopy:
    """Copy the store into files in `folder`. `NoStore` if there is none."""
    engine = connect(target, create=False)
    try:
        schema = read(engine, migrate.revision)
        if schema is None:
            raise missing(address(engine))
        if engine.dialect.name == "postgresql":
            tables = read(engine, lambda connection: _dump(connection, folder))
            return StoreCopy(backend="postgresql", schema=schema, tables=tables)
        source = str(engine.url.database)
        with contextlib.closing(sqlite3.connect(source, isolation_level=None)) as connection:
            connection.execute("VACUUM INTO ?", [str(folder / DATABASE)])
        return StoreCopy(backend="sqlite", schema=schema)
    except sqlite3.Error as error:
        raise StoreError(f"{address(engine)}: {error}") from error
    finally:
        engine.dispose()


def _dump(connection: Connection, folder: Path) -> dict[str, list[str]]:
    """Our tables; the same database may have tables of other programs."""
    found = inspect(connection)
    tables = {
        name: [column["name"] for column in found.get_columns(name)]
        for name, _ in found.get_sorted_table_and_fkc_names()
        if name and name in {*metadata.tables, *LEGACY}
    }
    driver: Any = connection.connection.driver_connection
    for name, columns in tables.items():
        with (
            driver.cursor().copy(f"COPY {_quoted(name, columns)} TO STDOUT") as rows,
            (folder / f"{name}.copy").open("wb") as file,
        ):
            file.writelines(rows)
    return tables


def _quoted(table: str, columns: list[str]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f'"{table}" ({names})'


def prepare(folder: Path, copy: StoreCopy, target: str) -> Path | None:
    """Check the copy of a store and where it is to be restored. A SQLite copy is brought up to
    date. Returns the file that it becomes; None for PostgreSQL, where `copy_in` does the rest."""
    if copy.schema not in migrate.SCHEMAS:
        raise InputError(
            f"the store in it has schema {copy.schema}, which this Assay ({migrate.HEAD}) "
            "does not know",
            hint="It was made by a newer Assay. Upgrade Assay first.",
        )
    url = url_of(target)
    if url.get_backend_name() != copy.backend:
        raise InputError(
            f"the store in it is on {copy.backend} and is restored there",
            hint="Give such a store with --store.",
        )
    if copy.backend == "postgresql":
        return None
    file = folder / DATABASE
    _check_file(file, copy.schema)
    open_store(file, create=False).close()  # brings it up to date
    file.chmod(0o600)
    return Path(str(url.database)).expanduser()


def _check_file(file: Path, schema: str) -> None:
    """Refuse a database that is damaged, or that has a trigger, a view or a virtual table which a
    store of this schema does not have: a backup may come from a stranger."""
    engine = create_engine("sqlite://")
    with engine.begin() as fresh:
        migrate.create_at(fresh, schema)
        own = {tuple(row) for row in fresh.exec_driver_sql(CODE)}
    engine.dispose()
    try:
        with contextlib.closing(sqlite3.connect(file)) as connection:
            if foreign := set(connection.execute(CODE)) - own:
                name = min(str(name) for name, _ in foreign)
                raise InputError(
                    f"cannot be restored: its database has {name!r}, which no store has",
                    hint="A backup holds only data. Do not use this file.",
                )
            state = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        state, version = str(error), None
    if state != "ok" or version != (schema,):
        raise InputError(f"cannot be restored: the database in it is damaged ({state})")


def copy_in(folder: Path, copy: StoreCopy, target: str) -> str:
    """Load the files of a PostgreSQL store into a database without one, at the schema they have,
    and bring it up to date, all in one transaction. Returns the address without its password."""
    engine = connect(target)
    try:
        write(engine, lambda connection: _load(connection, folder, copy))
        return address(engine)
    finally:
        engine.dispose()


def _load(connection: Connection, folder: Path, copy: StoreCopy) -> None:
    if migrate.revision(connection) is not None:
        where = address(connection.engine)
        raise InputError("there is a store already", where=where, hint="Give an empty database.")
    migrate.refuse_collision(connection)
    others = set(inspect(connection).get_table_names())
    migrate.create_at(connection, copy.schema)
    found = inspect(connection)
    made = set(found.get_table_names()) - others
    driver: Any = connection.connection.driver_connection
    for name, columns in copy.tables.items():
        known = {column["name"] for column in found.get_columns(name)} if name in made else set()
        if not columns or not known.issuperset(columns):
            raise InputError(f"cannot be restored: no store has this table {name!r}")
        try:
            with (
                driver.cursor().copy(f"COPY {_quoted(name, columns)} FROM STDIN") as rows,
                (folder / f"{name}.copy").open("rb") as file,
            ):
                shutil.copyfileobj(file, rows)
        except (connection.dialect.loaded_dbapi.Error, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"cannot be restored: its table {name!r}: {reason}") from error
    migrate.create_at(connection, migrate.HEAD)
