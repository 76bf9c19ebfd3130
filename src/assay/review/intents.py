"""What is about to be done to a gold set, written down first.

A ruling changes three things: the store, the votes beside the set, and the set. Its commit in the
store is the moment it is made. Before that it is written to a file beside the set, and after that
the votes and the set follow, so that no reader of files ever sees what was not made. The file goes
when all three are done. Whoever comes next after a kill, at the start of a server or before another
change of the set, finds it and asks the store: what was committed is finished, and what was not is
forgotten, since nobody was told that it was done.

The file has the identity of its store in its name (`.NAME.STORE.ruling`). Another store cannot know
what was committed in this one, and leaves it alone; `assay doctor` names it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from assay.core.errors import AssayError, InputError
from assay.core.files import os_message, write_atomic
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.votes_jsonl import appending, votes_from, votes_path
from assay.review.queue import sync_review
from assay.store import Store
from assay.store.records import EVERYTHING, ReviewKind, Ruling

ENDING = ".ruling"


class _Told(msgspec.Struct, frozen=True):
    """A ruling as the audit trail knows it."""

    gold: str
    ref: str
    kind: ReviewKind
    action: str
    by: str
    at: datetime


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What a file was, what it becomes, and by which rulings: the set, or what lies beside it. The
    two are the same where votes alone are given, and labels change with the next merge. `store`
    says where the rulings are kept."""

    store: str
    file: str  # from the folder of the set
    before: bytes
    after: bytes
    votes: tuple[Vote, ...]
    rulings: tuple[_Told, ...]


def intent_path(store: Store, path: Path) -> Path:
    place, identity = path.resolve(), store.server_secret("identity")[:16]
    return place.with_name(f".{place.name}.{identity}{ENDING}")


class FileChange(msgspec.Struct, frozen=True):
    path: Path
    before: bytes
    after: bytes


def begin(store: Store, path: Path, rulings: Sequence[Ruling], change: FileChange) -> None:
    """Under the lock of the set, before the store is asked."""
    told = tuple(
        _Told(
            ruling.item.gold,
            ruling.item.ref,
            ruling.item.kind,
            f"review.{ruling.state}",
            ruling.by,
            ruling.at,
        )
        for ruling in rulings
    )
    votes = tuple(vote for ruling in rulings for vote in ruling.votes)
    intent = Intent(
        store=store.address,
        file=os.path.relpath(change.path.resolve(), path.resolve().parent),
        before=change.before,
        after=change.after,
        votes=votes,
        rulings=told,
    )
    try:
        write_atomic(intent_path(store, path), msgspec.json.encode(intent))
    except OSError as error:
        raise InputError(
            f"cannot write: {os_message(error)}", where=str(path), hint="Nothing was decided."
        ) from error


def heal(store: Store, path: Path) -> str:
    """Finish or forget what was begun, under the lock of the set; says what was finished, or
    nothing. What cannot be written stays for the next who comes."""
    place = intent_path(store, path)
    try:
        intent = msgspec.json.decode(place.read_bytes(), type=Intent)
    except FileNotFoundError:
        return ""
    except msgspec.MsgspecError:
        place.unlink(missing_ok=True)  # it was never whole: nothing was begun
        return ""
    if not path.exists():
        return ""  # until the set is here again
    said = _finished(store, path, intent) if _committed(store, intent) else ""
    place.unlink(missing_ok=True)
    return said


def _committed(store: Store, intent: Intent) -> bool:
    first = intent.rulings[0]
    subject = f"{first.gold}/{first.ref}"
    trail = store.audit(subject=subject, action=first.action, limit=EVERYTHING)
    return any((entry.by, entry.at) == (first.by, first.at) for entry in trail)


def _finished(store: Store, path: Path, intent: Intent) -> str:
    named = ", ".join(told.ref for told in intent.rulings[:3])
    try:
        is_edited = _write(store, path, intent)
    except (AssayError, OSError) as error:
        raise InputError(
            f"the decision on {named} is made, but its files cannot be written: {error}",
            where=str(path),
            hint="Nothing is lost: the files follow with the next decision or start.",
        ) from error
    then = "the file was edited since: look at these rows" if is_edited else "is finished now"
    return f"{path}: a decision on {named} was interrupted, and {then}"


def _write(store: Store, path: Path, intent: Intent) -> bool:
    """The votes that are not there yet, the file, and what the queue shows of it. Whether somebody
    has edited the file meanwhile: then it stays as they left it, and the queue follows it."""
    with appending(votes_path(path)) as write:
        there = {vote.id for vote in votes_from(votes_path(path), 0)[0]}
        write([vote for vote in intent.votes if vote.id not in there])
    if intent.before == intent.after:
        return False
    file = (path.resolve().parent / intent.file).resolve()
    now = file.read_bytes() if file.exists() else b""
    is_edited = now not in (intent.before, intent.after)
    if now == intent.before:
        write_atomic(file, intent.after)
    first = intent.rulings[0]
    # a row that waits has other documents now
    if file == path.resolve() and (is_edited or first.kind == "judgment"):
        sync_review(store, first.gold, gold_jsonl.read_lines(path), now=first.at)
    return is_edited


def interrupted(store: Store, path: Path) -> bool:
    """Whether something is left to heal here. Under way, it is there for a moment too."""
    return any(_left(path)) and intent_path(store, path).exists()


def left_elsewhere(store: Store, path: Path) -> list[str]:
    """The stores, other than this one, that have left something to heal beside a set."""
    found = [place for place in _left(path) if place != intent_path(store, path)]
    return sorted({_store_of(place) for place in found})


def _left(path: Path) -> list[Path]:
    place = path.resolve()
    start = f".{place.name}."
    try:
        beside = [each for each in place.parent.iterdir() if each.name.startswith(start)]
    except OSError:
        return []
    return [each for each in beside if each.name.endswith(ENDING)]


def _store_of(place: Path) -> str:
    try:
        return msgspec.json.decode(place.read_bytes(), type=Intent).store
    except (OSError, msgspec.MsgspecError):
        return place.name
