"""Estimate how likely a verdict is to stay the same once every hit is judged.

A verdict counts an unjudged hit as not relevant. Here it is computed again with grades drawn from
the one belief about such hits (`relevance_model`); the share of the draws with the same verdict is
the chance that it stands. Where fewer than 20 hits are judged, nothing is known about the others:
then the verdict stands only if no grading changes it. Two lists that are judged to depth 5 are
taken as they are.

Nothing is unjudged in a closed set: a golden set, or one that lists relevant documents alone.

**How grades are drawn.** The top lists of one engine or two become one padded table; grades are
drawn for every unjudged hit from the belief that the judged ones teach, and a measure is computed
under each draw, by query. The draws have a fixed seed: the same results always give the same guess.

A measure that divides by what could have been found depends on documents that are in no list, too.
Where that is asked for they are drawn beside: what stands below the list goes on as the judged hits
above it and this query teach, for as many documents as one to four more lists have, less those that
were judged. Where less than half of the hits is unjudged they fade, and with everything judged the
value is what the set says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from assay.core.results import MIN_JUDGED_HITS, SURE, Entry, GoldenResults, Results
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
)
from assay.evaluation.statistics import NORMAL, chances_above
from assay.evaluation.unjudged import (
    DEEPEST,
    JUDGED_ONLY_MEASURES,
    TwoLists,
    largest_fall,
    lowest_and_highest,
)
from assay.evaluation.unjudged.relevance_model import (
    COLUMNS,
    RelevanceModel,
    draw_chances,
    draw_grades,
    fit_relevance,
)

JUDGED_DEPTH = 5  # where both lists are judged to this rank, a difference is told as judged (taste)
# research/judgments.md and decision 18 have the effect of the next five
LEAST_NOT_RELEVANT = 0.05  # share of the judged hits; with less, somebody listed what is relevant
UNLISTED = 0.05  # of a judged hit: what an unjudged one counts as not relevant in a listed set
LOPSIDED = 1 / 3  # hits of one system alone judged less often than this part of the other's
LISTS_BELOW = (1.0, 4.0)  # how many more lists have documents that could be found
FADES_FROM = 0.5  # the unjudged share of the hits below which these count for less and less
MAX_LIST = 20  # of such a list (taste)
MIDDLE_DISCOUNT = 0.45  # of nDCG: the mean of 1/log2(1 + rank) over ten ranks
BLOCK_CELLS = 2_000_000  # sampled at a time, to bound memory; chosen
SAMPLES = 400  # of all grades, where memory allows (taste)
SAMPLED_CELLS = 8_000_000  # hits of all samples together, to bound memory (taste)
SEED = 20_260  # any number, so that samples are always the same
UNJUDGED, ABSENT = -1, -2

# columns of values by query -> what is decided on each: 1 better or a pass, -1 worse or a failure
Rule = Callable[[Floats], Integers]
Entries = Sequence[Entry]


@dataclass(frozen=True, kw_only=True)
class Stability:
    """`unjudged` hits that count; `stands` is the chance that the verdict is the same with all of
    them judged, `up` that it is then better or a pass, `down` that it is worse or a failure, and
    `expected`, `low` and `high` where the mean would be (95%). `ahead` is the probability that a
    mean change is above 0, over queries and grades: the mean over the draws of what the statistic
    that decides says of each. All None where nothing is known about them, and some grading turns
    the verdict."""

    unjudged: int
    judged: int
    stands: float | None
    up: float | None = None
    down: float | None = None
    ahead: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    one_sided: bool = False  # of the hits that only one of two systems returns, none is judged

    @property
    def is_open(self) -> bool:
        return self.stands is None or self.stands < SURE


def is_closed(results: Results) -> bool:
    """Whether what is not judged is known to be not relevant: a question of a golden set states
    what it expects, and a set without a rubric that lists relevant documents alone lists them
    all."""
    if isinstance(results, GoldenResults):
        return True
    lowest = [min(entry.known_grades) for entry in results.per_query if entry.known_grades]
    return not results.receipt.gold.rubric and bool(lowest) and min(lowest) > 0


def stability_of(
    entries: Sequence[Sequence[Entry]],
    measure: str,
    values: Mapping[str, float],
    rule: Rule,
    now: int,
    *,
    worst_case: bool = False,
) -> Stability | None:
    """How stable the verdict `now` is, which `rule` gives on `values` by query: those of one
    system, or with two the changes from the first to the second. None where no hit that counts is
    unjudged, both of two lists are judged to depth 5, or the measure does not look at such hits. Of
    a measure that is not ours nothing is known."""
    wanted = parse_measure(measure)
    if wanted.name in JUDGED_ONLY_MEASURES:
        return None
    first, second = entries[0], entries[1] if len(entries) > 1 else None
    table = hit_table(first, second, wanted)
    unjudged, judged = table.unjudged_hits, table.judged_hits
    if not unjudged or table.is_judged_on_top:
        return None
    if is_external(wanted):
        return Stability(unjudged=unjudged, judged=judged, stands=None)
    rows = [row for row, entry in enumerate(table.entries) if entry.query_id in values]
    settled = [value for key, value in values.items() if key not in _query_ids(table)]
    start = np.array([values[table.entries[row].query_id] for row in rows])
    known = not table.first
    # a value depends on what there is to find, a difference hardly
    moved = (
        _imputed_moves(table, wanted, with_unseen=second is None)
        if known
        else _extreme_moves(table, wanted)
    )
    if not np.abs(moved[rows]).max(initial=0.0) > 1e-12:
        return None  # both return them alike
    columns = start[:, None] + moved[rows]
    columns = np.vstack([columns, np.repeat(np.array(settled)[:, None], columns.shape[1], axis=1)])
    found = rule(columns)
    if not known:
        stands = 1.0 if (found == now).all() else None
        return Stability(unjudged=unjudged, judged=judged, stands=stands)
    stands = float((found == now).mean())
    means = columns.mean(axis=0)
    low, high = np.quantile(means, [0.025, 0.975]).tolist()
    return Stability(
        unjudged=unjudged,
        judged=judged,
        stands=stands,
        up=float((found == 1).mean()),
        down=float((found == -1).mean()),
        ahead=None
        if second is None
        else float(chances_above(columns, worst_case=worst_case).mean()),
        expected=float(means.mean()),
        low=low,
        high=high,
        one_sided=second is not None and _is_one_sided(table),
    )


def _is_one_sided(table: HitTable) -> bool:
    """Whether a system has hits of its own that count, and none of them is judged."""
    inside = [ranks <= table.depth for ranks in table.ranks]
    own = [inside[0] & ~inside[1], inside[1] & ~inside[0]]
    return any(bool(mine.any()) and not bool((table.grades[mine] >= 0).any()) for mine in own)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How much two systems differ from query to query with everything judged: the standard
    deviation, None where nothing is known of the unjudged hits."""

    unjudged: int
    hits: int
    spread: float | None


