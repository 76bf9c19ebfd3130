"""What somebody changes on a page is in its file and in the audit trail, or in neither, wherever
the process is killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.formats.votes_jsonl import RULING, read_votes, votes_path
from assay.judging.pool import pool_path, read_pool
from assay.review import intents, one_step
from assay.store import Store, open_store
from assay.workbench.adding import add_to_pool
from assay.workbench.agreed import RulingGiven, compute_labels, give_ruling
from assay.workbench.doctor import examine
from assay.workbench.editing import EditedIssue, NewQuery, add_query, edit_issue
from assay.workbench.grading import GivenVote, save_vote
from assay.workbench.one_judge import ask_second
from assay.workbench.opening import Service, open_service
from interrupted import MADE, STEPS, killed_in, left
from judged_pages import both, judged_set
from voted_sets import labels

ONE = ("q1", "d1")
QUERY = NewQuery(set="set", text="may a guest pay for dinner", type="keyword")
ISSUE = EditedIssue(set="set", topic="gifts", id="travel", name="Travel", description="d")
RULED = RulingGiven(set="set", query_id="q1", doc_id="d1", grade=2, rationale="same rule")

Act = Callable[[Service], object]
EDITS: dict[str, Act] = {
    "gold.query_added": lambda service: add_query(service, QUERY, by="Dora"),
    "gold.issue_edited": lambda service: edit_issue(service, ISSUE, by="Dora"),
    "gold.document_added": lambda service: add_to_pool(service, "set", "q1", "d5", "Ada"),
    "gold.second_asked": lambda s: ask_second(s, s.gold_sets["set"], [("q2", "d4")], by="Dora"),
    "gold.ruled": lambda service: give_ruling(service, RULED, "Dora"),
    "gold.labelled": lambda service: compute_labels(service, "set", by="Dora"),
}


def is_in_the_files(path: Path, action: str) -> bool:
    text, pool = path.read_text(), read_pool(path)
    assert pool is not None
    asked = {pair.key: max(pair.wanted, len(pair.judges)) for pair in pool.pairs}
    votes = read_votes(votes_path(path))
    return {
        "gold.query_added": QUERY.text in text,
        "gold.issue_edited": '"Travel"' in text,
        "gold.document_added": ("q1", "d5") in asked,
        "gold.second_asked": asked["q2", "d4"] > 1,
        "gold.ruled": any(vote.source == RULING for vote in votes) and labels(path)[ONE] == 2,
        "gold.labelled": labels(path) != {},
    }[action]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    dealt = both(ONE, ("q1", "d2")) | {("q2", "d4"): ("Ada",)}
    path = judged_set(tmp_path, dealt, judges=("Ada", "Ben"))
    with open_service(str(tmp_path / "assay.db"), gold=[path]) as service:
        for judge, doc, grade in (("Ada", "d1", 2), ("Ben", "d1", 0), ("Ada", "d2", 1)):
            given = GivenVote(id=f"vote-{judge}-{doc}", set="set", query_id="q1", doc_id=doc,
                              grade=grade, rationale="it decides the point")  # fmt: skip
            save_vote(service, given, judge)
    return path


def service_of(store: Store, path: Path) -> Service:
    return Service(store=store, gold_sets={"set": path}, home=path.parent)


def noted(path: Path, action: str) -> int:
    store = open_store(path.with_name("assay.db"))
    try:
        return len(store.audit(action=action))
    finally:
        store.close()


def start(path: Path) -> list[str]:
    heard: list[str] = []
    with open_service(str(path.with_name("assay.db")), gold=[path], say=heard.append):
        return heard


@pytest.mark.parametrize("action", EDITS)
@pytest.mark.parametrize("place", [STEPS[0], STEPS[1], STEPS[3], STEPS[4]])
def test_file_and_trail_say_the_same_after_a_kill(path: Path, action: str, place: str) -> None:
    assert not is_in_the_files(path, action)
    killed_in(path, place, lambda store: EDITS[action](service_of(store, path)))
    made = place in MADE
    assert left(path)
    told = start(path)
    assert any("was interrupted, and is finished now" in said for said in told) == made
    assert (noted(path, action), is_in_the_files(path, action)) == (int(made), made)
    assert not left(path)
    assert examine(str(path.with_name("assay.db")), home=path.parent).gold.status == "ok"  # type: ignore[union-attr]


@pytest.mark.parametrize("action", EDITS)
def test_what_is_pressed_next_finds_what_was_cut_off(path: Path, action: str) -> None:
    killed_in(path, "after the commit", lambda store: EDITS[action](service_of(store, path)))
    store = open_store(path.with_name("assay.db"))
    add = NewQuery(set="set", text="another question", type="keyword")
    add_query(service_of(store, path), add, by="Dora")
    store.close()
    assert (noted(path, action) > 0, is_in_the_files(path, action)) == (True, True)
    assert "another question" in path.read_text()


def test_a_file_that_was_edited_before_the_change_reached_it_stays(path: Path) -> None:
    edit = EDITS["gold.query_added"]
    killed_in(path, "after the commit", lambda store: edit(service_of(store, path)))
    path.write_text(path.read_text().replace("What officials may accept.", "By hand."))
    now = path.read_bytes()
    (said,) = start(path)
    assert "set.json was edited since, and stays so" in said
    assert (path.read_bytes(), left(path)) == (now, [])
    assert (noted(path, "gold.query_added"), noted(path, "gold.not_written")) == (1, 1)
    assert start(path) == []


def test_a_file_that_is_edited_at_that_moment_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = one_step.begin_edit

    def edited(*given: object) -> None:
        begin(*given)  # type: ignore[arg-type]
        path.write_bytes(path.read_bytes() + b"\n")

    monkeypatch.setattr(one_step, "begin_edit", edited)
    store = open_store(path.with_name("assay.db"))
    with pytest.raises(InputError, match="edited meanwhile"):
        add_query(service_of(store, path), QUERY, by="Dora")
    store.close()
    assert (noted(path, "gold.query_added"), QUERY.text in path.read_text()) == (0, False)
    assert not left(path)


def test_a_full_disk_is_told_and_the_file_follows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = intents.write_atomic

    def full(place: Path, content: bytes) -> None:
        if place == pool_path(path):
            raise OSError(28, "No space left on device")
        write(place, content)

    store = open_store(path.with_name("assay.db"))
    with monkeypatch.context() as patched:
        patched.setattr(intents, "write_atomic", full)
        with pytest.raises(InputError, match="the change of q1 is made, but its files cannot"):
            add_to_pool(service_of(store, path), "set", "q1", "d5", "Ada")
    store.close()
    start(path)
    assert is_in_the_files(path, "gold.document_added")
