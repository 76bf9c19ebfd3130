"""Clones of a project that judge and decide apart and come together again through git."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Project, Visitor, run_command
from kit.sets import acts, log_of

AGREED = {("q1", "d1"): 2, ("q1", "d2"): 0, ("q2", "d4"): 1}
LINES = ["*.log.jsonl text eol=lf merge=union", "people.toml text eol=lf merge=union"]
WHO = ("-c", "user.name=n", "-c", "user.email=e", "-c", "core.editor=true")


def git(project: Project, *args: str, ok: bool = True) -> str:
    """Run git in a project; `ok` tells whether it succeeds."""
    done = subprocess.run(
        ["git", *WHO, *args],
        cwd=project.folder,
        capture_output=True,
        text=True,
        env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )
    assert (done.returncode == 0) == ok, (args, done.stdout, done.stderr)
    return done.stdout


def commit(*projects: Project) -> None:
    for project in projects:
        git(project, "add", "-A")
        git(project, "commit", "-qm", "work")


def changes(project: Project) -> str:
    return git(project, "status", "--porcelain")


def cloned(project: Project, name: str, *options: str) -> Project:
    """A clone with a copy of the store, which is not in git."""
    folder = project.folder.with_name(name)
    git(project, "clone", "-q", *options, ".", str(folder))
    if (project.folder / ".assay").exists():
        shutil.copytree(project.folder / ".assay", folder / ".assay")
    return Project(folder)


def pull(project: Project, other: Project, *, ok: bool = True) -> None:
    git(project, "pull", "-q", "--no-rebase", "--no-edit", str(other.folder), "main", ok=ok)


def merge(project: Project, other: Project, *sets: Path) -> None:
    """Take over what another clone did, and rebuild these sets, whatever git made of them."""
    git(project, "fetch", "-q", str(other.folder), "main")
    subprocess.run(
        ["git", *WHO, "merge", "-q", "--no-edit", "FETCH_HEAD"],
        cwd=project.folder,
        capture_output=True,
    )
    for each in sets:
        project.do("gold", "rebuild", each)
    git(project, "add", "-A")
    if (project.folder / ".git/MERGE_HEAD").exists() or changes(project):
        git(project, "commit", "-qm", "merged")


def shared(project: Project) -> Project:
    """Make a repository of a project, as `assay init` prepares it."""
    (project.folder / ".gitattributes").write_text("\n".join(LINES) + "\n")
    (project.folder / ".gitignore").write_text(".assay/\n")
    git(project, "init", "-q", "-b", "main")
    commit(project)
    return project


@pytest.fixture
def graded(judged: Project) -> Project:
    """A repository with a graded set on which Ada and Ben agree."""
    for packet in judged.folder.glob("[AB]*.jsonl"):
        packet.unlink()
    return shared(judged)


@pytest.fixture
def reviewed(project: Project) -> Project:
    """A repository with a gold-set.jsonl: the rows g001, g002 and g003 are pending."""
    project.graded.unlink()
    (project.folder / "dataset.pool.json").unlink()
    project.bootstrap()
    return shared(project)


def judge(project: Project, name: str, grades: dict[tuple[str, str], Any]) -> None:
    packet = project.packet(name, grades)
    project.do("gold", "merge", project.graded, packet, "--unasked")
    packet.unlink()


def rule(project: Project, pair: tuple[str, str], grade: int, by: str) -> None:
    why = ("--grade", grade, "--rationale", f"{by} read it", "--by", by)
    project.do("gold", "adjudicate", project.graded, *pair, *why)


def ruled_apart(project: Project) -> Project:
    """A clone that rules on q1 d1 otherwise than the project does."""
    other = cloned(project, "other")
    rule(project, ("q1", "d1"), 0, "Dora")
    rule(other, ("q1", "d1"), 1, "Eve")
    return other


def no_doubles(dataset: Path) -> None:
    ids = [act["id"] for act in acts(dataset)]
    assert len(ids) == len(set(ids))


# ── assay init ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("before", ["", "*.png binary", f"*.png binary\n{LINES[0]}\n"])
def test_init_tells_git_how_to_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    monkeypatch.chdir(tmp_path)
    attributes = tmp_path / ".gitattributes"
    if before:
        attributes.write_text(before)
    assert run_command("init", "--dataset", "sample", "--ci", "none", "--yes").code == 0
    first = attributes.read_text()
    assert first.startswith(before)
    assert sorted(first.splitlines()) == sorted({*before.splitlines(), *LINES})
    for file in ("assay.toml", "dataset.json", "corpus.jsonl", "my_engine.py"):
        (tmp_path / file).unlink()
    assert run_command("init", "--dataset", "sample", "--ci", "none", "--yes").code == 0
    assert attributes.read_text() == first


# ── judging ───────────────────────────────────────────────────────────────────────────────────────


def joined(how: str, ours: Project, theirs: Project) -> None:
    """Bring the last commit of one clone into another; git may leave conflicts in gold files."""
    git(ours, "fetch", "-q", str(theirs.folder), "main")
    command = {
        "merge": ("merge", "-q", "--no-edit", "FETCH_HEAD"),
        "rebase": ("rebase", "-q", "FETCH_HEAD"),
        "cherry-pick": ("cherry-pick", "FETCH_HEAD"),
    }[how]
    done = subprocess.run(["git", *WHO, *command], cwd=ours.folder, capture_output=True)
    for path in (ours.graded, ours.gold):
        if path.exists():
            ours.do("gold", "rebuild", path)
    if done.returncode:
        git(ours, "add", "-A")
        goes_on = ("commit", "-qm", "merged") if how == "merge" else (how, "--continue")
        git(ours, *goes_on)


@pytest.mark.parametrize("how", ["merge", "rebase", "cherry-pick"])
def test_votes_of_two_clones_come_together(graded: Project, how: str) -> None:
    """Nothing is lost, nothing doubled; a person who is new in both is one person."""
    other = cloned(graded, "other")
    judge(graded, "Cy", {("q1", "d1"): 2, ("q3", "d3"): 1})
    judge(other, "Cy", {("q1", "d2"): 0, ("q3", "d5"): 0})
    judge(graded, "Ada", {("q1", "d3"): 1})
    judge(other, "Ben", {("q1", "d3"): 1})
    rule(graded, ("q1", "d2"), 1, "Dora")
    rule(other, ("q2", "d4"), 2, "Eve")
    commit(graded, other)
    joined(how, graded, other)
    expected = {("q1", "d1"): 2, ("q1", "d2"): 1, ("q1", "d3"): 1, ("q2", "d4"): 2}
    expected |= {("q3", "d3"): 1, ("q3", "d5"): 0}
    assert graded.labels() == expected
    grades = graded.grades()
    assert grades["q1", "d3"] == {"Ada": 1, "Ben": 1}
    assert grades["q1", "d1"] == {"Ada": 2, "Ben": 2, "Cy": 2}
    assert (grades["q3", "d3"], grades["q3", "d5"]) == ({"Cy": 1}, {"Cy": 0})
    no_doubles(graded.graded)
    assert graded.waiting() == {}
    assert "nothing to do" in graded.do("gold", "rebuild", graded.graded).err
    assert graded.json("gold", "merge", graded.graded)["changed"] == []


def test_a_conflict_whose_sides_git_mixed_is_rebuilt_from_the_whole_sides(graded: Project) -> None:
    """Git may put lines of both sides around its marks, so that a label is there twice."""
    other = ruled_apart(graded)
    commit(graded, other)
    git(graded, "fetch", "-q", str(other.folder), "main")
    merging = ["git", *WHO, "merge", "-q", "--no-edit", "FETCH_HEAD"]
    assert subprocess.run(merging, cwd=graded.folder, capture_output=True).returncode
    mixed = json.loads(other.graded.read_text())
    first = mixed["queries"][0]["relevance_judgments"]
    first.append(first[0])
    side = json.dumps(mixed, indent=2)
    text = f"<<<<<<< HEAD\n{side}\n=======\n{side} \n>>>>>>> FETCH_HEAD\n"
    graded.graded.write_text(text)
    graded.do("gold", "rebuild", graded.graded)
    assert list(graded.waiting()) == [("q1", "d1")]
    assert graded.labels() == {pair: n for pair, n in AGREED.items() if pair != ("q1", "d1")}


def test_the_merge_of_a_merge_is_the_same(graded: Project) -> None:
    other = cloned(graded, "other")
    judge(graded, "Cy", {("q3", "d3"): 1})
    judge(other, "Di", {("q3", "d5"): 0})
    commit(graded, other)
    merge(graded, other, graded.graded)
    pull(other, graded)
    assert other.graded.read_bytes() == graded.graded.read_bytes()
    assert log_of(other.graded).read_bytes() == log_of(graded.graded).read_bytes()
    assert "nothing to do" in other.do("gold", "rebuild", other.graded).err
    assert changes(other) == ""


def test_clones_that_begin_a_log_each_come_together(project: Project) -> None:
    """Before the first vote there is no log: both clones begin one, and a file of people."""
    shared(project)
    other = cloned(project, "other")
    judge(project, "Ada", {("q1", "d1"): 2})
    judge(other, "Ada", {("q1", "d2"): 0})
    commit(project, other)
    merge(project, other, project.graded)
    assert project.labels() == {("q1", "d1"): 2, ("q1", "d2"): 0}
    assert project.grades() == {("q1", "d1"): {"Ada": 2}, ("q1", "d2"): {"Ada": 0}}
    assert project.waiting() == {}


def test_a_pair_that_was_ruled_differently_waits_for_a_ruling(graded: Project) -> None:
    other = ruled_apart(graded)
    commit(graded, other)
    merge(graded, other, graded.graded)
    assert ("q1", "d1") not in graded.labels()
    assert list(graded.waiting()) == [("q1", "d1")]
    rule(graded, ("q1", "d1"), 2, "Dora")
    assert (graded.labels(), graded.waiting()) == (AGREED, {})
    assert "nothing to do" in graded.do("gold", "rebuild", graded.graded).err


def test_votes_on_the_page_of_two_clones_are_counted_after_the_merge(graded: Project) -> None:
    """A vote writes the log alone, so git has nothing to resolve."""
    other = cloned(graded, "other")
    for one, name in ((graded, "Ada"), (other, "Ben")):
        with one.serve() as server:
            server.visitor(name).vote("dataset", "q1", "d1", 1, "it names the limit")
    commit(graded, other)
    pull(graded, other)
    assert changes(graded) == ""
    assert graded.json("gold", "merge", graded.graded)["votes"] == 8
    assert graded.grades()["q1", "d1"] == {"Ada": 1, "Ben": 1}
    assert graded.labels() == AGREED | {("q1", "d1"): 1}


# ── lines of the log ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("whole", [True, False], ids=["no line end", "torn"])
def test_a_last_line_without_its_end_before_the_merge(graded: Project, whole: bool) -> None:
    other = cloned(graded, "other")
    judge(graded, "Cy", {("q3", "d3"): 1})
    judge(other, "Di", {("q3", "d5"): 1})
    log = log_of(graded.graded)
    content = log.read_bytes().removesuffix(b"\n")
    log.write_bytes(content if whole else content[:-9])
    commit(graded, other)
    merge(graded, other, graded.graded)
    assert graded.labels() == AGREED | {("q3", "d3"): 1, ("q3", "d5"): 1}
    assert graded.grades()["q3", "d3"] == {"Cy": 1}
    with graded.serve():
        pass
    found = graded.run("doctor", "--json").json["gold"]["damaged"]
    assert len(found) == (0 if whole else 1)


def test_a_checkout_with_other_line_ends_leaves_the_log_alone(graded: Project) -> None:
    commit_of = git(graded, "rev-parse", "HEAD")
    other = cloned(graded, "other", "-c", "core.autocrlf=true")
    assert b"\r" in (other.folder / "assay.toml").read_bytes()
    for name in ("dataset.log.jsonl", "people.toml"):
        assert (other.folder / name).read_bytes() == (graded.folder / name).read_bytes()
    assert "nothing to do" in other.do("gold", "rebuild", other.graded).err
    judge(other, "Cy", {("q3", "d3"): 1})
    assert not any(act["action"] == "edit" for act in acts(other.graded))
    assert b"\r" not in log_of(other.graded).read_bytes()
    commit(other)
    pull(graded, other)
    assert git(graded, "diff", "--stat", commit_of.strip(), "--", "people.toml").count("\n") == 2
    assert graded.labels() == AGREED | {("q3", "d3"): 1}
    assert "nothing to do" in graded.do("gold", "rebuild", graded.graded).err


@pytest.mark.parametrize("turned", [reversed, sorted], ids=["backwards", "sorted"])
def test_rows_do_not_depend_on_the_order_of_lines(
    reviewed: Project, turned: Callable[[list[bytes]], Any]
) -> None:
    """A bulk approval, single decisions, undone and made again."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        chair.send("/api/review/bulk", items=chair.picks("g001", "g002"))
        chair.undo(chair.id("g001"))
        chair.reject("g001")
        chair.approve("g003", documents=["b", "c"])
        chair.undo(chair.id("g003"))
        chair.approve("g003", documents=["a"])
        states = chair.states()
    expected = reviewed.sources()
    log = log_of(reviewed.gold)
    log.write_bytes(b"".join(turned(log.read_bytes().splitlines(keepends=True))))
    assert "nothing to do" in reviewed.do("gold", "rebuild", reviewed.gold).err
    assert reviewed.sources() == expected
    with reviewed.serve() as server:
        assert server.visitor("Dafna").states() == states


