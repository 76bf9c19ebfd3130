"""The review pages: the queue, one item with everything to read, many rows at once, and undo. Forms
work without scripts; `review.js` adds keys and keeps what is typed."""

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
from assay.web.page_frame import Form, form, language_for, page, query, said, service_of
from assay.web.review_api import BulkQuery, ListQuery
from assay.workbench.project.service import Service
from assay.workbench.review import decisions
from assay.workbench.review.decisions import ApprovedRow, BulkOutcome, DecisionForm, Refused
from assay.workbench.review.item import (
    Candidate,
    candidate_of,
    item_view,
    search_more,
    whole_text,
)
from assay.workbench.review.queue import QueueFilter, ReviewItem, find_item, listing, neighbours

WORDS = ("review",)
ACT = re.compile(r"[A-Za-z0-9_-]{8,64}")
MESSAGES = ("approved", "rejected", "already", "taken_back", "waits_already")


# ── the list ──────────────────────────────────────────────────────────────────────────────────────


def list_page(request: Request) -> Response:
    return _list(request, query(request, ListQuery))


def _list(
    request: Request, chosen: ListQuery, *, status: int = 200, complaint: str = ""
) -> Response:
    shown = listing(service_of(request), chosen, limit=chosen.limit, offset=chosen.offset)
    return page(
        request,
        "review.html",
        status,
        listing=shown,
        chosen=chosen,
        kept=kept_query(chosen),
        complaint=complaint,
        narrowed=kept_query(chosen) != "",
        reviewer=_reviewer(request),
    )


def kept_query(chosen: QueueFilter, **more: str) -> str:
    """The filter that was chosen, as the query of an address."""
    plain = QueueFilter()
    values = [
        (name, value)
        for name in QueueFilter.__struct_fields__
        if (value := getattr(chosen, name)) != getattr(plain, name)
    ]
    values += [(name, value) for name, value in more.items() if value]
    return f"?{urlencode(values)}" if values else ""


@dataclass(frozen=True, kw_only=True)
class Reviewer:
    """The reader of a review page: whether they decide, what they decided last, and the message on
    the form that they sent."""

    decides: bool
    last: list[ReviewItem]
    message: str


def _reviewer(request: Request) -> Reviewer:
    user = user_of(request)
    decides = ROLES.index(user.role) >= ROLES.index("chair")
    last = decisions.last_decided(service_of(request), user.name) if decides else []
    message = request.query_params.get("said", "")
    return Reviewer(decides=decides, last=last, message=message if message in MESSAGES else "")


# ── one item ──────────────────────────────────────────────────────────────────────────────────────


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
    sent: DecisionForm | None = None,
) -> Response:
    service, chosen = service_of(request), query(request, QueueFilter)
    view = item_view(service, item, chosen)
    found, sought, not_found = _sought(request, service, item)
    extra = _extra(service, item, sent, {one.doc_id for one in view.candidates})
    whole_id = request.query_params.get("whole", "")
    return page(
        request,
        "review_item.html",
        status,
        words=WORDS,
        view=view,
        item=item,
        shown=decisions.fingerprint(item, view.note),
        act=secrets.token_hex(12),
        kept=kept_query(chosen),
        chosen=chosen,
        whole=whole_text(service, item, whole_id) if whole_id else None,
        found=found,
        extra=extra,
        sought=sought,
        not_found=not_found,
        complaint=complaint,
        sent=sent,
        reviewer=_reviewer(request),
    )


def _sought(
    request: Request, service: Service, item: ReviewItem
) -> tuple[list[Candidate], str, str]:
    """The documents that a search for more found, if the form was sent without a script."""
    words = request.query_params.get("q", "")
    try:
        return (search_more(service, item, words) if words else []), words, ""
    except InputError as error:
        return [], words, str(error)


def _extra(
    service: Service, item: ReviewItem, sent: DecisionForm | None, shown: set[str]
) -> list[Candidate]:
    """Documents that the chair had found and ticked before the form was refused."""
    ticked = (sent.documents or ()) if sent is not None else ()
    new = [id for id in ticked if id not in item.doc_ids and id not in shown]
    return [candidate_of(service, item, id) for id in new]


def decide(request: Request) -> Response:
    """Approve or reject an item. A refusal is shown above the form that was sent."""
    service, by, item_id = service_of(request), user_of(request).name, request.path_params["item"]
    chosen, sent = query(request, QueueFilter), _decision_form(form(request))
    try:
        match form(request).text("action"):
            case "approve":
                done = decisions.approve(service, item_id, sent, by=by)
            case "reject":
                done = decisions.reject(service, item_id, sent, by=by)
            case _:
                raise Refused("action")
        beside = neighbours(service, chosen, done.item)
    except AssayError as error:
        return _refused(request, item_id, sent, error)
    if done.unwritten:
        return _list(request, ListQuery(), status=503, complaint=done.unwritten)
    next_id = beside.next or beside.previous
    place = f"/review/{next_id}" if next_id else "/review"
    message = "already" if done.already else done.outcome
    return RedirectResponse(place + kept_query(chosen, said=message), status_code=303)


