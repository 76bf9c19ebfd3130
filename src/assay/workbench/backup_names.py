"""Which files a backup may hold, by their names: the same rule when it is made and when it is
brought back.

A backup may come from anybody, and other programs run what they find under a name they know:
`.git/hooks`, `conftest.py`, `pyproject.toml`. So it holds data alone, in folders that are not
hidden, under names that are one step of a path on every system."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath

from assay import formats

KINDS = ("store", "project", "outside", "workspace")
# what Assay reads and writes, and tables and documents that may lie beside a set; no code
DATA = frozenset(
    f".{ending}"
    for ending in (
        "json jsonl csv tsv txt trec qrels run toml md html xml xlsx parquet arrow npy db copy pdf "
        "zip gz"
    ).split()
)
UNFINISHED = "job"  # in the workspace: which import was under way
FOREIGN = frozenset("pyproject.toml pytest.toml tox.toml uv.toml package.json".split())
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE)


def is_carried(name: str) -> bool:
    """Whether a backup holds a file of this name: its kind, and the path from there."""
    kind, *steps = name.split("/")
    return kind in KINDS and bool(steps) and all(map(_is_step, steps)) and _is_data(kind, steps[-1])


def inside(name: str) -> str:
    """The name of a file in a backup. What Windows takes for a device, such as CON.json, has its
    first letter as a number there."""
    return "/".join(
        f"%{ord(step[0]):02X}{step[1:]}" if _DEVICE.fullmatch(step) else step
        for step in name.split("/")
    )


def brought_back(name: str) -> str:
    """The name that it had, where this system takes it for a file."""
    return name if os.name == "nt" else "/".join(map(_as_it_was, name.split("/")))


def _as_it_was(step: str) -> str:
    found = re.match(r"%([0-9A-F]{2})", step)
    was = chr(int(found[1], 16)) + step[3:] if found else ""
    return was if _DEVICE.fullmatch(was) else step


def _is_step(step: str) -> bool:
    """Neither hidden nor a way up, a drive or a device, on any system."""
    whole = bool(step) and step.isprintable() and not set(step) & set("\\:")
    return whole and step[0] != "." and step[-1] not in ". " and not _DEVICE.fullmatch(step)


def _is_data(kind: str, file: str) -> bool:
    ending = PurePosixPath(file).suffix.lower()
    known = ending in DATA or (kind == "workspace" and file == UNFINISHED)
    return file.lower() not in FOREIGN and (known or formats.is_added(ending))
