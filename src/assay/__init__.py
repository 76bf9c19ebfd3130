"""Assay: know whether legal search works."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api import *  # noqa: F403
    from assay.api.verbs import *  # noqa: F403

__version__ = "0.1.0"

# Before polars is loaded: give freed memory back within a second. At once costs half a second of
# processor on ten million lines, and after ten seconds, as is usual, a fifth more memory.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:1000,muzzy_decay_ms:0")


def __getattr__(name: str) -> Any:
    """Loaded from `assay.api` on first use, so that `import assay` and `assay --help` cost nothing.
    Its `__all__` is ours. A part of the package, such as `assay.formats`, is found by Python."""
    if name == "__all__" or not (name.startswith("_") or find_spec(f"assay.{name}")):
        value = getattr(import_module("assay.api"), name, None)
        if value is not None:
            globals()[name] = value
            return value
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What there is to use."""
    return sorted(import_module("assay.api").__all__)
