"""External backlogs: tables of a database of the user's own, counted by review state.

`[backlog.NAME]` in assay.toml names the table, or a SELECT (docs/backlogs.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import msgspec

from assay.core import conninfo
from assay.core.errors import AssayError, InputError
from assay.engines.secrets import filled
from assay.review.queue import REVIEW_STATES
from assay.telemetry.external_table import (
    NOT_AN_ADDRESS,
    is_address,
    quoted,
    read_rows,
    relation,
)

WAIT_SECONDS = 3  # how long a page or a command waits for all backlogs together
LONGEST_STATE = 100  # characters
MOST_STATES = 50  # different values that a state column may have
NO_STATE = "(none)"
MILLISECONDS = 10**11  # a larger number counts milliseconds: as seconds it is after the year 5138
HINT = "See docs/backlogs.md."

StateName = str | int | bool  # a state as the table spells it


class BacklogSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an external backlog is: a `table`, or a `query` (one SELECT) with the two columns.
    `states` maps our states to the names that the table has for them, one or several each."""

    url: str
    table: str = ""
    query: str = ""
    status: str = "review_status"
    created: str = "created_at"
    states: dict[str, StateName | tuple[StateName, ...]] = {}


@dataclass(frozen=True, kw_only=True)
class ExternalBacklog:
    """The rows of an external backlog, counted by state. The counts, with those of `other` states,
    sum to `total`. `times_unread` counts the pending rows whose time cannot be read. If the table
    cannot be read, there are no counts, and `error` says why."""

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
    """The key of a source that is wrong, and what is wrong with it; both empty if nothing is."""
    if not source.url.strip():
        return "url", "the address is empty"
    if not is_address(source.url):
        return "url", NOT_AN_ADDRESS
    if bool(source.table.strip()) == bool(source.query.strip()):
        return "table", "give either a table or a query"
    for key in ("status", "created"):
        if not getattr(source, key).strip():
            return key, "the column name is empty"
    if unknown := [name for name in source.states if name not in REVIEW_STATES]:
        return "states", f"there is no state {unknown[0]!r}, only {', '.join(REVIEW_STATES)}"
    seen: dict[str, str] = {}
    for name, ours in _state_names(source):
        if len(name) > LONGEST_STATE:
            return "states", f"the name of a state has more than {LONGEST_STATE} characters"
        if seen.setdefault(name, ours) != ours:
            return "states", f"{name!r} is both {seen[name]} and {ours}"
    return "", ""


def located(source: BacklogSource, folder: Path) -> BacklogSource:
    """The source with the path of an SQLite file made absolute, from the configuration's folder."""
    url = source.url
    if conninfo.is_postgres(url) or url.startswith("env:") or not is_address(url):
        return source
    path = Path(url.removeprefix("sqlite:///")).expanduser()
    return msgspec.structs.replace(source, url=str(folder / path))


def _state_names(source: BacklogSource) -> Iterator[tuple[str, str]]:
    """Each name of a state in the table, with our state."""
    for ours, theirs in source.states.items():
        for name in theirs if isinstance(theirs, tuple) else (theirs,):
            yield _state_text(name), ours


def _state_text(value: object) -> str:
    """A state as it is compared and shown, whatever the type of its column."""
    if value is None:
        return NO_STATE
    return str(value).lower() if isinstance(value, bool) else str(value)


# ── counting ──────────────────────────────────────────────────────────────────────────────────────


def count_external_backlogs(
    sources: Mapping[str, BacklogSource], now: datetime
) -> dict[str, ExternalBacklog]:
    """Count every source, all at once, and wait for WAIT_SECONDS at most. One that is late or
    cannot be read says so, and hides no other."""
    pool = ThreadPoolExecutor(max_workers=len(sources) or 1, thread_name_prefix="backlog")
    counts = {
        name: pool.submit(_count_or_error, name, source, now) for name, source in sources.items()
    }
    wait(counts.values(), timeout=WAIT_SECONDS)
    pool.shutdown(wait=False)
    late = f"no answer within {WAIT_SECONDS} s"
    return {
        name: count.result() if count.done() else _failed(f"backlog.{name}: {late}")
        for name, count in counts.items()
    }


