"""Machine judgments corrected by people's: the textbook formula, what must never happen, and
coverage on draws that break the textbook interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from assay.evaluation.prediction_powered import (
    chance_of_imbalance,
    chance_of_shift,
    estimate,
    power_tuned,
)

Floats = np.ndarray[Any, np.dtype[np.float64]]


def drawn(n: int, queries: int, *, noise: float, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    """People on the first n, the machine there, and the machine everywhere."""
    rng = np.random.default_rng(seed)
    people = rng.beta(2, 3, queries)
    machine = np.clip(0.1 + people + rng.normal(0, noise, queries), 0, 1)
    return people[None, :n], machine[None, :n], machine[None]


def test_the_value_is_the_textbook_one() -> None:
    people, there, everywhere = drawn(20, 66, noise=0.1)
    found = estimate(people, everywhere)
    weight = float(found.weight[0])
    corrected = weight * everywhere.mean() + (people - weight * there).mean()
    assert 0 < weight < 1
    assert found.value[0] == pytest.approx(corrected, abs=1e-12)


def test_with_many_queries_it_is_ppi_plus_plus() -> None:
    """The published weight and interval, written out: labelled and unlabelled queries apart."""
    n, queries = 4_000, 40_000
    people, there, everywhere = drawn(n, queries, noise=0.2)
    found = estimate(people, everywhere)
    labelled, machine, rest = people[0], there[0], everywhere[0, n:]
    ratio = n / len(rest)
    tuned = np.cov(labelled, machine)[0, 1] / ((1 + ratio) * everywhere.var())
    value = tuned * rest.mean() + (labelled - tuned * machine).mean()
    spread = tuned**2 * rest.var() / len(rest) + (labelled - tuned * machine).var() / n
    low, high = stats.norm.interval(0.95, value, np.sqrt(spread))
    assert found.value[0] == pytest.approx(value, abs=1e-4)
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=2e-4)
    assert found.high[0] - found.low[0] == pytest.approx(high - low, rel=0.02)


def test_ppi_py_agrees() -> None:
    theirs = pytest.importorskip("ppi_py")
    people, there, everywhere = drawn(20, 66, noise=0.1)
    found = estimate(people, everywhere)
    unlabelled = everywhere[0, 20:]
    same = float(found.weight[0]) * 46 / 66  # their mean is over the unlabelled queries alone
    value = theirs.ppi_mean_pointestimate(people[0], there[0], unlabelled, lam=same)
    assert found.value[0] == pytest.approx(float(value[0]), abs=1e-12)


def test_all_judged_is_people_alone() -> None:
    people, _, everywhere = drawn(33, 33, noise=0.1)
    found = estimate(people, everywhere)
    assert found.value[0] == people.mean()
    assert (found.low[0], found.high[0]) == (found.people_low[0], found.people_high[0])
    assert found.weight[0] == 0
    these = estimate(people, everywhere, finite=True)
    assert these.low[0] == these.high[0] == pytest.approx(people.mean()), "nothing is left to guess"


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_ten_times_the_same_is_not_certainty(value: float) -> None:
    same = np.full((1, 10), value)
    found = estimate(same, np.full((1, 100), value))
    assert found.value[0] == value
    assert found.high[0] - found.low[0] > 0.05
    assert 0 <= found.low[0] <= value <= found.high[0] <= 1


def test_a_machine_that_always_says_the_same_is_no_help() -> None:
    people, _, _ = drawn(15, 66, noise=0)
    found = estimate(people, np.full((1, 66), 0.7))
    assert found.weight[0] == 0
    assert found.value[0] == people.mean()


def test_agreement_on_ten_queries_is_not_taken_for_agreement_on_all() -> None:
    """Textbook intervals have no width left here but what the number of queries gives."""
    people = np.array([[0.0, 1] * 5])
    found = estimate(people, np.tile(people, (1, 100)))
    alone = found.people_high[0] - found.people_low[0]
    assert 0.3 * alone < found.high[0] - found.low[0] < alone


@pytest.mark.parametrize("machine", ["random", "inverted"])
def test_a_bad_machine_costs_nothing(machine: str) -> None:
    rng = np.random.default_rng(5)
    people = rng.beta(1, 2, (2_000, 200))
    said = 1 - people if machine == "inverted" else rng.random(people.shape)
    found = estimate(people[:, :15], said)
    alone = found.people_high - found.people_low
    assert ((found.high - found.low) <= alone + 1e-12).all(), "never wider than people alone"
    assert found.weight.mean() < 0.05


def test_values_outside_0_to_1_have_students_interval() -> None:
    rng = np.random.default_rng(2)
    people = rng.normal(5, 2, (1, 12))
    found = estimate(people, np.zeros((1, 50)))
    low, high = stats.t.interval(0.95, 11, people.mean(), stats.sem(people[0]))
    assert found.people_low[0] == pytest.approx(low, rel=0.02)
    assert found.people_high[0] == pytest.approx(high, rel=0.02)


# the hardest of benchmarks/simulate_machine_judges.py: many 1s, few and whole disagreements
@pytest.mark.parametrize(("right", "missed"), [(0.9, 0.06), (0.6, 0.15)])
@pytest.mark.parametrize("n", [10, 20])
def test_intervals_hold_the_truth(right: float, missed: float, n: int) -> None:
    rng = np.random.default_rng([n, int(100 * right)])
    repeats, queries = 2_000, 300
    people = (rng.random((repeats, queries)) < right).astype(np.float64)
    machine = np.where(rng.random(people.shape) < missed, 1.0, people)  # lenient
    found = estimate(people[:, :n], machine)
    held = ((found.low <= right) & (right <= found.high)).mean()
    assert held > 0.93 - 3 * np.sqrt(0.93 * 0.07 / repeats)
    weight = power_tuned(people[:, :n], machine[:, :n])
    residuals = (people - weight[:, None] * machine)[:, :n]
    half = stats.t.ppf(0.975, n - 1) * residuals.std(axis=1, ddof=1) / np.sqrt(n)
    value = people[:, :n].mean(axis=1) - weight * (machine[:, :n] - 0).mean(axis=1)
    value += weight * machine.mean(axis=1)
    plain = (np.abs(value - right) <= half).mean()
    assert plain < held, "else Student's interval would do"


def test_rare_and_whole_errors_of_the_machine_are_allowed_for() -> None:
    """Values mostly near 0, and a machine that is right but for 1 query in 10, which it finds
    perfect: often none of those is among the judged, but the others have them."""
    rng = np.random.default_rng(8)
    people = rng.beta(0.2, 2, (2_000, 300))
    machine = np.where(rng.random(people.shape) < 0.1, 1 - people, people)
    found = estimate(people[:, :20], machine)
    truth = 0.2 / 2.2
    held = ((found.low <= truth) & (truth <= found.high)).mean()
    assert held > 0.93 - 3 * np.sqrt(0.93 * 0.07 / 2_000)


# ── queries with nothing relevant ─────────────────────────────────────────────────────────────────


def with_empty(share: float, n: int, seed: int = 6) -> tuple[Floats, Floats]:
    """People on n of 200 queries, and the machine on all; neither finds anything on a share."""
    rng = np.random.default_rng(seed)
    values = rng.beta(2, 2, (1_500, 200))
    machine = np.clip(values + 0.05 * rng.normal(size=values.shape), 0, 1)
    nothing = rng.random(values.shape) < share
    return np.where(nothing, np.nan, values)[:, :n], np.where(nothing, np.nan, machine)


@pytest.mark.parametrize("share", [0.05, 0.25, 0.5])
@pytest.mark.parametrize("always_finds", [False, True])
def test_queries_with_nothing_relevant_do_not_bias_it(share: float, always_finds: bool) -> None:
    people, machine = with_empty(share, 40)
    if always_finds:
        machine = np.where(np.isnan(machine), 0.1, machine)
    found = estimate(people, machine)
    held = ((found.low <= 0.5) & (found.high >= 0.5)).mean()
    assert held > 0.93
    assert abs(found.value.mean() - 0.5) < 0.01
    width = (found.high - found.low).mean() / (found.people_high - found.people_low).mean()
    assert width < 0.9, "the machine still helps"


def test_people_alone_are_the_queries_with_a_value() -> None:
    people, machine = with_empty(0.25, 40)
    found = estimate(people[:1], np.full_like(machine[:1], 0.5))
    known = people[:1][~np.isnan(people[:1])][None]
    alone = estimate(known, np.full((1, 200), 0.5))
    assert found.value[0] == pytest.approx(known.mean())
    assert (found.low[0], found.high[0]) == pytest.approx((alone.low[0], alone.high[0]), abs=1e-9)


def test_a_machine_that_finds_nothing_says_0_where_people_always_find_something() -> None:
    people, _, machine = drawn(20, 66, noise=0.1)
    low = machine < 0.3
    as_zero = estimate(people, np.where(low, 0, machine))
    as_none = estimate(people, np.where(low, np.nan, machine))
    assert as_none.value[0] == as_zero.value[0]
    assert (as_none.low[0], as_none.high[0]) == (as_zero.low[0], as_zero.high[0])


# ── are the judged queries a random part? ─────────────────────────────────────────────────────────


def test_a_shift_is_the_two_sample_test() -> None:
    rng = np.random.default_rng(3)
    judged, others = rng.random(200), rng.random(300) + 0.05
    expected = stats.ttest_ind(judged, others).pvalue
    assert chance_of_shift(judged, others) == pytest.approx(expected, rel=0.1)
    assert chance_of_shift(judged, judged[:0]) == 1.0
    assert chance_of_shift(np.ones(5), np.ones(7)) == 1.0


def test_lopsided_is_fishers_exact_test() -> None:
    for judged_of_group in (0, 3, 10):
        table = [[judged_of_group, 10 - judged_of_group], [15 - judged_of_group, 30]]
        table[1][1] = 66 - 10 - (15 - judged_of_group)
        expected = stats.fisher_exact(table).pvalue
        assert chance_of_imbalance(judged_of_group, 15, 10, 66) == pytest.approx(expected, rel=1e-6)
