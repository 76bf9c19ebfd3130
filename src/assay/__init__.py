"""Assay: know whether legal search works."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.errors import AssayError, EngineError, InputError
    from assay.evaluation import evaluate
    from assay.formats import read_gold, read_run
    from assay.measures import parse_measure
    from assay.types import Document, GoldSet, Hit, Judgment, Query, Run, ScoreSheet, SearchEngine

__version__ = "0.1.0"

# Before polars is loaded: give freed memory back at once. Reading a large run otherwise holds a fifth more of it.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")

# Loaded on first use, so that `import assay` and `assay --help` cost nothing.
_HOMES = {
    "AssayError": "errors", "EngineError": "errors", "InputError": "errors", "evaluate": "evaluation",
    "read_gold": "formats", "read_run": "formats", "parse_measure": "measures", "Document": "types", "GoldSet": "types",
    "Hit": "types", "Judgment": "types", "Query": "types", "Run": "types", "ScoreSheet": "types",
    "SearchEngine": "types",
}  # fmt: skip

__all__ = [
    "AssayError",
    "Document",
    "EngineError",
    "GoldSet",
    "Hit",
    "InputError",
    "Judgment",
    "Query",
    "Run",
    "ScoreSheet",
    "SearchEngine",
    "__version__",
    "evaluate",
    "parse_measure",
    "read_gold",
    "read_run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"assay.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
