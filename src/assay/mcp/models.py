"""What the tools answer: every answer has a schema, and may gain fields but does not lose any.

An answer is a model of the protocol. The dataclasses of the workbench stand in it as they are, with
their docstrings as descriptions."""

from __future__ import annotations

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from assay.core.results_file import measure_to_json
from assay.core.types import Document, Locator
from assay.workbench import history
from assay.workbench.backlog import Backlog, BacklogFigures, HalachaBacklog, TheirBacklog
from assay.workbench.corpora import FoundDocument
from assay.workbench.gold import GoldSummary
from assay.workbench.history import Comparison, Difference, KeptRun, Leaderboard, Moved
from assay.workbench.paging import Page
from assay.workbench.review import ReviewItem, ToJudge

SNIPPET = 400

Place = dict[str, str | int]  # what a lawyer would cite: section, moment, page, …
Figure = dict[str, str | float]  # a cell of a table


def place_of(locator: Locator | None) -> Place:
    place: Place = msgspec.to_builtins(locator) if locator is not None else {}
    return place


class Answer(BaseModel):
    """Results may gain fields; they do not lose any."""

    model_config = ConfigDict(extra="forbid")


# ── searching ─────────────────────────────────────────────────────────────────────────────────────


class Found(Answer):
    doc_id: str
    score: float | None = None
    title: str = ""
    snippet: str = Field("", description="The beginning of the text.")
    locator: Place = Field({}, description="Section, moment, page: what a lawyer would cite.")
    cell: Figure = Field(
        {}, description="Of a row of a table: row, column, text, value, unit, table."
    )


class SearchResults(Answer):
    corpus: str
    query: str
    hits: list[Found]
    next_offset: int | None = Field(
        None, description="Where the next page begins; none when this was the last."
    )

    @classmethod
    def of(cls, corpus: str, query: str, page: Page[FoundDocument]) -> SearchResults:
        hits = [
            Found(
                doc_id=hit.doc_id,
                score=hit.score,
                title=hit.title,
                snippet=hit.snippet[:SNIPPET],
                locator=place_of(hit.locator),
                cell=msgspec.to_builtins(hit.cell) if hit.cell is not None else {},
            )
            for hit in page.items
        ]
        return cls(corpus=corpus, query=query, hits=hits, next_offset=page.next_offset)


class DocumentText(Answer):
    doc_id: str
    title: str
    text: str = Field(description="From the offset on, as many characters as asked for.")
    characters: int = Field(description="The length of the whole text.")
    next_offset: int | None = None
    language: str = ""
    citations: list[str] = []
    locator: Place = {}
    metadata: dict[str, JsonValue] = {}

    @classmethod
    def of(cls, document: Document, start: int, characters: int) -> DocumentText:
        end = start + characters
        return cls(
            doc_id=document.id,
            title=document.title,
            text=document.text[start:end],
            characters=len(document.text),
            next_offset=end if end < len(document.text) else None,
            language=document.language,
            citations=list(document.citations),
            metadata=document.metadata,
            locator=place_of(document.locator),
        )


# ── the backlog and the gold sets ─────────────────────────────────────────────────────────────────


class Metrics(Answer):
    halacha_backlog: HalachaBacklog | None = Field(
        description="How many wait for an expert: of the configured table called halacha, else of "
        "Assay's own queue; none where that table cannot be read."
    )
    backlog: Backlog = Field(
        description="Assay's own queue, with ages in days, throughput a week and forecast."
    )
    backlogs: dict[str, TheirBacklog] = Field(
        {}, description="The team's own tables, by the names they have in assay.toml."
    )

    @classmethod
    def of(cls, figures: BacklogFigures) -> Metrics:
        return cls(
            halacha_backlog=figures.halacha_backlog,
            backlog=figures.backlog,
            backlogs=figures.backlogs,
        )


class GoldSets(Answer):
    gold_sets: list[GoldSummary]
    next_offset: int | None = None

    @classmethod
    def of(cls, summaries: list[GoldSummary], offset: int, limit: int) -> GoldSets:
        end = offset + limit
        return cls(
            gold_sets=summaries[offset:end], next_offset=end if len(summaries) > end else None
        )


class NextToJudge(Answer):
    items: list[ToJudge]
    next_offset: int | None = None

    @classmethod
    def of(cls, page: Page[ToJudge]) -> NextToJudge:
        return cls(items=page.items, next_offset=page.next_offset)


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


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────

Interval = tuple[float | None, float | None]


class Evaluation(Answer):
    run_id: str = Field(description="For compare_runs and explain_score.")
    engine: str
    gold: str
    gold_status: str
    queries: int
    overall: dict[str, float | None] = Field(description="Mean of every measure over all queries.")
    intervals: dict[str, Interval] = Field({}, description="95 % interval of every mean.")

    @classmethod
    def of(cls, run: KeptRun, gold: str) -> Evaluation:
        results = run.results
        return cls(
            run_id=run.id,
            engine=run.engine,
            gold=gold,
            gold_status=results.receipt.gold.status or "unknown",
            queries=len(results.per_query),
            overall=results.overall,
            intervals=results.intervals.overall,
        )


# The fields of a Comparison stand here again: the SDK takes no struct, and a dataclass at the top
# would lose what each field means to an agent. A test holds the two together.
class RunComparison(Answer):
    baseline: str
    systems: list[str]
    headline: str
    differences: list[Difference] = Field(
        description="By measure: values, difference, interval, p-values, wins."
    )
    moved: list[Moved] = Field(
        description="The queries that moved most, and what entered and left."
    )
    warnings: list[str]
    gold_status: str = Field(
        "", description="How far the gold set is approved; empty where that is not recorded."
    )
    variants: list[Difference] = Field(
        [], description="The same for perturbed variants of golden questions."
    )
    margin: float | None = Field(
        None, description="Within which two engines count as equivalent, where one was given."
    )
    leaderboard: Leaderboard | None = Field(
        None, description="Of three systems or more: places, groups, pairs and slices."
    )

    @classmethod
    def of(cls, comparison: Comparison) -> RunComparison:
        return cls.model_validate(comparison, from_attributes=True)


class MeasureFormula(BaseModel):
    """A measure: the key of its values, its formula, and its settings (rel, gain, p, …) as further
    fields."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int | float | str | None]

    key: str
    measure: str
    cutoff: int | None = None
    formula: str = ""
    source: str = ""


class Explanation(Answer):
    query_id: str
    query: str
    results: list[str] = Field(description="The ranking.")
    grades: list[int | None] = Field(
        description="The grade at every rank; none where nobody has judged."
    )
    metrics: dict[str, float | None]
    measures: list[MeasureFormula] = Field(description="The formula behind every number.")

    @classmethod
    def of(cls, explained: history.Explanation) -> Explanation:
        entry = explained.entry
        return cls(
            query_id=entry.query_id,
            query=entry.query_text,
            results=entry.results,
            grades=entry.grades,
            metrics=entry.metrics,
            measures=[
                MeasureFormula.model_validate(measure_to_json(line)) for line in explained.measures
            ],
        )
