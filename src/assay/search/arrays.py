"""The kinds of arrays that an index is made of, and what is done to several of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Floats = np.ndarray[Any, np.dtype[np.float32]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]

TINY = 1e-9  # against division by nothing


def unit_rows(rows: Any) -> Floats:
    """Every row at length one; a row of nothing stays as it is."""
    return np.asarray(rows / (np.linalg.norm(rows, axis=1, keepdims=True) + TINY), np.float32)


def offsets_of(lengths: Sequence[int] | Array) -> Array:
    """Where each of several lists begins when they are laid end to end, and where the last ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def cosines(vectors: Floats, query: Floats) -> Floats:
    """Of unit rows with a unit vector. On one thread: a product this small is over before a second
    thread has begun, and where the machine is busy it waits for that thread."""
    return np.asarray(np.vecdot(vectors, query), np.float32)
