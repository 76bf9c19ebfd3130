"""The review pages and their JSON calls: the queue, one item with everything to read, many rows at
once, and undo. A page and its call share a handler. Forms work without scripts; `review.js` adds
keys and keeps what is typed."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, InputError, NotHere
from assay.reports.words import page_words
from assay.web.access import GET, POST, AppRoute, Refusal, is_chair, page_and_call, user_of
from assay.web.page_frame import (
    Form,
    body,
    form,
    is_api,
    json,
    language_for,
    message_of,
    page,
    query,
    service_of,
    sight,
)
from assay.workbench.project.service import Service
from assay.workbench.review import decisions
from assay.workbench.review.decisions import (
    ActId,
    ApprovedRow,
    BulkOutcome,
    DecisionForm,
    ItemOutcome,
    Preview,
    ReviewRefusal,
)
from assay.workbench.review.item import (
    Candidate,
    ItemView,
    WholeDocument,
    candidate_of,
    item_view,
    search_more,
    whole_text,
)
from assay.workbench.review.queue import (
    QueueFilter,
    QueueListing,
    ReviewItem,
    find_item,
    listing,
    neighbours,
)

WORDS = ("review",)
ACT = re.compile(r"[A-Za-z0-9_-]{8,64}")
MESSAGES = ("approved", "rejected", "already", "taken_back", "waits_already")


class ListQuery(QueueFilter, frozen=True, kw_only=True, omit_defaults=True):
    limit: int = 50
    offset: int = 0


class BulkQuery(QueueFilter, frozen=True, kw_only=True, omit_defaults=True):
    id: list[str] = []


class ReviewDocumentQuery(msgspec.Struct, frozen=True):
    doc_id: str


class ReviewSearchQuery(msgspec.Struct, frozen=True):
    q: str


class BulkBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rows of a preview, each with its fingerprint."""

    items: list[ApprovedRow]
    reason: str = ""
    act: ActId = ""


class UndoBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Items to undo; without any, what the caller decided last. `decided` has the `decided_at` of
    the decision that is meant, by item: a newer one is not undone. Of items that it does not name,
    callers undo their own decisions only."""

    ids: list[str] = []
    decided: dict[str, datetime] = {}
    act: ActId = ""


# ── the list ──────────────────────────────────────────────────────────────────────────────────────


def list_items(request: Request) -> Response:
    return _list(request, query(request, ListQuery))


def _list(
    request: Request, chosen: ListQuery, *, status: int = 200, complaint: str = ""
) -> Response:
    if sight(request).blind:  # a suggestion has a grade
        chosen = msgspec.structs.replace(chosen, kind="gold_row")
    shown = listing(service_of(request), chosen, limit=chosen.limit, offset=chosen.offset)
    if is_api(request):
        return json(shown)
    return page(
        request,
        "review.html",
        status,
        listing=shown,
        chosen=chosen,
        kept=filter_query(chosen),
        complaint=complaint,
        narrowed=filter_query(chosen) != "",
        reviewer=_reviewer(request),
    )


def filter_query(queue_filter: QueueFilter, **more: str) -> str:
    """The filter that was chosen, as the query of an address."""
    plain = QueueFilter()
    values = [
        (name, value)
        for name in QueueFilter.__struct_fields__
        if (value := getattr(queue_filter, name)) != getattr(plain, name)
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
    decides = is_chair(request)
    last = decisions.last_decided(service_of(request), user.name) if decides else []
    message = request.query_params.get("said", "")
    return Reviewer(decides=decides, last=last, message=message if message in MESSAGES else "")


# ── one item ──────────────────────────────────────────────────────────────────────────────────────


def show_item(request: Request) -> Response:
    service = service_of(request)
    if is_api(request):
        return json(item_view(service, _item_of(request), query(request, QueueFilter)))
    item = _found_item(request)
    if item is None:
        gone = _words(request)["refused_gone"]
        return _list(request, ListQuery(), status=404, complaint=gone)
    return _item_page(request, item)


def _found_item(request: Request) -> ReviewItem | None:
    item = find_item(service_of(request), request.path_params["item"])
    if item is not None and item.kind == "judgment" and sight(request).blind:
        raise Refusal(403, "blind_grade")
    return item


def _item_of(request: Request) -> ReviewItem:
    item = _found_item(request)
    if item is None:
        raise NotHere("no such item in the queue")
    return item


def show_document(request: Request) -> Response:
    doc_id = query(request, ReviewDocumentQuery).doc_id
    return json(whole_text(service_of(request), _item_of(request), doc_id))


def search_documents(request: Request) -> Response:
    words = query(request, ReviewSearchQuery).q
    return json(search_more(service_of(request), _item_of(request), words))


def _item_page(
    request: Request,
    item: ReviewItem,
    *,
    status: int = 200,
    complaint: str = "",
    form: DecisionForm | None = None,
) -> Response:
    service, chosen = service_of(request), query(request, QueueFilter)
    view = item_view(service, item, chosen)
    found, sought, not_found = _found_without_script(request, service, item)
    extra = _ticked_documents(
        service, item, form, {candidate.doc_id for candidate in view.candidates}
    )
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
        kept=filter_query(chosen),
        chosen=chosen,
        whole=whole_text(service, item, whole_id) if whole_id else None,
        found=found,
        extra=extra,
        sought=sought,
        not_found=not_found,
        complaint=complaint,
        sent=form,
        reviewer=_reviewer(request),
    )


def _found_without_script(
    request: Request, service: Service, item: ReviewItem
) -> tuple[list[Candidate], str, str]:
    """The documents that a search for more found, if the form was sent without a script."""
    words = request.query_params.get("q", "")
    try:
        return (search_more(service, item, words) if words else []), words, ""
    except InputError as error:
        return [], words, str(error)


def _ticked_documents(
    service: Service, item: ReviewItem, form: DecisionForm | None, shown_ids: set[str]
) -> list[Candidate]:
    """Documents that the chair had found and ticked before the form was refused."""
    ticked = (form.documents or ()) if form is not None else ()
    new = [id for id in ticked if id not in item.doc_ids and id not in shown_ids]
    return [candidate_of(service, item, id) for id in new]


def decide(request: Request) -> Response:
    """Approve or reject an item. The page shows a refusal above the form that was sent."""
    service, by, item_id = service_of(request), user_of(request).name, request.path_params["item"]
    if is_api(request):
        action, sent = request.url.path.rpartition("/")[2], body(request, DecisionForm)
        return json(_decide(service, item_id, action, sent, by))
    fields, chosen = form(request), query(request, QueueFilter)
    sent = _decision_form(fields)
    try:
        outcome = _decide(service, item_id, fields.text("action"), sent, by)
        beside = neighbours(service, chosen, outcome.item)
    except AssayError as error:
        return _refused(request, item_id, sent, error)
    if outcome.unwritten:
        return _list(request, ListQuery(), status=503, complaint=outcome.unwritten)
    next_id = beside.next or beside.previous
    place = f"/review/{next_id}" if next_id else "/review"
    message = "already" if outcome.already else outcome.outcome
    return RedirectResponse(place + filter_query(chosen, said=message), status_code=303)


def _decide(
    service: Service, item_id: str, action: str, form: DecisionForm, by: str
) -> ItemOutcome:
    match action:
        case "approve":
            return decisions.approve(service, item_id, form, by=by)
        case "reject":
            return decisions.reject(service, item_id, form, by=by)
        case _:
            raise ReviewRefusal("action")


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
    complaint = _refusal_words(request, error)
    status = 404 if isinstance(error, NotHere) else 400 if isinstance(error, InputError) else 503
    try:
        item = find_item(service_of(request), item_id)
        if item is not None:
            return _item_page(request, item, status=status, complaint=complaint, form=sent)
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


def _refusal_words(request: Request, error: AssayError) -> str:
    if isinstance(error, ReviewRefusal):
        return error.in_words_of(_words(request))
    return message_of(request, error)


def _words(request: Request) -> dict[str, str]:
    return page_words(language_for(request), *WORDS)


# ── many, and undo ────────────────────────────────────────────────────────────────────────────────


def preview_many(request: Request) -> Response:
    return _preview(request, query(request, BulkQuery))


def _preview(request: Request, chosen: BulkQuery, outcome: BulkOutcome | None = None) -> Response:
    shown = decisions.preview(service_of(request), chosen, chosen.id)
    if is_api(request):
        return json(shown)
    return page(
        request,
        "review_bulk.html",
        words=WORDS,
        preview=shown,
        chosen=chosen,
        kept=filter_query(chosen),
        outcome=outcome,
        act=secrets.token_hex(12),
        refused=list(outcome.refused.values()) if outcome else [],
        complaint="",
        reviewer=_reviewer(request),
    )


def approve_many(request: Request) -> Response:
    """Approve rows as they were previewed: each is sent with its fingerprint in the preview."""
    called = is_api(request)
    sent = body(request, BulkBody) if called else _bulk_form(form(request))
    chosen = BulkQuery() if called else query(request, BulkQuery)
    by = user_of(request).name
    try:
        outcome = decisions.approve_many(
            service_of(request), sent.items, by=by, reason=sent.reason, act=sent.act
        )
    except ReviewRefusal as error:
        if called:
            raise
        listed = msgspec.convert(msgspec.structs.asdict(chosen), thread_safe(ListQuery))
        return _list(request, listed, status=400, complaint=_refusal_words(request, error))
    if called:
        return json(outcome)
    if outcome.refused:
        left = msgspec.structs.replace(chosen, id=list(outcome.refused))
        return _preview(request, left, outcome)
    if outcome.unwritten:
        return _list(request, ListQuery(), status=503, complaint=outcome.unwritten)
    message = "approved" if outcome.done else "already"
    return RedirectResponse("/review" + filter_query(chosen, said=message), status_code=303)


def _bulk_form(values: Form) -> BulkBody:
    seen = dict(pair.rpartition(":")[::2] for pair in values.texts("seen"))
    rows = [ApprovedRow(id=id, seen=seen.get(id, "")) for id in values.texts("id")]
    act = values.text("act")
    return BulkBody(items=rows, reason=values.text("why"), act=act if ACT.fullmatch(act) else "")


def undo(request: Request) -> Response:
    """Undo decisions: those that the page showed, or those that a call names; a call that names
    none undoes the caller's last."""
    service, by, called = service_of(request), user_of(request).name, is_api(request)
    sent = body(request, UndoBody) if called else _undo_form(form(request))
    chosen = QueueFilter() if called else query(request, QueueFilter)
    ids = sent.ids
    if called and not ids:
        found = decisions.undone_by(service, sent.act) or decisions.last_decided(service, by)
        ids = [*sent.decided] or [item.id for item in found]
    outcome = decisions.undo(service, ids, by=by, seen_times=sent.decided, act=sent.act)
    if called:
        return json(outcome)
    if outcome.refused:
        complaint = "\n".join(dict.fromkeys(outcome.refused.values()))
        return _list(request, ListQuery(), status=400, complaint=complaint)
    if outcome.unwritten:
        return _list(request, ListQuery(), status=503, complaint=outcome.unwritten)
    place = f"/review/{ids[0]}" if len(ids) == 1 else "/review"
    message = "taken_back" if outcome.done else "waits_already"
    return RedirectResponse(place + filter_query(chosen, said=message), status_code=303)


