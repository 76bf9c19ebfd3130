"""The unjudged pairs whose grade could change a decision most, in the order to judge them.

An unjudged hit is a random grade (see `evaluation.relevance_model`), so a measure is a random
number: its mean says which way the decision goes, its spread how sure that is. A pair is worth the
part of the spread that its grade takes away on average; the largest comes first. The idea is
Carterette, Allan & Sitaraman's (2006, "Minimal test collections for retrieval evaluation"), taken
beyond average precision to any measure, and with the chance of relevance learnt from the judgments
at hand.

How it is computed: `evaluation.unjudged.verdict_stability` draws grades for every unjudged hit, and
the measure under each draw gives mean and spread (`_state_of`): the same belief that `compare` and
gates have. What one pair's grade would change is measured by setting it to every grade in turn
while the query's other hits stay as drawn (`_effects`), and `plan_judgments` puts the pairs
in order, narrowing the belief after each as if its grade were known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from assay.core.results import (
    BOUNDS,
    Check,
    GradedEntry,
    GradedResults,
    Pair,
    Results,
    Verdict,
)
from assay.evaluation.gate_values import (
    LATENCY,
    entries_in_slice,
    has_too_few_judged,
    has_too_few_queries,
    interval_margins,
    measure_line,
)
from assay.evaluation.measures import NO_RANK, Floats, Integers, Measure, parse_measure
from assay.evaluation.statistics import NORMAL
from assay.evaluation.unjudged import DEEPEST, PoolAdvice, pool_needed
from assay.evaluation.unjudged.relevance_model import plan_judgments, relevance_chances
from assay.evaluation.unjudged.verdict_stability import (
    BLOCK_CELLS,
    Entries,
    HitTable,
    ImputedGrades,
    chance_above,
    hit_table,
    impute,
    is_closed,
    measure_table,
    sampled_values,
    unseen_grades,
    values_as_judged,
)

# ── which judgments settle a gate ─────────────────────────────────────────────────────────────────

Key = tuple[str, str]  # (query, document)


def with_judgments(verdict: Verdict, results: Results, baseline: Results | None) -> Verdict:
    """An inconclusive verdict with the judgments expected to settle it. No list where judging
    cannot help, as without a baseline; an empty one where only more queries can."""
    waiting = [
        check
        for check in verdict.checks
        if check.status == "inconclusive" and check.value is not None and check.counts
    ]
    if verdict.status != "inconclusive" or not waiting:
        return verdict
    if isinstance(results, GradedResults) and is_closed(results):
        return _advise_closed_set(verdict, waiting, results)
    pairs: dict[Key, Pair] = {}
    lists: list[tuple[list[Pair], bool]] = []
    if isinstance(results, GradedResults):  # a golden question passes or not, whatever is judged
        lists = [_judgments_to_settle(check, results, baseline) for check in waiting]
    first = any(unknown for _, unknown in lists)
    for wanted, unknown in lists:
        if unknown == first:  # where one gate cannot be forecast, all wait for it
            for pair in wanted:
                pairs.setdefault((pair.query_id, pair.doc_id), pair)
    return msgspec.structs.replace(verdict, judge_next=list(pairs.values()), judge_first=first)


def _advise_closed_set(
    verdict: Verdict, waiting: Sequence[Check], results: GradedResults
) -> Verdict:
    """The verdict on a closed set, where nothing is unjudged: more queries can settle a gate,
    unless it asks for a judged share."""
    if any(has_too_few_judged(check.gate, results) for check in waiting):
        return verdict
    return msgspec.structs.replace(verdict, judge_next=[])


def _judgments_to_settle(
    check: Check, results: GradedResults, baseline: Results | None
) -> tuple[list[Pair], bool]:
    """The judgments expected to settle one gate: first those that make the sign sure, then, where a
    share of judged hits is demanded, as many as it takes. And whether they are only those that it
    takes before anything can be expected."""
    gate = check.gate
    if gate.measure in LATENCY or has_too_few_queries(gate, results):
        return [], False  # no judgment makes more queries
    line = measure_line(gate, results)
    entries = entries_in_slice(gate, results)
    decisions: list[Decision] = []
    if gate.drop is not None and isinstance(baseline, GradedResults):
        decisions.append(
            next_to_judge(baseline.per_query, entries, measure=line.measure, threshold=-gate.drop)
        )
    if gate.drop is None:
        for bound in gate.stated(BOUNDS).values():
            decisions.append(next_to_judge(entries, measure=line.measure, threshold=bound))
    chosen: dict[Key, Pair] = {}
    clear = interval_margins(gate, results, baseline)
    for decision in decisions:
        for pair in _until_decided(decision, float(check.value or 0), clear):
            chosen[pair.query_id, pair.doc_id] = pair
    if gate.min_judged is not None:
        ranked = [pair for decision in decisions for pair in decision.pairs]
        wanted = _JudgedShare(cutoff=line.cutoff or 10, share=gate.min_judged)
        for pair in _to_judged_share(entries, wanted, ranked, chosen):
            chosen.setdefault((pair.query_id, pair.doc_id), pair)
    return list(chosen.values()), any(decision.first for decision in decisions)


def _until_decided(
    decision: Decision, value: float, clear: tuple[float, float] = (0.0, 0.0)
) -> list[Pair]:
    """The pairs that make the sign sure; and where the value stands on the other side, those that
    are expected to bring it over, with the interval too where that must be `clear` of the bound.
    Where nothing is known of the unjudged, those that come first."""
    if decision.first:
        return decision.pairs[: decision.first]
    chosen, distance = decision.pairs[: decision.needed], value - decision.threshold
    way = 1 if decision.expected > 0 else -1
    distance += sum(pair.change for pair in chosen)
    others = sorted(decision.pairs[decision.needed :], key=lambda pair: -way * pair.change)
    gain = sum(max(way * pair.change, 0.0) for pair in others)
    wanted = clear[0] if way > 0 else clear[1]
    wanted = wanted if distance * way + gain >= wanted else 0.0
    for pair in others:
        if distance * way >= wanted or pair.change * way <= 0:
            break
        distance += pair.change
        chosen.append(pair)
    return chosen


@dataclass(frozen=True, kw_only=True)
class _JudgedShare:
    """How much of the top `cutoff` must be judged."""

    cutoff: int
    share: float


def _to_judged_share(
    entries: Sequence[GradedEntry],
    target: _JudgedShare,
    ranked: Sequence[Pair],
    pairs: Mapping[Key, Pair],
) -> list[Pair]:
    """The fewest unjudged hits that bring the mean judged share to the target, the most useful
    first."""
    places = {
        (pair.query_id, pair.doc_id): place for place, pair in reversed(list(enumerate(ranked)))
    }
    share, open_hits = 0.0, []
    for entry in entries:
        top = list(zip(entry.results[: target.cutoff], entry.grades, strict=False))
        step = 1 / len(top) / len(entries) if top else 0.0
        for rank, (doc_id, grade) in enumerate(top, start=1):
            key = (entry.query_id, doc_id)
            if grade is not None or key in pairs:
                share += step
            else:
                place = places.get(key, len(places))
                open_hits.append((-step, place, rank, key, entry.query_text))
    more = []
    for minus_step, place, rank, key, query_text in sorted(open_hits):
        if share >= target.share - 1e-12:
            break
        share -= minus_step
        known = ranked[place] if place < len(ranked) else None
        more.append(known or _without_effect(key, query_text, rank))
    return more


def _without_effect(key: Key, query_text: str, rank: int) -> Pair:
    """A pair that is asked for to reach a judged share, and changes nothing else."""
    return Pair(
        query_id=key[0],
        query_text=query_text,
        doc_id=key[1],
        rank_a=rank,
        rank_b=None,
        effect=0.0,
        change=0.0,
        narrowing=0.0,
    )


# ── the pairs to judge next ───────────────────────────────────────────────────────────────────────

FLIP_SAMPLES = 8  # drawn rankings for each pair; chosen
DIGITS = 12  # the last ones are not the same with every release of numpy


class DecisionState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a decision: the expected distance from the threshold, its spread, and the
    confidence in its sign. `first` is how many judgments are needed before any of that is known."""

    expected: float
    deviation: float
    confidence: float
    first: int = 0


