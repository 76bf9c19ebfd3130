"""Diagnostics of a running service."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from assay.corpus.build import import_corpus
from assay.store import Store
from assay.telemetry.recorder import Recording
from assay.workbench.judging.gold_sets import gold_list
from assay.workbench.project.health import diagnostics
from assay.workbench.project.service import Service, open_service

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


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    return tmp_path


def test_engines_are_probed_on_request(in_folder: Path) -> None:
    (in_folder / "broken.py").write_text(
        "class Engine:\n    def search(self, query, top_k):\n        raise OSError('down')\n"
    )
    (in_folder / "assay.toml").write_text(
        '[gold.g]\npath = "g.jsonl"\n[engines.broken]\nsearch_module = "broken"\n'
        '[engines.saved]\nrun = "none.json"\n'
    )
    with open_service(recording=Recording()) as service:
        shown = msgspec.to_builtins(diagnostics(service))
        assert shown["engines"]["engines"]["broken"] == {"status": "not probed"}
        found = msgspec.to_builtins(diagnostics(service, probe=True))
        assert found["status"] == "degraded"
        assert found["engines"]["engines"]["broken"] == {
            "status": "failed",
            "error": "OSError: down",
        }
        assert found["engines"]["engines"]["saved"]["status"] == "failed"
        assert "g.jsonl" in gold_list(service)[0].error
