"""The command line: what each command prints, writes and exits with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay

SAMPLES = Path(__file__).parents[2] / "samples" / "en"
SAMPLE, CORPUS = SAMPLES / "dataset.json", SAMPLES / "corpus.jsonl"
METRICS = ["mrr", "ndcg@10", "ndcg@5", "precision@5", "precision@10", "recall@10", "recall@20"]

# the interface of the spec, as it stands in somebody's own repository
OWN_ABC = '''
from abc import ABC, abstractmethod

class SearchEngine(ABC):
    """Interface that any search backend must implement to be evaluated."""

    @abstractmethod
    def search(self, query: str, top_k: int = 20) -> list[str]:
        pass

    def name(self) -> str:
        return self.__class__.__name__
'''
MINE = """
from src.interface import SearchEngine

class MyEngine(SearchEngine):
    def search(self, query: str, top_k: int = 20) -> list[str]:
        return ["A-1", "unjudged", "A-2"][:top_k]
"""


@pytest.fixture(autouse=True)
def small_set(tmp_path: Path) -> None:
    """One answerable query of each kind, and an engine in a package with its own copy of the
    ABC."""
    judged = [
        {"opinion_id": "A-1", "score": 1, "rationale": "r"},
        {"opinion_id": "A-2", "score": 2, "rationale": "r"},
    ]
    queries = [
        {
            "id": f"q00{number}",
            "text": f"text of {name}",
            "type": name,
            "topic": "gifts",
            "relevance_judgments": judged,
        }
        for number, name in enumerate(["keyword", "natural_language", "fact_pattern"], start=1)
    ]
    taxonomy = {"gifts": {"name": "Gifts", "description": "Gifts", "issues": []}}
    dataset = {"version": "1.0", "taxonomy": taxonomy, "queries": queries}
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "dataset.json").write_text(json.dumps(dataset))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "interface.py").write_text(OWN_ABC)
    (tmp_path / "src" / "my_engine.py").write_text(MINE)


DATASET = "eval/dataset.json"
SCORE = ("score", "--dataset", DATASET)
SCORE_MINE = (*SCORE, "--search-module", "src.my_engine")


def write_engine(path: Path, body: str, head: str = "") -> None:
    """A module with an engine whose `search` has this body."""
    source = f"{head}\nclass Engine:\n    def search(self, query, top_k=20):\n        {body}\n"
    path.write_text(source)


def score(assay_cli: Assay, *args: object) -> Any:
    outcome = assay_cli(*SCORE, *args, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json


# ── engines ───────────────────────────────────────────────────────────────────────────────────────


def test_an_engine_with_its_own_copy_of_the_abc_runs_unchanged(assay_cli: Assay) -> None:
    """The spec's command, from the folder of the user's repository."""
    results = score(assay_cli, "--search-module", "src.my_engine")
    assert results["engine"] == "MyEngine"
    assert results["overall"]["mrr"] == pytest.approx(1 / 3)  # A-2 is the first with score 2


def test_an_engine_that_subclasses_ours_runs(assay_cli: Assay, tmp_path: Path) -> None:
    own = MINE.replace("from src.interface", "from assay")
    (tmp_path / "ours_engine.py").write_text(own.replace("MyEngine", "Ours"))
    assert score(assay_cli, "--search-module", "ours_engine")["engine"] == "Ours"


def test_a_file_path_names_an_engine(assay_cli: Assay, tmp_path: Path) -> None:
    """Its neighbours can be imported, as when it is run by itself."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "neighbour.py").write_text("IDS = ['A-2']\n")
    write_engine(tmp_path / "tools" / "by_path.py", "return IDS", "from neighbour import IDS")
    assert score(assay_cli, "--search-module", "tools/by_path.py")["overall"]["mrr"] == 1.0


