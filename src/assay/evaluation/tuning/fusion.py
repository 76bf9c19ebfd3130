"""Fuse saved runs: reciprocal rank fusion, CombSUM and CombMNZ, each with weights.

    RRF      Σ w / (k + rank)                       Cormack, Clarke & Büttcher 2009
    CombSUM  Σ w · s                                Fox & Shaw 1994
    CombMNZ  Σ w · s · (the runs that have it)

s is the score, scaled by query to 0 for the lowest and 1 for the highest of the run (min-max), as
in ranx; with every weight 1 the figures are those of ranx. A run of weight 0 takes no part. Ties
are ordered as in every run with scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.runs import run_from_scores
from assay.core.types import Run

METHODS = ("rrf", "combsum", "combmnz")
RRF_K = 60  # of Cormack, Clarke & Buettcher 2009
LEAST_RANGE = 1e-9  # of the scores of a query, as in ranx


def fuse(
    runs: Sequence[Run],
    *,
    method: str = "rrf",
    k: float = RRF_K,
    weights: Sequence[float] = (),
    name: str = "fused",
) -> Run:
    """One run from several: `k` is for RRF, `weights` has one for each run."""
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
