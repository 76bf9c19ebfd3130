"""What somebody changes on a page is in its file and in the log, or in neither."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.gold import log as logs
from assay.judging.pool import pool_path
from assay.store import Store
from assay.workbench.deciding.single_judge_risk import ask_second_judge
from assay.workbench.judging.page import VoteForm, save_vote
from assay.workbench.judging.rulings import rule
from assay.workbench.judging.set_edits import (
    EditedIssue,
    NewQuery,
    add_query,
    add_to_pool,
    edit_issue,
)
from assay.workbench.judging.votes_to_labels import recompute_labels
from assay.workbench.project.audit_trail import trail
from assay.workbench.project.service import Service
from kit.sets import both, judged_set

QUERY = NewQuery(set="set", text="may a guest pay for dinner", type="keyword")
ISSUE = EditedIssue(set="set", topic="gifts", id="travel", name="Travel", description="d")

EDITS: dict[str, Callable[[Service], object]] = {
    "gold.query_added": lambda service: add_query(service, QUERY, by="Dora"),
    "gold.issue_edited": lambda service: edit_issue(service, ISSUE, by="Dora"),
    "gold.document_added": lambda service: add_to_pool(service, "set", "q1", "d5", "Ada"),
    "gold.second_asked": lambda s: ask_second_judge(
        s, s.gold_sets["set"], [("q2", "d4")], by="Dora"
    ),
    "gold.ruled": lambda service: rule(
        service.gold_sets["set"], "q1", "d1", 2, rationale="same rule", by="Dora"
    ),
    "gold.labelled": lambda service: recompute_labels(service.gold_sets["set"], by="Dora"),
}


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    dealt = both(("q1", "d1"), ("q1", "d2")) | {("q2", "d4"): ("Ada",)}
    path = judged_set(tmp_path, dealt, judges=("Ada", "Ben"))
    made = Service(store=store, gold_sets={"set": path}, home=tmp_path)
    for judge, doc, grade in (("Ada", "d1", 2), ("Ben", "d1", 0), ("Ada", "d2", 1)):
        given = VoteForm(id=f"vote-{judge}-{doc}", set="set", query_id="q1", doc_id=doc,
                          grade=grade, rationale="it decides the point")  # fmt: skip
        save_vote(made, given, judge)
    return made


def files(service: Service) -> tuple[bytes, bytes, bytes]:
    path = service.gold_sets["set"]
    return tuple(p.read_bytes() for p in (path, pool_path(path), logs.log_path(path)))  # type: ignore[return-value]


@pytest.mark.parametrize("action", EDITS)
def test_an_edit_is_in_its_file_and_in_the_trail(service: Service, action: str) -> None:
    before = files(service)
    EDITS[action](service)
    (entry,) = trail(service, action=action)
    assert entry.by == ("Ada" if action == "gold.document_added" else "Dora")
    assert files(service)[:2] != before[:2]


@pytest.mark.parametrize("action", EDITS)
def test_an_edit_that_the_log_has_no_room_for_is_refused_and_undone(
    service: Service, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = files(service)
    with monkeypatch.context() as patched:
        patched.setattr(logs, "_write", full)
        with pytest.raises(InputError, match="no space left"):
            EDITS[action](service)
    assert files(service) == before
    assert trail(service, action=action) == []
    EDITS[action](service)
    assert len(trail(service, action=action)) == 1
