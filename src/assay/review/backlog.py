"""The backlog of the review queue and of external tables in figures: how much is pending, how old
it is, how fast it is decided. Every page, command and metric shows these figures.

`[backlog.NAME]` in assay.toml names an external table, or a SELECT (docs/backlogs.md)."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
import numpy as np

from assay.core import conninfo
from assay.core.errors import AssayError, InputError
from assay.engines.secrets import with_secrets
from assay.review.queue import REVIEW_STATES, ReviewItem
from assay.telemetry.external_table import (
    address_mistake,
    quoted,
    read_rows,
    relation,
    time_of,
)

WEEK = timedelta(weeks=1)
DAY = timedelta(days=1)
WEEKS = 4  # that throughput and arrivals are counted over; taste


@dataclass(frozen=True, kw_only=True)
class Ages:
    """How many days the pending items have waited. None if nothing is pending."""

    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None


@dataclass(frozen=True, kw_only=True)
class HalachaBacklog:
    """The six figures that the specification names: items by state, which with those of `other`
    states sum to `total`, and when the oldest pending item was queued."""

    pending_review: int
    approved: int
    rejected: int
    published: int
    total: int
    oldest_pending_at: datetime | None
    other: int = 0


@dataclass(frozen=True, kw_only=True)
class Backlog(HalachaBacklog):
    """The figures with ages in days, throughput a week and a forecast. `forecast_empty_at` is when
    the queue is empty at the pace of the last weeks if nothing new arrives; if it is None,
    `forecast` says why."""

    age_days: Ages
    weeks: int
    throughput_per_week: float
    arrivals_per_week: float
    forecast_empty_at: datetime | None
    forecast: str


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a backlog: the number of pending items, and the age of the oldest."""

    max_pending: int | None = None
    max_age_days: float | None = None


def backlog(items: Sequence[ReviewItem], now: datetime) -> Backlog:
    """The backlog of the review queue of one gold set, or of several."""
    counts = {state: sum(item.state == state for item in items) for state in REVIEW_STATES}
    pending = [item.created_at for item in items if item.state == "pending_review"]
    decided = [item.decided_at for item in items if item.decided_at is not None]
    start = now - WEEKS * WEEK
    throughput = sum(start < at <= now for at in decided) / WEEKS
    empty_at, forecast = _forecast(len(pending), throughput, now)
    return Backlog(
        **counts,
        total=len(items),
        oldest_pending_at=min(pending, default=None),
        age_days=_ages(pending, now),
        weeks=WEEKS,
        throughput_per_week=throughput,
        arrivals_per_week=sum(start < item.created_at <= now for item in items) / WEEKS,
        forecast_empty_at=empty_at,
        forecast=forecast,
    )


def _ages(pending: Sequence[datetime], now: datetime) -> Ages:
    if not pending:
        return Ages(p50=None, p90=None, p99=None, max=None)
    days = [max((now - created) / DAY, 0.0) for created in pending]
    p50, p90, p99 = np.percentile(days, [50, 90, 99]).tolist()
    return Ages(p50=p50, p90=p90, p99=p99, max=max(days))


def _forecast(pending: int, throughput: float, now: datetime) -> tuple[datetime | None, str]:
    if not pending:
        return now, "nothing is pending"
    if not throughput:
        return None, f"no decisions in the last {WEEKS} weeks"
    needed = pending / throughput
    if needed > 52 * 100:
        return None, "more than 100 years at this pace"
    return (
        now + needed * WEEK,
        f"{needed:.1f} weeks at {throughput:g} a week, if nothing new arrives",
    )


# ── gate and notice ───────────────────────────────────────────────────────────────────────────────


def breaches(figures: Backlog, limits: Limits) -> list[str]:
    """The exceeded limits, one sentence each."""
    problems = []
    if limits.max_pending is not None and figures.pending_review > limits.max_pending:
        problems.append(f"{figures.pending_review} pending, the limit is {limits.max_pending}")
    oldest = figures.age_days.max
    if limits.max_age_days is not None and oldest is not None and oldest > limits.max_age_days:
        problems.append(
            f"the oldest item has been pending for {oldest:.1f} days, "
            f"the limit is {limits.max_age_days:g}"
        )
    return problems


