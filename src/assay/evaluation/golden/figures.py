"""Compute the figures of a golden set from the outcomes of its questions: pass rates, MRR, recall
and the rest, each with n and an interval, and the results object.

A failed call is in no figure: it is counted separately and fails the gate. A question that is
missing from the run counts as not passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.core.results import (
    Bounds,
    FigureCounts,
    GoldenEntry,
    GoldenHit,
    GoldenReceipt,
    GoldenResults,
    Intervals,
    Metrics,
)
from assay.evaluation import statistics

if TYPE_CHECKING:  # the names of figures are known without the reader of citations
    from assay.evaluation.golden.scoring import CheckedHit, Outcome

Rate = tuple[Callable[["Outcome"], bool], Callable[["Outcome"], bool]]

# To add a figure: its row in RATES, or its name in MEANS and its value in `summarize`; its names in
# reports/words/*.toml, its place in RATES of reports/view.py, and docs/golden.md. Where a
# lower value is better, LOWER_IS_BETTER: gates then refuse a limit on its fall.
# name: (the questions it is over, which of them count)
RATES: dict[str, Rate] = {
    "pass_rate_total": (lambda o: True, lambda o: o.passed),
    "pass_rate_must": (lambda o: bool(o.query.must), lambda o: o.passed),
    "pass_rate_should": (lambda o: not o.query.must, lambda o: o.passed),
    "top1_rate": (lambda o: bool(o.checks.expected), lambda o: o.first_rank == 1),
    "near_miss_rate": (lambda o: bool(o.checks.expected), lambda o: o.near_miss),
    "confusion_rate": (lambda o: o.confused is not None, lambda o: bool(o.confused)),
    "negative_violation_rate": (lambda o: bool(o.checks.negatives), lambda o: o.negative_violated),
    "negative_in_top_k_rate": (
        lambda o: bool(o.checks.negatives),
        lambda o: o.negative is not None,
    ),
    "correct_abstention_rate": (lambda o: o.checks.must_abstain, lambda o: o.abstained),
    "false_abstention_rate": (lambda o: bool(o.checks.expected), lambda o: o.abstained),
    "wrong_version_rate": (lambda o: bool(o.checks.as_of), lambda o: o.failure == "wrong_version"),
}

UNBOUNDED = ("avg_top1_score", "avg_latency_ms")
MEANS = ("mrr_at_k", "recall_at_k", *UNBOUNDED)
# percentiles; the names are those of spec 002
TOP1 = {"min_top1_score": 0, "median_top1_score": 50, "p90_top1_score": 90, "max_top1_score": 100}
LATENCY = {"p50_latency_ms": 50, "p95_latency_ms": 95}
FIGURES = ("total", "n_failed", *RATES, *MEANS, *TOP1, *LATENCY)  # every measure, by name
LOWER_IS_BETTER = (
    "n_failed",
    "confusion_rate",
    "negative_violation_rate",
    "negative_in_top_k_rate",
    "false_abstention_rate",
    "wrong_version_rate",
    "avg_latency_ms",
    *LATENCY,
)

SLICES: dict[str, Callable[[Outcome], str]] = {
    "category": lambda o: o.query.category,
    "test_type": lambda o: str(o.query.checks.get("test_type") or ""),
    "language": lambda o: o.query.language,
    "perturbation": lambda o: str(o.query.extra.get("perturbation") or ""),
}


# ── figures ───────────────────────────────────────────────────────────────────────────────────────


class Summary(NamedTuple):
    """Figures, their intervals, and over how many questions each is, by the name of the measure."""

    figures: Metrics
    intervals: dict[str, Bounds]
    n: dict[str, int]


def summarize(outcomes: Iterable[Outcome], *, worst_case: bool = False) -> Summary:
    """In the worst case rates have their exact interval, and means Gaffke's bound."""
    every = list(outcomes)
    answered = [outcome for outcome in every if outcome.failure != "error"]
    figures: Metrics = {"total": len(every), "n_failed": len(every) - len(answered)}
    intervals: dict[str, Bounds] = {}
    n: dict[str, int] = {}
    for name, (over, counts) in RATES.items():
        asked = [outcome for outcome in answered if over(outcome)]
        successes, n[name] = sum(counts(outcome) for outcome in asked), len(asked)
        figures[name] = successes / n[name] if asked else None
        intervals[name] = _bounds_of(statistics.rate_interval(successes, n[name], exact=worst_case))
    means = {
        "mrr_at_k": [rr for outcome in answered if (rr := outcome.rr) is not None],
        "recall_at_k": [outcome.recall for outcome in answered if outcome.recall is not None],
        "avg_top1_score": top1_scores(answered),
        "avg_latency_ms": _latencies(answered),
    }
    for name, values in means.items():
        # statistics.mean is exact, so that the figure is the suite's runner's to the last bit
        figures[name] = mean(values) if values else None
        column = np.asarray(values, np.float64).reshape(-1, 1)
        found = statistics.mean_intervals(
            column, ranged=name not in UNBOUNDED, worst_case=worst_case
        )
        intervals[name] = _bounds_of(found[0])
        if name == "avg_latency_ms" and (low := intervals[name][0]) is not None:
            intervals[name] = (max(low, 0.0), intervals[name][1])  # no time is below 0
        n[name] = len(values)
    for names, values in ((TOP1, means["avg_top1_score"]), (LATENCY, means["avg_latency_ms"])):
        figures |= _percentiles(values, names)
        n |= dict.fromkeys(names, len(values))
        intervals |= {
            name: _bounds_of(statistics.quantile_interval(values, at / 100))
            for name, at in names.items()
        }
    return Summary(figures, intervals, n)