def _undo_form(values: Form) -> UndoBody:
    decided = {id: at for text in values.texts("decided") for id, at in _decision(text)}
    return UndoBody(ids=[*values.texts("id")], decided=decided)


def _decision(text: str) -> list[tuple[str, datetime]]:
    """An item and when it was decided, from the field of a form; empty if it is not one."""
    id, _, at = text.partition(" ")
    try:
        return [(id, datetime.fromisoformat(at))]
    except ValueError:
        return []


REVIEW_ROUTES = [
    *page_and_call(
        "/review",
        list_items,
        GET,
        "judge",
        "The review queue",
        answer=QueueListing,
        query=ListQuery,
    ),
    *page_and_call(
        "/review/bulk",
        preview_many,
        GET,
        "chair",
        "What approving many rows would change",
        answer=Preview,
        query=BulkQuery,
    ),
    *page_and_call(
        "/review/bulk",
        approve_many,
        POST,
        "chair",
        "Approve rows as they were previewed",
        BulkBody,
        BulkOutcome,
    ),
    *page_and_call("/review/undo", undo, POST, "chair", "Undo decisions", UndoBody, BulkOutcome),
    *page_and_call(
        "/review/{item}",
        show_item,
        GET,
        "judge",
        "One item with everything to read",
        answer=ItemView,
        query=QueueFilter,
    ),
    AppRoute("/review/{item}", decide, POST, "chair", "Approve or reject"),
    AppRoute(
        "/api/review/{item}/approve",
        decide,
        POST,
        "chair",
        "Approve a row, or accept a suggestion",
        DecisionForm,
        ItemOutcome,
    ),
    AppRoute(
        "/api/review/{item}/reject",
        decide,
        POST,
        "chair",
        "Reject an item, with a reason",
        DecisionForm,
        ItemOutcome,
    ),
    AppRoute(
        "/api/review/{item}/document",
        show_document,
        GET,
        "judge",
        "A document in full",
        answer=WholeDocument,
        query=ReviewDocumentQuery,
    ),
    AppRoute(
        "/api/review/{item}/search",
        search_documents,
        GET,
        "judge",
        "Documents to add",
        answer=list[Candidate],
        query=ReviewSearchQuery,
    ),
]
