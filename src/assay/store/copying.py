"""A whole store as files, and back: what `assay backup` keeps.

SQLite is copied by its own backup, which is consistent while others write. PostgreSQL is read table
by table in one transaction, in its own COPY format; it comes back into an empty database at the
schema it had, and opening it then brings that up to date."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, create_engine, inspect

from assay.core.errors import InputError
from assay.store import migrate
from assay.store.database import address, connect, missing, read, write
from assay.store.errors import StoreError
from assay.store.tables import LEGACY, metadata

DATABASE = "assay.db"
BLOCK = 2**20


class StoreCopy(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied. `tables` are those of PostgreSQL with their columns, in the order in which
    they come back; SQLite is one file."""

    backend: str
    schema: str
    tables: dict[str, list[str]] = {}


def copy_out(target: str | Path, folder: Path) -> StoreCopy:
    """The store into files in `folder`. A store that is not there is an error."""
    engine = connect(target, create=False)
    try:
        schema = read(engine, migrate.revision)
        if schema is None:
            raise missing(address(engine))
        if engine.dialect.name == "sqlite":
            _copy_file(Path(str(engine.url.database)), folder / DATABASE)
            return StoreCopy(backend="sqlite", schema=schema)
        tables = read(engine, lambda connection: _tables_out(connection, folder))
        return StoreCopy(backend="postgresql", schema=schema, tables=tables)
    finally:
        engine.dispose()


def _copy_file(source: Path, target: Path) -> None:
    target.touch(mode=0o600)
    try:
        there, here = sqlite3.connect(source), sqlite3.connect(target)
        try:
            there.backup(here)
            here.execute("PRAGMA journal_mode = DELETE")  # one file, without its log
        finally:
            there.close()
            here.close()
    except sqlite3.Error as error:
        raise StoreError(f"{source}: {error}") from error


def _tables_out(connection: Connection, folder: Path) -> dict[str, list[str]]:
    """Parents before children, so that they can come back in this order."""
    found = inspect(connection)
    names = [name for name, _ in found.get_sorted_table_and_fkc_names() if name]
    known = _ours(connection)
    tables = {
        name: [column["name"] for column in found.get_columns(name)]
        for name in names
        if name in known
    }
    driver: Any = connection.connection.driver_connection
    for name, columns in tables.items():
        with (
            driver.cursor().copy(f"COPY {_listed(name, columns)} TO STDOUT") as rows,
            (folder / f"{name}.copy").open("wb") as file,
        ):
            for block in rows:
                file.write(block)
    return tables


def _ours(connection: Connection) -> set[str]:
    """Those of another program in the same database are theirs."""
    return {*metadata.tables, *LEGACY} & set(inspect(connection).get_table_names())


def _listed(table: str, columns: list[str]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f'"{table}" ({names})'


def odd_code(connection: sqlite3.Connection, schema: str) -> str:
    """A trigger, view or virtual table in a database from elsewhere that a store of this schema
    does not have: each is a program, which runs when the store is used. Empty where there is
    none."""
    engine = create_engine("sqlite://")
    with engine.begin() as fresh:
        migrate.create_at(fresh, schema)
        own = {tuple(row) for row in fresh.exec_driver_sql(_CODE)}
    engine.dispose()
    found = {tuple(row) for row in connection.execute(_CODE)}
    return min((str(name) for name, _ in found - own), default="")


_CODE = """SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')
OR sql LIKE 'create virtual%'"""


def refuse_newer(copy: StoreCopy) -> None:
    if copy.schema > migrate.HEAD:
        raise InputError(
            f"the store in it has schema {copy.schema}, newer than this Assay ({migrate.HEAD})",
            hint="Upgrade Assay first.",
        )


def copy_in(folder: Path, copy: StoreCopy, target: str | Path) -> None:
    """Files of `copy_out` into a store that is not there yet: in PostgreSQL an empty database."""
    refuse_newer(copy)
    engine = connect(target)
    try:
        if engine.dialect.name != copy.backend:
            raise InputError(
                f"a store on {copy.backend} comes back on {copy.backend}",
                where=address(engine),
                hint="Give such a store with --store.",
            )
        write(engine, lambda connection: _tables_in(connection, folder, copy))
    finally:
        engine.dispose()


def _tables_in(connection: Connection, folder: Path, copy: StoreCopy) -> None:
    if migrate.revision(connection) is not None:
        where = address(connection.engine)
        raise InputError("there is a store already", where=where, hint="Give an empty database.")
    migrate.create_at(connection, copy.schema)
    driver: Any = connection.connection.driver_connection
    for name, columns in copy.tables.items():
        with (
            driver.cursor().copy(f"COPY {_listed(name, columns)} FROM STDIN") as rows,
            (folder / f"{name}.copy").open("rb") as file,
        ):
            while block := file.read(BLOCK):
                rows.write(block)
