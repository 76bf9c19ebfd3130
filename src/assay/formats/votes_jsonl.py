"""STEM.votes.jsonl, the votes beside a set: append-only, one vote a line.

A vote counts as given when it is on disk: `append` returns after the file is synced. What a crash
left of a last line was never acknowledged, and goes with the next append. Only what a torn write
can leave is taken for one: a last line that is whole JSON and no vote is refused like any other."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import iter_json_lines, os_message, sync_folder
from assay.core.types import Vote
from assay.formats.gold_jsonl import locked

RULING = "adjudication"
SAMPLE = "sample"
IMPORTED = "imported"
WITHDRAWN = "withdrawn"  # takes back the vote that it supersedes, and puts nothing there

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NORMAL = re.compile(r"\d{4}(-\d\d)?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
_CONTROL = re.compile(rb"[\x01-\x1f]")


def votes_path(dataset: Path) -> Path:
    return beside(dataset, "votes.jsonl")


def beside(dataset: Path, ending: str) -> Path:
    """`eval/dataset.json` has `eval/dataset.votes.jsonl` and its like beside it."""
    place = dataset.resolve() if dataset.is_symlink() else dataset
    return place.with_name(f"{place.stem}.{ending}")


def read_votes(path: Path) -> list[Vote]:
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


def append(path: Path, votes: Sequence[Vote]) -> None:
    """Write votes at the end, all of them or none; when this returns they are on disk."""
    if not votes:
        return
    with appending(path) as write:
        write(votes)


@contextlib.contextmanager
def appending(path: Path) -> Iterator[Callable[[Sequence[Vote]], None]]:
    """Be the only one who appends, to look at the file and write what is missing from it; votes
    are on disk when the function that this gives returns."""

    def write(votes: Sequence[Vote]) -> None:
        if not votes:
            return
        is_new = not path.exists()
        _mend_end(path)
        size = 0 if is_new else path.stat().st_size
        try:
            _write(path, _encoded(votes))
        except OSError:
            _take_back(path, size)
            raise
        if is_new:
            sync_folder(path.parent)

    try:
        with locked(path):
            yield write
    except OSError as error:
        raise InputError(
            f"cannot write: {os_message(error)}", where=str(path), hint="Nothing was changed."
        ) from error


def _encoded(votes: Sequence[Vote]) -> bytes:
    return b"".join(msgspec.json.encode(vote) + b"\n" for vote in votes)


def _write(path: Path, payload: bytes) -> None:
    with path.open("ab", buffering=0) as stream:
        rest = memoryview(payload)
        while rest:
            rest = rest[stream.write(rest) or 0 :]
        os.fsync(stream.fileno())


def _take_back(path: Path, size: int) -> None:
    """What a full disk took of votes that are not acknowledged goes again."""
    with contextlib.suppress(OSError):
        os.truncate(path, size)


def votes_from(path: Path, start: int) -> tuple[list[Vote], int]:
    """The whole lines from a place in the file on, and where they end: what has been appended
    since somebody read that far."""
    if not path.exists():
        return [], 0
    with path.open("rb") as stream:
        stream.seek(start)
        content = stream.read()
    whole = content[: content.rfind(b"\n") + 1]
    lines = [line for line in whole.split(b"\n") if line.strip()]
    try:
        votes = [_in_utc(_APPENDED.decode(line)) for line in lines]
    except (msgspec.MsgspecError, ValueError, OverflowError) as error:
        raise InputError(f"not a vote: {error}", where=str(path)) from error
    return votes, start + len(whole)


_APPENDED = msgspec.json.Decoder(Vote)


# ── the end of the file ───────────────────────────────────────────────────────────────────────────


def _tail(path: Path) -> bytes:
    """What stands after the last end of a line; nothing in a file that was written whole."""
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


def _mend_end(path: Path) -> None:
    """A last line without its end: kept where it is a whole vote, dropped where a crash cut it."""
    if not path.exists() or not path.stat().st_size or not (tail := _tail(path)):
        return
    if _is_torn(tail):
        os.truncate(path, path.stat().st_size - len(tail))
        return
    read_votes(path)  # a file that cannot be read is not written to
    with path.open("ab") as stream:
        stream.write(b"\n")
