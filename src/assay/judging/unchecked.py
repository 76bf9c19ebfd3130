"""Votes that nobody has checked: those of a judge alone on a document, where it is not known how
far that judge agrees with others.

Two judges on every document are more than most sets can pay for, so that a judge who has shown to
agree with others on some is believed on the rest, as in TREC. One who has not is not: a verdict
that turns on such votes rests on one person's word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from assay.core.types import Vote
from assay.evaluation import concordance
from assay.gold.votes import Held
from assay.judging.votes import EDITED, RULING, UNNAMED, Pair, by_pair, current

SHARED = 10  # documents that a judge and others graded, before the rest of their votes is believed
AGREES = 0.4  # weighted kappa with them; below it agreement is minimal (McHugh 2012)


def unchecked(votes: Iterable[Vote]) -> dict[str, frozenset[Pair]]:
    """By judge, the pairs that they alone graded; none of judges who agree with others. A ruling is
    a check, and so is a spot check by somebody else."""
    found = Unchecked()
    for pair, said in by_pair(current(votes)).items():
        found.count(pair, said)
    return found.by_judge()


class Unchecked:
    """The same of votes that come one by one: a vote changes one pair, so one is counted again."""

    def __init__(self) -> None:
        self._alone: dict[str, set[Pair]] = {}
        self._shared: dict[str, Counter[tuple[int, int]]] = {}

    def count(self, pair: Pair, said: Iterable[Vote | Held], by: int = 1) -> None:
        """Count what holds of a pair, or with `by` -1 no longer does."""
        graded = [
            (vote.judge, vote.grade, vote.source)
            for vote in said
            if vote.kind == "human" and vote.grade is not None
        ]
        judges = {judge for judge, *_ in graded}
        if len(judges) == 1:
            (judge,) = judges
            if judge != UNNAMED and not any(source in (RULING, EDITED) for *_, source in graded):
                alone = self._alone.setdefault(judge, set())
                alone.add(pair) if by > 0 else alone.discard(pair)
            return
        for judge, grade, _ in graded:
            for other, others, _ in graded:
                if judge != other:
                    self._shared.setdefault(judge, Counter())[grade, others] += by

    def by_judge(self) -> dict[str, frozenset[Pair]]:
        return {
            judge: frozenset(pairs)
            for judge, pairs in self._alone.items()
            if pairs and not _agrees(self._shared.get(judge, Counter()))
        }


def _agrees(shared: Counter[tuple[int, int]]) -> bool:
    if shared.total() < SHARED:
        return False
    met = {two: times for two, times in shared.items() if times}
    size = max(map(max, met)) + 1
    table = np.zeros((1, size, size))
    for (one, other), times in met.items():
        table[0, one, other] = times
    kappa = float(concordance.kappa(table, 1))
    return kappa >= AGREES if np.isfinite(kappa) else all(one == other for one, other in met)
