"""From votes to labels: policies worked out by hand, at one moment and in every order, and policies
that cannot be followed (benchmarks/mutants.py)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.gold.people import IMPORTED
from assay.gold.votes import EDITED, RULING, SPOT_CHECK
from assay.judging.labels import (
    Policy,
    compute_labels,
    judgment_of,
    policy_path,
    read_policy,
    write_policy,
)
from kit.votes import vote


def _votes(*said: str) -> list[Vote]:
    """ "ada 2", "bot 1 machine", "cy 0 human adjudication", "ada ?", in the order of time. A later
    vote of a judge supersedes the earlier one."""
    votes, last = [], dict[tuple[str, str], str]()
    for day, text in enumerate(said, start=1):
        judge, grade, kind, source, *_ = [*text.split(), "", ""]
        fields: dict[str, Any] = {"kind": kind or "human", "source": source}
        fields |= {"judge": judge, "at": f"2026-01-{day:02d}", "rationale": f"{judge} wrote this"}
        fields |= {"supersedes": last.get((judge, source), "")}
        votes.append(vote(f"v{day}", None if grade == "?" else int(grade), **fields))
        last[judge, source] = f"v{day}"
    return votes


SENIOR = Policy(name="senior", seniors=("cy", "ben"))


BOTH = ("human", "machine")


@pytest.mark.parametrize(
    ("policy", "said", "grade", "why"),
    [
        (Policy(), ["ada 2"], 2, ""),
        (Policy(), ["ada 2", "ben 2"], 2, ""),
        (Policy(), ["ada 2", "ben 1"], None, "tie"),
        (Policy(), ["ada 2", "ben 1", "cy 1"], 1, ""),
        (Policy(), ["ada 2", "ben 1", "cy 0 human adjudication"], 0, ""),
        (Policy(), ["ada 2", "cy 0 human adjudication", "ben 2"], 0, ""),
        (Policy(), ["ada 2", "ben 1", "ada 1"], 1, ""),  # a change of mind
        (Policy(), ["ada ?"], None, "unsure"),
        (Policy(), ["ada ?", "ben 1"], 1, ""),
        (Policy(), ["ada 1", "ada ?"], None, "unsure"),  # no longer sure
        (Policy(), ["bot 2 machine"], None, "not counted"),
        (Policy(), ["bot 2 machine", "ada 0"], 0, ""),
        (Policy(counts=BOTH), ["bot 2 machine", "ada 0"], None, "tie"),
        (Policy(counts=("machine",)), ["bot 2 machine", "ada 0"], 2, ""),
        (Policy(), ["ada 2", "ben 0 human sample"], 2, ""),  # a spot check measures
        (Policy(name="majority"), ["ada 2", "ben 2", "cy 0 human adjudication"], 2, ""),
        # who ruled after voting is one judge
        (Policy(name="majority"), ["ada 2", "ben 1", "ada 1 human adjudication"], 1, ""),
        (SENIOR, ["ada 2", "ben 1"], 1, ""),
        (SENIOR, ["ben 1", "cy 0", "ada 2"], 0, ""),
        (SENIOR, ["ada 2", "dan 1"], None, "tie"),
        (Policy(name="latest"), ["ada 2", "ben 1"], 1, ""),
        (Policy(name="latest"), ["ada 2", "ben 1", "cy ?"], 1, ""),
    ],
)
def test_labels_by_hand(policy: Policy, said: list[str], grade: int | None, why: str) -> None:
    label = compute_labels(_votes(*said), policy)["q", "d"]
    assert (label.grade, label.why) == (grade, why)


judges = st.sampled_from(["ada", "ben", "cy", "bot"])


sources = st.sampled_from(["", "", "", "adjudication", "sample"])


ballots = st.tuples(
    judges,
    st.sampled_from(["q1", "q2"]),
    st.sampled_from([None, 0, 1, 2]),
    sources,
    st.integers(1, 4),
    st.booleans(),
)


@given(
    st.lists(ballots, max_size=12, unique_by=lambda b: (b[0], b[1], b[3], b[4])),
    st.sampled_from([Policy(), Policy(name="majority"), SENIOR, Policy(name="latest")]),
    st.randoms(use_true_random=False),
)
def test_labels_do_not_depend_on_the_order_of_lines(
    said: list[tuple[str, str, int | None, str, int, bool]], policy: Policy, lots: random.Random
) -> None:
    """Some votes know of the last one of their judge, and others are from another copy."""
    votes, last = [], dict[tuple[str, str, str], str]()
    for n, (judge, query, grade, source, day, knows) in enumerate(said):
        kind, at = "machine" if judge == "bot" else "human", f"2026-01-{day:02d}"
        old = last.get((judge, query, source), "") if knows else ""
        who = {"query_id": query, "judge": judge, "kind": kind, "source": source}
        votes.append(vote(f"v{n}", grade, at=at, rationale=f"{n}", supersedes=old, **who))
        last[judge, query, source] = f"v{n}"
    other = list(votes)
    lots.shuffle(other)

    def read(some: list[Vote]) -> dict[Any, Any]:
        return {
            pair: (label.grade, label.why, judgment_of(label))
            for pair, label in compute_labels(some, policy).items()
        }

    assert read(votes) == read(other)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"name": "other"}', "not a policy: Invalid enum value 'other' - at `$.name`"),
        ('{"nam": "latest"}', "not a policy: Object contains unknown field `nam`"),
        ('{"counts": []}', "nobody's votes count"),
        (
            '{"name": "senior"}',
            "only the policy senior uses senior judges, and it needs at least one",
        ),
        (
            '{"seniors": ["a"]}',
            "only the policy senior uses senior judges, and it needs at least one",
        ),
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
    (label,) = compute_labels(votes, Policy(**policy)).values()
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
        (label,) = compute_labels(votes, Policy(counts=("human", "machine"))).values()
        found = judgment_of(label)
        assert found is not None
        return found.judge, found.rationale, found.source, found.rubric, found.at

    later = "2026-05-31T13:00:00+00:00"
    first = vote("a", rationale=" so ", rubric="r@1", source="gold next")
    second = vote("b", judge="bea", at=later, rationale="so", rubric="r@2")
    assert behind(second, first) == ("ada, bea", "so", "gold next", "r@2", later)
    third = vote("c", judge="cy", rationale="also", source=SPOT_CHECK + "x")
    assert behind(first, third)[:3] == ("ada, cy", "so · also", f"gold next, {SPOT_CHECK}x")
    unnamed = vote("u", judge=IMPORTED, source=IMPORTED)
    assert behind(unnamed)[:3] == ("", "", "")
    machine = compute_labels([vote("m", kind="machine")], Policy(counts=("machine",)))["q", "d"]
    both = compute_labels([vote("m", kind="machine", judge="bot"), vote("h")],
                  Policy(counts=("human", "machine")))["q", "d"]  # fmt: skip
    none = compute_labels([vote("m", None, kind="machine")], Policy(counts=("machine",)))["q", "d"]
    assert (machine.by_machine, both.by_machine, none.by_machine) == (True, False, False)
    assert judgment_of(none) is None


@pytest.mark.parametrize(
    ("votes", "source"),
    [
        ([vote("a", judge=IMPORTED, source=IMPORTED)], ""),
        ([vote("a", judge="bea", source=IMPORTED)], IMPORTED),
        ([vote("a", judge=IMPORTED, source="other")], "other"),
    ],
)
def test_a_label_that_the_set_had_says_nothing_of_where_it_is_from(
    votes: list[Vote], source: str
) -> None:
    judgment = judgment_of(compute_labels(votes, Policy())["q", "d"])
    assert judgment is not None
    assert judgment.source == source
