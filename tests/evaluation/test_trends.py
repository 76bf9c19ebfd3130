"""Where the level of an engine changed: slow slides are found, chance is not marked."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from assay.evaluation.trends import Kind, Past, steps


def past(values: list[float], fingerprint: str = "a") -> Past:
    return Past(fingerprint=fingerprint, values={f"q{n}": value for n, value in enumerate(values)})


def kinds(history: list[Past]) -> list[str]:
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
