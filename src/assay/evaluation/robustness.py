"""How much a perturbation costs: the pass rate of the variants, the drop from their parents, and
what breaks most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.errors import InputError
from assay.evaluation import statistics

WORST = 3
FAMILIES = {
    "case": "noise",
    "punctuation": "noise",
    "he": "hebrew",
}  # the others are named by how they begin

Row = dict[str, Any]


def family_of(perturbation: str) -> str:
    """typo-keyboard is of the family typo, he-niqqud of hebrew, case of noise."""
    first = perturbation.partition("-")[0]
    return FAMILIES.get(first, first)


def robustness(
    results: Mapping[str, Any], parents: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """By perturbation and by family: n, pass rate with its interval, the same questions' rate
    unperturbed, the drop, and which broke. A drop is what is lost, as a share: 0.2 is 20 points
    down, a negative one is a gain. A failed call says nothing of the wording: such a variant, and
    the variants of such a question, are left out.

    The parents are in the same results, or in `parents` when the variants were run alone.
    `worst_families` and `worst_perturbations` name those with the largest drop, `worst_parents` the
    questions that break most often."""
    entries = [entry for entry in results["per_query"] if entry.get("failure") != "error"]
    apart = [
        entry for entry in (parents or {}).get("per_query", ()) if entry.get("failure") != "error"
    ]
    passed = {entry["id"]: bool(entry["passed"]) for entry in (*apart, *entries)}
    variants = [
        entry for entry in entries if entry.get("perturbation") and entry.get("parent") in passed
    ]
    if not variants:
        raise InputError(
            "there are no perturbed questions with their parents in the results",
            hint="Run a set made by `assay gold perturb`; give the parents' results when they were run apart.",
        )
    by_perturbation = _grouped(variants, passed, lambda entry: str(entry["perturbation"]))
    by_family = _grouped(variants, passed, lambda entry: family_of(str(entry["perturbation"])))
    broken = Counter(
        str(entry["parent"])
        for entry in variants
        if passed[entry["parent"]] and not entry["passed"]
    )
    fragile = sorted(broken, key=lambda parent: (-broken[parent], parent))
    return {
        "overall": _row(variants, passed),
        "by_perturbation": by_perturbation,
        "by_family": by_family,
        "worst_families": _worst(by_family),
        "worst_perturbations": _worst(by_perturbation),
        "worst_parents": fragile[:WORST],
        "broken_by_parent": {parent: broken[parent] for parent in fragile},
    }


def _grouped(
    variants: Sequence[Mapping[str, Any]],
    passed: Mapping[str, bool],
    name_of: Callable[[Mapping[str, Any]], str],
) -> dict[str, Row]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for entry in variants:
        groups.setdefault(name_of(entry), []).append(entry)
    return {name: _row(group, passed) for name, group in sorted(groups.items())}


def _worst(rows: Mapping[str, Row]) -> list[str]:
    losing = [name for name in rows if rows[name]["drop"] > 0]
    return sorted(losing, key=lambda name: (-rows[name]["drop"], name))[:WORST]


def _row(variants: Sequence[Mapping[str, Any]], passed: Mapping[str, bool]) -> Row:
    n = len(variants)
    good = sum(bool(entry["passed"]) for entry in variants)
    before = sum(passed[entry["parent"]] for entry in variants)
    interval = statistics.wilson(good, n)
    return {
        "n": n,
        "pass_rate": good / n,
        "low": interval.low,
        "high": interval.high,
        "parent_pass_rate": before / n,
        "drop": (before - good) / n,
        "broken": [
            entry["id"] for entry in variants if passed[entry["parent"]] and not entry["passed"]
        ],
        "mended": [
            entry["id"] for entry in variants if not passed[entry["parent"]] and entry["passed"]
        ],
    }
