"""A log that lost lines never takes rows out of a gold-set.jsonl, and never undoes a decision."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kit import Project

SAMPLE = Path(__file__).parents[2] / "samples" / "he" / "gold-set.jsonl"


@pytest.fixture
def decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The Hebrew sample with two approvals and a rejection."""
    for name in ("ASSAY_HOME", "ASSAY_STORE"):
        monkeypatch.delenv(name, raising=False)
    shutil.copy(SAMPLE, tmp_path / "gold-set.jsonl")
    project = Project(tmp_path)
    project.do("gold", "promote", "g002", "g004", "--by", "Dana")
    project.do("gold", "reject", "g006", "--by", "Dana", "--why", "no")
    return project


@pytest.mark.parametrize("line", [0, 1, 2])
@pytest.mark.parametrize("how", ["damaged", "gone"])
def test_lines_that_are_lost_cost_no_row(decided: Project, line: int, how: str) -> None:
    """The file keeps what it has, whatever of its log is left, and the next decision works."""
    log = decided.folder / "gold-set.log.jsonl"
    lines = log.read_text("utf-8").splitlines(keepends=True)
    lines[line] = "" if how == "gone" else lines[line].replace('"v":1', '"v":1,,', 1)
    log.write_text("".join(lines), "utf-8")
    before = decided.rows()
    decided.do("gold", "correct", "g008", "--by", "Eli", "--why", "z", "--note", "z")
    after = decided.rows()
    assert set(after) >= set(before) - {"g006"}
    if how == "damaged":
        assert {id: row for id, row in after.items() if id != "g008"} == {
            id: row for id, row in before.items() if id != "g008"
        }
    assert after["g008"]["note"] == "z"


def test_a_cut_last_line_is_reported_before_anything_is_appended(decided: Project) -> None:
    """The rejection is in the file and no longer in the log: nobody deleted its row by hand."""
    log = decided.folder / "gold-set.log.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    gold = json.loads(decided.run("doctor", "--json").out)["gold"]
    assert "1 damaged line" in str(gold["damaged"])
    assert "1 row differs from the log, which has damaged lines" in str(gold["notes"])
    before = decided.rows()
    decided.do("gold", "correct", "g008", "--by", "Eli", "--why", "z", "--note", "z")
    assert set(decided.rows()) >= set(before)


def test_a_missing_file_is_rebuilt_from_its_log(decided: Project) -> None:
    """With the decisions that the log has."""
    before = decided.rows()
    decided.gold.unlink()
    decided.do("gold", "rebuild", "gold-set.jsonl")
    assert decided.rows() == before


def test_disputed_rows_are_named_by_rebuild(decided: Project) -> None:
    """Two decisions that do not know each other, from two copies."""
    log = decided.folder / "gold-set.log.jsonl"
    acts = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    reject = acts[-1] | {"id": "from-another-copy", "action": "reject", "votes": []}
    (row,) = [change for change in acts[1]["rows"] if change["row"] == "g002"]
    reject["rows"] = [row | {"after": None}]
    reject["supersedes"] = acts[1]["supersedes"]
    with log.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(reject, ensure_ascii=False) + "\n")
    outcome = decided.run("gold", "rebuild", "gold-set.jsonl")
    assert "g002 was decided differently in two copies" in outcome.err + outcome.out
