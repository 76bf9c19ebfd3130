"""What the pages share: the template environment, figures as text, and drawings that stay readable
at any width.

A drawing holds no text: names and figures are HTML beside it, so that a phone does not shrink them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from markupsafe import Markup

from assay.reports.numbers import change_span, decimal, p_value, signed

BARS = 24


def span(bounds: Sequence[float | None] | None) -> str:
    if not bounds or bounds[0] is None or bounds[1] is None:
        return "too few queries for an interval"
    return f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def brief(bounds: Sequence[float | None] | None) -> str:
    """An interval for a narrow column."""
    if not bounds or bounds[0] is None or bounds[1] is None:
        return "–"
    return f"{bounds[0]:.2f}–{bounds[1]:.2f}".replace("0.", ".")


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def percents(bounds: Sequence[float | None]) -> str:
    return "–" if bounds[0] is None or bounds[1] is None else f"{bounds[0]:.0%} to {bounds[1]:.0%}"


def millis(value: float) -> str:
    return f"{value:,.1f} ms" if value < 100 else f"{value:,.0f} ms"


def grade_class(grade: int | None) -> str:
    return "" if grade is None else f"g{min(max(grade, 0), 2)}"


TEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def tex(text: str) -> str:
    return "".join(TEX.get(character, character) for character in text)


def marked(text: str) -> str:
    """Text inside Markdown: what an id or a name holds is shown, not obeyed."""
    return (
        re.sub(r"([\\`*\[\]|])", r"\\\1", text.replace("\n", " "))
        .replace("&", "&amp;")
        .replace("<", "&lt;")
    )


def attribute(text: str) -> str:
    """A quoted XML attribute; characters that XML cannot hold, such as those of terminal colours,
    become �."""
    return quoteattr(NOT_XML.sub("\ufffd", text))


FILTERS = {
    "dec": decimal,
    "signed": signed,
    "span": span,
    "brief": brief,
    "gradeclass": grade_class,
    "percent": percent,
    "percents": percents,
    "millis": millis,
    "pvalue": p_value,
    "changespan": change_span,
}


def render(template: str, **values: Any) -> str:
    """One self-contained page: no network, light and dark, printable."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, loader=jinja2.FunctionLoader(_source)
    )
    environment.filters |= FILTERS
    return environment.get_template(template).render(**values)


def _source(name: str) -> str:
    return (resources.files("assay.reports") / "templates" / name).read_text(encoding="utf-8")


def range_mark(value: float, bounds: Sequence[float | None], tick: float | None = None) -> Markup:
    """A dot on a line from 0 to 1, with its interval and, as a tick, what it was before."""
    parts = [
        f'<line x1="{x}%" y1="0" x2="{x}%" y2="26" stroke="var(--line)"/>'
        for x in range(0, 101, 20)
    ]
    low, high = bounds
    if low is not None and high is not None:
        parts.append(
            f'<line x1="{100 * low:.2f}%" y1="13" x2="{100 * high:.2f}%" y2="13" stroke="var(--dot)" '
            'stroke-width="4" stroke-linecap="round" opacity=".5"/>'
        )
    if tick is not None:
        parts.append(
            f'<line x1="{100 * tick:.2f}%" y1="4" x2="{100 * tick:.2f}%" y2="22" stroke="var(--fg)" '
            'stroke-width="2.5"/>'
        )
    parts.append(f'<circle cx="{100 * value:.2f}%" cy="13" r="6" fill="var(--dot)"/>')
    return Markup(f'<svg width="100%" height="26" aria-hidden="true">{"".join(parts)}</svg>')


def change_mark(difference: float, low: float | None, high: float | None, reach: float) -> Markup:
    """A difference with its interval on a line whose middle is no change and whose ends are
    `reach`."""

    def place(value: float) -> str:
        return f"{50 + 50 * max(-1.0, min(1.0, value / reach)):.2f}%"

    parts = ['<line x1="50%" y1="0" x2="50%" y2="22" stroke="var(--soft)"/>']
    if low is not None and high is not None:
        parts.append(
            f'<line x1="{place(low)}" y1="11" x2="{place(high)}" y2="11" stroke="var(--dot)" stroke-width="4" '
            'stroke-linecap="round" opacity=".5"/>'
        )
    parts.append(f'<circle cx="{place(difference)}" cy="11" r="5" fill="var(--dot)"/>')
    return Markup(f'<svg width="100%" height="22" aria-hidden="true">{"".join(parts)}</svg>')


def latency(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How long answers took: a histogram with p50, p95 and p99 drawn in, and the figures as text.
    The last bar holds everything beyond p99, so that one slow answer does not flatten the rest."""
    values = np.array(
        [entry["latency_ms"] for entry in entries if entry.get("latency_ms") is not None],
        np.float64,
    )
    if len(values) < 2:
        return None
    marks = dict(
        zip(("p50", "p95", "p99"), np.percentile(values, [50, 95, 99]).tolist(), strict=True)
    )
    low, high = float(values.min()), max(marks["p99"], float(values.min()) + 1e-9)
    width = (high - low) / BARS
    counts, _ = np.histogram(np.minimum(values, high), bins=BARS, range=(low, high))
    tall, bar = 64, 100 / BARS
    parts = [
        f'<rect x="{place * bar + 0.2:.2f}%" y="{tall - tall * count / counts.max():.1f}" width="{bar - 0.4:.2f}%" '
        f'height="{tall * count / counts.max():.1f}" fill="var(--dot)" opacity=".6"/>'
        for place, count in enumerate(counts.tolist())
        if count
    ]
    for value in marks.values():
        x = f"{100 * (value - low) / (high - low):.2f}%"
        parts.append(
            f'<line x1="{x}" y1="0" x2="{x}" y2="{tall}" stroke="var(--fg)" stroke-width="2" '
            'stroke-dasharray="4 3"/>'
        )
    return {
        "drawing": Markup(
            f'<svg width="100%" height="{tall}" aria-hidden="true">{"".join(parts)}</svg>'
        ),
        "n": len(values),
        "low": low,
        "high": high,
        "step": width,
        "max": float(values.max()),
        "marks": marks,
        "beyond": int((values > high).sum()),
    }
