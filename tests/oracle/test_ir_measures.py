"""Agreement with ir_measures: the same names, the same values, wherever the rule is the same."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.extras import MissingExtra
from assay.evaluation.graded import evaluate
from assay.evaluation.measures import parse_measure
from kit.commands import Assay
from kit.random_data import Qrels, Scores, as_gold, as_run, is_ranking_query, qrels, scores

ir_measures = pytest.importorskip("ir_measures")

NAMES = [
    "nDCG",
    "nDCG@5",
    "nDCG@10",
    "P@5",
    "P(rel=2)@5",
    "R@10",
    "R(rel=3)@3",
    "RR",
    "RR(rel=2)",
    "AP",
    "AP@3",
    "AP(rel=2)",
    "AP(rel=2)@5",
    "Success@1",
    "Success(rel=2)@5",
    "Bpref",
    "Bpref(rel=2)",
]


def theirs(names: list[str], judged: Qrels, scored: Scores) -> dict[tuple[str, str], float]:
    """One call for measures of judged documents alone: beside them its NumRet counts only those."""
    measures = [ir_measures.parse_measure(name) for name in names]
    apart = [measure for measure in measures if measure.params.get("judged_only")]
    others = [measure for measure in measures if measure not in apart]
    found: Any = [
        metric
        for asked in (others, apart)
        if asked
        for metric in ir_measures.iter_calc(asked, judged, scored)
    ]
    return {(metric.query_id, str(metric.measure)): float(metric.value) for metric in found}


def check(names: list[str], judged: Qrels, scored: Scores, *, within: float = 1e-9) -> None:
    expected = theirs(names, judged, scored)
    for run in (scored, as_run(scored)):
        sheet = evaluate(run, as_gold(judged), names)
        for query_id, grades in judged.items():
            for name in names if is_ranking_query(grades) else []:
                key = (query_id, str(ir_measures.parse_measure(name)))
                ours = sheet.score(query_id, str(parse_measure(name))).value
                assert ours == pytest.approx(expected[key], abs=within), key


@given(qrels(), scores(empty=False))
def test_measures_agree_on_every_query_also_missing_ones(judged: Qrels, scored: Scores) -> None:
    """ir_measures, too, gives 0 to a query that the run lacks."""
    check(NAMES, judged, scored)


@given(qrels(), scores(empty=False, ties=False))
def test_judged_share_agrees_without_ties(judged: Qrels, scored: Scores) -> None:
    """Divided by what was returned, on a short list. (On ties their Judged keeps the order of
    insertion.)"""
    check(["Judged@3", "Judged@10"], judged, scored)


@pytest.mark.skipif(
    find_spec("cwl") is None and find_spec("cwl_eval") is None, reason="cwl-eval is not installed"
)
@given(qrels(), scores(empty=False, ties=False))
def test_rank_biased_precision_agrees(judged: Qrels, scored: Scores) -> None:
    """RBP with a threshold, through cwl_eval."""
    present = {query_id: judged[query_id] for query_id in judged if query_id in scored}
    if present:
        check(["RBP(rel=1)", "RBP(p=0.5,rel=2)"], present, scored)


numbered = st.integers(1, 99).map(str)
perl = pytest.mark.skipif(shutil.which("perl") is None, reason="ir_measures runs gdeval with perl")


@perl
@settings(max_examples=12)
@given(st.data())
def test_exponential_ndcg_and_err_agree_with_gdeval(data: st.DataObject) -> None:
    """gdeval takes numbered queries, ids without spaces and grades up to 4, and rounds to five
    decimals."""
    documents = st.sampled_from([f"d{number}" for number in range(12)])
    grades = st.dictionaries(documents, st.integers(0, 4), min_size=2, max_size=9)
    judged = data.draw(st.dictionaries(numbered, grades, min_size=1, max_size=4))
    ranked = {
        query_id: data.draw(st.lists(documents, unique=True, min_size=1)) for query_id in judged
    }
    scored = {
        query_id: {doc: -float(rank) for rank, doc in enumerate(ids)}
        for query_id, ids in ranked.items()
    }
    check(["nDCG(dcg='exp-log2')@10"], judged, scored, within=5.1e-6)
    found = theirs(["ERR@10"], judged, scored)
    sheet = evaluate(scored, judged, ["ERR(max=4)@10"])
    for query_id in judged:
        if is_ranking_query(judged[query_id]):
            ours = sheet.score(query_id, "ERR(max=4)@10").value
            assert ours == pytest.approx(found[query_id, "ERR@10"], abs=5.1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_read_the_same_way(name: str) -> None:
    """Our printed name is one that ir_measures reads to the same measure."""
    printed = str(parse_measure(name))
    assert ir_measures.parse_measure(printed) == ir_measures.parse_measure(name)


# ── handed to ir_measures ─────────────────────────────────────────────────────────────────────────

HANDED = [
    "Rprec",
    "RPrec(rel=2)",
    "Rprec(judged_only=True)",
    "IPrec@0.1",
    "IPrec(rel=2)@0.5",
    "SetP",
    "SetRelP",
    "SetR",
    "SetF(beta=2.0)",
    "SetAP(rel=2)",
    "NumRel",
    "NumRet",
    "NumRelRet",
    "infAP",
    "Compat(p=0.8)",
    "AP(rel=2,judged_only=True)@10",
    "nDCG(judged_only=True)@10",
    "nDCG(gains={1:5,2:9})@10",
    "P(judged_only=True)@5",
    "Success(judged_only=True)@5",
]
BY_CWL = ["INST(max_rel=4)", "INSQ(max_rel=4)", "SDCG(max_rel=4)@5", "BPM(max_rel=4)@5"]
needs_cwl = pytest.mark.skipif(
    find_spec("cwl") is None and find_spec("cwl_eval") is None, reason="cwl-eval is not installed"
)


@settings(max_examples=2)  # the values are its own: what is tried is that they arrive
@given(qrels(), scores(empty=False, ties=False))
def test_measures_that_are_not_ours_are_its_own(judged: Qrels, scored: Scores) -> None:
    check(HANDED, judged, scored)


def test_a_relevant_document_that_was_not_returned_comes_after_those_that_were() -> None:
    """Compat takes it for one of score 0: the scores that we hand over must be above that."""
    judged, scored = {"q": {"z": 1, "b": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    check(["Compat", "Compat(p=0.8)"], judged, scored)


def test_a_measure_without_what_it_needs_says_what() -> None:
    with pytest.raises(InputError, match="'BPM' needs cutoff and max_rel"):
        parse_measure("BPM")


def test_accuracy_is_its_own_and_its_failure_is_told() -> None:
    """It divides by zero where no hit below the last relevant one is not relevant."""
    judged = {"q": {"a": 1, "b": 0, "c": 2, "d": 0}}
    check(
        ["Accuracy", "Accuracy(rel=2)@3"], judged, {"q": {"b": 4.0, "a": 3.0, "c": 2.0, "d": 1.0}}
    )
    with pytest.raises(InputError, match="cannot compute Accuracy"):
        evaluate({"q": {"a": 1.0}}, judged, ["Accuracy"])


@needs_cwl
@settings(max_examples=2)
@given(qrels(), scores(empty=False, ties=False))
def test_so_are_those_of_cwl(judged: Qrels, scored: Scores) -> None:
    check(BY_CWL, judged, scored)


@pytest.mark.parametrize("name", [*HANDED, *BY_CWL, "NumQ", "NERR8(max_rel=3)@10"])
def test_names_of_its_own_are_read_the_same_way(name: str) -> None:
    printed = str(parse_measure(name))
    assert printed == str(ir_measures.parse_measure(name))
    assert parse_measure(printed) == parse_measure(name)


def test_counts_are_summed_and_means_are_means() -> None:
    judged, scored = {"a": {"x": 1, "y": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}, "b": {"z": 1.0}}
    names = ["NumQ", "NumRel", "NumRelRet", "SetP", "P@1"]
    found = ir_measures.calc_aggregate(list(map(ir_measures.parse_measure, names)), judged, scored)
    sheet = evaluate(scored, judged, names)
    assert sheet.overall.means == {str(name): value for name, value in found.items()}
    assert sheet.overall.means["NumRel"] == 3


def test_without_ir_measures_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"\[measures\]"):
        parse_measure("SetF(beta=3.5)")
    with pytest.raises(InputError, match="unknown measure 'Nonsense'"):
        parse_measure("Nonsense")
    assert str(parse_measure("nDCG@10")) == "nDCG@10"


@pytest.mark.parametrize("name", ["SetF(beta=high)", "alpha_nDCG@10", "IPrec@2x"])
def test_what_it_cannot_compute_is_said_so(name: str) -> None:
    with pytest.raises(InputError, match="ir_measures"):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, [name])


def test_a_scorecard_takes_them_beside_ours(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "x.qrels").write_text("q 0 a 1\nq 0 b 0\nq 0 c 2\n")
    (tmp_path / "x.run").write_text("q Q0 b 1 3 t\nq Q0 a 2 2 t\nq Q0 d 3 1 t\n")
    names = ["nDCG@10", "Rprec", "NumRet", "nDCG(judged_only=True)@2"]
    options = [option for name in names for option in ("-m", name)]
    scored = assay_cli("score", "--run", "x.run", "--dataset", "x.qrels", *options, "--json")
    assert scored.code == 0, scored.err
    assert scored.json["overall"]["Rprec"] == 0.5
    assert scored.json["overall"]["NumRet"] == 3
    assert scored.json["receipt"]["measures"][1]["source"] == "ir_measures"
    assert "Rprec" in assay_cli("score", "--run", "x.run", "--dataset", "x.qrels", *options).out


# ── on purpose different ──────────────────────────────────────────────────────────────────────────


def test_ties_break_the_same_way_with_and_without_cutoff() -> None:
    """ir_measures sends RR@k to another provider, which keeps the order of insertion: RR 0.5 but
    RR@10 1.0."""
    judged, scored = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    peer = theirs(["RR", "RR@10"], judged, scored)
    assert (peer["q", "RR"], peer["q", "RR@10"]) == (0.5, 1.0)
    sheet = evaluate(scored, judged, ["RR", "RR@10"])
    assert sheet.score("q", "RR").value == sheet.score("q", "RR@10").value == 0.5


def test_judged_breaks_ties_like_every_other_measure() -> None:
    """ir_measures' Judged@1 looks at the hit that was inserted first, though RR ranks the other one
    first."""
    judged, scored = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert theirs(["Judged@1"], judged, scored)["q", "Judged@1"] == 1.0
    assert evaluate(scored, judged, ["Judged@1"]).score("q", "Judged@1").value == 0.0


@perl
def test_err_takes_the_top_grade_from_the_scale_not_always_four() -> None:
    """A perfect binary result scores 0.0625 in gdeval; ours is (2^1-1)/2^1."""
    judged, scored = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    assert theirs(["ERR@10"], judged, scored)["1", "ERR@10"] == pytest.approx(0.0625, abs=1e-5)
    assert evaluate(scored, judged, ["ERR@10"]).score("1", "ERR@10").value == 0.5


def test_query_without_relevant_document_has_no_value_where_ir_measures_says_zero() -> None:
    judged, scored = {"q": {"a": 0}}, {"q": {"a": 1.0}}
    assert theirs(["nDCG@10"], judged, scored)["q", "nDCG@10"] == 0
    assert evaluate(scored, judged, ["nDCG@10"]).score("q", "nDCG@10").value is None