def _count_or_error(name: str, source: BacklogSource, now: datetime) -> ExternalBacklog:
    try:
        return count_external_backlog(name, source, now)
    except AssayError as error:
        return _failed(str(error))


def _failed(error: str) -> ExternalBacklog:
    return ExternalBacklog(status="failed", error=error)


def count_external_backlog(name: str, source: BacklogSource, now: datetime) -> ExternalBacklog:
    """Count the rows of one source by state."""
    where = f"backlog.{name}"
    is_postgres = conninfo.is_postgres(filled(source.url, where))
    rows = read_rows(source.url, _count_statement(source, is_postgres=is_postgres), where, HINT)
    if len(rows) > MOST_STATES:
        raise _not_states(source, f"more than {MOST_STATES} different values", where)
    if any(len(_state_text(value)) > LONGEST_STATE for value, *_ in rows):
        raise _not_states(source, f"a value of more than {LONGEST_STATE} characters", where)
    our_states = {state: state for state in REVIEW_STATES} | dict(_state_names(source))
    counts: dict[str, int] = dict.fromkeys(map(str, REVIEW_STATES), 0)
    other: dict[str, int] = {}
    times: list[datetime] = []
    times_unread = 0
    for value, count, created, unread in rows:
        state = our_states.get(_state_text(value))
        if state is None:
            other[_state_text(value)] = other.get(_state_text(value), 0) + count
            continue
        counts[state] += count
        if state == "pending_review":
            at = _time(created) if created is not None else None
            times += [at] if at is not None else []
            times_unread += (unread or 0) + (created is not None and at is None)
    oldest = min(times, default=None)
    return ExternalBacklog(
        pending_review=counts["pending_review"],
        approved=counts["approved"],
        rejected=counts["rejected"],
        published=counts["published"],
        other=dict(sorted(other.items())),
        total=sum(counts.values()) + sum(other.values()),
        oldest_pending_at=oldest,
        oldest_pending_days=max((now - oldest).total_seconds() / 86_400, 0.0) if oldest else None,
        times_unread=times_unread,
    )


def _not_states(source: BacklogSource, problem: str, where: str) -> InputError:
    hint = "Set `status` to the column that holds the state."
    return InputError(f"the column {source.status} has {problem}", where=where, hint=hint)


# What `_time` can read, in SQL: a cell that is not a time (an empty text, infinity, a year before
# Christ) must not hide the others. NULL if the cell is NULL.
_IS_TIME_IN_SQLITE = (
    "(CASE WHEN typeof({0}) IN ('integer', 'real') THEN {0} >= 0 AND {0} < 1e14 "
    "ELSE trim({0}) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' "
    "AND julianday(substr(trim({0}), 1, 10)) IS NOT NULL END)"
)
_IS_TIME_IN_POSTGRES = (
    "(CAST({0} AS TEXT) ~ "
    r"'^\s*(\d{{4}}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])|\d{{1,13}}(\.\d+)?\s*$)' "
    "AND CAST({0} AS TEXT) NOT LIKE '% BC')"
)


def _count_statement(source: BacklogSource, *, is_postgres: bool) -> str:
    """Selects each state with the number of its rows, the oldest time, and how many times cannot
    be read. Columns are named with their table: SQLite takes an unknown bare name for a text."""
    status, created = (f"counted.{quoted(column)}" for column in (source.status, source.created))
    is_time = (_IS_TIME_IN_POSTGRES if is_postgres else _IS_TIME_IN_SQLITE).format(created)
    return (
        f"SELECT substr(CAST({status} AS TEXT), 1, {LONGEST_STATE + 1}), count(*), "
        f"min(CASE WHEN {is_time} THEN {created} END), "
        f"count(CASE WHEN NOT {is_time} THEN {created} END) "
        f"FROM {relation(source.table, source.query)} AS counted "
        f"GROUP BY {status} LIMIT {MOST_STATES + 1}"
    )


def _time(value: object) -> datetime | None:
    """When a row was made, from a time of the database, a text in ISO 8601, or seconds or
    milliseconds since 1970. Without a zone it is UTC; None if it is not a time."""
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
