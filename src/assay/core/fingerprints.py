"""Hashes and versions of everything a score depends on: gold sets, engine code, packages and the
git commit. Receipts carry them so that a score can be reproduced."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from assay import __version__
from assay.core.results import GitState
from assay.core.types import GoldSet

ROWS = 100_000  # of judgments that are in memory as text (taste)


def gold_fingerprint(gold: GoldSet) -> str:
    """The same for the same queries and grades, whatever the file format or order."""
    digest = hashlib.sha256()
    for query in sorted(gold.queries, key=lambda query: query.id):
        digest.update(msgspec.json.encode([query.id, query.text, query.checks]))
    judgments = gold.judgments.select("query_id", "doc_id", "grade").cast({"doc_id": pl.String})
    names = judgments["query_id"].unique().cast(pl.String).sort()
    in_order = judgments.cast({"query_id": pl.Enum(names)})  # sorted by number: faster than by name
    for rows in in_order.sort("query_id", "doc_id").iter_slices(ROWS):
        digest.update(_as_json(rows))
    return digest.hexdigest()


def _as_json(rows: pl.DataFrame) -> bytes:
    """Every row as a JSON array, one after the other; by columns where no id has a character that
    JSON escapes."""
    text = pl.format('["{}","{}",{}]', "query_id", "doc_id", "grade")
    joined: str = rows.select(text.str.join("")).item()
    written = joined.encode()
    raw = np.frombuffer(written, np.uint8)
    escaped = (raw < 0x20) | (raw == 0x7F) | (raw == ord("\\"))
    if escaped.any() or np.count_nonzero(raw == ord('"')) != 4 * rows.height:
        return b"".join(map(msgspec.json.encode, rows.iter_rows()))
    return written


def module_fingerprint(spec: str, folder: Path) -> str:
    """The hash of every Python file beside the module, found from `folder`, so that a changed
    engine is run again."""
    name = spec.partition(":")[0]
    path = folder / (name if name.endswith(".py") else Path(*name.split(".")).with_suffix(".py"))
    beside = path.parent if path.exists() else folder / Path(*name.split("."))
    digest = hashlib.sha256()
    for source in sorted(beside.glob("*.py")) if beside.is_dir() else []:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    own = {"python": platform.python_version(), "assay": __version__}
    return own | {each.__name__: each.__version__ for each in (np, pl, msgspec)}


# ── git ───────────────────────────────────────────────────────────────────────────────────────────

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


def git_state() -> GitState | None:
    """The commit of the folder the command runs in, and whether it has uncommitted changes."""
    commit, changes = git("rev-parse", "HEAD"), git_changes()
    if commit is None or changes is None:
        return None
    return GitState(commit=commit, dirty=bool(changes))


def git(*arguments: str, folder: Path | None = None) -> str | None:
    """The output of a git command in the current folder or another; None where git is missing or
    fails."""
    output = _run_git(arguments, folder, _NO_PROGRAMS)
    return None if output is None else output.decode(errors="replace").strip()


def git_changes() -> str | None:
    """The uncommitted changes in the current folder. Submodules are not looked into: each has a
    configuration of its own."""
    listed = _run_git(("config", "--list", "--show-scope", "--null"), None, _NO_PROGRAMS)
    if listed is None:
        return None
    filters: dict[str, str] = {}
    words = os.fsdecode(listed).split("\0")
    for scope, pair in zip(words[::2], words[1::2], strict=False):
        key, _, value = pair.partition("\n")
        if key.startswith("filter."):
            filters[key] = value if scope in _OWN_SCOPES else filters.get(key, "")
    required = {key: "false" for key in filters if key.endswith(".required")}
    output = _run_git(_STATUS, None, _NO_PROGRAMS | filters | required)
    return None if output is None else output.decode(errors="replace").strip()


def _run_git(
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
