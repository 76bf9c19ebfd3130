"""What `import assay` gives."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", assay.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(assay, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        assay.nonsense  # noqa: B018


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert assay.__version__ == project["version"]


def test_evaluate_is_the_function_whatever_was_imported_before() -> None:
    code = (
        "import assay.workbench, assay.evaluation; from assay import evaluate; "
        "print(callable(evaluate))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "True\n"
    )


def test_ten_lines_score_an_engine_from_python() -> None:
    """The Python way in: dicts of scores and grades."""
    sheet = assay.evaluate({"q1": {"A": 2.0, "B": 1.0}}, {"q1": {"B": 2}}, ["RR(rel=2)", "nDCG@10"])
    assert sheet.overall.means["RR(rel=2)"] == 0.5
    assert sheet.score("q1", "RR(rel=2)").value == 0.5


def test_an_engine_class_needs_search_alone() -> None:
    class Mine(assay.SearchEngine):
        def search(self, query: str, top_k: int = 20) -> list[str]:
            return []

    assert Mine().name() == "Mine"
    with pytest.raises(TypeError, match="abstract"):
        assay.SearchEngine()  # type: ignore[abstract]
