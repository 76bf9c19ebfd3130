"""The backlog: one function, and the numbers it is made of."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AssayError, InputError
from assay.review.waiting import Limits, backlog, backlog_metrics, breaches, notify
from assay.store import Store
from assay.store.records import REVIEW_STATES, ReviewItem, Ruling

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class Times:
    """A store that knows nothing but review times."""

    def __init__(self, *times: tuple[str, datetime, datetime | None]) -> None:
        self.times = list(times)

    def review_times(self, gold: str = "") -> Any:
        return self.times


def pending(days: float) -> tuple[str, datetime, None]:
    return ("pending_review", NOW - days * DAY, None)


def decided(state: str, days: float, created: float = 100) -> tuple[str, datetime, datetime]:
    return (state, NOW - created * DAY, NOW - days * DAY)


def test_the_numbers() -> None:
    times = [
        *(pending(days) for days in range(1, 11)),
        decided("approved", 1),
        decided("rejected", 27),
        decided("published", 29),
    ]
    found = backlog(Times(*times), now=NOW)  # type: ignore[arg-type]
    assert (found.pending_review, found.approved, found.rejected, found.published, found.total) == (
        10,
        1,
        1,
        1,
        13,
    )
    assert found.oldest_pending_at == NOW - 10 * DAY
    assert (found.age_days.p50, found.age_days.p90, found.age_days.max) == (
        5.5,
        pytest.approx(9.1),
        10.0,
    )
    assert (found.throughput_per_week, found.arrivals_per_week) == (0.5, 2.5)
    assert found.forecast_empty_at == NOW + timedelta(weeks=20)
    assert found.forecast == "20.0 weeks at 0.5 a week, if nothing new arrives"


def test_nothing_waits_and_nothing_moves() -> None:
    empty = backlog(Times(), now=NOW)  # type: ignore[arg-type]
    assert (empty.total, empty.oldest_pending_at, empty.age_days.max, empty.forecast) == (
        0,
        None,
        None,
        "nothing waits",
    )
    stuck = backlog(Times(pending(3)), now=NOW, weeks=2)  # type: ignore[arg-type]
    assert (stuck.forecast_empty_at, stuck.forecast) == (
        None,
        "nothing was reviewed in the last 2 weeks",
    )
    with pytest.raises(InputError, match="at least one week"):
        backlog(Times(), weeks=0)  # type: ignore[arg-type]


@given(
    st.lists(st.tuples(st.sampled_from(REVIEW_STATES), st.floats(-10, 1000), st.floats(-10, 1000)))
)
def test_counts_sum_to_total(spec: list[tuple[str, float, float]]) -> None:
    times = [
        pending(a) if state == "pending_review" else decided(state, b, a) for state, a, b in spec
    ]
    found = backlog(Times(*times), now=NOW)  # type: ignore[arg-type]
    assert (
        found.pending_review + found.approved + found.rejected + found.published
        == found.total
        == len(spec)
    )


def test_on_a_store(store: Store) -> None:
    items = [
        ReviewItem(
            id=f"i{n}",
            gold=f"set-{n % 2}",
            kind="gold_row",
            key=f"k{n}",
            ref=f"g{n}",
            query="q",
            created_at=NOW - n * DAY,
        )
        for n in range(5)
    ]
    store.add_review_items(items)
    store.rule(
        [
            Ruling(item=items[4], state="approved", by="d", at=NOW),
            Ruling(item=items[3], state="rejected", by="d", at=NOW),
        ]
    )
    found = backlog(store, now=NOW)
    assert (found.pending_review, found.approved, found.rejected, found.total) == (3, 1, 1, 5)
    assert found.oldest_pending_at == NOW - 2 * DAY
    assert backlog(store, now=NOW, gold="set-1").total == 2


def test_limits() -> None:
    found = backlog(Times(pending(3), pending(40)), now=NOW)  # type: ignore[arg-type]
    assert breaches(found, Limits()) == []
    assert breaches(found, Limits(max_pending=2, max_age_days=40)) == []
    assert breaches(found, Limits(max_pending=1, max_age_days=30)) == [
        "2 wait for review, more than 1",
        "the oldest has waited 40.0 days, more than 30",
    ]


class Hook(BaseHTTPRequestHandler):
    heard: list[Any] = []
    answer = 200

    def do_POST(self) -> None:
        self.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.answer)
        self.end_headers()

    def log_message(self, *args: Any) -> None: ...


def test_a_webhook_is_told() -> None:
    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/hook"
    found = backlog(Times(pending(40)), now=NOW)  # type: ignore[arg-type]
    notify(url, found, ["too old"])
    assert Hook.heard[0]["text"] == "Review backlog: too old"
    assert Hook.heard[0]["backlog"]["pending_review"] == 1
    Hook.answer = 500
    with pytest.raises(AssayError, match="did not take the notice"):
        notify(url, found, [])
    server.shutdown()
    server.server_close()
    for wrong in ("http://localhost:abc/", "http://[::1", "http://"):
        with pytest.raises(AssayError, match="did not take the notice"):
            notify(wrong, found, [])
    with pytest.raises(InputError, match="http or https"):
        notify("file:///etc/passwd", found, [])


def test_prometheus_text() -> None:
    # type: ignore[arg-type]
    text = backlog_metrics(backlog(Times(pending(2), decided("approved", 1)), now=NOW))
    assert 'assay_review_items{state="pending_review"} 1\n' in text
    assert 'assay_review_pending_age_days{quantile="1"} 2\n' in text
    assert "# TYPE assay_review_items gauge\n" in text
    assert "oldest" not in backlog_metrics(backlog(Times(), now=NOW))  # type: ignore[arg-type]
