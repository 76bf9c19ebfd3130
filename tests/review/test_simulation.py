"""The shipped simulation, small: it runs, and killing the bootstrap leaves the old file or the new
one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "simulate_logs.py"


def test_the_simulation_holds(store_url: str) -> None:
    arguments = [
        "--store",
        store_url,
        "--searches",
        "3000",
        "--queries",
        "150",
        "--decisions",
        "60",
        "--kills",
        "6",
    ]
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"]["neither"] == 0
    assert found["killed"]["old_file"] + found["killed"]["new_file"] == 6
    assert found["after_the_kills_it_still_works"]
    assert found["second_run_changes"] == 0
    assert found["rows"] > 50
