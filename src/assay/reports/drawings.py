"""SVG drawings of figures: intervals, changes, histograms, charts over time and moved documents.

Marks on a page hold no text: names and figures are HTML beside them, and positions are shares of
the width, so that letters keep their size on a phone. A picture for a notebook or a file stands
alone, with names, values and colours of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from assay.core.results import Bounds
from assay.evaluation.statistics import rate_interval
from assay.reports.numbers import decimal, signed

BARS = 24  # of a histogram of latencies: taste
BANDS, FEWEST = 5, 10  # of scores; fewer first hits show nothing (taste)
HISTOGRAM = 64  # pixels high; taste
# the usual percentiles of a latency, and sizes in pixels; taste
MARKS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
PICTURE_WIDTH, LABEL_WIDTH, MARK_WIDTH, PICTURE_ROW, PICTURE_TOP = 800, 190, 360, 30, 46
PICTURE_COLOURS = {"dot": "#2563eb", "line": "#d4d4d8", "fg": "#18181b", "soft": "#71717a"}
PICTURE_FONT = "font-family='system-ui,sans-serif' font-size='13' fill='#18181b'"
LONGEST_NAME = 26  # characters of a name; taste
LINE_COLOURS = ("accent", "two", "one", "published", "bad", "zero")
LINE_DASHES = ("", "6 4", "2 4", "10 4", "6 2 2 2", "3 3")
LEFT, RIGHT, TOP, BOTTOM = 9.0, 97.0, 6.0, 86.0  # per cent of the drawing; taste
DODGE = 7  # pixels between the lines of a chart; taste
CHART_HEIGHT = 230  # pixels; taste
RANKED_ROW, RANKED_GAP = 96, 8  # pixels of a ranked document and the gap below, as in the CSS


# ── marks on a page ───────────────────────────────────────────────────────────────────────────────


def range_mark(value: float, bounds: Sequence[float | None], tick: float | None = None) -> Markup:
    """A dot on a line from 0 to 1, with its interval and, as a tick, what it was before."""
    shapes = [
        f'<line x1="{x}%" y1="0" x2="{x}%" y2="26" stroke="var(--line)"/>'
        for x in range(0, 101, 20)
    ]
    low, high = bounds
    if low is not None and high is not None:
        shapes.append(
            f'<line x1="{100 * low:.2f}%" y1="13" x2="{100 * high:.2f}%" y2="13" '
            'stroke="var(--dot)" stroke-width="4" stroke-linecap="round" opacity=".5"/>'
        )
    if tick is not None:
        shapes.append(
            f'<line x1="{100 * tick:.2f}%" y1="4" x2="{100 * tick:.2f}%" y2="22" '
            'stroke="var(--fg)" stroke-width="2.5"/>'
        )
    shapes.append(f'<circle cx="{100 * value:.2f}%" cy="13" r="6" fill="var(--dot)"/>')
    return _svg(26, shapes)


def change_mark(difference: float, low: float | None, high: float | None, reach: float) -> Markup:
    """A difference with its interval on a line whose middle is no change and whose ends are
    `reach`."""

    def place(value: float) -> str:
        return f"{50 + 50 * max(-1.0, min(1.0, value / reach)):.2f}%"

    shapes = ['<line x1="50%" y1="0" x2="50%" y2="22" stroke="var(--soft)"/>']
    if low is not None and high is not None:
        shapes.append(
            f'<line x1="{place(low)}" y1="11" x2="{place(high)}" y2="11" stroke="var(--dot)" '
            'stroke-width="4" stroke-linecap="round" opacity=".5"/>'
        )
    shapes.append(f'<circle cx="{place(difference)}" cy="11" r="5" fill="var(--dot)"/>')
    return _svg(22, shapes)


def sorted_bars(changes: Sequence[float]) -> Markup:
    """A bar for every query, the largest gain first: above the line what rose, below what fell."""
    ordered = sorted(changes, reverse=True)
    reach = max(map(abs, ordered), default=0.0) or 1.0
    middle, bar = HISTOGRAM / 2, 100 / max(len(ordered), 1)
    gap = min(bar / 5, 0.2)
    shapes = [f'<line x1="0" y1="{middle}" x2="100%" y2="{middle}" stroke="var(--soft)"/>']
    for place, change in enumerate(ordered):
        height = (middle - 1) * abs(change) / reach
        top = middle - height if change > 0 else middle
        shapes.append(
            f'<rect x="{place * bar + gap:.3f}%" y="{top:.1f}" width="{bar - 2 * gap:.3f}%" '
            f'height="{height:.1f}" fill="var(--{"good" if change > 0 else "bad"})"/>'
        )
    return _svg(HISTOGRAM, shapes)


@dataclass(frozen=True, kw_only=True)
class ScoreBand:
    """First hits whose score is in a band: how many, their mean score, how many were right, and a
    drawing with the mean score as a tick."""

    low: float
    high: float
    n: int
    stated: float
    right: int
    bounds: tuple[float, float]
    drawing: Markup


def score_bands(hits: Sequence[tuple[float, bool]]) -> list[ScoreBand]:
    """Whether scores say how sure an engine is: (score, right) of first hits. None where scores are
    no shares, or too few to tell."""
    if len(hits) < FEWEST or not all(0 <= score <= 1 for score, _ in hits):
        return []
    found = []
    for band in range(BANDS):
        some = [hit for hit in hits if min(int(hit[0] * BANDS), BANDS - 1) == band]
        if not some:
            continue
        right = sum(is_right for _, is_right in some)
        stated = sum(score for score, _ in some) / len(some)
        interval = rate_interval(right, len(some))
        bounds = (interval.low or 0.0, 1.0 if interval.high is None else interval.high)
        found.append(
            ScoreBand(
                low=band / BANDS,
                high=(band + 1) / BANDS,
                n=len(some),
                stated=stated,
                right=right,
                bounds=bounds,
                drawing=range_mark(right / len(some), bounds, stated),
            )
        )
    return found


@dataclass(frozen=True, kw_only=True)
class LatencyChart:
    """How long answers took, in milliseconds: a histogram, and its figures."""

    drawing: Markup
    n: int
    low: float
    high: float
    step: float  # the width of a bar
    max: float
    marks: dict[str, float]
    beyond: int  # answers that took longer than the last bar begins


def latency_chart(latencies: Sequence[float]) -> LatencyChart | None:
    """A histogram with p50, p95 and p99 drawn in. The last bar holds everything beyond p99, so that
    one slow answer does not flatten the rest."""
    values = sorted(latencies)
    if len(values) < 2:
        return None
    marks = {name: _quantile(values, share) for name, share in MARKS.items()}
    low, high = values[0], max(marks["p99"], values[0] + 1e-9)
    return LatencyChart(
        drawing=_histogram(values, low, high, marks),
        n=len(values),
        low=low,
        high=high,
        step=(high - low) / BARS,
        max=values[-1],
        marks=marks,
        beyond=sum(value > high for value in values),
    )


def _quantile(values: Sequence[float], share: float) -> float:
    """Between the two nearest of the sorted values, as numpy does it, to the last bit."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    weight = place - below
    gap = values[above] - values[below]
    if weight >= 0.5:
        return values[above] - gap * (1 - weight)
    return values[below] + gap * weight


