"""The whole suite in one call: checks, figures, gates and, where there are variants, robustness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.core.types import GoldSet, QueryResult
from assay.evaluation.golden_checks import check_all
from assay.evaluation.golden_figures import results
from assay.evaluation.golden_gates import DEFAULT_POLICY, evaluate_gates
from assay.evaluation.robustness import robustness
from assay.law.matching import Locate


def evaluate_golden(
    gold: GoldSet,
    answers: Iterable[QueryResult],
    *,
    locate: Locate | None = None,
    k: int | None = None,
    min_score: float | None = None,
    baseline: Mapping[str, Any] | None = None,
    policy: Sequence[Mapping[str, Any]] = DEFAULT_POLICY,
) -> dict[str, Any]:
    """The golden part of a results object: `results` with `gates`, and `robustness` for a perturbed
    set.

    `k` and `min_score` override what the questions state; `baseline` is an earlier results
    object."""
    found = results(check_all(gold, answers, locate=locate, k=k, min_score=min_score))
    found["gates"] = evaluate_gates(found, baseline, policy)
    answered = [entry for entry in found["per_query"] if entry["failure"] != "error"]
    known = {entry["id"] for entry in answered}
    if any(entry.get("parent") in known for entry in answered if entry.get("perturbation")):
        found["robustness"] = robustness(found)
    return found
