"""The backlog of the review queue in figures: how much is pending, how old it is, how fast it is
decided. Every page, command and metric shows these figures."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np

from assay.core.errors import AssayError, InputError
from assay.review.external_backlog import ExternalBacklog
from assay.review.queue import REVIEW_STATES, ReviewItem

WEEK = timedelta(weeks=1)
DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Ages:
    """How many days the pending items have waited. None if nothing is pending."""

    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None


@dataclass(frozen=True, kw_only=True)
class HalachaBacklog:
    """The six figures that the specification names: items by state, which sum to `total`, and when
    the oldest pending item was queued."""

    pending_review: int
    approved: int
    rejected: int
    published: int
    total: int
    oldest_pending_at: datetime | None


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


def backlog(items: Sequence[ReviewItem], *, now: datetime | None = None, weeks: int = 4) -> Backlog:
    """The backlog of the review queue of one gold set, or of several."""
    if weeks < 1:
        raise InputError("throughput needs at least one week", hint="Give 1 week or more.")
    moment = now or datetime.now(UTC)
    counts = {state: sum(item.state == state for item in items) for state in REVIEW_STATES}
    pending = [item.created_at for item in items if item.state == "pending_review"]
    decided = [item.decided_at for item in items if item.decided_at is not None]
    start = moment - weeks * WEEK
    throughput = sum(start < at <= moment for at in decided) / weeks
    empty_at, forecast = _forecast(len(pending), throughput, moment, weeks)
    return Backlog(
        **counts,
        total=len(items),
        oldest_pending_at=min(pending, default=None),
        age_days=_ages(pending, moment),
        weeks=weeks,
        throughput_per_week=throughput,
        arrivals_per_week=sum(start < item.created_at <= moment for item in items) / weeks,
        forecast_empty_at=empty_at,
        forecast=forecast,
    )


def _ages(pending: Sequence[datetime], now: datetime) -> Ages:
    if not pending:
        return Ages(p50=None, p90=None, p99=None, max=None)
    days = [max((now - created) / DAY, 0.0) for created in pending]
    p50, p90, p99 = np.percentile(days, [50, 90, 99]).tolist()
    return Ages(p50=p50, p90=p90, p99=p99, max=max(days))


def _forecast(
    pending: int, throughput: float, now: datetime, weeks: int
) -> tuple[datetime | None, str]:
    if not pending:
        return now, "nothing is pending"
    if not throughput:
        return None, f"no decisions in the last {weeks} weeks"
    needed = pending / throughput
    if needed > 52 * 100:
        return None, "more than 100 years at this pace"
    return (
        now + needed * WEEK,
        f"{needed:.1f} weeks at {throughput:g} a week, if nothing new arrives",
    )


# ── gate and notice ───────────────────────────────────────────────────────────────────────────────


def breaches(figures: Backlog, limits: Limits) -> list[str]:
    """What is over its limit, one sentence each; empty if nothing is."""
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


def notify(
    url: str,
    figures: Backlog,
    problems: Sequence[str],
    *,
    post: Callable[[str, bytes], None] | None = None,
) -> None:
    """Send a notice to a webhook: a `text`, as chat services want it, and all the figures."""
    if not url.startswith(("http://", "https://")):
        raise InputError("a webhook is an http or https address", where=url)
    text = f"Review backlog: {'; '.join(problems) or 'within its limits'}"
    body = msgspec.json.encode({"text": text, "problems": list(problems), "backlog": figures})
    (post or _post)(url, body)


def _post(url: str, body: bytes) -> None:
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