def _histogram(values: Sequence[float], low: float, high: float, marks: dict[str, float]) -> Markup:
    counts = [0] * BARS
    for value in values:
        counts[min(int((min(value, high) - low) / (high - low) * BARS), BARS - 1)] += 1
    most, bar = max(counts), 100 / BARS
    shapes = [
        f'<rect x="{place * bar + 0.2:.2f}%" y="{HISTOGRAM - HISTOGRAM * count / most:.1f}" '
        f'width="{bar - 0.4:.2f}%" height="{HISTOGRAM * count / most:.1f}" '
        'fill="var(--dot)" opacity=".6"/>'
        for place, count in enumerate(counts)
        if count
    ]
    for value in marks.values():
        x = f"{100 * (value - low) / (high - low):.2f}%"
        shapes.append(
            f'<line x1="{x}" y1="0" x2="{x}" y2="{HISTOGRAM}" stroke="var(--fg)" stroke-width="2" '
            'stroke-dasharray="4 3"/>'
        )
    return _svg(HISTOGRAM, shapes)


def _svg(height: int, shapes: Sequence[str]) -> Markup:
    return Markup(f'<svg width="100%" height="{height}" aria-hidden="true">{"".join(shapes)}</svg>')


# ── pictures that stand alone ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class PictureBar:
    """One figure with its interval."""

    name: str
    value: float
    bounds: Bounds = (None, None)


