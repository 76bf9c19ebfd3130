"""Decide the gates: results, gates and a baseline become one verdict, for graded sets, golden sets
and answers.

A gate passes, fails, or is inconclusive, and never passes quietly. With `significance` it is
decided by the interval of the mean, or of the mean change, that cards and comparisons print: it
passes or fails where the limit lies outside. One exception: an engine that returns the same
documents in the same order as the baseline did passes a gate on a drop outright.

How a figure is read differs by the kind of results (a mean over graded queries, a rate of golden
questions, a count or share of answers); `_graded_reading`, `_golden_reading` and `_answer_reading`
know. What follows from a reading is decided once, in `_check_reading`.

A golden set for which nobody has asked for gates is held to the policy of its suite, A to D. Of
these only what can be told counts: a first run has no baseline for D, a saved run no latency for C,
and neither makes a run inconclusive that nobody asked to be gated. See
docs/decisions/0007-one-gate.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import msgspec
import numpy as np

from assay.core.errors import InputError
from assay.core.results import (
    ANSWER_COUNTS,
    ANSWER_SHARES,
    BOUNDS,
    COUNT_AS_WRONG,
    DROPS,
    EVIDENCE,
    LIMITS,
    ROUNDING,
    AnswerResults,
    Check,
    Gate,
    GoldenResults,
    GradedResults,
    MeasureLine,
    Results,
    RiskyQueries,
    Status,
    Verdict,
    Why,
    rounded,
    worst,
)
from assay.core.types import counted
from assay.evaluation.gate_values import (
    ALIASES,
    CLOSED_SET,
    LATENCY,
    OpenReason,
    answer_mistake,
    answer_values_by_question,
    decimals_of,
    entries_in_slice,
    format_value,
    golden_figure,
    golden_mistake,
    golden_values_by_question,
    has_same_results,
    has_too_few_judged,
    interval_of,
    interval_text,
    intervals_of,
    judged_share_of_gate,
    latency_mistake,
    level_of,
    limits_of,
    may_be_narrow,
    measure_line,
    open_reason,
    queries_needed,
    scale_mistake,
    values_by_query,
)
from assay.evaluation.golden.figures import FIGURES
from assay.evaluation.measures import Integers
from assay.evaluation.statistics import Floats, risky_queries

# gates A to D of spec 002
DEFAULT_POLICY = (
    Gate(name="A", measure="pass_rate_must", minimum=0.95),
    Gate(name="B", measure="pass_rate_total", minimum=0.90),
    Gate(name="C", measure="avg_latency_ms", below=150.0),
    Gate(name="D", measure="pass_rate_must", max_drop=0.02),
)

RECORD = "assay score --update-baseline"
QUERIES_NAMED = 3  # queries that a warning names (taste)
CITATION_COUNTS = ANSWER_COUNTS[:6]
NO_VALUE = (("there is no value", Why(kind="no_value")),)
NO_BASELINE = (
    f'no baseline to compare with; write one with {RECORD}, and add baseline = "FILE" to the '
    "[gold.NAME] table in assay.toml"
)


@dataclass(frozen=True, kw_only=True)
class _GateReading:
    """The figure that one demand is decided on.

    `missing` says why there is nothing to decide by, `open_reasons` why the evidence is too thin.
    `rows` are the values by query, or the changes, where an interval can be taken; `identical`
    lists of hits need none."""

    title: str
    message: str = ""  # the figure in words, and what is asked of it
    value: float | None = None
    holds: bool = False
    missing: tuple[OpenReason, ...] = ()
    open_reasons: tuple[OpenReason, ...] = ()
    baseline: float | None = None
    counts: bool = True
    rows: dict[str, float] = field(default_factory=dict)
    identical: bool = False


def decide(
    results: Results | AnswerResults,
    gates: Sequence[Gate] = (),
    baseline: Results | None = None,
    *,
    stale: str = "",
) -> Verdict:
    """Fail when any gate fails or the engine failed on a query; else inconclusive when any cannot
    be told. `stale` says why the baseline cannot be compared with. Without gates a golden set is
    held to the policy of its suite."""
    by_default = not gates and isinstance(results, GoldenResults)
    for gate in gates:
        if wrong := gate_mistake(gate):
            raise InputError(f"gate on {gate.measure}: {wrong}")
    if isinstance(results, AnswerResults):
        checks = [_check_reading(*_answer_reading(gate, results)) for gate in gates]
        prints = {"corpus": results.receipt.corpus_fingerprint}
        return Verdict(status=worst(checks), checks=checks, fingerprints=prints)
    inputs = _GateInputs(results=results, baseline=baseline, stale=stale, by_default=by_default)
    policy = DEFAULT_POLICY if by_default else gates
    checks = [
        _check_gate(part, inputs) for gate in policy for part in _single_demands(gate, results)
    ]
    checks += _failed_call_checks(results)
    receipt = results.receipt
    prints = {"gold": receipt.gold.fingerprint, "corpus": receipt.corpus_fingerprint}
    note = receipt.gold.note  # a gate that holds is no better than the labels
    return Verdict(status=worst(checks), checks=checks, fingerprints=prints, note=note)


@dataclass(frozen=True, kw_only=True)
class _GateInputs:
    """The results, the baseline and the policy that the gates are decided on."""

    results: Results
    baseline: Results | None
    stale: str
    by_default: bool

    def baseline_reasons(self) -> Iterator[OpenReason]:
        """Why nothing can be said of a drop. A stale baseline tells nothing: its values come from
        other judgments or other documents."""
        if self.baseline is None:
            yield open_reason(NO_BASELINE, "no_baseline")
        elif self.stale:
            anew = f"{RECORD} (--run BASELINE scores its own answers again)"
            yield open_reason(
                f"the baseline is stale, {self.stale}; record it anew with {anew}", "stale"
            )


def _failed_call_checks(results: Results) -> Iterator[Check]:
    """A failed call fails the gates, whatever they ask. No gate can allow one: this check is
    not among those that are asked for, and is always added to them."""
    failed = int(results.receipt.counts.get("n_failed", 0))
    if isinstance(results, GoldenResults):
        failed = int(results.overall.get("n_failed") or 0)
    if not failed:
        return
    gate = Gate(measure="errors", name="engine errors")
    message = f"the engine failed on {failed} queries"
    if isinstance(results, GoldenResults):
        gate = Gate(measure="n_failed", maximum=0, name="calls")
        message = f"calls: the engine failed on {failed} questions"
    yield Check(gate=gate, status="fail", value=float(failed), message=message)


def gate_mistake(gate: Gate) -> str:
    """What is wrong with how a gate is written: it would pass, or stay open, whatever the results
    are."""
    given = gate.stated((*BOUNDS, *DROPS, *EVIDENCE, "significance"))
    if bad := [name for name, value in given.items() if not math.isfinite(value)]:
        return f"{bad[0]} must be a number"
    if not any(name in given for name in (*BOUNDS, *DROPS, *EVIDENCE)):
        return f"it demands nothing; give one of {', '.join((*BOUNDS, *DROPS, *EVIDENCE))}"
    if all(name in given for name in DROPS):
        return "max_drop and no_worse_than ask about one change; give one of them"
    if gate.worst_case and not any(name in given for name in (*BOUNDS, *DROPS)):
        return "worst_case is how a limit is decided, and there is none"
    if gate.unjudged not in ("", COUNT_AS_WRONG):
        return f'unjudged is "{COUNT_AS_WRONG}" or left out, not {gate.unjudged!r}'
    if not gate.slice:
        return "slice is empty; leave it out for all queries, or give KIND:NAME"
    if given.get("min_queries", 1) < 1:
        return f"min_queries is a number of queries, 1 or more, not {given['min_queries']:g}"
    highest = min((given[name] for name in ("maximum", "below") if name in given), default=math.inf)
    if given.get("minimum", -math.inf) > highest:
        return f"nothing is at least {given['minimum']:g} and at most {highest:g}"
    if not 1e-9 <= given.get("significance", 0.5) < 1:
        return f"significance is a chance between 0 and 1, not {given['significance']:g}"
    if not 0 <= given.get("min_judged", 0) <= 1:
        return f"min_judged is a share between 0 and 1, not {given['min_judged']:g}"
    if below := [name for name in DROPS if given.get(name, 0) < 0]:
        return f"{below[0]} is how far it may fall, 0 or more, not {given[below[0]]:g}"
    if given.get("no_worse_than", 1) == 0:
        return "no_worse_than is a margin, above 0: no change can be shown to be none at all"
    if "no_worse_than" in given and given.get("significance", 0) >= 0.5:
        return f"significance of no_worse_than is below 0.5, not {given['significance']:g}"
    return ""


def is_answer_measure(name: str) -> bool:
    """Whether a gate on this measure is about answers."""
    return name in (*ANSWER_COUNTS, *ANSWER_SHARES)


def is_golden_measure(name: str) -> bool:
    """Whether a gate on this measure is about golden sets."""
    return name in FIGURES


# ── one demand ────────────────────────────────────────────────────────────────────────────────────


def _single_demands(gate: Gate, results: Results) -> Iterator[Gate]:
    """A gate with bounds and a greatest drop is two demands, and both must hold; a golden set is
    told of every limit apart."""
    no_value = dict.fromkeys((*BOUNDS, *DROPS))
    if isinstance(results, GoldenResults):
        limits = gate.stated(no_value)
        for name, limit in limits.items():
            yield msgspec.structs.replace(gate, **(no_value | {name: limit}))
        if not limits:
            yield gate
        return
    if gate.drop is None or not gate.stated(BOUNDS):
        yield gate
        return
    yield msgspec.structs.replace(gate, **dict.fromkeys(DROPS))
    title = f"{gate.name or f'{gate.measure} {gate.slice}'}, drop"
    yield msgspec.structs.replace(gate, **dict.fromkeys(BOUNDS), name=title)


def _check_gate(gate: Gate, inputs: _GateInputs) -> Check:
    if isinstance(inputs.results, GoldenResults):
        return _check_reading(*_golden_reading(gate, inputs.results, inputs))
    return _check_reading(gate, _graded_reading(gate, inputs.results, inputs))


def _check_reading(gate: Gate, reading: _GateReading) -> Check:
    """What follows from a reading, for every kind of results."""
    status: Status = "pass" if reading.holds else "fail"
    message = reading.message
    whys = reading.missing or reading.open_reasons
    if whys:
        status, cause = "inconclusive", "; ".join(text for text, _ in whys)
        head = f"{reading.title}: " if reading.missing else f"{message}. Inconclusive: "
        message = head + cause
    rows = list(reading.rows.values())
    between = interval_of(gate, rows) if rows and not reading.identical else None
    risk = risky_queries(reading.rows) if between and may_be_narrow(gate, rows) else None
    message += f". {_risk_sentence(risk)}" if risk is not None else ""
    return Check(
        gate=gate,
        status=status,
        value=reading.value,
        message=message,
        baseline=reading.baseline,
        counts=reading.counts,
        interval=between,
        level=level_of(gate) if between else None,
        whys=[why for _, why in whys],
        risk=risk,
    )


def _risk_sentence(risk: RiskyQueries) -> str:
    """Why the interval may be too narrow."""
    named = ", ".join(risk.queries[:QUERIES_NAMED]) + (
        ", …" if len(risk.queries) > QUERIES_NAMED else ""
    )
    few = f"Only {counted(len(risk.queries), 'query')} changed ({named})"
    why = few if risk.kind == "ties" else f"One query makes most of the spread ({named})"
    return f"{why}, so the interval may be too narrow; worst_case = true is safer"


# ── figures of golden sets ────────────────────────────────────────────────────────────────────────


def _golden_reading(
    gate: Gate, results: GoldenResults, inputs: _GateInputs
) -> tuple[Gate, _GateReading]:
    """The gate as it is held, by the figure's own name, and what the figure says."""
    measure, slice_name = ALIASES.get(gate.measure, gate.measure), _slice_name(gate)
    of_slice = f" of {slice_name}" if slice_name else ""
    held = msgspec.structs.replace(
        gate, measure=measure, name=gate.name or f"{gate.measure}{of_slice}"
    )
    _refuse_golden_mistake(held, results)
    title = f"{gate.name}: {measure}{of_slice}" if gate.name else f"{measure}{of_slice}"
    value = golden_figure(results, gate.slice, measure)
    if value is None:
        counts = not inputs.by_default
        return held, _GateReading(title=title, missing=NO_VALUE, counts=counts)
    if gate.drop is not None:
        return held, _golden_drop(held, title, value, inputs)
    missing = tuple(_too_few_questions(held, results))
    rows = golden_values_by_question(held, results) if gate.alpha is not None else {}
    message = f"{title} is {format_value(gate, value)}{interval_text(gate, rows)}. "
    return held, _GateReading(
        title=title,
        message=f"{message}Required: {_golden_limit(gate)}",
        value=value,
        holds=gate.holds(value),
        missing=missing,
        open_reasons=tuple(_interval_reasons(held, rows)),
        rows=rows,
    )


