"""A disk that is full, and one that cannot be written: a real one, in a name space of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kit.commands import child_environment, require_mounts

WORK = Path(__file__).with_name("disk_work.py")


JUDGING = {"vote", "rule", "approve", "promote"}
ROOM = "no space left on device"


@pytest.mark.parametrize("state", ["full", "read-only", "read-only-logs"])
def test_nothing_is_lost_and_work_goes_on(state: str, tmp_path: Path) -> None:
    """What cannot be written is refused before it is acknowledged, and leaves no half of it; a vote
    that was refused is taken under its id as soon as there is room."""
    require_mounts()
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=12m none '{disk}'"
    work = f"'{sys.executable}' '{WORK}' '{disk}' {state}"
    command = ["unshare", "-rm", "sh", "-c", f"{mount} && {work}"]
    inside = child_environment()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=inside)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert set(told["before"].values()) == {"done"}
    worst = told["during"][0]
    refused = {act for act, said in worst.items() if said.startswith("refused: ")}
    assert refused == (JUDGING | {"bootstrap"} if state == "read-only-logs" else set(worst)), worst
    if state != "read-only":
        wanted = ROOM if state == "full" else "the log cannot be written"
        for act in JUDGING:
            assert wanted in worst[act].lower(), worst[act]
            assert "Nothing was changed" in worst[act]
    if state == "full":
        assert "the disk is full" in worst["log"]
    for round_ in told["during"]:
        assert not [said for said in round_.values() if "and changed" in said], round_
    assert set(told["after"].values()) == {"done"}, told["after"]
    assert told["lost"] == []
    assert told["doctor"] == "ok"
