"""A project that cannot be written, or whose store is of an earlier version: commands that read say
so and go on where they can, and commands that write are refused."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from assay.testing import open_store
from kit import Outcome, Project
from kit.commands import child_environment, require_mounts

FIRST = Path(__file__).parents[1] / "fixtures" / "first-version" / "project.zip"
READING = (("backlog",), ("history",), ("people", "list"), ("gold", "bootstrap", "--dry-run"))
WRITING = (
    ("logs", "import", "searches.jsonl"),
    ("logs", "purge", "--older-than", "1"),
    ("people", "invite", "Dafna", "chair"),
    ("people", "key", "logger"),
    ("gold", "promote", "g001", "--by", "Dafna"),
    ("serve",),
)
REFUSED = "the store cannot be written. Make the file and its folder writable"
DRIVER = ("sqlite", "readonly", "unable to open", "traceback")


RUN = """
import json, sys
from kit import run_command
done = [run_command(*words) for words in json.loads(sys.argv[1])]
print(json.dumps([(one.code, one.out, one.err) for one in done]))
"""


def _read_only(folder: Path, *commands: tuple[str, ...]) -> list[Outcome]:
    """Run commands in a folder of a file system that is mounted read-only."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", mount, str(folder)]
    run = [*command, sys.executable, "-c", RUN, json.dumps(commands)]
    inside = child_environment()
    done = subprocess.run(run, capture_output=True, text=True, timeout=120, env=inside)
    assert done.returncode == 0, done.stderr
    return [Outcome(*parts) for parts in json.loads(done.stdout)]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.make(tmp_path / "project")
    made.bootstrap()
    line = {"query": "levy", "results": ["a"], "at": "2026-05-01"}
    (made.folder / "searches.jsonl").write_text(json.dumps(line))
    return made


@pytest.mark.parametrize("left", ["nothing", "a write-ahead log"])
def test_a_read_only_disk(project: Project, left: str) -> None:
    """What was committed is read, also where a process that was killed has left it in the log."""
    require_mounts()
    file = project.folder / ".assay" / "assay.db"
    if left != "nothing":
        store = open_store(file)
        store.server_secret("in the log")
    looking = (("backlog", "--json"), ("doctor", "--json"))
    backlog, found, *done = _read_only(project.folder, *looking, *READING, *WRITING)
    for command, read in zip(READING, done, strict=False):
        assert read.code == 0, (command, read.err)
        assert f"{file.relative_to(project.folder)}: the store cannot be written" in read.err
    assert backlog.json["pending_review"] == 3
    assert found.code == 4  # the workspace cannot be written either
    assert found.json["workspace"]["status"] == "failed"
    assert found.json["store"]["status"] == found.json["gold"]["status"] == "ok"
    assert found.json["store"]["note"] == "the store cannot be written; it is only read"
    assert found.json["store"]["rows"]["server_secrets"] == (0 if left == "nothing" else 1)
    for command, refused in zip(WRITING, done[len(READING) :], strict=True):
        assert (refused.code, REFUSED in refused.err) == (2, True), (command, refused.err)
        assert "assay.db" in refused.err
        assert not [word for word in DRIVER if word in refused.err.lower()], refused.err
    if left != "nothing":
        store.close()


def test_where_no_store_can_be_made(project: Project) -> None:
    require_mounts()
    home = project.folder / ".assay"
    shutil.rmtree(home)
    commands = (("logs", "import", "searches.jsonl"), ("backlog",))
    for make in (lambda: None, home.mkdir):
        make()
        done, backlog = _read_only(project.folder, *commands)
        assert (done.code, REFUSED in done.err) == (2, True), done.err
    assert "no store here" in backlog.err


def test_a_store_that_may_not_be_written(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without a mount, as the system would say it of somebody else's file."""
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK)
    assert project.do("people", "list").err.count("the store cannot be written") == 1
    assert project.json("backlog")["pending_review"] == 3
    assert REFUSED in project.fail("people", "invite", "Dafna", "chair")


def test_a_store_of_an_earlier_version_is_upgraded_by_what_writes(project: Project) -> None:
    shutil.rmtree(project.folder)
    project.folder.mkdir()
    with zipfile.ZipFile(FIRST) as archive:
        archive.extractall(project.folder)
    file = project.folder / ".assay" / "assay.db"
    before = file.read_bytes()
    for command in READING:
        said = project.fail(*command)
        assert "the store is of an earlier version" in said
        assert "assay doctor --repair" in said
    found = project.json("doctor")
    assert (found["status"], found["store"]["status"]) == ("ok", "ok")
    assert "of an earlier version" in found["store"]["note"]
    assert "corpora" in found["index"]
    assert file.read_bytes() == before
    assert project.json("doctor", "--repair")["store"]["rows"]["search_logs"] == 2
    assert project.counts() == (0, 1, 1, 0)


def test_a_store_that_lacks_little_is_read_as_it_is(project: Project) -> None:
    """Runs of schema 0004 have no summary, and two indexes are missing."""
    file = project.folder / ".assay" / "assay.db"
    with sqlite3.connect(file) as connection:
        connection.execute("DROP INDEX decisions_case")
        connection.execute("DROP INDEX search_logs_case")
        for name in ("summary", "verdict", "asked"):
            connection.execute(f"ALTER TABLE runs DROP COLUMN {name}")
        connection.execute("UPDATE alembic_version SET version_num = '0004'")
    connection.close()
    before = file.read_bytes()
    assert "of an earlier version (schema 0004)" in project.do("people", "list").err
    assert project.json("backlog")["pending_review"] == 3
    found = project.json("doctor")
    assert (found["status"], found["store"]["schema"]) == ("ok", "0004")
    assert "what writes to it next upgrades it" in found["store"]["note"]
    assert "this needs a newer one" in project.fail("history")
    assert file.read_bytes() == before
    project.do("people", "key", "logger")
    assert project.do("history").err == ""


def test_history_computes_what_a_run_lacks_and_keeps_nothing(project: Project) -> None:
    run = project.folder / "run.trec"
    run.write_text("g001 Q0 a 1 1.0 run\n")
    project.do("score", "--dataset", project.gold, "--run", run)
    shown = project.do("history").out
    with sqlite3.connect(project.folder / ".assay" / "assay.db") as connection:
        connection.execute("UPDATE runs SET summary = NULL, asked = NULL")
    assert project.do("history").out == shown
    assert connection.execute("SELECT summary, asked FROM runs").fetchall() == [(None, None)]
    connection.close()
