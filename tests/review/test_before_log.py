"""A project that the version before the log made shows its reader what it showed then.

The fixture was made by the code of commit cd7fda18, with the script that commit c0b99046 has beside
it: a later version cannot make it again. Its folder `.assay` is called `assay-home`, because git
ignores `.assay`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kit import Project

FIXTURE = Path(__file__).parents[1] / "fixtures" / "before-log"
EXPECTED: dict[str, Any] = json.loads((FIXTURE / "expected.json").read_text("utf-8"))
DECISION = ("ref", "state", "decided_by", "decided_at", "reason")


@pytest.fixture
def old(tmp_path: Path) -> Project:
    """A copy of the project, with its workspace under its own name."""
    folder = shutil.copytree(FIXTURE / "project", tmp_path / "project")
    (folder / "assay-home").rename(folder / ".assay")
    return Project(folder)


def part(rows: list[dict[str, Any]], *keys: str) -> list[list[Any]]:
    return sorted(([row[key] for key in keys] for row in rows), key=repr)


def undecided(kind: str) -> list[dict[str, Any]]:
    """What was expected, where pending items do not tell who decided on them before."""
    nobody = {"decided_by": "", "decided_at": None, "reason": ""}
    pending = "pending_review"
    return [row | nobody if row["state"] == pending else row for row in EXPECTED[kind]]


def test_the_queue_is_as_it_was(old: Project) -> None:
    """Counts, states, who decided when and why, and the grades of suggestions."""
    assert old.counts() == tuple(EXPECTED["counts"].values())
    with old.serve() as server:
        reader = server.visitor("Dafna")
        rows, pairs = reader.items(kind="gold_row"), reader.items(kind="judgment")
        assert part(rows, "query", *DECISION) == part(undecided("rows"), "query", *DECISION)
        keys = ("doc_ids", "grade", "rationale", "suggested_by", *DECISION)
        assert part(pairs, *keys) == part(undecided("suggestions"), *keys)
        assert {name: reader.flags(name) for name in EXPECTED["flags"]} == EXPECTED["flags"]
    found = {id: row["relevant_case_law_ids"] for id, row in old.rows().items()}
    assert found == EXPECTED["documents"]


def test_votes_rulings_and_labels_are_as_they_were(old: Project) -> None:
    """Each vote that holds with its judge, grade, time and id; labels follow without a change."""
    judged = [
        vote
        for vote in EXPECTED["votes"]["dataset.json"]
        if vote["source"] not in ("adjudication", "sample")
    ]
    held = [
        {"query_id": pair[0], "doc_id": pair[1], "judge": judge, **vote}
        for pair, votes in old.votes().items()
        for judge, vote in votes.items()
    ]
    keys = ("query_id", "doc_id", "judge", "grade")
    assert part(held, *keys) == part(judged, *keys)
    dated = [vote for vote in judged if vote["at"]]
    assert part([vote for vote in held if vote["judge"] != "imported"], *keys, "id", "at") == part(
        dated, *keys, "id", "at"
    )
    assert [[*pair, grade] for pair, grade in old.labels().items()] == EXPECTED["labels"]
    with old.serve() as server:
        found = server.visitor("Dafna").ask("/api/disputes", set="dataset")
    keys = ("query_id", "doc_id", "why", "apart", "label")
    assert part(found, *keys) == part(EXPECTED["disputes"], *keys)


def test_the_audit_trail_runs_and_accounts_are_as_they_were(old: Project) -> None:
    """Every entry of then is there with who, what, when and why."""
    keys = ("at", "by", "action", "subject", "reason")
    with old.serve() as server:
        entries = part(server.visitor("Dafna").audit(), *keys)
        runs = server.agent().ask("list_runs", limit=10)["runs"]
    by_hand = {"action": "gold.edited"}  # what an approval in the file itself is called now
    expected = [e | by_hand if e["by"] == "file" else e for e in EXPECTED["audit"]]
    told = [entry[1:] for entry in entries]
    for entry in part(expected, *keys):
        # a ruling has the time of its vote, which its entry followed
        assert entry in entries or (entry[2] == "gold.ruled" and entry[1:] in told), entry
    assert part(runs, "run_id", "engine", "gold", "at") == part(
        EXPECTED["runs"], "run_id", "engine", "gold", "at"
    )
    people = old.json("people", "list")["people"]
    assert part(people, "name", "role") == part(EXPECTED["accounts"], "name", "role")


def test_work_goes_on(old: Project) -> None:
    """Old decisions can be undone, rejected queries stay out, and new votes join the old."""
    before = old.gold.read_bytes()
    with old.serve() as server:
        moshe = server.visitor("משה")
        item = moshe.item("g007")
        decided = {item["id"]: item["decided_at"]}
        assert moshe.undo(decided=decided)["done"] == [item["id"]]
        assert old.row("g007")["source"] == "bootstrap"
        moshe.approve("g007", reason="together")
        assert old.gold.read_bytes() == before
        ben = server.visitor("Ben")
        seen = ben.pairs("dataset", "q2")["d5"]["vote"]
        ben.vote("dataset", "q2", "d5", 2, "tickets are gifts under the rule", seen=seen)
    assert old.grades()["q2", "d5"]["Ben"] == 2
    assert old.json("gold", "merge", old.graded)["labels"] == len(EXPECTED["labels"]) + 1
    assert "g004" not in old.rows()
    old.do("gold", "reopen", "g004", "--by", "Dafna")
    assert old.row("g004")["query"] == "date of valuation"
