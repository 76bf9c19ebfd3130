"""The pairs to judge next: the pair that matters comes first, judging it settles the decision, and
every figure is as computed one pair and one draw at a time (benchmarks/mutants.py)."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np
import pytest

from assay.core.results import GradedEntry
from assay.evaluation.measures import MEASURES, parse_measure
from assay.evaluation.unjudged.relevance_model import relevance_chances
from assay.evaluation.unjudged.verdict_stability import (
    MIN_JUDGED_HITS,
    chance_above,
    hit_table,
    impute,
    measure_table,
    sampled_values,
    unseen_grades,
)
from assay.judging.next import (
    FLIP_SAMPLES,
    DecisionState,
    _confidence,
    _needed,
    decision_state,
    next_to_judge,
)

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
            known_grades=sorted(judged)[::-1],
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
        msgspec.structs.replace(entry, judged_on_request=["p"]) if "p" in entry.results else entry
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


GRADES = {"a": 2, "b": 1, "c": 0, "d": 1}


def entries(*rankings: str) -> list[GradedEntry]:
    return [
        GradedEntry(query_id=f"q{n}", query_text=f"text {n}", results=list(ranking),
                    known_grades=[2, 1, 1], grades=[GRADES.get(doc) for doc in ranking], metrics={})
        for n, ranking in enumerate(rankings)
    ]  # fmt: skip


FIRST = entries("xayb", "ubvwc", "cad", "abc")


SECOND = entries("axbz", "wbua", "dxc", "abc")


@pytest.mark.parametrize("second", [None, SECOND])
@pytest.mark.parametrize("measure", ["nDCG@3", "P@2", "RR(rel=2)", "AP"])
def test_an_effect_is_computed_one_grade_at_a_time(second: Any, measure: str) -> None:
    wanted = parse_measure(measure)
    table = hit_table(FIRST, second, wanted)
    guess = impute(table, with_unseen=second is None)
    levels = [0, *guess.belief.grades.tolist()]
    shares = np.asarray(guess.belief.shares)
    chance = relevance_chances(guess.belief, guess.features, guess.spots[:, 0])
    expected = {}
    for spot, (row, column) in enumerate(guess.spots.tolist()):
        if not table.counts[row, column]:
            continue
        means = []
        for level in levels:
            values = []
            for draw in range(FLIP_SAMPLES):
                grades = table.grades[row].copy()
                for other, (r, c) in enumerate(guess.spots.tolist()):
                    if r == row:
                        grades[c] = guess.drawn[other, draw]
                grades[column] = level
                beside = unseen_grades(np.array([row]), guess)
                mine = None if beside is None else beside[draw : draw + 1]
                found = measure_table(table, wanted, np.array([row]), grades[None], mine)
                values.append(found[0][0] if second is None else found[1][0] - found[0][0])
            means.append(np.mean(values))
        changes = np.array(means[1:]) - means[0]
        effect = float(changes @ shares)
        key = (table.entries[row].query_id, table.documents[row][column])
        expected[key] = (effect / len(table.entries), chance[spot], row, column)
    decision = next_to_judge(FIRST, second, measure=measure)
    assert decision.pairs
    for pair in decision.pairs:
        effect, likely, row, column = expected[pair.query_id, pair.doc_id]
        assert pair.effect == pytest.approx(effect, abs=1e-12)
        assert pair.change == pytest.approx(effect * likely, abs=1e-11)
        assert pair.query_text == f"text {pair.query_id[1:]}"
        number = int(pair.query_id[1:])
        lists = [each[number].results for each in (FIRST, second) if each]
        depth = wanted.cutoff or 100
        ranks = [
            ids.index(pair.doc_id) + 1 if pair.doc_id in ids[:depth] else None for ids in lists
        ]
        assert (pair.rank_a, pair.rank_b) == (ranks[0], ranks[1] if second else None)
    assert sum(pair.narrowing for pair in decision.pairs) <= 1 + 1e-9
    missed = set(expected) - {(pair.query_id, pair.doc_id) for pair in decision.pairs}
    assert all(abs(expected[key][0]) < 1e-9 for key in missed)
    assert (decision.systems, decision.measure) == (1 if second is None else 2, str(wanted))


@pytest.mark.parametrize("second", [None, SECOND])
@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_where_a_decision_stands_is_told_by_the_draws(second: Any, threshold: float) -> None:
    wanted = parse_measure("nDCG@3")
    table = hit_table(FIRST, second, wanted)
    found = sampled_values(table, wanted, impute(table, with_unseen=second is None))
    moved = found[0] if second is None else found[1] - found[0]
    totals = moved.sum(axis=0) / len(table.entries) - threshold
    above = chance_above(totals)
    stand = decision_state(FIRST, second, measure="nDCG@3", threshold=threshold)
    assert (stand.expected, stand.deviation) == pytest.approx((totals.mean(), totals.std()))
    assert stand.confidence == pytest.approx(max(above, 1 - above))
    inside = [
        {doc for each in (FIRST, second) if each for doc in each[n].results[:3]}
        for n in range(len(FIRST))
    ]
    judged = sum(doc in GRADES for docs in inside for doc in docs)
    unjudged = sum(doc not in GRADES for docs in inside for doc in docs)
    assert stand.first == min(max(MIN_JUDGED_HITS - judged, 0), unjudged)
    decision = next_to_judge(FIRST, second, measure="nDCG@3", threshold=threshold, level=0.9)
    assert (decision.expected, decision.deviation, decision.confidence, decision.first) == (
        stand.expected, stand.deviation, stand.confidence, stand.first)  # fmt: skip
    needed = _needed(stand, [pair.narrowing for pair in decision.pairs], 0.9)
    assert decision.needed == min(stand.first or needed, len(decision.pairs))
    assert (decision.threshold, decision.level) == (threshold, 0.9)


def test_the_usual_question_is_a_better_ndcg_with_95_percent() -> None:
    plain = next_to_judge(FIRST, SECOND)
    assert (plain.measure, plain.threshold, plain.level) == ("nDCG@10", 0.0, 0.95)
    assert plain == next_to_judge(FIRST, SECOND, measure="nDCG@10", threshold=0.0, level=0.95)
    assert all(pair.change == round(pair.change, 12) for pair in plain.pairs)
    assert any(pair.effect != round(pair.effect, 12) for pair in plain.pairs)
    assert DecisionState(expected=0, deviation=0, confidence=1).first == 0
    alike = decision_state(FIRST, SECOND)
    assert alike == decision_state(FIRST, SECOND, measure="nDCG@10", threshold=0.0)


@pytest.mark.parametrize(
    ("expected", "shares"),
    [
        (0.1, [0.5, 0.3, 0.2]), (-0.1, [0.5, 0.3, 0.2]), (0.05, [0.25] * 4), (0.01, [0.1] * 9),
        (0.5, [0.9]), (0.0, [0.5, 0.5]), (0.02, []), (0.1, [0.7, 0.7]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_how_many_judgments_it_takes(expected: float, shares: list[float], level: float) -> None:
    stand = DecisionState(expected=expected, deviation=0.1, confidence=0.5)
    sure = []
    for count in range(len(shares) + 1):
        left = 0.1 * math.sqrt(max(1 - sum(shares[:count]), 0.0))
        sure.append(1.0 if left < 1e-9 else NormalDist().cdf(abs(expected) / left))
        if left >= 1e-9:
            assert _confidence(expected, left) == pytest.approx(sure[-1])
    wanted = next((count for count, share in enumerate(sure) if share >= level), len(shares))
    assert _needed(stand, shares, level) == wanted
    assert _confidence(0.3, 0.0) == 1.0
    assert _needed(DecisionState(expected=0.3, deviation=0.0, confidence=1), shares, 1.0) == 0


def test_a_change_is_the_effect_by_its_chance() -> None:
    pairs = next_to_judge(
        results("xayb", grades={"a": 2, "b": 1}), measure="P@4", threshold=0.1
    ).pairs
    assert pairs
    assert all(0 < abs(pair.change) < abs(pair.effect) for pair in pairs)


def test_a_level_that_no_judgment_reaches_asks_for_all_of_them() -> None:
    known = results("xayb", grades={"a": 2, "b": 1})
    decision = next_to_judge(known, measure="P@4", threshold=0.1, level=1.01)
    assert decision.needed == len(decision.pairs) == 2


def test_a_few_are_judged_before_anything_is_believed() -> None:
    """Of the hits that count: two of four are judged, and what is below the cutoff does not
    count."""
    stand = decision_state(
        results("xaybzzz", grades={"a": 2, "b": 1}), measure="P@4", threshold=0.1
    )
    assert stand.first == min(MIN_JUDGED_HITS - 2, 2)
