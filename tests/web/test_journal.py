"""Alive, ready, what is logged, and what is not."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from starlette.testclient import TestClient

from assay.store import Store, open_store
from assay.telemetry.recorder import Recorder
from assay.web import app as web_app
from assay.web.app import JsonLines, Serving, create_app, prepare, write_json_lines
from assay.workbench.project.service import Service
from kit.commands import free_port


@pytest.fixture
def lines(capfd: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    """JSON lines on, and as they were afterwards."""
    names = ("", "uvicorn", "uvicorn.error", "uvicorn.access", "assay.requests", "assay.server")
    before = {
        name: (logger.handlers[:], logger.level, logger.propagate)
        for name in names
        for logger in [logging.getLogger(name)]
    }
    write_json_lines()
    yield capfd
    for name, (handlers, level, propagate) in before.items():
        logger = logging.getLogger(name)
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_probes_need_nothing_and_say_nothing(store: Store) -> None:
    app, _ = prepare(Service(store=store), Serving(accounts=True))
    client = TestClient(app, base_url="http://10.1.2.3")  # a probe names no host
    alive, ready = client.get("/healthz"), client.get("/readyz")
    assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    assert client.get("/").status_code == 400
    assert client.head("/healthz").status_code == 200


def test_a_store_that_is_gone_is_not_ready_and_alive(tmp_path: Path) -> None:
    store = open_store(tmp_path / "assay.db")
    client = TestClient(create_app(Service(store=store)))
    (tmp_path / "assay.db").rename(tmp_path / "elsewhere.db")
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "not ready"})
    store.close()


def test_a_workspace_that_is_read_only_fails_the_probe(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the gold sets are on another disk."""
    (home := tmp_path / "home").mkdir()
    there = os.statvfs
    fields = (*there(home)[:8], os.ST_RDONLY, *there(home)[9:])
    read_only = os.statvfs_result(fields)
    client = TestClient(create_app(Service(store=store, home=home)))
    assert client.get("/healthz").status_code == 200
    monkeypatch.setattr(os, "statvfs", lambda path: read_only if path == home else there(path))
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"status": "no disk"})


def test_a_store_that_hangs_is_not_ready(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()

    class Hangs:
        def append_audit(self, entries: object) -> None:
            held.wait(5)

    monkeypatch.setattr(web_app, "READY_SECONDS", 0.05)
    app = create_app(Service(store=store))
    for one in app.user_middleware:
        if one.cls is web_app.Probes:
            one.kwargs["service"] = Service(store=Hangs())  # type: ignore[arg-type]
    assert TestClient(app).get("/readyz").status_code == 503
    held.set()


def test_a_store_that_is_locked_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path / "assay.db")
    client = TestClient(create_app(Service(store=store)))
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(web_app, "READY_SECONDS", 0.05)
    with contextlib.closing(sqlite3.connect(tmp_path / "assay.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        other.execute("ROLLBACK")
    monkeypatch.undo()
    assert client.get("/readyz").status_code == 200
    store.close()


SECRET = "somebody's divorce"


def test_a_request_is_told_without_what_was_asked(
    store: Store, lines: pytest.CaptureFixture[str]
) -> None:
    client = TestClient(create_app(Service(store=store)))
    client.get("/search", params={"q": SECRET, "corpus": SECRET})
    client.get(f"/doc/{SECRET}/{SECRET}")
    client.get(f"/invite/{SECRET}")
    client.get(f"/no/such/{SECRET}")
    client.get("/static/base.css", params={"q": SECRET})
    client.post("/api/log", json={"query": SECRET}, headers={"x-name": SECRET})
    client.get("/healthz")
    said = lines.readouterr().err
    assert SECRET not in said
    assert "divorce" not in said
    told = [json.loads(line) for line in said.splitlines()]
    assert [row["route"] for row in told] == [
        "/search",
        "/doc/{corpus}/{id:path}",
        "/invite/{token}",
        "",
        "/static",
        "/api/log",
        "/healthz",
    ]
    assert [row["method"] for row in told][-2:] == ["POST", "GET"]
    assert {*told[0]} == {"at", "level", "logger", "method", "route", "status", "millis", "bytes"}


def test_messages_keep_numbers_and_errors_their_kind(lines: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("assay.telemetry").warning("%d searches are lost (%s)", 3, SECRET)
    logging.getLogger("uvicorn.error").error("Invalid request: %s", SECRET)
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("assay.web").exception("failed on %s", SECRET)
    first, second, third = map(json.loads, lines.readouterr().err.splitlines())
    assert first["message"] == "3 searches are lost (…)"
    assert second["message"] == ""
    assert (third["message"], third["error"]) == ("failed on …", "ValueError")
    assert third["at_code"][-1].startswith("test_journal.py:")


def test_a_message_that_does_not_fit_its_numbers_is_still_a_line() -> None:
    record = logging.LogRecord("assay.x", logging.INFO, "", 0, "%d rows", ("x",), None)
    assert json.loads(JsonLines().format(record))["message"] == "%d rows"


def test_a_stop_lets_a_request_end_and_writes_what_was_logged(tmp_path: Path) -> None:
    path = tmp_path / "assay.db"
    store = open_store(path)
    recorder = Recorder(lambda: open_store(path))
    service = Service(store=store, recorder=recorder)
    app = create_app(service)
    config = uvicorn.Config(app, port=0, log_level="error", http="h11")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    body = b'{"id": "under-way", "query": "q"}'
    head = b"POST /api/log HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as made:
        made.sendall(head + body[:5])
        time.sleep(0.1)
        server.should_exit = True  # what SIGTERM sets
        time.sleep(0.2)
        made.sendall(body[5:])
        answer = b"".join(iter(lambda: made.recv(4096), b""))
    thread.join(10)
    assert answer.startswith(b"HTTP/1.1 202")
    assert [search.id for search in store.searches(["under-way"])] == ["under-way"]
    recorder.close()
    store.close()


def test_a_stop_by_a_signal_closes_the_store(tmp_path: Path) -> None:
    """The file is whole without its log: whoever copies it then has everything."""
    port = str(free_port())
    command = [sys.executable, "-m", "assay", "serve", "--port", port]
    environment = os.environ | {"ASSAY_HOME": str(tmp_path / "home")}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("serving on"):
                break
        answered = False
        while not answered and running.poll() is None:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer,
            ):
                answered = answer.status == 200
        running.terminate()
        assert running.wait(30) == 0, running.stderr.read()
    assert [path.name for path in (tmp_path / "home").glob("assay.db*")] == ["assay.db"]
