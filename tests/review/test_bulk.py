"""Approving many rows at once: the preview, the step and its undo."""

from __future__ import annotations

import re

from kit import Project


def test_the_preview_is_what_happens(reviewed: Project) -> None:
    """Rows are listed with what approving would write, suggestions are left out; one press approves
    the rows that are ticked, and one undo restores the file byte for byte."""
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        suggestion = server.agent().suggest("g003", "z", 3)
        shown = chair.ask("/api/review/bulk")
        assert [line["item"]["ref"] for line in shown["lines"]] == ["g001", "g002", "g003"]
        assert [(each["rows"], each["votes"]) for each in shown["sets"]] == [(3, 6)]
        assert [item["id"] for item in shown["left_out"]] == [suggestion]
        page = chair.get("/review/bulk").text
        form = {
            "id": [line["item"]["id"] for line in shown["lines"][:2]],
            "seen": re.findall(r'name="seen" value="([^"]+)"', page),
            "why": "read together",
        }
        for said in ("approved", "already"):
            answer = chair.post("/review/bulk", data=form)
            assert answer.headers["location"] == f"/review?said={said}"
        assert reviewed.sources() == {"g001": "chair", "g002": "chair", "g003": "bootstrap"}
        assert reviewed.rulings() == 4
        entries = chair.audit(action="review.approved")
        assert {(entry["by"], entry["reason"]) for entry in entries} == {("Dafna", "read together")}
        assert {entry["subject"] for entry in entries} == {"gold-set/g001", "gold-set/g002"}
        assert chair.item("g001")["decided_at"] == chair.item("g002")["decided_at"]
        assert sorted(chair.undo()["done"]) == sorted(form["id"]), "one step, one undo"
        assert reviewed.gold.read_bytes() == before
        assert chair.post("/review/undo", data={"id": form["id"]}).headers["location"] == (
            "/review?said=waits_already"
        )
    assert reviewed.counts() == (4, 0, 0, 0)


def test_one_row_of_a_bulk_approval_can_be_undone_alone(reviewed: Project) -> None:
    """The other rows of the step stay approved."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        done = chair.send("/api/review/bulk", items=chair.picks())["done"]
        assert sorted(done) == sorted(chair.id(ref) for ref in ("g001", "g002", "g003"))
        assert chair.undo(chair.id("g002"))["done"] == [chair.id("g002")]
    assert reviewed.sources() == {"g001": "chair", "g002": "bootstrap", "g003": "chair"}


def test_what_changed_since_the_preview_is_left(reviewed: Project) -> None:
    """Rows with another document by now, edited by hand, or decided by another are named; the rest
    is approved."""
    reviewed.log("fourth", "a", "b")
    reviewed.cite("D-2", "a", "b")
    reviewed.bootstrap()
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        picks = chair.picks()
        items = {ref: chair.id(ref) for ref in chair.states()}
        assert len(picks) == 4
        server.visitor("Eve").accept(server.agent().suggest("g002", "z", 3))
        reviewed.do("gold", "promote", "g003", "--by", "Moshe")
        text = reviewed.gold.read_text("utf-8")
        fourth = next(id for id, row in reviewed.rows().items() if row["query"] == "fourth")
        edited = text.replace('"query":"fourth"', '"query":"fourth, by hand"')
        reviewed.gold.write_text(edited, "utf-8")
        outcome = chair.send("/api/review/bulk", items=picks)
        assert outcome["done"] == [items["g001"]]
        assert set(outcome["refused"]) == {items["g002"], items["g003"], items[fourth]}
        assert "changed since you saw it" in outcome["refused"][items["g002"]]
        assert "by Moshe" in outcome["refused"][items["g003"]]
        again = chair.send("/api/review/bulk", items=picks)
        assert (again["done"], again["already"]) == ([], [items["g001"]])
        form = {
            "id": [pick["id"] for pick in picks],
            "seen": [f"{pick['id']}:{pick['seen']}" for pick in picks],
        }
        page = chair.post("/review/bulk", data=form)
        assert page.status_code == 200
        assert "by Moshe" in page.text
    assert reviewed.sources() == {
        "g001": "chair",
        "g002": "bootstrap",
        "g003": "chair",
        fourth: "bootstrap",
    }
    assert reviewed.row(fourth)["query"] == "fourth, by hand"


def test_suggestions_and_unknown_rows_are_not_approved_in_passing(reviewed: Project) -> None:
    """They are named; nothing at all, or more than 200 rows, is refused."""
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = server.agent().suggest("g003", "z", 3)
        picks = [{"id": item, "seen": ""}, {"id": "none", "seen": ""}]
        outcome = chair.send("/api/review/bulk", items=picks)
        assert outcome["done"] == []
        assert set(outcome["refused"]) == {item, "none"}
        many = [{"id": str(n), "seen": ""} for n in range(201)]
        assert "200" in chair.refused("/api/review/bulk", items=many)
        chair.refused("/api/review/bulk", items=[])
        assert chair.post("/review/bulk", data={}).status_code == 400
        assert chair.by_id(item)["state"] == "pending_review"
    assert reviewed.gold.read_bytes() == before


def test_a_bulk_approval_is_refused_row_by_row_where_nothing_was_seen(reviewed: Project) -> None:
    """Each row is sent with the fingerprint of what was shown; a wrong one is not approved."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        picks = [pick | {"seen": "0" * 16} for pick in chair.picks("g001")]
        assert list(chair.send("/api/review/bulk", items=picks)["refused"]) == [chair.id("g001")]
    assert reviewed.counts() == (3, 0, 0, 0)
