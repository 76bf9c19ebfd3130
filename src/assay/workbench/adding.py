"""A document to add to those that are judged, found by searching."""

from __future__ import annotations

import msgspec

from assay.core.errors import NotHere
from assay.core.types import Document
from assay.gold.acts import ADD_DOCUMENT
from assay.gold.log import writing
from assay.judging.pool import Pool, PooledPair, pool_path, read_pool, write_pool
from assay.workbench.judging_session import open_session
from assay.workbench.making import with_pair
from assay.workbench.opening import Service, gold_path
from assay.workbench.outputs import or_undone
from assay.workbench.shelves import reader_of


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
    session = open_session(gold_path(service, name))
    session.query(query_id)
    shelf = reader_of(session.pool, session.dataset, service.home)
    if not words.strip():
        return []
    asked = {pair.doc_id for pair in session.asked.get(query_id, ())}
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
    session = open_session(gold_path(service, name))
    query = session.query(query_id)
    if reader_of(session.pool, session.dataset, service.home).get(doc_id) is None:
        raise NotHere(f"the corpus has no document {doc_id!r}")
    pair = PooledPair(query_id=query.id, doc_id=doc_id, why="added by a judge")
    with writing(session.dataset) as log:
        before = read_pool(session.dataset) or Pool()
        pool = with_pair(session.dataset, pair, judge=judge)
        already = pair.key in before.keys
        with or_undone(pool_path(session.dataset)):
            if pool != before:
                write_pool(session.dataset, pool)
            if not already:
                subject, at = {"query": query.id, "doc": doc_id}, service.clock()
                log.append([log.act(ADD_DOCUMENT, who=judge, kind="human", at=at, subject=subject)])
    return Added(set=name, query_id=query.id, doc_id=doc_id, already=already)
