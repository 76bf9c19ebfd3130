"""A request that is sent again after a lost answer is the same act; an id is never used for two."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit import Project
from kit.server import Visitor

SAMPLE = Path(__file__).parents[2] / "samples" / "he" / "gold-set.jsonl"


@pytest.fixture
def rows(tmp_path: Path) -> Project:
    shutil.copy(SAMPLE, tmp_path / "gold-set.jsonl")
    return Project(tmp_path)


@pytest.fixture
def chair(rows: Project) -> Iterator[Visitor]:
    with rows.serve(rows.gold) as server:
        yield server.visitor("Dana")


def acts(project: Project) -> list[str]:
    log = project.folder / "gold-set.log.jsonl"
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    return [json.loads(line)["action"] for line in lines]


def test_a_decision_that_is_sent_again_is_one_act(chair: Visitor, rows: Project) -> None:
    item = chair.id("g002")
    for already in (False, True):
        done = chair.send(f"/api/review/{item}/approve", act="decision-one")
        assert (done["outcome"], done["already"]) == ("approved", already)
    assert acts(rows).count("approve") == 1


@pytest.mark.parametrize(
    ("ref", "verb", "body"),
    [
        ("g006", "approve", {}),
        ("g002", "reject", {"reason": "not asked"}),
        ("g002", "approve", {"documents": ["another"]}),
    ],
    ids=["another item", "another outcome", "other documents"],
)
def test_the_id_of_a_decision_stands_for_nothing_else(
    chair: Visitor, rows: Project, ref: str, verb: str, body: dict[str, object]
) -> None:
    chair.send(f"/api/review/{chair.id('g002')}/approve", act="decision-one")
    states = chair.states()
    said = chair.refused(f"/api/review/{chair.id(ref)}/{verb}", act="decision-one", **body)
    assert "belongs to another decision" in said
    assert chair.states() == states


def test_an_undo_that_is_sent_again_undoes_nothing_more(chair: Visitor, rows: Project) -> None:
    for ref in ("g002", "g006"):
        chair.send(f"/api/review/{chair.id(ref)}/approve")
    first = chair.send("/api/review/undo", act="undo-the-last")
    assert first["done"] == [chair.id("g006")]
    again = chair.send("/api/review/undo", act="undo-the-last")
    assert (again["done"], again["already"]) == ([], [chair.id("g006")])
    assert chair.states()["g002"] == "approved"


def test_rows_that_are_approved_again_after_an_undo_need_a_new_id(
    chair: Visitor, rows: Project
) -> None:
    picks = chair.picks("g002", "g006")
    ids = {chair.id("g002"), chair.id("g006")}
    assert set(chair.send("/api/review/bulk", items=picks, act="many-rows")["done"]) == ids
    chair.send("/api/review/undo", ids=[*ids])
    again = chair.send("/api/review/bulk", items=picks, act="many-rows")
    assert (again["done"], set(again["already"])) == ([], ids)
    assert set(chair.send("/api/review/bulk", items=picks, act="once-more")["done"]) == ids


def test_rulings_and_flags_that_are_sent_again_are_one_act(tmp_path: Path) -> None:
    queries = [
        {
            "id": "q1",
            "text": "gift of travel",
            "relevance_judgments": [{"opinion_id": "d1", "score": 2, "rationale": "on point"}],
        }
    ]
    gold = tmp_path / "dataset.json"
    gold.write_text(json.dumps({"rubric": "fppc-relevance-2", "queries": queries}), "utf-8")
    log = tmp_path / "dataset.log.jsonl"
    with Project(tmp_path).serve(gold) as server:
        dana = server.visitor("Dana")
        ruling = {"set": "dataset", "query_id": "q1", "doc_id": "d1", "grade": 0}
        ruling |= {"rationale": "The letter is about loans.", "act": "ruling-one"}
        assert [dana.send("/api/rulings", **ruling)["already"] for _ in range(2)] == [0, 1]
        assert "another ruling" in dana.refused("/api/rulings", **(ruling | {"grade": 1}))
        for _ in range(2):
            dana.send("/api/flags", set="dataset", query_id="q1", reason="broad", act="flag-one-1")
        moshe = server.visitor("Moshe")
        late = ruling | {"grade": 2, "act": "ruling-two", "seen": ""}
        assert "Dana ruled grade 0 on this pair" in moshe.refused("/api/rulings", **late)
        page = moshe.get("/agreement/dataset/q1?doc=d1").text
        assert 'data-seen="ruling-one"' in page
        assert moshe.send("/api/rulings", **(late | {"seen": "ruling-one"}))["ruled"] == 1
    found = [json.loads(line)["action"] for line in log.read_text("utf-8").splitlines()]
    assert (found.count("rule"), found.count("flag")) == (2, 1)
