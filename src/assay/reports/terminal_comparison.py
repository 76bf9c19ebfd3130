"""Is B better than A, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.evaluation.comparison import ALPHA, Comparison, Difference
from assay.reports.doubted import answers, is_golden, powers
from assay.reports.grids import headed, unbroken
from assay.reports.numbers import Numbers, change_span, is_rate, p_value, short, signed
from assay.reports.sentences import Sentences
from assay.reports.shapes import Answer
from assay.reports.terminal_board import board_lines
from assay.reports.view import heading
from assay.reports.words import Words

SHOWN_DOCUMENTS = 4  # that entered or left the top of a query
STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}


def comparison_table(comparison: Comparison) -> RenderableType:
    """The answer, the figures by measure, then the queries that moved most."""
    shown: list[RenderableType] = [Text(note, style="yellow") for note in comparison.warnings]
    if comparison.gold_status:
        shown += [Text(f"Gold set {comparison.gold_status}.", style="yellow"), Text()]
    if comparison.leaderboard is not None:
        shown += board_lines(comparison.leaderboard)
    tell = Sentences(Words("en"))
    told = zip(comparison.systems, answers(comparison, tell), powers(comparison, tell), strict=True)
    for system, answer, power in told:
        shown += _against_baseline(comparison, system, answer, power)
        shown += _moved(comparison, system)
    return Group(*shown)


def _against_baseline(
    comparison: Comparison, system: str, answer: Answer, power: str
) -> Iterator[RenderableType]:
    figures = ("n", "before", "now", "change", "95% interval")
    table = headed("measure", right=figures)
    unbroken(table, *figures)
    for name in ("p Holm", "w/t/l"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = [row for row in comparison.differences if row.system == system]
    variants = [row for row in comparison.variants if row.system == system]
    for row in rows:
        _add_difference(table, row, heading(row.key, row.measure))
    for row in variants:
        _add_difference(table, row, f"{heading(row.key, row.measure)} of variants")
    against = Text.assemble((system, "bold"), " against ", (comparison.baseline, "bold"))
    yield from (against, Text(), Text(f"{answer.text}.", style=STYLES[answer.status]))
    yield from (Text(note, style="yellow") for note in answer.notes)
    yield from (Text(), table, Text())
    yield from _notes(comparison, rows, power)
    if variants:
        note = "Variants are compared apart, each question by the mean of its variants."
        yield from (Text(note, style="dim"), Text())


def _add_difference(table: Table, row: Difference, measure: str) -> None:
    style = {"better": "green", "worse": "red"}.get(row.verdict, "")
    numbers, rate = Numbers(Words("en")), is_rate(row.key)
    table.add_row(
        measure,
        str(row.n),
        numbers.figure(row.key, row.baseline),
        numbers.figure(row.key, row.value),
        signed(100 * row.difference, 1) if rate else signed(row.difference),
        numbers.change_between(row.key, row.low, row.high),
        p_value(row.p_holm),
        f"{row.wins}/{row.ties}/{row.losses}",
        style=style,
    )


def _notes(comparison: Comparison, rows: Sequence[Difference], power: str) -> Iterator[Text]:
    head = next(row for row in rows if row.measure == comparison.headline)
    tested = comparison.tests
    over = f", corrected over all {tested} pairs of systems" if tested > 1 else ""
    yield Text(
        f"{comparison.headline} decides, by the randomization test{over}. The other measures "
        "inform; their p Holm is over all."
    )
    apart = [row.measure for row in rows if row.disagree and row.p_holm <= ALPHA and row != head]
    if apart:
        yield Text(
            f"{', '.join(apart)}: a low p beside an interval that includes 0 is no contradiction. "
            "The test is about these queries; the interval also allows for queries nobody asked."
        )
    elif any(row.ties == row.n for row in rows):
        yield Text(
            "Where all queries tie the interval still has a width: queries not seen may differ.",
            style="dim",
        )
    if head.equivalence is not None and comparison.margin is not None:
        yield Text(_margin(head, comparison.margin))
    others = (
        f"p uncorrected {p_value(head.p_randomization)}, t {p_value(head.p_t)}, "
        f"Wilcoxon {p_value(head.p_wilcoxon)}, Benjamini–Hochberg {p_value(head.p_bh)}, "
        f"effect size {signed(head.effect_size, 2)}"
    )
    beside = f"Beside it: {others}; those of every measure are in --json and in the report."
    yield Text(beside, style="dim")
    yield Text(power, style="dim")
    for row in rows:
        if row.residuals:
            before, after = (f"{value:.3f}" for value in row.residuals)
            yield Text(
                f"{row.measure}: the residual, what unjudged hits and deeper ranks could add, is "
                f"{before} for {comparison.baseline} and {after} for {row.system}.",
                style="dim",
            )
    points = " Rates are in per cent, their changes in points." if is_rate(head.key) else ""
    yield Text(f"w/t/l: queries better, equal, worse.{points}", style="dim")
    yield Text()


def _margin(row: Difference, margin: float) -> str:
    """What two one-sided tests say."""
    said = {
        "equivalent": f"EQUIVALENT: the change lies within {margin:g} either way",
        "no worse": f"NO WORSE: it fell by less than {margin:g}, if at all",
        "worse": f"WORSE: it fell by more than {margin:g}",
        "not shown": f"NOT SHOWN to be no worse than {margin:g} down",
        "open": f"CANNOT TELL whether it is no worse than {margin:g} down: unjudged documents "
        "could turn it",
    }[row.equivalence or "not shown"]
    return f"{said} (two one-sided tests at 5%, 90% interval {change_span(*row.inner)})."


def _moved(comparison: Comparison, system: str) -> Iterator[RenderableType]:
    moved = [query for query in comparison.moved if query.system == system]
    if not moved:
        return
    graded = not is_golden(comparison)
    grade = " (grade)" if graded else ""
    table = headed("query", comparison.headline, f"entered the top 10{grade}", f"left it{grade}")
    for query in moved:
        change = query.value - query.baseline
        table.add_row(
            Text.assemble((query.query_id, "bold"), " ", short(query.query_text, 44)),
            Text(signed(change), style="green" if change > 0 else "red"),
            _documents(query.entered, graded=graded),
            _documents(query.left, graded=graded),
        )
    yield from (Text("The queries that moved most", style="bold"), table)


def _documents(found: Sequence[tuple[str, int | None]], *, graded: bool) -> str:
    shown = [
        f"{doc_id} ({'?' if grade is None else grade})" if graded else doc_id
        for doc_id, grade in found[:SHOWN_DOCUMENTS]
    ]
    more = f" +{len(found) - SHOWN_DOCUMENTS}" if len(found) > SHOWN_DOCUMENTS else ""
    return ", ".join(shown) + more
