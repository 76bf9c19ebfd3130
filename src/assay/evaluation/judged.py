"""The join behind every graded measure: which hits of a run are judged, at which rank.

Runs and judgments are columns of interned ids (or plain dicts), and joined once for all measures.
`pack` then hands the judged hits out as padded matrices, a block of queries at a time, so that a
formula is a few array operations whether there are sixty queries or a million.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.runs import pair_keys, query_chunks
from assay.core.types import GoldSet, Query, Run, judgment_frame
from assay.evaluation.measures import NO_GRADE, NO_RANK, Integers, JudgedHits

# queries are scored in blocks of at most this many matrix cells, so one deep query costs little
BLOCK_CELLS = 8_000_000

NEGATIVE = "no relevant document is known: a negative test, not a ranking query"
UNJUDGED_QUERY = "no judgments"
MISSING = "missing from the run: counted as 0"

Qrels = Mapping[str, Mapping[str, int]]
Scored = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    queries: tuple[Query, ...]
    scorable: np.ndarray[Any, np.dtype[np.bool_]]
    reasons: tuple[str, ...]
    counts: Mapping[str, int]
    returned: Integers
    hit_query: Integers  # the judged hits of all queries, by query and rank
    hit_rank: Integers
    hit_grade: Integers
    gold_query: Integers  # every judgment, by query, best grade first
    gold_grade: Integers
    max_grade: int


def prepare(run: Run | Scored, gold: GoldSet | Qrels) -> Prepared:
    gold_set = gold if isinstance(gold, GoldSet) else gold_from_dict(gold)
    rows = {query_id: row for row, query_id in enumerate(gold_set.query_ids)}
    gold_query = _rows_of(gold_set.judgments["query_id"], rows)
    gold_grade = gold_set.judgments["grade"].to_numpy().astype(np.int64)
    if (gold_query < 0).any():
        stray = gold_set.judgments["query_id"][int(np.argmin(gold_query))]
        raise InputError(
            f"the gold set {gold_set.name!r} judges query {stray!r}, which is not among its queries"
        )
    keys = np.sort(pair_keys(gold_query, 1, gold_set.judgments["doc_id"]))
    if (keys[1:] == keys[:-1]).any():
        twice = gold_set.judgments.filter(
            gold_set.judgments.select("query_id", "doc_id").is_duplicated()
        ).row(0)
        raise InputError(
            f"document {twice[1]!r} is judged twice on query {twice[0]!r}",
            hint="Keep one judgment a pair.",
        )
    errors: dict[str, str] = {}
    order: Collection[str] = run.rows_by_query if isinstance(run, Run) else run
    if isinstance(run, Run):
        errors = _errors(run)
        joined = _join_columns(run, gold_set, rows, gold_query)
    else:
        joined = _join_dicts(run, _as_dict(gold) if isinstance(gold, GoldSet) else gold, rows)
    best_first = np.lexsort((-gold_grade, gold_query))
    has_relevant = np.zeros(len(rows), bool)
    has_relevant[gold_query[gold_grade >= 1]] = True
    has_any = np.zeros(len(rows), bool)
    has_any[gold_query] = True
    reasons, scorable = _states(gold_set.query_ids, has_relevant, has_any, errors, order)
    in_run = sum(1 for query_id in rows if query_id in order)
    states = {"n_expected": len(rows), "n_run": in_run, "n_scored": int(scorable.sum())}
    states |= {
        "n_missing": reasons.count(MISSING),
        "n_negative": reasons.count(NEGATIVE) + reasons.count(UNJUDGED_QUERY),
    }
    if unjudged := reasons.count(UNJUDGED_QUERY):  # of the negative
        states["n_unjudged"] = unjudged
    states |= {
        "n_failed": sum(query_id in errors for query_id in rows),
        "n_extra": len(order) - in_run,
    }
    return Prepared(
        queries=gold_set.queries,
        scorable=scorable,
        reasons=reasons,
        counts=states | {"ties": joined.ties} | (dict(run.counts) if isinstance(run, Run) else {}),
        returned=joined.returned,
        hit_query=joined.query,
        hit_rank=joined.rank,
        hit_grade=joined.grade,
        gold_query=gold_query[best_first],
        gold_grade=gold_grade[best_first],
        max_grade=gold_set.max_grade,
    )


def _states(
    query_ids: list[str],
    has_relevant: Any,
    has_any: Any,
    errors: Mapping[str, str],
    run: Collection[str],
) -> tuple[tuple[str, ...], np.ndarray[Any, np.dtype[np.bool_]]]:
    reasons = []
    for row, query_id in enumerate(query_ids):
        if query_id in errors:
            reasons.append(f"failed: {errors[query_id]}")
        elif not has_any[row]:
            reasons.append(UNJUDGED_QUERY)
        elif not has_relevant[row]:
            reasons.append(NEGATIVE)
        else:
            reasons.append("" if query_id in run else MISSING)
    return tuple(reasons), np.array([reason in ("", MISSING) for reason in reasons], bool)


def _errors(run: Run) -> dict[str, str]:
    if "error" not in run.queries.columns:
        return {}
    failed = run.queries.filter(pl.col("error").is_not_null())
    return dict(zip(failed["query_id"].to_list(), failed["error"].to_list(), strict=True))


def _rows_of(query_ids: pl.Series, rows: Mapping[str, int]) -> Integers:
    """The gold row of each query id (interned), -1 where the gold set has no such query."""
    table = pl.DataFrame(
        {"query_id": pl.Series(list(rows), dtype=pl.String).cast(pl.Categorical)}
    ).with_row_index("row")
    placed = query_ids.to_frame("query_id").join(
        table, on="query_id", how="left", maintain_order="left"
    )
    return placed["row"].fill_null(-1).cast(pl.Int64).to_numpy()


class _Joined(NamedTuple):
    """The judged hits by query and rank; how many hits each query returned; how many share their
    score."""

    query: Integers
    rank: Integers
    grade: Integers
    returned: Integers
    ties: int


def _join_columns(
    run: Run, gold: GoldSet, rows_by_id: Mapping[str, int], gold_query: Integers
) -> _Joined:
    """One hash join of interned (query, document) pairs, kept in rank order."""
    query_rows = np.array(
        [rows_by_id.get(query_id, -1) for query_id in run.rows_by_query], np.int64
    )
    lengths = np.diff(run.offsets)
    known = query_rows >= 0
    returned = np.zeros(len(rows_by_id), np.int64)
    returned[query_rows[known]] = lengths[known]
    gold_keys = pl.DataFrame(
        {
            "key": pair_keys(gold_query, 1, gold.judgments["doc_id"]),
            "grade": gold.judgments["grade"],
            "query": gold_query,
        }
    )
    parts, done = [], 0
    for rows, part_lengths in query_chunks(lengths):
        here = query_rows[done : done + len(part_lengths)]
        in_chunk = np.zeros(len(rows_by_id) + 1, bool)
        in_chunk[here] = True
        keys = pair_keys(here, part_lengths, run.hits["doc_id"][rows])
        asked = gold_keys.filter(in_chunk[gold_query])
        part = pl.DataFrame({"key": keys}).with_row_index("at").join(asked, on="key", how="inner")
        parts.append(
            part.filter(pl.col("query") >= 0).select(
                pl.col("at").cast(pl.Int64) + rows.start, "grade", "query"
            )
        )
        done += len(part_lengths)
    joined = (
        pl.concat(parts).sort("at")
        if parts
        else pl.DataFrame({"at": [], "grade": [], "query": []}, schema=_JOINED)
    )
    at = joined["at"].to_numpy()
    begins = run.offsets[np.searchsorted(run.offsets, at, side="right") - 1]
    order = np.argsort(
        joined["query"].to_numpy(), kind="stable"
    )  # the run may have the queries in another order
    return _Joined(
        query=joined["query"].to_numpy()[order],
        rank=(at - begins + 1)[order],
        grade=joined["grade"].to_numpy().astype(np.int64)[order],
        returned=returned,
        ties=run.counts.get("ties", 0),
    )


_JOINED = {"at": pl.Int64, "grade": pl.Int32, "query": pl.Int64}


def _join_dicts(run: Scored, qrels: Qrels, rows: Mapping[str, int]) -> _Joined:
    """The same join for dicts: look each judged document up and count the scores above it. No
    string is copied."""
    returned = np.zeros(len(rows), np.int64)
    ties = 0
    judged_rows: list[int] = []
    ranks, grades = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for query_id, row in rows.items():
        scored = run.get(query_id)
        if not scored:
            continue
        returned[row] = len(scored)
        judged = {
            doc_id: grade for doc_id, grade in qrels.get(query_id, {}).items() if doc_id in scored
        }
        query_ranks, query_ties = _ranks_of(judged, scored, query_id)
        ties += query_ties
        judged_rows.extend([row] * len(judged))
        ranks.append(query_ranks)
        grades.append(np.fromiter(judged.values(), np.int64, len(judged)))
    hit_query, hit_rank = np.array(judged_rows, np.int64), np.concatenate(ranks)
    order = np.lexsort((hit_rank, hit_query))
    return _Joined(hit_query[order], hit_rank[order], np.concatenate(grades)[order], returned, ties)


def _ranks_of(
    wanted: Collection[str], scored: Mapping[str, float], query_id: str
) -> tuple[Integers, int]:
    """The rank of each wanted document by (score, id), both descending; and how many hits share
    their score."""
    every = np.fromiter(scored.values(), np.float64, len(scored))
    every.sort()
    if every[-1] != every[-1]:  # NaN sorts last
        raise InputError(
            f"query {query_id!r}: a score is NaN", hint="Every score must be a number."
        )
    scores = np.fromiter((scored[doc_id] for doc_id in wanted), np.float64, len(wanted))
    from_top = len(every) - np.searchsorted(every, scores)
    equal = every[1:] == every[:-1]
    if not equal.any():
        return from_top, 0
    ties = int(np.count_nonzero(np.append(equal, False) | np.append(False, equal)))
    if (
        np.searchsorted(every, scores, side="right") + from_top == len(every) + 1
    ).all():  # none of the wanted is tied
        return from_top, ties
    order = sorted(scored, key=lambda doc_id: (scored[doc_id], doc_id), reverse=True)
    place = {doc_id: rank for rank, doc_id in enumerate(order, start=1)}
    return np.fromiter((place[doc_id] for doc_id in wanted), np.int64, len(wanted)), ties


def gold_from_dict(qrels: Qrels) -> GoldSet:
    """A gold set from {query_id: {doc_id: grade}}."""
    lengths = [len(grades) for grades in qrels.values()]
    frame = judgment_frame(
        pl.Series(list(qrels), dtype=pl.String).gather(np.repeat(np.arange(len(qrels)), lengths)),
        list(chain.from_iterable(qrels.values())),
        list(chain.from_iterable(grades.values() for grades in qrels.values())),
    )
    return GoldSet(
        name="", queries=tuple(Query(id=query_id, text="") for query_id in qrels), judgments=frame
    )


def _as_dict(gold: GoldSet) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in gold.judgments.select("query_id", "doc_id", "grade").iter_rows():
        qrels.setdefault(query_id, {})[doc_id] = grade
    return qrels


def pack(prepared: Prepared) -> Iterator[tuple[Integers, JudgedHits]]:
    """Blocks of queries as padded matrices; queries of like width share a block."""
    total = len(prepared.queries)
    hit_counts = np.bincount(prepared.hit_query, minlength=total)
    gold_counts = np.bincount(prepared.gold_query[prepared.gold_query >= 0], minlength=total)
    widths = np.maximum(np.maximum(hit_counts, gold_counts), 1)
    order = np.argsort(widths, kind="stable")
    start = 0
    while start < total:
        end = start + 1
        while end < total and (end + 1 - start) * widths[order[end]] <= BLOCK_CELLS:
            end += 1
        rows = np.sort(order[start:end])
        yield (
            rows,
            JudgedHits(
                ranks=_matrix(prepared.hit_query, prepared.hit_rank, hit_counts, rows, NO_RANK),
                grades=_matrix(prepared.hit_query, prepared.hit_grade, hit_counts, rows, NO_GRADE),
                ideal=_matrix(
                    prepared.gold_query, prepared.gold_grade, gold_counts, rows, NO_GRADE
                ),
                returned=prepared.returned[rows],
                max_grade=prepared.max_grade,
            ),
        )
        start = end


def _matrix(
    query: Integers, value: Integers, counts: Integers, rows: Integers, padding: int
) -> Integers:
    """Values sorted by query, as one padded row for each of `rows`."""
    starts = np.searchsorted(query, rows)
    columns = np.arange(counts[rows].max(initial=0))
    inside = columns < counts[rows][:, None]
    source = np.where(inside, starts[:, None] + columns, 0)
    return (
        np.where(inside, value[source], padding)
        if value.size
        else np.full(source.shape, padding, np.int64)
    )
