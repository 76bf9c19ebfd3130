"""What to judge next: the pairs whose grade could change the decision most.

The difference of two runs in DCG-like measures is a sum over documents of grade times a weight: how much higher B
places the document than A. An unjudged document is a random grade. So the difference has a mean and a variance, the
decision has a probability, and the document that carries most of the variance is the one worth a lawyer's time
(Carterette, Allan & Sitaraman 2006, "Minimal test collections", with graded gains and a prior by rank).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import msgspec

DEPTH = 10
UNJUDGED_SHARE = 0.5  # an unjudged hit is taken to be half as good as judged ones at its rank: judges saw those first
NORMAL = NormalDist()


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """An unjudged pair: its weight in the decision, and how much of the doubt its judgment removes on average."""

    query_id: str
    query_text: str
    doc_id: str
    rank_a: int | None
    rank_b: int | None
    weight: float
    narrowing: float  # share of the remaining variance


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Where the decision stands: the difference expected, its spread, and how sure its sign is."""

    expected: float
    deviation: float
    confidence: float
    pairs: list[Pair]
    needed: int  # how many of the pairs, in this order, are expected to bring the confidence to the level asked for
    level: float


def next_to_judge(
    a: Mapping[str, Any], b: Mapping[str, Any] | None = None, *, threshold: float = 0.0, level: float = 0.95
) -> Decision:
    """Is B better than A (two results), or does A reach `threshold` (one)? Both in nDCG@10 over the shared queries."""
    prior = _prior(item for item in (a, b) if item is not None)
    entries_b = {entry["query_id"]: entry for entry in b["per_query"]} if b is not None else {}
    queries = [entry for entry in a["per_query"] if (b is None or entry["query_id"] in entries_b) and entry["judged"]]
    expected, variance = -threshold if b is None else 0.0, 0.0
    found: list[tuple[float, float, Pair]] = []
    for entry in queries:
        other = entries_b.get(entry["query_id"])
        ideal = _ideal(entry["judged"])
        if ideal == 0:
            continue
        for doc_id, (grade, rank_a, rank_b) in _documents(entry, other).items():
            weight = (_discount(rank_a) if b is None else _discount(rank_b) - _discount(rank_a)) / ideal / len(queries)
            if grade is not None:
                expected += weight * max(grade, 0)
                continue
            mean, spread = prior[min(rank for rank in (rank_a, rank_b) if rank is not None) - 1]
            expected += weight * mean * UNJUDGED_SHARE
            variance += weight**2 * spread
            text = entry.get("query_text", "")
            pair = Pair(query_id=entry["query_id"], query_text=text, doc_id=doc_id, rank_a=rank_a,
                        rank_b=rank_b, weight=weight, narrowing=0.0)  # fmt: skip
            found.append((weight**2 * spread, abs(weight), pair))
    found.sort(key=lambda item: (-item[0], -item[1], item[2].query_id, item[2].doc_id))
    pairs = [
        msgspec.structs.replace(p, narrowing=part / variance if variance else 0.0) for part, _, p in found if part > 0
    ]
    deviation = math.sqrt(variance)
    return Decision(
        expected=expected,
        deviation=deviation,
        confidence=_confidence(expected, deviation),
        pairs=pairs,
        needed=_needed(expected, variance, [part for part, _, _ in found], level),
        level=level,
    )


def _documents(
    entry: Mapping[str, Any], other: Mapping[str, Any] | None
) -> dict[str, tuple[int | None, int | None, int | None]]:
    """{document: (grade, rank in A, rank in B)} over both top tens."""
    found: dict[str, tuple[int | None, int | None, int | None]] = {}
    for rank, (doc_id, grade) in enumerate(zip(entry["results"][:DEPTH], entry["grades"], strict=False), start=1):
        found[doc_id] = (grade, rank, None)
    if other is not None:
        for rank, (doc_id, grade) in enumerate(zip(other["results"][:DEPTH], other["grades"], strict=False), start=1):
            found[doc_id] = (grade, found.get(doc_id, (None, None, None))[1], rank)
    return found


def _discount(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / math.log2(rank + 1)


def _ideal(judged: Sequence[int]) -> float:
    return sum(max(grade, 0) * _discount(rank) for rank, grade in enumerate(judged[:DEPTH], start=1))


def _prior(results: Iterable[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """(mean, variance) of the grade at each rank, from the judged hits there, drawn towards the grades overall so
    that a rank with few judgments says little."""
    by_rank: list[list[int]] = [[] for _ in range(DEPTH)]
    for item in results:
        for entry in item["per_query"]:
            for rank, grade in enumerate(entry["grades"][:DEPTH]):
                if grade is not None:
                    by_rank[rank].append(max(grade, 0))
    every = [grade for grades in by_rank for grade in grades] or [0, 1]
    mean = sum(every) / len(every)
    spread = sum((grade - mean) ** 2 for grade in every) / len(every)
    strength = 10
    return [
        (
            (sum(grades) + strength * mean) / (len(grades) + strength),
            (sum((grade - mean) ** 2 for grade in grades) + strength * spread) / (len(grades) + strength),
        )
        for grades in by_rank
    ]


def _confidence(expected: float, deviation: float) -> float:
    if deviation == 0:
        return 1.0
    return NORMAL.cdf(abs(expected) / deviation)


def _needed(expected: float, variance: float, parts: Sequence[float], level: float) -> int:
    """Judgments until the sign is sure at `level`, if the expectation holds."""
    for count, part in enumerate([0.0, *parts]):
        variance = max(variance - part, 0.0)
        if _confidence(expected, math.sqrt(variance)) >= level:
            return count
    return len(parts)
