"""Comparisons of engines on a terminal: is B better than A, the leaderboard of several, the history
of each engine with the runs at which its level changed, and the plan of `assay plan`: how many
queries and judgments a decision takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.evaluation.comparison import Comparison, Difference, Leaderboard, SliceLead
from assay.evaluation.planning import MAX_QUERIES, Need, Plan
from assay.evaluation.statistics import SMALL
from assay.evaluation.trends import Event, Kind, Trend
from assay.reports.grids import STATUS_STYLES, HangingText, headed_table, keep_on_one_line
from assay.reports.numbers import Numbers, change_span, is_rate, p_value, short, signed
from assay.reports.shapes import ComparisonAnswer
from assay.reports.view import heading
from assay.reports.wording import Sentences, answers, is_golden, powers
from assay.reports.words import Words

SHOWN_DOCUMENTS = 4  # that entered or left the top of a query; taste
DRAWING_WIDTH = 25  # characters of a drawn interval, from 0 to 1; taste
TREND_MARKS = {Kind.UP: "▲", Kind.DOWN: "▼", Kind.SET: "◆"}
TREND_STYLES = {Kind.UP: "green", Kind.DOWN: "red", Kind.SET: "yellow"}
TREND_RULE = (
    "▲ ▼ the level changed: paired test against the run the level began with, corrected for the "
    "runs of the level. ◆ the set changed, so earlier figures measure something else."
)


def comparison_table(comparison: Comparison) -> RenderableType:
    """The answer, the figures by measure, then the queries that moved most."""
    sentences = Sentences(Words("en"))
    notes = (*comparison.warnings, *sentences.rulings(comparison.rulings))
    shown: list[RenderableType] = [Text(note, style="yellow") for note in notes]
    if comparison.gold_status:
        shown += [Text(f"Gold set {comparison.gold_status}.", style="yellow"), Text()]
    if comparison.leaderboard is not None:
        shown += _leaderboard(comparison.leaderboard)
    rows = zip(
        comparison.systems,
        answers(comparison, sentences),
        powers(comparison, sentences),
        strict=True,
    )
    for system, answer, power in rows:
        shown += _against_baseline(comparison, system, answer, power)
        shown += _moved(comparison, system)
    return Group(*shown)


def _against_baseline(
    comparison: Comparison, system: str, answer: ComparisonAnswer, power: str
) -> Iterator[RenderableType]:
    figures = ("n", "before", "now", "change", "95% interval")
    table = headed_table("measure", right=figures)
    keep_on_one_line(table, *figures)
    for name in ("p", "w/t/l"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = [row for row in comparison.differences if row.system == system]
    variants = [row for row in comparison.variants if row.system == system]
    for row in rows:
        _add_difference(table, row, heading(row.key, row.measure))
    for row in variants:
        _add_difference(table, row, f"{heading(row.key, row.measure)} of variants")
    against = Text.assemble((system, "bold"), " against ", (comparison.baseline, "bold"))
    yield from (against, Text(), Text(f"{answer.text}.", style=STATUS_STYLES[answer.status]))
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
        p_value(row.p),
        f"{row.wins}/{row.ties}/{row.losses}",
        style=style,
    )


def _notes(comparison: Comparison, rows: Sequence[Difference], power: str) -> Iterator[Text]:
    head = next(row for row in rows if row.measure == comparison.headline)
    yield Text(_decided_by(comparison, head))
    if any(row.ties == row.n for row in rows):
        yield Text(
            "Where all queries tie, the interval still has a width: other queries may differ.",
            style="dim",
        )
    if head.equivalence is not None and comparison.margin is not None:
        yield Text(_margin(head, comparison.margin))
    others = {
        "randomization": head.p_randomization,
        "Wilcoxon": head.p_wilcoxon,
        "Benjamini–Hochberg": head.p_bh,
    }
    if beside := [f"{name} p {p_value(p)}" for name, p in others.items() if p is not None]:
        effect = f"effect size {signed(head.effect_size, 2)}"
        yield Text(f"Other tests: {', '.join((*beside, effect))}.", style="dim")
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


def _decided_by(comparison: Comparison, head: Difference) -> str:
    """Which measure decides, and what correcting for several comparisons makes of it."""
    sentence = f"{comparison.headline} decides; the other measures are for information."
    if comparison.tests > 1:
        between = change_span(head.low_adjusted, head.high_adjusted)
        sentence += (
            f" Corrected for {comparison.tests} comparisons (Holm), its p is "
            f"{p_value(head.p_adjusted)} and its interval {between}."
        )
    return sentence + (" Intervals and p are for the worst case." if comparison.worst_case else "")


def _margin(row: Difference, margin: float) -> str:
    """The outcome of the two one-sided tests."""
    sentence_of = {
        "equivalent": f"EQUIVALENT: the change lies within {margin:g} either way",
        "no worse": f"NO WORSE: it fell by less than {margin:g}, if at all",
        "worse": f"WORSE: it fell by more than {margin:g}",
        "not shown": f"NOT SHOWN to have fallen by less than {margin:g}",
        "open": f"INCONCLUSIVE whether it fell by less than {margin:g}: unjudged documents could "
        "change that",
    }[row.equivalence or "not shown"]
    return f"{sentence_of} (two one-sided tests at 5%, 90% interval {change_span(*row.inner)})."


def _moved(comparison: Comparison, system: str) -> Iterator[RenderableType]:
    moved = [query for query in comparison.moved if query.system == system]
    if not moved:
        return
    graded = not is_golden(comparison)
    grade = " (grade)" if graded else ""
    table = headed_table(
        "query", comparison.headline, f"entered the top 10{grade}", f"left it{grade}"
    )
    for query in moved:
        change = query.value - query.baseline
        table.add_row(
            Text.assemble((query.query_id, "bold"), " ", short(query.query_text, 44)),
            Text(signed(change), style="green" if change > 0 else "red"),
            _documents(query.entered, graded=graded),
            _documents(query.left, graded=graded),
        )
    yield from (Text("The queries that moved most", style="bold"), table)


def _documents(documents: Sequence[tuple[str, int | None]], *, graded: bool) -> str:
    shown = [
        f"{doc_id} ({'?' if grade is None else grade})" if graded else doc_id
        for doc_id, grade in documents[:SHOWN_DOCUMENTS]
    ]
    more = f" +{len(documents) - SHOWN_DOCUMENTS}" if len(documents) > SHOWN_DOCUMENTS else ""
    return ", ".join(shown) + more


# ── the leaderboard ───────────────────────────────────────────────────────────────────────────────


def _leaderboard(board: Leaderboard) -> Iterator[RenderableType]:
    table = headed_table("", "system", right=(board.measure, "95% interval"))
    table.add_column("0 … 1", no_wrap=True)
    table.add_column("group", no_wrap=True)
    keep_on_one_line(table, board.measure, "95% interval")
    table.columns[1].overflow = "fold"  # a name is never cut short
    numbers = Numbers(Words("en"))
    format_bounds = numbers.percents if is_rate(board.measure) else numbers.span
    for place, row in enumerate(board.places, start=1):
        between = "" if row.low is None else format_bounds((row.low, row.high))
        value, drawn = (
            numbers.figure(board.measure, row.value),
            _drawn_interval(row.value, row.low, row.high),
        )
        table.add_row(str(place), row.system, value, between, Text(drawn), row.letters)
    yield from (Text(f"{board.measure}, {board.n} queries", style="bold"), Text(), table, Text())
    yield Text(
        "Systems that share a letter are not significantly different. p is corrected by Holm over "
        f"all {len(board.pairs)} pairs here, and below over the systems compared with the first.",
        style="dim",
    )
    if waiting := sum(pair.awaits_judgments for pair in board.pairs):
        yield Text(
            f"Unjudged documents could change {waiting} of the {len(board.pairs)} comparisons.",
            style="yellow",
        )
    yield from _slice_leads(board)
    yield Text()


def _drawn_interval(value: float, low: float | None, high: float | None) -> str:
    """An interval in characters, with the mean in it."""
    cells = [" "] * DRAWING_WIDTH
    if low is not None and high is not None:
        for cell in range(_cell_of(low), _cell_of(high) + 1):
            cells[cell] = "─"
    cells[_cell_of(value)] = "●"
    return "".join(cells)


def _cell_of(value: float) -> int:
    return min(max(int(value * DRAWING_WIDTH), 0), DRAWING_WIDTH - 1)


def _slice_leads(board: Leaderboard) -> Iterator[Text]:
    shown_slices = [each for each in board.slices if each.is_shown]
    if not board.slices:
        return
    best = board.places[0].system
    if not shown_slices:
        yield Text(f"No slice is shown to differ from {best} in either direction.", style="dim")
        return
    yield Text(
        f"By slice, against {best}, drawn towards the difference over all queries. The chance that "
        "any of these is a false alarm is 5% at most:"
    )
    for each in sorted(shown_slices, key=lambda one: (one.system, one.shrunk)):
        yield Text(f"  {_slice_lead(each)}")


def _slice_lead(each: SliceLead) -> str:
    way = "better" if each.shrunk > 0 else "worse"
    return (
        f"{each.system} is {way} for {each.slice}: {signed(each.shrunk)} ({signed(each.low)} to "
        f"{signed(each.high)}; {signed(each.difference)} as it is, {each.n} queries)"
    )


# ── history ───────────────────────────────────────────────────────────────────────────────────────


def trend_lines(trends: Sequence[Trend]) -> RenderableType:
    if not any(trend.events for trend in trends):
        return Text("No run is recorded yet. `assay score` and `assay run` record what they do.")
    return Group(
        *(line for trend in trends for line in _trend_of(trend)), Text(TREND_RULE, style="dim")
    )


def _trend_of(trend: Trend) -> Iterator[RenderableType]:
    """Two lines per run, which fit into 80 columns: its figures, and below them the change."""
    if not trend.events:
        return
    head = ("", "when", trend.events[-1].measure, "95% interval", "labels of today", "change")
    lines: list[tuple[str, ...]] = [head, *map(_event_figures, trend.events)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    yield Text(f"{trend.engine} on {trend.gold}", style="bold")
    yield Text(_event_row(lines[0], widths), style="bold")
    for event, line in zip(trend.events, lines[1:], strict=True):
        yield Text(_event_row(line, widths), style=TREND_STYLES.get(event.step.kind, ""))
        if notes := _event_notes(event):
            yield HangingText(Text(f"  {notes}", style="dim"), 2)
    yield Text()


def _event_figures(event: Event) -> tuple[str, ...]:
    return (
        TREND_MARKS.get(event.step.kind, ""),
        f"{event.at:%Y-%m-%d %H:%M}",
        "–" if event.value is None else f"{event.value:.3f}",
        "" if event.low is None else f"{event.low:.3f} to {event.high:.3f}",
        "" if event.today is None else f"{event.today:.3f}",
        "" if event.step.change is None else signed(event.step.change),
    )


def _event_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The mark and the day at the left, figures at the right of their columns."""
    pairs = zip(cells, widths, strict=True)
    padded = [f"{cell:<{w}}" if at < 2 else f"{cell:>{w}}" for at, (cell, w) in enumerate(pairs)]
    return "  ".join(padded).rstrip()


