"""A report as one self-contained HTML page: no network, light and dark, printable.

The Jinja environment is here too; the judging packet and the web pages share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from assay.core.results import RobustnessRow
from assay.core.results_file import receipt_to_json
from assay.core.types import ScoreSheet, Slice
from assay.evaluation import statistics
from assay.reports.drawings import (
    ScoreBand,
    change_mark,
    latency_chart,
    range_mark,
    score_bands,
    sorted_bars,
)
from assay.reports.numbers import Numbers, is_rate
from assay.reports.shapes import ReportFigure, ReportQuery, ReportView
from assay.reports.view import RATES, SMALL_SLICE, failed_questions, heading, machine_block
from assay.reports.wording import Sentences, powers
from assay.reports.words import Words, page_table


@dataclass(frozen=True, kw_only=True)
class ForestRow:
    """One row of the drawing of all figures."""

    figure: ReportFigure
    mark: Markup
    text: str
    between: str
    change: str


@dataclass(frozen=True, kw_only=True)
class PerturbationRow:
    name: str
    rates: RobustnessRow
    mark: Markup


def render(report: ReportView) -> str:
    words = Words(report.language)
    latencies = [line.latency_ms for line in report.queries if line.latency_ms is not None]
    estimate = report.machine_estimate
    template = template_environment().get_template(f"{report.kind}.html.j2")
    return template.render(
        report=report,
        t=_MarkedWords(words),
        n=Numbers(words),
        words=words,
        tell=Sentences(words),
        rows=_forest(report, Numbers(words)),
        machine=estimate and machine_block(report, estimate),
        latency=latency_chart(latencies),
        bands=_bands(report),
        changed=_change_bars(report),
        perturbations=_perturbations(report, words),
        worst_families=_worst_families(report, words),
        axis=_axis(report, Numbers(words)),
        marks=_change_marks(report),
        powers=powers(report.comparison, Sentences(words)) if report.comparison else [],
        questions=_failed_first(report) if report.kind == "golden" else [],
        few=SMALL_SLICE,
        heading=heading,
        plainly=_plain_namer(report.language),
        grade_class=_grade_class,
        receipt_json=_receipt_text(report),
    )


class _MarkedWords:
    """Words are markup of ours; the facts in them are text."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def __call__(self, key: str, **facts: object) -> Markup:
        if not facts:
            return Markup(self._words(key))
        escaped = {name: escape(fact) for name, fact in facts.items()}
        # what is escaped already is not escaped again, which a large report would wait for
        return Markup(self._words(key, **escaped))


def _forest(report: ReportView, numbers: Numbers) -> list[ForestRow]:
    if report.kind == "golden":
        known = [report.figure(key) for key in RATES]
        return [_rate_row(figure, numbers) for figure in known if figure]
    return [_mean_row(figure, numbers) for figure in report.figures if figure.value is not None]


def _axis(report: ReportView, numbers: Numbers) -> list[str]:
    """The scale under the drawing, from 0 to 1; where there is room the 0 before a point is left
    out."""
    if report.kind == "golden":
        return ["0", "20", "40", "60", "80", numbers.percent(1, 0)]
    tenths = (numbers.decimal(place / 10, 1) for place in range(2, 10, 2))
    return ["0", *(tenth.replace("0.", ".") for tenth in tenths), "1"]


def _mean_row(figure: ReportFigure, numbers: Numbers) -> ForestRow:
    value = figure.value or 0.0
    before = value - figure.change if figure.change is not None else None
    return ForestRow(
        figure=figure,
        mark=range_mark(value, figure.bounds, before),
        text=numbers.decimal(value),
        between=numbers.span(figure.bounds),
        change="",
    )


def _rate_row(figure: ReportFigure, numbers: Numbers) -> ForestRow:
    """A share in per cent, with its change in points; MRR as it is."""
    value, is_share = figure.value or 0.0, is_rate(figure.key)
    change = ""
    if figure.change is not None:
        points = numbers.signed(100 * figure.change, 1)
        change = points if is_share else numbers.signed(figure.change)
    return ForestRow(
        figure=figure,
        mark=range_mark(value, figure.bounds),
        text=numbers.percent(value) if is_share else numbers.decimal(value),
        between=numbers.percents(figure.bounds) if is_share else numbers.span(figure.bounds),
        change=change,
    )


def _perturbations(report: ReportView, words: Words) -> list[PerturbationRow]:
    """The perturbations, the most costly first, and their total last."""
    robustness = report.robustness
    if robustness is None:
        return []
    ordered = sorted(
        robustness.by_perturbation.items(), key=lambda named: (-named[1].drop, named[0])
    )
    named = [(_perturbation(name, words), rates) for name, rates in ordered]
    return [
        PerturbationRow(
            name=name,
            rates=rates,
            mark=range_mark(rates.pass_rate, (rates.low, rates.high), rates.parent_pass_rate),
        )
        for name, rates in [*named, (words("all_brief"), robustness.overall)]
    ]


def _worst_families(report: ReportView, words: Words) -> list[str]:
    families = report.robustness.worst_families if report.robustness else []
    return [_perturbation(name, words) for name in families]


