"""The review queue as JSON calls: what its pages show and do, for other programs."""

from __future__ import annotations

from datetime import datetime

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import NotHere
from assay.web.access import Guarded, user_of
from assay.web.page_frame import body, json, query, service_of
from assay.workbench.review import decisions
from assay.workbench.review.decisions import (
    ApprovedRow,
    BulkOutcome,
    DecisionForm,
    ItemOutcome,
    Preview,
)
from assay.workbench.review.item import (
    Candidate,
    ItemView,
    WholeDocument,
    item_view,
    search_more,
    whole_text,
)
from assay.workbench.review.queue import Listing, QueueFilter, ReviewItem, find_item, listing


class ListQuery(QueueFilter, frozen=True, kw_only=True, omit_defaults=True):
    limit: int = 50
    offset: int = 0


class BulkQuery(QueueFilter, frozen=True, kw_only=True, omit_defaults=True):
    id: list[str] = []


class DocumentQuery(msgspec.Struct, frozen=True):
    doc_id: str


class SearchQuery(msgspec.Struct, frozen=True):
    q: str


class BulkBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rows of a preview, each with its fingerprint."""

    items: list[ApprovedRow]
    reason: str = ""


class UndoBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Items to undo; without any, what the caller decided last. `decided` has the `decided_at` of
    the decision that is meant, by item: a newer one is not undone. Of items that it does not name,
    callers undo their own decisions only."""

    ids: list[str] = []
    decided: dict[str, datetime] = {}


def _item_of(request: Request) -> ReviewItem:
    item = find_item(service_of(request), request.path_params["item"])
    if item is None:
        raise NotHere("no such item in the queue")
    return item


def _list(request: Request) -> Response:
    chosen = query(request, ListQuery)
    return json(listing(service_of(request), chosen, limit=chosen.limit, offset=chosen.offset))


def _item(request: Request) -> Response:
    chosen = query(request, QueueFilter)
    return json(item_view(service_of(request), _item_of(request), chosen))


def _document(request: Request) -> Response:
    doc_id = query(request, DocumentQuery).doc_id
    return json(whole_text(service_of(request), _item_of(request), doc_id))


def _search(request: Request) -> Response:
    words = query(request, SearchQuery).q
    return json(search_more(service_of(request), _item_of(request), words))


def _approve(request: Request) -> Response:
    form, item_id = body(request, DecisionForm), request.path_params["item"]
    return json(decisions.approve(service_of(request), item_id, form, by=user_of(request).name))


def _reject(request: Request) -> Response:
    form, item_id = body(request, DecisionForm), request.path_params["item"]
    return json(decisions.reject(service_of(request), item_id, form, by=user_of(request).name))


def _preview(request: Request) -> Response:
    chosen = query(request, BulkQuery)
    return json(decisions.preview(service_of(request), chosen, chosen.id))


def _approve_many(request: Request) -> Response:
    sent, by = body(request, BulkBody), user_of(request).name
    return json(decisions.approve_many(service_of(request), sent.items, by=by, reason=sent.reason))


def _undo(request: Request) -> Response:
    service, by = service_of(request), user_of(request).name
    sent = body(request, UndoBody)
    ids = sent.ids or [*sent.decided] or [item.id for item in decisions.last_decided(service, by)]
    return json(decisions.undo(service, ids, by=by, seen=sent.decided))


_ONE = "/api/review/{item}"

REVIEW_API_ROUTES = [
    Guarded(
        "/api/review", _list, ("GET",), "judge", "The review queue", query=ListQuery, answer=Listing
    ),
    Guarded(
        "/api/review/bulk",
        _preview,
        ("GET",),
        "chair",
        "What approving many rows would change",
        query=BulkQuery,
        answer=Preview,
    ),
    Guarded(
        "/api/review/bulk",
        _approve_many,
        ("POST",),
        "chair",
        "Approve rows as they were previewed",
        body=BulkBody,
        answer=BulkOutcome,
    ),
    Guarded(
        "/api/review/undo",
        _undo,
        ("POST",),
        "chair",
        "Undo decisions",
        body=UndoBody,
        answer=BulkOutcome,
    ),
    Guarded(
        _ONE,
        _item,
        ("GET",),
        "judge",
        "One item with everything to read",
        query=QueueFilter,
        answer=ItemView,
    ),
    Guarded(
        f"{_ONE}/document",
        _document,
        ("GET",),
        "judge",
        "A document in full",
        query=DocumentQuery,
        answer=WholeDocument,
    ),
    Guarded(
        f"{_ONE}/search",
        _search,
        ("GET",),
        "judge",
        "Documents to add",
        query=SearchQuery,
        answer=list[Candidate],
    ),
    Guarded(
        f"{_ONE}/approve",
        _approve,
        ("POST",),
        "chair",
        "Approve a row, or accept a suggestion",
        body=DecisionForm,
        answer=ItemOutcome,
    ),
    Guarded(
        f"{_ONE}/reject",
        _reject,
        ("POST",),
        "chair",
        "Reject an item, with a reason",
        body=DecisionForm,
        answer=ItemOutcome,
    ),
]
