"""Tools for agents: one function for each tool of the MCP server, and the struct of its answer.

The docstrings and annotations here are all that a model knows of a tool: the schemas of arguments
and answers are made from them. An answer may gain fields but does not lose any. It is complete
(title, passage, citation, scale), so that the next step needs no other question, and short unless
more is asked for. In a line of a list, empty fields are left out."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar

import msgspec
from msgspec import Meta

from assay.core.errors import InputError, NotHere
from assay.core.results import (
    Entry,
    GoldenEntry,
    GoldenHit,
    GoldenResults,
    GradedEntry,
    GradedResults,
    MeasureLine,
    Results,
)
from assay.core.results_file import measure_to_json
from assay.core.types import Document, GoldSet, JsonObject, Locator, Query, counted
from assay.corpus.disk import list_corpora as corpus_names
from assay.corpus.older import OLDER, imported_by_older
from assay.judging import rubrics
from assay.judging.passages import passages
from assay.judging.pool import read_pool
from assay.judging.rubrics import Rubric
from assay.law.citing import citation_of
from assay.reports import evaluation_report, view
from assay.reports.doubted import COMMAND, answers
from assay.reports.sentences import Sentences, inline
from assay.reports.whys import told_why
from assay.reports.words import Words
from assay.search.cells import Cell
from assay.search.told import Told
from assay.workbench import corpora, history, review
from assay.workbench.backlog import Backlog, BacklogFigures, backlog_figures
from assay.workbench.corpora import citations_in, corpus_named, corpus_rows
from assay.workbench.engines import engine_kinds
from assay.workbench.filtering import NonePasses, acts_of, read_filters
from assay.workbench.gold import GoldSummary, gold_list
from assay.workbench.history import Comparison, Difference, kept_run
from assay.workbench.in_memory import is_golden
from assay.workbench.opening import Service, gold_path, read_gold, run_names
from assay.workbench.paging import Page, page_of, page_size
from assay.workbench.pooling import judged_now
from assay.workbench.review import TOP_GRADE, ToJudge, worth_looking_at
from assay.workbench.searching import (
    IN_FORCE,
    FoundDocument,
    FoundPage,
    found_page,
    language_of,
)
from assay.workbench.set_standing import set_standing
from assay.workbench.shelves import reader_named
from assay.workbench.shipping import may_ship, ship_answer
from assay.workbench.suite import rubric_of
from assay.workbench.units import rest_of_section, when_in_force

NO_GRADES = "This is a golden set: its questions pass or fail, and take no grades."
FIRST_SEARCH = "It can be searched; the first search takes longer, since it builds the index."
NEAREST = "These are only the nearest: say that there is no answer, or ask in other words."
CLOSE = (
    "Close means a neighbour of the expected place: another moment of its section, or the section, "
    "page or column beside it."
)
INTERNAL = ("addressed_to",)  # metadata that only looks a letter up
FIGURES = ("ndcg@10", "map", "pass_rate_total", "pass_rate_must")  # of a run in a list

# How much an answer holds: taste. An agent pays for every word; the tools promise 2,000 characters.
LONGEST = 1_950  # characters of an answer where no limit is given
SNIPPET = 400  # characters of a passage of a hit, and of a rationale
LEAST = 60  # characters of a passage, however many share the room
AROUND = 20  # characters that a passage takes beside its text: its name, quotes and dots
BEGINNING = 40  # characters by which the beginning of a text is recognized
PASSAGE = 900  # characters of a document to judge, before the answer is shortened
TO_JUDGE, LEAST_TO_JUDGE = 3, 160  # items at a time, and characters of each document
MOST_TITLE = 90  # characters of a title in a short answer
LONGEST_QUERY = 200  # characters of a query in a list
USUAL = 4  # hits of a short answer
NEAR = 2  # hits of a short answer where none answers
MOST = 50  # lines of a list that are considered
MOST_RUNS = 8
MOST_ACTS = 10  # acts of a corpus
MOST_NAMED = 20  # documents that a citation names
MOMENTS, MOMENT = 12, 1_000  # other moments of a section, and characters of each
MOST_FAILED, MOST_FAILED_LISTED = 50, 10  # failed questions of a run, alone and in a list
MOST_CHANGES, MOST_MOVED = 3, 3  # measures and queries of a comparison
SHOWN = 20  # hits of an explanation
MOST_MISSED = 5  # relevant documents outside the ranking
MOST_KINDS = 6  # kinds of queries, the worst ones

# What tools take. Bounds and descriptions are part of the schema that a client sees.
Limit = Annotated[
    int,
    Meta(ge=0, le=200, description="How many at most; 0: as many as fit in 2,000 characters."),
]
Offset = Annotated[
    int,
    Meta(ge=0, le=10**9, description="Where to begin: the next_offset of the last answer."),
]
CorpusName = Annotated[str, Meta(description="A corpus that list_corpora names.")]
GoldName = Annotated[str, Meta(description="A gold set that list_gold_sets names.")]
RunId = Annotated[str, Meta(description="From run_evaluation or list_runs.")]
NEWEST: list[str] = []  # no runs are named: take the newest


# ── fitting an answer into the room ───────────────────────────────────────────────────────────────


A = TypeVar("A", bound=msgspec.Struct)
SENTENCE = re.compile(r"(?<=[.;:?!…])\s+(?=\S)")


def written(answer: msgspec.Struct) -> str:
    """An answer as the text that an agent reads."""
    return json.dumps(msgspec.to_builtins(answer), ensure_ascii=False)


def fitted(answer: A, lines: str, offset: int) -> A:
    """The answer with as many of its lines as fit in `LONGEST`, at least one; the others are on the
    next page."""
    every = getattr(answer, lines)
    kept = len(every)
    while kept > 1 and len(written(answer)) > LONGEST:
        kept -= 1
        shorter = {lines: every[:kept], "next_offset": offset + kept}
        answer = msgspec.structs.replace(answer, **shorter)
    return answer


def room_for(answer: msgspec.Struct, passages: int, usual: int, least: int = LEAST) -> int:
    """How many characters each passage may have in an answer that has none yet. A list that is
    longer than usual gets a longer answer, not thinner passages."""
    whole = LONGEST * max(passages, usual) // usual
    return max(least, (whole - len(written(answer))) // max(passages, 1) - AROUND)


def cut(passage: str, room: int, words: Sequence[str] = ()) -> str:
    """A passage in at most `room` characters, from the sentence with most of these words on."""
    if len(passage) <= room or not room:
        return passage if room else ""
    asked = [word.casefold() for word in words]

    def count_words(start: int, end: int) -> int:
        return sum(word in passage[start:end].casefold() for word in asked)

    cuts = [0, *(found.end() for found in SENTENCE.finditer(passage)), len(passage)]
    starts = [start for start, end in pairwise(cuts) if count_words(start, end)] or [0]
    begin = max(starts, key=lambda start: (count_words(start, start + room), -start))
    shown = passage[begin:]
    if len(shown) > room:
        shown = shown[:room].rsplit(" ", 1)[0].rstrip(" …") + " …"
    return f"… {shown}" if begin and not shown.startswith("…") else shown


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


# ── corpora, search and documents ─────────────────────────────────────────────────────────────────


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


class SearchHit(Told, frozen=True, kw_only=True, omit_defaults=True):
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
    citation: str = ""
    score: float | None = None
    title: str = ""
    snippet: str = ""
    why: str = ""
    less_likely: bool
    locator: Locator | None = None
    status: str = ""
    cell: Cell | None = None


class SearchResults(msgspec.Struct, frozen=True, kw_only=True):
    """Hits, the most relevant first. `answered` is false if nothing in the corpus answers: the hits
    are only the nearest and should not be cited as an answer. It is null if that is unknown, and
    `message` says why. If it is true, the hits are about the question, and only reading shows
    whether one answers it. Read `message` before you use the hits. `language` is that of the
    corpus."""

    answered: bool | None = True
    message: str = ""
    corpus: str
    language: str = ""
    query: str = ""
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
        bool, Meta(description="Everything known about each hit, and longer passages. Long.")
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
    except NonePasses as error:
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
    return fitted(search_results(corpus, query, page, offset), "hits", offset)


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
                hit, snippet=cut(hit.snippet, room, found.words), answer=cut(hit.answer, room)
            )
            for hit, found in zip(brief, page.items, strict=True)
        ]
        return msgspec.structs.replace(answer, hits=hits)

    passages = sum(bool(hit.snippet) + bool(hit.answer) for hit in brief)
    usual = USUAL * passages // max(len(brief), 1)
    return with_passages_of(room_for(with_passages_of(0), passages, max(usual, 1)))


def _search_hit(hit: FoundDocument, document: Document) -> SearchHit:
    return SearchHit(
        **msgspec.structs.asdict(hit.told),
        doc_id=hit.doc_id,
        citation=citation_of(document, hit.locator, hit.status),
        score=None if hit.score is None else round(hit.score, 4),
        title=hit.title,
        snippet=passage_shown(document, hit.snippet[:SNIPPET]),
        why=told_why(hit.why),
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
        score=_rounded(hit.score),
        title=cut(title, MOST_TITLE),
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
        return f"{page.note or 'Nothing in this corpus answers the question.'} {NEAREST}"
    return page.note


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
        str, Meta(description="Where to look the documents up; if empty, citations are only read.")
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


# ── gold sets ─────────────────────────────────────────────────────────────────────────────────────


class GoldSets(msgspec.Struct, frozen=True, kw_only=True):
    gold_sets: list[GoldSummary]
    next_offset: int | None = None


def list_gold_sets(service: Service, limit: Limit = 0, offset: Offset = 0) -> GoldSets:
    """List the gold sets, with their size and how much of each an expert has approved."""
    summaries = gold_list(service)
    end = offset + (limit or MOST)
    lines = [
        dataclasses.replace(
            found,
            path=Path(found.path).name,
            status=found.status
            if found.status not in ("", "unknown")
            else "not recorded: approval is counted for sets made from logs",
            approved_share=_rounded(found.approved_share),
        )
        for found in summaries[offset:end]
    ]
    answer = GoldSets(gold_sets=lines, next_offset=end if len(summaries) > end else None)
    return answer if limit else fitted(answer, "gold_sets", offset)


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
    counts: dict[str, int] = {}
    for query_id in gold_set.judgments["query_id"].to_list():
        counts[query_id] = counts.get(query_id, 0) + 1
    words = find.casefold().split()
    every = [
        QueryLine(
            query_id=query.id,
            query=query.text,
            topic=query.topic or query.category,
            judged=counts.get(query.id, 0),
            must=query.must,
        )
        for query in gold_set.queries
        if all(word in f"{query.id} {query.text} {query.topic}".casefold() for word in words)
    ]
    page = page_of(every[offset:], offset, page_size(limit or MOST))
    answer = Queries(gold=gold, queries=page.items, next_offset=page.next_offset)
    return answer if limit else fitted(answer, "queries", offset)


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
    if is_golden(gold_set):
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
    name: Annotated[str, Meta(description="Or a rubric by its name.")] = "",
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

    @property
    def sentence(self) -> str:
        """The two counts in words, to follow a sentence on the queue; empty if both are zero."""
        disagreements = counted(self.disagreements, "disagreement")
        documents = counted(self.to_judge, "document")
        kinds = []
        if self.disagreements:
            kinds.append(f"{disagreements} to be ruled on (on the pages of the workbench)")
        if self.to_judge:
            kinds.append(f"{documents} of pools to be judged")
        return f" Not in that queue: {' and '.join(kinds)}." if kinds else ""


def outside_queue(service: Service, gold: str = "") -> OutsideQueue:
    """The work outside the queue for one gold set, or for all."""
    asked = gold_path(service, gold) if gold else None
    standings = [
        set_standing(name, path)
        for name, path in service.gold_sets.items()
        if asked is None or path == asked
    ]
    return OutsideQueue(
        disagreements=sum(each.disputes for each in standings),
        to_judge=sum(each.to_judge for each in standings),
    )


class WaitingLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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


class Waiting(OutsideQueue, frozen=True):
    """The review queue. `disagreements` of judges and documents of pools `to_judge` are not among
    the items."""

    message: str
    items: list[WaitingLine]
    next_offset: int | None = None


def list_waiting(
    service: Service,
    gold: Annotated[str, Meta(description="Only this gold set; if empty, all.")] = "",
    limit: Limit = 0,
    offset: Offset = 0,
) -> Waiting:
    """List the expert's review queue, the oldest item first: what was suggested, by whom and why.
    Disagreements of judges and documents to judge are not in this queue: they are only counted."""
    page = review.queue(service, gold=gold, limit=limit or MOST, offset=offset)
    total = backlog_figures(service, gold=gold).backlog.pending_review
    outside = outside_queue(service, gold)
    names = gold_names(service)
    lines = [
        WaitingLine(
            item_id=item.id,
            gold=names.get(item.gold, item.gold),
            query_id=item.ref,
            query=item.query,
            doc_ids=item.doc_ids,
            since=f"{item.created_at:%Y-%m-%d}",
            grade=item.grade,
            by=item.suggested_by,
            rationale=item.rationale[:SNIPPET],
        )
        for item in page.items
    ]
    verb = "waits" if total == 1 else "wait"
    many = f"{counted(total, 'item')} {verb} in the expert's review queue."
    none = "Nothing waits in the expert's review queue."
    answer = Waiting(
        message=(many if total else none) + outside.sentence,
        items=lines,
        next_offset=page.next_offset,
        disagreements=outside.disagreements,
        to_judge=outside.to_judge,
    )
    return answer if limit else fitted(answer, "items", offset)


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
    own = _with_two_decimals(figures.backlog)
    since = f", the oldest since {own.oldest_pending_at:%Y-%m-%d}" if own.oldest_pending_at else ""
    waits = f"{counted(own.pending_review, 'item')} in the expert's queue{since}"
    return Metrics(
        summary=f"{waits}. Through this queue: {own.approved} approved, {own.rejected} turned "
        f"down, {own.published} published; how much of a set is approved in all, "
        f"list_gold_sets says. Forecast: {own.forecast}.{outside.sentence}",
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


@dataclass(frozen=True, kw_only=True)
class ItemToJudge(ToJudge):
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
        Meta(max_length=2, description="One or two runs: what would settle them comes first."),
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
                **vars(item),
                documents=[
                    msgspec.structs.replace(document, passage=cut(document.passage, room, words))
                    for document, words in documents
                ],
            )
            for item, documents in zip(page.items, found, strict=True)
        ]
        message = _judging_message(page, scale)
        return NextToJudge(
            gold=gold,
            scale=scale.text,
            items=items,
            message=message,
            next_offset=page.next_offset,
        )

    room = room_for(with_passages_of(0), sum(map(len, found)), TO_JUDGE, LEAST_TO_JUDGE)
    answer = with_passages_of(room)
    return answer if limit else fitted(answer, "items", offset)


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


class Suggested(msgspec.Struct, frozen=True, kw_only=True):
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
    grade: Annotated[int, Meta(description="On the scale of the set: see get_rubric.")],
    rationale: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=review.LONGEST,
            description="Why, in a sentence or two, for the expert.",
        ),
    ],
    by: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=review.LONGEST_NAME,
            description="Who suggests: your name and version.",
        ),
    ],
    allow_unknown: Annotated[
        bool, Meta(description="Accept a document that no corpus, search or run here has.")
    ] = False,
) -> Suggested:
    """Suggest a judgment. It is pending in the review queue until an expert decides, and does not
    change the gold set."""
    _check_suggestion(service, gold, query_id, doc_id, grade)
    item = review.suggest(
        service,
        gold,
        (query_id, doc_id),
        grade,
        rationale=rationale,
        by=by,
        allow_unknown=allow_unknown,
    )
    return Suggested(
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
    if is_golden(gold_set):
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
            hint="next_to_judge names what is not judged yet.",
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


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


class EngineLine(msgspec.Struct, frozen=True):
    """An engine, and the gold sets that run_evaluation may score it on."""

    name: str
    kind: str
    gold_sets: list[str]


class Engines(msgspec.Struct, frozen=True, kw_only=True):
    engines: list[EngineLine]
    message: str = ""


def list_engines(service: Service) -> Engines:
    """List the search engines that run_evaluation can score."""
    lines = [EngineLine(*each) for each in engine_kinds(service.config)]
    none = "No engine is configured. A person configures one, and starts this server again."
    return Engines(engines=lines, message="" if lines else none)


class RunLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run with its most important figures. `may_ship` is yes, no, not_yet or no_gates, by the
    gates of the project, and `why` says why not. `failed` are the first golden questions that
    failed; list_failures says why."""

    run_id: str
    engine: str
    gold: str
    at: str
    figures: dict[str, float | None] = {}
    may_ship: str
    why: str = ""
    failed: list[str] = []


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    runs: list[RunLine]
    next_offset: int | None = None


def list_runs(
    service: Service,
    gold: Annotated[str, Meta(description="Only runs on this gold set.")] = "",
    limit: Limit = 0,
    offset: Offset = 0,
) -> Runs:
    """List scored runs, the newest first: which engine on which set, its score, whether it may
    ship, and which golden questions it failed."""
    page = history.runs(service, gold=gold, limit=limit or MOST_RUNS, offset=offset)
    names = gold_names(service)
    lines = [_run_line(service, record.id, names) for record in page.items]
    answer = Runs(runs=lines, next_offset=page.next_offset)
    return answer if limit else fitted(answer, "runs", offset)


def _run_line(service: Service, run_id: str, names: dict[str, str]) -> RunLine:
    run = kept_run(service, run_id)
    overall = run.results.overall
    keys = [key for key in FIGURES if key in overall] or list(overall)[:2]
    ship, why = ship_answer(service, run)
    return RunLine(
        run_id=run.id,
        engine=run.engine,
        gold=names.get(run.gold, run.gold),
        at=run.at.isoformat(timespec="seconds"),
        figures={key: _rounded(overall[key]) for key in keys},
        may_ship=ship,
        why=why,
        failed=_failed_questions(run.results)[:MOST_FAILED_LISTED],
    )


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was just scored. `summary` has the result in words, with the unjudged share: do
    not report the score without it. `may_ship` says what each gate of the project found. `overall`
    is the mean of every measure over all queries, and `intervals` its 95% interval. In a golden
    set, `failed` are the questions that failed (list_failures says why), and n_failed counts engine
    calls that ended in an error, if any did."""

    run_id: str
    summary: str
    may_ship: str = ""
    engine: str
    gold: str
    gold_status: str
    queries: int
    overall: dict[str, float | None]
    intervals: dict[str, tuple[float | None, float | None]] = {}
    failed: list[str] = []


def run_evaluation(
    service: Service,
    gold: GoldName,
    engine: Annotated[str, Meta(description="An engine that list_engines names.")],
) -> Evaluation:
    """Score an engine on a gold set, and see whether it may ship. The run is kept under its
    run_id."""
    run = history.evaluate(service, gold, engine)
    results = run.results
    return Evaluation(
        run_id=run.id,
        summary=summary_of(results),
        may_ship=may_ship(service, run).told,
        engine=run.engine,
        gold=gold,
        gold_status=results.receipt.gold.status or "not recorded",
        queries=len(results.per_query),
        overall={
            name: _rounded(value)
            for name, value in results.overall.items()
            if name != "n_failed" or value
        },
        intervals={
            name: (_rounded(low), _rounded(high))
            for name, (low, high) in results.intervals.overall.items()
            if low is not None
        },
        failed=_failed_questions(results)[:MOST_FAILED],
    )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A measure of one system against the baseline, rounded. `low` and `high` bound the 95%
    interval of the change; `better`, `same` and `worse` count queries. `p` is of the randomization
    test: for the measure that decides, corrected for the number of systems; for any other, for all
    tests (Holm)."""

    system: str
    measure: str
    before: float
    now: float
    change: float
    low: float | None
    high: float | None
    better: int
    same: int
    worse: int
    p: float


class MovedQuery(msgspec.Struct, frozen=True, kw_only=True):
    query_id: str
    before: float
    now: float


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison. `verdict` says in words whether a system is better, and `word` in one word for
    each: better, worse, no difference or open. `may_ship` says whether each may ship, by the gates
    of the project: being better and being good enough are two questions. `decided_by` is the
    measure that decides; the others inform. `moved` are the queries that moved most. `gold_status`
    is how far the gold set is approved, empty if not recorded. `details` has everything, not
    rounded."""

    verdict: str
    may_ship: str = ""
    word: str
    baseline: str
    systems: list[str]
    decided_by: str
    changes: list[Change]
    moved: list[MovedQuery]
    warnings: list[str] = []
    gold_status: str = ""
    details: Comparison | None = None


def compare_runs(
    service: Service,
    run_ids: Annotated[
        list[str], Meta(min_length=2, description="From list_runs. The first is the baseline.")
    ],
    force: Annotated[
        bool, Meta(description="Compare even if gold sets or corpora differ.")
    ] = False,
    details: Annotated[
        bool, Meta(description="Everything: all measures, tests and documents. Long.")
    ] = False,
) -> RunComparison:
    """Is one run better than another? The verdict in words comes first. Report it as it is: "open"
    means that it is still inconclusive, and "no difference" does not mean "equal"."""
    found = history.compare_runs(service, run_ids, force=force)
    ships = [may_ship(service, kept_run(service, each)).told for each in run_ids[1:]]
    deciding = [row for row in found.differences if row.measure == found.headline]
    others = [row for row in found.differences if row.measure != found.headline]
    verdict_says = "different gold sets" if found.gold_changed else ""
    warnings = [each for each in found.warnings if not verdict_says or verdict_says not in each]
    answer = RunComparison(
        verdict=" ".join(verdicts(found)),
        may_ship=" ".join(ships),
        word="; ".join(f"{row.system}: {row.verdict}" for row in deciding),
        baseline=found.baseline,
        systems=found.systems,
        decided_by=found.headline,
        changes=[_change(row) for row in [*deciding, *others][:MOST_CHANGES]],
        moved=[
            MovedQuery(
                query_id=row.query_id, before=round(row.baseline, 3), now=round(row.value, 3)
            )
            for row in found.moved[:MOST_MOVED]
            if row.value != row.baseline
        ],
        warnings=warnings[:2],
        gold_status=found.gold_status,
    )
    return msgspec.structs.replace(answer, details=found) if details else _shortened(answer)


def _change(row: Difference) -> Change:
    return Change(
        system=row.system,
        measure=row.measure,
        before=round(row.baseline, 3),
        now=round(row.value, 3),
        change=round(row.difference, 3),
        low=_rounded(row.low),
        high=_rounded(row.high),
        better=row.wins,
        same=row.ties,
        worse=row.losses,
        p=round(row.p_holm, 3),
    )


def _shortened(answer: RunComparison) -> RunComparison:
    """A comparison that fits in `LONGEST`: what says least is dropped first, the verdict last."""
    cuts: list[dict[str, object]] = [
        {"moved": []},
        {"changes": answer.changes[:1]},
        {"changes": [], "warnings": []},
        {"word": "see verdict", "may_ship": "ask for details"},
    ]
    for shorter in cuts:
        if len(written(answer)) <= LONGEST:
            return answer
        answer = msgspec.structs.replace(answer, **shorter)
    if over := max(0, len(written(answer)) - LONGEST):
        verdict = f"{answer.verdict[: -over - 40]} … (details)"
        answer = msgspec.structs.replace(answer, verdict=verdict)
    return answer


def verdicts(comparison: Comparison) -> list[str]:
    """The answer for each system in a few sentences, the verdict first."""
    lines = []
    for answer in answers(comparison, Sentences(Words("en"))):
        notes = [note.replace(COMMAND, "next_to_judge with these run_ids") for note in answer.notes]
        lines.append(" ".join([f"{answer.text}.", answer.change, *notes]))
    return lines


# ── why a run scores as it does ───────────────────────────────────────────────────────────────────


class HitLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hit of a golden question: `what` is expected, negative, trap, or nothing; `place` is the
    place in words, and the score."""

    rank: int
    doc_id: str
    what: str = ""
    place: str = ""


class ScoreExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The score of one query: what a good answer has (`expected`), and what the engine found
    (`outcome`). `results` is the ranking of a graded query, with the grade at every rank, null if
    unjudged; a golden question has `hits`. `missed` are relevant documents outside the ranking,
    each with its grade, the best first (read one to see why), and `more_missed` how many there are
    besides. `measures` has the formula behind every number: key, measure, cutoff, formula, source
    and settings (rel, gain, p, …); the same formula comes once."""

    query_id: str
    query: str
    passed: bool | None = None
    expected: str
    outcome: str
    results: list[str] = []
    grades: list[int | None] = []
    missed: dict[str, int] = {}
    more_missed: int = 0
    hits: list[HitLine] = []
    metrics: dict[str, float | None]
    measures: list[JsonObject] = []


def explain_score(
    service: Service,
    run_id: RunId,
    query_id: Annotated[str, Meta(description="See list_queries.")],
) -> ScoreExplanation:
    """Explain the score of one query of a run: what was expected, what the engine found, what is
    missing, and why a golden question passed or failed."""
    found = history.explain(service, run_id, query_id)
    entry = found.entry
    shown = entry.results[:SHOWN]
    relevant = history.relevant_to(service, run_id, query_id)
    missed = [each for each in relevant.items() if each[0] not in shown]
    expected, outcome = expected_and_outcome(entry)
    answer = ScoreExplanation(
        query_id=entry.query_id,
        query=entry.query_text,
        expected=expected,
        outcome=outcome,
        missed=dict(missed[:MOST_MISSED]),
        more_missed=max(len(missed) - MOST_MISSED, 0),
        metrics={name: _rounded(value) for name, value in entry.metrics.items()},
    )
    if isinstance(entry, GoldenEntry):
        hits = [
            HitLine(rank=rank, doc_id=hit.doc_id, what=hit.match, place=place)
            for rank, (hit, place) in enumerate(_hits_in_words(entry), start=1)
        ]
        return msgspec.structs.replace(answer, passed=entry.passed, hits=hits)
    formulas = _formulas(found.measures)
    answer = msgspec.structs.replace(
        answer, results=shown, grades=entry.grades[:SHOWN], measures=formulas
    )
    if len(written(answer)) <= LONGEST:
        return answer
    unsourced = [
        {name: value for name, value in each.items() if name != "source"} for each in formulas
    ]
    return msgspec.structs.replace(answer, measures=unsourced)


def _formulas(lines: list[MeasureLine]) -> list[JsonObject]:
    """The measures without empty fields; a formula and its source stand where they come first."""
    known: set[str] = set()
    formulas = []
    for line in lines:
        if line.formula in known:
            line = msgspec.structs.replace(line, formula="", source="")
        known.add(line.formula)
        fields = measure_to_json(line)
        formulas.append({name: value for name, value in fields.items() if value not in ("", None)})
    return formulas


def _hits_in_words(entry: GoldenEntry, most: int = 10) -> list[tuple[GoldenHit, str]]:
    """The first hits of a golden question, each with its place and score in words."""
    sentences = Sentences(Words("en"))
    return [(hit, sentences.hit(hit)) for hit in entry.hits[: max(entry.k, most)]]


class FailureLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A query that failed: what a good answer has (`expected`), and what the engine found
    (`outcome`). `kind` is the type of the query, else its category or topic. A golden question has
    `must` if it must pass, and the `first` hit; a graded query its `score`."""

    query_id: str
    query: str
    kind: str = ""
    must: bool | None = None
    score: float | None = None
    expected: str
    outcome: str
    first: str = ""


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """What a run gets wrong. `kinds` has the score of each kind of query, the worst first, with the
    number of queries: if there are fewer than ten, say that they are few. `measure` is what graded
    queries are sorted by."""

    summary: str
    kinds: list[str] = []
    measure: str = ""
    failures: list[FailureLine]
    next_offset: int | None = None


def list_failures(
    service: Service, run_id: RunId, limit: Limit = 0, offset: Offset = 0
) -> Failures:
    """List what a run gets wrong. For a golden set: every failed question, those that must pass
    first, with what was expected and why it failed. For a graded set: the queries with the lowest
    scores. `kinds` shows which kind of question is worst."""
    results = kept_run(service, run_id).results
    line = None if isinstance(results, GoldenResults) else deciding_measure(results)
    key = line.key if line else ""
    entries, end = failed_entries(results), offset + (limit or MOST)
    answer = Failures(
        summary=summary_of(results),
        kinds=[] if offset else _kinds(results.per_query, key),
        measure=line.measure if line else "",
        failures=[_failure(entry, key) for entry in entries[offset:end]],
        next_offset=end if len(entries) > end else None,
    )
    return answer if limit else fitted(answer, "failures", offset)


def _failure(entry: Entry, key: str) -> FailureLine:
    expected, outcome = expected_and_outcome(entry)
    golden = entry if isinstance(entry, GoldenEntry) else None
    hits = _hits_in_words(golden, 1) if golden else []
    return FailureLine(
        query_id=entry.query_id,
        query=entry.query_text[:LONGEST_QUERY],
        kind=_kind(entry),
        must=(golden.must or None) if golden else None,
        score=None if golden else _rounded(entry.metrics.get(key)),
        expected=expected,
        outcome=outcome.replace(f" {CLOSE}", ""),
        first=hits[0][1] if hits else "",
    )


def _kind(entry: Entry) -> str:
    if isinstance(entry, GoldenEntry):
        return entry.category or entry.query_type or entry.query_topic
    return entry.query_type or entry.query_category or entry.query_topic


def _kinds(entries: Sequence[Entry], key: str) -> list[str]:
    """The score of each kind of query, the worst first; nothing if there is only one kind."""
    values: dict[str, list[float]] = {}
    for entry in entries:
        value = float(entry.passed) if isinstance(entry, GoldenEntry) else entry.metrics.get(key)
        if value is not None:
            values.setdefault(_kind(entry), []).append(value)
    if len(values) < 2:
        return []
    golden = isinstance(entries[0], GoldenEntry)
    means = sorted((sum(each) / len(each), kind, len(each)) for kind, each in values.items())
    wording = "{1}: {0:.0%} of {2} passed" if golden else "{1}: {0:.3f} over {2}"
    return [wording.format(*each) for each in means[:MOST_KINDS]]


def failed_entries(results: Results) -> Sequence[Entry]:
    """The failed questions of a golden set, those that must pass first; or every query of a graded
    set, the lowest score first and queries without a score last."""
    if isinstance(results, GoldenResults):
        failed = [entry for entry in results.per_query if not entry.passed]
        return sorted(failed, key=lambda entry: not entry.must)
    key = line.key if (line := deciding_measure(results)) else ""
    values = [(entry.metrics.get(key), entry) for entry in results.per_query]
    scored = [(value, entry) for value, entry in values if value is not None]
    unscored = [entry for value, entry in values if value is None]
    return [entry for _, entry in sorted(scored, key=lambda pair: pair[0])] + unscored


