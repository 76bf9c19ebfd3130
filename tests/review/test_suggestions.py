"""Suggestions: agents make them by MCP, a comparison asks for them, and a chair decides."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kit import Project


def run_file(project: Project, name: str, rankings: dict[str, list[str]]) -> Path:
    """A TREC run."""
    lines = [
        f"{query} Q0 {doc} {rank} {100 - rank} {name}\n"
        for query, docs in rankings.items()
        for rank, doc in enumerate(docs, 1)
    ]
    path = project.folder / f"{name}.trec"
    path.write_text("".join(lines), "utf-8")
    return path


def test_a_suggestion_waits_and_changes_nothing(reviewed: Project) -> None:
    """It is in the queue with its grade, reason and author; tools, pages and counts show it."""
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        agent, chair = server.agent("agent <1>"), server.visitor("Dafna")
        item = agent.suggest("g003", "z", 2, why="היטל: on point")
        told = chair.by_id(item)
        assert (told["kind"], told["ref"], told["doc_ids"]) == ("judgment", "g003", ["z"])
        assert (told["grade"], told["rationale"]) == (2, "היטל: on point")
        assert (told["suggested_by"], told["state"]) == ("agent <1>", "pending_review")
        assert [each["id"] for each in chair.items(kind="judgment")] == [item]
        page = chair.get(f"/review/{item}").text
        assert "agent &lt;1&gt;" in page
        assert re.search(r'value="2"[^>]* checked', page), "its grade is chosen"
        listed = agent.ask("list_waiting", gold="gold-set", limit=10)["items"]
        assert len(listed) == 4
        (line,) = (each for each in listed if each["item_id"] == item)
        assert (line["query_id"], line["grade"], line["by"]) == ("g003", 2, "agent <1>")
        assert agent.ask("get_metrics")["backlog"]["pending_review"] == 4
        assert agent.suggest("g003", "z", 2) == item, "the same suggestion is one item"
        said = agent.refused(
            "suggest_judgment", gold="gold-set", query_id="g003", doc_id="z", grade=1,
            rationale="changed my mind", by=agent.name, allow_unknown=True,
        )  # fmt: skip
        assert "grade 2" in said
        next_up = agent.ask("next_to_judge", gold="gold-set", limit=10)["items"]
        assert [each["query_id"] for each in next_up] == ["g001", "g002", "g003", "g003"]
        (known,) = (
            each for each in agent.ask("list_gold_sets")["gold_sets"] if each["name"] == "gold-set"
        )
        assert known["queries"] == 3
        other = server.agent("agent 2").suggest("g003", "z", 1)
        assert other != item, "another agent may think otherwise"
    assert reviewed.gold.read_bytes() == before
    assert reviewed.counts() == (5, 0, 0, 0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"query_id": "g009"}, "g009"),
        ({"gold": "nothing"}, "nothing"),
        ({"grade": 9}, "scale"),
        ({"doc_id": "nowhere", "allow_unknown": False}, "nowhere"),
        ({"doc_id": "x" * 600}, "characters"),
        ({"rationale": ""}, "rationale"),
        ({"by": ""}, "by"),
    ],
)
def test_a_suggestion_that_cannot_be_used_is_refused(
    reviewed: Project, changed: dict[str, Any], message: str
) -> None:
    """The tool says what is wrong, and nothing is queued."""
    asked = {"gold": "gold-set", "query_id": "g001", "doc_id": "z", "grade": 1,
             "rationale": "r", "by": "agent", "allow_unknown": True}  # fmt: skip
    with reviewed.serve() as server:
        assert message in server.agent().refused("suggest_judgment", **(asked | changed))
    assert reviewed.counts() == (3, 0, 0, 0)


def test_an_accepted_suggestion_changes_only_the_pair_that_it_names(reviewed: Project) -> None:
    """The document joins the row, which goes on waiting; the vote is the chair's, without the
    agent's words; the next bootstrap keeps it."""
    lines = reviewed.gold.read_bytes().splitlines()
    with reviewed.serve() as server:
        chair = server.visitor("דפנה")
        item = server.agent().suggest("g003", "z", 2)
        assert chair.form(item, "approve").status_code == 303
        decided = chair.by_id(item)
        assert (decided["state"], decided["decided_by"]) == ("approved", "דפנה")
        waiting = chair.item("g003")
        assert (waiting["state"], waiting["doc_ids"]) == ("pending_review", ["a", "b", "z"])
    row = reviewed.row("g003")
    assert (row["relevant_case_law_ids"], row["source"]) == (["a", "b", "z"], "bootstrap")
    assert reviewed.gold.read_bytes().splitlines()[:2] == lines[:2]
    (vote,) = reviewed.votes(reviewed.gold)["g003", "z"].values()
    assert (vote["grade"], vote["why"]) == (2, "")
    assert list(reviewed.grades(reviewed.gold)["g003", "z"]) == ["דפנה"]
    assert not reviewed.bootstrap()["changed"]
    assert reviewed.counts() == (3, 1, 0, 0)


