"""Figures as text."""

from __future__ import annotations


def decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def signed(value: float | None, digits: int = 3) -> str:
    """With its sign; what rounds to nothing has none."""
    if value is None:
        return "–"
    return f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"


def change_span(low: float | None, high: float | None) -> str:
    """The interval of a change."""
    return "too few" if low is None or high is None else f"{signed(low)} to {signed(high)}"


def p_value(value: float) -> str:
    """A p-value is never nothing."""
    return f"{value:.3f}" if value >= 0.0005 else "<0.001"


def short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
