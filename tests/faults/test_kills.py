"""Work that is killed at any moment; `benchmarks/kills.py` does it 250 times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kills.py"
# One act for each way of writing; the others differ in what they write, not in how.
ACTS = "vote approve undo merge hand-edit rebuild backup import logging migration".split()


def test_what_was_acknowledged_outlives_a_kill_and_what_is_left_is_whole(tmp_path: Path) -> None:
    """A process of its own: it forks, which this one with its threads must not."""
    chosen = [word for act in ACTS for word in ("--act", act)]
    command = [sys.executable, str(SCRIPT), "--kills", str(len(ACTS)), "--keep", str(tmp_path)]
    done = subprocess.run([*command, *chosen], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 wrong") == len(ACTS) + 1
