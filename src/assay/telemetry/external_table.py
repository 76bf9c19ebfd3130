"""Read-only access to a table, or one SELECT, in a database of the user's own.

`iter_rows` is the only way to an external database: one statement in a read-only transaction with a
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
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.core import conninfo
from assay.core.errors import InputError
from assay.core.extras import imported
from assay.engines.secrets import values_of, with_secrets, without_secrets

# As long as a page waits for its backlogs (`WAIT_SECONDS` in review/backlog.py).
STATEMENT_SECONDS = 3
CONNECT_SECONDS = 3
ROWS_AT_ONCE = 2000  # that PostgreSQL sends in one go; taste
MILLISECONDS = 10**11  # a larger number counts milliseconds: as seconds it is after the year 5138
NOT_AN_ADDRESS = "neither postgresql://USER@HOST/DATABASE nor the file of an SQLite database"


def is_address(url: str) -> bool:
    """Whether this is an address that can be read. Others are neither taken for a path nor
    repeated in a message: they may contain a password."""
    path = url.removeprefix("sqlite:///")
    return conninfo.is_postgres(url) or url.startswith("env:") or conninfo.is_path(path)


def address_mistake(url: str) -> str:
    """What is wrong with an address in assay.toml; empty if nothing is."""
    if not url.strip():
        return "the address is empty"
    return "" if is_address(url) else NOT_AN_ADDRESS


def located_address(url: str, folder: Path) -> str:
    """The address with the path of an SQLite file made absolute, from the configuration's
    folder."""
    if conninfo.is_postgres(url) or url.startswith("env:") or not is_address(url):
        return url
    return str(folder / Path(url.removeprefix("sqlite:///")).expanduser())


def relation(table: str, query: str = "") -> str:
    """A table, or one SELECT, as it stands after FROM."""
    if query.strip():
        return f"({query.strip().rstrip(';')}\n)"
    return ".".join(map(quoted, table.split(".")))


def quoted(name: str) -> str:
    inner = name.strip().strip('"').replace('"', '""')
    return f'"{inner}"'


def read_rows(url: str, statement: str, where: str, hint: str = "") -> list[tuple[Any, ...]]:
    """The rows of one SELECT on an external database."""
    return list(iter_rows(url, statement, where, hint))


def column_names(url: str, named: str, where: str, hint: str = "") -> list[str]:
    """The columns of a relation of an external database."""
    statement = f"SELECT * FROM {named} AS named LIMIT 0"
    return list(next(_answer(url, statement, where, hint, STATEMENT_SECONDS)))


def iter_rows(
    url: str, statement: str, where: str, hint: str = "", *, seconds: float | None = None
) -> Iterator[tuple[Any, ...]]:
    """The rows of one SELECT on an external database: PostgreSQL, or the file of an SQLite
    database. It runs in a read-only transaction with a statement timeout. `env:NAME` in the
    address is taken from the environment; `where` is the place in assay.toml, for messages."""
    limit = STATEMENT_SECONDS if seconds is None else seconds
    return islice(_answer(url, statement, where, hint, limit), 1, None)


def _answer(
    url: str, statement: str, where: str, hint: str, seconds: float
) -> Iterator[tuple[Any, ...]]:
    """The names of the columns, then the rows."""
    address = with_secrets(url, where)
    if not is_address(address):
        raise InputError(NOT_AN_ADDRESS, where=where, hint=hint)
    read = _read_postgres if conninfo.is_postgres(address) else _read_sqlite
    try:
        yield from read(address, statement, where, seconds)
    except _ReadError as error:
        reason = without_secrets(str(error).strip().splitlines()[0], values_of([url]))
        raise InputError(f"the table cannot be read: {reason}", where=where, hint=hint) from error


class _ReadError(Exception):
    """The message of a database that did not answer the SELECT."""


def _read_postgres(
    address: str, statement: str, where: str, seconds: float
) -> Iterator[tuple[Any, ...]]:
    """A named cursor takes one statement only; closing the connection rolls everything back."""
    psycopg = imported("psycopg", "PostgreSQL", "postgres", where=where)
    given = conninfo.address_parts(address, where) | {"connect_timeout": str(CONNECT_SECONDS)}
    try:
        connection = psycopg.connect(**given)
        with contextlib.closing(connection), _hang_up_when_silent(connection.fileno(), seconds):
            connection.read_only = True
            connection.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
            connection.execute("SET LOCAL datestyle = ISO")
            with connection.cursor(name="assay_external") as cursor:
                cursor.itersize = ROWS_AT_ONCE
                cursor.execute(statement)
                yield tuple(column.name for column in cursor.description or ())
                yield from cursor
    except psycopg.Error as error:
        raise _ReadError(str(error).strip() or type(error).__name__) from error


@contextlib.contextmanager
def _hang_up_when_silent(handle: int, seconds: float) -> Iterator[None]:
    """Hang up on a server that is stopped: it does not notice its own statement timeout."""
    seconds = seconds + 1
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
                raise _ReadError(f"the server did not answer within {seconds:g} s") from error
            raise
        finally:
            timer.cancel()
            timer.join()


def _read_sqlite(
    address: str, statement: str, where: str, seconds: float
) -> Iterator[tuple[Any, ...]]:
    path = Path(address.removeprefix("sqlite:///")).expanduser()
    if not path.is_file():
        raise _ReadError(f"there is no database {path}")
    end = time.monotonic() + seconds
    try:
        opened = f"file:{quote(str(path.resolve()))}?mode=ro"
        connection = sqlite3.connect(opened, uri=True, timeout=CONNECT_SECONDS)
        with contextlib.closing(connection):
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            connection.execute("PRAGMA query_only = ON")
            connection.set_progress_handler(lambda: time.monotonic() > end, 100_000)
            cursor = connection.execute(statement)
            yield tuple(column[0] for column in cursor.description or ())
            yield from cursor
    except sqlite3.Error as error:
        raise _ReadError(f"{path}: {error}") from error


def time_of(value: object) -> datetime | None:
    """A time from a cell: a time of the database, a text in ISO 8601, or seconds or milliseconds
    since 1970. Without a zone it is UTC; None if it is not a time."""
    try:
        if isinstance(value, int | float | Decimal):
            number = float(value)
            seconds = number / 1000 if abs(number) > MILLISECONDS else number
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
