"""What changed between two golden results: what broke, what was repaired, MUST first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.types import by_need, is_variant

FIGURES = ("pass_rate_total", "pass_rate_must", "pass_rate_should")

Results = Mapping[str, Any]
Pair = tuple[Mapping[str, Any], Mapping[str, Any]]


def changes(before: Results, after: Results, *, name: str, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Question by question: `broke` and `repaired` hold (before, after) entries. A question that only one of the two
    has, or whose call failed, is `not_compared`; variants of questions are counted apart."""
    then = {entry["query_id"]: entry for entry in before["per_query"]}
    now = {entry["query_id"]: entry for entry in after["per_query"]}
    pairs = [(then[query_id], entry) for query_id, entry in now.items() if query_id in then]
    told = [pair for pair in pairs if not any(entry.get("error") for entry in pair)]
    own = [pair for pair in told if not is_variant(pair[1], now)]
    variants = [pair for pair in told if is_variant(pair[1], now)]
    compared = {pair[1]["query_id"] for pair in told}
    figures = {key: (before["overall"].get(key), after["overall"].get(key)) for key in FIGURES}
    return {
        "baseline": name,
        "warnings": list(warnings),
        "figures": {key: pair for key, pair in figures.items() if None not in pair},
        "broke": _turned(own, to=False),
        "repaired": _turned(own, to=True),
        "both_fail": sum(not first["passed"] and not second["passed"] for first, second in own),
        "not_compared": [query_id for query_id in {**then, **now} if query_id not in compared],
        "variants": {"broke": len(_turned(variants, to=False)), "repaired": len(_turned(variants, to=True))}
        if variants
        else None,
    }


def _turned(pairs: Sequence[Pair], *, to: bool) -> list[Pair]:
    turned = [pair for pair in pairs if pair[0]["passed"] != to and pair[1]["passed"] == to]
    return sorted(turned, key=lambda pair: by_need(pair[1]))
