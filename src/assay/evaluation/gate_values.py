"""What a gate reads: a figure of a golden set, the values of a measure on a graded one, and how
sure their mean is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.core.errors import InputError
from assay.core.results import (
    BOUNDS,
    DROPS,
    Gate,
    GradedEntry,
    GradedResults,
    MeasureLine,
    Metrics,
    Results,
    Why,
)
from assay.core.verdicts import DECIMALS, rounded
from assay.evaluation import sequential, statistics
from assay.evaluation.bounded import Scale
from assay.evaluation.measures import did_you_mean, is_share, parse_measure

SLICES = ("type", "topic", "category", "corpus", "practice_area", "language")

# Latencies by the name gates know them by: of a graded receipt, and as figures of golden sets.
LATENCY = {"latency_mean": "mean", "latency_p50": "p50", "latency_p95": "p95", "latency_max": "max"}
ALIASES = {
    "latency_mean": "avg_latency_ms",
    "latency_p50": "p50_latency_ms",
    "latency_p95": "p95_latency_ms",
}
# said of a set that lists relevant documents alone, where a judged share is asked for
CLOSED = (
    "the set is closed, so judging cannot raise that share: remove min_judged from the gate, or "
    "name a rubric in the set"
)


# ── a golden set ──────────────────────────────────────────────────────────────────────────────────


def golden_figure(results: Results | None, part: str, measure: str) -> float | None:
    """A figure of a golden set, overall or of a slice such as `category:loans`."""
    if results is None:
        return None
    kind, _, name = part.partition(":")
    figures: Metrics = results.overall
    if part != "overall":
        figures = results.slices.get(kind, {}).get(name, {})
    value = figures.get(measure)
    return None if value is None else float(value)


# ── a graded set ──────────────────────────────────────────────────────────────────────────────────


def measure_line(gate: Gate, results: GradedResults) -> MeasureLine:
    """What the receipt says of the gate's measure, which it names by key or in any spelling."""
    lines = {line.key: line for line in results.receipt.measures}
    lines |= {line.measure: line for line in results.receipt.measures}
    if gate.measure in lines:
        return lines[gate.measure]
    names = dict.fromkeys((*(line.measure for line in lines.values()), *LATENCY))
    near = did_you_mean(gate.measure, names)
    known = f"{near}They have {', '.join(names)}; `measures` of the gold set asks for more."
    try:
        text = str(parse_measure(gate.measure))
    except InputError as error:
        raise InputError(f"gate on {gate.measure}: {error.message}", hint=known) from error
    if text not in lines:
        raise InputError(f"gate on {gate.measure}: the results do not have it", hint=known)
    return lines[text]


def beyond_scale(gate: Gate, measure: str) -> str:
    """What is wrong with the limits of a gate on this measure: one that lies outside its scale is
    met always or never."""
    if not is_share(parse_measure(measure)):
        return ""
    for name, limit in gate.stated((*BOUNDS, *DROPS)).items():
        if not 0 <= limit <= 1:
            return f"{name} is {limit:g}, and {measure} lies between 0 and 1"
    return ""


def members(gate: Gate, results: GradedResults) -> list[GradedEntry]:
    """The queries of the gate's slice."""
    if gate.slice == "overall":
        return results.per_query
    kind, _, name = gate.slice.partition(":")
    inside = [entry for entry in results.per_query if name and entry.in_slice(kind) == name]
    if not inside:
        known = dict.fromkeys(
            f"{kind}:{entry.in_slice(kind)}"
            for kind in SLICES
            for entry in results.per_query
            if entry.in_slice(kind)
        )
        raise InputError(
            f"gate on slice {gate.slice!r}: no query is in it",
            hint=f"There are {', '.join(list(known)[:20]) or 'no slices in this set'}.",
        )
    return inside


def values_of(gate: Gate, results: GradedResults, key: str) -> list[float]:
    return list(by_query(gate, results, None, key).values())


def moves_of(gate: Gate, results: Results, baseline: Results | None, key: str) -> list[float]:
    """The change of each query that both have."""
    return list(by_query(gate, results, baseline, key).values()) if baseline is not None else []