def _golden_drop(gate: Gate, title: str, value: float, inputs: _GateInputs) -> _GateReading:
    """How far a figure fell. A default gate on a drop counts when there is a baseline."""
    base = golden_figure(inputs.baseline, gate.slice, gate.measure)
    if inputs.by_default and inputs.baseline is None:
        no_value = (open_reason("there is no baseline", "no_baseline"),)
        return _GateReading(title=title, value=value, missing=no_value, counts=False)
    missing = tuple(inputs.baseline_reasons())
    if not missing and isinstance(inputs.results, GoldenResults):
        missing = tuple(_too_few_questions(gate, inputs.results))
    if missing or base is None:
        missing = missing or (open_reason("the baseline has no such value", "not_in_baseline"),)
        return _GateReading(title=title, value=value, missing=missing, baseline=base)
    if gate.alpha is not None and inputs.baseline is not None:
        return _golden_change(gate, title, (base, value), inputs)
    figure = rounded(value, lambda now: gate.holds(now - base), decimals_of(gate))
    was = rounded(base, decimals=decimals_of(gate))
    message = f"{title} is {figure}. Required: {_golden_limit(gate)} from {was}"
    holds = gate.holds(value - base)
    return _GateReading(title=title, message=message, value=value, holds=holds, baseline=base)


