"""Every sentence of a gate, and the side that each bound falls on, in tables with the whole
sentence: a figure that changes in one is seen (benchmarks/mutants.py)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from assay.core.errors import InputError
from assay.core.results import (
    ROUNDING,
    FigureCounts,
    Gate,
    GoldCard,
    GoldenEntry,
    GoldenReceipt,
    GoldenResults,
    GradedEntry,
    GradedReceipt,
    GradedResults,
    Latency,
    MeasureLine,
    rounded,
)
from assay.evaluation import gate_values, statistics
from assay.evaluation.gates import (
    NO_BASELINE,
    _gate_outcomes,
    decide,
    gate_mistake,
    is_golden_measure,
)


def graded(
    *values: float | None, latency: Latency | None = None, cutoff: int | None = 5, failed: int = 0
) -> GradedResults:
    entries = [
        GradedEntry(query_id=f"q{n}", metrics={"p": value}, results=["a", "b"], grades=[1, 0],
                    known_grades=[1, 0], query_topic="even" if n % 2 == 0 else "odd")
        for n, value in enumerate(values)
    ]  # fmt: skip
    line = MeasureLine(key="p", measure="P@5", cutoff=cutoff)
    receipt = GradedReceipt(
        measures=[line],
        gold=GoldCard(fingerprint="g", note="drawn"),
        counts={"n_failed": failed},
        latency_ms=latency,
        corpus_fingerprint="c",
    )
    return GradedResults(timestamp="t", engine="e", overall={}, per_query=entries, receipt=receipt)


def golden(n: int = 20, **figures: float | None) -> GoldenResults:
    counts = FigureCounts(
        overall={"pass_rate_must": 8}, slices={"category": {"x": {"mrr_at_k": 3}}}
    )
    return GoldenResults(
        timestamp="t",
        engine="e",
        overall={"total": n} | figures,
        slices={"category": {"x": {"total": 4, "pass_rate_must": 0.5, "mrr_at_k": 0.25}}},
        n=counts,
        per_query=[],
        receipt=GoldenReceipt(gold=GoldCard(fingerprint="g")),
    )


def told(results: Any, baseline: Any = None, stale: str = "", **gate: Any) -> list[tuple[str, str]]:
    found = decide(results, [Gate(**gate)], baseline, stale=stale)
    return [(check.status, check.message) for check in found.checks]


P = {"measure": "P@5"}
MUST = {"measure": "pass_rate_must"}


# ── how a gate is written ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"minimum": math.inf}, "minimum must be a number"),
        ({"minimum": 0.1, "significance": math.nan}, "significance must be a number"),
        ({}, "it demands nothing; give one of minimum, maximum, below, max_drop, no_worse_than, "
             "min_judged, min_queries"),
        ({"max_drop": 0.1, "no_worse_than": 0.1},
         "max_drop and no_worse_than ask about one change; give one of them"),
        ({"worst_case": True, "min_judged": 0.5},
         "worst_case is how a limit is decided, and there is none"),
        ({"worst_case": True, "max_drop": 0.5}, ""),
        ({"worst_case": True, "below": 0.5}, ""),
        ({"minimum": 0.5, "unjudged": "x"},
         "unjudged is \"count as wrong\" or left out, not 'x'"),
        ({"minimum": 0.5, "unjudged": "count as wrong"}, ""),
        ({"minimum": 0.5, "slice": ""},
         "slice is empty; leave it out for all queries, or give KIND:NAME"),
        ({"min_queries": 0}, "min_queries is a number of queries, 1 or more, not 0"),
        ({"min_queries": 1}, ""),
        ({"minimum": 0.6, "maximum": 0.5}, "nothing is at least 0.6 and at most 0.5"),
        ({"minimum": 0.6, "maximum": 0.7, "below": 0.5}, "nothing is at least 0.6 and at most 0.5"),
        ({"minimum": 0.6, "maximum": 0.6}, ""),
        ({"maximum": 0.6}, ""),
        ({"minimum": 0.5, "significance": 0},
         "significance is a chance between 0 and 1, not 0"),
        ({"minimum": 0.5, "significance": 1}, "significance is a chance between 0 and 1, not 1"),
        ({"minimum": 0.5, "significance": 1e-9}, ""),
        ({"minimum": 0.5, "significance": 0.9}, ""),
        ({"min_judged": -0.1}, "min_judged is a share between 0 and 1, not -0.1"),
        ({"min_judged": 1.1}, "min_judged is a share between 0 and 1, not 1.1"),
        ({"min_judged": 0}, ""),
        ({"min_judged": 1}, ""),
        ({"max_drop": -0.1}, "max_drop is how far it may fall, 0 or more, not -0.1"),
        ({"no_worse_than": -1}, "no_worse_than is how far it may fall, 0 or more, not -1"),
        ({"max_drop": 0}, ""),
        ({"no_worse_than": 0},
         "no_worse_than is a margin, above 0: no change can be shown to be none at all"),
        ({"no_worse_than": 0.1}, ""),
        ({"no_worse_than": 0.1, "significance": 0.5},
         "significance of no_worse_than is below 0.5, not 0.5"),
        ({"no_worse_than": 0.1, "significance": 0.49}, ""),
        ({"max_drop": 0.1, "significance": 0.6}, ""),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_gate(gate: dict[str, Any], said: str) -> None:
    assert gate_mistake(Gate(measure="P@5", **gate)) == said
    if said:
        with pytest.raises(InputError) as error:
            decide(graded(0.5), [Gate(measure="P@5", **gate)])
        assert error.value.message == f"gate on P@5: {said}"


# ── graded sets ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "gate", "told_"),
    [
        ((0.5,), {"minimum": 0.5}, ("pass", "P@5 overall: 0.5. Required: at least 0.5")),
        ((0.5 - ROUNDING,), {"minimum": 0.5}, ("pass", "P@5 overall: 0.5. Required: at least 0.5")),
        ((0.5 - 2e-9,), {"minimum": 0.5},
         ("fail", "P@5 overall: 0.499999998. Required: at least 0.5")),
        ((0.5 + ROUNDING,), {"maximum": 0.5}, ("pass", "P@5 overall: 0.5. Required: at most 0.5")),
        ((0.5 + 2e-9,), {"maximum": 0.5},
         ("fail", "P@5 overall: 0.500000002. Required: at most 0.5")),
        ((0.5,), {"below": 0.5}, ("fail", "P@5 overall: 0.5. Required: below 0.5")),
        ((0.49,), {"below": 0.5}, ("pass", "P@5 overall: 0.49. Required: below 0.5")),
        ((0.49,), {"minimum": 0.1, "maximum": 0.9, "name": "n"},
         ("pass", "n: 0.49. Required: at least 0.1 and at most 0.9")),
        ((0.4,), {"min_queries": 1}, ("pass", "P@5 overall: 0.4. Required: enough evidence")),
        ((0.4,), {"min_queries": 2},
         ("inconclusive",
          "P@5 overall: 0.4. Required: enough evidence. Inconclusive: 1 queries, 2 needed")),
        ((0.4, None), {"minimum": 0.1, "min_queries": 2},
         ("inconclusive",
          "P@5 overall: 0.4. Required: at least 0.1. Inconclusive: 1 queries, 2 needed")),
        ((None,), {"minimum": 0.1}, ("inconclusive", "P@5 overall: there is no value")),
        ((0.2, 0.9, 0.6), {"minimum": 0.1, "slice": "topic:odd"},
         ("pass", "P@5 topic:odd: 0.9. Required: at least 0.1")),
        ((0.4,), {"minimum": 0.1, "significance": 0.05},
         ("inconclusive", "P@5 overall: 0.4. Required: at least 0.1. Inconclusive: 1 queries give "
          "no interval")),
    ],
)  # fmt: skip
def test_a_figure_of_a_graded_set(
    values: tuple[float | None, ...], gate: dict[str, Any], told_: tuple[str, str]
) -> None:
    assert told(graded(*values), **P, **gate) == [told_]


@pytest.mark.parametrize(
    ("then", "gate", "status", "said"),
    [
        (0.6, {"max_drop": 0.1}, "pass", "down 0.1{}. Required: a drop of at most 0.1"),
        (0.6, {"max_drop": 0.1 - 2e-9}, "fail", "down 0.1{}. Required: a drop of at most 0.1"),
        (0.6, {"max_drop": 0.1 - 9e-10}, "pass", "down 0.1{}. Required: a drop of at most 0.1"),
        (0.6, {"max_drop": 0}, "fail", "down 0.1{}. Required: a drop of at most 0"),
        (0.4, {"max_drop": 0}, "pass", "up 0.1{}. Required: a drop of at most 0"),
        (0.5, {"max_drop": 0}, "pass",
         "unchanged{}: the results are identical. Required: a drop of at most 0"),
        (0.50004, {"max_drop": 0.1}, "pass", "unchanged{}. Required: a drop of at most 0.1"),
        (0.5006, {"max_drop": 0.1}, "pass", "down 0.001{}. Required: a drop of at most 0.1"),
        (0.50006, {"max_drop": 0}, "fail", "down 0.0001{}. Required: a drop of at most 0"),
        (0.6, {"no_worse_than": 0.2}, "inconclusive",
         "down 0.1{}. Required: a drop of at most 0.2. "
         "Inconclusive: 1 queries give no interval"),
        (None, {"max_drop": 0.1}, "inconclusive", "no query in common with the baseline"),
    ],
)  # fmt: skip
def test_a_drop_of_a_graded_set(
    then: float | None, gate: dict[str, Any], status: str, said: str
) -> None:
    said = "P@5 overall: " + said.format(" against the baseline")
    assert told(graded(0.5), graded(then), **P, **gate) == [(status, said)]


def test_a_drop_needs_a_baseline_that_can_be_compared() -> None:
    gate = {**P, "max_drop": 0.1}
    assert told(graded(0.5), **gate) == [("inconclusive", f"P@5 overall: {NO_BASELINE}")]
    (check,) = decide(graded(0.5), [Gate(**gate)], graded(0.5), stale="so it is").checks
    assert check.status == "inconclusive"
    assert "the baseline is stale, so it is; record it anew with" in check.message
    assert check.value is None


def test_two_demands_of_one_gate_are_told_apart() -> None:
    found = told(graded(0.5), graded(0.9), **P, minimum=0.4, max_drop=0.1)
    assert found == [
        ("pass", "P@5 overall: 0.5. Required: at least 0.4"),
        (
            "fail",
            "P@5 overall, drop: down 0.4 against the baseline. Required: a drop of at most 0.1",
        ),
    ]
    checks = decide(graded(0.5), [Gate(**P, minimum=0.4, max_drop=0.1)], graded(0.9)).checks
    assert [(each.gate.minimum, each.gate.max_drop) for each in checks] == [
        (0.4, None),
        (None, 0.1),
    ]
    named = told(graded(0.5), graded(0.9), **P, minimum=0.4, max_drop=0.1, name="n")
    assert [said.partition(":")[0] for _, said in named] == ["n", "n, drop"]


def test_latencies_of_a_graded_set() -> None:
    times = Latency(mean=10.0, p50=20.0, p95=30.0, max=40.0)
    for name, value in (("mean", 10), ("p50", 20), ("p95", 30), ("max", 40)):
        (found,) = told(graded(0.5, latency=times), measure=f"latency_{name}", maximum=25)
        wanted = "pass" if value <= 25 else "fail"
        assert found == (wanted, f"latency_{name} overall: {value} ms. Required: at most 25")
    assert told(graded(0.5), measure="latency_p95", maximum=25) == [
        ("inconclusive", "latency_p95 overall: there is no value")
    ]
    for foreign in ("max_drop", "no_worse_than", "min_judged", "min_queries", "significance"):
        value = 1 if foreign == "min_queries" else 0.3
        with pytest.raises(InputError, match=f"latency_p95: {foreign} is not for a latency"):
            told(graded(0.5), measure="latency_p95", maximum=9, **{foreign: value})
    for more in ({"worst_case": True}, {"unjudged": "count as wrong"}, {"slice": "topic:odd"}):
        with pytest.raises(InputError, match=f"latency_p95: {next(iter(more))} is not for"):
            told(graded(0.5), measure="latency_p95", maximum=9, **more)


def test_failed_calls_fail_whatever_is_asked() -> None:
    found = decide(graded(0.5, failed=2), [Gate(**P, minimum=0.1)])
    assert [(each.status, each.message, each.value) for each in found.checks[1:]] == [
        ("fail", "the engine failed on 2 queries", 2.0)
    ]
    assert (found.status, found.fingerprints, found.note) == (
        "fail", {"gold": "g", "corpus": "c"}, "drawn")  # fmt: skip
    assert (found.checks[1].gate.measure, found.checks[1].gate.name) == ("errors", "engine errors")
    found = decide(golden(pass_rate_must=1.0, n_failed=1), [Gate(**MUST, minimum=0.1)])
    assert [(each.status, each.message, each.value) for each in found.checks[1:]] == [
        ("fail", "calls: the engine failed on 1 questions", 1.0)
    ]
    gate = found.checks[1].gate
    assert (gate.measure, gate.name, gate.maximum) == ("n_failed", "calls", 0)


# ── how sure ──────────────────────────────────────────────────────────────────────────────────────


def test_a_bound_inside_the_interval_decides_nothing_and_one_at_its_end_does() -> None:
    values = [0.2, 0.9, 0.6] * 6
    results = graded(*values)
    low, high = gate_values.interval_of(Gate(**P, significance=0.1), values) or (0, 0)
    for bound, status in (
        (low - 0.01, "pass"), (low, "pass"), (low + 0.01, "inconclusive"),
        (high - 0.01, "inconclusive"), (high, "fail"), (high + 0.01, "fail"),
    ):  # fmt: skip
        gate = Gate(**P, minimum=bound, significance=0.1)
        (check,) = decide(results, [gate]).checks
        assert check.status == status, bound
        assert check.interval == (low, high)
        assert check.level == pytest.approx(0.9)
        assert "(90% interval 0." in check.message
        told_ = {"pass": 1, "fail": -1, "inconclusive": 0}[status]
        assert _gate_outcomes(gate, np.array(values)[:, None]).tolist() == [told_]
    assert gate_values.interval_margins(
        Gate(**P, minimum=0.5, significance=0.1), results
    ) == pytest.approx((np.mean(values) - low, high - np.mean(values)))
    assert gate_values.interval_margins(Gate(**P, minimum=0.5), results) == (0, 0)
    drop = Gate(**P, max_drop=0.5, significance=0.1)
    before = graded(*(0.1 for _ in values))
    low, high = gate_values.interval_of(drop, [value - 0.1 for value in values]) or (0, 0)
    moved = np.mean(values) - 0.1
    expected = pytest.approx((moved - low, high - moved))
    assert gate_values.interval_margins(drop, results, before) == expected


def test_what_a_gate_says_of_columns_is_what_it_says_of_results() -> None:
    """By the value alone, as a bound or a drop, at its very end; and sure of it, by intervals."""
    columns = np.array([[0.2, 0.5, 0.5 - ROUNDING, 0.5 - 2e-9, 0.9]])
    assert _gate_outcomes(Gate(**P, minimum=0.5), columns).tolist() == [-1, 1, 1, -1, 1]
    assert _gate_outcomes(Gate(**P, maximum=0.5), columns).tolist() == [1, 1, 1, 1, -1]
    moves = np.array([[-0.2, -0.1, -0.1 - ROUNDING, -0.1 - 2e-9, 0.3]])
    assert _gate_outcomes(Gate(**P, max_drop=0.1), moves).tolist() == [-1, 1, 1, -1, 1]
    many = np.column_stack([np.full(60, 0.9), np.tile([0.4, 0.6], 30), np.full(60, 0.1)])
    for more in ({"significance": 0.05}, {"worst_case": True}):
        assert _gate_outcomes(Gate(**P, minimum=0.5, **more), many).tolist() == [1, 0, -1]
        band = Gate(**P, minimum=0.1, maximum=0.97, **more)
        assert _gate_outcomes(band, many).tolist() == [1, 1, 0]
        assert _gate_outcomes(Gate(**P, max_drop=0.4, **more), many - 0.9).tolist() == [1, 0, -1]


def test_levels() -> None:
    for gate, level in (
        ({"minimum": 0.5}, 0.95),
        ({"minimum": 0.5, "significance": 0.2}, 0.8),
        ({"max_drop": 0.1, "significance": 0.2}, 0.8),
        ({"no_worse_than": 0.1}, 0.9),
        ({"no_worse_than": 0.1, "significance": 0.2}, 0.6),
        ({"max_drop": 0.1, "worst_case": True}, 0.95),
    ):
        assert gate_values.level_of(Gate(**P, **gate)) == pytest.approx(level)
    assert gate_values.interval_of(Gate(**P), [0.5]) is None
    assert gate_values.interval_text(Gate(**P), {"q": 0.5}) == ""


@pytest.mark.parametrize(
    ("cutoff", "wanted", "needed"), [(5, 0.5, ""), (5, 0.51, "5"), (1, 0.1, ""), (None, 0.9, "10")]
)
def test_how_much_must_be_judged(cutoff: int | None, wanted: float, needed: str) -> None:
    results = graded(0.5, 0.5, cutoff=cutoff)
    entries = [
        GradedEntry(query_id=f"q{n}", metrics={"p": 0.5}, results=["a"] * 4, known_grades=[1],
                    grades=[1, None, None, 1] if n else [None, 1, None, 0])
        for n in range(2)
    ]  # fmt: skip
    results = GradedResults(
        timestamp="t", engine="e", overall={}, per_query=entries, receipt=results.receipt
    )
    (found,) = told(results, **P, min_judged=wanted)
    said = f". Inconclusive: 50% of the top {needed} is judged, {wanted:.0%} needed"
    assert (found[0], said in found[1]) == ("inconclusive" if needed else "pass", bool(needed))


# ── golden sets ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("gate", "told_"),
    [
        ({"minimum": 0.75}, ("pass", "pass_rate_must is 0.75. Required: at least 0.75")),
        ({"minimum": 0.76}, ("fail", "pass_rate_must is 0.75. Required: at least 0.76")),
        ({"below": 0.75, "name": "n"}, ("fail", "n: pass_rate_must is 0.75. Required: below 0.75")),
        ({"minimum": 0.5, "slice": "category:x"},
         ("pass", "pass_rate_must of category:x is 0.5. Required: at least 0.5")),
        ({"minimum": 0.5, "min_queries": 8},
         ("pass", "pass_rate_must is 0.75. Required: at least 0.5")),
        ({"minimum": 0.5, "min_queries": 9},
         ("inconclusive", "pass_rate_must: 8 questions, 9 needed")),
        ({"minimum": 0.5, "min_queries": 5, "slice": "category:x"},
         ("inconclusive", "pass_rate_must of category:x: 4 questions, 5 needed")),
        ({"minimum": 0.2, "measure": "mrr_at_k", "min_queries": 4, "slice": "category:x"},
         ("inconclusive", "mrr_at_k of category:x: 3 questions, 4 needed")),
        ({"minimum": 0.5, "measure": "pass_rate_should", "min_queries": 21},
         ("inconclusive", "pass_rate_should: there is no value")),
        ({"minimum": 0.5, "measure": "pass_rate_total", "min_queries": 21},
         ("inconclusive", "pass_rate_total: 20 questions, 21 needed")),
        ({"maximum": 30, "measure": "latency_mean"},
         ("pass", "avg_latency_ms is 12. Required: at most 30")),
        ({"max_drop": 0.05},
         ("pass", "pass_rate_must is 0.75. Required: a drop of at most 0.05 from 0.8")),
        ({"max_drop": 0.04},
         ("fail", "pass_rate_must is 0.75. Required: a drop of at most 0.04 from 0.8")),
        ({"max_drop": 0.1, "min_queries": 9},
         ("inconclusive", "pass_rate_must: 8 questions, 9 needed")),
        ({"max_drop": 0.1, "measure": "pass_rate_total"},
         ("inconclusive", "pass_rate_total: the baseline has no such value")),
    ],
)  # fmt: skip
def test_a_figure_of_a_golden_set(gate: dict[str, Any], told_: tuple[str, str]) -> None:
    results = golden(pass_rate_must=0.75, pass_rate_total=0.9, avg_latency_ms=12.0)
    assert told(results, golden(pass_rate_must=0.8), **{**MUST, **gate}) == [told_]


def passing(*passed: bool, hits: str = "a") -> GoldenResults:
    """A golden set with these outcomes; every second question must pass."""
    entries = [
        GoldenEntry(query_id=f"q{n}", must=n % 2 == 0, passed=each, metrics={"pass": float(each)},
                    results=[hits], grades=[1], known_grades=[1])
        for n, each in enumerate(passed)
    ]  # fmt: skip
    must = [entry.passed for entry in entries if entry.must]
    rates = {"pass_rate_total": np.mean(passed), "pass_rate_must": np.mean(must)}
    return GoldenResults(
        timestamp="t",
        engine="e",
        overall={"total": len(entries)} | {name: float(rate) for name, rate in rates.items()},
        per_query=entries,
        receipt=GoldenReceipt(gold=GoldCard(fingerprint="g")),
    )


@pytest.mark.parametrize(
    ("passed", "minimum", "status"),
    [(20, 0.8, "pass"), (20, 0.9, "inconclusive"), (12, 0.9, "fail"), (18, 0.9, "inconclusive")],
)
def test_a_rate_with_significance_is_decided_by_clopper_and_pearson(
    passed: int, minimum: float, status: str
) -> None:
    outcomes = [n < passed for n in range(20)]
    gate = Gate(measure="pass_rate_total", minimum=minimum, significance=0.05)
    (check,) = decide(passing(*outcomes), [gate]).checks
    exact = scipy.stats.binomtest(passed, 20).proportion_ci(0.95, "exact")
    assert check.status == status
    assert check.interval == pytest.approx(tuple(exact))
    assert "(95% interval " in check.message
    plain = Gate(measure="pass_rate_total", minimum=minimum)
    (raw,) = decide(passing(*outcomes), [plain]).checks
    assert raw.status == ("pass" if passed / 20 >= minimum else "fail")
    assert raw.interval is None


@pytest.mark.parametrize(
    ("broke", "gate", "status"),
    [
        (30, {"max_drop": 0.1}, "fail"),
        (4, {"max_drop": 0.02}, "inconclusive"),
        (1, {"max_drop": 0.1}, "pass"),
        (1, {"no_worse_than": 0.05}, "pass"),
        (0, {"max_drop": 0.0}, "pass"),
        (0, {"no_worse_than": 0.001}, "pass"),
    ],
)
def test_a_drop_of_a_golden_set_with_significance_is_paired(
    broke: int, gate: dict[str, Any], status: str
) -> None:
    """By the rule for changes, over the questions that both ask alike; identical results pass."""
    before = passing(*[True] * 80)
    now = passing(*[n >= broke for n in range(80)], hits="b" if broke else "a")
    asked = Gate(measure="pass_rate_total", significance=0.05, **gate)
    (check,) = decide(now, [asked], before).checks
    assert check.status == status
    assert (check.value, check.baseline) == (1 - broke / 80, 1)
    if broke:
        moves = np.array([[-1.0]] * broke + [[0.0]] * (80 - broke))
        level = 0.9 if "no_worse_than" in gate else 0.95
        (expected,) = statistics.change_intervals(moves, level=level)
        assert check.interval == pytest.approx((expected.low, expected.high))
    else:
        assert "(identical results)" in check.message
    must = Gate(measure="pass_rate_must", significance=0.05, **gate)
    (of_must,) = decide(now, [must], before).checks
    assert of_must.value == 1 - math.ceil(broke / 2) / 40


def test_a_golden_set_that_counts_nothing_has_no_questions() -> None:
    results = golden(total=None, pass_rate_total=0.5)
    assert told(results, measure="pass_rate_total", minimum=0.5, min_queries=1) == [
        ("inconclusive", "pass_rate_total: 0 questions, 1 needed")
    ]


def test_limits_of_a_golden_set_are_told_apart_and_named() -> None:
    results = golden(pass_rate_must=0.75)
    checks = decide(
        results, [Gate(**MUST, minimum=0.5, maximum=0.7, max_drop=0.1)], golden(pass_rate_must=0.8)
    ).checks
    assert [(each.status, each.gate.name, each.value, each.baseline) for each in checks] == [
        ("pass", "pass_rate_must", 0.75, None),
        ("fail", "pass_rate_must", 0.75, None),
        ("pass", "pass_rate_must", 0.75, 0.8),
    ]
    (check,) = decide(results, [Gate(**MUST, minimum=0.5, slice="category:x")]).checks
    assert check.gate.name == "pass_rate_must of category:x"


def test_a_policy_nobody_asked_for_counts_where_it_can_be_told() -> None:
    first = decide(golden(pass_rate_must=1.0, pass_rate_total=0.9))
    assert [(each.gate.name, each.status, each.counts, each.message) for each in first.checks] == [
        ("A", "pass", True, "A: pass_rate_must is 1. Required: at least 0.95"),
        ("B", "pass", True, "B: pass_rate_total is 0.9. Required: at least 0.9"),
        ("C", "inconclusive", False, "C: avg_latency_ms: there is no value"),
        ("D", "inconclusive", False, "D: pass_rate_must: there is no baseline"),
    ]
    assert first.status == "pass"
    asked = decide(golden(pass_rate_must=1.0), [Gate(**MUST, max_drop=0.1)])
    assert [(each.status, each.counts) for each in asked.checks] == [("inconclusive", True)]
    assert asked.checks[0].message == f"pass_rate_must: {NO_BASELINE}"
    asked = decide(golden(), [Gate(**MUST, minimum=0.1)])
    assert [(each.status, each.counts) for each in asked.checks] == [("inconclusive", True)]
    stale = decide(golden(pass_rate_must=1.0), (), golden(pass_rate_must=1.0), stale="old")
    assert (stale.checks[3].status, stale.checks[3].counts) == ("inconclusive", True)


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"measure": "no", "minimum": 0.5}, "gate 'no': a golden set has no measure 'no'"),
        ({"minimum": 95}, "gate 'pass_rate_must': minimum is 95, which pass_rate_must cannot be"),
        ({"maximum": -0.1}, "maximum is -0.1, which pass_rate_must cannot be held to"),
        ({"max_drop": 2}, "max_drop is 2, which pass_rate_must cannot be held to"),
        ({"no_worse_than": 2}, "no_worse_than is 2, which pass_rate_must cannot be held to"),
        ({"no_worse_than": 0.1, "measure": "wrong_version_rate"},
         "no_worse_than limits a fall, and wrong_version_rate is better when it falls"),
        ({"minimum": 0.5, "min_judged": 0.5}, "min_judged is for graded sets"),
        ({"minimum": 0.5, "significance": 0.5, "measure": "top1_rate"},
         "significance needs a value for every question, and top1_rate has none"),
        ({"below": 9, "worst_case": True, "measure": "avg_latency_ms"},
         "worst_case needs a value for every question, and avg_latency_ms has none"),
        ({"minimum": 0.5, "unjudged": "count as wrong"}, "unjudged is for graded sets"),
        ({"minimum": 0.5, "slice": "category:z"}, "no question is in slice 'category:z'"),
    ],
)  # fmt: skip
def test_a_gate_that_no_golden_set_has(gate: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        told(golden(pass_rate_must=1.0), **{**MUST, **gate})
    assert said in error.value.message


def test_shares_at_their_ends_and_figures_that_are_none() -> None:
    results = golden(pass_rate_must=1.0, avg_latency_ms=1.0, mrr_at_k=0.5)
    for gate in ({"minimum": 1}, {"minimum": 0}, {"max_drop": 1}):
        assert len(told(results, results, **MUST, **gate)) == 1
    assert told(results, measure="avg_latency_ms", below=150)[0][0] == "pass"
    with pytest.raises(InputError, match="mrr_at_k cannot"):
        told(results, measure="mrr_at_k", minimum=2)
    assert is_golden_measure("pass_rate_must")
    assert not is_golden_measure("P@5")
    assert gate_values.golden_figure(None, "overall", "total") is None
    assert gate_values.golden_figure(results, "category:x", "total") == 4
    assert gate_values.golden_figure(results, "category:none", "total") is None
    assert gate_values.golden_figure(results, "none:x", "total") is None


@pytest.mark.parametrize(
    ("value", "minimum", "said"),
    [
        (0.88749, 0.5, "0.887"),  # four digits, rounded again, would be 0.888
        (0.8875001, 0.5, "0.888"),
        (0.5996, 0.6, "0.5996"),  # 0.6 would look like a pass
        (0.59999, 0.6, "0.59999"),
        (0.6004, 0.6, "0.6"),
        (-0.0001, -1, "0"),
        (1.0, 0.5, "1"),
    ],
)
def test_a_figure_is_rounded_once_and_stays_on_its_side(
    value: float, minimum: float, said: str
) -> None:
    assert rounded(value, Gate(**P, minimum=minimum).holds) == said


def test_a_check_carries_its_interval_and_its_reasons() -> None:
    values = [0.2, 0.9, 0.6] * 6
    (check,) = decide(
        graded(*values), [Gate(**P, minimum=0.56, significance=0.05, min_queries=20)]
    ).checks
    assert check.status == "inconclusive"
    assert check.interval is not None
    assert check.interval[0] < 0.56 < check.interval[1]
    assert [why.kind for why in check.whys] == ["few_queries", "needs_queries"]
    assert check.whys[0].facts == {"n": 18, "needed": 20}
