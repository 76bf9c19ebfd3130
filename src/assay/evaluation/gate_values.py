"""The values that a gate is decided on, their intervals, and the mistakes that a gate can have.

A value is a figure of a golden set, or a measure by query of a graded set. A mistake is reported
before an engine is searched, and again where a gate is decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from assay.core.errors import InputError
from assay.core.results import (
    ANSWER_COUNTS,
    ANSWER_SHARES,
    BOUNDS,
    DECIMALS,
    DROPS,
    EVIDENCE,
    ROUNDING,
    SLICE_KINDS,
    Gate,
    GradedEntry,
    GradedResults,
    MeasureLine,
    Metrics,
    Results,
    Why,
    rounded,
)
from assay.core.types import counted
from assay.evaluation import statistics
from assay.evaluation.golden.changes import (
    comparable_queries,
    figure_values,
    scored_questions,
    slice_name,
)
from assay.evaluation.golden.figures import FIGURES, LOWER_IS_BETTER, RATES
from assay.evaluation.measures import did_you_mean, is_share, parse_measure
from assay.evaluation.statistics import CHANGE, SHARE, Floats, worst_case_bounds

# Latencies by the name gates know them by: of a graded receipt, and as figures of golden sets.
LATENCY = {"latency_mean": "mean", "latency_p50": "p50", "latency_p95": "p95", "latency_max": "max"}
ALIASES = {
    "latency_mean": "avg_latency_ms",
    "latency_p50": "p50_latency_ms",
    "latency_p95": "p95_latency_ms",
}
# said of a set that lists relevant documents alone, where a judged share is asked for
CLOSED_SET = (
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


def golden_values_by_question(
    gate: Gate, results: Results, baseline: Results | None = None
) -> dict[str, float]:
    """The value of each question of the gate's slice, or its change from the baseline where both
    ask for the same; empty for a figure that is no mean over questions."""
    value = figure_values(results).get(gate.measure)
    if value is None:
        return {}
    kind, _, name = gate.slice.partition(":")
    inside = [
        entry
        for entry in scored_questions(results)
        if gate.slice == "overall" or slice_name(entry, kind) == name
    ]
    now = {entry.query_id: value(entry) for entry in inside}
    if baseline is None:
        return {query: found for query, found in now.items() if found is not None}
    shared = comparable_queries(baseline, results)
    then = {entry.query_id: value(entry) for entry in scored_questions(baseline)}
    return {
        query: found - before
        for query, found in now.items()
        if query in shared and found is not None and (before := then.get(query)) is not None
    }


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


def scale_mistake(gate: Gate, measure: str) -> str:
    """What is wrong with the limits of a gate on this measure: one that lies outside its scale is
    met always or never."""
    if not is_share(parse_measure(measure)):
        return ""
    for name, limit in gate.stated((*BOUNDS, *DROPS)).items():
        if not 0 <= limit <= 1:
            return f"{name} is {limit:g}, and {measure} must be between 0 and 1"
    return ""


def entries_in_slice(gate: Gate, results: GradedResults) -> list[GradedEntry]:
    """The queries of the gate's slice."""
    if gate.slice == "overall":
        return results.per_query
    kind, _, name = gate.slice.partition(":")
    inside = [entry for entry in results.per_query if name and entry.in_slice(kind) == name]
    if not inside:
        known = dict.fromkeys(
            f"{kind}:{entry.in_slice(kind)}"
            for kind in SLICE_KINDS
            for entry in results.per_query
            if entry.in_slice(kind)
        )
        raise InputError(
            f"gate on slice {gate.slice!r}: no query is in it",
            hint=f"There are {', '.join(list(known)[:20]) or 'no slices in this set'}.",
        )
    return inside


def query_values(gate: Gate, results: GradedResults, key: str) -> list[float]:
    return list(values_by_query(gate, results, None, key).values())


def query_changes(gate: Gate, results: Results, baseline: Results | None, key: str) -> list[float]:
    """The change of each query that both have."""
    return (
        list(values_by_query(gate, results, baseline, key).values()) if baseline is not None else []
    )


