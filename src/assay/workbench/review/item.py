"""One item of the review queue with everything to read: the documents of the row, the evidence for
each, other documents that searches showed, and a search for more."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import InputError, NotHere
from assay.core.types import MAX_PAGE, Document
from assay.corpus.disk import Corpus, list_corpora, open_corpus
from assay.formats import gold_jsonl, read_gold
from assay.gold.rows import has_rows
from assay.judging import rubrics
from assay.judging.passages import WORD, passages
from assay.judging.votes import READ_FIELDS
from assay.law.queries import row_key
from assay.review.queue import ReviewItem
from assay.store.records import Feedback
from assay.telemetry.records import signs_for
from assay.workbench.project.service import Service, gold_path
from assay.workbench.review.queue import Neighbours, QueueFilter, filter_items, neighbours
from assay.workbench.searching import search as searching

TOP_GRADE = 4  # of sets whose format does not say; a usual scale
# How much one page shows; taste.
SHOWN_DECISIONS = 5
MOST_CANDIDATES = 12
MOST_FOUND = 10
MAX_TEXT = 400_000  # characters of a document that are shown

MarkedText = tuple[str, bool]  # a stretch of text, and whether it is a word of the query


class NamedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A named part of a document; `made` where it is a summary, not the document's own words."""

    name: str
    made: bool
    pieces: list[MarkedText]


class ReviewDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a document that a chair reads first: question and conclusion if it has them, the
    best passages, and the evidence for it. If no corpus here has the document, `corpus` is empty,
    and there is only the evidence."""

    doc_id: str
    title: str = ""
    corpus: str = ""
    language: str = ""
    date: str = ""
    parts: list[NamedPart] = []
    passages: list[list[MarkedText]] = []
    words: int = 0  # of the whole text
    decisions: list[Feedback] = []
    other_cases: list[str] = []  # the decisions of another case than the search was made for
    kinds: list[str] = []  # of evidence


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is not in the row: searches for the query showed it, or the chair's own
    search found it."""

    doc_id: str
    title: str
    snippet: list[MarkedText]
    corpus: str = ""
    searches: int = 0  # that showed it
    kinds: list[str] = []  # of evidence


class WholeDocument(msgspec.Struct, frozen=True, kw_only=True):
    doc_id: str
    title: str
    language: str
    paragraphs: list[list[MarkedText]]


class GradeChoice(msgspec.Struct, frozen=True, kw_only=True):
    value: int
    label: str  # of the set's rubric; empty where it names none


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
    """An item with everything to read. `corpus` is the one to search for more documents, empty if
    none is here. `changes` says whether approving changes the gold file at once. `lost`: the row or
    the set is not here."""

    item: ReviewItem
    around: Neighbours
    total: int
    documents: list[ReviewDocument]
    candidates: list[Candidate]
    corpus: str
    note: str
    grades: list[GradeChoice]
    changes: bool
    lost: bool


def item_view(service: Service, item: ReviewItem, queue_filter: QueueFilter) -> ItemView:
    """An item with everything to read, and its place among those that pass the filter."""
    in_set = _row_details(service, item)
    return ItemView(
        item=item,
        around=neighbours(service, queue_filter, item),
        total=len(filter_items(service, queue_filter)),
        documents=[reading(service, item, doc_id) for doc_id in item.doc_ids],
        candidates=candidates(service, item) if item.kind == "gold_row" else [],
        corpus=corpus_to_search(service, item),
        note=in_set.note,
        grades=in_set.grades,
        changes=in_set.changes,
        lost=in_set.lost and item.state == "pending_review",
    )


def note_of(service: Service, item: ReviewItem) -> str:
    """The note of the row, as the file has it now."""
    return _row_details(service, item).note


def top_grade(service: Service, item: ReviewItem) -> int:
    """The highest grade on the scale of the item's gold set."""
    return read_gold(gold_path(service, item.gold)).top_grade or TOP_GRADE


class _RowDetails(msgspec.Struct, frozen=True, kw_only=True):
    """An item as the file of its gold set has it."""

    note: str = ""
    grades: list[GradeChoice] = []
    changes: bool = True
    lost: bool = False


