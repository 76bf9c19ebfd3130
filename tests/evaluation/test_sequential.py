"""Evidence that may be looked at every day, and gates that use it."""

from __future__ import annotations

import numpy as np
import pytest
from test_gates import results

from assay.core.errors import InputError
from assay.core.results import Gate
from assay.evaluation.gates import decide
from assay.evaluation.sequential import evidence_above, evidence_below, evidence_over_time
from assay.evaluation.statistics import CHANGE


def test_an_unchanged_engine_is_seldom_called_worse_however_often_one_looks() -> None:
    """Two new queries a night for a year. Ever called worse: at most 5 in 100, by looking at
    intervals every night many more."""
    rng = np.random.default_rng(3)
    moves = rng.choice([0, 0, 0, 0.2, -0.2, 0.5, -0.5], size=(150, 730))
    looks = range(10, 731, 24)
    ever = [any(evidence_below(row[:n], 0.0, CHANGE) >= 20 for n in looks) for row in moves]
    nightly = [
        any(row[:n].mean() + 1.645 * row[:n].std(ddof=1) / n**0.5 < 0 for n in looks)
        for row in moves
    ]
    assert np.mean(ever) <= 0.05
    assert np.mean(nightly) > 0.10


def test_evidence_is_a_fair_bet_and_finds_a_real_drop() -> None:
    rng = np.random.default_rng(1)
    fair = [evidence_below(rng.choice([-0.3, 0.3], 30), 0.0, CHANGE) for _ in range(3_000)]
    assert np.mean(fair) == pytest.approx(1, abs=0.15)
    fallen = np.array([-0.3, 0.1] * 40)
    assert evidence_below(fallen, 0.0, CHANGE) > 20
    assert evidence_above(fallen, 0.0, CHANGE) < 1
    assert evidence_above(-fallen, 0.0, CHANGE) == pytest.approx(
        evidence_below(fallen, 0.0, CHANGE)
    )


def test_it_does_not_matter_in_which_order_queries_came() -> None:
    values = np.random.default_rng(1).choice([-0.5, 0, 0.4], 40)
    assert evidence_below(values, -0.02, CHANGE) == pytest.approx(
        evidence_below(values[::-1], -0.02, CHANGE)
    )


def test_the_stake_over_time_is_the_stake_at_every_look() -> None:
    values = np.random.default_rng(1).choice([-0.5, 0, 0.4], (3, 20))
    over = evidence_over_time(-0.1 - values, 1.1)
    for row in range(3):
        for n in (1, 7, 20):
            assert over[row, n - 1] == pytest.approx(evidence_below(values[row, :n], -0.1, CHANGE))


def test_the_end_of_the_scale_cannot_be_refuted() -> None:
    assert evidence_below(np.full(9, -1.0), 1.0, CHANGE) == 1.0


@pytest.mark.parametrize(
    ("moves", "status"),
    [([-0.4, -0.2] * 20, "fail"), ([0.3, 0.1] * 20, "pass"), ([0.1, -0.1] * 20, "inconclusive")],
)
def test_a_gate_may_be_looked_at_every_day(moves: list[float], status: str) -> None:
    gate = Gate(measure="P@5", max_drop=0.02, always_valid=True)
    found = decide(results([0.5 + move for move in moves]), [gate], results([0.5] * len(moves)))
    assert found.status == status
    strict = Gate(measure="P@5", max_drop=0.02, always_valid=True, significance=1e-9)
    after = results([0.5 + move for move in moves])
    assert decide(after, [strict], results([0.5] * len(moves))).status == "inconclusive"


@pytest.mark.parametrize(
    ("moves", "status"),
    [
        ([0.0] * 150, "pass"),
        ([0.0] * 20, "inconclusive"),  # not shown to be worse, nor to be no worse
        ([-0.3, -0.2] * 10, "fail"),
        ([0.2, 0.1] * 20, "pass"),
    ],
)
def test_no_worse_than_has_to_be_shown(moves: list[float], status: str) -> None:
    gate = Gate(measure="P@5", no_worse_than=0.02)
    (check,) = decide(
        results([0.5 + move for move in moves]), [gate], results([0.5] * len(moves))
    ).checks
    assert check.status == status
    assert "(90% interval " in check.message
    assert "Required: a drop of at most 0.02" in check.message


def test_no_worse_than_is_one_sided_at_its_significance() -> None:
    """Two one-sided tests at 5% are a 90% interval; max_drop with 10% is the same bound."""
    moves = [0.1, -0.1, 0.0, 0.05] * 15
    now, then = results([0.5 + move for move in moves]), results([0.5] * len(moves))
    bounds = np.arange(0.001, 0.08, 0.004)
    told = [
        [
            decide(
                now, [Gate(measure="P@5", **{key: float(bound)}, significance=level)], then
            ).status
            for bound in bounds
        ]
        for key, level in (("no_worse_than", 0.05), ("max_drop", 0.10))
    ]
    assert told[0] == told[1]
    assert {"pass", "inconclusive"} <= set(told[0])


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ({"no_worse_than": 0.02, "max_drop": 0.02}, "give one of them"),
        ({"no_worse_than": 0}, "above 0"),
        ({"no_worse_than": -0.1}, "0 or more"),
        ({"no_worse_than": 0.02, "significance": 0.6}, "below 0.5"),
        ({"always_valid": True, "min_queries": 5}, "there is none"),
    ],
)
def test_a_demand_that_makes_no_sense_is_refused(demand: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decide(results([0.5]), [Gate(measure="P@5", **demand)])
