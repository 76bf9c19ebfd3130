"""The results of a scoring run as values: `GradedResults` for ranking measures, `GoldenResults` for
pass/fail questions, the receipt of both, and the gates that decide on them with their verdict.

`results_file` reads and writes them, and alone knows that a file has slices and stated expectations
flat. `evaluation/graded.py` or `golden/figures.py` fills a new field; `make schema` publishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Literal, TypeGuard, TypeVar

import msgspec

from assay.core.types import Finding, JsonObject, approval_status

# ── gates and verdicts ────────────────────────────────────────────────────────────────────────────

Status = Literal["pass", "fail", "inconclusive"]

# exit codes, a convention of our own; docs/configuration.md lists all of them
EXIT: dict[Status, int] = {"pass": 0, "fail": 1, "inconclusive": 3}
Interval = tuple[float, float]

# taste: a mean of 0.6 can be a little less in floating point, but never by this much
ROUNDING = 1e-9
DECIMALS = 3  # of a figure, on every page and in every message (taste)
MOST_DECIMALS = 9  # as exact as ROUNDING
MIN_QUERIES = 10  # judged queries: with fewer an interval cannot be trusted (rule of thumb)
WIDE = 0.4  # of the scale of a measure: a wider interval says little (taste)
ALPHA = 0.05  # the usual level of significance
# a verdict stands where the unjudged turn it with no more than one chance in twenty (decision 18)
SURE = 0.95
# judged hits, below which nothing is known of the others; chosen on pairs of public engines:
# decision 18; research/judgments.md, experiment 30
MIN_JUDGED_HITS = 20
# the kinds of slices that graded sets have, in the order of the results file
SLICE_KINDS = ("type", "topic", "wording", "category", "corpus", "practice_area", "language")


def rounded(
    value: float, side: Callable[[float], object] | None = None, decimals: int = DECIMALS
) -> str:
    """A figure rounded to the decimals that are shown everywhere, without trailing zeros. Where
    rounding would move it to the other `side` of a limit, more decimals are kept."""
    for digits in range(decimals, MOST_DECIMALS + 1):
        text = f"{value:.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        if side is None or side(float(text)) == side(value):
            break
    return "0" if float(text) == 0 else text


# A new condition: its field in Gate (`make schema`), its name in BOUNDS, DROPS or EVIDENCE (bounds
# and drops also in LIMITS), and Gate's `holds`, `drop` or `alpha`; evaluation/gates.py decides, its
# `gate_mistake` and gate_values.py beside it refuse values that make no sense; reports/wording.py
# says what it demands (`_demands`), and reports/words/*.toml why it is inconclusive
# (`gate.why_KIND`); judging/next.py; docs/configuration.md and tools/site/keys.toml. Tests hold
# these together.


class Gate(msgspec.Struct, frozen=True):
    """One demand. `measure` is a measure, a results key, a latency (`latency_p95`) or a figure of
    golden sets (`pass_rate_must`); `slice` is `overall` or `KIND:NAME`, such as `topic:lobbying`.
    """

    measure: str
    slice: str = "overall"
    minimum: float | None = None
    maximum: float | None = None
    below: float | None = None
    max_drop: float | None = None
    no_worse_than: float | None = None  # shown to have fallen by less (TOST), not just not shown to
    min_judged: float | None = None
    min_queries: int | None = None
    significance: float | None = None  # a bound inside the interval at this level decides nothing
    worst_case: bool = False  # by Gaffke's bound, which holds for any distribution of values
    unjudged: str = ""  # COUNT_AS_WRONG, where somebody asks for it; else they leave a doubt
    name: str = ""

    def stated(self, conditions: Iterable[str]) -> dict[str, float]:
        """The conditions that the gate sets, with their values."""
        values = ((name, getattr(self, name)) for name in conditions)
        return {name: value for name, value in values if value is not None}

    @property
    def drop(self) -> float | None:
        """The largest allowed drop against the baseline; None for other gates."""
        return self.max_drop if self.max_drop is not None else self.no_worse_than

    @property
    def alpha(self) -> float | None:
        """The accepted chance of a wrong decision; None where the value alone decides."""
        strict = self.no_worse_than is not None or self.worst_case
        return 0.05 if strict and self.significance is None else self.significance

    def holds(self, value: float) -> bool:
        """Whether a figure is inside the bounds; of a gate on a drop, whether a change is."""
        if self.drop is not None:
            return value >= -self.drop - ROUNDING
        if self.minimum is not None and value < self.minimum - ROUNDING:
            return False
        if self.maximum is not None and value > self.maximum + ROUNDING:
            return False
        return self.below is None or value < self.below

    def sides(self, value: float) -> tuple[bool, ...]:
        """On which side of each limit an end of an interval stands."""
        limits = [-self.drop] if self.drop is not None else self.stated(BOUNDS).values()
        return tuple(value < limit for limit in limits)


BOUNDS = ("minimum", "maximum", "below")  # on the figure itself
DROPS = ("max_drop", "no_worse_than")  # on its change
EVIDENCE = ("min_judged", "min_queries")  # without which nothing is decided
COUNT_AS_WRONG = "count as wrong"  # may be said of unjudged documents

LIMITS = {  # limit: the words for it
    "minimum": "at least {:g}",
    "maximum": "at most {:g}",
    "below": "below {:g}",
    "max_drop": "a drop of at most {:g}",
    "no_worse_than": "a drop of at most {:g}",
    "min_queries": "at least {:g} questions",
}


class RiskyQueries(msgspec.Struct, frozen=True, kw_only=True):
    """Queries that make an interval doubtful: nearly all others tie (`ties`), or one of them makes
    most of the spread (`extreme`). They are named in the order of their weight."""

    kind: str
    queries: list[str]


class Why(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reason why a gate is inconclusive: its key in reports/words (`gate.why_KIND`), and its
    figures."""

    kind: str
    facts: dict[str, float] = {}


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of one gate, with a sentence that a person can act on."""

    gate: Gate
    status: Status
    value: float | None
    message: str
    baseline: float | None = None  # the figure of a golden set that a drop is counted from
    counts: bool = True  # false for a default gate that has no baseline: shown, not decided by
    interval: Interval | None = None  # of the value, at the level of the gate
    level: float | None = None
    whys: list[Why] = []  # why it is inconclusive; older files say it in `message` alone
    risk: RiskyQueries | None = None  # why the interval may be too narrow

    @property
    def is_identical(self) -> bool:
        """Whether a gate on a drop passes because the results are those of the baseline: it alone
        goes by no interval."""
        by_interval = self.gate.drop is not None and self.gate.alpha is not None
        return by_interval and self.status == "pass" and self.interval is None

    @property
    def limit_kind(self) -> str:
        """Which limit the gate sets, the first where there are several."""
        return next((name for name in LIMITS if getattr(self.gate, name) is not None), "")

    @property
    def bound(self) -> float | None:
        return getattr(self.gate, self.limit_kind) if self.limit_kind else None

    @property
    def limit(self) -> str:
        """The limit in words."""
        return LIMITS[self.limit_kind].format(self.bound) if self.limit_kind else "enough evidence"

    @property
    def title(self) -> str:
        return self.gate.name or f"{self.gate.measure} {self.gate.slice}"


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """An unjudged pair: what its being relevant would change, and the doubt its grade removes."""

    query_id: str
    query_text: str
    doc_id: str
    rank_a: int | None
    rank_b: int | None
    effect: float  # of being relevant, on the mean or on the difference of means
    change: float  # what its judgment is expected to change: the effect times its chance
    narrowing: float  # share of the variance that is gone with it, after the pairs before it


class OneJudge(msgspec.Struct, frozen=True, kw_only=True):
    """The judge whose votes alone decide a verdict, unchecked by anybody: without the `documents`
    that only they judged, the status would be `without`."""

    judge: str
    documents: int
    without: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of all gates together. `judge_next` is the shortest list of judgments expected to
    settle what is open: None where judging cannot help, empty where only more queries can; those to
    `judge_first` where nothing can be expected yet. `note`: provisional, machines made labels."""

    status: Status
    checks: list[Check]
    fingerprints: dict[str, str | None]
    judge_next: list[Pair] | None = None
    judge_first: bool = False
    note: str = ""
    one_judge: OneJudge | None = None


