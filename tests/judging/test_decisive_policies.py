"""From votes to labels at one moment and in every order, and a policy that cannot be followed
(benchmarks/mutants.py)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.types import Document, GoldSet, Query, Vote, judgment_frame
from assay.judging.policy import Policy, judgment_of, labels, policy_path, read_policy, write_policy
from assay.judging.votes import (
    EDITED,
    IMPORTED,
    RULING,
    SAMPLE,
    book_of,
    document_fingerprint,
    stale,
    stale_in,
    votes_of_labels,
)

AT = "2026-05-31T12:00:00+00:00"


def vote(id: str, grade: int | None = 1, **more: Any) -> Vote:
    fields = {"query_id": "q", "doc_id": "d", "judge": "ada", "kind": "human", "at": AT} | more
    return Vote(id=id, grade=grade, **fields)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"name": "other"}', "not a policy: Invalid enum value 'other' - at `$.name`"),
        ('{"nam": "latest"}', "not a policy: Object contains unknown field `nam`"),
        ('{"counts": []}', "nobody's votes count"),
        ('{"name": "senior"}', "seniors go with the policy senior, and it needs them"),
        ('{"seniors": ["a"]}', "seniors go with the policy senior, and it needs them"),
    ],
)
def test_a_policy_that_cannot_be_followed_says_why(tmp_path: Path, content: str, said: str) -> None:
    dataset = tmp_path / "set.json"
    assert read_policy(dataset) == Policy()
    policy_path(dataset).write_text(content)
    with pytest.raises(InputError) as error:
        read_policy(dataset)
    assert (error.value.message, error.value.where) == (said, str(policy_path(dataset)))
    assert error.value.hint


def test_a_policy_is_written_as_it_is_read(tmp_path: Path) -> None:
    dataset = tmp_path / "set.json"
    for policy in (
        Policy(),
        Policy(name="senior", seniors=("a", "b"), counts=("human", "machine")),
    ):
        write_policy(dataset, policy)
        assert read_policy(dataset) == policy
    assert policy_path(dataset).read_text().startswith('{\n  "name": "senior",\n')
    assert policy_path(dataset).read_text().endswith("}\n")


def ruled(*votes: Vote, **policy: Any) -> tuple[int | None, str, list[str]]:
    (label,) = labels(votes, Policy(**policy)).values()
    return label.grade, label.why, sorted(vote.id for vote in label.standing)


def test_moments_that_are_the_same_are_a_tie_unless_somebody_ruled() -> None:
    """Whoever votes first in the file; under every policy."""
    ada, bea = vote("a", 2), vote("b", 1, judge="bea")
    chair = vote("r", 0, judge="bea", source=RULING)
    for order in ((ada, bea, chair), (chair, bea, ada)):
        two = [each for each in order if each.id != "r"]
        assert ruled(*two, name="latest") == (None, "tie", [])
        assert ruled(*order, name="latest") == (0, "", ["r"])
        assert ruled(*order) == (0, "", ["r"])
        assert ruled(*order, name="majority") == (0, "", ["r"])  # one each, and one ruled
        assert ruled(*order, name="senior", seniors=("cy", "bea")) == (0, "", ["r"])
        assert ruled(*two, name="senior", seniors=("cy",)) == (None, "tie", [])
        assert ruled(*two, vote("c", 1, judge="cy"), name="majority") == (1, "", ["b", "c"])
    # of two rulings the one that supersedes; else they wait for a third
    late = vote("s", 1, judge="cy", source=RULING, at="2026-05-31T12:00:01+00:00")
    for name in ("adjudicated", "majority", "latest"):
        assert ruled(late, chair, name=name) == (None, "tie", [])
    last = msgspec.structs.replace(chair, supersedes="s")
    assert ruled(late, last) == ruled(last, late) == (0, "", ["r"])
    third = vote("t", 2, judge="eve", source=RULING, supersedes="r s")
    assert ruled(late, chair, third) == (2, "", ["t"])


def test_a_judge_who_said_two_things_in_two_copies_waits_for_a_ruling() -> None:
    """Under every policy, also where another judge would outvote them."""
    here, there = vote("a", 2), vote("b", 1, at="2026-05-31T13:00:00+00:00")
    bea = vote("c", 1, judge="bea")
    for name in ("adjudicated", "majority", "latest"):
        assert ruled(here, there, name=name) == (None, "tie", [])
        assert ruled(here, there, bea, name=name) == (None, "tie", [])
    assert ruled(here, there, name="senior", seniors=("ada",)) == (None, "tie", [])
    chair = vote("r", 0, judge="chair", source=RULING)
    assert ruled(here, there, chair) == (0, "", ["r"])
    again = vote("d", 2, supersedes="a b")
    assert ruled(here, there, again) == (2, "", ["d"])
    same = vote("b", 2, at="2026-05-31T13:00:00+00:00")
    assert ruled(here, same) == (2, "", ["b"])


@pytest.mark.parametrize("name", ["adjudicated", "majority", "senior", "latest"])
def test_a_label_that_was_edited_by_hand_stands_under_every_policy(name: str) -> None:
    seniors = ("ada",) if name == "senior" else ()
    said = vote("a", 2), vote("b", 2, judge="bea"), vote("m", 2, judge="bot", kind="machine")
    edited = vote("e", 0, judge="file", source=EDITED, at="2026-01-01")
    assert ruled(*said, edited, name=name, seniors=seniors) == (0, "", ["e"])
    gone = vote("e", None, judge="file", source=EDITED)
    assert ruled(*said, gone, name=name, seniors=seniors) == (None, "", [])
    two = vote("f", 1, judge="file", source=EDITED)  # in another copy
    assert ruled(*said, edited, two, name=name, seniors=seniors) == (None, "tie", [])
    unaware = vote("r", 2, judge="chair", source=RULING)
    assert ruled(*said, edited, unaware, name=name, seniors=seniors) == (None, "tie", [])
    assert ruled(*said, gone, unaware, name=name, seniors=seniors) == (None, "tie", [])
    chair = vote("r", 1, judge="chair", source=RULING, supersedes="e f")
    assert ruled(*said, edited, two, chair)[0] == 1


def test_who_stands_behind_a_label() -> None:
    def behind(*votes: Vote) -> tuple[str, str, str, str, str]:
        (label,) = labels(votes, Policy(counts=("human", "machine"))).values()
        found = judgment_of(label)
        assert found is not None
        return found.judge, found.rationale, found.source, found.rubric, found.at

    later = "2026-05-31T13:00:00+00:00"
    first = vote("a", rationale=" so ", rubric="r@1", source="gold next")
    second = vote("b", judge="bea", at=later, rationale="so", rubric="r@2")
    assert behind(second, first) == ("ada, bea", "so", "gold next", "r@2", later)
    third = vote("c", judge="cy", rationale="also", source=SAMPLE + "x")
    assert behind(first, third)[:3] == ("ada, cy", "so · also", f"gold next, {SAMPLE}x")
    unnamed = vote("u", judge=IMPORTED, source=IMPORTED)
    assert behind(unnamed)[:3] == ("", "", "")
    machine = labels([vote("m", kind="machine")], Policy(counts=("machine",)))["q", "d"]
    both = labels([vote("m", kind="machine", judge="bot"), vote("h")],
                  Policy(counts=("human", "machine")))["q", "d"]  # fmt: skip
    none = labels([vote("m", None, kind="machine")], Policy(counts=("machine",)))["q", "d"]
    assert (machine.by_machine, both.by_machine, none.by_machine) == (True, False, False)
    assert judgment_of(none) is None


def test_labels_are_votes_of_nobody() -> None:
    gold = GoldSet(
        name="g",
        queries=(Query(id="q", text="x"),),
        judgments=judgment_frame(
            ["q"] * 4, ["a", "b", "c", "d"], [2, 1, 0, 1], judge=["", "bea", "", ""],
            rationale=["", "", "so", ""], source=["", "", "", "s"], at=["", AT, "", ""],
        ),
    )  # fmt: skip
    found = votes_of_labels(
        gold, book_of([vote("v", doc_id="z"), vote("w", query_id="z", doc_id="a")])
    )
    told = [(v.doc_id, v.grade, v.judge, v.source, v.at, v.kind) for v in found]
    assert told == [
        ("a", 2, IMPORTED, IMPORTED, "", "human"), ("b", 1, "bea", "", AT, "human"),
        ("c", 0, IMPORTED, "", "", "human"), ("d", 1, IMPORTED, "s", "", "human")]  # fmt: skip
    assert votes_of_labels(gold, book_of([])) == found
    assert len({v.id for v in found}) == 4
    voted = book_of([vote("v", doc_id="b")])
    assert [v.doc_id for v in votes_of_labels(gold, voted)] == ["a", "c", "d"]


def test_a_document_that_reads_otherwise_makes_votes_stale() -> None:
    document = Document(id="d", title="t", text="x", fields={"b": "2", "a": "1"})
    mark = document_fingerprint(document)
    assert re.fullmatch("[0-9a-f]{16}", mark)
    assert mark == document_fingerprint(Document(id="e", title="t", text="x",
                                                 fields={"a": "1", "b": "2"}))  # fmt: skip
    same, other, bare = vote("a", document=mark), vote("b", document="f", judge="b"), vote("c")
    given = [same, other, msgspec.structs.replace(bare, judge="c")]
    assert [each.id for each in stale(given, {"d": mark})] == ["b"]
    assert stale(given, {}) == []
    assert [each.id for each in stale_in(given, [document, Document(id="x")])] == ["b"]
