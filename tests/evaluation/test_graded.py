"""Every row of the metric-rules table, one test each, and the properties that hold on any data."""

from __future__ import annotations

from dataclasses import astuple
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.core import runs
from assay.core.errors import InputError
from assay.core.runs import run_from_results, run_from_scores
from assay.core.types import GoldSet, Hit, Query, QueryResult, Run, judgment_frame
from assay.evaluation import judged_hits, statistics
from assay.evaluation.graded import evaluate, graded_results
from assay.evaluation.unjudged import unjudged
from kit.random_data import DOC_IDS, Qrels, Scores, as_gold, as_run, qrels, scores

SUITE = [
    "RR(rel=2)",
    "nDCG@10",
    "nDCG@3",
    "P@5",
    "R@10",
    "AP",
    "Success@1",
    "Judged@10",
    "Bpref",
    "RBP",
    "ERR@5",
]


def ranked(*doc_ids: str) -> dict[str, float]:
    return {doc_id: float(-rank) for rank, doc_id in enumerate(doc_ids)}


def value(run: Run | Scores, gold: GoldSet | Qrels, name: str, query_id: str = "q") -> float | None:
    return evaluate(run, gold, [name]).score(query_id, name).value


def engine_run(**answers: list[str] | str) -> Run:
    """A run in the engine's own order; a string is the error of a failed call."""
    results = [
        QueryResult(query_id=query_id, error=answer)
        if isinstance(answer, str)
        else QueryResult(query_id=query_id, hits=tuple(Hit(doc_id=doc_id) for doc_id in answer))
        for query_id, answer in answers.items()
    ]
    return run_from_results("engine", results)


# ── gain in nDCG ──────────────────────────────────────────────────────────────────────────────────


def test_gain_is_linear_by_default() -> None:
    assert value({"q": ranked("b", "a")}, {"q": {"a": 2, "b": 1}}, "nDCG@10") == pytest.approx(
        (1 + 2 / log2(3)) / (2 + 1 / log2(3))
    )


def test_gain_is_exponential_by_name() -> None:
    assert value(
        {"q": ranked("b", "a")}, {"q": {"a": 2, "b": 1}}, "nDCG(gain=exp2)@10"
    ) == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))


def test_ideal_is_cut_at_k_so_a_perfect_top_ten_of_twenty_is_one() -> None:
    """Quepid divides by the ideal of all twenty and says 0.645."""
    grades = {f"d{number:02}": 3 for number in range(20)}
    assert value({"q": ranked(*list(grades)[:10])}, {"q": grades}, "nDCG@10") == pytest.approx(1.0)


def test_ideal_is_not_cut_at_the_number_of_hits() -> None:
    """One of five perfect documents returned: Elasticsearch says 1.0."""
    grades = {f"d{number}": 1 for number in range(5)}
    ideal = sum(1 / log2(rank + 1) for rank in range(1, 6))
    assert value({"q": ranked("d0")}, {"q": grades}, "nDCG@10") == pytest.approx(1 / ideal)


def test_ideal_has_the_judged_documents_that_were_missed() -> None:
    """A better document that the engine missed lowers the value; Phoenix looks at retrieved
    documents alone."""
    assert value({"q": ranked("a")}, {"q": {"a": 1, "missed": 2}}, "nDCG@1") == pytest.approx(0.5)


def test_ideal_without_a_cutoff_has_every_judged_document() -> None:
    """trec_eval -M 10 ndcg is not ndcg_cut.10: twelve are relevant, ten were returned."""
    grades = {f"d{number:02}": 1 for number in range(12)}
    run = {"q": ranked(*list(grades)[:10])}
    assert value(run, {"q": grades}, "nDCG@10") == pytest.approx(1.0)
    below = value(run, {"q": grades}, "nDCG")
    assert below is not None
    assert below < 0.95


# ── ties ──────────────────────────────────────────────────────────────────────────────────────────


def test_tied_scores_are_ordered_by_id_descending() -> None:
    tied = {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}
    assert value(tied, {"q": {"b": 1}}, "RR") == 1.0
    assert value(tied, {"q": {"a": 1}}, "RR") == 0.5
    assert as_run(tied).doc_ids("q") == ["b", "a", "c"]


def test_the_order_of_an_engine_is_kept_whatever_its_scores() -> None:
    hits = (Hit(doc_id="low", score=0.1), Hit(doc_id="high", score=0.9))
    run = run_from_results("engine", [QueryResult(query_id="q", hits=hits)])
    assert value(run, {"q": {"low": 1}}, "RR") == 1.0


