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

import asyncio
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

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
    "backlog",
    "backlog_async",
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
    "tune",
]


# ── the backlog in the team's own tables ──────────────────────────────────────────────────────────


class BacklogCounts(TypedDict):
    """The rows of a backlog by state, ready for JSON. The four states and `other` sum to `total`;
    `oldest_pending_at` is in ISO 8601."""

    pending_review: int
    approved: int
    rejected: int
    published: int
    other: int
    total: int
    oldest_pending_at: str | None


def backlog(name: str, *, config: str | Path = "assay.toml") -> BacklogCounts:
    """Count the backlog that `[backlog.NAME]` names in a configuration. `InputError` if there is no
    such backlog, or if its table cannot be read; it takes at most a few seconds.

    >>> assay.backlog("halacha", config="backlog.toml")  # doctest: +NORMALIZE_WHITESPACE
    {'pending_review': 1, 'approved': 1, 'rejected': 0, 'published': 0, 'other': 1, 'total': 3,
     'oldest_pending_at': '2026-05-01T12:00:00+00:00'}
    """
    from assay.workbench.review.queue import configured_backlog

    found = configured_backlog(name, Path(config))
    oldest = found.oldest_pending_at
    return BacklogCounts(
        pending_review=found.pending_review,
        approved=found.approved,
        rejected=found.rejected,
        published=found.published,
        other=found.other,
        total=found.total,
        oldest_pending_at=oldest.isoformat() if oldest is not None else None,
    )


async def backlog_async(name: str, *, config: str | Path = "assay.toml") -> BacklogCounts:
    """`backlog` for async code: it counts in a thread, and the event loop goes on.

    >>> import asyncio
    >>> asyncio.run(assay.backlog_async("halacha", config="backlog.toml"))["total"]
    3
    """
    return await asyncio.to_thread(backlog, name, config=config)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    module = "library" if name in __all__ else "verbs"
    return getattr(import_module(f"assay.api.{module}"), name)
