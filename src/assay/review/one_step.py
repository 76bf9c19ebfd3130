"""Rulings and what they change, in one step: the store, the votes beside the set, and the set.

`intents` says how a kill in the middle is healed. Here is also the time of a ruling: after what it
follows, whatever the clock says (`formats.vote_order`)."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec

from assay.core.errors import AssayError, InputError
from assay.core.files import os_message
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Line
from assay.formats.vote_order import last_moment, moment_after
from assay.formats.votes_jsonl import append, votes_from, votes_path
from assay.review.identity import name_of
from assay.review.intents import Edit, FileChange, begin, begin_edit, change_of, heal
from assay.store import Store, StoreConflict
from assay.store.records import EVERYTHING, ReviewItem, Ruling


class Unwritten(InputError):
    """The decision is made, and its files follow with the next decision or start."""


class Overtaken(StoreConflict):
    """Others have decided since: `items` as they are now."""

    def __init__(self, items: Sequence[ReviewItem]) -> None:
        self.items = items
        first = items[0]
        waits = first.state == "pending_review"
        said = "waits again" if waits else f"is {first.state} already"
        super().__init__(f"{first.ref or first.key} {said}, by {first.decided_by or 'somebody'}")


def refuse_overtaken(store: Store, seen: Sequence[ReviewItem]) -> None:
    """Under the lock of the set: each item is as the person saw it, by the same decision. One that
    waits again is as good as one that has waited all along."""
    if not seen:
        return
    now = {
        item.id: item
        for item in store.review_items(ids=[item.id for item in seen], limit=EVERYTHING)
    }
    others = [now[item.id] for item in seen if item.id in now and not _as_seen(item, now[item.id])]
    if others:
        raise Overtaken(others)


def _as_seen(seen: ReviewItem, now: ReviewItem) -> bool:
    if seen.state == now.state == "pending_review":
        return True
    return (seen.state, seen.decided_by, seen.decided_at) == (
        now.state,
        now.decided_by,
        now.decided_at,
    )


def record(
    store: Store, path: Path, rulings: Sequence[Ruling], old: Sequence[Line], new: Sequence[Line]
) -> None:
    """Record and files together. A ruling on an item of one set never changes the file of
    another."""
    gold = name_of(store, path, claim=False)
    other = next((ruling.item for ruling in rulings if ruling.item.gold != gold), None)
    if other is not None:
        raise InputError(f"this row belongs to the set {other.gold}, not {gold}", where=other.ref)
    change = FileChange(path, gold_jsonl.assemble(old), gold_jsonl.assemble(new))
    _in_one_step(store, path, rulings, change, partial(_refuse_edited, change))


def record_votes(
    store: Store, path: Path, ruling: Ruling, first: Callable[[], Sequence[Vote]]
) -> None:
    """A ruling on a set whose labels change with the next merge: its votes beside the set and the
    record in one step as well. `first` are the labels that the set has, as votes."""
    with gold_jsonl.locked(path):
        heal(store, path)
        append(votes_path(path), first())
        _in_one_step(store, path, [ruling], FileChange(path, b"", b""))


def record_with(
    store: Store, path: Path, rulings: Sequence[Ruling], file: Path, new: bytes
) -> None:
    """Rulings on a set together with a file that is not the set."""
    with gold_jsonl.locked(path):
        heal(store, path)
        _in_one_step(store, path, rulings, change_of(file, new))


def record_edit(
    store: Store, path: Path, edit: Edit, change: FileChange, votes: Sequence[Vote] = ()
) -> None:
    """What somebody changes on a page, in a set or beside it, together with who did it. Under the
    lock of the set, with what was interrupted healed (`rulings.locked_set`)."""
    check = partial(_refuse_edited, change)
    begin_edit(store, path, edit, change, votes)
    commit = partial(store.append_audit, edit.entries, gold=edit.gold, then=check)
    _committed_and_written(store, path, commit)


def _refuse_edited(change: FileChange) -> None:
    now = change.path.read_bytes() if change.path.exists() else b""
    if now != change.before:
        where = str(change.path)
        raise InputError("the file was edited meanwhile", where=where, hint="Try again.")


def _unchecked() -> None:
    """Nothing is left to refuse."""


def _in_one_step(
    store: Store,
    path: Path,
    given: Sequence[Ruling],
    change: FileChange,
    check: Callable[[], None] = _unchecked,
) -> None:
    """Under the lock of the set; `check` may still refuse. With the commit the rulings are made;
    healing writes the files, as it would after a kill."""
    rulings = _in_time(store, given, _votes_to_add_to(path))
    begin(store, path, rulings, change)
    _committed_and_written(store, path, partial(store.rule, rulings, then=check))


def _committed_and_written(store: Store, path: Path, commit: Callable[[], None]) -> None:
    try:
        commit()
    except BaseException:
        with contextlib.suppress(AssayError):  # a store that is away says later what it has
            heal(store, path)
        raise
    try:
        heal(store, path)
    except InputError as error:
        raise Unwritten(error.message, where=error.where, hint=error.hint) from error


def record_alone(store: Store, ruling: Ruling) -> None:
    """A ruling that changes no file."""
    store.rule(_in_time(store, [ruling], ()))


def _votes_to_add_to(path: Path) -> list[Vote]:
    """The votes beside a set. Where none can be added nothing is decided."""
    place = votes_path(path)
    try:
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return votes_from(place, 0)[0]
    except OSError as error:
        raise InputError(
            f"cannot write: {os_message(error)}", where=str(place), hint="Nothing was decided."
        ) from error


def _in_time(store: Store, rulings: Sequence[Ruling], votes: Iterable[Vote]) -> Sequence[Ruling]:
    """The rulings of one step, after what was said of the same before, and after what the same
    person decided before: a clock that was put back changes no order."""
    refs, by, at = {ruling.item.ref for ruling in rulings}, rulings[0].by, rulings[0].at
    said = last_moment(vote for vote in votes if vote.query_id in refs)
    items = [*(ruling.item for ruling in rulings), *store.last_decided(by)]
    moments = [item.decided_at for item in items if item.decided_at is not None]
    last = max([*moments, *([said] if said else [])], default=None)
    if last is None or last < at:
        return rulings
    at = moment_after(last, timedelta(microseconds=1))
    return [
        msgspec.structs.replace(
            ruling,
            at=at,
            votes=tuple(msgspec.structs.replace(v, at=at.isoformat()) for v in ruling.votes),
        )
        for ruling in rulings
    ]