def imputed_spread(entries: Sequence[Sequence[Entry]], measure: str) -> Spread:
    """Of the changes by query from the first to the second, the median over the draws."""
    wanted = parse_measure(measure)
    if wanted.name in JUDGED_ONLY_MEASURES or is_external(wanted):
        return Spread(unjudged=0, hits=0, spread=None)
    table = hit_table(entries[0], entries[1], wanted)
    hits = table.unjudged_hits + table.judged_hits
    if not table.unjudged_hits or table.first or len(table.entries) < 2:
        return Spread(unjudged=table.unjudged_hits, hits=hits, spread=None)
    start = values_as_judged(table, wanted)
    moves = (start[1] - start[0])[:, None] + _imputed_moves(table, wanted)
    spread = float(np.median(moves.std(axis=0, ddof=1)))
    return Spread(unjudged=table.unjudged_hits, hits=hits, spread=spread)


def _query_ids(table: HitTable) -> set[str]:
    return {entry.query_id for entry in table.entries}


def _imputed_moves(table: HitTable, measure: Measure, *, with_unseen: bool = False) -> Floats:
    """How each query's value moves under every draw: [queries, samples]."""
    guess = impute(table, with_unseen=with_unseen)
    return _moves_from(values_as_judged(table, measure), sampled_values(table, measure, guess))


