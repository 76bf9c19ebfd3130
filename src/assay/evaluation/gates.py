"""(results, baseline, policy) -> Verdict. A gate holds, fails, or cannot be told yet; it never
passes quietly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from assay.core.errors import InputError
from assay.evaluation import statistics
from assay.evaluation.measures import parse_measure

Status = Literal["pass", "fail", "inconclusive"]
BOUNDS = ("minimum", "maximum", "below")
EVIDENCE = ("min_judged", "min_queries")
SLICES = ("type", "topic", "category", "corpus", "practice_area", "language")
ROUNDING = 1e-9  # a mean of 0.6 can be a little less in floating point
LATENCY = {"latency_mean": "mean", "latency_p50": "p50", "latency_p95": "p95", "latency_max": "max"}


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One demand. `measure` is a measure, a results key or a latency (`latency_p95`); `slice` is
    `overall` or `KIND:NAME`, such as `topic:lobbying`."""

    measure: str
    slice: str = "overall"
    minimum: float | None = None
    maximum: float | None = None
    below: float | None = None
    max_drop: float | None = None
    min_judged: float | None = None
    min_queries: int | None = None
    significance: float | None = (
        None  # a bound or allowance inside the interval at this level decides nothing
    )
    name: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What one gate found, in a sentence a person can act on."""

    gate: Gate
    status: Status
    value: float | None
    message: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    status: Status
    checks: list[Check]
    fingerprints: dict[str, Any]


def decide(
    results: Mapping[str, Any],
    gates: Sequence[Gate],
    baseline: Mapping[str, Any] | None = None,
    *,
    stale: str = "",
) -> Verdict:
    """Fail when any gate fails or the engine failed on a query; else inconclusive when any cannot
    be told. `stale` says why the baseline cannot be compared with."""
    for gate in gates:
        if wrong := mistake(gate):
            raise InputError(f"gate on {gate.measure}: {wrong}")
    checks = [_check(part, results, baseline, stale) for gate in gates for part in _parts(gate)]
    failed = results["receipt"]["counts"].get("n_failed", 0)
    if failed:
        checks.append(
            Check(
                gate=Gate(measure="errors", name="engine errors"),
                status="fail",
                value=float(failed),
                message=f"the engine failed on {failed} queries",
            )
        )
    statuses = {check.status for check in checks}
    status: Status = (
        "fail" if "fail" in statuses else "inconclusive" if "inconclusive" in statuses else "pass"
    )
    receipt = results["receipt"]
    prints = {"gold": receipt["gold"]["fingerprint"], "corpus": receipt.get("corpus_fingerprint")}
    return Verdict(status=status, checks=checks, fingerprints=prints)


def mistake(gate: Gate) -> str:
    """What is wrong with how a gate is written: it would pass, or stay open, whatever the results
    are."""
    figures = {
        name: getattr(gate, name) for name in (*BOUNDS, "max_drop", *EVIDENCE, "significance")
    }
    given = {name: value for name, value in figures.items() if value is not None}
    if bad := [name for name, value in given.items() if not math.isfinite(value)]:
        return f"{bad[0]} must be a number"
    if not any(name in given for name in (*BOUNDS, "max_drop", *EVIDENCE)):
        return f"it demands nothing; give one of {', '.join((*BOUNDS, 'max_drop', *EVIDENCE))}"
    highest = min((given[name] for name in ("maximum", "below") if name in given), default=math.inf)
    if given.get("minimum", -math.inf) > highest:
        return f"nothing is at least {given['minimum']:g} and at most {highest:g}"
    if not 0 < given.get("significance", 0.5) < 1:
        return f"significance is a chance between 0 and 1, not {given['significance']:g}"
    if not 0 <= given.get("min_judged", 0) <= 1:
        return f"min_judged is a share between 0 and 1, not {given['min_judged']:g}"
    if given.get("max_drop", 0) < 0:
        return f"max_drop is how far it may fall, 0 or more, not {given['max_drop']:g}"
    return ""


def _parts(gate: Gate) -> Iterator[Gate]:
    """A gate with bounds and a greatest drop is two demands, and both must hold."""
    bounded = any(getattr(gate, name) is not None for name in BOUNDS)
    if gate.max_drop is None or not bounded:
        yield gate
        return
    yield msgspec.structs.replace(gate, max_drop=None)
    title = f"{gate.name or f'{gate.measure} {gate.slice}'}, drop"
    yield msgspec.structs.replace(gate, minimum=None, maximum=None, below=None, name=title)


def _check(
    gate: Gate, results: Mapping[str, Any], baseline: Mapping[str, Any] | None, stale: str
) -> Check:
    title = gate.name or f"{gate.measure} {gate.slice}"
    if gate.measure in LATENCY:
        names = ("max_drop", *EVIDENCE, "significance")
        foreign = [name for name in names if getattr(gate, name) is not None]
        if foreign := [*foreign, *(["slice"] if gate.slice != "overall" else [])]:
            raise InputError(
                f"gate on {gate.measure}: {foreign[0]} is not for a latency of a graded set",
                hint="It is taken over all queries; give a maximum.",
            )
        value = (results["receipt"].get("latency_ms") or {}).get(LATENCY[gate.measure])
        return _bounds(gate, title, value, [])
    key = _key(gate, results)
    rows = _rows(gate, results, key)
    value = float(np.mean(rows)) if rows else None
    doubts = list(_doubts(gate, results, len(rows)))
    if gate.max_drop is not None:
        return _drop(gate, title, results, baseline, key, doubts, stale)
    return _bounds(gate, title, value, doubts, rows)


def _key(gate: Gate, results: Mapping[str, Any]) -> str:
    keys: dict[str, str] = {line["key"]: line["key"] for line in results["receipt"]["measures"]}
    keys |= {line["measure"]: line["key"] for line in results["receipt"]["measures"]}
    if gate.measure in keys:
        return keys[gate.measure]
    known = f"They have {', '.join(dict.fromkeys((*keys.values(), *LATENCY)))}; `measures` of the gold set asks for more."
    try:
        text = str(parse_measure(gate.measure))
    except InputError as error:
        raise InputError(f"gate on {gate.measure}: {error.message}", hint=known) from error
    if text not in keys:
        raise InputError(f"gate on {gate.measure}: the results do not have it", hint=known)
    return keys[text]


def measure_line(gate: Gate, results: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the receipt says of the gate's measure."""
    key = _key(gate, results)
    found: Mapping[str, Any] = next(
        line for line in results["receipt"]["measures"] if line["key"] == key
    )
    return found


