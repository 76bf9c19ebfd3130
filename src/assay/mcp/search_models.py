"""What the tools answer about documents: hits, citations, texts and the corpora they are in."""

from __future__ import annotations

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from assay.core.types import Document
from assay.mcp.models import SNIPPET, Answer, Figure, Line, Place, cut, place_of, room_for
from assay.reports.hit_reasons import told_why
from assay.workbench.corpora import citation_of
from assay.workbench.for_agents import CorpusHere, passage_shown
from assay.workbench.searching import IN_FORCE, FoundDocument, FoundPage

NEAREST = "These are only the nearest: say that there is no answer, or ask in other words."
MOST_TITLE = 90  # characters, where the hits are told in brief
USUAL = 4  # hits of an answer
NEAR = 2  # hits that do not answer
MOST_ACTS = 10  # that a corpus is told by
MOMENTS, MOMENT = 12, 1_000  # of a section, and characters of each


class SearchFilters(BaseModel):
    """Only documents that pass all of these; empty passes everything."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: str = Field(
        default="",
        description="A topic of the documents, as the corpus writes it, such as gifts_honoraria. "
        "Where none has it, the answer names the topics there are.",
    )
    statute: str = Field(default="", description="Only documents that cite this, such as 4503(b).")
    law: str = Field(default="", description="Only this act.")
    language: str = Field(default="", description="en, fi or he.")
    year: str = Field(default="", description="2015, or 2010-2020.")
    as_of: str = Field(
        default="",
        description="What was in force on this day, YYYY-MM-DD. Where only the date of an act is "
        "known, `status` says so.",
    )


NO_FILTERS = SearchFilters()


class Found(Line):
    doc_id: str
    citation: str = Field(default="", description="How to cite it, ready to be written down.")
    score: float | None = None
    title: str = Field(default="", description="Or the heading of a section.")
    snippet: str = Field(default="", description="The passage that is closest to the query.")
    answer: str = Field(default="", description="What the document concludes, where it does.")
    question: str = Field(
        default="", description="What the document was asked. This and the next only with details."
    )
    statutes: list[str] = Field(default=[], description="Statutes of its record.")
    date: str = Field(default="", description="Without details only of what is not in force.")
    by: str = Field(default="", description="Who wrote it; a request letter says so.")
    why: str = Field(default="", description="What found it. Only with details.")
    less_likely: bool = Field(
        default=False, description="Far behind the first hit, and of another section."
    )
    locator: Place = Field(
        default={}, description="Section, moment, page: what a lawyer would cite."
    )
    status: str = Field(
        default="",
        description="Of a provision: in force, not yet in force, superseded, repealed, placeholder "
        "(no text here); or that only the date of its act is known. Only what is in force is the "
        "law of the day.",
    )
    cell: Figure = Field(
        default={}, description="Of a row of a table: row, column, text, value, unit, table."
    )

    @classmethod
    def of(cls, hit: FoundDocument, document: Document) -> Found:
        return cls(
            doc_id=hit.doc_id,
            citation=citation_of(document, hit.locator, hit.status),
            score=None if hit.score is None else round(hit.score, 4),
            title=hit.title,
            snippet=passage_shown(document, hit.snippet[:SNIPPET]),
            answer=hit.told.answer,
            question=hit.told.question,
            statutes=list(hit.told.statutes),
            date=hit.told.date,
            by=hit.told.by,
            why=told_why(hit.why),
            less_likely=hit.less_likely,
            locator=place_of(hit.locator),
            status=hit.status,
            cell=msgspec.to_builtins(hit.cell) if hit.cell is not None else {},
        )

    @classmethod
    def brief(cls, hit: FoundDocument, document: Document) -> Found:
        """What it takes to choose one to read. A section is told by its heading: the citation says
        the rest."""
        whole = cls.of(hit, document)
        heading = document.metadata.get("section_title")
        title = heading if isinstance(heading, str) and heading else whole.title
        return cls(
            doc_id=whole.doc_id,
            citation=whole.citation,
            score=None if whole.score is None else round(whole.score, 3),
            title=cut(title, MOST_TITLE),
            snippet=whole.snippet,
            answer=whole.answer,
            less_likely=whole.less_likely,
            date="" if whole.status in ("", IN_FORCE) else whole.date,
            status=whole.status,
            cell=whole.cell,
        )


class SearchResults(Answer):
    answered: bool | None = Field(
        default=True,
        description="False: nothing in the corpus answers; the hits are only the nearest and "
        "should not be cited as an answer. Null: it cannot be told; `message` says why. True: the "
        "hits are about what was asked. Whether one says it, only reading tells.",
    )
    message: str = Field(default="", description="What to know before the hits are used.")
    corpus: str
    language: str = Field(default="", description="Of the corpus: en, fi or he.")
    query: str = ""
    hits: list[Found]
    next_offset: int | None = Field(
        default=None, description="Where the next page begins; none when this was the last."
    )

    @classmethod
    def of(
        cls, corpus: str, query: str, page: FoundPage, offset: int = 0, *, details: bool = False
    ) -> SearchResults:
        hits = [
            Found.of(hit, document) if details else Found.brief(hit, document)
            for hit, document in zip(page.items, page.documents, strict=True)
        ]
        answer = cls(
            answered=page.answered,
            message=_told(page, offset),
            corpus=corpus,
            language=page.language,
            query=query if details else "",
            hits=hits,
            next_offset=page.next_offset,
        )
        return answer if details else answer.short([hit.words for hit in page.items])

    def short(self, words: list[list[str]]) -> SearchResults:
        """With as much of each passage as there is room for."""
        passages = sum(bool(hit.snippet) + bool(hit.answer) for hit in self.hits)
        usual = USUAL * passages // max(len(self.hits), 1)
        room = room_for(self._cut(words, 0), passages, max(usual, 1))
        return self._cut(words, room)

    def _cut(self, words: list[list[str]], room: int) -> SearchResults:
        hits = [
            hit.model_copy(
                update={
                    "snippet": cut(hit.snippet, room, asked),
                    "answer": cut(hit.answer, room),
                }
            )
            for hit, asked in zip(self.hits, words, strict=True)
        ]
        return self.model_copy(update={"hits": hits})


def nearest(page: FoundPage, offset: int) -> FoundPage:
    """Of hits that do not answer, few."""
    if page.answered is not False or len(page.items) <= NEAR:
        return page
    return msgspec.structs.replace(
        page,
        items=page.items[:NEAR],
        documents=page.documents[:NEAR],
        next_offset=offset + NEAR,
    )


def _told(page: FoundPage, offset: int) -> str:
    """What to know before the hits are used."""
    if not page.items and offset:
        return "There are no more hits."
    if not page.items:
        return page.note or "Nothing was found; try other words or fewer filters."
    if page.answered is False:
        return f"{page.note or 'Nothing in this corpus answers the question.'} {NEAREST}"
    return page.note


class CorpusLine(Line):
    name: str
    documents: int
    language: str = Field(default="", description="en, fi or he: ask in this language.")
    example: str = Field(default="", description="How one of its documents is cited.")
    acts: list[str] = Field(default=[], description="The acts it holds, the largest first.")
    more_acts: int = Field(default=0, description="How many acts it holds beside these.")
    kind: str
    indexed: bool = Field(
        description="Whether the index is built. Where it is not, the first search builds it."
    )
    note: str = ""


class Corpora(Answer):
    corpora: list[CorpusLine]
    message: str = ""

    @classmethod
    def of(cls, found: list[CorpusHere]) -> Corpora:
        none = "No corpus is in the workspace of this server; a person adds one."
        return cls(
            message="" if found else none,
            corpora=[
                CorpusLine(
                    name=each.row.name,
                    documents=each.row.documents,
                    language=each.language,
                    example=each.example,
                    acts=each.acts[:MOST_ACTS],
                    more_acts=max(len(each.acts) - MOST_ACTS, 0),
                    kind=each.row.kind,
                    indexed=each.row.indexed,
                    note=each.note,
                )
                for each in found
            ],
        )


class CitationLine(Line):
    text: str = Field(description="As it stands in the text.")
    normal: str = Field(description="The usual way to write it.")
    kind: str
    status: str
    doc_ids: list[str] = Field(default=[], description="The documents of the corpus that it names.")
    more: int = Field(default=0, description="How many documents it names beside these.")
    reason: str = Field(default="", description="Why it names no document, or several.")


class Citations(Answer):
    citations: list[CitationLine]


INTERNAL = ("addressed_to",)  # words that a citation may call a letter by, for looking it up


class Moment(Answer):
    doc_id: str
    citation: str
    text: str


class DocumentText(Answer):
    doc_id: str
    citation: str = Field(default="", description="How to cite it, ready to be written down.")
    title: str
    text: str = Field(description="From the offset on, as many characters as asked for.")
    characters: int = Field(description="The length of the whole text.")
    next_offset: int | None = None
    language: str = ""
    citations: list[str] = []
    locator: Place = {}
    in_force: str = Field(
        default="", description="Of a provision: whether it is in force today, and since when."
    )
    section: list[Moment] = Field(
        default=[], description="Of an act: the other moments; the rule may stand in one of them."
    )
    metadata: dict[str, JsonValue] = {}

    @classmethod
    def of(
        cls,
        document: Document,
        start: int,
        characters: int,
        section: list[Document],
        in_force: str = "",
    ) -> DocumentText:
        end = start + characters
        return cls(
            doc_id=document.id,
            citation=citation_of(document),
            title=document.title,
            text=document.text[start:end],
            characters=len(document.text),
            next_offset=end if end < len(document.text) else None,
            language=document.language,
            citations=list(document.citations),
            metadata={key: said for key, said in document.metadata.items() if key not in INTERNAL},
            locator=place_of(document.locator),
            in_force=in_force,
            section=[
                Moment(doc_id=each.id, citation=citation_of(each), text=each.text[:MOMENT])
                for each in section[:MOMENTS]
            ],
        )
