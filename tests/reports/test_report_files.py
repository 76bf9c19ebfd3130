"""Reports that say what a reader must know, and files that other programs can read whatever is in
them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from assay.core.results_file import from_json
from assay.reports import render, view
from assay.reports.latex import escaped
from assay.reports.numbers import Numbers
from assay.reports.words import Words
from kit.commands import Assay

SAMPLES = Path(__file__).parents[2] / "samples" / "en"
SCORE = (
    "score",
    "--dataset",
    str(SAMPLES / "dataset.json"),
    "--corpus",
    str(SAMPLES / "corpus.jsonl"),
)


def export(scored: dict[str, Any], suffix: str) -> str:
    return render(view(from_json(scored)), suffix)


def undecided(*pairs: tuple[str, str]) -> dict[str, Any]:
    """A verdict that judging these pairs would settle."""
    blank = {"query_text": "", "rank_a": 1, "rank_b": None, "effect": 0, "change": 0}
    asked = [
        {"query_id": query_id, "doc_id": doc_id, "narrowing": 0, **blank}
        for query_id, doc_id in pairs
    ]
    return {"status": "inconclusive", "checks": [], "fingerprints": {}, "judge_next": asked}


@pytest.fixture
def scored(assay_cli: Assay, tmp_path: Path) -> dict[str, Any]:
    assert assay_cli(*SCORE, "--engine", "bm25", "--output", "a.json").code == 0
    found: dict[str, Any] = json.loads((tmp_path / "a.json").read_text())
    return found


def test_junit_is_xml_whatever_an_engine_says(scored: dict[str, Any]) -> None:
    scored["per_query"][0]["error"] = "\x1b[31mred\x00 \ud800 & <b> äö"
    root = ElementTree.fromstring(export(scored, ".xml"))
    # type: ignore[union-attr]
    assert root.find("testcase/error").attrib["message"] == "�[31mred� � & <b> äö"


def test_tex_escapes_all_that_tex_reads() -> None:
    assert (
        escaped(r"a\b_c^d~e{%}")
        == r"a\textbackslash{}b\_c\textasciicircum{}d\textasciitilde{}e\{\%\}"
    )


def test_markdown_says_that_a_baseline_is_stale_and_what_would_settle_a_verdict(
    scored: dict[str, Any],
) -> None:
    scored["baseline"] = {"delta": {}, "stale": "scored on different gold sets"}
    scored["verdict"] = undecided(*[("q1", "d")] * 7)
    text = export(scored, ".md")
    assert "**The baseline is stale:** scored on different gold sets." in text
    pairs = "q1 d, q1 d, q1 d, q1 d, q1 d and 2 more."
    assert f"About 7 more judgments should settle it, these first: {pairs}" in text
    scored["verdict"]["judge_next"] = []
    assert "More queries would settle it; more judgments would not." in export(scored, ".md")


def test_slices_have_their_intervals_and_small_ones_say_so(
    scored: dict[str, Any], assay_cli: Assay
) -> None:
    text = export(scored, ".html")
    assert Numbers(Words()).brief(scored["intervals"]["by_topic"]["lobbying"]["ndcg@10"]) in text
    assert "* Fewer than 10 queries: too few to conclude from." in text
    shown = assay_cli(*SCORE, "--engine", "bm25").out
    assert "lobbying *" in shown
    assert "conflicts_of_interest *" not in shown  # 10 queries
    assert "* fewer than 10 queries" in shown


def test_a_comparison_has_other_tests_on_request(
    assay_cli: Assay, tmp_path: Path, scored: dict[str, Any]
) -> None:
    assert assay_cli(*SCORE, "--engine", "random", "--output", "b.json").code == 0
    compared = ("compare", "a.json", "b.json")
    assert "Wilcoxon" not in assay_cli(*compared).out
    beside = "Wilcoxon p <0.001, Benjamini–Hochberg p <0.001"
    assert beside in " ".join(assay_cli(*compared, "--tests").out.split())
    assert assay_cli("report", "b.json", "--against", "a.json", "-o", "r.html").code == 0
    assert "p (Holm)</th>" in (tmp_path / "r.html").read_text()
    assert assay_cli("report", "b.json", "--against", "a.json", "-o", "r.md").code == 0
    assert (
        "results that affect the score have no judgment. With all of them judged, the expected"
        in (tmp_path / "r.md").read_text()
    )
    assert assay_cli("report", "b.json", "--against", "a.json", "-o", "r.tex").code == 0
    assert r"nDCG@10 & 0.668 & " in (tmp_path / "r.tex").read_text()
    assert r"\textless{}0.001 \\" in (tmp_path / "r.tex").read_text()
    assert assay_cli("report", "b.json", "--against", "a.json", "-o", "r.csv").code == 0
    with (tmp_path / "r.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    before = json.loads((tmp_path / "a.json").read_text())["per_query"][0]["metrics"]
    assert float(row["ndcg@10_before"]) == before["ndcg@10"]
    assert assay_cli("report", "b.json", "--against", "a.json", "-o", "r.xml").code == 0
    root = ElementTree.fromstring((tmp_path / "r.xml").read_text())
    (case,) = root.findall("testcase[@classname='comparison']")
    assert case.find("failure") is not None  # a random order is worse
    assert root.findall("testcase[@classname='queries']/failure")  # what it no longer finds


def test_ids_and_names_are_shown_and_not_obeyed(scored: dict[str, Any]) -> None:
    scored["engine"] = "my|engine <b>*"
    scored["verdict"] = undecided(("q1", "[a](b)"))
    text = export(scored, ".md")
    assert "my\\|engine &lt;b>\\* on dataset" in text
    assert r"these first: q1 \[a\](b)." in text
    scored["per_query"][0]["query_text"] = "מהו היטל?"
    assert "<bdi>מהו היטל?</bdi>" in export(scored, ".html")  # its question mark stays at its end


def test_what_is_unjudged_is_said_for_other_measures_too(assay_cli: Assay) -> None:
    assert (
        "of the top 5 is judged. P@5 counts the rest"
        in assay_cli(*SCORE, "--engine", "bm25", "-m", "P@5").out
    )


def test_next_refuses_a_threshold_that_is_no_number(
    assay_cli: Assay, scored: dict[str, Any]
) -> None:
    found = assay_cli("gold", "next", "a.json", "--threshold", "nan")
    assert (found.code, "the threshold must be a number" in found.err) == (2, True)
    assert (
        "More judgments are not expected to change which way it goes"
        in assay_cli("gold", "next", "a.json", "--threshold", "0.1").out
    )


def test_pytest_names_a_mistake_in_the_file_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text('[gold.s]\npath = "no.json"\n[engines]\n')
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--assay", "assay.toml"]
    found = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    ).stdout
    assert "there is nothing under engines" in found
    assert "read_config" not in found
