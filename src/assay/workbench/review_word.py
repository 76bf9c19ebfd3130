"""The chair's word on what waits: approve, reject, many at once, take back. Every place that a
chair decides at calls these: the page and the API alike.

Pressing twice is harmless: what is so already, by the same person, is answered as such. What
another was faster with, or what has changed since the page was opened, is refused, and says so."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Literal

import msgspec

from assay.core.errors import InputError, NotHere
from assay.judging.reasons import refuse_long
from assay.reports.words import page_words
from assay.review import rulings, second_thoughts
from assay.review.intents import interrupted
from assay.review.one_step import record_alone
from assay.review.pairs import unsettle_pair
from assay.review.rulings import Correction, Stale, Word
from assay.review.taking_back import Overtaken, votes_back
from assay.store import StoreConflict
from assay.store.records import ReviewItem, Ruling
from assay.workbench import review
from assay.workbench.opening import NotOpen, Service, kept_path
from assay.workbench.paging import MAX_PAGE
from assay.workbench.review_item import candidates, find_document, known_item
from assay.workbench.review_queue import Asked, filter_of
from assay.workbench.voting import give_with_record

__all__ = [
    "Bulk",
    "Decided",
    "Line",
    "Pick",
    "Preview",
    "Refused",
    "Said",
    "approve",
    "approve_many",
    "fingerprint",
    "last_step",
    "preview",
    "reject",
    "take_back",
]

Outcome = Literal["approved", "rejected", "taken_back"]
AT_ONCE = 50  # rows that a person can look over before one press
CORRECTED = "corrected on the review page"


class Refused(InputError):
    """What a chair cannot do, by its key in the words of the page, where it is said in the
    reader's language."""

    def __init__(self, key: str, **values: str) -> None:
        self.key, self.values = key, values
        super().__init__(self.in_words_of(page_words("en", "review")))

    def in_words_of(self, words: dict[str, str]) -> str:
        return words[f"refused_{self.key}"].format(**self.values)


class Gone(Refused, NotHere):
    """The item is not in the queue any more: a page answers 404."""

    def __init__(self) -> None:
        super().__init__("gone")


class Elsewhere(Refused, NotHere):
    """The item belongs to a gold set that is not open here."""

    def __init__(self, item: ReviewItem) -> None:
        super().__init__("elsewhere", ref=item.ref, gold=item.gold)


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a chair says of an item. `documents` are those that the row has from now on, and `seen`
    those that the chair had before them: when the row has others by now, nothing is decided. `row`
    is the fingerprint of all that was shown, as a preview has it: the question too.
    `grade` is for a suggestion, where its own is not right or it has none."""

    documents: tuple[str, ...] | None = None
    seen: tuple[str, ...] | None = None
    row: str | None = None
    note: str = ""
    reason: str = ""
    grade: int | None = None


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The item as it is now; `already` when it was so before."""

    item: ReviewItem
    outcome: Outcome
    already: bool = False


# of two who press at once, the second hears what the first decided
_one_at_a_time = threading.Lock()


# ── one item ──────────────────────────────────────────────────────────────────────────────────────


def approve(service: Service, item_id: str, said: Said, *, by: str) -> Decided:
    """Make a row the chair's own, with the documents that are right; or settle a suggestion, which
    changes the pair that it names and nothing else."""
    _refuse_long(said)
    with _one_at_a_time:
        item = _open_item(service, item_id, "approved", by)
        if isinstance(item, Decided):
            return item
        _refuse_stale(item, said)
        with _in_words(service, item):
            if item.kind == "judgment":
                _settle(service, item, said, by)
            else:
                _approve_row(service, item, said, by)
        return _done(service, item, "approved")


def _refuse_long(said: Said) -> None:
    refuse_long(said.reason)
    refuse_long(said.note, "the note")


