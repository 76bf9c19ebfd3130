"""What waits for review, as numbers: `assay backlog`, /api/backlog, /metrics and MCP agree."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from kit import Project

STATES = ("pending_review", "approved", "rejected", "published")


def test_every_surface_shows_the_same_numbers(reviewed: Project) -> None:
    """The counts of the states sum to the total, with ages, throughput and a forecast."""
    reviewed.do("gold", "promote", "g001", "--by", "Dafna")
    reviewed.do("gold", "reject", "g002", "--by", "Dafna", "--why", "w")
    shown = reviewed.backlog()
    assert [shown[state] for state in STATES] == [1, 1, 1, 0]
    assert (shown["total"], shown["throughput_per_week"]) == (3, 0.5)
    assert shown["arrivals_per_week"] == 0.75
    assert 0 <= shown["age_days"]["max"] < 1
    assert shown["forecast_empty_at"]
    assert "2.0 weeks" in shown["forecast"]
    assert "pending" in reviewed.do("backlog").out
    with reviewed.serve() as server:
        chair = server.visitor()
        told = chair.ask("/api/backlog")
        assert told["backlog"]["oldest_pending_at"] == chair.item("g003")["created_at"]
        for block in (told["backlog"], told["halacha_backlog"]):
            assert [block[state] for state in STATES] == [1, 1, 1, 0]
        agent = server.agent().ask("get_metrics")
        assert [agent["backlog"][state] for state in STATES] == [1, 1, 1, 0]
        metrics = chair.get("/metrics").text
        assert 'assay_review_items{state="pending_review"} 1\n' in metrics
        assert 'assay_review_items{state="approved"} 1\n' in metrics
        assert "# TYPE assay_review_items gauge\n" in metrics
        later = server.visitor()
        assert later.get("/").status_code == 200


def test_ages_are_counted_in_days(reviewed: Project) -> None:
    """Twenty days on, everything pending has waited for twenty days, and nothing was decided."""
    later = datetime.now(UTC) + timedelta(days=20)
    with reviewed.serve(clock=lambda: later) as server:
        chair = server.visitor()
        found = chair.ask("/api/backlog")["backlog"]
        assert found["age_days"]["p50"] == pytest.approx(20, abs=0.01)
        assert found["age_days"]["max"] == pytest.approx(20, abs=0.01)
        assert (found["throughput_per_week"], found["forecast_empty_at"]) == (0, None)
        listed = chair.ask("/api/review")
        assert {line["days"] for line in listed["items"]} == {20}
        ages = [len(chair.items(age=age)) for age in ("new", "week", "month")]
        assert ages == [0, 3, 0]


def test_nothing_pending(project: Project) -> None:
    """An empty queue has no oldest item and no ages."""
    project.log("q", "a")
    empty = project.backlog()
    assert (empty["total"], empty["oldest_pending_at"], empty["age_days"]["max"]) == (0, None, None)


def test_without_a_store_there_is_nothing_to_count(project: Project) -> None:
    """The command fails in a folder where nothing was logged or reviewed."""
    assert project.run("backlog").code != 0


def test_limits_decide_the_exit_code(reviewed: Project) -> None:
    """Exit code 1 with a sentence for each limit that is passed."""
    assert reviewed.run("backlog", "--max-pending", 3, "--max-age", 1).code == 0
    said = reviewed.fail("backlog", "--max-pending", 2, "--max-age", 0, code=1)
    assert "3 pending, the limit is 2" in said
    assert "days, the limit is 0" in said
    assert reviewed.run("backlog", "--max-age", "nan").code == 2
    assert "http" in reviewed.fail("backlog", "--webhook", "file:///etc/passwd")


@contextmanager
def webhook(status: int) -> Iterator[tuple[str, list[Any]]]:
    """A server that keeps what it is told."""
    heard: list[Any] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *args: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.mark.parametrize("status", [200, 500])
def test_a_webhook_is_told_when_a_limit_is_passed(reviewed: Project, status: int) -> None:
    """A webhook that fails is a warning; the limit decides the exit code."""
    with webhook(status) as (url, heard):
        assert reviewed.run("backlog", "--max-pending", 3, "--webhook", url).code == 0
        assert heard == []
        said = reviewed.fail("backlog", "--max-pending", 1, "--webhook", url, code=1)
    (told,) = heard
    assert "3 pending" in told["text"]
    assert told["backlog"]["pending_review"] == 3
    assert ("warning" in said) == (status == 500)


def test_one_gold_set_is_counted_alone(reviewed: Project) -> None:
    """The route, the list and the command take the name of a set."""
    other = reviewed.write_rows({"h1": "one", "h2": "two"}, reviewed.folder / "other.jsonl")
    with reviewed.serve(other) as server:
        chair = server.visitor()
        assert chair.ask("/api/backlog")["backlog"]["total"] == 5
        assert chair.ask("/api/backlog", gold="gold-set")["backlog"]["total"] == 3
        assert len(chair.items(gold="gold-set")) == 3
    assert reviewed.json("backlog", "--gold", "gold-set")["total"] == 3
    assert reviewed.backlog()["total"] == 3, "serving a file does not make it one of the project"


def test_what_waits_for_a_row_that_is_gone_is_said_and_withdrawn(reviewed: Project) -> None:
    """`assay gold withdraw` takes it off the queue; the audit trail keeps who and why."""
    with reviewed.serve() as server:
        server.agent().suggest("g001", "z", 2)
    lines = reviewed.gold.read_text("utf-8").splitlines(keepends=True)
    reviewed.gold.write_text("".join(lines[1:]), "utf-8")
    outcome = reviewed.do("backlog")
    assert "assay gold withdraw" in outcome.err
    with reviewed.serve() as server:
        waiting = [item["ref"] for item in server.visitor().items(state="pending_review")]
    if "g001" in waiting:
        why = ("--by", "Dafna", "--why", "the row was deleted")
        reviewed.do("gold", "withdraw", reviewed.gold, *why)
    assert reviewed.counts() == (2, 0, 0, 0)
    with reviewed.serve() as server:
        entries = server.visitor().audit(action="review.withdrawn")
    assert {entry["subject"].rpartition("/")[2] for entry in entries} == {"g001"}


def test_a_set_whose_file_is_gone_comes_back_from_its_log(reviewed: Project) -> None:
    """The next bootstrap writes the rows that the log has; what was rejected stays rejected."""
    reviewed.do("gold", "reject", "g001", "--by", "Dafna", "--why", "w")
    reviewed.gold.unlink()
    assert reviewed.counts() == (0, 0, 0, 0), "a set without its file has nothing to review"
    reviewed.bootstrap()
    assert reviewed.counts() == (2, 0, 1, 0)
    assert list(reviewed.rows()) == ["g002", "g003"]


def test_a_backlog_in_a_table_of_ones_own_is_counted(reviewed: Project) -> None:
    """A table that `assay.toml` names is counted under its name; one that fails is exit code 4."""
    with sqlite3.connect(reviewed.folder / "law.db") as connection:
        connection.execute("CREATE TABLE halachot (review_status, created_at)")
        rows = [("waiting", "2026-05-21")] * 2 + [("approved", "2026-05-01"), ("held", None)]
        connection.executemany("INSERT INTO halachot VALUES (?, ?)", rows)
    connection.close()
    table = "\n[backlog.law]\nurl = 'law.db'\ntable = 'halachot'\n"
    table += "states = { pending_review = 'waiting' }\n"
    config = reviewed.folder / "assay.toml"
    config.write_text(config.read_text("utf-8") + table, "utf-8")
    found = reviewed.backlog()
    assert found["pending_review"] == 3
    theirs = found["backlogs"]["law"]
    assert (theirs["pending_review"], theirs["approved"], theirs["total"]) == (2, 1, 4)
    assert theirs["other"] == {"held": 1}
    (reviewed.folder / "law.db").unlink()
    assert reviewed.run("backlog").code == 4
