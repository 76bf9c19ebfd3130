"""Notes of decisions that no store has signed: an older version wrote them, or a stranger. They are
never believed. What was decided is in the store, with the votes and with the row before and after,
so whatever of it is not in the files yet comes from there, and the note is put aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import os_message
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line
from assay.review.changed_rows import merge_rows
from assay.review.identity import name_of
from assay.review.intents import add_votes, heal, notes_beside, unsigned
from assay.review.queue import sync_review
from assay.review.rulings import KeptRow
from assay.review.taking_back import entry_of
from assay.store import Store
from assay.store.records import EVERYTHING, AuditEntry, ReviewFilter

ASIDE = ".aside"
MOST = 100  # rows that a note may name


def repair(store: Store, path: Path) -> list[str]:
    """Finish what can be finished beside a set, and say so in sentences."""
    if not path.exists() or not notes_beside(path):
        return []
    said = []
    with gold_jsonl.locked(path):
        for note in unsigned(store, path):
            refs = _named(note)
            edited = _from_store(store, path, refs) if refs else []
            try:
                note.rename(note.with_name(note.name + ASIDE))
            except OSError as error:
                message = f"cannot be put aside: {os_message(error)}"
                raise InputError(message, where=str(note)) from error
            said.append(_told(path, note, refs, edited))
        if healed := heal(store, path):
            said.append(healed)
    return said


def _told(path: Path, note: Path, refs: Sequence[str], edited: Sequence[str]) -> str:
    named = ", ".join(refs[:3])
    of_rows = f"what the store has decided on {named} is in the files now" if refs else ""
    other = f"{', '.join(edited)} reads otherwise there and stays so: decide on it again"
    parts = [of_rows, other if edited else "", f"the note is now {note.name}{ASIDE}"]
    return f"{path}: {'; '.join(filter(None, parts))}"


def _named(note: Path) -> list[str]:
    """The rows that a note speaks of, which is all that is taken from it."""
    try:
        content = note.read_bytes()
    except OSError:
        return []
    for text in (content, content.partition(b"\n")[2]):
        try:
            told = msgspec.json.decode(text, type=_Unproven).rulings[:MOST]
        except (msgspec.MsgspecError, RecursionError):
            continue
        refs = [each.ref or each.subject.rpartition("/")[2] for each in told]
        return list(dict.fromkeys(ref for ref in refs if ref))
    return []


class _Told(msgspec.Struct, frozen=True):
    """A row, as either form of a note names it."""

    ref: str = ""
    subject: str = ""


class _Unproven(msgspec.Struct, frozen=True):
    rulings: list[_Told]


def _from_store(store: Store, path: Path, refs: Sequence[str]) -> list[str]:
    """Votes and rows as the store has decided them; names the rows that somebody has edited."""
    gold = name_of(store, path, claim=False)
    add_votes(path, [vote for ref in refs for vote in store.votes(gold, query_id=ref)])
    if path.suffix != ".jsonl":
        return []
    wanted = ReviewFilter(gold=gold, named=tuple(refs))
    items = [item for item in store.find_items(wanted, limit=EVERYTHING) if item.ref in refs]
    first = datetime.min.replace(tzinfo=UTC)
    now = lines = gold_jsonl.read_lines(path)
    edited = []
    for item in sorted(items, key=lambda item: item.decided_at or first):
        entry = entry_of(store, item)
        if entry is not None:
            lines, other = merge_rows(lines, *_rows(entry))
            edited += other
    if lines != now:
        gold_jsonl.save(path, lines)
    sync_review(store, gold, lines, now=datetime.now(UTC))
    return edited


def _rows(entry: AuditEntry) -> Iterator[list[Line]]:
    """Before and after the decision: a line, or none."""
    for kept in (entry.before, entry.after):
        row = msgspec.convert(kept, KeptRow) if kept is not None else None
        fields = GoldRow.__struct_fields__
        whole = GoldRow(**{name: getattr(row, name) for name in fields}) if row else None
        yield [gold_jsonl.row_line(whole)] if whole is not None else []
