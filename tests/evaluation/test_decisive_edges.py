"""The ends of what decides: nothing, one, all alike. Each is where a fault would stay unseen
(benchmarks/mutants.py)."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.stats

from assay.core.errors import InputError
from assay.core.results import GradedResults
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Hit, Query, QueryResult, Run, judgment_frame
from assay.evaluation import gate_values, statistics
from assay.evaluation.gates import Gate, decide
from assay.evaluation.graded import evaluate, graded_results, top_of_run
from assay.evaluation.measures import did_you_mean

VALUES = np.random.default_rng(5).uniform(size=(30, 2))


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────


def test_changes_lie_between_minus_one_and_one() -> None:
    (interval,) = statistics.change_intervals(np.full((5, 1), 0.9))
    assert interval.low is not None
    assert interval.high is not None
    assert -1 <= interval.low < 0.9 < interval.high <= 1


def test_beyond_one_queries_that_are_alike_tell_nothing() -> None:
    (alike,) = statistics.mean_intervals(np.full((5, 1), 7.0))
    assert (alike.low, alike.high, alike.n) == (None, None, 5)
    assert "same value" in alike.note


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.9])
def test_the_interval_of_a_quantile_lies_between_two_values(quantile: float) -> None:
    values = list(range(1, 101))
    found = statistics.quantile_interval(values, quantile)
    at = scipy.stats.binom(100, quantile)
    assert (found.low, found.high) == (at.ppf(0.025), at.ppf(0.975) + 1)


@pytest.mark.parametrize(
    ("values", "quantile", "note"),
    [([1.0] * 50, 1, "extreme"), ([1.0] * 50, 0, "extreme"), ([], 0.5, "extreme"),
     ([1.0, 2.0], 0.5, "too few"), ([1.0] * 20, 0.99, "too few")],
)  # fmt: skip
def test_where_a_quantile_has_no_interval(values: list[float], quantile: float, note: str) -> None:
    found = statistics.quantile_interval(values, quantile)
    assert (found.low, found.high, found.n) == (None, None, len(values))
    assert note in found.note


# ── tests of a difference ─────────────────────────────────────────────────────────────────────────


def test_without_queries_nothing_is_shown() -> None:
    nothing = np.empty((0, 2))
    assert statistics.randomization_test(nothing).tolist() == [1, 1]
    assert statistics.change_tests(np.ones((1, 2))).tolist() == [1, 1]
    assert statistics.wilcoxon_test(np.zeros((4, 1))).tolist() == [1]
    assert statistics.detectable_change(0.2, 1) == np.inf


def test_a_difference_that_does_not_vary() -> None:
    same, none = np.full((4, 1), 0.5), np.zeros((4, 1))
    assert np.isnan(statistics.effect_size(same)[0])
    assert statistics.effect_size(none)[0] == 0
    assert np.isnan(statistics.effect_size(np.full((1, 1), 0.5))[0])


def test_the_size_of_an_effect_is_cohens() -> None:
    moved = VALUES - 0.4
    expected = moved.mean(axis=0) / moved.std(axis=0, ddof=1)
    assert statistics.effect_size(moved) == pytest.approx(expected)


# ── runs and measures ─────────────────────────────────────────────────────────────────────────────


def run_of(**answers: str) -> Run:
    """A document is a letter."""
    return run_from_results(
        "engine",
        [
            QueryResult(
                query_id=name,
                hits=tuple(Hit(doc_id=doc, score=-float(rank)) for rank, doc in enumerate(ranking)),
            )
            for name, ranking in answers.items()
        ],
    )


def gold_of(grade: int = 2, **kinds: str) -> GoldSet:
    queries = tuple(Query(id=name, text=name, type=kind) for name, kind in kinds.items())
    names = list(kinds)
    judged = judgment_frame(names, ["a"] * len(names), [grade] * len(names))
    return GoldSet(name="g", queries=queries, judgments=judged)


@pytest.mark.parametrize(
    ("keep", "kept"), [(None, "abcde"), (9, "abcde"), (3, "abcde"), (2, "abde"), (1, "ad")]
)
def test_the_top_of_a_run(keep: int | None, kept: str) -> None:
    run = top_of_run(run_of(q="abc", r="de"), keep)
    assert "".join(run.hits["doc_id"].to_list()) == kept
    assert evaluate(run, gold_of(q="x", r="x"), ["RR"]).score("q", "RR").value == 1


# ── what a gate is held against ───────────────────────────────────────────────────────────────────


@functools.cache  # not when loaded: faults are put in after that
def measured() -> GradedResults:
    gold = gold_of(q="keyword", r="keyword", s="fact")
    return graded_results(run_of(q="abc", r="xa", s="xya"), gold, ["RR", "P@5"])


@pytest.mark.parametrize("name", ["RR", "mrr", "RR(rel=1)"])
def test_a_gate_names_its_measure_in_any_spelling(name: str) -> None:
    assert gate_values.measure_line(Gate(measure=name, minimum=0.5), measured()).measure == "RR"


@pytest.mark.parametrize("name", ["nDCG@10", "no such measure"])
def test_a_gate_on_what_was_not_measured_says_what_was(name: str) -> None:
    with pytest.raises(InputError, match=f"gate on {name}") as error:
        gate_values.measure_line(Gate(measure=name, minimum=0.5), measured())
    assert "They have RR, P@5" in (error.value.hint or "")


def test_a_gate_on_a_slice_counts_its_queries_alone() -> None:
    gate = Gate(measure="RR", slice="type:keyword", minimum=0.5, min_queries=2)
    assert gate_values.values_by_query(gate, measured(), None, "RR") == {"q": 1, "r": 0.5}
    assert gate_values.query_values(gate, measured(), "RR") == [1, 0.5]
    assert not gate_values.has_too_few_queries(gate, measured())
    more = Gate(measure="RR", slice="type:keyword", minimum=0.5, min_queries=3)
    assert gate_values.has_too_few_queries(more, measured())


@pytest.mark.parametrize("slice", ["type:none", "type:", "nothing"])
def test_a_gate_on_an_empty_slice_says_which_there_are(slice: str) -> None:
    with pytest.raises(InputError, match="no query is in it") as error:
        gate_values.entries_in_slice(Gate(measure="RR", slice=slice, minimum=0.5), measured())
    assert "type:keyword, type:fact" in (error.value.hint or "")


def test_a_change_is_over_the_queries_that_both_have() -> None:
    before = graded_results(run_of(q="xa", s="xya"), gold_of(q="keyword", s="fact"), ["RR"])
    gate = Gate(measure="RR", max_drop=0.1)
    assert gate_values.query_changes(gate, measured(), before, "RR") == [0.5, 0]
    assert gate_values.query_changes(gate, measured(), None, "RR") == []


@pytest.mark.parametrize(("cutoff", "share"), [(1, 0), (2, 0.5), (9, 0.5)])
def test_how_much_of_the_top_is_judged(cutoff: int, share: float) -> None:
    assert gate_values.judged_share(measured().per_query[1], cutoff) == share


@pytest.mark.parametrize(
    "limit", [{"minimum": 60}, {"maximum": 1.5}, {"max_drop": 2}, {"no_worse_than": 5}]
)
def test_a_limit_beyond_the_scale_of_its_measure_is_refused(limit: dict[str, float]) -> None:
    with pytest.raises(InputError, match="RR must be between 0 and 1"):
        decide(measured(), [Gate(measure="RR", **limit)], measured())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("ndcg10", "nDCG@10"), ("P5", "P@5"), ("NDGC@10", "nDCG@10"), ("precision5", "P@5")],
)
def test_a_measure_that_is_nearly_right_is_named(written: str, meant: str) -> None:
    assert did_you_mean(written, ["nDCG@10"]) == f"Did you mean {meant}? "
    assert did_you_mean("xyz", ["nDCG@10"]) == ""
