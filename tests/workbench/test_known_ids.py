"""A slip of the pen in an id is noticed before it is in a gold set."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.corpus.build import import_corpus
from assay.store import Store
from assay.store.records import Decision, SearchLog, ShownResult
from assay.workbench.judging.gold_sets import bootstrap_gold
from assay.workbench.project.service import Service
from assay.workbench.review.decisions import Correction, correct_row
from assay.workbench.review.queue import queue
from assay.workbench.review.suggestions import suggest

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return tmp_path / "gold-set.jsonl"


@pytest.fixture
def service(store: Store, tmp_path: Path, gold: Path) -> Service:
    """A row on a corpus that is not imported; another corpus is."""
    source = tmp_path / "docs.jsonl"
    source.write_text('{"id":"imported","title":"t","text":"x"}\n')
    import_corpus("jsonl", source, name="law", home=tmp_path / "home")
    shown = (ShownResult("cited", 1), ShownResult("shown", 2))
    store.add_searches([SearchLog(id="l", at=NOW, query="q", corpus="c", results=shown)])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("cited",))])
    made = Service(store=store, home=tmp_path / "home", gold_sets={"gold-set": gold})
    bootstrap_gold(made, gold)
    return made


@pytest.mark.parametrize("doc_id", ["cited", "shown", "imported"])
def test_what_is_known_is_taken(service: Service, gold: Path, doc_id: str) -> None:
    correct_row(service, gold, "g001", Correction(add=(doc_id,)), by="D", why="w")
    assert doc_id in json.loads(gold.read_text())["relevant_case_law_ids"]
    suggest(service, "gold-set", ("g001", doc_id), 1, rationale="r", by="agent")


def test_what_is_not_known_is_refused(service: Service, gold: Path) -> None:
    before = gold.read_bytes()
    with pytest.raises(InputError, match="has the document 'shwon'") as refused:
        correct_row(service, gold, "g001", Correction(add=("shown", "shwon")), by="D", why="w")
    assert "--allow-unknown" in refused.value.hint
    with pytest.raises(InputError, match="has the document 'shwon'") as refused:
        suggest(service, "gold-set", ("g001", "shwon"), 1, rationale="r", by="agent")
    assert "allow_unknown" in refused.value.hint
    assert gold.read_bytes() == before
    assert not [item for item in queue(service).items if item.kind == "judgment"]


def test_what_is_allowed_by_name_is_taken(service: Service, gold: Path) -> None:
    change = Correction(add=("shwon",))
    correct_row(service, gold, "g001", change, by="D", why="w", allow_unknown=True)
    assert "shwon" in gold.read_text()
    suggest(service, "gold-set", ("g001", "new"), 1, rationale="r", by="agent", allow_unknown=True)
    suggested = [item for item in queue(service).items if item.kind == "judgment"]
    assert [item.doc_ids for item in suggested] == [("new",)]


def test_the_corpus_that_was_looked_at_is_named(service: Service, tmp_path: Path) -> None:
    """Another corpus here may well have the document: it is not the corpus of the row."""
    source = tmp_path / "own.jsonl"
    source.write_text('{"id":"own","title":"t","text":"x"}\n')
    import_corpus("jsonl", source, name="c", home=tmp_path / "home")
    said = "neither the corpus 'c' nor a search, label or run here has the document 'imported'"
    with pytest.raises(InputError, match=said):
        suggest(service, "gold-set", ("g001", "imported"), 1, rationale="r", by="agent")
