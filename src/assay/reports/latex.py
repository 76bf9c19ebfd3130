"""A report as a LaTeX table: the figures, or with a comparison the differences."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.numbers import Numbers
from assay.reports.shapes import ReportView
from assay.reports.view import RATES, heading
from assay.reports.words import END, ISOLATE, Words

ESCAPES = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **dict.fromkeys((ISOLATE, END), ""),  # LaTeX has marks of its own for directions
    }
)

Cells = tuple[str, ...]


def escaped(text: str) -> str:
    """All that TeX reads as a command, as text."""
    return text.translate(ESCAPES)


def render(report: ReportView) -> str:
    say = Words(report.language)
    numbers = Numbers(say)
    if report.comparison:
        names, rows, caption = _differences(report, say, numbers)
    else:
        names, rows, caption = _figures(report, say, numbers)
    if report.standing and report.kind == "graded":
        caption += say("tex_gold_set", standing=report.standing)
    return _table([names, *rows], caption)


def _figures(report: ReportView, say: Words, numbers: Numbers) -> tuple[Cells, list[Cells], str]:
    figures = report.figures
    noun, head = "query", (say("tex_measure"), say("tex_mean"))
    if report.kind == "golden":
        known = [report.figure(key) for key in RATES]
        figures = tuple(figure for figure in known if figure)
        noun, head = "question", (say("tex_rate"), say("tex_value"))
    rows: list[Cells] = [
        (figure.title, numbers.decimal(figure.value), numbers.span(figure.bounds))
        for figure in figures
    ]
    caption = say("tex_on", engine=report.engine, gold=report.gold.name, n=_many(report, say, noun))
    return (*head, say("interval")), rows, caption


def _differences(
    report: ReportView, say: Words, numbers: Numbers
) -> tuple[Cells, list[Cells], str]:
    comparison = report.comparison
    assert comparison is not None
    keys = ("tex_measure", "tex_before", "tex_now", "tex_change", "interval")
    names = (*map(say, keys), "p")
    rows: list[Cells] = [
        (
            heading(row.key, row.measure),
            numbers.decimal(row.baseline),
            numbers.decimal(row.value),
            numbers.signed(row.difference),
            numbers.change_span(row.low, row.high),
            numbers.p_value(row.p),
        )
        for row in comparison.differences
    ]
    caption = say(
        "tex_against",
        engine=report.engine,
        baseline=comparison.baseline,
        gold=report.gold.name,
        n=_many(report, say, "query"),
    )
    return names, rows, caption


def _many(report: ReportView, say: Words, noun: str) -> str:
    return say(f"tex_{noun}", n=report.n)


def _table(rows: Sequence[Cells], caption: str) -> str:
    body = [" & ".join(map(escaped, row)) + r" \\" for row in rows]
    columns = "l" + "r" * (len(rows[0]) - 1)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            body[0],
            r"\hline",
            *body[1:],
            r"\hline",
            r"\end{tabular}",
            rf"\caption{{{escaped(caption)}}}",
            r"\end{table}",
            "",
        ]
    )
