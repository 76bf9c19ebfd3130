"""The gold file as it follows from its log: what people edit in it wins and is recorded, and what
is only behind is written again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.gold.acts import Act
from assay.gold.log import Log
from kit import Project
from kit.sets import acts, log_of

AGREED = {("q1", "d1"): 2, ("q1", "d2"): 0, ("q2", "d4"): 1}
POLICIES = (("adjudicated",), ("majority",), ("latest",), ("senior", "--senior", "Ada"))
RULING = ("--rationale", "the chair says so", "--by", "Dora")


def label(project: Project, doc: str = "d1") -> dict[str, Any] | None:
    """The label of a document of q1, as the file has it."""
    rows = json.loads(project.graded.read_text())["queries"][0]["relevance_judgments"]
    return next((row for row in rows if row["opinion_id"] == doc), None)


def edit(project: Project, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the labels of q1 in the file, and nothing else."""
    content = json.loads(project.graded.read_text())
    change(content["queries"][0]["relevance_judgments"])
    project.graded.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def regrade(rows: list[dict[str, Any]]) -> None:
    rows[0] |= {"score": 0, "rationale": "after the appeal", "judge": "the chair", "source": "me"}


def delete(rows: list[dict[str, Any]]) -> None:
    del rows[0]


def edits(path: Path) -> list[list[tuple[str, bool, bool]]]:
    """The acts that record edits by hand: each row with whether it was there before and after."""
    return [
        [(row["row"] + row.get("doc", ""), "before" in row, "after" in row) for row in act["rows"]]
        for act in acts(path)
        if act["action"] == "edit"
    ]


def standing(project: Project) -> str:
    """What `assay doctor` says of how gold files stand to their logs."""
    with project.serve():
        pass  # the doctor looks at gold sets where there is a store
    return "\n".join(project.json("doctor")["gold"]["notes"])


# ── labels ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy[0])
def test_a_label_that_was_edited_by_hand_wins_and_stays_as_written(
    judged: Project, policy: tuple[str, ...]
) -> None:
    judged.do("gold", "policy", judged.graded, *policy)
    edit(judged, regrade)
    written = label(judged)
    assert "1 label edited by hand: q1 d1" in standing(judged)
    done = judged.do("gold", "merge", judged.graded, judged.packet("Cy", AGREED), "--unasked")
    assert "1 label edited by hand: q1 d1" in done.err
    assert label(judged) == written
    assert judged.labels() == AGREED | {("q1", "d1"): 0}
    assert edits(judged.graded) == [[("q1d1", True, True)]]
    assert len(judged.grades()["q1", "d1"]) == 3  # everybody's votes are still there
    # once is enough, and it stands also under another policy
    for other in POLICIES:
        told = judged.do("gold", "policy", judged.graded, *other)
        assert "by hand" not in told.err
        assert label(judged) == written
    assert len(edits(judged.graded)) == 1
    assert standing(judged) == ""


def test_a_label_that_was_edited_stands_until_somebody_rules(judged: Project) -> None:
    edit(judged, regrade)
    ruled = judged.do("gold", "adjudicate", judged.graded, "q1", "d1", "--grade", 1, *RULING)
    assert "1 label edited by hand: q1 d1" in ruled.err
    assert judged.labels()["q1", "d1"] == 1
    judged.do("gold", "merge", judged.graded)
    assert judged.labels()["q1", "d1"] == 1
    edit(judged, regrade)  # and an edit after the ruling wins again
    judged.do("gold", "merge", judged.graded)
    assert judged.labels()["q1", "d1"] == 0
    assert len(edits(judged.graded)) == 2


def test_an_edit_is_recorded_once_and_can_be_edited_again(judged: Project) -> None:
    before = judged.graded.read_bytes()
    for grade in (0, 1):
        edit(judged, lambda rows, grade=grade: rows[0].update(score=grade))  # type: ignore[misc]
        told = [judged.do("gold", "merge", judged.graded).err for _ in range(2)]
        assert ["by hand" in each for each in told] == [True, False]
        assert judged.labels()["q1", "d1"] == grade
    assert [len(one) for one in edits(judged.graded)] == [1, 1]
    # an old file that comes back, as from git, is behind: the last edit holds
    for command in (("rebuild", judged.graded), ("merge", judged.graded)):
        judged.graded.write_bytes(before)
        judged.do("gold", *command)
        assert judged.labels()["q1", "d1"] == 1
    assert [len(one) for one in edits(judged.graded)] == [1, 1]


