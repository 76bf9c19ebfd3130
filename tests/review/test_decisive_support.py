"""What makes a document right for a query, one sign at a time: each test here is of a fault that
the others let through (benchmarks/mutants.py)."""

from __future__ import annotations

import pytest

from assay.core.types import Vote
from assay.gold.votes import RULING
from assay.review.bootstrap import BootstrapOptions, QueryGroup, _is_right, with_decided_documents
from assay.store.records import Support

OPTIONS = BootstrapOptions(min_grade=1)


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


def said(doc_id: str, grade: int | None, at: str, **fields: str) -> Vote:
    given = {"kind": "human", "judge": "ada", "source": ""} | fields
    return Vote(id=f"{doc_id}{at}", query_id="r1", doc_id=doc_id, grade=grade, at=at, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("votes", "documents", "others"),
    [
        ([], ("a", "b"), ("b",)),
        ([said("a", 0, "1")], ("b",), ("b",)),
        ([said("c", 2, "1")], ("a", "b", "c"), ("b",)),
        ([said("b", 1, "1")], ("a", "b"), ()),  # now it rests on an expert's word
        ([said("a", 0, "1"), said("a", 2, "2")], ("a", "b"), ("b",)),  # the later one stands
        ([said("a", 2, "2"), said("a", 0, "1")], ("a", "b"), ("b",)),
        ([said("a", 0, "1", kind="machine")], ("a", "b"), ("b",)),
        ([said("a", 0, "1", source=RULING)], ("a", "b"), ("b",)),  # that was about the whole row
    ],
)
def test_what_an_expert_said_of_a_document_stands(
    votes: list[Vote], documents: tuple[str, ...], others: tuple[str, ...]
) -> None:
    group = QueryGroup(key="k", query="q", corpus="c", practice_area="", doc_ids=("a", "b"),
                  of_other_cases=("b",))  # fmt: skip
    (settled,) = with_decided_documents([group], {"k": "r1"}, votes)
    assert (settled.doc_ids, settled.of_other_cases) == (documents, others)


def test_a_row_of_which_nothing_is_right_is_left_out() -> None:
    group = QueryGroup(key="k", query="q", corpus="c", practice_area="", doc_ids=("a",))
    assert with_decided_documents([group], {"k": "r1"}, [said("a", 0, "1")]) == []
