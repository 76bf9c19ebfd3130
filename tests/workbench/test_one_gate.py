"""The same gate has the same verdict on a golden and on a graded set, wherever it is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Assay

QUESTION = {"id": "q1", "category": "a", "must": True, "query": "gift limit", "k": 5}
ENGINE = "def search(query, top_k):\n    return [{'doc_id': 'a', 'score': 0.9}]\n"
CSV = "query_id,query,doc_id,grade\nq1,gift limit,a,1\n"


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    golden = [QUESTION | {"expected_any": [{"doc_id": "a"}]}]
    (tmp_path / "golden.json").write_text(json.dumps(golden))
    (tmp_path / "graded.csv").write_text(CSV)
    (tmp_path / "mine.py").write_text(ENGINE)
    return tmp_path


def configure(folder: Path, name: str, gate: str, baseline: str = "") -> None:
    gold = f'[gold.s]\npath = "{name}"\n' + (f'baseline = "{baseline}"\n' if baseline else "")
    (folder / "assay.toml").write_text(f'{gold}[engines.e]\nsearch_module = "mine"\n{gate}')


MEASURES = {"golden.json": "pass_rate_total", "graded.csv": "P@5"}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(
    ("demand", "status", "code"),
    [
        ("minimum = 0.1\nmin_queries = 1000", "INCONCLUSIVE", 3),
        ("min_queries = 1000", "INCONCLUSIVE", 3),
        ("min_queries = 1", "PASS", 0),
        ("max_drop = 0.1", "INCONCLUSIVE", 3),
        ("minimum = 0.1", "PASS", 0),
        ("maximum = 0.01", "FAIL", 1),
    ],
)
def test_one_gate_one_verdict(
    name: str, demand: str, status: str, code: int, assay_cli: Assay, sets: Path
) -> None:
    gate = f'[[gates]]\nmeasure = "{MEASURES[name]}"\n{demand}\n'
    configure(sets, name, gate)
    done = assay_cli("run")
    assert (done.code, status in done.out) == (code, True), done.out
    verdict = assay_cli("run", "--json").json[0]["verdict"]
    assert verdict["status"].upper() == status


@pytest.mark.parametrize("name", MEASURES)
def test_pytest_skips_what_cannot_be_told(name: str, sets: Path) -> None:
    gate = f'[[gates]]\nmeasure = "{MEASURES[name]}"\nmin_queries = 1000\n'
    configure(sets, name, gate)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "assay.toml", "--assay"]
    done = subprocess.run([*command, "-rs"], cwd=sets, capture_output=True, text=True)
    assert "1 skipped" in done.stdout, done.stdout
    assert "1000 needed" in done.stdout


def test_a_first_run_of_a_golden_set_passes_though_it_has_no_baseline(
    assay_cli: Assay, sets: Path
) -> None:
    score = ("score", "--dataset", "golden.json", "--search-module", "mine.py")
    first = assay_cli(*score)
    assert (first.code, "INCONCLUSIVE" in first.out) == (0, True)
    assert assay_cli(*score, "--update-baseline", "--by", "L", "--why", "first").code == 0
    again = assay_cli(*score, "--baseline", "baseline.json")
    assert (again.code, "INCONCLUSIVE" in again.out) == (0, False)
    grown = [QUESTION | {"expected_any": [{"doc_id": "a"}]}]
    (sets / "golden.json").write_text(json.dumps([*grown, {**grown[0], "id": "q2"}]))
    stale = assay_cli(*score, "--baseline", "baseline.json")
    assert (stale.code, "gates inconclusive: D" in stale.err) == (3, True)
    assert assay_cli(*score, "--update-baseline", "--by", "L", "--why", "it grew").code == 0


def test_gates_that_are_not_asked_for_any_more_leave_no_verdict(
    assay_cli: Assay, sets: Path
) -> None:
    configure(sets, "graded.csv", '[[gates]]\nmeasure = "P@5"\nminimum = 0.9\n')
    assert assay_cli("run").code == 1
    configure(sets, "graded.csv", "")
    done = assay_cli("run", "--json")
    assert (done.code, done.json[0]["verdict"], done.json[0]["cached"]) == (0, None, True)
