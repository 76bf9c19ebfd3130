"""`assay init` and `assay` alone: the first minutes of a project."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from kit.commands import Assay

ROOT = Path(__file__).parents[2]
yaml = pytest.importorskip("yaml", reason="needs the package pyyaml")


COURT = "class Court:\n    def search(self, query, top_k):\n        return []\n"


def _corpus(assay_cli: Assay, name: str) -> None:
    Path("act.jsonl").write_text('{"id": "1", "text": "A gift is reported."}\n')
    assert assay_cli("corpus", "import", "jsonl", "act.jsonl", "--name", name).code == 0


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
    assert ".assay/" in Path(".gitignore").read_text().splitlines()
    assert "next: assay run" in assay_cli().out
    done = assay_cli("run")
    assert (done.code, "PASS" in done.out) == (0, True), done.out + done.err
    assert done.out.count("PASS") == 2, "both engines of the sample have a gate"
    here = assay_cli().out
    assert re.search(r"gold sets +sample\n", here)
    assert re.search(r"engines +bm25, mine\n", here)
    assert re.search(r"last verdict +passed, ", here)
    assert "next: assay report " in here


def test_an_engine_that_was_scored_is_known_by_its_name(assay_cli: Assay) -> None:
    assert assay_cli("init", "--yes").code == assay_cli("run").code == 0
    file = ".assay/results/sample--mine.json"
    assert assay_cli("explain", "mine", "q001").out == assay_cli("explain", file, "q001").out
    assert assay_cli("report", "mine", "-o", "mine.html").code == 0
    assert assay_cli("export", "mine", "-o", "mine.trec").code == 0
    assert assay_cli("plan", "bm25", "mine").code == 0
    for command in (("compare", "bm25", "mien"), ("explain", "mien", "q001")):
        refused = assay_cli(*command)
        assert refused.code == 2
        assert "Did you mean mine? Scored: bm25, mine." in refused.err
    unknown = assay_cli("score", "--dataset", "dataset.json", "--engine", "mien")
    assert "Did you mean mine? Known: bm25, mine, random" in unknown.err


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
        (["--engine", "court.py:Court"], 'search_module = "court.py:Court"'),
        (["--engine", "court"], 'search_module = "court.py"'),
        (["--engine", "my_engine"], 'search_module = "my_engine.py"'),
        (
            ["--engine", "http://127.0.0.1:9/s?q={{query}}"],
            'http = "http://127.0.0.1:9/s?q={{query}}"',
        ),
        (["--engine", "opinions"], 'engine = "opinions"'),
        (["--engine", "random"], 'corpus = "corpus.jsonl"'),
    ],
)
def test_an_engine_by_what_it_looks_like(assay_cli: Assay, args: list[str], table: str) -> None:
    Path("court.py").write_text(COURT)
    _corpus(assay_cli, "opinions")
    done = assay_cli("init", "--yes", *args)
    assert done.code == 0, done.err
    assert table in Path("assay.toml").read_text()
    installs = "assay-ir[search]" if "opinions" in args else "assay-ir"
    workflow = yaml.safe_load(Path(".github/workflows/assay.yml").read_text())
    steps = [step.get("run", "") for step in workflow["jobs"]["assay"]["steps"]]
    assert any(f'"{installs}"' in step for step in steps)


def test_an_own_set_with_its_own_measure(assay_cli: Assay) -> None:
    golden = ROOT / "samples" / "fi" / "questions_golden.json"
    _corpus(assay_cli, "act")
    done = assay_cli("init", "--yes", "--dataset", golden, "--engine", "act", "--ci", "gitlab")
    assert done.code == 0, done.err
    written = Path("assay.toml").read_text()
    assert 'measure = "pass_rate_total"' in written
    assert "allow_failure" in yaml.safe_load(Path(".gitlab-ci.yml").read_text())["assay"]
    assert not Path("dataset.json").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--ci", "jenkins"], "unknown CI service 'jenkins'"),
        (["--dataset", "none.json"], "none.json"),
        (["--engine", "http://127.0.0.1:9/s"], "query"),
        (["--dataset", "qrels.txt"], "--corpus"),
        (["--dataset", "qrels.txt", "--corpus", "none.jsonl"], "no corpus 'none.jsonl'"),
        (["--engine", "nothere"], "there is no nothere.py here"),
        (["--engine", "nothere.py"], "no such file"),
        (["--engine", "nothere.at_all"], "no module 'nothere.at_all'"),
    ],
)
def test_a_bad_answer_writes_nothing(assay_cli: Assay, args: list[str], said: str) -> None:
    Path("qrels.txt").write_text("q1 0 a 1\n")
    done = assay_cli("init", "--yes", *args)
    assert (done.code, said in done.err) == (2, True), done.err
    assert [path.name for path in Path().iterdir()] == ["qrels.txt"]


class Terminal:
    """A person who types these lines."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.asked = lines, []  # type: tuple[list[str], list[str]]

    def prompt(self, question: str, **_: object) -> str:
        self.asked.append(question.partition("?")[0])
        return self.lines.pop(0)


