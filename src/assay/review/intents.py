"""What is about to be done to a gold set, written down first.

A ruling changes three things: the votes beside the set, the set, and the store. A process that is
killed between them would leave a row that says one thing and a store that says another. So the
rulings are written to a file beside the set before anything else (`.NAME.ruling`), and it is
removed when all three are done (a set that changes with the next merge stays as it is). Whoever
comes next, at the start of a server or before another ruling, finds it, asks the store whether the
ruling was committed, and puts the files back where it was not: nobody was told that it was done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from assay.core.files import write_atomic
from assay.core.types import Vote
from assay.formats.votes_jsonl import take_back, votes_path
from assay.store import Store
from assay.store.records import EVERYTHING, Ruling


class _Told(msgspec.Struct, frozen=True):
    """A ruling as the audit trail knows it."""

    subject: str
    action: str
    by: str
    at: datetime


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What a set was, what it becomes, and by which rulings."""

    before: bytes
    after: bytes
    votes: tuple[Vote, ...]
    rulings: tuple[_Told, ...]


def intent_path(path: Path) -> Path:
    place = path.resolve()
    return place.with_name(f".{place.name}.ruling")


@contextlib.contextmanager
def intended(path: Path, rulings: Sequence[Ruling], before: bytes, after: bytes) -> Iterator[None]:
    """Around a change of files and store, under the lock of the set."""
    told = tuple(
        _Told(
            f"{ruling.item.gold}/{ruling.item.ref}", f"review.{ruling.state}", ruling.by, ruling.at
        )
        for ruling in rulings
    )
    votes = tuple(vote for ruling in rulings for vote in ruling.votes)
    intent = Intent(before=before, after=after, votes=votes, rulings=told)
    write_atomic(intent_path(path), msgspec.json.encode(intent))
    yield
    intent_path(path).unlink(missing_ok=True)


def heal(store: Store, path: Path) -> str:
    """Finish or undo what was interrupted, under the lock of the set; says what was done, or
    nothing."""
    place = intent_path(path)
    try:
        intent = msgspec.json.decode(place.read_bytes(), type=Intent)
    except FileNotFoundError:
        return ""
    except msgspec.MsgspecError:
        place.unlink(missing_ok=True)  # it was never whole: nothing was begun
        return ""
    said = _undone(path, intent) if not _committed(store, intent) else ""
    place.unlink(missing_ok=True)
    return said


def _committed(store: Store, intent: Intent) -> bool:
    first = intent.rulings[0]
    trail = store.audit(subject=first.subject, action=first.action, limit=EVERYTHING)
    return any((entry.by, entry.at) == (first.by, first.at) for entry in trail)


def _undone(path: Path, intent: Intent) -> str:
    take_back(votes_path(path), intent.votes)
    if intent.before == intent.after:  # votes alone: their set changes with the next merge
        return ""
    now = path.read_bytes() if path.exists() else b""
    named = ", ".join(told.subject.rpartition("/")[2] for told in intent.rulings[:3])
    if now == intent.after != intent.before:
        write_atomic(path.resolve(), intent.before)
        return f"{path}: a decision on {named} was interrupted and is undone; decide again"
    if now == intent.before:
        return ""
    return (
        f"{path}: a decision on {named} was interrupted, and the file was edited since: "
        "look at these rows"
    )


def interrupted(path: Path) -> bool:
    """Whether something is left to heal. Under way, it is there for a moment too."""
    return intent_path(path).exists()