def reject(service: Service, item_id: str, said: Said, *, by: str) -> Decided:
    """Turn an item down, with a reason: a row leaves the set, a suggestion changes nothing."""
    _refuse_long(said)
    with _one_at_a_time:
        item = _open_item(service, item_id, "rejected", by)
        if isinstance(item, Decided):
            return item
        _refuse_stale(item, said)
        if not said.reason.strip():
            raise Refused("reason")
        with _in_words(service, item):
            if item.kind == "judgment":
                review.rule_suggestion(service, item.id, accept=False, by=by, why=said.reason)
            else:
                review.reject_item(service, item, by=by, why=said.reason)
        return _done(service, item, "rejected")


def _open_item(service: Service, item_id: str, wanted: Outcome, by: str) -> ReviewItem | Decided:
    """The item while it waits; what has been done where it is done."""
    if not by.strip():
        raise Refused("name")
    item = known_item(service, item_id)
    if item is None:
        raise Gone()
    if item.state == "pending_review":
        return item
    if item.state == wanted and item.decided_by == by:
        return Decided(item=item, outcome=wanted, already=True)
    raise Refused("decided", ref=item.ref, by=item.decided_by)


def _refuse_stale(item: ReviewItem, said: Said) -> None:
    other = said.seen is not None and said.seen != item.doc_ids
    if other or (said.row is not None and said.row != fingerprint(item)):
        raise Refused("changed", ref=item.ref)


class _in_words:
    """What fails because the row is gone, or another was first, in words a chair understands."""

    def __init__(self, service: Service, item: ReviewItem) -> None:
        self._service, self._item = service, item

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StoreConflict):
            now = known_item(self._service, self._item.id)
            raise Refused(
                "decided", ref=self._item.ref, by=now.decided_by if now else ""
            ) from error
        if isinstance(error, NotOpen):
            raise Elsewhere(self._item) from error
        if isinstance(error, Stale):
            raise Refused("changed", ref=self._item.ref) from error
        if not isinstance(error, InputError) or isinstance(error, Refused):
            return
        if self._item in review.strays(self._service, self._item.gold):
            raise Refused("lost", ref=self._item.ref) from error


def _items(service: Service, ids: Sequence[str]) -> dict[str, ReviewItem]:
    found = service.store.review_items(ids=list(ids), limit=MAX_PAGE) if ids else []
    return {item.id: item for item in found}


def _done(service: Service, item: ReviewItem, outcome: Outcome) -> Decided:
    """What is said to be done is so in the store."""
    now = known_item(service, item.id)
    if now is None or now.state != outcome:
        raise InputError("nothing was decided: the item is as it was", where=item.ref)
    return Decided(item=now, outcome=outcome)


def _settle(service: Service, item: ReviewItem, said: Said, by: str) -> None:
    if item.grade is None and said.grade is None:
        raise Refused("grade")
    review.rule_suggestion(service, item.id, accept=True, by=by, why=said.reason, grade=said.grade)


def _approve_row(service: Service, item: ReviewItem, said: Said, by: str) -> None:
    path = kept_path(service, item.gold)
    documents = item.doc_ids if said.documents is None else said.documents
    documents = tuple(dict.fromkeys(id for id in documents if id.strip()))
    if not documents:
        raise Refused("documents")
    _refuse_unknown(service, item, documents)
    reason, note = said.reason.strip(), said.note.strip()
    if documents == item.doc_ids and not note:
        word = Word(by=by, why=reason, at=service.clock())
        rulings.promote(service.store, path, [item.ref], word, [item])
        return
    word = Word(by=by, why=reason or CORRECTED, rationale=reason, at=service.clock())
    change = Correction(relevant=documents, note=note or None)
    rulings.correct(service.store, path, item.ref, change, word, [item])


