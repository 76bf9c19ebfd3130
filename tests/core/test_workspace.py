"""One workspace for everybody: what one command leaves there, every other finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.workspace import default_store, workspace
from assay.corpus.build import import_corpus
from assay.corpus.disk import corpus_path, open_corpus
from assay.corpus.frozen import freeze, open_frozen
from assay.engines.indexed import index_corpus
from assay.workbench.project.health import examine
from assay.workbench.project.service import open_service
from assay.workbench.scoring.run import results_folder
from kit.commands import Assay


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    return tmp_path


@pytest.fixture(params=["unset", "empty", "elsewhere"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, in_folder: Path) -> Path:
    """Where the workspace is. A variable that is set to nothing is not set."""
    if request.param == "unset":
        monkeypatch.delenv("ASSAY_HOME", raising=False)
        return Path(".assay")
    monkeypatch.setenv("ASSAY_HOME", "" if request.param == "empty" else "elsewhere")
    return Path(".assay" if request.param == "empty" else "elsewhere")


def docs(folder: Path) -> Path:
    (folder / "docs.jsonl").write_text('{"id":"a","title":"A","text":"about levies"}\n')
    return folder / "docs.jsonl"


USERS: dict[str, Callable[[Path], Path]] = {
    "the function": lambda folder: workspace(),
    "the store": lambda folder: Path(default_store()).parent,
    "assay run": lambda folder: results_folder().parent,
    "corpora": lambda folder: corpus_path(None, "docs").parents[1],
    "the doctor": lambda folder: Path(examine().workspace.path),  # type: ignore[union-attr]
}


@pytest.mark.parametrize("user", USERS)
def test_everybody_means_the_same_folder(place: Path, in_folder: Path, user: str) -> None:
    assert USERS[user](in_folder).resolve() == place.resolve()


def test_what_is_written_lies_there(place: Path, in_folder: Path) -> None:
    import_corpus("jsonl", docs(in_folder), name="docs")
    index_corpus("docs")
    open_frozen(freeze(open_corpus(None, "docs"), in_folder / "docs.assay"))
    with open_service():
        pass
    inside = {path.name for path in place.iterdir()}
    assert {"corpora", "indexes", "assay.db", "frozen"} <= inside
    outside = {path.name for path in in_folder.iterdir()}
    assert outside == {place.name, "docs.jsonl", "docs.assay"}


def test_runs_leave_their_results_there(place: Path, in_folder: Path, assay_cli: Assay) -> None:
    docs(in_folder)
    Path("gold-set.jsonl").write_text(
        '{"id":"g1","query":"levies","relevant_case_law_ids":["a"]}\n'
    )
    Path("assay.toml").write_text(
        '[gold.g]\npath = "gold-set.jsonl"\n[engines.e]\nengine = "bm25"\ncorpus = "docs.jsonl"\n'
    )
    assert assay_cli("run").code == 0
    assert (place / "results" / "g--e.json").exists()


def test_a_workspace_that_is_given_has_its_own_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_STORE", "postgresql://nowhere/x")
    assert default_store(tmp_path) == str(tmp_path / "assay.db")
    assert default_store() == "postgresql://nowhere/x"
