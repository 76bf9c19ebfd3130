"""The Python front door: what `import assay` gives.

import assay

gold = assay.read_gold("dataset.json")
sheet = assay.evaluate(assay.read_run("run.trec"), gold, ["nDCG@10", "R@20"])
sheet.overall.means
"""

from __future__ import annotations

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
from assay.workbench.evaluate import evaluate, parse_measure, read_gold, read_run

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
    "evaluate",
    "parse_measure",
    "read_gold",
    "read_run",
]
