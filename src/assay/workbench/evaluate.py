"""Scoring in memory, for Python: a run against a gold set, without files or receipts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.core.types import GoldSet, Query, Run, ScoreSheet
from assay.engines.asking import run_engine
from assay.engines.retrievers import as_engine
from assay.evaluation import graded
from assay.evaluation.judged import Qrels, Scored, gold_from_dict
from assay.evaluation.measures import Measure, is_handed, parse_measure, parse_measures
from assay.evaluation.streamed import look_up
from assay.formats import read_gold, read_run
from assay.reports.notebook import shown

__all__ = ["ask", "evaluate", "parse_measure", "read_gold", "read_run"]


def evaluate(
    run: Run | Scored | Path | str,
    gold: GoldSet | Qrels | Path | str,
    measures: Iterable[str | Measure],
) -> ScoreSheet:
    """Score a run against a gold set; in a notebook the sheet shows itself as a table.

    `run` is a Run, or {query_id: {doc_id: score}}; `gold` is a GoldSet, or {query_id: {doc_id:
    grade}}. Either may be the path of a file; a TREC run is then scored while it is read, and never
    in memory as a whole. Every query of the gold set is in the sheet: one that the run lacks scores
    0, one that failed or has no relevant document has no value and says why. `counts` holds
    n_expected, n_run, n_scored and what else was met."""
    known = read_gold(gold) if isinstance(gold, Path | str) else gold
    if not isinstance(run, Path | str):
        return shown(graded.evaluate(run, known, measures))
    wanted = parse_measures(map(str, measures))
    if any(map(is_handed, wanted)):  # they need the whole run
        return shown(graded.evaluate(read_run(run), known, wanted))
    gold_set = known if isinstance(known, GoldSet) else gold_from_dict(known)
    return shown(graded.score_sheet(look_up(Path(run), gold_set, keep=0).prepared, wanted))


def ask(engine: Any, gold: GoldSet | Iterable[Query], *, top_k: int = 20) -> Run:
    """Ask an engine every query of a gold set. `engine` is anything with `search(query, top_k)`, a
    function, either of them async, or a retriever of LangChain, LlamaIndex, Haystack or PyTerrier.
    A call that raises is a failed query of the run, and never an empty answer."""
    queries = gold.queries if isinstance(gold, GoldSet) else tuple(gold)
    return run_engine(as_engine(engine), queries, top_k=top_k)
