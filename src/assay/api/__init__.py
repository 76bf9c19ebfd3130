"""The Python front door: what `import assay` gives.

    import assay

    gold = assay.load_gold("dataset.json")
    scores = assay.evaluate(assay.run("bm25", gold, corpus="corpus.jsonl"), gold)
    scores["nDCG@10"], scores.interval("nDCG@10")

Thin objects over the verbs of the commands, with the same numbers. The verbs that make gold
(`init_gold`, `pool_gold`, `write_packet`, `merge_files`, `rule` …) load what they need when they
are first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay.api.deciding import (
    Checked,
    Comparison,
    NextToJudge,
    check,
    compare,
    next_to_judge,
)
from assay.api.scores import Scores, evaluate, load_scores, run
from assay.api.values import GoldSet, Run, load_gold, load_run
from assay.core.errors import AssayError, EngineError, InputError
from assay.core.results import Gate
from assay.core.types import Document, Hit, Judgment, Query, ScoreSheet, SearchEngine
from assay.workbench.evaluate import ask, parse_measure

if TYPE_CHECKING:
    from assay.api.library import Corpus, import_corpus, open_corpus
    from assay.workbench.adjudicating import disputes, rule
    from assay.workbench.agreeing import judges_agreement
    from assay.workbench.export import log_to_mlflow
    from assay.workbench.making import add_document, add_queries, init_gold, listed
    from assay.workbench.packing import write_packet
    from assay.workbench.pooling import PoolRequest, pool_gold
    from assay.workbench.sampling import draw_sample, spot_check
    from assay.workbench.terrier import (
        as_transformer,
        gold_to_frames,
        run_from_frame,
        run_to_frame,
    )
    from assay.workbench.voting import merge_files, set_policy

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
    "PoolRequest",
    "Query",
    "Run",
    "ScoreSheet",
    "Scores",
    "SearchEngine",
    "add_document",
    "add_queries",
    "as_transformer",
    "ask",
    "check",
    "compare",
    "disputes",
    "draw_sample",
    "evaluate",
    "gold_to_frames",
    "import_corpus",
    "init_gold",
    "judges_agreement",
    "listed",
    "load_gold",
    "load_run",
    "load_scores",
    "log_to_mlflow",
    "merge_files",
    "next_to_judge",
    "open_corpus",
    "parse_measure",
    "pool_gold",
    "read_gold",
    "read_run",
    "rule",
    "run",
    "run_from_frame",
    "run_to_frame",
    "set_policy",
    "spot_check",
    "write_packet",
]

read_gold = load_gold  # the names of earlier versions
read_run = load_run

MAKING = {
    "Corpus": "assay.api.library",
    "import_corpus": "assay.api.library",
    "open_corpus": "assay.api.library",
    "PoolRequest": "assay.workbench.pooling",
    "add_document": "assay.workbench.making",
    "add_queries": "assay.workbench.making",
    "as_transformer": "assay.workbench.terrier",
    "disputes": "assay.workbench.adjudicating",
    "draw_sample": "assay.workbench.sampling",
    "gold_to_frames": "assay.workbench.terrier",
    "init_gold": "assay.workbench.making",
    "judges_agreement": "assay.workbench.agreeing",
    "listed": "assay.workbench.making",
    "log_to_mlflow": "assay.workbench.export",
    "merge_files": "assay.workbench.voting",
    "pool_gold": "assay.workbench.pooling",
    "rule": "assay.workbench.adjudicating",
    "run_from_frame": "assay.workbench.terrier",
    "run_to_frame": "assay.workbench.terrier",
    "set_policy": "assay.workbench.voting",
    "spot_check": "assay.workbench.sampling",
    "write_packet": "assay.workbench.packing",
}


def __getattr__(name: str) -> Any:
    if name not in MAKING:
        raise AttributeError(f"module 'assay.api' has no attribute {name!r}")
    return getattr(importlib.import_module(MAKING[name]), name)
