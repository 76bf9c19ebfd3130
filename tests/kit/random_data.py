"""Random runs and judgments for properties: ties, unjudged, missing queries, short lists, ids in
any script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from assay.core.runs import run_from_scores
from assay.core.types import GoldSet, Query, Run, judgment_frame

Qrels = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

QUERY_IDS = ["q1", "q 2", "kysymys-ä", "שאלה 4", "10", "9"]
DOC_IDS = [
    "d1",
    "d10",
    "d9",
    "id with spaces",
    "110 a §",
    "hyväksymispäivä",
    "Åland",
    "åland",
    "פס״ד 12/34",
    "תקדים-7",
    "z",
    "🏛",
    "d 1",
]

# multiples of 1/8 are exact in every float width, so no peer sees a tie where there is none
EIGHTHS = st.integers(-16, 16).map(lambda number: number / 8)


def qrels(lowest: int = 0, highest: int = 4) -> st.SearchStrategy[Qrels]:
    judged = st.dictionaries(
        st.sampled_from(DOC_IDS), st.integers(lowest, highest), min_size=1, max_size=9
    )
    return st.dictionaries(st.sampled_from(QUERY_IDS), judged, min_size=1, max_size=5)


def scores(empty: bool = True, ties: bool = True) -> st.SearchStrategy[Scores]:
    """Runs; with `ties=False` no two documents of a query share a score."""
    least = 0 if empty else 1
    if ties:
        hits = st.dictionaries(
            st.sampled_from(DOC_IDS), EIGHTHS, min_size=least, max_size=len(DOC_IDS)
        )
    else:
        ranked = st.lists(
            st.sampled_from(DOC_IDS), unique=True, min_size=least, max_size=len(DOC_IDS)
        )
        hits = ranked.map(lambda ids: {ids[-rank]: float(rank) for rank in range(len(ids), 0, -1)})
    return st.dictionaries(st.sampled_from(QUERY_IDS), hits, min_size=0, max_size=len(QUERY_IDS))


def as_run(scored: Mapping[str, Mapping[str, float]]) -> Run:
    """The same run through the column path."""
    doc_ids = [doc_id for hits in scored.values() for doc_id in hits]
    values = [score for hits in scored.values() for score in hits.values()]
    lengths = np.array([len(hits) for hits in scored.values()], np.int64)
    documents = pl.Series(doc_ids, dtype=pl.String)
    return run_from_scores(
        "random", list(scored), lengths, documents, pl.Series(values, dtype=pl.Float64)
    )


def as_gold(judged: Mapping[str, Mapping[str, int]], **attributes: Any) -> GoldSet:
    """The same judgments as a gold set; `attributes` maps a query id to Query fields."""
    rows = [
        (query_id, doc_id, grade)
        for query_id, grades in judged.items()
        for doc_id, grade in grades.items()
    ]
    queries = tuple(
        Query(id=query_id, text=query_id, **attributes.get(query_id, {})) for query_id in judged
    )
    frame = judgment_frame(
        [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    )
    return GoldSet(name="random", queries=queries, judgments=frame)


def is_ranking_query(grades: Mapping[str, int]) -> bool:
    return any(grade >= 1 for grade in grades.values())
