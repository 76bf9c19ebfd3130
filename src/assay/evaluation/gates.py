"""(results, gates, baseline) -> Verdict: the one decision, for graded and golden sets and answers.

A gate passes, fails, or is inconclusive, and never passes quietly. With `significance` it is
decided by the interval of the mean, or of the mean change, that cards and comparisons print: it
passes or fails where the limit lies outside. One exception: an engine that returns the same
documents in the same order as the baseline did passes a gate on a drop outright.

How a figure is read differs by the kind of results (a mean over graded queries, a rate of golden
questions, a count or share of answers); `_graded_reading`, `_golden_reading` and `_answer_reading`
know. What follows from a reading is decided once, in `_decided`.

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
    CLOSED,
    LATENCY,
    Doubt,
    answer_mistake,
    answers_by_question,
    beyond_scale,
    by_query,
    decimals_of,
    doubt_of,
    format_value,
    golden_by_question,
    golden_figure,
    golden_mistake,
    identical,
    interval_of,
    intervals_of,
    judged_of,
    latency_mistake,
    level_of,
    limits_of,
    may_be_narrow,
    measure_line,
    members,
    queries_needed,
    spread_of,
    too_few_judged,
)
from assay.evaluation.golden.figures import FIGURES
from assay.evaluation.measures import Integers
from assay.evaluation.statistics import Floats, risk_in

DEFAULT_POLICY = (
    Gate(name="A", measure="pass_rate_must", minimum=0.95),
    Gate(name="B", measure="pass_rate_total", minimum=0.90),
    Gate(name="C", measure="avg_latency_ms", below=150.0),
    Gate(name="D", measure="pass_rate_must", max_drop=0.02),
)

RECORD = "assay score --update-baseline"
NAMED = 3  # queries that a warning names
OF_CITATIONS = ANSWER_COUNTS[:6]
NO_VALUE = (("there is no value", Why(kind="no_value")),)
NO_BASELINE = f"no baseline to compare with; write one with {RECORD}, and name it in assay.toml"


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """What the results say of one demand. `missing` is why there is nothing to decide by; `doubts`
    are why the evidence is too thin, in English and by kind; `rows` are the values by query, or the
    changes, where an interval can be taken; `identical` lists of hits need none."""

    title: str
    said: str = ""  # the figure in words, and what is asked of it
    value: float | None = None
    holds: bool = False
    missing: tuple[Doubt, ...] = ()
    doubts: tuple[Doubt, ...] = ()
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
        if wrong := mistake(gate):
            raise InputError(f"gate on {gate.measure}: {wrong}")
    if isinstance(results, AnswerResults):
        checks = [_decided(*_answer_reading(gate, results)) for gate in gates]
        prints = {"corpus": results.receipt.corpus_fingerprint}
        return Verdict(status=worst(checks), checks=checks, fingerprints=prints)
    asked = _Asked(results=results, baseline=baseline, stale=stale, by_default=by_default)
    policy = DEFAULT_POLICY if by_default else gates
    checks = [_check(part, asked) for gate in policy for part in _parts(gate, results)]
    checks += _failed_calls(results)
    receipt = results.receipt
    prints = {"gold": receipt.gold.fingerprint, "corpus": receipt.corpus_fingerprint}
    note = receipt.gold.note  # a gate that holds is no better than the labels
    return Verdict(status=worst(checks), checks=checks, fingerprints=prints, note=note)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What the gates are decided on."""

    results: Results
    baseline: Results | None
    stale: str
    by_default: bool

    def no_comparison(self) -> Iterator[Doubt]:
        """Why nothing can be said of a drop. A stale baseline tells nothing: its values come from
        other judgments or other documents."""
        if self.baseline is None:
            yield doubt_of(NO_BASELINE, "no_baseline")
        elif self.stale:
            anew = f"{RECORD} (--run BASELINE scores its own answers again)"
            yield doubt_of(
                f"the baseline is stale, {self.stale}; record it anew with {anew}", "stale"
            )


def _failed_calls(results: Results) -> Iterator[Check]:
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


def mistake(gate: Gate) -> str:
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


def _parts(gate: Gate, results: Results) -> Iterator[Gate]:
    """A gate with bounds and a greatest drop is two demands, and both must hold; a golden set is
    told of every limit apart."""
    none = dict.fromkeys((*BOUNDS, *DROPS))
    if isinstance(results, GoldenResults):
        limits = gate.stated(none)
        for name, limit in limits.items():
            yield msgspec.structs.replace(gate, **(none | {name: limit}))
        if not limits:
            yield gate
        return
    if gate.drop is None or not gate.stated(BOUNDS):
        yield gate
        return
    yield msgspec.structs.replace(gate, **dict.fromkeys(DROPS))
    title = f"{gate.name or f'{gate.measure} {gate.slice}'}, drop"
    yield msgspec.structs.replace(gate, **dict.fromkeys(BOUNDS), name=title)


