"""A chair's decisions: approve, reject, many at once, undo. The page and the API both call these.

Pressing twice is harmless: what the same person has decided already is answered as such. What
somebody else decided first, or what has changed since the page was opened, is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Literal

import msgspec

from assay.core.errors import InputError, NotHere
from assay.gold.acts import APPROVE, CORRECT, REJECT
from assay.gold.log import open_log
from assay.gold.projection import Unwritten
from assay.judging.reasons import refuse_long
from assay.reports.words import page_words
from assay.review import decisions
from assay.review.decisions import Correction, Overtaken, Stale, Word
from assay.review.queue import ReviewItem
from assay.workbench import review
from assay.workbench.opening import Service, gold_path
from assay.workbench.paging import MAX_PAGE
from assay.workbench.review_item import candidates, find_document, note_of
from assay.workbench.review_preview import fingerprint
from assay.workbench.review_queue import find_item, find_items, items

__all__ = [
    "Bulk",
    "Decided",
    "Pick",
    "Refused",
    "Said",
    "approve",
    "approve_many",
    "fingerprint",
    "last_step",
    "reject",
    "take_back",
]

Outcome = Literal["approved", "rejected", "taken_back"]
NOT_SAID: Mapping[str, datetime] = {}
CORRECTED = "corrected on the review page"
NEVER = datetime.min.replace(tzinfo=UTC)


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


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a chair says of an item. `documents` are those that the row has from now on, and `seen`
    those that the chair had before them: when the row has others by now, nothing is decided. `row`
    is the fingerprint of all that was shown, as a preview has it: the question too.
    `grade` is for a suggestion, where its own is not right or it has none. `act` is an id that the
    client makes: sending the same decision again does nothing."""

    documents: tuple[str, ...] | None = None
    seen: tuple[str, ...] | None = None
    row: str | None = None
    note: str = ""
    reason: str = ""
    grade: int | None = None
    act: Annotated[str, msgspec.Meta(pattern="^([A-Za-z0-9_-]{8,64})?$")] = ""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The item as it is now; `already` when it was so before. `unwritten` says where it is decided,
    and its files follow as soon as they can be written."""

    item: ReviewItem
    outcome: Outcome
    already: bool = False
    unwritten: str = ""


# of two who press at once, the second hears what the first decided
_one_at_a_time = threading.Lock()


# ── one item ──────────────────────────────────────────────────────────────────────────────────────


def approve(service: Service, item_id: str, said: Said, *, by: str) -> Decided:
    """Make a row the chair's own, with the documents that are right; or settle a suggestion, which
    changes the pair that it names and nothing else."""
    _refuse_long(said)
    with _one_at_a_time:
        item = _open_item(service, item_id, "approved", by, said.act)
        if isinstance(item, Decided):
            return item
        note = _refuse_stale(service, item, said)
        decide = _settle if item.kind == "judgment" else _approve_row
        why, at = said.reason.strip(), service.clock()
        word = Word(by=by, why=why, at=at, note_seen=note, act=said.act)
        with _in_words(service, item):
            unwritten = _made(partial(decide, service, item, said, word))
        return _done(service, item, "approved", unwritten)


def _refuse_long(said: Said) -> None:
    refuse_long(said.reason)
    refuse_long(said.note, "the note")


def reject(service: Service, item_id: str, said: Said, *, by: str) -> Decided:
    """Turn an item down, with a reason: a row leaves the set, a suggestion changes nothing."""
    _refuse_long(said)
    with _one_at_a_time:
        item = _open_item(service, item_id, "rejected", by, said.act)
        if isinstance(item, Decided):
            return item
        note = _refuse_stale(service, item, said)
        if not said.reason.strip():
            raise Refused("reason")
        at = service.clock()
        word = Word(by=by, why=said.reason, at=at, note_seen=note, act=said.act)
        with _in_words(service, item):
            unwritten = _made(partial(_reject, service, item, word))
        return _done(service, item, "rejected", unwritten)


def _reject(service: Service, item: ReviewItem, word: Word) -> None:
    if item.kind == "judgment":
        review.rule_suggestion(
            service, item.id, accept=False, by=word.by, why=word.why, act=word.act
        )
    else:
        decisions.reject(gold_path(service, item.gold), [item.ref], word, [item])


def _made(step: Callable[[], object]) -> str:
    """Take a step that decides. Says where it is decided and its files could not be written."""
    try:
        step()
    except Unwritten as error:
        return str(error)
    return ""


def _open_item(
    service: Service, item_id: str, wanted: Outcome, by: str, act: str
) -> ReviewItem | Decided:
    """The item while it waits; what has been done where it is done."""
    if not by.strip():
        raise Refused("name")
    item = find_item(service, item_id)
    if item is None:
        raise Gone()
    if act and act in open_log(gold_path(service, item.gold)).acts:
        return Decided(item=item, outcome=wanted, already=True)
    if item.state == "pending_review":
        return item
    if item.state == wanted and item.decided_by == by:
        return Decided(item=item, outcome=wanted, already=True)
    raise Refused("decided", ref=item.ref, by=item.decided_by)


def _refuse_stale(service: Service, item: ReviewItem, said: Said) -> str | None:
    """Gives the note of the row, where that is what was shown: it is looked at again under the
    lock of the set."""
    other = said.seen is not None and said.seen != item.doc_ids
    known = said.row in (None, fingerprint(item))
    note = None if known else note_of(service, item)
    if other or not (known or said.row == fingerprint(item, note)):
        raise Refused("changed", ref=item.ref)
    return note


class _in_words:
    """What fails because the row is gone, or another was first, in words a chair understands."""

    def __init__(self, service: Service, item: ReviewItem) -> None:
        self._service, self._item = service, item

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Overtaken):
            now = find_item(self._service, self._item.id)
            raise Refused(
                "decided", ref=self._item.ref, by=now.decided_by if now else ""
            ) from error
        if isinstance(error, Stale):
            raise Refused("changed", ref=self._item.ref) from error
        if not isinstance(error, InputError) or isinstance(error, Refused):
            return
        if self._item in review.strays(self._service, self._item.gold):
            raise Refused("lost", ref=self._item.ref) from error


def _done(service: Service, item: ReviewItem, outcome: Outcome, unwritten: str) -> Decided:
    """The item as it is now."""
    now = find_item(service, item.id)
    if now is None or now.state != outcome:
        raise InputError("nothing was decided: the item is as it was", where=item.ref)
    return Decided(item=now, outcome=outcome, unwritten=unwritten)


def _settle(service: Service, item: ReviewItem, said: Said, word: Word) -> None:
    if item.grade is None and said.grade is None:
        raise Refused("grade")
    review.rule_suggestion(
        service, item.id, accept=True, by=word.by, why=said.reason, grade=said.grade, act=word.act
    )


def _approve_row(service: Service, item: ReviewItem, said: Said, word: Word) -> None:
    path = gold_path(service, item.gold)
    documents = item.doc_ids if said.documents is None else said.documents
    documents = tuple(dict.fromkeys(id for id in documents if id.strip()))
    if not documents:
        raise Refused("documents")
    _refuse_unknown(service, item, documents)
    note = said.note.strip()
    if documents == item.doc_ids and not note:
        decisions.promote(path, [item.ref], word, [item])
        return
    given = msgspec.structs.replace(word, why=word.why or CORRECTED, rationale=word.why)
    change = Correction(relevant=documents, note=note or None)
    decisions.correct(path, item.ref, change, given, [item])


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
        known = find_items(service, list(wanted))
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
        done, unwritten = list[str](), ""
        for some in by_set.values():
            try:
                unwritten = _approved(service, some, word, refused) or unwritten
                done += [item.id for item in some if item.id not in refused]
            except InputError as error:
                left = [item.id for item in some if item.id not in refused]
                refused |= dict.fromkeys(left, str(error))
    return Bulk(done=done, already=already, refused=refused, unwritten=unwritten)


def _approved(
    service: Service, some: Sequence[ReviewItem], word: Word, refused: dict[str, str]
) -> str:
    """The rows of one set in one step, without those that the file has otherwise by now, and those
    that others were faster with; says where its files could not be written."""
    path = gold_path(service, some[0].gold)
    left = list(some)
    while left:
        refs = [item.ref for item in left]
        try:
            return _made(partial(decisions.promote, path, refs, word, left))
        except Stale as error:
            others = [item for item in left if item.ref in error.refs]
            new = {item.id: Refused("changed", ref=item.ref) for item in others}
        except Overtaken as error:
            new = {
                item.id: Refused("decided", ref=item.ref, by=item.decided_by)
                for item in error.items
            }
        refused |= {id: str(why) for id, why in new.items()}
        left = [item for item in left if item.id not in new]
    return ""


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
    """What a person decided last: one item, or all of a step on many. The order of a log says what
    is last in a set; between sets the time does."""
    if not by:
        return []
    found = [item for item in items(service) if item.decided_by == by and item.act]
    steps: dict[str, list[ReviewItem]] = {}
    for item in found:
        if item.state in ("approved", "rejected") and _is_decision(service, item):
            steps.setdefault(item.act, []).append(item)
    golds = dict.fromkeys(some[0].gold for some in steps.values())
    acts = (reversed(open_log(gold_path(service, gold)).acts) for gold in golds)
    last = [steps[next(act for act in of_set if act in steps)] for of_set in acts]
    return max(last, key=lambda some: some[0].decided_at or NEVER, default=[])


def _is_decision(service: Service, item: ReviewItem) -> bool:
    act = open_log(gold_path(service, item.gold)).acts[item.act]
    return act.action in (APPROVE, CORRECT, REJECT)


def take_back(
    service: Service, ids: Sequence[str], *, by: str, seen: Mapping[str, datetime] = NOT_SAID
) -> Bulk:
    """What was decided waits again, in the set and in the queue. What waits already is harmless;
    what is in a committed baseline, or was changed since, is left and named.

    `seen` says of an item which decision the person saw, by its time: a newer one is refused. Of
    what it does not name, a person takes back their own alone."""
    if not by.strip():
        raise Refused("name")
    at = service.clock()
    with _one_at_a_time:
        known = find_items(service, ids)
        done, already, refused = list[str](), list[str](), dict[str, str]()
        approved: dict[str, list[ReviewItem]] = {}
        steps: list[tuple[list[str], Callable[[], None]]] = []
        for id in dict.fromkeys(ids):
            item = known.get(id)
            if item is None:
                refused[id] = str(Gone())
            elif item.state == "pending_review":
                already.append(id)
            elif problem := _newer(item, seen.get(id), by):
                refused[id] = str(problem)
            elif item.state == "approved" and item.kind == "gold_row":
                approved.setdefault(item.gold, []).append(item)
            else:
                steps.append(([id], partial(_undo, service, [item], by, at)))
        for some in approved.values():
            steps.append(([item.id for item in some], partial(_undo, service, some, by, at)))
        unwritten = ""
        for ids_of_step, step in steps:
            try:
                unwritten = _made(step) or unwritten
                done += ids_of_step
            except InputError as error:
                refused |= dict.fromkeys(ids_of_step, str(error))
    return Bulk(done=done, already=already, refused=refused, unwritten=unwritten)


def _newer(item: ReviewItem, seen: datetime | None, by: str) -> Refused | None:
    """Why a decision is not the one that is to be taken back, or never is."""
    if item.state == "published":
        return Refused("published", ref=item.ref)
    if seen is None:
        own = item.decided_by == by
        return None if own else Refused("not_yours", ref=item.ref, by=item.decided_by)
    same = item.decided_at == seen
    return None if same else Refused("since", ref=item.ref, by=item.decided_by)


def _undo(service: Service, some: Sequence[ReviewItem], by: str, at: datetime) -> None:
    word, path = Word(by=by, rationale="", at=at), gold_path(service, some[0].gold)
    if some[0].kind == "gold_row":
        decisions.take_back(path, some, word)
    else:
        decisions.take_back_suggestion(path, some[0], word)
