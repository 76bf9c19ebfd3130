"""What the tools answer: every answer has a schema, and may gain fields but does not lose any.

An answer is a model of the protocol. The dataclasses of the workbench stand in it as they are, with
their docstrings as descriptions."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import msgspec
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from assay.core.types import Document, Locator, counted
from assay.workbench.backlog import Backlog, BacklogFigures, HalachaBacklog, TheirBacklog
from assay.workbench.corpora import CorpusRow, citation_of
from assay.workbench.for_agents import NO_GRADES, CitedDocument, Elsewhere, ReviewItem, Scale
from assay.workbench.gold import GoldSummary
from assay.workbench.paging import Page
from assay.workbench.review import ToJudge
from assay.workbench.searching import FoundPage

NEAREST = "These are only the nearest: say that there is no answer, or ask in other words."
SNIPPET = 400
MOMENTS, MOMENT = 12, 1_000  # of a section, and characters of each

Place = dict[str, str | int]  # what a lawyer would cite: section, moment, page, …
Figure = dict[str, str | float]  # a cell of a table


def place_of(locator: Locator | None) -> Place:
    """Where in the document; the document itself has its id beside it."""
    place: Place = msgspec.to_builtins(locator) if locator is not None else {}
    return {part: value for part, value in place.items() if part != "doc_id"}


class Answer(BaseModel):
    """Results may gain fields; they do not lose any. An inner table that is empty is left out: an
    agent pays for every word."""

    model_config = ConfigDict(extra="forbid")

    @model_serializer(mode="wrap")
    def _without_empty_tables(self, whole: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {name: value for name, value in whole(self).items() if value != {}}


# ── searching ─────────────────────────────────────────────────────────────────────────────────────


class SearchFilters(BaseModel):
    """Only documents that pass all of these; empty passes everything."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: str = ""
    statute: str = Field(default="", description="Only documents that cite this.")
    law: str = Field(default="", description="Only this act.")
    language: str = Field(default="", description="en, fi or he.")
    year: str = Field(default="", description="2015, or 2010-2020.")
    as_of: str = Field(default="", description="What was in force on this day, YYYY-MM-DD.")


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
        "(no text here). Only what is in force is the law of the day.",
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
                snippet=hit.snippet[:SNIPPET],
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
    kind: str
    indexed: bool = Field(description="Whether it can be searched at once; else search indexes it.")


class Corpora(Answer):
    corpora: list[CorpusLine]
    message: str = ""

    @classmethod
    def of(cls, rows: list[tuple[CorpusRow, str, str]]) -> Corpora:
        return cls(
            message=""
            if rows
            else "No corpus is in the workspace of this server; a person adds one.",
            corpora=[
                CorpusLine(
                    name=row.name,
                    documents=row.documents,
                    language=language,
                    example=example,
                    kind=row.kind,
                    indexed=row.indexed,
                )
                for row, example, language in rows
            ],
        )


class CitationLine(Answer):
    text: str = Field(description="As it stands in the text.")
    normal: str = Field(description="The usual way to write it.")
    kind: str
    status: str
    doc_ids: list[str] = Field(default=[], description="The documents of the corpus that it names.")
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


# ── the backlog and the gold sets ─────────────────────────────────────────────────────────────────


class WaitingLine(Answer):
    item_id: str
    gold: str
    query_id: str
    query: str
    doc_ids: list[str]
    since: str
    grade: int | None = Field(default=None, description="What was suggested, where anything was.")
    by: str = ""
    rationale: str = ""


class Waiting(Answer):
    message: str
    items: list[WaitingLine]
    next_offset: int | None = None
    disagreements: int = Field(
        default=0, description="Of judges, waiting for a ruling. They are not among the items."
    )
    to_judge: int = Field(
        default=0, description="Documents of pools that wait for a judge. Not among the items."
    )

    @classmethod
    def of(
        cls, page: Page[ReviewItem], total: int, elsewhere: Elsewhere, names: dict[str, str]
    ) -> Waiting:
        lines = [
            WaitingLine(
                item_id=item.id,
                gold=names.get(item.gold, item.gold),
                query_id=item.ref,
                query=item.query,
                doc_ids=list(item.doc_ids),
                since=f"{item.created_at:%Y-%m-%d}",
                grade=item.grade,
                by=item.suggested_by,
                rationale=item.rationale[:SNIPPET],
            )
            for item in page.items
        ]
        verb = "waits" if total == 1 else "wait"
        told = f"{counted(total, 'item')} {verb} in the expert's review queue."
        empty = "Nothing waits in the expert's review queue."
        return cls(
            message=(told if total else empty) + elsewhere.told,
            items=lines,
            next_offset=page.next_offset,
            disagreements=elsewhere.disagreements,
            to_judge=elsewhere.to_judge,
        )


class Metrics(Answer):
    summary: str = Field(description="In words. list_waiting names what waits.")
    halacha_backlog: HalachaBacklog | None = Field(
        description="How many wait for an expert: of the configured table called halacha, else of "
        "Assay's own queue; none where that table cannot be read."
    )
    backlog: Backlog = Field(
        description="Assay's own queue, with ages in days, throughput a week and forecast."
    )
    backlogs: dict[str, TheirBacklog] = Field(
        default={}, description="The team's own tables, by the names they have in assay.toml."
    )

    @classmethod
    def of(cls, figures: BacklogFigures, elsewhere: Elsewhere) -> Metrics:
        own = _rounded(figures.backlog)
        since = (
            f", the oldest since {own.oldest_pending_at:%Y-%m-%d}" if own.oldest_pending_at else ""
        )
        waits = f"{counted(own.pending_review, 'item')} in the expert's queue{since}"
        return cls(
            summary=f"{waits}; {own.approved} approved, {own.rejected} turned down, "
            f"{own.published} published. Forecast: {own.forecast}.{elsewhere.told}",
            halacha_backlog=figures.halacha_backlog,
            backlog=own,
            backlogs=figures.backlogs,
        )


