"""The review page where something is in the way: a full disk, a store that is away, a server that
knows two sets; and what the page of an item shows of a document."""

from __future__ import annotations

import errno
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.store import StoreUnavailable
from assay.workbench.project.service import open_service
from kit import Project
from kit.server import local_client


@pytest.fixture
def reviewed(tmp_path: Path) -> Project:
    """The rows g001, g002 and g003 are pending."""
    project = Project.make(tmp_path / "project")
    project.bootstrap()
    return project


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The log can be written, and the gold file cannot."""
    make = tempfile.mkstemp

    def full(prefix: str = "", **given: Any) -> Any:
        if prefix.startswith(".gold-set.jsonl."):
            raise OSError(errno.ENOSPC, "No space left on device")
        return make(prefix=prefix, **given)

    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "mkstemp", full)
        yield


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_a_decision_on_a_full_disk_is_recorded_and_the_file_follows(
    reviewed: Project, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """The page answers 503 and says so; so does its undo. The next decision writes the file."""
    before = reviewed.gold.read_bytes()
    state = {"approve": "approved", "reject": "rejected"}[action]
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = chair.id("g001")
        with full_disk(monkeypatch):
            answer = chair.press("g001", action, why="so")
        assert (answer.status_code, "this is recorded, but" in answer.text) == (503, True)
        assert reviewed.gold.read_bytes() == before
        assert chair.by_id(item)["state"] == state
        with full_disk(monkeypatch):
            answer = chair.post("/review/undo", data={"id": item})
        assert answer.status_code in (303, 503)
        assert chair.by_id(item)["state"] == "pending_review"
        with full_disk(monkeypatch):
            chair.press("g001", action, why="so")
        chair.approve("g002")
        assert chair.states()["g001"] == state
    sources = reviewed.sources()
    assert (sources.get("g001") == "chair", sources["g002"]) == (state == "approved", "chair")


def test_many_rows_on_a_full_disk_are_recorded(
    reviewed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        picks = chair.picks("g001", "g002")
        with full_disk(monkeypatch):
            done = chair.send("/api/review/bulk", items=picks)
        assert (len(done["done"]), "is recorded" in done["unwritten"]) == (2, True)
        assert len(chair.send("/api/review/bulk", items=picks)["already"]) == 2
        chair.approve("g003")
    assert set(reviewed.sources().values()) == {"chair"}


def test_what_was_typed_outlives_the_store(reviewed: Project) -> None:
    """The store has the searches that showed a document; while it is away the form comes back."""

    class Away:
        def __getattr__(self, name: str) -> Any:
            raise StoreUnavailable("connection refused")

    before = reviewed.gold.read_bytes()
    with reviewed.inside(), open_service() as service:
        with local_client(service) as client:
            item = client.get("/api/review").json()["items"][0]["item"]["id"]
        with local_client(replace(service, store=Away())) as client:  # type: ignore[arg-type]
            form = {"action": "approve", "why": "two pages of reasons", "doc": ["a", "c"]}
            answer = client.post(f"/review/{item}", data=form)
    assert (answer.status_code, "connection refused" in answer.text) == (503, True)
    assert ">two pages of reasons</textarea>" in answer.text
    assert 'name="action" value="approve"' in answer.text
    assert 'name="doc" value="c"' in answer.text
    assert reviewed.gold.read_bytes() == before


@pytest.mark.parametrize("of", ["row", "suggestion"])
def test_votes_of_a_decision_that_another_chair_undid_hold_no_more(
    reviewed: Project, of: str
) -> None:
    """The log keeps them, and who withdrew them."""
    with reviewed.serve() as server:
        dora, eve = server.visitor("Dora"), server.visitor("Eve")
        item = dora.id("g001") if of == "row" else server.agent().suggest("g001", "z", 1)
        dora.accept(item)
        shown = eve.by_id(item)
        assert eve.undo(decided={item: shown["decided_at"]})["done"] == [item]
        assert reviewed.grades(reviewed.gold) == {}
        eve.accept(item)
    held = reviewed.grades(reviewed.gold)
    assert held == ({} if of == "row" else {("g001", "z"): {"Eve": 1}})
    lines = (reviewed.folder / "gold-set.log.jsonl").read_text().splitlines()
    given, undone, again = [json.loads(line) for line in lines][-3:]
    assert [act["action"] for act in (given, undone, again)] == ["approve", "undo", "approve"]
    assert given["who"] != undone["who"] == again["who"]
    assert {vote["source"] for vote in undone["votes"]} == {"withdrawn"}
    assert {x["supersedes"] for x in undone["votes"]} == {x["id"] for x in given["votes"]}


def test_the_words_of_the_query_are_marked_in_other_candidates(reviewed: Project) -> None:
    source = reviewed.folder / "documents.jsonl"
    source.write_text('{"id": "c", "title": "Title c", "text": "the first of several"}\n')
    reviewed.do("corpus", "import", "jsonl", source, "--name", "c")
    with reviewed.serve() as server:
        chair = server.visitor()
        item = next(one["id"] for one in chair.items() if one["query"] == "first")
        (candidate,) = chair.ask(f"/api/review/{item}")["candidates"]
    assert candidate["doc_id"] == "c"
    assert ["first", True] in candidate["snippet"]