def test_the_chair_gives_another_grade(reviewed: Project) -> None:
    """At grade 0 the document leaves the row and stays out; the last one cannot leave."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = server.agent().suggest("g003", "b", 2)
        form = {"grade": "0", "why": "overruled"}
        assert chair.form(item, "approve", **form).status_code == 303
        assert reviewed.row("g003")["relevant_case_law_ids"] == ["a"]
        last = server.agent().suggest("g003", "a", 0)
        assert chair.form(last, "approve").status_code == 400
        assert chair.by_id(last)["state"] == "pending_review"
    assert reviewed.votes(reviewed.gold)["g003", "b"]["Dafna"]["why"] == "overruled"
    assert reviewed.bootstrap()["updated"] == 0
    assert reviewed.row("g003")["relevant_case_law_ids"] == ["a"]


def test_a_declined_suggestion_changes_nothing(reviewed: Project) -> None:
    """It needs a reason; afterwards it is not in the queue, and cannot be suggested again."""
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        chair, agent = server.visitor("Dafna"), server.agent()
        item = agent.suggest("g003", "z", 2)
        assert chair.form(item, "reject").status_code == 400
        assert chair.form(item, "reject", why="off point").status_code == 303
        told = chair.by_id(item)
        assert (told["state"], told["decided_by"]) == ("rejected", "Dafna")
        assert told["reason"] == "off point"
        (entry,) = chair.audit(action="review.rejected")
        assert (entry["by"], entry["reason"]) == ("Dafna", "off point")
        assert agent.suggest("g003", "z", 2) == item
        assert chair.by_id(item)["state"] == "rejected"
        assert chair.decline(item)["already"]
    assert reviewed.gold.read_bytes() == before
    assert reviewed.grades(reviewed.gold) == {}


@pytest.mark.parametrize("row", ["pending", "approved"])
@pytest.mark.parametrize(("grade", "document"), [(2, "z"), (0, "a")])
@pytest.mark.parametrize("by", ["Dafna", "Moshe"])
def test_an_undone_suggestion_leaves_the_row_byte_for_byte(
    reviewed: Project, row: str, grade: int, document: str, by: str
) -> None:
    """A document that left comes back to its place, no vote holds, and it can be accepted again."""
    with reviewed.serve() as server:
        chair, agent = server.visitor("Dafna"), server.agent()
        item = agent.suggest("g001", document, 1)
        if row == "approved":
            chair.approve("g001")
        before = reviewed.gold.read_bytes()
        chair.accept(item, grade=grade)
        assert reviewed.gold.read_bytes() != before
        assert reviewed.row("g001")["source"] == ("chair" if row == "approved" else "bootstrap")
        decided = chair.by_id(item)["decided_at"]
        undone = server.visitor(by).undo(decided={item: decided})
        assert undone["done"] == [item], undone
        assert reviewed.gold.read_bytes() == before
        assert chair.by_id(item)["state"] == "pending_review"
        assert reviewed.grades(reviewed.gold) == {}
        chair.accept(item, grade=grade)
    assert reviewed.grades(reviewed.gold) == {("g001", document): {"Dafna": grade}}


def test_the_newest_word_on_a_document_is_undone_first(reviewed: Project) -> None:
    """Two suggestions on one document: undoing the first would undo what was said since."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        states = [reviewed.gold.read_bytes()]
        items = [server.agent(f"m{grade}").suggest("g001", "z", grade) for grade in (1, 0)]
        for item in items:
            chair.accept(item)
            states.append(reviewed.gold.read_bytes())
        first, second = items
        assert list(chair.undo(first)["refused"]) == [first]
        assert reviewed.gold.read_bytes() == states[2]
        assert reviewed.grades(reviewed.gold)["g001", "z"] == {"Dafna": 0}
        assert chair.undo(second)["done"] == [second]
        assert reviewed.gold.read_bytes() == states[1]
        assert reviewed.grades(reviewed.gold)["g001", "z"] == {"Dafna": 1}
        assert chair.undo(first)["done"] == [first]
    assert reviewed.gold.read_bytes() == states[0]
    assert reviewed.grades(reviewed.gold) == {}