def test_a_class_is_picked_by_name_when_there_are_two(assay_cli: Assay, tmp_path: Path) -> None:
    two = "class {}:\n    def search(self, query, top_k=20):\n        return ['A-2']\n"
    (tmp_path / "two_engines.py").write_text(two.format("First") + two.format("Second"))
    assert score(assay_cli, "--search-module", "two_engines:Second")["engine"] == "Second"
    outcome = assay_cli(*SCORE, "--search-module", "two_engines")
    assert (outcome.code, "two_engines:First" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    "answer",
    [
        "['A-2']",
        "[('A-2', 0.5)]",
        "[{'id': 'A-2', 'score': 1}]",
        "[{'opinion_id': 'A-2'}]",
        "('A-2',)",
        "iter(['A-2'])",
        "[Hit(doc_id='A-2')]",
    ],
)
def test_hits_in_every_usual_shape_are_read(answer: str, assay_cli: Assay, tmp_path: Path) -> None:
    write_engine(tmp_path / "shapes.py", f"return {answer}", "from assay import Hit")
    assert score(assay_cli, "--search-module", "shapes")["per_query"][0]["results"] == ["A-2"]


def test_an_engine_is_asked_for_top_k_and_no_more_is_taken(
    assay_cli: Assay, tmp_path: Path
) -> None:
    write_engine(tmp_path / "many.py", "return [f'{top_k}-{i}' for i in range(99)]")
    asked = ("--search-module", "many", "--top-k", "30")
    entry = score(assay_cli, *asked, "--hits", "all")["per_query"][0]
    assert (entry["num_results"], entry["results"][-1]) == (30, "30-29")
    kept = score(assay_cli, *asked)["per_query"][0]
    assert (kept["num_results"], kept["results"][-1]) == (30, "30-19")


