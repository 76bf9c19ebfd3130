"""What the rubric and the votes of a set say to whoever scores it: from which grade on a document
counts, that machines made the labels, that texts have changed since they were judged."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kit.commands import Assay
from kit.sets import write_packet, write_pool, write_set

NOTE = "provisional: labelled by machines, no person has judged"
RUBRIC = """
id = "four"
title = "How well a section answers"
relevant_from = {relevant}
highly_relevant_from = {high}
rationale = "optional"
""" + "".join(
    f'[[grades]]\nvalue = {value}\nlabel = "L{value}"\ndefinition = "D{value}"\n'
    for value in range(4)
)
SCORE = ("score", "--dataset", "set.json", "--run", "run.json", "--output", "r.json")
GATE = """
[gold.mine]
path = "set.json"
[engines.saved]
run = "run.json"
[[gates]]
measure = "nDCG@10"
minimum = 0.1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ranked = {"query_id": "q1", "results": ["a", "b", "c", "d"]}
    (tmp_path / "run.json").write_text(json.dumps({"per_query": [ranked]}))
    return tmp_path


def graded(folder: Path, *, relevant: int = 2, high: int = 3, **keys: object) -> None:
    (folder / "four.toml").write_text(RUBRIC.format(relevant=relevant, high=high))
    grades = {"a": 1, "b": 2, "c": 3, "d": 0}
    rows = [{"opinion_id": doc, "score": grade} for doc, grade in grades.items()]
    query = {"id": "q1", "text": "who may vote", "relevance_judgments": rows}
    dataset = {"rubric": "four", "top_score": 3, "queries": [query]} | keys
    (folder / "set.json").write_text(json.dumps(dataset))


# ── thresholds ────────────────────────────────────────────────────────────────────────────────────


def test_the_rubric_says_from_which_grade_on_a_document_counts(
    assay_cli: Assay, folder: Path
) -> None:
    graded(folder)
    done = assay_cli(*SCORE)
    assert done.code == 0, done.err
    overall = json.loads((folder / "r.json").read_text())["overall"]
    assert overall["P(rel=2)@5"] == pytest.approx(2 / 5)
    assert overall["RR(rel=3)"] == pytest.approx(1 / 3)
    assert "mrr" not in overall
    said = "Under the rubric four, grade 2 or more is relevant, and grade 3 or more is an answer."
    assert said in " ".join(done.out.split())
    for page in ("r.md", "r.html"):
        assert assay_cli("report", "r.json", "-o", page).code == 0
        assert said in (folder / page).read_text()
    assert assay_cli(*SCORE, "-m", "P@5").code == 0  # who names measures gets those
    assert list(json.loads((folder / "r.json").read_text())["overall"]) == ["precision@5"]


@pytest.mark.parametrize("keys", [{"rubric": ""}, {"rubric": "gone"}])
def test_without_a_rubric_the_thresholds_are_the_usual_ones(
    keys: dict[str, str], assay_cli: Assay, folder: Path
) -> None:
    graded(folder, **keys)
    done = assay_cli(*SCORE)
    overall = json.loads((folder / "r.json").read_text())["overall"]
    assert (overall["mrr"], overall["precision@5"]) == (0.5, 0.6)
    assert ("the rubric gone of the set was not found" in done.err) == (keys["rubric"] == "gone")
    assert "Under the rubric" not in done.out


def test_usual_thresholds_have_the_usual_names(assay_cli: Assay, folder: Path) -> None:
    graded(folder, relevant=1, high=2)
    done = assay_cli(*SCORE)
    overall = json.loads((folder / "r.json").read_text())["overall"]
    assert (overall["mrr"], overall["precision@5"]) == (0.5, 0.6)
    assert "Under the rubric" not in done.out


def test_a_run_is_not_taken_from_the_cache_when_the_rubric_changed(
    assay_cli: Assay, folder: Path
) -> None:
    graded(folder)
    (folder / "assay.toml").write_text(GATE)
    assert "P(rel=2)@5" in assay_cli("run").out
    graded(folder, relevant=3)
    assert "P(rel=3)@5" in assay_cli("run").out