def _check(gate: Gate, asked: _Asked) -> Check:
    if isinstance(asked.results, GoldenResults):
        return _decided(*_golden_reading(gate, asked.results, asked))
    return _decided(gate, _graded_reading(gate, asked.results, asked))


def _decided(gate: Gate, reading: _Reading) -> Check:
    """What follows from a reading, for every kind of results."""
    status: Status = "pass" if reading.holds else "fail"
    message = reading.said
    whys = reading.missing or reading.doubts
    if whys:
        status, cause = "inconclusive", "; ".join(said for said, _ in whys)
        head = f"{reading.title}: " if reading.missing else f"{message}. Inconclusive: "
        message = head + cause
    rows = list(reading.rows.values())
    between = interval_of(gate, rows) if rows and not reading.identical else None
    risk = risk_in(reading.rows) if between and may_be_narrow(gate, rows) else None
    message += f". {_risk(risk)}" if risk is not None else ""
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


def _risk(risk: RiskyQueries) -> str:
    """Why the interval may be too narrow."""
    named = ", ".join(risk.queries[:NAMED]) + (", …" if len(risk.queries) > NAMED else "")
    few = f"Only {counted(len(risk.queries), 'query')} changed ({named})"
    why = few if risk.kind == "ties" else f"One query makes most of the spread ({named})"
    return f"{why}, so the interval may be too narrow; worst_case = true is safer"


# ── figures of golden sets ────────────────────────────────────────────────────────────────────────


def _golden_reading(gate: Gate, results: GoldenResults, asked: _Asked) -> tuple[Gate, _Reading]:
    """The gate as it is held, by the figure's own name, and what the figure says."""
    measure, slice_name = ALIASES.get(gate.measure, gate.measure), _slice_name(gate)
    of_slice = f" of {slice_name}" if slice_name else ""
    held = msgspec.structs.replace(
        gate, measure=measure, name=gate.name or f"{gate.measure}{of_slice}"
    )
    _refuse_golden(held, results)
    title = f"{gate.name}: {measure}{of_slice}" if gate.name else f"{measure}{of_slice}"
    value = golden_figure(results, gate.slice, measure)
    if value is None:
        counts = not asked.by_default
        return held, _Reading(title=title, missing=NO_VALUE, counts=counts)
    if gate.drop is not None:
        return held, _golden_drop(held, title, value, asked)
    missing = tuple(_golden_doubts(held, results))
    rows = golden_by_question(held, results) if gate.alpha is not None else {}
    said = f"{title} is {format_value(gate, value)}{spread_of(gate, rows)}. "
    return held, _Reading(
        title=title,
        said=f"{said}Required: {_golden_limit(gate)}",
        value=value,
        holds=gate.holds(value),
        missing=missing,
        doubts=tuple(_unsure(held, rows)),
        rows=rows,
    )


def _golden_drop(gate: Gate, title: str, value: float, asked: _Asked) -> _Reading:
    """How far a figure fell. A default gate on a drop counts when there is a baseline."""
    base = golden_figure(asked.baseline, gate.slice, gate.measure)
    if asked.by_default and asked.baseline is None:
        none = (doubt_of("there is no baseline", "no_baseline"),)
        return _Reading(title=title, value=value, missing=none, counts=False)
    missing = tuple(asked.no_comparison())
    if not missing and isinstance(asked.results, GoldenResults):
        missing = tuple(_golden_doubts(gate, asked.results))
    if missing or base is None:
        missing = missing or (doubt_of("the baseline has no such value", "not_in_baseline"),)
        return _Reading(title=title, value=value, missing=missing, baseline=base)
    if gate.alpha is not None and asked.baseline is not None:
        return _golden_change(gate, title, (base, value), asked)
    figure = rounded(value, lambda now: gate.holds(now - base), decimals_of(gate))
    was = rounded(base, decimals=decimals_of(gate))
    said = f"{title} is {figure}. Required: {_golden_limit(gate)} from {was}"
    holds = gate.holds(value - base)
    return _Reading(title=title, said=said, value=value, holds=holds, baseline=base)


