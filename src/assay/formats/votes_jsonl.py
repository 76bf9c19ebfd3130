"""STEM.votes.jsonl, the votes beside a set: append-only, one vote a line.

A vote counts as given when it is on disk: `append` returns after the file is synced. What a crash
left of a last line was never acknowledged, and goes with the next append."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import iter_json_lines, os_message
from assay.core.types import Vote
from assay.formats.gold_jsonl import locked

RULING = "adjudication"
SAMPLE = "sample"
IMPORTED = "imported"
WITHDRAWN = "withdrawn"  # a vote that takes back the judge's earlier one, and puts nothing there


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
    torn = None if _ends_whole(path) else _lines(path)
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
        return msgspec.convert(value, Vote)
    except msgspec.ValidationError as error:
        raise InputError(
            f"not a vote: {error}",
            where=where,
            hint="Expected id, query_id, doc_id, grade, judge, kind, at and what else a vote has.",
        ) from error


def append(path: Path, votes: Sequence[Vote]) -> None:
    """Write votes at the end; when this returns they are on disk."""
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
        _drop_torn_end(path)
        with path.open("ab") as stream:
            stream.write(b"".join(msgspec.json.encode(vote) + b"\n" for vote in votes))
            stream.flush()
            os.fsync(stream.fileno())
        if is_new:
            _sync_folder(path.parent)

    try:
        with locked(path):
            yield write
    except OSError as error:
        raise InputError(f"cannot write: {os_message(error)}", where=str(path)) from error


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
        votes = [_APPENDED.decode(line) for line in lines]
    except msgspec.MsgspecError as error:
        raise InputError(f"not a vote: {error}", where=str(path)) from error
    return votes, start + len(whole)


_APPENDED = msgspec.json.Decoder(Vote)


# ── the end of the file ───────────────────────────────────────────────────────────────────────────


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") + 1


def _drop_torn_end(path: Path) -> None:
    """A last line without its end: kept where it is a whole vote, dropped where a crash cut it."""
    if not path.exists() or not path.stat().st_size or _ends_whole(path):
        return
    content = path.read_bytes()
    start = content.rfind(b"\n") + 1
    with path.open("r+b") as stream:
        try:
            msgspec.json.decode(content[start:], type=Vote)
            stream.seek(0, os.SEEK_END)
            stream.write(b"\n")
        except msgspec.DecodeError:
            stream.truncate(start)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
