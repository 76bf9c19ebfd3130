"""Read-only access to a table, or one SELECT, in a database of the user's own.

`read_rows` is the only way to an external database: one statement in a read-only transaction with a
statement timeout. What the statement may reach beyond that is decided by the role of the database
user (docs/backlogs.md)."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.core import conninfo
from assay.core.errors import InputError
from assay.core.extras import imported
from assay.engines.secrets import filled, hidden, values_of

STATEMENT_SECONDS = 3  # the statement timeout
CONNECT_SECONDS = 3
NOT_AN_ADDRESS = "neither postgresql://USER@HOST/DATABASE nor the file of an SQLite database"


def is_address(url: str) -> bool:
    """Whether this is an address that can be read. Others are neither taken for a path nor
    repeated in a message: they may contain a password."""
    path = url.removeprefix("sqlite:///")
    return conninfo.is_postgres(url) or url.startswith("env:") or conninfo.is_path(path)


def relation(table: str, query: str = "") -> str:
    """A table, or one SELECT, as it stands after FROM."""
    if query.strip():
        return f"({query.strip().rstrip(';')}\n)"
    return ".".join(map(quoted, table.split(".")))


def quoted(name: str) -> str:
    inner = name.strip().strip('"').replace('"', '""')
    return f'"{inner}"'


def read_rows(url: str, statement: str, where: str, hint: str = "") -> list[tuple[Any, ...]]:
    """The rows of one SELECT on an external database: PostgreSQL, or the file of an SQLite
    database. It runs in a read-only transaction with a statement timeout. `env:NAME` in the
    address is taken from the environment; `where` is the place in assay.toml, for messages."""
    address = filled(url, where)
    if not is_address(address):
        raise InputError(NOT_AN_ADDRESS, where=where, hint=hint)
    read = _read_postgres if conninfo.is_postgres(address) else _read_sqlite
    try:
        return read(address, statement, where)
    except _ReadError as error:
        reason = hidden(str(error).strip().splitlines()[0], values_of([url]))
        raise InputError(f"the table cannot be read: {reason}", where=where, hint=hint) from error


class _ReadError(Exception):
    """The message of a database that did not answer the SELECT."""


def _read_postgres(address: str, statement: str, where: str) -> list[tuple[Any, ...]]:
    """A named cursor takes one statement only; closing the connection rolls everything back."""
    psycopg = imported("psycopg", "PostgreSQL", "postgres", where=where)
    given = conninfo.parts(address, where) | {"connect_timeout": str(CONNECT_SECONDS)}
    try:
        connection = psycopg.connect(**given)
        with contextlib.closing(connection), _hang_up_when_silent(connection.fileno()):
            connection.read_only = True
            connection.execute(f"SET LOCAL statement_timeout = {int(STATEMENT_SECONDS * 1000)}")
            connection.execute("SET LOCAL datestyle = ISO")
            with connection.cursor(name="assay_external") as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
    except psycopg.Error as error:
        raise _ReadError(str(error).strip() or type(error).__name__) from error


@contextlib.contextmanager
def _hang_up_when_silent(handle: int) -> Iterator[None]:
    """Hang up on a server that is stopped: it does not notice its own statement timeout."""
    seconds = STATEMENT_SECONDS + 1
    end = time.monotonic() + seconds
    with socket.socket(fileno=os.dup(handle)) as line:  # a copy: it is never reused meanwhile

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(seconds, hang_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception as error:
            if time.monotonic() >= end:
                raise _ReadError(f"the server gave no answer within {seconds} s") from error
            raise
        finally:
            timer.cancel()
            timer.join()


def _read_sqlite(address: str, statement: str, where: str) -> list[tuple[Any, ...]]:
    path = Path(address.removeprefix("sqlite:///")).expanduser()
    if not path.is_file():
        raise _ReadError(f"there is no database {path}")
    end = time.monotonic() + STATEMENT_SECONDS
    try:
        opened = f"file:{quote(str(path.resolve()))}?mode=ro"
        connection = sqlite3.connect(opened, uri=True, timeout=CONNECT_SECONDS)
        with contextlib.closing(connection):
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            connection.execute("PRAGMA query_only = ON")
            connection.set_progress_handler(lambda: time.monotonic() > end, 100_000)
            return list(connection.execute(statement))
    except sqlite3.Error as error:
        raise _ReadError(f"{path}: {error}") from error
