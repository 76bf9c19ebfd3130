"""The kinds of arrays that an index is made of, and what is done to several of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Floats = np.ndarray[Any, np.dtype[np.float32]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]

TINY = 1e-9  # against division by nothing (taste)


def unit_rows(rows: Any) -> Floats:
    """Every row at length one; a row of nothing stays as it is."""
    return np.asarray(rows / (np.linalg.norm(rows, axis=1, keepdims=True) + TINY), np.float32)


def offsets_of(lengths: Sequence[int] | Array) -> Array:
    """Where each of several lists begins when they are laid end to end, and where the last ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def places_of(offsets: Array, rows: Array) -> tuple[Array, Array]:
    """The places offsets[row] to offsets[row + 1], of one row after the other, and how many each
    has."""
    starts = offsets[rows]
    sizes = offsets[rows + 1] - starts
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - sizes), sizes), sizes


def cosines(vectors: Floats, query: Floats) -> Floats:
    """Of unit rows with a unit vector. On one thread: a product this small is over before a second
    thread has begun, and where the machine is busy it waits for that thread."""
    return np.asarray(np.vecdot(vectors, query), np.float32)


BLOCKS = 16  # that values are looked at in, for every row that is wanted (taste)


def best_rows(values: Array, size: int) -> Array:
    """The rows of the highest values, best first, the earlier one where they are equal.

    The values are looked at in blocks: as many blocks as rows are wanted have a value of at least
    the lowest of their best, so that nothing below it can be among the rows. Few are left to be
    sorted, in a tenth of the time that partitioning all of them takes."""
    size = min(size, len(values))
    if size < 1:
        return np.empty(0, np.int64)
    width = max(1, len(values) // (BLOCKS * size))
    blocks = len(values) // width
    peaks = values[: blocks * width].reshape(blocks, width).max(axis=1)
    floor = np.partition(peaks, blocks - size)[blocks - size]
    above = np.flatnonzero(values > floor)
    level = np.flatnonzero(values == floor)[:size]
    rows = np.concatenate([above, level])
    return np.asarray(rows[np.lexsort((rows, -values[rows]))][:size])
