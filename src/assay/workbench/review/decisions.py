"""What pages, the JSON API and commands call when a chair decides: approve, reject, approve many
rows, undo, publish.

`approve` finds the pending item and checks that it is still what the chair saw. Then
`review.decision_acts` appends one act to the log of the set and writes the gold file from it.

Sending a decision twice is harmless. If somebody else decided first, or the item has changed since
the page was opened, the decision is refused."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.errors import InputError, NotHere
from assay.core.files import write_atomic
from assay.core.types import MAX_PAGE
from assay.formats import gold_jsonl
from assay.gold.acts import REJECT, Act, CastVote, new_id
from assay.gold.acts import ActId as ActId
from assay.gold.log import Log, open_log
from assay.gold.projection import GoldFileNotWritten, row_of
from assay.gold.rows import has_rows
from assay.judging.votes import document_fingerprint, refuse_long
from assay.reports.words import page_words
from assay.review import decision_acts
from assay.review.decision_acts import DECISIONS, ChangedMeanwhile, DecidedMeanwhile, ReviewDecision
from assay.review.decision_acts import Correction as Correction
from assay.review.decision_acts import RowsOutcome as RowsOutcome
from assay.review.queue import ReviewItem, items_of
from assay.workbench.judging.votes_to_labels import label_vote_acts, rubric_version
from assay.workbench.project.service import Service, gold_path
from assay.workbench.review.item import candidates, find_document, note_of, top_grade
from assay.workbench.review.queue import (
    QueueFilter,
    filter_items,
    find_item,
    find_items,
    items,
    pending_items,
    stray_items,
)
from assay.workbench.review.suggestions import refuse_unknown

MAX_BULK_ROWS = 50  # rows that a person can look over before approving them together; taste
CORRECTED = "corrected on the review page"
LOST = "its query is no longer in the gold set"
UNKNOWN_DOCUMENT = "Check the id, import the corpus that has it, or say --allow-unknown."
NEVER = datetime.min.replace(tzinfo=UTC)
NO_TIMES: Mapping[str, datetime] = {}

# one decision at a time: of two people who decide at once, the second is told about the first
_deciding = threading.Lock()


class ReviewRefusal(InputError):
    """A decision that cannot be made. `key` is the sentence in the words of the review pages, which
    are in the reader's language."""

    def __init__(self, key: str, **values: str) -> None:
        self.key, self.values = key, values
        super().__init__(self.in_words_of(page_words("en", "review")))

    def in_words_of(self, words: dict[str, str]) -> str:
        return words[f"refused_{self.key}"].format(**self.values)


class NotInQueue(ReviewRefusal, NotHere):
    """The item is no longer in the queue: a page answers 404."""

    def __init__(self) -> None:
        super().__init__("gone")


# ── one item ──────────────────────────────────────────────────────────────────────────────────────


class DecisionForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chair's decision on one item, as a page or a program sends it. `documents` are those that
    the row has from now on. `seen` are the documents that the chair was shown, and `row` is the
    fingerprint of all that was shown: if the row is different by now, nothing is decided. `grade`
    is for a suggestion, if it has none or another one is right. `act` is an id that the client
    makes: sending the same decision again does nothing."""

    documents: tuple[str, ...] | None = None
    seen: tuple[str, ...] | None = None
    row: str | None = None
    note: str = ""
    reason: str = ""
    grade: int | None = None
    act: ActId = ""


class ItemOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The item after a decision; `already` if the same person had decided so before. `unwritten`
    says why the gold file could not be written: the decision is recorded, and the file follows."""

    item: ReviewItem
    outcome: Literal["approved", "rejected"]
    already: bool = False
    unwritten: str = ""


def approve(service: Service, item_id: str, form: DecisionForm, *, by: str) -> ItemOutcome:
    """Approve a row with the documents that are relevant, or accept a suggestion, which changes the
    pair that it names and nothing else."""
    return _decide(service, item_id, form, by, "approved", _approve)


