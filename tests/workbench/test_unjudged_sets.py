"""A set that nobody has judged: it is run, and every page says that there is no figure yet. What is
missing is never 0, and never NaN."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from kit.commands import Assay

SCHEMA = Path(__file__).parents[2] / "docs" / "results.schema.json"
QUERIES = ("q1", "q2", "q3")
TOML = """
[gold.mine]
path = "set.json"
[engines.saved]
run = "a.trec"
"""
GATES = """
[[gates]]
measure = "nDCG@10"
minimum = 0.5
[[gates]]
measure = "P@5"
minimum = 0.5
min_judged = 0.9
significance = 0.05
"""


def scored(assay_cli: Assay, *judged: str) -> list[Path]:
    """Two runs on a set where only these queries are judged."""
    rows = [
        {
            "id": query,
            "text": f"gifts {query}",
            "topic": "gifts" if query < "q3" else "loans",
            "relevance_judgments": [{"opinion_id": "d1", "score": 2}] if query in judged else [],
        }
        for query in QUERIES
    ]
    Path("set.json").write_text(json.dumps({"queries": rows}))
    files = []
    for name, ids in (("a", ("d1", "d2", "d3")), ("b", ("d3", "d2", "d4"))):
        Path(f"{name}.trec").write_text(
            "".join(
                f"{query} Q0 {id} {rank} {10 - rank} {name}\n"
                for query in QUERIES
                for rank, id in enumerate(ids, start=1)
            )
        )
        done = assay_cli(
            "score", "--dataset", "set.json", "--run", f"{name}.trec", "-o", f"{name}.json"
        )
        assert done.code == 0, done.err
        files.append(Path(f"{name}.json"))
        said = "nothing is judged yet" if not judged else "2 of 3 queries have no judgments"
        assert said in done.err
        assert judged or f"assay gold pool set.json --run {name}.trec" in done.err
    return files


def test_scoring_answers_and_says_what_to_do(assay_cli: Assay) -> None:
    first, _ = scored(assay_cli)
    results = json.loads(first.read_text())
    schemas = pytest.importorskip("jsonschema")
    schemas.validate(results, json.loads(SCHEMA.read_text()))
    assert set(results["overall"].values()) == {None}
    assert {value for entry in results["per_query"] for value in entry["metrics"].values()} == {
        None
    }
    assert results["per_query"][0]["results"] == ["d1", "d2", "d3"]
    assert "NaN" not in first.read_text()


@pytest.mark.parametrize("ending", ["md", "html", "tex", "csv", "xml"])
@pytest.mark.parametrize("language", ["en", "fi", "he"])
def test_every_report_says_that_nothing_is_judged(
    ending: str, language: str, assay_cli: Assay
) -> None:
    first, _ = scored(assay_cli)
    page = Path(f"page.{ending}")
    done = assay_cli("report", first, "--output", page, "--language", language)
    assert done.code == 0, done.err
    text = page.read_text().replace('time="0.000000"', "")  # a saved run has no times
    said = {"en": "not judged yet", "fi": "on vielä arvioimatta", "he": "טרם נשפטה"}[language]
    assert said in text
    assert "0.000" not in text
    assert ".000" not in text.replace("1.000", "")
    assert ">nan" not in text.lower()


def test_a_query_without_judgments_is_no_test_that_passed(assay_cli: Assay) -> None:
    for judged, skipped in (((), 3), (("q1",), 2)):
        first, _ = scored(assay_cli, *judged)
        assert assay_cli("report", first, "-o", "page.xml").code == 0
        suite = ElementTree.parse("page.xml").getroot()
        no_gate = 1  # one test case says that nothing could fail
        assert (suite.get("skipped"), suite.get("failures")) == (str(skipped + no_gate), "0")
        assert assay_cli("report", first, "-o", "page.csv").code == 0
        rows = list(csv.DictReader(Path("page.csv").read_text().splitlines()))
        assert [row["ndcg@10"] for row in rows].count("") == skipped


def test_the_card_and_an_explanation_show_no_figure(assay_cli: Assay) -> None:
    first, second = scored(assay_cli)
    card = assay_cli("score", "--dataset", "set.json", "--run", "a.trec")
    assert "3 not judged yet" in card.out
    assert "0.00" not in card.out
    why = assay_cli("explain", first, "q1")
    assert why.code == 0
    assert "no judgments" in why.out
    assert "0.0000" not in why.out
    for command in (
        ("compare", first, second),
        ("report", first, "--against", second, "-o", "x.md"),
    ):
        done = assay_cli(*command)
        assert (done.code, "nothing is judged yet" in done.err) == (2, True), done.err
    for command in (("gold", "next", first, second), ("gold", "next", first, "--threshold", 0.5)):
        done = assay_cli(*command)
        assert (done.code, "gold pool" in done.err) == (2, True), done.err


def test_no_baseline_is_recorded_without_figures(assay_cli: Assay) -> None:
    scored(assay_cli)
    done = assay_cli(
        "score", "--dataset", "set.json", "--run", "a.trec", "--update-baseline", "--by", "me"
    )
    assert (done.code, "gold pool" in done.err) == (2, True)
    assert not Path("baseline.json").exists()


def test_gates_on_it_are_inconclusive(assay_cli: Assay) -> None:
    scored(assay_cli)
    Path("assay.toml").write_text(TOML)
    assert assay_cli("run").code == 0
    Path("assay.toml").write_text(TOML + GATES)
    done = assay_cli("run", "--json")
    assert done.code == 3, done.err
    (row,) = done.json
    assert [check["status"] for check in row["verdict"]["checks"]] == ["inconclusive"] * 2
    assert row["overall"]["ndcg@10"] is None


def test_what_is_judged_of_a_set_is_scored(assay_cli: Assay) -> None:
    first, second = scored(assay_cli, "q1")
    results = json.loads(first.read_text())
    assert (results["overall"]["ndcg@10"], results["receipt"]["n"]["overall"]) == (1.0, 1)
    assert results["by_topic"]["loans"]["ndcg@10"] is None
    assert assay_cli("compare", first, second).code == 0
    Path("assay.toml").write_text(TOML + GATES.replace("min_judged = 0.9", "min_queries = 2"))
    assert assay_cli("run").code == 3
