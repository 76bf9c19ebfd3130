"""Scorecards for a terminal: of one run, of several engines, of a whole `assay run`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.core.results import GoldenResults, GradedReceipt, Recorded, Results, standing_line
from assay.reports.grids import headed
from assay.reports.machine_figures import machine_block
from assay.reports.numbers import Numbers
from assay.reports.sentences import Sentences
from assay.reports.shapes import Figure, ReportView
from assay.reports.terminal_verdict import golden_card, verdict_lines
from assay.reports.view import FEW, view
from assay.reports.words import Words

# told where they are not 0
COUNTS = ("n_missing", "n_failed", "n_negative", "n_unjudged", "n_extra", "duplicates", "ties")
HEADLINE = "nDCG@10"

RunLine = tuple[str, str, Results | None, str]  # gold set, engine, results or why there are none


def card(report: ReportView) -> RenderableType:
    """What a terminal shows of results, so that a saved file shows the same."""
    return golden_card(report) if report.kind == "golden" else scorecard(report)


def scorecard(report: ReportView) -> RenderableType:
    """Every measure of a graded set, overall and by slice."""
    say = Words(report.language)
    numbers = Numbers(say)
    table = _measure_table("", report.figures)
    _add_row(table, say("overall"), report.n, report.figures, numbers, style="bold cyan")
    bounds = [numbers.brief(figure.bounds) for figure in report.figures]
    table.add_row(f"  {say('interval')}", "", *bounds, style="dim")
    if report.has_change:
        table.add_row(*_change_row(report, say, numbers), style="magenta")
    few = False
    for part in report.slices:
        table.add_section()
        table.add_row(Text(part.title, style="bold"))
        for row in part.rows:
            mark = " *" if row.n < FEW else ""
            few = few or row.n < FEW
            _add_row(table, f"  {row.name}{mark}", row.n, row.figures, numbers)
    note = [Text(), Text(say("terminal.few", few=FEW), style="dim")] if few else []
    notes = [*note, *_footnotes(report, say, numbers)]
    return Group(_title(report, say), Text(), table, *notes, *_machine(report))


def _machine(report: ReportView) -> Iterator[RenderableType]:
    """What machine votes say, below all else and by itself."""
    if report.machine_estimate is None:
        return
    block = machine_block(report, report.machine_estimate)
    table = headed(block.head[0], right=block.head[1:])
    for row in block.rows:
        table.add_row(*row)
    yield from (Text(), Text(block.title, style="bold"), Text(block.lead, style="dim"), Text())
    yield from (table, Text())
    yield from (Text(note, style="dim") for note in block.notes)
    yield from (Text(doubt, style="yellow") for doubt in block.doubts)


def _title(report: ReportView, say: Words) -> Text:
    gold = report.gold
    queries, judgments = say.counted(gold.queries, "query"), say.counted(gold.judgments, "judgment")
    size = f"  ({queries}, {judgments})"
    return Text.assemble((report.engine, "bold"), f" {say('on')} ", (gold.name, "bold"), size)


def _measure_table(first: str, figures: Sequence[Figure]) -> Table:
    table = headed()
    table.add_column(first, min_width=18)
    table.add_column("n", justify="right", style="dim")
    for figure in figures:
        table.add_column(figure.title, justify="right", no_wrap=True)
    return table


def _add_row(
    table: Table,
    name: str,
    n: int,
    figures: Sequence[Figure],
    numbers: Numbers,
    *,
    style: str = "",
) -> None:
    cells = [numbers.decimal(figure.value) for figure in figures]
    table.add_row(name, str(n), *cells, style=style)


def _change_row(report: ReportView, say: Words, numbers: Numbers) -> list[str]:
    changes = [numbers.signed(figure.change) for figure in report.figures]
    return [f"  {say('vs_baseline')}", "", *changes]


def _footnotes(report: ReportView, say: Words, numbers: Numbers) -> Iterator[Text]:
    receipt = report.receipt
    assert isinstance(receipt, GradedReceipt)
    yield Text()
    mrr = next((line for line in receipt.measures if line.key == "mrr"), None)
    if mrr is not None and mrr.measure != "RR":
        text = say("terminal.mrr", measure=mrr.measure, grade=mrr.params.get("rel"))
        yield Text(text, style="dim")
    if report.wide:
        yield Text(report.wide, style="yellow")
    if report.thresholds:
        yield Text(report.thresholds, style="dim")
    names = {figure.key: figure.title for figure in report.figures}
    baseline = report.baseline
    if baseline is not None and (since := Sentences(say).since(baseline, names).strip()):
        yield Text(f"{say('vs_baseline')}: {since}", style="dim")
    yield from (Text(line, style="dim") for line in _unjudged_notes(report, say, numbers))
    if report.standing:
        style = "dim" if report.gold.approved_share == 1 else "yellow"
        yield Text(say("gold_set_is", standing=report.standing), style=style)
    counts = dict(receipt.counts)
    counts["n_negative"] = counts.get("n_negative", 0) - counts.get("n_unjudged", 0)
    told = [say("scored", scored=counts["n_scored"], expected=counts["n_expected"])]
    told += [f"{counts[key]} {say(f'terminal.{key}')}" for key in COUNTS if counts.get(key)]
    if latency := receipt.latency_ms:
        p50, p95 = (numbers.decimal(value, 1) for value in (latency.p50, latency.p95))
        told.append(say("terminal.latency", p50=p50, p95=p95))
    yield Text("; ".join(told) + ".", style="dim")


def _unjudged_notes(report: ReportView, say: Words, numbers: Numbers) -> Iterator[str]:
    """What unjudged hits could do to the headline, and to measures that know their residual."""
    names = [unjudged.measure for unjudged in report.unjudged]
    shown = HEADLINE if HEADLINE in names else next(iter(names), "")
    cutoff = next((line.cutoff for line in report.measures if line.measure == shown), None)
    tell = Sentences(say)
    for unjudged in report.unjudged:
        if unjudged.measure == shown and (told := tell.bounds(unjudged, cutoff, report.counts)):
            yield told
        if unjudged.residual is not None and unjudged.worst is not None:
            yield say(
                "terminal.residual",
                measure=unjudged.measure,
                residual=numbers.decimal(unjudged.residual),
                worst=numbers.decimal(unjudged.worst),
                most=numbers.decimal(unjudged.worst + unjudged.residual),
            )


def comparison(reports: Mapping[str, ReportView]) -> RenderableType:
    """The overall row of several engines on one gold set."""
    first = next(iter(reports.values()))
    say = Words(first.language)
    numbers = Numbers(say)
    table = _measure_table(say("terminal.engine"), first.figures)
    for name, report in reports.items():
        _add_row(table, name, report.n, report.figures, numbers)
        if report.has_change:
            table.add_row(*_change_row(report, say, numbers), style="magenta")
    return Group(table, Text())


Files = Mapping[tuple[str, str], tuple[str, str]]  # of a set and an engine: results and baseline


def run_summary(outcomes: Sequence[RunLine], files: Files) -> RenderableType:
    """One table a gold set, one row an engine; below it what the gates say."""
    shown: list[RenderableType] = []
    for gold in dict.fromkeys(outcome[0] for outcome in outcomes):
        shown.append(Text(gold, style="bold"))
        shown += _gold_summary([outcome for outcome in outcomes if outcome[0] == gold], files)
    return Group(*shown)


def _gold_summary(outcomes: Sequence[RunLine], files: Files) -> Iterator[RenderableType]:
    for _, _, results, _ in outcomes:
        if isinstance(results, GoldenResults):
            yield golden_card(view(results))
    graded = {
        engine: results
        for _, engine, results, _ in outcomes
        if results is not None and not isinstance(results, GoldenResults)
    }
    if graded:
        reports = {engine: view(results) for engine, results in graded.items()}
        yield comparison(reports)
        yield from (Text(note, style="yellow") for note in _run_notes(reports))
    for _, engine, _, error in outcomes:
        if error:
            yield Text(f"{engine}: {error}", style="red")
    for gold, engine, results, _ in outcomes:
        if engine in graded and results is not None and results.verdict:
            yield Text.assemble((engine, "bold"), ": ")
            yield from (verdict_lines(results.verdict, files[gold, engine]), Text())


def _run_notes(reports: Mapping[str, ReportView]) -> list[str]:
    notes = {
        f"Gold set {report.standing}."
        for report in reports.values()
        if report.standing and (report.gold.approved_share or 0) < 1
    }
    stale = {
        f"{engine}: the baseline is stale: {report.stale}."
        for engine, report in reports.items()
        if report.stale
    }
    since = {
        f"{engine}: {text.strip()}"
        for engine, report in reports.items()
        if report.baseline is not None
        and (text := Sentences(Words("en")).since(report.baseline, _measure_names(report)))
    }
    return [*sorted(notes | stale), *sorted(since)]


def _measure_names(report: ReportView) -> dict[str, str]:
    return {figure.key: figure.title for figure in report.figures}


def next_steps(output: Path, samples: Path, *, search: bool) -> RenderableType:
    """What a new user can do with the files the demo left."""
    here, assay = Path.cwd(), _how_called()
    ours = samples.is_relative_to(here) and "site-packages" not in samples.parts
    copied = {} if ours else {"have the files here": f"{assay} demo --samples samples"}
    samples = samples.relative_to(here) if ours else Path("samples") / samples.name
    dataset = f"{samples / 'dataset.json'}"
    mine = f"{assay} score --search-module {samples / 'my_engine.py'} --dataset {dataset}"
    sample = 'demo-opinions "gift of concert tickets"'
    steps = {
        "why is q001 at that value?": f"{assay} explain {output} q001",
        **copied,
        "look at the gold set": f"{assay} gold stats {dataset}",
        "check it against the rubric": f"{assay} gold validate {dataset}",
        "score your own engine": mine,
        **({"search the sample": f"{assay} search {sample}"} if search else {}),
        "a page to look at": f"{output.with_suffix('.html')}",
    }
    table = Table(
        box=None,
        pad_edge=False,
        show_header=False,
        title="What to try next",
        title_justify="left",
        title_style="bold",
    )
    for question, command in steps.items():
        table.add_row(question, Text(command, style="cyan"))
    return Group(Text(), table)


def _how_called() -> str:
    """`assay` when the shell finds it, else the path this program was started by."""
    return "assay" if shutil.which("assay") else os.path.relpath(sys.argv[0])


def baseline_line(results: Results, path: Path, recorded: Recorded, *, is_first: bool) -> str:
    """What was recorded, so that nobody commits a baseline unseen."""
    git, standing = recorded.git, standing_line(results.receipt.gold)
    commit = "outside a git repository"
    if git:
        commit = f"at commit {git.commit[:12]}{' with uncommitted changes' if git.dirty else ''}"
    said = [f"by {recorded.by}", commit, f"gold set {standing}" if standing else ""]
    what = "first baseline" if is_first else "baseline"
    return f"{what} written to {path}: {', '.join(filter(None, said))}"
