"""The verbs of the expert and the backlog."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.corpus.build import import_corpus
from assay.store import Store
from assay.workbench.gold import bootstrap_gold
from assay.workbench.logs import import_decisions, import_searches
from assay.workbench.opening import Service
from assay.workbench.review import evidence, queue

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    return Service(store=store, home=tmp_path / "home", clock=lambda: NOW)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    import_corpus(
        "jsonl", SAMPLES / "he" / "precedents.jsonl", name="precedent_library", home=folder
    )
    return folder


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def test_evidence_under_every_spelling(service: Service, tmp_path: Path) -> None:
    spelt = {'תב"ע': ["a"], "תב״ע": ["b"]}
    made = [{"at": "2026-05-01", "query": query, "results": docs} for query, docs in spelt.items()]
    import_searches(service, lines(tmp_path / "log.jsonl", *made))
    import_decisions(
        service, lines(tmp_path / "d.jsonl", {"id": "D", "at": "2026-05-03", "cites": ["a", "b"]})
    )
    bootstrap_gold(service, tmp_path / "gold-set.jsonl")
    found = evidence(service, queue(service).items[0])
    assert [(one.doc_id, [sign.decision_id for sign in one.decisions]) for one in found] == [
        ("a", ["D"]),
        ("b", ["D"]),
    ]


def test_recency_counts_from_now(service: Service, tmp_path: Path) -> None:
    old, new = (NOW - timedelta(days=days) for days in (90, 3))
    import_searches(
        service,
        lines(
            tmp_path / "log.jsonl",
            {"at": old.isoformat(), "query": "old", "results": ["a"]},
            {"at": new.isoformat(), "query": "new", "results": ["a"]},
        ),
    )
    import_decisions(
        service, lines(tmp_path / "d.jsonl", {"id": "D", "at": "2026-05-31", "cites": ["a"]})
    )
    assert bootstrap_gold(service, tmp_path / "gold-set.jsonl", recent_days=30).added == 1
    with pytest.raises(InputError, match="minimum support"):
        bootstrap_gold(service, tmp_path / "gold-set.jsonl", min_support=0)
