"""What is about to be done to a gold set, written down first.

A ruling changes three things: the store, the votes beside the set, and the set. Its commit in the
store is the moment it is made. Before that it is written to a file beside the set, and after that
the votes and the set follow, so that no reader of files ever sees what was not made. The file goes
when all three are done. Whoever comes next after a kill, at the start of a server or before another
change of the set, finds it and asks the store: what was committed is finished, and what was not is
forgotten, since nobody was told that it was done.

The file has the identity of its store in its name (`.NAME.STORE.ruling`), and is signed by it.
Another store cannot know what was committed in this one, and leaves it alone; `assay doctor` names
it. A copy of a store has an identity of its own. What the first began it finishes where the commit
is in the copy as well, and it forgets nothing of the first. What no store has signed is never
believed (`repair`)."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AssayError, InputError
from assay.core.files import os_message, write_atomic
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.votes_jsonl import WITHDRAWN, appending, votes_from, votes_path
from assay.review.changed_rows import merge_rows
from assay.review.queue import sync_review
from assay.store import Store
from assay.store.records import (
    EVERYTHING,
    AuditEntry,
    ReviewFilter,
    ReviewItem,
    ReviewKind,
    Ruling,
    StoreIdentity,
)

ENDING = ".ruling"
SHOWN = 16  # so much of the identity of a store is in the name; with the rest it is signed
EDITED = "the row was edited before the decision reached the file"
EDITED_FILE = "the file was edited before the change reached it"
LOST_EDIT = "gold.not_written"


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
    says where the rulings are kept. An edit on a page has entries of the audit trail in the place
    of rulings, and the name of its set."""

    store: str
    file: str  # from the folder of the set
    before: bytes
    after: bytes
    votes: tuple[Vote, ...]
    rulings: tuple[_Told, ...] = ()
    entries: tuple[AuditEntry, ...] = ()
    gold: str = ""

    @property
    def refs(self) -> list[str]:
        """What it is about."""
        edited = [entry.subject.removeprefix(f"{self.gold}/") for entry in self.entries]
        return [*(told.ref for told in self.rulings), *edited]


def intent_path(store: Store, path: Path) -> Path:
    return _note(path, store.identity().own)


def _note(path: Path, identity: str) -> Path:
    place = path.resolve()
    return place.with_name(f".{place.name}.{identity[:SHOWN]}{ENDING}")


def signed(identity: str, content: bytes) -> bytes:
    """With a first line that nobody else can write: files come with git and by mail."""
    key = identity[SHOWN:].encode()
    return hmac.digest(key, content, "sha256").hex().encode() + b"\n" + content


class FileChange(msgspec.Struct, frozen=True):
    path: Path
    before: bytes
    after: bytes


def change_of(path: Path, after: bytes) -> FileChange:
    """Of a file as it is now."""
    return FileChange(path, path.read_bytes() if path.exists() else b"", after)


class Edit(msgspec.Struct, frozen=True):
    """Entries of the audit trail on one set."""

    gold: str
    entries: Sequence[AuditEntry]


def begin(store: Store, path: Path, rulings: Sequence[Ruling], change: FileChange) -> None:
    """Under the lock of the set, before the store is asked."""
    votes = tuple(vote for ruling in rulings for vote in ruling.votes)
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
    _write_down(store, path, _intent(store, path, change, votes, rulings=told))


def begin_edit(
    store: Store, path: Path, edit: Edit, change: FileChange, votes: Sequence[Vote]
) -> None:
    """The same for an edit."""
    entries = {"gold": edit.gold, "entries": tuple(edit.entries)}
    _write_down(store, path, _intent(store, path, change, votes, **entries))


def _intent(
    store: Store, path: Path, change: FileChange, votes: Sequence[Vote], **more: Any
) -> Intent:
    return Intent(
        store=store.address,
        file=os.path.relpath(change.path.resolve(), path.resolve().parent),
        before=change.before,
        after=change.after,
        votes=tuple(votes),
        **more,
    )


def _write_down(store: Store, path: Path, intent: Intent) -> None:
    identity = store.identity().own
    try:
        write_atomic(_note(path, identity), signed(identity, msgspec.json.encode(intent)))
    except OSError as error:
        raise InputError(
            f"cannot write: {os_message(error)}", where=str(path), hint="Nothing was decided."
        ) from error