def _golden_change(
    gate: Gate, title: str, figures: tuple[float, float], inputs: _GateInputs
) -> _GateReading:
    """The change question by question, over those that both ask alike: paired, so that one rule
    holds for graded and golden sets."""
    assert inputs.baseline is not None
    base, value = figures
    rows = golden_values_by_question(gate, inputs.results, inputs.baseline)
    if not rows:
        no_value = (open_reason("no question in common with the baseline", "nothing_common"),)
        return _GateReading(title=title, value=value, missing=no_value, baseline=base)
    change = fmean(rows.values())
    same = has_same_results(inputs.results, inputs.baseline, rows, None)
    how = " (identical results)" if same else interval_text(gate, rows)
    moved = f"{_change_text(gate, change)}{how}"
    return _GateReading(
        title=title,
        message=f"{title} is {rounded(value)}, {moved}. Required: {_golden_limit(gate)}",
        value=value,
        holds=gate.holds(change),
        open_reasons=() if same else tuple(_interval_reasons(gate, rows)),
        baseline=base,
        rows=rows,
        identical=same,
    )


def _golden_limit(gate: Gate) -> str:
    return next(LIMITS[name].format(limit) for name, limit in gate.stated(LIMITS).items())


def _too_few_questions(gate: Gate, results: GoldenResults) -> Iterator[OpenReason]:
    if gate.min_queries is None:
        return
    kind, _, name = _slice_name(gate).partition(":")
    counts = results.n.slices.get(kind, {}).get(name, {}) if kind else results.n.overall
    n = counts.get(gate.measure, int(golden_figure(results, gate.slice, "total") or 0))
    if n < gate.min_queries:
        message = f"{n} questions, {gate.min_queries} needed"
        yield open_reason(message, "few_questions", n=n, needed=gate.min_queries)


