"""Assay: know whether legal search works."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.core.errors import AssayError, EngineError, InputError
    from assay.core.types import (
        Document,
        GoldSet,
        Hit,
        Judgment,
        Query,
        Run,
        ScoreSheet,
        SearchEngine,
    )
    from assay.evaluation.graded import evaluate
    from assay.evaluation.measures import parse_measure
    from assay.formats import read_gold, read_run

__version__ = "0.1.0"

# Before polars is loaded: give freed memory back at once. Reading a large run otherwise holds a
# fifth more of it.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")

# Loaded on first use, so that `import assay` and `assay --help` cost nothing.
_HOMES = {
    "AssayError": "core.errors",
    "EngineError": "core.errors",
    "InputError": "core.errors",
    "evaluate": "evaluation.graded",
    "read_gold": "formats",
    "read_run": "formats",
    "parse_measure": "evaluation.measures",
    "Document": "core.types",
    "GoldSet": "core.types",
    "Hit": "core.types",
    "Judgment": "core.types",
    "Query": "core.types",
    "Run": "core.types",
    "ScoreSheet": "core.types",
    "SearchEngine": "core.types",
}

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
