"""Types that any thread may read values as.

msgspec prepares a struct when a value is first read as it, and shows other threads the struct
before its fields are prepared. A thread that reads at that moment ends the whole process with a
segmentation fault (seen with msgspec 0.22, under twenty users who came at once)."""

from __future__ import annotations

import threading
from typing import TypeVar

import msgspec

Kind = TypeVar("Kind")
_preparing = threading.RLock()
_prepared: set[object] = set()


def thread_safe(kind: Kind) -> Kind:
    """The same type, prepared. Every typed `convert`, `decode` and `Decoder` takes its type from
    here (tests/test_architecture.py)."""
    if kind not in _prepared:
        with _preparing:
            msgspec.json.Decoder(kind)
            _prepared.add(kind)
    return kind
