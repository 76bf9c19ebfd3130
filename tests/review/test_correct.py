"""Correcting rows: `assay gold correct`, and the page of an item with other documents ticked."""

from __future__ import annotations

import html

import pytest

from kit import Project

WORDS = ("--by", "Dafna", "--why", "a is overruled")


@pytest.mark.parametrize(
    ("change", "documents", "note"),
    [
        (("--add", "c", "--add", "a"), ["a", "b", "c"], ""),
        (("--remove", "a"), ["b"], ""),
        (("--add", "c", "--remove", "a"), ["b", "c"], ""),
        (("--note", "b decides"), ["a", "b"], "b decides"),
        (("--add", "elsewhere", "--allow-unknown"), ["a", "b", "elsewhere"], ""),
    ],
)
def test_correct_changes_a_row_and_approves_it(
    reviewed: Project, change: tuple[str, ...], documents: list[str], note: str
) -> None:
    """Documents that are added or removed get a vote as well."""
    others = reviewed.gold.read_bytes().splitlines()[1:]
    done = reviewed.json("gold", "correct", "g001", *change, *WORDS)
    assert (done["state"], done["ids"], done["already"]) == ("approved", ["g001"], [])
    row = reviewed.row("g001")
    assert (row["relevant_case_law_ids"], row["note"], row["source"]) == (documents, note, "chair")
    assert reviewed.gold.read_bytes().splitlines()[1:] == others
    assert reviewed.rulings() == len({"a", "b", *documents})
    assert reviewed.counts() == (2, 1, 0, 0)
    with reviewed.serve() as server:
        (entry,) = server.visitor().audit(subject="gold-set/g001")
    assert (entry["action"], entry["by"]) == ("review.corrected", "Dafna")
    assert entry["reason"] == "a is overruled"
    assert entry["before"]["relevant_case_law_ids"] == ["a", "b"]
    assert entry["after"]["relevant_case_law_ids"] == documents


def test_a_correction_can_be_followed_by_another(reviewed: Project) -> None:
    """Also after the query was reworded by hand; each is in the audit trail."""
    reviewed.do("gold", "correct", "g001", "--query", "first, but clearer", *WORDS)
    text = reviewed.gold.read_text("utf-8").replace("first, but clearer", "first, by hand")
    reviewed.gold.write_text(text, "utf-8")
    reviewed.do("gold", "correct", "g001", "--note", "so", "--remove", "a", *WORDS)
    row = reviewed.row("g001")
    assert (row["query"], row["note"], row["relevant_case_law_ids"]) == (
        "first, by hand",
        "so",
        ["b"],
    )
    assert not reviewed.bootstrap()["changed"]
    with reviewed.serve() as server:
        trail = server.visitor().audit(subject="gold-set/g001")
    assert len([entry for entry in trail if entry["by"] == "Dafna"]) == 2


def test_an_unknown_document_is_refused(reviewed: Project) -> None:
    """One that no corpus, search or run here has; the sentence says how to add it all the same."""
    before = reviewed.gold.read_bytes()
    said = reviewed.fail("gold", "correct", "g001", "--add", "elsewhere", *WORDS)
    assert "elsewhere" in said
    assert "--allow-unknown" in said
    with reviewed.serve() as server:
        chair = server.visitor()
        answer = chair.press("g001", "approve", doc=["a", "nowhere"])
        assert (answer.status_code, "nowhere" in answer.text) == (400, True)
    assert reviewed.gold.read_bytes() == before


def test_the_page_approves_with_other_documents_and_a_note(reviewed: Project) -> None:
    """Ticks decide which documents the row has; c is one that the searches showed."""
    with reviewed.serve() as server:
        chair = server.visitor("דפנה")
        assert chair.press("g003", "approve", doc=["b", "c"], note="see c").status_code == 303
        said = {"documents": ["a"], "note": "only a", "reason": "b is another point"}
        assert chair.approve("g002", **said)["outcome"] == "approved"
        reason = chair.audit(subject="gold-set/g002")[0]["reason"]
    row = reviewed.row("g003")
    assert (row["relevant_case_law_ids"], row["note"], row["source"]) == (
        ["b", "c"],
        "see c",
        "chair",
    )
    assert reviewed.row("g002")["note"] == "only a"
    assert reason == "b is another point"
    assert reviewed.rulings() == 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"action": "reject", "why": " "}, "Give a reason to reject"),
        ({"doc": []}, "No document would be left"),
        ({"action": ""}, "approve or reject"),
        ({"seen": ["a"]}, "changed since you saw it"),
        ({"why": "x" * 100_000}, "characters"),
    ],
)
def test_a_refused_form_comes_back_filled_in(
    reviewed: Project, fields: dict[str, object], message: str
) -> None:
    """Nobody types twice: note, reason and ticks are as they were sent."""
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        chair = server.visitor()
        form = {"why": "overruled <in> 2024", "note": "see ע״א 1/20", "doc": ["b", "c"]} | fields
        action = str(form.pop("action", "approve"))
        answer = chair.press("g001", action, **form)
        assert (answer.status_code, message in answer.text) == (400, True)
        assert f'value="{html.escape(str(form["note"]))}"' in answer.text
        assert html.escape(str(form["why"])) in answer.text
        if "doc" not in fields:
            assert answer.text.count('value="c" checked') == 1
            assert answer.text.count('value="b" checked') == 1
    assert reviewed.gold.read_bytes() == before
    assert reviewed.counts() == (3, 0, 0, 0)


def test_unknown_keys_stay_on_a_corrected_row(reviewed: Project) -> None:
    """Other people's keys and the Hebrew query survive a correction."""
    text = reviewed.gold.read_text("utf-8").replace('{"id":"g003",', '{"mine":{"x":1},"id":"g003",')
    reviewed.gold.write_text(text, "utf-8")
    reviewed.do("gold", "correct", "g003", "--add", "c", *WORDS)
    row = reviewed.row("g003")
    assert row["mine"] == {"x": 1}
    assert (row["query"], row["relevant_case_law_ids"]) == ("היטל השבחה", ["a", "b", "c"])
