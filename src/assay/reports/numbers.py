"""Numbers as text: plain functions for English, and `Numbers` for any language."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from assay.reports.words import Words

COUNTS = ("total", "n_failed", "n_variants")  # golden figures that are whole numbers
PASS = "pass"  # whether a question passed, of which the mean is a rate
SHARES = (PASS, "recall_at_k")  # that are not called rates

Bounds = Sequence[float | None] | None


def decimal(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """A number with its sign; one that rounds to zero has none."""
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


def is_rate(name: str) -> bool:
    """Whether a figure is told in per cent, and its change in points: a share of questions. All
    others are decimals, wherever they are told."""
    return "rate" in name or name in SHARES


class Numbers:
    """Figures as text in one language: Finnish has a decimal comma, and in Hebrew the sign of a
    figure is kept before it."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._signs = str.maketrans(
            {".": words("language.decimal"), ",": words("language.thousands")}
        )

    def local(self, text: str) -> str:
        """A figure as English writes it, as this language does."""
        return self._words.isolated(text.translate(self._signs))

    def decimal(self, value: float | None, digits: int = 3) -> str:
        return self.local(decimal(value, digits))

    def signed(self, value: float | None, digits: int = 3) -> str:
        return self.local(signed(value, digits))

    def whole(self, value: int) -> str:
        return self.local(f"{value:,}")

    def moment(self, timestamp: str) -> str:
        """When it was, as the language writes it: 16.11.2026 klo 2.41 UTC."""
        try:
            at = datetime.fromisoformat(timestamp)
        except ValueError:
            return timestamp
        zone = " UTC" if at.utcoffset() == timedelta(0) else ""
        if self._words.is_english:
            return f"{at:%Y-%m-%d %H:%M}{zone}"
        shape = str(self._words.entry("language.moment"))
        fields = {"day": at.day, "month": at.month, "year": at.year, "hour": at.hour}
        return self._words.isolated(shape.format(minute=f"{at.minute:02}", **fields) + zone)

    def day(self, text: str) -> str:
        """A date as the language writes it: 1.5.2015. Anything else stays as it is."""
        try:
            at = date.fromisoformat(text)
        except ValueError:
            return text
        return text if self._words.is_english else f"{at.day}.{at.month}.{at.year}"

    def p_value(self, value: float) -> str:
        return self.local(p_value(value))

    def percent(self, value: float | None, digits: int = 1) -> str:
        if value is None:
            return "–"
        figure = f"{100 * value:.{digits}f}".translate(self._signs)
        return self._words.isolated(figure + self._words("language.percent"))

    def percents(self, bounds: Bounds) -> str:
        if not bounds or bounds[0] is None or bounds[1] is None:
            return "–"
        low, high = (self.percent(bound, 0) for bound in bounds)
        unit = self._words("language.percent")
        if unit.startswith(" "):  # a unit that stands apart is said once
            low = low.removesuffix(unit)
        return self._words("to", low=low, high=high)

    def span(self, bounds: Bounds) -> str:
        """An interval, or why there is none."""
        if not bounds or bounds[0] is None or bounds[1] is None:
            return self._words("no_interval")
        low, high = map(self.decimal, bounds)
        return self._words("to", low=low, high=high)

    def brief(self, bounds: Bounds) -> str:
        """An interval for a narrow column."""
        if not bounds or bounds[0] is None or bounds[1] is None:
            return "–"
        return self.local(f"{bounds[0]:.2f}–{bounds[1]:.2f}").replace("0.", ".")

    def change_span(self, low: float | None, high: float | None) -> str:
        """The interval of a change."""
        if low is None or high is None:
            return self._words("no_change_interval")
        return self._words("to_signed", low=self.signed(low), high=self.signed(high))

    def millis(self, value: float) -> str:
        text = f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
        return self.local(text) + self._words("language.millis")

    def figure(self, name: str, value: float | None) -> str:
        """A figure of a golden set: a rate in per cent, a latency in milliseconds."""
        if value is None:
            return "–"
        if is_rate(name):
            return self.percent(value)
        if "latency" in name:
            return self.local(f"{value:.1f}") + self._words("language.millis")
        return self.local(f"{value:g}" if name in COUNTS else f"{value:.3f}")

    def change_between(self, name: str, low: float | None, high: float | None) -> str:
        """The interval of such a difference, its unit said once."""
        if low is None or high is None or not is_rate(name):
            return self.change_span(low, high)
        ends = (self.local(signed(100 * end, 1)) for end in (low, high))
        return self._words("to_signed", **dict(zip(("low", "high"), ends, strict=True)))

    def change(self, name: str, value: float | None, sign: str = "") -> str:
        """A difference of two such figures: of rates in points."""
        if value is None:
            return "–"
        if is_rate(name):
            return self.local(f"{100 * value:{sign}.1f}") + self._words("golden.points")
        if "latency" in name:
            return self.local(f"{value:{sign}.1f}") + self._words("language.millis")
        return self.local(f"{value:{sign}.3f}")