@pytest.mark.parametrize("column_path", [True, False])
def test_tied_hits_are_counted(column_path: bool) -> None:
    """Two of q's hits share a score, three of r's; an equal score in another query is no tie."""
    tied = {
        "q": {"a": 1.0, "b": 1.0, "c": 0.5},
        "r": {"a": 2.0, "b": 2.0, "c": 2.0},
        "s": {"a": 2.0},
    }
    gold = {query_id: {"a": 1} for query_id in tied}
    counts = evaluate(as_run(tied) if column_path else tied, gold, ["RR"]).counts
    assert counts["ties"] == 5


# ── query missing from the run, failed call, no relevant document ─────────────────────────────────


def test_a_missing_query_scores_zero_and_is_counted() -> None:
    sheet = evaluate(
        {"a": ranked("d"), "stray": ranked("d")}, {"a": {"d": 1}, "b": {"d": 1}}, ["RR"]
    )
    score = sheet.score("b", "RR")
    assert (score.value, "missing from the run" in score.reason) == (0.0, True)
    assert sheet.overall.means["RR"] == 0.5
    counts = {
        name: sheet.counts[name]
        for name in ("n_expected", "n_run", "n_scored", "n_missing", "n_extra")
    }
    assert counts == {"n_expected": 2, "n_run": 1, "n_scored": 2, "n_missing": 1, "n_extra": 1}


def test_an_empty_answer_scores_zero_and_is_not_missing() -> None:
    sheet = evaluate(engine_run(a=["d"], b=[]), {"a": {"d": 1}, "b": {"d": 1}}, ["RR"])
    assert (sheet.score("b", "RR").value, sheet.score("b", "RR").reason) == (0.0, "")
    assert (sheet.counts["n_run"], sheet.counts["n_missing"]) == (2, 0)


def test_a_failed_call_is_never_scored_as_empty() -> None:
    sheet = evaluate(
        engine_run(a=["d"], b="TimeoutError: 30 s"), {"a": {"d": 1}, "b": {"d": 1}}, ["RR"]
    )
    score = sheet.score("b", "RR")
    assert (score.value, score.reason) == (None, "failed: TimeoutError: 30 s")
    assert (sheet.overall.n, sheet.overall.means["RR"]) == (1, 1.0)
    assert (sheet.counts["n_failed"], sheet.counts["n_scored"]) == (1, 1)


def test_a_failed_call_outside_the_gold_set_is_not_a_failure() -> None:
    counts = evaluate(engine_run(a=["d"], stray="boom"), {"a": {"d": 1}}, ["RR"]).counts
    assert (counts["n_failed"], counts["n_extra"]) == (0, 1)


def test_a_query_without_relevant_document_is_a_negative_test() -> None:
    """It has no value, it says why, and no mean counts it."""
    sheet = evaluate(
        {"a": ranked("d"), "b": ranked("d")}, {"a": {"d": 1}, "b": {"d": 0}}, ["RR", "nDCG@10"]
    )
    score = sheet.score("b", "nDCG@10")
    assert score.value is None
    assert "negative test" in score.reason
    assert (sheet.overall.n, sheet.overall.means["nDCG@10"], sheet.counts["n_negative"]) == (
        1,
        1.0,
        1,
    )


def test_a_query_without_judgments_has_no_value() -> None:
    queries = (Query(id="a", text="a"), Query(id="b", text="b"))
    gold = GoldSet(name="g", queries=queries, judgments=judgment_frame(["a"], ["d"], [1]))
    sheet = evaluate({"a": ranked("d"), "b": ranked("d")}, gold, ["RR"])
    assert (sheet.score("b", "RR").value, sheet.score("b", "RR").reason) == (None, "no judgments")
    assert sheet.counts["n_scored"] == 1


def test_a_query_with_grade_one_alone_scores_zero_on_a_threshold_of_two() -> None:
    """It is a ranking query, only not for this threshold."""
    assert value({"q": ranked("d")}, {"q": {"d": 1}}, "RR(rel=2)") == 0.0


# ── unjudged ──────────────────────────────────────────────────────────────────────────────────────


def test_unjudged_counts_as_not_relevant_and_the_other_readings_stand_beside() -> None:
    """nDCG 0.63 with the unjudged first hit, 1.0 over judged hits alone, and between 0.39 and 1
    whatever its grade."""
    run, gold = {"q": ranked("new", "a")}, {"q": {"a": 1}}
    beside = unjudged(run, gold, ["nDCG@10"])["nDCG@10"]
    assert value(run, gold, "nDCG@10") == pytest.approx(1 / log2(3))
    assert (beside.judged_share, beside.judged_only) == (0.5, 1.0)
    assert beside.worst == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))
    assert beside.best == pytest.approx(1.0)


