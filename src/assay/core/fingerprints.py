"""What a number depends on, as hashes and versions: the part of a receipt that makes it
reproducible."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import msgspec

from assay.core.results import GitState
from assay.core.types import GoldSet


def gold_fingerprint(gold: GoldSet) -> str:
    """The same for the same queries and grades, whatever the file format or order."""
    digest = hashlib.sha256()
    for query in sorted(gold.queries, key=lambda query: query.id):
        digest.update(msgspec.json.encode([query.id, query.text, query.checks]))
    judgments = gold.judgments.select("query_id", "doc_id", "grade")
    as_text = judgments.cast({"query_id": str, "doc_id": str})
    for row in as_text.sort("query_id", "doc_id").iter_rows():
        digest.update(msgspec.json.encode(row))
    return digest.hexdigest()


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
    names = ("assay", "numpy", "polars", "msgspec")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in names}


def git_state() -> GitState | None:
    """The commit of the folder the command runs in, and whether it has uncommitted changes."""
    try:
        commit = _git("rev-parse", "HEAD")
        status = _git("status", "--porcelain")
    except (OSError, subprocess.TimeoutExpired):
        return None
    if commit.returncode:
        return None
    return GitState(commit=commit.stdout.strip(), dirty=bool(status.stdout.strip()))


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=5)