# ── decisions on rows ─────────────────────────────────────────────────────────────────────────────

Act = Callable[[Visitor], object]


def decide(project: Project, name: str, *decisions: Act) -> None:
    with project.serve() as server:
        chair = server.visitor(name)
        for decision in decisions:
            decision(chair)
    commit(project)


def approve(ref: str = "g001", **said: Any) -> Act:
    return lambda chair: chair.approve(ref, **said)


def reject(ref: str = "g001") -> Act:
    return lambda chair: chair.reject(ref)


def undo(chair: Visitor) -> None:
    assert chair.undo()["done"]


def bulk(*refs: str) -> Act:
    return lambda chair: chair.send("/api/review/bulk", items=chair.picks(*refs))


def test_decisions_on_different_rows_are_both_kept(reviewed: Project) -> None:
    other = cloned(reviewed, "other")
    decide(reviewed, "Dafna", approve("g001"), reject("g003"))
    decide(other, "Moshe", approve("g002", documents=["b"]))
    merge(reviewed, other, reviewed.gold)
    assert reviewed.sources() == {"g001": "chair", "g002": "chair"}
    assert reviewed.row("g002")["relevant_case_law_ids"] == ["b"]
    assert reviewed.counts() == (0, 2, 1, 0)
    no_doubles(reviewed.gold)
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        decided = {ref: chair.item(ref)["decided_by"] for ref in ("g001", "g002", "g003")}
        assert decided == {"g001": "Dafna", "g002": "Moshe", "g003": "Dafna"}
        trail = [(x["by"], x["subject"]) for x in chair.audit() if "review" in x["action"]]
    assert sorted(trail) == [
        ("Dafna", "gold-set/g001"),
        ("Dafna", "gold-set/g003"),
        ("Moshe", "gold-set/g002"),
    ]


