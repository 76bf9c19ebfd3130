"""Assay: know whether legal search works."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api import (
        AssayError,
        Document,
        EngineError,
        GoldSet,
        Hit,
        InputError,
        Judgment,
        PoolRequest,
        Query,
        Run,
        ScoreSheet,
        SearchEngine,
        add_document,
        add_queries,
        as_transformer,
        ask,
        disputes,
        draw_sample,
        evaluate,
        gold_to_frames,
        init_gold,
        judges_agreement,
        listed,
        log_to_mlflow,
        merge_files,
        parse_measure,
        pool_gold,
        read_gold,
        read_run,
        rule,
        run_from_frame,
        run_to_frame,
        set_policy,
        spot_check,
        write_packet,
    )

__version__ = "0.1.0"

# Before polars is loaded: give freed memory back within a second. At once costs half a second of
# processor on ten million lines, and after ten seconds, as is usual, a fifth more memory.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:1000,muzzy_decay_ms:0")

__all__ = [
    "AssayError",
    "Document",
    "EngineError",
    "GoldSet",
    "Hit",
    "InputError",
    "Judgment",
    "PoolRequest",
    "Query",
    "Run",
    "ScoreSheet",
    "SearchEngine",
    "__version__",
    "add_document",
    "add_queries",
    "as_transformer",
    "ask",
    "disputes",
    "draw_sample",
    "evaluate",
    "gold_to_frames",
    "init_gold",
    "judges_agreement",
    "listed",
    "log_to_mlflow",
    "merge_files",
    "parse_measure",
    "pool_gold",
    "read_gold",
    "read_run",
    "rule",
    "run_from_frame",
    "run_to_frame",
    "set_policy",
    "spot_check",
    "write_packet",
]


def __getattr__(name: str) -> Any:
    """Loaded from `assay.api` on first use, so that `import assay` and `assay --help` cost
    nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    value = getattr(importlib.import_module("assay.api"), name)
    globals()[name] = value
    return value
