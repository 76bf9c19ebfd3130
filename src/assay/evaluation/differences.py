"""What a comparison says: the values, apart from how they are found (`comparison`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from assay.core.results import Bounds
from assay.evaluation.doubts import Doubt
from assay.evaluation.states import State

ALPHA = 0.05
Equivalence = Literal["equivalent", "no worse", "worse", "not shown", "open"]
RANKS: dict[Equivalence, int] = {"equivalent": 1, "no worse": 2, "worse": -1, "not shown": 0}
Found = Literal["better", "worse", "no difference", "open", ""]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One measure of one system against the baseline system, over the queries both have: values,
    difference, interval, p-values, wins. `could_flip`: some grades of unjudged documents overturn
    the sign. The measure that decides has a `verdict`: that of the corrected test, or, where
    documents that count are unjudged, what it is expected to be with all of them judged; `open`
    where that is not sure. `doubt` says how sure."""

    system: str
    measure: str
    key: str
    n: int
    baseline: float
    value: float
    difference: float
    low: float | None
    high: float | None
    p_randomization: float
    p_t: float
    p_wilcoxon: float
    p_holm: float
    p_bh: float
    effect_size: float | None  # None where every query changed by the same amount
    detectable: float | None  # the smallest change that would show; None where no query changed
    wins: int
    ties: int
    losses: int
    could_flip: bool
    inner: Bounds = (None, None)  # the 90% interval, for two one-sided tests at 5% each
    equivalence: Equivalence | None = None  # to the margin, where one is given
    residuals: tuple[float, float] | None = (
        None  # RBP: what the unknown could add, of the baseline and of the system
    )
    verdict: Found = ""
    doubt: Doubt | None = None  # None where nothing that counts is unjudged

    @property
    def disagree(self) -> bool:
        """Whether the test is sure and the interval holds 0, or the other way round."""
        if self.low is None or self.high is None:
            return False
        return (self.p_holm <= ALPHA) == (self.low <= 0 <= self.high)

    @property
    def here_only(self) -> bool:
        """Whether a change is proven on these queries, and not on others: the test is sure, and the
        interval, which reckons with queries not seen, holds 0."""
        return self.disagree and self.p_holm <= ALPHA


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A query that moved, and what entered and left its top 10, with grades."""

    system: str
    query_id: str
    query_text: str
    baseline: float
    value: float
    entered: list[tuple[str, int | None]]
    left: list[tuple[str, int | None]]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A system: its mean with the interval, and the letters it shares with those that it cannot be
    told from."""

    system: str
    value: float
    low: float | None
    high: float | None
    letters: str


@dataclass(frozen=True, kw_only=True)
class Versus:
    """Two systems: `verdict` is of the first, the one with the higher mean."""

    system: str
    other: str
    difference: float
    low: float | None
    high: float | None
    p_holm: float
    verdict: Found
    stands: float | None  # with everything judged; None where nothing is unjudged, or known of it


@dataclass(frozen=True, kw_only=True)
class SliceLead:
    """The difference of a system from the best over a slice: as it is, and drawn towards that over
    all queries, with the 95% interval of the latter. `p` is corrected over all pairs and slices."""

    system: str
    slice: str
    n: int
    difference: float
    shrunk: float
    low: float
    high: float
    p: float

    @property
    def told(self) -> bool:
        return self.p <= ALPHA and self.difference * self.shrunk > 0


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    measure: str
    n: int
    places: list[Place]
    pairs: list[Versus]
    slices: list[SliceLead]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    baseline: str
    systems: list[str]
    headline: str  # the primary measure: it decides, and orders the queries that moved
    differences: list[Difference]
    moved: list[Moved]
    warnings: list[str]
    gold_status: str = ""  # how far the gold set is approved; empty where there is nothing to
    variants: list[Difference] = []  # perturbed questions apart, each by the mean of its variants
    margin: float | None = None  # within which two engines count as equivalent
    leaderboard: Leaderboard | None = None  # of three systems or more
    gold_changed: State = ""  # in between: `some` queries, which are left out, or `all`
    tests: int = 1  # pairs of systems that are tested together, which the p of the headline counts