class Decision(DecisionState, frozen=True, kw_only=True):
    """A decision with the pairs to judge to be sure of it."""

    measure: str
    threshold: float
    pairs: list[Pair]
    needed: int  # how many of the pairs are expected to bring the confidence to the level; `first`
    level: float
    systems: int  # 2 where two are compared
    verdict: str = ""  # what `compare` says of the two
    pool: PoolAdvice | None = None  # what pools the two lists one rank deeper
    # both lists are judged to depth 5: the figures are those of the judged hits, and not expected
    as_judged: bool = False
    rulings: list[Pair] = []  # pairs whose judges disagree: a ruling settles them, no further vote
    being_judged: int = 0  # pairs left out because somebody is judging them, or has since


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
    table = hit_table(first, second, wanted)
    guess = _impute(table)
    stand = _state_of(table, wanted, guess, threshold)
    chance = relevance_chances(guess.belief, guess.features, guess.spots[:, 0])
    effects, extra = _effects(table, wanted, guess, chance)
    order, narrowing = _order_by_value(table, wanted, guess, chance, effects, extra)
    effects = effects / max(len(table.entries), 1)
    pairs = _pairs(table, guess.spots[order], effects[order], chance[order], narrowing)
    needed = _needed(stand, [pair.narrowing for pair in pairs], level)
    deepest = wanted.cutoff or DEEPEST
    return Decision(
        measure=str(wanted),
        threshold=threshold,
        expected=stand.expected,
        deviation=stand.deviation,
        confidence=stand.confidence,
        first=stand.first,
        pairs=pairs,
        needed=min(stand.first or needed, len(pairs)),
        level=level,
        systems=len(table.ranks),
        pool=pool_needed(first, second, deepest) if second is not None else None,
        as_judged=table.is_judged_on_top and table.unjudged_hits > 0,
    )


