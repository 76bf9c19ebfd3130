"""Tools that list gold sets and the review queue, and suggest judgments to an expert."""

from __future__ import annotations

import dataclasses
import difflib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from assay.core.errors import InputError, NotHere
from assay.core.types import GoldSet, Page, Query, page_of, page_size
from assay.corpus.disk import list_corpora as corpus_names
from assay.judging import rubrics
from assay.judging.passages import passages
from assay.judging.pool import read_pool
from assay.judging.rubrics import Rubric
from assay.law.citing import citation_of
from assay.reports.wording import backlog_summary, waiting_elsewhere, waiting_items
from assay.workbench.agents.short_answers import (
    MAX_LINES,
    Limit,
    Offset,
    fit_answer,
    room_for,
    round_figure,
    shorten_passage,
)
from assay.workbench.judging.gold_sets import GoldSummary, gold_list
from assay.workbench.judging.pool import judged_now
from assay.workbench.judging.vote_totals import set_progress
from assay.workbench.project.service import Service, gold_path, read_gold, run_names
from assay.workbench.review import queue, suggestions
from assay.workbench.review.item import TOP_GRADE
from assay.workbench.review.queue import Backlog, BacklogFigures, backlog_figures
from assay.workbench.review.suggestions import ToJudge, worth_looking_at
from assay.workbench.scoring.request import rubric_of
from assay.workbench.searching.open_corpora import reader_named

NOT_RECORDED = "not recorded: approval is counted for sets made from logs"
NO_GRADES = "This is a golden set: its questions pass or fail, and take no grades."
MOST_RATIONALE = 400  # characters of the reason for a suggestion; taste
PASSAGE = 900  # characters of a document to judge, before the answer is shortened; taste
TO_JUDGE, LEAST_TO_JUDGE = 3, 160  # items at a time, and characters of each document; taste
GoldName = Annotated[str, Meta(description="The name of a gold set, from list_gold_sets.")]
NEWEST: list[str] = []  # no runs are named: take the newest


# ── gold sets ─────────────────────────────────────────────────────────────────────────────────────


class GoldSets(msgspec.Struct, frozen=True, kw_only=True):
    gold_sets: list[GoldSummary]
    next_offset: int | None = None


def list_gold_sets(service: Service, limit: Limit = 0, offset: Offset = 0) -> GoldSets:
    """List the gold sets, with their size and how much of each an expert has approved."""
    summaries = gold_list(service)
    end = offset + (limit or MAX_LINES)
    lines = [
        msgspec.structs.replace(
            found,
            path=Path(found.path).name,
            status=found.status if found.status not in ("", "unknown") else NOT_RECORDED,
            approved_share=round_figure(found.approved_share),
        )
        for found in summaries[offset:end]
    ]
    answer = GoldSets(gold_sets=lines, next_offset=end if len(summaries) > end else None)
    return answer if limit else fit_answer(answer, "gold_sets", offset)


def gold_names(service: Service) -> dict[str, str]:
    """The name in the configuration of each gold set, by its name in the store."""
    return {
        kept: name for name, path in service.gold_sets.items() for kept in run_names(service, path)
    }


class QueryLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A query. `judged` is how many documents are judged for it; `must`, in a golden set, whether
    it must pass."""

    query_id: str
    query: str
    topic: str = ""
    judged: int
    must: bool | None = None


class Queries(msgspec.Struct, frozen=True, kw_only=True):
    gold: str
    queries: list[QueryLine]
    next_offset: int | None = None


def list_queries(
    service: Service,
    gold: GoldName,
    find: Annotated[str, Meta(description="Only queries with these words.")] = "",
    limit: Limit = 0,
    offset: Offset = 0,
) -> Queries:
    """List the queries of a gold set with their ids."""
    gold_set = read_gold(service, gold)
    counts = Counter(gold_set.judgments["query_id"].to_list())
    words = find.casefold().split()
    every = [
        QueryLine(
            query_id=query.id,
            query=query.text,
            topic=query.topic or query.category,
            judged=counts[query.id],
            must=query.must,
        )
        for query in gold_set.queries
        if all(word in f"{query.id} {query.text} {query.topic}".casefold() for word in words)
    ]
    page = page_of(every[offset:], offset, page_size(limit or MAX_LINES))
    answer = Queries(gold=gold, queries=page.items, next_offset=page.next_offset)
    return answer if limit else fit_answer(answer, "queries", offset)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The grades of a gold set, and the rubric that explains them, if there is one."""

    grades: tuple[int, ...]
    names: tuple[str, ...]
    rubric: Rubric | None = None

    @property
    def text(self) -> str:
        named = [f"{g} {name}".strip() for g, name in zip(self.grades, self.names, strict=True)]
        return ", ".join(named)