def test_a_top_k_below_the_deepest_cutoff_is_kept_and_warned_about(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """R@20 over five asked-for results is what was asked for, but nobody should be surprised."""
    write_engine(tmp_path / "deep.py", "return [f'{top_k}-{i}' for i in range(99)]")
    shallow = ("--search-module", "deep", "--top-k", "5")
    assert score(assay_cli, *shallow)["per_query"][0]["num_results"] == 5
    outcome = assay_cli(*SCORE, *shallow)
    assert "asked for 5 hits, and a measure looks at 20" in outcome.err
    assert score(assay_cli, "--search-module", "deep")["per_query"][0]["num_results"] == 20


def test_bm25_beats_random_on_the_sample(assay_cli: Assay) -> None:
    found = {}
    for name in ("random", "bm25"):
        outcome = assay_cli(
            "score", "--dataset", SAMPLE, "--engine", name, "--corpus", CORPUS, "--json"
        )
        assert outcome.code == 0, outcome.err
        found[name] = outcome.json["overall"]["ndcg@10"]
    assert 0 <= found["random"] < 0.5 < found["bm25"] < 1


def test_random_gives_the_same_figures_every_time(assay_cli: Assay) -> None:
    args = ("score", "--dataset", SAMPLE, "--engine", "random", "--corpus", CORPUS, "--json")
    assert assay_cli(*args).json["overall"] == assay_cli(*args).json["overall"]


def test_the_folder_of_opinions_is_a_corpus_too(assay_cli: Assay) -> None:
    outcome = assay_cli(
        "score", "--dataset", SAMPLE, "--engine", "bm25", "--corpus", SAMPLES / "opinions", "--json"
    )
    assert outcome.json["overall"]["ndcg@10"] > 0.5


# ── saved results ─────────────────────────────────────────────────────────────────────────────────

SAVED = {
    "run.json": json.dumps({"per_query": [{"query_id": "q001", "results": ["x", "A-2"]}]}),
    "run.trec": "q001 Q0 A-2 1 1.0 tag\nq001 Q0 x 2 2.0 tag\n",
    "beir.json": '{"q001": {"A-2": 1.0, "x": 2.0}}',
}


@pytest.mark.parametrize("name", SAVED)
def test_saved_results_are_scored_and_missing_queries_count(
    name: str, assay_cli: Assay, tmp_path: Path
) -> None:
    """In a TREC run and in BEIR JSON the score gives the order, not the rank column."""
    (tmp_path / name).write_text(SAVED[name])
    outcome = assay_cli(*SCORE, "--run", name, "--json")
    assert outcome.json["overall"]["mrr"] == pytest.approx(0.5 / 3)
    assert "2 of 3 queries are missing from the run and score 0" in outcome.err


def test_our_own_results_score_again_to_the_same_figures(assay_cli: Assay) -> None:
    first = score(assay_cli, "--search-module", "src.my_engine", "--output", "results.json")
    again = score(assay_cli, "--run", "results.json")
    assert again["engine"] == "MyEngine"
    assert (again["overall"], again["by_type"]) == (first["overall"], first["by_type"])


# ── output ────────────────────────────────────────────────────────────────────────────────────────


def test_results_json_has_the_keys_of_the_spec(assay_cli: Assay, tmp_path: Path) -> None:
    assert assay_cli(*SCORE_MINE, "--output", "results.json").code == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(results)[:6] == "timestamp engine overall by_type by_topic per_query".split()
    assert results["receipt"]
    assert set(results["by_type"]) == {"keyword", "natural_language", "fact_pattern"}
    for metrics in (
        results["overall"],
        results["by_type"]["keyword"],
        results["by_topic"]["gifts"],
    ):
        assert sorted(metrics) == sorted(METRICS)
    entry = results["per_query"][0]
    spec = "query_id query_text query_type query_topic num_results results metrics"
    assert list(entry)[:7] == spec.split()
    assert entry["query_id"] == "q001"
    assert (entry["query_text"], entry["query_type"], entry["query_topic"]) == (
        "text of keyword",
        "keyword",
        "gifts",
    )
    assert (entry["num_results"], entry["results"]) == (3, ["A-1", "unjudged", "A-2"])


def test_the_receipt_says_how_every_number_came_about(assay_cli: Assay) -> None:
    receipt = score(assay_cli, "--search-module", "src.my_engine")["receipt"]
    by_key = {line["key"]: line for line in receipt["measures"]}
    assert by_key["mrr"]["measure"] == "RR(rel=2)"
    assert by_key["ndcg@10"]["gain"] == "linear"
    assert by_key["precision@5"]["rel"] == 1
    assert all(line["formula"] for line in receipt["measures"])
    assert receipt["n"]["overall"] == 3
    assert receipt["counts"]["n_expected"] == 3
    assert len(receipt["inputs"]["dataset"]["sha256"]) == 64
    assert {"python", "assay", "numpy"} <= set(receipt["versions"])
    assert {"ties", "unjudged_policy", "missing_policy", "git"} <= set(receipt)
    assert receipt["unjudged"] == {}  # the set lists relevant documents alone
    assert "closed" in receipt["unjudged_policy"]


def test_json_on_stdout_is_alone_whatever_the_engine_prints(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """On import, while it is made, in name(), in search(), and from a child process."""
    (tmp_path / "chatty.py").write_text(
        "import os\nprint('importing')\nclass Chatty:\n    def __init__(self):\n"
        "        print('making')\n"
        "    def name(self):\n        print('naming')\n        return 'Chatty'\n"
        "    def search(self, query, top_k=20):\n        print('searching')\n"
        "        os.system('echo child')\n"
        "        return ['A-2']\n"
    )
    outcome = assay_cli(*SCORE, "--search-module", "chatty", "--json")
    assert outcome.json["engine"] == "Chatty"
    for line in ("importing", "making", "naming", "searching", "child"):
        assert line in outcome.err


def test_the_scorecard_shows_overall_types_and_topics(assay_cli: Assay) -> None:
    lines = assay_cli(*SCORE_MINE).out.splitlines()
    header = next(line for line in lines if "nDCG@10" in line)
    assert header.split() == ["n", "RR(rel=2)", "nDCG@10", "nDCG@5", "P@5", "P@10", "R@10", "R@20"]
    overall = next(line for line in lines if line.startswith("Overall"))
    assert overall.split()[1:3] == ["3", "0.333"]
    for name in ("keyword", "natural_language", "fact_pattern", "gifts"):
        assert any(line.strip().startswith(name) for line in lines), name


def test_columns_are_aligned(assay_cli: Assay) -> None:
    """Every figure ends where its heading ends."""
    out = assay_cli(*SCORE_MINE).out
    header = next(line for line in out.splitlines() if "nDCG@10" in line)
    row = next(line for line in out.splitlines() if line.startswith("Overall"))
    assert len(header.rstrip()) == len(row.rstrip())


@pytest.mark.parametrize(("no_color", "coloured"), [("1", False), (None, True)])
def test_no_color_is_respected(
    no_color: str | None, coloured: bool, assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color is None:
        monkeypatch.delenv("NO_COLOR")
    out = assay_cli(*SCORE_MINE).out
    assert ("\x1b[36m" in out or "\x1b[1;36m" in out) is coloured


def test_measures_are_chosen_by_name(assay_cli: Assay) -> None:
    chosen = ("-m", "AP", "-m", "P(rel=2)@5", "-m", "nDCG@3")
    results = score(assay_cli, "--search-module", "src.my_engine", *chosen)
    assert list(results["overall"]) == ["AP", "P(rel=2)@5", "ndcg@3"]


# ── explain ───────────────────────────────────────────────────────────────────────────────────────


def test_explain_prints_the_sum_rank_by_rank(assay_cli: Assay) -> None:
    """A-1 (1), unjudged, A-2 (2): 1/log2(2) + 2/log2(4) = 2 over 2/log2(2) + 1/log2(3) =
    2.630930."""
    score(assay_cli, "--search-module", "src.my_engine", "--output", "results.json")
    out = assay_cli("explain", "results.json", "q001").out
    rows = [line.split() for line in out.splitlines() if line.strip()[:1].isdigit()]
    assert ["1", "A-1", "1", "1.0000", "1.0000", "1.0000"] in rows
    assert ["2", "unjudged", "unjudged", "0.6309", "0.0000", "1.0000"] in rows
    assert ["3", "A-2", "2", "0.5000", "1.0000", "2.0000"] in rows
    assert "2.000000 / 2.630930" in out
    assert "0.760188" in out
    assert "1 / 3  (first hit with grade >= 2)" in out
    assert "2 / 5" in out


def test_explain_scores_results_of_another_tool_given_the_gold_set(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "other.json").write_text(SAVED["run.json"])
    outcome = assay_cli("explain", "other.json", "q001", "--dataset", DATASET)
    assert "1 / 2  (first hit with grade >= 2)" in outcome.out
    assert assay_cli("explain", "other.json", "q001").code == 2


def test_explain_names_the_queries_when_the_id_is_wrong(assay_cli: Assay) -> None:
    score(assay_cli, "--search-module", "src.my_engine", "--output", "results.json")
    outcome = assay_cli("explain", "results.json", "q999")
    assert outcome.code == 2
    assert "no query 'q999'" in outcome.err
    assert "q001" in outcome.err


def test_ids_that_look_like_markup_are_printed_as_they_are(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """Neutral citations such as [2015] UKSC 11, and worse."""
    odd = ["[2015] UKSC 11", "[/b]", "[bold]", "חוק 5", ":smile:"]
    (tmp_path / "odd.json").write_text(
        json.dumps({"per_query": [{"query_id": "q001", "results": odd}]})
    )
    score(assay_cli, "--run", "odd.json", "--output", "results.json")
    out = assay_cli("explain", "results.json", "q001").out
    for doc_id in odd:
        assert doc_id in out


# ── gold ──────────────────────────────────────────────────────────────────────────────────────────


def test_validate_reports_errors_with_exit_2_and_flags_with_0(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"id": "A-1"}\n')
    outcome = assay_cli("gold", "validate", DATASET, "--corpus", "corpus.jsonl")
    assert outcome.code == 2
    assert "unknown-document" in outcome.out
    assert "3 errors" in outcome.err
    outcome = assay_cli("gold", "validate", DATASET, "--json")
    assert (outcome.code, outcome.json["errors"]) == (0, 0)
    assert outcome.json["flags"] == len(outcome.json["findings"]) > 0


def test_strict_makes_flags_fail(assay_cli: Assay) -> None:
    assert assay_cli("gold", "validate", DATASET).code == 0
    assert assay_cli("gold", "validate", DATASET, "--strict").code == 1


def test_the_sample_validates_against_its_own_corpus(assay_cli: Assay) -> None:
    for corpus in (CORPUS, SAMPLES / "opinions"):
        outcome = assay_cli("gold", "validate", SAMPLE, "--corpus", corpus, "--json")
        assert (outcome.code, outcome.json["errors"]) == (0, 0), outcome.out


def test_stats_show_the_picture(assay_cli: Assay) -> None:
    stats = assay_cli("gold", "stats", DATASET, "--json").json
    assert (stats["queries"], stats["judgments"], stats["rationales"]) == (3, 6, 1.0)
    assert stats["grades"] == {"2": 3, "1": 3}
    assert stats["topics"] == {"gifts": {"keyword": 1, "natural_language": 1, "fact_pattern": 1}}
    assert stats["judged_per_query"] == {"min": 2, "median": 2, "max": 2}
    out = assay_cli("gold", "stats", DATASET).out
    assert "3 queries, 6 judgments" in out
    assert "50%" in out


def test_convert_says_which_files_it_wrote_and_what_was_lost(
    assay_cli: Assay, tmp_path: Path
) -> None:
    outcome = assay_cli("gold", "convert", DATASET, "gold.qrels")
    assert outcome.code == 0
    assert outcome.out.split() == ["gold.qrels", "gold.topics.tsv"]
    for lost in ("rationale of 6 judgments", "topic of 3 queries", "taxonomy"):
        assert lost in outcome.err
    assert (tmp_path / "gold.qrels").read_text().splitlines()[0] == "q001 0 A-1 1"
    again = assay_cli("gold", "convert", DATASET, "copy.json")
    assert "nothing lost" in again.err


def test_scores_are_the_same_from_every_format_of_the_gold_set(assay_cli: Assay) -> None:
    expected = score(assay_cli, "--search-module", "src.my_engine")["overall"]
    for target in ("gold.qrels", "gold.csv", "folder", "copy.json"):
        assert assay_cli("gold", "convert", DATASET, target).code == 0
        outcome = assay_cli(
            "score", "--dataset", target, "--search-module", "src.my_engine", "--json"
        )
        assert outcome.json["overall"] == expected, target


# ── start-up ──────────────────────────────────────────────────────────────────────────────────────


def python(code: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **env},
    )
    return done.stdout


def test_help_imports_nothing_heavy() -> None:
    """So that `assay --help` and shell completion answer at once."""
    code = (
        "import sys, assay.cli\nsys.argv = ['assay', '--help']\ntry: assay.cli.main()\n"
        "except SystemExit: pass\n"
    )
    code += (
        "print('HEAVY', *[name for name in ('numpy', 'polars', 'msgspec', 'scipy') if name in "
        "sys.modules])"
    )
    out = python(code)
    assert out.splitlines()[-1].split() == ["HEAVY"]
    for command in ("score", "explain", "gold"):
        assert command in out


def test_a_command_that_ends_leaves_its_objects_to_the_system() -> None:
    code = (
        "import atexit, gc, sys, assay.cli\nsys.argv = ['assay', '--version']\n"
        "atexit.register(lambda: print('FROZEN', gc.get_freeze_count() > 1000))\n"
        "assay.cli.main()"
    )
    assert python(code).splitlines()[-1] == "FROZEN True"


def test_version_is_printed(assay_cli: Assay) -> None:
    import assay

    outcome = assay_cli("--version")
    assert (outcome.code, outcome.out) == (0, f"assay {assay.__version__}\n")


@pytest.mark.parametrize("form", ["--json", ""])
def test_a_reader_that_goes_away_is_no_error(form: str, tmp_path: Path) -> None:
    """As in `assay gold stats … | head`."""
    command = (
        f"{sys.executable} -m assay gold stats {SAMPLE} {form} | true; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