def test_a_grade_that_the_rubric_lost_is_said(assay_cli: Assay, folder: Path) -> None:
    graded(folder)
    rubric = (folder / "four.toml").read_text().replace("value = 1\n", "value = 9\n")
    (folder / "four.toml").write_text(rubric)
    assert "grades that the rubric four does not have: 1;" in assay_cli(*SCORE).err


# ── labels by machines ────────────────────────────────────────────────────────────────────────────


def by_machine(assay_cli: Assay, folder: Path) -> None:
    write_set(folder, created_at="2026-01-01", version="1")
    pairs = {("q0", "a"): 2, ("q1", "a"): 2, ("q1", "b"): 0}
    write_packet(folder / "m.jsonl", "bot", pairs, kind="machine")
    assert assay_cli("gold", "merge", "set.json", "m.jsonl").code == 0
    assert assay_cli("gold", "policy", "set.json", "--counts", "human,machine").code == 0


def test_whoever_looks_at_the_set_is_told(assay_cli: Assay, folder: Path) -> None:
    by_machine(assay_cli, folder)
    assert NOTE in assay_cli("gold", "stats", "set.json").out
    assert assay_cli("gold", "stats", "set.json", "--json").json["note"] == NOTE
    checked = assay_cli("gold", "validate", "set.json", "--json")
    assert (checked.json["note"], NOTE in checked.err) == (NOTE, True)
    assert not any("machine" in finding["message"] for finding in checked.json["findings"])
    assert assay_cli(*SCORE).code == 0
    assert NOTE in assay_cli("explain", "r.json", "q1").err
    done = assay_cli("gold", "convert", "set.json", "out.csv")
    assert f"not kept by this format: that the set is {NOTE}" in " ".join(done.err.split())
    assert NOTE not in assay_cli("gold", "convert", "set.json", "again.json").err


def test_a_gate_that_passes_says_on_what(assay_cli: Assay, folder: Path) -> None:
    by_machine(assay_cli, folder)
    (folder / "assay.toml").write_text(GATE)
    done = assay_cli("run")
    assert (done.code, f"The gold set is {NOTE}." in done.out) == (0, True), done.out
    results = next((folder / ".assay" / "results").glob("*.json"))
    assert json.loads(results.read_text())["verdict"]["note"] == NOTE
    said = f"The verdict is based on a gold set that is {NOTE}."
    for page in ("v.md", "v.html", "v.xml"):
        assert assay_cli("report", results, "-o", page).code == 0
        assert said in (folder / page).read_text(), page
    case = ElementTree.parse(folder / "v.xml").getroot().find("testcase[@classname='gates']")
    assert case is not None
    assert case.findtext("system-out") == said


# ── texts that have changed ───────────────────────────────────────────────────────────────────────


def test_votes_on_texts_that_have_changed_are_told_where_figures_are_made(
    assay_cli: Assay, folder: Path
) -> None:
    corpus = folder / "c.jsonl"
    for text in ("a letter", "another letter"):
        corpus.write_text(json.dumps({"id": "a", "text": text}) + "\n")
        assert assay_cli("corpus", "import", "jsonl", corpus, "--name", "letters").code == 0
        if text == "a letter":
            write_set(folder)
            write_pool(folder, [("q1", "a")], corpus="letters")
            assert (
                assay_cli("gold", "packet", "set.json", "--judge", "ada", "-o", "p.jsonl").code == 0
            )
            head, row = (json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines())
            row |= {"grade": 2, "rationale": "It decides the point."}
            (folder / "p.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(row)}\n")
            assert assay_cli("gold", "merge", "set.json", "p.jsonl").code == 0
            assert "changed since" not in assay_cli(*SCORE).err
    commands = (SCORE, ("gold", "agreement", "set.json"), ("gold", "stats", "set.json"))
    for command in commands:
        assert (
            "1 vote on documents that have changed since they were read" in assay_cli(*command).err
        )
    checked = assay_cli("gold", "validate", "set.json")  # with the corpus of the pool
    assert "stale-votes" in checked.out
    assert "references not checked" not in checked.err
