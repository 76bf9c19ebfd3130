"""The history of engines for a terminal: a line for each run, marked where the level changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from assay.evaluation.trends import Event, Kind, Trend
from assay.reports.grids import headed
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
    if not trend.events:
        return
    table = headed(
        "", "when", right=(trend.events[-1].measure, "95% interval", "by labels of today", "change")
    )
    table.add_column("what it did")
    for event in trend.events:
        between = "" if event.low is None else f"{event.low:.3f} to {event.high:.3f}"
        change = "" if event.step.change is None else signed(event.step.change)
        value = "–" if event.value is None else f"{event.value:.3f}"
        mark = Text(MARKS.get(event.step.kind, ""), style=STYLES.get(event.step.kind, ""))
        when = f"{event.at:%Y-%m-%d %H:%M}"
        today = "" if event.today is None else f"{event.today:.3f}"
        table.add_row(mark, when, value, between, today, change, _said(event))
    yield Text(f"{trend.engine} on {trend.gold}", style="bold")
    yield table
    yield Text()


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