def heal(store: Store, path: Path) -> str:
    """Finish or forget what was begun, under the lock of the set; says what was finished, or
    nothing. What cannot be written stays for the next who comes."""
    identity = store.identity()
    if not path.exists():
        _read(identity.own, _note(path, identity.own))
        return ""  # not until the set is here again
    said = ""
    if (begun := _before(store, path, identity)) is not None:
        said = _finished(store, path, begun)
        _note(path, identity.before).unlink(missing_ok=True)
    place = _note(path, identity.own)
    if (intent := _read(identity.own, place)) is not None:
        now = _finished(store, path, intent) if _committed(store, intent) else ""
        place.unlink(missing_ok=True)
        said = "\n".join(filter(None, (said, now)))
    return said


def _before(store: Store, path: Path, identity: StoreIdentity) -> Intent | None:
    """What the store began that this one is a copy of, where its commit is here too. Whatever else
    it began may be going on there."""
    intent = _trusted(identity.before, _note(path, identity.before)) if identity.before else None
    return intent if intent is not None and _committed(store, intent) else None


def _trusted(identity: str, place: Path) -> Intent | None:
    try:
        return _read(identity, place)
    except InputError:
        return None


def _read(identity: str, place: Path) -> Intent | None:
    try:
        content = place.read_bytes()
        body = content.partition(b"\n")[2]
        if hmac.compare_digest(content, signed(identity, body)):
            return msgspec.json.decode(body, type=Intent)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read: {os_message(error)}", where=str(place)) from error
    raise InputError(
        "this note of a decision is damaged, or another wrote it",
        where=str(place),
        hint="Nothing is decided until it is gone. `assay doctor --repair` takes what was decided "
        "from the store, and puts the note aside.",
    )


def _committed(store: Store, intent: Intent) -> bool:
    if intent.entries:
        return store.was_noted(intent.gold, intent.entries[0].id)
    first = intent.rulings[0]
    return store.was_ruled(first.gold, first.ref, action=first.action, by=first.by, at=first.at)


def _finished(store: Store, path: Path, intent: Intent) -> str:
    named, what = ", ".join(intent.refs[:3]), "change of" if intent.entries else "decision on"
    try:
        edited = (_write_edit if intent.entries else _write)(store, path, intent)
    except (AssayError, OSError) as error:
        why = error.message if isinstance(error, InputError) else str(error)
        raise InputError(
            f"the {what} {named} is made, but its files cannot be written: {why}",
            where=str(path),
            hint="Nothing is lost: the files follow with the next decision or start.",
        ) from error
    other = f"{', '.join(edited[:3])} was edited since, and stays so"
    then = other if edited else "is finished now"
    return f"{path}: a {what} {named} was interrupted, and {then}"


def _write(store: Store, path: Path, intent: Intent) -> list[str]:
    """The votes that are not there yet, the file, and what the queue shows of it. Names the rows
    that somebody has edited meanwhile: they stay, the decision on them is taken back, and the queue
    follows the file."""
    first, decided = intent.rulings[0], _decided(store, intent)
    if intent.before == intent.after or not decided:
        add_votes(path, intent.votes)
        return []
    file = (path.resolve().parent / intent.file).resolve()
    now = file.read_bytes() if file.exists() else b""
    if file != path.resolve():
        add_votes(path, intent.votes)
        if now == intent.before:
            write_atomic(file, intent.after)
        return [] if now in (intent.before, intent.after) else [file.name]
    new, edited = intent.after, list[str]()
    if now not in (intent.before, intent.after):
        new, edited = _into(now, path, intent, decided)
    back = _taken_back(intent, decided, edited)
    add_votes(path, [*intent.votes, *(vote for ruling in back for vote in ruling.votes)])
    if new != now:
        write_atomic(file, new)
    if back:
        store.rule(back)
    if edited or first.kind == "judgment":  # a row that waits has other documents now
        sync_review(store, first.gold, gold_jsonl.read_lines(path), now=first.at)
    return edited


def _write_edit(store: Store, path: Path, intent: Intent) -> list[str]:
    """The votes and the file. Where somebody has edited the file meanwhile it stays so, and the
    audit trail says that the change did not reach it."""
    add_votes(path, intent.votes)
    file = (path.resolve().parent / intent.file).resolve()
    now = file.read_bytes() if file.exists() else b""
    if now == intent.before != intent.after:
        write_atomic(file, intent.after)
    if now in (intent.before, intent.after):
        return []
    lost = [
        AuditEntry(
            id=hashlib.sha256(f"{entry.id} lost".encode()).hexdigest()[:24],
            at=entry.at + timedelta(microseconds=1),
            by="file",
            action=LOST_EDIT,
            subject=entry.subject,
            reason=EDITED_FILE,
            before=entry.after,
        )
        for entry in intent.entries
    ]
    if not store.was_noted(intent.gold, lost[0].id):
        store.append_audit(lost, gold=intent.gold)
    return [file.name]