def scale_of(service: Service, gold: str) -> Scale:
    """The scale of a gold set by its rubric, else by its format."""
    gold_set = read_gold(service, gold)
    if gold_set.is_golden:
        return Scale(grades=(), names=())
    rubric = rubric_of(gold_set, gold_path(service, gold))
    if rubric is not None:
        return _scale_of_rubric(rubric)
    top = gold_set.top_grade or TOP_GRADE
    grades = tuple(range(top + 1))
    names = ("not relevant", *([""] * (top - 1)), "most relevant") if top else ("",)
    return Scale(grades=grades, names=names)


def _scale_of_rubric(rubric: Rubric) -> Scale:
    labels = {grade.value: grade.label for grade in rubric.grades}
    grades = tuple(sorted(labels))
    return Scale(grades=grades, names=tuple(labels[grade] for grade in grades), rubric=rubric)


class RubricText(msgspec.Struct, frozen=True, kw_only=True):
    """A rubric: the grades, the same `scale` in words, and the `text` that says when to give which
    grade, with edge cases."""

    grades: tuple[int, ...]
    scale: str
    text: str
    version: str = ""


def get_rubric(
    service: Service,
    gold: Annotated[str, Meta(description="The gold set that the rubric is for.")] = "",
    name: Annotated[str, Meta(description="Alternatively, the name of a rubric.")] = "",
) -> RubricText:
    """Read the rubric: when to give which grade. Read it before you judge."""
    if gold:
        scale = scale_of(service, gold)
    else:
        known = [found.name for found in rubrics.available()]
        if name and name not in known:
            raise NotHere(f"no rubric {name!r}", hint=f"Known: {', '.join(known)}.")
        scale = _scale_of_rubric(rubrics.find(name or rubrics.DEFAULT))
    version, text = "", f"This set names no rubric. Grades: {scale.text}."
    if not scale.grades:
        text = NO_GRADES
    elif scale.rubric is not None:
        version, text = rubrics.version(scale.rubric), rubrics.as_markdown(scale.rubric)
    return RubricText(grades=scale.grades, scale=scale.text, text=text, version=version)


# ── the review queue ──────────────────────────────────────────────────────────────────────────────


class OutsideQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Work that waits outside the review queue: `disagreements` of judges that need a ruling, and
    documents of pools `to_judge`."""

    disagreements: int
    to_judge: int


def outside_queue(service: Service, gold: str = "") -> OutsideQueue:
    """The work outside the queue for one gold set, or for all."""
    asked = gold_path(service, gold) if gold else None
    standings = [
        set_progress(name, path)
        for name, path in service.gold_sets.items()
        if asked is None or path == asked
    ]
    return OutsideQueue(
        disagreements=sum(each.disputes for each in standings),
        to_judge=sum(each.to_judge for each in standings),
    )


class PendingItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of the review queue, with the grade that was suggested, by whom and why."""

    item_id: str
    gold: str
    query_id: str
    query: str
    doc_ids: tuple[str, ...]
    since: str
    grade: int | None = None
    by: str = ""
    rationale: str = ""


class PendingItems(OutsideQueue, frozen=True):
    """The review queue. `disagreements` of judges and documents of pools `to_judge` are not among
    the items."""

    message: str
    items: list[PendingItem]
    next_offset: int | None = None


def list_waiting(
    service: Service,
    gold: Annotated[str, Meta(description="Only this gold set; if empty, all.")] = "",
    limit: Limit = 0,
    offset: Offset = 0,
) -> PendingItems:
    """List the expert's review queue, the oldest item first: what was suggested, by whom and why.
    Disagreements of judges and documents to judge are not in this queue: they are only counted."""
    page = queue.queue(service, gold=gold, limit=limit or MAX_LINES, offset=offset)
    total = backlog_figures(service, gold=gold).backlog.pending_review
    outside = outside_queue(service, gold)
    names = gold_names(service)
    lines = [
        PendingItem(
            item_id=item.id,
            gold=names.get(item.gold, item.gold),
            query_id=item.ref,
            query=item.query,
            doc_ids=item.doc_ids,
            since=f"{item.created_at:%Y-%m-%d}",
            grade=item.grade,
            by=item.suggested_by,
            rationale=item.rationale[:MOST_RATIONALE],
        )
        for item in page.items
    ]
    answer = PendingItems(
        message=waiting_items(total) + waiting_elsewhere(outside.disagreements, outside.to_judge),
        items=lines,
        next_offset=page.next_offset,
        disagreements=outside.disagreements,
        to_judge=outside.to_judge,
    )
    return answer if limit else fit_answer(answer, "items", offset)


