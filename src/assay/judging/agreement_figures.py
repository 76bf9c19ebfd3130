"""What there is to say of agreement, as values. A figure that is not defined is null, with the
reason beside it."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["human", "machine", "across", "all"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its 95% interval. Null where it is not defined; `note` says why, or what to
    know of the interval."""

    value: float | None
    interval: tuple[float, float] | None
    note: str = ""


class WeightedKappa(msgspec.Struct, frozen=True, kw_only=True):
    """Both weightings; `value` and `interval` are those of the linear one."""

    value: float | None
    interval: tuple[float, float] | None
    linear: Figure
    quadratic: Figure
    weights: Literal["linear"] = "linear"
    note: str = ""


class TwoSided(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement on relevant or not; `first` is the lowest grade that is relevant."""

    first: int
    exact: Figure
    cohen_kappa: Figure


class Confusion(msgspec.Struct, frozen=True, kw_only=True):
    """How often which two grades met. With more than two judges every two votes are counted both
    ways, and `rows` and `columns` name nobody."""

    grades: list[int]
    rows: str
    columns: str
    counts: list[list[int]]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """`pairs` are those that two or more judges graded, `comparisons` the two votes at a time."""

    pairs: int
    queries: int
    comparisons: int
    exact: Figure
    cohen_kappa: Figure
    weighted_kappa: WeightedKappa
    krippendorff_alpha: Figure
    far_apart: Figure
    relevant: TwoSided


class JudgeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One judge: how many votes, of which grades, and the agreement with all others."""

    kind: str
    votes: int
    unsure: int
    grades: dict[str, int]
    agreement: Figures


class PairFigures(msgspec.Struct, frozen=True, kw_only=True):
    judges: tuple[str, str]
    agreement: Figures
    confusion: Confusion


class GradeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`exact`: of the votes for this grade, the share whose other judge gave it too. `cohen_kappa`:
    this grade or another."""

    pairs: int
    exact: Figure
    cohen_kappa: Figure


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """A judge against the mean of the others, grade minus mean: below 0 is strict, above it
    lenient. `leaning` is said only where the interval is off 0."""

    pairs: int
    difference: Figure
    leaning: Literal["strict", "lenient", ""]


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A judge over time. `repeated` is about the pairs judged twice, first against last; the rest
    about the difference from the others in the earlier and the later half of the votes."""

    repeated: int
    exact: Figure
    weighted_kappa: Figure
    repeated_change: Figure
    pairs: int
    earlier: Figure
    later: Figure
    change: Figure


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    rulings: int
    spot_checks: int
    citations: int
    other_judges: int
    unknown_queries: int


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to say; `kind` is who is compared."""

    dataset: str
    kind: Kind
    statement: str
    pairs: int
    judges: list[str]
    queries: int
    votes: int
    unsure: int
    left_out: LeftOut
    resampled: Literal["queries", "pairs"]
    level: float
    samples: int
    seed: int
    exact: Figure
    cohen_kappa: Figure
    weighted_kappa: WeightedKappa
    krippendorff_alpha: Figure
    far_apart: Figure
    relevant: TwoSided
    confusion: Confusion
    by_kind: dict[str, Figures]
    by_judge: dict[str, JudgeFigures]
    by_pair: list[PairFigures]
    by_topic: dict[str, Figures]
    by_type: dict[str, Figures]
    by_grade: dict[str, GradeFigures]
    consensus: dict[str, Against]
    drift: dict[str, Drift]
