"""What the tools answer: every answer has a schema, and may gain fields but does not lose any.

An answer is a model of the protocol. The dataclasses of the workbench stand in it as they are, with
their docstrings as descriptions."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import msgspec
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from assay.core.types import Locator, counted
from assay.workbench.backlog import Backlog, BacklogFigures, ExternalBacklog, HalachaBacklog
from assay.workbench.for_agents import NO_GRADES, CitedDocument, Elsewhere, ReviewItem, Scale
from assay.workbench.gold import GoldSummary
from assay.workbench.paging import Page
from assay.workbench.suggestions import ToJudge

SNIPPET = 400  # characters
LONGEST = 1_950  # characters of an answer, where no more is asked for: an agent pays for every word
LEAST = 60  # characters of a passage
AROUND = 20  # what a passage costs beside itself: its name, quotes and dots
TO_JUDGE, LEAST_TO_JUDGE = 3, 160  # documents at a time, and characters of each

Place = dict[str, str | int]  # what a lawyer would cite: section, moment, page, …
Figure = dict[str, str | float]  # a cell of a table


def place_of(locator: Locator | None) -> Place:
    """Where in the document; the document itself has its id beside it."""
    place: Place = msgspec.to_builtins(locator) if locator is not None else {}
    return {part: value for part, value in place.items() if part != "doc_id"}


class Answer(BaseModel):
    """Results may gain fields; they do not lose any. An inner table that is empty is left out."""

    model_config = ConfigDict(extra="forbid")

    @model_serializer(mode="wrap")
    def _without_empty_tables(self, whole: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {name: value for name, value in whole(self).items() if value != {}}


class Line(Answer):
    """One of many in an answer: what is empty in it is left out."""

    @model_serializer(mode="wrap")
    def _without_empty_tables(self, whole: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {name: value for name, value in whole(self).items() if value not in EMPTY}


EMPTY: tuple[object, ...] = ("", None, [], {})
A = TypeVar("A", bound=Answer)


def written(answer: object) -> str:
    """An answer as an agent reads it."""
    return json.dumps(answer, ensure_ascii=False)


def length(answer: Answer) -> int:
    return len(written(answer.model_dump(mode="json")))


def fitted(answer: A, lines: str, offset: int) -> A:
    """As many lines as are read in one go, and at least one; the others are on the next page."""
    every = getattr(answer, lines)
    kept = len(every)
    while kept > 1 and length(answer) > LONGEST:
        kept -= 1
        answer = answer.model_copy(update={lines: every[:kept], "next_offset": offset + kept})
    return answer


def room_for(answer: Answer, passages: int, usual: int, least: int = LEAST) -> int:
    """How many characters each passage may have, where the answer has none yet. A longer list than
    usual is longer, and not thinner."""
    whole = LONGEST * max(passages, usual) // usual
    return max(least, (whole - length(answer)) // max(passages, 1) - AROUND)


def cut(passage: str, room: int, words: list[str] | None = None) -> str:
    """A passage in so many characters: from the sentence on where most of these words stand."""
    if len(passage) <= room or not room:
        return passage if room else ""
    asked = [word.casefold() for word in words or ()]

    def held(start: int, end: int) -> int:
        return sum(word in passage[start:end].casefold() for word in asked)

    cuts = [0, *(found.end() for found in SENTENCE.finditer(passage)), len(passage)]
    starts = [start for start, end in pairwise(cuts) if held(start, end)] or [0]
    begin = max(starts, key=lambda start: (held(start, start + room), -start))
    shown = passage[begin:]
    if len(shown) > room:
        shown = shown[:room].rsplit(" ", 1)[0].rstrip(" …") + " …"
    return f"… {shown}" if begin and not shown.startswith("…") else shown


SENTENCE = re.compile(r"(?<=[.;:?!…])\s+(?=\S)")


# ── the backlog and the gold sets ─────────────────────────────────────────────────────────────────


class WaitingLine(Line):
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
        description="How many wait for an expert: of the configured table called halacha; where "
        "there is none, the same counts as in backlog; null where that table cannot be read."
    )
    backlog: Backlog = Field(
        description="Assay's own queue, with ages in days, throughput a week and forecast."
    )
    backlogs: dict[str, ExternalBacklog] = Field(
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
            summary=f"{waits}. Through this queue: {own.approved} approved, {own.rejected} turned "
            f"down, {own.published} published; how much of a set is approved in all, "
            f"list_gold_sets says. Forecast: {own.forecast}.{elsewhere.told}",
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


class GoldSetLine(Line):
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
            approved_share=found.approved_share and round(found.approved_share, 3),
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


class QueryLine(Line):
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


class DocumentToJudge(Line):
    doc_id: str
    found: bool = Field(default=True, description="False where no corpus here has it.")
    corpus: str = ""
    title: str = ""
    citation: str = ""
    passage: str = Field(
        default="", description="What of it says most about the query; get_document reads all."
    )

    @classmethod
    def of(cls, doc_id: str, found: CitedDocument | None, passage: str) -> DocumentToJudge:
        if found is None:
            return cls(doc_id=doc_id, found=False)
        return cls(
            doc_id=doc_id,
            corpus=found.corpus,
            title=found.document.title,
            citation=found.citation,
            passage=passage,
        )


class ItemToJudge(Line):
    query_id: str
    query: str
    doc_ids: list[str]
    documents: list[DocumentToJudge]
    reason: str
    item_id: str = Field(default="", description="Where it waits in the expert's queue already.")

    @classmethod
    def of(
        cls, item: ToJudge, found: list[CitedDocument | None], passages: list[str]
    ) -> ItemToJudge:
        every = zip(item.doc_ids, found, passages, strict=True)
        return cls(
            query_id=item.query_id,
            query=item.query,
            doc_ids=item.doc_ids,
            documents=[DocumentToJudge.of(*each) for each in every],
            reason=item.reason,
            item_id=item.item_id,
        )


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
        lines = [item for item, _ in page.items]
        found = [documents for _, documents in page.items]
        passages = [
            [("", []) if each is None else each.passage(item.query) for each in documents]
            for item, documents in page.items
        ]

        def items_with(room: int) -> list[ItemToJudge]:
            shown = [[cut(text, room, words) for text, words in each] for each in passages]
            return [ItemToJudge.of(*each) for each in zip(lines, found, shown, strict=True)]

        message = ""
        if not scale.grades:
            message = NO_GRADES
        elif not lines and page.offset:
            message = f"There is nothing from offset {page.offset} on."
        elif not lines:
            message = "Nothing waits, and no run of this set has unjudged documents."
        answer = cls(
            gold=gold,
            scale=scale.text,
            items=items_with(0),
            message=message,
            next_offset=page.next_offset,
        )
        room = room_for(answer, sum(map(len, passages)), TO_JUDGE, LEAST_TO_JUDGE)
        return answer.model_copy(update={"items": items_with(room)})


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
