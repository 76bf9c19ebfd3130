from __future__ import annotations

import pytest

from assay.core.errors import InputError
from assay.core.results import FigureCounts, GoldenReceipt, GoldenResults, Verdict
from assay.core.results_file import entry_to_json
from assay.core.types import GoldSet, Hit, Query, QueryResult
from assay.evaluation import statistics
from assay.evaluation.comparison import compare
from assay.evaluation.gates import decide
from assay.evaluation.golden import evaluate_golden, robustness
from assay.evaluation.golden.figures import build_results
from assay.evaluation.golden.scoring import check_question
from kit.golden_cases import hit, outcome, question

S1 = [{"section": "1"}]


def _mixed() -> list:
    return [
        outcome(question("a", must=True, category="x", expected_any=S1), hit(1, 1, 0.8)),
        outcome(
            question("b", must=True, category="x", expected_any=S1), hit(2, 1, 0.9), hit(1, 1, 0.7)
        ),
        outcome(question("c", category="y", expected_any=S1, test_type="hard"), hit(9, 1, 0.5)),
        outcome(
            question("d", category="y", must_abstain=True, test_type="abstain"), hit(9, 1, 0.7)
        ),
        outcome(question("e", category="y", must_abstain=True, test_type="abstain")),
        outcome(question("f", category="y", expected_none=S1), hit(3, 1, 0.9), hit(1, 1, 0.8)),
        outcome(question("g", category="x", expected_any=S1), error="down"),
    ]


def test_rates_are_over_the_questions_they_are_about() -> None:
    found = build_results(_mixed())
    overall, n = found.overall, found.n.overall
    assert found.intervals.overall["pass_rate_must"] == (statistics.rate_interval(2, 2).low, 1.0)
    assert (overall["pass_rate_total"], n["pass_rate_total"]) == (3 / 6, 6), (
        "a failed call is in no rate"
    )
    assert (overall["pass_rate_must"], n["pass_rate_must"]) == (1.0, 2)
    assert (overall["pass_rate_should"], n["pass_rate_should"]) == (1 / 4, 4)
    assert (overall["mrr_at_k"], n["mrr_at_k"]) == (0.5, 3)
    assert (overall["top1_rate"], overall["recall_at_k"]) == (1 / 3, 2 / 3)
    assert (overall["correct_abstention_rate"], n["correct_abstention_rate"]) == (0.5, 2)
    assert (overall["negative_violation_rate"], overall["negative_in_top_k_rate"]) == (1.0, 1.0)
    assert overall["confusion_rate"] is None
    assert (overall["total"], overall["n_failed"]) == (7, 1)
    assert found.slices["test_type"]["abstain"]["pass_rate_total"] == 0.5
    assert set(found.slices["category"]) == {"x", "y"}
    assert found.failures == {"answered": 1, "error": 1, "hard_negative": 1, "not_found": 1}


def test_the_first_hit_is_compared_where_one_was_expected_and_came() -> None:
    """Not where the call failed, or where nothing is expected; a right second hit is not first."""
    questions = (question("a", expected_any=S1), question("b", expected_none=S1),
                 question("c", expected_any=S1))  # fmt: skip
    gold, down = GoldSet(name="g", queries=questions), QueryResult(query_id="c", error="down")

    def scored(first: int, *others: QueryResult) -> GoldenResults:
        hits = (hit(first, 1), hit(1, 1))
        answers = [QueryResult(query_id=id, hits=hits, millis=1.0) for id in "ab"]
        return evaluate_golden(gold, [*answers, *others])

    right = QueryResult(query_id="c", hits=(hit(1, 1),), millis=1.0)
    found = compare([scored(1, down), scored(2, right)], ["before", "after"])
    (row,) = (row for row in found.differences if row.measure == "first hit right")
    assert (row.n, row.difference, row.losses) == (1, -1, 1)


