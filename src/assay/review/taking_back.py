"""What was decided, taken back: the row is what it was before, in the file and in the queue, and
the votes that were given with it are open again. All of it comes from the record: the entry in the
audit trail has the row and its line, and the votes are those of its moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line
from assay.formats.vote_order import current, role_of
from assay.formats.votes_jsonl import RULING, WITHDRAWN, votes_from, votes_path
from assay.review.identity import name_of
from assay.review.one_step import record, refuse_overtaken
from assay.review.rulings import (
    KeptRow,
    Meant,
    Ruled,
    Word,
    locked_set,
    names_of,
    place_of,
    say_who,
)
from assay.store import Store
from assay.store.records import EVERYTHING, AuditEntry, ReviewItem, ReviewState, Ruling
from assay.telemetry.recorder import new_id

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


def reopen(store: Store, path: Path, id: str, word: Word, meant: Meant = ()) -> Ruled:
    """Take a rejection back: the row is in the file again and waits; one that was the chair's is
    the chair's again."""
    say_who(word)
    with locked_set(store, path):
        refuse_overtaken(store, meant)
        lines = gold_jsonl.read_lines(path)
        gold = name_of(store, path, claim=False)
        items = store.review_items(gold=gold, kind="gold_row", state="rejected", limit=EVERYTHING)
        wanted = {item.id for item in meant or items}
        item = next((item for item in items if item.ref == id and item.id in wanted), None)
        if item is None or any(row.id == id for row in gold_jsonl.rows(lines)):
            raise InputError(f"row {id!r} is not rejected", where=str(path))
        row, kept = with_line_back(lines, entry_of(store, item), item)
        state: ReviewState = "approved" if row.source == "chair" else "pending_review"
        ruling = Ruling(
            item=item,
            state=state,
            by=word.by,
            at=word.at,
            reason=word.why or "rejection taken back",
            votes=votes_back(path, item, word.by, word.at),
            after=msgspec.to_builtins(row),
        )
        record(store, path, [ruling], lines, kept)
    approval = gold_jsonl.approval(gold_jsonl.rows(kept))
    return Ruled(state=state, ids=(id,), already=(), approval=approval)


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


def entry_of(store: Store, item: ReviewItem) -> AuditEntry | None:
    """What the audit trail has of the last word on an item, where that changed a row. Suggestions
    on a row have the same subject: a word on one of them leaves the source of the row."""
    trail = store.audit(
        subject=f"{item.gold}/{item.ref}", action=f"review.{item.state}", limit=EVERYTHING
    )
    for entry in trail:
        if (entry.at, entry.by) != (item.decided_at, item.decided_by) or entry.before is None:
            continue
        of_row = entry.after is None or entry.before["source"] != entry.after["source"]
        if of_row == (item.kind == "gold_row"):
            return entry
    return None


# ── votes ─────────────────────────────────────────────────────────────────────────────────────────


def votes_back(path: Path, item: ReviewItem, by: str, at: datetime) -> tuple[Vote, ...]:
    """What makes the votes that were given with the last word on an item as if they had not been:
    each is withdrawn, or, where its judge had said something before it, that is said again."""
    assert item.decided_at is not None
    votes, moment = votes_from(votes_path(path), 0)[0], _text(item.decided_at)
    holds = {_seat(vote): vote for vote in current(votes)}
    before = {_seat(vote): vote for vote in current(v for v in votes if v.at < moment)}
    back = []
    for vote in votes:
        if vote.at != moment or not _is_of(item, vote):
            continue
        now, said = holds.get(_seat(vote)), before.get(_seat(vote))
        if now is None or _word(now) != _word(vote):  # not what stands any more
            if item.kind == "judgment":
                raise InputError(
                    "something else was said of the same document since",
                    where=item.ref,
                    hint="Nothing was changed. Take that back first.",
                )
            continue
        if said is None:
            said = msgspec.structs.replace(
                vote, grade=None, judge=by, rationale="", rubric="", document="", source=WITHDRAWN
            )
        again = {"id": new_id(), "at": _text(at), "supersedes": now.id}
        back.append(msgspec.structs.replace(said, **again))
    return tuple(back)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _is_of(item: ReviewItem, vote: Vote) -> bool:
    if (vote.query_id, vote.judge) != (item.ref, item.decided_by) or vote.source == WITHDRAWN:
        return False
    return vote.source == RULING if item.kind == "gold_row" else vote.doc_id in item.doc_ids


def _word(vote: Vote) -> tuple[int | None, str, str]:
    """What is the same where a vote is said again."""
    return vote.grade, vote.rationale, vote.source


def _seat(vote: Vote) -> tuple[str, str, str, str]:
    return vote.query_id, vote.doc_id, vote.judge, role_of(vote.source)


# ── the line ──────────────────────────────────────────────────────────────────────────────────────


def with_line_back(
    lines: Sequence[Line], entry: AuditEntry | None, item: ReviewItem
) -> tuple[GoldRow, list[Line]]:
    """The lines with the one that left them, byte for byte and where it was. Of an older record
    the row comes last, and a row that was in no file is made of its item."""
    kept = msgspec.convert(entry.before, KeptRow) if entry is not None else _row_of(item)
    if kept.line is None:
        row = GoldRow(**{name: getattr(kept, name) for name in GoldRow.__struct_fields__})
        return row, [*lines, gold_jsonl.row_line(row, gold_jsonl.line_end(lines))]
    was, names = kept.line, names_of(lines)

    def fits(number: int) -> tuple[int, bool, int]:
        above, below = names[number] == was.above, names[number + 1] == was.below
        return above + below, below, -abs(number - was.number)

    number = max(range(len(lines) + 1), key=fits)
    # a byte order mark stands only at the beginning of a file
    line = gold_jsonl.line_of((was.text.removeprefix("\ufeff") if number else was.text).encode())
    assert line.row is not None
    return line.row, [*lines[:number], line, *lines[number:]]


def _row_of(item: ReviewItem) -> KeptRow:
    return KeptRow(
        id=item.ref,
        query=item.query,
        practice_area=item.practice_area,
        corpus=item.corpus,
        relevant_case_law_ids=item.doc_ids,
        source="bootstrap",
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
