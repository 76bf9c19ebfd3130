"""A golden set in one call: every question checked, the figures, and robustness where there are
variants. What the gates say of it is `gates.decide`."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from assay.core.results import GoldenEntry, GoldenReceipt, GoldenResults
from assay.core.types import GoldSet, QueryResult
from assay.evaluation.golden_checks import check_all
from assay.evaluation.golden_figures import results
from assay.evaluation.receipts import GOLDEN_POLICY, PASS, gold_card
from assay.evaluation.robustness import robustness
from assay.law.matching import Locate


def evaluate_golden(
    gold: GoldSet,
    answers: Iterable[QueryResult],
    *,
    locate: Locate | None = None,
    k: int | None = None,
    min_score: float | None = None,
    language: str = "",
) -> GoldenResults:
    """Pass or fail for every question. `k` and `min_score` override what the questions state;
    `language` is that of the corpus. When and where it was scored is for the caller to add."""
    outcomes = check_all(gold, answers, locate=locate, k=k, min_score=min_score, language=language)
    scored = results(outcomes)
    failed = int(scored.overall.get("n_failed") or 0)
    receipt = GoldenReceipt(
        measures=[PASS],
        gold=gold_card(gold),
        unjudged_policy=GOLDEN_POLICY,
        counts={"n_expected": len(gold.queries), "n_failed": failed},
    )
    answered = [entry for entry in scored.per_query if entry.failure != "error"]
    return msgspec.structs.replace(
        scored, receipt=receipt, robustness=robustness(scored) if _varied(answered) else None
    )


def _varied(entries: list[GoldenEntry]) -> bool:
    """Whether a question and a variant of it are among them."""
    known = {entry.query_id for entry in entries}
    return any(entry.perturbation and entry.parent in known for entry in entries)