def test_score_and_latency_statistics() -> None:
    overall = build_results(_mixed()).overall
    scores = sorted([0.8, 0.9, 0.5, 0.7, 0.9])
    assert overall["avg_top1_score"] == pytest.approx(sum(scores) / 5)
    assert (overall["min_top1_score"], overall["median_top1_score"], overall["max_top1_score"]) == (
        0.5,
        0.8,
        0.9,
    )
    assert overall["p90_top1_score"] == pytest.approx(0.9)
    assert (overall["avg_latency_ms"], overall["p50_latency_ms"], overall["p95_latency_ms"]) == (
        12,
        12,
        12,
    )
    found = build_results(
        [outcome(question(f"q{n}", expected_any=S1), hit(1, 1, n / 100)) for n in range(1, 101)]
    )
    assert found.n.overall["p90_top1_score"] == 100
    assert found.intervals.overall["median_top1_score"] == (0.40, 0.61), (
        "the 40th and the 61st of 100"
    )
    assert found.intervals.overall["max_top1_score"] == (None, None)
    bare = build_results([outcome(question(expected_any=S1), hit(1, 1, None))]).overall
    assert bare["avg_top1_score"] is None, "an engine without scores has no score statistics"


def test_every_question_is_in_the_results_under_the_suites_names() -> None:
    entry = build_results(
        [
            outcome(
                question("a", must=True, category="x", expected_any=S1),
                hit("1", "2", 0.8, text="t"),
            )
        ]
    )
    row = entry_to_json(entry.per_query[0])
    names = {
        "id",
        "category",
        "must",
        "query",
        "expected_any",
        "k",
        "min_score",
        "passed",
        "first_rank",
        "rr",
    }
    assert names | {"latency_ms", "hits", "reason"} <= set(row)
    assert row["hits"] == [
        {
            "doc_id": "d1-2-1",
            "score": 0.8,
            "node_id": "d1-2-1",
            "section_num": "1",
            "moment": "2",
            "text": "t",
            "match": "expected",
        }
    ]
    assert {"query_id", "query_text", "num_results", "results", "metrics"} <= set(row)


def test_a_missing_question_counts_as_not_passed() -> None:
    overall = build_results([check_question(question(expected_any=S1), None)]).overall
    assert (overall["pass_rate_total"], overall["mrr_at_k"], overall["recall_at_k"]) == (
        0.0,
        0.0,
        0.0,
    )


def _figures(
    category: dict[str, dict] | None = None, n: int = 0, **overall: float | None
) -> GoldenResults:
    known = {"pass_rate_must": 1.0, "pass_rate_total": 0.9, "avg_latency_ms": 20.0}
    return GoldenResults(
        timestamp="",
        engine="e",
        overall=known | overall,
        slices={"category": category or {}},
        n=FigureCounts(overall={"pass_rate_total": n}),
        per_query=[],
        receipt=GoldenReceipt(),
    )


def _statuses(verdict: Verdict | None) -> str:
    assert verdict is not None
    return " ".join(f"{check.title}:{check.status}" for check in verdict.checks)


def test_the_default_gates() -> None:
    assert _statuses(decide(_figures())) == "A:pass B:pass C:pass D:inconclusive"
    assert (
        _statuses(decide(_figures(pass_rate_must=0.94, pass_rate_total=0.89)))
        == "A:fail B:fail C:pass D:inconclusive"
    )
    assert (
        _statuses(decide(_figures(avg_latency_ms=150.0))) == "A:pass B:pass C:fail D:inconclusive"
    )
    assert (
        _statuses(decide(_figures(avg_latency_ms=None)))
        == "A:pass B:pass C:inconclusive D:inconclusive"
    )
    base = _figures(pass_rate_must=0.97)
    assert (
        _statuses(decide(_figures(pass_rate_must=0.95), baseline=base))
        == "A:pass B:pass C:pass D:pass"
    ), "2 points is allowed"
    assert (
        _statuses(decide(_figures(pass_rate_must=0.9499), baseline=base))
        == "A:fail B:pass C:pass D:fail"
    )