def _decided(store: Store, intent: Intent) -> dict[str, ReviewItem]:
    """What stands as it was decided then. What was decided on since is as it is now, whatever an
    old note says."""
    first, refs = intent.rulings[0], {told.ref for told in intent.rulings}
    wanted = ReviewFilter(gold=first.gold, named=tuple(refs))
    return {
        item.ref: item
        for item in store.find_items(wanted, limit=EVERYTHING)
        if (item.decided_by, item.decided_at) == (first.by, first.at)
    }


def add_votes(path: Path, votes: Sequence[Vote]) -> None:
    with appending(votes_path(path)) as write:
        there = {vote.id for vote in votes_from(votes_path(path), 0)[0]}
        write([vote for vote in votes if vote.id not in there])


def _into(
    now: bytes, path: Path, intent: Intent, decided: Mapping[str, ReviewItem]
) -> tuple[bytes, list[str]]:
    lines, before, after = (
        gold_jsonl.lines_of(content, path) for content in (now, intent.before, intent.after)
    )
    others = {told.ref for told in intent.rulings} - set(decided)
    merged, edited = merge_rows(lines, before, after, without=others)
    return (now if merged == lines else gold_jsonl.assemble(merged)), edited


def _taken_back(
    intent: Intent, decided: Mapping[str, ReviewItem], edited: Sequence[str]
) -> list[Ruling]:
    """Decisions on rows that are others by now, with their votes. A second time gives the same."""
    at = intent.rulings[0].at + timedelta(microseconds=1)
    return [
        Ruling(
            item=item,
            state="pending_review",
            by="file",
            at=at,
            reason=EDITED,
            votes=tuple(
                Vote(
                    id=hashlib.sha256(f"{vote.id} taken back".encode()).hexdigest()[:24],
                    query_id=vote.query_id,
                    doc_id=vote.doc_id,
                    grade=None,
                    judge=vote.judge,
                    kind=vote.kind,
                    at=at.astimezone(UTC).isoformat(),
                    rationale=EDITED,
                    supersedes=vote.id,
                    source=WITHDRAWN,
                )
                for vote in intent.votes
                if vote.query_id == item.ref and vote.source != WITHDRAWN
            ),
        )
        for item in decided.values()
        if item.ref in edited and item.state != "pending_review"
    ]


def interrupted(store: Store, path: Path) -> bool:
    """Whether something is left to heal here. Under way, it is there for a moment too."""
    if not notes_beside(path):
        return False
    identity = store.identity()
    return _note(path, identity.own).exists() or _before(store, path, identity) is not None


def unsigned(store: Store, path: Path) -> list[Path]:
    """What bears the name of this store, and what an older version wrote, without the signature of
    this store."""
    place, notes = path.resolve(), notes_beside(path)
    identity = store.identity() if notes else None
    if identity is None:
        return []
    ours = {_note(path, known): known for known in (identity.own, identity.before) if known}
    oldest = place.with_name(f".{place.name}{ENDING}")
    return [
        note
        for note in notes
        if note == oldest or (note in ours and _trusted(ours[note], note) is None)
    ]


def left_elsewhere(store: Store, path: Path) -> list[str]:
    """The stores, other than this one, that have left something to heal beside a set."""
    found = set(notes_beside(path)) - set(unsigned(store, path))
    if not found:
        return []
    identity = store.identity()
    ours = {_note(path, identity.own)}
    if _before(store, path, identity) is not None:
        ours.add(_note(path, identity.before))
    return sorted({_store_of(place) for place in found - ours})


def notes_beside(path: Path) -> list[Path]:
    """Of any store."""
    place = path.resolve()
    start = f".{place.name}."
    try:
        beside = [each for each in place.parent.iterdir() if each.name.startswith(start)]
    except OSError:
        return []
    return [each for each in beside if each.name.endswith(ENDING)]


def votes_to_come(path: Path) -> list[Vote]:
    """The votes of decisions that are under way beside a set, of whatever store. Nobody counts
    them; but what is said now is dated after them, if they are not dated past tomorrow."""
    last = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    notes = (_unproven(place) for place in notes_beside(path))
    votes = [vote for note in notes if note is not None for vote in note.votes]
    return [vote for vote in votes if vote.at < last and _is_moment(vote.at)]


def _is_moment(at: str) -> bool:
    try:
        return datetime.fromisoformat(at).utcoffset() == timedelta()
    except ValueError:
        return False


def _unproven(place: Path) -> Intent | None:
    """What a note says, whoever wrote it."""
    try:
        return msgspec.json.decode(place.read_bytes().partition(b"\n")[2], type=Intent)
    except (OSError, msgspec.MsgspecError):
        return None


def _store_of(place: Path) -> str:
    note = _unproven(place)
    return note.store if note is not None else place.name