def test_a_label_that_was_deleted_by_hand_stays_deleted(judged: Project) -> None:
    edit(judged, delete)
    done = judged.do("gold", "merge", judged.graded, judged.packet("Cy", AGREED), "--unasked")
    assert "1 label edited by hand: q1 d1" in done.err
    assert judged.labels() == {pair: n for pair, n in AGREED.items() if pair != ("q1", "d1")}
    assert edits(judged.graded) == [[("q1d1", True, False)]]
    for policy in POLICIES:
        judged.do("gold", "policy", judged.graded, *policy)
        assert label(judged) is None
    judged.do("gold", "policy", judged.graded, "adjudicated")
    judged.do("gold", "adjudicate", judged.graded, "q1", "d1", "--grade", 1, *RULING)
    assert judged.labels()["q1", "d1"] == 1


def test_a_label_that_was_added_by_hand_is_a_vote_of_nobody(judged: Project) -> None:
    new = {"opinion_id": "d3", "score": 1, "rationale": "found by hand"}
    edit(judged, lambda rows: rows.append(new))
    judged.do("gold", "merge", judged.graded)
    assert judged.labels() == AGREED | {("q1", "d3"): 1}
    assert (label(judged, "d3") or {})["rationale"] == "found by hand"
    assert judged.grades()["q1", "d3"] == {"imported": 1}


def test_a_file_that_is_an_older_projection_is_written_again(judged: Project) -> None:
    """As after a crash between the log and the file, or a checkout."""
    old = judged.graded.read_bytes()
    judged.do("gold", "adjudicate", judged.graded, "q1", "d1", "--grade", 1, *RULING)
    new = judged.graded.read_bytes()
    for behind in (old, json.dumps(json.loads(old), indent=4).encode()):  # also laid out otherwise
        judged.graded.write_bytes(behind)
        done = judged.do("gold", "merge", judged.graded)
        assert "by hand" not in done.err
        assert judged.labels() == AGREED | {("q1", "d1"): 1}
    judged.graded.write_bytes(old)
    rebuilt = judged.do("gold", "rebuild", judged.graded)
    assert "written again from its log" in rebuilt.err
    assert judged.graded.read_bytes() == new
    assert "nothing to do" in judged.do("gold", "rebuild", judged.graded).err
    assert edits(judged.graded) == []


def test_an_edit_in_an_older_file_wins_and_the_rest_is_written_again(judged: Project) -> None:
    old = judged.graded.read_bytes()
    judged.do("gold", "adjudicate", judged.graded, "q1", "d2", "--grade", 1, *RULING)
    judged.graded.write_bytes(old)
    edit(judged, regrade)
    done = judged.do("gold", "merge", judged.graded)
    assert "1 label edited by hand: q1 d1" in done.err
    assert judged.labels() == {("q1", "d1"): 0, ("q1", "d2"): 1, ("q2", "d4"): 1}


def test_edits_of_two_copies_wait_for_a_ruling(judged: Project) -> None:
    other = Project(shutil.copytree(judged.folder, judged.folder.with_name("copy")))
    for one, grade in ((judged, 0), (other, 1)):
        edit(one, lambda rows, grade=grade: rows[0].update(score=grade))  # type: ignore[misc]
        one.do("gold", "merge", one.graded)
    ours, theirs = (log_of(one.graded).read_text() for one in (judged, other))
    known = set(ours.splitlines())
    more = [line for line in theirs.splitlines() if line not in known]
    log_of(judged.graded).write_text(ours + "\n".join(more) + "\n")
    judged.do("gold", "merge", judged.graded)
    assert ("q1", "d1") not in judged.labels()
    (waits,) = judged.json("gold", "adjudicate", judged.graded)
    assert (waits["query_id"], waits["doc_id"]) == ("q1", "d1")
    judged.do("gold", "adjudicate", judged.graded, "q1", "d1", "--grade", 1, *RULING)
    assert judged.labels() == AGREED | {("q1", "d1"): 1}
    assert judged.json("gold", "adjudicate", judged.graded) == []


def test_labels_that_changed_twice_have_one_last_act(judged: Project) -> None:
    """Else an edit of one label would show the others as they were before the first change."""
    for time, grade in enumerate((1, 0, 1)):
        grades = {("q1", "d1"): grade, ("q1", "d2"): grade}
        for judge in ("Ada", "Ben"):
            packet = judged.packet(judge, grades, rationale=f"read {time} times")
            judged.do("gold", "merge", judged.graded, packet)
    labels = [act for act in acts(judged.graded) if act["action"] == "label"]
    assert all(act["supersedes"] for act in labels[1:])
    edit(judged, lambda rows: rows[0].update(score=2))
    assert "1 label edited by hand: q1 d1" in standing(judged)
    judged.do("gold", "merge", judged.graded)
    assert judged.labels() == {("q1", "d1"): 2, ("q1", "d2"): 1, ("q2", "d4"): 1}
    assert edits(judged.graded) == [[("q1d1", True, True)]]
    edit(judged, lambda rows: rows.pop())
    judged.do("gold", "merge", judged.graded)
    assert judged.labels() == {("q1", "d1"): 2, ("q2", "d4"): 1}
    assert edits(judged.graded)[1:] == [[("q1d2", True, False)]]


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def reviewed(project: Project) -> Project:
    """A gold-set.jsonl with a comment, a blank line and a key that is not ours; g001 is
    approved."""
    project.bootstrap()
    first, *rest = project.gold.read_text().splitlines(keepends=True)
    kept = first.replace("}", ', "house": {"n": 1.50}}')
    project.gold.write_text("".join(["// ours\n", kept, "\n", *rest]))
    approve(project, "g001")
    return project


