"""A document to add to those that are judged, found by searching."""

from __future__ import annotations

import msgspec

from assay.core.errors import InputError
from assay.core.types import Document
from assay.formats.gold_jsonl import locked
from assay.judging.pool import Pool, PooledPair, grown, read_pool, write_pool
from assay.workbench.desk import desk_of
from assay.workbench.opening import Service, gold_path
from assay.workbench.shelf import shelf_of


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
    shelf = shelf_of(desk, service.home)
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
    if shelf_of(desk, service.home).get(doc_id) is None:
        raise InputError(f"the corpus has no document {doc_id!r}")
    with locked(desk.dataset):
        pool = read_pool(desk.dataset) or Pool()
        known = next((each for each in pool.pairs if each.key == (query.id, doc_id)), None)
        judged = (
            bool(desk.votes.said.get((query.id, doc_id))) or (query.id, doc_id) in desk.labelled
        )
        dealt = (judge,) if pool.judges or judged else ()
        if known is None:
            new = PooledPair(query_id=query.id, doc_id=doc_id, judges=dealt, why="added by a judge")
            write_pool(desk.dataset, grown(pool, [new]))
        elif (known.judges or judged) and judge not in known.judges:
            more = msgspec.structs.replace(known, judges=(*known.judges, judge))
            pairs = tuple(more if each.key == known.key else each for each in pool.pairs)
            write_pool(desk.dataset, msgspec.structs.replace(pool, pairs=pairs))
    return Added(set=name, query_id=query.id, doc_id=doc_id, already=known is not None)
