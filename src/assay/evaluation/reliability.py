"""Measure how far the scores of first hits can be trusted as probabilities: the reliability curve,
the expected calibration error, and how well scores tell right from wrong (`CalibrationReport`)."""

from __future__ import annotations

import msgspec
import numpy as np

BINS = 5  # of the curve (taste): few questions fill no more
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Booleans = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Questions whose first hit has a score between `low` and `high`: how many there are, their
    mean score, and the share whose first hit is right."""

    low: float
    high: float
    n: int
    mean: float
    right: float


class Reliability(msgspec.Struct, frozen=True, kw_only=True):
    """How far the scores of first hits can be trusted: the expected calibration error, the area
    under the ROC curve (None if all or none are right), and the reliability curve."""

    ece: float
    auc: float | None
    bins: list[Bin]


class CalibrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `assay calibrate`. `before` is the reliability of the shipped models, `after`
    that of the fitted ones, cross-validated. `refused` and `outside_refused` are the shares of
    answerable and outside questions on which the engine abstains now."""

    corpus: str
    dataset: str
    questions: int
    outside: int
    right: float
    before: Reliability
    after: Reliability
    refused: float
    outside_refused: float
    file: str


def reliability(scores: Floats, right: Booleans) -> Reliability:
    return Reliability(
        ece=expected_error(scores, right),
        auc=_area(scores, right),
        bins=_bins(scores, right),
    )


def _area(scores: Floats, right: Booleans) -> float | None:
    """The share of pairs of a right and a wrong first hit in which the right one scores higher; a
    tie counts one half."""
    good, bad = scores[right], scores[~right]
    if not len(good) or not len(bad):
        return None
    differences = good[:, None] - bad[None, :]
    return float(((differences > 0) + 0.5 * (differences == 0)).mean())


def _bins(scores: Floats, right: Booleans) -> list[Bin]:
    places = np.minimum((scores * BINS).astype(int), BINS - 1)
    return [
        Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            n=int(held.sum()),
            mean=float(scores[held].mean()),
            right=float(right[held].mean()),
        )
        for place in range(BINS)
        if (held := places == place).any()
    ]


def expected_error(scores: Floats, right: Booleans, bins: int = 10) -> float:
    """The expected calibration error: over bins of equal width, how far the mean score is from the
    share that is right, weighted by their size."""
    places = np.minimum((np.asarray(scores) * bins).astype(int), bins - 1)
    error = 0.0
    for place in np.unique(places):
        held = places == place
        error += float(held.mean()) * abs(float(scores[held].mean()) - float(right[held].mean()))
    return error