class Metrics(BacklogFigures, frozen=True):
    """The review backlog; `summary` has it in words. `backlog` is Assay's own queue, with ages in
    days, throughput a week and forecast; `backlogs` are the team's own tables, by their names in
    assay.toml. `halacha_backlog` counts the table called halacha; without one, it has the counts of
    `backlog`; it is null if that table cannot be read."""

    summary: str


def get_metrics(service: Service, gold: str = "") -> Metrics:
    """Get the expert's review backlog, for one gold set or for all: how many items are pending, and
    for how long."""
    return metrics_of(backlog_figures(service, gold=gold), outside_queue(service, gold))


def metrics_of(figures: BacklogFigures, outside: OutsideQueue) -> Metrics:
    """The backlog with its summary in words, days and weeks rounded to two decimals."""
    own = _with_two_decimals(figures.backlog)
    elsewhere = waiting_elsewhere(outside.disagreements, outside.to_judge)
    return Metrics(
        summary=backlog_summary(own) + elsewhere,
        halacha_backlog=figures.halacha_backlog,
        backlog=own,
        backlogs=figures.backlogs,
    )


def _with_two_decimals(backlog: Backlog) -> Backlog:
    ages = {name: age and round(age, 2) for name, age in vars(backlog.age_days).items()}
    return dataclasses.replace(
        backlog,
        age_days=dataclasses.replace(backlog.age_days, **ages),
        throughput_per_week=round(backlog.throughput_per_week, 2),
        arrivals_per_week=round(backlog.arrivals_per_week, 2),
    )


# ── judging ───────────────────────────────────────────────────────────────────────────────────────


