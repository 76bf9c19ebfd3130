"""Services with sets and runs made by hand, for the tests of what is decided from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.store import Store
from assay.store.records import Decision, SearchLog, ShownResult
from assay.workbench.judging.gold_sets import bootstrap_gold
from assay.workbench.project.config import Config, read_config
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import StoredRun, store_run
from assay.workbench.scoring.score import ScoreRequest, score

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script> \"quoted\" & 'so' היטל"
WORDS = ["gift", "travel", "lobbyist", "contribution", "conflict", "honoraria"]


def graded_set(folder: Path, *, queries: int = 6, judged: int = 10, name: str = "set") -> Path:
    """Queries q0.., and documents d0.. of which one in three is relevant; the last queries have
    hostile and Hebrew texts."""
    rows = [
        {
            "id": f"q{n}",
            "text": HOSTILE if n == queries - 1 else f"{WORDS[n % len(WORDS)]} {n}",
            "type": "keyword" if n % 2 else "natural_language",
            "relevance_judgments": [
                {"opinion_id": f"d{d}", "score": 2 if d % 3 == n % 3 else 0, "rationale": "so"}
                for d in range(judged)
            ],
        }
        for n in range(queries)
    ]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"queries": rows}), encoding="utf-8")
    return path


def golden_set(folder: Path) -> Path:
    path = folder / "golden.json"
    rows = [
        {"id": "k1", "query": "kunnan talous", "must": True, "expected_any": [{"doc_id": "d1"}]},
        {"id": "k2", "query": HOSTILE, "must": False, "expected_any": [{"doc_id": "d2"}]},
        {"id": "k3", "query": "valtuusto", "must": True, "expected_any": [{"doc_id": "d3"}]},
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def ranking_file(folder: Path, name: str, order: list[str], ids: list[str]) -> Path:
    path = folder / f"{name}.trec"
    lines = [
        f"{query} Q0 {doc} {rank} {100 - rank} {name}"
        for query in ids
        for rank, doc in enumerate(order, 1)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def served(store: Store, folder: Path, gold: Path, toml: str = "") -> Service:
    config: Config | None = None
    if toml:
        (folder / "assay.toml").write_text(toml, encoding="utf-8")
        config = read_config(folder / "assay.toml")
    return Service(
        store=store,
        gold_sets={gold.stem: gold},
        config=config,
        project=folder,
        home=folder,
        clock=lambda: NOW,
    )


def bootstrapped(service: Service, queries: Sequence[str], at: datetime) -> Service:
    """A service whose gold-set.jsonl is bootstrapped from searches that showed a and b, and a
    decision a day later that cites both."""
    found = (ShownResult("a", 1), ShownResult("b", 2))
    for n, query in enumerate(queries):
        logged = SearchLog(id=f"l{n}", at=at, query=query, corpus="c", results=found)
        service.store.add_searches([logged])
    decided = Decision(id="D-1", at=at + timedelta(days=1), cites=("a", "b"))
    service.store.add_decisions([decided])
    bootstrap_gold(service, service.gold_sets["gold-set"])
    return service


def kept(
    service: Service,
    gold: Path,
    engine: str,
    order: list[str],
    *,
    days: int = 0,
    ids: list[str] | None = None,
) -> StoredRun:
    """A ranking that is the same for every query, scored and kept `days` ago."""
    asked = ids or [f"q{n}" for n in range(6)]
    run = ranking_file(gold.parent, f"run-{days}-{len(order)}", order, asked)
    results = score(ScoreRequest(dataset=gold, run=run)).results
    then = replace(service, clock=lambda: NOW - timedelta(days=days))
    return store_run(then, results, gold, engine)
