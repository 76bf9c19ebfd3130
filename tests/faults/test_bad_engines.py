"""An engine that lies or returns tens of megabytes. What hangs, or answers something else than
hits, is in tests/engines/test_http_engines.py and test_modules_apart.py."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.engines.http import MOST_BYTES
from kit.commands import Assay
from kit.search_server import Reply, SearchServer, search_server


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with search_server() as started:
        yield started


def prepare(folder: Path, server: SearchServer) -> None:
    (folder / "assay.toml").write_text(
        f'[engines.prod]\nhttp = "{server.url}/?q={{{{query}}}}"\nhits = "hits"\nid = "id"\n'
        'score = "score"\ntimeout = "30s"\n'
        '[gold.set]\npath = "set.json"\n'
    )
    judged = [{"opinion_id": "a", "score": 2}, {"opinion_id": "b", "score": 0}]
    queries = [{"id": "q1", "text": "levy", "relevance_judgments": judged}]
    (folder / "set.json").write_text(json.dumps({"queries": queries}))


def scored(assay_cli: Assay) -> Any:
    command = ("score", "--dataset", "set.json", "--config", "assay.toml", "--engine", "prod")
    return assay_cli(*command, "--output", "results.json")


def test_fifty_megabytes_are_read_or_refused_in_bounded_memory(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    prepare(tmp_path, server)
    filler = "x" * (50 * 2**20)
    server.behave = lambda number, asked: Reply({"hits": [{"id": "a", "text": filler}]})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = scored(assay_cli)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert outcome.code == 0, outcome.err
    assert grown < 600 * 1024, "ten times the answer, in KiB"
    assert (tmp_path / "results.json").stat().st_size < 2**20


def test_more_than_the_limit_is_refused(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, server)
    assert MOST_BYTES == 64 * 2**20
    monkeypatch.setattr("assay.engines.http.MOST_BYTES", 2**20)
    filler = "x" * (2 * 2**20)
    server.behave = lambda number, asked: Reply({"hits": [{"id": "a", "text": filler}]})
    outcome = assay_cli("engines", "test", "prod", "levy", "--config", "assay.toml", "--json")
    assert outcome.code == 4
    assert "more than 1 MB" in outcome.json["wrong"][0]


LIES = [
    [{"id": "a"}, {"id": "a"}],  # the same document twice
    [{"id": "b", "score": 1}, {"id": "a", "score": 9}],  # not in the order of its own scores
    [{"id": "a", "score": 1e308}, {"id": "b", "score": -1e308}],
    [{"id": f"made up {n}"} for n in range(100)],  # documents that nobody has
]


@pytest.mark.parametrize("hits", LIES, ids=["twice", "out of order", "huge", "made up"])
def test_a_lie_gives_no_figure_above_one(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, hits: list[dict[str, Any]]
) -> None:
    prepare(tmp_path, server)
    server.behave = lambda number, asked: Reply({"hits": hits})
    outcome = scored(assay_cli)
    assert outcome.code in (0, 4), outcome.err
    assert (tmp_path / "results.json").exists() == (outcome.code == 0)
    if outcome.code == 0:
        found = json.loads((tmp_path / "results.json").read_text())
        assert all(0 <= value <= 1 for value in found["overall"].values() if value is not None)