def _extreme_moves(table: HitTable, measure: Measure) -> Floats:
    """The same where every grading is possible: as it is, and the least and the most that grades
    make of each query. Of one list these are the bounds that the scorecard prints. Of two they are
    searched for, and beside them hits of the first alone, of the second alone and of both are all
    of the top grade or none: a test may ask for changes that are alike, not for large ones."""
    if len(table.ranks) == 1:
        lowest, highest = lowest_and_highest(_judged_hits(table), measure, table.depth)
        start = values_as_judged(table, measure)[0]
        return np.column_stack([np.zeros(len(start)), lowest - start, highest - start])
    falls = [
        [largest_fall(measure, two) for two in _two_lists(table, way)] for way in ((1, 0), (0, 1))
    ]
    lowest, highest = -np.array(falls[0]), np.array(falls[1])
    return np.column_stack([_all_or_none_moves(table, measure), lowest, highest])


def _judged_hits(table: HitTable) -> JudgedHits:
    """The judged hits of the one list, in rank order."""
    ranks = np.where(table.grades >= 0, table.ranks[0], NO_RANK)
    order = np.argsort(ranks, axis=1, kind="stable")
    ranks, grades = (np.take_along_axis(each, order, axis=1) for each in (ranks, table.grades))
    return JudgedHits(
        ranks=ranks,
        grades=np.where(ranks < NO_RANK, grades, NO_GRADE),
        ideal=-np.sort(-table.judged, axis=1),
        returned=table.returned[0],
        max_grade=table.top,
    )


def _two_lists(table: HitTable, way: tuple[int, int]) -> Iterator[TwoLists]:
    """Each query's two lists, the one whose lead is asked about first."""
    for row in range(len(table.entries)):
        here = table.grades[row] != ABSENT
        grades = table.grades[row][here]
        yield TwoLists(
            places=np.column_stack([table.ranks[system][row][here] for system in way]),
            grades=np.where(grades == UNJUDGED, NO_GRADE, grades),
            is_open=grades == UNJUDGED,
            judged=table.judged[row],
            returned=(int(table.returned[way[0]][row]), int(table.returned[way[1]][row])),
            top=table.top,
        )


def _all_or_none_moves(table: HitTable, measure: Measure) -> Floats:
    inside = [ranks < NO_RANK for ranks in table.ranks]
    parts = [inside[0] & ~inside[1], inside[1] & ~inside[0], inside[0] & inside[1]]
    rows = np.arange(len(table.entries))
    start, columns = values_as_judged(table, measure), []
    for chosen in product((0, table.top), repeat=len(parts)):
        grades = table.grades.copy()
        for part, grade in zip(parts, chosen, strict=True):
            grades[part & (table.grades == UNJUDGED)] = grade
        found = [each[:, None] for each in measure_table(table, measure, rows, grades)]
        columns.append(_moves_from(start, found))
    return np.hstack(columns)


def _moves_from(start: list[Floats], found: list[Floats]) -> Floats:
    moves = [then - before[:, None] for before, then in zip(start, found, strict=True)]
    return moves[0] if len(moves) == 1 else moves[1] - moves[0]


