"""`assay calibrate`: what a score means, fitted to the user's own questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.commands import Assay

SUBJECTS = (
    "boundary fence well bridge harbour market ferry orchard meadow quarry chapel mill stable "
    "granary cellar tower garden vineyard pasture forest road canal lighthouse warehouse bakery "
    "brewery forge tannery school library hospital theatre"
).split()
DUTIES = ("repairs", "closing hours")


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


@pytest.fixture
def corpus(assay_cli: Assay, tmp_path: Path) -> str:
    lines = [
        {"id": f"{subject}-{number}", "title": f"{duty} of the {subject}", "language": "en",
         "text": f"The council decides on the {duty} of the {subject} once a year."}
        for subject in SUBJECTS
        for number, duty in enumerate(DUTIES)
    ]  # fmt: skip
    (tmp_path / "rules.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert assay_cli("corpus", "import", "jsonl", "rules.jsonl", "--name", "rules").code == 0
    assert assay_cli("index", "rules", "--no-dense").code == 0
    return "rules"


def question(number: int, subject: str) -> dict[str, object]:
    """Every fourth answer is one that cannot come first."""
    wrong = number % 4 == 0
    return {
        "id": f"q{number}",
        "category": "rules",
        "must": False,
        "query": f"who decides on the repairs of the {subject}",
        "expected_any": [{"doc_id": f"{subject}-1" if wrong else f"{subject}-0"}],
        "k": 5,
        "min_score": 0.0,
    }


def test_too_few_questions_are_refused_in_a_sentence(
    assay_cli: Assay, tmp_path: Path, corpus: str
) -> None:
    few = written(tmp_path / "few.json", [question(n, s) for n, s in enumerate(SUBJECTS[:12])])
    told = assay_cli("calibrate", corpus, "--dataset", few)
    assert told.code == 2
    assert "needs at least 30" in told.err
    assert not [*tmp_path.rglob("calibration.json")]


def test_scores_are_fitted_printed_and_kept(assay_cli: Assay, tmp_path: Path, corpus: str) -> None:
    query = "who decides on the repairs of the ferry"
    before = json.loads(assay_cli("search", corpus, query, "--json").out)
    assert before["calibrated"] is False
    assert 0 < before["hits"][0]["score"] < 1
    shown = assay_cli("search", corpus, query)
    assert f"assay calibrate {corpus} --dataset" in shown.out
    assert f"{before['hits'][0]['score']:.2f}" not in shown.out
    gold = written(tmp_path / "gold.json", [question(n, s) for n, s in enumerate(SUBJECTS)])
    told = json.loads(assay_cli("calibrate", corpus, "--dataset", gold, "--json").out)
    assert told["questions"] == sum(each["n"] for each in told["after"]["bins"]) == len(SUBJECTS)
    assert told["right"] == pytest.approx(0.75)
    assert told["after"]["ece"] < 0.2  # a quarter is wrong at random, so that no fit is exact
    after = json.loads(assay_cli("search", corpus, query, "--json").out)
    assert after["calibrated"] is True
    assert [hit["doc_id"] for hit in after["hits"]] == [hit["doc_id"] for hit in before["hits"]]
    gap = abs(before["hits"][0]["score"] - 0.75)
    assert abs(after["hits"][0]["score"] - 0.75) <= gap
    assert f"{after['hits'][0]['score']:.2f}" in assay_cli("search", corpus, query).out
    assert "mean score" in assay_cli("calibrate", corpus, "--dataset", gold).out


def test_a_golden_run_warns_where_scores_are_not_calibrated(
    assay_cli: Assay, tmp_path: Path, corpus: str
) -> None:
    gold = written(tmp_path / "gold.json", [question(n, s) for n, s in enumerate(SUBJECTS)])
    told = assay_cli("score", "--dataset", gold, "--engine", corpus)
    assert "scores are not calibrated for this corpus" in told.err
    assert "0 questions failed" not in told.err
    told = assay_cli("score", "--dataset", gold, "--engine", corpus, "--language", "fi")
    assert "pisteitä ei ole kalibroitu tälle aineistolle" in told.err
    assay_cli("calibrate", corpus, "--dataset", gold)
    told = assay_cli("score", "--dataset", gold, "--engine", corpus)
    assert "not calibrated" not in told.err
