"""Evidence that may be looked at every day: an always-valid test of a bounded mean.

Who looks at a growing set every night and stops when an ordinary test says "worse" will see it say
so sooner or later. Evidence by betting (Waudby-Smith and Ramdas 2024; Ville 1939) does not have
that fault. One bets against the claim that the mean is at least `bound`: a stake of 1 becomes the
product of 1 - bet (x - bound) over the queries. If the claim is true no bet gains on average, and
the chance that the stake ever reaches 1 / alpha, over any number of looks, is at most alpha.

Bets of many sizes are mixed, which is again a bet. None of them depends on the order of the queries
or on when one looks. New queries may come, and old ones keep their values: where judgments change
the value of a query that was counted before, the promise is for the queries as they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

BETS = np.geomspace(0.03, 0.95, 16)  # parts of the largest bet that can lose no more than it has


def evidence_below(values: Floats, bound: float, scale: tuple[float, float]) -> float:
    """What a stake of 1 against "the mean is at least `bound`" has become."""
    return _stake(bound - values, scale[1] - bound)


def evidence_above(values: Floats, bound: float, scale: tuple[float, float]) -> float:
    """What a stake of 1 against "the mean is at most `bound`" has become."""
    return _stake(values - bound, bound - scale[0])


def evidence_over_time(gains: Floats, most_lost: float) -> Floats:
    """The stake after every query of each row, for simulations: `gains` are [row, query]."""
    bets = BETS[:, None, None] / most_lost
    return np.asarray(np.exp(np.log1p(bets * gains[None]).cumsum(axis=2)).mean(axis=0))


def _stake(gains: Floats, most_lost: float) -> float:
    """The mean over the bets of the product of 1 + bet * gain."""
    if most_lost <= 0:  # the bound is the end of the scale: no value speaks against the claim
        return 1.0
    bets = BETS[:, None] / most_lost
    logs = np.log1p(bets * gains[None, :]).sum(axis=1)
    highest = float(logs.max())
    return float(np.exp(min(highest, 700.0)) * np.exp(logs - highest).mean())