def decision_state(
    first: Entries,
    second: Entries | None = None,
    *,
    measure: str = "nDCG@10",
    threshold: float = 0.0,
) -> DecisionState:
    """How sure the decision is now, without a plan what to judge."""
    wanted = parse_measure(measure)
    table = hit_table(first, second, wanted)
    return _state_of(table, wanted, _impute(table), threshold)


def _impute(table: HitTable) -> ImputedGrades:
    """A value depends on relevant documents that are in no list, and a difference hardly."""
    return impute(table, with_unseen=len(table.ranks) == 1)


def _state_of(
    table: HitTable, measure: Measure, guess: ImputedGrades, threshold: float
) -> DecisionState:
    if table.is_judged_on_top:
        before, after = values_as_judged(table, measure)
        change = float((after - before).sum()) / max(len(table.entries), 1) - threshold
        return DecisionState(expected=change, deviation=0.0, confidence=1.0)
    totals = _distances(table, measure, guess, threshold)
    deviation, above = float(totals.std()), chance_above(totals)
    return DecisionState(
        expected=float(totals.mean()),
        deviation=deviation,
        confidence=max(above, 1 - above) if deviation > 1e-12 else 1.0,
        first=table.first,
    )


def _distances(table: HitTable, measure: Measure, guess: ImputedGrades, threshold: float) -> Floats:
    """The distances of the mean from the threshold, one for each draw."""
    found = sampled_values(table, measure, guess)
    totals = (found[0] if len(found) == 1 else found[1] - found[0]).sum(axis=0)
    return np.asarray(totals / max(len(table.entries), 1) - threshold)