def values_by_query(
    gate: Gate, results: Results, baseline: Results | None, key: str
) -> dict[str, float]:
    """The value of each query of the slice, or its change from the baseline where both have it."""
    if not isinstance(results, GradedResults):
        return {}
    found = {entry.query_id: entry.metrics.get(key) for entry in entries_in_slice(gate, results)}
    if baseline is None:
        return {name: value for name, value in found.items() if value is not None}
    then = {entry.query_id: entry.metrics.get(key) for entry in baseline.per_query}
    return {
        name: now - before
        for name, now in found.items()
        if now is not None and (before := then.get(name)) is not None
    }


def has_same_results(
    results: Results, baseline: Results, changes: Mapping[str, float], cutoff: int | None
) -> bool:
    """Whether both return the same documents in the same order for the queries of these changes, as
    far as the measure looks, and no value changed."""
    lists = [
        {entry.query_id: entry.results[:cutoff] for entry in each.per_query}
        for each in (baseline, results)
    ]
    return bool(changes) and all(
        abs(change) <= statistics.TIE and lists[0].get(query) == lists[1].get(query)
        for query, change in changes.items()
    )


def has_too_few_queries(gate: Gate, results: GradedResults) -> bool:
    """Whether the gate waits for more queries."""
    n = len(query_values(gate, results, measure_line(gate, results).key))
    return gate.min_queries is not None and n < gate.min_queries


def judged_share(entry: GradedEntry, cutoff: int) -> float:
    top = entry.grades[:cutoff]
    return sum(grade is not None for grade in top) / len(top) if top else 0.0


def judged_share_of_gate(gate: Gate, results: GradedResults) -> float:
    """How much of the top of the gate's queries somebody has judged."""
    cutoff = measure_line(gate, results).cutoff or 10
    shares = [judged_share(entry, cutoff) for entry in entries_in_slice(gate, results)]
    return float(np.mean(shares)) if shares else 0.0


def has_too_few_judged(gate: Gate, results: GradedResults) -> bool:
    """Whether the gate waits for more judgments. A mean of shares that is 0.9 may come out a hair
    below it."""
    return (
        gate.min_judged is not None
        and judged_share_of_gate(gate, results) < gate.min_judged - ROUNDING
    )


# ── how sure a mean is ────────────────────────────────────────────────────────────────────────────


def interval_of(gate: Gate, rows: Sequence[float]) -> tuple[float, float] | None:
    """The interval of the mean at the gate's level; there is none with fewer than two queries. The
    rows of a gate on a drop are changes. A rate has its exact interval where the gate decides by
    it."""
    column = np.array(rows, np.float64).reshape(-1, 1)
    (interval,) = intervals_of(gate, column)
    if interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high


def intervals_of(gate: Gate, columns: Floats) -> list[statistics.Interval]:
    """The same for several columns of values by query."""
    level = level_of(gate)
    if gate.drop is not None:
        return statistics.change_intervals(columns, level=level, worst_case=gate.worst_case)
    exact = gate.alpha is not None
    return statistics.mean_intervals(columns, level=level, exact=exact, worst_case=gate.worst_case)


def may_be_narrow(gate: Gate, rows: Sequence[float]) -> bool:
    """Whether the gate goes by an interval that is too narrow for some data: not those of the worst
    case, nor the exact one of a rate."""
    exact = gate.drop is None and all(value in (0.0, 1.0) for value in rows)
    return gate.alpha is not None and not gate.worst_case and not exact


def limits_of(gate: Gate) -> list[float]:
    """The limits of the gate; of one on a drop, the lowest change that is allowed."""
    return [-gate.drop] if gate.drop is not None else list(gate.stated(BOUNDS).values())


def queries_needed(
    gate: Gate, rows: Sequence[float], *, power: float = statistics.POWER, least: int = 2
) -> int | None:
    """How many queries, from `least` on, decide the gate with this power, if the mean and the
    spread stay as they are, by the interval that the gate goes by. None where a million do not."""
    values = np.array(rows, np.float64)
    mean, level = float(values.mean()), level_of(gate)
    limit = min(limits_of(gate), key=lambda each: abs(each - mean))
    binary = gate.drop is None and bool(np.isin(values, (0.0, 1.0)).all())
    if abs(mean - limit) < 1e-6 or len(values) < 2:
        return None

    def shows(n: int) -> bool:
        if gate.worst_case:
            return _worst_case_shows(gate, np.resize(values, n), limit, power)
        if binary:
            return statistics.rate_power(mean, limit, n, level) >= power
        reach = statistics.reach(n, level=level, power=power)
        if gate.drop is not None:
            spread = float(values.std(ddof=1))
            return reach * statistics.standard_error(spread, n) <= abs(mean - limit)
        ratio = float(values.var()) / max(mean * (1 - mean), 1e-300)
        low, high = statistics.wilson(mean, statistics.effective_queries(n, ratio), reach)
        return not low < limit < high

    most = 20_000 if gate.worst_case else statistics.MAX_QUERIES
    return statistics.fewest_queries(shows, least=least, most=most)


