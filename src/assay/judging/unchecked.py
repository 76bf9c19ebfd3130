"""Votes that nobody has checked: those of a judge alone on a document, where it is not known how
far that judge agrees with others.

Two judges on every document are more than most sets can pay for, so that a judge who has shown to
agree with others on some is believed on the rest, as in TREC. One who has not is not: a verdict
that turns on such votes rests on one person's word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.core.types import Vote
from assay.evaluation import concordance
from assay.judging.votes import RULING, UNNAMED, Pair, by_pair, current

SHARED = 10  # documents that a judge and others graded, before the rest of their votes is believed
AGREES = 0.4  # weighted kappa with them; below it agreement is minimal (McHugh 2012)


def unchecked(votes: Iterable[Vote]) -> dict[str, frozenset[Pair]]:
    """By judge, the pairs that they alone graded; none of judges who agree with others. A ruling is
    a check, and so is a spot check by somebody else."""
    return unchecked_of(by_pair(current(votes)).items())


def unchecked_of(
    holding: Iterable[tuple[Pair, Sequence[Vote]]],
) -> dict[str, frozenset[Pair]]:
    """The same, of what holds of each pair."""
    alone: dict[str, set[Pair]] = {}
    shared: dict[str, list[tuple[int, int]]] = {}
    for pair, said in holding:
        graded = [
            (vote.judge, vote.grade, vote.source)
            for vote in said
            if vote.kind == "human" and vote.grade is not None
        ]
        judges = {judge for judge, *_ in graded}
        if len(judges) == 1:
            (judge,) = judges
            if judge != UNNAMED and all(source != RULING for *_, source in graded):
                alone.setdefault(judge, set()).add(pair)
            continue
        for judge, grade, _ in graded:
            for other, others, _ in graded:
                if judge != other:
                    shared.setdefault(judge, []).append((grade, others))
    return {
        judge: frozenset(pairs)
        for judge, pairs in alone.items()
        if not _agrees(shared.get(judge, []))
    }


def _agrees(shared: Sequence[tuple[int, int]]) -> bool:
    if len(shared) < SHARED:
        return False
    size = max(max(two) for two in shared) + 1
    table = np.zeros((1, size, size))
    np.add.at(table[0], ([one for one, _ in shared], [other for _, other in shared]), 1)
    kappa = float(concordance.kappa(table, 1))
    return kappa >= AGREES if np.isfinite(kappa) else all(one == other for one, other in shared)
