"""Several gold sets in one project: each has its own history, also when the project moves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kit import Project


@pytest.fixture
def pair(project: Project) -> Project:
    """Two sets of one file name in different folders, with the same ids."""
    (project.folder / "assay.toml").unlink()
    for name in "ab":
        rows = {f"g00{n}": f"matter of {name} {n}" for n in range(1, 6)}
        project.write_rows(rows, project.folder / name / "gold.jsonl")
    with project.serve(*FILES) as server:
        assert len(server.visitor().items()) == 10
    return project


FILES = ("a/gold.jsonl", "b/gold.jsonl")


def chairs(path: Path, project: Project) -> list[str]:
    return [id for id, row in project.rows(path).items() if row["source"] == "chair"]


def test_a_decision_goes_to_the_set_of_its_item(pair: Project) -> None:
    """Approve, reject, bulk and undo change the file that the row is in, and no other."""
    one, two = (pair.folder / name / "gold.jsonl" for name in "ab")
    with pair.serve(*FILES) as server:
        chair = server.visitor("Dafna")
        items = {item["query"]: item["id"] for item in chair.items()}
        for n in (1, 2):
            chair.send(f"/api/review/{items[f'matter of a {n}']}/approve")
        third = items["matter of a 3"]
        chair.send(f"/api/review/{third}/reject", reason="no")
        assert chairs(one, pair) == ["g001", "g002"]
        assert list(pair.rows(one)) == ["g001", "g002", "g004", "g005"]
        assert chairs(two, pair) == []
        chair.send(f"/api/review/{items['matter of b 5']}/approve")
        undone = chair.undo(items["matter of a 1"], third)
        assert sorted(undone["done"]) == sorted([items["matter of a 1"], third])
        assert (chairs(one, pair), chairs(two, pair)) == (["g002"], ["g005"])
        both = [items["matter of a 4"], items["matter of b 4"]]
        lines = chair.ask("/api/review/bulk", id=both)["lines"]
        picks = [{"id": line["item"]["id"], "seen": line["seen"]} for line in lines]
        assert sorted(chair.send("/api/review/bulk", items=picks)["done"]) == sorted(both)
        assert (chairs(one, pair), chairs(two, pair)) == (["g002", "g004"], ["g004", "g005"])
        assert sorted(chair.undo(*both)["done"]) == sorted(both)
    assert (chairs(one, pair), chairs(two, pair)) == (["g002"], ["g005"])
    assert pair.counts() == (8, 2, 0, 0)


def test_a_rejection_in_one_set_is_none_in_another(project: Project) -> None:
    """Two sets that are bootstrapped from the same logs."""
    project.log("breach", "a")
    project.cite("D", "a")
    for name in "ab":
        project.do("gold", "bootstrap", f"{name}/gold.jsonl")
    words = ("--by", "Dafna", "--why", "not here", "--gold", "a/gold.jsonl")
    project.do("gold", "reject", "g001", *words)
    for name, rows in (("a", []), ("b", ["g001"])):
        done = project.json("gold", "bootstrap", f"{name}/gold.jsonl")
        assert (done["changed"], done["rejected"]) == (False, int(name == "a"))
        assert list(project.rows(project.folder / name / "gold.jsonl")) == rows


@pytest.mark.parametrize("how", ["copied", "moved"])
def test_a_project_takes_its_history_along(pair: Project, how: str) -> None:
    """Pending items, decisions and the audit trail are there; a copy changes no original."""
    pair.do("gold", "promote", "g001", "--by", "Dafna", "--gold", "a/gold.jsonl")
    words = ("--by", "Dafna", "--why", "w", "--gold", "b/gold.jsonl")
    pair.do("gold", "reject", "g002", *words)
    there = pair.folder.with_name("elsewhere")
    (shutil.copytree if how == "copied" else shutil.move)(pair.folder, there)
    moved = Project(there)
    with moved.serve(*FILES) as server:
        chair = server.visitor("Dafna")
        assert len(chair.items(state="pending_review")) == 8
        assert {entry["by"] for entry in chair.audit()} == {"Dafna"}
        for item in chair.items(state="pending_review"):
            chair.send(f"/api/review/{item['id']}/approve")
        rejected = [item["id"] for item in chair.items(state="rejected")]
        assert chair.undo(*rejected)["done"] == rejected
    assert [len(chairs(there / name / "gold.jsonl", moved)) for name in "ab"] == [5, 4]
    if how == "copied":
        assert chairs(pair.folder / "a" / "gold.jsonl", pair) == ["g001"]
        assert chairs(pair.folder / "b" / "gold.jsonl", pair) == []


def test_a_set_that_is_not_open_is_not_decided_on(project: Project) -> None:
    """The item says which set it belongs to; nothing changes, and no folder is told."""
    gold = project.write_rows({"x1": "one"}, project.folder / "away" / "gold.jsonl")
    with project.serve(gold) as server:
        chair = server.visitor()
        item = chair.id("x1")
        shutil.move(gold.parent, project.folder / "hidden")
        for action in ("approve", "reject"):
            answer = chair.post(f"/api/review/{item}/{action}", json={"reason": "so"})
            if action == "approve":
                assert answer.status_code in (400, 404)
                assert str(project.folder) not in answer.text
    hidden = project.folder / "hidden" / "gold.jsonl"
    assert project.rows(hidden)["x1"]["source"] == "bootstrap"
