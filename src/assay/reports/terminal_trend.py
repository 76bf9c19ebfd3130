"""The history of engines for a terminal: each run, marked where the level changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from assay.evaluation.trends import Event, Kind, Trend
from assay.reports.grids import Hanging
from assay.reports.numbers import signed

MARKS = {Kind.UP: "▲", Kind.DOWN: "▼", Kind.SET: "◆"}
STYLES = {Kind.UP: "green", Kind.DOWN: "red", Kind.SET: "yellow"}
RULE = (
    "▲ ▼ the level changed: paired test against the run the level began with, corrected for the "
    "runs of the level. ◆ the set changed, so earlier figures measure something else."
)


def trend_lines(found: Sequence[Trend]) -> RenderableType:
    if not any(trend.events for trend in found):
        return Text("No run is recorded yet. `assay score` and `assay run` record what they do.")
    return Group(*(line for trend in found for line in _trend(trend)), Text(RULE, style="dim"))


def _trend(trend: Trend) -> Iterator[RenderableType]:
    """Two lines a run, which fit into 80 columns: its figures, and below what it did."""
    if not trend.events:
        return
    head = ("", "when", trend.events[-1].measure, "95% interval", "labels of today", "change")
    lines: list[tuple[str, ...]] = [head, *map(_figures, trend.events)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    yield Text(f"{trend.engine} on {trend.gold}", style="bold")
    yield Text(_row(lines[0], widths), style="bold")
    for event, line in zip(trend.events, lines[1:], strict=True):
        yield Text(_row(line, widths), style=STYLES.get(event.step.kind, ""))
        if said := _said(event):
            yield Hanging(Text(f"  {said}", style="dim"), 2)
    yield Text()


def _figures(event: Event) -> tuple[str, ...]:
    return (
        MARKS.get(event.step.kind, ""),
        f"{event.at:%Y-%m-%d %H:%M}",
        "–" if event.value is None else f"{event.value:.3f}",
        "" if event.low is None else f"{event.low:.3f} to {event.high:.3f}",
        "" if event.today is None else f"{event.today:.3f}",
        "" if event.step.change is None else signed(event.step.change),
    )


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The mark and the day at the left, figures at the right of their columns."""
    pairs = zip(cells, widths, strict=True)
    padded = [f"{cell:<{w}}" if at < 2 else f"{cell:>{w}}" for at, (cell, w) in enumerate(pairs)]
    return "  ".join(padded).rstrip()


def _said(event: Event) -> str:
    step, said = event.step, []
    if step.kind is Kind.SET:
        said.append("labels or queries changed")
    if step.kind is Kind.SAME:
        said.append("no query changed")
    if step.p is not None:
        said.append(f"p {step.p:.3f} over {step.n} queries")
    if step.fell:
        said.append(f"fell: {', '.join(step.fell)}")
    if step.rose:
        said.append(f"rose: {', '.join(step.rose)}")
    if (commit := event.commit) is not None:
        name = f"{commit.id[:8]}{' with changes' if commit.dirty else ''}"
        said.append(" ".join(part for part in (name, commit.by, commit.subject) if part))
    return "; ".join(said)
