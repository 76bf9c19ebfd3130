"""Disputes in the order in which pages show them, and pairs that were ruled on. Whether a pair is
disputed is in test_vote_totals.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.workbench.judging.rulings import open_disputes, rule, ruled_pair
from assay.workbench.judging.vote_totals import rulings_needed
from assay.workbench.judging.votes_to_labels import append_votes
from kit.sets import both, judged_set
from kit.votes import vote_on

ONE, TWO, THREE = ("q1", "d1"), ("q1", "d2"), ("q2", "d4")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return judged_set(tmp_path, both(ONE, TWO, THREE), judges=("Ada", "Ben"))


def test_most_apart_comes_first_and_a_ruled_pair_can_be_looked_at(dataset: Path) -> None:
    given = (("Ada", ONE, 1), ("Ben", ONE, 2), ("Ada", TWO, 0), ("Ben", TWO, 2))
    append_votes(dataset, [vote_on(*pair, judge, grade) for judge, pair, grade in given])
    found = [(each.query_id, each.doc_id) for each in open_disputes(dataset)]
    assert found == [TWO, ONE]
    assert rulings_needed(dataset) == 2
    assert ruled_pair(dataset, *ONE) is None, "nobody has ruled on it"
    assert ruled_pair(dataset, *THREE) is None, "nobody has voted on it"
    rule(dataset, *ONE, 2, rationale="it decides the point", by="Dora")
    ruled = ruled_pair(dataset, *ONE)
    assert ruled is not None
    assert {each.judge: each.grade for each in ruled.votes} == {"Ada": 1, "Ben": 2, "Dora": 2}