def test_judged_share_looks_at_the_measure_s_own_cutoff() -> None:
    beside = unjudged({"q": ranked("a", "new", "b")}, {"q": {"a": 1, "b": 1}}, ["P@1", "P@2", "AP"])
    assert [beside[name].judged_share for name in ("P@1", "P@2", "AP")] == [
        1.0,
        0.5,
        pytest.approx(2 / 3),
    ]


def test_with_everything_judged_all_readings_are_the_value_itself() -> None:
    run, gold = {"q": ranked("b", "a")}, {"q": {"a": 2, "b": 0}}
    for name, beside in unjudged(run, gold, SUITE).items():
        here = value(run, gold, name)
        assert (beside.judged_share, beside.judged_only, beside.worst, beside.best) == (
            1.0,
            here,
            here,
            here,
        ), name


def test_readings_are_means_over_scored_queries() -> None:
    """A query without relevant documents does not enter them either."""
    gold = {"a": {"d": 1}, "b": {"d": 1}, "negative": {"d": 0}}
    beside = unjudged({"a": ranked("d"), "b": ranked("new")}, gold, ["P@1"])["P@1"]
    assert (beside.judged_share, beside.judged_only, beside.worst, beside.best) == (
        0.5,
        0.5,
        0.5,
        1.0,
    )


BOUNDED = [
    "nDCG@3",
    "nDCG@10",
    "nDCG",
    "nDCG(gain=exp2)@5",
    "P@3",
    "P(rel=2)@5",
    "R@3",
    "R@10",
    "R(rel=2)@5",
    "RR",
    "RR(rel=2)",
    "RR@3",
    "AP",
    "AP@3",
    "AP(rel=2)",
    "RBP",
    "RBP(rel=2)@4",
    "ERR",
    "ERR@3",
    "Success@3",
    "Success(rel=2)@5",
]


@given(st.data(), st.sampled_from(BOUNDED))
def test_any_grades_of_the_unjudged_hits_stay_inside_the_bounds(
    data: st.DataObject, name: str
) -> None:
    """Judge the unjudged hits inside the cutoff in any way: the new value lies between worst and
    best."""
    gold = {
        "q": data.draw(st.dictionaries(st.sampled_from(DOC_IDS[:6]), st.integers(0, 3), min_size=1))
    }
    gold["q"]["known"] = 2
    hits = data.draw(st.lists(st.sampled_from(DOC_IDS), unique=True, max_size=9))
    run = {"q": ranked(*hits)}
    beside = unjudged(run, gold, [name])[name]
    inside = hits[: int(name.partition("@")[2] or len(hits))]
    grades = st.integers(0, max(gold["q"].values()))
    regraded = {doc_id: data.draw(grades) for doc_id in inside if doc_id not in gold["q"]}
    after = value(run, {"q": gold["q"] | regraded}, name)
    assert after is not None
    assert beside.worst is not None
    assert beside.best is not None
    assert beside.worst - 1e-12 <= after <= beside.best + 1e-12


# ── P@k on a short list, duplicates, MRR, rounding ────────────────────────────────────────────────


def test_precision_on_a_short_list_is_divided_by_k() -> None:
    assert value({"q": ranked("a", "b")}, {"q": {"a": 1, "b": 1}}, "P@10") == 0.2


def test_a_duplicate_in_a_scored_run_keeps_its_best_place_and_is_counted() -> None:
    scored = {"q": {"a": 3.0, "b": 2.0}}
    twice = as_run(scored).hits.vstack(as_run({"q": {"a": 1.0}}).hits)
    run = run_from_scores("e", ["q"], np.array([3], np.int64), twice["doc_id"], twice["score"])
    assert run.doc_ids("q") == ["a", "b"]
    assert evaluate(run, {"q": {"a": 1}}, ["P@2"]).counts["duplicates"] == 1


def test_a_duplicate_of_an_engine_keeps_its_first_place_and_is_counted() -> None:
    """nDCG would exceed 1 if the second place counted again."""
    run = engine_run(q=["a", "b", "a", "a"])
    assert run.doc_ids("q") == ["a", "b"]
    assert value(run, {"q": {"a": 1}}, "nDCG@10") == 1.0
    assert evaluate(run, {"q": {"a": 1}}, ["P@2"]).counts["duplicates"] == 2


def test_a_duplicate_in_gold_is_an_error() -> None:
    """The readers refuse it with file and place (see formats); here the set was built in Python."""
    frame = judgment_frame(["q", "q"], ["d", "d"], [1, 2])
    gold = GoldSet(name="twice", queries=(Query(id="q", text="q"),), judgments=frame)
    with pytest.raises(InputError, match="judged twice"):
        evaluate({"q": ranked("d")}, gold, ["nDCG@10"])


