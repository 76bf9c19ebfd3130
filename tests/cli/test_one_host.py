"""A project is used by servers of one host."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from kit import run_command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    (tmp_path / ".assay").mkdir()
    return tmp_path


def test_a_server_beside_one_on_another_host_is_refused(project: Path) -> None:
    """It names the host; nothing is written."""
    there = project / ".assay" / "server.json"
    there.write_text(json.dumps({"host": "elsewhere", "process": 1}), "utf-8")
    outcome = run_command("serve", "--port", "8399")
    assert outcome.code == 2
    assert "a server on elsewhere is using this project" in outcome.err
    assert json.loads(there.read_text("utf-8"))["host"] == "elsewhere"


def test_a_server_that_gave_no_sign_of_life_is_gone(project: Path) -> None:
    """After a minute the project is free: only the port is refused here."""
    there = project / ".assay" / "server.json"
    there.write_text(json.dumps({"host": "elsewhere", "process": 1}), "utf-8")
    os.utime(there, (time.time() - 61, time.time() - 61))
    outcome = run_command("serve", "--host", "no.such.host.invalid", "--port", "8399")
    assert "elsewhere" not in outcome.err