def worst(checks: Sequence[Check]) -> Status:
    """Fail when any gate fails, else inconclusive when any that counts is."""
    statuses = {check.status for check in checks if check.counts}
    return (
        "fail" if "fail" in statuses else "inconclusive" if "inconclusive" in statuses else "pass"
    )


# ── estimates from machine votes ──────────────────────────────────────────────────────────────────


class MachineFigure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measure over all queries. `value` is machine votes corrected by people; it is people's
    mean where `weight`, that of the machine's values, is 0. Without a value `why` says why."""

    measure: str
    value: float | None = None
    interval: Interval | None = None  # of all queries that could be asked
    these_queries: Interval | None = None  # of what people would find had they judged all of these
    weight: float = 0.0
    people: float | None = None  # people's mean, over the judged queries that have a value
    people_interval: Interval | None = None
    machine: float | None = None  # the machine's own mean over all, not corrected
    judged: int = 0  # queries that people judged in full, and the machine too
    queries: int = 0  # queries with machine votes on all that the measure looks at
    left_out: int = 0  # queries without them
    nothing_relevant: int = 0  # of the judged: without a value, people found nothing relevant
    why: str = ""


class Doubt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reason to doubt that the judged queries are a random sample: on `measure` the machine
    grades them differently from the rest, or a topic or type has too many or too few of them.
    `chance` is the probability of such a difference under random sampling."""

    chance: float
    measure: str = ""
    kind: str = ""  # topic or type
    name: str = ""
    judged: int = 0  # of the `queries` of that topic or type
    queries: int = 0


class MachineEstimate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Estimates from machine votes, by the key of each measure. `judges` are the machines."""

    figures: dict[str, MachineFigure]
    judges: list[str] = []
    doubts: list[Doubt] = []


