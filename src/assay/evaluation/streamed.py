"""A saved run joined with the judgments while it is read: memory follows the queries and what is
kept of them, and not the file.

A block of lines is ranked and looked up as soon as it is read, on the thread that read it. What
stays of a query is its judged hits with their ranks and, for people to look at, the top of its
list. That needs the lines of a query together, as engines write them; a run that is not so is read
whole."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from assay import formats
from assay.core.runs import Block, Ranked, comes_back, ranked, run_from_ranked
from assay.core.types import GoldSet, Run
from assay.evaluation.judged import (
    Joined,
    JudgedRows,
    Judgments,
    Prepared,
    judged_rows,
    judgments_of,
    prepare,
    prepared,
    together,
)


class Looked(NamedTuple):
    """A run of which the top of every list is kept, and the judged hits of the whole."""

    run: Run
    prepared: Prepared


class _Part(NamedTuple):
    top: Ranked
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    judged: JudgedRows


def look_up(path: Path, gold: GoldSet, *, keep: int | None) -> Looked:
    """The saved run against the gold set, with the top `keep` hits of every query, or all."""
    scan = formats.scanner(path) if keep is not None else None
    if scan is None or keep is None:
        run = formats.read_run(path)
        return Looked(run, prepare(run, gold))
    parts: list[_Part] = []
    lengths: dict[str, int] = {}
    seen: set[str] = set()
    tag = ""
    aside = ThreadPoolExecutor(max_workers=1)
    asked = aside.submit(judgments_of, gold)  # while the first blocks are read
    aside.shutdown(wait=False)
    for said, part in scan(path, lambda block: _part(block, asked, keep)):
        names = part.top.block.queries
        if comes_back(names, seen):
            run = formats.read_run(path)
            return Looked(run, prepare(run, gold))
        lengths.update(zip(names, part.lengths.tolist(), strict=True))
        tag = tag or said
        parts.append(part)
    run, judgments = run_from_ranked(tag, [part.top for part in parts]), asked.result()
    returned = np.array([lengths.get(query_id, 0) for query_id in judgments.rows], np.int64)
    found = together([part.judged for part in parts])
    joined = Joined(*found, returned=returned, ties=run.counts["ties"])
    return Looked(run, prepared(judgments, joined, lengths, run.counts))


def _part(block: Block, judgments: Future[Judgments], keep: int) -> _Part:
    whole, ties, duplicates, hashes = ranked(block)
    judged = judged_rows(whole, judgments.result(), hashes)
    return _Part(Ranked(_top(whole, keep), ties, duplicates), whole.lengths, judged)


def _top(block: Block, keep: int) -> Block:
    kept = np.minimum(block.lengths, keep)
    begins = np.cumsum(block.lengths) - block.lengths
    rows = np.repeat(begins - (np.cumsum(kept) - kept), kept) + np.arange(kept.sum())
    # texts made anew: a part of a column would hold the whole of it in memory
    documents = pl.Series(block.documents[rows].to_list(), dtype=pl.String)
    return Block(block.queries, kept, documents, block.scores[rows])