@pytest.mark.parametrize("act", [approve(), reject(), approve(documents=["b"])])
def test_the_same_decision_twice_is_one(reviewed: Project, act: Act) -> None:
    """It counts once, and undoing it undoes both."""
    before = reviewed.gold.read_bytes()
    other = cloned(reviewed, "other")
    decide(reviewed, "Dafna", act)
    decide(other, "Moshe", act)
    once = reviewed.gold.read_bytes()
    merge(reviewed, other, reviewed.gold)
    assert reviewed.gold.read_bytes() == once
    assert reviewed.counts() in ((2, 1, 0, 0), (2, 0, 1, 0))
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = chair.item("g001")
        chair.undo(decided={item["id"]: item["decided_at"]})
        assert chair.item("g001")["state"] == "pending_review"
    assert reviewed.gold.read_bytes() == before
    assert reviewed.counts() == (3, 0, 0, 0)
    assert reviewed.rulings() == 0


DIFFERENT: dict[str, tuple[list[Act], list[Act]]] = {
    "approve and reject": ([approve()], [reject()]),
    "reject and approve": ([reject()], [approve()]),
    "two corrections": ([approve(documents=["b", "c"])], [approve(documents=["a"])]),
    "approve and correct": ([approve()], [approve(note="see c")]),
    "undo and approve": ([approve(documents=["a"]), undo], [approve()]),
    "approve, then correct, and reject": ([approve(), approve(note="n")], [reject()]),
    "bulk and reject": ([bulk("g001", "g002")], [reject()]),
}