def _worst_case_shows(gate: Gate, values: Floats, limit: float, power: float) -> bool:
    """Whether so many queries of this kind show it."""
    level = statistics.level_for_power(level_of(gate), power)
    scale = CHANGE if gate.drop is not None else SHARE
    low, high = worst_case_bounds(values[:, None], level, scale)
    return not low[0] < limit < high[0]


# the spread of an engine that is run again (taste): the least change to allow for
RERUN_SPREAD = 0.02


def undecidable_reason(gate: Gate, n: int) -> str:
    """Why the gate cannot be decided on n queries, whatever they show; empty where it can. It is
    about passing: a drop is too small for the interval of an engine that hardly changed, or even a
    perfect score is not clear of a bound."""
    if gate.alpha is None or not n:
        return ""
    if all(_can_pass(gate, name, limit, n) for name, limit in _limits_by_name(gate)):
        return ""
    name, limit = next(each for each in _limits_by_name(gate) if not _can_pass(gate, *each, n))
    needed = statistics.fewest_queries(lambda more: _can_pass(gate, name, limit, more), most=20_000)
    takes = f"it takes at least {needed}" if needed else "no number of queries is enough"
    sure = f"{name} = {limit:g} with significance {gate.alpha:g}"
    cannot = (
        "cannot clear an unchanged engine that is run again" if name in DROPS else "cannot pass"
    )
    return f"gate on {gate.measure}: {sure} {cannot} on {counted(n, 'query')}; {takes}"


def _limits_by_name(gate: Gate) -> list[tuple[str, float]]:
    return list(gate.stated((*BOUNDS, *DROPS)).items())


def _can_pass(gate: Gate, name: str, limit: float, n: int) -> bool:
    level = level_of(gate)
    if n < 2:  # there is no interval
        return False
    if name in DROPS:
        if gate.worst_case:
            return float(worst_case_bounds(np.zeros((n, 1)), level, CHANGE)[0][0]) > -limit
        error = statistics.standard_error(RERUN_SPREAD, n)
        return statistics.t_quantile((1 + level) / 2, n - 1) * error < limit
    clear = limit if name == "minimum" else 1 - limit
    return statistics.clopper_pearson(n, n, level)[0] > clear


def level_of(gate: Gate) -> float:
    """1 - alpha; for `no_worse_than`, which asks about one side alone (two one-sided tests),
    1 - 2 alpha."""
    sides = 2 if gate.no_worse_than is not None else 1
    return 1 - sides * (gate.alpha or 0.05)


OpenReason = tuple[str, Why]  # in English, and for any language


def open_reason(message: str, kind: str, **facts: float) -> OpenReason:
    return message, Why(kind=kind, facts=facts)


def format_value(gate: Gate, value: float) -> str:
    """A figure for the message."""
    return rounded(value, gate.holds, decimals_of(gate))


def decimals_of(gate: Gate) -> int:
    """Milliseconds have one."""
    return 1 if "latency" in gate.measure else DECIMALS


def interval_text(gate: Gate, rows: Mapping[str, float]) -> str:
    """How sure a figure is, for the message."""
    between = interval_of(gate, list(rows.values())) if rows else None
    if between is None:
        return ""
    low, high = (rounded(end, gate.sides) for end in between)
    return f" ({100 * level_of(gate):g}% interval {low} to {high})"


def interval_margins(
    gate: Gate, results: GradedResults, baseline: Results | None = None
) -> tuple[float, float]:
    """How far the value must lie above a bound, and below it, for the interval to be clear of
    it."""
    key = measure_line(gate, results).key
    is_drop = gate.drop is not None and baseline is not None
    rows = (
        query_changes(gate, results, baseline, key) if is_drop else query_values(gate, results, key)
    )
    between = interval_of(gate, rows) if gate.alpha is not None else None
    if between is None:
        return 0.0, 0.0
    mean = float(np.mean(rows))
    return mean - between[0], between[1] - mean


