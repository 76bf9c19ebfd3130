"""The documentation says what the program does: examples are run, generated parts are compared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay import __version__
from assay.core.results_file import file_schema

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
REFERENCE = re.findall(r'"(reference/[\w-]+\.md)":', (ROOT / "tools/site/reference.py").read_text())
ASSAY = str(Path(sys.executable).with_name("assay"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def without_timing(text: str) -> str:
    return re.sub(r"; latency .* ms\.", ".", re.sub(r" +$", "", text.strip(), flags=re.MULTILINE))


def test_readme_shows_the_real_scorecard() -> None:
    shown = next(block for block in blocks("") if block.startswith("$ assay score"))
    command, _, expected = shown.partition("\n")
    done = subprocess.run(
        [ASSAY, *command.split()[2:]], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert without_timing(done.stdout) == without_timing(expected)


def test_readme_python_example() -> None:
    """Each line says what it gives, where it has a comment with a value."""
    code = next(block for block in blocks("python") if "assay.evaluate(" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    value = re.search(r'scores\["nDCG@10"\]  # ([0-9.]+?)\.\.\.', code)
    verdict = re.search(r"verdict  # '(.*)'", code)
    assert value
    assert verdict
    assert names["scores"]["nDCG@10"] == pytest.approx(float(value[1]), abs=1e-3)
    assert names["assay"].compare(names["scores"], names["scores"]).verdict == verdict[1]


@pytest.mark.parametrize(
    "page",
    [
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "research").rglob("*.md")),
        ROOT / "README.md",
    ],
    ids=lambda p: p.name,
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).resolve().exists(), target


def test_every_page_of_the_reference_has_a_row_that_links_reach_in_a_checkout() -> None:
    rows = re.findall(r'<a id="([\w-]+)">', (DOCS / "reference" / "index.md").read_text())
    assert {f"reference/{row}.md" for row in rows} == set(REFERENCE)
    for page in DOCS.rglob("*.md"):
        for row in re.findall(r"reference/index\.md#([\w-]+)", page.read_text()):
            assert row in rows, f"{page}: {row}"


def test_the_tests_that_are_named_are_there() -> None:
    table = (ROOT / "docs" / "measured" / "log-path-tests.csv").read_text()
    named = re.findall(r"\b(\w+/?\w*\.py)::(\w+)", table)
    assert len(named) > 30
    for path, name in named:
        assert f"def {name}(" in (ROOT / "tests" / path).read_text(), f"{path}::{name}"


def test_version_is_the_projects() -> None:
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_the_published_schema_is_the_types() -> None:
    schema = msgspec.json.decode((ROOT / "docs" / "results.schema.json").read_bytes())
    assert schema == file_schema(), "write it again with `make schema`"


def test_the_package_of_the_extending_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are written as printed and installed; its tests pass, and its plugins load."""
    page = (ROOT / "docs" / "extending.md").read_text()
    installed = tmp_path / "court_tools-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: court-tools\nVersion: 1.0\n")
    (toml,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    groups = tomllib.loads(toml)["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in groups.items()
    ]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    for code in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        name = re.match(r"# (\w+\.py)\n", code)
        assert name, code
        (tmp_path / name[1]).write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_court_tools.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    command = [sys.executable, "-m", "assay", "plugins", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    theirs = [row for row in json.loads(done.stdout) if row["origin"] == "court-tools 1.0"]
    assert {row["status"] for row in theirs} == {"ok"}, theirs
    assert len(theirs) == sum(map(len, groups.values()))


def test_the_golden_example_in_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed, with the sample in the place of the files it names."""
    page = (ROOT / "docs" / "golden.md").read_text().split("## In Python")[1]
    block = re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert block
    answers = ROOT / "tests" / "fixtures" / "results-0.1" / "fi-small.json"
    (tmp_path / "kuntalaki_eval_results.json").write_bytes(answers.read_bytes())
    (tmp_path / "eval").mkdir()
    questions = (ROOT / "samples" / "fi" / "questions_golden.json").read_bytes()
    (tmp_path / "eval" / "questions_kuntalaki_golden.json").write_bytes(questions)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(block[1], names)
    assert 0 < names["results"].overall["pass_rate_must"] <= 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_what_a_page_imports_is_there(page: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        for line in re.findall(r"^(?:from|import) assay.*$", block, flags=re.MULTILINE):
            exec(line, {})
