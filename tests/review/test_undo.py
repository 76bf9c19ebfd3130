"""Undoing decisions: the row, its place and its bytes are as before, and newer decisions stay."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit import Project, Visitor


def decided(*items: dict[str, Any]) -> dict[str, str]:
    """What a page sends of the decisions that it shows."""
    return {item["id"]: item["decided_at"] for item in items}


def decide(project: Project, chair: Visitor, act: str) -> None:
    """Decide on g001."""
    if act == "approve":
        chair.approve("g001", reason="right")
    elif act == "correct":
        chair.approve("g001", documents=["b", "c"], note="see c", reason="a is overruled")
    elif act == "reject":
        chair.reject("g001")
    else:
        project.do("gold", "promote", "g001", "--by", chair.name)


@pytest.mark.parametrize("act", ["approve", "correct", "reject", "promote by command"])
@pytest.mark.parametrize("content", ["plain", "own keys", "windows"])
def test_an_undone_decision_leaves_the_file_byte_for_byte(
    reviewed: Project, act: str, content: str
) -> None:
    """The row is pending again, can be decided again, and the audit trail keeps both."""
    text = reviewed.gold.read_text("utf-8")
    if content == "own keys":
        text = "# mine\n\n" + text.replace('{"id":"g001",', '{ "id" : "g001", "mine":[1],')
    before = text.encode()
    if content == "windows":
        before = b"\xef\xbb\xbf" + before.replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    reviewed.gold.write_bytes(before)
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        decide(reviewed, chair, act)
        assert reviewed.gold.read_bytes() != before
        item = chair.id("g001")
        assert chair.undo()["done"] == [item], "what this person decided last"
        assert reviewed.gold.read_bytes() == before
        now = chair.item("g001")
        assert (now["state"], now["doc_ids"]) == ("pending_review", ["a", "b"])
        trail = chair.audit(subject="gold-set/g001")
        last, first = [entry for entry in trail if entry["action"] != "gold.edited"]
        assert (last["by"], last["action"]) == ("Dafna", "review.pending_review")
        assert first["by"] == "Dafna"
        assert last["at"] > first["at"]
        decide(reviewed, chair, act)
    assert reviewed.counts() in ((2, 1, 0, 0), (2, 0, 1, 0))
    if content != "windows":  # bootstrap ends the last line
        assert not reviewed.bootstrap()["changed"]


def test_the_page_undoes_and_says_so(reviewed: Project) -> None:
    """The list offers to undo the last decision; pressing again is harmless."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        chair.press("g001", "approve")
        item = chair.id("g001")
        assert f'name="id" value="{item}"' in chair.get("/review").text
        for said in ("taken_back", "waits_already"):
            answer = chair.post("/review/undo", data={"id": item})
            assert answer.headers["location"] == f"/review/{item}?said={said}"
        assert chair.get(answer.headers["location"]).status_code == 200
        assert chair.undo(item)["already"] == [item]
        assert chair.undo("none")["refused"].keys() == {"none"}
    assert reviewed.counts() == (3, 0, 0, 0)


def test_undoing_an_approval_leaves_other_rows_alone(reviewed: Project) -> None:
    """Of two approvals one is undone, and the other row stays the chair's."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        for ref in ("g001", "g002"):
            chair.approve(ref)
        chair.undo(chair.id("g001"))
    assert reviewed.sources() == {"g001": "bootstrap", "g002": "chair", "g003": "bootstrap"}


def test_undoing_leaves_keys_that_were_edited_since(reviewed: Project) -> None:
    """What a person wrote in other keys of the row after its approval stays."""
    text = reviewed.gold.read_text("utf-8").replace('{"id":"g001",', '{"mine":[1],"id":"g001",')
    reviewed.gold.write_text(text, "utf-8")
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        chair.approve("g001")
        edited = reviewed.gold.read_text("utf-8").replace('"mine":[1]', '"mine":[2]')
        reviewed.gold.write_text(edited, "utf-8")
        assert chair.undo()["refused"] == {}
    row = reviewed.row("g001")
    assert (row["mine"], row["source"]) == ([2], "bootstrap")


def test_a_row_that_changed_after_its_approval_is_not_undone(reviewed: Project) -> None:
    """The change by hand would be lost; of several rows of a set none is undone then."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        for ref in ("g001", "g002"):
            chair.approve(ref)
        text = reviewed.gold.read_text("utf-8").replace('"third"', '"another"')
        reviewed.gold.write_text(text, "utf-8")
        item = chair.id("g002")
        undone = chair.undo(item)
        assert undone["done"] == []
        assert "changed after it was approved" in undone["refused"][item]
        assert chair.by_id(item)["state"] == "approved"
    assert reviewed.gold.read_text("utf-8") == text