def top1_scores(outcomes: Iterable[Outcome]) -> list[float]:
    """The score of each top hit; one without a score counts as 0, unless no hit of the run has
    any."""
    top = [outcome.ranked[0] for outcome in outcomes if outcome.ranked]
    return (
        [ranked.score for ranked in top]
        if any(ranked.hit.score is not None for ranked in top)
        else []
    )


def _latencies(outcomes: Iterable[Outcome]) -> list[float]:
    results = (outcome.result for outcome in outcomes)
    return [result.millis for result in results if result is not None and result.millis is not None]


def _percentiles(values: Sequence[float], names: Mapping[str, int]) -> Metrics:
    if not values:
        return dict.fromkeys(names)
    percentiles = np.percentile(values, list(names.values())).tolist()
    return {
        name: median(values) if at == 50 else value
        for (name, at), value in zip(names.items(), percentiles, strict=True)
    }


# ── the results ───────────────────────────────────────────────────────────────────────────────────


def build_results(outcomes: Sequence[Outcome], *, worst_case: bool = False) -> GoldenResults:
    """The figures overall and by slice, and every question, under the names of the suite.

    Perturbed questions beside their parents are in the slices by perturbation alone: all other
    figures, and so the gates, are over the questions that people wrote."""
    base = without_variants(outcomes)
    overall = summarize(base, worst_case=worst_case)
    if variants := len(outcomes) - len(base):
        overall.figures["n_variants"] = variants
        overall.figures["n_failed"] = sum(outcome.failure == "error" for outcome in outcomes)
    slices: dict[str, dict[str, Summary]] = {}
    for kind, name_of in SLICES.items():
        groups: dict[str, list[Outcome]] = {}
        for outcome in outcomes if kind == "perturbation" else base:
            if name := name_of(outcome):
                groups.setdefault(name, []).append(outcome)
        if groups or kind in ("category", "test_type"):
            slices[kind] = {
                name: summarize(group, worst_case=worst_case)
                for name, group in sorted(groups.items())
            }
    return GoldenResults(
        timestamp="",
        engine="",
        overall=overall.figures,
        slices={
            kind: {name: summary.figures for name, summary in names.items()}
            for kind, names in slices.items()
        },
        failures=_failures(base),
        worst_case=worst_case,
        intervals=Intervals(
            overall=overall.intervals,
            slices={
                kind: {name: summary.intervals for name, summary in names.items()}
                for kind, names in slices.items()
            },
        ),
        n=FigureCounts(
            overall=overall.n,
            slices={
                kind: {name: summary.n for name, summary in names.items()}
                for kind, names in slices.items()
            },
        ),
        per_query=[golden_entry(outcome) for outcome in outcomes],
        receipt=GoldenReceipt(),
    )