def test_robustness_is_the_drop_from_the_parent() -> None:
    def variant(parent: str, kind: str, passes: bool) -> object:
        asked = question(
            f"{parent}~{kind}", expected_any=S1, extra={"parent": parent, "perturbation": kind}
        )
        return check_question(
            asked,
            QueryResult(
                query_id=asked.id, hits=(Hit(doc_id="x:1:1" if passes else "x:9:1", score=1.0),)
            ),
        )

    outcomes = [
        outcome(question("a", expected_any=S1), hit(1, 1)),
        outcome(question("b", expected_any=S1), hit(1, 1)),
        outcome(question("c", expected_any=S1), hit(9, 1)),
        *(
            variant(parent, "typo-doubled", passes)
            for parent, passes in (("a", False), ("b", True), ("c", False))
        ),
        *(
            variant(parent, "case", passes)
            for parent, passes in (("a", True), ("b", True), ("c", True))
        ),
    ]
    everything = build_results(outcomes)
    found = robustness(everything)
    typo = found.by_perturbation["typo-doubled"]
    assert (typo.n, typo.pass_rate, typo.parent_pass_rate) == (3, 1 / 3, 2 / 3)
    assert typo.drop == pytest.approx(1 / 3)
    assert typo.broken == ["a~typo-doubled"]
    assert found.by_perturbation["case"].mended == ["c~case"]
    assert found.by_perturbation["case"].drop == pytest.approx(-1 / 3), "a gain is a negative drop"
    assert found.by_family["typo"] == typo
    assert (found.worst_families, found.worst_perturbations) == (["typo"], ["typo-doubled"])
    assert (found.worst_parents, found.broken_by_parent) == (["a"], {"a": 1})
    assert everything.overall["pass_rate_total"] == 2 / 3, (
        "variants are not in the figures that gates look at"
    )
    assert (everything.overall["total"], everything.overall["n_variants"]) == (3, 6)
    assert everything.slices["perturbation"]["case"]["pass_rate_total"] == 1
    alone = build_results([outcome for outcome in outcomes if outcome.query.extra]).overall
    assert (alone["total"], alone["pass_rate_total"]) == (6, 4 / 6), (
        "variants on their own are questions like any"
    )
    with pytest.raises(InputError):
        robustness(build_results([outcome(question("a", expected_any=S1), hit(1, 1))]))


def test_failed_calls_are_not_in_the_robustness() -> None:
    def asked(id: str, **extra: str) -> Query:
        return question(id, expected_any=S1, extra=extra)

    outcomes = [
        outcome(asked("a"), hit(1, 1)),
        outcome(asked("b"), error="timeout"),
        outcome(asked("a~case", parent="a", perturbation="case"), hit(1, 1)),
        outcome(asked("b~case", parent="b", perturbation="case"), hit(1, 1)),
        outcome(asked("a~typo-doubled", parent="a", perturbation="typo-doubled"), error="timeout"),
    ]
    found = robustness(build_results(outcomes))
    assert list(found.by_perturbation) == ["case"]
    assert found.overall.n == 1, (
        "the variant of a question that failed has nothing to be compared with"
    )
    assert (found.overall.drop, found.overall.mended) == (0, [])


def test_the_whole_suite_in_one_call() -> None:
    parent = question("a", must=True, expected_any=S1)
    variant = question("a~case", expected_any=S1, extra={"parent": "a", "perturbation": "case"})
    answers = [
        QueryResult(query_id=query_id, hits=(Hit(doc_id="x:1:1", score=0.5),))
        for query_id in ("a", "a~case")
    ]
    found = evaluate_golden(GoldSet(name="g", queries=(parent, variant)), answers, min_score=0.4)
    assert _statuses(decide(found)) == "A:pass B:pass C:inconclusive D:inconclusive"
    assert found.robustness is not None
    assert found.robustness.by_perturbation["case"].drop == 0
    alone = evaluate_golden(GoldSet(name="g", queries=(parent,)), answers)
    assert alone.robustness is None
