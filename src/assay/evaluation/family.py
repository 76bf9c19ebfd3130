"""What is tested together: all pairs of the systems that are compared, by the measure that decides.

One family, corrected once. A headline ("B is better than A"), the letters of a leaderboard and the
queries needed all go by it, so that no two of them can say different things. With two systems there
is one pair, and nothing to correct.

Claims by slice ("B is better for keywords") are a family of their own: every pair in every slice.
They are held to the largest value that any of them reaches when the signs of the queries are
arbitrary (Westfall and Young 1993): the chance that a board makes any false claim is at most 5%.
The value is the sum of the differences over the root of their squares. No slice of n queries can
exceed the root of n, so that a slice of five cannot shout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.evaluation import statistics

FLIPS = 4_000  # assignments of signs


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a pair is held to: its p corrected by Holm over the family, and the number of tests that
    Holm's rule counts for it."""

    p_holm: float = 1.0
    tests: int = 1


def family(tables: Sequence[Mapping[str, float]]) -> dict[tuple[int, int], Held]:
    """By the places of two systems, the first before the second: over the queries that both have,
    {query id: value} of each."""
    pairs = list(combinations(range(len(tables)), 2))
    p_values = [_p_value(tables[one], tables[other]) for one, other in pairs]
    corrected = statistics.holm(p_values)
    ranks = np.argsort(np.argsort(p_values, kind="stable"), kind="stable").tolist()
    return {
        pair: Held(p_holm=p, tests=len(pairs) - rank)
        for pair, p, rank in zip(pairs, corrected, ranks, strict=True)
    }


def _p_value(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    moves = [value - one[query_id] for query_id, value in other.items() if query_id in one]
    return float(statistics.randomization_test(np.array(moves, np.float64)[:, None])[0])


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
