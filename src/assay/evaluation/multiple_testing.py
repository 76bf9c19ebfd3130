"""Corrections for several tests at once.

Claims against one baseline are corrected over the systems that are shown, the leaderboard over all
its pairs, both by Holm (1979): the chance of any false claim among them is at most 5%. An adjusted
interval belongs to every adjusted p: its level is what Holm's rule leaves of 95% for that test, so
that it holds 0 just where the adjusted p is above 0.05.

Claims by slice ("B is better for keywords") are a family of their own: every pair in every slice.
They are held to the largest value that any of them reaches when the signs of the queries are
arbitrary (Westfall and Young 1993). The value is the sum of the differences over the root of their
squares. No slice of n queries can exceed the root of n, so that a slice of five cannot shout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.evaluation import statistics
from assay.evaluation.statistics import ALPHA

FLIPS = 4_000  # assignments of signs


@dataclass(frozen=True, kw_only=True)
class AdjustedTest:
    """What one test of several is held to: its adjusted p, and `times`, the number of tests that
    its interval counts with."""

    p_adjusted: float
    times: float = 1.0

    @property
    def level(self) -> float:
        """Of the adjusted interval."""
        return 1 - ALPHA / self.times


def adjusted(p_values: Sequence[float]) -> list[AdjustedTest]:
    """By Holm, in the order given. A test behind one that is not significant counts with as many
    tests as its adjusted p says."""
    corrected = statistics.holm(p_values)
    ranks = np.argsort(np.argsort(p_values, kind="stable"), kind="stable").tolist()
    return [
        AdjustedTest(p_adjusted=held, times=max(len(p_values) - rank, held / p if p > 0 else 1.0))
        for p, held, rank in zip(p_values, corrected, ranks, strict=True)
    ]


def slice_chances(
    values: statistics.Floats, parts: Sequence[Sequence[int]], *, seed: int = statistics.SEED
) -> statistics.Floats:
    """[slice, system, system]: the corrected p of each difference in each slice, which is how often
    any difference in any slice is as large by chance alone. `values` are [query, system]."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], (FLIPS, len(values)))
    largest = np.zeros(FLIPS)
    seen = []
    for part in parts:
        rows = values[list(part)]
        gaps = rows[:, :, None] - rows[:, None, :]
        size = np.sqrt((gaps**2).sum(axis=0))
        scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 1e-12)
        seen.append(np.abs(gaps.sum(axis=0)) * scale)
        flipped = signs[:, list(part)] @ rows
        for one, other in combinations(range(values.shape[1]), 2):
            reached = np.abs(flipped[:, one] - flipped[:, other]) * scale[one, other]
            largest = np.maximum(largest, reached)
    if not seen:
        return np.ones((0, values.shape[1], values.shape[1]))
    found = np.stack(seen)
    beyond = FLIPS - np.searchsorted(np.sort(largest), found - 1e-9)
    return np.asarray((beyond + 1) / (FLIPS + 1))