# ── one table of hits, and grades imputed for the unjudged ones ───────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class HitTable:
    """Every query's documents in the top lists, padded: grades (UNJUDGED, ABSENT), the ranks in
    each system, and all judged grades of the query."""

    entries: list[Entry]
    documents: list[list[str]]
    grades: Integers
    ranks: tuple[Integers, ...]
    judged: Integers
    on_request: Integers  # 1 where the grade was asked for, or is open; 0 where it was known before
    returned: tuple[Integers, ...]
    top: int
    depth: int  # hits to this rank count

    @property
    def counts(self) -> Integers:
        """1 where a document stands at a rank that counts, in either list."""
        inside = [ranks <= self.depth for ranks in self.ranks]
        return np.asarray(np.logical_or.reduce(inside), np.int64)

    @property
    def judged_hits(self) -> int:
        """Of those that count."""
        return int(((self.counts == 1) & (self.grades >= 0)).sum())

    @property
    def unjudged_hits(self) -> int:
        return int(((self.counts == 1) & (self.grades == UNJUDGED)).sum())

    @property
    def is_judged_on_top(self) -> bool:
        """Whether the top of both lists is judged, so that nothing is imputed for the rest."""
        top = np.logical_or.reduce([ranks <= JUDGED_DEPTH for ranks in self.ranks])
        return len(self.ranks) == 2 and not bool((top & (self.grades == UNJUDGED)).any())

    @property
    def first(self) -> int:
        """The judgments that it takes before anything can be said of the other hits. Those that
        were asked for alone count where every judged hit is relevant, or where a set lists what is
        relevant and hardly any of it is a hit of one of the two systems alone: then nothing tells
        a bad system from one whose results nobody looked at."""
        judged = (self.counts == 1) & (self.grades >= 0)
        telling = (self.grades[judged] == 0).any() and not (self.listed and self.lopsided)
        told = judged if telling else judged & (self.on_request == 1)
        return min(max(MIN_JUDGED_HITS - int(told.sum()), 0), self.unjudged_hits)

    @property
    def listed(self) -> bool:
        """Whether somebody listed what is relevant: nearly all that was judged before is. Engines
        that find nothing else are rare, and sets that list what somebody knew are not. Judging on
        request does not change how a set began, so such judgments do not count here."""
        before = self.grades[(self.grades >= 0) & (self.on_request == 0)]
        return len(before) > 0 and float((before == 0).mean()) < LEAST_NOT_RELEVANT

    @property
    def lopsided(self) -> bool:
        """Whether the hits of one of two systems alone were judged far less often than those of the
        other, before anybody was asked."""
        if len(self.ranks) < 2:
            return False
        inside = [ranks <= self.depth for ranks in self.ranks]
        own = (inside[0] & ~inside[1], inside[1] & ~inside[0])
        before = (self.grades >= 0) & (self.on_request == 0)
        low, high = sorted((before[mine].sum() + 0.5) / (mine.sum() + 1) for mine in own)
        return bool(low < LOPSIDED * high)


@dataclass(frozen=True, kw_only=True)
class ImputedGrades:
    """The unjudged hits as (query, place in the table), what is known of each, and grades drawn for
    them."""

    spots: Integers
    features: Floats
    belief: RelevanceModel
    drawn: Integers  # [hits, samples]
    unseen: Integers | None  # [queries, samples]: relevant documents that are in no list
    below: Floats  # what is known of such a document, one row a query
    places: Floats  # and how many there are of them by query, relevant or not, on average

    @property
    def samples(self) -> int:
        return int(self.drawn.shape[1])


# ── the queries as one table ──────────────────────────────────────────────────────────────────────


def hit_table(first: Entries, second: Entries | None, measure: Measure) -> HitTable:
    """The queries that all have and that can be scored."""
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
    all_judged = [max((entry.known_grades for entry in systems), key=len) for systems in lists]
    judged = np.full((len(rows), max(map(len, all_judged), default=0)), NO_GRADE, np.int64)
    for row, (systems, documents) in enumerate(zip(lists, rows, strict=True)):
        on_request = {doc_id for entry in systems for doc_id in entry.judged_on_request}
        judged[row, : len(all_judged[row])] = all_judged[row]
        for column, (doc_id, (grade, places)) in enumerate(documents.items()):
            grades[row, column] = UNJUDGED if grade is None else max(grade, 0)
            asked[row, column] = grade is None or doc_id in on_request
            for system, rank in places.items():
                ranks[system][row, column] = rank
    return HitTable(
        entries=[systems[0] for systems in lists],
        documents=[list(documents) for documents in rows],
        grades=grades,
        ranks=ranks,
        judged=judged,
        on_request=asked,
        returned=tuple(
            np.array([systems[system].returned for systems in lists], np.int64)
            for system in range(len(ranks))
        ),
        top=max(int(judged.max(initial=1)), 1),
        depth=depth,
    )


def _side_by_side(first: Entries, second: Entries | None) -> list[tuple[Entry, ...]]:
    """The entries of one query together, for queries that all have and that can be scored."""
    scorable = [
        entry for entry in first if max(entry.known_grades, default=0) > 0 and not entry.error
    ]
    if second is None:
        return [(entry,) for entry in scorable]
    others = {entry.query_id: entry for entry in second if not entry.error}
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


