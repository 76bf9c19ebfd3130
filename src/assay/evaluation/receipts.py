"""Describe a gold set, measures and a run in a receipt, so that a number can be computed again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.core.fingerprints import gold_fingerprint
from assay.core.results import GoldCard, Latency, MeasureLine
from assay.core.types import GoldSet, Run, approval_status, machine_note_of
from assay.evaluation.measures import MEASURES, parse_measure, result_key

TIE_POLICY = {
    "engine": "the engine's own order; a document returned twice keeps its first place",
    "score": (
        "score descending, then document id descending (as trec_eval); "
        "a repeated document keeps its first place"
    ),
}
UNJUDGED_POLICY = (
    "an unjudged document counts as not relevant; judged-only values and bounds stand beside"
)
CLOSED_POLICY = (
    "the set is closed: it lists relevant documents alone, and a document that it does not list is "
    "not relevant; nothing is unjudged"
)
GOLDEN_POLICY = "the set is closed: a question states what it expects, and nothing is unjudged"
MISSING_POLICY = (
    "a query missing from the run scores 0; a failed query has no score; a query without relevant "
    "documents is a negative test and not ranked"
)

PASS = MeasureLine(
    key="pass",
    measure="pass",
    formula="1 when every check of the question holds, else 0",
    source="docs/golden.md",
)


def measure_lines(names: Sequence[str]) -> list[MeasureLine]:
    """Each measure with its formula, threshold, gain and cutoff, so that a number can be recomputed
    by hand."""
    measures = [parse_measure(name) for name in names]
    lines = []
    for measure in measures:
        formula = MEASURES[measure.name]
        params = {key: measure.param(key) for key in formula.params}
        lines.append(
            MeasureLine(
                key=result_key(measure, measures),
                measure=str(measure),
                cutoff=measure.cutoff,
                params={key: value for key, value in params.items() if value is not None},
                formula=formula.text,
                source=formula.source,
            )
        )
    return lines


def is_closed(gold: GoldSet) -> bool:
    """Whether a set lists relevant documents alone, and no rubric says that others were judged."""
    lowest = gold.judgments["grade"].min()
    return isinstance(lowest, int) and lowest > 0 and not gold.rubric


def gold_card(gold: GoldSet) -> GoldCard:
    approved, total = gold.approved_rows, len(gold.queries)
    by_machine = gold.labelling.by_machine if gold.labelling is not None else 0
    return GoldCard(
        name=gold.name,
        version=gold.version,
        rubric=gold.rubric,
        status=_status(gold, approved, total, by_machine),
        approved_share=approved / total if gold.from_logs else None,
        queries=total,
        judgments=gold.judgments.height,
        fingerprint=gold_fingerprint(gold),
        by_machine=by_machine,
        note=machine_note_of(gold),
    )


def _status(gold: GoldSet, approved: int, total: int, by_machine: int) -> str:
    """Whatever a set says of itself, labels by machines are provisional."""
    if gold.from_logs:
        return approval_status(approved, total)
    return "provisional" if by_machine else gold.status


def latency(run: Run) -> Latency | None:
    if "millis" not in run.queries.columns:
        return None
    millis = run.queries["millis"].drop_nulls().to_numpy()
    if not len(millis):
        return None
    p50, p95 = np.percentile(millis, [50, 95]).tolist()
    return Latency(mean=float(millis.mean()), p50=p50, p95=p95, max=float(millis.max()))
