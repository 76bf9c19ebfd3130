"""The commands beside `score`: demo, compare, report, gates, run."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay

SAMPLES = Path(__file__).parents[2] / "samples" / "en"
SAMPLE, CORPUS = SAMPLES / "dataset.json", SAMPLES / "corpus.jsonl"


CONFIG = f"""[gold.s]
path = "{SAMPLE}"
[engines.b]
engine = "bm25"
corpus = "{CORPUS}"
"""


def scored(
    assay_cli: Assay, output: str, engine: str = "bm25", gold: Path = SAMPLE, corpus: Path = CORPUS
) -> None:
    options = ("--dataset", gold, "--engine", engine, "--corpus", corpus, "--output", output)
    outcome = assay_cli("score", *options)
    assert outcome.code == 0, outcome.err


def test_demo_ends_with_a_scorecard_and_what_to_try_next(assay_cli: Assay, tmp_path: Path) -> None:
    outcome = assay_cli("demo", "--output", "demo.json")
    assert outcome.code == 0, outcome.err
    assert "bm25" in outcome.out
    assert "Overall" in outcome.out
    checked = assay_cli("gold", "validate", SAMPLE, "--json").json
    errors, flags = checked["errors"], checked["flags"]
    assert f"{errors} errors, {flags} flags" in outcome.err, "as the check itself counts"
    assert "assay explain" in outcome.out + outcome.err
    assert json.loads((tmp_path / "demo.json").read_text())["engine"] == "assay"


def test_compare_shows_the_paired_difference(assay_cli: Assay) -> None:
    for name in ("random", "bm25"):
        scored(assay_cli, f"{name}.json", name)
    outcome = assay_cli("compare", "random.json", "bm25.json")
    assert outcome.code == 0, outcome.err
    assert "nDCG@10" in outcome.out
    assert assay_cli("compare", "random.json", "bm25.json", "--json").json


REPORTS = {
    "report.html": "bm25 on dataset",
    "report.md": "bm25 on dataset",
    "report.xml": "<testcase",
    "report.csv": "q001,",
    "report.tex": "0.929",
}


def test_report_writes_the_format_of_its_ending(assay_cli: Assay, tmp_path: Path) -> None:
    scored(assay_cli, "results.json")
    for name, part in REPORTS.items():
        outcome = assay_cli("report", "results.json", "--output", name)
        assert outcome.code == 0, outcome.err
        assert part in (tmp_path / name).read_text()


def test_the_rubric_is_printed_as_a_page(assay_cli: Assay) -> None:
    out = assay_cli("rubric").out
    assert "Highly relevant" in out
    assert "Edge cases" in out


def test_an_inconclusive_gate_names_the_judgments_that_would_settle_it(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "assay.toml").write_text(
        CONFIG + f'[engines.c]\nengine = "bm25"\ncorpus = "{CORPUS}"\n'
        '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.66\nsignificance = 0.05\n'
    )
    outcome = assay_cli("run", "--config", "assay.toml")
    assert outcome.code == 3, outcome.err
    assert "should settle it" in outcome.out
    (command,) = re.findall("`assay (compare .*)`", outcome.err)  # as it can be run
    assert all(file in " ".join(outcome.out.split()) for file in command.split()[1:])
    assert assay_cli(*command.split()).out == assay_cli("compare", "b", "c").out
    assert "no set has them all" not in assay_cli("compare", "b", "x").err


GATES = {
    'measure = "P@5"\nmin_judged = 0.9\nminimum = 0.2': "P@5",
    'measure = "R@20"\nminimum = 0.5\nsignificance = 0.05\nslice = "type:keyword"': "R@20",
    'measure = "mrr"\nmaximum = 0.93\nsignificance = 0.05': "mrr",
}


@pytest.mark.parametrize("gate", GATES, ids=GATES.values())
def test_judgments_that_would_settle_a_gate_on_any_measure(
    gate: str, assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "assay.toml").write_text(f"{CONFIG}[[gates]]\n{gate}\n")
    outcome = assay_cli("run", "--json")
    assert outcome.code == 3, outcome.err
    verdict = outcome.json[0]["verdict"]
    assert verdict["status"] == "inconclusive"
    assert verdict["judge_next"]
    results = json.loads((tmp_path / ".assay/results/s--b.json").read_text())
    unjudged = {
        (entry["query_id"], doc)
        for entry in results["per_query"]
        for doc, grade in zip(entry["results"], entry["grades"], strict=True)
        if grade is None
    }
    pairs = [(pair["query_id"], pair["doc_id"]) for pair in verdict["judge_next"]]
    assert set(pairs) <= unjudged
    assert len(set(pairs)) == len(pairs)


def test_judging_the_pairs_named_meets_the_judged_share_and_one_fewer_does_not(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "assay.toml").write_text(
        CONFIG + '[[gates]]\nmeasure = "P@5"\nmin_judged = 0.9\nminimum = 0.01\n'
    )
    pairs = assay_cli("run", "--json").json[0]["verdict"]["judge_next"]
    results = json.loads((tmp_path / ".assay/results/s--b.json").read_text())
    judged = sum(
        grade is not None for entry in results["per_query"] for grade in entry["grades"][:5]
    )
    assert judged + len(pairs) == math.ceil(0.9 * 5 * len(results["per_query"]))


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.json"])
def test_what_to_judge_next_goes_to_a_file_and_to_the_queue(
    name: str, assay_cli: Assay, tmp_path: Path
) -> None:
    gold = Path("dataset.json")
    gold.write_bytes(SAMPLE.read_bytes())
    for engine in ("random", "bm25"):
        scored(assay_cli, f"{engine}.json", engine, gold)
    asked = ("gold", "next", "random.json", "bm25.json", "--measure", "AP@10")
    asked = (*asked, "--queue", gold, "--limit", 3)
    first = assay_cli(*asked, "--output", name)
    assert first.code == 0, first.err
    assert "AP@10" in first.out
    assert "3 new pairs wait" in first.err
    assert "0 new pairs wait" in assay_cli(*asked).err
    assert "q0" in (tmp_path / name).read_text()
    assert assay_cli("backlog", "--json").json["pending_review"] == 3
    assert assay_cli("gold", "next", "bm25.json").code == 2
    assert "from 0.6" in assay_cli("gold", "next", "bm25.json", "--threshold", 0.6).out


def test_a_file_compared_with_itself_shows_nothing_and_says_so(
    assay_cli: Assay, tmp_path: Path
) -> None:
    scored(assay_cli, "a.json")
    (tmp_path / "b.json").write_bytes((tmp_path / "a.json").read_bytes())
    out = assay_cli("compare", "a.json", "b.json").out
    assert "cannot be estimated" in out
    assert "-0.000" not in out
    assert "+0.000" not in out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"per_query": None}, "$.per_query: expected an array, got null"),
        ({"receipt": 7}, "$.receipt: expected an object, got a whole number"),
        ({"overall": {"mrr": "high"}}, "$.overall[...]: expected a number or null, got a string"),
    ],
)
def test_what_is_no_results_file_is_named_with_its_place(
    change: dict[str, Any], said: str, assay_cli: Assay, tmp_path: Path
) -> None:
    scored(assay_cli, "a.json")
    results = json.loads((tmp_path / "a.json").read_text())
    (tmp_path / "b.json").write_text(json.dumps(results | change))
    for command in (("compare", "a.json", "b.json"), ("report", "b.json", "-o", "b.html")):
        outcome = assay_cli(*command)
        assert outcome.code == 2
        assert f"b.json: {said}" in outcome.err
        assert "assay score" in outcome.err


def test_rbp_has_its_residual_in_score_and_compare(assay_cli: Assay) -> None:
    for name in ("random", "bm25"):
        args = (
            "--engine",
            name,
            "--corpus",
            CORPUS,
            "-m",
            "RBP(p=0.5)",
            "--output",
            f"{name}.json",
        )
        outcome = assay_cli("score", "--dataset", SAMPLE, *args)
        assert "RBP(p=0.5) has a residual of 0." in outcome.out
    assert (
        "the residual, what unjudged hits" in assay_cli("compare", "random.json", "bm25.json").out
    )


def test_the_report_of_a_comparison_says_which_is_better_and_what_it_rests_on(
    assay_cli: Assay, tmp_path: Path
) -> None:
    for name in ("random", "bm25"):
        scored(assay_cli, f"{name}.json", name)
    assert assay_cli("report", "bm25.json", "--against", "random.json", "-o", "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    for said in (
        "bm25 is significantly better than random.",
        "is significant with 80% power",
        "Unjudged results",
        "p99",
        "judged@10",
    ):
        assert said in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "<script src" not in page


def test_no_change_above_the_range_of_a_measure_is_promised(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "g.qrels").write_text("1 0 a 1\n2 0 b 1\n")
    for name, first, second in (("one", "a", "x"), ("two", "x", "b")):
        (tmp_path / f"{name}.run").write_text(f"1 Q0 {first} 1 2 e\n2 Q0 {second} 1 2 e\n")
        run = ("score", "--dataset", "g.qrels", "--run", f"{name}.run", "-o", f"{name}.json")
        assert assay_cli(*run).code == 0
    said = assay_cli("compare", "one.json", "two.json").out
    assert "2 queries cannot show a difference in nDCG@10" in " ".join(said.split())


GOLDEN_REPORTS = {
    "r.html": "Robustness",
    "r.md": "Robustness",
    "r.xml": "<failure",
    "r.csv": "query_id,",
    "r.tex": "passed &",
}


@pytest.mark.parametrize("name", GOLDEN_REPORTS)
def test_a_perturbed_golden_set_has_its_reports_too(
    name: str, assay_cli: Assay, tmp_path: Path
) -> None:
    common = {"category": "c", "min_score": 0.1, "expected_any": [{"doc_id": "80-041"}]}
    questions = [
        {"id": f"S-{n}", "query": query, **common}
        for n, query in enumerate(("gift limits", "lobbying"))
    ]
    (tmp_path / "golden.json").write_text(json.dumps(questions))
    assert (
        assay_cli("gold", "perturb", "golden.json", "-o", "set.json", "--language", "en").code == 0
    )
    options = ("--dataset", "set.json", "--engine", "bm25", "--corpus", CORPUS)
    out = assay_cli("score", *options, "--output", "g.json").out
    assert "Robustness" in out
    assert "typo-keyboard" in out
    outcome = assay_cli("report", "g.json", "-o", name)
    assert outcome.code == 0, outcome.err
    assert GOLDEN_REPORTS[name] in (tmp_path / name).read_text()


def test_results_on_another_corpus_are_not_compared_unless_told(
    assay_cli: Assay, tmp_path: Path
) -> None:
    lines = Path(CORPUS).read_text().splitlines(keepends=True)
    (tmp_path / "other.jsonl").write_text("".join(lines[:-1]))
    scored(assay_cli, "a.json")
    scored(assay_cli, "b.json", corpus=Path("other.jsonl"))
    refused = assay_cli("compare", "a.json", "b.json")
    assert refused.code == 2
    assert "a and b: searched different corpora (fingerprint " in refused.err
    assert "searched different corpora" in assay_cli("compare", "a.json", "b.json", "--force").out
    report = ("report", "b.json", "--against", "a.json", "-o", "b.md")
    assert assay_cli(*report).err == refused.err
    assert assay_cli(*report, "--force").code == 0
    assert "**a and b: searched different corpora (fingerprint " in (tmp_path / "b.md").read_text()
    again = assay_cli(
        "score", "--dataset", SAMPLE, "--engine", "bm25", "--corpus", CORPUS, "--baseline", "b.json"
    )
    assert "the baseline is stale: searched different corpora" in again.err
    assert (
        assay_cli("score", "--dataset", SAMPLE, "--run", "b.json", "--output", "b2.json").code == 0
    )
    assert (
        "searched different corpora" in assay_cli("compare", "a.json", "b2.json").err
    )  # saved answers say of what


def test_an_unchanged_pair_is_not_run_again_and_the_change_against_the_baseline_is_printed(
    assay_cli: Assay, tmp_path: Path
) -> None:
    engine = (
        "import os\nclass E:\n    def search(self, query, top_k):\n"
        "        os.mkdir(f'call-{len(os.listdir())}')\n"
        "        return ['80-041']\n"
    )
    (tmp_path / "mine.py").write_text(engine)
    (tmp_path / "assay.toml").write_text(
        f'[gold.s]\npath = "{SAMPLE}"\nbaseline = "baseline.json"\n[engines.mine]\n'
        'search_module = "mine"\n'
    )
    args = ("--dataset", SAMPLE, "--search-module", "mine", "--baseline", "baseline.json")
    assert assay_cli("score", *args, "--update-baseline").code == 0
    first = assay_cli("run")
    assert "mine on s: scored" in first.err
    assert "vs baseline" in first.out
    calls = len(list(tmp_path.glob("call-*")))
    assert "mine on s: unchanged" in assay_cli("run").err
    assert len(list(tmp_path.glob("call-*"))) == calls
    (tmp_path / "mine.py").write_text(engine.replace("80-041", "80-042"))
    assert "mine on s: scored" in assay_cli("run").err


def test_a_bootstrapped_set_is_called_provisional_in_a_run(
    assay_cli: Assay, tmp_path: Path
) -> None:
    row = {"id": "g1", "query": "gift", "relevant_case_law_ids": ["80-041"], "source": "bootstrap"}
    (tmp_path / "gold-set.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "assay.toml").write_text(CONFIG.replace(str(SAMPLE), "gold-set.jsonl"))
    outcome = assay_cli("run")
    assert outcome.code == 0, outcome.err
    assert "Gold set provisional (bootstrap-only): 0 of 1 rows approved (0%)." in outcome.out