def approve(project: Project, *refs: str) -> None:
    with project.serve() as server:
        chair = server.visitor("Dafna")
        for ref in refs:
            chair.approve(ref, reason="it is right")


def replace(project: Project, old: str, new: str) -> None:
    text = project.gold.read_text()
    assert old in text
    project.gold.write_text(text.replace(old, new))


def test_what_is_not_ours_stays_byte_for_byte(reviewed: Project) -> None:
    lines = reviewed.gold.read_text().splitlines()
    assert (lines[0], lines[2]) == ("// ours", "")
    assert '"house":{"n": 1.50}' in lines[1]
    assert reviewed.sources() == {"g001": "chair", "g002": "bootstrap", "g003": "bootstrap"}


def test_a_row_that_was_edited_by_hand_stays_as_written(reviewed: Project) -> None:
    replace(reviewed, '"query":"first"', '"query":  "the first question"')
    line = reviewed.gold.read_text().splitlines()[1]
    approve(reviewed, "g002")
    assert reviewed.gold.read_text().splitlines()[1] == line
    assert reviewed.sources()["g002"] == "chair"
    assert edits(reviewed.gold)[-1] == [("g001", True, True)]
    count = len(edits(reviewed.gold))
    approve(reviewed, "g003")
    assert len(edits(reviewed.gold)) == count


def test_an_edit_by_hand_and_an_older_file_are_told_once(
    reviewed: Project, caplog: pytest.LogCaptureFixture
) -> None:
    def said(ref: str) -> list[str]:
        caplog.clear()
        approve(reviewed, ref)
        return [each.getMessage() for each in caplog.records if each.name == "assay.gold"]

    old = reviewed.gold.read_text()
    assert said("g002") == []
    replace(reviewed, '"query":"first"', '"query":"the first question"')
    (told,) = said("g003")
    assert told.endswith("1 row edited by hand: g001. The log has it now")
    reviewed.gold.write_text(old)
    caplog.clear()
    reviewed.do("gold", "rebuild", reviewed.gold)
    assert not [each for each in caplog.records if "behind" in each.getMessage()]


def test_a_decision_on_a_file_that_is_behind_says_so(
    reviewed: Project, caplog: pytest.LogCaptureFixture
) -> None:
    old = reviewed.gold.read_text()
    approve(reviewed, "g002")
    reviewed.gold.write_text(old)
    approve(reviewed, "g003")
    assert "was behind its log and is written again" in caplog.text
    assert reviewed.sources() == {"g001": "chair", "g002": "chair", "g003": "chair"}


def test_a_file_that_is_saved_during_a_decision_keeps_both(
    reviewed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, old = Log.append, reviewed.gold.read_text()

    def append_and_save(self: Log, given: Sequence[Act]) -> None:
        append(self, given)
        monkeypatch.setattr(Log, "append", append)
        reviewed.gold.write_text(old.replace('"query":"first"', '"query":"by hand"'))

    monkeypatch.setattr(Log, "append", append_and_save)
    approve(reviewed, "g002")
    assert '"query":"by hand"' in reviewed.gold.read_text()
    assert reviewed.sources() == {"g001": "chair", "g002": "chair", "g003": "bootstrap"}
    assert edits(reviewed.gold)[-1] == [("g001", True, True)]


def test_a_row_that_was_deleted_by_hand_stays_deleted(reviewed: Project) -> None:
    lines = reviewed.gold.read_text().splitlines(keepends=True)
    reviewed.gold.write_text("".join(line for line in lines if '"g002"' not in line))
    approve(reviewed, "g003")
    assert reviewed.sources() == {"g001": "chair", "g003": "chair"}
    assert edits(reviewed.gold)[-1] == [("g002", True, False)]


def test_spacing_and_the_order_of_keys_are_no_edit(reviewed: Project) -> None:
    lines = reviewed.gold.read_text().splitlines()
    row = json.loads(lines[1])
    lines[1] = json.dumps(dict(reversed(row.items())), indent=None)
    reviewed.gold.write_text("\n".join(lines) + "\n")
    count = len(edits(reviewed.gold))
    approve(reviewed, "g002")
    assert reviewed.gold.read_text().splitlines()[1] == lines[1]
    assert len(edits(reviewed.gold)) == count