def reject(service: Service, item_id: str, form: DecisionForm, *, by: str) -> ItemOutcome:
    """Reject an item, with a reason: a row leaves the set, a suggestion changes nothing."""
    return _decide(service, item_id, form, by, "rejected", _reject)


def _decide(
    service: Service,
    item_id: str,
    form: DecisionForm,
    by: str,
    outcome: Literal["approved", "rejected"],
    record: Callable[[Service, ReviewItem, DecisionForm, ReviewDecision], None],
) -> ItemOutcome:
    """Check that an item is pending and as the chair saw it, then record the decision."""
    refuse_long(form.reason)
    refuse_long(form.note, "the note")
    _require_name(by)
    with _deciding:
        item = find_item(service, item_id)
        if item is None:
            raise NotInQueue()
        log = open_log(gold_path(service, item.gold))
        if (sent := log.acts.get(form.act)) is not None:
            _refuse_reused_id(log, sent, item, form, by, outcome)
            return ItemOutcome(item=item, outcome=outcome, already=True)
        if item.state == outcome and item.decided_by == by:
            return ItemOutcome(item=item, outcome=outcome, already=True)
        if item.state != "pending_review":
            raise ReviewRefusal("decided", ref=item.ref, by=item.decided_by)
        decision = ReviewDecision(
            by=by,
            reason=form.reason.strip(),
            seen=(item,),
            note_seen=_note_seen(service, item, form),
            act_id=form.act,
            at=service.clock(),
        )
        try:
            unwritten = _write(partial(record, service, item, form, decision))
        except InputError as error:
            if (refusal := _refusal(service, item, error)) is not None:
                raise refusal from error
            raise
        now = find_item(service, item.id)
        if now is None or now.state != outcome:
            raise InputError("nothing was decided: the item is as it was", where=item.ref)
        return ItemOutcome(item=now, outcome=outcome, unwritten=unwritten)


def _refuse_reused_id(
    log: Log, act: Act, item: ReviewItem, form: DecisionForm, by: str, outcome: str
) -> None:
    """Refuse another decision under an id that was used: the same id means the same person, item,
    outcome and documents."""
    row = next((change for change in act.rows if change.row == item.ref), None)
    on_item = item.id in act.supersedes if item.kind == "judgment" else row is not None
    same = on_item and log.who(act) == by and (act.action == REJECT) == (outcome == "rejected")
    if same and row is not None and row.after and form.documents is not None:
        same = set(row_of(row.after).relevant_case_law_ids) == set(form.documents)
    if not same:
        raise InputError(
            f"the id {act.id!r} belongs to another decision",
            where=item.ref,
            hint="Give every decision its own id.",
        )


def _was_sent(service: Service, item: ReviewItem, act_id: str) -> bool:
    """Whether an act of this id, on this item, is in the log: the request was sent before."""
    sent = open_log(gold_path(service, item.gold)).acts.get(act_id) if act_id else None
    if sent is None:
        return False
    return item.id in sent.supersedes or any(change.row == item.ref for change in sent.rows)


def _require_name(by: str) -> None:
    if not by.strip():
        raise ReviewRefusal("name")


def _note_seen(service: Service, item: ReviewItem, form: DecisionForm) -> str | None:
    """The note that the chair was shown, if the fingerprint covers one. Refuses an item that is not
    what was shown."""
    other_documents = form.seen is not None and form.seen != item.doc_ids
    without_note = form.row in (None, fingerprint(item))
    note = None if without_note else note_of(service, item)
    if other_documents or not (without_note or form.row == fingerprint(item, note)):
        raise ReviewRefusal("changed", ref=item.ref)
    return note


def _write(decide: Callable[[], object]) -> str:
    """Record a decision. Returns why its gold file could not be written, or an empty text."""
    try:
        decide()
    except GoldFileNotWritten as error:
        return str(error)
    return ""


