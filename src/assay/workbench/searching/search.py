"""The search page: results with question, answer, statutes and the reasons for each, and the
filters to choose from. Agents and the API read the same values."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal

import msgspec
import numpy as np

from assay.core.errors import InputError
from assay.core.errors import NotHere as NotHere
from assay.core.types import Document, Hit, page_of, page_size
from assay.corpus.disk import list_corpora
from assay.corpus.letters import readable_part
from assay.language.detect import detect
from assay.law.versions import ACT_ALONE, with_status_mark
from assay.law.versions import IN_FORCE as IN_FORCE
from assay.reports.wording import words_note
from assay.search.answers import (
    ANSWERS,
    QUESTIONS,
    Reason,
    cut_at_word,
    found_documents,
    is_weak,
    note_of,
    reasons,
    words_nowhere,
)
from assay.search.answers import FoundDocument as FoundDocument
from assay.search.snippets import ROOM
from assay.search.why import Why, less_likely
from assay.workbench.project.service import Service
from assay.workbench.searching import filters as filtering
from assay.workbench.searching.corpora import CorpusRow, corpus_named, corpus_rows
from assay.workbench.searching.filters import (
    NO_FILTERS,
    Choices,
    Columns,
    NothingPasses,
    Numbers,
    choices,
)
from assay.workbench.searching.filters import Filters as Filters
from assay.workbench.searching.open_corpora import OpenCorpus, open_cached

# ── results of a search ───────────────────────────────────────────────────────────────────────────


PAGE = 10  # results on a page; taste
DEEPEST = 200  # results of a search, which the choices are counted over; taste
LIKELY_FROM = 0.5  # from this score on, a document probably answers; even odds
MANY = PAGE  # results that seem to answer, from which on nobody believes it; taste
MOST_STATUTES = 6  # statutes shown with a result; taste
SHOWN_CHARACTERS = ROOM + 4  # characters of a question or an answer, with what says that it goes on
MOST_QUERY = 4_000  # characters of a question that an address carries; chosen

State = Literal[
    "start",
    "found",
    "refused",
    "nothing",
    "no_content",
    "filtered",
    "listed",
    "unindexed",
    "bare",
]


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A search by a person. Pages are counted from 1."""

    corpus: str = ""
    query: str = ""
    filters: Filters = NO_FILTERS
    page: int = 1


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One document found. `passage` is where most of the asked words stand; `question` and
    `answer` are the document's own, or empty. `words` are those to mark."""

    rank: int
    doc_id: str
    title: str
    language: str
    question: str = ""
    answer: str = ""
    answers: str = ""  # a question like the one asked that it is known to answer
    passage: str = ""
    words: tuple[str, ...] = ()
    statutes: tuple[str, ...] = ()
    topic: str = ""
    date: str = ""
    by: str = ""  # who wrote it
    status: str = ""  # of a provision: in force, repealed, superseded, …
    score: float | None = None
    reasons: tuple[Reason, ...] = ()
    why: Why = Why()  # what found it
    less_likely: bool = False  # to answer than those before it
    cites: int = 0
    cited_by: int = 0


class ResultPage(msgspec.Struct, frozen=True, kw_only=True):
    """`state` says what to tell the reader: nothing asked yet (start), results (found), nothing
    answers and these are the nearest (refused), nothing at all (nothing), no word to search for
    (no_content), the filters leave nothing (filtered), filters without a question (listed), no
    index yet (unindexed), no corpus at all (bare)."""

    asked: SearchRequest
    state: State
    results: tuple[Result, ...] = ()
    pages: int = 0
    total: int = 0  # results in all pages
    likely: int = 0  # of them probably answer
    choices: Choices = Choices()
    by_words: bool = False  # vectors are still missing, so that words alone decide
    is_older: bool = False  # the index was built by an older version
    millis: float = 0.0
    missing: tuple[str, ...] = ()  # towns that are asked for and have no report
    here: tuple[str, ...] = ()  # those that have one
    calibrated: bool = False  # whether scores were fitted to this corpus
    unknown: tuple[str, ...] = ()  # words of the question that no document has
    corrected: dict[str, str] = {}  # words of it that were read as another

    @property
    def are_many(self) -> bool:
        """Nobody believes that so many answer: in reports the rows of one table look alike."""
        return self.likely > MANY


