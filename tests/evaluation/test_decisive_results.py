"""Graded results figure by figure: every measure against its formula in plain Python, and all that
stands in the results of a small set (benchmarks/mutants.py)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import log2
from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Hit, Query, QueryResult, Run, judgment_frame
from assay.evaluation import statistics
from assay.evaluation.graded import default_measures, evaluate, graded_results
from assay.evaluation.measures import (
    MEASURES,
    JudgedHits,
    Measure,
    is_external,
    parse_measure,
    parse_measures,
    rbp_residual,
    result_key,
    suite_of,
)

Grades = dict[str, int]


# ── formulas ──────────────────────────────────────────────────────────────────────────────────────


def gain(grade: int, exp2: bool) -> float:
    return 2 ** max(grade, 0) - 1 if exp2 else max(grade, 0)


def by_hand(measure: Measure, ranking: Sequence[str], grades: Grades, highest: int) -> float:
    """The formula of the measure's paper, hit by hit."""
    cut, rel = measure.cutoff or 10**6, measure.param("rel")
    top = [(rank, grades.get(doc)) for rank, doc in enumerate(ranking[:cut], start=1)]
    known = [(rank, grade) for rank, grade in top if grade is not None]
    right = [rank for rank, grade in known if rel is not None and grade >= rel]
    relevant = sum(grade >= rel for grade in grades.values()) if rel is not None else 0
    match measure.name:
        case "nDCG":
            exp2 = measure.param("gain") == "exp2"
            best = sorted(grades.values(), reverse=True)[:cut]
            ideal = sum(gain(grade, exp2) / log2(rank + 2) for rank, grade in enumerate(best))
            found = sum(gain(grade, exp2) / log2(rank + 1) for rank, grade in known)
            return found / ideal if ideal else 0.0
        case "P":
            return len(right) / cut
        case "R":
            return len(right) / relevant if relevant else 0.0
        case "Success":
            return float(bool(right))
        case "RR":
            return 1 / right[0] if right else 0.0
        case "AP":
            there = sum((place + 1) / rank for place, rank in enumerate(right))
            return there / relevant if relevant else 0.0
        case "Judged":
            return len(known) / len(top) if top else 0.0
        case "Bpref":
            others = sum(0 <= grade < rel for grade in grades.values())
            total = 0.0
            for rank in right:
                above = sum(1 for r, g in known if r < rank and 0 <= g < rel)
                total += 1 - min(above, relevant) / min(relevant, others) if above else 1
            return total / relevant if relevant else 0.0
        case "RBP":
            p = measure.param("p")
            gains = [
                (rank, float(grade >= rel) if rel is not None else max(grade, 0) / max(highest, 1))
                for rank, grade in known
            ]
            return float((1 - p) * sum(value * p ** (rank - 1) for rank, value in gains))
        case _:
            best, looking, total = measure.param("max") or highest, 1.0, 0.0
            for rank, grade in known:
                satisfied = gain(min(grade, best), True) / 2**best
                total += looking * satisfied / rank
                looking *= 1 - satisfied
            return total


