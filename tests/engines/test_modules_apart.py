"""A Python engine runs in a process of its own: whatever it does, the command says what became of
it, and its exit code is never that of the engine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kit.commands import Assay

ROWS = [
    {
        "id": f"g{at}",
        "query": text,
        "corpus": "precedents",
        "practice_area": "levy",
        "language": "he",
        "filters": {"court": "district"},
        "relevant_case_law_ids": ["a"],
        "source": "chair",
    }
    for at, text in enumerate(["first", "second", "third"])
]


@pytest.fixture(autouse=True)
def gold(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "gold-set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def module(folder: Path, body: str, head: str = "") -> None:
    (folder / "mine.py").write_text(
        f"import os, sys, time\n{head}\nclass Engine:\n"
        f"    def search(self, query, top_k=20):\n        {body}\n        return ['a']\n"
    )


def score(assay_cli: Assay, *more: str) -> tuple[int, str]:
    outcome = assay_cli(
        "score",
        "--dataset",
        "gold-set.jsonl",
        "--search-module",
        "mine.py",
        "-o",
        "results.json",
        *more,
    )
    return outcome.code, outcome.err


ENDS = {
    "exit(0) in a call": ("sys.exit(0)", "", "SystemExit: 0"),
    "_exit(0) in a call": ("os._exit(0)", "", "ended its process"),
    "_exit(0) in the last call": ("query == 'third' and os._exit(0)", "", "ended its process"),
    "killed": ("os.kill(os.getpid(), 9)", "", "signal 9"),
    "exit(0) on import": ("pass", "sys.exit(0)", "failed on import"),
    "_exit(0) on import": ("pass", "os._exit(0)", "ended its process"),
    "sleeps": ("time.sleep(3600)", "", "no answer in 0.4 s"),
    "loops": ("\n        while True: pass", "", "no answer in 0.4 s"),
}


@pytest.mark.parametrize("what", ENDS)
def test_an_engine_that_ends_or_hangs_is_exit_4(
    assay_cli: Assay, tmp_path: Path, what: str
) -> None:
    body, head, words = ENDS[what]
    module(tmp_path, body, head)
    limit = "400ms" if words.startswith("no answer") else "30s"
    code, said = score(assay_cli, "--timeout", limit)
    assert code == 4
    assert words in said
    assert not (tmp_path / "results.json").exists()
    (tmp_path / "assay.toml").write_text(
        '[gold.g]\npath = "gold-set.jsonl"\n'
        f'[engines.e]\nmodule = "mine.py"\nquery_timeout = "{limit}"\n'
    )
    outcome = assay_cli("run")
    assert outcome.code == 4
    assert words in " ".join(outcome.out.split())


def test_a_hang_that_no_signal_reaches_is_found_out(
    assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine holds the interpreter, or throws away what interrupts it."""
    monkeypatch.setattr("assay.engines.calling.SLACK", 0.05)
    module(
        tmp_path,
        "\n        while True:\n            try:\n                time.sleep(9)\n"
        "            except BaseException:\n                pass",
    )
    monkeypatch.setattr("assay.engines.running.SLACK", 0.05)
    code, said = score(assay_cli, "--timeout", "200ms")
    assert (code, "the engine hangs" in said) == (4, True)


@pytest.mark.parametrize("gates", ["", '[[gates]]\nmeasure = "MRR"\nminimum = 0.1\n'])
def test_one_failed_call_fails_the_run_with_and_without_gates(
    assay_cli: Assay, tmp_path: Path, gates: str
) -> None:
    module(tmp_path, "1 / (query != 'second')")
    (tmp_path / "assay.toml").write_text(
        '[gold.g]\npath = "gold-set.jsonl"\n[engines.e]\nsearch_module = "mine.py"\n' + gates
    )
    assert assay_cli("run").code == 4
    code, said = score(assay_cli)
    assert (code, "failed on 1 of 3 queries" in said) == (4, True)
    entries = json.loads((tmp_path / "results.json").read_text())["per_query"]
    assert [entry.get("error") for entry in entries] == [
        None,
        "ZeroDivisionError: division by zero",
        None,
    ]


def test_pytest_has_a_test_that_fails_for_a_failed_call(tmp_path: Path) -> None:
    module(tmp_path, "1 / (query != 'second')")
    (tmp_path / "assay.toml").write_text(
        '[gold.g]\npath = "gold-set.jsonl"\n[engines.e]\nsearch_module = "mine.py"\n'
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "assay.toml", "--assay"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "the engine failed on 1 queries" in ran.stdout
    assert "1 failed" in ran.stdout


def test_what_the_row_knows_reaches_the_parameters_that_there_are(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "class Engine:\n"
        "    def search(self, query, top_k=20, *, corpus, language='en', as_of='today',\n"
        "               practice_area=None, filters=None):\n"
        "        said = [corpus, language, as_of, practice_area, filters['court']]\n"
        "        return [f'{query}:{word}' for word in said]\n"
    )
    code, said = score(assay_cli)
    assert code == 0, said
    entries = json.loads((tmp_path / "results.json").read_text())["per_query"]
    assert entries[0]["results"] == [
        "first:precedents",
        "first:he",
        "first:today",
        "first:levy",
        "first:district",
    ]


def test_an_engine_that_takes_anything_gets_all_of_it(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def search(query, top_k, **known):\n    return sorted(known)\n"
    )
    assert score(assay_cli)[0] == 0
    entries = json.loads((tmp_path / "results.json").read_text())["per_query"]
    assert entries[0]["results"] == ["corpus", "filters", "language", "practice_area"]


def test_hits_travel_with_all_that_they_carry(assay_cli: Assay, tmp_path: Path) -> None:
    """Objects that only the engine's process knows come as text."""
    (tmp_path / "mine.py").write_text(
        "class Id(str): pass\nclass Odd:\n    def __str__(self): return 'odd'\n"
        "class Engine:\n    def search(self, query, top_k=20):\n"
        "        return [Id('a'), {'id': 'b', 'score': 0.5, 'why': Odd()}]\n"
    )
    code, said = score(assay_cli)
    assert code == 0, said
    entries = json.loads((tmp_path / "results.json").read_text())["per_query"]
    assert entries[0]["results"] == ["a", "b"]


def test_what_an_engine_prints_is_no_data(assay_cli: Assay, tmp_path: Path) -> None:
    module(tmp_path, "print('chatter')")
    outcome = assay_cli(
        "score", "--dataset", "gold-set.jsonl", "--search-module", "mine.py", "--json"
    )
    assert outcome.code == 0
    assert outcome.json["engine"] == "Engine"
    assert "chatter" in outcome.err


def test_an_engine_is_asked_where_it_was_made(assay_cli: Assay, tmp_path: Path) -> None:
    """One at a time, in one thread: a connection to SQLite may not leave it."""
    module(
        tmp_path,
        "self.db.execute('select 1')",
        "import sqlite3\n"
        "class Base:\n    def __init__(self): self.db = sqlite3.connect(':memory:')",
    )
    text = (tmp_path / "mine.py").read_text().replace("class Engine:", "class Engine(Base):")
    (tmp_path / "mine.py").write_text(text)
    code, said = score(assay_cli, "--timeout", "30s")
    assert code == 0, said


def test_several_at_once_in_threads(assay_cli: Assay, tmp_path: Path) -> None:
    """Three calls wait for each other: asked one by one, none would answer."""
    module(
        tmp_path, "BARRIER.wait()", "import threading\nBARRIER = threading.Barrier(3, timeout=20)"
    )
    code, said = score(assay_cli, "--concurrency", "3")
    assert code == 0, said