def _row_details(service: Service, item: ReviewItem) -> _RowDetails:
    try:
        path = gold_path(service, item.gold)
        if item.kind == "judgment":
            gold = read_gold(path)
            query = next((query for query in gold.queries if query.id == item.ref), None)
            grades = _grades(gold.top_grade or TOP_GRADE, gold.rubric, path)
            note = query.notes if query is not None else ""
            return _RowDetails(note=note, grades=grades, changes=has_rows(path), lost=query is None)
        row = gold_jsonl.find_row(path, item.ref)
        return _RowDetails(note=row.note if row else "", changes=has_rows(path), lost=row is None)
    except (InputError, OSError):  # the item can be skipped or rejected
        return _RowDetails(lost=True)


def _grades(top: int, rubric: str, path: Path) -> list[GradeChoice]:
    rules = rubrics.find(rubric, beside=path).grades if rubric else ()
    labels = {grade.value: grade.label for grade in rules}
    return [GradeChoice(value=value, label=labels.get(value, "")) for value in range(top, -1, -1)]


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def reading(service: Service, item: ReviewItem, doc_id: str) -> ReviewDocument:
    """A document of an item to read, with the evidence for it."""
    key = item.key if item.kind == "gold_row" else ""
    signs = signs_for(service.store, item.query, doc_id, MAX_PAGE, key=key)
    decided = {sign.decision_id: sign for sign in signs if sign.decision_id}
    read = _read_document(item.query, item.corpus, doc_id, service)
    shown = list(decided.values())[:SHOWN_DECISIONS]
    others = service.store.of_other_cases(doc_id, [sign.log_id for sign in shown])
    return msgspec.structs.replace(
        read,
        decisions=shown,
        other_cases=[sign.decision_id for sign in shown if sign.log_id in others],
        kinds=sorted({sign.kind for sign in signs}),
    )


def whole_text(service: Service, item: ReviewItem, doc_id: str) -> WholeDocument:
    """A document of the row, or any of a corpus here, in full, with the query's words marked."""
    found = find_document(service, item.corpus, doc_id)
    if found is None:
        raise NotHere(f"no document {doc_id!r} in a corpus here")
    _, document = found
    words = frozenset(passages(item.query, document).words)
    texts = [text.strip() for text in document.text[:MAX_TEXT].split("\n\n")]
    return WholeDocument(
        doc_id=doc_id,
        title=document.title,
        language=document.language,
        paragraphs=[marked(text, words) for text in texts if text],
    )


class CorpusState(NamedTuple):
    """A corpus as it is now: after another import it has another fingerprint."""

    home: Path
    name: str
    fingerprint: str


def find_document(
    service: Service, corpus: str, doc_id: str
) -> tuple[CorpusState, Document] | None:
    """A document and its corpus: the one of that name, else any that has the document."""
    known = list_corpora(service.home)
    for name in [corpus] if corpus in known else known:
        opened = open_corpus(service.home, name)
        place = CorpusState(opened.path.parent.parent, name, opened.fingerprint)
        document = _document(place, doc_id)
        if document is not None:
            return place, document
    return None


@lru_cache(maxsize=16)
def _open_corpus_at(place: CorpusState) -> Corpus:
    """A corpus that stays open, with what it has read of its index."""
    return open_corpus(place.home, place.name)


@lru_cache(maxsize=1024)
def _document(place: CorpusState, doc_id: str) -> Document | None:
    opened = _open_corpus_at(place)
    return opened.get(doc_id) if doc_id in opened else None


def _read_document(query: str, corpus: str, doc_id: str, service: Service) -> ReviewDocument:
    found = find_document(service, corpus, doc_id)
    return _read_at(query, found[0], doc_id) if found is not None else ReviewDocument(doc_id=doc_id)


@lru_cache(maxsize=1024)
def _read_at(query: str, place: CorpusState, doc_id: str) -> ReviewDocument:
    document = _document(place, doc_id)
    assert document is not None
    parts = [part for name in READ_FIELDS if (part := _field_to_read(document, name)) is not None]
    found = passages(query, document, shown_texts=tuple(text for _, _, text in parts))
    words = frozenset(found.words)
    return ReviewDocument(
        doc_id=document.id,
        title=document.title,
        corpus=place.name,
        language=document.language,
        date=str(document.metadata.get("date") or document.metadata.get("year") or ""),
        parts=[
            NamedPart(name=name, made=made, pieces=marked(text, words))
            for name, made, text in parts
        ],
        passages=[marked(text, words) for text in found.texts],
        words=len(document.text.split()),
    )