def _refuse_unknown(service: Service, item: ReviewItem, documents: Sequence[str]) -> None:
    """What is added must be a document: one of a corpus here, or one that a search showed."""
    added = [id for id in documents if id not in item.doc_ids]
    missing = [id for id in added if find_document(service, item.corpus, id) is None]
    if missing:
        shown = {candidate.doc_id for candidate in candidates(service, item)}
        unknown = [id for id in missing if id not in shown]
        if unknown:
            raise Refused("document", id=unknown[0])


# ── many at once ──────────────────────────────────────────────────────────────────────────────────


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


class Pick(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    seen: str


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """What was done: ids of items. `unwritten` says where it is decided, and its files follow as
    soon as they can be written."""

    done: list[str]
    already: list[str] = []
    refused: dict[str, str] = {}  # id -> why, in English
    unwritten: str = ""


def preview(service: Service, asked: Asked, ids: Sequence[str] = ()) -> Preview:
    """Of the items named, else of all that were asked for."""
    if ids:
        found = service.store.review_items(ids=list(ids)[:MAX_PAGE], limit=MAX_PAGE)
        more = len(ids) - len(found)
    else:
        wanted = filter_of(service, asked)
        found = service.store.find_items(wanted, limit=AT_ONCE)
        more = service.store.count_items(wanted) - len(found)
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


def fingerprint(item: ReviewItem) -> str:
    """Of what a chair approves: the query and its documents."""
    content = msgspec.json.encode([item.query, item.corpus, item.practice_area, item.doc_ids])
    return hashlib.sha256(content).hexdigest()[:16]


def approve_many(service: Service, picks: Iterable[Pick], *, by: str, reason: str = "") -> Bulk:
    """Approve rows as they were previewed, all rows of a set in one step. A row that has changed
    since, or that another decided, is left and named."""
    refuse_long(reason)
    wanted = {pick.id: pick.seen for pick in picks}
    if not by.strip():
        raise Refused("name")
    if not wanted:
        raise Refused("nothing")
    if len(wanted) > MAX_PAGE:
        raise InputError(f"{len(wanted)} rows are more than {MAX_PAGE} in one step")
    word = Word(by=by, why=reason.strip(), at=service.clock())
    with _one_at_a_time:
        known = _items(service, list(wanted))
        already, refused = list[str](), dict[str, str]()
        by_set: dict[str, list[ReviewItem]] = {}
        for id, seen in wanted.items():
            item = known.get(id)
            problem = _problem(item, seen)
            if item is not None and item.state == "approved" and item.decided_by == by:
                already.append(id)
            elif item is None or problem is not None:
                refused[id] = str(problem or Gone())
            else:
                by_set.setdefault(item.gold, []).append(item)
        done = list[str]()
        unwritten = _finish(service, [known[id] for id in already])
        for items in by_set.values():
            try:
                done += _approved(service, items, word, refused)
            except (InputError, StoreConflict) as error:
                made = _made(service, items, by)
                done += made
                unwritten = str(error) if made else unwritten
                left = [item.id for item in items if item.id not in (*made, *refused)]
                refused |= dict.fromkeys(left, str(error))
    return Bulk(done=done, already=already, refused=refused, unwritten=unwritten)


def _made(service: Service, items: Sequence[ReviewItem], by: str) -> list[str]:
    """What was decided all the same where a step has failed: its files could not be written."""
    was = {item.id: item.decided_at for item in items}
    now = _items(service, list(was)).values()
    return [item.id for item in now if item.decided_by == by and item.decided_at != was[item.id]]


def _finish(service: Service, items: Iterable[ReviewItem]) -> str:
    """What was decided and could not be written is, once there is room; says what still stands in
    the way."""
    for gold in {item.gold for item in items}:
        try:
            path = kept_path(service, gold)
            if interrupted(service.store, path):
                with rulings.locked_set(service.store, path):
                    pass
        except NotOpen:
            continue
        except InputError as error:
            return str(error)
    return ""


def _approved(
    service: Service, items: Sequence[ReviewItem], word: Word, refused: dict[str, str]
) -> list[str]:
    """The rows of one set in one step, without those that the file has otherwise by now, and those
    that others were faster with."""
    path = kept_path(service, items[0].gold)
    left = list(items)
    while left:
        try:
            rulings.promote(service.store, path, [item.ref for item in left], word, left)
            break
        except Stale as error:
            refs = error.refs
            new = {item.id: Refused("changed", ref=item.ref) for item in left if item.ref in refs}
        except Overtaken as error:
            new = {
                item.id: Refused("decided", ref=item.ref, by=item.decided_by)
                for item in error.items
            }
        refused |= {id: str(why) for id, why in new.items()}
        left = [item for item in left if item.id not in new]
    return [item.id for item in left]


def _problem(item: ReviewItem | None, seen: str) -> Refused | None:
    if item is None:
        return Gone()
    if item.state != "pending_review":
        return Refused("decided", ref=item.ref, by=item.decided_by)
    if item.kind != "gold_row":
        return Refused("one_by_one", ref=item.ref)
    return Refused("changed", ref=item.ref) if seen != fingerprint(item) else None


# ── taking back ───────────────────────────────────────────────────────────────────────────────────


def last_step(service: Service, by: str) -> list[ReviewItem]:
    """What a person decided last: one item, or all of a step on many."""
    return service.store.last_decided(by) if by else []


def take_back(service: Service, ids: Sequence[str], *, by: str) -> Bulk:
    """What was decided waits again, in the set and in the queue. What waits already is harmless;
    what is in a committed baseline, or was changed since, is left and named."""
    if not by.strip():
        raise Refused("name")
    at = service.clock()
    with _one_at_a_time:
        known = _items(service, ids)
        done, already, refused = list[str](), list[str](), dict[str, str]()
        approved: dict[str, list[ReviewItem]] = {}
        for id in dict.fromkeys(ids):
            item = known.get(id)
            if item is None:
                refused[id] = str(Gone())
            elif item.state == "pending_review":
                already.append(id)
            elif item.state == "approved" and item.kind == "gold_row":
                approved.setdefault(item.gold, []).append(item)
            else:
                undo = partial(_undo_one, service, item, by, at)
                _try(undo, [id], done, refused)
        for gold, items in approved.items():
            undo = partial(_unapprove, service, gold, items, by, at)
            _try(undo, [item.id for item in items], done, refused)
    return Bulk(done=done, already=already, refused=refused)


def _try(
    step: Callable[[], None], ids: list[str], done: list[str], refused: dict[str, str]
) -> None:
    try:
        step()
        done += ids
    except (InputError, StoreConflict) as error:
        refused.update(dict.fromkeys(ids, str(error)))


def _unapprove(
    service: Service, gold: str, items: Sequence[ReviewItem], by: str, at: datetime
) -> None:
    word = Word(by=by, rationale="", at=at)
    second_thoughts.unapprove(service.store, kept_path(service, gold), items, word)


def _undo_one(service: Service, item: ReviewItem, by: str, at: datetime) -> None:
    if item.state == "published":
        raise Refused("published", ref=item.ref)
    word = Word(by=by, rationale="", at=at)
    if item.kind == "gold_row":
        rulings.reopen(service.store, kept_path(service, item.gold), item.ref, word, [item])
        return
    path = kept_path(service, item.gold) if item.state == "approved" else None
    votes = votes_back(path, item, by, at) if path is not None else ()
    why = second_thoughts.WHY if path is not None else "rejection taken back"
    ruling = Ruling(item=item, state="pending_review", by=by, at=at, reason=why, votes=votes)
    if path is not None and path.suffix == ".jsonl":
        before, _ = second_thoughts.approval_of(service.store, item)
        unsettle_pair(service.store, path, ruling, before)
    elif path is not None:
        give_with_record(service.store, path, ruling)
    else:
        record_alone(service.store, ruling)
