"""Tools that search corpora, read documents, look citations up and check a draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from assay.answers.readers import MAX_ANSWER_CHARACTERS
from assay.core.decoding import thread_safe
from assay.core.errors import InputError, NotHere
from assay.core.types import Document, JsonObject, Locator
from assay.corpus.citations import OLDER, imported_by_older
from assay.corpus.disk import list_corpora as corpus_names
from assay.law.citing import citation_of
from assay.reports.wording import hit_reasons_in_words
from assay.search.answers import HitFacts
from assay.search.reports.cells import Cell
from assay.workbench.agents.short_answers import (
    Limit,
    Offset,
    fit_answer,
    room_for,
    round_figure,
    shorten_passage,
)
from assay.workbench.project.service import Service
from assay.workbench.scoring.answers import guard
from assay.workbench.searching import corpora
from assay.workbench.searching.corpora import citations_in, corpus_named, corpus_rows
from assay.workbench.searching.documents import rest_of_section, when_in_force
from assay.workbench.searching.filters import NothingPasses, acts_of, read_filters
from assay.workbench.searching.search import (
    IN_FORCE,
    FoundDocument,
    FoundPage,
    found_page,
    language_of,
)

FIRST_SEARCH = "It can be searched; the first search takes longer, since it builds the index."
NEAREST = "These are only the nearest: say that there is no answer, or ask in other words."
INTERNAL = ("addressed_to",)  # metadata that only looks a letter up
SNIPPET = 400  # characters of a passage of a hit; taste
BEGINNING = 40  # characters by which the beginning of a text is recognized; taste
MOST_TITLE = 90  # characters of a title in a short answer; taste
USUAL = 4  # hits of a short answer; taste
NEAR = 2  # hits of a short answer where none answers; taste
MOST_ACTS = 10  # acts of a corpus; taste
MOST_NAMED = 20  # documents that a citation names; taste
MOMENTS, MOMENT = 12, 1_000  # other moments of a section, and characters of each; taste
CorpusName = Annotated[str, Meta(description="The name of a corpus, from list_corpora.")]


class CorpusLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A corpus. `language` is en, fi or he: ask in this language. `example` is how one of its
    documents is cited. `acts` are the acts it holds, the largest first, and `more_acts` how many it
    holds besides. If it is not `indexed`, the first search builds the index."""

    name: str
    documents: int
    language: str = ""
    example: str = ""
    acts: list[str] = []
    more_acts: int
    kind: str
    indexed: bool
    note: str = ""


class Corpora(msgspec.Struct, frozen=True, kw_only=True):
    corpora: list[CorpusLine]
    message: str = ""


def list_corpora(service: Service) -> Corpora:
    """List the corpora that can be searched. Begin here."""
    lines = []
    for row in corpus_rows(service.home):
        corpus = corpus_named(row.name, service.home)
        first = next(iter(corpus.iter()), None)
        acts = acts_of(corpus)
        notes = [
            FIRST_SEARCH if not row.indexed else "",
            f"{OLDER.capitalize()}." if imported_by_older(corpus.manifest) else "",
        ]
        lines.append(
            CorpusLine(
                name=row.name,
                documents=row.documents,
                language=language_of(service, row.name),
                example=citation_of(first) if first is not None else "",
                acts=acts[:MOST_ACTS],
                more_acts=max(len(acts) - MOST_ACTS, 0),
                kind=row.kind,
                indexed=row.indexed,
                note=" ".join(filter(None, notes)),
            )
        )
    none = "No corpus is in the workspace of this server; a person adds one."
    return Corpora(corpora=lines, message="" if lines else none)


class SearchHit(HitFacts, frozen=True, omit_defaults=True):
    """A hit. `citation` is ready to be written down; `title` may be the heading of a section;
    `snippet` is the passage closest to the query, and `answer` the conclusion of the document, if
    it has one. `status` of a provision is in force, not yet in force, superseded, repealed,
    placeholder (no text here), or that only the date of its act is known: only what is in force is
    the law of the day. `cell` is the cell of a table that was asked for. A hit that is
    `less_likely` is far behind the first one, and from another section.

    Only with details: `question` (what the document was asked), `statutes` of its record, `by` (who
    wrote it; a request letter says so), `why` the search found it, and `locator` (section, moment,
    page: what a lawyer would cite). Without details, `date` is only set if not in force."""

    doc_id: str
    less_likely: bool
    citation: str = ""
    score: float | None = None
    title: str = ""
    snippet: str = ""
    why: str = ""
    locator: Locator | None = None
    status: str = ""
    cell: Cell | None = None


