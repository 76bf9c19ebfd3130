"""An engine of the configuration works wherever an engine is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.workbench.project.health import diagnostics
from assay.workbench.project.service import open_service
from assay.workbench.scoring import history
from assay.workbench.scoring.run_queue import RunQueue, choices
from kit.commands import Assay
from kit.search_server import Reply, SearchServer


@pytest.fixture
def folder(assay_cli: Assay, tmp_path: Path, server: SearchServer) -> Path:
    row = {"id": "g1", "query": "levy", "relevant_case_law_ids": ["a"], "source": "chair"}
    (tmp_path / "gold-set.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "assay.toml").write_text(
        '[gold.g]\npath = "gold-set.jsonl"\n[[gates]]\nmeasure = "MRR"\nminimum = 0.9\n'
        f'[engines.prod]\nhttp = "{server.url}/?q={{{{query}}}}&n={{{{top_k}}}}"\n'
        'hits = "hits.hits"\nid = "_id"\n'
    )
    return tmp_path


def test_a_run_that_a_page_starts(folder: Path, server: SearchServer) -> None:
    with open_service() as service:
        assert choices(service).engines == ["prod"]
        queue = RunQueue(service)
        try:
            job = queue.wait(queue.start("g", "prod", by="ann").id)
        finally:
            queue.close()
        assert (job.state, job.error) == ("done", "")
        assert history.stored_run(service, job.run).results.overall["mrr"] == 1.0


def test_a_run_that_an_agent_starts(folder: Path) -> None:
    with open_service() as service:
        assert history.evaluate(service, "g", "prod").results.engine == "prod"


def test_whether_it_is_well(folder: Path, server: SearchServer) -> None:
    with open_service() as service:
        assert diagnostics(service, probe=True).engines.status == "ok"
        server.behave = lambda number, asked: Reply("", status=503)
        health = diagnostics(service, probe=True).engines
    assert health.status == "failed"
    assert "status 503" in str(health)


def test_two_results_are_compared(assay_cli: Assay, folder: Path, server: SearchServer) -> None:
    score = ("score", "--dataset", "gold-set.jsonl", "--engine", "prod", "-o")
    assert assay_cli(*score, "one.json").code == 0
    server.behave = lambda number, asked: Reply({"hits": {"hits": [{"_id": "z"}, {"_id": "a"}]}})
    assert assay_cli(*score, "two.json").code == 0
    compared = assay_cli("compare", "one.json", "two.json")
    assert compared.code == 0, compared.err


def test_tests_of_pytest(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "assay.toml", "--assay"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (ran.returncode, "1 passed" in ran.stdout) == (0, True), ran.stdout
