"""Assay: know whether legal search works."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api import (
        AssayError,
        Checked,
        Comparison,
        Corpus,
        Document,
        EngineError,
        Gate,
        GoldSet,
        Hit,
        InputError,
        Judgment,
        NextToJudge,
        Query,
        Run,
        Scores,
        SearchEngine,
        check,
        compare,
        evaluate,
        import_corpus,
        load_gold,
        load_run,
        load_scores,
        next_to_judge,
        open_corpus,
        run,
    )
    from assay.api import (
        PoolRequest as PoolRequest,
    )
    from assay.api import (
        ScoreSheet as ScoreSheet,
    )
    from assay.api import (
        add_document as add_document,
    )
    from assay.api import (
        add_queries as add_queries,
    )
    from assay.api import (
        as_transformer as as_transformer,
    )
    from assay.api import (
        ask as ask,
    )
    from assay.api import (
        disputes as disputes,
    )
    from assay.api import (
        draw_sample as draw_sample,
    )
    from assay.api import (
        gold_to_frames as gold_to_frames,
    )
    from assay.api import (
        init_gold as init_gold,
    )
    from assay.api import (
        judges_agreement as judges_agreement,
    )
    from assay.api import (
        listed as listed,
    )
    from assay.api import (
        log_to_mlflow as log_to_mlflow,
    )
    from assay.api import (
        merge_files as merge_files,
    )
    from assay.api import (
        parse_measure as parse_measure,
    )
    from assay.api import (
        pool_gold as pool_gold,
    )
    from assay.api import (
        read_gold as read_gold,
    )
    from assay.api import (
        read_run as read_run,
    )
    from assay.api import (
        rule as rule,
    )
    from assay.api import (
        run_from_frame as run_from_frame,
    )
    from assay.api import (
        run_to_frame as run_to_frame,
    )
    from assay.api import (
        set_policy as set_policy,
    )
    from assay.api import (
        spot_check as spot_check,
    )
    from assay.api import (
        write_packet as write_packet,
    )

__version__ = "0.1.0"

# Before polars is loaded: give freed memory back within a second. At once costs half a second of
# processor on ten million lines, and after ten seconds, as is usual, a fifth more memory.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:1000,muzzy_decay_ms:0")

__all__ = [
    "AssayError",
    "Checked",
    "Comparison",
    "Corpus",
    "Document",
    "EngineError",
    "Gate",
    "GoldSet",
    "Hit",
    "InputError",
    "Judgment",
    "NextToJudge",
    "Query",
    "Run",
    "Scores",
    "SearchEngine",
    "__version__",
    "check",
    "compare",
    "evaluate",
    "import_corpus",
    "load_gold",
    "load_run",
    "load_scores",
    "next_to_judge",
    "open_corpus",
    "run",
]

# The verbs that make gold, and names of earlier versions: they work, and are not in the way.
_ALSO = (
    "PoolRequest",
    "ScoreSheet",
    "add_document",
    "add_queries",
    "as_transformer",
    "ask",
    "disputes",
    "draw_sample",
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
)


def __getattr__(name: str) -> Any:
    """Loaded from `assay.api` on first use, so that `import assay` and `assay --help` cost
    nothing."""
    if name not in __all__ and name not in _ALSO:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    value = getattr(importlib.import_module("assay.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What there is to use."""
    return sorted(__all__)