# ── the parts of results ──────────────────────────────────────────────────────────────────────────

Metrics = dict[str, int | float | None]
Bounds = tuple[float | None, float | None]
T = TypeVar("T")


def always(value: T) -> T:
    """A default that is written too, so that a reader of the file sees it was looked at."""
    return msgspec.field(default_factory=lambda: value)


# ── the receipt ───────────────────────────────────────────────────────────────────────────────────


class GitState(msgspec.Struct, frozen=True, kw_only=True):
    commit: str
    dirty: bool


class InputFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    sha256: str


class MeasureLine(msgspec.Struct, frozen=True, kw_only=True):
    """One measure: the key of its values, and formula and settings, so that a number can be
    recomputed by hand. `params` (rel, gain, p, …) are written flat."""

    key: str
    measure: str
    cutoff: int | None = None
    params: dict[str, int | float | str] = {}
    formula: str = ""
    source: str = ""


class Unjudged(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of unjudged hits on a measure: means over scored queries."""

    measure: str
    judged_share: float | None = msgspec.field(name="judged", default=None)  # inside the cutoff
    judged_only: float | None = None  # with unjudged hits taken out of the ranking
    worst: float | None = None
    best: float | None = None
    residual: float | None = None  # RBP: the weight of all that is unknown, hits and ranks beyond


class GoldCard(msgspec.Struct, frozen=True, kw_only=True):
    """Which gold set. `approved_share` is None for a set that has no rows to approve. `by_machine`
    is how many of its labels rest on machines alone, and `note` says so."""

    name: str = ""
    version: str = ""
    rubric: str = ""
    status: str = ""
    approved_share: float | None = None
    queries: int = 0
    judgments: int = 0
    fingerprint: str = ""
    by_machine: int = 0
    note: str = ""


def standing_line(card: GoldCard) -> str:
    """The approval status of the gold set as a sentence; empty for a set without rows to approve
    and without labels by machines."""
    share = card.approved_share
    if share is None:
        return card.note
    approved = round(share * card.queries)
    stands = approval_status(approved, card.queries)
    return f"{stands}: {approved} of {card.queries} rows approved ({share:.0%})"


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds."""

    mean: float
    p50: float
    p95: float
    max: float


class SliceCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many queries the means are over."""

    overall: int = 0
    slices: dict[str, dict[str, int]] = {}


class GradedReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of graded results, enough to compute them again."""

    measures: list[MeasureLine] = []
    primary: str = ""  # the measure that decides, where the set or the configuration names one
    ties: str = ""
    unjudged_policy: str = ""
    missing_policy: str = ""
    unjudged: dict[str, Unjudged] = {}
    n: SliceCounts = msgspec.field(default_factory=SliceCounts)
    counts: dict[str, int] = {}
    latency_ms: Latency | None = None
    top_k: int | None = None
    kept_hits: int | None = None  # of a query, where more came; else not written
    gold: GoldCard = msgspec.field(default_factory=GoldCard)
    corpus_fingerprint: str | None = None
    served_by: dict[str, str] = {}  # corpus: the engine that its rows were asked of
    inputs: dict[str, InputFile] = {}
    versions: dict[str, str] = {}
    git: GitState | None = None


class GoldenReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of golden results, with the findings in the set before the run."""

    measures: list[MeasureLine] = []
    gold: GoldCard = msgspec.field(default_factory=GoldCard)
    served_by: dict[str, str] = {}  # corpus: the engine that its rows were asked of
    inputs: dict[str, InputFile] = {}
    versions: dict[str, str] = {}
    git: GitState | None = None
    corpus_fingerprint: str | None = None
    unjudged_policy: str = ""
    counts: dict[str, int] = {}
    findings: list[Finding] = []


Receipt = GradedReceipt | GoldenReceipt


# ── parts that both kinds have ────────────────────────────────────────────────────────────────────


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """Who recorded a baseline, why, when and at which commit."""

    by: str = ""
    why: str = ""
    at: str = ""
    git: GitState | None = None


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The change against a baseline over the queries both have, overall and by slice."""

    path: str = ""
    stale: str = ""  # why it cannot be compared with; empty when it can
    recorded: Recorded | None = None
    gold_status: str = ""
    delta: dict[str, float] = {}
    slices: dict[str, dict[str, dict[str, float]]] = {}
    n: int = 0  # queries that both have: all changes are over these
    n_apart: int = 0  # queries that only one of the two has
    intervals: dict[str, Bounds] = {}
    p: dict[str, float] = {}  # by the same statistic as the intervals, uncorrected


class Intervals(msgspec.Struct, frozen=True, kw_only=True):
    """The 95% interval of every figure, overall and by slice."""

    overall: dict[str, Bounds] = {}
    slices: dict[str, dict[str, dict[str, Bounds]]] = {}


class FigureCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many questions each figure of a golden set is over."""

    overall: dict[str, int] = {}
    slices: dict[str, dict[str, dict[str, int]]] = {}


# ── graded results ────────────────────────────────────────────────────────────────────────────────


class GradedEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One query: its results, the grade of each hit, and the values. `num_results` hits came;
    `results` and `grades` hold the top of them, up to the receipt's `kept_hits`."""

    query_id: str
    query_text: str = always("")
    query_type: str = always("")
    query_topic: str = always("")
    query_wording: str = ""
    query_category: str = ""
    query_corpus: str = ""
    query_language: str = ""
    query_practice_area: str | None = None  # of a set from logs, where it is the topic
    num_results: int = always(0)
    results: list[str]
    metrics: Metrics
    grades: list[int | None]
    known_grades: list[int] = msgspec.field(name="judged")  # of the query, best first
    # hits that `gold next` asked for
    judged_on_request: list[str] = msgspec.field(name="asked", default_factory=list)
    reason: str = ""  # why there is no value, or a 0
    latency_ms: float | None = None
    error: str | None = None

    @property
    def returned(self) -> int:
        """The number of hits, including those that are not kept."""
        return max(self.num_results, len(self.results))

    def in_slice(self, kind: str) -> str:
        """The name of the slice of a kind that the query is in."""
        return str(getattr(self, f"query_{kind}", "") or "")


class GradedResults(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="graded"
):
    """Ranking measures of a run against graded judgments. `slices` is kind -> name -> means."""

    timestamp: str
    engine: str
    overall: Metrics
    slices: dict[str, dict[str, Metrics]] = {}
    per_query: list[GradedEntry]
    receipt: GradedReceipt
    intervals: Intervals = msgspec.field(default_factory=Intervals)
    worst_case: bool = False  # the intervals hold in the worst case (Gaffke's bound)
    machine_estimate: MachineEstimate | None = None  # asked for by name, and never gated on
    baseline: Baseline | None = None
    verdict: Verdict | None = None
    recorded: Recorded | None = None
    cache_key: str = ""


# ── golden results ────────────────────────────────────────────────────────────────────────────────


class GoldenHit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hit as the engine returned it. `fields`, written flat, hold its place under the suite's
    names (law, section_num, moment, page, table, row, version) and whatever else the engine
    returned."""

    doc_id: str = always("")
    score: float | None = always(None)
    fields: JsonObject = {}
    title: str = ""
    text: str = ""
    match: str = ""  # expected, negative or trap

    @property
    def place_fields(self) -> JsonObject:
        """The fields from which `law.matching` reads a place."""
        return {"doc_id": self.doc_id, **self.fields}


class GoldenEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question: its expectations, its hits, and why it passed or failed. `stated`, written
    flat, holds the other keys of the question as the gold set has them: expected_none, evidence,
    confusion, parent, …"""

    query_id: str  # written as `id` too
    query_text: str = always("")  # written as `query` too
    category: str = always("")
    must: bool = always(False)
    stated: JsonObject = {}
    expected_any: list[JsonObject] = always([])
    k: int = always(5)
    min_score: float = always(0.0)
    passed: bool = always(False)
    first_rank: int | None = always(None)  # of the first accepted hit
    rr: float | None = always(None)
    latency_ms: float | None = always(None)
    hits: list[GoldenHit] = always([])
    reason: str = always("")
    failure: str = always("")
    # of the first hit at an expected place, accepted or not
    expected_rank: int | None = always(None)
    expected_score: float | None = always(None)
    negative_rank: int | None = always(None)
    abstained: bool = always(False)
    query_type: str = always("")
    query_topic: str = always("")
    num_results: int = always(0)
    results: list[str]
    grades: list[int | None]
    known_grades: list[int] = msgspec.field(name="judged")
    metrics: Metrics
    as_of: str = ""
    language: str = ""
    notes: str = ""
    error: str | None = None

    @property
    def returned(self) -> int:
        return len(self.results)

    def in_slice(self, kind: str) -> str:
        """The name of the slice of a kind that the question is in."""
        return str(getattr(self, kind, "") or "")

    @property
    def judged_on_request(self) -> list[str]:
        """Empty: a golden question states what it expects, and nobody is asked."""
        return []

    @property
    def parent(self) -> str:
        """The question that this one is a variant of."""
        return str(self.stated.get("parent") or "")

    @property
    def perturbation(self) -> str:
        return str(self.stated.get("perturbation") or "")


class RobustnessRow(msgspec.Struct, frozen=True, kw_only=True):
    """Pass rates of variants against those of the questions they are variants of."""

    n: int
    pass_rate: float
    low: float | None
    high: float | None
    parent_pass_rate: float
    drop: float
    broken: list[str] = []
    mended: list[str] = []


class Robustness(msgspec.Struct, frozen=True, kw_only=True):
    overall: RobustnessRow
    by_perturbation: dict[str, RobustnessRow] = {}
    by_family: dict[str, RobustnessRow] = {}
    worst_families: list[str] = []
    worst_perturbations: list[str] = []
    worst_parents: list[str] = []
    broken_by_parent: dict[str, int] = {}


class GoldenResults(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="golden"
):
    """Pass or fail for every question of a golden set. The checks of `verdict` are written as
    `gates` too."""

    timestamp: str
    engine: str
    overall: Metrics
    slices: dict[str, dict[str, Metrics]] = {}
    failures: dict[str, int] = always({})  # how often each kind of failure came
    intervals: Intervals = msgspec.field(default_factory=Intervals)
    worst_case: bool = False  # the intervals hold in the worst case (Gaffke's bound)
    n: FigureCounts = msgspec.field(default_factory=FigureCounts)
    per_query: list[GoldenEntry]
    verdict: Verdict | None = None
    robustness: Robustness | None = None
    receipt: GoldenReceipt
    baseline: Baseline | None = None
    recorded: Recorded | None = None
    cache_key: str = ""


# ── answers ───────────────────────────────────────────────────────────────────────────────────────

Exists = Literal["found", "ambiguous", "not_found", "outside", "unreadable"]
NameCheck = Literal["agrees", "differs", "not_given"]
Pinpoint = Literal["exists", "missing", "not_given"]
Retrieved = Literal["retrieved", "question", "neither"]
InForce = Literal["in_force", "not_yet", "no_longer", "unknown"]
QuoteStatus = Literal["verbatim", "ellipsis", "altered", "other_source", "nowhere", "too_short"]
FigureStatus = Literal["supported", "unsupported"]


class CitationFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One citation of an answer: where it stands, the documents it leads to, and each check."""

    text: str
    start: int
    end: int
    kind: Literal["prose", "marker"]
    targets: list[str] = []
    exists: Exists = "outside"
    name: NameCheck = "not_given"
    pinpoint: Pinpoint = "not_given"
    retrieved: Retrieved = "neither"
    in_force: InForce = "unknown"


class QuoteFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One quotation without its marks, the document it stands in, and the words that differ."""

    text: str
    start: int
    end: int
    status: QuoteStatus
    source: str = ""
    diff: str = ""


class FigureFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A number with its unit, or a date, compared with the cited text."""

    text: str
    start: int
    end: int
    status: FigureStatus


class AnswerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The checks of one answer. Every key is written, also where a list is empty."""

    id: str
    refused: bool = False
    citations: list[CitationFinding] = []
    quotes: list[QuoteFinding] = []
    figures: list[FigureFinding] = []


class AnswerNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reason behind one check, for a person: what was found instead, since when, which words.
    `check` is its name (exists, name, pinpoint, retrieved, in_force, quote, figure, refused)."""

    id: str
    check: str
    value: str
    start: int = always(0)
    end: int = always(0)
    text: str = always("")
    reason: str = always("")
    why: str = ""  # the key of the reason in reports/words (`answers.reason_WHY`), and its facts
    facts: dict[str, str] = {}
    is_fault: bool = always(False)
    candidates: list[str] = []


class AuthorityEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The required documents of one question, split by where they were lost."""

    id: str
    required: list[str] = []
    cited: list[str] = []  # documents of the corpus that the answer cites
    not_retrieved: list[str] = []  # required, and neither retrieved nor cited
    retrieved_not_cited: list[str] = []
    cited_not_retrieved: list[str] = []
    recall: float | None = None
    precision: float | None = None
    answerable: bool | None = None  # None where the gold set does not say


class AnswerReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of an answer check, enough to compute it again."""

    inputs: dict[str, InputFile] = {}
    columns: dict[str, str] = {}  # what was read from which column
    as_of: str = ""
    corpus: str = ""
    corpus_fingerprint: str | None = None
    gold: GoldCard = msgspec.field(default_factory=GoldCard)
    versions: dict[str, str] = {}
    git: GitState | None = None


class AnswerResults(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="answers"
):
    """The exact checks of generated answers. `unchecked` counts, by reason, the citations that
    could not be checked; intervals are over answers, since citations of one are not independent."""

    timestamp: str
    engine: str
    overall: Metrics
    unchecked: dict[str, int] = always({})
    per_answer: list[AnswerEntry]
    notes: list[AnswerNote] = always([])
    authorities: list[AuthorityEntry] = []
    intervals: Intervals = msgspec.field(default_factory=Intervals)
    per_query: dict[str, Metrics] = {}  # the figures of each answer, which two runs are compared by
    questions: dict[str, str] = {}  # each answer whose question has several, with the first of them
    receipt: AnswerReceipt
    baseline: Baseline | None = None
    verdict: Verdict | None = None
    recorded: Recorded | None = None
    cache_key: str = ""


# The measures of answers: counts of faults, and shares that have an interval over questions.
ANSWER_COUNTS = (
    *("missing_citations", "unreadable_citations", "wrong_names", "missing_pinpoints"),
    *("not_in_force", "not_retrieved", "altered_quotes", "misattributed_quotes"),
    *("quotes_found_nowhere", "unsupported_figures"),
)
ANSWER_SHARES = (
    *("citations_right", "quotes_right", "figures_right", "faultless"),
    *("authority_recall", "authority_precision"),
)

Results = GradedResults | GoldenResults
Entry = GradedEntry | GoldenEntry


def is_variant(entry: Entry, known: Container[str]) -> TypeGuard[GoldenEntry]:
    """A perturbed question beside its parent; on its own it is a question like any."""
    return isinstance(entry, GoldenEntry) and bool(entry.perturbation) and entry.parent in known


def by_need(entry: GoldenEntry) -> tuple[bool, str, str]:
    """The order of golden questions everywhere: MUST first, then by category and id."""
    return not entry.must, entry.category, entry.query_id
