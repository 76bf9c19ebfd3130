"""A report compares what both runs were asked, and is as red as the exit code."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kit.commands import Assay

RUN = "".join(f"q{n} Q0 d{n} 1 9 engine\n" for n in range(12))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("saved.run").write_text(RUN)
    return tmp_path


def golden(assay_cli: Assay, name: str, **of_first: Any) -> str:
    """A golden set on which the run above is scored; the first question may ask for more."""
    questions = [
        {"id": f"q{n}", "query": f"question {n}", "expected_any": [{"doc_id": f"d{n}"}], "k": 5}
        for n in range(12)
    ]
    questions[0] |= of_first
    Path(f"{name}.json").write_text(json.dumps(questions))
    scored(assay_cli, f"{name}.json", f"{name}.results.json")
    return f"{name}.results.json"


def scored(assay_cli: Assay, gold: str, results: str) -> None:
    assay_cli("score", "--dataset", gold, "--run", "saved.run", "-o", results)


def report(assay_cli: Assay, results: str, ending: str, *options: str) -> str:
    target = Path(f"report.{ending}")
    assert assay_cli("report", results, *options, "-o", str(target)).code == 0
    return target.read_text()


@pytest.mark.parametrize(
    "asked",
    [
        {"expected_any": [{"doc_id": "elsewhere"}]},
        {"expected_none": [{"doc_id": "d0"}]},
        {"expected_any": [], "must_abstain": True},
    ],
)
def test_a_question_that_asks_for_something_else_did_not_break(
    assay_cli: Assay, asked: dict[str, Any]
) -> None:
    before, after = golden(assay_cli, "then"), golden(assay_cli, "now", **asked)
    page = report(assay_cli, after, "md", "--against", before)
    assert "### Broke (MUST first): 0" in page
    assert "11 queries with the same judgments" in page  # the answer, with its interval and test
    assert "p 1.000" in page
    cases = ElementTree.fromstring(report(assay_cli, after, "xml", "--against", before))
    assert not cases.findall("testcase/failure")
    rows = {
        row["query_id"]: row
        for row in csv.DictReader(report(assay_cli, after, "csv", "--against", before).splitlines())
    }
    assert rows["q0"]["pass_before"] == ""
    assert rows["q1"]["pass_before"] == "1.0"


def test_a_query_whose_labels_changed_did_not_lose_what_it_found(assay_cli: Assay) -> None:
    head, rows = "query_id,query,doc_id,grade\n", [f"q{n},text {n},d{n},2\n" for n in range(12)]
    Path("then.csv").write_text(head + "".join(rows))
    Path("now.csv").write_text(head + "q0,text 0,elsewhere,2\nq0,text 0,d0,0\n" + "".join(rows[1:]))
    for name in ("then", "now"):
        scored(assay_cli, f"{name}.csv", f"{name}.results.json")
    options = ("--against", "then.results.json", "--force")
    cases = ElementTree.fromstring(report(assay_cli, "now.results.json", "xml", *options))
    assert not cases.findall("testcase/failure")
    table = csv.DictReader(report(assay_cli, "now.results.json", "csv", *options).splitlines())
    assert next(row for row in table if row["query_id"] == "q0")["ndcg@10_before"] == ""


def test_where_no_common_query_is_judged_alike_it_cannot_be_told(assay_cli: Assay) -> None:
    Path("then.csv").write_text("query_id,query,doc_id,grade\nq0,a,d0,2\nq1,b,d1,2\n")
    Path("now.csv").write_text("query_id,query,doc_id,grade\nq0,a,d0,1\nq0,a,x,2\nq2,c,d2,2\n")
    for name in ("then", "now"):
        scored(assay_cli, f"{name}.csv", f"{name}.results.json")
    told = assay_cli("compare", "then.results.json", "now.results.json", "--force")
    assert "no query has the same judgments" in " ".join(told.out.split())


def test_junit_is_as_red_as_the_exit_code(assay_cli: Assay) -> None:
    golden(assay_cli, "set", expected_any=[{"doc_id": "elsewhere"}], must=True)
    for minimum, code, tag in ((0.9, 0, "skipped"), (0.95, 1, "failure")):
        Path("assay.toml").write_text(
            '[gold.set]\npath = "set.json"\n[engines.saved]\nrun = "saved.run"\n'
            f'[[gates]]\nmeasure = "pass_rate_total"\nminimum = {minimum}\n'
        )
        assert assay_cli("run").code == code
        found = Path(os.environ.get("ASSAY_HOME", ".assay")) / "results/set--saved.json"
        cases = ElementTree.fromstring(report(assay_cli, str(found), "xml"))
        case = cases.find("testcase[@name='q0']")
        assert case is not None
        assert case.find(tag) is not None
        assert bool(cases.findall("testcase/failure")) == bool(code)


def test_a_rate_is_in_per_cent_and_a_measure_a_decimal_wherever_it_is_told(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """Two of eight questions fail now: in the terminal, on the page, in Markdown and in a
    comparison it is the same figure in the same form."""
    asked = [
        {"id": f"q{n}", "query": f"{n}?", "must": False, "expected_any": [{"section": str(n)}]}
        for n in range(8)
    ]
    (tmp_path / "gold.json").write_text(json.dumps(asked))
    for name, lost in (("then", 0), ("now", 2)):
        rows = [
            {"id": f"q{n}", "hits": [{"section_num": at, "node_id": at, "score": 0.9}]}
            for n in range(8)
            for at in (str(99 if n < lost else n),)
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps({"metrics": {}, "results": rows}))
        against = ("--baseline", "then.results.json") if name == "now" else ()
        given = ("--run", f"{name}.json", "-o", f"{name}.results.json", *against)
        shown = assay_cli("score", "gold.json", *given).out
    told = " ".join(shown.split())
    assert "Recall@k 75.0%" in told
    assert "MRR@k 0.750" in told
    assert "passed: -25.0 points (" in told
    compared = " ".join(assay_cli("compare", "then.results.json", "now.results.json").out.split())
    assert "100.0% 75.0% -25.0" in compared
    for ending in ("md", "html"):
        assay_cli("report", "now.results.json", "-o", f"r.{ending}")
        report = (tmp_path / f"r.{ending}").read_text()
        assert "75.0%" in report.partition("Recall@k")[2].partition("near miss")[0], ending
