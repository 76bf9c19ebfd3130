"""A thread-safe cache that keeps the values used most recently."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(Generic[K, V]):
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