def notify(url: str, figures: Backlog, problems: Sequence[str]) -> None:
    """Send a notice to a webhook: a `text`, as chat services want it, and all the figures."""
    if not url.startswith(("http://", "https://")):
        raise InputError("a webhook must be an http or https address", where=url)
    text = f"Review backlog: {'; '.join(problems) or 'within its limits'}"
    body = msgspec.json.encode({"text": text, "problems": list(problems), "backlog": figures})
    try:
        request = urllib.request.Request(
            url, data=body, headers={"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=10):
            pass
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise AssayError(f"the webhook {url} did not accept the notice: {error}") from error


# ── Prometheus ────────────────────────────────────────────────────────────────────────────────────


def backlog_metrics(figures: Backlog) -> str:
    """The figures in the text format of Prometheus 0.0.4."""
    age = figures.age_days
    oldest = figures.oldest_pending_at
    families: list[tuple[str, str, list[tuple[str, float | None]]]] = [
        (
            "assay_review_items",
            "Review items by state.",
            [(f'{{state="{state}"}}', getattr(figures, state)) for state in REVIEW_STATES],
        ),
        ("assay_review_items_all", "Review items in all states.", [("", figures.total)]),
        (
            "assay_review_oldest_pending_timestamp_seconds",
            "When the oldest pending item was queued.",
            [("", oldest.timestamp() if oldest else None)],
        ),
        (
            "assay_review_pending_age_days",
            "Days that pending items have waited.",
            [
                ('{quantile="0.5"}', age.p50),
                ('{quantile="0.9"}', age.p90),
                ('{quantile="0.99"}', age.p99),
                ('{quantile="1"}', age.max),
            ],
        ),
        (
            "assay_review_throughput_per_week",
            f"Items decided a week, over {figures.weeks} weeks.",
            [("", figures.throughput_per_week)],
        ),
        (
            "assay_review_arrivals_per_week",
            f"Items queued a week, over {figures.weeks} weeks.",
            [("", figures.arrivals_per_week)],
        ),
        (
            "assay_review_empty_timestamp_seconds",
            "When the queue is empty at this pace.",
            [("", figures.forecast_empty_at.timestamp() if figures.forecast_empty_at else None)],
        ),
    ]
    return "".join(metric(name, help, values) for name, help, values in families)


def external_metrics(backlogs: Mapping[str, ExternalBacklog]) -> str:
    """The external backlogs in the same format. Of one that cannot be read, only that it is
    down."""
    items: list[tuple[str, float | None]] = []
    totals: list[tuple[str, float | None]] = []
    oldest: list[tuple[str, float | None]] = []
    up: list[tuple[str, float | None]] = []
    for name, table in backlogs.items():
        label = f'backlog="{_label(name)}"'
        counts = {state: getattr(table, state) for state in REVIEW_STATES} | table.other
        items += [(f'{{{label},state="{_label(key)}"}}', many) for key, many in counts.items()]
        totals.append((f"{{{label}}}", table.total))
        first = table.oldest_pending_at
        oldest.append((f"{{{label}}}", first.timestamp() if first is not None else None))
        up.append((f"{{{label}}}", float(table.status == "ok")))
    return "".join(
        [
            metric("assay_backlog_items", "Rows of external backlogs by state.", items),
            metric("assay_backlog_items_all", "Rows in all states.", totals),
            metric(
                "assay_backlog_oldest_pending_timestamp_seconds",
                "When the oldest pending row was made.",
                oldest,
            ),
            metric("assay_backlog_up", "Whether the table can be read.", up),
        ]
    )


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def metric(
    name: str, help: str, values: Sequence[tuple[str, float | None]], kind: str = "gauge"
) -> str:
    """One metric family. Unknown values are left out, as Prometheus wants it."""
    known = [f"{name}{labels} {value:.17g}\n" for labels, value in values if value is not None]
    return f"# HELP {name} {help}\n# TYPE {name} {kind}\n{''.join(known)}" if known else ""


# ── external backlogs ─────────────────────────────────────────────────────────────────────────────


WAIT_SECONDS = 3  # how long a page or a command waits for all backlogs together; taste
LONGEST_STATE = 100  # characters; taste: a longer text is not a state
MOST_STATES = 50  # different values that a state column may have; taste
NO_STATE = "(none)"
HINT = "See docs/backlogs.md."

StateName = str | int | bool  # a state as the table spells it


class BacklogSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The place of an external backlog: a `table`, or a `query` (one SELECT) with the two columns.
    `states` maps our states to the table's names for them, one or several each."""

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
    if wrong := address_mistake(source.url):
        return "url", wrong
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
    is_postgres = conninfo.is_postgres(with_secrets(source.url, where))
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
            at = time_of(created) if created is not None else None
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


# What `time_of` can read, in SQL: a cell that is not a time (an empty text, infinity, a year before
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