def _perturbation(name: str, words: Words) -> str:
    """An English reader knows the names that the ids of the variants end in."""
    return name if words.is_english else words.perturbation(name)


def _change_marks(report: ReportView) -> list[Markup]:
    """A drawing for every difference, all on one scale."""
    rows = report.comparison.differences if report.comparison else []
    bounds = [bound for row in rows for bound in (row.low, row.high, row.difference) if bound]
    reach = max([abs(bound) for bound in bounds] or [1.0])
    return [change_mark(row.difference, row.low, row.high, reach) for row in rows]


def _change_bars(report: ReportView) -> tuple[Markup, int, int, int] | None:
    """The change of every query in the measure that decides, sorted, with how many rose, stayed and
    fell; of two systems alone."""
    if report.comparison is None or len(report.comparison.systems) > 1:
        return None
    key = report.deciding
    changes = [
        now - then
        for line in report.queries
        if (now := line.values.get(key)) is not None
        if (then := report.before.get(line.query_id, {}).get(key)) is not None
    ]
    if not any(changes):
        return None
    rose, fell = sum(one > 0 for one in changes), sum(one < 0 for one in changes)
    return sorted_bars(changes), rose, len(changes) - rose - fell, fell


def _bands(report: ReportView) -> list[ScoreBand]:
    """For golden questions that expect something: bands of the first hit's score, and how often it
    was right."""
    return score_bands(
        [
            (first.score, first.is_expected)
            for line in report.queries
            if line.outcome is not None and line.outcome.entry.expected_any and line.hits
            if (first := line.hits[0]).score is not None
        ]
    )


def _failed_first(report: ReportView) -> Sequence[ReportQuery]:
    """The questions that failed, then variants of questions that did, then what passed."""
    failed = [*failed_questions(report), *failed_questions(report, variants=True)]
    passed = (line for line in report.queries if line.outcome and line.outcome.entry.passed)
    return [*failed, *passed]


def _grade_class(grade: int | None) -> str:
    return "" if grade is None else f"g{min(max(grade, 0), 2)}"


def _plain_namer(language: str) -> Callable[[str, str], str]:
    """A kind of query or a topic as the pages call it; other names stay as they are."""
    known = page_table("topics", language) | page_table("judge", language)

    def named(name: str, kind: str) -> str:
        plain = name.replace("_", " ") if kind in ("type", "topic") else name
        return str(known.get(f"{kind} {name}", plain)) if name else ""

    return named


def _receipt_text(report: ReportView) -> str:
    receipt = msgspec.json.encode(receipt_to_json(report.receipt))
    return msgspec.json.format(receipt, indent=2).decode()


# ── templates ─────────────────────────────────────────────────────────────────────────────────────


HERE = Path(__file__).parent / "templates"


@cache
def template_environment(*folders: Path) -> Environment:
    """Templates of the reports, and of other folders, which are looked at first. What a template
    lacks is an error, and what it is given is text, not markup."""
    made = Environment(
        loader=FileSystemLoader([*folders, HERE]), autoescape=True, undefined=StrictUndefined
    )
    made.filters |= {"day": _day, "number": _number}
    return made


def compile_templates(*folders: Path) -> None:
    """All of them ahead of time, for a server whose first reader should not wait for it."""
    made = template_environment(*folders)
    for name in made.list_templates(["html", "j2"] if not folders else ["html"]):
        made.get_template(name)


def _day(at: datetime | str | None) -> str:
    return f"{at:%Y-%m-%d}" if isinstance(at, datetime) else str(at or "–")[:10]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


# ── a score sheet in a notebook ───────────────────────────────────────────────────────────────────

SHEET_RULES = "In small type: 95% intervals. An unjudged hit counts as not relevant."
SHEET_FEW = f"<br>* fewer than {statistics.SMALL} queries: too few to conclude from."


def score_sheet_table(sheet: ScoreSheet) -> str:
    """A score sheet as a table: by slice n, the judged share, and every mean with its interval."""
    names = ("slice", "n", "judged@10", *sheet.measures)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(_sheet_row(sheet, part) for part in sheet.slices)
    note = SHEET_FEW if any(part.n < statistics.SMALL for part in sheet.slices) else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{table}<small>{SHEET_RULES}{note}</small>"


def _sheet_row(sheet: ScoreSheet, part: Slice) -> str:
    whole = part.kind == "overall"
    inside = np.array([whole or getattr(query, part.kind) == part.name for query in sheet.queries])
    inside &= ~np.isnan(sheet.values).all(axis=1)
    judged, intervals = sheet.judged[inside], statistics.mean_intervals(sheet.values[inside])
    cells = map(_sheet_cell, part.means.values(), intervals)
    share = f"{np.nanmean(judged):.0%}" if (~np.isnan(judged)).any() else "–"
    mark = " *" if part.n < statistics.SMALL else ""
    name = f"{escape(f'{part.kind} {part.name}'.strip())}{mark}"
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in (name, part.n, share, *cells))}</tr>"


def _sheet_cell(mean: float | None, interval: statistics.Interval) -> str:
    if mean is None:
        return "–"
    if interval.low is None:
        return f"{mean:.3f}"
    return f"{mean:.3f}<br><small>{interval.low:.3f} to {interval.high:.3f}</small>"
