"""Build runs from engine answers, from scores or from other runs, with the one ranking rule of
Assay.

The engine's order is the truth. Where only scores exist (TREC runs, BEIR results, dicts of scores)
the order is trec_eval's: score descending, then id descending. A document that appears twice keeps
its first place and is counted.

A run may have millions of rows, so that ranking works on whole columns, a block of whole queries at
a time: most runs come sorted, and only queries whose scores rise somewhere are sorted again; ties
and repeated documents are found by comparing numbers, and only those are looked at as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.types import Hit, QueryResult, Run

Integers = np.ndarray[Any, np.dtype[np.int64]]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]

CHUNK_ROWS = 250_000  # rows ranked at a time, to bound memory (taste)
CACHED_ROWS = 30_000  # rows whose table should stay in the processor's cache (taste)


class Block(NamedTuple):
    """Some rows of a run: `lengths[i]` rows in a row belong to `queries[i]`."""

    queries: list[str]
    lengths: Integers
    documents: pl.Series
    scores: pl.Series


class RankedColumns(NamedTuple):
    """A block in rank order, without repeated documents; how many hits share their score with
    another, and how many repetitions were dropped; the numbers of its pairs, for who looks them
    up."""

    block: Block
    ties: int
    duplicates: int
    hashes: Hashes | None = None


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
        hits=pl.DataFrame({"doc_id": doc_ids, "score": scores}),
        counts={"duplicates": duplicates} | ({"retried": retried} if retried else {}),
        environment=environment,
    )


def run_from_scores(
    engine: str, query_ids: Sequence[str], lengths: Integers, doc_ids: pl.Series, scores: pl.Series
) -> Run:
    """A run where only scores exist: trec_eval's order.

    `lengths[i]` rows in a row belong to `query_ids[i]`; a query may come back later, its rows are
    then put together."""
    whole = grouped_by_query(Block(list(query_ids), lengths, doc_ids.cast(pl.String), scores))
    return run_from_ranked(engine, [ranked(block) for block in blocks_of(whole)], whole)


def run_from_ranked(engine: str, parts: Sequence[RankedColumns], whole: Block | None = None) -> Run:
    """A run from its ranked blocks, each query in one of them. A run without any hits has no
    blocks; `whole` then tells its queries."""
    blocks = [part.block for part in parts] or ([whole] if whole is not None else [])
    hits = [
        pl.DataFrame({"doc_id": block.documents, "score": block.scores}, schema=_HITS)
        for block in blocks
    ]
    queries = {
        "query_id": pl.Series(
            [query_id for block in blocks for query_id in block.queries], dtype=pl.String
        ),
        "n": np.concatenate([np.empty(0, np.int64), *(block.lengths for block in blocks)]),
    }
    return Run(
        engine=engine,
        queries=pl.DataFrame(queries),
        hits=pl.concat(hits, rechunk=False) if hits else pl.DataFrame(schema=_HITS),
        order="score",
        counts={
            "ties": sum(part.ties for part in parts),
            "duplicates": sum(part.duplicates for part in parts),
        },
    )


_HITS = {"doc_id": pl.String, "score": pl.Float64}


def has_split_query(queries: Sequence[str], seen: set[str]) -> bool:
    """Whether one of these queries was seen before, or is here twice; they are now seen."""
    before = len(seen)
    seen.update(queries)
    return len(seen) < before + len(queries)


def grouped_by_query(block: Block) -> Block:
    """A block with the rows of each query together, also where a query comes back later."""
    query_ids, lengths = block.queries, block.lengths
    code = {query_id: number for number, query_id in enumerate(dict.fromkeys(query_ids))}
    if len(code) == len(query_ids):
        return block
    rows = np.repeat([code[query_id] for query_id in query_ids], lengths)
    together = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=len(code))
    return Block(list(code), counts, block.documents[together], block.scores[together])


def ranked(block: Block) -> RankedColumns:
    """Every query's hits by (score, id), both descending, each document once."""
    documents, scores, lengths = block.documents, block.scores, block.lengths
    values = scores.to_numpy()
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
        documents, scores, values = documents[order], scores[order], values[order]
    equal = (values[1:] == values[:-1]) & ~boundary
    ties = 0
    if equal.any():  # tied scores are equal: only the ids move
        documents, ties = _ties_by_id(documents, equal)
    hashes = pair_hashes(block.queries, lengths, documents)
    again = repeated(hashes, documents, lengths)
    if again.size:
        first = np.ones(len(values), bool)
        first[again] = False
        hashes = hashes[first]
        of_query = np.repeat(np.arange(len(lengths)), lengths)[first]
        documents, scores = documents.filter(pl.Series(first)), scores.filter(pl.Series(first))
        lengths = np.bincount(of_query, minlength=len(lengths))
    return RankedColumns(Block(block.queries, lengths, documents, scores), ties, len(again), hashes)