class SearchResults(msgspec.Struct, frozen=True, kw_only=True):
    """Hits, the most relevant first. `answered` is false if nothing in the corpus answers: the hits
    are only the nearest and should not be cited as an answer. It is null if that is unknown, and
    `message` says why. If it is true, the hits are about the question, and only reading shows
    whether one answers it. Read `message` before you use the hits. The score of a hit estimates the
    probability that it is right; if `calibrated` is false, it was not fitted to this corpus: trust
    the order more than the number. `language` is that of the corpus."""

    answered: bool | None = True
    message: str = ""
    corpus: str
    language: str = ""
    query: str = ""
    calibrated: bool = False
    hits: list[SearchHit]
    next_offset: int | None = None


@dataclass(frozen=True, kw_only=True)
class SearchFilters:
    """Only documents that pass all of these; an empty filter passes everything. `topic`: a topic as
    the corpus writes it, such as gifts_honoraria; if none has it, the answer names the topics there
    are. `statute`: documents that cite it, such as 4503(b). `law`: an act. `language`: en, fi or
    he. `year`: 2015, or 2010-2020. `as_of`: the law in force on this day, YYYY-MM-DD; if only the
    date of an act is known, `status` says so."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # the SDK refuses an unknown filter

    topic: str = ""
    statute: str = ""
    law: str = ""
    language: str = ""
    year: str = ""
    as_of: str = ""


UNFILTERED = SearchFilters()


def search(
    service: Service,
    corpus: CorpusName,
    query: Annotated[
        str,
        Meta(
            max_length=10_000,
            description="A question, keywords, facts, or the number of a document.",
        ),
    ],
    limit: Limit = 0,
    offset: Offset = 0,
    filters: SearchFilters = UNFILTERED,
    details: Annotated[
        bool, Meta(description="Return everything known about each hit, with longer passages.")
    ] = False,
) -> SearchResults:
    """Search a corpus. The most relevant documents come first, each with a citation that is ready
    to be written down. Look at `answered` first: if it is false, nothing here answers. Then read:
    cite a passage only if it answers the question."""
    chosen = vars(filters)
    try:
        page = found_page(
            service, corpus, query, limit or USUAL, offset, filters=read_filters(**chosen)
        )
    except NothingPasses as error:
        named = ", ".join(f"{name} {value!r}" for name, value in chosen.items() if value)
        raise InputError(
            f"no document of {corpus!r} passes the filters {named}", hint=error.hint
        ) from None
    if limit or details:
        return search_results(corpus, query, page, offset, details=details)
    if page.answered is False and len(page.items) > NEAR:
        page = msgspec.structs.replace(
            page,
            items=page.items[:NEAR],
            documents=page.documents[:NEAR],
            next_offset=offset + NEAR,
        )
    return fit_answer(search_results(corpus, query, page, offset), "hits", offset)


def search_results(
    corpus: str, query: str, page: FoundPage, offset: int = 0, *, details: bool = False
) -> SearchResults:
    """A page of hits as an answer. Without details, each hit has what it takes to choose one to
    read, and as much of its passages as there is room for."""
    whole = [
        _search_hit(hit, document) for hit, document in zip(page.items, page.documents, strict=True)
    ]
    answer = SearchResults(
        answered=page.answered,
        message=_search_message(page, offset),
        corpus=corpus,
        language=page.language,
        calibrated=page.calibrated,
        query=query if details else "",
        hits=whole,
        next_offset=page.next_offset,
    )
    if details:
        return answer
    brief = [_brief_hit(*each) for each in zip(whole, page.documents, strict=True)]

    def with_passages_of(room: int) -> SearchResults:
        hits = [
            msgspec.structs.replace(
                hit,
                snippet=shorten_passage(hit.snippet, room, found.words),
                answer=shorten_passage(hit.answer, room),
            )
            for hit, found in zip(brief, page.items, strict=True)
        ]
        return msgspec.structs.replace(answer, hits=hits)

    passages = sum(bool(hit.snippet) + bool(hit.answer) for hit in brief)
    usual = USUAL * passages // max(len(brief), 1)
    return with_passages_of(room_for(with_passages_of(0), passages, max(usual, 1)))


def _search_hit(hit: FoundDocument, document: Document) -> SearchHit:
    return SearchHit(
        **msgspec.structs.asdict(hit.facts),
        doc_id=hit.doc_id,
        citation=citation_of(document, hit.locator, hit.status),
        score=None if hit.score is None else round(hit.score, 4),
        title=hit.title,
        snippet=passage_shown(document, hit.snippet[:SNIPPET]),
        why=hit_reasons_in_words(hit.why),
        less_likely=hit.less_likely,
        locator=_place_in_document(hit.locator),
        status=hit.status,
        cell=hit.cell,
    )


def _brief_hit(hit: SearchHit, document: Document) -> SearchHit:
    """A hit without details. A section has its heading as title, since the citation names the
    act."""
    heading = document.metadata.get("section_title")
    title = heading if isinstance(heading, str) and heading else hit.title
    return msgspec.structs.replace(
        hit,
        score=round_figure(hit.score),
        title=shorten_passage(title, MOST_TITLE),
        question="",
        answers="",
        statutes=(),
        date="" if hit.status in ("", IN_FORCE) else hit.date,
        by="",
        why="",
        locator=None,
    )


def _search_message(page: FoundPage, offset: int) -> str:
    """What an agent should know before it uses the hits."""
    if not page.items and offset:
        return "There are no more hits."
    if not page.items:
        return page.note or "Nothing was found; try other words or fewer filters."
    if page.answered is False:
        nothing = page.note or "Perhaps nothing in this corpus answers the question."
        return " ".join(filter(None, (nothing, page.words, NEAREST)))
    return f"{page.note} {page.words}".strip()


def _place_in_document(locator: Locator | None) -> Locator | None:
    """The place inside a document, whose id stands beside it; None for a whole document."""
    place = msgspec.structs.replace(locator, doc_id=None) if locator is not None else Locator()
    return None if place == Locator() else place


def passage_shown(document: Document, passage: str) -> str:
    """A passage, with an ellipsis before it unless it is the beginning of a text."""
    start = " ".join(passage.split())[:BEGINNING]
    texts = (document.text, *document.fields.values())
    at_start = any(" ".join(text[: 2 * BEGINNING].split()).startswith(start) for text in texts)
    return passage if at_start or passage.startswith("…") else f"… {passage}"


class SectionMoment(msgspec.Struct, frozen=True, kw_only=True):
    doc_id: str
    citation: str
    text: str


class DocumentText(msgspec.Struct, frozen=True, kw_only=True):
    """A document, or a part of it: `text` begins at the offset, and `characters` is the length of
    the whole text. `citation` is ready to be written down. `in_force` says whether a provision is
    in force today, and since when. `section` has the other moments of its section; the rule may
    stand in one of them."""

    doc_id: str
    citation: str = ""
    title: str
    text: str
    characters: int
    next_offset: int | None = None
    language: str = ""
    citations: tuple[str, ...] = ()
    locator: Locator | None = None
    in_force: str = ""
    section: list[SectionMoment] = []
    metadata: JsonObject = {}


def get_document(
    service: Service,
    corpus: CorpusName,
    doc_id: Annotated[str, Meta(description="From search, next_to_judge or cite.")],
    offset: Offset = 0,
    characters: Annotated[
        int, Meta(ge=1, le=100_000, description="How much of the text to read.")
    ] = 20_000,
) -> DocumentText:
    """Read a document, one part at a time. A moment of an act comes with the rest of its
    section."""
    try:
        document = corpora.document(service, corpus, doc_id)
    except InputError as error:
        raise InputError(
            error.message, hint=error.hint or "To look a citation up, call cite with its text."
        ) from error
    end = offset + characters
    section = rest_of_section(service, corpus, doc_id)
    return DocumentText(
        doc_id=document.id,
        citation=citation_of(document),
        title=document.title,
        text=document.text[offset:end],
        characters=len(document.text),
        next_offset=end if end < len(document.text) else None,
        language=document.language,
        citations=document.citations,
        locator=_place_in_document(document.locator),
        in_force=when_in_force(service, corpus, doc_id),
        section=[
            SectionMoment(doc_id=each.id, citation=citation_of(each), text=each.text[:MOMENT])
            for each in section[:MOMENTS]
        ],
        metadata={key: value for key, value in document.metadata.items() if key not in INTERNAL},
    )


class CitationLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A citation: `text` as it was written, `normal` the usual way to write it, `doc_ids` the
    documents of the corpus that it names, `more` how many it names besides, and `reason` why it
    names none or several."""

    text: str
    normal: str
    kind: str
    status: str
    doc_ids: tuple[str, ...] = ()
    more: int
    reason: str = ""


