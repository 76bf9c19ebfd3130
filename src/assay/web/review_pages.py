"""The chair's gate: the list of what waits, one item with all there is to read, many rows at once,
and taking back. Forms work without scripts; `review.js` adds keys and keeps what is typed."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import AssayError, InputError, NotHere
from assay.reports.words import page_words
from assay.web.access import ROLES, Guarded, user_of
from assay.web.review_api import BulkQuery, ListQuery
from assay.web.shell import Form, form, language_for, page, query, said, service_of
from assay.workbench import review_word
from assay.workbench.opening import Service
from assay.workbench.review import ReviewItem
from assay.workbench.review_item import (
    Candidate,
    candidate_of,
    item_view,
    search_more,
    whole_text,
)
from assay.workbench.review_preview import fingerprint, preview
from assay.workbench.review_queue import Asked, around, find_item, listing
from assay.workbench.review_word import Bulk, Pick, Refused, Said, last_step

WORDS = ("review",)
ACT = re.compile(r"[A-Za-z0-9_-]{8,64}")
SAID = ("approved", "rejected", "already", "taken_back", "waits_already")


# ── the list ──────────────────────────────────────────────────────────────────────────────────────


def list_page(request: Request) -> Response:
    return _list(request, query(request, ListQuery))


def _list(
    request: Request, asked: ListQuery, *, status: int = 200, complaint: str = ""
) -> Response:
    shown = listing(service_of(request), asked, limit=asked.limit, offset=asked.offset)
    return page(
        request,
        "review.html",
        status,
        listing=shown,
        asked=asked,
        kept=kept_query(asked),
        complaint=complaint,
        narrowed=kept_query(asked) != "",
        room=_room(request),
    )


def kept_query(asked: Asked, **more: str) -> str:
    """The part of the queue that is looked at, as the end of an address."""
    plain = Asked()
    values = [
        (name, value)
        for name in Asked.__struct_fields__
        if (value := getattr(asked, name)) != getattr(plain, name)
    ]
    values += [(name, value) for name, value in more.items() if value]
    return f"?{urlencode(values)}" if values else ""


@dataclass(frozen=True, kw_only=True)
class Room:
    """What every page of the room says: whether this person decides, what they decided last, and
    what became of what they pressed."""

    decides: bool
    last: list[ReviewItem]
    said: str


def _room(request: Request) -> Room:
    user = user_of(request)
    decides = ROLES.index(user.role) >= ROLES.index("chair")
    last = last_step(service_of(request), user.name) if decides else []
    said = request.query_params.get("said", "")
    return Room(decides=decides, last=last, said=said if said in SAID else "")


# ── one item ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a chair sent. When it is refused it comes back with the page, filled in: nobody types
    twice."""

    item: str
    action: str
    why: str
    note: str
    grade: str
    documents: tuple[str, ...]
    seen: tuple[str, ...] | None
    row: str | None
    act: str = ""

    def ticked(self, doc_id: str, in_row: bool) -> bool:
        """A document of the row that the chair has not seen yet is ticked, as on a new page."""
        if doc_id in self.documents:
            return True
        return in_row and self.seen is not None and doc_id not in self.seen


def item_page(request: Request) -> Response:
    item = find_item(service_of(request), request.path_params["item"])
    if item is None:
        return _list(request, ListQuery(), status=404, complaint=_words(request)["refused_gone"])
    return _item(request, item)


def _item(
    request: Request,
    item: ReviewItem,
    *,
    status: int = 200,
    complaint: str = "",
    given: Given | None = None,
) -> Response:
    service, asked = service_of(request), query(request, Asked)
    view = item_view(service, item, asked)
    found, sought, not_found = _sought(request, service, item)
    extra = _extra(service, item, given, {one.doc_id for one in view.candidates})
    asked_whole = request.query_params.get("whole", "")
    return page(
        request,
        "review_item.html",
        status,
        words=WORDS,
        view=view,
        item=item,
        shown=fingerprint(item, view.note),
        act=secrets.token_hex(12),
        kept=kept_query(asked),
        asked=asked,
        whole=whole_text(service, item, asked_whole) if asked_whole else None,
        found=found,
        extra=extra,
        sought=sought,
        not_found=not_found,
        complaint=complaint,
        given=given,
        room=_room(request),
    )


def _sought(
    request: Request, service: Service, item: ReviewItem
) -> tuple[list[Candidate], str, str]:
    """What a search for more documents found, where one was asked for without a script."""
    words = request.query_params.get("q", "")
    try:
        return (search_more(service, item, words) if words else []), words, ""
    except InputError as error:
        return [], words, str(error)


def _extra(
    service: Service, item: ReviewItem, given: Given | None, shown: set[str]
) -> list[Candidate]:
    """Documents that the chair had found and ticked before the form was refused."""
    ticked = given.documents if given is not None else ()
    new = [id for id in ticked if id not in item.doc_ids and id not in shown]
    return [candidate_of(service, item, id) for id in new]


