"""`assay init` and `assay` alone: the first minutes of a project."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from command_line import Assay

ROOT = Path(__file__).parents[2]
yaml = pytest.importorskip("yaml", reason="needs the package pyyaml")


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.delenv("ASSAY_HOME", raising=False)


def test_a_new_folder_says_how_to_begin(assay_cli: Assay) -> None:
    done = assay_cli()
    assert done.code == 0
    assert "No project here yet." in done.out
    assert "next: assay init or assay demo" in done.out
    assert list(Path().iterdir()) == []


def test_a_project_from_the_defaults_runs(assay_cli: Assay) -> None:
    done = assay_cli("init", "--yes", "--json")
    assert done.code == 0
    assert {"assay.toml", "dataset.json", ".github/workflows/assay.yml"} <= set(done.json["files"])
    assert all(Path(file).is_file() for file in done.json["files"])
    assert "next: assay run" in assay_cli().out
    done = assay_cli("run")
    assert (done.code, "PASS" in done.out) == (0, True), done.out + done.err
    here = assay_cli().out
    assert re.search(r"gold sets +sample\n", here)
    assert re.search(r"engines +bm25, mine\n", here)
    assert re.search(r"last verdict +passed, ", here)


def test_without_a_terminal_nothing_is_asked(assay_cli: Assay) -> None:
    assert assay_cli("init", "--ci", "none").code == 0
    assert not Path(".github").exists()


def test_nothing_is_written_over(assay_cli: Assay) -> None:
    Path("dataset.json").write_text("mine")
    done = assay_cli("init", "--yes")
    assert done.code == 2
    assert "dataset.json is here already, and nothing was written" in done.err
    assert [path.name for path in Path().iterdir()] == ["dataset.json"]
    assert Path("dataset.json").read_text() == "mine"


@pytest.mark.parametrize(
    ("args", "table"),
    [
        (["--engine", "tools.search:Court"], 'search_module = "tools.search:Court"'),
        (
            ["--engine", "http://127.0.0.1:9/s?q={{query}}"],
            'http = "http://127.0.0.1:9/s?q={{query}}"',
        ),
        (["--engine", "opinions"], 'engine = "opinions"'),
        (["--engine", "random"], 'corpus = "corpus.jsonl"'),
    ],
)
def test_an_engine_by_what_it_looks_like(assay_cli: Assay, args: list[str], table: str) -> None:
    done = assay_cli("init", "--yes", *args)
    assert done.code == 0, done.err
    assert table in Path("assay.toml").read_text()
    installs = "assay-ir[search]" if "opinions" in args else "assay-ir"
    workflow = yaml.safe_load(Path(".github/workflows/assay.yml").read_text())
    steps = [step.get("run", "") for step in workflow["jobs"]["assay"]["steps"]]
    assert any(f'"{installs}"' in step for step in steps)


def test_an_own_set_with_its_own_measure(assay_cli: Assay) -> None:
    golden = ROOT / "samples" / "fi" / "questions_golden.json"
    done = assay_cli("init", "--yes", "--dataset", golden, "--engine", "act", "--ci", "gitlab")
    assert done.code == 0, done.err
    written = Path("assay.toml").read_text()
    assert 'measure = "pass_rate_total"' in written
    assert "allow_failure" in yaml.safe_load(Path(".gitlab-ci.yml").read_text())["assay"]
    assert not Path("dataset.json").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--ci", "jenkins"], "no CI 'jenkins'"),
        (["--dataset", "none.json"], "none.json"),
        (["--engine", "http://127.0.0.1:9/s"], "query"),
        (["--dataset", "qrels.txt"], "--corpus"),
    ],
)
def test_a_bad_answer_writes_nothing(assay_cli: Assay, args: list[str], said: str) -> None:
    Path("qrels.txt").write_text("q1 0 a 1\n")
    done = assay_cli("init", "--yes", *args)
    assert (done.code, said in done.err) == (2, True), done.err
    assert [path.name for path in Path().iterdir()] == ["qrels.txt"]


def test_the_path_to_a_decision_runs_as_the_readme_prints_it(assay_cli: Assay) -> None:
    readme = (ROOT / "README.md").read_text()
    lines = [line.strip() for line in readme.splitlines() if line.startswith("    assay ")]
    start = next(n for n, line in enumerate(lines) if line.startswith("assay init"))
    end = next(n for n, line in enumerate(lines) if n > start and line.startswith("assay run"))
    assert end - start >= 6
    for line in lines[start : end + 1]:
        done = assay_cli(*shlex.split(line, comments=True)[1:])
        assert done.code == 0, (line, done.err)


def test_a_broken_configuration_is_told(assay_cli: Assay) -> None:
    Path("assay.toml").write_text("[gold")
    done = assay_cli()
    assert done.code == 0
    assert "cannot be read" in done.out
    assert "next: mend assay.toml" in done.out


def test_what_waits_comes_before_all_else(assay_cli: Assay) -> None:
    assert assay_cli("init", "--yes").code == 0
    assert assay_cli("run").code == 0
    pool = assay_cli("gold", "pool", "dataset.json", "--engine", "bm25", "--corpus", "corpus.jsonl")
    assert pool.code == 0, pool.err
    here = assay_cli().out
    assert re.search(r"waiting +\d+ for people to judge or review", here)
    assert "next: assay serve" in here
