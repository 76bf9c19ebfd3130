from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

import assay

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a notebook user has one: a set, two runs, a corpus."""
    folder = tmp_path_factory.mktemp("notebook")
    shutil.copy(SAMPLES / "en" / "dataset.json", folder)
    shutil.copy(SAMPLES / "en" / "corpus.jsonl", folder)
    shutil.copy(SAMPLES / "fi" / "questions_golden.json", folder)
    gold = assay.load_gold(folder / "dataset.json")
    for name in ("bm25", "random"):
        assay.run(name, gold, corpus=folder / "corpus.jsonl").save(folder / f"{name}.trec")
    letters = [
        {"id": "A", "title": "Gifts", "text": "May a mayor accept concert tickets? Section 89503."},
        {"id": "B", "title": "Travel", "text": "Who may pay for a trip of the council?"},
    ]
    assay.import_corpus(letters, "letters", home=folder / ".assay").index(dense=False)
    with sqlite3.connect(folder / "legal.db") as legal:
        legal.execute("CREATE TABLE halachot (review_status TEXT, created_at TEXT)")
        states = [("pending_review",), ("approved",), ("on hold",)]
        legal.executemany("INSERT INTO halachot VALUES (?, '2026-05-01 12:00:00')", states)
    (folder / "backlog.toml").write_text('[backlog.halacha]\nurl = "legal.db"\ntable = "halachot"')
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, in a folder of the test's own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / ".assay"))
    return tmp_path