def _golden_change(gate: Gate, title: str, figures: tuple[float, float], asked: _Asked) -> _Reading:
    """The change question by question, over those that both ask alike: paired, so that one rule
    holds for graded and golden sets."""
    assert asked.baseline is not None
    base, value = figures
    rows = golden_by_question(gate, asked.results, asked.baseline)
    if not rows:
        none = (doubt_of("no question in common with the baseline", "nothing_common"),)
        return _Reading(title=title, value=value, missing=none, baseline=base)
    change, same = fmean(rows.values()), identical(asked.results, asked.baseline, rows, None)
    moved = f"{_moved(gate, change)}{' (identical results)' if same else spread_of(gate, rows)}"
    return _Reading(
        title=title,
        said=f"{title} is {rounded(value)}, {moved}. Required: {_golden_limit(gate)}",
        value=value,
        holds=gate.holds(change),
        doubts=() if same else tuple(_unsure(gate, rows)),
        baseline=base,
        rows=rows,
        identical=same,
    )


def _golden_limit(gate: Gate) -> str:
    return next(LIMITS[name].format(limit) for name, limit in gate.stated(LIMITS).items())


def _golden_doubts(gate: Gate, results: GoldenResults) -> Iterator[Doubt]:
    if gate.min_queries is None:
        return
    kind, _, name = _slice_name(gate).partition(":")
    counts = results.n.slices.get(kind, {}).get(name, {}) if kind else results.n.overall
    n = counts.get(gate.measure, int(golden_figure(results, gate.slice, "total") or 0))
    if n < gate.min_queries:
        said = f"{n} questions, {gate.min_queries} needed"
        yield doubt_of(said, "few_questions", n=n, needed=gate.min_queries)


def _slice_name(gate: Gate) -> str:
    return "" if gate.slice == "overall" else gate.slice


def _refuse_golden(gate: Gate, results: GoldenResults) -> None:
    """A gate that is written wrong would never fail: it must not pass quietly."""
    _refuse(*golden_mistake(gate))
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


def _answer_reading(gate: Gate, results: AnswerResults) -> tuple[Gate, _Reading]:
    """A count decides by itself, if any citation was found; a share goes by its interval over
    questions, since the citations of one answer are not independent."""
    _refuse(*answer_mistake(gate))
    title, value = gate.name or gate.measure, results.overall.get(gate.measure)
    if value is None or not results.overall["answers"]:
        return gate, _Reading(title=title, missing=NO_VALUE)
    rows: dict[str, float] = {}
    if gate.measure in ANSWER_SHARES:
        gate = msgspec.structs.replace(gate, significance=gate.alpha or 0.05)
        rows = answers_by_question(results.per_query, gate.measure, results.questions)
    reading = _mean_reading(gate, title, float(value), rows)
    doubts = list(_unsure(gate, rows)) if rows else []
    n = len(rows) or int(results.overall["answers"])
    if gate.min_queries is not None and n < gate.min_queries:
        said = f"{n} questions, {gate.min_queries} needed"
        doubts.append(doubt_of(said, "few_questions", n=n, needed=gate.min_queries))
    if gate.measure in OF_CITATIONS and not results.overall["citations"]:
        doubts.append(doubt_of("no citation was found in any answer", "no_citations"))
    found, checked = (int(results.overall[key] or 0) for key in ("citations", "citations_checked"))
    if gate.measure in OF_CITATIONS and checked < found:
        said = f"{reading.said} ({found - checked} of {found} citations could not be checked)"
        reading = replace(reading, said=said)
    return gate, replace(reading, doubts=tuple(doubts))


# ── measures of graded sets ───────────────────────────────────────────────────────────────────────


def _graded_reading(gate: Gate, results: GradedResults, asked: _Asked) -> _Reading:
    title = gate.name or f"{gate.measure} {gate.slice}"
    if gate.measure in LATENCY:
        _refuse(*latency_mistake(gate))
        times = results.receipt.latency_ms
        value = getattr(times, LATENCY[gate.measure]) if times is not None else None
        return _mean_reading(gate, title, value, {})
    line = measure_line(gate, results)
    if wrong := beyond_scale(gate, line.measure):
        raise InputError(f"gate on {gate.measure}: {wrong}")
    rows = by_query(gate, results, None, line.key)
    if gate.drop is not None:
        reading = _drop_reading(gate, title, line, asked)
    else:
        value = float(np.mean(list(rows.values()))) if rows else None
        reading = _mean_reading(gate, title, value, rows)
    doubts = tuple(_graded_doubts(gate, results, line, len(rows)))
    doubts += () if reading.identical else tuple(_unsure(gate, reading.rows))
    if not reading.missing and not doubts and gate.stated((*BOUNDS, *DROPS)):
        doubts = tuple(_unjudged(gate, line, reading.holds, asked))
    return replace(reading, doubts=doubts)


def _refuse(wrong: str, hint: str) -> None:
    if wrong:
        raise InputError(wrong, hint=hint)