# ── what is wrong with a gate for the kind of set it is held to ───────────────────────────────────

Mistake = tuple[str, str]  # what is wrong, and a hint; both empty where nothing is

SHARES = frozenset((*RATES, "mrr_at_k", "recall_at_k"))
QUESTION_FIGURES = (
    "pass_rate_total",
    "pass_rate_must",
    "pass_rate_should",
    "mrr_at_k",
    "recall_at_k",
)
INTERVAL_CONDITIONS = ("no_worse_than", "significance")  # conditions that need an interval


def golden_mistake(gate: Gate) -> Mistake:
    """Of a gate on a golden set, whatever its questions are."""
    measure = ALIASES.get(gate.measure, gate.measure)
    named = f"gate {gate.name or gate.measure!r}"
    if measure not in FIGURES:
        return f"{named}: a golden set has no measure {measure!r}", f"It has {', '.join(FIGURES)}."
    for name, limit in gate.stated((*BOUNDS, *DROPS)).items():
        # 95 instead of 0.95 would decide before the run
        if measure in SHARES and not 0 <= limit <= 1:
            message = f"{named}: {name} is {limit:g}, which {measure} cannot be held to"
            return message, "Rates are shares: 0.95 is 95%, and a drop of 0.02 is two points."
    if (drops := [*gate.stated(DROPS)]) and measure in LOWER_IS_BETTER:
        message = f"{named}: {drops[0]} limits a fall, and {measure} is better when it falls"
        return message, "Give a maximum."
    if foreign := [*gate.stated(("min_judged",)), *(["unjudged"] if gate.unjudged else [])]:
        message = f"{foreign[0]} is for graded sets, and {measure} is a figure of golden sets"
        return f"{named}: {message}", ""
    if (sure := _interval_conditions(gate)) and measure not in QUESTION_FIGURES:
        message = f"{named}: {sure[0]} needs a value for every question, and {measure} has none"
        return message, f"It is for {', '.join(QUESTION_FIGURES)}."
    return "", ""


def answer_mistake(gate: Gate) -> Mistake:
    """Of a gate on answers."""
    if gate.measure not in (*ANSWER_COUNTS, *ANSWER_SHARES):
        known = ", ".join((*ANSWER_COUNTS, *ANSWER_SHARES))
        return f"answers have no measure {gate.measure!r}", f"They have {known}."
    foreign = [*gate.stated((*DROPS, "min_judged")), *(["unjudged"] if gate.unjudged else [])]
    if foreign := [*foreign, *(["slice"] if gate.slice != "overall" else [])]:
        return f"{foreign[0]} is for gold sets, and {gate.measure} is a measure of answers", ""
    if gate.measure in ANSWER_COUNTS:
        if unfit := [*gate.stated(("minimum",)), *_interval_conditions(gate)]:
            return (
                f"{gate.measure} counts faults, which {unfit[0]} cannot be asked of",
                "Set maximum.",
            )
    elif beyond := [limit for limit in gate.stated(BOUNDS).values() if not 0 <= limit <= 1]:
        return f"{gate.measure} is a share, from 0 to 1; got {beyond[0]:g}", ""
    return "", ""


def answer_values_by_question(
    each: Mapping[str, Metrics], measure: str, questions: Mapping[str, str]
) -> dict[str, float]:
    """The values of a measure, one a question: those of answers to one question are averaged, and
    answers without a value are left out."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for id, figures in each.items():
        value = figures.get(measure)
        if value is not None:
            grouped[questions.get(id) or id].append(float(value))
    return {question: fmean(values) for question, values in grouped.items()}


def latency_mistake(gate: Gate) -> Mistake:
    """Of a gate on a latency of a graded set."""
    foreign = [*gate.stated((*DROPS, *EVIDENCE)), *_interval_conditions(gate)]
    foreign += ["unjudged"] if gate.unjudged else []
    if foreign := [*foreign, *(["slice"] if gate.slice != "overall" else [])]:
        message = f"gate on {gate.measure}: {foreign[0]} is not for a latency of a graded set"
        return message, "It is taken over all queries; give a maximum."
    return "", ""


def _interval_conditions(gate: Gate) -> list[str]:
    """The conditions that ask for an interval."""
    return [*gate.stated(INTERVAL_CONDITIONS), *(["worst_case"] if gate.worst_case else [])]
