"""What changed between two golden results: what broke, what was repaired, MUST first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.types import by_need, is_variant

RATES = {
    "pass_rate_total": (True, False),
    "pass_rate_must": (True,),
    "pass_rate_should": (False,),
}  # MUST or not

Results = Mapping[str, Any]
Pair = tuple[Mapping[str, Any], Mapping[str, Any]]


def changes(
    before: Results, after: Results, *, name: str, warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """Question by question: `broke` and `repaired` hold (before, after) entries, `figures` the pass
    rates of the questions compared. One that only one of the two has, or whose call failed, is
    `not_compared`; variants of questions are counted apart."""
    then = {entry["query_id"]: entry for entry in before["per_query"]}
    now = {entry["query_id"]: entry for entry in after["per_query"]}
    pairs = [(then[query_id], entry) for query_id, entry in now.items() if query_id in then]
    told = [pair for pair in pairs if not any(entry.get("error") for entry in pair)]
    own = [pair for pair in told if not is_variant(pair[1], now)]
    variants = [pair for pair in told if is_variant(pair[1], now)]
    compared = {pair[1]["query_id"] for pair in told}
    groups = {
        name: [pair for pair in own if bool(pair[1]["must"]) in needs]
        for name, needs in RATES.items()
    }
    return {
        "baseline": name,
        "warnings": list(warnings),
        "figures": {
            name: (_rate(group, 0), _rate(group, 1)) for name, group in groups.items() if group
        },
        "broke": _turned(own, to=False),
        "repaired": _turned(own, to=True),
        "both_fail": sum(not first["passed"] and not second["passed"] for first, second in own),
        "not_compared": [query_id for query_id in {**then, **now} if query_id not in compared],
        "variants": {
            "broke": len(_turned(variants, to=False)),
            "repaired": len(_turned(variants, to=True)),
        }
        if variants
        else None,
    }


def _rate(pairs: Sequence[Pair], side: int) -> float:
    return sum(bool(pair[side]["passed"]) for pair in pairs) / len(pairs)


def _turned(pairs: Sequence[Pair], *, to: bool) -> list[Pair]:
    turned = [pair for pair in pairs if pair[0]["passed"] != to and pair[1]["passed"] == to]
    return sorted(turned, key=lambda pair: by_need(pair[1]))
