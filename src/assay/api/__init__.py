"""The Python front door: what `import assay` gives.

    import assay

    gold = assay.load_gold("dataset.json")
    scores = assay.evaluate(assay.run("bm25", gold, corpus="corpus.jsonl"), gold)
    scores["nDCG@10"], scores.interval("nDCG@10")

Thin objects over the verbs of the commands, with the same numbers. The verbs that make gold
(`init_gold`, `pool_gold`, `write_packet`, `merge_files`, `rule` …) are in `verbs`, which is loaded
when one is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay import __version__
from assay.api.deciding import (
    Checked,
    Comparison,
    NextToJudge,
    Tuned,
    check,
    compare,
    next_to_judge,
    tune,
)
from assay.api.scores import Scores, evaluate, load_scores, run
from assay.api.values import GoldSet, Run, load_gold, load_run
from assay.core.errors import AssayError, EngineError, InputError
from assay.core.results import Gate
from assay.core.types import Document, Hit, Judgment, Query, SearchEngine

if TYPE_CHECKING:
    from assay.api.answers import assert_answer, check_answers, guard
    from assay.api.backlogs import backlog, backlog_async
    from assay.api.library import Corpus, import_corpus, open_corpus

# The names that people see; those of verbs work too, and are not in the way.
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
    "Tuned",
    "__version__",
    "assert_answer",
    "backlog",
    "backlog_async",
    "check",
    "check_answers",
    "compare",
    "evaluate",
    "guard",
    "import_corpus",
    "load_gold",
    "load_run",
    "load_scores",
    "next_to_judge",
    "open_corpus",
    "run",
    "tune",
]


_ELSEWHERE = {
    **dict.fromkeys(("backlog", "backlog_async"), "backlogs"),
    **dict.fromkeys(("assert_answer", "check_answers", "guard"), "answers"),
}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    module = _ELSEWHERE.get(name) or ("library" if name in __all__ else "verbs")
    return getattr(import_module(f"assay.api.{module}"), name)
