"""A configuration that is named from another folder brings its workspace with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.core.workspace import HOME
from kit.commands import Assay

FINNISH = Path(__file__).parents[2] / "samples" / "fi"
CONFIG = f"""
[gold.kunta]
path = '{FINNISH / "questions_golden.json"}'

[engines.kunta]
engine = "kunta"
"""


@pytest.fixture
def project(assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a corpus, and a current folder that is not it."""
    monkeypatch.delenv(HOME, raising=False)
    folder, other = tmp_path / "project", tmp_path / "elsewhere"
    folder.mkdir()
    other.mkdir()
    (folder / "assay.toml").write_text(CONFIG)
    monkeypatch.chdir(folder)
    act = FINNISH / "saaristokuntalaki.jsonl"
    made = assay_cli("corpus", "import", "finlex", act, "--name", "kunta")
    assert made.code == 0, made.err
    monkeypatch.chdir(other)
    return folder


def test_the_workspace_is_beside_the_configuration(project: Path, assay_cli: Assay) -> None:
    config = project / "assay.toml"
    listed = assay_cli("engines", "list", "--config", config, "--json")
    assert [row["name"] for row in listed.json][:1] == ["kunta"]
    done = assay_cli("run", "--config", config)
    assert done.code in (0, 1), done.err
    assert list((project / ".assay" / "results").glob("kunta--kunta*.json"))
    assert not list(Path().iterdir())
    assert HOME not in os.environ


def test_a_workspace_that_is_named_stays(
    project: Path, assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME, str(Path("mine").absolute()))
    done = assay_cli("run", "--config", project / "assay.toml")
    assert done.code == 2
    assert "unknown engine 'kunta'" in done.out