class Citations(msgspec.Struct, frozen=True, kw_only=True):
    citations: list[CitationLine]


def cite(
    service: Service,
    text: Annotated[
        str, Meta(max_length=20_000, description="A citation, or a text with citations.")
    ],
    corpus: Annotated[
        str,
        Meta(
            description="The corpus to look the documents up in; if empty, citations are only read."
        ),
    ] = "",
) -> Citations:
    """Read the citations in a text: the usual way to write each, and the documents it names."""
    known = corpus_names(service.home)
    if corpus and corpus not in known:
        raise NotHere(f"no corpus {corpus!r}", hint=f"Known: {', '.join(known) or 'none yet'}.")
    lines = [
        CitationLine(
            text=found.citation.text,
            normal=found.citation.normal,
            kind=found.citation.kind,
            status=found.status,
            doc_ids=found.targets[:MOST_NAMED],
            more=max(len(found.targets) - MOST_NAMED, 0),
            reason=found.reason,
        )
        for found in citations_in(text, corpus or None, home=service.home)
    ]
    return Citations(citations=lines)


# ── a draft ───────────────────────────────────────────────────────────────────────────────────────


class DraftFault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault: which check, what it found, the words of the draft, and why."""

    check: str
    value: str
    text: str
    start: int
    end: int
    reason: str = ""
    candidates: list[str] = []


class DraftCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of a draft, and how many of its citations could be checked."""

    faults: list[DraftFault]
    citations: int
    checked: int
    quotes: int
    refused: bool


