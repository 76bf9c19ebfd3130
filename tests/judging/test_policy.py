"""Policies with labels worked out by hand, and what no policy may do."""

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
from assay.judging.policy import (
    Policy,
    checked,
    judgment_of,
    labels,
    policy_path,
    read_policy,
    write_policy,
)


def _votes(*said: str) -> list[Vote]:
    """ "ada 2", "bot 1 machine", "cy 0 human adjudication", "ada ?", in the order of time. A later
    vote of a judge supersedes the earlier one."""
    votes, last = [], dict[tuple[str, str], str]()
    for day, text in enumerate(said, start=1):
        judge, grade, kind, source, *_ = [*text.split(), "", ""]
        fields: dict[str, Any] = {"kind": kind or "human", "source": source}
        votes.append(
            Vote(
                id=f"v{day}",
                query_id="q",
                doc_id="d",
                grade=None if grade == "?" else int(grade),
                judge=judge,
                at=f"2026-01-{day:02d}",
                rationale=f"{judge} wrote this",
                supersedes=last.get((judge, source), ""),
                **fields,
            )
        )
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
    label = labels(_votes(*said), policy)["q", "d"]
    assert (label.grade, label.why) == (grade, why)


def test_two_grades_of_one_moment_are_a_tie_whatever_the_order() -> None:
    ada, ben = (msgspec.structs.replace(v, at="2026-01-01") for v in _votes("ada 2", "ben 1"))
    for votes in ([ada, ben], [ben, ada]):
        assert labels(votes, Policy(name="latest"))["q", "d"].why == "tie"


def test_the_label_names_who_is_behind_it_and_what_they_wrote() -> None:
    judgment = judgment_of(labels(_votes("ada 2", "ben 1", "cy 2"), Policy())["q", "d"])
    assert judgment is not None
    assert (judgment.judge, judgment.rationale, judgment.at) == (
        "ada, cy",
        "ada wrote this · cy wrote this",
        "2026-01-03",
    )


def test_a_label_is_by_machines_where_no_person_stands_behind_it() -> None:
    policy = Policy(counts=BOTH)
    assert labels(_votes("bot 2 machine"), policy)["q", "d"].by_machine
    assert not labels(_votes("bot 2 machine", "ada 2"), policy)["q", "d"].by_machine


@pytest.mark.parametrize(
    "policy", [Policy(counts=()), Policy(name="senior"), Policy(seniors=("ada",))]
)
def test_a_policy_that_cannot_be_followed_is_refused(policy: Policy) -> None:
    with pytest.raises(InputError):
        checked(policy)


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
        votes.append(
            Vote(
                id=f"v{n}",
                query_id=query,
                doc_id="d",
                grade=grade,
                judge=judge,
                kind="machine" if judge == "bot" else "human",
                at=f"2026-01-{day:02d}",
                rationale=f"{n}",
                source=source,
                supersedes=last.get((judge, query, source), "") if knows else "",
            )
        )
        last[judge, query, source] = f"v{n}"
    other = list(votes)
    lots.shuffle(other)

    def read(some: list[Vote]) -> dict[Any, Any]:
        return {
            pair: (label.grade, label.why, judgment_of(label))
            for pair, label in labels(some, policy).items()
        }

    assert read(votes) == read(other)


def test_a_policy_is_read_as_it_was_written(tmp_path: Path) -> None:
    dataset = tmp_path / "set.json"
    assert read_policy(dataset) == Policy()
    write_policy(dataset, SENIOR)
    assert read_policy(dataset) == SENIOR != Policy()
    assert policy_path(dataset).read_bytes().endswith(b"}\n")
