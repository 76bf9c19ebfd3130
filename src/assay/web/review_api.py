"""The chair's gate as calls: what its pages show and do, for other programs."""

from __future__ import annotations

from datetime import datetime

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import NotHere
from assay.web.access import Guarded, user_of
from assay.web.shell import body, json, query, service_of
from assay.workbench import review_word
from assay.workbench.review import ReviewItem
from assay.workbench.review_item import (
    Candidate,
    ItemView,
    Whole,
    item_view,
    search_more,
    whole_text,
)
from assay.workbench.review_preview import Preview, preview
from assay.workbench.review_queue import Asked, Listing, find_item, listing
from assay.workbench.review_word import Bulk, Decided, Pick, Said


class ListQuery(Asked, frozen=True, kw_only=True, omit_defaults=True):
    limit: int = 50
    offset: int = 0


class BulkQuery(Asked, frozen=True, kw_only=True, omit_defaults=True):
    id: list[str] = []


class DocumentQuery(msgspec.Struct, frozen=True):
    doc_id: str


class SearchQuery(msgspec.Struct, frozen=True):
    q: str


class BulkBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rows of a preview, each with what it was when it was shown."""

    items: list[Pick]
    reason: str = ""


class UndoBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Items to take back; without any, what the caller decided last. `decided` says of an item
    which decision is meant, by its `decided_at`: where a newer one stands, nothing is taken back.
    Of items that it does not name, callers take back their own decisions alone."""

    ids: list[str] = []
    decided: dict[str, datetime] = {}


def item_asked(request: Request) -> ReviewItem:
    """The item that the address names."""
    item = find_item(service_of(request), request.path_params["item"])
    if item is None:
        raise NotHere("no such item in the queue")
    return item


def _list(request: Request) -> Response:
    asked = query(request, ListQuery)
    return json(listing(service_of(request), asked, limit=asked.limit, offset=asked.offset))


def _item(request: Request) -> Response:
    asked = query(request, Asked)
    return json(item_view(service_of(request), item_asked(request), asked))


def _document(request: Request) -> Response:
    doc_id = query(request, DocumentQuery).doc_id
    return json(whole_text(service_of(request), item_asked(request), doc_id))


def _search(request: Request) -> Response:
    return json(
        search_more(service_of(request), item_asked(request), query(request, SearchQuery).q)
    )


def _approve(request: Request) -> Response:
    said = body(request, Said)
    item = request.path_params["item"]
    return json(review_word.approve(service_of(request), item, said, by=user_of(request).name))


def _reject(request: Request) -> Response:
    said = body(request, Said)
    item = request.path_params["item"]
    return json(review_word.reject(service_of(request), item, said, by=user_of(request).name))


def _preview(request: Request) -> Response:
    asked = query(request, BulkQuery)
    return json(preview(service_of(request), asked, asked.id))


def _approve_many(request: Request) -> Response:
    sent, by = body(request, BulkBody), user_of(request).name
    return json(
        review_word.approve_many(service_of(request), sent.items, by=by, reason=sent.reason)
    )


def _take_back(request: Request) -> Response:
    service, by = service_of(request), user_of(request).name
    sent = body(request, UndoBody)
    ids = sent.ids or [*sent.decided] or [item.id for item in review_word.last_step(service, by)]
    return json(review_word.take_back(service, ids, by=by, seen=sent.decided))


_ONE = "/api/review/{item}"

REVIEW_API_ROUTES = [
    Guarded(
        "/api/review",
        _list,
        ("GET",),
        "judge",
        "What waits for the chair",
        query=ListQuery,
        answer=Listing,
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
        answer=Bulk,
    ),
    Guarded(
        "/api/review/undo",
        _take_back,
        ("POST",),
        "chair",
        "Take decisions back",
        body=UndoBody,
        answer=Bulk,
    ),
    Guarded(
        _ONE,
        _item,
        ("GET",),
        "judge",
        "One item with all there is to read",
        query=Asked,
        answer=ItemView,
    ),
    Guarded(
        f"{_ONE}/document",
        _document,
        ("GET",),
        "judge",
        "A document in full",
        query=DocumentQuery,
        answer=Whole,
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
        "Approve a row, or settle a suggestion",
        body=Said,
        answer=Decided,
    ),
    Guarded(
        f"{_ONE}/reject",
        _reject,
        ("POST",),
        "chair",
        "Turn an item down, with a reason",
        body=Said,
        answer=Decided,
    ),
]