def _event_notes(event: Event) -> str:
    step, notes = event.step, []
    if step.kind is Kind.SET:
        notes.append("labels or queries changed")
    if step.kind is Kind.SAME:
        notes.append("no query changed")
    if step.p is not None:
        notes.append(f"p {step.p:.3f} over {step.n} queries")
    if step.fell:
        notes.append(f"fell: {', '.join(step.fell)}")
    if step.rose:
        notes.append(f"rose: {', '.join(step.rose)}")
    if (commit := event.commit) is not None:
        name = f"{commit.id[:8]}{' with changes' if commit.dirty else ''}"
        notes.append(" ".join(part for part in (name, commit.by, commit.subject) if part))
    return "; ".join(notes)


# ── `assay plan` ──────────────────────────────────────────────────────────────────────────────────


def plan_table(plan: Plan) -> RenderableType:
    return Group(*_answer(plan), *_gates(plan), *_judges(plan))


def _answer(plan: Plan) -> Iterator[RenderableType]:
    asked = plan.needs[0]
    yield Text.assemble(
        "To show a difference of ",
        (f"{asked.difference:g} in {plan.measure}", "bold"),
        f" with {plan.power:.0%} power you need ",
        (_queries(asked.queries), "bold"),
        ".",
    )
    yield Text(_compared_with(plan, asked))
    if plan.pilot < SMALL:
        yield Text(
            f"A pilot of {plan.pilot} queries says little about how much queries vary: "
            f"{_range(asked)} is likely. Ten queries or more make a better pilot.",
            style="yellow",
        )
    elif plan.changed is not None and plan.changed < SMALL:
        yield Text(
            f"Only {plan.changed} of {plan.pilot} questions changed, which says little about how "
            f"many do: {_range(asked)} queries is likely. A pilot in which ten or more change "
            "says more.",
            style="yellow",
        )
    yield Text(
        f"From the differences of {plan.system} and {plan.baseline} on {plan.pilot} queries, whose "
        f"standard deviation is {plan.spread:.3f}. The range says how uncertain that is.",
        style="dim",
    )
    if plan.unjudged:
        yield Text(_unjudged_effect(plan), style="yellow")
    yield Text()
    table = headed_table("difference", right=("queries", "likely range"))
    for need in sorted(plan.needs, key=lambda need: need.difference):
        style = "bold" if need is asked else None
        table.add_row(f"{need.difference:g}", _count(need.queries), _range(need), style=style)
    yield from (table, Text())


