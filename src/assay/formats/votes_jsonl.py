"""Read STEM.votes.jsonl, the votes of a set as earlier versions stored them: one vote a line. The
log has replaced this file; `assay gold export-votes` still writes it."""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import iter_json_lines
from assay.core.types import Vote

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NORMAL = re.compile(r"\d{4}(-\d\d)?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
_CONTROL = re.compile(rb"[\x01-\x1f]")


def read_votes_file(path: Path) -> list[Vote]:
    """Every vote ever given, in the order of the file; none where there is no file."""
    if not path.exists() or not path.stat().st_size:
        return []
    votes, seen = list[Vote](), dict[str, int]()
    torn = _lines(path) if _is_torn(_tail(path)) else None
    try:
        for number, value in iter_json_lines(path, strict=True):
            vote = _vote(value, f"{path}:{number}")
            if vote.id in seen:
                first = seen[vote.id]
                raise InputError(
                    f"the vote {vote.id!r} is on line {first} already",
                    where=f"{path}:{number}",
                    hint="Every vote has an id of its own; was the file merged by hand?",
                )
            seen[vote.id] = number
            votes.append(vote)
    except InputError as error:
        if torn is None or not error.where.endswith(f":{torn}"):
            raise
    return votes


def _vote(value: object, where: str) -> Vote:
    try:
        return _in_utc(msgspec.convert(value, Vote))
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise InputError(
            f"not a vote: {error}",
            where=where,
            hint="Expected id, query_id, doc_id, grade, judge, kind, at and what else a vote has.",
        ) from error


def _in_utc(vote: Vote) -> Vote:
    """Times compare as text."""
    if not vote.at or _NORMAL.fullmatch(vote.at):
        return vote
    return msgspec.structs.replace(vote, at=_moment(vote.at))


def _moment(at: str) -> str:
    """In UTC; a day stays a day."""
    if _DAY.fullmatch(at):
        return date.fromisoformat(at).isoformat()
    given = datetime.fromisoformat(at)
    moment = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    return moment.isoformat()


# ── the end of the file ───────────────────────────────────────────────────────────────────────────


def _tail(path: Path) -> bytes:
    """The bytes after the last line end; empty in a file that was written whole."""
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) == b"\n":
            return b""
    return path.read_bytes().rpartition(b"\n")[2]


def _is_torn(tail: bytes) -> bool:
    """The beginning of one vote, and no more: what a write leaves that was cut."""
    left = tail.rstrip(b"\0")  # a file system may have made room for the rest
    if not left:
        return bool(tail)
    if not left.startswith(b"{") or _CONTROL.search(left):
        return False  # as with the line ends of another system: a file that somebody has edited
    try:
        left.decode("utf-8")
    except UnicodeDecodeError as error:  # cut within a letter; elsewhere it is no text at all
        if error.end < len(left):
            return False
        left = left[: error.start]
    try:
        msgspec.json.decode(left)
        return False
    except msgspec.DecodeError:
        return True


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") + 1
