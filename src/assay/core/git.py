"""The one place that asks git.

A repository may come from anybody, and its configuration can name programs: hooks, a file monitor,
one that checks signatures, filters of content, and what is run to fetch objects that a partial
clone left out. Those are not run. Filters that the user's own configuration names are."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# without its lock: were we killed meanwhile, the lock would stay and stop the next commit
_QUIET = ("git", "--no-optional-locks", "--no-pager")
_NO_PROGRAMS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "log.showSignature": "false",
}
# older releases of git know the second alone
_NO_FETCHING = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
_STATUS = ("status", "--porcelain", "--ignore-submodules=dirty")
_OWN_SCOPES = ("system", "global", "command")


def git(*arguments: str, folder: Path | None = None) -> str | None:
    """What git says, of the current folder or another; None where it is not there or refuses."""
    said = _ask(arguments, folder, _NO_PROGRAMS)
    return None if said is None else said.decode(errors="replace").strip()


def git_changes() -> str | None:
    """What is not committed in the current folder. Inside of a submodule nothing is looked at: it
    has a configuration of its own."""
    listed = _ask(("config", "--list", "--show-scope", "--null"), None, _NO_PROGRAMS)
    if listed is None:
        return None
    filters: dict[str, str] = {}
    words = os.fsdecode(listed).split("\0")
    for scope, pair in zip(words[::2], words[1::2], strict=False):
        key, _, value = pair.partition("\n")
        if key.startswith("filter."):
            filters[key] = value if scope in _OWN_SCOPES else filters.get(key, "")
    required = {key: "false" for key in filters if key.endswith(".required")}
    said = _ask(_STATUS, None, _NO_PROGRAMS | filters | required)
    return None if said is None else said.decode(errors="replace").strip()


def _ask(
    arguments: Sequence[str], folder: Path | None, settings: Mapping[str, str]
) -> bytes | None:
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0  # the user's own come before
    environment = os.environ | _NO_FETCHING
    environment["GIT_CONFIG_COUNT"] = str(count + len(settings))
    for number, (key, value) in enumerate(settings.items(), start=count):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        done = subprocess.run(
            [*_QUIET, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=5,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout
