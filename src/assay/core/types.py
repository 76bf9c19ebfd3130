"""The record types that all packages share: documents, queries, judgments, votes, hits, gold sets,
runs, score sheets and pages of long lists. Data is frozen; behaviour lives in plain functions
elsewhere.

Small things (a query, a hit) are records. Long things (judgments, hits) are columns of a polars
frame, so that sixty queries and ten million rows take the same path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec

from assay.core.decoding import thread_safe

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


JsonObject = dict[str, Any]  # an object of a file or an engine, kept as it stands there

# ── records ───────────────────────────────────────────────────────────────────────────────────────


class Locator(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The place of a text as a lawyer would cite it. Any part may be absent."""

    doc_id: str | None = None
    part: str | None = None
    chapter: str | None = None
    schedule: str | None = None
    section: str | None = None
    moment: str | None = None
    page: int | None = None
    table: str | None = None
    row: str | None = None
    column: str | None = None
    version: str | None = None


WHOLE_DOCUMENTS = "documents.jsonl"  # the ending of a file of documents that Assay wrote


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One retrievable unit: an opinion, a moment of a section, a page or a table of a report.

    `fields` holds the named texts that can be searched apart (question, conclusion, …); `metadata`
    everything else that can be filtered or shown (year, topic, …); `citations` the citations as
    they stand in the source."""

    id: str
    title: str = ""
    text: str = ""
    fields: dict[str, str] = {}
    locator: Locator | None = None
    citations: tuple[str, ...] = ()
    language: str = ""
    valid_from: str = ""
    valid_to: str = ""
    metadata: JsonObject = {}


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """One legal issue of a topic in the taxonomy."""

    id: str
    name: str
    description: str
    key_statutes: tuple[str, ...] = ()
    example_opinion_ids: tuple[str, ...] = ()
    extra: JsonObject = {}


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str
    issues: tuple[Issue, ...] = ()
    extra: JsonObject = {}


Range = tuple[int, int]  # the least and the most


class _StatedValues(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Values that people state in a file: a misspelt key is an error and is not ignored."""

    def __post_init__(self) -> None:
        for key in self.__struct_fields__:
            stated = getattr(self, key)
            for bounds in stated.values() if isinstance(stated, dict) else [stated]:
                least = bounds[0] if isinstance(bounds, tuple) and bounds else None
                if isinstance(least, int) and not 0 <= least <= bounds[1]:
                    raise ValueError(f"{key}: {list(bounds)} is not [least, most]")


class Expected(_StatedValues, frozen=True, kw_only=True):
    """How many judgments of each kind a sound query has; `relevant` counts those that are relevant
    and not highly so."""

    highly_relevant: Range | None = None
    relevant: Range | None = None
    judged: Range | None = None


class Targets(_StatedValues, frozen=True, kw_only=True):
    """The intended make-up of a gold set: how many queries, which types in equal shares, how many
    of each topic; its own expected spread of judgments, in place of the rubric's; and the measure
    that decides."""

    queries: Range | None = None
    types: tuple[str, ...] = ()
    topics: dict[str, Range] = {}
    expected_per_query: Expected | None = None
    primary: str = ""


