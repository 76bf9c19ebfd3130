"""Agreement with trec_eval, through pytrec_eval, wherever the rule is the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation.graded import evaluate
from kit.random_data import Qrels, Scores, as_gold, as_run, is_ranking_query, qrels, scores

pytrec_eval = pytest.importorskip("pytrec_eval")

CUTOFFS = (1, 3, 5, 10, 20)

# theirs -> ours
GRADED = {"ndcg": "nDCG"} | {f"ndcg_cut_{k}": f"nDCG@{k}" for k in CUTOFFS}
BINARY = {"map": "AP", "recip_rank": "RR", "bpref": "Bpref"}
BINARY |= {
    f"{theirs}_{k}": f"{ours}@{k}"
    for k in CUTOFFS
    for theirs, ours in (("P", "P"), ("recall", "R"), ("map_cut", "AP"), ("success", "Success"))
}
REQUEST = {"ndcg", "map", "recip_rank", "bpref"} | {
    f"{name}.{','.join(map(str, CUTOFFS))}"
    for name in ("ndcg_cut", "P", "recall", "map_cut", "success")
}


def at_level(name: str, level: int) -> str:
    """Our name of a binary measure at trec_eval's -l level."""
    if level == 1:
        return name
    base, at, cutoff = name.partition("@")
    return f"{base}(rel={level}){at}{cutoff}"


def peer(judged: Qrels, scored: Scores, level: int = 1) -> dict[str, dict[str, float]]:
    answered = {
        query_id: hits for query_id, hits in scored.items() if hits
    }  # an empty list crashes pytrec_eval
    values: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(
        judged, REQUEST, relevance_level=level
    ).evaluate(answered)
    return values


def check(judged: Qrels, scored: Scores, names: dict[str, str], level: int = 1) -> None:
    theirs = peer(judged, scored, level)
    for run in (scored, as_run(scored)):
        sheet = evaluate(run, as_gold(judged), names.values())
        for query_id, grades in judged.items():
            if not is_ranking_query(grades) or not scored.get(query_id):
                continue
            for their_name, our_name in names.items():
                ours = sheet.score(query_id, our_name).value
                assert ours == pytest.approx(theirs[query_id][their_name], abs=1e-9), (
                    query_id,
                    our_name,
                )


@given(qrels(), scores())
def test_graded_measures_agree(judged: Qrels, scored: Scores) -> None:
    """nDCG with and without cutoff."""
    check(judged, scored, GRADED)


@given(qrels(), scores(), st.sampled_from([1, 2, 3]))
def test_binary_measures_agree_at_every_level(judged: Qrels, scored: Scores, level: int) -> None:
    """AP, RR, bpref, P, R, AP@k and Success at relevance levels 1 to 3."""
    check(judged, scored, {theirs: at_level(ours, level) for theirs, ours in BINARY.items()}, level)


@given(qrels(lowest=-2), scores())
def test_negative_grades_agree(judged: Qrels, scored: Scores) -> None:
    """A negative grade is not relevant and, in bpref, not judged."""
    # pytrec_eval crashes the process on a query whose grades are all negative
    answerable = {
        query_id: grades for query_id, grades in judged.items() if is_ranking_query(grades)
    }
    check(answerable, scored, GRADED | BINARY)


@given(qrels(), scores())
def test_exponential_gain_is_linear_gain_of_two_to_the_grade(judged: Qrels, scored: Scores) -> None:
    """trec_eval has no exponential gain by name; judging 2^grade - 1 gives the same sum."""
    powered = {
        query_id: {doc: 2**grade - 1 for doc, grade in grades.items()}
        for query_id, grades in judged.items()
    }
    theirs = peer(powered, scored)
    sheet = evaluate(scored, judged, ["nDCG(gain=exp2)@10"])
    for query_id, grades in judged.items():
        if is_ranking_query(grades) and scored.get(query_id):
            ours = sheet.score(query_id, "nDCG(gain=exp2)@10").value
            assert ours == pytest.approx(theirs[query_id]["ndcg_cut_10"], abs=1e-9)


@given(qrels(), scores())
def test_mean_agrees_where_every_query_is_in_the_run(judged: Qrels, scored: Scores) -> None:
    """With every query answered and answerable, the mean is trec_eval's `all` row."""
    both = {query_id: scored[query_id] for query_id in judged if scored.get(query_id)}
    judged = {query_id: judged[query_id] for query_id in both if is_ranking_query(judged[query_id])}
    if not judged:
        return
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"map"}).evaluate(both)
    mean = sum(row["map"] for row in theirs.values()) / len(theirs)
    assert evaluate(both, judged, ["AP"]).overall.means["AP"] == pytest.approx(mean, abs=1e-9)


# ── on purpose different ──────────────────────────────────────────────────────────────────────────


def test_missing_query_scores_zero_where_pytrec_eval_drops_it() -> None:
    """pytrec_eval's mean over one of two queries is 1.0; ours is 0.5 over two."""
    judged, scored = {"a": {"d": 1}, "b": {"d": 1}}, {"a": {"d": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(scored)
    assert list(theirs) == ["a"]
    overall = evaluate(scored, judged, ["RR"]).overall
    assert (overall.n, overall.means["RR"]) == (2, 0.5)


def test_query_without_relevant_document_has_no_value_where_trec_eval_says_zero() -> None:
    """trec_eval lets a query that nobody can answer lower the mean."""
    judged, scored = {"a": {"d": 0}, "b": {"d": 1}}, {"a": {"d": 1.0}, "b": {"d": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(scored)
    assert theirs["a"]["recip_rank"] == 0
    sheet = evaluate(scored, judged, ["RR"])
    assert sheet.score("a", "RR").value is None
    assert (sheet.overall.n, sheet.overall.means["RR"]) == (1, 1.0)


def test_scores_are_compared_in_double_precision_where_pytrec_eval_uses_single() -> None:
    """1 + 1e-8 is above 1: pytrec_eval sees a tie and puts the higher id first."""
    judged, scored = {"q": {"a": 1}}, {"q": {"a": 1 + 1e-8, "b": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(scored)
    assert theirs["q"]["recip_rank"] == 0.5
    assert evaluate(scored, judged, ["RR"]).score("q", "RR").value == 1.0
