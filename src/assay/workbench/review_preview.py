"""What approving many rows would change, before anybody does; and by what a row is known again when
it is decided on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from assay.review.queue import ReviewItem
from assay.workbench import review
from assay.workbench.opening import Service
from assay.workbench.paging import MAX_PAGE
from assay.workbench.review_item import find_document
from assay.workbench.review_queue import Asked, asked_for, find_items

__all__ = ["AT_ONCE", "Line", "Preview", "fingerprint", "preview"]

AT_ONCE = 50  # rows that a person can look over before one press


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A row that would be approved, with its documents by title. `seen` tells whether it is still
    the same when it is."""

    item: ReviewItem
    titles: list[str]
    seen: str


class SetChange(msgspec.Struct, frozen=True, kw_only=True):
    gold: str
    rows: int
    votes: int


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly what approving would change; `left_out` are suggestions, which are decided one by
    one, and what cannot be approved. `more` wait beyond what one step takes."""

    lines: list[Line]
    sets: list[SetChange]
    left_out: list[ReviewItem]
    more: int


def preview(service: Service, asked: Asked, ids: Sequence[str] = ()) -> Preview:
    """Of the items named, else of all that were asked for."""
    if ids:
        found = list(find_items(service, ids[:MAX_PAGE]).values())
        more = len(ids) - len(found)
    else:
        every = asked_for(service, asked)
        found, more = every[:AT_ONCE], max(len(every) - AT_ONCE, 0)
    waiting = [item for item in found if item.state == "pending_review"]
    lost = {item.id for item in review.strays(service) if waiting}
    rows = [item for item in waiting if item.kind == "gold_row" and item.id not in lost]
    by_set: dict[str, list[ReviewItem]] = {}
    for item in rows:
        by_set.setdefault(item.gold, []).append(item)
    return Preview(
        lines=[_line(service, item) for item in rows],
        sets=[
            SetChange(gold=gold, rows=len(some), votes=sum(len(item.doc_ids) for item in some))
            for gold, some in by_set.items()
        ],
        left_out=[item for item in waiting if item not in rows],
        more=more,
    )


def _line(service: Service, item: ReviewItem) -> Line:
    found = [(id, find_document(service, item.corpus, id)) for id in item.doc_ids]
    return Line(
        item=item,
        titles=[place[1].title or id if place is not None else id for id, place in found],
        seen=fingerprint(item),
    )


def fingerprint(item: ReviewItem, note: str | None = None) -> str:
    """Of what a chair approves: the query and its documents, and the note of the row where that
    was shown."""
    shown = [item.query, item.corpus, item.practice_area, item.doc_ids]
    content = msgspec.json.encode(shown if note is None else [*shown, note])
    return hashlib.sha256(content).hexdigest()[:16]
