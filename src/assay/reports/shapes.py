"""The structs that a report is made of: `view` fills them once, and every format renders them.

Names, reasons and what the gates said are words already; figures are numbers, which each format
writes in its own way. Structs, because fourteen dataclasses take a tenth of the time that a small
run takes to be scored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar, overload

import msgspec

from assay.core.results import (
    WIDE,
    Baseline,
    Bounds,
    GoldCard,
    GoldenEntry,
    MachineEstimate,
    MeasureLine,
    Receipt,
    Robustness,
    Status,
    Unjudged,
)

if TYPE_CHECKING:
    from assay.evaluation.comparison import Comparison

NO_BOUNDS: Bounds = (None, None)
HEADLINE_MEASURE = "nDCG@10"


class ReportFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One measure or rate, over all queries or a slice of them."""

    key: str
    title: str  # as tables and pages head it
    name: str  # in full
    value: float | None
    bounds: Bounds = NO_BOUNDS
    n: int | None = None
    change: float | None = None  # against the baseline

    @property
    def too_wide(self) -> bool:
        low, high = self.bounds
        return low is not None and high is not None and high - low > WIDE


class SliceRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    n: int
    figures: tuple[ReportFigure, ...]

    def figure(self, key: str) -> ReportFigure:
        return next(figure for figure in self.figures if figure.key == key)


class SliceTable(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    title: str
    rows: tuple[SliceRow, ...]


class CheckLine(msgspec.Struct, frozen=True, kw_only=True):
    """One gate: the sentence, and its parts for a table. `counts` is false for a default gate that
    had nothing to go by."""

    status: Status
    counts: bool
    title: str
    message: str
    name: str
    measure: str
    key: str  # of the measure
    value: float | None
    limit: str


class ReportHit(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    grade: int | None = None
    score: float | None = None
    is_expected: bool = False


T = TypeVar("T")


class LazyLines(Sequence[T]):
    """Lines that are made on first use: a scorecard shows none of ten thousand queries."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make

    @cached_property
    def _rows(self) -> Sequence[T]:
        return self._make()

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._rows[at]


class ReportQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One query of a graded set, or one question of a golden set, which has an `outcome` too."""

    query_id: str
    text: str
    type: str
    topic: str
    num_results: int
    values: Mapping[str, float | None]
    judged: float | None  # share of the top 10
    reason: str
    error: str
    latency_ms: float | None
    hits: tuple[ReportHit, ...]
    outcome: QuestionOutcome | None = None


class QuestionOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a golden question fared. Only failures say what was expected and what came."""

    entry: GoldenEntry
    is_variant: bool
    expected: str = ""
    came_first: str = ""
    stood: str = ""


class ComparisonAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one system is better than another: a sentence, the figures behind it, and notes."""

    text: str
    change: str
    status: Status
    verdict: str  # better, worse, probably better, probably worse, not significant or open
    notes: tuple[str, ...] = ()


class TurnedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question that broke or was repaired."""

    query_id: str
    text: str
    category: str
    must: bool
    before: str
    now: str
    stood_before: str
    stood_now: str
    expects_hits: bool


class FigureChange(msgspec.Struct, frozen=True, kw_only=True):
    """A rate before and now."""

    key: str
    title: str
    name: str
    before: float
    now: float


class ChangesView(msgspec.Struct, frozen=True, kw_only=True):
    """What changed against other golden results, over the questions compared."""

    baseline: str
    warnings: tuple[str, ...]
    figures: tuple[FigureChange, ...]
    broke: tuple[TurnedQuestion, ...]
    repaired: tuple[TurnedQuestion, ...]
    both_fail: int
    not_compared: tuple[str, ...]
    variants: tuple[int, int] | None  # broke, repaired


class ReportView(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["graded", "golden"]
    language: str
    engine: str
    timestamp: str
    gold: GoldCard
    standing: str  # of the gold set, as a sentence
    counts: Mapping[str, int]
    n: int  # queries that the figures are over
    status: Status | None  # None where no gate decides
    checks: tuple[CheckLine, ...]
    judge_next: tuple[tuple[str, str], ...] | None  # pairs of query and document
    judge_first: bool  # whether too few are judged to predict what more would show
    figures: tuple[ReportFigure, ...]
    slices: tuple[SliceTable, ...]
    queries: Sequence[ReportQuery]
    measures: tuple[MeasureLine, ...]
    baseline: Baseline | None
    stale: str  # why the baseline cannot be compared with
    receipt: Receipt
    answers: tuple[ComparisonAnswer, ...]
    # of a graded set
    unjudged: tuple[Unjudged, ...] = ()
    comparison: Comparison | None = None
    warnings: tuple[str, ...] = ()  # of the comparison
    machine_estimate: MachineEstimate | None = None
    # of a golden set
    variants: int = 0  # questions that are reported apart
    changes: ChangesView | None = None
    findings: tuple[tuple[str, str], ...] = ()  # where, and what was found
    robustness: Robustness | None = None
    intervals_note: str = ""  # for the worst case; which are too wide to be useful
    thresholds: str = ""  # the rubric's, as a sentence, where they are not the usual ones
    # of the verdict, where it rests on labels by machines or on one judge, or hides a failed MUST
    proviso: str = ""
    one_judge: bool = False
    # by query the values of the results that these are compared with
    before: Mapping[str, Mapping[str, float | None]] = {}

    def figure(self, key: str) -> ReportFigure | None:
        return next((figure for figure in self.figures if figure.key == key), None)

    @property
    def unsure(self) -> bool:
        """Whether a pass is no yes: it rests on one judge, or hides a failed MUST."""
        hides = self.kind == "golden" and bool(self.proviso)
        return self.status == "pass" and (self.one_judge or hides)

    @property
    def deciding(self) -> str:
        """The key of the measure that decides a comparison; empty where nothing is compared."""
        name = self.comparison.headline if self.comparison else ""
        return next((line.key for line in self.measures if line.measure == name), "")

    @property
    def headline_unjudged(self) -> tuple[Unjudged, int | None] | None:
        """The unjudged share of nDCG@10, else of the first measure, with its cutoff; None if
        nothing can be unjudged."""
        if not self.unjudged:
            return None
        named = (each for each in self.unjudged if each.measure == HEADLINE_MEASURE)
        found = next(named, self.unjudged[0])
        cutoffs = {line.measure: line.cutoff for line in self.measures}
        return found, cutoffs.get(found.measure)

    @property
    def titles(self) -> dict[str, str]:
        """The headings of the figures, by key."""
        return {figure.key: figure.title for figure in self.figures}

    @property
    def has_change(self) -> bool:
        return self.baseline is not None and bool(self.baseline.delta)
