"""What pages ask for again and again is found once, and the oldest goes when there is no room."""

from __future__ import annotations

import pytest

from assay.workbench.project.service import RecentValues


def test_a_value_is_found_once_and_the_one_asked_for_longest_ago_goes() -> None:
    found: list[str] = []

    def of(key: str) -> None:
        assert kept.of(key, lambda: found.append(key)) is None  # None is a value like others

    kept = RecentValues[str, None](2)
    for key in "abacab":
        of(key)
    assert found == ["a", "b", "c", "b"]


def test_an_error_is_not_kept() -> None:
    kept = RecentValues[str, int](2)
    with pytest.raises(ZeroDivisionError):
        kept.of("a", lambda: 1 // 0)
    assert kept.of("a", lambda: 1) == 1
    assert kept.get("b") is None