def _refusal(service: Service, item: ReviewItem, error: InputError) -> ReviewRefusal | None:
    """An error in the words of the page, if it has words for it."""
    if isinstance(error, DecidedMeanwhile):
        now = find_item(service, item.id)
        return ReviewRefusal("decided", ref=item.ref, by=now.decided_by if now else "")
    if isinstance(error, ChangedMeanwhile):
        return ReviewRefusal("changed", ref=item.ref)
    is_lost = not isinstance(error, ReviewRefusal) and item in stray_items(service, item.gold)
    return ReviewRefusal("lost", ref=item.ref) if is_lost else None


def _approve(
    service: Service, item: ReviewItem, form: DecisionForm, decision: ReviewDecision
) -> None:
    """Record the approval of a row, as it is or with other documents or a note (then it is a
    correction), or of a suggestion."""
    path = gold_path(service, item.gold)
    if item.kind == "judgment":
        vote = _vote_on_suggestion(service, item, form)
        decision_acts.accept_suggestion(path, item, vote, decision, partial(label_vote_acts, path))
        return
    documents = item.doc_ids if form.documents is None else form.documents
    documents = tuple(dict.fromkeys(id for id in documents if id.strip()))
    if not documents:
        raise ReviewRefusal("documents")
    _refuse_unknown_documents(service, item, documents)
    note = form.note.strip()
    if documents == item.doc_ids and not note:
        decision_acts.approve(path, [item.ref], decision)
        return
    reason = decision.reason
    decision = msgspec.structs.replace(decision, reason=reason or CORRECTED, vote_rationale=reason)
    decision_acts.correct(
        path, item.ref, Correction(relevant=documents, note=note or None), decision
    )


def _vote_on_suggestion(service: Service, item: ReviewItem, form: DecisionForm) -> CastVote:
    """The chair's own vote on a suggested document."""
    grade = form.grade if form.grade is not None else item.grade
    if grade is None:
        raise ReviewRefusal("grade")
    top = top_grade(service, item)
    if not 0 <= grade <= top:
        raise InputError(f"the document needs a grade from 0 to {top}")
    (doc_id,) = item.doc_ids
    found = find_document(service, item.corpus, doc_id)
    return CastVote(
        id=new_id(),
        query=item.ref,
        doc=doc_id,
        grade=grade,
        rubric=rubric_version(gold_path(service, item.gold)),
        document=document_fingerprint(found[1]) if found is not None else "",
        source=item.suggested_by if item.grade is None else f"suggested by {item.suggested_by}",
    )


def _refuse_unknown_documents(service: Service, item: ReviewItem, documents: Sequence[str]) -> None:
    """A document that is added must be in a corpus here, or one that a search showed."""
    added = [id for id in documents if id not in item.doc_ids]
    missing = [id for id in added if find_document(service, item.corpus, id) is None]
    shown = {candidate.doc_id for candidate in candidates(service, item)} if missing else set()
    for id in missing:
        if id not in shown:
            raise ReviewRefusal("document", id=id)


def _reject(
    service: Service, item: ReviewItem, form: DecisionForm, decision: ReviewDecision
) -> None:
    if not decision.reason:
        raise ReviewRefusal("reason")
    path = gold_path(service, item.gold)
    if item.kind == "judgment":
        decision_acts.reject_suggestion(path, item, decision)
    else:
        decision_acts.reject(path, [item.ref], decision)


# ── many rows at once ─────────────────────────────────────────────────────────────────────────────


class PreviewedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that would be approved, with the titles of its documents. `seen` is its fingerprint."""

    item: ReviewItem
    titles: list[str]
    seen: str


class SetChange(msgspec.Struct, frozen=True, kw_only=True):
    gold: str
    rows: int
    votes: int


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that approving many rows would make. `left_out` are the suggestions, which are
    decided one by one, and the rows that cannot be approved; `more` items are left for later."""

    lines: list[PreviewedRow]
    sets: list[SetChange]
    left_out: list[ReviewItem]
    more: int


