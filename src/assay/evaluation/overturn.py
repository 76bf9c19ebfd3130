"""Could judging turn a difference around? A document that both engines return has one grade, so the
two engines' bounds are not free of each other: the difference itself is driven as low as grades of
unjudged documents can bring it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.evaluation.measures import (
    MEASURES,
    NO_GRADE,
    NO_RANK,
    Floats,
    Integers,
    JudgedHits,
    Measure,
    parse_measure,
)

DEEPEST = 100  # unjudged hits below this rank are left as they are
ROUNDS = 3
BLIND = ("Judged", "Bpref")  # unjudged hits count for nothing in them


def could_overturn(
    measure: str,
    better: Sequence[Mapping[str, Any]],
    worse: Sequence[Mapping[str, Any]],
    lead: float,
) -> bool:
    """Whether some grades of the unjudged hits put `worse` above `better`, which leads by `lead` on
    average. The entries of both are of the same queries in the same order."""
    wanted = parse_measure(measure)
    if wanted.name in BLIND or lead <= 0:
        return False
    top = max((grade for entry in (*better, *worse) for grade in entry["judged"]), default=1)
    left = lead * len(better)
    for ahead, behind in zip(better, worse, strict=True):
        left -= _fall(wanted, ahead, behind, max(top, 1))
        if left < -1e-9:
            return True
    return False


def _fall(measure: Measure, ahead: Mapping[str, Any], behind: Mapping[str, Any], top: int) -> float:
    """How far the lead on one query can fall. First the hits that help `behind` most are taken to
    be relevant, ever more of them; then, from the best of these, any one that lowers the lead
    further."""
    depth = measure.cutoff or NO_RANK
    ranks: dict[str, list[int]] = {}
    grades: dict[str, int | None] = {}
    for system, entry in enumerate((ahead, behind)):
        for rank, (doc_id, grade) in enumerate(
            zip(entry["results"][:depth], entry["grades"], strict=False), start=1
        ):
            if grade is not None or rank <= DEEPEST:
                ranks.setdefault(doc_id, [NO_RANK, NO_RANK])[system] = rank
                grades[doc_id] = grade
    places = np.array(list(ranks.values()), np.int64).reshape(-1, 2)
    known = np.array([NO_GRADE if grade is None else grade for grade in grades.values()], np.int64)
    weights = 1 / np.log2(places + 1.0)
    open_hits = np.flatnonzero([grade is None for grade in grades.values()])
    open_hits = open_hits[np.argsort((weights[:, 0] - weights[:, 1])[open_hits], kind="stable")]
    if not len(open_hits):
        return 0.0
    judged = np.array(max(ahead["judged"], behind["judged"], key=len), np.int64)
    returned = (len(ahead["results"]), len(behind["results"]))

    def lead(assumed: Integers) -> Floats:
        every = np.repeat(known[None], len(assumed), axis=0)
        every[:, open_hits] = assumed
        pool = np.concatenate([np.repeat(judged[None], len(assumed), axis=0), assumed], axis=1)
        ideal = -np.sort(-pool, axis=1)
        first, second = (
            _value(measure, places[:, k], every, ideal, returned[k], top) for k in (0, 1)
        )
        return first - second

    count = len(open_hits)
    tried = np.tril(np.full((count + 1, count), top), -1)  # none, the first, the first two, …
    values = lead(tried)
    start, best, lowest = float(values[0]), tried[int(values.argmin())], float(values.min())
    for _ in range(ROUNDS):
        tried = np.repeat(best[None], count, axis=0)
        np.fill_diagonal(tried, top - tried.diagonal())
        values = lead(tried)
        if values.min() >= lowest - 1e-12:
            break
        best, lowest = tried[int(values.argmin())], float(values.min())
    return start - lowest


def _value(
    measure: Measure, ranks: Integers, grades: Integers, ideal: Integers, returned: int, top: int
) -> Floats:
    order = np.argsort(ranks, kind="stable")
    placed = np.repeat(ranks[order][None], len(grades), axis=0)
    mine = np.where(placed < NO_RANK, grades[:, order], NO_GRADE)
    lengths = np.full(len(grades), returned, np.int64)
    hits = JudgedHits(ranks=placed, grades=mine, ideal=ideal, returned=lengths, max_grade=top)
    return MEASURES[measure.name].compute(hits, measure)