def _failed_questions(results: Results) -> list[str]:
    golden = isinstance(results, GoldenResults)
    return [entry.query_id for entry in failed_entries(results)] if golden else []


def deciding_measure(results: GradedResults) -> MeasureLine | None:
    """The measure that stands for a run in a sentence: nDCG@10, else the first one."""
    lines = results.receipt.measures
    return next((line for line in lines if line.key == "ndcg@10"), next(iter(lines), None))


def expected_and_outcome(entry: GradedEntry | GoldenEntry) -> tuple[str, str]:
    """What a good answer to a query has, and what the engine found, both in words."""
    if isinstance(entry, GoldenEntry):
        expected = f"{Sentences(Words('en')).expected(entry)}, in the top {entry.k}"
        if entry.min_score:
            expected += f" with a score of at least {entry.min_score:g}"
        state = "Passed" if entry.passed else "Failed"
        place = _expected_place(entry) if entry.expected_any and not entry.passed else ""
        reason = entry.reason.removesuffix(".") if place else entry.reason  # "… 3 mom."
        return expected, f"{state}: {reason}{place}"
    relevant = sum(grade > 0 for grade in entry.judged)
    expected = f"{relevant} of the {len(entry.judged)} judged documents are relevant"
    if entry.reason:
        return expected, entry.reason
    ranks = [rank for rank, grade in enumerate(entry.grades, start=1) if grade]
    unknown = sum(grade is None for grade in entry.grades[:10])
    first = f"the first relevant one at rank {ranks[0]}" if ranks else "none of them was found"
    found = f"{len(ranks)} of them found, {first}" if ranks else first
    return expected, f"{found}; {unknown} of the first {len(entry.grades[:10])} are not judged"