def members(gate: Gate, results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The queries of the gate's slice."""
    entries: list[Mapping[str, Any]] = results["per_query"]
    if gate.slice == "overall":
        return entries
    kind, _, name = gate.slice.partition(":")
    found = [entry for entry in entries if name and str(entry.get(f"query_{kind}", "")) == name]
    if not found:
        known = dict.fromkeys(
            f"{kind}:{entry[f'query_{kind}']}"
            for kind in SLICES
            for entry in entries
            if entry.get(f"query_{kind}")
        )
        raise InputError(
            f"gate on slice {gate.slice!r}: no query is in it",
            hint=f"There are {', '.join(list(known)[:20]) or 'no slices in this set'}.",
        )
    return found


def _rows(gate: Gate, results: Mapping[str, Any], key: str) -> list[float]:
    values = (entry["metrics"][key] for entry in members(gate, results))
    return [value for value in values if value is not None]


def too_few(gate: Gate, results: Mapping[str, Any]) -> bool:
    """Whether the gate waits for more queries."""
    return (
        gate.min_queries is not None
        and len(_rows(gate, results, _key(gate, results))) < gate.min_queries
    )


def _doubts(gate: Gate, results: Mapping[str, Any], n: int) -> list[str]:
    """Why the evidence is too thin to decide."""
    found = []
    if gate.min_queries is not None and n < gate.min_queries:
        found.append(f"{n} queries, {gate.min_queries} needed")
    if gate.min_judged is not None:
        cutoff = measure_line(gate, results)["cutoff"] or 10
        shares = [_judged(entry, cutoff) for entry in members(gate, results)]
        share = float(np.mean(shares)) if shares else 0.0
        if share < gate.min_judged:
            found.append(f"{share:.0%} of the top {cutoff} is judged, {gate.min_judged:.0%} needed")
    return found


def _judged(entry: Mapping[str, Any], cutoff: int) -> float:
    top = entry["grades"][:cutoff]
    return sum(grade is not None for grade in top) / len(top) if top else 0.0


def _bounds(
    gate: Gate, title: str, value: float | None, doubts: list[str], rows: Sequence[float] = ()
) -> Check:
    if value is None:
        return Check(
            gate=gate, status="inconclusive", value=None, message=f"{title}: there is no value"
        )
    wanted = [
        f"at least {gate.minimum:g}" if gate.minimum is not None else "",
        f"at most {gate.maximum:g}" if gate.maximum is not None else "",
        f"below {gate.below:g}" if gate.below is not None else "",
    ]
    low = gate.minimum if gate.minimum is not None else -np.inf
    high = min(bound for bound in (gate.maximum, gate.below, np.inf) if bound is not None)
    holds = low - ROUNDING <= value <= high + ROUNDING and (
        gate.below is None or value < gate.below
    )
    spread = " ms" if gate.measure in LATENCY else _spread(gate, rows)
    text = f"{title}: {value:.4g}{spread}, {' and '.join(filter(None, wanted)) or 'enough evidence'} wanted"
    return _decided(gate, value, text, holds, [*doubts, *_unsure(gate, rows, (low, high))])


def _decided(gate: Gate, value: float, text: str, holds: bool, doubts: Sequence[str]) -> Check:
    if doubts:
        return Check(
            gate=gate,
            status="inconclusive",
            value=value,
            message=f"{text}; cannot tell: {'; '.join(doubts)}",
        )
    return Check(gate=gate, status="pass" if holds else "fail", value=value, message=text)


def _interval(gate: Gate, rows: Sequence[float]) -> tuple[float, float] | None:
    """The interval of the mean at the gate's level; there is none with fewer than two queries."""
    found = statistics.mean_intervals(
        np.array(rows, np.float64).reshape(-1, 1), level=1 - (gate.significance or 0.05)
    )[0]
    return None if found.low is None or found.high is None else (found.low, found.high)


def _spread(gate: Gate, rows: Sequence[float]) -> str:
    """How sure a figure is, for the message. A latency has no rows."""
    between = _interval(gate, rows)
    if between is None:
        return ""
    return f" ({100 * (1 - (gate.significance or 0.05)):g}% interval {between[0]:.4g} to {between[1]:.4g})"


def _unsure(gate: Gate, rows: Sequence[float], bounds: Sequence[float]) -> Iterator[str]:
    """Why a gate that asks for significance cannot be told: a bound is inside the interval, or
    there is none."""
    if gate.significance is None:
        return
    between = _interval(gate, rows)
    if between is None:
        yield f"{len(rows)} queries give no interval"
    elif any(between[0] + ROUNDING < bound < between[1] - ROUNDING for bound in bounds):
        yield "the bound is inside the interval"


def margins(
    gate: Gate, results: Mapping[str, Any], baseline: Mapping[str, Any] | None = None
) -> tuple[float, float]:
    """How far the value must lie above a bound, and below it, for the interval to be clear of
    it."""
    key = _key(gate, results)
    is_drop = gate.max_drop is not None and baseline is not None
    rows = _moves(gate, results, baseline or {}, key) if is_drop else _rows(gate, results, key)
    between = _interval(gate, rows) if gate.significance is not None else None
    return (
        (0.0, 0.0)
        if between is None
        else (float(np.mean(rows)) - between[0], between[1] - float(np.mean(rows)))
    )


def _moves(
    gate: Gate, results: Mapping[str, Any], baseline: Mapping[str, Any], key: str
) -> list[float]:
    """The change of each query that both have."""
    then = {entry["query_id"]: entry["metrics"].get(key) for entry in baseline["per_query"]}
    return [
        now - before
        for entry in members(gate, results)
        if (now := entry["metrics"][key]) is not None
        and (before := then.get(entry["query_id"])) is not None
    ]


def _drop(
    gate: Gate,
    title: str,
    results: Mapping[str, Any],
    baseline: Mapping[str, Any] | None,
    key: str,
    doubts: list[str],
    stale: str,
) -> Check:
    """The fall against the baseline, over the queries both have. A stale baseline tells nothing:
    its values come from other judgments or other documents."""
    moves = _moves(gate, results, baseline, key) if baseline is not None else []
    missing = "no query in common with the baseline" if not moves else ""
    anew = "assay score --update-baseline (--run BASELINE scores its own answers again)"
    missing = f"the baseline is stale, {stale}; record it anew with {anew}" if stale else missing
    missing = (
        "no baseline to compare with; write one with assay score --update-baseline, and name it in assay.toml"
        if baseline is None
        else missing
    )
    if missing:
        return Check(gate=gate, status="inconclusive", value=None, message=f"{title}: {missing}")
    allowed, change = float(gate.max_drop or 0), float(np.mean(moves))
    moved = (
        f"{'down' if change < 0 else 'up'} {abs(change):.4f}" if round(change, 4) else "unchanged"
    )
    text = f"{title}: {moved} against the baseline{_spread(gate, moves)}, at most {allowed:g} down allowed"
    return _decided(
        gate,
        change,
        text,
        change >= -allowed - ROUNDING,
        [*doubts, *_unsure(gate, moves, [-allowed])],
    )