@pytest.mark.parametrize(
    ("case", "final"),
    [(case, "approve") for case in DIFFERENT]
    + [("approve and reject", "correct"), ("reject and approve", "reject")],
)
def test_decisions_that_differ_wait_for_a_chair(reviewed: Project, case: str, final: str) -> None:
    before = reviewed.row("g001")
    other = cloned(reviewed, "other")
    ours, theirs = DIFFERENT[case]
    decide(reviewed, "Dafna", *ours)
    decide(other, "Moshe", *theirs)
    merge(reviewed, other, reviewed.gold)
    assert reviewed.row("g001") == before
    with reviewed.serve() as server:
        chair = server.visitor("Rut")
        item = chair.item("g001")
        assert (item["state"], item["doc_ids"]) == ("pending_review", ["a", "b"])
        assert item["reason"].startswith("decided differently by ")
        assert {"Dafna", "Moshe"} <= set(item["reason"].replace(" (", " ").split())
        assert item["reason"] in chair.get(f"/review/{item['id']}").text
        if final == "reject":
            chair.reject("g001")
        elif final == "correct":
            assert chair.press("g001", "approve", doc=["b"], reason="a is old").status_code == 303
        else:
            chair.approve("g001")
        now = chair.item("g001")
        assert (now["decided_by"], now["state"]) == (
            "Rut",
            "rejected" if final == "reject" else "approved",
        )
        seen = chair.ask("/api/review", state="", limit=200)["items"]
        assert sum(line["item"]["ref"] == "g001" for line in seen) == 1
    kept = reviewed.rows().get("g001", {}).get("relevant_case_law_ids")
    assert kept == {"approve": ["a", "b"], "correct": ["b"], "reject": None}[final]
    assert "nothing to do" in reviewed.do("gold", "rebuild", reviewed.gold).err
    # the other clone takes it over as it is, and a second merge brings nothing back
    commit(reviewed)
    merge(other, reviewed, other.gold)
    assert other.rows() == reviewed.rows()
    assert other.counts() == reviewed.counts()