def by_query(gate: Gate, results: Results, baseline: Results | None, key: str) -> dict[str, float]:
    """The value of each query of the slice, or its change from the baseline where both have it."""
    if not isinstance(results, GradedResults):
        return {}
    found = {entry.query_id: entry.metrics.get(key) for entry in members(gate, results)}
    if baseline is None:
        return {name: value for name, value in found.items() if value is not None}
    then = {entry.query_id: entry.metrics.get(key) for entry in baseline.per_query}
    return {
        name: now - before
        for name, now in found.items()
        if now is not None and (before := then.get(name)) is not None
    }


def too_few(gate: Gate, results: GradedResults) -> bool:
    """Whether the gate waits for more queries."""
    n = len(values_of(gate, results, measure_line(gate, results).key))
    return gate.min_queries is not None and n < gate.min_queries


def judged_share(entry: GradedEntry, cutoff: int) -> float:
    top = entry.grades[:cutoff]
    return sum(grade is not None for grade in top) / len(top) if top else 0.0


def judged_of(gate: Gate, results: GradedResults) -> float:
    """How much of the top of the gate's queries somebody has judged."""
    cutoff = measure_line(gate, results).cutoff or 10
    shares = [judged_share(entry, cutoff) for entry in members(gate, results)]
    return float(np.mean(shares)) if shares else 0.0


HAIR = 1e-9


def too_few_judged(gate: Gate, results: GradedResults) -> bool:
    """Whether the gate waits for more judgments. A mean of shares that is 0.9 may come out a hair
    below it."""
    return gate.min_judged is not None and judged_of(gate, results) < gate.min_judged - HAIR


# ── how sure a mean is ────────────────────────────────────────────────────────────────────────────


def interval_of(gate: Gate, rows: Sequence[float]) -> tuple[float, float] | None:
    """The interval of the mean at the gate's level; there is none with fewer than two queries. The
    rows of a gate on a drop are changes."""
    column = np.array(rows, np.float64).reshape(-1, 1)
    interval = statistics.mean_intervals(column, level=level_of(gate), scale=scale_of(gate))[0]
    if interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high


def level_of(gate: Gate) -> float:
    """1 - alpha; for `no_worse_than`, which asks about one side alone (two one-sided tests),
    1 - 2 alpha."""
    sides = 2 if gate.no_worse_than is not None else 1
    return 1 - sides * (gate.alpha or 0.05)


def scale_of(gate: Gate) -> Scale:
    return statistics.CHANGE if gate.drop is not None else statistics.SHARE


Doubt = tuple[str, Why]  # in English, and for any language


def doubt_of(said: str, kind: str, **facts: float) -> Doubt:
    return said, Why(kind=kind, facts=facts)


def told(gate: Gate, value: float) -> str:
    """A figure for the message."""
    return rounded(value, gate.holds, decimals_of(gate))


def decimals_of(gate: Gate) -> int:
    """Milliseconds have one."""
    return 1 if "latency" in gate.measure else DECIMALS


def spread_of(gate: Gate, rows: Sequence[float]) -> str:
    """How sure a figure is, for the message."""
    between = interval_of(gate, rows)
    if between is None:
        return ""
    low, high = (rounded(end, gate.sides) for end in between)
    return f" ({100 * level_of(gate):g}% interval {low} to {high})"


def shown(gate: Gate, rows: Sequence[float], bound: float) -> bool:
    """Whether evidence that may be looked at every day puts the mean on one side of a bound."""
    values, scale = np.array(rows, np.float64), scale_of(gate)
    enough = 1 / (gate.alpha or 0.05)
    above = sequential.evidence_above(values, bound, scale) >= enough
    return above or sequential.evidence_below(values, bound, scale) >= enough


def margins(
    gate: Gate, results: GradedResults, baseline: Results | None = None
) -> tuple[float, float]:
    """How far the value must lie above a bound, and below it, for the interval to be clear of
    it."""
    key = measure_line(gate, results).key
    is_drop = gate.drop is not None and baseline is not None
    rows = moves_of(gate, results, baseline, key) if is_drop else values_of(gate, results, key)
    between = interval_of(gate, rows) if gate.alpha is not None else None
    if between is None:
        return 0.0, 0.0
    mean = float(np.mean(rows))
    return mean - between[0], between[1] - mean
