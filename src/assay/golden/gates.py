"""The gates of the golden suite: a policy as data, and one pure function from figures to checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ROUNDING = 1e-9  # 0.95 - 0.93 is a little more than 0.02 in floating point

DEFAULT_POLICY: tuple[Mapping[str, Any], ...] = (
    {"name": "A", "measure": "pass_rate_must", "minimum": 0.95},
    {"name": "B", "measure": "pass_rate_total", "minimum": 0.90},
    {"name": "C", "measure": "avg_latency_ms", "below": 150.0},
    {"name": "D", "measure": "pass_rate_must", "max_drop": 0.02},
)

# limit: (the words, whether value and baseline stay inside it)
LIMITS: dict[str, tuple[str, Any]] = {
    "minimum": ("at least {limit:g}", lambda value, limit, base: value >= limit - ROUNDING),
    "maximum": ("at most {limit:g}", lambda value, limit, base: value <= limit + ROUNDING),
    "below": ("below {limit:g}", lambda value, limit, base: value < limit),
    "max_drop": (
        "down by at most {limit:g} from {base:.4g}",
        lambda value, limit, base: base - value <= limit + ROUNDING,
    ),
}


def evaluate_gates(
    results: Mapping[str, Any],
    baseline: Mapping[str, Any] | None = None,
    policy: Sequence[Mapping[str, Any]] = DEFAULT_POLICY,
) -> list[dict[str, Any]]:
    """Each gate with its value and status: pass, fail or skipped (no value, or no baseline to compare with).

    A gate names a measure, a limit (`minimum`, `maximum`, `below` or `max_drop`) and, if wanted, a slice such as
    `category:talousarvio`. Failed calls fail a check of their own."""
    checks = [_check(gate, results, baseline) for gate in policy]
    if failed := results["overall"].get("n_failed"):
        checks.append({"name": "calls", "measure": "n_failed", "slice": "", "value": failed, "limit": "0",
                       "status": "fail", "message": f"the engine failed on {failed} questions"})  # fmt: skip
    return checks


def _check(gate: Mapping[str, Any], results: Mapping[str, Any], baseline: Mapping[str, Any] | None) -> dict[str, Any]:
    measure, part = str(gate["measure"]), str(gate.get("slice", ""))
    kind = next(kind for kind in LIMITS if kind in gate)
    words, holds = LIMITS[kind]
    limit = float(gate[kind])
    value = _value(results, part, measure)
    base = _value(baseline, part, measure) if baseline is not None else None
    name = f"{measure} of {part}" if part else measure
    row = {
        "name": gate.get("name", name),
        "measure": measure,
        "slice": part,
        "value": value,
        "limit": f"{kind} {limit:g}",
    }
    if value is None or (kind == "max_drop" and base is None):
        why = "there is no value" if value is None else "there is no baseline"
        return row | {"status": "skipped", "message": f"{name}: {why}"}
    status = "pass" if holds(value, limit, base) else "fail"
    return row | {"status": status, "message": f"{name} is {value:.4g}, asked: {words.format(limit=limit, base=base)}"}


def _value(results: Mapping[str, Any], part: str, measure: str) -> float | None:
    kind, _, name = part.partition(":")
    figures = results.get(f"by_{kind}", {}).get(name, {}) if part else results.get("overall", {})
    value = figures.get(measure)
    return None if value is None else float(value)
