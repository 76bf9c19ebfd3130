"""What the first version wrote still opens: its store (schema 0001), gold set, corpus, index,
frozen corpus, results and baseline, in `fixtures/first-version/project.zip`. What a newer one wrote
says so.

The fixture was made by the code of commit 48187ad, the first that could do all of it: `logs
import`, `logs decisions`, `gold bootstrap`, `promote` and `reject`, `corpus import`, `index`,
`corpus freeze` and `score --update-baseline`, on three documents, two searches, one decision."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.corpus import open_corpus, open_frozen
from assay.store import legacy, open_store
from assay.store.migrate import HEAD
from kit.commands import Assay

FIRST = Path(__file__).parent / "fixtures" / "first-version" / "project.zip"


@pytest.fixture
def project(assay_cli: Assay, monkeypatch: pytest.MonkeyPatch) -> Assay:
    """The project as it was left, in the current folder."""
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    with zipfile.ZipFile(FIRST) as archive:
        archive.extractall()
    return assay_cli


def schema() -> str:
    with sqlite3.connect(".assay/assay.db") as connection:
        version: str = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        return version


def test_the_store_is_brought_up_to_date_and_loses_nothing(project: Assay) -> None:
    assert schema() == "0001"
    store = open_store(".assay/assay.db", create=False)
    assert schema() == HEAD
    assert [search.query for search in store.searches(["l1", "l2"])] == [
        "when is the levy due",
        "appeal",
    ]
    assert len(store.feedback()) == 4
    items = legacy.review_items(store, "gold-set")
    assert {item["ref"]: item["state"] for item in items} == {
        "g001": "approved",
        "g002": "rejected",
    }
    past = {(entry.action, entry.by) for entry in legacy.audit(store, "gold-set")}
    assert past == {("review.approved", "Dafna"), ("review.rejected", "Dafna")}
    store.close()


def test_the_gold_set_stays_as_it_was_and_what_was_rejected_stays_out(project: Assay) -> None:
    before = Path("gold-set.jsonl").read_bytes()
    done = project("gold", "bootstrap", "gold-set.jsonl")
    assert (done.code, "1 rejected" in done.err) == (0, True)
    assert Path("gold-set.jsonl").read_bytes() == before
    figures = project("backlog", "--json").json
    assert (figures["approved"], figures["rejected"], figures["total"]) == (1, 1, 2)


def test_corpus_index_and_frozen_corpus_open(project: Assay) -> None:
    assert open_corpus(Path(".assay"), "law").get("d3").title == "היטל השבחה"
    assert open_frozen(Path("law.zip"), home=Path("there")).get("d1").title == "Levy"
    found = project("search", "law", "appeal within forty days", "--json")
    assert (found.code, found.json["hits"][0]["doc_id"]) == (0, "d2")
    assert project("corpus", "check", "law").code == 0
    assert project("doctor").code == 0


def test_results_and_baseline_are_read(project: Assay) -> None:
    assert project("report", "results.json", "-o", "report.md").code == 0
    arguments = ("--dataset", "gold-set.jsonl", "--engine", "bm25", "--corpus", "docs.jsonl")
    done = project("score", *arguments, "--baseline", "baseline.json", "--output", "now.json")
    assert done.code == 0, done.err
    then, now = (json.loads(Path(name).read_text()) for name in ("results.json", "now.json"))
    assert {key: then["overall"][key] for key in then["overall"]} == {
        key: now["overall"][key] for key in then["overall"]
    }
    assert not now["baseline"]["stale"]
    assert project("compare", "results.json", "now.json").code == 0


def newer_store() -> None:
    with sqlite3.connect(".assay/assay.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")


def newer_corpus() -> None:
    path = Path(".assay/corpora/law/corpus.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))


def newer_results() -> None:
    path = Path("results.json")
    raw = json.loads(path.read_text())
    raw["receipt"]["versions"]["assay"] = "99.0.0"
    path.write_text(json.dumps(raw | {"per_query": {"columns": []}}))


@pytest.mark.parametrize(
    ("change", "command"),
    [
        (newer_store, ("backlog",)),
        (newer_corpus, ("corpus", "show", "law", "d1")),
        (newer_results, ("report", "results.json", "-o", "x.md")),
    ],
)
def test_what_a_newer_version_wrote_says_so(
    project: Assay, change: Callable[[], None], command: tuple[str, ...]
) -> None:
    change()
    done = project(*command)
    assert done.code in (2, 4)
    assert "newer" in done.err
    assert "pgrade Assay" in done.err
