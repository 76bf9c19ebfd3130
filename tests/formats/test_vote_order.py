"""Words at one moment: an undo comes after its vote, and what is said again after the undo, in
whatever order the lines are read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.core.types import Vote
from assay.formats.vote_order import current, in_line
from assay.formats.votes_jsonl import WITHDRAWN, append
from assay.workbench.desk import Votes

T = "2026-05-31T12:00:00+00:00"
BEFORE = "2026-05-31T11:00:00+00:00"


def vote(id: str, over: str = "", *, at: str = T, grade: int | None = 1) -> Vote:
    source = WITHDRAWN if grade is None else ""
    return Vote(id=id, query_id="q", doc_id="d", grade=grade, judge="a", kind="human", at=at,
                supersedes=over, source=source)  # fmt: skip


def stands(votes: Sequence[Vote], folder: Path) -> list[str]:
    """What stands for who reads all at once; the desk, which reads line by line, says the same."""
    found = [each.id for each in current(votes)]
    path = folder / "set.votes.jsonl"
    path.unlink(missing_ok=True)
    desk = Votes(path)
    for each in votes:
        append(path, [each])
        desk.refresh()
    assert [each.id for each in desk.holding(("q", "d"))] == found
    path.unlink()
    return found


@pytest.mark.parametrize("at", [T, BEFORE])
def test_an_undo_comes_after_its_vote_whichever_is_read_first(tmp_path: Path, at: str) -> None:
    given, undo = vote("v"), vote("u", "v", grade=None, at=at)
    for order in itertools.permutations([given, undo]):
        assert stands(order, tmp_path) == []


@pytest.mark.parametrize("at", [T, BEFORE])
def test_what_is_said_again_in_the_same_second_stands(tmp_path: Path, at: str) -> None:
    given, undo = vote("v"), vote("u", "v", grade=None, at=at)
    again = vote("r", grade=2)  # as from a file, which names nothing
    for order in itertools.permutations([given, undo, again]):
        follows = order.index(again) > order.index(undo)
        assert (stands(order, tmp_path) == ["r"]) == follows
    named = vote("r", "u", grade=2)  # as on the judging page
    for order in itertools.permutations([given, undo, named]):
        assert stands(order, tmp_path) == ["r"]


def test_a_later_time_stands_whatever_is_named(tmp_path: Path) -> None:
    first, second = vote("x", "y", at=BEFORE), vote("y")
    for order in itertools.permutations([first, second]):
        assert stands(order, tmp_path) == ["y"]


def test_a_circle_loses_nothing(tmp_path: Path) -> None:
    a, b, own = vote("a", "b"), vote("b", "a"), vote("c", "c")
    assert sorted(each.id for each in in_line([a, b, own])) == ["a", "b", "c"]
    assert len(stands([a, b], tmp_path)) == 1
    long = [vote(f"v{n}", f"v{n - 1}") for n in range(3000)]
    assert in_line(reversed(long)) == long