def _expected_place(entry: GoldenEntry) -> str:
    """The rank of the expected place, unless the reason names it, and why a miss is called
    close."""
    if f"rank {entry.expected_rank}" in entry.reason:
        return "."
    close = f" {CLOSE}" if entry.failure == "near_miss" else ""
    if entry.expected_rank is None:
        among = counted(len(entry.hits), "result")
        return f".{close} An expected place is not among the {among}."
    return f".{close} The first expected place stands at rank {entry.expected_rank}."


def report_of(service: Service, run_id: str) -> str:
    """The whole report of a run: whether it may ship by the gates of today, the unjudged share,
    every measure overall and by slice, and for a graded set every query."""
    kept = kept_run(service, run_id)
    ship = may_ship(service, kept)
    results = msgspec.structs.replace(kept.results, verdict=ship.verdict)
    parts = [ship.told, evaluation_report(view(results))]
    if isinstance(results, GradedResults) and results.receipt.measures:
        lines = results.receipt.measures[:3]
        head = ["query", "judged of the first 10", *(line.measure for line in lines)]
        rows = [
            [
                f"{entry.query_id} {inline(entry.query_text)}".replace("|", "/"),
                f"{sum(grade is not None for grade in entry.grades[:10])}",
                *(_three_decimals(entry.metrics.get(line.key)) for line in lines),
            ]
            for entry in results.per_query
        ]
        table = [head, ["---"] * len(head), *rows]
        queries = "\n".join(f"| {' | '.join(row)} |" for row in table)
        parts = [parts[0], summary_of(results), *parts[1:], f"## Queries\n\n{queries}\n"]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _three_decimals(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def summary_of(results: Results) -> str:
    """How good a run is, in a sentence or two. The unjudged share comes first, since the score
    alone would be taken for the answer."""
    if isinstance(results, GoldenResults):
        failed = [entry for entry in results.per_query if not entry.passed]
        must = sum(entry.must for entry in failed)
        passed = len(results.per_query) - len(failed)
        questions = f"{passed} of {counted(len(results.per_query), 'question')} passed"
        if not failed:
            return f"{questions}."
        musts = f"{must} of them MUST questions" if must else "none of them a MUST question"
        return f"{questions}; {len(failed)} failed, {musts}."
    line = deciding_measure(results)
    value = results.overall.get(line.key) if line is not None else None
    if line is None or value is None:
        return "Nothing is judged yet, so there are no figures."
    low, high = results.intervals.overall.get(line.key, (None, None))
    between = (
        f" (95% interval {low:.3f} to {high:.3f})" if low is not None and high is not None else ""
    )
    over = counted(results.receipt.n.overall, "query")
    figure = f"{line.measure} is {value:.3f}{between} over {over}."
    unjudged = [each for each in results.receipt.unjudged.values() if each.measure == line.measure]
    counts = results.receipt.counts
    doubt = Sentences(Words("en")).bounds(unjudged[0], line.cutoff, counts) if unjudged else ""
    return f"{doubt} Counted so, {figure}" if doubt else figure


WRITING = (suggest_judgment, run_evaluation)  # the tools that change anything
TOOLS = (
    list_corpora,
    search,
    get_document,
    cite,
    get_metrics,
    list_waiting,
    list_gold_sets,
    list_queries,
    get_rubric,
    next_to_judge,
    suggest_judgment,
    list_engines,
    list_runs,
    run_evaluation,
    compare_runs,
    explain_score,
    list_failures,
)
