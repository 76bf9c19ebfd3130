"""How much a perturbation costs: the pass rate of the variants, the drop from their parents, and what breaks most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay import stats
from assay.errors import InputError

WORST = 3


def robustness(results: Mapping[str, Any], parents: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """By perturbation: n, pass rate with its interval, the same questions' rate unperturbed, the drop, which broke.

    The parents are in the same results, or in `parents` when the variants were run alone. `worst_families` names the
    perturbations with the largest drop, `worst_parents` the questions that break under most of them."""
    entries = results["per_query"]
    passed = {entry["id"]: bool(entry["passed"]) for entry in (*(parents or {}).get("per_query", ()), *entries)}
    variants = [entry for entry in entries if entry.get("perturbation") and entry.get("parent") in passed]
    if not variants:
        raise InputError(
            "there are no perturbed questions with their parents in the results",
            hint="Run a set made by `assay gold perturb`; give the parents' results when they were run apart.",
        )
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for entry in variants:
        kinds.setdefault(str(entry["perturbation"]), []).append(entry)
    table = {kind: _row(group, passed) for kind, group in sorted(kinds.items())}
    worst = sorted((name for name in table if table[name]["drop"] > 0), key=lambda name: (-table[name]["drop"], name))
    broken = [str(entry["parent"]) for entry in variants if passed[entry["parent"]] and not entry["passed"]]
    fragile = sorted(set(broken), key=lambda parent: (-broken.count(parent), parent))
    return {
        "overall": _row(variants, passed),
        "by_perturbation": table,
        "worst_families": [f"{name} (-{100 * table[name]['drop']:.1f})" for name in worst[:WORST]],
        "worst_parents": [f"{parent} ({broken.count(parent)})" for parent in fragile[:WORST]],
    }


def _row(variants: Sequence[Mapping[str, Any]], passed: Mapping[str, bool]) -> dict[str, Any]:
    n = len(variants)
    good = sum(bool(entry["passed"]) for entry in variants)
    before = sum(passed[entry["parent"]] for entry in variants)
    interval = stats.wilson(good, n)
    low, high = interval.low, interval.high
    return {
        "n": n,
        "pass_rate": good / n,
        "low": low,
        "high": high,
        "parent_pass_rate": before / n,
        "drop": (before - good) / n,
        "broken": [entry["id"] for entry in variants if passed[entry["parent"]] and not entry["passed"]],
        "mended": [entry["id"] for entry in variants if not passed[entry["parent"]] and entry["passed"]],
    }
