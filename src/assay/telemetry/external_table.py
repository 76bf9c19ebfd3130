"""Read-only access to a table, or one SELECT, in a database of the user's own.

`iter_rows` is the only way to an external database: one statement in a read-only transaction with a
statement timeout. What the statement may reach beyond that is decided by the role of the database
user (docs/backlogs.md).

`ExternalLogs` is the search log and the feedback of a team that has tables of its own: `[logs]` in
assay.toml (docs/search-logs.md). They are read where they are, each time, so that the labels are
those of the tables.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from assay.core import conninfo
from assay.core.errors import InputError
from assay.core.extras import imported
from assay.engines.secrets import values_of, with_secrets, without_secrets
from assay.store.records import CITATION_SCORE, Support
from assay.telemetry.records import FEEDBACK_NAMES, SEARCH_NAMES, score_of

# taste: as long as a page waits for its backlogs (`WAIT_SECONDS` in review/backlog.py)
STATEMENT_SECONDS = 3
CONNECT_SECONDS = 3
ROWS_AT_ONCE = 2000  # that PostgreSQL sends in one go; taste
# a larger number counts milliseconds: as seconds it would be after the year 5138
MILLISECONDS = 10**11
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


def column_names(url: str, named: str, where: str) -> list[str]:
    """The columns of a relation of an external database."""
    statement = f"SELECT * FROM {named} AS named LIMIT 0"
    return list(next(_answer(url, statement, where, "", STATEMENT_SECONDS)))


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


# ── search logs of a team's own ───────────────────────────────────────────────────────────────────

LOG_SECONDS = 120  # for one statement on a whole log; taste
LOGS_HINT = "See docs/search-logs.md."
NEEDED = ("id", "query", "log_id", "doc_id", "relevance_score")


class LogsSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the team's own log is: a table, or one SELECT, for searches and for feedback."""

    url: str
    searches: str = "search_logs"
    feedback: str = "search_relevance_feedback"


def source_mistake(source: LogsSource) -> tuple[str, str]:
    """The key that is wrong, and what is wrong with it; both empty if nothing is."""
    if wrong := address_mistake(source.url):
        return "url", wrong
    for key in ("searches", "feedback"):
        if not getattr(source, key).strip():
            return key, "give a table or a SELECT"
    return "", ""


class _Relation:
    """A table or a SELECT of a source, and its columns under our names."""

    def __init__(self, source: LogsSource, key: str, names: Mapping[str, Sequence[str]]) -> None:
        given = getattr(source, key).strip()
        is_query = len(given.split()) > 1
        self.sql = relation("", given) if is_query else relation(given)
        self.where = f"logs.{key}"
        found = {name.lower(): name for name in column_names(source.url, self.sql, self.where)}
        self._columns = {
            ours: found[known[0]]
            for ours, theirs in names.items()
            if (known := [name for name in theirs if name in found])
        }
        for ours, theirs in names.items():
            if ours in NEEDED and ours not in self._columns:
                known_names = ", ".join(theirs)
                raise InputError(
                    f"no column {ours} (known names: {known_names}); found: {', '.join(found)}",
                    where=self.where,
                    hint=f"Give a SELECT that names it: SELECT … AS {ours} FROM …",
                )

    def has(self, name: str) -> bool:
        return name in self._columns

    def column(self, table: str, name: str) -> str:
        """A column of ours, NULL if the relation has none. It is named with its table: SQLite takes
        an unknown bare name for a text."""
        return f"{table}.{quoted(self._columns[name])}" if self.has(name) else "NULL"


class ExternalLogs:
    """The logs of a source, counted as a store counts its own."""

    address = "assay.toml: logs"  # for messages

    def __init__(self, source: LogsSource) -> None:
        self._source = source
        self.read = 0  # rows of feedback with a score
        self.without_search = 0  # of these, rows that belong to no search

    def support(
        self, *, min_score: int = CITATION_SCORE, since: datetime | None = None
    ) -> list[Support]:
        """Join feedback with the searches and count it by spelling and document."""
        self.read = self.without_search = 0
        searches: dict[tuple[str, str, str, str, int], set[str]] = {}
        for log_id, doc_id, score, found, query, corpus, area, at in self._feedback(since):
            if score is None:
                continue
            self.read += 1
            value = score_of(score, f"logs.feedback: search {log_id}, document {doc_id}")
            if found is None:
                self.without_search += 1
                continue
            used = value >= min_score or (value == 0 and min_score < CITATION_SCORE)
            made = time_of(at) if since is not None else None
            if not used or (since is not None and (made is None or made < since)):
                continue
            key = (_text(query), _text(corpus).strip(), _text(area), _text(doc_id), value)
            searches.setdefault(key, set()).add(log_id)
        return [
            Support(
                query=query,
                corpus=corpus,
                practice_area=area,
                doc_id=doc_id,
                kind="score",
                relevance_score=score,
                rank=None,
                searches=len(ids),
            )
            for (query, corpus, area, doc_id, score), ids in searches.items()
        ]

    def _feedback(self, since: datetime | None) -> Iterator[tuple[Any, ...]]:
        source = self._source
        searches = _Relation(source, "searches", SEARCH_NAMES)
        given = _Relation(source, "feedback", FEEDBACK_NAMES)
        if since is not None and not searches.has("at"):
            raise InputError(
                "the searches have no time, but only recent ones were requested",
                where=searches.where,
                hint="Give a SELECT that names it: SELECT … AS at FROM …",
            )
        log_id, search_id = given.column("f", "log_id"), searches.column("s", "id")
        columns = [f"CAST({log_id} AS TEXT)", f"CAST({given.column('f', 'doc_id')} AS TEXT)"]
        columns += [given.column("f", "relevance_score"), search_id]
        columns += [searches.column("s", n) for n in ("query", "corpus", "practice_area", "at")]
        statement = (
            f"SELECT {', '.join(columns)} FROM {given.sql} AS f LEFT JOIN {searches.sql} AS s "
            f"ON CAST({search_id} AS TEXT) = CAST({log_id} AS TEXT)"
        )
        return iter_rows(source.url, statement, "logs", LOGS_HINT, seconds=LOG_SECONDS)

    def showings(
        self, queries: Sequence[str], *, since: datetime | None = None
    ) -> dict[tuple[str, str, str], int]:
        """How often each document was shown, which these tables do not say."""
        return {}

    def query_counts(self) -> dict[tuple[str, str], int]:
        """Count the searches for each spelling: (query, corpus) -> searches."""
        searches = _Relation(self._source, "searches", SEARCH_NAMES)
        columns = ", ".join(searches.column("s", name) for name in ("query", "corpus"))
        statement = f"SELECT {columns} FROM {searches.sql} AS s"
        rows = iter_rows(self._source.url, statement, "logs", LOGS_HINT, seconds=LOG_SECONDS)
        return Counter((_text(query), _text(corpus)) for query, corpus in rows)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