def _mean_reading(gate: Gate, title: str, value: float | None, rows: dict[str, float]) -> _Reading:
    if value is None:
        return _Reading(title=title, missing=NO_VALUE)
    wanted = " and ".join(LIMITS[name].format(bound) for name, bound in gate.stated(BOUNDS).items())
    spread = " ms" if gate.measure in LATENCY else spread_of(gate, rows)
    said = f"{title}: {format_value(gate, value)}{spread}. Required: {wanted or 'enough evidence'}"
    return _Reading(title=title, said=said, value=value, holds=gate.holds(value), rows=rows)


def _drop_reading(gate: Gate, title: str, line: MeasureLine, asked: _Asked) -> _Reading:
    """The fall against the baseline, over the queries both have."""
    missing = tuple(asked.no_comparison())
    then = asked.baseline
    moves = by_query(gate, asked.results, then, line.key) if then is not None else {}
    if not missing and not moves:
        missing = (doubt_of("no query in common with the baseline", "nothing_common"),)
    if missing or then is None:
        return _Reading(title=title, missing=missing)
    change = float(np.mean(list(moves.values())))
    wanted = LIMITS["max_drop"].format(float(gate.drop or 0))
    same = identical(asked.results, then, moves, line.cutoff)
    how = ": the results are identical" if same else spread_of(gate, moves)
    said = f"{title}: {_moved(gate, change)} against the baseline{how}. Required: {wanted}"
    return _Reading(
        title=title,
        said=said,
        value=change,
        holds=gate.holds(change),
        rows=moves,
        identical=same,
    )


def _moved(gate: Gate, change: float) -> str:
    figure = rounded(change, gate.holds)
    way = "down" if change < 0 else "up"
    return "unchanged" if figure == "0" else f"{way} {figure.removeprefix('-')}"


def _graded_doubts(
    gate: Gate, results: GradedResults, line: MeasureLine, n: int
) -> Iterator[Doubt]:
    """Why the evidence is too thin to decide."""
    from assay.evaluation.unjudged.verdict_stability import is_closed

    if gate.min_queries is not None and n < gate.min_queries:
        said = f"{n} queries, {gate.min_queries} needed"
        yield doubt_of(said, "few_queries", n=n, needed=gate.min_queries)
    if gate.min_judged is not None and too_few_judged(gate, results):
        share, k, needed = judged_of(gate, results), line.cutoff or 10, gate.min_judged
        said = f"{share:.0%} of the top {k} is judged, {needed:.0%} needed"
        yield doubt_of(said, "few_judged", share=share, k=k, needed=needed)
        if is_closed(results):
            yield doubt_of(CLOSED, "closed")


def _unjudged(gate: Gate, line: MeasureLine, holds: bool, asked: _Asked) -> Iterator[Doubt]:
    """That unjudged hits could turn it with more than one chance in twenty."""
    from assay.evaluation.unjudged.verdict_stability import doubt_about, is_closed

    then = asked.baseline if gate.drop is not None else None
    graded = [each for each in (then, asked.results) if isinstance(each, GradedResults)]
    if gate.unjudged == COUNT_AS_WRONG or all(map(is_closed, graded)):
        return
    now = members(gate, graded[-1])
    entries = [graded[0].per_query, now] if then is not None else [now]
    values = by_query(gate, asked.results, then, line.key)
    doubt = doubt_about(
        entries, line.measure, values, lambda columns: _outcomes(gate, columns), 1 if holds else -1
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
        said = f"{hits}, nothing is known about them, and their grades could change the outcome"
        yield doubt_of(said, "unknown", **facts)
        return
    said = f"{hits}; with all of them judged, {rounded(expected)} is expected ({rounded(low)} to "
    said += f"{rounded(high)}), which passes with {up:.0%} probability and fails with {down:.0%}"
    ends = {"expected": expected, "low": low, "high": high, "up": up, "down": down}
    yield doubt_of(said, "unjudged", **facts, **ends)


def _outcomes(gate: Gate, columns: Floats) -> Integers:
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


def _unsure(gate: Gate, rows: Mapping[str, float]) -> Iterator[Doubt]:
    """Why a gate that goes by an interval is inconclusive: a limit is inside it, or there is none;
    and how many queries would decide it."""
    if gate.alpha is None:
        return
    values = list(rows.values())
    between = interval_of(gate, values)
    if between is None:
        yield doubt_of(f"{len(rows)} queries give no interval", "no_interval", n=len(rows))
        return
    low, high = between[0] + ROUNDING, between[1] - ROUNDING
    if not any(low < limit < high for limit in limits_of(gate)):
        return
    needed = queries_needed(gate, values, least=len(values) + 1)
    includes = "the interval includes that limit"
    if needed is None:
        yield doubt_of(f"{includes}, and the value is too close to it", "at_limit")
        return
    said = f"{includes}; about {needed} queries would decide it (80% power)"
    yield doubt_of(said, "needs_queries", needed=needed, n=len(rows))
