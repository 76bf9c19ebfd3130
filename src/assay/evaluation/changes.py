"""What changed between two golden results: what broke, what was repaired, MUST first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.results import GoldenEntry, GoldenResults, by_need, is_variant
from assay.evaluation.states import alike

# pass rate: whether it is over MUST questions, others, or both
RATES = {
    "pass_rate_total": (True, False),
    "pass_rate_must": (True,),
    "pass_rate_should": (False,),
}

Turn = tuple[GoldenEntry, GoldenEntry]  # a question before and after


class VariantTurns(msgspec.Struct, frozen=True, kw_only=True):
    """How many perturbed variants of questions broke and were repaired."""

    broke: int
    repaired: int


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Question by question. `figures` are the pass rates, before and after, of the questions
    compared; one that only one of the two has, that asks for something else now, or whose call
    failed, is `not_compared`."""

    baseline: str
    warnings: list[str]
    figures: dict[str, tuple[float, float]]
    broke: list[Turn]
    repaired: list[Turn]
    both_fail: int
    not_compared: list[str]
    variants: VariantTurns | None  # counted apart; None where there are none


def changes(
    before: GoldenResults, after: GoldenResults, *, name: str, warnings: Sequence[str] = ()
) -> Changes:
    """What the results `after` make of those `before`, which are called `name`."""
    then = {entry.query_id: entry for entry in before.per_query}
    now = {entry.query_id: entry for entry in after.per_query}
    shared = alike(before, after)
    pairs = [(then[query_id], entry) for query_id, entry in now.items() if query_id in shared]
    told = [pair for pair in pairs if not any(entry.error for entry in pair)]
    own = [pair for pair in told if not is_variant(pair[1], now)]
    variants = [pair for pair in told if is_variant(pair[1], now)]
    compared = {after.query_id for _, after in told}
    groups = {
        rate: [pair for pair in own if pair[1].must in needs] for rate, needs in RATES.items()
    }
    broke, repaired = _turned(variants, to=False), _turned(variants, to=True)
    return Changes(
        baseline=name,
        warnings=list(warnings),
        figures={
            rate: (_rate(group, 0), _rate(group, 1)) for rate, group in groups.items() if group
        },
        broke=_turned(own, to=False),
        repaired=_turned(own, to=True),
        both_fail=sum(not first.passed and not second.passed for first, second in own),
        not_compared=[query_id for query_id in {**then, **now} if query_id not in compared],
        variants=VariantTurns(broke=len(broke), repaired=len(repaired)) if variants else None,
    )


def _rate(pairs: Sequence[Turn], side: int) -> float:
    return sum(pair[side].passed for pair in pairs) / len(pairs)


def _turned(pairs: Sequence[Turn], *, to: bool) -> list[Turn]:
    turned = [pair for pair in pairs if pair[0].passed != to and pair[1].passed == to]
    return sorted(turned, key=lambda pair: by_need(pair[1]))
