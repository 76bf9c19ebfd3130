"""A document to add to those that are judged, found by searching."""

from __future__ import annotations

import msgspec

from assay.core.errors import NotHere
from assay.core.types import Document
from assay.judging.pool import (
    Pool,
    PooledPair,
    pool_content,
    pool_path,
    read_pool,
    write_pool,
)
from assay.review.identity import name_of
from assay.review.intents import change_of
from assay.review.rulings import locked_set
from assay.workbench.desk import desk_of
from assay.workbench.making import with_pair
from assay.workbench.opening import Service, gold_path
from assay.workbench.shelves import reader_of
from assay.workbench.trail import edit_file, to_note


class FoundToAdd(msgspec.Struct, frozen=True, kw_only=True):
    """A document that a search found: nothing of its rank or score."""

    doc_id: str
    title: str
    text: str
    is_asked: bool


class Added(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    query_id: str
    doc_id: str
    already: bool


def find_to_add(service: Service, name: str, query_id: str, words: str) -> list[FoundToAdd]:
    desk = desk_of(gold_path(service, name))
    desk.query(query_id)
    shelf = reader_of(desk.pool, desk.dataset, service.home)
    if not words.strip():
        return []
    asked = {pair.doc_id for pair in desk.asked.get(query_id, ())}
    found = (shelf.get(doc_id) for doc_id in shelf.search(words))
    return [
        FoundToAdd(
            doc_id=document.id,
            title=document.title,
            text=_opening(document),
            is_asked=document.id in asked,
        )
        for document in found
        if document is not None
    ]


def _opening(document: Document) -> str:
    parts = ("question", "question_synthetic", "conclusion", "summary")
    said = next((text for part in parts if (text := document.fields.get(part, "").strip())), "")
    return (said or document.text)[:300]


def add_to_pool(service: Service, name: str, query_id: str, doc_id: str, judge: str) -> Added:
    """Put a document among those that are judged, for the judge who found it. That it was put in
    by hand is not shown."""
    desk = desk_of(gold_path(service, name))
    query = desk.query(query_id)
    if reader_of(desk.pool, desk.dataset, service.home).get(doc_id) is None:
        raise NotHere(f"the corpus has no document {doc_id!r}")
    pair = PooledPair(query_id=query.id, doc_id=doc_id, why="added by a judge")
    with locked_set(service.store, desk.dataset):
        before = read_pool(desk.dataset) or Pool()
        pool = with_pair(desk.dataset, pair, judge=judge)
        already = pair.key in before.keys
        if already and pool != before:
            write_pool(desk.dataset, pool)
        if not already:
            subject = f"{name_of(service.store, desk.dataset)}/{query.id}"
            said = {"doc_id": doc_id}
            entry = to_note(service, judge, "gold.document_added", subject, after=said)
            change = change_of(pool_path(desk.dataset), pool_content(pool))
            edit_file(service, desk.dataset, [entry], change)
    return Added(set=name, query_id=query.id, doc_id=doc_id, already=already)
