"""The bundled samples are what their README says, in numbers and in references."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from assay import read_gold
from assay.core.types import GoldSet
from assay.formats.dataset_json import QUERY_TYPES
from assay.reports.terminal import next_steps

SAMPLES = Path(__file__).parents[1] / "samples"
HEBREW = re.compile("[\u0590-\u05ff]")


@cache
def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / path).read_text(encoding="utf-8").splitlines()]


@cache
def opinions() -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted((SAMPLES / "en" / "opinions").glob("*/*.json")):
        opinion = json.loads(path.read_text(encoding="utf-8"))
        assert path.parent.name == str(opinion["year"])
        found[opinion["id"]] = opinion
    return found


@cache
def english() -> GoldSet:
    return read_gold(SAMPLES / "en" / "dataset.json")


# ── English ───────────────────────────────────────────────────────────────────────────────────────


def test_there_are_at_least_60_opinions_with_unique_ids() -> None:
    files = list((SAMPLES / "en" / "opinions").glob("*/*.json"))
    assert len(files) == len(opinions()) >= 60


def test_queries_cover_three_types_and_five_topics() -> None:
    queries = english().queries
    assert len(queries) >= 18
    assert {query.type for query in queries} == set(QUERY_TYPES)
    assert len({query.topic for query in queries}) == len(english().taxonomy) == 5


def test_every_judged_and_example_opinion_exists() -> None:
    judged = {judgment.doc_id for judgment in english().iter_judgments()}
    examples = {
        doc_id
        for topic in english().taxonomy.values()
        for issue in topic.issues
        for doc_id in issue.example_opinion_ids
    }
    assert judged | examples <= set(opinions())


def test_every_query_is_graded_in_earnest() -> None:
    """Ten or more judged, at least two with grade 2, some with grade 0, a rationale on each."""
    grades: dict[str, Counter[int]] = {query.id: Counter() for query in english().queries}
    for judgment in english().iter_judgments():
        grades[judgment.query_id][judgment.grade] += 1
        assert judgment.rationale.strip()
    for query_id, counts in grades.items():
        assert counts.total() >= 10, query_id
        assert counts[2] >= 2, query_id
        assert counts[0] >= 1, query_id


FIELDS = {
    "sections": [
        "question",
        "question_synthetic",
        "conclusion",
        "conclusion_synthetic",
        "facts",
        "analysis",
    ],
    "content": ["full_text"],
    "embedding": ["qa_text", "summary"],
    "citations": ["government_code", "prior_opinions"],
    "classification": ["topic_primary"],
    "parsed": ["date"],
    "extraction": ["quality_score"],
}


@pytest.mark.parametrize(
    ("group", "field"), [(group, field) for group in FIELDS for field in FIELDS[group]]
)
def test_every_field_of_the_spec_s_table_is_there_and_somewhere_filled(
    group: str, field: str
) -> None:
    values = [opinion[group][field] for opinion in opinions().values()]
    assert any(values)


def test_coverage_is_like_the_real_corpus() -> None:
    """Every opinion has text and a quality score; about two thirds have standard sections; some
    scans are poor."""
    total = len(opinions())
    every = opinions().values()
    assert all(opinion["content"]["full_text"].strip() for opinion in every)
    standard = sum(bool(opinion["sections"]["question"]) for opinion in every)
    synthetic = sum(bool(opinion["sections"]["question_synthetic"]) for opinion in every)
    assert 0.55 <= standard / total <= 0.8
    assert synthetic >= 5
    scores = [opinion["extraction"]["quality_score"] for opinion in every]
    assert all(0 <= score <= 1 for score in scores)
    assert sum(score < 0.7 for score in scores) >= 3


def test_prior_opinions_that_look_like_ours_exist() -> None:
    cited = {
        doc_id
        for opinion in opinions().values()
        for doc_id in opinion["citations"]["prior_opinions"]
    }
    assert len(cited & set(opinions())) >= 5


def test_the_jsonl_corpus_is_the_opinions() -> None:
    rows = lines("en/corpus.jsonl")
    assert {row["id"] for row in rows} == set(opinions())
    assert len(rows) == len(opinions())


# ── Finnish ───────────────────────────────────────────────────────────────────────────────────────


def test_the_finnish_act_has_at_least_80_moments_with_unique_nodes() -> None:
    rows = lines("fi/saaristokuntalaki.jsonl")
    assert len(rows) >= 80
    assert len({row["node_id"] for row in rows}) == len(rows)
    assert all(row["text"].strip() and row["section_id"] and row["moment"] for row in rows)
    assert any(row["section_suffix"] for row in rows)  # 21 a


def test_every_expected_finnish_place_exists() -> None:
    known = {
        (row["section_id"].replace(" ", "").lower(), row["moment"])
        for row in lines("fi/saaristokuntalaki.jsonl")
    }
    sections = {section for section, _ in known}
    for query in read_gold(SAMPLES / "fi" / "questions_golden.json").queries:
        for place in query.checks.get("expected_any", []):
            section = str(place["section"]).replace(" ", "").lower()
            if "moment" in place:
                assert (section, str(place["moment"])) in known, (query.id, place)
            assert section in sections, (query.id, place)


# ── Hebrew ────────────────────────────────────────────────────────────────────────────────────────


def test_there_are_at_least_40_hebrew_precedents_with_unique_ids() -> None:
    rows = lines("he/precedents.jsonl")
    assert len(rows) >= 40
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(HEBREW.search(row["text"]) for row in rows)


def test_every_relevant_hebrew_precedent_exists() -> None:
    gold = read_gold(SAMPLES / "he" / "gold-set.jsonl")
    known = {row["id"] for row in lines("he/precedents.jsonl")}
    assert {judgment.doc_id for judgment in gold.iter_judgments()} <= known
    assert all(HEBREW.search(query.text) for query in gold.queries)
    assert len(gold.queries) >= 10


def test_an_installed_demo_names_no_file_inside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to try next are commands for the folder one is in."""
    monkeypatch.chdir(tmp_path)
    samples = tmp_path / "lib" / "site-packages" / "assay" / "samples" / "en"
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(next_steps(Path("demo-results.json"), samples, install=""))
    told = console.export_text()
    assert "site-packages" not in told
    assert "demo --samples samples" in told
    assert "compare demo-results-bm25.json demo-results.json" in told
    assert "gold stats samples/en/dataset.json" in told
