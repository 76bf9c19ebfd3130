"""Figures over time, and documents that moved between two rankings. Drawings without a scale of
their own: places are shares of the room there is, so that letters keep their size on a phone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

COLOURS = ("accent", "two", "one", "published", "bad", "zero")
DASHES = ("", "6 4", "2 4", "10 4", "6 2 2 2", "3 3")
LEFT, RIGHT, TOP, BOTTOM = 9.0, 97.0, 6.0, 86.0  # per cent of the drawing
TALL = 230
ROW, GAP = 96, 8  # pixels of a document in a ranking with the gap below it, as in the style sheet


@dataclass(frozen=True, kw_only=True)
class Point:
    """A figure with its interval at a place of the time axis."""

    place: float  # seconds since the first
    value: float
    low: float | None
    high: float | None
    label: str
    link: str


@dataclass(frozen=True, kw_only=True)
class Line:
    name: str
    points: Sequence[Point]


def time_chart(
    lines: Sequence[Line],
    *,
    label: str,
    ends: tuple[str, str],
    rtl: bool = False,
    decimal: str = ".",
) -> Markup:
    """Every line in a colour and a dash of its own, as `swatch` shows it; `ends` are the first and
    the last day. Time goes the way of reading: with `rtl` from right to left."""
    points = [point for line in lines for point in line.points]
    last = max((point.place for point in points), default=0)
    bounds = [
        value
        for point in points
        for value in (point.value, point.low, point.high)
        if value is not None
    ]
    floor, roof = _range(bounds)

    def across(place: float) -> str:
        return f"{_side(LEFT + (RIGHT - LEFT) * (place / last if last else 0.5), rtl):.2f}%"

    def up(value: float) -> str:
        return f"{BOTTOM - (BOTTOM - TOP) * (value - floor) / (roof - floor):.2f}%"

    shapes = [_grid(value, up(value), rtl, decimal) for value in _ticks(floor, roof)]
    for number, line in enumerate(lines):
        shapes += _line(line, number, across, up)
    begins, stops = ("end", "start") if rtl else ("start", "end")
    days = Markup(
        '<text x="{}%" y="98%" class="tick" text-anchor="{}">{}</text>'
        '<text x="{}%" y="98%" class="tick" text-anchor="{}">{}</text>'
    ).format(_side(LEFT, rtl), begins, ends[0], _side(RIGHT, rtl), stops, ends[1] if last else "")
    return Markup(
        '<svg class="chart" width="100%" height="{}" role="group" aria-label="{}" direction="ltr">'
        "{}{}</svg>"
    ).format(TALL, label, Markup("").join(shapes), days)


def swatch(number: int) -> Markup:
    """The sign of a line in its legend."""
    return Markup(
        '<svg class="swatch" width="26" height="10" aria-hidden="true"><line x1="0" x2="26" y1="5" '
        'y2="5" stroke="var(--{})" stroke-width="3" stroke-dasharray="{}"/></svg>'
    ).format(COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)])


def _range(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    floor = max(0.0, math.floor(min(values) * 10) / 10)
    roof = min(1.0, math.ceil(max(values) * 10) / 10)
    return (floor, roof) if roof - floor >= 0.1 else (max(0.0, floor - 0.1), min(1.0, roof + 0.1))


def _ticks(floor: float, roof: float) -> list[float]:
    step = 0.1 if roof - floor <= 0.55 else 0.2
    count = round((roof - floor) / step)
    return [round(floor + step * place, 2) for place in range(count + 1)]


def _side(place: float, rtl: bool) -> float:
    return 100 - place if rtl else place


def _grid(value: float, y: str, rtl: bool, decimal: str) -> Markup:
    text = f"{value:.1f}" if 0 < value < 1 else f"{value:.0f}"
    text = text.replace("0.", ".") if decimal == "." else text.replace(".", decimal)
    return Markup(
        '<line x1="{}%" x2="{}%" y1="{}" y2="{}" stroke="var(--line)"/>'
        '<text x="{}%" y="{}" dy="4" class="tick" text-anchor="{}">{}</text>'
    ).format(
        _side(LEFT, rtl),
        _side(RIGHT, rtl),
        y,
        y,
        _side(1, rtl),
        y,
        "end" if rtl else "start",
        text,
    )


def _line(
    line: Line, number: int, across: Callable[[float], str], up: Callable[[float], str]
) -> list[Markup]:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    spots = [(across(point.place), up(point.value), point) for point in line.points]
    shapes = [
        Markup(
            '<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="var(--{})" stroke-width="2.5" '
            'stroke-dasharray="{}" pointer-events="none"/>'
        ).format(one[0], one[1], other[0], other[1], colour, dash)
        for one, other in pairwise(spots)
    ]
    for x, y, point in spots:
        if point.low is not None and point.high is not None:
            shapes.append(
                Markup(
                    '<line x1="{}" x2="{}" y1="{}" y2="{}" stroke="var(--{})" stroke-width="7" '
                    'opacity=".18" pointer-events="none"/>'
                ).format(x, x, up(point.low), up(point.high), colour)
            )
        shapes.append(
            Markup(
                '<a href="{}" tabindex="-1" aria-hidden="true"><circle cx="{}" cy="{}" r="5" '
                'fill="var(--{})"><title>{}</title></circle></a>'
            ).format(point.link, x, y, colour, point.label)
        )
    return shapes


def moves(pairs: Sequence[tuple[int, int]], rows: int) -> Markup:
    """Lines from a rank on one side to a rank on the other, both counted from 1."""
    paths = [
        Markup(
            '<path d="M0 {} C50 {} 50 {} 100 {}" class="{}" vector-effect="non-scaling-stroke"/>'
        ).format(_middle(one), _middle(one), _middle(other), _middle(other), _way(one, other))
        for one, other in pairs
    ]
    tall = rows * ROW
    return Markup(
        '<svg class="moves" viewBox="0 0 100 {}" height="{}" preserveAspectRatio="none" '
        'aria-hidden="true">{}</svg>'
    ).format(tall, tall, Markup("").join(paths))


def _middle(rank: int) -> float:
    return (rank - 0.5) * ROW - GAP / 2


def _way(one: int, other: int) -> str:
    return "level" if one == other else "rise" if other < one else "fall"
