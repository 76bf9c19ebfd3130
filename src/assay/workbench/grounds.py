"""What the signals of our engine say for a result, one reason each, for those who want to know."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.search.answers import FoundDocument

Strength = Literal["strong", "some", "little"]


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a result is here: one signal of the engine, how much it says, and the words or
    citations that it is about."""

    kind: str
    strength: Strength
    value: float
    words: tuple[str, ...] = ()


# A signal of the engine, what it is called here, and from where on it says some and much.
SIGNALS = {
    "full": ("words", 0.4, 0.8),
    "coverage": ("words", 0.4, 0.8),
    "short": ("answers", 0.4, 0.8),
    "dense": ("meaning", 0.3, 0.5),
    "citation": ("citations", 0.3, 0.9),
    "named": ("named", 0.1, 0.5),
    "act": ("act", 0.3, 0.6),
    "feedback": ("company", 0.6, 0.9),
}


def reasons(found: FoundDocument) -> tuple[Reason, ...]:
    """The strongest first; what says little is left out, unless nothing says more."""
    every = []
    for signal, (kind, some, strong) in SIGNALS.items():
        value = found.signals.get(signal, 0.0)
        if value <= 0:
            continue
        strength: Strength = "strong" if value >= strong else "some" if value >= some else "little"
        words = {"words": tuple(found.words[:8]), "citations": tuple(found.citations[:8])}
        every.append(
            Reason(kind=kind, strength=strength, value=round(value, 2), words=words.get(kind, ()))
        )
    order: list[Strength] = ["strong", "some", "little"]
    telling = [reason for reason in every if reason.strength != "little"] or every[:1]
    return tuple(sorted(telling, key=lambda reason: order.index(reason.strength)))