def _ties_by_id(documents: pl.Series, equal: Any) -> tuple[pl.Series, int]:
    tied = np.zeros(len(documents), bool)
    tied[:-1] |= equal
    tied[1:] |= equal
    at = np.flatnonzero(tied)
    new_group = np.concatenate([[True], ~equal])[at]
    frame = pl.DataFrame({"group": np.cumsum(new_group), "name": documents[at], "at": at})
    order = np.arange(len(documents))
    order[at] = frame.sort("group", "name", descending=[False, True], maintain_order=True)[
        "at"
    ].to_numpy()
    return documents[order], len(at)


def pair_hashes(
    queries: Sequence[str], lengths: Integers, documents: pl.Series, *, seed: int = 0
) -> Hashes:
    """A hash for each (query, document) pair. Equal pairs have equal hashes; different pairs hardly
    ever do, so equal hashes are checked by id."""
    of_query = pl.Series(queries, dtype=pl.String).hash(2 * seed + 1).to_numpy()
    hashes: Hashes = np.repeat(of_query, lengths)
    hashes ^= documents.hash(2 * seed).to_numpy()
    return hashes


def repeated(hashes: Hashes, documents: pl.Series, lengths: Integers) -> Integers:
    """The rows whose document came before for the same query."""
    if not has_equal(hashes):
        return np.empty(0, np.int64)
    order = np.argsort(hashes, kind="stable")
    equal = hashes[order[1:]] == hashes[order[:-1]]
    suspects = np.sort(order[np.append(equal, False) | np.append(False, equal)])
    pairs = pl.DataFrame(
        {
            "query": np.searchsorted(np.cumsum(lengths), suspects, side="right"),
            "document": documents[suspects],
        }
    )
    again: Integers = suspects[
        ~pairs.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
    ]
    return again


def repeated_pairs(queries: Sequence[str], lengths: Integers, documents: pl.Series) -> Integers:
    """The rows whose pair came before, where the rows of a query are together. A few queries are
    looked at at a time: their table then stays in the processor's cache."""
    found, done = [np.empty(0, np.int64)], 0
    for rows, counts in query_chunks(lengths, CACHED_ROWS):
        part = documents[rows]
        hashes = pair_hashes(queries[done : done + len(counts)], counts, part)
        found.append(repeated(hashes, part, counts) + rows.start)
        done += len(counts)
    return np.concatenate(found)


def has_equal(hashes: Hashes) -> bool:
    """Whether two of the numbers are equal. Each takes a place in a table, several times faster
    than sorting; those that lose it to another number try again among themselves."""
    table = np.empty(2 ** (2 * len(hashes)).bit_length(), np.uint32)
    slots = (hashes & (len(table) - 1)).view(np.int64)
    rows = np.arange(len(hashes), dtype=np.uint32)
    while rows.size:
        table[slots] = rows
        lost = np.flatnonzero(table[slots] != rows)
        rows, slots = rows[lost], slots[lost]
        if (hashes[table[slots]] == hashes[rows]).any():
            return True
    return False


def blocks_of(whole: Block) -> Iterator[Block]:
    """Blocks of whole queries, about CHUNK_ROWS rows each, to bound memory."""
    done = 0
    for rows, lengths in query_chunks(whole.lengths):
        queries = whole.queries[done : done + len(lengths)]
        yield Block(queries, lengths, whole.documents[rows], whole.scores[rows])
        done += len(lengths)