class DocumentToJudge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A document to judge; not `found` if no corpus here has it. `passage` is closest to the query;
    get_document has the whole text."""

    doc_id: str
    found: bool
    corpus: str = ""
    title: str = ""
    citation: str = ""
    passage: str = ""


class ItemToJudge(ToJudge, frozen=True, kw_only=True):
    """A query and documents to judge, and why. `item_id` is set if it is in the review queue."""

    documents: list[DocumentToJudge]


class NextToJudge(msgspec.Struct, frozen=True, kw_only=True):
    """What to judge next. `scale` names the grades; get_rubric says when to give which."""

    gold: str
    scale: str
    items: list[ItemToJudge]
    message: str = ""
    next_offset: int | None = None


def next_to_judge(
    service: Service,
    gold: GoldName,
    limit: Limit = 0,
    offset: Offset = 0,
    run_ids: Annotated[
        list[str],
        Meta(
            max_length=2,
            description="One or two runs; documents that would settle them come first.",
        ),
    ] = NEWEST,
) -> NextToJudge:
    """Get what to judge next on a gold set, with the documents: first what is pending in the
    expert's queue, then unjudged documents whose grade would settle most between the newest runs,
    and last what already has a suggested grade."""
    page = worth_looking_at(service, gold, limit or TO_JUDGE, offset, run_ids=run_ids)
    scale = scale_of(service, gold)
    found = [
        [_document_to_judge(service, gold, item, doc_id) for doc_id in item.doc_ids]
        for item in page.items
    ]

    def with_passages_of(room: int) -> NextToJudge:
        items = [
            ItemToJudge(
                **msgspec.structs.asdict(item),
                documents=[
                    msgspec.structs.replace(
                        document, passage=shorten_passage(document.passage, room, words)
                    )
                    for document, words in documents
                ],
            )
            for item, documents in zip(page.items, found, strict=True)
        ]
        return NextToJudge(
            gold=gold,
            scale=scale.text,
            items=items,
            message=_judging_message(page, scale),
            next_offset=page.next_offset,
        )

    room = room_for(with_passages_of(0), sum(map(len, found)), TO_JUDGE, LEAST_TO_JUDGE)
    answer = with_passages_of(room)
    return answer if limit else fit_answer(answer, "items", offset)


def _judging_message(page: Page[ToJudge], scale: Scale) -> str:
    if not scale.grades:
        return NO_GRADES
    if page.items:
        return ""
    if page.offset:
        return f"There is nothing from offset {page.offset} on."
    return "Nothing waits, and no run of this set has unjudged documents."


def _document_to_judge(
    service: Service, gold: str, item: ToJudge, doc_id: str
) -> tuple[DocumentToJudge, tuple[str, ...]]:
    """A document with its passage, chosen without any engine, and the words of the query in it."""
    for name, where in _corpora_to_read(service, item.corpus, gold):
        try:
            document = reader_named(where, service.home).get(doc_id)
        except InputError:
            continue  # the file is gone: another corpus may have the document
        if document is None:
            continue
        best = passages(item.query, document)
        whole = " … ".join(best.texts) or document.text
        line = DocumentToJudge(
            doc_id=doc_id,
            found=True,
            corpus=name,
            title=document.title,
            citation=citation_of(document),
            passage=whole if len(whole) <= PASSAGE else f"{whole[:PASSAGE]} …",
        )
        return line, tuple(best.words)
    return DocumentToJudge(doc_id=doc_id, found=False), ()


def _corpora_to_read(service: Service, corpus: str, gold: str) -> Iterator[tuple[str, str]]:
    """The name that people use and the place of each corpus that may have a document: the corpus
    named, that of the pool of the set, those of the workspace and of the configured engines."""
    known = corpus_names(service.home)
    places = [corpus] if corpus in known else []
    if gold and (pool := read_pool(gold_path(service, gold))) is not None and pool.corpus:
        places.append(pool.corpus)
    places += known
    engines = service.config.engines.values() if service.config else ()
    places += [engine.corpus for engine in engines if engine.corpus]
    for where in dict.fromkeys(places):
        yield (where if where in known else Path(where).stem), where


class SuggestionReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """A suggestion. Its `state` is pending_review until an expert decides."""

    item_id: str
    state: str
    gold: str
    query_id: str
    doc_id: str
    grade: int
    note: str = "An expert decides; the gold set is unchanged."


def suggest_judgment(
    service: Service,
    gold: GoldName,
    query_id: str,
    doc_id: str,
    grade: Annotated[int, Meta(description="A grade on the scale of the set; see get_rubric.")],
    rationale: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=suggestions.LONGEST_REASON,
            description="Why, in a sentence or two, for the expert.",
        ),
    ],
    by: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=suggestions.LONGEST_NAME,
            description="Your name and version.",
        ),
    ],
    allow_unknown: Annotated[
        bool, Meta(description="Accept a document that no corpus, search or run here has.")
    ] = False,
) -> SuggestionReceipt:
    """Suggest a judgment. It is pending in the review queue until an expert decides, and does not
    change the gold set."""
    _check_suggestion(service, gold, query_id, doc_id, grade)
    item = suggestions.suggest(
        service,
        gold,
        (query_id, doc_id),
        grade,
        rationale=rationale,
        by=by,
        allow_unknown=allow_unknown,
    )
    return SuggestionReceipt(
        item_id=item.id,
        state=item.state,
        gold=gold,
        query_id=item.ref,
        doc_id=item.doc_ids[0],
        grade=item.grade or 0,
    )


def _check_suggestion(service: Service, gold: str, query_id: str, doc_id: str, grade: int) -> None:
    """Refuse a suggestion that an expert cannot use: for an unknown query, off the scale of the
    set, or for a document that is judged already."""
    gold_set = read_gold(service, gold)
    query = next((query for query in gold_set.queries if query.id == query_id), None)
    if query is None:
        near = difflib.get_close_matches(query_id, gold_set.query_ids, n=3, cutoff=0.5)
        hint = f"Near: {', '.join(near)}." if near else "list_queries names those there are."
        raise NotHere(f"no query {query_id!r} in gold set {gold!r}", hint=hint)
    if gold_set.is_golden:
        raise InputError(
            f"{gold!r} is a golden set: its questions pass or fail, and take no grades"
        )
    scale = scale_of(service, gold)
    if grade not in scale.grades:
        raise InputError(
            f"grade {grade} is not on the scale of {gold!r}", hint=f"It has {scale.text}."
        )
    if (query_id, doc_id) in _decided_pairs(service, gold, gold_set, query):
        known = _grade_of(gold_set, query_id, doc_id)
        raise InputError(
            f"document {doc_id!r} is judged already for query {query_id!r}{known}",
            hint="next_to_judge lists the documents that are not judged yet.",
        )


def _decided_pairs(
    service: Service, gold: str, gold_set: GoldSet, query: Query
) -> set[tuple[str, str]]:
    """The pairs with a label or a vote; in a set made from logs, those that the expert approved."""
    if gold_set.from_logs and query.source != "chair":
        return set()
    return judged_now(gold_path(service, gold), gold_set)


def _grade_of(gold: GoldSet, query_id: str, doc_id: str) -> str:
    for judgment in gold.iter_judgments():
        if (judgment.query_id, judgment.doc_id) == (query_id, doc_id):
            return f": grade {judgment.grade}"
    return ""
