"""What is wrong with a gate for the kind of set it is held to: it would pass, or fail, whatever the
results are. It is told before an engine is asked, and again where a gate is decided."""

from __future__ import annotations

from assay.core.results import BOUNDS, DROPS, EVIDENCE, Gate
from assay.evaluation.gate_values import ALIASES
from assay.evaluation.golden_figures import FIGURES, RATES

Mistake = tuple[str, str]  # what is wrong, and a hint; both empty where nothing is

SHARES = frozenset((*RATES, "mrr_at_k", "recall_at_k"))
GRADED_ONLY = ("no_worse_than", "min_judged", "significance")


def golden_mistake(gate: Gate) -> Mistake:
    """Of a gate on a golden set, whatever its questions are."""
    measure = ALIASES.get(gate.measure, gate.measure)
    named = f"gate {gate.name or gate.measure!r}"
    if measure not in FIGURES:
        return f"{named}: a golden set has no measure {measure!r}", f"It has {', '.join(FIGURES)}."
    for name, limit in gate.stated((*BOUNDS, "max_drop")).items():
        # 95 instead of 0.95 would decide before the run
        if measure in SHARES and not 0 <= limit <= 1:
            said = f"{named}: {name} is {limit:g}, which {measure} cannot be held to"
            return said, "Rates are shares: 0.95 is 95%, and a drop of 0.02 is two points."
    if foreign := [*gate.stated(GRADED_ONLY), *_asked(gate)]:
        said = f"{foreign[0]} is for graded sets, and {measure} is a figure of golden sets"
        return f"{named}: {said}", ""
    return "", ""


def latency_mistake(gate: Gate) -> Mistake:
    """Of a gate on a latency of a graded set."""
    foreign = [*gate.stated((*DROPS, *EVIDENCE, "significance")), *_asked(gate)]
    if foreign := [*foreign, *(["slice"] if gate.slice != "overall" else [])]:
        said = f"gate on {gate.measure}: {foreign[0]} is not for a latency of a graded set"
        return said, "It is taken over all queries; give a maximum."
    return "", ""


def _asked(gate: Gate) -> list[str]:
    """What only graded measures have, beside the limits."""
    asked = {"always_valid": gate.always_valid, "unjudged": gate.unjudged}
    return [name for name, value in asked.items() if value]
