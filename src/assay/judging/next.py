"""What to judge next: the pairs whose grade could change the decision most.

An unjudged hit is a random grade (see `evaluation.belief`), so a measure is a random number: its
mean says which way the decision goes, its spread how sure that is. A pair is worth the part of the
spread that its grade takes away on average; the largest comes first. The idea is Carterette, Allan
& Sitaraman's (2006, "Minimal test collections for retrieval evaluation"), taken beyond average
precision to any measure, and with the chance of relevance learnt from the judgments at hand.

How it is computed: the top lists become one padded table (`_table`); grades are drawn for every
unjudged hit from the belief (`_guess`), and the measure under each draw gives mean and spread
(`_standing`). What one pair's grade would change is measured by setting it to every grade in turn
while the query's other hits stay as drawn (`_effects`), and `belief.plan` puts the pairs in order,
narrowing the belief after each as if its grade were known. The draws have a fixed seed: the same
results give the same list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import msgspec
import numpy as np

from assay.core.results import Entry, Pair
from assay.evaluation.belief import Belief, chances, draw, learn, plan
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

DEEPEST = 100  # a measure without a cutoff is looked at to this rank
SAMPLES, FLIP_SAMPLES = 256, 8
BLOCK_CELLS = 2_000_000
SEED = 20_260
UNJUDGED, ABSENT = -1, -2
NORMAL = NormalDist()

Entries = Sequence[Entry]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a decision stands: the distance from the threshold expected, its spread, and how sure
    its sign is."""

    expected: float
    deviation: float
    confidence: float


class Decision(Standing, frozen=True, kw_only=True):
    """The same, with what to judge to be sure."""

    measure: str
    threshold: float
    pairs: list[Pair]
    needed: int  # how many of the pairs are expected to bring the confidence to the level
    level: float
    systems: int  # 2 where two are compared


@dataclass(frozen=True, kw_only=True)
class _Table:
    """Every query's documents in the top lists, padded: grades (UNJUDGED, ABSENT), the ranks in
    each system, and all judged grades of the query."""

    entries: list[Entry]
    documents: list[list[str]]
    grades: Integers
    ranks: tuple[Integers, ...]
    judged: Integers
    asked: Integers  # 1 where the grade was asked for, or is open; 0 where it was known before
    returned: tuple[Integers, ...]
    top: int


@dataclass(frozen=True, kw_only=True)
class _Guess:
    """The unjudged hits as (query, place in the table), what is known of each, and grades drawn for
    them."""

    spots: Integers
    features: Floats
    belief: Belief
    drawn: Integers  # [hits, samples]


def next_to_judge(
    first: Entries,
    second: Entries | None = None,
    *,
    measure: str = "nDCG@10",
    threshold: float = 0.0,
    level: float = 0.95,
) -> Decision:
    """Is the second better than the first by more than `threshold`, or, alone, does the first reach
    `threshold`? Over the queries that all have scored."""
    wanted = parse_measure(measure)
    table = _table(first, second, wanted)
    guess = _guess(table)
    stand = _standing(table, wanted, guess, threshold)
    chance = chances(guess.belief, guess.features, guess.spots[:, 0])
    effects, extra = _effects(table, wanted, guess, chance)
    order, narrowing = plan(guess.belief, guess.features, guess.spots[:, 0], chance, effects, extra)
    effects = effects / max(len(table.entries), 1)
    pairs = _pairs(table, guess.spots[order], effects[order], chance[order], narrowing)
    return Decision(
        measure=str(wanted),
        threshold=threshold,
        expected=stand.expected,
        deviation=stand.deviation,
        confidence=stand.confidence,
        pairs=pairs,
        needed=_needed(stand, [pair.narrowing for pair in pairs], level),
        level=level,
        systems=len(table.ranks),
    )


def standing(
    first: Entries,
    second: Entries | None = None,
    *,
    measure: str = "nDCG@10",
    threshold: float = 0.0,
) -> Standing:
    """How sure the decision is now, without a plan what to judge."""
    wanted = parse_measure(measure)
    table = _table(first, second, wanted)
    return _standing(table, wanted, _guess(table), threshold)


def _guess(table: _Table) -> _Guess:
    """Grades drawn for every unjudged hit, by what the judged ones teach."""
    spots, known = np.argwhere(table.grades == UNJUDGED), np.argwhere(table.grades >= 0)
    features = _features(table)
    grades = table.grades[known[:, 0], known[:, 1]]
    belief = learn(
        features[known[:, 0], known[:, 1]], known[:, 0], grades, len(table.entries), table.top
    )
    mine = features[spots[:, 0], spots[:, 1]]
    drawn = draw(belief, mine, spots[:, 0], SAMPLES, np.random.default_rng(SEED))
    return _Guess(spots=spots, features=mine, belief=belief, drawn=drawn)