def _unjudged_effect(plan: Plan) -> str:
    """A sentence on how the unjudged hits affect the plan."""
    sentence = (
        f"{plan.unjudged:,} of the {plan.hits:,} results that affect the score have no judgment, "
        "and count as not relevant here."
    )
    if plan.believed is None:
        return f"{sentence} Too few are judged to predict the rest."
    return (
        f"{sentence} With all of them judged the standard deviation is expected to be "
        f"{plan.believed:.3f}, and you would need {_queries(plan.queries_believed)}."
    )


def _compared_with(plan: Plan, need: Need) -> str:
    have = f"You have {plan.pilot:,}"
    if need.queries is None:
        return f"{have}."
    if need.queries > plan.pilot:
        return f"{have}: {need.queries - plan.pilot:,} more."
    if need.high is None or need.high > plan.pilot:
        return f"{have}, which is enough if queries vary as the pilot says, but up to " + (
            f"{_queries(need.high)} may be needed."
        )
    return f"{have}, which is enough."


def _gates(plan: Plan) -> Iterator[RenderableType]:
    """The number of queries that gates on the same difference need."""
    yield Text(f"For a gate with significance {1 - plan.level:.2g} to pass", style="bold")
    table = headed_table("gate", "if the engine", right=("queries",))
    for need in plan.gates:
        still = need.condition != "minimum"
        what = "does not change on average" if still else f"keeps its mean, {plan.mean:.3f}"
        table.add_row(f"{need.condition} = {need.limit:g}", what, _count(need.queries))
    yield table
    if plan.documents is not None and plan.judgments is not None:
        yield Text(
            f"Judging the top results of both takes {plan.documents:.1f} documents a query, "
            f"{plan.judgments:,} judgments in all.",
            style="dim",
        )
    yield Text()


def _judges(plan: Plan) -> Iterator[RenderableType]:
    if not plan.crowds:
        return
    yield Text(f"With judges who agree to {plan.agreement:g}", style="bold")
    table = headed_table("judges a pair", right=("queries", "judgments in all"))
    for row in plan.crowds:
        table.add_row(str(row.judges), _count(row.queries), _count(row.judgments))
    yield table


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _queries(value: int | None) -> str:
    return f"more than {MAX_QUERIES:,} queries" if value is None else f"{value:,} queries"


def _range(need: Need) -> str:
    return f"{_count(need.low)} to {_count(need.high)}"