def preview(service: Service, queue_filter: QueueFilter, ids: Sequence[str] = ()) -> Preview:
    """The changes that approving these items would make; without ids, all that pass the filter."""
    if ids:
        found = list(find_items(service, ids[:MAX_PAGE]).values())
        more = len(ids) - len(found)
    else:
        every = filter_items(service, queue_filter)
        found, more = every[:MAX_BULK_ROWS], max(len(every) - MAX_BULK_ROWS, 0)
    waiting = [item for item in found if item.state == "pending_review"]
    rows = [item for item in waiting if item.kind == "gold_row"]
    by_set: dict[str, list[ReviewItem]] = {}
    for item in rows:
        by_set.setdefault(item.gold, []).append(item)
    return Preview(
        lines=[
            PreviewedRow(item=item, titles=_titles(service, item), seen=fingerprint(item))
            for item in rows
        ],
        sets=[
            SetChange(gold=gold, rows=len(some), votes=sum(len(item.doc_ids) for item in some))
            for gold, some in by_set.items()
        ],
        left_out=[item for item in waiting if item not in rows],
        more=more,
    )


def _titles(service: Service, item: ReviewItem) -> list[str]:
    found = [(id, find_document(service, item.corpus, id)) for id in item.doc_ids]
    return [place[1].title or id if place is not None else id for id, place in found]


def fingerprint(item: ReviewItem, note: str | None = None) -> str:
    """The fingerprint of what a chair approves: the query, its documents, and the note of the row
    if that was shown."""
    shown = [item.query, item.corpus, item.practice_area, item.doc_ids]
    content = msgspec.json.encode(shown if note is None else [*shown, note])
    return hashlib.sha256(content).hexdigest()[:16]


class ApprovedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row to approve: its item, and its fingerprint in the preview."""

    id: str
    seen: str


class BulkOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of the items that were changed, those that were so `already`, and those that were
    `refused`, with the reason in English. `unwritten` says why a gold file could not be written:
    the decision is recorded, and the file follows."""

    done: list[str]
    already: list[str] = []
    refused: dict[str, str] = {}
    unwritten: str = ""


def approve_many(
    service: Service, approved: Iterable[ApprovedRow], *, by: str, reason: str = "", act: str = ""
) -> BulkOutcome:
    """Approve rows as they were previewed, the rows of a set in one act. A row that has changed
    since, or that somebody else decided on, is left as it is. `act` is an id that the client makes:
    sending the same rows again changes nothing."""
    refuse_long(reason)
    wanted = {row.id: row.seen for row in approved}
    _require_name(by)
    if not wanted:
        raise ReviewRefusal("nothing")
    if len(wanted) > MAX_PAGE:
        raise InputError(f"{len(wanted)} rows are too many to approve at once, limit {MAX_PAGE}")
    decision = msgspec.structs.replace(_decision(service, by, reason.strip()), act_id=act)
    with _deciding:
        known = find_items(service, list(wanted))
        done, already, refused = list[str](), list[str](), dict[str, str]()
        by_set: dict[str, list[ReviewItem]] = {}
        for id, seen in wanted.items():
            item = known.get(id)
            if item is None:
                refused[id] = str(NotInQueue())
            elif _was_sent(service, item, act) or (
                item.state == "approved" and item.decided_by == by
            ):
                already.append(id)
            elif problem := _bulk_refusal(item, seen):
                refused[id] = str(problem)
            else:
                by_set.setdefault(item.gold, []).append(item)
        unwritten = ""
        for some in by_set.values():
            unwritten = _approve_rows(service, some, decision, refused) or unwritten
            done += [item.id for item in some if item.id not in refused]
    return BulkOutcome(done=done, already=already, refused=refused, unwritten=unwritten)


def _bulk_refusal(item: ReviewItem, seen_fingerprint: str) -> ReviewRefusal | None:
    if item.state != "pending_review":
        return ReviewRefusal("decided", ref=item.ref, by=item.decided_by)
    if item.kind != "gold_row":
        return ReviewRefusal("one_by_one", ref=item.ref)
    return ReviewRefusal("changed", ref=item.ref) if seen_fingerprint != fingerprint(item) else None


