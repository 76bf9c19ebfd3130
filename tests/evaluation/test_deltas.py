"""Changes since a baseline are over the queries that both have."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.results import GradedEntry, GradedReceipt, GradedResults, MeasureLine
from assay.evaluation import statistics
from assay.evaluation.deltas import deltas


def _results(values: dict[str, float | None]) -> GradedResults:
    known = [value for value in values.values() if value is not None]
    return GradedResults(
        timestamp="",
        engine="e",
        overall={"p@5": sum(known) / len(known)},
        slices={"type": {"keyword": {"p@5": 0.0}}},
        per_query=[
            GradedEntry(
                query_id=name,
                query_type="keyword",
                metrics={"p@5": value},
                results=[],
                grades=[],
                judged=[],
            )
            for name, value in values.items()
        ],
        receipt=GradedReceipt(measures=[MeasureLine(measure="P@5", key="p@5")]),
    )


def test_a_query_that_left_changes_nothing_by_leaving() -> None:
    """Nine queries against ten: the mean of the ten is no longer what the nine had."""
    before = _results({f"q{n}": 0.5 for n in range(9)} | {"gone": 1.0})
    found = deltas(_results({f"q{n}": 0.5 for n in range(9)}), before)
    assert (found.n, found.n_apart) == (9, 1)
    assert found.delta == {"p@5": 0.0}
    assert found.slices == {"type": {"keyword": {"p@5": 0.0}}}
    assert found.p["p@5"] == 1.0


def test_a_change_has_the_interval_and_the_test_of_the_paired_differences() -> None:
    before = _results({f"q{n}": 0.2 for n in range(8)})
    after = _results({f"q{n}": 0.2 + 0.1 * n for n in range(8)} | {"new": 0.0})
    found = deltas(after, before)
    moves = np.array([[0.1 * n] for n in range(8)])
    (interval,) = statistics.change_intervals(moves)
    assert found.delta["p@5"] == pytest.approx(0.35)
    assert found.intervals["p@5"] == pytest.approx((interval.low, interval.high))
    assert found.p["p@5"] == pytest.approx(statistics.randomization_test(moves)[0])
    assert (found.n, found.n_apart) == (8, 1)


def test_a_query_without_a_value_is_in_no_change() -> None:
    found = deltas(_results({"a": 0.5, "b": None}), _results({"a": 0.2, "b": 1.0}))
    assert found.delta["p@5"] == pytest.approx(0.3)