def _field_to_read(document: Document, name: str) -> tuple[str, bool, str] | None:
    own = document.fields.get(name, "").strip()
    made = document.fields.get(READ_FIELDS[name], "").strip()
    return (name, not own, own or made) if own or made else None


def marked(text: str, words: frozenset[str]) -> list[MarkedText]:
    """The text in pieces, with the words of the query marked."""
    pieces: list[MarkedText] = []
    end = 0
    for found in WORD.finditer(text):
        if found.group().lower() in words:
            if found.start() > end:
                pieces.append((text[end : found.start()], False))
            pieces.append((found.group(), True))
            end = found.end()
    return [*pieces, (text[end:], False)] if end < len(text) else pieces


# ── more documents ────────────────────────────────────────────────────────────────────────────────


def candidates(service: Service, item: ReviewItem) -> list[Candidate]:
    """Documents that searches for the query showed and that are not in the row: first those with
    evidence, then those that were shown most."""
    spellings = _spellings(service, item)
    shown: dict[str, int] = {}
    for (query, corpus, doc_id), n in service.store.showings(spellings).items():
        if doc_id not in item.doc_ids and row_key(query, corpus) == item.key:
            shown[doc_id] = shown.get(doc_id, 0) + n
    kinds: dict[str, set[str]] = {}
    for spelling in spellings:
        for sign in service.store.feedback(query=spelling):
            if sign.doc_id in shown and sign.relevance_score:
                kinds.setdefault(sign.doc_id, set()).add(sign.kind)
    best = sorted(shown, key=lambda doc: (-len(kinds.get(doc, ())), -shown[doc], doc))
    return [
        candidate_of(service, item, doc_id, searches=shown[doc_id], kinds=kinds.get(doc_id, ()))
        for doc_id in best[:MOST_CANDIDATES]
    ]


def _spellings(service: Service, item: ReviewItem) -> list[str]:
    """The query as the row has it, and as it was typed where a document of the row was found."""
    logs = [
        sign.log_id for doc_id in item.doc_ids for sign in service.store.feedback(doc_id=doc_id)
    ]
    typed = {
        search.query
        for search in service.store.searches(list(dict.fromkeys(logs))[:MAX_PAGE])
        if row_key(search.query, search.corpus) == item.key
    }
    return sorted({item.query, *typed})


def candidate_of(
    service: Service,
    item: ReviewItem,
    doc_id: str,
    *,
    searches: int = 0,
    kinds: Collection[str] = (),
) -> Candidate:
    read = _read_document(item.query, item.corpus, doc_id, service)
    own = [part.pieces for part in read.parts]
    first = next(iter([*own, *read.passages]), [])
    return Candidate(
        doc_id=doc_id,
        title=read.title,
        snippet=first,
        corpus=read.corpus,
        searches=searches,
        kinds=sorted(kinds),
    )


def corpus_to_search(service: Service, item: ReviewItem) -> str:
    """The corpus of the row, or the one that its documents are in; empty where neither is here."""
    known = list_corpora(service.home)
    if item.corpus in known:
        return item.corpus
    for doc_id in item.doc_ids:
        found = find_document(service, item.corpus, doc_id)
        if found is not None:
            return found[0].name
    return ""


def search_more(service: Service, item: ReviewItem, words: str) -> list[Candidate]:
    """Documents from the corpus of the row that can be added to it."""
    corpus = corpus_to_search(service, item)
    if not corpus:
        raise InputError(
            f"the corpus {item.corpus!r} is not here" if item.corpus else "no corpus is here",
            hint="Import it with `assay corpus import`, then search again.",
        )
    if not words.strip():
        return []
    found = searching.found_ids(service, corpus, words, MOST_FOUND + len(item.doc_ids))
    new = [doc_id for doc_id in found if doc_id not in item.doc_ids]
    return [candidate_of(service, item, doc_id) for doc_id in new[:MOST_FOUND]]
