"""The one place that asks git.

A repository may come from anybody, and its configuration can name programs: hooks, a file monitor,
one that checks signatures. Those are not run."""

from __future__ import annotations

import subprocess
from pathlib import Path

# without its lock: were we killed meanwhile, the lock would stay and stop the next commit
_QUIET = ("git", "--no-optional-locks", "--no-pager")
_NO_PROGRAMS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "log.showSignature": "false",
}


def git(*arguments: str, folder: Path | None = None) -> str | None:
    """What git says, of the current folder or another; None where it is not there or refuses."""
    settings = [part for pair in _NO_PROGRAMS.items() for part in ("-c", "=".join(pair))]
    command = [*_QUIET, *settings, *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode(errors="replace").strip()