def test_a_suggestion_on_a_reworded_query_is_seen_first(reviewed: Project) -> None:
    """Refused from the old page, decided from a new one, and undone whatever the query says."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = server.agent().suggest("g001", "z", 1)
        form = chair.filled(item) | {"action": "approve", "grade": "1"}

        def reword(old: str, new: str) -> None:
            text = reviewed.gold.read_text("utf-8").replace(old, new)
            reviewed.gold.write_text(text, "utf-8")

        reword('"first"', '"something else"')
        assert chair.post(f"/review/{item}", data=form).status_code == 400
        assert chair.by_id(item)["state"] == "pending_review"
        assert chair.form(item, "approve").status_code == 303
        reword('"something else"', '"a third"')
        assert chair.undo(item)["done"] == [item]
    assert reviewed.row("g001")["query"] == "a third"


def test_an_accepted_suggestion_on_a_graded_set_is_a_vote(project: Project) -> None:
    """The file changes when labels are computed; an undone one is no vote."""
    project.grade_set(("q1", "d1"), judges=("Dafna",))
    before = project.graded.read_bytes()
    with project.serve() as server:
        chair = server.visitor("Dafna")
        agent = server.agent()
        item = agent.suggest("q1", "d2", 2, gold="dataset")
        chair.accept(item, reason="it decides the point")
        other = agent.suggest("q2", "d4", 1, gold="dataset")
        chair.decline(other)
        assert project.graded.read_bytes() == before
        assert project.grades() == {("q1", "d2"): {"Dafna": 2}}
        assert chair.undo(item)["done"] == [item]
        assert project.grades() == {}
        chair.accept(item, grade=1, reason="a neighbouring rule")
    assert project.json("gold", "merge", project.graded)["labels"] == 1
    assert project.labels() == {("q1", "d2"): 1}


def test_pairs_that_a_comparison_asks_for_wait_without_a_grade(project: Project) -> None:
    """`assay gold next --queue` asks once for each pair; the grade is the chair's to give."""
    project.grade_set(("q1", "d1"), ("q2", "d4"), judges=("Ada",))
    given = project.packet("Ada", {("q1", "d1"): 2, ("q2", "d4"): 2})
    project.do("gold", "merge", project.graded, given)
    results = []
    for name, docs in (("one", ["d1", "d2"]), ("two", ["d3", "d4"])):
        run = run_file(project, name, {query: docs for query in ("q1", "q2")})
        results.append(project.folder / f"{name}.json")
        project.do("score", project.graded, "--run", run, "--output", results[-1])
    asked = ("gold", "next", *results, "--queue", project.graded)
    project.do(*asked)
    waiting = project.counts()[0]
    assert waiting > 1
    assert "0 new pairs" in project.do(*asked).err
    assert project.counts()[0] == waiting
    with project.serve() as server:
        chair = server.visitor("Dafna")
        items = chair.items(kind="judgment")
        assert {item["grade"] for item in items} == {None}
        first, second = items[:2]
        assert 'name="grade"' in chair.get(f"/review/{first['id']}").text
        assert chair.form(first["id"], "approve", why="w").status_code == 400, "no grade yet"
        assert chair.form(first["id"], "approve", grade="2").status_code == 303
        assert chair.form(second["id"], "approve", grade="0").status_code == 303
    held = project.grades()
    assert held[first["ref"], first["doc_ids"][0]] == {"Dafna": 2}
    assert held[second["ref"], second["doc_ids"][0]] == {"Dafna": 0}


def test_suggestions_on_a_row_that_left_are_withdrawn(reviewed: Project) -> None:
    """When the queue is brought up to date; the audit trail keeps it."""
    with reviewed.serve() as server:
        item = server.agent().suggest("g001", "z", 2)
    text = reviewed.gold.read_text("utf-8").splitlines(keepends=True)
    reviewed.gold.write_text("".join(text[1:]), "utf-8")
    reviewed.do("logs", "purge", "--older-than", 1)
    reviewed.bootstrap()
    with reviewed.serve() as server:
        chair = server.visitor()
        assert item not in [each["id"] for each in chair.items(state="pending_review")]
        assert chair.audit(action="review.withdrawn")
