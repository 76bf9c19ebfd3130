"""The evaluation harness on a set from logs: spec 004, unit A3. Expected values are computed by
hand, in fractions."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kit.commands import Assay, Outcome
from kit.files import write_json_lines

# query -> what the engine answers; r are relevant, x are not
RANKINGS = {
    "היטל השבחה": ["x1", "r1", "r2", "x2", "x3", "r3"],  # relevant: r1 r2 r3
    "פיצויים לפי סעיף 197": ["x1", "x2", "x3", "x4", "x5", "x6", "r4"],  # relevant: r4 r5
    "breach of contract": [],  # relevant: r6
}


def row(number: int, area: str, corpus: str, *relevant: str) -> dict[str, Any]:
    return {
        "id": f"g00{number}",
        "query": list(RANKINGS)[number - 1],
        "practice_area": area,
        "corpus": corpus,
        "relevant_case_law_ids": list(relevant),
        "source": "bootstrap",
        "note": "",
    }


ROWS = [
    row(1, "betterment_levy", "precedent_library", "r1", "r2", "r3"),
    row(2, "compensation", "internal_decisions", "r4", "r5"),
    row(3, "compensation", "internal_decisions", "r6"),
]
BY_HAND = {
    "precision@5": [2 / 5, 0, 0],
    "precision@10": [3 / 10, 1 / 10, 0],
    "recall@5": [2 / 3, 0, 0],
    "recall@10": [3 / 3, 1 / 2, 0],
    "mrr": [1 / 2, 1 / 7, 0],
    "ndcg@5": [(1 / log2(3) + 1 / log2(4)) / (1 + 1 / log2(3) + 1 / log2(4)), 0, 0],
    "ndcg@10": [
        (1 / log2(3) + 1 / log2(4) + 1 / log2(7)) / (1 + 1 / log2(3) + 1 / log2(4)),
        (1 / log2(8)) / (1 + 1 / log2(3)),
        0,
    ],
}


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "eval"
    folder.mkdir(parents=True)
    write_engine(tmp_path, RANKINGS)
    return write_json_lines(folder / "gold-set.jsonl", *ROWS)


def score(assay_cli: Assay, gold: Path, *options: object) -> Outcome:
    return assay_cli("score", "--dataset", gold, "--search-module", "production.py", *options)


def write_engine(folder: Path, rankings: dict[str, list[str]]) -> None:
    """The production path, as a team would hand it over."""
    (folder / "production.py").write_text(
        f"RANKINGS = {rankings!r}\n\n\nclass Production:\n    def search(self, query, top_k=20):\n"
        "        return RANKINGS[query][:top_k]\n",
        encoding="utf-8",
    )


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_the_report_has_every_measure_overall_by_corpus_and_by_practice_area(
    assay_cli: Assay, gold: Path
) -> None:
    done = score(assay_cli, gold, "--report", gold.parent)
    assert done.code == 0
    (found,) = gold.parent.glob("eval-report-????-??-??.json")
    results = json.loads(found.read_text(encoding="utf-8"))
    for key, values in BY_HAND.items():
        assert results["overall"][key] == pytest.approx(mean(values)), key
        assert results["by_corpus"]["precedent_library"][key] == pytest.approx(values[0])
        assert results["by_corpus"]["internal_decisions"][key] == pytest.approx(mean(values[1:]))
        assert results["by_practice_area"]["betterment_levy"][key] == pytest.approx(values[0])
        assert [entry["metrics"][key] for entry in results["per_query"]] == pytest.approx(values)
    text = found.with_suffix(".md").read_text(encoding="utf-8")
    for part in (
        "**Gold set provisional (bootstrap-only): 0 of 3 rows approved (0%).**",
        "## By corpus",
        "## By practice area",
        "| betterment_levy | 1 |",
        "No baseline was given.",
        "P@5",
        "R@5",
        "MRR",
        "nDCG@10",
    ):
        assert part in text


def test_a_report_is_a_results_file(assay_cli: Assay, gold: Path) -> None:
    score(assay_cli, gold, "--report", "reports")
    (found,) = Path("reports").glob("*.json")
    assert "1 / 2" in assay_cli("explain", found, "g001").out
    done = assay_cli("score", "--dataset", gold, "--run", found, "--report", "one.md")
    assert (done.code, Path("one.md").read_text().startswith("# Evaluation of")) == (0, True)


def test_a_comparison_says_how_far_the_set_is_approved(assay_cli: Assay, gold: Path) -> None:
    for name in ("a.json", "b.json"):
        score(assay_cli, gold, "--output", name)
    assert (
        "Gold set provisional (bootstrap-only): 0 of 3 rows approved (0%)."
        in assay_cli("compare", "a.json", "b.json").out
    )
    assert "provisional" in assay_cli("compare", "a.json", "b.json", "--json").json["gold_status"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--report", "r.md", "--language", "sv"), "no report in language 'sv'"),
        (("--k", "3"), "for golden sets"),
        (("--min-score", "0.5"), "for golden sets"),
    ],
)
def test_what_a_graded_set_does_not_have_is_refused(
    assay_cli: Assay, gold: Path, options: tuple[str, ...], message: str
) -> None:
    done = score(assay_cli, gold, *options)
    assert (done.code, message in done.err, Path("r.md").exists()) == (2, True, False)


def test_what_is_shown_and_reported_is_in_the_language_asked_for(
    assay_cli: Assay, gold: Path
) -> None:
    args = ("score", "--dataset", gold, "--search-module", "production.py", "--language", "fi")
    done = assay_cli(*args, "--report", "r.md", "--output", "results.json")
    assert done.code == 0
    assert "Kultajoukko alustava (vain bootstrap): 0/3 riviä hyväksytty (0 %)." in done.out
    text = Path("r.md").read_text(encoding="utf-8")
    assert text.startswith("# Arviointi ")
    assert "## Oikeudenaloittain" in text
    assert assay_cli("report", "results.json", "-o", "r.html", "--language", "fi").code == 0
    assert '<html lang="fi">' in Path("r.html").read_text(encoding="utf-8")


def test_every_report_says_how_far_the_set_is_approved(assay_cli: Assay, gold: Path) -> None:
    done = score(assay_cli, gold, "--output", "results.json")
    assert "provisional (bootstrap-only): 0 of 3 rows approved (0%)" in done.out
    for ending in ("html", "md", "csv", "tex", "xml"):
        assert assay_cli("report", "results.json", "-o", f"report.{ending}").code == 0
        text = Path(f"report.{ending}").read_text(encoding="utf-8")
        assert "provisional (bootstrap-only): 0 of 3 rows approved (0" in text
    assert ElementTree.fromstring(text).tag == "testsuite"


def test_the_baseline_and_the_change_against_it(
    assay_cli: Assay, gold: Path, tmp_path: Path
) -> None:
    """Recorded beside the gold set with who, when, why and commit; then every mean with its
    change."""
    scoring = ("score", "--dataset", gold, "--search-module", "production.py")
    baseline = gold.with_name("baseline.json")
    first = assay_cli(*scoring, "--update-baseline", "--by", "Dafna", "--why", "before RRF")
    assert first.code == 0
    assert "first baseline written to" in first.err
    assert "provisional (bootstrap-only)" in first.err
    assert "no baseline yet" not in first.err
    assert "warning" not in first.err
    recorded = json.loads(baseline.read_text())["recorded"]
    assert (recorded["by"], recorded["why"], set(recorded)) == (
        "Dafna",
        "before RRF",
        {"by", "why", "at", "git"},
    )

    write_engine(tmp_path, {**RANKINGS, "breach of contract": ["r6"]})
    write_json_lines(gold, {**ROWS[0], "source": "chair"}, *ROWS[1:])
    done = assay_cli(*scoring, "--baseline", baseline, "--report", gold.parent, "--json")
    delta = done.json["baseline"]
    assert delta["delta"]["mrr"] == pytest.approx(1 / 3)
    assert delta["by_corpus"]["internal_decisions"]["recall@10"] == pytest.approx(1 / 2)
    assert delta["by_practice_area"]["betterment_levy"]["mrr"] == 0
    (report,) = gold.parent.glob("*.md")
    text = report.read_text(encoding="utf-8")
    assert "partly approved: 1 of 3 rows approved (33%)" in text
    assert "(+0.333)" in text
    assert "by Dafna (before RRF), provisional (bootstrap-only)." in text, (
        "what the baseline was recorded on"
    )
    second = assay_cli(*scoring, "--update-baseline", "--by", "Dafna")
    assert "first baseline" not in second.err
    assert "give one with --why" in second.err


def test_a_failing_engine_leaves_the_baseline_alone(
    assay_cli: Assay, gold: Path, tmp_path: Path
) -> None:
    write_engine(tmp_path, {"היטל השבחה": ["r1"]})
    done = score(assay_cli, gold, "--update-baseline")
    assert done.code == 4
    assert "was not updated" in done.err
    assert not gold.with_name("baseline.json").exists()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("data/eval/gold-set.jsonl", "is a file, but not a Markdown file"),
        ("folder.md", "is a folder"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_engine_runs(
    assay_cli: Assay, gold: Path, target: str, message: str
) -> None:
    Path("folder.md").mkdir()
    done = assay_cli(
        "score", "--dataset", gold, "--search-module", "no_such_module", "--report", target
    )
    assert done.code == 2
    assert message in done.err


def test_a_gate_on_a_corpus_or_a_practice_area(assay_cli: Assay, gold: Path) -> None:
    Path("assay.toml").write_text(
        f'[gold.g]\npath = "{gold}"\n[engines.e]\nsearch_module = "production.py"\n'
        '[[gates]]\nmeasure = "mrr"\nslice = "corpus:precedent_library"\nminimum = 0.5\n'
        '[[gates]]\nmeasure = "mrr"\nslice = "practice_area:compensation"\nminimum = 0.5\n'
    )
    done = assay_cli("run", "--json")
    assert [check["status"] for check in done.json[0]["verdict"]["checks"]] == ["pass", "fail"]
    assert done.code == 1