def _rounded(backlog: Backlog) -> Backlog:
    """Days and weeks with two decimals: nobody waits a millionth of a day."""
    ages = {name: age and round(age, 2) for name, age in asdict(backlog.age_days).items()}
    return replace(
        backlog,
        age_days=replace(backlog.age_days, **ages),
        throughput_per_week=round(backlog.throughput_per_week, 2),
        arrivals_per_week=round(backlog.arrivals_per_week, 2),
    )


class GoldSetLine(Answer):
    name: str
    path: str
    queries: int = 0
    judgments: int = 0
    status: str = Field(description="How far an expert has approved it, in words.")
    approved_share: float | None = Field(
        default=None, description="Of a set made from logs: the share of approved rows."
    )
    rubric: str = Field(default="", description="What its grades mean; get_rubric has the text.")
    error: str = ""

    @classmethod
    def of(cls, found: GoldSummary) -> GoldSetLine:
        """A file is told by its name: folders of the server are no matter of an agent."""
        told = found.status
        if told in ("", "unknown"):
            told = "not recorded: approval is counted for sets made from logs"
        return cls(
            name=found.name,
            path=Path(found.path).name,
            queries=found.queries,
            judgments=found.judgments,
            status=told,
            approved_share=found.approved_share,
            rubric=found.rubric,
            error=found.error,
        )


class GoldSets(Answer):
    gold_sets: list[GoldSetLine]
    next_offset: int | None = None

    @classmethod
    def of(cls, summaries: list[GoldSummary], offset: int, limit: int) -> GoldSets:
        end = offset + limit
        shown = [GoldSetLine.of(each) for each in summaries[offset:end]]
        return cls(gold_sets=shown, next_offset=end if len(summaries) > end else None)


class QueryLine(Answer):
    query_id: str
    query: str
    topic: str = ""
    judged: int = Field(default=0, description="How many documents are judged for it.")
    must: bool | None = Field(default=None, description="Of a golden set: whether it must pass.")


class Queries(Answer):
    gold: str
    queries: list[QueryLine]
    next_offset: int | None = None


class RubricText(Answer):
    grades: list[int] = Field(description="The scale.")
    scale: str = Field(description="The scale in words.")
    text: str = Field(description="When to give which grade, with edge cases.")
    version: str = ""


class DocumentToJudge(Answer):
    doc_id: str
    found: bool = Field(default=True, description="False where no corpus here has it.")
    corpus: str = ""
    title: str = ""
    citation: str = ""
    passage: str = Field(
        default="", description="What of it says most about the query; get_document reads all."
    )

    @classmethod
    def of(cls, doc_id: str, query: str, found: CitedDocument | None) -> DocumentToJudge:
        if found is None:
            return cls(doc_id=doc_id, found=False)
        return cls(
            doc_id=doc_id,
            corpus=found.corpus,
            title=found.document.title,
            citation=found.citation,
            passage=found.passage(query),
        )


class ItemToJudge(Answer):
    query_id: str
    query: str
    doc_ids: list[str]
    documents: list[DocumentToJudge]
    reason: str
    item_id: str = Field(default="", description="Where it waits in the expert's queue already.")


class NextToJudge(Answer):
    gold: str
    scale: str = Field(description="The grades; get_rubric says when to give which.")
    items: list[ItemToJudge]
    message: str = ""
    next_offset: int | None = None

    @classmethod
    def of(
        cls, gold: str, scale: Scale, page: Page[tuple[ToJudge, list[CitedDocument | None]]]
    ) -> NextToJudge:
        items = [
            ItemToJudge(
                query_id=item.query_id,
                query=item.query,
                doc_ids=item.doc_ids,
                documents=[
                    DocumentToJudge.of(doc_id, item.query, document)
                    for doc_id, document in zip(item.doc_ids, documents, strict=True)
                ],
                reason=item.reason,
                item_id=item.item_id,
            )
            for item, documents in page.items
        ]
        message = ""
        if not scale.grades:
            message = NO_GRADES
        elif not items and page.offset:
            message = f"There is nothing from offset {page.offset} on."
        elif not items:
            message = "Nothing waits, and no run of this set has unjudged documents."
        return cls(
            gold=gold,
            scale=scale.text,
            items=items,
            message=message,
            next_offset=page.next_offset,
        )


class Suggested(Answer):
    item_id: str
    state: str = Field(description="pending_review until an expert decides.")
    gold: str
    query_id: str
    doc_id: str
    grade: int
    note: str = "An expert decides; the gold set is unchanged."

    @classmethod
    def of(cls, item: ReviewItem, gold: str) -> Suggested:
        return cls(
            item_id=item.id,
            state=item.state,
            gold=gold,
            query_id=item.ref,
            doc_id=item.doc_ids[0],
            grade=item.grade or 0,
        )
