"""A disk that is full, and one that cannot be written: a real one, in a name space of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WORK = Path(__file__).with_name("disk_work.py")


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"]
    return subprocess.run(tried, capture_output=True).returncode == 0


@pytest.mark.parametrize("state", ["full", "read-only"])
def test_nothing_is_lost_and_work_goes_on(state: str, tmp_path: Path) -> None:
    if not _can_mount():
        pytest.skip("needs the right to mount a disk in a name space (unshare -rm)")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=12m none '{disk}'"
    work = f"'{sys.executable}' '{WORK}' '{disk}' {state}"
    command = ["unshare", "-rm", "sh", "-c", f"{mount} && {work}"]
    inside = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"}
    for name in ("ASSAY_HOME", "ASSAY_STORE"):
        inside.pop(name, None)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=inside)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert set(told["before"].values()) == {"done"}
    assert all(said.startswith("refused: ") for said in told["during"][0].values()), told["during"]
    if state == "full":
        for act in ("log", "promote", "bootstrap"):
            assert "the disk is full" in told["during"][0][act], told["during"][0]
    assert set(told["after"].values()) == {"done"}, told["after"]
    assert told["lost"] == []
    assert told["doctor"] == "ok"