def test_mrr_is_the_first_hit_with_the_threshold_in_its_name() -> None:
    run, gold = {"q": ranked("one", "two")}, {"q": {"one": 1, "two": 2}}
    assert (value(run, gold, "RR"), value(run, gold, "RR(rel=2)")) == (1.0, 0.5)


def test_nothing_is_rounded() -> None:
    run, gold = {"a": ranked("x", "y", "d"), "b": ranked("d")}, {"a": {"d": 1}, "b": {"d": 1}}
    sheet = evaluate(run, gold, ["RR"])
    assert sheet.score("a", "RR").value == 1 / 3
    assert sheet.overall.means["RR"] == (1 / 3 + 1) / 2


# ── inputs ────────────────────────────────────────────────────────────────────────────────────────


def test_nan_scores_are_refused() -> None:
    with pytest.raises(InputError, match="NaN"):
        evaluate({"q": {"a": float("nan")}}, {"q": {"a": 1}}, ["RR"])


def test_a_judgment_of_a_query_that_the_set_lacks_is_refused() -> None:
    gold = GoldSet(
        name="g", queries=(Query(id="a", text="a"),), judgments=judgment_frame(["b"], ["d"], [1])
    )
    with pytest.raises(InputError, match="'b', which is not among its queries"):
        evaluate({"a": ranked("d")}, gold, ["RR"])


def test_an_empty_run_scores_every_query_zero() -> None:
    empty: list[Run | Scores] = [{}, as_run({}), as_run({"q": {}})]
    for run in empty:
        assert value(run, {"q": {"d": 1}}, "nDCG@10") == 0.0


def test_slices_are_by_type_and_topic_with_their_own_n() -> None:
    attributes: Any = {
        "a": {"type": "keyword", "topic": "gifts"},
        "b": {"type": "keyword"},
        "c": {"type": "other"},
    }
    gold = as_gold({"a": {"d": 1}, "b": {"d": 1}, "c": {"d": 0}}, **attributes)
    sheet = evaluate({"a": ranked("d")}, gold, ["RR"])
    assert {name: (part.n, part.means["RR"]) for name, part in sheet.by("type").items()} == {
        "keyword": (2, 0.5),
        "other": (0, None),
    }
    assert sheet.by("topic")["gifts"].means["RR"] == 1.0


# ── properties ────────────────────────────────────────────────────────────────────────────────────


def assert_same(these: dict[str, list[float]], those: dict[str, list[float]]) -> None:
    """Equal up to the last bit: a sum over a wider, padded row may add in another order."""
    assert these.keys() == those.keys()
    for query_id, row in these.items():
        np.testing.assert_allclose(row, those[query_id], rtol=0, atol=1e-14, equal_nan=True)


def values_by_query(run: Run | Scores, gold: GoldSet | Qrels) -> dict[str, list[float]]:
    sheet = evaluate(run, gold, SUITE)
    return {query.id: row.tolist() for query, row in zip(sheet.queries, sheet.values, strict=True)}


def shuffled(table: dict[str, dict[str, Any]], data: st.DataObject) -> dict[str, dict[str, Any]]:
    rows = data.draw(st.permutations(list(table.items())))
    return {key: dict(data.draw(st.permutations(list(inner.items())))) for key, inner in rows}


@given(qrels(), scores(), st.data())
def test_the_order_of_queries_and_rows_changes_nothing(
    judged: Qrels, scored: Scores, data: st.DataObject
) -> None:
    gold, run = shuffled(judged, data), shuffled(scored, data)
    before = values_by_query(scored, judged)
    assert_same(values_by_query(run, gold), before)
    assert_same(values_by_query(as_run(run), as_gold(gold)), before)


@given(qrels(lowest=-1), scores())
def test_dicts_and_columns_give_the_same_sheet(judged: Qrels, scored: Scores) -> None:
    dicts, columns = (
        evaluate(scored, judged, SUITE),
        evaluate(as_run(scored), as_gold(judged), SUITE),
    )
    np.testing.assert_array_equal(dicts.values, columns.values)
    assert dicts.reasons == columns.reasons
    assert {key: dicts.counts[key] for key in dicts.counts if key.startswith("n_")} == {
        key: columns.counts[key] for key in columns.counts if key.startswith("n_")
    }


