"""From outcomes to figures: pass rates, MRR, recall and the rest, each with n and an interval, and
the results object.

Rates have Wilson's interval; means have a bootstrap interval. A failed call is in no figure: it is
counted apart and fails the gate. A question missing from the run counts as not passed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import mean, median
from typing import Any

import numpy as np

from assay.evaluation import statistics
from assay.evaluation.golden_checks import Outcome, Ranked
from assay.law.matching import hit_fields

Rate = tuple[Callable[[Outcome], bool], Callable[[Outcome], bool]]

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

MEANS = ("mrr_at_k", "recall_at_k", "avg_top1_score", "avg_latency_ms")
TOP1 = {"min_top1_score": 0, "median_top1_score": 50, "p90_top1_score": 90, "max_top1_score": 100}
LATENCY = {"p50_latency_ms": 50, "p95_latency_ms": 95}
FIGURES = ("total", "n_failed", *RATES, *MEANS, *TOP1, *LATENCY)  # every measure, by name

SLICES: dict[str, Callable[[Outcome], str]] = {
    "category": lambda o: o.query.category,
    "test_type": lambda o: str(o.query.checks.get("test_type") or ""),
    "language": lambda o: o.query.language,
    "perturbation": lambda o: str(o.query.extra.get("perturbation") or ""),
}


# ── figures ───────────────────────────────────────────────────────────────────────────────────────


def summarize(outcomes: Iterable[Outcome]) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    """(figures, intervals, n), each by the name of the measure; an interval is [low, high]."""
    every = list(outcomes)
    answered = [outcome for outcome in every if outcome.failure != "error"]
    figures: dict[str, Any] = {"total": len(every), "n_failed": len(every) - len(answered)}
    intervals: dict[str, Any] = {}
    n: dict[str, int] = {}
    for name, (over, counts) in RATES.items():
        asked = [outcome for outcome in answered if over(outcome)]
        successes, n[name] = sum(counts(outcome) for outcome in asked), len(asked)
        figures[name] = successes / n[name] if asked else None
        intervals[name] = _bounds(statistics.wilson(successes, n[name]))
    means = {
        "mrr_at_k": [rr for outcome in answered if (rr := outcome.rr) is not None],
        "recall_at_k": [outcome.recall for outcome in answered if outcome.recall is not None],
        "avg_top1_score": top1_scores(answered),
        "avg_latency_ms": _latencies(answered),
    }
    for name, values in means.items():
        figures[name] = (
            mean(values) if values else None
        )  # exactly as the suite's runner, to the last bit
        column = np.asarray(values, np.float64).reshape(-1, 1)
        intervals[name] = _bounds(statistics.mean_intervals(column)[0])
        n[name] = len(values)
    for names, values in ((TOP1, means["avg_top1_score"]), (LATENCY, means["avg_latency_ms"])):
        figures |= _percentiles(values, names)
        n |= dict.fromkeys(names, len(values))
        intervals |= {
            name: _bounds(statistics.quantile_interval(values, at / 100))
            for name, at in names.items()
        }
    return figures, intervals, n


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


def _percentiles(values: Sequence[float], names: Mapping[str, int]) -> dict[str, float | None]:
    if not values:
        return dict.fromkeys(names)
    found = np.percentile(values, list(names.values())).tolist()
    return {
        name: median(values) if at == 50 else value
        for (name, at), value in zip(names.items(), found, strict=True)
    }


# ── the results object ────────────────────────────────────────────────────────────────────────────


def results(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """`overall`, `by_category`, `by_test_type`, …, `intervals`, `n` and `per_query`, under the
    names of the suite.

    Perturbed questions beside their parents are in `by_perturbation` alone: all other figures, and
    so the gates, are over the questions that people wrote."""
    base = base_of(outcomes)
    figures, bounds, n = summarize(base)
    if variants := len(outcomes) - len(base):
        figures["n_variants"] = variants
        figures["n_failed"] = sum(outcome.failure == "error" for outcome in outcomes)
    found: dict[str, Any] = {"overall": figures}
    intervals: dict[str, Any] = {"overall": bounds}
    counts: dict[str, Any] = {"overall": n}
    for kind, name_of in SLICES.items():
        groups: dict[str, list[Outcome]] = {}
        for outcome in outcomes if kind == "perturbation" else base:
            if name := name_of(outcome):
                groups.setdefault(name, []).append(outcome)
        if groups or kind in ("category", "test_type"):
            parts = {name: summarize(group) for name, group in sorted(groups.items())}
            for target, column in ((found, 0), (intervals, 1), (counts, 2)):
                target[f"by_{kind}"] = {name: part[column] for name, part in parts.items()}
    found["failures"] = _failures(base)
    found["intervals"] = intervals
    found["n"] = counts
    found["per_query"] = [entry(outcome) for outcome in outcomes]
    return found


def base_of(outcomes: Sequence[Outcome]) -> list[Outcome]:
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
    counts: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.failure:
            counts[outcome.failure] = counts.get(outcome.failure, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def entry(outcome: Outcome) -> dict[str, Any]:
    """One question in the results file: the names of the golden suite, and beside them those every
    results file has."""
    query, checks, found = outcome.query, outcome.checks, outcome.found
    hits = [hit_json(ranked) for ranked in outcome.ranked]
    row: dict[str, Any] = {
        "id": query.id,
        "category": query.category,
        "must": bool(query.must),
        "query": query.text,
        **{key: value for key, value in query.checks.items() if key != "expected_any"},
        "expected_any": query.checks.get("expected_any") or [],
        "k": checks.k,
        "min_score": checks.min_score,
        "passed": outcome.passed,
        "first_rank": outcome.first_rank,
        "rr": outcome.rr,
        "latency_ms": outcome.result.millis if outcome.result else None,
        "hits": hits,
        "reason": outcome.reason,
        "failure": outcome.failure,
        "expected_rank": found.rank if found else None,
        "expected_score": found.hit.score if found else None,
        "negative_rank": outcome.negative.rank if outcome.negative else None,
        "abstained": outcome.result is not None and outcome.result.abstained,
        "query_id": query.id,
        "query_text": query.text,
        "query_type": query.type,
        "query_topic": query.topic,
        "num_results": len(hits),
        "results": [ranked.hit.doc_id for ranked in outcome.ranked],
        "grades": [1 if ranked.expected else None for ranked in outcome.ranked],
        "judged": [1] * len(checks.expected),
        "metrics": {
            "pass": None if outcome.failure == "error" else float(outcome.passed),
            "mrr_at_k": outcome.rr,
            "recall_at_k": outcome.recall,
        },
    }
    row |= {key: value for key, value in query.extra.items() if key not in row}
    optional = {"as_of": query.as_of, "language": query.language, "notes": query.notes}
    row |= {key: value for key, value in optional.items() if value}
    if outcome.result is not None and outcome.result.error:
        row["error"] = outcome.result.error
    return row


def hit_json(ranked: Ranked) -> dict[str, Any]:
    """A hit as it came, with its place under the suite's names, and whether it is what was asked
    for."""
    hit = ranked.hit
    row: dict[str, Any] = {
        "doc_id": hit.doc_id,
        "score": hit.score,
        **dict(_place_json(ranked)),
        **hit_fields(hit),
    }
    row |= {key: value for key, value in (("title", hit.title), ("text", hit.text)) if value}
    if (
        match := "expected"
        if ranked.expected
        else "negative"
        if ranked.negative
        else "trap"
        if ranked.trap
        else ""
    ):
        row["match"] = match
    return row


def _place_json(ranked: Ranked) -> Iterator[tuple[str, str]]:
    place = ranked.place
    names = {
        "law": min(place.law_names or place.act_numbers, default=""),
        "section_num": place.section,
        "moment": place.moment,
        "page": place.page,
        "table": place.table,
        "row": place.row,
        "version": place.version,
    }
    yield from ((key, value) for key, value in names.items() if value)


def _bounds(interval: statistics.Interval) -> list[float | None]:
    return [interval.low, interval.high]
