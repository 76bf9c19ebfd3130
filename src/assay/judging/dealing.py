"""Dealing pairs to judges: a stated share of them to two, so that agreement can be measured.

What holds of every deal, and is tested:

- each pair goes to one judge or to two different ones, and as many to two as the share says;
- no two judges have loads that differ by more than one, nor do any two pairs of judges share
  numbers of doubly judged documents that do;
- the doubly judged are spread evenly along the order given, and so over queries; what one judge has
  alone stands together in that order, so that a query is mostly read by one;
- the same seed deals the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

Two = tuple[str, str]


def deal(
    count: int,
    judges: Sequence[str],
    *,
    doubles: int,
    seed: int = 0,
    loads: Mapping[str, int] | None = None,
) -> list[tuple[str, ...]]:
    """For each of `count` pairs, in their order, who judges it; `doubles` of them have two. Who has
    had less so far (`loads`) comes first where the numbers do not come out even."""
    rng = random.Random(seed)
    ranked = sorted(judges)
    rng.shuffle(ranked)
    before = loads or {}
    ranked.sort(key=lambda judge: before.get(judge, 0))
    twos = _twos(ranked, doubles, rng)
    work = Counter(judge for two in twos for judge in two)
    alone: Counter[str] = Counter()
    for _ in range(count - doubles):
        least = min(ranked, key=lambda judge: work[judge])  # the first of equals
        alone[least] += 1
        work[least] += 1
    singles = [(judge,) for judge in ranked for _ in range(alone[judge])]
    return _placed(count, twos, singles, rng)


def doubles_wanted(overlap: float, total: int, already: int, new: int) -> int:
    """How many of the `new` pairs go to two judges, so that the share is right over all."""
    return min(max(round(overlap * total) - already, 0), new)


def _placed(
    count: int, twos: Sequence[Two], singles: Sequence[tuple[str, ...]], rng: random.Random
) -> list[tuple[str, ...]]:
    """The doubles at even distances, the rest in their order between them."""
    start = rng.randrange(max(count, 1))
    places = {(number * count + start) // len(twos) for number in range(len(twos))}
    doubled, single = iter(twos), iter(singles)
    return [next(doubled) if place in places else next(single) for place in range(count)]


def _twos(ranked: Sequence[str], doubles: int, rng: random.Random) -> list[Two]:
    """Who judges together, one entry a doubly judged document: every two judges in turn."""
    if not doubles:
        return []
    every = list(combinations(ranked, 2))
    rounds, rest = divmod(doubles, len(every))
    order: list[Two] = []
    for _ in range(rounds):
        rng.shuffle(every)
        order += every
    last = _even_twos(ranked, rest)
    rng.shuffle(last)
    return order + last


def _even_twos(ranked: Sequence[str], count: int) -> list[Two]:
    """`count` different twos in which no judge is more than once oftener than another: the graph of
    Havel (1955) and Hakimi (1962) on degrees that differ by at most one, which always exists."""
    degree, more = divmod(2 * count, len(ranked))
    left = {judge: degree + (place < more) for place, judge in enumerate(ranked)}
    twos = []
    while left:
        judge = max(left, key=lambda name: left[name])
        wanted = left.pop(judge)
        for other in sorted(left, key=lambda name: -left[name])[:wanted]:
            left[other] -= 1
            twos.append((judge, other))
    return twos
