"""The interval of a mean of bounded values: measures on [0, 1], their differences on [-1, 1].

It is the empirical likelihood of the mean (Owen 2001) in its Bayesian form, the Bayesian bootstrap
(Rubin 1981): the queries seen get random weights, and the bounds are quantiles of the weighted
mean. Alone that trusts the queries seen too much: where nine of ten tie, or all are 1, it knows of
nothing else. So each bound also counts a query that was not seen, as far out on its own side as it
may be. With a whole such query at the end of the scale this is Gaffke's bound (2005), which for a
rate is Clopper and Pearson's. That is more than is needed (docs/statistics.md has the table):

- the unseen query counts as UNSEEN of one, where Clopper and Pearson have 1 and Jeffreys .5;
- it lies at the end of the scale where all values are alike, because values that bunch tell
  nothing about the rest; where values spread out it lies nearer to the furthest one seen. `ALIKE`
  is how near two values are, as a part of the scale, to count as alike.

So a width is always left: ten ties of ten say that no more than about a quarter of all queries
differ. For a rate the interval lies between Jeffreys's and Clopper and Pearson's.

Nothing is drawn at random: the distribution of the weighted mean is computed by Lugannani and
Rice's saddlepoint formula as Barndorff-Nielsen (1986) writes it, good to a part in a hundred of the
width even where one query makes it. Arrays have one row a query, one column a measure."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Scale = tuple[float, float]

SHARE: Scale = (0.0, 1.0)  # of a measure
CHANGE: Scale = (-1.0, 1.0)  # of the difference of two
UNSEEN = 0.6  # of a query
ALIKE = 0.04  # of the scale
BUNCHED = 1.5  # the power of the share of values alike
TINY = 1e-12


def bounds(values: Floats, z: float, scale: Scale) -> tuple[Floats, Floats]:
    """The bounds of the mean of each column, `z` normal deviations to either side: 1.96 for 95%."""
    end = _furthest_unseen(values, scale)
    return _bound(values, end[0], -z), _bound(values, end[1], z)


def holds(values: Floats, place: float | Floats, z: float, scale: Scale) -> Any:
    """Whether each column's interval holds a place, without looking for its ends."""
    low, high = (
        _deviation(np.vstack([values, end]), np.broadcast_to(place, end.shape))
        for end in _furthest_unseen(values, scale)
    )
    return (low >= -z) & (high <= z)


def _furthest_unseen(values: Floats, scale: Scale) -> tuple[Floats, Floats]:
    """Where the query that was not seen lies, for the lower and for the upper bound."""
    near = ALIKE * (scale[1] - scale[0])
    bunched = (_most_alike(values, near) / len(values)) ** BUNCHED
    least, most = values.min(axis=0), values.max(axis=0)
    return least + (scale[0] - least) * bunched, most + (scale[1] - most) * bunched


def _most_alike(values: Floats, near: float) -> Floats:
    """How many values lie within `near` of each other, at most."""
    ordered = np.sort(values, axis=0)
    reach = ordered + near + 1e-9
    ends = [
        np.searchsorted(ordered[:, column], reach[:, column], side="right")
        for column in range(values.shape[1])
    ]
    places = np.arange(len(values))
    return np.array([float((end - places).max(initial=0)) for end in ends])


def _bound(values: Floats, unseen: Floats, z: float) -> Floats:
    """Where the weighted mean has the deviation `z`: between the mean and the unseen query.

    The deviation grows with the place, nearly as a line: regula falsi (the Illinois variant) with
    every third step by halves, for the ends, where it does not."""
    points = np.vstack([values, unseen])
    inner, outer = values.mean(axis=0), unseen.copy()
    at_inner, at_outer = _deviation(points, inner) - z, np.sign(z) * np.full(len(inner), 1e3)
    guess = inner + z * values.std(axis=0) / np.sqrt(len(values))
    place = np.where((outer - guess) * z > 0, guess, (inner + outer) / 2)
    for step in range(200):
        off = _deviation(points, place) - z
        beyond = off * z > 0
        outer, at_outer = np.where(beyond, place, outer), np.where(beyond, off, at_outer)
        inner, at_inner = np.where(beyond, inner, place), np.where(beyond, at_inner, off)
        if bool(((np.abs(off) < 1e-8) | (np.abs(outer - inner) < 1e-12)).all()):
            break
        # an end that stays is trusted half as much
        weight = np.where(beyond, 0.5, 1.0) * at_inner, np.where(beyond, 1.0, 0.5) * at_outer
        slope = weight[1] - weight[0]
        line = inner - weight[0] * (outer - inner) / np.where(np.abs(slope) < TINY, 1.0, slope)
        middle = (inner + outer) / 2
        place = middle if step % 3 == 2 else np.clip(line, *np.sort([inner, outer], axis=0))
    return np.asarray(place)


def _deviation(points: Floats, place: Floats) -> Floats:
    """The normal deviation whose chance is that of a weighted mean of at most `place`.

    The mean with random weights is at most m where the sum of G (x - m) is at most 0, with G
    exponential, and of the shape UNSEEN for the last point: its cumulant function is K(t) =
    -sum shape log(1 - t (x - m))."""
    off = points - place
    weights = np.ones(len(points))
    weights[-1] = UNSEEN
    low, high = off.min(axis=0), off.max(axis=0)
    inside = (low < -TINY) & (high > TINY)
    found = np.where(high > TINY, -1e3, 1e3)
    found[~inside & (low >= -TINY) & (high <= TINY)] = 0.0
    if not inside.any():
        return found
    off = off[:, inside]
    tilt = _saddlepoint(off, weights)
    held = tilt * off
    ratio = off / (1 - held)
    cumulant, spread = -(weights @ np.log1p(-held)), weights @ ratio**2
    root = np.sign(tilt) * np.sqrt(np.maximum(-2 * cumulant, 0))
    skew = (weights @ ratio**3) / (3 * spread**1.5)
    safe = np.where(np.abs(root) < 1e-4, 1.0, root)
    scaled = np.where(np.abs(root) < 1e-4, 1.0, tilt * np.sqrt(spread))
    corrected = root + np.log(np.maximum(scaled / safe, TINY)) / safe
    found[inside] = np.where(np.abs(root) < 1e-4, root - skew, corrected)
    return found


def _saddlepoint(off: Floats, weights: Floats) -> Floats:
    """Where the derivative of the cumulant function is 0, by Newton's steps inside a bracket."""
    low, high = 1 / off.min(axis=0), 1 / off.max(axis=0)
    tilt = np.zeros(off.shape[1])
    for _ in range(100):
        ratio = off / (1 - tilt * off)
        slope, curve = weights @ ratio, weights @ ratio**2
        low, high = np.where(slope < 0, tilt, low), np.where(slope > 0, tilt, high)
        stepped = tilt - slope / curve
        outside = (stepped <= low) | (stepped >= high)
        stepped = np.where(outside, (low + high) / 2, stepped)
        still = float((np.abs(stepped - tilt) * np.sqrt(curve)).max()) < 1e-9
        tilt = stepped
        if still:
            break
    return tilt
