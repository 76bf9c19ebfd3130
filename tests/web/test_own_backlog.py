"""A backlog of the user's own under its name, in every place that shows the queue."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.store import Store
from assay.workbench.agents.gold_sets import get_metrics
from assay.workbench.agents.short_answers import encode_answer
from assay.workbench.project.config import read_config
from assay.workbench.project.service import Service
from assay.workbench.review.queue import _recent
from kit.commands import Assay
from kit.server import local_client

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
CONFIG = "[backlog.{name}]\nurl = 'law.db'\ntable = 'halachot'\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "law.db") as connection:
        connection.execute("CREATE TABLE halachot (review_status, created_at)")
        rows = [("pending_review", "2026-05-21")] * 9 + [("approved", "2026-05-01")] * 10
        connection.executemany("INSERT INTO halachot VALUES (?, ?)", [*rows, ("<b>held", None)])
    return tmp_path


def service_of(store: Store, folder: Path, name: str) -> Service:
    (folder / "assay.toml").write_text(CONFIG.format(name=name))
    return Service(store=store, config=read_config(folder / "assay.toml"), clock=lambda: NOW)


def test_every_place_says_the_same(store: Store, folder: Path) -> None:
    service = service_of(store, folder, "precedents")
    client = local_client(service)
    shown = client.get("/api/backlog").json()
    told = shown["backlogs"]["precedents"]
    assert (told["pending_review"], told["approved"], told["total"]) == (9, 10, 20)
    assert told["other"] == {"<b>held": 1}
    assert told["oldest_pending_days"] == 10.5
    assert shown["halacha_backlog"]["total"] == shown["backlog"]["total"] == 0
    whole = client.get("/api/system/diagnostics").json()
    assert (whole["status"], whole["backlogs"]["precedents"]) == ("ok", told)
    assert client.get("/api/overview").json()["backlogs"]["precedents"] == told
    page = client.get("/").text
    assert "<bdi>precedents</bdi>" in page
    assert '<li data-state="pending_review"><b>9</b>' in page
    assert "&lt;b&gt;held" in page
    metrics = client.get("/metrics").text
    assert 'assay_backlog_items{backlog="precedents",state="pending_review"} 9\n' in metrics
    assert 'assay_backlog_items_all{backlog="precedents"} 20\n' in metrics
    assert (
        json.loads(encode_answer(get_metrics(service)))["backlogs"]["precedents"]["pending_review"]
        == 9
    )


def test_a_table_called_halacha_is_the_block_of_the_specification(
    store: Store, folder: Path
) -> None:
    client = local_client(service_of(store, folder, "halacha"))
    for place in ("/api/backlog", "/api/system/diagnostics"):
        block = client.get(place).json()["halacha_backlog"]
        assert (block["pending_review"], block["approved"], block["total"]) == (9, 10, 20)
        assert block["other"] == 20 - 9 - 10
    (folder / "law.db").unlink()
    assert client.get("/api/backlog").json()["halacha_backlog"]["total"] == 20  # kept for a while
    _recent.clear()
    away = client.get("/api/system/diagnostics")
    assert (away.status_code, away.json()["status"]) == (200, "degraded")
    assert away.json()["halacha_backlog"] is None
    assert "there is no database" in away.json()["backlogs"]["halacha"]["error"]
    assert client.get("/").status_code == 200


def test_on_the_command_line(assay_cli: Assay, folder: Path) -> None:
    (folder / "assay.toml").write_text(CONFIG.format(name="halacha"))
    found = assay_cli("backlog", "--json")
    assert (found.code, found.json["backlogs"]["halacha"]["pending_review"]) == (0, 9)
    assert "backlog.halacha" in assay_cli("backlog").out
    checkup = assay_cli("doctor", "--json")
    assert checkup.json["backlogs"]["tables"]["halacha"]["approved"] == 10
    assert "halacha: status ok, pending review 9" in assay_cli("doctor").out
    (folder / "law.db").unlink()
    for command in ("backlog", "doctor"):
        _recent.clear()
        done = assay_cli(command)
        assert done.code == 4
        assert "there is no database" in " ".join((done.out + done.err).split())
    (folder / "assay.toml").write_text("[backlog.halacha]\nurl = 'law.db'\n")
    assert assay_cli("backlog").code == 2


def test_no_place_repeats_an_address_of_something_else(assay_cli: Assay, folder: Path) -> None:
    (folder / "assay.toml").write_text(
        "[backlog.my]\nurl = 'mysql://root:hunter22@h/db'\ntable = 't'\n"
    )
    for command in ("backlog", "doctor"):
        done = assay_cli(command)
        assert done.code in (2, 4)
        assert "backlog.my" in done.out + done.err
        assert "hunter22" not in done.out + done.err
