"""The gates of the golden suite: a policy as data, and one pure function from figures to checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from assay.core.errors import InputError
from assay.evaluation.golden_figures import FIGURES, RATES

ROUNDING = 1e-9  # 0.95 - 0.93 is a little more than 0.02 in floating point

DEFAULT_POLICY: tuple[Mapping[str, Any], ...] = (
    {"name": "A", "measure": "pass_rate_must", "minimum": 0.95},
    {"name": "B", "measure": "pass_rate_total", "minimum": 0.90},
    {"name": "C", "measure": "avg_latency_ms", "below": 150.0},
    {"name": "D", "measure": "pass_rate_must", "max_drop": 0.02},
)

Holds = Callable[[float, float, float], bool]

# limit: (the words, whether a value with this limit and this baseline stays inside it)
LIMITS: dict[str, tuple[str, Holds]] = {
    "minimum": ("at least {limit:g}", lambda value, limit, base: value >= limit - ROUNDING),
    "maximum": ("at most {limit:g}", lambda value, limit, base: value <= limit + ROUNDING),
    "below": ("below {limit:g}", lambda value, limit, base: value < limit),
    "max_drop": (
        "down by at most {limit:g}",
        lambda value, limit, base: base - value <= limit + ROUNDING,
    ),
}

# The names that gates of graded sets use for the same figures.
ALIASES = {
    "latency_mean": "avg_latency_ms",
    "latency_p50": "p50_latency_ms",
    "latency_p95": "p95_latency_ms",
}
SHARES = frozenset((*RATES, "mrr_at_k", "recall_at_k"))
GRADED_ONLY = ("min_judged", "significance")


def evaluate_gates(
    results: Mapping[str, Any],
    baseline: Mapping[str, Any] | None = None,
    policy: Sequence[Mapping[str, Any]] = DEFAULT_POLICY,
) -> list[dict[str, Any]]:
    """Each gate with its value and status: pass, fail or skipped (no value, or no baseline to
    compare with).

    A gate names a measure, one or more limits (`minimum`, `maximum`, `below`, `max_drop`) and, if
    wanted, a slice such as `category:talousarvio` and `min_queries`. Failed calls fail a check of
    their own."""
    checks = [check for gate in policy for check in _checks(gate, results, baseline)]
    if failed := results["overall"].get("n_failed"):
        checks.append(
            {
                "name": "calls",
                "measure": "n_failed",
                "slice": "",
                "value": failed,
                "kind": "maximum",
                "bound": 0,
                "limit": "at most 0",
                "status": "fail",
                "message": f"calls: the engine failed on {failed} questions",
            }
        )
    return checks


def is_golden_measure(name: str) -> bool:
    """Whether a gate on this measure is about golden sets."""
    return name in FIGURES


def _checks(
    gate: Mapping[str, Any], results: Mapping[str, Any], baseline: Mapping[str, Any] | None
) -> Iterator[dict[str, Any]]:
    stated = str(gate["measure"])
    measure = ALIASES.get(stated, stated)
    part = "" if gate.get("slice") in (None, "overall") else str(gate["slice"])
    name = str(gate.get("name") or (f"{stated} of {part}" if part else stated))
    _refuse_mistakes(gate, name, measure, part, results)
    kinds = [kind for kind in LIMITS if gate.get(kind) is not None]
    for kind in kinds:
        yield _check(gate, kind, name, measure, part, results, baseline)


def _refuse_mistakes(
    gate: Mapping[str, Any], name: str, measure: str, part: str, results: Mapping[str, Any]
) -> None:
    """A gate that is written wrong would never fail: it must not pass quietly."""
    if measure not in FIGURES:
        raise InputError(
            f"gate {name!r}: a golden set has no measure {measure!r}",
            hint=f"It has {', '.join(FIGURES)}.",
        )
    if not any(gate.get(kind) is not None for kind in LIMITS):
        raise InputError(f"gate {name!r} has no limit", hint=f"Give one of {', '.join(LIMITS)}.")
    outside = [
        kind
        for kind in LIMITS
        if (limit := gate.get(kind)) is not None and not _possible(measure, limit)
    ]
    if outside:
        raise InputError(
            f"gate {name!r}: {outside[0]} is {gate[outside[0]]:g}, which {measure} cannot be held to",
            hint="Rates are shares: 0.95 is 95%, and a drop of 0.02 is two points.",
        )
    if foreign := [key for key in GRADED_ONLY if gate.get(key) is not None]:
        raise InputError(
            f"gate {name!r}: {foreign[0]} is for graded sets, and {measure} is a figure of golden sets"
        )
    kind, _, slice_name = part.partition(":")
    if part and slice_name not in results.get(f"by_{kind}", {}):
        known = [
            f"{key[3:]}:{name}" for key in results if key.startswith("by_") for name in results[key]
        ]
        hint = (
            f"There are {', '.join(known)}."
            if known
            else "The questions state no category, test_type or language."
        )
        raise InputError(f"gate {name!r}: no question is in slice {part!r}", hint=hint)


def _possible(measure: str, limit: float) -> bool:
    """Whether a value can be on either side of the limit: 95 instead of 0.95 would decide before
    the run."""
    return isfinite(limit) and (measure not in SHARES or 0 <= limit <= 1)


def _check(
    gate: Mapping[str, Any],
    kind: str,
    name: str,
    measure: str,
    part: str,
    results: Mapping[str, Any],
    baseline: Mapping[str, Any] | None,
) -> dict[str, Any]:
    words, holds = LIMITS[kind]
    limit = float(gate[kind])
    value = _value(results, part, measure)
    base = _value(baseline, part, measure) if kind == "max_drop" and baseline is not None else None
    row = {
        "name": name,
        "measure": measure,
        "slice": part,
        "value": value,
        "kind": kind,
        "bound": limit,
        "baseline": base,
        "limit": words.format(limit=limit),
    }
    what = f"{measure} of {part}" if part else measure
    what = f"{name}: {what}" if gate.get("name") else what
    if doubt := _doubt(gate, kind, value, base, _count(results, part, measure)):
        return row | {"status": "skipped", "message": f"{what}: {doubt}"}
    assert value is not None
    before = f" from {base:.4g}" if base is not None else ""
    status = "pass" if holds(value, limit, base if base is not None else value) else "fail"
    return row | {
        "status": status,
        "message": f"{what} is {value:.4g}, asked: {row['limit']}{before}",
    }


def _doubt(
    gate: Mapping[str, Any], kind: str, value: float | None, base: float | None, n: int | None
) -> str:
    """Why the gate cannot be told."""
    if value is None:
        return "there is no value"
    if kind == "max_drop" and base is None:
        return "there is no baseline"
    if gate.get("min_queries") is not None and n is not None and n < gate["min_queries"]:
        return f"{n} questions, {gate['min_queries']} needed"
    return ""


def _value(results: Mapping[str, Any], part: str, measure: str) -> float | None:
    value = _figures(results, part).get(measure)
    return None if value is None else float(value)


def _count(results: Mapping[str, Any], part: str, measure: str) -> int | None:
    return _figures(results.get("n", {}), part).get(measure)


def _figures(results: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    kind, _, name = part.partition(":")
    found: Mapping[str, Any] = (
        results.get(f"by_{kind}", {}).get(name, {}) if part else results.get("overall", {})
    )
    return found
