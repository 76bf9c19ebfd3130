"""Edits of a gold set on its page: documents to judge, new queries, and issues of the taxonomy. The
log records who changed what."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.errors import NotHere
from assay.core.files import write_atomic
from assay.core.types import Document, Issue, Query
from assay.gold.acts import ADD_DOCUMENT, ADD_QUERY, EDIT_ISSUE
from assay.gold.files import digest_of
from assay.gold.log import Log, writing
from assay.gold.projection import state_of_file
from assay.judging.pool import Pool, PooledPair, pool_path, read_pool, write_pool
from assay.workbench.judging import new_sets
from assay.workbench.judging.new_sets import ChangedSet as ChangedSet
from assay.workbench.judging.new_sets import with_pair
from assay.workbench.judging.session import open_session
from assay.workbench.project.output_files import or_undone
from assay.workbench.project.service import Service, gold_path
from assay.workbench.searching.open_corpora import reader_of

# ── documents to judge ────────────────────────────────────────────────────────────────────────────


class FoundToAdd(msgspec.Struct, frozen=True, kw_only=True):
    """A document that a search found: nothing of its rank or score."""

    doc_id: str
    title: str
    text: str
    is_asked: bool


class AddedDocument(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    query_id: str
    doc_id: str
    already: bool


def find_to_add(service: Service, name: str, query_id: str, words: str) -> list[FoundToAdd]:
    session = open_session(gold_path(service, name))
    session.query(query_id)
    opened = reader_of(session.pool, session.dataset, service.home)
    if not words.strip():
        return []
    asked = {pair.doc_id for pair in session.asked.get(query_id, ())}
    found = (opened.get(doc_id) for doc_id in opened.search(words))
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


def add_to_pool(
    service: Service, name: str, query_id: str, doc_id: str, judge: str
) -> AddedDocument:
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
    return AddedDocument(set=name, query_id=query.id, doc_id=doc_id, already=already)


# ── queries and issues ────────────────────────────────────────────────────────────────────────────


SHOWN = 200  # characters of a query in the audit trail


class NewQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query to add to a set."""

    set: str
    text: str
    type: str = ""
    topic: str = ""
    issue: str = ""


class EditedIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue of the taxonomy, as the page sends it."""

    set: str
    topic: str
    id: str
    name: str
    description: str
    key_statutes: str = ""  # separated by commas or line ends


def add_query(service: Service, given: NewQuery, *, by: str) -> ChangedSet:
    dataset = gold_path(service, given.set)
    new = Query(id="", text=given.text, type=given.type, topic=given.topic, issue=given.issue)
    with writing(dataset) as log:
        made, content = new_sets.with_queries(dataset, [(given.set, new)])
        _edit(
            service,
            log,
            ADD_QUERY,
            content,
            by=by,
            subject={"query": ", ".join(made.added)},
            more={"after": {"text": given.text.strip()[:SHOWN]}},
        )
    return made


def edit_issue(service: Service, given: EditedIssue, *, by: str) -> Issue:
    dataset = gold_path(service, given.set)
    statutes = given.key_statutes.replace("\n", ",").split(",")
    with writing(dataset) as log:
        before, after, content = new_sets.with_issue(
            dataset,
            given.topic,
            given.id.strip(),
            name=given.name.strip(),
            description=given.description.strip(),
            key_statutes=tuple(text.strip() for text in statutes if text.strip()),
        )
        if after != before:
            more = {"before": msgspec.to_builtins(before), "after": msgspec.to_builtins(after)}
            subject = {"topic": given.topic, "issue": after.id}
            _edit(service, log, EDIT_ISSUE, content, by=by, subject=subject, more=more)
    return after


def _edit(service: Service, log: Log, action: str, content: bytes, *, by: str, **more: Any) -> None:
    """Write the gold file, then record in the log who changed it. Queries and taxonomy live in the
    file alone: after a crash in between, the edit is there without its record."""
    # the digest claims that the log knows every label of the file: not while one is edited by hand
    file = digest_of(content) if not state_of_file(log.dataset) else ""
    with or_undone(log.dataset):
        write_atomic(log.dataset, content)
        log.append([log.act(action, who=by, at=service.clock(), file=file, **more)])