def _slice_name(gate: Gate) -> str:
    return "" if gate.slice == "overall" else gate.slice


def _refuse_golden_mistake(gate: Gate, results: GoldenResults) -> None:
    """A gate that is written wrong would never fail: it must not pass quietly."""
    _refuse_mistake(*golden_mistake(gate))
    kind, _, name = _slice_name(gate).partition(":")
    if kind and name not in results.slices.get(kind, {}):
        known = [f"{kind}:{name}" for kind, names in results.slices.items() for name in names]
        raise InputError(
            f"gate {gate.name!r}: no question is in slice {gate.slice!r}",
            hint=f"There are {', '.join(known)}."
            if known
            else "The questions state no category, test_type or language.",
        )


# ── measures of answers ───────────────────────────────────────────────────────────────────────────


def _answer_reading(gate: Gate, results: AnswerResults) -> tuple[Gate, _GateReading]:
    """A count decides by itself, if any citation was found; a share goes by its interval over
    questions, since the citations of one answer are not independent."""
    _refuse_mistake(*answer_mistake(gate))
    title, value = gate.name or gate.measure, results.overall.get(gate.measure)
    if value is None or not results.overall["answers"]:
        return gate, _GateReading(title=title, missing=NO_VALUE)
    rows: dict[str, float] = {}
    if gate.measure in ANSWER_SHARES:
        gate = msgspec.structs.replace(gate, significance=gate.alpha or 0.05)
        rows = answer_values_by_question(results.per_query, gate.measure, results.questions)
    reading = _mean_reading(gate, title, float(value), rows)
    open_reasons = list(_interval_reasons(gate, rows)) if rows else []
    n = len(rows) or int(results.overall["answers"])
    if gate.min_queries is not None and n < gate.min_queries:
        message = f"{n} questions, {gate.min_queries} needed"
        open_reasons.append(open_reason(message, "few_questions", n=n, needed=gate.min_queries))
    if gate.measure in CITATION_COUNTS and not results.overall["citations"]:
        open_reasons.append(open_reason("no citation was found in any answer", "no_citations"))
    found, checked = (int(results.overall[key] or 0) for key in ("citations", "citations_checked"))
    if gate.measure in CITATION_COUNTS and checked < found:
        message = f"{reading.message} ({found - checked} of {found} citations could not be checked)"
        reading = replace(reading, message=message)
    return gate, replace(reading, open_reasons=tuple(open_reasons))


