"""An engine that searches other documents than a set is about measures nothing, and is not told as
if it had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.commands import Assay

DOCUMENTS = {
    "letters": {"a1": "The limit on gifts to officials.", "a2": "Who may accept travel."},
    "rulings": {"b1": "A gift is a transfer.", "b2": "The limit of an easement."},
}
MODULE = "def search(query, top_k):\n    return [{{'doc_id': id, 'score': 1.0}} for id in {ids}]\n"


@pytest.fixture
def project(assay_cli: Assay, tmp_path: Path) -> Path:
    """A set on letters, and both corpora imported."""
    for name, texts in DOCUMENTS.items():
        rows = [{"id": id, "title": id, "text": text} for id, text in texts.items()]
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        assert assay_cli("corpus", "import", "jsonl", str(file), "--name", name).code == 0
    gold = {"id": "g1", "query": "gift limit", "relevant_case_law_ids": ["a1"], "source": "chair"}
    (tmp_path / "set.jsonl").write_text(f"{json.dumps(gold)}\n")
    return tmp_path


def module(project: Path, *ids: str) -> str:
    (project / "own.py").write_text(MODULE.format(ids=list(ids)))
    return "own.py"


@pytest.mark.parametrize("engine", [["rulings"], ["bm25", "--corpus", "rulings"]])
def test_our_own_engine_on_another_corpus_is_refused_before(
    assay_cli: Assay, project: Path, engine: list[str]
) -> None:
    refused = assay_cli("score", "set.jsonl", "--engine", *engine)
    told = " ".join(refused.err.split())
    assert refused.code == 2
    assert "searches rulings, and no document that set names is there" in told
    assert "Choose an engine on letters." in told
    right = ["letters" if word == "rulings" else word for word in engine]
    assert assay_cli("score", "set.jsonl", "--engine", *right).code == 0


def test_a_run_of_all_says_it_and_goes_on(assay_cli: Assay, project: Path) -> None:
    tables = '[gold.s]\npath = "set.jsonl"\n[engines.here]\nengine = "letters"\n'
    (project / "assay.toml").write_text(f'{tables}[engines.there]\nengine = "rulings"\n')
    ran = assay_cli("run")
    assert (ran.code, "searches rulings" in " ".join(ran.out.split())) == (2, True)
    kept = [path.stem for path in (project / ".assay" / "results").glob("*.json")]
    assert kept == ["s--here"]


def test_an_engine_that_nobody_knows_is_asked_and_looked_at_after(
    assay_cli: Assay, project: Path
) -> None:
    strange = assay_cli("score", "set.jsonl", "--search-module", module(project, "b1", "b2"))
    told = " ".join(strange.err.split())
    assert strange.code == 2
    assert "own returned no document of set or of letters" in told
    assert "nothing was measured" in told


def test_unjudged_documents_of_the_right_corpus_are_a_measurement(
    assay_cli: Assay, project: Path
) -> None:
    scored = assay_cli("score", "set.jsonl", "--search-module", module(project, "a2"))
    assert (scored.code, "is known to" in scored.err) == (0, False)


def test_without_the_corpus_it_is_a_warning(
    assay_cli: Assay, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(project / "empty"))
    scored = assay_cli("score", "set.jsonl", "--search-module", module(project, "b1"))
    told = " ".join(scored.err.split())
    assert scored.code == 0
    assert "set has none of the documents that own returned" in told
    assert "a score of 0 means nothing" in told


LAWS = {"laki": ("Saaristokuntalaki", "12"), "muu": ("Tielaki", "90")}


@pytest.mark.parametrize("engine", [["muu"], ["bm25", "--corpus", "muu"]])
def test_a_golden_set_is_about_the_places_it_expects(
    assay_cli: Assay, tmp_path: Path, engine: list[str]
) -> None:
    expected = {"law": "Saaristokuntalaki", "section": "12", "moment": "2"}
    for name, (law, section) in LAWS.items():
        row = {"id": f"{name}-1", "title": law, "text": "Kunnan talous.", "language": "fi"}
        place = {"law_name": law, "section": section}
        (tmp_path / f"{name}.jsonl").write_text(f"{json.dumps(row | place)}\n")
        read = assay_cli("corpus", "import", "jsonl", f"{name}.jsonl", "--name", name)
        assert read.code == 0, read.err
    asked = [{"id": "k1", "query": "kunnan talous", "must": True, "expected_any": [expected]}]
    (tmp_path / "golden.json").write_text(json.dumps(asked))
    refused = assay_cli("score", "golden.json", "--engine", *engine)
    assert refused.code == 2
    told = " ".join(refused.err.split())
    assert "muu, and no place that golden expects is there" in told
    right = ["laki" if word == "muu" else word for word in engine]
    ran = assay_cli("score", "golden.json", "--engine", *right)
    assert "no place" not in ran.err, "a moment is left to the run"
    assert "k1" in ran.out + ran.err