class Query(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One information need. `checks` holds pass/fail expectations, `extra` every key a file had
    that Assay does not know: kept, reported, written back."""

    id: str
    text: str
    type: str = ""
    topic: str = ""
    issue: str = ""
    category: str = ""
    wording: str = ""  # whose words it is in: lawyer or lay
    must: bool | None = None
    k: int | None = None
    min_score: float | None = None
    language: str = ""
    as_of: str = ""
    notes: str = ""
    corpus: str = ""
    source: str = ""
    checks: JsonObject = {}
    extra: JsonObject = {}


class Judgment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One grade for one document on one query. Append-only: a correction supersedes, it does not
    overwrite."""

    query_id: str
    doc_id: str
    grade: int
    rationale: str = ""
    judge: str = ""
    source: str = ""
    rubric: str = ""
    at: str = ""
    supersedes: str = ""
    extra: str = ""  # keys Assay does not know, as JSON text


VoteKind = Literal["human", "machine", "citation"]


class Vote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One judge's grade for one document on one query. A change of mind is a new vote that names
    the one it `supersedes`. Without a grade the judge was unsure, and a second one is asked.

    `rubric` is the version judged by (`name@hash`), `document` the fingerprint of the text that was
    read, `seconds` the time taken, `source` how the vote came: empty from a packet or a page,
    `adjudication` a ruling, `sample` a spot check, `imported` from a format without rationales,
    `withdrawn` where an earlier vote was taken back, `edited by hand` where somebody changed the
    label in the gold file."""

    id: str
    query_id: str
    doc_id: str
    grade: int | None
    judge: str
    kind: VoteKind
    at: str
    rationale: str = ""
    rubric: str = ""
    document: str = ""
    seconds: float | None = None
    supersedes: str = ""
    source: str = ""


class Labelling(msgspec.Struct, frozen=True, kw_only=True):
    """How the labels of a set were computed from its votes, as its key `labels` states: the policy,
    whose votes count, how many labels rest on machines alone, and how many pairs wait for a
    ruling."""

    policy: str
    counts: tuple[VoteKind, ...]
    by_machine: int = 0
    open: int = 0


class Hit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One result. Only `doc_id` is required: an engine that returns ids alone is a full citizen."""

    doc_id: str
    score: float | None = None
    locator: Locator | None = None
    title: str = ""
    text: str = ""
    explanation: JsonObject = {}
    metadata: JsonObject = {}  # what else the engine said of the hit: law, chapter, page, …


class QueryResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of an engine to one query. A failed call has `error` set and is never an empty
    list."""

    query_id: str
    hits: tuple[Hit, ...] = ()
    abstained: bool = False
    calibrated: bool | None = None  # whether scores were fitted to the corpus, if the engine says
    millis: float | None = None
    error: str | None = None
    retries: int = 0


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding of `validate` or `check`. An error makes the file unusable; a flag asks a person to
    look; a note says which rules were applied."""

    level: Literal["error", "flag", "note"]
    code: str
    where: str
    message: str


# ── columns ───────────────────────────────────────────────────────────────────────────────────────

# the source of a judgment that was made because `gold next` asked for it
ASKED_BY_NEXT = "gold next"
JUDGMENT_TEXT_COLUMNS = ("rationale", "judge", "source", "rubric", "at", "supersedes", "extra")


def judgment_frame(
    query_ids: Sequence[str] | pl.Series,
    doc_ids: Sequence[str] | pl.Series,
    grades: Sequence[int] | np.ndarray[Any, Any] | pl.Series,
    **text: Sequence[str] | pl.Series,
) -> pl.DataFrame:
    """Judgments as columns: interned query ids, document ids as they are, a small integer grade,
    and whichever text columns the source has."""
    import polars as pl

    columns = {
        "query_id": _as_categorical(query_ids),
        "doc_id": pl.Series(doc_ids, dtype=pl.String),
        "grade": pl.Series(grades, dtype=pl.Int32),
    }
    columns |= {name: pl.Series(values, dtype=pl.String) for name, values in text.items()}
    return pl.DataFrame(columns)


def _as_categorical(ids: Sequence[str] | pl.Series) -> pl.Series:
    import polars as pl

    if isinstance(ids, pl.Series) and ids.dtype == pl.Categorical:
        return ids
    return pl.Series(ids, dtype=pl.String).cast(pl.Categorical)


def judgments_to_frame(judgments: Iterable[Judgment]) -> pl.DataFrame:
    rows = list(judgments)
    text = {name: [getattr(row, name) for row in rows] for name in JUDGMENT_TEXT_COLUMNS}
    return judgment_frame(
        [row.query_id for row in rows],
        [row.doc_id for row in rows],
        [row.grade for row in rows],
        **{name: values for name, values in text.items() if any(values)},
    )


def counted(n: int, noun: str) -> str:
    """1 document, 2 documents."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


PROVISIONAL = "provisional (bootstrap-only)"


def approval_status(approved: int, total: int) -> str:
    """The approval status of a set from logs, in the words that every page and report uses."""
    if not approved:
        return PROVISIONAL
    return "approved" if approved == total else "partly approved"


@dataclass(frozen=True, kw_only=True)
class GoldSet:
    """A gold set: queries, their graded judgments and the taxonomy they belong to."""

    name: str
    queries: tuple[Query, ...]
    judgments: pl.DataFrame = field(default_factory=lambda: judgment_frame([], [], []))
    taxonomy: Mapping[str, Topic] = field(default_factory=dict)
    version: str = ""
    created_at: str = ""
    description: str = ""
    rubric: str = ""
    status: Literal["provisional", "approved", ""] = ""
    top_grade: int = 0  # of the scale it was judged on, where the format says so
    targets: Targets | None = None
    rows_at: str = field(default="$", compare=False)  # where in its file the queries are
    # a gold-set.jsonl: rows are approved one by one, and a topic is a practice area
    from_logs: bool = False
    extra: JsonObject = field(default_factory=dict)

    @cached_property
    def query_ids(self) -> list[str]:
        return [query.id for query in self.queries]

    @property
    def is_golden(self) -> bool:
        """Whether its questions pass or fail, and are not graded."""
        return any(query.checks for query in self.queries)

    @cached_property
    def max_grade(self) -> int:
        """The highest grade there is, or could be on the set's scale."""
        highest = self.judgments["grade"].max()
        return max(int(highest) if isinstance(highest, int) else 0, self.top_grade)

    @property
    def approved_rows(self) -> int:
        return sum(query.source == "chair" for query in self.queries)

    @cached_property
    def labelling(self) -> Labelling | None:
        """None for a set whose labels were not computed from votes."""
        try:
            return msgspec.convert(self.extra.get("labels"), thread_safe(Labelling))
        except msgspec.ValidationError:
            return None

    def slice_name(self, kind: str) -> str:
        """The name that this set uses for a kind of slice."""
        return "practice_area" if kind == "topic" and self.from_logs else kind

    def iter_judgments(self) -> Iterator[Judgment]:
        for row in self.judgments.iter_rows(named=True):
            yield Judgment(**{key: value for key, value in row.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run: the hits of an engine for every query, best first.

    `queries` has one row a query (query_id, n, millis, error, abstained); `hits` has the rows of
    all queries one after the other, in rank order (doc_id, score, …). `counts` tells what reading
    the run found: ties, duplicates dropped."""

    engine: str
    queries: pl.DataFrame
    hits: pl.DataFrame
    order: Literal["engine", "score"] = "engine"
    counts: Mapping[str, int] = field(default_factory=dict)
    environment: JsonObject = field(default_factory=dict)

    @cached_property
    def offsets(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Where each query's hits begin, with the end as last element."""
        import numpy as np

        return np.concatenate([[0], np.cumsum(self.queries["n"].to_numpy(), dtype=np.int64)])

    @cached_property
    def rows_by_query(self) -> dict[str, int]:
        return {query_id: row for row, query_id in enumerate(self.queries["query_id"].to_list())}

    def doc_ids(self, query_id: str) -> list[str]:
        """The ranked ids of one query; empty when the run does not have it."""
        row = self.rows_by_query.get(query_id)
        if row is None:
            return []
        start, end = self.offsets[row], self.offsets[row + 1]
        return self.hits["doc_id"][int(start) : int(end)].to_list()


@dataclass(frozen=True, kw_only=True)
class Score:
    """One value of one measure on one query, or the reason why there is none."""

    query_id: str
    measure: str
    value: float | None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Slice:
    """A group of queries and the mean of every measure over it. `n` is how many queries the mean is
    over."""

    kind: str
    name: str
    n: int
    means: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class ScoreSheet:
    """Every value by query and measure, and the means by slice.

    `values[i, j]` is measure j on query i; NaN where there is no value, and then `reasons[i]` says
    why. `judged[i]` is the judged share of its top 10; NaN where nothing was returned."""

    measures: tuple[str, ...]
    queries: tuple[Query, ...]
    values: np.ndarray[Any, np.dtype[np.float64]]
    judged: np.ndarray[Any, np.dtype[np.float64]]
    reasons: tuple[str, ...]
    slices: tuple[Slice, ...]
    counts: Mapping[str, int]

    def score(self, query_id: str, measure: str) -> Score:
        row = next(i for i, query in enumerate(self.queries) if query.id == query_id)
        value = float(self.values[row, self.measures.index(measure)])
        missing = value != value
        return Score(
            query_id=query_id,
            measure=measure,
            value=None if missing else value,
            reason=self.reasons[row],
        )

    def to_frame(self) -> pl.DataFrame:
        """One row a query: id, attributes, the value of every measure, and the reason where there
        is none."""
        import polars as pl

        columns: dict[str, Sequence[str] | np.ndarray[Any, np.dtype[np.float64]]] = {
            "query_id": [query.id for query in self.queries]
        }
        columns |= {
            kind: [getattr(query, kind) for query in self.queries] for kind in ("type", "topic")
        }
        columns |= {name: self.values[:, place] for place, name in enumerate(self.measures)}
        frame = pl.DataFrame(columns | {"reason": list(self.reasons)})
        return frame.with_columns(pl.col(name).fill_nan(None) for name in self.measures)

    @property
    def overall(self) -> Slice:
        return self.slices[0]

    def by(self, kind: str) -> dict[str, Slice]:
        return {part.name: part for part in self.slices if part.kind == kind}


# ── the engine interface ──────────────────────────────────────────────────────────────────────────


class SearchEngine(ABC):
    """The interface a search backend implements to be evaluated. A copy of this class in another
    repository works too: Assay looks at the shape (`search`, optionally `name`), not at the
    ancestry."""

    @abstractmethod
    def search(self, query: str, top_k: int = 20) -> list[str] | list[Hit]:
        """Return at most `top_k` document ids (or hits), the most relevant first."""

    def name(self) -> str:
        return self.__class__.__name__


def machine_note(by_machine: int, judgments: int) -> str:
    """The note that every figure carries where people have not judged; empty where they have."""
    if not by_machine:
        return ""
    if by_machine >= judgments:
        return "provisional: labelled by machines, no person has judged"
    return f"provisional: {by_machine:,} of {judgments:,} labels rest on machines alone"


def machine_note_of(gold: GoldSet) -> str:
    by_machine = gold.labelling.by_machine if gold.labelling is not None else 0
    return machine_note(by_machine, gold.judgments.height)


# ── pages of long lists ───────────────────────────────────────────────────────────────────────────


MAX_PAGE = 200  # items in one answer, for pages and agents (taste)
T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list, and where the next part begins; no next when this was the last."""

    items: list[T]
    offset: int
    next_offset: int | None


def page_size(limit: int) -> int:
    return min(max(limit, 1), MAX_PAGE)


def page_of(rows: Sequence[T], offset: int, limit: int) -> Page[T]:
    """The first `limit` of `rows`, which begin at `offset` and hold one more where there is
    more."""
    more = len(rows) > limit
    return Page(
        items=list(rows[:limit]), offset=offset, next_offset=offset + limit if more else None
    )
