"""What was decided, so that it can be taken back: whether it is still the last word on its item,
its entry in the audit trail, the votes that were given with it, and the line that left the set."""

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
from assay.store import Store, StoreConflict
from assay.store.records import EVERYTHING, AuditEntry, ReviewItem
from assay.telemetry.recorder import new_id


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
    others = [now[item.id] for item in seen if item.id in now and not _same(item, now[item.id])]
    if others:
        raise Overtaken(others)


def _same(seen: ReviewItem, now: ReviewItem) -> bool:
    if seen.state == now.state == "pending_review":
        return True
    return (seen.state, seen.decided_by, seen.decided_at) == (
        now.state,
        now.decided_by,
        now.decided_at,
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


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """A line as it was, with its line end, and between which two."""

    text: str
    number: int
    above: str
    below: str


class KeptRow(GoldRow, frozen=True, kw_only=True):
    """A row in the record, with what brings back its line; older records have none."""

    line: _Place | None = None


def kept_row(lines: Sequence[Line], number: int) -> KeptRow:
    line, names = lines[number], _names(lines)
    assert line.row is not None
    place = _Place(
        text=line.raw.decode(), number=number, above=names[number], below=names[number + 2]
    )
    return KeptRow(**msgspec.structs.asdict(line.row), line=place)


def with_line_back(
    lines: Sequence[Line], entry: AuditEntry | None, item: ReviewItem
) -> tuple[GoldRow, list[Line]]:
    """The lines with the one that left them, byte for byte and where it was. Of an older record
    the row comes last, and a row that was in no file is made of its item."""
    kept = msgspec.convert(entry.before, KeptRow) if entry is not None else _row_of(item)
    if kept.line is None:
        row = GoldRow(**{name: getattr(kept, name) for name in GoldRow.__struct_fields__})
        return row, [*lines, gold_jsonl.row_line(row, gold_jsonl.line_end(lines))]
    was, names = kept.line, _names(lines)

    def fits(number: int) -> tuple[int, bool, int]:
        above, below = names[number] == was.above, names[number + 1] == was.below
        return above + below, below, -abs(number - was.number)

    number = max(range(len(lines) + 1), key=fits)
    # a byte order mark stands only at the beginning of a file
    line = gold_jsonl.line_of((was.text.removeprefix("\ufeff") if number else was.text).encode())
    assert line.row is not None
    return line.row, [*lines[:number], line, *lines[number:]]


def _names(lines: Sequence[Line]) -> list[str]:
    """What each line is known by while others change, and what is above the first and below the
    last. A database takes no null character."""
    return ["", *(x.row.id if x.row else x.raw.decode().replace("\0", "") for x in lines), ""]


def _row_of(item: ReviewItem) -> KeptRow:
    return KeptRow(
        id=item.ref,
        query=item.query,
        practice_area=item.practice_area,
        corpus=item.corpus,
        relevant_case_law_ids=item.doc_ids,
        source="bootstrap",
    )
