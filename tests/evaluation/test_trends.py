"""Where the level of an engine changed: slow slides are found, chance is not marked."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from assay.evaluation.trends import Kind, PastRun, steps


def past(values: list[float], fingerprint: str = "a") -> PastRun:
    return PastRun(
        fingerprint=fingerprint, values={f"q{n}": value for n, value in enumerate(values)}
    )


def kinds(history: list[PastRun]) -> list[str]:
    return [step.kind.value for step in steps(history)]


def test_a_fall_begins_a_new_level() -> None:
    high, low = [0.8, 0.7, 0.9, 0.6, 0.8, 0.7, 0.9, 0.8, 0.7, 0.9], [0.3] * 10
    found = steps([past(high), past(high), past(low), past(low)])
    assert [step.kind.value for step in found] == ["first", "same", "down", "same"]
    assert found[2].since == 0
    assert found[3].since == 2
    assert found[2].change == pytest.approx(0.3 - np.mean(high))
    assert set(found[2].fell) == {"q2", "q6", "q9"}
    assert not found[2].rose


def test_a_slow_slide_is_found_where_no_two_runs_in_a_row_differ() -> None:
    rng = np.random.default_rng(1)
    first = rng.uniform(0.4, 0.9, 40)
    slide = [past(list(first - 0.01 * n + rng.normal(0, 0.08, 40) * (n > 0))) for n in range(10)]
    neighbours = [kinds([one, two])[1] for one, two in pairwise(slide)]
    assert set(neighbours) == {"open"}
    assert "down" in kinds(slide)


def test_a_set_that_changed_is_a_level_of_its_own() -> None:
    found = steps([past([0.2] * 8), past([0.9] * 8, "b"), past([0.9] * 8, "b")])
    assert [step.kind for step in found] == [Kind.FIRST, Kind.SET, Kind.SAME]
    assert found[1].change is None


def test_an_engine_that_does_not_change_is_seldom_marked() -> None:
    """Each history is twelve runs with noise and no change; at most 5% may have a mark."""
    rng = np.random.default_rng(0)
    marked = 0
    for _ in range(40):
        level = rng.uniform(0.2, 0.9, 12)
        history = [past(list(level + rng.normal(0, 0.1, 12))) for _ in range(12)]
        marked += bool({"up", "down"} & set(kinds(history)))
    assert marked <= 6  # 2 are expected at most; 6 or fewer with probability .997


def test_a_large_fall_is_marked_however_many_runs_there_are() -> None:
    """600 runs share 5%, so that each has very little. A tenth of them at a tenth of the level is
    the same."""
    rng = np.random.default_rng(2)
    level = rng.uniform(0.5, 0.9, 40)
    noisy = [past(list(level + rng.normal(0, 0.05, 40))) for _ in range(60)]
    fallen = past(list(level - 0.4 + rng.normal(0, 0.05, 40)))
    found = [step.kind.value for step in steps([*noisy, fallen], alpha=0.005)]
    assert found[-1] == "down"
    assert not {"up", "down"} & set(found[:-1])


def test_runs_to_come_take_no_mark_away() -> None:
    rng = np.random.default_rng(3)
    level = rng.uniform(0.5, 0.9, 10)
    history = [past(list(level)), past(list(level - 0.3))]
    later = [past(list(level - 0.3 + rng.normal(0, 0.05, 10))) for _ in range(60)]
    assert kinds([*history, *later])[1] == kinds(history)[1] == "down"


def test_runs_that_differ_from_none_before_are_no_tests_of_their_own() -> None:
    level, other = [0.5] * 12, [0.6, 0.4] * 6
    nightly = [past(level), *[past(other), past(level)] * 200]
    fallen = steps([*nightly, past([0.3] * 12)])[-1]
    assert fallen.kind is Kind.DOWN
    assert fallen.p == steps([past(level), past(other), past([0.3] * 12)])[-1].p