def _effects(
    table: HitTable, measure: Measure, guess: ImputedGrades, chance: Floats
) -> tuple[Floats, Floats]:
    """For each unjudged pair, the change if it is relevant, and the variance that its exact grade
    then adds: the measure is computed with every grade in turn while the query's other unjudged
    hits stay as drawn. Hits below the cutoff are left out."""
    spots, belief = guess.spots, guess.belief
    levels = np.concatenate([[0], belief.grades])
    means = np.zeros((len(spots), len(levels)))
    asked = np.flatnonzero(table.counts[spots[:, 0], spots[:, 1]])
    cells = FLIP_SAMPLES * len(levels) * max(table.grades.shape[1], 1)
    block = max(1, BLOCK_CELLS // cells)
    for start in range(0, len(asked), block):
        part = asked[start : start + block]
        grades = np.repeat(
            _drawn_rows(table, spots, guess.drawn, part)[:, None], len(levels), axis=1
        )
        grades[np.arange(len(part)), :, :, spots[part, 1]] = levels[:, None]
        rows = np.repeat(spots[part, 0], len(levels) * FLIP_SAMPLES)
        beside = unseen_grades(np.repeat(spots[part, 0], len(levels)), guess, FLIP_SAMPLES)
        found = measure_table(table, measure, rows, grades.reshape(-1, grades.shape[3]), beside)
        moved = found[0] if len(found) == 1 else found[1] - found[0]
        means[part] = moved.reshape(len(part), len(levels), FLIP_SAMPLES).mean(axis=2)
    changes = means[:, 1:] - means[:, :1]
    effects = changes @ belief.shares
    return effects, chance * (((changes - effects[:, None]) ** 2) @ belief.shares)


def _order_by_value(
    table: HitTable,
    measure: Measure,
    guess: ImputedGrades,
    chance: Floats,
    effects: Floats,
    extra: Floats,
) -> tuple[Integers, Floats]:
    """The plan; of one system it allows for what a judgment teaches about documents that are in
    no list, since these lower the value."""
    if guess.unseen is None:
        return plan_judgments(
            guess.belief, guess.features, guess.spots[:, 0], chance, effects, extra
        )
    rows = np.arange(len(table.entries))
    more = replace(
        guess, unseen=guess.unseen[:, :FLIP_SAMPLES] + 1, drawn=guess.drawn[:, :FLIP_SAMPLES]
    )
    fewer = replace(more, unseen=guess.unseen[:, :FLIP_SAMPLES])
    change = sampled_values(table, measure, more)[0] - sampled_values(table, measure, fewer)[0]
    lowered = change.mean(axis=1) * guess.places
    return plan_judgments(
        guess.belief,
        np.vstack([guess.features, guess.below]),
        np.concatenate([guess.spots[:, 0], rows]),
        np.concatenate([chance, relevance_chances(guess.belief, guess.below, rows)]),
        np.concatenate([effects, lowered]),
        np.concatenate([extra, np.zeros(len(rows))]),
        len(chance),
    )


def _drawn_rows(table: HitTable, spots: Integers, samples: Integers, part: Integers) -> Integers:
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
        grades[np.flatnonzero(has), :, spots[at, 1]] = samples[at, :FLIP_SAMPLES]
    return grades


# ── the answer ────────────────────────────────────────────────────────────────────────────────────


def _pairs(
    table: HitTable, spots: Integers, effects: Floats, chance: Floats, narrowing: Floats
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
                change=round(effect * likely, DIGITS),
                narrowing=round(share, DIGITS),
            )
        )
    return pairs


def _confidence(expected: float, deviation: float) -> float:
    if deviation == 0:
        return 1.0
    return NORMAL.cdf(abs(expected) / deviation)


def _needed(stand: DecisionState, shares: Sequence[float], level: float) -> int:
    """Judgments until the sign is sure at `level`, if the expectation holds."""
    left = 1.0
    for count, share in enumerate([0.0, *shares]):
        left = max(left - share, 0.0)
        if _confidence(stand.expected, stand.deviation * math.sqrt(left)) >= level:
            return count
    return len(shares)