def test_a_dispute_is_shown_also_before_the_file_is_rebuilt(reviewed: Project) -> None:
    """As where git took the file of one side; then deciding writes the file as well."""
    other = cloned(reviewed, "other")
    decide(reviewed, "Dafna", reject("g001"), approve("g003"))
    decide(other, "Moshe", approve("g001", documents=["c"]), approve("g002"))
    git(reviewed, "fetch", "-q", str(other.folder), "main")
    git(reviewed, "merge", "-q", "--no-edit", "-X", "theirs", "FETCH_HEAD")
    git(reviewed, "checkout", "-q", "FETCH_HEAD", "--", "gold-set.jsonl")
    assert reviewed.gold.read_bytes() == other.gold.read_bytes()
    with reviewed.serve() as server:
        chair = server.visitor("Rut")
        expected = {"g001": "pending_review", "g002": "approved", "g003": "approved"}
        assert chair.states() == expected
        chair.approve("g001", documents=["a", "c"])
        assert chair.item("g001")["decided_by"] == "Rut"
    assert reviewed.sources() == dict.fromkeys(("g001", "g002", "g003"), "chair")
    assert reviewed.row("g001")["relevant_case_law_ids"] == ["a", "c"]


def test_bulk_in_one_clone_and_single_in_the_other(reviewed: Project) -> None:
    other = cloned(reviewed, "other")
    decide(reviewed, "Dafna", bulk("g001", "g002"))
    decide(other, "Moshe", approve("g002"), reject("g003"))
    merge(reviewed, other, reviewed.gold)
    assert reviewed.sources() == {"g001": "chair", "g002": "chair"}
    assert reviewed.counts() == (0, 2, 1, 0)


def test_logs_that_both_clones_began_are_no_dispute(project: Project) -> None:
    """Rows that a clone only found, and the other decided on, are as that one decided."""
    project.graded.unlink()
    rows = {"g001": "first", "g002": "second", "g003": "third", "g004": "fourth"}
    project.write_rows(rows)
    shared(project)
    other = cloned(project, "other")
    decide(project, "Dafna", approve("g001"), reject("g003"))
    decide(other, "Moshe", approve("g002"), approve("g003"))
    merge(project, other, project.gold)
    with project.serve() as server:
        chair = server.visitor("Rut")
        states = {"g001": "approved", "g002": "approved"}
        assert chair.states() == states | {"g003": "pending_review", "g004": "pending_review"}
        assert chair.item("g001")["decided_by"] == "Dafna"
        assert chair.item("g002")["decided_by"] == "Moshe"
        assert chair.item("g003")["reason"].startswith("decided differently")


def test_bootstrap_in_both_clones(reviewed: Project) -> None:
    """The same new query becomes one row. Two queries that got the same id: neither is lost."""
    other = cloned(reviewed, "other")
    for one, query in ((reviewed, "ours"), (other, "theirs")):
        one.searches([{"query": q, "results": ["a"]} for q in ("alike", query)])
        one.cite("D-2", "a")
        one.bootstrap()
        commit(one)
    git(reviewed, "pull", "-q", "--no-rebase", str(other.folder), "main", ok=False)
    reviewed.do("gold", "rebuild", reviewed.gold)
    queries = [row["query"] for row in reviewed.rows().values()]
    assert len(queries) == len(set(queries)) == 5
    assert "alike" in queries
    reviewed.searches([{"query": q, "results": ["a"]} for q in ("ours", "theirs")])
    reviewed.cite("D-3", "a")
    reviewed.bootstrap()
    assert {"alike", "ours", "theirs"} <= {row["query"] for row in reviewed.rows().values()}
    assert len(reviewed.rows()) == 6


def test_suggestions_that_were_decided_differently_wait_again(reviewed: Project) -> None:
    with reviewed.serve() as server:
        item = server.agent().suggest("g001", "c", 1)
    commit(reviewed)
    other = cloned(reviewed, "other")
    decide(reviewed, "Dafna", lambda chair: chair.accept(item))
    decide(other, "Moshe", lambda chair: chair.decline(item))
    merge(reviewed, other, reviewed.gold)
    with reviewed.serve() as server:
        chair = server.visitor("Rut")
        assert chair.by_id(item)["state"] == "pending_review"
        chair.decline(item)
        assert (chair.by_id(item)["state"], chair.by_id(item)["decided_by"]) == ("rejected", "Rut")


def test_undoing_one_suggestion_leaves_a_later_one_decided(reviewed: Project) -> None:
    with reviewed.serve() as server:
        first, second = (server.agent().suggest("g001", doc, 1) for doc in ("c", "z"))
        chair = server.visitor("Dafna")
        chair.accept(first)
        chair.accept(second)
        assert chair.undo(first)["done"] == [first]
        assert chair.by_id(first)["state"] == "pending_review"
        assert chair.by_id(second)["state"] == "approved"
    assert reviewed.row("g001")["relevant_case_law_ids"] == ["a", "b", "z"]


# ── conflicts in gold files ───────────────────────────────────────────────────────────────────────


