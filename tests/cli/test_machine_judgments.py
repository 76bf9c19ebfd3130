"""`assay score --with-machine-judgments`: from the votes of a set to a block that stands apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.core.types import Vote
from kit.commands import Assay, Outcome
from kit.sets import add_votes

QUERIES, DEPTH = 40, 10
MEASURES = ("nDCG@10", "P@5", "RR(rel=2)")
Score = Callable[..., Outcome]


def vote(judge: str, kind: str, query: int, document: int, grade: int | None) -> Vote:
    return Vote(
        id=f"{judge}-{query}-{document}",
        query_id=f"q{query}",
        doc_id=f"d{document}",
        grade=grade,
        judge=judge,
        kind="human" if kind == "human" else "machine",
        at="2026-01-01T00:00:00Z",
    )


class Bench:
    """A set of 40 queries, a run of ten hits each, and votes as the test asks for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(4)
        ease = rng.beta(1, 2, (QUERIES, 1))
        self.people = rng.binomial(2, np.broadcast_to(ease, (QUERIES, DEPTH)))
        self.people[:, 9] = 2  # something relevant to everybody
        wrong = rng.random(self.people.shape) < 0.1
        self.machine = np.where(wrong, np.minimum(self.people + 1, 2), self.people)
        self.topics = rng.permutation(np.arange(QUERIES) % 2)
        self.dataset = folder / "set.json"
        self._write()

    def _write(self) -> None:
        queries = [
            {
                "id": f"q{number}",
                "text": f"question {number}",
                "type": "keyword",
                "topic": f"topic{self.topics[number]}",
                "relevance_judgments": [{"opinion_id": "d9", "score": 2, "rationale": "on point"}],
            }
            for number in range(QUERIES)
        ]
        taxonomy = {
            f"topic{number}": {"name": "T", "description": "", "issues": []} for number in (0, 1)
        }
        self.dataset.write_text(
            json.dumps({"version": "1", "taxonomy": taxonomy, "queries": queries})
        )
        rows = [
            f"q{number} Q0 d{place} {place + 1} {20 - place} engine"
            for number in range(QUERIES)
            for place in range(DEPTH)
        ]
        (self.folder / "hits.run").write_text("\n".join(rows) + "\n")

    def vote(self, judge: str, kind: str, queries: range, *, but: int | None = None) -> None:
        grades = self.people if kind == "human" else self.machine
        add_votes(
            self.dataset,
            [
                vote(judge, kind, query, document, int(grades[query, document]))
                for query in queries
                for document in range(DEPTH)
                if document != but
            ],
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def score(assay_cli: Assay, bench: Bench) -> Score:
    measures = [part for measure in MEASURES for part in ("-m", measure)]
    given = ("--dataset", bench.dataset, "--run", bench.folder / "hits.run", *measures)

    def call(*more: object) -> Outcome:
        return assay_cli("score", *given, "--with-machine-judgments", *more)

    return call


def test_the_estimate_stands_apart(bench: Bench, score: Score) -> None:
    bench.vote("model", "machine", range(QUERIES))
    bench.vote("ann", "human", range(15))
    outcome = score("--json")
    assert outcome.code == 0, outcome.err
    estimated = outcome.json["machine_estimate"]
    assert estimated["judges"] == ["model"]
    figure = estimated["figures"]["precision@5"]
    truth = float((bench.people[:, :5] > 0).mean())
    alone = float((bench.people[:15, :5] > 0).mean())
    assert (figure["judged"], figure["queries"]) == (15, QUERIES)
    assert figure["people"] == pytest.approx(alone)
    assert figure["machine"] == pytest.approx(float((bench.machine[:, :5] > 0).mean()))
    assert abs(figure["value"] - truth) < abs(figure["people"] - truth)
    low, high = figure["interval"]
    people_low, people_high = figure["people_interval"]
    assert high - low < people_high - people_low
    assert low <= truth <= high
    assert outcome.json["overall"]["precision@5"] == 0, "labels alone: only d9 is in the set"


def test_every_report_has_it_in_a_block_of_its_own(bench: Bench, score: Score) -> None:
    bench.vote("model", "machine", range(QUERIES))
    bench.vote("ann", "human", range(15))
    shown = score("--output", "results.json").out
    assert "With machine votes" in shown
    assert "15 of 40" in shown
    assert shown.index("nDCG@10") < shown.index("With machine votes")
    for language, title in (("fi", "Koneen äänten kanssa"), ("he", "עם קולות של מכונה")):
        assert title in score("--language", language).out


def test_saved_results_keep_it(bench: Bench, score: Score, assay_cli: Assay) -> None:
    bench.vote("model", "machine", range(QUERIES))
    bench.vote("ann", "human", range(15))
    assert score("--output", "results.json").code == 0
    for name in ("report.md", "report.html"):
        outcome = assay_cli("report", "results.json", "--output", name)
        assert outcome.code == 0, outcome.err
        text = (bench.folder / name).read_text(encoding="utf-8")
        assert "With machine votes" in text
        assert "15 of 40" in text


def test_what_is_missing_is_said(bench: Bench, score: Score) -> None:
    outcome = score()
    assert outcome.code == 2
    assert "there are no votes" in outcome.err
    bench.vote("ann", "human", range(15))
    outcome = score()
    assert outcome.code == 2
    assert "no machine votes" in outcome.err


def test_machines_alone_are_not_enough(bench: Bench, score: Score) -> None:
    bench.vote("model", "machine", range(QUERIES))
    outcome = score()
    assert outcome.code == 2
    assert "no human votes" in outcome.err
    bench.vote("ann", "human", range(9))
    outcome = score()
    assert outcome.code == 2
    assert "9 queries in full, and 10 are needed" in outcome.err


def test_a_query_counts_where_all_that_the_measure_looks_at_is_judged(
    bench: Bench, score: Score
) -> None:
    bench.vote("model", "machine", range(30))
    bench.vote("model", "machine", range(30, QUERIES), but=7)
    bench.vote("ann", "human", range(12))
    bench.vote("ann", "human", range(12, 20), but=8)
    figures = score("--json").json["machine_estimate"]["figures"]
    at_5, ndcg = figures["precision@5"], figures["ndcg@10"]
    assert (at_5["judged"], at_5["queries"], at_5.get("left_out", 0)) == (20, 40, 0)
    assert (ndcg["judged"], ndcg["queries"], ndcg["left_out"]) == (12, 30, 10)


def test_two_machines_that_differ_still_predict(bench: Bench, score: Score) -> None:
    bench.vote("model", "machine", range(QUERIES))
    bench.vote("ann", "human", range(15))
    others = [vote("other", "machine", 20, 0, 0), vote("other", "machine", 21, 0, None)]
    add_votes(bench.dataset, others)
    outcome = score("--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["machine_estimate"]["figures"]["ndcg@10"]["queries"] == QUERIES


def test_queries_with_nothing_relevant_are_told(bench: Bench, score: Score) -> None:
    bench.people[3] = 0
    bench.vote("model", "machine", range(QUERIES))
    bench.vote("ann", "human", range(15))
    outcome = score()
    assert "people found nothing relevant" in outcome.out
    assert "15 of 40" in outcome.out


def test_queries_with_nothing_relevant_are_left_out_of_both_sides(
    bench: Bench, score: Score
) -> None:
    """Half of the queries have nothing relevant, and the machine knows: their zeros must not pull
    the estimate down, nor make the judged queries look like no random part."""
    bench.people[::2] = 0
    bench.machine[:] = bench.people
    bench.vote("model", "machine", range(QUERIES))
    bench.vote("ann", "human", range(30))
    estimated = score("--json").json["machine_estimate"]
    figure = estimated["figures"]["precision@5"]
    truth = float((bench.people[1::2, :5] > 0).mean())
    assert (figure["judged"], figure["nothing_relevant"], figure["queries"]) == (30, 15, 40)
    assert figure["machine"] == pytest.approx(truth)
    assert abs(figure["value"] - truth) <= abs(figure["people"] - truth)
    assert not estimated.get("doubts")


def test_ten_queries_must_have_something_relevant(bench: Bench, score: Score) -> None:
    bench.people[::2] = 0
    bench.vote("model", "machine", range(QUERIES))
    bench.vote("ann", "human", range(18))
    outcome = score()
    assert outcome.code == 2
    assert "10 are needed that have something relevant: 9 have nothing" in outcome.err


def test_people_who_judged_one_topic_only_are_doubted(bench: Bench, score: Score) -> None:
    bench.vote("model", "machine", range(QUERIES))
    for number in np.flatnonzero(bench.topics == 0)[:15]:
        bench.vote("ann", "human", range(number, number + 1))
    outcome = score()
    assert outcome.code == 0, outcome.err
    assert "may not be a random sample" in outcome.out
    assert "topic0" in outcome.out
    doubts = score("--json").json["machine_estimate"]["doubts"]
    assert {doubt.get("name") for doubt in doubts} >= {"topic0", "topic1"}


def test_all_judged_by_people_is_people_alone(bench: Bench, score: Score) -> None:
    bench.vote("model", "machine", range(QUERIES))
    bench.vote("ann", "human", range(QUERIES))
    figure = score("--json").json["machine_estimate"]["figures"]["precision@5"]
    assert figure["value"] == figure["people"]
    assert figure["interval"] == figure["people_interval"]
    assert "tells too little" not in score().out, "there was nothing to tell"


def test_golden_sets_have_none(assay_cli: Assay) -> None:
    samples = Path(__file__).parents[2] / "samples" / "fi"
    dataset, corpus = samples / "questions_golden.json", samples / "saaristokuntalaki.jsonl"
    given = ("--dataset", dataset, "--engine", "bm25", "--corpus", corpus)
    outcome = assay_cli("score", *given, "--with-machine-judgments")
    assert outcome.code == 2
    assert "is for graded sets" in outcome.err
