"""How alike two words are by their beginnings, and the acts of documents."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from assay.search.arrays import Array

ALIKE = 4  # letters that two words must have in common before they part


def alike(first: str, second: str) -> float:
    """Share of a common beginning: 1 for the same lemma, high for forms and compounds of one."""
    if first == second:
        return 1.0
    common = _common_beginning(first, second)
    return common / max(len(first), len(second)) if common >= ALIKE else 0.0


def nearly(lemma: str, lemmas: list[str], least: float) -> Iterator[int]:
    """Of sorted lemmas the places of those that are more alike than `least`: they begin alike for
    most of their length."""
    begins = lemma[: max(ALIKE, int(least * len(lemma)) + 1)]  # what they have in common at least
    at = bisect_left(lemmas, begins)
    if len(lemma) < ALIKE:  # then no other one is alike
        yield from (at,) if lemmas[at : at + 1] == [lemma] else ()
        return
    while at < len(lemmas) and lemmas[at].startswith(begins):
        if alike(lemmas[at], lemma) > least:
            yield at
        at += 1


def within(words: Iterable[str], others: list[str]) -> float:
    """How well the worst of these words is matched by one of the others."""
    best = (max((alike(word, other) for other in others), default=0.0) for word in words)
    return min(best, default=1.0)


def _common_beginning(first: str, second: str) -> int:
    """How many letters two words have in common before they part."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))


def by_act(acts: Sequence[str]) -> tuple[list[str], Array]:
    """The acts of documents in order, and the number of each document's own."""
    different = sorted(set(acts))
    number_of = {act: number for number, act in enumerate(different)}
    return different, np.array([number_of[act] for act in acts], np.int32)