EVERY = [
    "nDCG", "nDCG@1", "nDCG@3", "nDCG(gain=exp2)@3", "nDCG(gain=exp2)", "P@1", "P@3", "P(rel=2)@5",
    "R@1", "R@3", "R(rel=2)@5", "RR", "RR@2", "RR(rel=2)", "AP", "AP@3", "AP(rel=2)", "Success@1",
    "Success@3", "Success(rel=2)@2", "Judged", "Judged@3", "Bpref", "Bpref(rel=2)", "RBP", "RBP@3",
    "RBP(p=0.5)", "RBP(rel=2)", "RBP(p=0.5,rel=1)@2", "ERR", "ERR@2", "ERR(max=1)", "ERR(max=5)",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_every_measure_is_its_formula(seed: int) -> None:
    dice, least = random.Random(seed), -1 if seed % 2 else 0
    rankings = {f"q{n}": dice.sample("abcdefgh", dice.randint(0, 8)) for n in range(8)}
    grades = {
        name: {doc: dice.randint(least, 3) for doc in dice.sample("abcdefgh", dice.randint(1, 6))}
        for name in rankings
    }
    run = {
        name: {doc: -float(at) for at, doc in enumerate(ranking)}
        for name, ranking in rankings.items()
    }
    sheet = evaluate(run, grades, EVERY)
    highest = max(grade for each in grades.values() for grade in each.values())
    for name, ranking in rankings.items():
        for text in EVERY:
            found = sheet.score(name, text).value
            if found is not None:
                hand = by_hand(parse_measure(text), ranking, grades[name], highest)
                assert found == pytest.approx(hand, abs=1e-12), (name, text)
    assert sum(sheet.score(name, "P@1").value is not None for name in rankings) >= 3
    assert {parse_measure(text).name for text in EVERY} == set(MEASURES)


def test_what_rbp_could_still_gain() -> None:
    hits = JudgedHits(
        ranks=np.array([[1, 3], [2, 2**40]]), grades=np.array([[1, 0], [1, -(2**30)]]),
        ideal=np.array([[1, 0], [1, 0]]), returned=np.array([4, 2]), max_grade=1,
    )  # fmt: skip
    for text, expected in (
        ("RBP(p=0.5)", [0.5**2 + 0.5**4 * 2, 1 - 0.25]),
        ("RBP(p=0.5)@3", [0.25, 0.5 + 0.125]),
        ("RBP(p=0.5)@2", [0.25, 0.5]),
        ("RBP(p=0.5)@1", [0.0, 0.5]),
    ):
        assert rbp_residual(hits, parse_measure(text)) == pytest.approx(expected), text


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (" ndcg @ 10 ", "nDCG@10"), ("precision@5", "P@5"), ("Recall@20", "R@20"), ("mrr", "RR"),
        ("MAP", "AP"), ("hit@3", "Success@3"), ("P(rel=1)@5", "P@5"),
        ("P( rel = '2' )@5", "P(rel=2)@5"),
        ("nDCG(dcg='exp-log2')@5", "nDCG(gain=exp2)@5"), ("nDCG(dcg=log2)@5", "nDCG@5"),
        ("RBP(p=.5)", "RBP(p=0.5)"), ("RBP(rel=1,p=0.8)", "RBP(rel=1)"), ("RBP(rel=1,p=0.5)",
                                                                        "RBP(p=0.5,rel=1)"),
        ("ERR(max=99)", "ERR(max=99)"), ("P(rel=999999)@1", "P(rel=999999)@1"),
        ("P@1000000000", "P@1000000000"), ("P()@5", "P@5"), ("MRR(rel=2)", "RR(rel=2)"),
        ("SDCG(cutoff=5, max_rel=3)", "SDCG(max_rel=3)@5"), ("IPrec@0.1", "IPrec@0.1"),
    ],
)  # fmt: skip
def test_a_name_is_read_in_any_spelling(text: str, read: str) -> None:
    assert str(parse_measure(text)) == read
    assert parse_measure(read) == parse_measure(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("P@0", "measure 'P@0' needs a cutoff of at least 1"),
        ("nDCG@0", "measure 'nDCG@0' needs a cutoff of at least 1"),
        ("P", "measure 'P' needs a cutoff of at least 1"),
        ("R", "measure 'R' needs a cutoff of at least 1"),
        ("P@1000000001", "measure 'P@1000000001': the cutoff is larger than 1,000,000,000"),
        ("Bpref@5", "measure 'Bpref@5' takes no cutoff"),
        ("P(rel=0)@5", "measure 'P(rel=0)@5': rel=0 is not a whole number from 1"),
        ("P(rel=1000000)@5",
         "measure 'P(rel=1000000)@5': rel=1000000 is not a whole number from 1"),
        ("ERR(max=100)", "measure 'ERR(max=100)': max=100 is not a whole number from 1 to 99"),
        ("RBP(p=0.0)", "measure 'RBP(p=0.0)': p=0.0 is not a number between 0 and 1"),
        ("RBP(p=1.5)", "measure 'RBP(p=1.5)': p=1.5 is not a number between 0 and 1"),
        ("nDCG(x=exp2)@5", "measure 'nDCG(x=exp2)@5': unknown parameter 'x=exp2'"),
        ("SDCG@5", "measure 'SDCG@5' needs max_rel"), ("IPrec", "measure 'IPrec' needs recall"),
        ("IPrec(recall=2)",
         "measure 'IPrec(recall=2)': ir_measures says: invalid param recall=2"),
        ("nDCG(gain=x)", "measure 'nDCG(gain=x)': gain=x is not linear or exp2"),
        ("P(x=1)@5", "measure 'P(x=1)@5': unknown parameter 'x=1'"),
        ("P(rel)@5", "measure 'P(rel)@5': unknown parameter 'rel'"),
        ("P(rel=1,rel=2)@5", "measure 'P(rel=1,rel=2)@5': unknown parameter 'rel=2'"),
        ("P(dcg=log2)@5", "measure 'P(dcg=log2)@5': unknown parameter 'dcg=log2'"),
        ("P(rel=two)@5", "measure 'P(rel=two)@5': rel=two is not a whole number from 1"),
        ("nothing", "unknown measure 'nothing'"), ("", "unknown measure ''"),
        ("nDCG@-1", "unknown measure 'nDCG@-1'"), ("nDCG@ten", "unknown measure 'nDCG@ten'"),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_read_says_why(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        parse_measure(text)
    assert error.value.message.strip() == said


@pytest.mark.parametrize(
    ("text", "hint"),
    [("P(x=1)@5", "P takes: rel."), ("Bpref(x=1)", "Bpref takes: rel."),
     ("SDCG", "Write SDCG(cutoff=…, max_rel=…).")],
)  # fmt: skip
def test_a_hint_names_what_a_measure_takes(text: str, hint: str) -> None:
    with pytest.raises(InputError) as error:
        parse_measure(text)
    assert error.value.hint == hint


def test_the_cutoff_of_a_measure_of_ir_measures_is_its_own() -> None:
    found = [parse_measure(text) for text in ("alpha_nDCG@5", "alpha_nDCG", "IPrec@0.1")]
    assert [each.cutoff for each in found] == [5, None, None]


def test_suites_and_keys() -> None:
    assert suite_of(2, 3) == (
        "RR(rel=3)", "nDCG@10", "nDCG@5", "P(rel=2)@5", "P(rel=2)@10", "R(rel=2)@10",
        "R(rel=2)@20")  # fmt: skip
    assert suite_of(1, 1, graded=False) == (
        "RR", "nDCG@10", "nDCG@5", "P@5", "P@10", "R@5", "R@10")  # fmt: skip
    graded, binary = GOLD, set_of({"q": {"a": 1}})
    assert (default_measures(graded)[0], default_measures(binary)[0]) == ("RR(rel=2)", "RR")
    assert default_measures(binary, 1, 1)[0] == "RR"
    assert default_measures(binary, 1, 3) == suite_of(1, 3)
    assert default_measures(binary, 2, 2)[3] == "P(rel=2)@5"
    for text, key in (
        ("nDCG@10", "ndcg@10"), ("P@5", "precision@5"), ("R@20", "recall@20"), ("nDCG", "nDCG"),
        ("P(rel=2)@5", "P(rel=2)@5"), ("RR(rel=2)", "mrr"), ("RR", "RR"), ("AP@5", "AP@5"),
    ):  # fmt: skip
        assert result_key(parse_measure(text), parse_measures([text])) == key
    whole = parse_measures(suite_of(1, 1, graded=False))
    assert result_key(parse_measure("RR"), whole) == "mrr"
    assert result_key(parse_measure("RR"), whole[:-1]) == "RR"
    assert [str(each) for each in parse_measures(["P@5", "AP", "precision@5"])] == ["P@5", "AP"]
    assert (is_external(parse_measure("Rprec")), is_external(parse_measure("AP"))) == (True, False)


# ── results ───────────────────────────────────────────────────────────────────────────────────────


def set_of(grades: dict[str, Grades], **attributes: dict[str, str]) -> GoldSet:
    queries = tuple(
        Query(id=name, text=f"{name}?", **{kind: values[name] for kind, values in attributes.items()
                                           if name in values})
        for name in grades
    )  # fmt: skip
    rows = [(name, doc, grade) for name, each in grades.items() for doc, grade in each.items()]
    return GoldSet(
        name="g", queries=queries, judgments=judgment_frame(*map(list, zip(*rows, strict=True)))
    )


GRADES = {"a": {"x": 2, "y": 0}, "b": {"x": 1}, "c": {"y": 2}, "d": {"x": 2}, "e": {"z": 0}}
GOLD = set_of(
    GRADES,
    type={"a": "t", "b": "t", "c": "u"}, topic={"a": "p"}, category={"b": "k"}, corpus={"c": "o"},
    language={"a": "fi", "b": "sv"},
)  # fmt: skip


def answers(**environment: Any) -> Run:
    """Of the five queries one is missing, one failed."""
    long = tuple(Hit(doc_id=f"n{n}") for n in range(9))
    results = [
        QueryResult(query_id="b", hits=(*long, Hit(doc_id="w"), Hit(doc_id="x")), millis=30.0),
        QueryResult(query_id="a", hits=(Hit(doc_id="y"), Hit(doc_id="x"), Hit(doc_id="n")),
                    millis=10.0),
        QueryResult(query_id="c", error="down"),
    ]  # fmt: skip
    return run_from_results("mine", results, **environment)


def test_all_that_stands_in_the_results() -> None:
    found = graded_results(answers(), GOLD, ["P@2", "RR(rel=2)", "R@20"])
    assert (found.engine, found.timestamp) == ("mine", "")
    by_id = {entry.query_id: entry for entry in found.per_query}
    assert list(by_id) == ["a", "b", "c", "d", "e"]
    told = {
        name: (entry.num_results, entry.results, entry.grades, entry.known_grades, entry.latency_ms)
        for name, entry in by_id.items()
    }
    assert told["a"] == (3, ["y", "x", "n"], [0, 2, None], [2, 0], 10.0)
    assert told["b"][0] == 11
    assert told["b"][2] == [None] * 10 + [1]
    assert (told["b"][3], told["b"][4]) == ([1], 30.0)
    assert told["c"][:4] == (0, [], [], [2])
    assert told["d"] == (0, [], [], [2], None)
    assert (by_id["c"].error, by_id["d"].error) == ("down", None)
    assert by_id["a"].metrics == {"precision@2": 0.5, "mrr": 0.5, "recall@20": 1.0}
    assert by_id["b"].metrics == {"precision@2": 0.0, "mrr": 0.0, "recall@20": 1.0}
    assert by_id["d"].metrics == {"precision@2": 0.0, "mrr": 0.0, "recall@20": 0.0}
    assert set(by_id["c"].metrics.values()) == {None}
    assert (by_id["a"].query_text, by_id["a"].query_type, by_id["a"].query_topic) == (
        "a?",
        "t",
        "p",
    )
    assert (by_id["b"].query_category, by_id["c"].query_corpus) == ("k", "o")
    assert (by_id["b"].query_language, by_id["a"].query_practice_area) == ("sv", None)
    assert by_id["a"].judged_on_request == []
    scored = [by_id[name].metrics for name in "abde" if None not in by_id[name].metrics.values()]
    n = len(scored)
    for key in ("precision@2", "mrr", "recall@20"):
        assert found.overall[key] == pytest.approx(sum(row[key] or 0 for row in scored) / n)
    assert found.slices["type"]["t"] == {"precision@2": 0.25, "mrr": 0.25, "recall@20": 1.0}
    assert found.slices["language"]["fi"]["mrr"] == 0.5
    assert found.slices["corpus"]["o"] == {"precision@2": None, "mrr": None, "recall@20": None}
    assert {kind: sorted(names) for kind, names in found.slices.items()} == {
        "type": ["t", "u"], "topic": ["p"], "category": ["k"], "corpus": ["o"],
        "language": ["fi", "sv"]}  # fmt: skip
    counts = found.receipt.n
    assert counts.overall == n
    assert (counts.slices["type"], counts.slices["topic"]) == ({"t": 2, "u": 0}, {"p": 1})
    values = np.array([[row["precision@2"], row["mrr"], row["recall@20"]] for row in scored], float)
    for at, key in enumerate(("precision@2", "mrr", "recall@20")):
        interval = statistics.mean_intervals(values)[at]
        assert found.intervals.overall[key] == pytest.approx((interval.low, interval.high))
    pair = statistics.mean_intervals(values[:2])[1]
    assert found.intervals.slices["type"]["t"]["mrr"] == pytest.approx((pair.low, pair.high))
    assert found.intervals.slices["topic"]["p"]["mrr"] == (None, None)
    receipt = found.receipt
    assert [(line.key, line.measure) for line in receipt.measures] == [
        ("precision@2", "P@2"), ("mrr", "RR(rel=2)"), ("recall@20", "R@20")]  # fmt: skip
    assert (receipt.counts["n_failed"], receipt.counts["n_missing"]) == (1, 1)
    assert receipt.latency_ms is not None
    assert (receipt.latency_ms.mean, receipt.latency_ms.max) == (20.0, 30.0)
    assert (receipt.top_k, receipt.kept_hits, receipt.corpus_fingerprint) == (None, None, None)


def test_what_was_measured_elsewhere_is_told() -> None:
    before = answers(top_k=20, kept_hits=7, corpus_fingerprint="f")
    for keep, kept in ((None, 7), (11, 7), (10, 10), (2, 2)):
        found = graded_results(before, GOLD, ["P@2"], keep=keep)
        assert found.receipt.kept_hits == kept, keep
        assert (found.receipt.top_k, found.receipt.corpus_fingerprint) == (20, "f")
    cut = {entry.query_id: entry for entry in found.per_query}
    assert [(cut[n].num_results, cut[n].results, cut[n].grades) for n in "ab"] == [
        (3, ["y", "x"], [0, 2]), (11, ["n0", "n1"], [None, None])]  # fmt: skip


def test_how_much_of_the_top_ten_is_judged() -> None:
    sheet = evaluate(answers(), GOLD, ["P@2"])
    shares = dict(zip([query.id for query in sheet.queries], sheet.judged.tolist(), strict=True))
    assert shares["a"] == pytest.approx(2 / 3)
    assert shares["b"] == 0  # the one that is judged stands eleventh
    assert np.isnan(shares["d"])
    nearer = {"b": {**{f"n{n}": -float(n) for n in range(9)}, "x": -9.0, "w": -10.0}}
    assert evaluate(nearer, {"b": {"x": 1}}, ["P@2"]).judged.tolist() == [0.1]


def test_measures_of_ir_measures_stand_beside_ours() -> None:
    found = graded_results(answers(), GOLD, ["Rprec", "P@2", "NumRet"])
    own = graded_results(answers(), GOLD, ["P@2"])
    assert found.overall["precision@2"] == own.overall["precision@2"]
    by_id = {entry.query_id: entry.metrics for entry in found.per_query}
    assert (by_id["a"]["Rprec"], by_id["b"]["Rprec"], by_id["a"]["NumRet"]) == (0.0, 0.0, 3.0)
    scored = [row["NumRet"] for row in by_id.values() if row["NumRet"] is not None]
    assert found.overall["NumRet"] == sum(scored)  # a sum, which has no interval
    assert found.intervals.overall["NumRet"] == (None, None)
    assert found.intervals.overall["precision@2"] == pytest.approx(
        own.intervals.overall["precision@2"]
    )
    assert None not in found.intervals.overall["Rprec"]
    assert found.overall["Rprec"] == pytest.approx(
        sum(row["Rprec"] for row in by_id.values() if row["Rprec"] is not None) / len(scored)
    )
    alone = evaluate(answers(), GRADES, ["NumRet"])
    assert alone.score("a", "NumRet").value == 3.0


def test_what_was_asked_for_is_told_and_sets_from_logs_have_areas() -> None:
    judged = judgment_frame(
        ["a", "a"], ["x", "y"], [2, 0], source=["gold next, other", "adjudication"]
    )
    queries = (Query(id="a", text="a?", topic="p"),)
    gold = GoldSet(name="g", queries=queries, judgments=judged, from_logs=True)
    found = graded_results(answers(), gold, ["P@2"])
    (entry,) = found.per_query
    assert (entry.judged_on_request, entry.query_practice_area) == (["x"], "p")
    assert list(found.slices) == [gold.slice_name(kind) for kind in ("type", "topic")]
