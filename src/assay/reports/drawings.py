"""Drawings that stay readable at any width. A drawing holds no text: names and figures are HTML
beside it, so that a phone does not shrink them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.evaluation.statistics import rate_interval

BARS = 24
BANDS, FEWEST = 5, 10  # of scores; fewer first hits show nothing
TALL = 64  # of the histogram, in pixels
MARKS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


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
    middle, bar = TALL / 2, 100 / max(len(ordered), 1)
    gap = min(bar / 5, 0.2)
    shapes = [f'<line x1="0" y1="{middle}" x2="100%" y2="{middle}" stroke="var(--soft)"/>']
    for place, change in enumerate(ordered):
        height = (middle - 1) * abs(change) / reach
        top = middle - height if change > 0 else middle
        shapes.append(
            f'<rect x="{place * bar + gap:.3f}%" y="{top:.1f}" width="{bar - 2 * gap:.3f}%" '
            f'height="{height:.1f}" fill="var(--{"good" if change > 0 else "bad"})"/>'
        )
    return _svg(TALL, shapes)


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
        f'<rect x="{place * bar + 0.2:.2f}%" y="{TALL - TALL * count / most:.1f}" '
        f'width="{bar - 0.4:.2f}%" height="{TALL * count / most:.1f}" '
        'fill="var(--dot)" opacity=".6"/>'
        for place, count in enumerate(counts)
        if count
    ]
    for value in marks.values():
        x = f"{100 * (value - low) / (high - low):.2f}%"
        shapes.append(
            f'<line x1="{x}" y1="0" x2="{x}" y2="{TALL}" stroke="var(--fg)" stroke-width="2" '
            'stroke-dasharray="4 3"/>'
        )
    return _svg(TALL, shapes)


def _svg(height: int, shapes: Sequence[str]) -> Markup:
    return Markup(f'<svg width="100%" height="{height}" aria-hidden="true">{"".join(shapes)}</svg>')