def test_commands_refuse_a_gold_set_with_conflicts(reviewed: Project) -> None:
    other = cloned(reviewed, "other")
    decide(reviewed, "Dafna", approve())
    decide(other, "Moshe", reject())
    pull(reviewed, other, ok=False)
    run = reviewed.folder / "r.trec"
    run.write_text("g001 Q0 a 1 2 e\n")
    before = reviewed.gold.read_bytes()
    assert b"<<<<<<<" in before
    for asked in (
        *(("gold", look_at, reviewed.gold) for look_at in ("stats", "validate", "agreement")),
        ("gold", "bootstrap"),
        ("gold", "promote", "g001", "--by", "Rut"),
        ("gold", "reject", "g001", "--by", "Rut", "--why", "w"),
        ("score", "--dataset", reviewed.gold, "--run", run),
        ("backlog",),
    ):
        said = reviewed.fail(*asked)
        assert "`assay gold rebuild" in said, asked
        assert "git left a conflict" in said, asked
    assert reviewed.gold.read_bytes() == before
    rebuilt = reviewed.do("gold", "rebuild", reviewed.gold)
    assert "the conflict is resolved from the log" in rebuilt.err
    reviewed.do("gold", "validate", reviewed.gold)


def test_commands_refuse_a_graded_set_with_conflicts(graded: Project) -> None:
    other = ruled_apart(graded)
    commit(graded, other)
    pull(graded, other, ok=False)
    run = graded.folder / "r.trec"
    run.write_text("q1 Q0 d1 1 2 e\n")
    before = graded.graded.read_bytes()
    assert b"<<<<<<<" in before
    commands = ("stats", "validate", "agreement", "merge", "adjudicate", "policy")
    score = ("score", "--dataset", graded.graded, "--run", run)
    for asked in (*(("gold", command, graded.graded) for command in commands), score):
        assert "`assay gold rebuild" in graded.fail(*asked), asked
    assert graded.graded.read_bytes() == before
    rebuilt = graded.do("gold", "rebuild", graded.graded)
    assert "the conflict is resolved from the log" in rebuilt.err
    assert list(graded.waiting()) == [("q1", "d1")]


def rewrite(path: Path, *pairs: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)


@pytest.mark.parametrize("logged", [True, False], ids=["in the log", "not in a log yet"])
def test_what_people_wrote_on_both_sides_survives_a_conflict(
    reviewed: Project, logged: bool
) -> None:
    """Comments, blank lines, keys and rows that somebody added by hand, on the same lines."""
    other = cloned(reviewed, "other")
    rewrite(reviewed.gold, ('{"id":"g001"', '# ours\n{"id":"g001","ours":1'))
    rewrite(other.gold, ('{"id":"g002"', '// theirs\n\n{"id":"g002","theirs":2'))
    new = json.loads(reviewed.gold.read_text().splitlines()[1]) | {"source": "chair"}
    for one, id in ((reviewed, "x1"), (other, "x2")):
        line = json.dumps(new | {"id": id, "query": id})
        one.gold.write_text(one.gold.read_text() + line + "\n")
    if logged:
        decide(reviewed, "Dafna", approve("g002"))
        decide(other, "Moshe", approve("g001"))
    else:
        commit(reviewed, other)
    pull(reviewed, other, ok=False)
    assert b"<<<<<<<" in reviewed.gold.read_bytes()
    reviewed.do("gold", "rebuild", reviewed.gold)
    lines = reviewed.gold.read_text().splitlines()
    assert lines.count("# ours") == lines.count("// theirs") == lines.count("") == 1
    rows = reviewed.rows()
    assert list(rows) == ["g001", "g002", "g003", "x1", "x2"]
    if not logged:
        assert (rows["g001"]["ours"], rows["g002"]["theirs"]) == (1, 2)


def test_a_row_that_both_sides_edited_by_hand_is_refused(reviewed: Project) -> None:
    other = cloned(reviewed, "other")
    rewrite(reviewed.gold, ('"query":"first"', '"query":"ours"'))
    rewrite(other.gold, ('"query":"first"', '"query":"theirs"'))
    commit(reviewed, other)
    pull(reviewed, other, ok=False)
    before = reviewed.gold.read_bytes()
    assert "both sides were edited by hand: g001" in reviewed.fail("gold", "rebuild", reviewed.gold)
    assert reviewed.gold.read_bytes() == before


def test_queries_that_differ_are_refused(graded: Project) -> None:
    other = ruled_apart(graded)
    for one, text in ((graded, "gift limit"), (other, "limit of gifts")):
        rewrite(one.graded, ("gift limit tickets", text))
    commit(graded, other)
    pull(graded, other, ok=False)
    before = graded.graded.read_bytes()
    said = graded.fail("gold", "rebuild", graded.graded)
    assert "the two sides differ in more than labels" in said
    assert "Resolve the queries by hand" in said
    assert graded.graded.read_bytes() == before
    assert [path.name for path in graded.folder.glob(".dataset*")] == []


