"""An approval taken back: the row is what it was before, in the file and in the queue, and the
votes that were given with it are open again. A rejection is taken back by `rulings.reopen`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line
from assay.formats.votes_jsonl import RULING, WITHDRAWN
from assay.review.one_step import record
from assay.review.rulings import Word, locked_set, place_of, say_who
from assay.store import Store
from assay.store.records import ReviewItem, Ruling
from assay.telemetry.recorder import new_id

WHY = "approval taken back"


def unapprove(store: Store, path: Path, items: Sequence[ReviewItem], word: Word) -> None:
    """Rows that were approved wait again, all of them or none. A row that was changed since, or
    whose approval was not given here, is refused."""
    say_who(word)
    with locked_set(store, path):
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
                votes=withdrawals(store, item, word),
                before=msgspec.to_builtins(given),
                after=msgspec.to_builtins(then),
            )
            rulings.append(ruling)
        record(store, path, rulings, lines, new)


def withdrawals(store: Store, item: ReviewItem, word: Word) -> tuple[Vote, ...]:
    """The votes that were given with the word on an item, taken back: as on the judging page, by
    votes that supersede them and put nothing there."""
    given = store.votes(item.gold, query_id=item.ref)
    return tuple(
        Vote(
            id=new_id(),
            query_id=vote.query_id,
            doc_id=vote.doc_id,
            grade=None,
            judge=word.by,
            kind="human",
            at=word.at.astimezone(UTC).isoformat(),
            supersedes=vote.id,
            source=WITHDRAWN,
        )
        for vote in given
        if vote.judge == item.decided_by
        and _moment(vote) == item.decided_at
        and (vote.source == RULING if item.kind == "gold_row" else vote.doc_id in item.doc_ids)
    )


def _moment(vote: Vote) -> datetime:
    return datetime.fromisoformat(vote.at)


def approval_of(store: Store, item: ReviewItem) -> tuple[GoldRow, GoldRow]:
    """The row before and after the approval of an item, from the audit trail."""
    entries = store.audit(subject=f"{item.gold}/{item.ref}", action="review.approved", limit=20)
    for entry in entries:
        if entry.at != item.decided_at or entry.by != item.decided_by:
            continue
        if entry.before is None or entry.after is None:
            continue
        then, given = (msgspec.convert(row, GoldRow) for row in (entry.before, entry.after))
        of_row = then.source != given.source  # a word on one document leaves the source
        if of_row == (item.kind == "gold_row"):
            return then, given
    raise InputError(
        "the approval was not given on this page",
        where=item.ref,
        hint="A row that was made the chair's in the file is changed there.",
    )


def _as_before(line: Line, then: GoldRow, given: GoldRow) -> Line:
    """Only what the approval changed goes back; everything else in the line stays."""
    changes = {
        name: value
        for name in GoldRow.__struct_fields__
        if (value := getattr(then, name)) != getattr(given, name)
    }
    return gold_jsonl.edited_line(line, **changes)
