"""What to judge next: the pair that matters comes first, for any measure, and judging it settles
the decision."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from assay.core.results import GradedEntry
from assay.evaluation.measures import MEASURES
from assay.judging.next import decision_state, next_to_judge

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def results(
    *rankings: str, grades: dict[str, int], judged: tuple[int, ...] = (2, 1)
) -> list[GradedEntry]:
    """One query a ranking; a document is a letter, the same letter has the same grade in every
    query."""
    return [
        GradedEntry(
            query_id=f"q{number}",
            results=list(ranking),
            judged=sorted(judged)[::-1],
            grades=[grades.get(doc) for doc in ranking],
            metrics={},
        )
        for number, ranking in enumerate(rankings)
    ]


def test_the_hit_that_only_one_system_puts_on_top_comes_first() -> None:
    grades = {"a": 2, "b": 1}
    decision = next_to_judge(results("xayb", grades=grades), results("aybx", grades=grades))
    assert decision.pairs[0].doc_id == "x"
    assert decision.pairs[0].effect < 0  # relevant, it speaks for the first
    assert (decision.pairs[0].rank_a, decision.pairs[0].rank_b) == (1, 4)
    assert sum(pair.narrowing for pair in decision.pairs) == pytest.approx(1)


def test_a_hit_at_the_same_place_in_both_does_not_matter() -> None:
    grades = {"a": 2, "b": 1}
    decision = next_to_judge(
        results("xab", grades=grades), results("xba", grades=grades), measure="P@3"
    )
    assert not decision.pairs
    assert decision.expected == pytest.approx(0)


@pytest.mark.parametrize("others", [0, 1, 3])
def test_an_effect_is_what_a_grade_moves_in_the_mean_over_the_queries(others: int) -> None:
    rankings = ["xa", *["ab"] * others]
    decision = next_to_judge(results(*rankings, grades={"a": 2, "b": 1}), measure="P@1")
    assert [pair.doc_id for pair in decision.pairs] == ["x"]
    assert decision.pairs[0].effect == pytest.approx(1 / (1 + others))


def test_with_everything_judged_the_decision_is_the_measure() -> None:
    grades = {"a": 2, "b": 1, "c": 0}
    stand = decision_state(
        results("cab", grades=grades), results("abc", grades=grades), measure="RR(rel=2)"
    )
    assert (stand.expected, stand.deviation, stand.confidence) == (0.5, 0.0, 1.0)


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in ("Judged",)])
def test_any_measure_can_be_decided_by(name: str) -> None:
    measure = f"{name}@1" if MEASURES[name].cutoff != "none" else name
    decision = next_to_judge(
        results("xab", "yab", grades={"a": 2, "b": 1}), measure=measure, threshold=0.5
    )
    if name != "Bpref":  # blind to what is unjudged until it is judged not relevant
        assert decision.deviation > 0
    assert {pair.doc_id for pair in decision.pairs} <= {"x", "y"}


def test_hits_judged_on_request_teach_what_the_rest_is_worth() -> None:
    """Half of the second hits were judged before, all of them good. Five poor ones among the others
    say more of the rest where they were judged on request."""
    known = results(*["gk"] * 20, grades={"g": 2, "k": 2})
    open_ = results(*["gx"] * 20, grades={"g": 2})
    poor = results(*["gp"] * 5, grades={"g": 2, "p": 0})
    entries = [
        msgspec.structs.replace(entry, query_id=f"q{number}")
        for number, entry in enumerate([*known, *open_, *poor])
    ]
    asked = [
        msgspec.structs.replace(entry, asked=["p"]) if "p" in entry.results else entry
        for entry in entries
    ]
    hopeful, sober = (
        decision_state(item, measure="P(rel=1)@2").expected for item in (entries, asked)
    )
    assert sober < hopeful


@pytest.mark.slow
def test_it_decides_with_clearly_fewer_judgments_than_pooling_and_random_order() -> None:
    """The table in docs/measured/next-better.csv in small: all gaps, once each."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import simulate_judging
    finally:
        sys.path.remove(str(BENCHMARKS))
    outcomes = [
        simulate_judging.simulate("better", gap, 0.4, 0) for gap in simulate_judging.GAPS.values()
    ]
    total = {
        order: sum(outcome.orders[order].judgments for outcome in outcomes)
        for order in simulate_judging.ORDERS
    }
    right = sum(outcome.orders["next"].is_right for outcome in outcomes) / len(outcomes)
    assert total["next"] < 0.85 * total["pool"]
    assert total["next"] < 0.7 * total["random"]
    assert right >= 0.8