@given(qrels(), scores(), st.integers(1, 7))
def test_small_blocks_and_chunks_give_the_same_values(
    judged: Qrels, scored: Scores, size: int
) -> None:
    """What bounds memory on ten million rows does not change a value."""
    whole = values_by_query(as_run(scored), as_gold(judged))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judged_hits, "BLOCK_CELLS", size)
        patch.setattr(runs, "CHUNK_ROWS", size)
        assert_same(values_by_query(as_run(scored), as_gold(judged)), whole)
        readings = unjudged(as_run(scored), as_gold(judged), SUITE)
    for name, reading in unjudged(as_run(scored), as_gold(judged), SUITE).items():
        assert readings[name].best == pytest.approx(reading.best, abs=1e-12)


def test_a_sheet_is_a_frame_and_a_table() -> None:
    sheet = assay.evaluate({"q1": {"a": 2.0}}, {"q1": {"a": 1}, "q2": {"b": 0}}, ["P@1"])
    assert sheet.to_frame()["P@1"].to_list() == [1.0, None]
    assert "<tr><td>overall *</td><td>1</td><td>100%</td><td>1.000</td></tr>" in sheet._repr_html_()


def test_a_notebook_shows_intervals_n_and_the_judged_share() -> None:
    run = {f"q{n}": {"a": 2.0, "b": float(n % 3), "c": 0.5, "d": 0.1} for n in range(12)}
    gold = {f"q{n}": {"b": 2, "c": 0} for n in range(12)}
    sheet = assay.evaluate(run, gold, ["nDCG@10", "RR(rel=2)"])
    low, high = (
        f"{bound:.3f}" for bound in astuple(statistics.mean_intervals(sheet.values)[0])[:2]
    )
    shown = sheet._repr_html_()
    assert "<th>n</th><th>judged@10</th><th>nDCG@10</th><th>RR(rel=2)</th>" in shown
    assert (
        f"<td>12</td><td>50%</td><td>{sheet.overall.means['nDCG@10']:.3f}<br><small>{low} to "
        f"{high}</small>" in shown
    )
    assert "fewer than" not in shown


@given(qrels(), scores())
def test_every_value_is_between_zero_and_one(judged: Qrels, scored: Scores) -> None:
    values = evaluate(scored, judged, SUITE).values
    assert ((values >= 0) & (values <= 1 + 1e-12))[~np.isnan(values)].all()


def test_the_residual_of_rbp_by_hand() -> None:
    """p = 0.5: ranks weigh 1/2, 1/4, 1/8, …; rank 2 is unjudged, and the list ends after rank 3."""
    run, gold = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 0, "c": 1}}
    found = unjudged(run, gold, ["RBP(p=0.5)", "RBP(p=0.5)@2", "nDCG@2"])
    assert found["RBP(p=0.5)"].residual == pytest.approx(1 / 4 + 1 / 8)
    assert found["RBP(p=0.5)@2"].residual == pytest.approx(1 / 4)
    assert found["nDCG@2"].residual is None


def test_figures_come_by_wording() -> None:
    wordings = {"a": "lawyer", "b": "lay", "c": "lay"}
    queries = tuple(Query(id=id, text=id, wording=wording) for id, wording in wordings.items())
    gold = GoldSet(
        name="g", queries=queries, judgments=judgment_frame([*"abc"], ["d"] * 3, [1] * 3)
    )
    results = graded_results(
        as_run({"a": {"d": 1.0}, "b": {"x": 1.0}, "c": {"d": 1.0}}), gold, ["RR"]
    )
    found = {name: [*means.values()] for name, means in results.slices["wording"].items()}
    assert found == {"lawyer": [1.0], "lay": [0.5]}
    assert [entry.query_wording for entry in results.per_query] == [*wordings.values()]


def test_a_practice_area_is_a_slice_where_rows_of_any_set_have_one() -> None:
    queries = tuple(
        Query(id=name, text=name, extra={"practice_area": area} if area else {})
        for name, area in (("a", "tax"), ("b", "tax"), ("c", "labour"), ("d", ""))
    )
    frame = judgment_frame([*"abcd"], ["d1"] * 4, [1] * 4)
    gold = GoldSet(name="g", queries=queries, judgments=frame)
    run = as_run({"a": {"d1": 1.0}, "b": {"x": 1.0}, "c": {"x": 2.0, "d1": 1.0}, "d": {"d1": 1.0}})
    results = graded_results(run, gold, ["RR"])
    found = results.slices["practice_area"]
    assert {name: [*means.values()] for name, means in found.items()} == {
        "tax": [0.5],
        "labour": [0.5],
    }
    areas = [each.query_practice_area for each in results.per_query]
    assert areas == ["tax", "tax", "labour", None]