class Similar(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is like another."""

    doc_id: str
    title: str
    date: str = ""
    score: float | None = None


# ── corpora ───────────────────────────────────────────────────────────────────────────────────────


def corpus_for(service: Service, corpus: str) -> OpenCorpus:
    """A corpus of the workspace by its name: a page or an agent opens no files."""
    known = list_corpora(service.home)
    if corpus not in known:
        raise NotHere(f"no corpus {corpus!r}", hint=f"Known: {', '.join(known) or 'none yet'}.")
    return open_cached(corpus, home=service.home, say=service.say)


# ── results ───────────────────────────────────────────────────────────────────────────────────────


def search_page(service: Service, request: SearchRequest, *, reader: str = "") -> ResultPage:
    """One page of results with everything around it. Without a corpus, it searches the largest
    indexed one in the language of the question, or else of the reader."""
    begun = time.perf_counter()
    rows = corpus_rows(service.home)
    chosen = _chosen_corpus(service, rows, request, reader)
    if chosen is None:
        return ResultPage(asked=request, state="bare")
    query = request.query.strip()[:MOST_QUERY]
    request = msgspec.structs.replace(
        request, corpus=chosen.name, query=query, page=max(request.page, 1)
    )
    if not chosen.indexed:
        return ResultPage(asked=request, state="unindexed")
    opened = corpus_for(service, chosen.name)
    try:
        page = _search_results(opened, request) if query else _list_filtered(opened, request)
    except NothingPasses:
        every = np.arange(len(opened.columns.titles))
        left = choices(opened.columns, every, request.filters, passing=False)
        page = ResultPage(asked=request, state="filtered", choices=left)
    millis = (time.perf_counter() - begun) * 1000
    return msgspec.structs.replace(page, millis=round(millis, 1))


def _chosen_corpus(
    service: Service, rows: Sequence[CorpusRow], request: SearchRequest, reader: str
) -> CorpusRow | None:
    if request.corpus:
        found = next((row for row in rows if row.name == request.corpus), None)
        if found is None:
            raise NotHere(f"no corpus {request.corpus!r}")
        return found
    language = request.filters.language or detect(request.query) or reader
    indexed = [row for row in rows if row.indexed]
    if len(indexed) > 1 and language:
        spoken = [row for row in indexed if language_of(service, row.name) == language]
        indexed = spoken or indexed
    return max(indexed or rows, key=lambda row: row.documents, default=None)


def language_of(service: Service, corpus: str) -> str:
    return filtering.language_of(corpus_named(corpus, service.home))


def _search_results(corpus: OpenCorpus, request: SearchRequest) -> ResultPage:
    columns = corpus.columns
    allowed = columns.allowed(request.filters)
    day = request.filters.as_of
    hits = corpus.engine.search(
        request.query, DEEPEST, allowed=allowed, explain=True, as_of=day, texts=False
    )
    if not hits:
        every = np.arange(len(columns.titles)) if allowed is None else np.flatnonzero(allowed)
        offered = choices(columns, every, request.filters)
        return ResultPage(
            asked=request,
            state="nothing" if corpus.engine.has_content(request.query) else "no_content",
            choices=offered,
            missing=hits.missing,
            here=hits.here,
            unknown=hits.unknown,
            corrected=hits.corrected or {},
        )
    at = _page(request, len(hits))
    start = (at.page - 1) * PAGE
    found = found_documents(
        hits, corpus.engine, request.query, corpus.get, start=start, stop=start + PAGE, as_of=day
    )
    behind = less_likely(corpus.engine.query_words(request.query)[0], hits)
    likely = sum(
        (hit.score or 0) >= LIKELY_FROM and not is_behind
        for hit, is_behind in zip(hits, behind, strict=True)
    )
    return ResultPage(
        asked=at,
        state="refused" if hits.abstained else "found",
        results=tuple(map(partial(_result, corpus, likely), found)),
        pages=_pages(len(hits)),
        total=len(hits),
        likely=likely,
        choices=choices(columns, _rows(corpus, hits), request.filters),
        by_words=corpus.engine.is_by_words,
        is_older=corpus.engine.is_older,
        missing=hits.missing,
        here=hits.here,
        calibrated=hits.calibrated,
        unknown=words_nowhere(hits, found),
        corrected=hits.corrected or {},
    )


def _list_filtered(corpus: OpenCorpus, request: SearchRequest) -> ResultPage:
    """The documents that pass the filters, the newest first; none without filters."""
    columns = corpus.columns
    allowed = columns.allowed(request.filters)
    if allowed is None:
        every = np.arange(len(columns.titles))
        offered = choices(columns, every, request.filters)
        return ResultPage(asked=request, state="start", total=len(every), choices=offered)
    rows = np.flatnonzero(allowed)
    order = sorted(rows.tolist(), key=lambda row: columns.dates[row], reverse=True)
    at = _page(request, len(order))
    start = (at.page - 1) * PAGE
    results = [
        _with_document(
            corpus, _listed_result(corpus, rank, document, request.filters.as_of), document
        )
        for rank, document in enumerate(
            map(corpus.at, order[start : start + PAGE]), start=start + 1
        )
    ]
    return ResultPage(
        asked=at,
        state="listed",
        results=tuple(results),
        pages=_pages(len(order)),
        total=len(order),
        choices=choices(columns, rows, request.filters),
    )


def _listed_result(corpus: OpenCorpus, rank: int, document: Document, day: str) -> Result:
    status = corpus.engine.status(document.id, day)
    title = with_status_mark(document.title, status, document.language)
    return Result(rank=rank, doc_id=document.id, title=title, language="", status=status)


def _page(request: SearchRequest, total: int) -> SearchRequest:
    """The page asked for, or the last there is."""
    return msgspec.structs.replace(request, page=min(request.page, _pages(total)))


def _pages(total: int) -> int:
    return max(1, -(-total // PAGE))


def _rows(corpus: OpenCorpus, hits: Iterable[Hit]) -> Numbers:
    rows = (corpus.corpus.row(hit.doc_id) for hit in hits)
    return np.array([row for row in rows if row is not None], np.int64)


def _result(corpus: OpenCorpus, likely: int, found: FoundDocument) -> Result:
    document = corpus.get(found.doc_id)
    result = Result(
        rank=found.rank,
        doc_id=found.doc_id,
        title=found.title,
        language="",
        status=found.status,
        answer=found.facts.answer,
        answers=found.facts.answers,
        by=found.facts.by,
        passage=found.snippet,
        words=tuple(dict.fromkeys((*found.words, *found.in_title))),
        score=found.score,
        reasons=reasons(found),
        why=found.why,
        less_likely=found.less_likely or bool(likely and (found.score or 0) < LIKELY_FROM),
    )
    return _with_document(corpus, result, document)


def _with_document(corpus: OpenCorpus, result: Result, document: Document) -> Result:
    """The result with the document's own question, answer and statutes. A passage that repeats them
    is dropped."""
    columns = corpus.columns
    row = corpus.corpus.row(document.id) or 0
    fields = document.fields
    question = fields.get(readable_part(document, *QUESTIONS), "").strip()
    answer = result.answer or fields.get(readable_part(document, *ANSWERS), "").strip()
    passage = result.passage or ("" if answer else document.text)
    repeated = _without_marks(passage.removesuffix(" …")) in _without_marks(f"{question} {answer}")
    return msgspec.structs.replace(
        result,
        title=result.title or document.title or document.id,
        language=document.language or detect(document.text[:2_000]),
        question=cut_at_word(question, SHOWN_CHARACTERS),
        answer=cut_at_word(answer, SHOWN_CHARACTERS),
        passage="" if repeated and (question or answer) else cut_at_word(passage, SHOWN_CHARACTERS),
        statutes=statutes_of(columns, row)[:MOST_STATUTES],
        topic=columns.topics.names[columns.topics.numbers[row]],
        date=columns.dates[row],
        cites=int(columns.degrees["cites"][row]),
        cited_by=int(columns.degrees["cited_by"][row]),
    )


def first_field(document: Document, *names: str) -> str:
    """The first of these fields that says something."""
    return next((text for name in names if (text := document.fields.get(name, "").strip())), "")


def statutes_of(columns: Columns, row: int) -> tuple[str, ...]:
    """The law that a document cites: its record's list, then the most cited of its text."""
    start, end = np.searchsorted(columns.citing, [row, row + 1])
    # column by column: a query of polars takes milliseconds, and a page has a result ten times
    rows = zip(
        *(columns.citations[name][start:end] for name in ("normal", "in_record", "count")),
        strict=True,
    )
    cited = [
        (not in_record, -count, place, normal)
        for place, (normal, in_record, count) in enumerate(rows)
        if columns.of_law[start + place]
    ]
    return tuple(dict.fromkeys(normal for *_, normal in sorted(cited)))


def _without_marks(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()


# ── for agents, and beside a document ─────────────────────────────────────────────────────────────


class FoundPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of hits. `answered` is false where nothing answers, and these are only the nearest;
    None where it cannot be told, since the match is weak or the question is in another language
    than the corpus. `note` is what to know before they are used; `language` that of the corpus;
    `calibrated` says whether scores were fitted to it."""

    items: list[FoundDocument]
    documents: list[Document]
    next_offset: int | None
    answered: bool | None
    note: str = ""
    words: str = ""  # which words no document has, or were read as another
    language: str = ""
    calibrated: bool = False


UNDATED = (
    "For some results only the date of the act is known, not whether this text was in force then."
)


def found_page(
    service: Service,
    corpus: str,
    query: str,
    limit: int = 10,
    offset: int = 0,
    *,
    filters: Filters = NO_FILTERS,
) -> FoundPage:
    """A page of hits, for agents."""
    if not query.strip():
        raise InputError(
            "the query is empty", hint="Give a question, keywords or a description of facts."
        )
    size = page_size(limit)
    opened = corpus_for(service, corpus)
    allowed = opened.allowed(filters)
    day = filters.as_of
    hits = opened.engine.search(
        query, offset + size + 1, allowed=allowed, explain=True, as_of=day, texts=False
    )
    found = found_documents(
        hits, opened.engine, query, opened.get, start=offset, stop=offset + size, as_of=day
    )
    page = page_of(hits[offset:], offset, size)
    asked_in = opened.asked_in(query)
    unsure = is_weak(hits) or (hits.abstained and asked_in)
    note = note_of(hits, opened.language, asked_in)
    if hits.abstained and not unsure and allowed is not None:
        best = opened.engine.search(query, 1, texts=False)
        unsure = bool(best) and not best.abstained
        hidden = filtering.what_is_hidden(opened.columns, best if unsure else [], filters)
        note = f"{note} {hidden}".lstrip()
    items = [_as_found_document(opened, hit) if day else hit for hit in found]
    if any(hit.status == ACT_ALONE for hit in items):
        note = f"{note} {UNDATED}".lstrip()
    return FoundPage(
        items=items,
        documents=[opened.get(hit.doc_id) for hit in found],
        next_offset=page.next_offset,
        answered=None if unsure else bool(hits) and not hits.abstained,
        note=note,
        words=words_note(words_nowhere(hits, found), hits.corrected or {}),
        language=opened.language,
        calibrated=hits.calibrated,
    )


def _as_found_document(corpus: OpenCorpus, hit: FoundDocument) -> FoundDocument:
    """A provision is not called in force on a day where only its act is known to have been."""
    if hit.status != IN_FORCE or corpus.engine.is_dated(hit.doc_id):
        return hit
    return msgspec.structs.replace(hit, status=ACT_ALONE)


def found_ids(service: Service, corpus: str, query: str, limit: int) -> list[str]:
    """The ids of the best documents, without their texts."""
    opened = corpus_for(service, corpus)
    return [hit.doc_id for hit in opened.engine.search(query, limit, texts=False)]


def similar(service: Service, corpus: str, doc_id: str, limit: int = 6) -> tuple[Similar, ...]:
    """More like this one."""
    opened = corpus_for(service, corpus)
    if doc_id not in opened.corpus:
        raise NotHere(f"no document {doc_id!r} in corpus {corpus!r}")
    hits = opened.engine.more_like(doc_id, page_size(limit), texts=False)
    return tuple(
        Similar(
            doc_id=hit.doc_id,
            title=opened.columns.titles[row] or hit.doc_id,
            date=opened.columns.dates[row],
            score=None if hit.score is None else round(hit.score, 4),
        )
        for hit in hits
        if (row := opened.corpus.row(hit.doc_id)) is not None
    )