def _approve_rows(
    service: Service, rows: Sequence[ReviewItem], decision: ReviewDecision, refused: dict[str, str]
) -> str:
    """Approve the rows of one set in one act, without those that have changed or were decided in
    the meantime: they are added to `refused`. Returns why its file could not be written."""
    path, left = gold_path(service, rows[0].gold), list(rows)
    while left:
        refs = [item.ref for item in left]
        decision = msgspec.structs.replace(decision, seen=tuple(left))
        try:
            return _write(partial(decision_acts.approve, path, refs, decision))
        except ChangedMeanwhile as error:
            changed = [item for item in left if item.ref in error.refs]
            new = {item.id: str(ReviewRefusal("changed", ref=item.ref)) for item in changed}
        except DecidedMeanwhile as error:
            new = {
                item.id: str(ReviewRefusal("decided", ref=item.ref, by=item.decided_by))
                for item in error.items
            }
        except InputError as error:
            new = {item.id: str(error) for item in left}
        refused |= new
        left = [item for item in left if item.id not in new]
    return ""


# ── undo ──────────────────────────────────────────────────────────────────────────────────────────


def last_decided(service: Service, by: str) -> list[ReviewItem]:
    """The items that a person decided last: one, or all rows of one act. Within a set, the order of
    its log says which is last; between sets, the time does."""
    by_act: dict[str, list[ReviewItem]] = {}
    for item in items(service) if by else ():
        if item.decided_by == by and item.act and item.state in ("approved", "rejected"):
            by_act.setdefault(item.act, []).append(item)
    last: list[list[ReviewItem]] = []
    for gold in dict.fromkeys(some[0].gold for some in by_act.values()):
        for act in reversed(open_log(gold_path(service, gold)).acts.values()):
            if act.id in by_act and act.action in DECISIONS:
                last.append(by_act[act.id])
                break
    return max(last, key=lambda some: some[0].decided_at or NEVER, default=[])


def undone_by(service: Service, act: str) -> list[ReviewItem]:
    """The items that an act undid, by the id that a client made; empty if nobody has sent it."""
    return [item for item in items(service) if _was_sent(service, item, act)] if act else []


def undo(
    service: Service,
    ids: Sequence[str],
    *,
    by: str,
    seen_times: Mapping[str, datetime] = NO_TIMES,
    act: str = "",
) -> BulkOutcome:
    """Undo the decisions on items: they are pending again, in the set and in the queue. An item
    that is in a committed baseline, or was changed since, is refused. `act` is an id that the
    client makes: an undo that is sent again undoes nothing more.

    `seen_times` has the time of the decision that the person saw, by item: a newer one is not
    undone. Of items that it does not name, people undo their own decisions only."""
    _require_name(by)
    decision = ReviewDecision(by=by, vote_rationale="", at=service.clock())
    with _deciding:
        known = find_items(service, ids)
        done, already, refused = list[str](), list[str](), dict[str, str]()
        approved: dict[str, list[ReviewItem]] = {}  # the rows of a set are undone in one act
        one_by_one: list[list[ReviewItem]] = []
        for id in dict.fromkeys(ids):
            item = known.get(id)
            if item is None:
                refused[id] = str(NotInQueue())
            elif item.state == "pending_review" or _was_sent(service, item, act):
                already.append(id)
            elif problem := _undo_refusal(item, seen_times.get(id), by):
                refused[id] = str(problem)
            elif item.state == "approved" and item.kind == "gold_row":
                approved.setdefault(item.gold, []).append(item)
            else:
                one_by_one.append([item])
        unwritten = ""
        for some in (*one_by_one, *approved.values()):
            step = (
                decision_acts.undo if some[0].kind == "gold_row" else decision_acts.undo_suggestion
            )
            undone = [item.id for item in some]
            try:
                path = gold_path(service, some[0].gold)
                decision = msgspec.structs.replace(decision, act_id=_free_id(path, act))
                unwritten = _write(partial(step, path, some, decision)) or unwritten
                done += undone
            except InputError as error:
                refused |= dict.fromkeys(undone, str(error))
    return BulkOutcome(done=done, already=already, refused=refused, unwritten=unwritten)


