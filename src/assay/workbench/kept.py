"""A value that is computed from files, kept until they change.

What is quick is computed while the reader waits, so that a page shows what was done a moment ago.
What takes long is computed behind: until then the value of a moment ago stands, and a reader never
waits for it but the first time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.core.errors import AssayError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

QUICK = 0.1  # seconds of processor time that a reader may wait
PATIENCE = 30  # a value that took longer stands for so many times as long as it took


@dataclass(frozen=True)
class _Value(Generic[V]):
    state: object
    value: V
    took: float  # processor time
    until: float  # when it may be computed again


class Kept(Generic[K, V]):
    """Values by key, the `most` that were made last."""

    def __init__(self, most: int = 1_000) -> None:
        self._most = most
        self._values: dict[K, _Value[V]] = {}
        self._locks: dict[K, threading.Lock] = {}
        self._table = threading.Lock()

    def get(self, key: K, state: object, make: Callable[[], V]) -> V:
        """The value for the files as they are now (`state`), or as they were a moment ago."""
        known = self._values.get(key)
        if known is not None and known.state == state:
            return known.value
        with self._table:
            lock = self._locks.setdefault(key, threading.Lock())
        if known is None or known.took <= QUICK:
            with lock:
                return self._made(key, state, make).value
        if time.monotonic() >= known.until and lock.acquire(blocking=False):
            threading.Thread(
                target=self._behind, args=(key, state, make, lock), daemon=True
            ).start()
        return known.value

    def _behind(self, key: K, state: object, make: Callable[[], V], lock: threading.Lock) -> None:
        try:
            self._made(key, state, make)
        except AssayError:  # the next reader waits for it, and is told
            self._values.pop(key, None)
        finally:
            lock.release()

    def _made(self, key: K, state: object, make: Callable[[], V]) -> _Value[V]:
        """Another reader may have made it while this one waited."""
        known = self._values.get(key)
        if known is not None and known.state == state:
            return known
        begun = time.thread_time()
        value = make()
        took = time.thread_time() - begun
        made = _Value(state, value, took, time.monotonic() + PATIENCE * took)
        with self._table:
            self._values.pop(key, None)
            self._values[key] = made
            while len(self._values) > self._most:
                oldest = next(iter(self._values))
                del self._values[oldest], self._locks[oldest]
        return made
