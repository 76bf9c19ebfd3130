"""Bounds on what unjudged hits could change: one measure, or the difference of two engines.

A hit nobody has judged counts as not relevant, and that is a choice. So every figure is shown with
what it could be: the share of the hits that is judged, the value with unjudged hits taken out of
the ranking (Sakai 2007, "Alternatives to Bpref"), and bounds over every grade the unjudged hits
could get. For RBP the gap is the residual of Moffat & Zobel (2008): the weight of all that is not
known.

The bounds of two engines do not tell whether their difference is safe. A document that both return
has one grade, so the bounds are not free of each other: one engine's best case may be the other's
too. `could_overturn` therefore drives the difference itself as low as grades of unjudged documents
can bring it, by every grade of the scale. Where few hits are open every grading is tried; that is
exponential, so beyond it the lead is driven down greedily, and the tests compare that with every
grading on small cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from assay.core.results import Entry, GradedEntry, GradedResults, Results, Unjudged
from assay.core.types import GoldSet, Run, counted
from assay.evaluation.judged_hits import JoinedRun, Qrels, Scored, join_run, pack
from assay.evaluation.measures import (
    MEASURES,
    NO_GRADE,
    NO_RANK,
    Floats,
    Integers,
    JudgedHits,
    Measure,
    is_external,
    parse_measure,
    parse_measures,
    rbp_residual,
)

DENSE_CELLS = 500_000  # held at a time, to bound memory; chosen
DEEPEST = 100  # unjudged hits below this rank are left as they are (taste)
ROUNDS = 10  # of changing one hit at a time; chosen, to bound the time
SHALLOWEST = 3  # ranks of a pool that is worth asking for (taste)
MOST_GRADINGS = 5_000  # where no more gradings than this are possible, each is looked at (taste)
JUDGED_ONLY_MEASURES = ("Judged", "Bpref")  # unjudged hits count for nothing in them, by definition

# ── one measure: bounds ───────────────────────────────────────────────────────────────────────────


def unjudged(
    run: Run | Scored, gold: GoldSet | Qrels, measures: Iterable[str | Measure]
) -> dict[str, Unjudged]:
    """For each measure: judged@k, the judged-only value, and bounds over every grade the unjudged
    hits could get."""
    return unjudged_bounds(join_run(run, gold), measures)


def unjudged_bounds(prepared: JoinedRun, measures: Iterable[str | Measure]) -> dict[str, Unjudged]:
    """The same from judged hits."""
    wanted = parse_measures(str(measure) for measure in measures)
    own = [measure for measure in wanted if not is_external(measure)]
    blocks: dict[str, list[Floats]] = {str(measure): [] for measure in wanted}
    for rows, hits in pack(prepared):
        scorable = prepared.scorable[rows]
        for measure in own:
            depth = int(min(hits.returned.max(initial=0), measure.cutoff or NO_RANK))
            if measure.name == "RR":  # so far down a list ends or has an unjudged hit, the first
                depth = min(depth, hits.ranks.shape[1] + 1)
            parts = [np.stack(_variants(part, measure, depth)) for part in _parts(hits, depth)]
            blocks[str(measure)].append(np.concatenate(parts, axis=1)[:, scorable])
    return {name: _means(name, values) for name, values in blocks.items()}


def _parts(hits: JudgedHits, depth: int) -> Iterator[JudgedHits]:
    """A few queries at a time: with a rank for every hit inside the cutoff, judged or not, the
    matrices are as wide as the run is deep."""
    step = max(1, DENSE_CELLS // (depth + hits.ideal.shape[1] + 1))
    for start in range(0, len(hits.returned), step):
        rows = slice(start, start + step)
        yield replace(
            hits,
            ranks=hits.ranks[rows],
            grades=hits.grades[rows],
            ideal=hits.ideal[rows],
            returned=hits.returned[rows],
        )


def _means(measure: str, blocks: list[Floats]) -> Unjudged:
    table = np.concatenate(blocks, axis=1) if blocks else np.empty((5, 0))
    judged, judged_only, worst, best, residual = (
        float(row.mean()) if row.size and not np.isnan(row[0]) else None for row in table
    )
    return Unjudged(
        measure=measure,
        judged_share=judged,
        judged_only=judged_only,
        worst=worst,
        best=best,
        residual=residual,
    )


def _variants(hits: JudgedHits, measure: Measure, depth: int) -> list[np.ndarray[Any, Any]]:
    """By query: judged share, judged-only value, worst, best, residual; hits are looked at down to
    `depth`."""
    formula = MEASURES[measure.name]
    judged = MEASURES["Judged"].compute(hits, Measure("Judged", measure.cutoff))
    if measure.name in JUDGED_ONLY_MEASURES:
        value = formula.compute(hits, measure)
        return [judged, value, value, value, np.full_like(value, np.nan)]
    worst, best = lowest_and_highest(hits, measure, depth)
    condensed = formula.compute(_condense(hits), measure)
    is_rbp = measure.name == "RBP"
    residual = rbp_residual(hits, measure) if is_rbp else np.full_like(worst, np.nan)
    return [judged, condensed, worst, best, residual]


def lowest_and_highest(hits: JudgedHits, measure: Measure, depth: int) -> tuple[Floats, Floats]:
    """By query the least and the most that grades of the unjudged hits down to `depth` make of it:
    what a scorecard prints, and what a gate has to stand where nothing is known of them.

    They hold whatever the grades: a larger ideal can only lower nDCG and AP, while every newly
    relevant hit enters both sides of recall, which it can only raise."""
    formula, optimistic = MEASURES[measure.name], _assume_relevant(hits, depth)
    best_ideal, worst_ideal = (
        (optimistic.ideal, hits.ideal)
        if formula.ideal_in_bounds == "numerator"
        else (hits.ideal, optimistic.ideal)
    )
    best = formula.compute(replace(optimistic, ideal=best_ideal), measure)
    worst = formula.compute(replace(hits, ideal=worst_ideal), measure)
    return worst, np.minimum(best, 1.0)


def _condense(hits: JudgedHits) -> JudgedHits:
    """The ranking with unjudged hits taken out: judged hits move up."""
    present = hits.ranks < NO_RANK
    ranks = np.where(present, np.arange(1, hits.ranks.shape[1] + 1), NO_RANK)
    return replace(hits, ranks=ranks, returned=present.sum(axis=1))


def _assume_relevant(hits: JudgedHits, depth: int) -> JudgedHits:
    """Every unjudged hit down to `depth` gets the top grade; the ideal grows by them."""
    top = max(hits.max_grade, 1)
    ranks = np.broadcast_to(np.arange(1, depth + 1), (len(hits.returned), depth))
    returned = ranks <= hits.returned[:, None]
    grades = np.where(returned, top, NO_GRADE)
    row, column = np.nonzero(hits.ranks <= depth)
    grades[row, hits.ranks[row, column] - 1] = hits.grades[row, column]
    judged = np.zeros_like(returned)
    judged[row, hits.ranks[row, column] - 1] = True
    ideal = _with_best(hits.ideal, (returned & ~judged).sum(axis=1), top, depth)
    return replace(hits, ranks=np.where(returned, ranks, NO_RANK), grades=grades, ideal=ideal)


def _with_best(ideal: Integers, added: Integers, top: int, most: int) -> Integers:
    """The best order with so many more documents of the top grade, which stand before the rest."""
    places = np.arange(ideal.shape[1] + most)
    before = places - added[:, None]
    if not ideal.shape[1]:
        return np.where(before < 0, top, NO_GRADE)
    known = np.take_along_axis(ideal, np.clip(before, 0, ideal.shape[1] - 1), axis=1)
    rest = np.where(before < ideal.shape[1], known, NO_GRADE)
    return np.where(before < 0, top, rest)


# ── a difference: could judging turn it around? ───────────────────────────────────────────────────


def could_overturn(
    measure: str, better: Sequence[GradedEntry], worse: Sequence[GradedEntry], lead: float
) -> bool:
    """Whether some grades of the unjudged hits put `worse` above `better`, which leads by `lead` on
    average. The entries of both are of the same queries in the same order."""
    wanted = parse_measure(measure)
    if wanted.name in JUDGED_ONLY_MEASURES or lead <= 0:
        return False
    if is_external(wanted):
        return True  # nobody has gone over its hits, so nothing is certain
    top = max((grade for entry in (*better, *worse) for grade in entry.known_grades), default=1)
    left = lead * len(better)
    for ahead, behind in zip(better, worse, strict=True):
        left -= _lead_fall(wanted, ahead, behind, max(top, 1))
        if left < -1e-9:
            return True
    return False


def _lead_fall(measure: Measure, ahead: GradedEntry, behind: GradedEntry, top: int) -> float:
    """How far the lead on one query can fall."""
    places, grades = _documents_of_both(measure, ahead, behind)
    two = TwoLists(
        places=places,
        grades=np.array([NO_GRADE if grade is None else grade for grade in grades], np.int64),
        is_open=np.array([grade is None for grade in grades], np.bool_),
        judged=np.array(max(ahead.known_grades, behind.known_grades, key=len), np.int64),
        returned=(ahead.returned, behind.returned),
        top=top,
    )
    return largest_fall(measure, two)


@dataclass(frozen=True, kw_only=True)
class TwoLists:
    """The documents of two lists for one query: the rank of each in the first and in the second,
    its grade, whether that is open, and all judged grades of the query."""

    places: Integers  # [documents, 2]
    grades: Integers
    is_open: np.ndarray[Any, np.dtype[np.bool_]]
    judged: Integers
    returned: tuple[int, int]
    top: int


def largest_fall(measure: Measure, two: TwoLists) -> float:
    """How far the first's lead over the second can fall by grades of the open hits.

    These are put in the order in which they help the second, by the discount of their ranks in the
    two lists, for `_lowest`."""
    weights = 1 / np.log2(two.places + 1.0)
    open_hits = np.flatnonzero(two.is_open)
    open_hits = open_hits[np.argsort((weights[:, 0] - weights[:, 1])[open_hits], kind="stable")]
    if not len(open_hits):
        return 0.0

    def lead(assumed: Integers) -> Floats:
        every = np.repeat(two.grades[None], len(assumed), axis=0)
        every[:, open_hits] = assumed
        pool = np.concatenate([np.repeat(two.judged[None], len(assumed), axis=0), assumed], axis=1)
        ideal = -np.sort(-pool, axis=1)
        first, second = (
            _values_under(
                measure,
                two.places[:, system],
                JudgedHits(
                    ranks=two.places[:, system],
                    grades=every,
                    ideal=ideal,
                    returned=np.full(len(assumed), two.returned[system], np.int64),
                    max_grade=two.top,
                ),
            )
            for system in (0, 1)
        )
        return first - second

    start = float(lead(np.zeros((1, len(open_hits)), np.int64))[0])
    return start - _lowest(lead, len(open_hits), two.top)


def _lowest(lead: Callable[[Integers], Floats], count: int, top: int) -> float:
    """The lowest lead over the gradings of `count` open hits, which come with those first that help
    the one behind most."""
    if (top + 1) ** count <= MOST_GRADINGS:
        every = np.indices((top + 1,) * count, np.int64).reshape(count, -1).T
        return float(lead(every).min())
    # none, the first, the first two … of one grade; a hit then changes for as long as it helps
    tried = np.concatenate(
        [np.tril(np.full((count + 1, count), grade), -1) for grade in range(1, top + 1)]
    )
    values = lead(tried)
    best, lowest = tried[int(values.argmin())], float(values.min())
    for _ in range(ROUNDS):
        tried = np.repeat(best[None], count * (top + 1), axis=0)
        rows = np.arange(len(tried))
        tried[rows, rows // (top + 1)] = rows % (top + 1)
        values = lead(tried)
        if values.min() >= lowest - 1e-12:
            break
        best, lowest = tried[int(values.argmin())], float(values.min())
    return lowest


def _documents_of_both(
    measure: Measure, ahead: GradedEntry, behind: GradedEntry
) -> tuple[Integers, list[int | None]]:
    """Every document of the two lists: its rank in each (NO_RANK where it is not) and grade."""
    depth = measure.cutoff or NO_RANK
    ranks: dict[str, list[int]] = {}
    grades: dict[str, int | None] = {}
    for system, entry in enumerate((ahead, behind)):
        top = zip(entry.results[:depth], entry.grades, strict=False)
        for rank, (doc_id, grade) in enumerate(top, start=1):
            if grade is not None or rank <= DEEPEST:
                ranks.setdefault(doc_id, [NO_RANK, NO_RANK])[system] = rank
                grades[doc_id] = grade
    return np.array(list(ranks.values()), np.int64).reshape(-1, 2), list(grades.values())


def _values_under(measure: Measure, ranks: Integers, hits: JudgedHits) -> Floats:
    """The measure of one list under each row of grades, with the hits put in rank order."""
    order = np.argsort(ranks, kind="stable")
    placed = np.repeat(ranks[order][None], len(hits.grades), axis=0)
    grades = np.where(placed < NO_RANK, hits.grades[:, order], NO_GRADE)
    return MEASURES[measure.name].compute(replace(hits, ranks=placed, grades=grades), measure)


class PoolAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """How many judgments it takes to pool two lists to a depth."""

    depth: int
    judgments: int


def pool_needed(first: Sequence[Entry], second: Sequence[Entry], deepest: int) -> PoolAdvice | None:
    """The smallest depth, from 3 on, to which some hit of two lists is unjudged, and the judgments
    that pool both to it; None where both are judged to the `deepest` rank. It needs no model of
    such hits."""
    others = {entry.query_id: entry for entry in second if not entry.error}
    missing: Counter[int] = Counter()  # by the best rank of a document
    for entry in first:
        if entry.error or entry.query_id not in others:
            continue
        best: dict[str, int] = {}
        judged = set[str]()
        for each in (entry, others[entry.query_id]):
            top = zip(each.results[:deepest], each.grades, strict=False)
            for rank, (doc_id, grade) in enumerate(top, start=1):
                best[doc_id] = min(rank, best.get(doc_id, rank))
                judged |= {doc_id} if grade is not None else set()
        missing.update(rank for doc_id, rank in best.items() if doc_id not in judged)
    if not missing:
        return None
    depth = max(min(missing), min(SHALLOWEST, deepest))
    return PoolAdvice(depth=depth, judgments=sum(missing[rank] for rank in range(1, depth + 1)))


def unscored_reason(results: Results) -> str:
    """Why some queries have no value: nobody has judged anything for them."""
    entries = results.per_query if isinstance(results, GradedResults) else []
    bare = sum(not entry.known_grades and entry.error is None for entry in entries)
    verb = "has" if bare == 1 else "have"
    return f"; {counted(bare, 'other')} {verb} no judgments" if bare else ""
