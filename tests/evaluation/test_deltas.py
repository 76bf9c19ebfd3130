"""Changes since a baseline are over the queries that both have."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.core.results import GoldCard, GradedEntry, GradedReceipt, GradedResults, MeasureLine
from assay.evaluation import statistics
from assay.evaluation.comparison import compare
from assay.evaluation.golden.changes import figure_changes
from assay.reports.wording import Sentences, answers
from assay.reports.words import Words


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
                known_grades=[],
            )
            for name, value in values.items()
        ],
        receipt=GradedReceipt(measures=[MeasureLine(measure="P@5", key="p@5")]),
    )


def test_a_query_that_left_changes_nothing_by_leaving() -> None:
    """Nine queries against ten: the mean of the ten is no longer what the nine had."""
    before = _results({f"q{n}": 0.5 for n in range(9)} | {"gone": 1.0})
    found = figure_changes(_results({f"q{n}": 0.5 for n in range(9)}), before)
    assert (found.n, found.n_apart) == (9, 1)
    assert found.delta == {"p@5": 0.0}
    assert found.slices == {"type": {"keyword": {"p@5": 0.0}}}
    assert found.p["p@5"] == 1.0


def test_a_query_of_which_nothing_is_judged_is_not_counted() -> None:
    before = _results({f"q{n}": 0.5 for n in range(9)} | {"unjudged": None})
    assert figure_changes(before, before).n == 9  # as `assay compare` counts them


def test_a_change_has_the_interval_and_the_test_of_the_paired_differences() -> None:
    before = _results({f"q{n}": 0.2 for n in range(8)})
    after = _results({f"q{n}": 0.2 + 0.1 * n for n in range(8)} | {"new": 0.0})
    found = figure_changes(after, before)
    moves = np.array([[0.1 * n] for n in range(8)])
    (interval,) = statistics.change_intervals(moves)
    assert found.delta["p@5"] == pytest.approx(0.35)
    assert found.intervals["p@5"] == pytest.approx((interval.low, interval.high))
    assert found.p["p@5"] == pytest.approx(statistics.change_tests(moves)[0])
    assert (found.n, found.n_apart) == (8, 1)


def test_a_query_without_a_value_is_in_no_change() -> None:
    found = figure_changes(_results({"a": 0.5, "b": None}), _results({"a": 0.2, "b": 1.0}))
    assert found.delta["p@5"] == pytest.approx(0.3)


def _later(results: GradedResults, judged_anew: int) -> GradedResults:
    """The same set with one more judgment for each of the first queries."""
    entries = [
        msgspec.structs.replace(entry, known_grades=[1]) if place < judged_anew else entry
        for place, entry in enumerate(results.per_query)
    ]
    receipt = msgspec.structs.replace(results.receipt, gold=GoldCard(fingerprint="later"))
    return msgspec.structs.replace(results, per_query=entries, receipt=receipt)


def _headline(before: GradedResults, after: GradedResults) -> tuple[str, str]:
    found = compare([before, after], ["a", "b"], force=True)
    (answer,) = answers(found, Sentences(Words("en")))
    return answer.text, found.gold_changed


def test_queries_that_were_judged_anew_in_between_are_in_no_change() -> None:
    """Two queries of ten have new judgments, which raise them by .5; the engine is the same."""
    before = _results({f"q{n}": 0.4 for n in range(10)})
    values = {f"q{n}": 0.9 if n < 2 else 0.4 for n in range(10)}
    after = _later(_results(values), 2)
    found = figure_changes(after, before)
    assert (found.n, found.n_apart, found.delta) == (8, 2, {"p@5": 0.0})
    text, changed = _headline(before, after)
    assert changed == "some"
    assert text.endswith(
        "; the gold set has changed since, "
        "so only the 8 queries with the same judgments are compared"
    )


def test_rows_that_changed_elsewhere_leave_common_queries_as_they_are() -> None:
    before = _results({f"q{n}": 0.4 for n in range(10)} | {"gone": 0.1})
    after = _later(_results({f"q{n}": 0.4 for n in range(10)}), 0)
    assert (figure_changes(after, before).n, _headline(before, after)[1]) == (10, "")


def test_where_every_query_was_judged_anew_nothing_is_said_of_the_engines() -> None:
    before = _results({f"q{n}": 0.4 for n in range(10)})
    after = _later(_results({f"q{n}": 0.9 for n in range(10)}), 10)
    assert figure_changes(after, before).n == 0
    text, changed = _headline(before, after)
    assert changed == "all"
    assert text == (
        "Inconclusive: there are not enough judgments to say whether b is better than a; "
        "the gold set has changed since, and no query has the same judgments"
    )
