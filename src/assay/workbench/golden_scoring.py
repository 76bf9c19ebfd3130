"""Answers to the questions of a golden set, checked with what the corpus says of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.results import GoldenResults
from assay.core.types import Finding, GoldSet, QueryResult
from assay.corpus.named import documents
from assay.engines.engine_table import EngineConfig
from assay.engines.registry import searched
from assay.evaluation.golden import evaluate_golden
from assay.law.matching import Known, close_versions, known_document, one_language


def golden_results(
    gold: GoldSet,
    engine: str,
    answers: Sequence[QueryResult],
    known: Mapping[str, Known],
    *,
    k: int | None = None,
    min_score: float | None = None,
    findings: Sequence[Finding] = (),
) -> GoldenResults:
    """Pass or fail for every question; `findings` are those about the set itself."""
    results = evaluate_golden(
        gold,
        answers,
        locate=known.get if known else None,
        k=k,
        min_score=min_score,
        language=one_language(known.values()),
    )
    receipt = msgspec.structs.replace(results.receipt, findings=list(findings))
    return msgspec.structs.replace(results, engine=engine, receipt=receipt)


def places_of(engine: EngineConfig) -> Mapping[str, Known]:
    """What every document that the engine searches is, so that a hit with only an id can be
    placed; nothing where that is not known."""
    source = searched(engine)
    return places_in(source) if source else {}


def places_in(corpus: Path) -> Mapping[str, Known]:
    return close_versions({each.id: known_document(each) for each in documents(corpus)})