def check_answer(
    service: Service,
    answer: Annotated[str, Meta(max_length=MAX_ANSWER_CHARACTERS, description="The draft.")],
    passages: Annotated[
        list[str] | None,
        Meta(description="The texts it was written from, in the order of [1], [2] …"),
    ] = None,
    passage_ids: Annotated[
        list[str] | None, Meta(description="Their document ids, in the same order.")
    ] = None,
    corpus: Annotated[
        str,
        Meta(
            description="The corpus to look citations up in; if empty, only the passages are used."
        ),
    ] = "",
    question: Annotated[str, Meta(max_length=20_000, description="The question.")] = "",
    as_of: Annotated[str, Meta(description="The date on which law must be in force.")] = "",
) -> DraftCheck:
    """Check a draft before sending it: every citation exists, was retrieved and is in force, every
    quotation is word for word, every figure stands in the cited text. Correct each fault."""
    known = corpus_names(service.home)
    if corpus and corpus not in known:
        raise NotHere(f"no corpus {corpus!r}", hint=f"Known: {', '.join(known) or 'none yet'}.")
    texts, ids = passages or [], passage_ids or []
    if ids and len(ids) != len(texts):
        raise InputError(f"{len(ids)} passage_ids for {len(texts)} passages: give as many of each")
    named = zip(texts, ids or [""] * len(texts), strict=True)
    given = [{"id": name, "text": text} for text, name in named]
    found = guard(answer, given, question=question, as_of=as_of, corpus=corpus, home=service.home)
    return DraftCheck(
        faults=[
            msgspec.convert(note, thread_safe(DraftFault), from_attributes=True)
            for note in found.notes
            if note.is_fault
        ],
        citations=len(found.entry.citations),
        checked=sum(one.exists in ("found", "not_found") for one in found.entry.citations),
        quotes=len(found.entry.quotes),
        refused=found.entry.refused,
    )