@pytest.mark.parametrize(
    ("typed", "table"),
    [
        (["none.json", "qrels.txt", "courts", "court", "60", "0.6", "none"], "court.py"),
        (["qrels.txt", "bm25", "none.jsonl", "act.jsonl", "0.6", "none"], "act.jsonl"),
    ],
)
def test_a_wrong_answer_is_told_before_the_next_question(
    assay_cli: Assay, monkeypatch: pytest.MonkeyPatch, typed: list[str], table: str
) -> None:
    from assay.cli import project as init

    Path("qrels.txt").write_text("q1 0 a 1\n")
    Path("court.py").write_text(COURT)
    Path("act.jsonl").write_text('{"id": "a", "text": "A gift is reported."}\n')
    person = Terminal(list(typed))
    monkeypatch.setattr(init, "_at_a_terminal", lambda: True)
    monkeypatch.setattr("typer.prompt", person.prompt)
    done = assay_cli("init")
    assert (done.code, person.lines) == (0, []), done.err
    assert table in Path("assay.toml").read_text()
    for question in set(person.asked):  # what is asked again is asked before anything else
        first = person.asked.index(question)
        times = person.asked.count(question)
        assert person.asked[first : first + times] == [question] * times


def test_a_project_that_is_here_is_told_before_any_question(
    assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.cli import project as init

    Path("assay.toml").write_text("")
    monkeypatch.setattr(init, "_at_a_terminal", lambda: True)
    monkeypatch.setattr("typer.prompt", Terminal([]).prompt)
    done = assay_cli("init")
    assert (done.code, "assay.toml is here already" in done.err) == (2, True)


def test_the_path_to_a_decision_runs_as_the_demo_page_prints_it(assay_cli: Assay) -> None:
    page = (ROOT / "docs/start/demo.md").read_text()
    lines = [line.strip() for line in page.splitlines() if line.startswith("    assay ")]
    start = next(n for n, line in enumerate(lines) if line.startswith("assay init"))
    end = next(n for n, line in enumerate(lines) if n > start and line.startswith("assay run"))
    assert end - start >= 6
    for line in lines[start : end + 1]:
        done = assay_cli(*shlex.split(line, comments=True)[1:])
        assert done.code == 0, (line, done.err)
    called = [json.loads(Path(name).read_text())["engine"] for name in ("a.json", "b.json")]
    assert called == ["bm25", "mine"]  # as in assay.toml


def test_without_gates_a_run_is_followed_by_its_report(assay_cli: Assay) -> None:
    assert assay_cli("init", "--yes").code == 0
    config = Path("assay.toml")
    config.write_text(config.read_text().partition("[[gates]]")[0])
    assert "next: assay run" in assay_cli().out
    assert assay_cli("run").code == 0
    assert "next: assay report .assay/results/sample--" in assay_cli().out


def test_a_broken_configuration_is_told(assay_cli: Assay) -> None:
    Path("assay.toml").write_text("[gold")
    done = assay_cli()
    assert done.code == 0
    assert "cannot be read" in done.out
    assert "next: fix assay.toml" in done.out


def test_what_waits_comes_before_all_else(assay_cli: Assay) -> None:
    assert assay_cli("init", "--yes").code == 0
    assert assay_cli("run").code == 0
    pool = assay_cli("gold", "pool", "dataset.json", "--engine", "bm25", "--corpus", "corpus.jsonl")
    assert pool.code == 0, pool.err
    here = assay_cli().out
    assert re.search(r"pending +\d+ to judge or review", here)
    assert "next: assay serve" in here
