"""Gates and verdicts as values: the conditions of a gate, the outcome of one check, the verdict of
all gates, and estimates from machine votes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

Status = Literal["pass", "fail", "inconclusive"]

EXIT: dict[Status, int] = {"pass": 0, "fail": 1, "inconclusive": 3}
Bounds = tuple[float, float]

ROUNDING = 1e-9  # a mean of 0.6 can be a little less in floating point
DECIMALS = 3  # of a figure, on every page and in every message (taste)
MOST_DECIMALS = 9  # as exact as ROUNDING
FEWEST = 10  # judged queries: with fewer an interval cannot be trusted (rule of thumb)
WIDE = 0.4  # of the scale of a measure: a wider interval says little (taste)


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
# and drops also in LIMITS); evaluation/gates.py decides, its `mistake` and gate_limits.py beside it
# refuse values that make no sense; reasons for an inconclusive gate are `gate.why_KIND` in
# reports/words/*.toml; judging/next.py; docs/configuration.md. Tests hold these together.


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    always_valid: bool = False  # decided by evidence that may be looked at every day
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
        strict = self.no_worse_than is not None or self.always_valid
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
    interval: tuple[float, float] | None = None  # of the value, at the level of the gate
    level: float | None = None
    whys: list[Why] = []  # why it is inconclusive; older files say it in `message` alone

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
    interval: Bounds | None = None  # of all queries that could be asked
    these_queries: Bounds | None = None  # of what people would find had they judged all of these
    weight: float = 0.0
    people: float | None = None  # people's mean, over the judged queries that have a value
    people_interval: Bounds | None = None
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
