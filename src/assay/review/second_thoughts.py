"""An approval taken back: the row is what it was before, in the file and in the queue, and the
votes that were given with it are open again. A rejection is taken back by `rulings.reopen`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line
from assay.review.one_step import record
from assay.review.rulings import Word, locked_set, place_of, say_who
from assay.review.taking_back import KeptRow, entry_of, refuse_overtaken, votes_back
from assay.store import Store
from assay.store.records import ReviewItem, Ruling

WHY = "approval taken back"


def unapprove(store: Store, path: Path, items: Sequence[ReviewItem], word: Word) -> None:
    """Rows that were approved wait again, all of them or none. A row that was changed since, or
    whose approval was not given here, is refused."""
    say_who(word)
    with locked_set(store, path):
        refuse_overtaken(store, items)
        lines = gold_jsonl.read_lines(path)
        rulings, new = [], list(lines)
        for item in items:
            place = place_of(lines, path, item.ref)
            then, given = approval_of(store, item)
            if lines[place].row != given:
                raise InputError("the row was changed after it was approved", where=item.ref)
            new[place] = _as_before(lines[place], then, given)
            ruling = Ruling(
                item=item,
                state="pending_review",
                by=word.by,
                at=word.at,
                reason=word.why or WHY,
                votes=votes_back(path, item, word.by, word.at),
                before=msgspec.to_builtins(given),
                after=msgspec.to_builtins(new[place].row),
            )
            rulings.append(ruling)
        record(store, path, rulings, lines, new)


def approval_of(store: Store, item: ReviewItem) -> tuple[KeptRow, GoldRow]:
    """The row before and after the approval of an item, from the audit trail."""
    entry = entry_of(store, item)
    if entry is not None and entry.before is not None and entry.after is not None:
        return msgspec.convert(entry.before, KeptRow), msgspec.convert(entry.after, GoldRow)
    raise InputError(
        "the approval was not given on this page",
        where=item.ref,
        hint="A row that was made the chair's in the file is changed there.",
    )


def _as_before(line: Line, then: KeptRow, given: GoldRow) -> Line:
    """Only what the approval changed goes back; everything else in the line stays. Where nothing
    else was changed since, the line is byte for byte what it was."""
    changed = [
        name for name in GoldRow.__struct_fields__ if getattr(then, name) != getattr(given, name)
    ]
    if then.line is not None:
        was = gold_jsonl.line_of(then.line.text.encode())
        again = gold_jsonl.edited_line(was, **{name: getattr(given, name) for name in changed})
        if again.raw.rstrip() == line.raw.rstrip():
            return was
    return gold_jsonl.edited_line(line, **{name: getattr(then, name) for name in changed})
