"""Figures as one drawing that stands alone: names, values and the marks of the reports, as SVG that
a notebook shows and a file keeps. Nothing in it moves, and it loads nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.core.results import Bounds
from assay.reports.drawings import change_mark, range_mark
from assay.reports.numbers import decimal, signed

WIDTH, LABEL, MARK, ROW, TOP = 800, 190, 360, 30, 46  # pixels
COLOURS = {"dot": "#2563eb", "line": "#d4d4d8", "fg": "#18181b", "soft": "#71717a"}
FONT = "font-family='system-ui,sans-serif' font-size='13' fill='#18181b'"
LONGEST = 26  # characters of a name


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One figure with its interval."""

    name: str
    value: float
    bounds: Bounds = (None, None)


def picture_of(title: str, bars: Sequence[Bar]) -> str:
    """Every figure on a line from 0 to 1."""
    rows = [(bar, range_mark(bar.value, bar.bounds), decimal(bar.value)) for bar in bars]
    told = [(bar, mark, _beside(said, bar)) for bar, mark, said in rows]
    return _drawn(title, told, ("0", "1"))


def changes_of(title: str, bars: Sequence[Bar]) -> str:
    """Every difference on a line whose middle is no change."""
    ends = [abs(end) for bar in bars for end in (bar.value, *bar.bounds) if end is not None]
    reach = max(ends, default=0.0) or 1.0
    rows = [
        (bar, change_mark(bar.value, *bar.bounds, reach), _beside(signed(bar.value), bar, signed))
        for bar in bars
    ]
    return _drawn(title, rows, (f"{-reach:.2f}", f"{reach:+.2f}"))


def _beside(said: str, bar: Bar, write: Callable[[float | None], str] = decimal) -> str:
    low, high = bar.bounds
    if low is None or high is None:
        return said
    return f"{said}  ({write(low)} to {write(high)})"


def _drawn(title: str, rows: Sequence[tuple[Bar, Markup, str]], ends: tuple[str, str]) -> str:
    shapes = [
        Markup(
            '<text x="8" y="{}">{}</text><svg x="{}" y="{}" width="{}" height="26">{}</svg>'
            '<text x="{}" y="{}">{}</text>'
        ).format(
            TOP + ROW * place + 17,
            bar.name if len(bar.name) <= LONGEST else f"{bar.name[: LONGEST - 1]}…",
            LABEL,
            TOP + ROW * place,
            MARK,
            mark,
            LABEL + MARK + 14,
            TOP + ROW * place + 17,
            said,
        )
        for place, (bar, mark, said) in enumerate(rows)
    ]
    height = TOP + ROW * len(rows) + 8
    head = Markup(
        '<text x="8" y="20" font-weight="600">{}</text><g font-size="11" fill="#71717a">'
        '<text x="{}" y="40">{}</text><text x="{}" y="40" text-anchor="end">{}</text></g>'
    ).format(title, LABEL, ends[0], LABEL + MARK, ends[1])
    drawn = str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" '
            'height="{h}" role="img" aria-label="{title}" style="background:#fff">'
            "<g {font}>{head}{shapes}</g></svg>"
        ).format(
            w=WIDTH,
            h=height,
            title=title,
            font=Markup(FONT),
            head=head,
            shapes=Markup("").join(shapes),
        )
    )
    for name, colour in COLOURS.items():  # a page has these as variables, a file alone has none
        drawn = drawn.replace(f"var(--{name})", colour)
    return drawn