def _features(table: HitTable) -> Floats:
    """What is known of a hit before it is judged, in the order of `relevance_model.COLUMNS`: the
    discount of its best rank, whether both systems return it, or only the second, how much higher
    the second does, how it came to be judged, and that by system."""
    returned = [ranks < NO_RANK for ranks in table.ranks]
    discounts = [
        np.where(inside, 1 / np.log2(np.minimum(ranks, 10**6) + 1.0), 0.0)
        for ranks, inside in zip(table.ranks, returned, strict=True)
    ]
    best = np.maximum.reduce(discounts) - MIDDLE_DISCOUNT
    both, side, lean = np.zeros_like(best), np.zeros_like(best), np.zeros_like(best)
    if len(table.ranks) == 2:
        both = (returned[0] & returned[1]).astype(np.float64)
        side = (returned[1].astype(np.float64) - returned[0]) / 2
        lean = discounts[1] - discounts[0]
    chosen = _selection_contrast(table)
    return np.stack([best, both, side, lean, chosen, chosen * side], axis=2)


def _selection_contrast(table: HitTable) -> Floats:
    """The contrast of judged and unjudged hits at a rank: -(1 - s) and +s where the share s of the
    rank was judged without being asked for."""
    before = (table.on_request == 0).astype(np.float64)
    share = np.zeros(table.grades.shape)
    for ranks in table.ranks:
        inside = ranks < NO_RANK
        places = ranks[inside]
        seen = np.bincount(places, minlength=1)
        known = np.bincount(places, before[inside], minlength=1)
        overall = known.sum() / max(seen.sum(), 1)
        at_rank = (known + 2 * overall) / (seen + 2)
        found = np.zeros(share.shape)
        found[inside] = at_rank[places]
        share = np.maximum(share, found)
    return np.where(before > 0, share - 1, share)


# ── guesses ───────────────────────────────────────────────────────────────────────────────────────