@pytest.mark.parametrize("where", ["ours", "theirs"])
def test_a_label_that_one_side_edited_by_hand_survives(graded: Project, where: str) -> None:
    other = ruled_apart(graded)
    edited = graded if where == "ours" else other
    content = json.loads(edited.graded.read_text())
    content["queries"][1]["relevance_judgments"][0]["score"] = 0
    edited.graded.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    commit(graded, other)
    pull(graded, other, ok=False)
    graded.do("gold", "rebuild", graded.graded)
    assert graded.labels() == {("q1", "d2"): 0, ("q2", "d4"): 0}


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def look(project: Project) -> None:
    """Everything that only reads."""
    run = project.folder.with_name("r.trec")
    run.write_text("q1 Q0 d1 1 2 e\nq2 Q0 d4 1 2 e\n")
    results = project.folder.with_name("results.json")
    project.do("score", "--dataset", project.graded, "--run", run, "--output", results)
    project.do("report", results, "--output", project.folder.with_name("report.html"))
    for asked in ("validate", "stats", "agreement", "adjudicate", "policy"):
        project.do("gold", asked, project.graded)
    for asked in ("validate", "stats", "agreement"):
        project.do("gold", asked, project.gold)
    with project.serve() as server:
        reader = server.visitor("Zoe")
        reader.pairs("dataset", "q1")
        item = reader.items()[0]["id"]
        pages = ("/", "/judge", "/judge/dataset", "/agreement", "/review", f"/review/{item}")
        for page in (*pages, "/audit", "/gold/dataset", "/runs"):
            reader.get(page)
        reader.audit()
    project.do("backlog")
    project.run("doctor")


@pytest.mark.parametrize("state", ["as it is", "behind", "edited by hand"])
def test_who_only_reads_changes_nothing(graded: Project, state: str) -> None:
    graded.bootstrap()
    commit(graded)
    rule(graded, ("q1", "d1"), 0, "Dora")
    decide(graded, "Dafna", approve())
    other = cloned(graded, "other")
    if state == "behind":
        git(other, "checkout", "-q", "HEAD~1", "--", "dataset.json", "gold-set.jsonl")
    elif state == "edited by hand":
        rewrite(other.gold, ('"query":"third"', '"query":"another"'))
        rewrite(other.graded, ('"score": 0', '"score": 1'))
    before = changes(other)
    look(other)
    assert changes(other) == before


# ── moved, copied and cloned again ────────────────────────────────────────────────────────────────


def history(project: Project) -> tuple[Any, ...]:
    with project.serve() as server:
        chair = server.visitor("Zoe")
        runs = [(run["id"], run["gold"]) for run in chair.ask("/api/runs")["page"]["items"]]
        return chair.items(), chair.audit(), runs


@pytest.mark.parametrize("named", [True, False], ids=["by name", "by path"])
def test_a_project_keeps_its_history_wherever_it_is(graded: Project, named: bool) -> None:
    graded.bootstrap()
    if not named:
        config = (graded.folder / "assay.toml").read_text()
        (graded.folder / "assay.toml").write_text(config[config.index("[engines") :])
    commit(graded)
    rule(graded, ("q1", "d1"), 0, "Dora")
    decide(graded, "Dafna", approve("g001"), reject("g002"))
    with graded.serve() as server:
        chair = server.visitor("Dafna")
        asked = {"gold": "dataset", "engine": "words"}
        job = chair.post("/api/runs/jobs", json=asked).json()["id"]
        for _ in range(600):
            if (run := chair.ask(f"/api/runs/jobs/{job}"))["state"] not in ("waiting", "running"):
                break
            time.sleep(0.1)
        assert run["run"], run
    expected = history(graded)
    assert len(expected[0]) == 3
    assert [gold for _, gold in expected[2]] == ["dataset" if named else "dataset.json"]
    git(graded, "remote", "add", "origin", "https://example.org/one.git")
    assert history(graded) == expected
    git(graded, "remote", "set-url", "origin", "git@example.org:two/other.git")
    assert history(graded) == expected
    copied = Project(shutil.copytree(graded.folder, graded.folder.with_name("copied")))
    assert history(copied) == expected
    assert history(cloned(graded, "again")) == expected
    moved = graded.folder.with_name("moved") / "deeper"
    moved.parent.mkdir()
    graded.folder.rename(moved)
    assert history(Project(moved)) == expected
    with Project(moved).serve() as server:  # and it goes on
        server.visitor("Dafna").approve("g003")
    assert Project(moved).counts() == (0, 2, 1, 0)


# ── files of older commits ────────────────────────────────────────────────────────────────────────