def query_chunks(lengths: Integers, most: int = CHUNK_ROWS) -> Iterator[tuple[slice, Integers]]:
    """(rows, lengths) of whole queries, about `most` rows at a time, to bound memory."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    cuts = np.searchsorted(offsets, np.arange(0, offsets[-1], most))
    for first, last in pairwise(np.unique(np.append(cuts, len(lengths))).tolist()):
        yield slice(int(offsets[first]), int(offsets[last])), lengths[first:last]


# ── fusion ────────────────────────────────────────────────────────────────────────────────────────
#
#     RRF      Σ w / (k + rank)                       Cormack, Clarke & Büttcher 2009
#     CombSUM  Σ w · s                                Fox & Shaw 1994
#     CombMNZ  Σ w · s · (the runs that have it)
#
# s is the score, scaled by query to 0 for the lowest and 1 for the highest of the run (min-max), as
# in ranx; with every weight 1 the figures are those of ranx.

METHODS = ("rrf", "combsum", "combmnz")
RRF_K = 60  # of Cormack, Clarke & Büttcher 2009
LEAST_RANGE = 1e-9  # of the scores of a query, as in ranx


def fuse(
    runs: Sequence[Run],
    *,
    method: str = "rrf",
    k: float = RRF_K,
    weights: Sequence[float] = (),
    name: str = "fused",
) -> Run:
    """One run from several: `k` is for RRF, `weights` has one for each run; one of weight 0 takes
    no part."""
    _refuse_weights(runs, method, k, weights)
    used = [
        (run, weight)
        for run, weight in zip(runs, weights or [1.0] * len(runs), strict=True)
        if weight
    ]
    queries = list(dict.fromkeys(query for run in runs for query in run.rows_by_query))
    ids: list[str] = []
    scores: list[float] = []
    lengths = []
    for query in queries:
        fused = _fused_scores(query, used, method, k)
        ids += fused
        scores += fused.values()
        lengths.append(len(fused))
    documents = pl.Series(ids, dtype=pl.String)
    return run_from_scores(
        name, queries, np.array(lengths, np.int64), documents, pl.Series(scores, dtype=pl.Float64)
    )


def _fused_scores(
    query: str, used: Sequence[tuple[Run, float]], method: str, k: float
) -> Mapping[str, float]:
    total: dict[str, float] = {}
    times: dict[str, int] = {}
    for run, weight in used:
        row = run.rows_by_query.get(query)
        if row is None:
            continue
        hits = slice(int(run.offsets[row]), int(run.offsets[row + 1]))
        documents = run.hits["doc_id"][hits].to_list()
        if method == "rrf":
            parts = [1 / (k + rank) for rank in range(1, len(documents) + 1)]
        else:
            parts = _scaled_scores(run.hits["score"][hits].to_list(), run, query)
        for document, part in zip(documents, parts, strict=True):
            total[document] = total.get(document, 0.0) + weight * part
            times[document] = times.get(document, 0) + 1
    if method == "combmnz":
        return {document: score * times[document] for document, score in total.items()}
    return total


def _scaled_scores(scores: Sequence[float | None], run: Run, query: str) -> list[float]:
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        raise InputError(
            f"the run {run.engine} has no scores for query {query}",
            hint='Runs without scores can be fused by their ranks: method = "rrf".',
        )
    if not known:
        return []
    low = min(known)
    return [(score - low) / max(max(known) - low, LEAST_RANGE) for score in known]


def _refuse_weights(runs: Sequence[Run], method: str, k: float, weights: Sequence[float]) -> None:
    if method not in METHODS:
        raise InputError(f"there is no fusion {method!r}", hint=f"Known: {', '.join(METHODS)}.")
    if weights and len(weights) != len(runs):
        raise InputError(f"{len(weights)} weights for {len(runs)} runs")
    if any(weight < 0 for weight in weights) or (weights and not any(weights)):
        raise InputError("weights must be 0 or more, and at least one above 0")
    if k < 0:
        raise InputError(f"k of RRF must be 0 or more, not {k:g}")
