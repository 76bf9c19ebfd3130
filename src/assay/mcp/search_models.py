"""What the tools answer about documents: hits, citations, texts and the corpora they are in."""

from __future__ import annotations

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from assay.core.types import Document
from assay.mcp.models import SNIPPET, Answer, Figure, Place, place_of
from assay.workbench.corpora import citation_of
from assay.workbench.for_agents import CorpusHere, passage_shown
from assay.workbench.searching import FoundPage

NEAREST = "These are only the nearest: say that there is no answer, or ask in other words."
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


class Found(Answer):
    doc_id: str
    citation: str = Field(default="", description="How to cite it, ready to be written down.")
    score: float | None = None
    title: str = ""
    snippet: str = Field(default="", description="The passage that is closest to the query.")
    answer: str = Field(default="", description="What the document concludes, where it does.")
    question: str = Field(default="", description="What the document was asked.")
    statutes: list[str] = Field(default=[], description="Statutes of its record.")
    date: str = ""
    by: str = Field(default="", description="Who wrote it; a request letter says so.")
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
    query: str
    hits: list[Found]
    next_offset: int | None = Field(
        default=None, description="Where the next page begins; none when this was the last."
    )

    @classmethod
    def of(cls, corpus: str, query: str, page: FoundPage, offset: int = 0) -> SearchResults:
        hits = [
            Found(
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
                locator=place_of(hit.locator),
                status=hit.status,
                cell=msgspec.to_builtins(hit.cell) if hit.cell is not None else {},
            )
            for hit, document in zip(page.items, page.documents, strict=True)
        ]
        return cls(
            answered=page.answered,
            message=_told(page, offset),
            corpus=corpus,
            language=page.language,
            query=query,
            hits=hits,
            next_offset=page.next_offset,
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


class CorpusLine(Answer):
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


class CitationLine(Answer):
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
    section: list[Moment] = Field(
        default=[], description="Of an act: the other moments; the rule may stand in one of them."
    )
    metadata: dict[str, JsonValue] = {}

    @classmethod
    def of(
        cls, document: Document, start: int, characters: int, section: list[Document]
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
            section=[
                Moment(doc_id=each.id, citation=citation_of(each), text=each.text[:MOMENT])
                for each in section[:MOMENTS]
            ],
        )
