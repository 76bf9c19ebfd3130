"""Converting to and from PyTerrier: tables of results and runs, gold sets as topics and qrels, and
engines as transformers. Tables are pandas frames with its columns:
qid, docno, score, rank; qid, query; qid, docno, label."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.runs import run_from_scores
from assay.core.types import GoldSet, Query, Run
from assay.engines.asking import run_engine
from assay.engines.retrievers import as_engine


def run_from_frame(frame: Any, engine: str = "pyterrier") -> Run:
    """A table with qid, docno and score as a run, in trec_eval's order, as PyTerrier's own
    evaluation has it."""
    missing = {"qid", "docno", "score"} - set(frame.columns)
    if missing:
        names = ", ".join(sorted(missing))
        raise InputError(
            f"the table has no column {names}", hint="A table of results has qid, docno, score."
        )
    qids = frame["qid"].astype(str)
    ids = list(dict.fromkeys(qids))
    code = {qid: number for number, qid in enumerate(ids)}
    rows = np.array([code[qid] for qid in qids], np.int64)
    order = np.argsort(rows, kind="stable")
    documents = pl.Series([str(docno) for docno in frame["docno"]], dtype=pl.String)[order]
    scores = pl.Series(frame["score"].to_numpy(dtype=float)[order], dtype=pl.Float64)
    if scores.is_nan().any():
        raise InputError("a score is NaN", hint="Every score must be a number.")
    lengths = np.bincount(rows, minlength=len(ids))
    return run_from_scores(engine, ids, lengths, documents.cast(pl.Categorical), scores)


def run_to_frame(run: Run) -> Any:
    """A run as PyTerrier has it: qid, docno, score and rank from 0. Scores are the engine's where
    they fall with the rank, else they are made so that its order is kept."""
    pandas = _pandas()
    rows = []
    for query_id in run.rows_by_query:
        doc_ids = run.doc_ids(query_id)
        row = run.rows_by_query[query_id]
        own = run.hits["score"][int(run.offsets[row]) : int(run.offsets[row + 1])].to_list()
        falling = None not in own and all(a > b for a, b in pairwise(own))
        scores = own if falling else [float(len(doc_ids) - rank) for rank in range(len(doc_ids))]
        rows += [(query_id, doc_id, scores[rank], rank) for rank, doc_id in enumerate(doc_ids)]
    return pandas.DataFrame(rows, columns=["qid", "docno", "score", "rank"])


def gold_to_frames(gold: GoldSet) -> tuple[Any, Any]:
    """(topics, qrels) of a gold set, as pt.Experiment takes them."""
    pandas = _pandas()
    topics = pandas.DataFrame(
        [(query.id, query.text) for query in gold.queries], columns=["qid", "query"]
    )
    rows = gold.judgments.select("query_id", "doc_id", "grade").iter_rows()
    return topics, pandas.DataFrame(list(rows), columns=["qid", "docno", "label"])


def as_transformer(engine: Any, top_k: int = 1000) -> Any:
    """Any engine as a PyTerrier transformer: topics in, results out."""
    pyterrier = imported("pyterrier", "a transformer", "pyterrier")
    asked = as_engine(engine)

    base: type = pyterrier.Transformer

    class EngineTransformer(base):  # type: ignore[misc]
        def transform(self, topics: Any) -> Any:
            pairs: Iterable[tuple[Any, Any]] = zip(topics["qid"], topics["query"], strict=True)
            queries = [Query(id=str(qid), text=str(text)) for qid, text in pairs]
            found = run_to_frame(run_engine(asked, queries, top_k=top_k))
            known = topics.drop(columns=["docno", "score", "rank"], errors="ignore")
            known = known.assign(qid=known["qid"].astype(str)).drop_duplicates("qid")
            return known.merge(found, on="qid", how="inner")

    made: Any = EngineTransformer
    return made()


def _pandas() -> Any:
    return imported("pandas", "a table of PyTerrier", "pyterrier")
