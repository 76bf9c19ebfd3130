"""Which judgments settle a gate: the shortest list expected to make an open decision sure.

A gate counts what is unjudged as not relevant, so it can be open for two reasons. Its sign may not
be sure: then the pairs that `next` puts first are judged until it is. Or the value may stand on the
wrong side only for lack of judgments, or too near to the bound for its interval to be clear of it:
then more pairs are added, the most helpful first, until they are expected to bring it over. Where
all of them are not expected to, only more queries can settle it, and the list says no more than
that.

Below 20 judged hits nothing is forecast: the list is what it takes to get there, and the verdict
says so (`judge_first`). `gold next` says the same, from the same `Decision`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from assay.core.results import (
    BOUNDS,
    Check,
    GradedEntry,
    GradedResults,
    Pair,
    Results,
    Verdict,
)
from assay.evaluation.doubts import is_closed
from assay.evaluation.gate_values import (
    LATENCY,
    margins,
    measure_line,
    members,
    too_few,
    too_few_judged,
)
from assay.judging.next import Decision, next_to_judge

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
        return _closed(verdict, waiting, results)
    pairs: dict[Key, Pair] = {}
    lists: list[tuple[list[Pair], bool]] = []
    if isinstance(results, GradedResults):  # a golden question passes or not, whatever is judged
        lists = [_settling(check, results, baseline) for check in waiting]
    first = any(unknown for _, unknown in lists)
    for wanted, unknown in lists:
        if unknown == first:  # where one gate cannot be forecast, all wait for it
            for pair in wanted:
                pairs.setdefault((pair.query_id, pair.doc_id), pair)
    return msgspec.structs.replace(verdict, judge_next=list(pairs.values()), judge_first=first)


def _closed(verdict: Verdict, waiting: Sequence[Check], results: GradedResults) -> Verdict:
    """Nothing is unjudged in a closed set. More queries can settle a gate there, unless it asks for
    a judged share: what to do then is in what the gate says."""
    if any(too_few_judged(check.gate, results) for check in waiting):
        return verdict
    return msgspec.structs.replace(verdict, judge_next=[])


def _settling(
    check: Check, results: GradedResults, baseline: Results | None
) -> tuple[list[Pair], bool]:
    """The judgments expected to settle one gate: first those that make the sign sure, then, where a
    share of judged hits is demanded, as many as it takes. And whether they are only those that it
    takes before anything can be expected."""
    gate = check.gate
    if gate.measure in LATENCY or too_few(gate, results):
        return [], False  # no judgment makes more queries
    line = measure_line(gate, results)
    entries = members(gate, results)
    decisions: list[Decision] = []
    if gate.drop is not None and isinstance(baseline, GradedResults):
        decisions.append(
            next_to_judge(baseline.per_query, entries, measure=line.measure, threshold=-gate.drop)
        )
    if gate.drop is None:
        for bound in gate.stated(BOUNDS).values():
            decisions.append(next_to_judge(entries, measure=line.measure, threshold=bound))
    chosen: dict[Key, Pair] = {}
    clear = margins(gate, results, baseline)
    for decision in decisions:
        for pair in _until_told(decision, float(check.value or 0), clear):
            chosen[pair.query_id, pair.doc_id] = pair
    if gate.min_judged is not None:
        ranked = [pair for decision in decisions for pair in decision.pairs]
        wanted = _JudgedShare(cutoff=line.cutoff or 10, share=gate.min_judged)
        for pair in _to_judged_share(entries, wanted, ranked, chosen):
            chosen.setdefault((pair.query_id, pair.doc_id), pair)
    return list(chosen.values()), any(decision.first for decision in decisions)


def _until_told(
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
    wanted: _JudgedShare,
    ranked: Sequence[Pair],
    chosen: Mapping[Key, Pair],
) -> list[Pair]:
    """As few more unjudged hits as bring the mean judged share to what is wanted, the most useful
    first."""
    places = {
        (pair.query_id, pair.doc_id): place for place, pair in reversed(list(enumerate(ranked)))
    }
    share, open_hits = 0.0, []
    for entry in entries:
        top = list(zip(entry.results[: wanted.cutoff], entry.grades, strict=False))
        step = 1 / len(top) / len(entries) if top else 0.0
        for rank, (doc_id, grade) in enumerate(top, start=1):
            key = (entry.query_id, doc_id)
            if grade is not None or key in chosen:
                share += step
            else:
                place = places.get(key, len(places))
                open_hits.append((-step, place, rank, key, entry.query_text))
    more = []
    for minus_step, place, rank, key, query_text in sorted(open_hits):
        if share >= wanted.share - 1e-12:
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
