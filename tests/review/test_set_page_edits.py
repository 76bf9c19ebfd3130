"""Edits on the pages of a graded set: queries, issues, documents and second opinions."""

from __future__ import annotations

import json

from kit import Project

ISSUE = {"set": "dataset", "topic": "gifts", "id": "limit", "name": "<b>Limits", "description": "d"}


def test_a_query_is_added_and_an_issue_edited(project: Project) -> None:
    """The file keeps other people's keys, and the audit trail says who changed what."""
    project.grade_set(("q1", "d1"))
    before = json.loads(project.graded.read_text("utf-8"))
    new = {"set": "dataset", "text": "may a guest pay? מתנה", "type": "keyword", "topic": "gifts"}
    with project.serve() as server:
        chair = server.visitor("Dora")
        (added,) = chair.send("/api/queries", **new)["added"]
        chair.refused("/api/queries", **new)
        chair.refused("/api/queries", **(new | {"text": " "}))
        chair.send("/api/issues", **ISSUE, key_statutes="89503, 89506\n")
        chair.send("/api/issues", **ISSUE, key_statutes="89503,89506")
        chair.send("/api/issues", **(ISSUE | {"id": "travel", "name": "Travel"}))
        assert "&lt;b&gt;Limits" in chair.get("/judge/dataset").text
        assert chair.get(f"/judge/dataset/{added}").status_code == 200
        entries = chair.audit()[::-1]
        trail = [(entry["by"], entry["action"], entry["subject"]) for entry in entries]
        renamed = (entries[1]["before"]["name"], entries[1]["after"]["name"])
    assert renamed == ("Limits", "<b>Limits")
    assert trail == [
        ("Dora", "gold.query_added", f"dataset/{added}"),
        ("Dora", "gold.issue_edited", "dataset/gifts/limit"),
        ("Dora", "gold.issue_edited", "dataset/gifts/travel"),
    ]
    now = json.loads(project.graded.read_text("utf-8"))
    assert now["queries"][:3] == before["queries"]
    assert (now["queries"][3]["id"], now["queries"][3]["text"]) == (added, new["text"])
    limit, travel = now["taxonomy"]["gifts"]["issues"]
    assert (limit["key_statutes"], limit["odd"]) == (["89503", "89506"], 1)
    assert travel["name"] == "Travel"
    assert {key: now[key] for key in ("version", "rubric")} == {
        "version": "1",
        "rubric": "fppc-relevance-2",
    }


def test_an_edit_by_hand_is_not_overwritten_by_one_on_the_page(project: Project) -> None:
    """The query is added to the file as the person left it."""
    project.grade_set(("q1", "d1"))
    with project.serve() as server:
        chair = server.visitor("Dora")
        chair.get("/judge/dataset")
        text = project.graded.read_text("utf-8").replace("What officials may accept.", "By hand.")
        project.graded.write_text(text, "utf-8")
        chair.send("/api/queries", set="dataset", text="another question", type="keyword")
    now = json.loads(project.graded.read_text("utf-8"))
    assert now["taxonomy"]["gifts"]["description"] == "By hand."
    assert now["queries"][-1]["text"] == "another question"


def test_a_judge_adds_a_document_to_those_that_are_judged(project: Project) -> None:
    """It is asked of the judge who found it, once, and the audit trail says so."""
    project.grade_set(("q1", "d1"))
    before = project.graded.read_bytes()
    with project.serve() as server:
        ada = server.visitor("Ada")
        found = ada.ask("/api/judge/search", set="dataset", query="q1", q="behested")
        assert [hit["doc_id"] for hit in found] == ["d5"]
        new = {"set": "dataset", "query_id": "q1", "doc_id": "d5"}
        for already in (False, True):
            assert ada.send("/api/pool", **new)["already"] == already
        assert "d5" in ada.pairs("dataset", "q1")
        (entry,) = ada.audit(action="gold.document_added")
        assert (entry["by"], entry["subject"]) == ("Ada", "dataset/q1")
        assert ada.post("/api/pool", json=new | {"doc_id": "nowhere"}).status_code == 404
        ada.vote("dataset", "q1", "d5", 1, "a neighbouring rule")
    assert project.graded.read_bytes() == before
    assert project.grades() == {("q1", "d5"): {"Ada": 1}}


def test_judges_do_not_edit_the_set(project: Project) -> None:
    """Queries, issues, rulings and labels are for chairs."""
    project.grade_set(("q1", "d1"), judges=())
    before = project.graded.read_bytes()
    with project.serve(accounts=True) as server:
        server.join(project.do("people", "invite", "Ro", "admin").out)
        judge = server.join(project.do("people", "invite", "Ju", "judge").out)
        for path in ("queries", "issues", "rulings", "labels"):
            assert judge.post(f"/api/{path}", json={"set": "dataset"}).status_code == 403, path
        assert judge.get("/api/audit").status_code == 403
        assert judge.get("/api/disputes?set=dataset").status_code == 403
    assert project.graded.read_bytes() == before
