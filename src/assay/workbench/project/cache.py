"""The caches of values that are computed from runs and files: `Remembered`, which keeps the values
used last, and `computed`, the one cache of the pages.

A run never changes, so a value that is computed from one or two runs is computed once; a value that
also depends on a file has the state of the file in its key. What is worth keeping over a restart,
the summary and the verdict of a run, is in the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentValues(Generic[K, V]):
    """The values of the `limit` keys used last. Safe for threads; two threads that ask for a new
    key at the same time may both compute its value, which is the same."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def of(self, key: K, find: Callable[[], V]) -> V:
        """The cached value of a key, or else the result of `find`, which is then cached. An error
        is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = find()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self.limit:
                self._values.popitem(last=False)
        return value


T = TypeVar("T")

MAX_VALUES = 512  # values; comparisons of two runs are the largest
_values = RecentValues[tuple[Hashable, ...], Any](MAX_VALUES)


def compute_once(key: tuple[Hashable, ...], find: Callable[[], T]) -> T:
    """The value of `find`, computed once for each key. The first part of a key names its kind."""
    value: T = _values.of(key, find)
    return value
