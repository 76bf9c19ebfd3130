"""A backlog that is the user's own: a table of theirs, counted by state and never written.

`[backlog.NAME]` in assay.toml says where the table is and what its states are called. The
connection itself refuses to write: PostgreSQL by a read-only transaction, SQLite by opening the
file for reading alone."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from assay.core.concealing import is_keywords, without_password
from assay.core.errors import InputError
from assay.engines.secrets import filled, hidden, values_of
from assay.store.records import REVIEW_STATES

SECONDS = 5  # that a table may take to be counted
CONNECT_SECONDS = 3
MOST_STATES = 50  # different values that a column of states may have
NO_STATE = "(none)"
MILLISECONDS = 10**11  # a time above this is counted in them: as seconds it were the year 5138
HINT = "See docs/configuration.md, “A backlog of your own”."

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
    names, sum to total. Where it cannot be read there are no counts, and `error` says why."""

    status: str = "ok"
    pending_review: int | None = None
    approved: int | None = None
    rejected: int | None = None
    published: int | None = None
    other: dict[str, int] = field(default_factory=dict)
    total: int | None = None
    oldest_pending_at: datetime | None = None
    oldest_pending_days: float | None = None
    error: str = ""


# ── the configuration ─────────────────────────────────────────────────────────────────────────────


def mistake(source: BacklogSource) -> tuple[str, str]:
    """The key that is wrong, and what is wrong with it; empty where nothing is."""
    if not source.url.strip():
        return "url", "the address is empty"
    if bool(source.table.strip()) == bool(source.query.strip()):
        return "table", "give a table or a query, one of the two"
    for key in ("status", "created"):
        if not getattr(source, key).strip():
            return key, "a column needs a name"
    if unknown := [name for name in source.states if name not in REVIEW_STATES]:
        return "states", f"there is no state {unknown[0]!r}, only {', '.join(REVIEW_STATES)}"
    seen: dict[str, str] = {}
    for ours, theirs in source.states.items():
        for name in map(_word, _several(theirs)):
            if seen.setdefault(name, ours) != ours:
                return "states", f"{name!r} is both {seen[name]} and {ours}"
    return "", ""


def located(source: BacklogSource, folder: Path) -> BacklogSource:
    """With a file beside the configuration found from anywhere."""
    if _is_postgres(source.url) or source.url.startswith("env:"):
        return source
    path = source.url.removeprefix("sqlite:///")
    return msgspec.structs.replace(source, url=str(folder / Path(path).expanduser()))


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
    """Every source by its name. One that cannot be read says why, and hides no other."""
    found = {}
    for name, source in sources.items():
        try:
            found[name] = their_backlog(name, source, now)
        except InputError as error:
            found[name] = TheirBacklog(status="failed", error=str(error))
    return found


def their_backlog(name: str, source: BacklogSource, now: datetime) -> TheirBacklog:
    where = f"backlog.{name}"
    rows = _rows(source, where)
    if len(rows) > MOST_STATES:
        raise InputError(
            f"the column {source.status} has more than {MOST_STATES} different values",
            where=where,
            hint="Give the column that holds the state, as status.",
        )
    ours, other = _ours(source), dict[str, int]()
    counts: dict[str, int] = dict.fromkeys(map(str, REVIEW_STATES), 0)
    oldest: list[datetime] = []
    for value, count, created in rows:
        state = ours.get(_word(value))
        if state is None:
            other[_word(value)] = other.get(_word(value), 0) + count
            continue
        counts[state] += count
        if state == "pending_review" and created is not None:
            oldest.append(_moment(created, source.created, where))
    first = min(oldest, default=None)
    return TheirBacklog(
        pending_review=counts["pending_review"],
        approved=counts["approved"],
        rejected=counts["rejected"],
        published=counts["published"],
        other=dict(sorted(other.items())),
        total=sum(counts.values()) + sum(other.values()),
        oldest_pending_at=first,
        oldest_pending_days=max((now - first).total_seconds() / 86_400, 0.0) if first else None,
    )


def _statement(source: BacklogSource) -> str:
    """The states with how many rows each has and its oldest. Columns are named with their table:
    SQLite takes an unknown name alone for a text."""
    rows = (
        f"({source.query.strip().rstrip(';')}\n)" if source.query.strip() else _name(source.table)
    )
    status, created = (f"counted.{_quoted(column)}" for column in (source.status, source.created))
    return (
        f"SELECT {status}, count(*), min({created}) FROM {rows} AS counted "
        f"GROUP BY {status} LIMIT {MOST_STATES + 1}"
    )


def _name(table: str) -> str:
    return ".".join(map(_quoted, table.split(".")))


def _quoted(name: str) -> str:
    inner = name.strip().strip('"').replace('"', '""')
    return f'"{inner}"'


def _rows(source: BacklogSource, where: str) -> Sequence[tuple[Any, int, Any]]:
    url = filled(source.url, where)
    try:
        read = _of_postgres if _is_postgres(url) else _of_sqlite
        return read(url, _statement(source), where)
    except _Away as error:
        said = hidden(str(error).strip().splitlines()[0], values_of([source.url]))
        raise InputError(f"cannot be counted: {said}", where=where, hint=HINT) from error


class _Away(Exception):
    """What a database said."""


def _is_postgres(url: str) -> bool:
    return url.startswith(("postgresql:", "postgres:", "postgresql+psycopg:")) or is_keywords(url)


def _of_postgres(url: str, statement: str, where: str) -> list[tuple[Any, int, Any]]:
    try:
        import psycopg
    except ImportError as error:
        hint = "pip install 'assay-ir[postgres]'"
        raise InputError("PostgreSQL needs psycopg", where=where, hint=hint) from error
    address = url.replace("postgresql+psycopg:", "postgresql:", 1)
    try:
        with psycopg.connect(address, connect_timeout=CONNECT_SECONDS) as connection:
            connection.read_only = True  # the server refuses whatever would change something
            connection.execute(f"SET LOCAL statement_timeout = {SECONDS * 1000}")
            cursor = connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
            return list(cursor.fetchall())
    except psycopg.Error as error:
        raise _Away(str(error).strip() or type(error).__name__) from error


def _of_sqlite(url: str, statement: str, where: str) -> list[tuple[Any, int, Any]]:
    path = Path(url.removeprefix("sqlite:///")).expanduser()
    if "://" in url and not url.startswith("sqlite:///"):
        hint = "Give postgresql://USER@HOST/DATABASE, or the file of an SQLite database."
        raise InputError(
            f"no backlog in {without_password(url).partition('://')[0]}", where=where, hint=hint
        )
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
        connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(lambda: time.monotonic() > end, 100_000)
        yield connection
    finally:
        connection.close()


def _moment(value: object, column: str, where: str) -> datetime:
    """When a row was made: a time of the database, a text in ISO 8601, or seconds or milliseconds
    since 1970. Without a zone it is UTC."""
    try:
        if isinstance(value, int | float | Decimal):
            number = float(value)
            seconds = number / 1000 if abs(number) > MILLISECONDS else number
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(
            f"the column {column} holds {str(value)[:40]!r}, which is no time",
            where=where,
            hint="Give the column that says when a row was made, as created.",
        ) from error
