"""The `ReportView` of results: what a report says, the same for every format, set and language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from assay.core.results import (
    MIN_QUERIES,
    Baseline,
    Bounds,
    Doubt,
    GoldenEntry,
    GoldenResults,
    GradedEntry,
    GradedReceipt,
    GradedResults,
    MachineEstimate,
    MachineFigure,
    MeasureLine,
    Metrics,
    Results,
    Status,
    Verdict,
    is_variant,
)
from assay.reports.numbers import Numbers
from assay.reports.shapes import (
    NO_BOUNDS,
    ChangesView,
    CheckLine,
    ComparisonAnswer,
    FigureChange,
    LazyLines,
    QuestionOutcome,
    ReportFigure,
    ReportHit,
    ReportQuery,
    ReportView,
    SliceRow,
    SliceTable,
    TurnedQuestion,
)
from assay.reports.wording import Sentences, answers
from assay.reports.words import Words, table

if TYPE_CHECKING:
    from assay.evaluation.comparison import Comparison
    from assay.evaluation.golden.changes import GoldenChanges

SMALL_SLICE = 10  # a slice with fewer queries is marked; chosen
# The rates of a golden set, as pages and tables have them; Markdown has every figure.
RATES = (
    "pass_rate_total",
    "pass_rate_must",
    "pass_rate_should",
    "top1_rate",
    "mrr_at_k",
    "recall_at_k",
    "near_miss_rate",
    "confusion_rate",
    "negative_violation_rate",
    "negative_in_top_k_rate",
    "correct_abstention_rate",
    "false_abstention_rate",
    "wrong_version_rate",
)
GOLDEN_SLICES = ("category", "test_type", "language", "perturbation")
SLICE_FIGURES = ("pass_rate_total", "pass_rate_must", "mrr_at_k")


def view(
    results: Results,
    *,
    comparison: Comparison | None = None,
    changes: GoldenChanges | None = None,
    before: Mapping[str, Metrics] | None = None,
    language: str = "en",
) -> ReportView:
    """The view of a report on these results; with `comparison`, and for a golden set `changes`,
    also the differences from other results, whose values by query are `before`."""
    sentences = Sentences(Words(language))
    if isinstance(results, GoldenResults):
        report = _golden(results, changes, _answers(comparison, sentences), sentences)
    else:
        report = _graded(results, comparison, sentences)
    return msgspec.structs.replace(report, before=before or {})


# ── graded sets ───────────────────────────────────────────────────────────────────────────────────


def _graded(
    results: GradedResults, comparison: Comparison | None, sentences: Sentences
) -> ReportView:
    receipt = results.receipt
    lines = [_measure_line(line, sentences.words) for line in receipt.measures]
    delta = results.baseline.delta if results.baseline else {}
    figures = _figures(lines, results.overall, results.intervals.overall, delta)
    return ReportView(
        kind="graded",
        language=sentences.words.language,
        engine=results.engine,
        timestamp=results.timestamp,
        gold=receipt.gold,
        standing=sentences.standing(receipt.gold) or sentences.judged(receipt.gold),
        counts=receipt.counts,
        n=receipt.n.overall,
        status=results.verdict.status if results.verdict else None,
        checks=_checks(results, sentences),
        judge_next=_judge_next(results.verdict),
        judge_first=results.verdict is not None and results.verdict.judge_first,
        figures=figures,
        slices=tuple(_graded_slices(results, lines, sentences.words)),
        queries=LazyLines(lambda: [_query(entry, sentences) for entry in results.per_query]),
        measures=tuple(lines),
        unjudged=tuple(receipt.unjudged.values()),
        baseline=results.baseline,
        stale=_stale(results.baseline, sentences),
        receipt=receipt,
        comparison=comparison,
        answers=_answers(comparison, sentences),
        warnings=_comparison_warnings(comparison, sentences),
        machine_estimate=results.machine_estimate,
        thresholds=_thresholds(receipt, sentences.words),
        intervals_note=_intervals_note(results, figures, sentences.words),
        proviso=_proviso(results, sentences),
        one_judge=results.verdict is not None and results.verdict.one_judge is not None,
    )


def _thresholds(receipt: GradedReceipt, words: Words) -> str:
    """Said where the suite has the thresholds of the set's rubric, and they are not the usual
    ones."""
    counted = {
        line.measure.partition("@")[0].partition("(")[0]: line.params.get("rel")
        for line in receipt.measures
    }
    relevant, high = counted.get("P"), counted.get("RR")
    unusual = isinstance(relevant, int) and isinstance(high, int) and (relevant, high) != (1, 2)
    if not unusual or not receipt.gold.rubric:
        return ""
    from assay.evaluation.measures import BINARY_SUITE, suite_of

    names = tuple(line.measure for line in receipt.measures)
    suites = (suite_of(int(relevant or 0), int(high or 0), graded=each) for each in (True, False))
    if names == BINARY_SUITE or names not in suites:
        return ""  # others were asked for
    return words("thresholds", rubric=receipt.gold.rubric, relevant=relevant, high=high)


def _proviso(results: GradedResults, sentences: Sentences) -> str:
    card, verdict = results.receipt.gold, results.verdict
    if verdict is None:
        return ""
    by_machine = sentences.words("verdict_proviso", standing=sentences.standing(card))
    parts = [by_machine if card.by_machine else "", sentences.one_judge(verdict.one_judge)]
    return " ".join(filter(None, parts))


def _answers(comparison: Comparison | None, sentences: Sentences) -> tuple[ComparisonAnswer, ...]:
    return tuple(answers(comparison, sentences)) if comparison is not None else ()


def heading(key: str, measure: str) -> str:
    """A measure at the head of a column. MRR has its threshold in its name where that is not 1."""
    return "MRR" if key == "mrr" and measure == "RR" else measure


def _measure_line(line: MeasureLine, words: Words) -> MeasureLine:
    return msgspec.structs.replace(line, formula=words.translated("formulas", line.formula))


def _figures(
    lines: Sequence[MeasureLine],
    values: Mapping[str, float | None],
    bounds: Mapping[str, Bounds],
    delta: Mapping[str, float],
) -> tuple[ReportFigure, ...]:
    return tuple(
        ReportFigure(
            key=line.key,
            title=heading(line.key, line.measure),
            name=line.measure,
            value=values.get(line.key),
            bounds=bounds.get(line.key) or NO_BOUNDS,
            change=delta.get(line.key),
        )
        for line in lines
    )


def _graded_slices(
    results: GradedResults, lines: Sequence[MeasureLine], words: Words
) -> Iterator[SliceTable]:
    for kind, slices in results.slices.items():
        if not slices:
            continue
        counts = results.receipt.n.slices.get(kind, {})
        bounds = results.intervals.slices.get(kind, {})
        delta = results.baseline.slices.get(kind, {}) if results.baseline else {}
        rows = [
            SliceRow(
                name=words.slice_name(kind, name),
                n=counts.get(name, 0),
                figures=_figures(lines, means, bounds.get(name, {}), delta.get(name, {})),
            )
            for name, means in slices.items()
        ]
        yield SliceTable(kind=kind, title=words.slice_title(kind), rows=tuple(rows))


def _query(entry: GradedEntry, sentences: Sentences) -> ReportQuery:
    top = entry.grades[:10]
    ranked = zip(entry.results[:20], entry.grades[:20], strict=True)
    return _line(
        entry,
        reason=sentences.graded_reason(entry),
        judged=sum(grade is not None for grade in top) / len(top) if top else None,
        hits=tuple(ReportHit(title=doc_id, grade=grade) for doc_id, grade in ranked),
    )


def _line(
    entry: GradedEntry | GoldenEntry,
    *,
    reason: str,
    hits: tuple[ReportHit, ...],
    judged: float | None = None,
    outcome: QuestionOutcome | None = None,
) -> ReportQuery:
    return ReportQuery(
        query_id=entry.query_id,
        text=entry.query_text,
        type=entry.query_type,
        topic=entry.query_topic,
        num_results=entry.num_results,
        values=entry.metrics,
        judged=judged,
        reason=reason,
        error=entry.error or "",
        latency_ms=entry.latency_ms,
        hits=hits,
        outcome=outcome,
    )


# ── golden sets ───────────────────────────────────────────────────────────────────────────────────


def _golden(
    results: GoldenResults,
    changes: GoldenChanges | None,
    compared: tuple[ComparisonAnswer, ...],
    sentences: Sentences,
) -> ReportView:
    receipt = results.receipt
    known = {entry.query_id for entry in results.per_query}
    figures = _golden_figures(results, sentences.words)
    return ReportView(
        kind="golden",
        language=sentences.words.language,
        engine=results.engine,
        timestamp=results.timestamp,
        gold=receipt.gold,
        standing=sentences.standing(receipt.gold),
        counts=receipt.counts,
        n=int(results.overall.get("total", len(results.per_query)) or 0),
        variants=int(results.overall.get("n_variants") or 0),
        status=_status(results.verdict),
        checks=_checks(results, sentences),
        judge_next=_judge_next(results.verdict),
        judge_first=results.verdict is not None and results.verdict.judge_first,
        figures=figures,
        slices=tuple(_golden_slices(results, sentences.words)),
        queries=tuple(_question(entry, known, sentences) for entry in results.per_query),
        measures=tuple(receipt.measures),
        baseline=results.baseline,
        stale=_stale(results.baseline, sentences),
        receipt=receipt,
        answers=compared,
        changes=_changes(changes, sentences) if changes is not None else None,
        findings=tuple((each.where, sentences.finding(each)) for each in receipt.findings),
        robustness=results.robustness,
        intervals_note=_intervals_note(
            results, [figure for figure in figures if figure.key == RATES[0]], sentences.words
        ),
        proviso=_passed_but(results, sentences),
    )


def failed_musts(results: Results) -> tuple[str, ...]:
    """The golden questions that must pass and did not."""
    if not isinstance(results, GoldenResults):
        return ()
    known = {entry.query_id for entry in results.per_query}
    return tuple(
        entry.query_id
        for entry in results.per_query
        if entry.must and not entry.passed and not is_variant(entry, known)
    )


def _passed_but(results: GoldenResults, sentences: Sentences) -> str:
    """A pass that is no yes: gates may ask for less than every question that must pass."""
    failed = failed_musts(results) if _status(results.verdict) == "pass" else ()
    return f"{sentences.failed_musts(failed)}." if failed else ""


def _golden_figures(results: GoldenResults, words: Words) -> tuple[ReportFigure, ...]:
    """Every figure that has a value, in the order of the table of names."""
    delta = results.baseline.delta if results.baseline else {}
    return tuple(
        ReportFigure(
            key=key,
            title=words.short(key),
            name=words.figure(key),
            value=value,
            bounds=results.intervals.overall.get(key) or NO_BOUNDS,
            n=results.n.overall.get(key),
            change=delta.get(key),
        )
        for key in table("en")["figures"]
        if (value := results.overall.get(key)) is not None
    )


def _golden_slices(results: GoldenResults, words: Words) -> Iterator[SliceTable]:
    for kind in GOLDEN_SLICES:
        slices = results.slices.get(kind)
        if not slices or (kind == "perturbation" and results.robustness):
            continue  # robustness says more of perturbations
        bounds = results.intervals.slices.get(kind, {})
        rows = [
            SliceRow(
                name=words.slice_name(kind, name),
                n=int(figures.get("total") or 0),
                figures=tuple(
                    ReportFigure(
                        key=key,
                        title=words.short(key),
                        name=words.figure(key),
                        value=figures.get(key),
                        bounds=bounds.get(name, {}).get(key) or NO_BOUNDS,
                    )
                    for key in SLICE_FIGURES
                ),
            )
            for name, figures in slices.items()
        ]
        yield SliceTable(kind=kind, title=words.slice_title(kind), rows=tuple(rows))


def _question(entry: GoldenEntry, known: set[str], sentences: Sentences) -> ReportQuery:
    hits = (
        ReportHit(
            title=hit.title or hit.doc_id, score=hit.score, is_expected=hit.match == "expected"
        )
        for hit in entry.hits[:10]
    )
    reason = sentences.golden_reason(entry)
    return _line(entry, reason=reason, hits=tuple(hits), outcome=_outcome(entry, known, sentences))


def _outcome(entry: GoldenEntry, known: set[str], sentences: Sentences) -> QuestionOutcome:
    variant = is_variant(entry, known)
    if entry.passed:
        return QuestionOutcome(entry=entry, is_variant=variant)
    first = sentences.hit(entry.hits[0]) if entry.hits else sentences.words("golden.nothing")
    return QuestionOutcome(
        entry=entry,
        is_variant=variant,
        expected=sentences.expected(entry),
        came_first=first,
        stood=sentences.rank_of(entry),
    )


def failed_questions(report: ReportView, *, variants: bool = False) -> list[ReportQuery]:
    """The questions that failed, MUST first, then by category and id; with `variants` the perturbed
    ones instead."""
    failed = [
        line
        for line in report.queries
        if line.outcome and not line.outcome.entry.passed and line.outcome.is_variant == variants
    ]
    return sorted(failed, key=_by_need)


def _by_need(line: ReportQuery) -> tuple[bool, str, str]:
    """The order of golden questions everywhere: MUST first, then by category and id."""
    assert line.outcome is not None
    return not line.outcome.entry.must, line.outcome.entry.category, line.query_id


def _changes(changes: GoldenChanges, sentences: Sentences) -> ChangesView:
    variants = changes.variants
    figures = [
        FigureChange(
            key=key,
            title=sentences.words.short(key),
            name=sentences.words.figure(key),
            before=before,
            now=now,
        )
        for key, (before, now) in changes.figures.items()
    ]
    return ChangesView(
        baseline=changes.baseline,
        warnings=sentences.warnings(changes.warnings),
        figures=tuple(figures),
        broke=tuple(_turned_row(*pair, sentences) for pair in changes.broke),
        repaired=tuple(_turned_row(*pair, sentences) for pair in changes.repaired),
        both_fail=changes.both_fail,
        not_compared=tuple(changes.not_compared),
        variants=(variants.broke, variants.repaired) if variants else None,
    )


def _turned_row(before: GoldenEntry, after: GoldenEntry, sentences: Sentences) -> TurnedQuestion:
    return TurnedQuestion(
        query_id=after.query_id,
        text=after.query_text,
        category=after.category,
        must=after.must,
        before=sentences.golden_reason(before),
        now=sentences.golden_reason(after),
        stood_before=sentences.rank_of(before),
        stood_now=sentences.rank_of(after),
        expects_hits=bool(after.expected_any),
    )


# ── both ──────────────────────────────────────────────────────────────────────────────────────────


def _status(verdict: Verdict | None) -> Status | None:
    """The status of the gates together, if one of them counts."""
    if verdict is None or not any(check.counts for check in verdict.checks):
        return None
    return verdict.status


def _checks(results: Results, sentences: Sentences) -> tuple[CheckLine, ...]:
    return tuple(
        CheckLine(
            status=check.status,
            counts=check.counts,
            title=check.title,
            message=sentences.check_of(results, check),
            name=sentences.gate_name(check),
            measure=sentences.gate_measure(check),
            key=check.gate.measure,
            value=check.value,
            limit=sentences.gate_limit(check),
        )
        for check in (results.verdict.checks if results.verdict else ())
    )


def _comparison_warnings(comparison: Comparison | None, sentences: Sentences) -> tuple[str, ...]:
    if comparison is None:
        return ()
    return (*sentences.warnings(comparison.warnings), *sentences.rulings(comparison.rulings))


def _judge_next(verdict: Verdict | None) -> tuple[tuple[str, str], ...] | None:
    if verdict is None or verdict.judge_next is None:
        return None
    return tuple((pair.query_id, pair.doc_id) for pair in verdict.judge_next)


def _intervals_note(results: Results, figures: Sequence[ReportFigure], words: Words) -> str:
    """A note that the intervals hold in the worst case, and which are too wide to be useful."""
    notes = [words("intervals_worst_case")] if results.worst_case else []
    names = [figure.title for figure in figures if figure.too_wide]
    key = "too_wide_golden" if isinstance(results, GoldenResults) else "too_wide"
    notes += [words.plural(key, len(names), names=", ".join(names))] if names else []
    return " ".join(notes)


def _stale(baseline: Baseline | None, sentences: Sentences) -> str:
    return sentences.stale(baseline.stale) if baseline else ""


# ── machine votes ─────────────────────────────────────────────────────────────────────────────────


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
    names = ("estimate", "interval", "people", "interval", "machine", "weight", "judged")
    return MachineBlock(
        title=say("machine.title"),
        lead=say("machine.lead", judges=", ".join(estimate.judges)),
        head=(say("measure"), *(say(f"machine.{name}") for name in names)),
        rows=tuple(
            _machine_row(report.titles.get(key, figure.measure), figure, say)
            for key, figure in estimate.figures.items()
        ),
        notes=tuple(_machine_notes(estimate, say)),
        doubts=tuple(_machine_doubt(doubt, say) for doubt in estimate.doubts),
    )


def _machine_row(title: str, figure: MachineFigure, say: Words) -> tuple[str, ...]:
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


def _machine_notes(estimate: MachineEstimate, say: Words) -> Iterator[str]:
    figures = estimate.figures.values()
    yield say("machine.random")
    asked = [figure for figure in figures if figure.judged < figure.queries]
    if any(figure.value is not None and not figure.weight for figure in asked):
        yield say("machine.no_weight")
    if few := [figure.measure for figure in figures if figure.value is None]:
        yield say("machine.too_few", measures=", ".join(few), fewest=MIN_QUERIES)
    if most := max((figure.left_out for figure in figures), default=0):
        yield say("machine.left_out", n=most)
    if most := max((figure.nothing_relevant for figure in figures), default=0):
        yield say("machine.nothing_relevant", n=most)


def _machine_doubt(doubt: Doubt, say: Words) -> str:
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
