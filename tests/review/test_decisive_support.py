"""What makes a document right for a query, one sign at a time: each test here is of a fault that
the others let through (benchmarks/mutants.py)."""

from __future__ import annotations

import pytest

from assay.review.bootstrap import Options, _is_right
from assay.store.records import Support

OPTIONS = Options(min_grade=1)


def sign(kind: str, score: int, *, rank: int | None = 1, searches: int = 1) -> Support:
    return Support(query="q", corpus="c", practice_area="", doc_id="d", kind=kind,  # type: ignore[arg-type]
                   relevance_score=score, rank=rank, searches=searches)  # fmt: skip


@pytest.mark.parametrize(
    ("signs", "right"),
    [
        ([sign("vote", 2)], True),
        ([sign("vote", 2), sign("vote", 0)], False),  # as many for as against
        ([sign("vote", 0)], False),
        ([sign("citation", 3), sign("vote", 0, searches=9)], True),  # a court's word stands
        ([sign("vote", 2), sign("vote", 0), sign("click", 1)], True),  # level, and clicked
        ([sign("vote", 0), sign("click", 1, searches=9)], False),
    ],
)
def test_one_sign_more_or_less(signs: list[Support], right: bool) -> None:
    shown = {("q", "c", "d"): 3}
    assert _is_right(signs, shown, OPTIONS) == right


@pytest.mark.parametrize(("clicks", "right"), [(29, False), (30, True)])
def test_clicks_are_held_against_showings(clicks: int, right: bool) -> None:
    shown = {("q", "c", "d"): 100}
    assert _is_right([sign("click", 1, searches=clicks)], shown, OPTIONS) == right
