"""The files for GitHub and GitLab are YAML, and the commands in them do what docs/ci.md says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay

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


def steps() -> tuple[dict[str, Any], dict[str, str]]:
    """The action, and its shell steps by what they are for."""
    action: dict[str, Any] = yaml.safe_load((ROOT / "integrations" / "action.yml").read_text())
    commands = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    names = ("install", "run", "post", "end")
    return action, dict(zip(names, commands, strict=True))


@pytest.mark.parametrize(
    ("gate", "code", "headline"),
    [
        ("minimum = 0.1", 0, "PASS"),
        ("minimum = 0.9", 1, "FAIL"),
        ("minimum = 0.66\nsignificance = 0.05", 3, "INCONCLUSIVE"),
        ("minimum = 0.1\nx = 1", 2, "ERROR"),
    ],
)
def test_the_github_action_fails_when_a_gate_does(
    gate: str, code: int, headline: str, project: Path
) -> None:
    action, commands = steps()
    configure(project, gate)
    output = project / "output.txt"
    given = {"CONFIG": "assay.toml", "TEXTS": "false", "GITHUB_OUTPUT": str(output)}
    assert action["inputs"]["config"]["default"] == "assay.toml"
    assert shell(project, commands["run"], **given) == 0
    assert output.read_text() == f"code={code}\n"
    comment = (project / "assay-comment.md").read_text()
    assert comment.startswith(f"<!-- assay -->\n### Assay: {headline}\n")
    assert (project / "summary.md").read_text() == comment
    assert "gift" not in comment  # no words of a query
    for inconclusive in ("pass", "fail"):
        ended = shell(project, commands["end"], CODE=str(code), INCONCLUSIVE=inconclusive)
        assert ended == (0 if (code, inconclusive) == (3, "pass") else code)
    upload = next(step for step in action["runs"]["steps"] if "upload" in step.get("uses", ""))
    assert (project / upload["with"]["path"]).is_dir() == (code != 2)


GH = """#!/bin/sh
echo "$@" >> {calls}
case "$*" in *--paginate*) cat {known} ;; esac
"""


@pytest.mark.parametrize("known", ["", "17\n23\n"])
def test_one_comment_a_pull_request(known: str, project: Path) -> None:
    calls = project / "calls.txt"
    (project / "known.txt").write_text(known)
    (project / "assay-comment.md").write_text("<!-- assay -->\n")
    gh = project / "bin" / "gh"
    gh.write_text(GH.format(calls=calls, known=project / "known.txt"))
    gh.chmod(0o755)
    assert shell(project, steps()[1]["post"], REPOSITORY="o/r", NUMBER="7") == 0
    asked, sent = calls.read_text().splitlines()
    assert "repos/o/r/issues/7/comments" in asked
    assert "body=@assay-comment.md" in sent
    wanted = "PATCH repos/o/r/issues/comments/23" if known else "POST repos/o/r/issues/7/comments"
    assert wanted in sent


def test_comments_that_cannot_be_listed_do_not_stop_the_job(project: Path) -> None:
    (project / "assay-comment.md").write_text("<!-- assay -->\n")
    calls, gh = project / "calls.txt", project / "bin" / "gh"
    gh.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexit 1\n')
    gh.chmod(0o755)
    assert shell(project, steps()[1]["post"], REPOSITORY="o/r", NUMBER="7") == 0
    assert len(calls.read_text().splitlines()) == 1, "no second comment beside the first"


def test_a_comment_says_what_broke_by_id_and_by_text(project: Path, assay_cli: Assay) -> None:
    configure(project, "minimum = 0.1")
    config = project / "assay.toml"
    config.write_text(config.read_text().replace("[engines", 'baseline = "base.json"\n[engines', 1))
    dataset, corpus = SAMPLE / "dataset.json", SAMPLE / "corpus.jsonl"
    score = ("score", "--dataset", dataset, "--engine", "bm25", "--corpus", corpus)
    assert assay_cli(*score, "-o", "base.json").code == 0
    config.write_text(config.read_text().replace('engine = "bm25"', 'engine = "random"'))
    assert assay_cli("run", "--comment", "c.md").code == 0
    assert assay_cli("run", "--comment", "t.md", "--texts").code == 0
    assert assay_cli("run", "--comment", "assay.toml").code == 2
    plain, worded = ((project / name).read_text() for name in ("c.md", "t.md"))
    assert "nDCG@10" in plain
    assert "; in `" in plain
    assert "; out `" in plain
    assert plain.count("- `") == 3
    assert len(worded) > len(plain)


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