def _standing(table: _Table, measure: Measure, guess: _Guess, threshold: float) -> Standing:
    totals = _totals(table, measure, guess.spots, guess.drawn) - threshold
    expected, deviation = float(totals.mean()), float(totals.std()) if len(guess.spots) else 0.0
    return Standing(
        expected=expected, deviation=deviation, confidence=_confidence(expected, deviation)
    )


# ── the queries as one table ──────────────────────────────────────────────────────────────────────


def _table(first: Entries, second: Entries | None, measure: Measure) -> _Table:
    lists = _side_by_side(first, second)
    depth = measure.cutoff or DEEPEST
    rows = [_documents(systems, depth) for systems in lists]
    width = max(map(len, rows), default=0)
    grades = np.full((len(rows), width), ABSENT, np.int64)
    asked = np.ones((len(rows), width), np.int64)
    ranks = tuple(
        np.full((len(rows), width), NO_RANK, np.int64) for _ in range(1 if second is None else 2)
    )
    # where the two were scored on a set that grew in between, the later judgments are the longer
    all_judged = [max((entry.judged for entry in systems), key=len) for systems in lists]
    judged = np.full((len(rows), max(map(len, all_judged), default=0)), NO_GRADE, np.int64)
    for row, (systems, documents) in enumerate(zip(lists, rows, strict=True)):
        on_request = {doc_id for entry in systems for doc_id in entry.asked}
        judged[row, : len(all_judged[row])] = all_judged[row]
        for column, (doc_id, (grade, places)) in enumerate(documents.items()):
            grades[row, column] = UNJUDGED if grade is None else max(grade, 0)
            asked[row, column] = grade is None or doc_id in on_request
            for system, rank in places.items():
                ranks[system][row, column] = rank
    return _Table(
        entries=[systems[0] for systems in lists],
        documents=[list(documents) for documents in rows],
        grades=grades,
        ranks=ranks,
        judged=judged,
        asked=asked,
        returned=tuple(
            np.array([systems[system].returned for systems in lists], np.int64)
            for system in range(len(ranks))
        ),
        top=max(int(judged.max(initial=1)), 1),
    )


def _side_by_side(first: Entries, second: Entries | None) -> list[tuple[Entry, ...]]:
    """The entries of one query together, for queries that all have and that can be scored."""
    scorable = [entry for entry in first if max(entry.judged, default=0) > 0 and not entry.error]
    if second is None:
        return [(entry,) for entry in scorable]
    others = {entry.query_id: entry for entry in second}
    return [(entry, others[entry.query_id]) for entry in scorable if entry.query_id in others]


def _documents(
    systems: Sequence[Entry], depth: int
) -> dict[str, tuple[int | None, dict[int, int]]]:
    """{document: (grade, {system: rank})} over the top of every list."""
    documents: dict[str, tuple[int | None, dict[int, int]]] = {}
    for system, entry in enumerate(systems):
        top = zip(entry.results[:depth], entry.grades, strict=False)
        for rank, (doc_id, grade) in enumerate(top, start=1):
            known, places = documents.get(doc_id, (None, {}))
            documents[doc_id] = (grade if known is None else known, places | {system: rank})
    return documents


def _features(table: _Table) -> Floats:
    """What is known of a hit before it is judged: the discount of its best rank, whether both
    systems return it, or only the second; and whether it was asked for."""
    discounts = [1 / np.log2(np.minimum(ranks, 10**6) + 1.0) for ranks in table.ranks]
    best = np.maximum.reduce(discounts)
    if len(table.ranks) == 1:
        return np.stack([best - 0.45, table.asked], axis=2)
    inside = [ranks < NO_RANK for ranks in table.ranks]
    both = (inside[0] & inside[1]).astype(np.float64)
    side = (inside[1].astype(np.float64) - inside[0]) / 2
    return np.stack([best - 0.45, both, side, table.asked], axis=2)


# ── the measure under drawn grades ────────────────────────────────────────────────────────────────


def _values(table: _Table, measure: Measure, rows: Integers, grades: Integers) -> Floats:
    """The measure (or the difference of both systems) of queries `rows`, each under its own full
    grades."""
    was_unjudged = table.grades[rows] == UNJUDGED
    pool = np.concatenate([table.judged[rows], np.where(was_unjudged, grades, NO_GRADE)], axis=1)
    ideal = -np.sort(-pool, axis=1)
    values = []
    for ranks, returned in zip(table.ranks, table.returned, strict=True):
        order = np.argsort(ranks[rows], axis=1, kind="stable")
        placed = np.take_along_axis(ranks[rows], order, axis=1)
        mine = np.where(placed < NO_RANK, np.take_along_axis(grades, order, axis=1), NO_GRADE)
        hits = JudgedHits(
            ranks=placed, grades=mine, ideal=ideal, returned=returned[rows], max_grade=table.top
        )
        values.append(MEASURES[measure.name].compute(hits, measure))
    return values[0] if len(values) == 1 else values[1] - values[0]


