"""A cache for values that take long to compute, which may show the last value while it computes.

A quick value is computed while the reader waits, so that a page shows the latest votes. A slow one
is computed in the background: only the first reader waits, others see the last value meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.core.errors import AssayError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

QUICK = 0.1  # seconds of processor time that a reader may wait; taste
PATIENCE = 30  # a slow value is kept for this many times the time it took; taste


@dataclass(frozen=True)
class _Entry(Generic[V]):
    state: object
    value: V
    took: float  # seconds of processor time
    until: float  # when it may be computed again


class StaleCache(Generic[K, V]):
    """One value for each key, with the state of the files that it was computed from."""

    def __init__(self) -> None:
        self._entries: dict[K, _Entry[V]] = {}
        self._locks: dict[K, threading.Lock] = {}

    def get(self, key: K, state: object, compute: Callable[[], V]) -> V:
        """The value for the current `state` of the files, or the last one if it was slow."""
        entry = self._entries.get(key)
        if entry is not None and entry.state == state:
            return entry.value
        lock = self._locks.setdefault(key, threading.Lock())
        if entry is None or entry.took <= QUICK:
            with lock:
                return self._computed(key, state, compute)
        if time.monotonic() >= entry.until and lock.acquire(blocking=False):
            work = (key, state, compute, lock)
            threading.Thread(target=self._in_background, args=work, daemon=True).start()
        return entry.value

    def _in_background(
        self, key: K, state: object, compute: Callable[[], V], lock: threading.Lock
    ) -> None:
        try:
            self._computed(key, state, compute)
        except AssayError:  # the next reader waits for the value, and gets the error
            self._entries.pop(key, None)
        finally:
            lock.release()

    def _computed(self, key: K, state: object, compute: Callable[[], V]) -> V:
        entry = self._entries.get(key)
        if entry is not None and entry.state == state:  # another reader has computed it
            return entry.value
        begun = time.thread_time()
        value = compute()
        took = time.thread_time() - begun
        self._entries[key] = _Entry(state, value, took, time.monotonic() + PATIENCE * took)
        return value
