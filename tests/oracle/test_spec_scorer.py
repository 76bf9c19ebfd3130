"""An independent scorer, written from the suite's own definitions, against `assay score` end to
end."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay

TYPES = ["keyword", "natural_language", "fact_pattern"]
TOPICS = ["conflicts_of_interest", "campaign_finance", "gifts_honoraria", "lobbying", "other"]
OPINIONS = [f"A-{number:02d}-{number * 7 % 1000:03d}" for number in range(40)]


# ── the scorer, in plain Python ───────────────────────────────────────────────────────────────────


def dcg(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def spec_metrics(results: Sequence[str], judged: dict[str, int]) -> dict[str, float]:
    grades = [judged.get(opinion, 0) for opinion in results]
    best = sorted(judged.values(), reverse=True)
    relevant = sum(grade >= 1 for grade in best)
    first = next((rank for rank, grade in enumerate(grades, start=1) if grade == 2), None)
    metrics = {"mrr": 1 / first if first else 0.0}
    metrics |= {f"ndcg@{k}": dcg(grades[:k]) / dcg(best[:k]) for k in (5, 10)}
    metrics |= {f"precision@{k}": sum(grade >= 1 for grade in grades[:k]) / k for k in (5, 10)}
    metrics |= {f"recall@{k}": sum(grade >= 1 for grade in grades[:k]) / relevant for k in (10, 20)}
    return metrics


def average(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}


# ── random data ───────────────────────────────────────────────────────────────────────────────────


def random_query(rng: random.Random, number: int) -> dict[str, Any]:
    judged = rng.sample(OPINIONS, rng.randint(3, 20))
    grades = [rng.choice([1, 2]), *(rng.choice([0, 0, 1, 2]) for _ in judged[1:])]
    return {
        "id": f"q{number:03d}",
        "text": f"question {number}",
        "type": rng.choice(TYPES),
        "topic": rng.choice(TOPICS),
        "issue": "",
        "relevance_judgments": [
            {"opinion_id": opinion, "score": grade, "rationale": "r"}
            for opinion, grade in zip(judged, grades, strict=True)
        ],
    }


def random_case(seed: int) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """A dataset and the ranked ids by query: judged and unjudged, short and empty lists."""
    rng = random.Random(seed)
    taxonomy = {topic: {"name": topic, "description": topic, "issues": []} for topic in TOPICS}
    queries = [random_query(rng, number) for number in range(30)]
    pool = [*OPINIONS, *(f"unjudged-{number}" for number in range(20))]
    ranked = {query["id"]: rng.sample(pool, rng.choice([0, 2, 7, 20, 20, 30])) for query in queries}
    return {"version": "1.0", "taxonomy": taxonomy, "queries": queries}, ranked


def expected_of(
    dataset: dict[str, Any], ranked: dict[str, list[str]]
) -> dict[str, dict[str, float]]:
    judged = {
        query["id"]: {row["opinion_id"]: row["score"] for row in query["relevance_judgments"]}
        for query in dataset["queries"]
    }
    return {
        query_id: spec_metrics(results, judged[query_id]) for query_id, results in ranked.items()
    }


def same(ours: dict[str, float], theirs: dict[str, float]) -> None:
    assert ours.keys() == theirs.keys()
    assert ours == {key: pytest.approx(value, abs=1e-12) for key, value in theirs.items()}


@pytest.mark.parametrize("seed", range(6))
def test_score_equals_the_spec_overall_by_type_by_topic_and_by_query(
    seed: int, assay_cli: Assay, tmp_path: Path
) -> None:
    """Saved results in the suite's own JSON; the file written has the same figures as the
    independent scorer."""
    dataset, ranked = random_case(seed)
    (tmp_path / "dataset.json").write_text(json.dumps(dataset))
    saved = {
        "engine": "saved",
        "per_query": [{"query_id": key, "results": ids} for key, ids in ranked.items()],
    }
    (tmp_path / "saved.json").write_text(json.dumps(saved))
    assert (
        assay_cli(
            "score", "--dataset", "dataset.json", "--run", "saved.json", "--output", "out.json"
        ).code
        == 0
    )
    results = json.loads((tmp_path / "out.json").read_text())
    expected = expected_of(dataset, ranked)
    same(results["overall"], average(list(expected.values())))
    for entry in results["per_query"]:
        same(entry["metrics"], expected[entry["query_id"]])
        # the file keeps what is looked at: to the deepest cutoff
        assert entry["results"] == ranked[entry["query_id"]][:20]
        assert entry["num_results"] == len(ranked[entry["query_id"]])
    for kind in ("type", "topic"):
        groups = {query[kind] for query in dataset["queries"]}
        assert results[f"by_{kind}"].keys() == groups
        for group in groups:
            members = [
                expected[query["id"]] for query in dataset["queries"] if query[kind] == group
            ]
            same(results[f"by_{kind}"][group], average(members))


def test_a_live_engine_gets_the_same_figures_as_its_saved_results(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """The module path and the saved-results path agree, top 20 of each list."""
    dataset, ranked = random_case(99)
    answers = {query["text"]: ranked[query["id"]] for query in dataset["queries"]}
    (tmp_path / "dataset.json").write_text(json.dumps(dataset))
    (tmp_path / "live_engine.py").write_text(
        f"ANSWERS = {answers!r}\nclass Live:\n    def search(self, query, top_k=20):\n"
        "        return ANSWERS[query][:top_k]\n"
    )
    outcome = assay_cli(
        "score", "--dataset", "dataset.json", "--search-module", "live_engine", "--json"
    )
    for entry in outcome.json["per_query"]:
        same(
            entry["metrics"],
            expected_of(dataset, {key: ids[:20] for key, ids in ranked.items()})[entry["query_id"]],
        )
