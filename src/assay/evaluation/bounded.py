"""The interval of a mean of bounded values: measures on [0, 1], their differences on [-1, 1].

It is Gaffke's bound (2005) on either side. The queries seen get random weights, as in the Bayesian
bootstrap (Rubin 1981), and so does one query more that was not seen, at the end of the scale: 0 for
the lower bound, 1 for the upper. The bounds are quantiles of that weighted mean. So:

- for a rate it is Clopper and Pearson's interval;
- it is monotone: raising a value never lowers a bound, because no weight is below 0 and the query
  that was not seen stays where it is, whatever was seen;
- it held the truth as often as it says in all cases tried (docs/measured.md). That it
  always does is a conjecture: nobody has proven it or found a case against it (Learned-Miller and
  Thomas 2020);
- a width is always left: ten ties of ten say that no more than about three tenths of all queries
  differ.

Nothing is drawn at random: the distribution of the weighted mean is computed by Lugannani and
Rice's saddlepoint formula as Barndorff-Nielsen (1986) writes it, good to a part in a hundred of the
width even where one query makes it. Arrays have one row a query, one column a measure; columns of
different lengths are filled up with NaN, so that many short ones cost as little as one."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Scale = tuple[float, float]

SHARE: Scale = (0.0, 1.0)  # of a measure
CHANGE: Scale = (-1.0, 1.0)  # of the difference of two
TINY = 1e-12
CLOSE = 1e-7  # of a deviation
PATIENT = 8  # steps


def bounds(values: Floats, z: float, scale: Scale) -> tuple[Floats, Floats]:
    """The bounds of the mean of each column, `z` normal deviations to either side: 1.96 for 95%."""
    values, seen = _filled(values)
    return _bound(values, seen, scale[0], -z), _bound(values, seen, scale[1], z)


def holds(values: Floats, place: float | Floats, z: float, scale: Scale) -> Any:
    """Whether each column's interval holds a place, without looking for its ends."""
    values, seen = _filled(values)
    places = np.broadcast_to(place, values.shape[1:])
    low, high = (_deviation(*_with(values, seen, end), places) for end in scale)
    return (low >= -z) & (high <= z)


def _filled(values: Floats) -> tuple[Floats, Floats]:
    """The values with the first of its column in every gap, and 1 for a value, 0 for a gap."""
    gaps = np.isnan(values)
    return np.where(gaps, values[0], values), np.where(gaps, 0.0, 1.0)


def _with(values: Floats, seen: Floats, unseen: float) -> tuple[Floats, Floats]:
    """The values and their weights, with the query that was not seen."""
    one = np.ones((1, values.shape[1]))
    return np.vstack([values, unseen * one]), np.vstack([seen, one])


def _total(weights: Floats, values: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", weights, values))


def _bound(values: Floats, seen: Floats, unseen: float, z: float) -> Floats:
    """Where the weighted mean has the deviation `z`: between the mean and the unseen query.

    The deviation grows with the place, nearly as a line: secant steps inside a bracket, by halves
    where they leave it or take long. Columns that are found are left alone."""
    (points, weights), n = _with(values, seen, unseen), seen.sum(axis=0)
    inner, outer = _total(seen, values) / n, np.full(values.shape[1], unseen)
    last, last_off = inner, _deviation(points, weights, inner) - z
    guess = inner + z * np.sqrt(_total(seen, (values - inner) ** 2)) / n
    place = np.where((outer - guess) * z > 0, guess, (inner + outer) / 2)
    found, left = place.copy(), np.arange(len(place))
    for step in range(200):
        off = _deviation(points, weights, place) - z
        beyond = off * z > 0
        outer, inner = np.where(beyond, place, outer), np.where(beyond, inner, place)
        found[left] = place
        going = (np.abs(off) > CLOSE) & (np.abs(outer - inner) > TINY)
        if not going.any():
            break
        rise = off - last_off
        secant = place - off * (place - last) / np.where(np.abs(rise) < TINY, np.nan, rise)
        within = (secant - inner) * (outer - secant) > 0
        by_halves = ~within | (step > PATIENT and step % 2 == 1)
        last, last_off = place[going], off[going]
        place = np.where(by_halves, (inner + outer) / 2, secant)[going]
        inner, outer, left = inner[going], outer[going], left[going]
        points, weights = points[:, going], weights[:, going]
    return np.asarray(found)


def _deviation(points: Floats, weights: Floats, place: Floats) -> Floats:
    """The normal deviation whose chance is that of a weighted mean of at most `place`.

    The mean with random weights is at most m where the sum of G (x - m) is at most 0, with G
    exponential: its cumulant function is K(t) = -sum log(1 - t (x - m))."""
    off = points - place
    low, high = off.min(axis=0), off.max(axis=0)
    inside = (low < -TINY) & (high > TINY)
    found = np.where(high > TINY, -1e3, 1e3)
    found[~inside & (low >= -TINY) & (high <= TINY)] = 0.0
    if not inside.any():
        return found
    off, weights = off[:, inside], weights[:, inside]
    tilt = _saddlepoint(off, weights)
    held = tilt * off
    ratio = off / (1 - held)
    cumulant, spread = -_total(weights, np.log1p(-held)), _total(weights, ratio**2)
    root = np.sign(tilt) * np.sqrt(np.maximum(-2 * cumulant, 0))
    skew = _total(weights, ratio**3) / (3 * spread**1.5)
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
        slope, curve = _total(weights, ratio), _total(weights, ratio**2)
        low, high = np.where(slope < 0, tilt, low), np.where(slope > 0, tilt, high)
        stepped = tilt - slope / curve
        outside = (stepped <= low) | (stepped >= high)
        stepped = np.where(outside, (low + high) / 2, stepped)
        still = float((np.abs(stepped - tilt) * np.sqrt(curve)).max()) < 1e-9
        tilt = stepped
        if still:
            break
    return tilt