# ── measures of graded sets ───────────────────────────────────────────────────────────────────────


def _graded_reading(gate: Gate, results: GradedResults, inputs: _GateInputs) -> _GateReading:
    title = gate.name or f"{gate.measure} {gate.slice}"
    if gate.measure in LATENCY:
        _refuse_mistake(*latency_mistake(gate))
        times = results.receipt.latency_ms
        value = getattr(times, LATENCY[gate.measure]) if times is not None else None
        return _mean_reading(gate, title, value, {})
    line = measure_line(gate, results)
    if wrong := scale_mistake(gate, line.measure):
        raise InputError(f"gate on {gate.measure}: {wrong}")
    rows = values_by_query(gate, results, None, line.key)
    if gate.drop is not None:
        reading = _drop_reading(gate, title, line, inputs)
    else:
        value = float(np.mean(list(rows.values()))) if rows else None
        reading = _mean_reading(gate, title, value, rows)
    open_reasons = tuple(_thin_evidence(gate, results, line, len(rows)))
    open_reasons += () if reading.identical else tuple(_interval_reasons(gate, reading.rows))
    if not reading.missing and not open_reasons and gate.stated((*BOUNDS, *DROPS)):
        open_reasons = tuple(_unjudged_reasons(gate, line, reading.holds, inputs))
    return replace(reading, open_reasons=open_reasons)


def _refuse_mistake(wrong: str, hint: str) -> None:
    if wrong:
        raise InputError(wrong, hint=hint)


def _mean_reading(
    gate: Gate, title: str, value: float | None, rows: dict[str, float]
) -> _GateReading:
    if value is None:
        return _GateReading(title=title, missing=NO_VALUE)
    wanted = " and ".join(LIMITS[name].format(bound) for name, bound in gate.stated(BOUNDS).items())
    spread = " ms" if gate.measure in LATENCY else interval_text(gate, rows)
    message = (
        f"{title}: {format_value(gate, value)}{spread}. Required: {wanted or 'enough evidence'}"
    )
    return _GateReading(
        title=title, message=message, value=value, holds=gate.holds(value), rows=rows
    )


def _drop_reading(gate: Gate, title: str, line: MeasureLine, inputs: _GateInputs) -> _GateReading:
    """The fall against the baseline, over the queries both have."""
    missing = tuple(inputs.baseline_reasons())
    then = inputs.baseline
    moves = values_by_query(gate, inputs.results, then, line.key) if then is not None else {}
    if not missing and not moves:
        missing = (open_reason("no query in common with the baseline", "nothing_common"),)
    if missing or then is None:
        return _GateReading(title=title, missing=missing)
    change = float(np.mean(list(moves.values())))
    wanted = LIMITS["max_drop"].format(float(gate.drop or 0))
    same = has_same_results(inputs.results, then, moves, line.cutoff)
    how = ": the results are identical" if same else interval_text(gate, moves)
    message = f"{title}: {_change_text(gate, change)} against the baseline{how}. Required: {wanted}"
    return _GateReading(
        title=title,
        message=message,
        value=change,
        holds=gate.holds(change),
        rows=moves,
        identical=same,
    )


def _change_text(gate: Gate, change: float) -> str:
    figure = rounded(change, gate.holds)
    way = "down" if change < 0 else "up"
    return "unchanged" if figure == "0" else f"{way} {figure.removeprefix('-')}"


