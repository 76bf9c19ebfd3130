"""The arithmetic of judged answers against sums done by hand."""

from __future__ import annotations

from assay.answers.measures import nugget_recall, weighted_support


def test_support_is_weighted_by_half() -> None:
    # citations 2, 1 and 0: (1 + 0.5 + 0) / 3; sentences by their best: (1 + 0 + 0) / 3
    assert weighted_support([[2, 1], [0], []]) == (0.5, 1 / 3)
    assert weighted_support([]) == (None, None)


def test_nuggets_as_nuggetizer_counts_them() -> None:
    found = nugget_recall(
        [
            ("vital", "support"),
            ("vital", "partial_support"),
            ("okay", "support"),
            ("okay", "not_support"),
        ]
    )
    # vital: 1 of 2 strict, 1.5 of 2 weighted; all: okay counts half, (1 + 0.5) / (2 + 1) strict
    assert found == {
        "strict_vital": 0.5,
        "strict_all": 0.5,
        "weighted_vital": 0.75,
        "weighted_all": 2 / 3,
    }


def test_no_vital_nuggets_is_no_value() -> None:
    assert nugget_recall([("okay", "support")])["strict_vital"] is None