def picture_of(title: str, bars: Sequence[PictureBar]) -> str:
    """Every figure on a line from 0 to 1."""
    rows = [(bar, range_mark(bar.value, bar.bounds), decimal(bar.value)) for bar in bars]
    rows_with_spans = [(bar, mark, _with_bounds(span, bar)) for bar, mark, span in rows]
    return _picture(title, rows_with_spans, ("0", "1"))


def changes_of(title: str, bars: Sequence[PictureBar]) -> str:
    """Every difference on a line whose middle is no change."""
    ends = [abs(end) for bar in bars for end in (bar.value, *bar.bounds) if end is not None]
    reach = max(ends, default=0.0) or 1.0
    rows = [
        (
            bar,
            change_mark(bar.value, *bar.bounds, reach),
            _with_bounds(signed(bar.value), bar, signed),
        )
        for bar in bars
    ]
    return _picture(title, rows, (f"{-reach:.2f}", f"{reach:+.2f}"))


def _with_bounds(span: str, bar: PictureBar, write: Callable[[float | None], str] = decimal) -> str:
    low, high = bar.bounds
    if low is None or high is None:
        return span
    return f"{span}  ({write(low)} to {write(high)})"


def _picture(
    title: str, rows: Sequence[tuple[PictureBar, Markup, str]], ends: tuple[str, str]
) -> str:
    shapes = [
        Markup(
            '<text x="8" y="{}">{}</text><svg x="{}" y="{}" width="{}" height="26">{}</svg>'
            '<text x="{}" y="{}">{}</text>'
        ).format(
            PICTURE_TOP + PICTURE_ROW * place + 17,
            bar.name if len(bar.name) <= LONGEST_NAME else f"{bar.name[: LONGEST_NAME - 1]}…",
            LABEL_WIDTH,
            PICTURE_TOP + PICTURE_ROW * place,
            MARK_WIDTH,
            mark,
            LABEL_WIDTH + MARK_WIDTH + 14,
            PICTURE_TOP + PICTURE_ROW * place + 17,
            span,
        )
        for place, (bar, mark, span) in enumerate(rows)
    ]
    height = PICTURE_TOP + PICTURE_ROW * len(rows) + 8
    head = Markup(
        '<text x="8" y="20" font-weight="600">{}</text><g font-size="11" fill="#71717a">'
        '<text x="{}" y="40">{}</text><text x="{}" y="40" text-anchor="end">{}</text></g>'
    ).format(title, LABEL_WIDTH, ends[0], LABEL_WIDTH + MARK_WIDTH, ends[1])
    drawn = str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" '
            'height="{h}" role="img" aria-label="{title}" style="background:#fff">'
            "<g {font}>{head}{shapes}</g></svg>"
        ).format(
            w=PICTURE_WIDTH,
            h=height,
            title=title,
            font=Markup(PICTURE_FONT),
            head=head,
            shapes=Markup("").join(shapes),
        )
    )
    # a page defines these colours as variables, a file alone has none
    for name, colour in PICTURE_COLOURS.items():
        drawn = drawn.replace(f"var(--{name})", colour)
    return drawn


# ── charts over time ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class ChartPoint:
    """A figure with its interval at a place of the time axis."""

    place: float  # seconds since the first
    value: float
    low: float | None
    high: float | None
    label: str
    link: str


