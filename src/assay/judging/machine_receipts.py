"""What was sent to whom: STEM.receipts.jsonl beside the set, append-only.

A run of a machine judge writes a line before its first request, so that one which is killed has
left its trace, and a line at its end with what was really used. No line holds a key or a text."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import os_message
from assay.formats.gold_jsonl import locked
from assay.judging.machine import Spent
from assay.judging.votes import beside


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="begin"):
    """What is about to be sent: the pairs that are not in the cache."""

    run: str
    at: str
    by: str  # the person who runs it
    judge: str
    host: str
    model: str
    corpus: str
    rubric: str
    prompt: str  # the hash of the template
    pairs: int
    documents: int
    characters: int


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="end"):
    """What was sent, what it cost, and what came of it. `stopped` is empty where all was asked."""

    run: str
    at: str
    judge: str
    pairs: int
    documents: int
    characters: int
    spent: Spent
    cut_off: int  # requests whose answers were not waited for
    votes: int
    from_cache: int
    unusable: int
    left: int
    stopped: str = ""


def receipts_path(dataset: Path) -> Path:
    return beside(dataset, "receipts.jsonl")


def append_receipt(dataset: Path, receipt: Begun | Ended) -> None:
    """On disk when this returns. A line that a crash has cut gets an end first."""
    path = receipts_path(dataset)
    try:
        with locked(path), path.open("ab+") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(size - 1, 0))
            torn = size > 0 and stream.read(1) != b"\n"
            stream.write(b"\n" * torn + msgspec.json.encode(receipt) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise InputError(f"cannot write: {os_message(error)}", where=str(path)) from error