def decide(request: Request) -> Response:
    """The chair's word. What cannot be done is said beside what the chair had filled in."""
    service, by = service_of(request), user_of(request).name
    given = _given(request.path_params["item"], form(request))
    asked = query(request, Asked)
    try:
        said = Said(
            documents=given.documents,
            seen=given.seen,
            row=given.row,
            note=given.note,
            reason=given.why,
            grade=int(given.grade) if given.grade in tuple("0123456789") else None,
            act=given.act,
        )
        if given.action == "approve":
            done = review_word.approve(service, given.item, said, by=by)
        elif given.action == "reject":
            done = review_word.reject(service, given.item, said, by=by)
        else:
            raise Refused("action")
        beside = around(service, asked, done.item)
    except AssayError as error:
        return _refused(request, given, error)
    if done.unwritten:
        return _list(request, ListQuery(), status=503, complaint=done.unwritten)
    outcome = "already" if done.already else done.outcome
    on = beside.next or beside.previous
    place = f"/review/{on}" if on else "/review"
    return RedirectResponse(place + kept_query(asked, said=outcome), status_code=303)


def _given(item: str, sent: Form) -> Given:
    return Given(
        item=item,
        action=sent.text("action"),
        why=sent.text("why"),
        note=sent.text("note"),
        grade=sent.text("grade"),
        documents=sent.texts("doc"),
        seen=sent.texts("seen") if "seen" in sent else None,
        row=sent.text("row") if "row" in sent else None,
        act=act if ACT.fullmatch(act := sent.text("act")) else "",
    )


def _refused(request: Request, given: Given, error: AssayError) -> Response:
    complaint = _in_words(request, error)
    status = 404 if isinstance(error, NotHere) else 400 if isinstance(error, InputError) else 503
    try:
        item = find_item(service_of(request), given.item)
        if item is not None:
            return _item(request, item, status=status, complaint=complaint, given=given)
    except AssayError:  # the store is away: the page does without it
        status = 503
    return page(
        request,
        "refused.html",
        status,
        words=WORDS,
        complaint=complaint,
        given=given,
        again=status == 503,
    )


def _in_words(request: Request, error: AssayError) -> str:
    if isinstance(error, Refused):
        return error.in_words_of(_words(request))
    return said(request, error)


def _words(request: Request) -> dict[str, str]:
    return page_words(language_for(request), *WORDS)


# ── many, and back ────────────────────────────────────────────────────────────────────────────────


def bulk_page(request: Request) -> Response:
    return _bulk(request, query(request, BulkQuery))


def _bulk(request: Request, asked: BulkQuery, outcome: Bulk | None = None) -> Response:
    shown = preview(service_of(request), asked, asked.id)
    return page(
        request,
        "review_bulk.html",
        words=WORDS,
        preview=shown,
        asked=asked,
        kept=kept_query(asked),
        outcome=outcome,
        refused=list(outcome.refused.values()) if outcome else [],
        complaint="",
        room=_room(request),
    )


def approve_many(request: Request) -> Response:
    """The rows that are ticked, each with what it was when it was shown."""
    sent, asked = form(request), query(request, BulkQuery)
    seen = dict(pair.rpartition(":")[::2] for pair in sent.texts("seen"))
    picks = [Pick(id=id, seen=seen.get(id, "")) for id in sent.texts("id")]
    try:
        outcome = review_word.approve_many(
            service_of(request), picks, by=user_of(request).name, reason=sent.text("why")
        )
    except Refused as error:
        listed = msgspec.convert(msgspec.structs.asdict(asked), ListQuery)
        return _list(request, listed, status=400, complaint=_in_words(request, error))
    if outcome.refused:
        return _bulk(request, msgspec.structs.replace(asked, id=list(outcome.refused)), outcome)
    if outcome.unwritten:
        return _list(request, ListQuery(), status=503, complaint=outcome.unwritten)
    said = "approved" if outcome.done else "already"
    return RedirectResponse("/review" + kept_query(asked, said=said), status_code=303)


def take_back(request: Request) -> Response:
    """Exactly what the page offered to take back: the decisions that it showed."""
    service, asked, sent = service_of(request), query(request, Asked), form(request)
    ids = sent.texts("id")
    seen = {id: at for text in sent.texts("decided") for id, at in _decision(text)}
    outcome = review_word.take_back(service, ids, by=user_of(request).name, seen=seen)
    if outcome.unwritten and not outcome.refused:
        return _list(request, ListQuery(), status=503, complaint=outcome.unwritten)
    if outcome.refused:
        said = "\n".join(dict.fromkeys(outcome.refused.values()))
        return _list(request, ListQuery(), status=400, complaint=said)
    place = f"/review/{ids[0]}" if len(ids) == 1 else "/review"
    told = "taken_back" if outcome.done else "waits_already"
    return RedirectResponse(place + kept_query(asked, said=told), status_code=303)


def _decision(text: str) -> list[tuple[str, datetime]]:
    """An item and when it was decided; nothing where a page does not say that."""
    id, _, at = text.partition(" ")
    try:
        return [(id, datetime.fromisoformat(at))]
    except ValueError:
        return []


REVIEW_ROUTES = [
    Guarded("/review", list_page, ("GET",), "judge", "What waits for the chair"),
    Guarded("/review/bulk", bulk_page, ("GET",), "chair", "What approving many would change"),
    Guarded("/review/bulk", approve_many, ("POST",), "chair", "Approve many rows"),
    Guarded("/review/undo", take_back, ("POST",), "chair", "Take decisions back"),
    Guarded("/review/{item}", item_page, ("GET",), "judge", "One row or suggestion to decide on"),
    Guarded("/review/{item}", decide, ("POST",), "chair", "Approve or reject"),
]