def test_a_file_of_an_older_commit_is_written_again(reviewed: Project) -> None:
    decide(reviewed, "Dafna", approve("g001"))
    decide(reviewed, "Dafna", reject("g002"))
    new = reviewed.gold.read_bytes()
    for back in ("HEAD~2", "HEAD~1"):
        git(reviewed, "checkout", "-q", back, "--", "gold-set.jsonl")
        assert reviewed.gold.read_bytes() != new
        assert "written again" in reviewed.do("gold", "rebuild", reviewed.gold).err
        assert reviewed.gold.read_bytes() == new
    assert not any(act["action"] == "edit" for act in acts(reviewed.gold))
    git(reviewed, "checkout", "-q", "HEAD~2", "--", "gold-set.jsonl")
    rewrite(reviewed.gold, ('"query":"היטל השבחה"', '"query":"by hand"'))
    decide(reviewed, "Dafna", approve("g003"))
    assert reviewed.sources() == {"g001": "chair", "g003": "chair"}
    assert reviewed.row("g003")["query"] == "by hand"


def test_an_edit_in_a_file_from_before_rows_were_added_deletes_none(reviewed: Project) -> None:
    reviewed.log("fourth", "a", "b")
    reviewed.cite("D-4", "a", "b")
    reviewed.bootstrap()
    assert "g004" in reviewed.rows()
    commit(reviewed)
    git(reviewed, "checkout", "-q", "HEAD~1", "--", "gold-set.jsonl")
    rewrite(reviewed.gold, ('"query":"first"', '"query":"by hand"'))
    decide(reviewed, "Dafna", approve("g002"))
    assert list(reviewed.rows()) == ["g001", "g002", "g003", "g004"]
    assert reviewed.row("g001")["query"] == "by hand"


def test_an_edit_in_labels_from_before_others_were_added_deletes_none(graded: Project) -> None:
    judge(graded, "Cy", {("q3", "d3"): 1, ("q3", "d5"): 0})
    commit(graded)
    git(graded, "checkout", "-q", "HEAD~1", "--", "dataset.json")
    rewrite(graded.graded, ('"score": 2', '"score": 1'))
    graded.do("gold", "merge", graded.graded)
    expected = AGREED | {("q1", "d1"): 1, ("q3", "d3"): 1, ("q3", "d5"): 0}
    assert graded.labels() == expected


@pytest.mark.parametrize("content", ["", "# nothing here\n", "foreign"])
def test_an_emptied_or_foreign_file_deletes_no_rows(reviewed: Project, content: str) -> None:
    decide(reviewed, "Dafna", approve("g001"))
    if content == "foreign":
        reviewed.write_rows({"f1": "a foreign question"}, source="chair")
    else:
        reviewed.gold.write_text(content)
    reviewed.do("gold", "rebuild", reviewed.gold)
    assert {"g001", "g002", "g003"} <= set(reviewed.rows())
    assert reviewed.sources()["g001"] == "chair"
    assert ("f1" in reviewed.rows()) == (content == "foreign")


def test_a_row_that_is_deleted_in_one_clone_and_decided_in_the_other(reviewed: Project) -> None:
    """It waits for a chair, as it was; one that is deleted in one clone alone stays deleted."""
    other = cloned(reviewed, "other")
    lines = reviewed.gold.read_text().splitlines(keepends=True)
    reviewed.gold.write_text(lines[1])
    reviewed.do("gold", "rebuild", reviewed.gold)
    commit(reviewed)
    decide(other, "Moshe", approve("g001"))
    merge(reviewed, other, reviewed.gold)
    assert reviewed.sources() == {"g001": "bootstrap", "g002": "bootstrap"}
    with reviewed.serve() as server:
        item = server.visitor("Rut").item("g001")
    assert item["state"] == "pending_review"
    assert item["reason"] == "decided differently by file (edit) and Moshe (approve)"


# ── a folder that cannot be written ───────────────────────────────────────────────────────────────

READ_ONLY = """
import os, sys
from pathlib import Path
from kit import Project
folder = Path(sys.argv[1])
os.chdir(folder)
sys.path.insert(0, sys.argv[2])
from gold.test_clones import look
look(Project(folder))
"""


def test_a_read_only_folder_can_be_read(graded: Project) -> None:
    """The store of the pages is elsewhere: a folder that cannot be written has none."""
    graded.bootstrap()
    rule(graded, ("q1", "d1"), 0, "Dora")
    home = graded.folder.with_name("home")
    shutil.copytree(graded.folder / ".assay", home)
    shutil.rmtree(graded.folder / ".assay")
    commit(graded)
    place = graded.folder
    bound = ["mount", "--bind", str(place), str(place)]
    remount = ["mount", "-o", "remount,bind,ro", str(place)]
    script = f"{shlex.join(bound)} && {shlex.join(remount)} && exec "
    tests = str(Path(__file__).parents[1])
    looking = [sys.executable, "-c", READ_ONLY, str(place), tests]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script + shlex.join(looking)],
        capture_output=True,
        text=True,
        env=os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": tests},
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no mounts here")
    assert done.returncode == 0, done.stderr
    assert changes(graded) == ""
