"""A backlog that is the user's own: a table of theirs, counted by state and never written.

`[backlog.NAME]` in assay.toml says where the table is and what its states are called. The
connection itself refuses to write: PostgreSQL by a session that only reads, takes one statement and
is rolled back, SQLite by opening the file for reading alone."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from assay.core import conninfo
from assay.core.errors import AssayError, InputError
from assay.core.extras import imported
from assay.engines.secrets import filled, hidden, values_of
from assay.review.queue import REVIEW_STATES

SECONDS = 5  # that a table may take to be counted
ALL_SECONDS = 3  # that anybody waits for all of them
CONNECT_SECONDS = 3
LONGEST_STATE = 100  # characters
MOST_STATES = 50  # different values that a column of states may have
NO_STATE = "(none)"
MILLISECONDS = 10**11  # a time above this is counted in them: as seconds it were the year 5138
UNKNOWN = "neither postgresql://USER@HOST/DATABASE nor the file of an SQLite database"
HINT = "See docs/backlogs.md."

# functions of PostgreSQL that reach files, other servers or other sessions, also where a session
# only reads; and names that are written in another way
_REACHES_OUT = re.compile(
    r"""(?ix)\b(?: lo_\w+ | lo(?:read|write) | dblink\w* | pg_sleep\w* | set_config
    | (?:query|table|cursor|schema|database)_to_xml\w*
    | pg_(?:read|ls|stat_file|file|write|logical|replication|terminate|cancel|reload|rotate|promote
           |switch|create|drop|backup|wal|advisory|try_advisory|current_logfile|log)\w* )\b
    | \bU&["']"""
)

Word = str | int | bool  # what a state is called in the table


class BacklogSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`table`, or `query` for one SELECT that has the two columns. `states` says what ours are
    called there, one name or several; what is not named has our name."""

    url: str
    table: str = ""
    query: str = ""
    status: str = "review_status"
    created: str = "created_at"
    states: dict[str, Word | tuple[Word, ...]] = {}


@dataclass(frozen=True, kw_only=True)
class TheirBacklog:
    """A table of the user's, by state. The counts, with those of `other` states under their own
    names, sum to total. `times_unread` are pending rows whose time cannot be read: they count, and
    the oldest is one of the others. Where the table cannot be read there are no counts, and
    `error` says why."""

    status: str = "ok"
    pending_review: int | None = None
    approved: int | None = None
    rejected: int | None = None
    published: int | None = None
    other: dict[str, int] = field(default_factory=dict)
    total: int | None = None
    oldest_pending_at: datetime | None = None
    oldest_pending_days: float | None = None
    times_unread: int | None = None
    error: str = ""


# ── the configuration ─────────────────────────────────────────────────────────────────────────────


def mistake(source: BacklogSource) -> tuple[str, str]:
    """The key that is wrong, and what is wrong with it; empty where nothing is."""
    if not source.url.strip():
        return "url", "the address is empty"
    if not _is_known(source.url):
        return "url", UNKNOWN
    if bool(source.table.strip()) == bool(source.query.strip()):
        return "table", "give a table or a query, one of the two"
    if said := _reaches_out(source):
        return "query", said
    for key in ("status", "created"):
        if not getattr(source, key).strip():
            return key, "a column needs a name"
    if unknown := [name for name in source.states if name not in REVIEW_STATES]:
        return "states", f"there is no state {unknown[0]!r}, only {', '.join(REVIEW_STATES)}"
    seen: dict[str, str] = {}
    for ours, theirs in source.states.items():
        for name in map(_word, _several(theirs)):
            if len(name) > LONGEST_STATE:
                return "states", f"the name of a state has more than {LONGEST_STATE} characters"
            if seen.setdefault(name, ours) != ours:
                return "states", f"{name!r} is both {seen[name]} and {ours}"
    return "", ""


def located(source: BacklogSource, folder: Path) -> BacklogSource:
    """With a file beside the configuration found from anywhere."""
    if (
        conninfo.is_postgres(source.url)
        or source.url.startswith("env:")
        or not _is_known(source.url)
    ):
        return source
    path = source.url.removeprefix("sqlite:///")
    return msgspec.structs.replace(source, url=str(folder / Path(path).expanduser()))


def _is_known(url: str) -> bool:
    """An address is not made a path, nor repeated, where it may be one of something else."""
    path = url.removeprefix("sqlite:///")
    return conninfo.is_postgres(url) or url.startswith("env:") or conninfo.is_path(path)


def _several(theirs: Word | tuple[Word, ...]) -> tuple[Word, ...]:
    return theirs if isinstance(theirs, tuple) else (theirs,)


def _word(value: object) -> str:
    """A state as it is compared and shown, whatever the type of its column."""
    if value is None:
        return NO_STATE
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ours(source: BacklogSource) -> dict[str, str]:
    """Our state by the name it has in the table. Our own names always mean themselves, unless the
    table uses one of them for something else."""
    said = {
        _word(name): ours for ours, theirs in source.states.items() for name in _several(theirs)
    }
    return {ours: ours for ours in REVIEW_STATES} | said


# ── counting ──────────────────────────────────────────────────────────────────────────────────────


def their_backlogs(sources: Mapping[str, BacklogSource], now: datetime) -> dict[str, TheirBacklog]:
    """Every source by its name, all counted at once. One that cannot be read says why, and hides no
    other; one that is late says so, and its counts come into the answer when they are there. Until
    then nobody asks it again."""
    late = f"no answer within {ALL_SECONDS} s"
    found = {
        name: TheirBacklog(status="failed", error=f"backlog.{name}: {late}") for name in sources
    }
    counting = [_Counting.of(name, source, now, found) for name, source in sources.items()]
    end = time.monotonic() + ALL_SECONDS
    for thread in counting:
        thread.join(max(end - time.monotonic(), 0))
    return found


class _Counting(threading.Thread):
    """A source that is being counted, for all who ask meanwhile."""

    under_way: dict[bytes, _Counting] = {}
    lock = threading.Lock()

    @classmethod
    def of(
        cls, name: str, source: BacklogSource, now: datetime, answer: dict[str, TheirBacklog]
    ) -> _Counting:
        key = msgspec.json.encode((name, source))
        with cls.lock:
            counting = cls.under_way.get(key)
            if counting is not None:
                error = f"backlog.{name}: still no answer to an earlier count"
                answer[name] = TheirBacklog(status="failed", error=error)
                counting._answers.append(answer)
                return counting
            counting = cls.under_way[key] = cls(name=f"backlog.{name}", daemon=True)
            counting._key, counting._asked, counting._answers = key, (name, source, now), [answer]
            counting.start()
        return counting

    _key: bytes
    _asked: tuple[str, BacklogSource, datetime]
    _answers: list[dict[str, TheirBacklog]]

    def run(self) -> None:
        try:
            result = their_backlog(*self._asked)
        except AssayError as error:
            result = TheirBacklog(status="failed", error=str(error))
        finally:
            with self.lock:
                del self.under_way[self._key]
        for answer in self._answers:
            answer[self._asked[0]] = result


def their_backlog(name: str, source: BacklogSource, now: datetime) -> TheirBacklog:
    where = f"backlog.{name}"
    rows = _rows(source, where)
    if len(rows) > MOST_STATES:
        raise InputError(
            f"the column {source.status} has more than {MOST_STATES} different values",
            where=where,
            hint="Give the column that holds the state, as status.",
        )
    if any(len(_word(value)) > LONGEST_STATE for value, *_ in rows):
        raise InputError(
            f"the column {source.status} has a value of more than {LONGEST_STATE} characters",
            where=where,
            hint="Give the column that holds the state, as status.",
        )
    ours, other = _ours(source), dict[str, int]()
    counts: dict[str, int] = dict.fromkeys(map(str, REVIEW_STATES), 0)
    oldest: list[datetime] = []
    times_unread = 0
    for value, count, created, unread in rows:
        state = ours.get(_word(value))
        if state is None:
            other[_word(value)] = other.get(_word(value), 0) + count
            continue
        counts[state] += count
        if state == "pending_review":
            first = _moment(created) if created is not None else None
            oldest += [first] if first is not None else []
            times_unread += (unread or 0) + (created is not None and first is None)
    first = min(oldest, default=None)
    return TheirBacklog(
        times_unread=times_unread,
        pending_review=counts["pending_review"],
        approved=counts["approved"],
        rejected=counts["rejected"],
        published=counts["published"],
        other=dict(sorted(other.items())),
        total=sum(counts.values()) + sum(other.values()),
        oldest_pending_at=first,
        oldest_pending_days=max((now - first).total_seconds() / 86_400, 0.0) if first else None,
    )


def _statement(source: BacklogSource, readable: str) -> str:
    """The states with how many rows each has, its oldest, and how many times are not `readable`.
    Columns are named with their table: SQLite takes an unknown name alone for a text."""
    rows = (
        f"({source.query.strip().rstrip(';')}\n)" if source.query.strip() else _name(source.table)
    )
    status, created = (f"counted.{_quoted(column)}" for column in (source.status, source.created))
    shown = f"substr(CAST({status} AS TEXT), 1, {LONGEST_STATE + 1})"
    is_time = readable.format(created)
    return (
        f"SELECT {shown}, count(*), min(CASE WHEN {is_time} THEN {created} END), "
        f"count(CASE WHEN NOT {is_time} THEN {created} END) FROM {rows} AS counted "
        f"GROUP BY {status} LIMIT {MOST_STATES + 1}"
    )


# what `_moment` can read, said in SQL, for one cell that is no time must not hide the others: an
# empty text, infinity, a year before Christ. Nothing where there is no time at all.
_TIME_IN_SQLITE = (
    "(CASE WHEN typeof({0}) IN ('integer', 'real') THEN {0} >= 0 AND {0} < 1e14 "
    "ELSE trim({0}) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' "
    "AND julianday(substr(trim({0}), 1, 10)) IS NOT NULL END)"
)
_TIME_IN_POSTGRES = (
    "(CAST({0} AS TEXT) ~ "
    r"'^\s*(\d{{4}}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])|\d{{1,13}}(\.\d+)?\s*$)' "
    "AND CAST({0} AS TEXT) NOT LIKE '% BC')"
)


def _reaches_out(source: BacklogSource) -> str:
    called = _REACHES_OUT.search(source.query)
    return f"{called[0]} may do more than read the table" if called else ""


def _name(table: str) -> str:
    return ".".join(map(_quoted, table.split(".")))


def _quoted(name: str) -> str:
    inner = name.strip().strip('"').replace('"', '""')
    return f'"{inner}"'


def _rows(source: BacklogSource, where: str) -> Sequence[tuple[Any, int, Any, int]]:
    url = filled(source.url, where)
    if not _is_known(url):
        raise InputError(UNKNOWN, where=where, hint=HINT)
    if said := _reaches_out(source):
        raise InputError(said, where=where, hint=HINT)
    try:
        if conninfo.is_postgres(url):
            return _of_postgres(url, _statement(source, _TIME_IN_POSTGRES), where)
        return _of_sqlite(url, _statement(source, _TIME_IN_SQLITE), where)
    except _Away as error:
        said = hidden(str(error).strip().splitlines()[0], values_of([source.url]))
        raise InputError(f"cannot be counted: {said}", where=where, hint=HINT) from error


class _Away(Exception):
    """What a database said."""


def _of_postgres(url: str, statement: str, where: str) -> list[tuple[Any, int, Any, int]]:
    """Three locks, for the query is the user's: a named cursor takes one statement, which can only
    read; whatever transaction there is, the server refuses to change something in it; and what it
    lets pass nevertheless, as PostgreSQL 15 does with large objects, is rolled back."""
    psycopg = imported("psycopg", "PostgreSQL", "postgres", where=where)
    given = conninfo.parts(url, where)
    own = given.get("options") or os.environ.get("PGOPTIONS", "")
    given["options"] = (
        f"{own} -c default_transaction_read_only=on -c statement_timeout={SECONDS * 1000} "
        "-c datestyle=ISO"
    )
    try:
        connection = psycopg.connect(**given | {"connect_timeout": CONNECT_SECONDS})
        with contextlib.closing(connection), _hung_up_after(SECONDS + 1, connection.fileno()):
            connection.read_only = True
            with connection.cursor(name="assay_backlog") as cursor:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
            connection.rollback()
            return rows
    except psycopg.Error as error:
        raise _Away(str(error).strip() or type(error).__name__) from error


@contextlib.contextmanager
def _hung_up_after(seconds: float, handle: int) -> Iterator[None]:
    """A server that is stopped, or lost, never says that time is up: then we hang up. The handle is
    a copy, so that it is never somebody else's by then."""
    with socket.socket(fileno=os.dup(handle)) as line:
        late = threading.Event()

        def hang_up() -> None:
            late.set()
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(seconds, hang_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception as error:
            if late.is_set():
                raise _Away(f"the server gave no answer within {seconds} s") from error
            raise
        finally:
            timer.cancel()
            timer.join()


def _of_sqlite(url: str, statement: str, where: str) -> list[tuple[Any, int, Any, int]]:
    path = Path(url.removeprefix("sqlite:///")).expanduser()
    if not path.is_file():
        raise InputError(f"there is no database {path}", where=where, hint=HINT)
    try:
        with _opened_for_reading(path) as connection:
            return list(connection.execute(statement))
    except sqlite3.Error as error:
        raise _Away(f"{path}: {error}") from error


@contextlib.contextmanager
def _opened_for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(
        f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, timeout=CONNECT_SECONDS
    )
    end = time.monotonic() + SECONDS
    try:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(lambda: time.monotonic() > end, 100_000)
        yield connection
    finally:
        connection.close()


def _moment(value: object) -> datetime | None:
    """When a row was made: a time of the database, a text in ISO 8601, or seconds or milliseconds
    since 1970. Without a zone it is UTC; nothing where it is no time."""
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
