"""The log of a set: damaged lines, newer formats, retries, lines of two copies, and names."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay.formats import gold_jsonl
from assay.workbench.judging import votes_to_labels
from kit import Project
from kit.sets import acts, log_of

AGREED = {("q1", "d1"): 2, ("q1", "d2"): 0, ("q2", "d4"): 1}
WHY = "the limit covers tickets"
DAMAGE = {
    "half a line": b'{"v":1,"id":"x1","at":"2026-01-01","who":"p-0',
    "no JSON": b"<<<<<<< HEAD",
    "no text": b'{"v":1,"id":"\xff\xfe"}',
    "another value": b"[1, 2]",
    "a key of another type": b'{"v":1,"id":7,"at":"","who":"","kind":"human","action":"vote"}',
    "zeros": b"\0" * 64,
    "too deep": b"[" * 5_000,
}


def ids(project: Project) -> list[str]:
    return [act["id"] for act in acts(project.graded)]


def merge(project: Project, judge: str, grades: dict[tuple[str, str], Any], **row: Any) -> Any:
    packet = project.packet(judge, grades, **row)
    return project.json("gold", "merge", project.graded, packet, "--unasked")


def damaged(project: Project) -> str:
    """What `assay doctor` says of lines that cannot be read."""
    with project.serve():
        pass  # the doctor looks at gold sets where there is a store
    found = project.run("doctor", "--json")
    said = found.json["gold"]
    assert (found.code, said["status"]) == ((4, "failed") if said["damaged"] else (0, "ok"))
    return "\n".join(said["damaged"])


# ── lines that cannot be read ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
@pytest.mark.parametrize("place", [0, 3, -1], ids=["first", "middle", "last"])
def test_a_damaged_line_is_skipped_counted_and_left(
    judged: Project, damage: bytes, place: int
) -> None:
    log = log_of(judged.graded)
    lines = log.read_bytes().splitlines(keepends=True)
    at = place % (len(lines) + 1)
    log.write_bytes(b"".join([*lines[:at], damage + b"\n", *lines[at:]]))
    before = log.read_bytes()
    assert f"1 damaged line, skipped: {at + 1}" in damaged(judged)
    assert judged.grades() == {pair: {"Ada": n, "Ben": n} for pair, n in AGREED.items()}
    assert log.read_bytes() == before
    assert merge(judged, "Cy", AGREED)["added"] == 3
    assert log.read_bytes().startswith(before)
    assert judged.labels() == AGREED
    assert all(len(said) == 3 for said in judged.grades().values())


def test_several_damaged_lines_are_all_counted(judged: Project) -> None:
    log = log_of(judged.graded)
    lines = [part + b"\n" for line in log.read_bytes().splitlines() for part in (line, b"{")]
    log.write_bytes(b"".join(lines))
    assert f"{len(lines) // 2} damaged lines" in damaged(judged)
    assert judged.grades() == {pair: {"Ada": n, "Ben": n} for pair, n in AGREED.items()}


@pytest.mark.parametrize("whole", [True, False])
def test_a_last_line_without_its_end_gets_one_before_the_next(judged: Project, whole: bool) -> None:
    """It is read where it is whole; where it was cut it is set aside, and nothing else is."""
    log = log_of(judged.graded)
    given = {**AGREED, ("q3", "d3"): 1}
    judged.do("gold", "merge", judged.graded, judged.packet("Ada", given), "--unasked")
    known = ids(judged)
    content = log.read_bytes().removesuffix(b"\n")
    log.write_bytes(content if whole else content[:-20])
    assert merge(judged, "Cy", AGREED)["added"] == 3
    lines = log.read_bytes().splitlines()
    assert log.read_bytes().startswith((content if whole else content[:-20]) + b"\n")
    assert ids(judged)[: len(known) - 1] == known[:-1]
    assert (known[-1] in ids(judged)) == whole
    assert damaged(judged).endswith("" if whole else f"skipped: {len(known)}")
    assert bool(damaged(judged)) != whole
    assert len(lines) == len(set(lines))


# ── lines of a newer version ──────────────────────────────────────────────────────────────────────


def test_a_line_of_a_newer_format_stops_writing(judged: Project) -> None:
    log = log_of(judged.graded)
    newer = {"v": 2, "id": "n1", "at": "2030-01-01", "who": "x", "kind": "human", "action": "vote"}
    newer |= {"subject": {"query": "q1", "doc": "d1"}, "grade": 0}
    log.write_bytes(log.read_bytes() + json.dumps(newer).encode() + b"\n")
    before = log.read_bytes(), judged.graded.read_bytes()
    packet = judged.packet("Ada", {("q1", "d1"): 0})
    ruling = ("q1", "d1", "--grade", 1, "--rationale", "so", "--by", "Dora")
    for asked in (("merge", judged.graded, packet), ("adjudicate", judged.graded, *ruling)):
        said = judged.fail("gold", *asked)
        assert "the log has lines of format 2, and this Assay writes 1" in said
        assert "Upgrade Assay. Nothing was written." in said
    with judged.serve() as server:
        ada = server.visitor("Ada")
        vote = {"id": "vote-0001", "set": "dataset", "query_id": "q1", "doc_id": "d1", "grade": 0}
        assert "format 2" in ada.refused("/api/votes", **vote, rationale="it names the limit")
    assert judged.grades()["q1", "d1"] == {"Ada": 2, "Ben": 2}  # the rest is read
    assert (log.read_bytes(), judged.graded.read_bytes()) == before
    found = judged.run("doctor", "--json")
    assert found.code == 4
    assert "lines of a newer Assay" in found.json["gold"]["unreadable"][0]


def test_what_this_version_does_not_know_is_kept(judged: Project) -> None:
    """An action and keys of this format that mean nothing here."""
    log = log_of(judged.graded)
    line = {"v": 1, "id": "n1", "at": "2030-01-01", "who": "x", "kind": "robot", "action": "hum"}
    more = {"subject": {"sentence": "s"}, "tune": [1, {"a": None}], "more": {"b": 2}}
    log.write_bytes(log.read_bytes() + json.dumps(line | more).encode() + b"\n")
    before = log.read_bytes()
    assert merge(judged, "Cy", AGREED)["added"] == 3
    assert log.read_bytes().startswith(before)
    assert judged.labels() == AGREED
    assert damaged(judged) == ""


# ── the same act twice ────────────────────────────────────────────────────────────────────────────


def test_a_line_that_is_there_twice_counts_once(judged: Project) -> None:
    log = log_of(judged.graded)
    agreement = judged.json("gold", "agreement", judged.graded)
    log.write_bytes(log.read_bytes() * 2)
    assert judged.json("gold", "agreement", judged.graded) == agreement
    again = judged.json("gold", "merge", judged.graded)
    assert (again["votes"], again["changed"], again["open"]) == (6, [], 0)


@pytest.mark.parametrize("subject", [{}, {"query": "q1"}, {"doc": "d1"}])
def test_a_forged_vote_on_no_pair_is_set_aside(judged: Project, subject: dict[str, str]) -> None:
    log, grades = log_of(judged.graded), judged.grades()
    first = next(act for act in acts(judged.graded) if act["action"] == "vote")
    log.write_bytes(log.read_bytes() + json.dumps({**first, "subject": subject}).encode() + b"\n")
    assert "1 damaged line" in damaged(judged)
    assert judged.grades() == grades


@pytest.mark.parametrize("early", [False, True], ids=["at the end", "superseded early"])
def test_a_line_with_the_id_of_another_is_set_aside(judged: Project, early: bool) -> None:
    """The first counts, by whatever way the log is read; the forged one is reported."""
    log = log_of(judged.graded)
    agreement = judged.json("gold", "agreement", judged.graded)
    first = next(act for act in acts(judged.graded) if act["action"] == "vote")
    forged = [{**first, "grade": 0 if first["grade"] else 3}]
    if early:  # it is read in the order of what replaces what
        forged += [
            {**first, "id": "x1", "supersedes": ["x2"], "subject": {"query": "q", "doc": "d"}}
        ]
        forged += [{**forged[1], "id": "x2", "supersedes": []}]
    text = "".join(json.dumps(act) + "\n" for act in forged)
    log.write_bytes(log.read_bytes() + text.encode())
    assert "1 damaged line" in damaged(judged)
    said = {pair: each for pair, each in judged.grades().items() if pair in AGREED}
    assert said == {pair: {"Ada": n, "Ben": n} for pair, n in AGREED.items()}
    assert early or judged.json("gold", "agreement", judged.graded) == agreement


def test_a_folder_that_became_read_only_refuses_votes_until_it_is_not(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a remount under a server: no lock can be made beside the set."""
    vote = {"id": "vote-0001", "set": "dataset", "query_id": "q1", "doc_id": "d1", "grade": 1}
    vote |= {"rationale": "it names the limit"}

    def read_only(*_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with project.serve() as server:
        ada = server.visitor("Ada")
        with monkeypatch.context() as now:
            now.setattr(gold_jsonl, "_try_lock", read_only)
            answer = ada.client.post("/api/votes", json=vote)
        assert answer.status_code == 503
        said = answer.json()["error"].split("\n")[0]
        assert said == "dataset.json: cannot write: read-only file system"
        assert ada.client.post("/api/votes", json=vote).status_code == 200


def test_a_vote_that_is_sent_again_is_the_same_act(project: Project) -> None:
    vote = {"id": "vote-0001", "why": "it names the limit"}
    with project.serve() as server:
        ada = server.visitor("Ada")
        first = ada.vote("dataset", "q1", "d1", 2, **vote)
        lines = log_of(project.graded).read_bytes()
        again = ada.vote("dataset", "q1", "d1", 2, **vote)
        assert (first.pop("already"), again.pop("already")) == (False, True)
        assert again == first
        assert log_of(project.graded).read_bytes() == lines
        other = {"set": "dataset", "query_id": "q1", "doc_id": "d1", "grade": 0, "rationale": "no"}
        assert "belongs to another vote" in ada.refused("/api/votes", id="vote-0001", **other)
    with project.serve() as server:  # also by another server, that only has the file
        server.visitor("Ada").vote("dataset", "q1", "d1", 2, **vote)
    assert log_of(project.graded).read_bytes() == lines
    assert ids(project).count("vote-0001") == 1


# ── two copies of a project ───────────────────────────────────────────────────────────────────────


def joined(project: Project, other: Project) -> None:
    """Take the lines of another copy, as git does with merge=union; also of people.toml."""
    for name in ("dataset.log.jsonl", "people.toml"):
        ours, theirs = ((one.folder / name).read_text() for one in (project, other))
        known = set(ours.splitlines())
        more = [line for line in theirs.splitlines(keepends=True) if line.strip() not in known]
        (project.folder / name).write_text(ours + "".join(more))


def copied(project: Project) -> Project:
    return Project(shutil.copytree(project.folder, project.folder.with_name("copy")))


@pytest.mark.parametrize("met", [True, False], ids=["known judge", "new judge"])
def test_a_judge_who_said_two_things_in_two_copies_waits_for_a_ruling(
    judged: Project, met: bool
) -> None:
    """Also where both copies met the judge for the first time, and gave her two ids."""
    judge = "Ada" if met else "Cy"
    other = copied(judged)
    merge(judged, judge, {("q1", "d1"): 1, ("q1", "d2"): 1})
    merge(other, judge, {("q1", "d1"): 0, ("q1", "d2"): 1})
    joined(judged, other)
    said = [("Ben", 2), (judge, 0), (judge, 1)] if met else [("Ada", 2), ("Ben", 2)]
    said += [] if met else [(judge, 0), (judge, 1)]
    found = judged.waiting()
    assert found["q1", "d1"] == sorted(said)
    # without a difference nothing is in dispute about the judge
    assert met == (("q1", "d2") in found)  # Ada and Ben differ
    done = judged.json("gold", "merge", judged.graded)
    assert ("q1", "d1") not in judged.labels()
    assert done["open"] == len(found)
    why = ("--grade", 1, "--rationale", "both read it", "--by", "Dora")
    judged.do("gold", "adjudicate", judged.graded, "q1", "d1", *why)
    assert ("q1", "d1") not in judged.waiting()
    assert judged.labels()["q1", "d1"] == 1


def test_the_next_vote_of_the_judge_settles_it(judged: Project) -> None:
    other = copied(judged)
    merge(judged, "Ada", {("q1", "d1"): 1})
    merge(other, "Ada", {("q1", "d1"): 0})
    joined(judged, other)
    assert ("q1", "d1") in judged.waiting()
    merge(judged, "Ada", {("q1", "d1"): 2}, rationale="read once more")
    assert judged.waiting() == {}
    assert judged.labels() == AGREED
    last = next(act for act in reversed(acts(judged.graded)) if act["action"] == "vote")
    assert len(last["supersedes"]) == 2


def test_the_order_of_lines_decides_nothing(judged: Project) -> None:
    """A union may put an act before what it supersedes."""
    merge(judged, "Ada", {("q1", "d1"): 1}, rationale="again")
    merge(judged, "Ada", {("q1", "d1"): 0}, rationale="and again")
    with judged.serve() as server:
        ada = server.visitor("Ada")
        ada.vote("dataset", "q1", "d2", None, withdrawn=True)
    expected = judged.grades()
    assert expected["q1", "d1"] == {"Ada": 0, "Ben": 2}
    log = log_of(judged.graded)
    log.write_bytes(b"".join(reversed(log.read_bytes().splitlines(keepends=True))))
    assert judged.grades() == expected
    assert merge(judged, "Ada", {("q1", "d1"): 2}, rationale="at last")["added"] == 1
    assert judged.grades()["q1", "d1"] == {"Ada": 2, "Ben": 2}


# ── disks ─────────────────────────────────────────────────────────────────────────────────────────

FULL = """
import resource, sys
from assay.cli import main
sys.dont_write_bytecode = True  # or a compiled module is cut off too, for good
limit = int(sys.argv.pop())
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
main()
"""


def test_what_does_not_fit_is_not_half_written(judged: Project) -> None:
    log = log_of(judged.graded)
    pairs = [(query, f"d{n}") for query in ("q1", "q2", "q3") for n in range(1, 6)]
    packet = judged.packet("Cy", dict.fromkeys(pairs, 1), rationale="so " * 999)
    before = log.read_bytes(), judged.graded.read_bytes()
    asked = ["gold", "merge", str(judged.graded), str(packet), "--unasked"]
    done = subprocess.run(
        [sys.executable, "-c", FULL, *asked, str(len(before[0]) + 4096)],
        capture_output=True,
        text=True,
        cwd=judged.folder,
    )
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "Nothing was changed" in done.stderr
    assert (log.read_bytes(), judged.graded.read_bytes()) == before
    judged.do(*asked)


# ── whose log it is ───────────────────────────────────────────────────────────────────────────────


def test_two_sets_of_one_stem_in_a_folder_are_refused(judged: Project) -> None:
    judged.do("gold", "convert", judged.graded, "dataset.csv")
    before = log_of(judged.graded).read_bytes()
    packet = judged.packet("Cy", {("q1", "d1"): 0})
    said = judged.fail("gold", "merge", "dataset.csv", packet, "--unasked")
    assert "dataset.log.jsonl is the log of dataset.json" in said
    assert "Rename one." in said
    assert log_of(judged.graded).read_bytes() == before
    judged.graded.unlink()  # the set goes on as a table, with its log
    judged.do("gold", "merge", "dataset.csv", packet, "--unasked")


def test_the_log_of_a_link_lies_beside_the_set_itself(judged: Project) -> None:
    link = judged.folder.with_name("link.json")
    link.symlink_to(judged.graded)
    judged.do("gold", "merge", link, judged.packet("Cy", AGREED))
    assert not list(link.parent.glob("link.*.jsonl"))
    assert len(judged.grades()["q1", "d1"]) == 3


# ── people ────────────────────────────────────────────────────────────────────────────────────────


def test_logs_and_labels_have_ids_of_people_and_names_of_machines(judged: Project) -> None:
    merge(judged, "model-1", AGREED, kind="machine")
    text = log_of(judged.graded).read_text() + judged.graded.read_text()
    names = tomllib.loads((judged.folder / "people.toml").read_text())
    assert sorted(names.values()) == ["Ada", "Ben"]
    written = re.sub(r'"rationale": ?"[^"]*"', "", text)  # what people write is theirs
    assert not re.search(r"Ada|Ben", written)
    assert all(id in written for id in names)
    assert '"who":"model-1"' in written


def test_a_person_is_renamed_and_erased_in_one_file(judged: Project) -> None:
    people, log = judged.folder / "people.toml", log_of(judged.graded)
    before = log.read_bytes(), judged.graded.read_bytes()
    people.write_text(people.read_text().replace('"Ada"', '"Ada Byron"'))
    assert judged.grades()["q1", "d1"] == {"Ada Byron": 2, "Ben": 2}
    (id,) = (id for id, name in tomllib.loads(people.read_text()).items() if name == "Ben")
    with judged.serve() as server:  # a server that runs sees it too
        server.visitor("Ada Byron")
        kept = [line for line in people.read_text().splitlines() if not line.startswith(id)]
        people.write_text("\n".join(kept) + "\n")
        assert judged.grades()["q1", "d1"] == {"Ada Byron": 2, id: 2}
    assert (log.read_bytes(), judged.graded.read_bytes()) == before
    # the judgments stay hers under the new name
    assert merge(judged, "Ada Byron", {("q1", "d1"): 1}, rationale="again")["judges"] == {
        "Ada Byron": 1
    }
    assert judged.grades()["q1", "d1"] == {"Ada Byron": 1, id: 2}


def test_a_file_of_people_that_cannot_be_read_says_so(judged: Project) -> None:
    people = judged.folder / "people.toml"
    people.write_text(people.read_text() * 2)  # a union that kept a line twice
    said = judged.fail("gold", "merge", judged.graded)
    assert "people.toml" in said
    assert "keep one line" in said


def test_sets_of_a_project_share_its_people(judged: Project) -> None:
    folder = judged.folder / "more"
    folder.mkdir()
    shutil.copy(judged.graded, folder / "other.json")
    content = json.loads((folder / "other.json").read_text())
    for query in content["queries"]:
        query.pop("relevance_judgments", None)
    content.pop("labels")
    (folder / "other.json").write_text(json.dumps(content))
    before = (judged.folder / "people.toml").read_bytes()
    judged.do("gold", "merge", folder / "other.json", judged.packet("Ada", AGREED))
    assert (judged.folder / "people.toml").read_bytes() == before
    assert not (folder / "people.toml").exists()
    assert Path(folder / "other.log.jsonl").exists()


# ── times ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("at", ["spring 2019", "2019", "2019-05-01T12:00:00+03:00"])
def test_a_judge_can_change_a_label_whatever_its_time_says(project: Project, at: str) -> None:
    """Labels from elsewhere may have a year or a word for a time."""
    content = json.loads(project.graded.read_text())
    label = {"opinion_id": "d1", "score": 0, "judge": "Ada", "at": at}
    content["queries"][0]["relevance_judgments"] = [label]
    project.graded.write_text(json.dumps(content))
    with project.serve() as server:
        ada = server.visitor("Ada")
        ada.vote("dataset", "q1", "d1", 2, WHY)
        assert ada.pairs("dataset", "q1")["d1"]["grade"] == 2
    project.do("gold", "merge", project.graded)
    assert project.labels()["q1", "d1"] == 2


# ── what is written after an edit meanwhile ───────────────────────────────────────────────────────


def test_labels_that_are_computed_again_after_an_edit_have_the_same_author(
    judged: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody saves the gold file between the log and the file."""
    written = votes_to_labels.replace_gold_file

    def edited_meanwhile(dataset: Path, *contents: bytes) -> bool:
        monkeypatch.setattr(votes_to_labels, "replace_gold_file", written)
        text = judged.graded.read_text()
        judged.graded.write_text(text.replace('"version": "1"', '"version": "2"'))
        return written(dataset, *contents)

    with judged.serve() as server:
        dora = server.visitor("Dora")
        server.visitor("Ada").vote("dataset", "q1", "d1", 1, WHY)
        monkeypatch.setattr(votes_to_labels, "replace_gold_file", edited_meanwhile)
        dora.send("/api/labels", set="dataset")
        by = {each["by"] for each in dora.audit(action="gold.labelled")[:2]}
    assert by == {"Dora"}


# ── pending work ──────────────────────────────────────────────────────────────────────────────────


def test_the_status_counts_pairs_that_are_dealt(project: Project) -> None:
    """`assay` alone counts what Home counts."""
    assert "3 to judge or review" in project.do().out
    project.do("gold", "merge", project.graded, project.packet("Ada", AGREED))
    assert "3 to judge or review" in project.do().out, "Ben is asked too"
    project.do("gold", "merge", project.graded, project.packet("Ben", AGREED))
    assert "to judge or review" not in project.do().out
