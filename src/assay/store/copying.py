"""A whole store as files, and back again, for `assay backup` and `assay restore`.

SQLite is copied with VACUUM INTO, which reads one consistent state while others write. PostgreSQL
is copied table by table in one transaction, in its own COPY format."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any, Literal

import msgspec
from sqlalchemy import Connection, create_engine, inspect

from assay.core.errors import InputError
from assay.store import migrate
from assay.store.database import address, connect, missing, read, url_of, write
from assay.store.errors import StoreError
from assay.store.tables import LEGACY, metadata

DATABASE = "assay.db"
BLOCK = 2**20
# Everything in a database that can run when it is used: triggers, views and virtual tables. SQLite
# obeys the text of an entry whatever type the entry claims, so the text counts too.
CODE = """SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL
AND NOT (type = 'table' AND sql LIKE 'create table %')
AND NOT (type = 'index' AND (sql LIKE 'create index %' OR sql LIKE 'create unique index %'))"""


class StoreCopy(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied. `tables` are the PostgreSQL tables with their columns, parents before
    children; a SQLite store is one file."""

    backend: Literal["sqlite", "postgresql"]
    schema: str
    tables: dict[str, list[str]] = {}

    def files(self) -> list[str]:
        if self.backend == "sqlite":
            return [DATABASE]
        return [f"{name}.copy" for name in self.tables]


def database_file(target: str) -> Path | None:
    """The file of a store on SQLite; None for a store on PostgreSQL."""
    url = url_of(target)
    is_file = url.get_backend_name() == "sqlite"
    return Path(str(url.database)).expanduser() if is_file else None


def copy_out(target: str | Path, folder: Path) -> StoreCopy:
    """Copy the store into files in `folder`. `NoStore` if there is none."""
    engine = connect(target, create=False)
    try:
        schema = read(engine, migrate.revision)
        if schema is None:
            raise missing(address(engine))
        if engine.dialect.name == "sqlite":
            _vacuum(Path(str(engine.url.database)), folder / DATABASE)
            return StoreCopy(backend="sqlite", schema=schema)
        tables = read(engine, lambda connection: _dump(connection, folder))
        return StoreCopy(backend="postgresql", schema=schema, tables=tables)
    finally:
        engine.dispose()


def _vacuum(source: Path, target: Path) -> None:
    target.touch(mode=0o600)
    try:
        with contextlib.closing(sqlite3.connect(source, isolation_level=None)) as connection:
            connection.execute("VACUUM INTO ?", [str(target)])
    except sqlite3.Error as error:
        raise StoreError(f"{source}: {error}") from error


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
            for block in rows:
                file.write(block)
    return tables


def _quoted(table: str, columns: list[str]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f'"{table}" ({names})'


def refuse_unknown_schema(copy: StoreCopy) -> None:
    if copy.schema not in migrate.SCHEMAS:
        raise InputError(
            f"the store in it has schema {copy.schema}, which this Assay ({migrate.HEAD}) "
            "does not know",
            hint="It was made by a newer Assay. Upgrade Assay first.",
        )


def prepare_file(file: Path, copy: StoreCopy) -> None:
    """Check the database of a backup, which may come from a stranger, and bring it up to date."""
    try:
        with contextlib.closing(sqlite3.connect(file)) as connection:
            if odd := _odd_code(connection, copy.schema):
                raise InputError(
                    f"cannot be restored: its database has {odd!r}, which no store has",
                    hint="A backup holds only data. Do not use this file.",
                )
            said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            schema = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        said, schema = str(error), None
    if said != "ok" or schema != (copy.schema,):
        raise InputError(f"cannot be restored: the database in it is damaged ({said})")
    file.chmod(0o600)
    engine = connect(file, create=False)
    try:
        migrate.upgrade(engine, create=False)
    finally:
        engine.dispose()


def _odd_code(connection: sqlite3.Connection, schema: str) -> str:
    """The name of a trigger, view or virtual table that a store of this schema does not have."""
    engine = create_engine("sqlite://")
    with engine.begin() as fresh:
        migrate.create_at(fresh, schema)
        own = {tuple(row) for row in fresh.exec_driver_sql(CODE)}
    engine.dispose()
    found = {tuple(row) for row in connection.execute(CODE)}
    return min((str(name) for name, _ in found - own), default="")


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
    others = set(inspect(connection).get_table_names())
    migrate.create_at(connection, copy.schema)
    made = inspect(connection)
    driver: Any = connection.connection.driver_connection
    for name, columns in copy.tables.items():
        known = name not in others and made.has_table(name)
        if not known or set(columns) - {column["name"] for column in made.get_columns(name)}:
            raise InputError(f"cannot be restored: no store has this table {name!r}")
        try:
            with (
                driver.cursor().copy(f"COPY {_quoted(name, columns)} FROM STDIN") as rows,
                (folder / f"{name}.copy").open("rb") as file,
            ):
                while block := file.read(BLOCK):
                    rows.write(block)
        except connection.dialect.loaded_dbapi.Error as error:
            said = str(error).partition("\n")[0]
            raise InputError(f"cannot be restored: its table {name!r}: {said}") from error
    migrate.create_at(connection, migrate.HEAD)
