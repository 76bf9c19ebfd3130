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


def test_exported_votes_say_what_they_leave_out(decided: Project) -> None:
    outcome = decided.run("gold", "export-votes", "gold-set.jsonl")
    assert outcome.code == 0, outcome.err
    assert "2 other acts stay in the log only" in outcome.err


def test_validate_warns_of_edits_and_damage(decided: Project) -> None:
    text = decided.gold.read_text("utf-8")
    decided.gold.write_text(text.replace('"g004"', '"g0044"'), "utf-8")
    outcome = decided.run("gold", "validate", "gold-set.jsonl")
    assert "edited by hand" in outcome.err
    decided.gold.write_text(text, "utf-8")
    damage_last_line(decided)
    assert "1 damaged line, skipped: 3" in decided.run("gold", "validate", "gold-set.jsonl").err


def test_a_project_that_only_judges_needs_no_engine(decided: Project) -> None:
    (decided.folder / "assay.toml").write_text('[gold.he]\npath = "gold-set.jsonl"\n', "utf-8")
    decided.do("gold", "promote", "g008", "--by", "Eli")
    assert "[engines.NAME]" in decided.fail("run")


def damage_last_line(project: Project) -> None:
    log = project.folder / "gold-set.log.jsonl"
    *lines, last = log.read_text("utf-8").splitlines(keepends=True)
    log.write_text("".join([*lines, last.replace('"v":1', '"v":1,,', 1)]), "utf-8")


def test_a_reopened_row_stays_where_the_line_that_reopened_it_is_damaged(decided: Project) -> None:
    decided.do("gold", "reopen", "g006", "--by", "Dana")
    before = decided.rows()["g006"]
    damage_last_line(decided)
    decided.do("gold", "promote", "g008", "--by", "Eli")
    assert decided.rows()["g006"] == before


def test_an_undone_approval_stays_undone_where_its_line_is_damaged(decided: Project) -> None:
    with decided.serve() as server:
        chair = server.visitor("Dana")
        (item,) = [one for one in chair.items() if one["ref"] == "g002"]
        assert chair.post("/api/review/undo", json={"ids": [item["id"]]}).status_code == 200
    assert decided.rows()["g002"]["source"] == "bootstrap"
    damage_last_line(decided)
    decided.do("gold", "rebuild", "gold-set.jsonl")
    assert decided.rows()["g002"]["source"] == "bootstrap"


def test_a_newer_format_with_other_values_stops_writing(decided: Project) -> None:
    log = decided.folder / "gold-set.log.jsonl"
    with log.open("a", encoding="utf-8") as stream:
        stream.write('{"v":2,"id":"n","at":{"t":1},"who":["p-1"],"kind":0,"action":9}\n')
    before = log.read_bytes(), decided.gold.read_bytes()
    said = decided.fail("gold", "promote", "g008", "--by", "Eli")
    assert "the log has lines of format 2" in said
    assert (log.read_bytes(), decided.gold.read_bytes()) == before


def test_a_renamed_set_keeps_its_log_to_itself(decided: Project) -> None:
    """Another kind of set with the new stem would mix its labels into the rows."""
    for ending in ("jsonl", "log.jsonl"):
        (decided.folder / f"gold-set.{ending}").rename(decided.folder / f"new.{ending}")
    labels = [{"id": "g002", "text": "q", "relevance_judgments": []}]
    (decided.folder / "new.json").write_text(json.dumps({"queries": labels}), "utf-8")
    ruling = ("--grade", 1, "--rationale", "It decides the point.", "--by", "Dana")
    said = decided.fail("gold", "adjudicate", "new.json", "g002", "d1", *ruling)
    assert "new.log.jsonl is the log of new.jsonl" in said


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
