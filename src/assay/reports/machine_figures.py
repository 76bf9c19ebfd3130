"""The block on machine votes, which every format shows apart from the figures on labels alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.verdicts import FEWEST, Doubt, MachineEstimate, MachineFigure
from assay.reports.numbers import Numbers
from assay.reports.shapes import ReportView
from assay.reports.words import Words


@dataclass(frozen=True, kw_only=True)
class MachineBlock:
    """A title, a table as text, and what a reader must know."""

    title: str
    lead: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]


def machine_block(report: ReportView, estimate: MachineEstimate) -> MachineBlock:
    say = Words(report.language)
    titles = {figure.key: figure.title for figure in report.figures}
    names = ("estimate", "interval", "people", "interval", "machine", "weight", "judged")
    return MachineBlock(
        title=say("machine.title"),
        lead=say("machine.lead", judges=", ".join(estimate.judges)),
        head=(say("measure"), *(say(f"machine.{name}") for name in names)),
        rows=tuple(
            _row(titles.get(key, figure.measure), figure, say)
            for key, figure in estimate.figures.items()
        ),
        notes=tuple(_notes(estimate, say)),
        doubts=tuple(_doubt(doubt, say) for doubt in estimate.doubts),
    )


def _row(title: str, figure: MachineFigure, say: Words) -> tuple[str, ...]:
    numbers = Numbers(say)
    judged = say("machine.of", judged=figure.judged, queries=figure.queries)
    if figure.value is None:
        return (title, *["–"] * 6, judged)
    return (
        title,
        numbers.decimal(figure.value),
        numbers.brief(figure.interval),
        numbers.decimal(figure.people),
        numbers.brief(figure.people_interval),
        numbers.decimal(figure.machine),
        numbers.decimal(figure.weight, 2),
        judged,
    )


def _notes(estimate: MachineEstimate, say: Words) -> Iterator[str]:
    figures = estimate.figures.values()
    yield say("machine.random")
    asked = [figure for figure in figures if figure.judged < figure.queries]
    if any(figure.value is not None and not figure.weight for figure in asked):
        yield say("machine.no_weight")
    if few := [figure.measure for figure in figures if figure.value is None]:
        yield say("machine.too_few", measures=", ".join(few), fewest=FEWEST)
    if most := max((figure.left_out for figure in figures), default=0):
        yield say("machine.left_out", n=most)
    if most := max((figure.nothing_relevant for figure in figures), default=0):
        yield say("machine.nothing_relevant", n=most)


def _doubt(doubt: Doubt, say: Words) -> str:
    chance = Numbers(say).p_value(doubt.chance)
    if doubt.measure:
        return say("machine.shifted", measure=doubt.measure, p=chance)
    return say(
        "machine.lopsided",
        kind=say.slice_kind(doubt.kind),
        name=doubt.name,
        judged=doubt.judged,
        queries=doubt.queries,
        p=chance,
    )
