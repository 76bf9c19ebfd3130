"""The cache of values that are computed from runs and files.

A run never changes, so what is computed of one or of two is computed once; a value that also
depends on a file has the state of the file in its key. Pages have no other such cache: what is
worth keeping over a restart, the summary and the verdict of a run, is in the store."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from assay.core.lru import Remembered

T = TypeVar("T")

MAX_VALUES = 512  # values; comparisons of two runs are the largest
_values = Remembered[tuple[Hashable, ...], Any](MAX_VALUES)


def computed(key: tuple[Hashable, ...], find: Callable[[], T]) -> T:
    """What `find` finds, once for each key. The first part of a key names what it is."""
    value: T = _values.of(key, find)
    return value