def impute(table: HitTable, *, with_unseen: bool = False) -> ImputedGrades:
    """Grades drawn for every unjudged hit, by what the judged ones teach; `with_unseen` also how
    many relevant documents are in no list."""
    spots, known = np.argwhere(table.grades == UNJUDGED), np.argwhere(table.grades >= 0)
    features = _features(table)
    mine = features[spots[:, 0], spots[:, 1]]
    # the values of one list depend on how much is relevant, which what was listed does not tell
    rows = np.vstack([known, spots]) if table.listed and len(table.ranks) == 2 else known
    grades = table.grades[rows[:, 0], rows[:, 1]]
    belief = fit_relevance(
        features[rows[:, 0], rows[:, 1]],
        rows[:, 0],
        np.maximum(grades, 0),
        np.where(grades == UNJUDGED, UNLISTED, 1.0),
        len(table.entries),
        table.top,
    )
    count = int(np.clip(SAMPLED_CELLS // max(len(spots), 1), 64, SAMPLES))
    rng = np.random.default_rng(SEED)
    every = np.arange(len(table.entries) if with_unseen else 0)
    below = np.zeros((len(every), len(COLUMNS)))
    below[:, 0] = 1 / np.log2(2 * _list_length(table) + 1.0) - MIDDLE_DISCOUNT
    chance = draw_chances(
        belief, np.vstack([mine, below]), np.concatenate([spots[:, 0], every]), count, rng
    )
    drawn = draw_grades(belief, chance[: len(spots)], rng)
    unseen, places = None, np.empty(0)
    if with_unseen:
        left = _places_below(table, count, rng)
        unseen, places = rng.binomial(left, chance[len(spots) :]), left.mean(axis=1)
    return ImputedGrades(
        spots=spots,
        features=mine,
        belief=belief,
        drawn=drawn,
        unseen=unseen,
        below=below,
        places=places,
    )


def _list_length(table: HitTable) -> int:
    """Of a list, as far as it counts."""
    return int(min(table.depth, MAX_LIST, max(int(each.max(initial=1)) for each in table.returned)))


def _places_below(table: HitTable, samples: int, rng: np.random.Generator) -> Integers:
    """How many documents that no list has could be relevant, by query and sample."""
    hits = table.unjudged_hits + table.judged_hits
    unknown = int(((table.counts == 1) & (table.grades != ABSENT) & (table.on_request == 1)).sum())
    fading = min(1.0, unknown / max(hits, 1) / FADES_FROM)
    places = rng.uniform(*LISTS_BELOW, samples) * _list_length(table) * fading
    inside = ((table.grades >= 0) & (table.counts == 1)).sum(axis=1)
    elsewhere = (table.judged > NO_GRADE).sum(axis=1) - inside
    left = np.rint(places[None, :] - elsewhere[:, None])
    return np.asarray(np.maximum(left, 0), np.int64)


def measure_table(
    table: HitTable,
    measure: Measure,
    rows: Integers,
    grades: Integers,
    unseen: Integers | None = None,
) -> list[Floats]:
    """The measure of each system on queries `rows`, each under its own full grades; `unseen` are
    grades of relevant documents that stand in no list."""
    was_unjudged = table.grades[rows] == UNJUDGED
    pool = [table.judged[rows], np.where(was_unjudged, grades, NO_GRADE)]
    pool += [unseen] if unseen is not None else []
    ideal = -np.sort(-np.concatenate(pool, axis=1), axis=1)
    found = []
    for ranks, returned in zip(table.ranks, table.returned, strict=True):
        order = np.argsort(ranks[rows], axis=1, kind="stable")
        placed = np.take_along_axis(ranks[rows], order, axis=1)
        mine = np.where(placed < NO_RANK, np.take_along_axis(grades, order, axis=1), NO_GRADE)
        hits = JudgedHits(
            ranks=placed, grades=mine, ideal=ideal, returned=returned[rows], max_grade=table.top
        )
        found.append(MEASURES[measure.name].compute(hits, measure))
    return found


def values_as_judged(table: HitTable, measure: Measure) -> list[Floats]:
    """The measure of each system by query, with unjudged hits as not relevant."""
    known = np.where(table.grades == UNJUDGED, NO_GRADE, table.grades)
    return measure_table(table, measure, np.arange(len(table.entries)), known)


def sampled_values(table: HitTable, measure: Measure, guess: ImputedGrades) -> list[Floats]:
    """The measure of each system by query under every draw: [queries, samples] each."""
    spots, drawn, samples = guess.spots, guess.drawn, guess.samples
    found = [np.repeat(each[:, None], samples, axis=1) for each in values_as_judged(table, measure)]
    every = np.arange(len(table.entries))
    open_queries = np.unique(spots[:, 0]) if guess.unseen is None else every
    block = max(1, BLOCK_CELLS // (samples * max(table.grades.shape[1], 1)))
    for start in range(0, len(open_queries), block):
        rows = open_queries[start : start + block]
        mine = (spots[:, 0] >= rows[0]) & (
            spots[:, 0] <= rows[-1]
        )  # spots are in the order of queries
        grades = np.repeat(table.grades[rows][:, None, :], samples, axis=1)
        grades[np.searchsorted(rows, spots[mine, 0]), :, spots[mine, 1]] = drawn[mine]
        flat = measure_table(
            table,
            measure,
            np.repeat(rows, samples),
            grades.reshape(-1, grades.shape[2]),
            unseen_grades(rows, guess),
        )
        for system, each in enumerate(flat):
            found[system][rows] = each.reshape(len(rows), samples)
    return found


def chance_above(means: Floats) -> float:
    """The chance that a mean lies above 0, from its draws: by their mean and spread, because a
    share of a few hundred draws is rough where it matters, near 0 and 1."""
    expected, spread = float(means.mean()), float(means.std())
    if spread < 1e-12:
        return 0.5 if expected == 0 else float(expected > 0)
    return NORMAL.cdf(expected / spread)


def unseen_grades(
    rows: Integers, guess: ImputedGrades, first: int | None = None
) -> Integers | None:
    """Those of the relevant documents in no list, best first: [queries * samples, some], of all
    samples or the first few."""
    if guess.unseen is None:
        return None
    count = guess.unseen[rows, :first].reshape(-1, 1)
    # of m documents those of the top grade are its share of m
    at = (np.arange(int(count.max(initial=0)))[None, :] + 0.5) / np.maximum(count, 1)
    steps = np.cumsum(guess.belief.shares[::-1])
    picked = np.minimum(np.searchsorted(steps, np.minimum(at, 1.0)), len(steps) - 1)
    return np.asarray(np.where(at < 1, guess.belief.grades[::-1][picked], NO_GRADE))