def _totals(table: _Table, measure: Measure, spots: Integers, drawn: Integers) -> Floats:
    """The mean over queries in every sample."""
    queries = len(table.entries)
    total = np.zeros(SAMPLES)
    open_queries = np.unique(spots[:, 0])
    settled = np.setdiff1d(np.arange(queries), open_queries)
    if len(settled):
        total += _values(table, measure, settled, table.grades[settled]).sum()
    block = max(1, BLOCK_CELLS // (SAMPLES * max(table.grades.shape[1], 1)))
    for start in range(0, len(open_queries), block):
        rows = open_queries[start : start + block]
        mine = (spots[:, 0] >= rows[0]) & (
            spots[:, 0] <= rows[-1]
        )  # spots are in the order of queries
        grades = np.repeat(table.grades[rows][:, None, :], SAMPLES, axis=1)
        grades[np.searchsorted(rows, spots[mine, 0]), :, spots[mine, 1]] = drawn[mine]
        flat = _values(
            table, measure, np.repeat(rows, SAMPLES), grades.reshape(-1, grades.shape[2])
        )
        total += flat.reshape(len(rows), SAMPLES).sum(axis=0)
    return total / max(queries, 1)


def _effects(
    table: _Table, measure: Measure, guess: _Guess, chance: Floats
) -> tuple[Floats, Floats]:
    """For each unjudged pair what being relevant changes, and the variance that its exact grade
    then adds: the measure is computed with every grade in turn while the query's other unjudged
    hits stay as drawn."""
    spots, belief = guess.spots, guess.belief
    levels = np.concatenate([[0], belief.grades])
    means = np.zeros((len(spots), len(levels)))
    cells = FLIP_SAMPLES * len(levels) * max(table.grades.shape[1], 1)
    block = max(1, BLOCK_CELLS // cells)
    for start in range(0, len(spots), block):
        part = np.arange(start, min(start + block, len(spots)))
        grades = np.repeat(
            _drawn_rows(table, spots, guess.drawn, part)[:, None], len(levels), axis=1
        )
        grades[np.arange(len(part)), :, :, spots[part, 1]] = levels[:, None]
        rows = np.repeat(spots[part, 0], len(levels) * FLIP_SAMPLES)
        values = _values(table, measure, rows, grades.reshape(-1, grades.shape[3]))
        means[part] = values.reshape(len(part), len(levels), FLIP_SAMPLES).mean(axis=2)
    changes = means[:, 1:] - means[:, :1]
    effects = changes @ belief.shares
    return effects, chance * (((changes - effects[:, None]) ** 2) @ belief.shares)


def _drawn_rows(table: _Table, spots: Integers, drawn: Integers, part: Integers) -> Integers:
    """The full grades of each pair's query in the first few samples: [pairs, samples,
    documents]."""
    queries = spots[part, 0]
    grades = np.repeat(table.grades[queries][:, None, :], FLIP_SAMPLES, axis=1)
    low, high = (
        np.searchsorted(spots[:, 0], queries, "left"),
        np.searchsorted(spots[:, 0], queries, "right"),
    )
    for step in range(int((high - low).max(initial=0))):
        has = low + step < high
        at = (low + step)[has]
        grades[np.flatnonzero(has), :, spots[at, 1]] = drawn[at, :FLIP_SAMPLES]
    return grades


# ── the answer ────────────────────────────────────────────────────────────────────────────────────


def _pairs(
    table: _Table, spots: Integers, effects: Floats, chance: Floats, narrowing: Floats
) -> list[Pair]:
    pairs = []
    figures = zip(effects.tolist(), chance.tolist(), narrowing.tolist(), strict=True)
    for (row, column), (effect, likely, share) in zip(spots.tolist(), figures, strict=True):
        ranks = [
            int(ranks[row, column]) if ranks[row, column] < NO_RANK else None
            for ranks in table.ranks
        ]
        pairs.append(
            Pair(
                query_id=table.entries[row].query_id,
                query_text=table.entries[row].query_text,
                doc_id=table.documents[row][column],
                rank_a=ranks[0],
                rank_b=ranks[1] if len(ranks) > 1 else None,
                effect=effect,
                change=effect * likely,
                narrowing=share,
            )
        )
    return pairs


def _confidence(expected: float, deviation: float) -> float:
    if deviation == 0:
        return 1.0
    return NORMAL.cdf(abs(expected) / deviation)


def _needed(stand: Standing, shares: Sequence[float], level: float) -> int:
    """Judgments until the sign is sure at `level`, if the expectation holds."""
    left = 1.0
    for count, share in enumerate([0.0, *shares]):
        left = max(left - share, 0.0)
        if _confidence(stand.expected, stand.deviation * math.sqrt(left)) >= level:
            return count
    return len(shares)