def _thin_evidence(
    gate: Gate, results: GradedResults, line: MeasureLine, n: int
) -> Iterator[OpenReason]:
    """Why the evidence is too thin to decide."""
    from assay.evaluation.unjudged.verdict_stability import is_closed

    if gate.min_queries is not None and n < gate.min_queries:
        message = f"{n} queries, {gate.min_queries} needed"
        yield open_reason(message, "few_queries", n=n, needed=gate.min_queries)
    if gate.min_judged is not None and has_too_few_judged(gate, results):
        share, k, needed = judged_share_of_gate(gate, results), line.cutoff or 10, gate.min_judged
        message = f"{share:.0%} of the top {k} is judged, {needed:.0%} needed"
        yield open_reason(message, "few_judged", share=share, k=k, needed=needed)
        if is_closed(results):
            yield open_reason(CLOSED_SET, "closed")


def _unjudged_reasons(
    gate: Gate, line: MeasureLine, holds: bool, inputs: _GateInputs
) -> Iterator[OpenReason]:
    """That unjudged hits could turn it with more than one chance in twenty."""
    from assay.evaluation.unjudged.verdict_stability import is_closed, stability_of

    then = inputs.baseline if gate.drop is not None else None
    graded = [each for each in (then, inputs.results) if isinstance(each, GradedResults)]
    if gate.unjudged == COUNT_AS_WRONG or all(map(is_closed, graded)):
        return
    now = entries_in_slice(gate, graded[-1])
    entries = [graded[0].per_query, now] if then is not None else [now]
    values = values_by_query(gate, inputs.results, then, line.key)
    doubt = stability_of(
        entries,
        line.measure,
        values,
        lambda columns: _gate_outcomes(gate, columns),
        1 if holds else -1,
    )
    if doubt is None or not doubt.is_open:
        return
    facts = {"unjudged": doubt.unjudged, "hits": doubt.unjudged + doubt.judged}
    hits = (
        f"{facts['unjudged']} of the {facts['hits']} results that affect the score have no judgment"
    )
    known = (doubt.expected, doubt.low, doubt.high, doubt.up, doubt.down)
    expected, low, high, up, down = (each or 0.0 for each in known)
    if doubt.stands is None or doubt.expected is None:
        message = f"{hits}, nothing is known about them, and their grades could change the outcome"
        yield open_reason(message, "unknown", **facts)
        return
    message = (
        f"{hits}; with all of them judged, {rounded(expected)} is expected ({rounded(low)} to "
    )
    message += f"{rounded(high)}), which passes with {up:.0%} probability and fails with {down:.0%}"
    ends = {"expected": expected, "low": low, "high": high, "up": up, "down": down}
    yield open_reason(message, "unjudged", **facts, **ends)


def _gate_outcomes(gate: Gate, columns: Floats) -> Integers:
    """What the gate says of each column of values by query: 1 holds, -1 fails, 0 cannot be told."""
    means = columns.mean(axis=0)
    bounds = limits_of(gate)
    holds = np.array([gate.holds(mean) for mean in means.tolist()])
    verdicts = np.where(holds, 1, -1)
    if gate.alpha is None:
        return verdicts
    for at, each in enumerate(intervals_of(gate, columns)):
        low, high = (math.nan if bound is None else bound for bound in (each.low, each.high))
        if not all(bound <= low + ROUNDING or bound >= high - ROUNDING for bound in bounds):
            verdicts[at] = 0
    return verdicts


def _interval_reasons(gate: Gate, rows: Mapping[str, float]) -> Iterator[OpenReason]:
    """Why a gate that goes by an interval is inconclusive: a limit is inside it, or there is none;
    and how many queries would decide it."""
    if gate.alpha is None:
        return
    values = list(rows.values())
    between = interval_of(gate, values)
    if between is None:
        yield open_reason(f"{len(rows)} queries give no interval", "no_interval", n=len(rows))
        return
    low, high = between[0] + ROUNDING, between[1] - ROUNDING
    if not any(low < limit < high for limit in limits_of(gate)):
        return
    needed = queries_needed(gate, values, least=len(values) + 1)
    includes = "the interval includes that limit"
    if needed is None:
        yield open_reason(f"{includes}, and the value is too close to it", "at_limit")
        return
    message = f"{includes}; about {needed} queries would decide it (80% power)"
    yield open_reason(message, "needs_queries", needed=needed, n=len(rows))
