"""The files for GitHub and GitLab are YAML, and the commands in them do what docs/ci.md says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "samples" / "en"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    launcher = tmp_path / "bin" / "assay"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -m assay "$@"\n')
    launcher.chmod(0o755)
    return tmp_path


def configure(folder: Path, gate: str) -> None:
    gold = f'[gold.sample]\npath = "{SAMPLE / "dataset.json"}"\n'
    engine = f'[engines.bm25]\nengine = "bm25"\ncorpus = "{SAMPLE / "corpus.jsonl"}"\n'
    (folder / "assay.toml").write_text(f'{gold}{engine}[[gates]]\nmeasure = "nDCG@10"\n{gate}\n')


def shell(folder: Path, command: str, **more: str) -> int:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    source = {
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": path,
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env=os.environ | source | more,
        capture_output=True,
        text=True,
    )
    print(done.stdout, done.stderr)  # noqa: T201 shown when the test fails
    return done.returncode


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("minimum = 0.1", 0),
        ("minimum = 0.9", 1),
        ("minimum = 0.66\nsignificance = 0.05", 0),
        ("minimum = 0.1\nx = 1", 2),
    ],
)
def test_the_github_action_fails_when_a_gate_does_and_not_when_it_cannot_tell(
    gate: str, code: int, project: Path
) -> None:
    action: dict[str, Any] = yaml.safe_load((ROOT / "integrations" / "action.yml").read_text())
    configure(project, gate)
    step = next(step for step in action["runs"]["steps"] if "assay run" in step.get("run", ""))
    assert shell(project, step["run"], CONFIG=action["inputs"]["config"]["default"]) == code
    assert "### Assay" in (project / "summary.md").read_text()
    upload = next(step for step in action["runs"]["steps"] if "upload" in step.get("uses", ""))
    assert (project / upload["with"]["path"]).is_dir() == (code < 2)


@pytest.mark.parametrize(("minimum", "code"), [(0.1, 0), (0.9, 1)])
def test_the_gitlab_job_leaves_a_junit_report(minimum: float, code: int, project: Path) -> None:
    job = yaml.safe_load((ROOT / "integrations" / "gitlab-ci.yml").read_text())["assay"]
    configure(project, f"minimum = {minimum}")
    commands = [line for line in job["script"] if not line.startswith("pip")]
    command = " && ".join(commands).replace(
        "pytest", f"{sys.executable} -m pytest -p no:cacheprovider"
    )
    assert shell(project, command) == code
    assert "<testsuite" in (project / job["artifacts"]["reports"]["junit"]).read_text()
    assert (project / job["artifacts"]["paths"][0]).is_dir()
