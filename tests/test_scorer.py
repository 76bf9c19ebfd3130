"""The commands and files of the specification of the FPPC suite: `python src/scorer.py`, the
interface, the rubric page, and `assay init --layout fppc`, which writes them for a new project."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay import SearchEngine
from assay.judging import rubrics
from kit.commands import Assay

HERE = Path(__file__).parents[1]
DATASET = HERE / "samples" / "en" / "dataset.json"
GOLD = json.loads(DATASET.read_text())
IDEAL = {
    query["text"]: [
        row["opinion_id"]
        for row in sorted(query["relevance_judgments"], key=lambda row: -row["score"])
    ]
    for query in GOLD["queries"]
}


def engine(folder: Path, *, base: str = "", change: str = "id") -> None:
    """The module `path.to.my_engine`: an ideal ranking, with its ids changed by an expression."""
    package = folder / "path" / "to"
    package.mkdir(parents=True)
    (package / "my_engine.py").write_text(
        f"{base}IDEAL = {IDEAL!r}\n\n\n"
        f"class Mine{'(SearchEngine)' if base else ''}:\n"
        "    def search(self, query, top_k=20):\n"
        f"        return [{change} for id in IDEAL[query]][:top_k]\n"
    )


def scorer(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / "src" / "scorer.py"), *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_python_without_assay_is_told_to_install_it() -> None:
    bare = [sys.executable, "-S", "-E", str(HERE / "src" / "scorer.py")]
    done = subprocess.run(bare, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Assay is not installed for this Python: run pip install .")


SPOKEN = ("--search-module", "path.to.my_engine", "--dataset", str(DATASET))


@pytest.mark.parametrize("base", ["", "from interface import SearchEngine\n\n\n"])
def test_the_command_prints_a_scorecard_and_writes_results(tmp_path: Path, base: str) -> None:
    """With the interface and without it: `name` is optional."""
    engine(tmp_path, base=base)
    done = scorer(tmp_path, *SPOKEN, "--output", "results.json")
    assert done.returncode == 0, done.stderr
    assert "nDCG@10" in done.stdout
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["engine"] == "Mine"
    names = "mrr ndcg@10 ndcg@5 precision@5 precision@10 recall@10 recall@20"
    assert set(names.split()) <= results["overall"].keys()
    assert results["overall"]["ndcg@10"] == 1.0
    assert {"by_type", "by_topic"} <= results.keys()


def test_a_module_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = scorer(tmp_path, *SPOKEN)
    assert done.returncode == 2
    assert "no module 'path.to.my_engine' in the current folder" in done.stderr


NEARLY = r"[id.lower(), ' ' + id, id.replace('-', '-\u200b'), id.replace('-', '\u2011')]"


def test_ids_that_almost_match_are_said_and_can_be_accepted(tmp_path: Path) -> None:
    engine(tmp_path, change=f"{NEARLY}[len(query + id) % 4]")
    strict = scorer(tmp_path, *SPOKEN, "--json")
    assert json.loads(strict.stdout)["overall"]["ndcg@10"] < 0.9
    said = " ".join(strict.stderr.split())
    assert "almost match a judged id and count as not judged" in said
    assert "give --loose-ids" in said
    finnish = " ".join(scorer(tmp_path, *SPOKEN, "--language", "fi").stderr.split())
    assert "lasketaan arvioimattomiksi" in finnish
    assert "judged id" not in finnish
    accepted = scorer(tmp_path, *SPOKEN, "--json", "--loose-ids")
    results = json.loads(accepted.stdout)
    assert results["overall"]["ndcg@10"] == 1.0
    assert results["receipt"]["counts"]["loose_ids"] > 0
    assert "almost match" not in accepted.stderr


def test_a_saved_run_is_read_with_loose_ids_too(tmp_path: Path, assay_cli: Assay) -> None:
    texts = {query["text"]: query["id"] for query in GOLD["queries"]}
    lines = [
        f"{texts[text]} Q0 {doc_id.lower()} {rank} {100 - rank} mine"
        for text, ids in IDEAL.items()
        for rank, doc_id in enumerate([ids[0], *ids])  # the first one appears twice
    ]
    (tmp_path / "mine.trec").write_text("\n".join(lines).replace(lines[0], lines[0].upper()))
    given: tuple[Any, ...] = ("score", "--dataset", DATASET, "--run", tmp_path / "mine.trec")
    strict = assay_cli(*given, "--json")
    assert "almost match" in " ".join(strict.err.split())
    assert assay_cli(*given, "--json", "--loose-ids").json["overall"]["ndcg@10"] == 1.0


def test_ids_that_match_or_are_strange_give_no_warning(tmp_path: Path) -> None:
    engine(tmp_path, change="id if id[0] != 'A' else 'x' + id")
    assert "almost match" not in scorer(tmp_path, *SPOKEN).stderr


def test_the_interface_is_the_engine_of_assay() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import interface, assay; print(interface.SearchEngine.__module__)"],
        cwd=HERE / "src",
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == SearchEngine.__module__


def test_the_rubric_page_is_that_of_the_rubric() -> None:
    page = (HERE / "RELEVANCE_RUBRIC.md").read_text()
    assert page == rubrics.as_markdown(rubrics.load("fppc-relevance-3"))


STRUCTURE = """SPEC.md IMPLEMENTATION_PLAN.md RELEVANCE_RUBRIC.md SPRINT_LOG.md data/extracted
eval/dataset.json eval/taxonomy.json src/interface.py src/scorer.py tests/test_scorer.py""".split()


def test_a_new_project_has_the_structure_of_the_specification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, assay_cli: Assay
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".gitignore").write_text("*.tmp\n")
    named = assay_cli("init", "--layout", "fppc", "my-project")
    assert (named.code, "takes no name" in named.err) == (2, True)
    begun = assay_cli("init", "--layout", "fppc")
    assert begun.code == 0
    assert "next: assay gold add eval/dataset.json --query " in begun.err
    assert all((tmp_path / name).exists() for name in STRUCTURE)
    assert Path(".gitignore").read_text().splitlines() == ["*.tmp", "data/", ".assay/"]
    for name in ("src/scorer.py", "src/interface.py", "RELEVANCE_RUBRIC.md"):
        assert (tmp_path / name).read_text() == (HERE / name).read_text()
    tested = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    assert subprocess.run(tested, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    flags = assay_cli("gold", "validate", "eval/dataset.json", "--json").json
    assert (flags["errors"], {each["code"] for each in flags["findings"]}) == (
        0,
        {"no-queries", "set-size", "topic-spread"},
    )
    again = assay_cli("init", "--layout", "fppc")
    assert again.code == 2
    assert "here already" in again.err


def test_an_unknown_layout_names_the_known_ones(assay_cli: Assay) -> None:
    outcome = assay_cli("init", "--layout", "nonsense")
    assert (outcome.code, "fppc" in outcome.err) == (2, True)