def without_variants(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The questions without the variants of others among them; variants on their own are questions
    like any."""
    known = {outcome.query.id for outcome in outcomes}
    return [
        outcome
        for outcome in outcomes
        if not (
            outcome.query.extra.get("perturbation") and outcome.query.extra.get("parent") in known
        )
    ]


def _failures(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How often each kind of failure came, the most frequent first."""
    counts = Counter(outcome.failure for outcome in outcomes if outcome.failure)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def golden_entry(outcome: Outcome) -> GoldenEntry:
    """One question with its answer, and why it passed or failed."""
    query, checks, first, answer = outcome.query, outcome.checks, outcome.placed, outcome.result
    stated = {key: value for key, value in query.checks.items() if key != "expected_any"}
    return GoldenEntry(
        query_id=query.id,
        query_text=query.text,
        category=query.category,
        must=bool(query.must),
        stated={**query.extra, **stated},
        expected_any=query.checks.get("expected_any") or [],
        k=checks.k,
        min_score=checks.min_score,
        passed=outcome.passed,
        first_rank=outcome.first_rank,
        rr=outcome.rr,
        latency_ms=answer.millis if answer else None,
        hits=[golden_hit(ranked) for ranked in outcome.ranked],
        reason=outcome.reason,
        failure=outcome.failure,
        expected_rank=first.rank if first else None,
        expected_score=first.hit.score if first else None,
        negative_rank=outcome.negative.rank if outcome.negative else None,
        abstained=answer is not None and answer.abstained,
        query_type=query.type,
        query_topic=query.topic,
        num_results=len(outcome.ranked),
        results=[ranked.hit.doc_id for ranked in outcome.ranked],
        grades=[1 if ranked.expected else None for ranked in outcome.ranked],
        known_grades=[1] * len(checks.expected),
        metrics={
            "pass": None if outcome.failure == "error" else float(outcome.passed),
            "mrr_at_k": outcome.rr,
            "recall_at_k": outcome.recall,
        },
        as_of=query.as_of,
        language=query.language,
        notes=query.notes,
        error=(answer.error or None) if answer is not None else None,
    )


def golden_hit(ranked: CheckedHit) -> GoldenHit:
    """A hit as it came, with its place under the suite's names, and whether it is what was asked
    for."""
    hit = ranked.hit
    roles = (("expected", ranked.expected), ("negative", ranked.negative), ("trap", ranked.trap))
    return GoldenHit(
        doc_id=hit.doc_id,
        score=hit.score,
        fields={**dict(_place_fields(ranked)), **hit.metadata},
        title=hit.title,
        text=hit.text,
        match=next((role for role, holds in roles if holds), ""),
    )


def _place_fields(ranked: CheckedHit) -> Iterator[tuple[str, str]]:
    """The parts of a hit's place as they are written, under the names of the suite."""
    from assay.law.matching import is_english, law_of

    place = ranked.place
    written = place.written
    names = {
        "node_id": ranked.hit.doc_id if place.section else "",
        "law": law_of(place),
        "chapter": place.chapter,
        "section_num": place.section,
        "moment": place.moment,
        "section_title": written.section_title,
        "page": place.page,
        "table": written.table or place.table,
        "row": written.row or place.row,
        "column": written.column or place.column,
        "version": place.version,
        "language": "en" if place.section and is_english(place) else "",
    }
    yield from ((key, value) for key, value in names.items() if value)


def _bounds_of(interval: statistics.Interval) -> Bounds:
    return interval.low, interval.high
