"""Small makers of questions and answers, so that a test shows only what it is about."""

from __future__ import annotations

from typing import Any

from assay.core.types import Hit, Query, QueryResult
from assay.evaluation.golden.scoring import Outcome, check_question


def question(
    id: str = "q", *, k: int | None = None, min_score: float | None = None, **checks: Any
) -> Query:
    fields = {
        name: checks.pop(name)
        for name in ("must", "category", "as_of", "language", "extra")
        if name in checks
    }
    return Query(id=id, text="?", k=k, min_score=min_score, checks=checks, **fields)


def hit(
    section: Any = None,
    moment: Any = None,
    score: float | None = 0.9,
    *,
    text: str = "",
    **fields: Any,
) -> Hit:
    """A hit as the suite's runner writes it: section_num, moment and whatever else."""
    carried = {"section_num": section, "moment": moment, **fields}
    carried = {key: value for key, value in carried.items() if value is not None}
    return Hit(doc_id=f"d{section}-{moment}-{len(text)}", score=score, text=text, metadata=carried)


def outcome(
    query: Query, *hits: Hit, abstained: bool = False, error: str | None = None, **options: Any
) -> Outcome:
    result = QueryResult(
        query_id=query.id, hits=hits, abstained=abstained, error=error, millis=12.0
    )
    return check_question(query, result, **options)
