"""Building runs: the one ranking rule.

The engine's order is the truth. Where only scores exist (TREC runs, BEIR results, dicts of scores)
the order is trec_eval's: score descending, then id descending. A document that comes twice keeps
its first place and is counted.

A run may have millions of rows, so that ranking works on whole columns: most runs come sorted, and
only queries whose scores rise somewhere are sorted again; ties are found by comparing neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from assay.core.types import Hit, QueryResult, Run

Integers = np.ndarray[Any, np.dtype[np.int64]]

CHUNK_ROWS = 250_000


def run_from_results(engine: str, results: Sequence[QueryResult], **environment: Any) -> Run:
    """A run in the engine's own order. A document returned twice keeps its first place and is
    counted."""
    kept: list[list[Hit]] = []
    duplicates = 0
    for result in results:
        first: dict[str, Hit] = {}
        for hit in result.hits:
            first.setdefault(hit.doc_id, hit)
        duplicates += len(result.hits) - len(first)
        kept.append(list(first.values()))
    every_hit = [hit for hits in kept for hit in hits]
    retried = sum(result.retries > 0 for result in results)
    queries = pl.DataFrame(
        {
            "query_id": pl.Series([result.query_id for result in results], dtype=pl.String),
            "n": pl.Series([len(hits) for hits in kept], dtype=pl.Int64),
            "millis": pl.Series([result.millis for result in results], dtype=pl.Float64),
            "error": pl.Series([result.error for result in results], dtype=pl.String),
            "abstained": pl.Series([result.abstained for result in results], dtype=pl.Boolean),
        }
    )
    doc_ids = pl.Series([hit.doc_id for hit in every_hit], dtype=pl.String)
    scores = pl.Series([hit.score for hit in every_hit], dtype=pl.Float64)
    return Run(
        engine=engine,
        queries=queries,
        hits=pl.DataFrame({"doc_id": doc_ids.cast(pl.Categorical), "score": scores}),
        counts={"duplicates": duplicates} | ({"retried": retried} if retried else {}),
        environment=environment,
    )


def run_from_scores(
    engine: str, query_ids: Sequence[str], lengths: Integers, doc_ids: pl.Series, scores: pl.Series
) -> Run:
    """A run where only scores exist: trec_eval's order.

    `lengths[i]` rows in a row belong to `query_ids[i]`; a query may come back later, its rows are
    then put together."""
    if len(set(query_ids)) < len(query_ids):
        query_ids, lengths, doc_ids, scores = _gather_queries(query_ids, lengths, doc_ids, scores)
    hits = pl.DataFrame({"doc_id": doc_ids, "score": scores})
    kept_lengths = []
    chunks = []
    ties = 0
    for rows, chunk_lengths in query_chunks(lengths):
        chunk, chunk_ties = _ranked(hits[rows], chunk_lengths)
        chunk, chunk_lengths = _without_duplicates(chunk, chunk_lengths)
        chunks.append(chunk)
        kept_lengths.append(chunk_lengths)
        ties += chunk_ties
    ranked = pl.concat(chunks, rechunk=False) if chunks else hits
    counts = np.concatenate(kept_lengths) if chunks else lengths  # there may be no hits at all
    return Run(
        engine=engine,
        queries=pl.DataFrame({"query_id": pl.Series(query_ids, dtype=pl.String), "n": counts}),
        hits=ranked,
        order="score",
        counts={"ties": ties, "duplicates": hits.height - ranked.height},
    )


def _gather_queries(
    query_ids: Sequence[str], lengths: Integers, doc_ids: pl.Series, scores: pl.Series
) -> tuple[list[str], Integers, pl.Series, pl.Series]:
    code = {query_id: number for number, query_id in enumerate(dict.fromkeys(query_ids))}
    rows = np.repeat([code[query_id] for query_id in query_ids], lengths)
    together = np.argsort(rows, kind="stable")
    return list(code), np.bincount(rows, minlength=len(code)), doc_ids[together], scores[together]


def _ranked(hits: pl.DataFrame, lengths: Integers) -> tuple[pl.DataFrame, int]:
    """Every query's hits by (score, id), both descending; and how many hits share their score with
    another."""
    values = hits["score"].to_numpy()
    ends = np.cumsum(lengths)
    last_of_query = np.zeros(len(values), bool)
    last_of_query[ends[lengths > 0] - 1] = True
    boundary = last_of_query[:-1]
    rising = (values[1:] > values[:-1]) & ~boundary
    if rising.any():
        order = np.arange(len(values))
        for query in np.unique(np.searchsorted(ends, np.flatnonzero(rising), side="right")):
            end = ends[query]
            start = end - lengths[query]
            order[start:end] = start + np.argsort(-values[start:end], kind="stable")
        hits = hits[order]
        values = values[order]
    equal = (values[1:] == values[:-1]) & ~boundary
    return _with_ties_by_id(hits, equal) if equal.any() else (hits, 0)


def _with_ties_by_id(hits: pl.DataFrame, equal: Any) -> tuple[pl.DataFrame, int]:
    tied = np.zeros(hits.height, bool)
    tied[:-1] |= equal
    tied[1:] |= equal
    at = np.flatnonzero(tied)
    new_group = np.concatenate([[True], ~equal])[at]
    frame = pl.DataFrame(
        {"group": np.cumsum(new_group), "name": hits["doc_id"][at].cast(pl.String), "at": at}
    )
    order = np.arange(hits.height)
    order[at] = frame.sort("group", "name", descending=[False, True], maintain_order=True)[
        "at"
    ].to_numpy()
    return hits.with_columns(hits["doc_id"][order]), len(
        at
    )  # tied scores are equal: only the ids move


def _without_duplicates(hits: pl.DataFrame, lengths: Integers) -> tuple[pl.DataFrame, Integers]:
    keys = pair_keys(np.arange(len(lengths)), lengths, hits["doc_id"])
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return hits, lengths
    first = pl.Series(keys).is_first_distinct()
    return hits.filter(first), np.bincount(keys[first.to_numpy()] >> 32, minlength=len(lengths))


def pair_keys(queries: Integers, repeats: Integers | int, doc_ids: pl.Series) -> Integers:
    """One integer a (query, document) pair: the query's row above, the document's interned number
    below."""
    keys = np.repeat(queries.astype(np.int64), repeats)
    keys <<= 32
    keys |= doc_ids.to_physical().to_numpy()
    return keys


def query_chunks(lengths: Integers) -> Iterator[tuple[slice, Integers]]:
    """(rows, lengths) of whole queries, about CHUNK_ROWS rows at a time, to bound memory."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    cuts = np.searchsorted(offsets, np.arange(0, offsets[-1], CHUNK_ROWS))
    for first, last in pairwise(np.unique(np.append(cuts, len(lengths))).tolist()):
        yield slice(int(offsets[first]), int(offsets[last])), lengths[first:last]
