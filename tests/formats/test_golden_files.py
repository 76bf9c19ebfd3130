from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.results_file import entry_to_json, to_json
from assay.evaluation.golden.figures import build_results
from assay.evaluation.golden.scoring import check_questions
from assay.evaluation.golden.set_checks import check_expectations
from assay.formats import read_gold, read_run, write_gold
from assay.formats.results_json import read_answers

QUESTION: dict[str, Any] = {
    "id": "q1",
    "category": "c",
    "must": True,
    "query": "Mitä?",
    "expected_any": [{"section": "110a", "moment": 1}],
    "k": 3,
    "min_score": 0.5,
}


def _write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def test_results_of_the_suites_runner_are_rescored(tmp_path: Path) -> None:
    gold = read_gold(_write(tmp_path / "gold.json", [QUESTION]))
    hits = [
        {"section_num": "110", "moment": "3", "score": 0.9},
        {
            "section_num": "110 A",
            "moment": "1",
            "score": 0.5,
            "section_title": "Poikkeus",
            "text": "Teksti",
        },
    ]
    saved = {
        "metrics": {"total": 1},
        "results": [QUESTION | {"passed": True, "latency_ms": 7.5, "hits": hits}],
    }
    path = _write(tmp_path / "theirs.json", saved)
    engine, answers = read_answers(path)
    found = build_results(check_questions(gold, answers))
    row = entry_to_json(found.per_query[0])
    assert (engine, row["passed"], row["first_rank"], row["rr"], row["latency_ms"]) == (
        "theirs",
        True,
        2,
        0.5,
        7.5,
    )
    assert row["hits"][1]["section_title"] == "Poikkeus"
    assert read_run(path).doc_ids("q1") == ["110:3", "110 A:1"], (
        "hits without an id are named by their place"
    )


def test_our_own_results_can_be_rescored(tmp_path: Path) -> None:
    gold = read_gold(_write(tmp_path / "gold.json", [QUESTION]))
    saved = {
        "results": [
            {
                "id": "q1",
                "hits": [{"section_num": 110, "section_suffix": "a", "moment": 1, "score": "0.7"}],
            }
        ]
    }
    _, answers = read_answers(_write(tmp_path / "theirs.json", saved))
    first = build_results(check_questions(gold, answers))
    _, again = read_answers(_write(tmp_path / "ours.json", {"engine": "e"} | to_json(first)))
    second = build_results(check_questions(gold, again))
    assert first.per_query[0].passed
    assert second.overall == first.overall


def test_a_golden_file_comes_back_as_it_was(tmp_path: Path) -> None:
    full = QUESTION | {
        "expected_none": [{"law": "X", "page": 3}],
        "evidence": ["a", "b"],
        "must_abstain": False,
        "as_of": "2020-01-31",
        "confusion": ["Osakeyhtiölaki"],
        "test_type": "t",
        "notes": "n",
        "language": "fi",
        "owner": {"name": "Liisa"},
    }
    gold = read_gold(_write(tmp_path / "a.json", [full]))
    assert gold.queries[0].extra == {"owner": {"name": "Liisa"}}
    write_gold(gold, tmp_path / "b.json", "golden")
    assert json.loads((tmp_path / "b.json").read_text(encoding="utf-8")) == [full]


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        ({"expected_any": [{}]}, "$[0].expected_any[0]", "the place is empty"),
        ({"expected_any": [{"sectoin": "1"}]}, "$[0].expected_any[0]", "the place is empty"),
        (
            {"expected_any": [{"section": ["1"]}]},
            "$[0].expected_any[0].section",
            "a string or a number",
        ),
        ({"expected_any": "110"}, "$[0].expected_any", "an array"),
        ({"as_of": "31.1.2020"}, "$[0].as_of", "not a date"),
        ({"k": 0}, "$[0].k (q1)", "expected 1 to 10,000"),
        ({"k": 10**30}, "$[0].k (q1)", "expected 1 to 10,000"),
        ({"id": " "}, "$[0].id", "the id is empty"),
        ({"evidence": [[]]}, "$[0].evidence[0] (q1)", "an array"),
        ({"min_score": "high"}, "$[0].min_score", "a number"),
        ({"min_score": 60}, "$[0].min_score", "min_score is 60, expected 0 to 1"),
        ({"min_score": -0.1}, "$[0].min_score", "min_score is -0.1, expected 0 to 1"),
        ({"expected_any": None}, "$[0]", "this question has no expectation"),
        ({"query": " "}, "$[0].query", "empty"),
        ({"must": "yes"}, "$[0].must", "true or false"),
    ],
)
def test_bad_questions_name_file_and_path(
    tmp_path: Path, change: dict[str, Any], where: str, what: str
) -> None:
    path = _write(tmp_path / "bad.json", [QUESTION | change])
    with pytest.raises(InputError) as caught:
        read_gold(path)
    assert f"{path}: {where}" in str(caught.value)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    "hit", [{"score": 1}, 7, {"section_num": "1", "score": "nan"}, {"doc_id": "a", "score": []}]
)
def test_bad_hits_name_file_and_path(tmp_path: Path, hit: Any) -> None:
    path = _write(tmp_path / "bad.json", {"results": [{"id": "q1", "hits": [hit]}]})
    with pytest.raises(InputError, match=r"results\[0\]\.hits\[0\]"):
        read_answers(path)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_question_has_one_address_whoever_finds_its_fault(tmp_path: Path, wrapped: bool) -> None:
    fine = QUESTION | {"id": "fine"}
    for bad in ({"query": " "}, {"expected_any": [{"section": "110", "evidence": [[]]}]}):
        rows = [fine, QUESTION | {"id": "bad"} | bad]
        path = _write(tmp_path / "g.json", {"questions": rows} if wrapped else rows)
        with pytest.raises(InputError) as caught:
            check_expectations(read_gold(path), file=str(path))
        at = "$.questions[1]." if wrapped else "$[1]."
        assert f"{path}: {at}" in str(caught.value)


def test_golden_files_as_they_are_found(tmp_path: Path) -> None:
    """The list under `questions`, and places as strings."""
    question = {
        "id": "q1",
        "query": "?",
        "expected_any": ["110a"],
        "expected_none": ["12 §"],
        "x": 1,
    }
    path = _write(tmp_path / "g.json", {"questions": [question, {**question, "id": "q2"}]})
    gold = read_gold(path)
    assert gold.queries[0].checks["expected_none"] == [{"section": "12 §"}]
    flagged = [finding for finding in check_expectations(gold) if finding.code == "unknown-key"]
    assert [(finding.where, "(2×)" in finding.message) for finding in flagged] == [("q1", True)]
    with pytest.raises(InputError, match="empty"):
        read_gold(_write(tmp_path / "h.json", [{**question, "expected_any": [" "]}]))
