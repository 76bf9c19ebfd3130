"""Pass or fail, for a terminal: the golden card and the verdict of the gates."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from assay.core.results import Check, Gate, Robustness, Verdict
from assay.reports.grids import headed, plain, unbroken
from assay.reports.numbers import Numbers, is_rate, short
from assay.reports.sentences import Sentences
from assay.reports.shapes import Figure, QueryLine, ReportView
from assay.reports.view import RATES, failed_questions
from assay.reports.words import Words

SHOWN = 20  # of the questions that failed
SHOWN_PAIRS = 5  # of the judgments that would settle a verdict
STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
ROWS = (*RATES, "avg_top1_score", "avg_latency_ms")
MEAN = "mrr_at_k"  # with an interval, and no rate


def golden_card(report: ReportView) -> RenderableType:
    """The pass/fail card: rates with intervals, gates, and what failed, MUST first."""
    say = Words(report.language)
    numbers = Numbers(say)
    rates = plain()
    for figure in filter(None, map(report.figure, ROWS)):
        rates.add_row(*_rate(figure, numbers))
    gates = plain()
    for check in report.checks:
        status = Text(say(f"statuses.{check.status}"), style=STYLES[check.status])
        gates.add_row(status, check.message)
    shown: list[RenderableType] = [_title(report, say), Text(), rates]
    if report.wide:
        shown.append(Text(report.wide, style="yellow"))
    names = {figure.key: figure.title for figure in report.figures}
    if report.baseline is not None and (
        since := Sentences(say).since(report.baseline, names).strip()
    ):
        shown.append(Text(f"{say('vs_baseline')}: {since}", style="dim"))
    if report.standing:
        shown.append(Text(say("gold_set_is", standing=report.standing), style="yellow"))
    proviso = [Text(report.proviso, style="yellow")] if report.proviso else []
    shown += [Text(), gates, *proviso, *_robustness(report.robustness, say, numbers)]
    return Group(*shown, *_failures(failed_questions(report), say))


def _title(report: ReportView, say: Words) -> Text:
    variants, gold = report.variants, report.gold
    apart = ""
    if variants:
        apart = say("variants_of_them", variants=say.counted(variants, "variant"))
    asked = say.counted(gold.queries - variants, "question")
    on = f" {say('on')} "
    return Text.assemble((report.engine, "bold"), on, (gold.name, "bold"), f"  ({asked}{apart})")


def _rate(figure: Figure, numbers: Numbers) -> tuple[str, Text, Text]:
    """A figure as every page tells it, with its interval; scores and latencies have none here."""
    value, between = numbers.figure(figure.key, figure.value), ""
    if None not in figure.bounds and (is_rate(figure.key) or figure.key == MEAN):
        told = numbers.percents if is_rate(figure.key) else numbers.span
        between = told(figure.bounds)
    return figure.title, Text(value, style="bold"), Text(between, style="dim")


def _failures(failed: Sequence[QueryLine], say: Words) -> Iterator[RenderableType]:
    if not failed:
        return
    table = plain()
    for question in failed[:SHOWN]:
        is_must = question.outcome is not None and question.outcome.must
        table.add_row(
            Text("MUST" if is_must else "", style="bold red"),
            Text(question.query_id, style="bold"),
            short(question.text, 50),
            Text(question.reason, style="dim"),
        )
    yield from (Text(), Text(say("what_failed"), style="bold"), table)
    if len(failed) > SHOWN:
        yield Text(say("and_more", n=len(failed) - SHOWN), style="dim")


def _robustness(
    robustness: Robustness | None, say: Words, numbers: Numbers
) -> Iterator[RenderableType]:
    """How variants of the questions fare against the questions themselves."""
    if robustness is None:
        return
    names = ("n", say("passed"), say("interval"), say("unperturbed"), say("drop_brief"))
    table = headed(say("perturbation_brief"), right=names)
    unbroken(table, say("interval"))
    every = [*robustness.by_perturbation.items(), (say("all_brief"), robustness.overall)]
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
    told = {"worst": robustness.worst_families, "break_most": robustness.worst_parents}
    for key, worst in told.items():
        if worst:
            yield Text(say(f"terminal.{key}", names=", ".join(worst)), style="yellow")


def verdict_lines(
    verdict: Verdict, files: tuple[str, str] = ("RESULTS", "BASELINE")
) -> RenderableType:
    """The verdict on top, then every gate with what it found. `files` are the results and the
    baseline that it is about, for the command that lists what to judge."""
    table = plain()
    for check in sorted(verdict.checks, key=_worst_first):
        message = Sentences(Words("en")).check(check)
        table.add_row(Text(check.status.upper(), style=STYLES[check.status]), message)
    # of one gate alone its own line says it
    together = [Text(verdict.status.upper(), style=STYLES[verdict.status])]
    shown = together if len(verdict.checks) != 1 else []
    settling = (Text(line, style="yellow") for line in _settling(verdict, files))
    provisos = [f"The gold set is {verdict.note}." if verdict.note else ""]
    provisos.append(Sentences(Words("en")).one_judge(verdict.one_judge))
    told = (Text(proviso, style="yellow") for proviso in provisos if proviso)
    return Group(*shown, table, *told, *settling)


def _worst_first(check: Check) -> int:
    return ("fail", "inconclusive", "pass").index(check.status)


def _settling(verdict: Verdict, files: tuple[str, str]) -> Iterator[str]:
    """The judgments that would settle it, and the command that lists them."""
    pairs = verdict.judge_next
    if pairs is None:
        return
    if not pairs:
        yield "More queries would settle it, not more judgments."
        return
    shown = ", ".join(f"{pair.query_id} {pair.doc_id}" for pair in pairs[:SHOWN_PAIRS])
    more = f" and {len(pairs) - SHOWN_PAIRS} more" if len(pairs) > SHOWN_PAIRS else ""
    say = Sentences(Words("en"))
    yield say.to_judge(len(pairs), f"{shown}{more}", first=verdict.judge_first)
    open_gate = next(check.gate for check in verdict.checks if check.status == "inconclusive")
    yield f"A list to fill in: {_next_command(open_gate, files)}"


def _next_command(gate: Gate, files: tuple[str, str]) -> str:
    """What writes the judgments for a gate that cannot be told."""
    bounds = (gate.minimum, gate.maximum, gate.below)
    bound = next((bound for bound in bounds if bound is not None), None)
    results, baseline = (shlex.quote(file) for file in files)
    what = f"{results} --threshold {bound:g}" if bound is not None else f"{baseline} {results}"
    return f"assay gold next {what} --measure '{gate.measure}' -o pairs.csv"