def _free_id(path: Path, act: str) -> str:
    """The id of the next act of a request that needs several in one set."""
    acts, number, id = open_log(path).acts, 1, act
    while act and id in acts:
        number += 1
        id = f"{act}-{number}"
    return id


def _undo_refusal(item: ReviewItem, seen_at: datetime | None, by: str) -> ReviewRefusal | None:
    if item.state == "published":
        return ReviewRefusal("published", ref=item.ref)
    if seen_at is None:
        own = item.decided_by == by
        return None if own else ReviewRefusal("not_yours", ref=item.ref, by=item.decided_by)
    same = item.decided_at == seen_at
    return None if same else ReviewRefusal("since", ref=item.ref, by=item.decided_by)


# ── the commands of `assay gold` ──────────────────────────────────────────────────────────────────


def decide_rows(
    service: Service,
    gold: Path,
    ids: Sequence[str],
    outcome: Literal["approved", "rejected"],
    *,
    by: str,
    why: str = "",
) -> RowsOutcome:
    """Approve or reject rows by their ids."""
    decide = decision_acts.approve if outcome == "approved" else decision_acts.reject
    return decide(gold, ids, _decision(service, by, why))


def correct_row(
    service: Service,
    gold: Path,
    id: str,
    correction: Correction,
    *,
    by: str,
    why: str,
    allow_unknown: bool = False,
) -> RowsOutcome:
    """Change a row and approve it. A document that is added must be known here, unless
    `allow_unknown`."""
    row = gold_jsonl.find_row(gold, id)
    if correction.add and row is not None and not allow_unknown:
        refuse_unknown(service, gold, row.corpus, correction.add, hint=UNKNOWN_DOCUMENT)
    return decision_acts.correct(gold, id, correction, _decision(service, by, why))


def reopen_row(service: Service, gold: Path, id: str, *, by: str, why: str = "") -> RowsOutcome:
    """Undo the rejection of a row."""
    return decision_acts.reopen(gold, id, _decision(service, by, why))


def _decision(service: Service, by: str, reason: str) -> ReviewDecision:
    return ReviewDecision(by=by, reason=reason, at=service.clock())


def withdraw(service: Service, gold: str, *, by: str, why: str = "", gone: bool = False) -> int:
    """Take suggestions out of the queue whose query has left the set; the log keeps them. With
    `gone`, all suggestions of the set: its file is gone."""
    if not gold or not by.strip():
        raise InputError("name the gold set and the person who withdraws")
    path = gold_path(service, gold)
    if not path.exists() and not gone:
        raise InputError(
            f"the file of gold set {gold!r} is not here",
            hint="Restore it, or give --gone if it no longer exists.",
        )
    lost = pending_items(service, gold) if gone else stray_items(service, gold)
    decision = _decision(service, by, why or LOST)
    suggested = [item for item in lost if item.kind == "judgment"]
    return decision_acts.dismiss_suggestions(path, suggested, decision)


def publish(service: Service | None, gold: Path, baseline: Path, content: bytes, *, by: str) -> int:
    """Write a baseline; the approved rows that it was scored on are published from then on. Returns
    how many."""
    write_atomic(baseline, content)
    if service is None or not has_rows(gold) or not gold.exists():
        return 0
    name = next((key for key, path in service.gold_sets.items() if path == gold), gold.stem)
    rows = [item for item in items_of(name, gold) if item.kind == "gold_row"]
    approved = [item.ref for item in rows if item.state == "approved"]
    if approved:
        decision_acts.publish(gold, approved, _decision(service, by, "in the committed baseline"))
    return len(approved)