def test_an_approval_by_hand_is_not_undone_on_the_page(reviewed: Project) -> None:
    """The file is the person's: the page refuses, and the row stays approved."""
    text = reviewed.gold.read_text("utf-8").replace('"bootstrap"', '"chair"', 1)
    reviewed.gold.write_text(text, "utf-8")
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        (item,) = chair.items(state="approved")
        form = {"id": item["id"], "decided": f"{item['id']} {item['decided_at']}"}
        assert chair.post("/review/undo", data=form).status_code == 400
    assert reviewed.gold.read_text("utf-8") == text
    assert reviewed.counts() == (2, 1, 0, 0)


@pytest.mark.parametrize("where", ["list", "item", "route"])
def test_an_old_page_undoes_no_newer_decision(reviewed: Project, where: str) -> None:
    """The page names the decision that it shows; where another one stands, it is refused."""
    with reviewed.serve() as server:
        chair, moshe = server.visitor("Dafna"), server.visitor("Moshe")
        chair.approve("g001")
        item = chair.id("g001")
        address = "/review" if where == "list" else f"/review/{item}"
        (shown,) = re.findall(r'name="decided" value="([^"]+)"', chair.get(address).text)
        chair.undo()
        moshe.approve("g001")
        before = reviewed.gold.read_bytes()
        if where == "route":
            answer = chair.undo(decided=dict([shown.split(" ")]))
            assert (answer["done"], "Moshe decided on" in answer["refused"][item]) == ([], True)
        else:
            refused = chair.post("/review/undo", data={"id": item, "decided": shown})
            assert (refused.status_code, "Moshe decided on" in refused.text) == (400, True)
        now = chair.by_id(item)
        assert (now["state"], now["decided_by"]) == ("approved", "Moshe")
        assert reviewed.gold.read_bytes() == before
        # a decision of somebody else that the page does show can be undone
        (shown,) = re.findall(r'name="decided" value="([^"]+)"', chair.get(f"/review/{item}").text)
        done = chair.post("/review/undo", data={"id": item, "decided": shown})
        assert "said=taken_back" in done.headers["location"]
    assert reviewed.counts() == (3, 0, 0, 0)


def test_without_naming_a_decision_people_undo_their_own_alone(reviewed: Project) -> None:
    """Another person's decision is refused by id, and is not the last one of mine."""
    with reviewed.serve() as server:
        chair, moshe = server.visitor("Dafna"), server.visitor("Moshe")
        moshe.approve("g001")
        item = chair.id("g001")
        undone = chair.undo(item)
        assert (undone["done"], "Moshe" in undone["refused"][item]) == ([], True)
        assert chair.undo() == {"done": [], "already": [], "refused": {}, "unwritten": ""}
        assert moshe.undo(item)["done"] == [item]


