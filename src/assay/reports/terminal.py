"""Results on a terminal: scorecards and gate verdicts of one run, several engines or a whole
`assay run`, and the explanation of one query."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.core.results import (
    AnswerResults,
    Check,
    Entry,
    Gate,
    GoldenEntry,
    GoldenResults,
    GradedEntry,
    GradedReceipt,
    MeasureLine,
    Recorded,
    Results,
    Robustness,
    Verdict,
    standing_line,
)
from assay.evaluation.measures import MEASURES, Measure, parse_measure
from assay.reports.grids import STATUS_STYLES, bare_table, headed_table, keep_on_one_line
from assay.reports.numbers import Numbers, is_rate, short
from assay.reports.shapes import ReportFigure, ReportQuery, ReportView
from assay.reports.view import RATES, SMALL_SLICE, failed_questions, machine_block, view
from assay.reports.wording import Sentences
from assay.reports.words import Words

# told where they are not 0
COUNTS = ("n_missing", "n_failed", "n_negative", "n_unjudged", "n_extra", "duplicates", "ties")
SHOWN_FAILURES = 20  # questions that failed; taste
SHOWN_PAIRS = 5  # judgments that would settle a verdict; taste
GOLDEN_ROWS = (*RATES, "avg_top1_score", "avg_latency_ms")
MEAN_KEY = "mrr_at_k"  # a mean: it has an interval, and is no rate

RunLine = tuple[str, str, Results | None, str]  # gold set, engine, results or why there are none


def card(report: ReportView) -> RenderableType:
    """The results as a terminal shows them."""
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
            mark = " *" if row.n < SMALL_SLICE else ""
            few = few or row.n < SMALL_SLICE
            _add_row(table, f"  {row.name}{mark}", row.n, row.figures, numbers)
    note = [Text(), Text(say("terminal.few", few=SMALL_SLICE), style="dim")] if few else []
    notes = [*note, *_footnotes(report, say, numbers)]
    return Group(_title(report, say), Text(), table, *notes, *_machine(report))


def _machine(report: ReportView) -> Iterator[RenderableType]:
    """The figures from machine votes, separate from all others."""
    if report.machine_estimate is None:
        return
    block = machine_block(report, report.machine_estimate)
    table = headed_table(block.head[0], right=block.head[1:])
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


def _measure_table(first: str, figures: Sequence[ReportFigure]) -> Table:
    table = headed_table()
    table.add_column(first, min_width=18)
    table.add_column("n", justify="right", style="dim")
    for figure in figures:
        table.add_column(figure.title, justify="right", no_wrap=True)
    return table


def _add_row(
    table: Table,
    name: str,
    n: int,
    figures: Sequence[ReportFigure],
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
    if report.intervals_note:
        yield Text(report.intervals_note, style="yellow")
    if report.thresholds:
        yield Text(report.thresholds, style="dim")
    yield from _since_baseline(report, say)
    notes = _unjudged_notes(report, say, numbers)
    yield from (Text(note, style="dim") for note in notes if note)
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


def _since_baseline(report: ReportView, say: Words) -> Iterator[Text]:
    """The change against the baseline, where there is one to report."""
    since = Sentences(say).since(report.baseline, report.titles) if report.baseline else ""
    if since:
        yield Text(f"{say('vs_baseline')}: {since.strip()}", style="dim")


def _unjudged_notes(report: ReportView, say: Words, numbers: Numbers) -> Iterator[str]:
    """Notes on how unjudged hits could change the headline and measures that know their
    residual."""
    if headline := report.headline_unjudged:
        yield Sentences(say).bounds(*headline, report.counts)
    for unjudged in report.unjudged:
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


def run_summary(
    outcomes: Sequence[RunLine],
    files: Files,
    answers: Sequence[tuple[str, AnswerResults | None, str]] = (),
) -> RenderableType:
    """One table per gold set with one row per engine, the gates below it, and a card for each file
    of answers."""
    shown: list[RenderableType] = []
    for gold in dict.fromkeys(outcome[0] for outcome in outcomes):
        shown.append(Text(gold, style="bold"))
        shown += _gold_summary([outcome for outcome in outcomes if outcome[0] == gold], files)
    for name, results, error in answers:
        from assay.reports.answers import card as answer_card

        shown.append(Text(name, style="bold"))
        shown.append(answer_card(results) if results is not None else Text(error, style="red"))
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
        f"{engine} vs baseline: {text.strip()}"
        for engine, report in reports.items()
        if report.baseline is not None
        and (text := Sentences(Words("en")).since(report.baseline, report.titles))
    }
    return [*sorted(notes | stale), *sorted(since)]


def next_steps(output: Path, samples: Path, *, install: str) -> RenderableType:
    """The next steps for a new user with the files of the demo; `install` is the command that
    brings Assay's own engine, where it is missing."""
    here, assay = Path.cwd(), _how_called()
    ours = samples.is_relative_to(here) and "site-packages" not in samples.parts
    samples = samples.relative_to(here) if ours else Path("samples") / samples.name
    copy = {"have the files here": f"{assay} demo --samples samples"}
    dataset = f"{samples / 'dataset.json'}"
    before = output.with_name(f"{output.stem}-bm25.json")
    search = {"search the sample": f'{assay} search demo-opinions "gift of concert tickets"'}
    steps = {
        "why is q001 at that value?": f"{assay} explain {output} q001",
        "is it better than BM25?": f"{assay} compare {before} {output}",
        **({} if Path(dataset).exists() else copy),
        "look at the gold set": f"{assay} gold stats {dataset}",
        "check it against the rubric": f"{assay} gold validate {dataset}",
        "score your own engine": f"{assay} score {dataset} --engine {samples / 'my_engine.py'}",
        **({"add Assay's own engine": install} if install else search),
        "compare on your documents": f"{assay} start FOLDER",
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


def baseline_line(
    results: Results, path: Path, recorded: Recorded, *, is_first: bool, words: Words
) -> str:
    """The summary of a recorded baseline, so that nobody commits one unseen."""
    git, standing = recorded.git, standing_line(results.receipt.gold)
    commit = words("command.no_git")
    if git:
        key = "uncommitted" if git.dirty else "commit"
        commit = words(f"command.{key}", commit=git.commit[:12])
    status = words("command.standing", standing=standing) if standing else ""
    parts = [words("command.by", by=recorded.by), commit, status]
    key = "first_baseline" if is_first else "baseline_written"
    return words(f"command.{key}", path=path, facts=", ".join(filter(None, parts)))


# ── golden sets ───────────────────────────────────────────────────────────────────────────────────


def golden_card(report: ReportView) -> RenderableType:
    """The pass/fail card: rates with intervals, gates, and what failed, MUST first."""
    say = Words(report.language)
    numbers = Numbers(say)
    rates = bare_table()
    for figure in filter(None, map(report.figure, GOLDEN_ROWS)):
        rates.add_row(*_golden_rate(figure, numbers))
    gates = bare_table()
    for check in report.checks:
        status = Text(say(f"statuses.{check.status}"), style=STATUS_STYLES[check.status])
        gates.add_row(status, check.message)
    shown: list[RenderableType] = [_golden_title(report, say), Text(), rates]
    if report.intervals_note:
        shown.append(Text(report.intervals_note, style="yellow"))
    shown += _since_baseline(report, say)
    if report.standing:
        shown.append(Text(say("gold_set_is", standing=report.standing), style="yellow"))
    proviso = [Text(report.proviso, style="yellow")] if report.proviso else []
    shown += [Text(), gates, *proviso, *_robustness(report.robustness, say, numbers)]
    return Group(*shown, *_failures(failed_questions(report), say))


def _golden_title(report: ReportView, say: Words) -> Text:
    variants, gold = report.variants, report.gold
    apart = ""
    if variants:
        apart = say("variants_of_them", variants=say.counted(variants, "variant"))
    asked = say.counted(gold.queries - variants, "question")
    on = f" {say('on')} "
    return Text.assemble((report.engine, "bold"), on, (gold.name, "bold"), f"  ({asked}{apart})")


def _golden_rate(figure: ReportFigure, numbers: Numbers) -> tuple[str, Text, Text]:
    """A figure as every page tells it, with its interval; scores and latencies have none here."""
    value, between = numbers.figure(figure.key, figure.value), ""
    if None not in figure.bounds and (is_rate(figure.key) or figure.key == MEAN_KEY):
        format_bounds = numbers.percents if is_rate(figure.key) else numbers.span
        between = format_bounds(figure.bounds)
    return figure.title, Text(value, style="bold"), Text(between, style="dim")


def _failures(failed: Sequence[ReportQuery], say: Words) -> Iterator[RenderableType]:
    if not failed:
        return
    table = bare_table()
    for question in failed[:SHOWN_FAILURES]:
        is_must = question.outcome is not None and question.outcome.entry.must
        table.add_row(
            Text("MUST" if is_must else "", style="bold red"),
            Text(question.query_id, style="bold"),
            short(question.text, 50),
            Text(question.reason, style="dim"),
        )
    yield from (Text(), Text(say("what_failed"), style="bold"), table)
    if len(failed) > SHOWN_FAILURES:
        yield Text(say("and_more", n=len(failed) - SHOWN_FAILURES), style="dim")


def _robustness(
    robustness: Robustness | None, say: Words, numbers: Numbers
) -> Iterator[RenderableType]:
    """How variants of the questions fare against the questions themselves."""
    if robustness is None:
        return
    names = ("n", say("passed"), say("interval"), say("unperturbed"), say("drop_brief"))
    table = headed_table(say("perturbation_brief"), right=names)
    keep_on_one_line(table, say("interval"))
    named = [(say.perturbation(name), row) for name, row in robustness.by_perturbation.items()]
    every = [*named, (say("all_brief"), robustness.overall)]
    for name, row in every:
        table.add_row(
            name,
            str(row.n),
            numbers.percent(row.pass_rate),
            numbers.percents((row.low, row.high)),
            numbers.percent(row.parent_pass_rate),
            numbers.decimal(100 * row.drop, 1),
        )
    yield from (Text(), Text(say("golden.robustness"), style="bold"), table)
    families = list(map(say.perturbation, robustness.worst_families))
    values = {"worst": families, "break_most": robustness.worst_parents}
    for key, worst in values.items():
        if worst:
            yield Text(say(f"terminal.{key}", names=", ".join(worst)), style="yellow")


# ── gates ─────────────────────────────────────────────────────────────────────────────────────────


def verdict_lines(
    verdict: Verdict, files: tuple[str, str] = ("RESULTS", "BASELINE")
) -> RenderableType:
    """The verdict on top, then every gate with what it found. `files` are the results and the
    baseline that it is about, for the command that lists what to judge."""
    table = bare_table()
    for check in sorted(verdict.checks, key=_worst_first):
        message = Sentences(Words("en")).check(check)
        table.add_row(Text(check.status.upper(), style=STATUS_STYLES[check.status]), message)
    # of one gate alone its own line says it
    together = [Text(verdict.status.upper(), style=STATUS_STYLES[verdict.status])]
    shown = together if len(verdict.checks) != 1 else []
    settling = (Text(line, style="yellow") for line in _what_would_settle(verdict, files))
    provisos = [f"The gold set is {verdict.note}." if verdict.note else ""]
    provisos.append(Sentences(Words("en")).one_judge(verdict.one_judge))
    lines = (Text(proviso, style="yellow") for proviso in provisos if proviso)
    return Group(*shown, table, *lines, *settling)


def _worst_first(check: Check) -> int:
    return ("fail", "inconclusive", "pass").index(check.status)


def _what_would_settle(verdict: Verdict, files: tuple[str, str]) -> Iterator[str]:
    """The judgments that would settle it, and the command that lists them."""
    pairs = verdict.judge_next
    if pairs is None:
        return
    if not pairs:
        yield Words("en")("more_queries")
        return
    shown = ", ".join(f"{pair.query_id} {pair.doc_id}" for pair in pairs[:SHOWN_PAIRS])
    more = f" and {len(pairs) - SHOWN_PAIRS} more" if len(pairs) > SHOWN_PAIRS else ""
    say = Sentences(Words("en"))
    yield say.to_judge(len(pairs), f"{shown}{more}", first=verdict.judge_first)
    open_gate = next(check.gate for check in verdict.checks if check.status == "inconclusive")
    yield f"A list to fill in: {_next_command(open_gate, files)}"


def _next_command(gate: Gate, files: tuple[str, str]) -> str:
    """The command that lists the judgments for an inconclusive gate."""
    bounds = (gate.minimum, gate.maximum, gate.below)
    bound = next((bound for bound in bounds if bound is not None), None)
    results, baseline = (shlex.quote(file) for file in files)
    what = f"{results} --threshold {bound:g}" if bound is not None else f"{baseline} {results}"
    return f"assay gold next {what} --measure '{gate.measure}' -o pairs.csv"


# ── `assay explain` ───────────────────────────────────────────────────────────────────────────────

SHOWN_HITS = 20  # of a golden question, where it looks at fewer: taste


def explanation(entry: Entry, lines: Sequence[MeasureLine]) -> RenderableType:
    """The arithmetic behind each measure of a query, or why a golden question passed or failed."""
    if isinstance(entry, GoldenEntry):
        return _explain_question(entry)
    return _explain_query(entry, lines)


def _explain_query(entry: GradedEntry, lines: Sequence[MeasureLine]) -> RenderableType:
    deepest = max([line.cutoff or len(entry.grades) for line in lines], default=10)
    head = Text.assemble((entry.query_id, "bold"), "  ", entry.query_text)
    reason = [Text(entry.reason, style="yellow")] if entry.reason else []
    grades = " ".join(map(str, entry.known_grades)) or "nothing yet"
    judged = f"judged for this query, best first: {grades}"
    sums = bare_table()
    for line in lines:
        value = entry.metrics.get(line.key)
        sums.add_row(
            Text(line.measure, style="bold"),
            "=",
            "no value" if value is None else f"{value:.6f}",
            _derivation(line, entry) if entry.known_grades else "",
        )
    ranking = _ranking(entry, deepest)
    return Group(head, Text(), *reason, ranking, Text(), Text(judged, style="dim"), Text(), sums)


def _ranking(entry: GradedEntry, deepest: int) -> Table:
    """Rank by rank, what each hit adds to DCG."""
    table = headed_table()
    for name in ("rank", "document", "grade", "1/log2(rank+1)", "grade/log2(rank+1)", "sum"):
        table.add_column(name, justify="left" if name == "document" else "right")
    total = 0.0
    ranked = zip(entry.results[:deepest], entry.grades, strict=False)
    for rank, (doc_id, grade) in enumerate(ranked, start=1):
        discount = 1 / math.log2(rank + 1)
        gain = max(grade or 0, 0) * discount
        total += gain
        style = "dim" if not grade else "bold green" if grade >= 2 else "green"
        sums = (f"{gain:.4f}", f"{total:.4f}") if entry.known_grades else ("–", "–")
        figures = (f"{discount:.4f}", *sums)
        shown = "unjudged" if grade is None else str(grade)
        table.add_row(str(rank), doc_id, shown, *figures, style=style)
    return table


def _derivation(line: MeasureLine, entry: GradedEntry) -> str:
    """The arithmetic of one measure in words and figures; the formula itself where it is not a
    simple ratio."""
    measure = parse_measure(line.measure)
    grades, judged, returned = entry.grades, entry.known_grades, entry.returned
    top = [grade if grade is not None else 0 for grade in grades[: measure.cutoff]]
    threshold, cutoff = measure.param("rel") or 1, measure.cutoff
    relevant = [rank for rank, grade in enumerate(top, start=1) if grade >= threshold]
    looked_at = min(cutoff or returned, returned)
    if looked_at > len(grades) and not (measure.name == "RR" and relevant):
        return f"it looks at {looked_at:,} hits, of which the results keep the top {len(grades)}"
    if measure.name == "nDCG":
        dcg, ideal = _dcg(top, measure), _dcg(judged[:cutoff], measure)
        return f"{dcg:.6f} / {ideal:.6f}  (sum over the ranking / sum over the best order)"
    if measure.name == "P":
        return f"{len(relevant)} / {cutoff}  (grade >= {threshold} in the top {cutoff})"
    if measure.name == "R":
        known = sum(grade >= threshold for grade in judged)
        share = f"{len(relevant)} / {known}"
        return f"{share}  (found in the top {cutoff} / all with grade >= {threshold})"
    if measure.name == "RR":
        if not relevant:
            return f"no hit with grade >= {threshold}"
        return f"1 / {relevant[0]}  (first hit with grade >= {threshold})"
    return MEASURES[measure.name].text


def _dcg(grades: Sequence[int], measure: Measure) -> float:
    has_powers = measure.param("gain") == "exp2"
    gains = [2.0 ** max(grade, 0) - 1 if has_powers else max(grade, 0) for grade in grades]
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _explain_question(entry: GoldenEntry) -> RenderableType:
    """The expectations of a question, and for every hit whether it meets them."""
    sentences = Sentences(Words("en"))
    evidence = entry.stated.get("evidence")
    stated = {
        "expected": sentences.expected(entry),
        "looked at": f"the top {entry.k}, with a score of at least {entry.min_score:g}",
        "answered": "nothing: the engine abstained" if entry.abstained else "",
        "evidence": ", ".join(map(str, evidence)) if isinstance(evidence, list) else evidence,
        "as of": entry.as_of,
    }
    asked = bare_table()
    for name, value in stated.items():
        if value:
            asked.add_row(Text(name, style="dim"), str(value))
    table = headed_table()
    for name in ("rank", "hit", "what it is"):
        table.add_column(name, justify="right" if name == "rank" else "left")
    for rank, hit in enumerate(entry.hits[: max(entry.k, SHOWN_HITS)], start=1):
        style = "dim" if rank > entry.k else "green" if hit.match == "expected" else ""
        table.add_row(str(rank), sentences.hit(hit), hit.match, style=style)
    need = " [MUST]" if entry.must else ""
    head = Text.assemble((entry.query_id, "bold"), f"{need}  {entry.query_text}")
    verdict = Text.assemble(
        Text("PASSED", style="bold green") if entry.passed else Text("FAILED", style="bold red"),
        f"  {entry.reason}",
    )
    return Group(head, Text(), verdict, Text(), asked, Text(), table)