@dataclass(frozen=True, kw_only=True)
class ChartLine:
    name: str
    points: Sequence[ChartPoint]


def time_chart(
    lines: Sequence[ChartLine],
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
    floor, roof = _value_range(bounds)

    def across(place: float) -> str:
        return f"{_side(LEFT + (RIGHT - LEFT) * (place / last if last else 0.5), rtl):.2f}%"

    def up(value: float) -> str:
        return f"{BOTTOM - (BOTTOM - TOP) * (value - floor) / (roof - floor):.2f}%"

    shapes = [_grid_line(value, up(value), rtl, decimal) for value in _ticks(floor, roof)]
    for number, line in enumerate(lines):  # side by side, so that intervals do not cover each other
        beside = DODGE * (number - (len(lines) - 1) / 2)
        drawn = Markup("").join(_line_shapes(line, number, across, up))
        shapes.append(Markup('<g transform="translate({:g} 0)">{}</g>').format(beside, drawn))
    begins, stops = ("end", "start") if rtl else ("start", "end")
    days = Markup(
        '<text x="{}%" y="98%" class="tick" text-anchor="{}">{}</text>'
        '<text x="{}%" y="98%" class="tick" text-anchor="{}">{}</text>'
    ).format(_side(LEFT, rtl), begins, ends[0], _side(RIGHT, rtl), stops, ends[1] if last else "")
    return Markup(
        '<svg class="chart" width="100%" height="{}" role="group" aria-label="{}" direction="ltr">'
        "{}{}</svg>"
    ).format(CHART_HEIGHT, label, Markup("").join(shapes), days)


def swatch(number: int) -> Markup:
    """The sign of a line in its legend."""
    return Markup(
        '<svg class="swatch" width="26" height="10" aria-hidden="true"><line x1="0" x2="26" y1="5" '
        'y2="5" stroke="var(--{})" stroke-width="3" stroke-dasharray="{}"/></svg>'
    ).format(LINE_COLOURS[number % len(LINE_COLOURS)], LINE_DASHES[number % len(LINE_DASHES)])


def _value_range(values: Sequence[float]) -> tuple[float, float]:
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


def _grid_line(value: float, y: str, rtl: bool, decimal: str) -> Markup:
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


def _line_shapes(
    line: ChartLine, number: int, across: Callable[[float], str], up: Callable[[float], str]
) -> list[Markup]:
    colour, dash = LINE_COLOURS[number % len(LINE_COLOURS)], LINE_DASHES[number % len(LINE_DASHES)]
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
                    '<line x1="{}" x2="{}" y1="{}" y2="{}" stroke="var(--{})" stroke-width="1.5" '
                    'opacity=".75" pointer-events="none"/>'
                ).format(x, x, up(point.low), up(point.high), colour)
            )
        shapes.append(
            Markup(
                '<a href="{}" tabindex="-1" aria-hidden="true"><circle cx="{}" cy="{}" r="5" '
                'fill="var(--{})"><title>{}</title></circle></a>'
            ).format(point.link, x, y, colour, point.label)
        )
    return shapes


def rank_moves(pairs: Sequence[tuple[int, int]], rows: int) -> Markup:
    """Lines from a rank on one side to a rank on the other, both counted from 1."""
    paths = [
        Markup(
            '<path d="M0 {} C50 {} 50 {} 100 {}" class="{}" vector-effect="non-scaling-stroke"/>'
        ).format(_middle(one), _middle(one), _middle(other), _middle(other), _direction(one, other))
        for one, other in pairs
    ]
    tall = rows * RANKED_ROW
    return Markup(
        '<svg class="moves" viewBox="0 0 100 {}" height="{}" preserveAspectRatio="none" '
        'aria-hidden="true">{}</svg>'
    ).format(tall, tall, Markup("").join(paths))


def _middle(rank: int) -> float:
    return (rank - 0.5) * RANKED_ROW - RANKED_GAP / 2


def _direction(one: int, other: int) -> str:
    return "level" if one == other else "rise" if other < one else "fall"
