"""Scoring in memory, for Python: a run against a gold set, without files or receipts."""

from __future__ import annotations

from collections.abc import Iterable

from assay.core.types import GoldSet, Run, ScoreSheet
from assay.evaluation import graded
from assay.evaluation.judged import Qrels, Scored
from assay.evaluation.measures import Measure, parse_measure
from assay.formats import read_gold, read_run
from assay.reports.notebook import shown

__all__ = ["evaluate", "parse_measure", "read_gold", "read_run"]


def evaluate(
    run: Run | Scored, gold: GoldSet | Qrels, measures: Iterable[str | Measure]
) -> ScoreSheet:
    """Score a run against a gold set; in a notebook the sheet shows itself as a table.

    `run` is a Run, or {query_id: {doc_id: score}}; `gold` is a GoldSet, or {query_id: {doc_id:
    grade}}. Every query of the gold set is in the sheet: one that the run lacks scores 0, one that
    failed or has no relevant document has no value and says why. `counts` holds n_expected, n_run,
    n_scored and what else was met."""
    return shown(graded.evaluate(run, gold, measures))