@pytest.mark.parametrize("before", ["pending", "approved by Dafna", "approved by Moshe"])
@pytest.mark.parametrize("back", ["Dafna", "Moshe"])
def test_an_undone_rejection_leaves_what_was_before(
    reviewed: Project, before: str, back: str
) -> None:
    """The row, its state and who had approved it, whoever undoes the rejection."""
    if before != "pending":
        reviewed.do("gold", "promote", "g001", "--by", before.split()[-1])
    content = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        chair = server.visitor(back)
        state = chair.item("g001")["state"]
        reviewed.do("gold", "reject", "g001", "--by", "Dafna", "--why", "w")
        item = chair.item("g001")
        assert chair.undo(decided=decided(item))["done"] == [item["id"]]
        assert chair.item("g001")["state"] == state
    assert reviewed.gold.read_bytes() == content


def test_a_rejection_that_was_made_anew_stays_for_whoever_saw_the_first(reviewed: Project) -> None:
    """An undo names its decision; the newer rejection is undone only when named."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        chair.reject("g001")
        first = chair.item("g001")
        reviewed.do("gold", "reopen", "g001", "--by", "Eve")
        reviewed.do("gold", "reject", "g001", "--by", "Eve", "--why", "again")
        before = reviewed.gold.read_bytes()
        undone = chair.undo(decided=decided(first))
        assert (undone["done"], list(undone["refused"])) == ([], [first["id"]])
        assert chair.by_id(first["id"])["state"] == "rejected"
        assert reviewed.gold.read_bytes() == before
        assert chair.undo(decided=decided(chair.item("g001")))["done"] == [first["id"]]


def test_repeated_decisions_are_kept_apart(reviewed: Project) -> None:
    """Approve and undo three times with other documents: each undo restores the row."""
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        for documents in (["a"], ["a", "b"], ["b"]):
            chair.approve("g001", documents=documents)
            assert reviewed.row("g001")["relevant_case_law_ids"] == documents
            assert len(chair.undo()["done"]) == 1
            assert reviewed.gold.read_bytes() == before
        moments = [entry["at"] for entry in chair.audit(subject="gold-set/g001")]
    assert len(set(moments)) == 6
    assert moments == sorted(moments, reverse=True)


def test_a_row_comes_back_as_the_chair_had_it_whatever_became_of_a_suggestion(
    reviewed: Project,
) -> None:
    """A suggestion that was declined between a rejection and its undo changes nothing."""
    change = ("--add", "c", "--remove", "a", "--note", "see c")
    reviewed.do("gold", "correct", "g001", *change, "--by", "Dafna", "--why", "w")
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        suggestion = server.agent().suggest("g001", "z", 1)
        reviewed.do("gold", "reject", "g001", "--by", "Dafna", "--why", "w")
        chair.decline(suggestion)
        assert chair.undo(chair.id("g001"))["refused"] == {}
        assert chair.item("g001")["state"] == "approved"
    assert reviewed.gold.read_bytes() == before


def test_many_suggestions_hide_no_approval(reviewed: Project) -> None:
    """An approval can be undone after more than twenty decisions on the same row."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        chair.approve("g001")
        for n in range(21):
            chair.accept(server.agent().suggest("g001", f"z{n}", 1), grade=0)
        item = chair.id("g001")
        assert chair.undo(item)["done"] == [item]
    assert reviewed.row("g001")["source"] == "bootstrap"


def test_an_undone_decision_leaves_no_judgment_behind(reviewed: Project) -> None:
    """While it holds, a document that it ruled out is judged, and agents need not suggest it.
    After the undo it is not judged, also when a person makes the row the chair's by hand."""
    with reviewed.serve() as server:
        chair, agent = server.visitor("Dafna"), server.agent()
        asked = {"gold": "gold-set", "query_id": "g001", "doc_id": "a", "grade": 1,
                 "rationale": "on point", "by": agent.name}  # fmt: skip
        chair.approve("g001", documents=["b"])
        assert "judged already" in agent.refused("suggest_judgment", **asked)
        chair.undo()
        text = reviewed.gold.read_text("utf-8").replace('["a","b"]', '["b"]', 1)
        reviewed.gold.write_text(text.replace('"bootstrap"', '"chair"', 1), "utf-8")
        assert agent.ask("suggest_judgment", **asked)["state"] == "pending_review"