def _decision_form(values: Form) -> DecisionForm:
    grade, act = values.text("grade"), values.text("act")
    return DecisionForm(
        documents=values.texts("doc"),
        seen=values.texts("seen") if "seen" in values else None,
        row=values.text("row") if "row" in values else None,
        note=values.text("note"),
        reason=values.text("why"),
        grade=int(grade) if grade in tuple("0123456789") else None,
        act=act if ACT.fullmatch(act) else "",
    )


def _refused(request: Request, item_id: str, sent: DecisionForm, error: AssayError) -> Response:
    """The item with the form filled in as it was sent, so that nobody types twice."""
    complaint = _in_words(request, error)
    status = 404 if isinstance(error, NotHere) else 400 if isinstance(error, InputError) else 503
    try:
        item = find_item(service_of(request), item_id)
        if item is not None:
            return _item(request, item, status=status, complaint=complaint, sent=sent)
    except AssayError:  # the store is away: the page does without it
        status = 503
    return page(
        request,
        "refused.html",
        status,
        words=WORDS,
        complaint=complaint,
        item_id=item_id,
        action=form(request).text("action"),
        sent=sent,
        again=status == 503,
    )


def _in_words(request: Request, error: AssayError) -> str:
    if isinstance(error, Refused):
        return error.in_words_of(_words(request))
    return said(request, error)


def _words(request: Request) -> dict[str, str]:
    return page_words(language_for(request), *WORDS)


# ── many, and undo ────────────────────────────────────────────────────────────────────────────────


def bulk_page(request: Request) -> Response:
    return _bulk(request, query(request, BulkQuery))


def _bulk(request: Request, chosen: BulkQuery, outcome: BulkOutcome | None = None) -> Response:
    shown = decisions.preview(service_of(request), chosen, chosen.id)
    return page(
        request,
        "review_bulk.html",
        words=WORDS,
        preview=shown,
        chosen=chosen,
        kept=kept_query(chosen),
        outcome=outcome,
        refused=list(outcome.refused.values()) if outcome else [],
        complaint="",
        reviewer=_reviewer(request),
    )


def approve_many(request: Request) -> Response:
    """Approve the rows that are ticked, each with its fingerprint in the preview."""
    sent, chosen = form(request), query(request, BulkQuery)
    seen = dict(pair.rpartition(":")[::2] for pair in sent.texts("seen"))
    rows = [ApprovedRow(id=id, seen=seen.get(id, "")) for id in sent.texts("id")]
    try:
        outcome = decisions.approve_many(
            service_of(request), rows, by=user_of(request).name, reason=sent.text("why")
        )
    except Refused as error:
        listed = msgspec.convert(msgspec.structs.asdict(chosen), ListQuery)
        return _list(request, listed, status=400, complaint=_in_words(request, error))
    if outcome.refused:
        return _bulk(request, msgspec.structs.replace(chosen, id=list(outcome.refused)), outcome)
    if outcome.unwritten:
        return _list(request, ListQuery(), status=503, complaint=outcome.unwritten)
    message = "approved" if outcome.done else "already"
    return RedirectResponse("/review" + kept_query(chosen, said=message), status_code=303)


def undo(request: Request) -> Response:
    """Undo the decisions that the page showed."""
    service, chosen, sent = service_of(request), query(request, QueueFilter), form(request)
    ids = sent.texts("id")
    seen = {id: at for text in sent.texts("decided") for id, at in _decision(text)}
    outcome = decisions.undo(service, ids, by=user_of(request).name, seen=seen)
    if outcome.refused:
        complaint = "\n".join(dict.fromkeys(outcome.refused.values()))
        return _list(request, ListQuery(), status=400, complaint=complaint)
    if outcome.unwritten:
        return _list(request, ListQuery(), status=503, complaint=outcome.unwritten)
    place = f"/review/{ids[0]}" if len(ids) == 1 else "/review"
    message = "taken_back" if outcome.done else "waits_already"
    return RedirectResponse(place + kept_query(chosen, said=message), status_code=303)


def _decision(text: str) -> list[tuple[str, datetime]]:
    """An item and when it was decided, from the field of a form; empty if it is not one."""
    id, _, at = text.partition(" ")
    try:
        return [(id, datetime.fromisoformat(at))]
    except ValueError:
        return []


REVIEW_ROUTES = [
    Guarded("/review", list_page, ("GET",), "judge", "The review queue"),
    Guarded("/review/bulk", bulk_page, ("GET",), "chair", "What approving many would change"),
    Guarded("/review/bulk", approve_many, ("POST",), "chair", "Approve many rows"),
    Guarded("/review/undo", undo, ("POST",), "chair", "Undo decisions"),
    Guarded("/review/{item}", item_page, ("GET",), "judge", "One row or suggestion to decide on"),
    Guarded("/review/{item}", decide, ("POST",), "chair", "Approve or reject"),
]
