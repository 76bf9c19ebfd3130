"""Scoring golden sets: every question passes or fails, by the places that it expects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.results import GoldenResults
from assay.core.types import Finding, GoldSet, QueryResult
from assay.corpus.lookup import documents
from assay.engines.running import corpus_of
from assay.evaluation.golden import evaluate_golden
from assay.evaluation.golden.scoring import DEFAULT_K, checks_of, results_of
from assay.evaluation.golden.set_checks import check_expectations
from assay.formats.results_json import read_answers
from assay.law.matching import (
    NOWHERE,
    KnownDocument,
    PlaceKey,
    close_versions,
    known_document,
    matches,
    one_language,
)
from assay.reports.wording import run_warnings, warning
from assay.workbench.deciding.baseline import read_baseline
from assay.workbench.scoring.request import (
    DEFAULT_TOP_K,
    Progress,
    Say,
    ScoredRun,
    ScoreRequest,
    ask_engine_of,
    no_common_queries,
    sign_results,
    signature_of,
)

if TYPE_CHECKING:
    from assay.corpus.disk import Corpus


def score_golden(gold: GoldSet, request: ScoreRequest, progress: Progress, say: Say) -> ScoredRun:
    """Pass or fail for every question of a golden set."""
    if request.measures or request.with_machine_judgments:
        raise UsageError(
            "a golden set uses its own measures"
            if request.measures
            else "--with-machine-judgments is for graded sets; this one is golden",
            where=str(request.dataset),
            hint=f"Leave {'--measure' if request.measures else 'it'} out.",
        )
    corpus = corpus_of(request.choice)
    known = places_in(corpus) if corpus else {}
    places = known.values() if known else None
    findings = check_expectations(gold, places, file=str(request.dataset))
    for finding in findings:
        say(f"{finding.level}: {finding.where}: {finding.message}")
    read_baseline(request.baseline, golden=True)  # refuse a wrong one before the run
    name, answers = _read_or_ask(gold, request, progress, say)
    warnings = list(_mismatch_warnings(gold, answers, str(request.run or name)))
    if not known and not any(hit.text for answer in answers for hit in answer.hits):
        warnings += _evidence_warnings(gold)
    results = golden_results(
        gold,
        name,
        answers,
        known,
        k=request.k,
        min_score=request.min_score,
        findings=findings,
        worst_case=request.worst_case,
    )
    warnings += _calibration_warnings(answers, results, corpus)
    return ScoredRun(
        results=sign_results(results, signature_of(request)),
        warnings=tuple(warnings),
        failed=results.receipt.counts["n_failed"],
    )


def _read_or_ask(
    gold: GoldSet, request: ScoreRequest, progress: Progress, say: Say
) -> tuple[str, list[QueryResult]]:
    if request.run is not None:
        if formats.detect_run(request.run) == "json":
            return read_answers(request.run)
        run = formats.read_run(request.run)
        return run.engine, results_of(run)
    looked_at = request.k or max((query.k or DEFAULT_K for query in gold.queries), default=0)
    # a question must be given the hits it looks at
    depth = max(request.top_k or DEFAULT_TOP_K, looked_at)
    return ask_engine_of(request, gold, depth, progress, say)


def golden_results(
    gold: GoldSet,
    engine: str,
    answers: Sequence[QueryResult],
    known: Mapping[str, KnownDocument],
    *,
    k: int | None = None,
    min_score: float | None = None,
    findings: Sequence[Finding] = (),
    worst_case: bool = False,
) -> GoldenResults:
    """Pass or fail for every question; `findings` are those about the set itself."""
    results = evaluate_golden(
        gold,
        answers,
        locate=known.get if known else None,
        k=k,
        min_score=min_score,
        language=one_language(known.values()),
        worst_case=worst_case,
    )
    receipt = msgspec.structs.replace(results.receipt, findings=list(findings))
    return msgspec.structs.replace(results, engine=engine, receipt=receipt)


def places_in(corpus: Path) -> Mapping[str, KnownDocument]:
    """The place in the law of every document of a corpus, so that a hit with only an id can be
    placed."""
    return close_versions({each.id: known_document(each) for each in documents(corpus)})


def _mismatch_warnings(gold: GoldSet, answers: Sequence[QueryResult], source: str) -> Iterable[str]:
    """Questions that only the set or only the run has; with none in common the files do not belong
    together."""
    asked, answered = set(gold.query_ids), [answer.query_id for answer in answers]
    if not asked & set(answered):
        raise no_common_queries(gold, answered, where=source, kind="questions")
    counts = {
        "n_expected": len(asked),
        "n_missing": len(asked - set(answered)),
        "n_extra": len(set(answered) - asked),
    }
    return run_warnings(counts, golden=True)


def _calibration_warnings(
    answers: Sequence[QueryResult], results: GoldenResults, corpus: Path | None
) -> Iterable[str]:
    """Warn that a minimum score means little where scores were not fitted to the corpus, or are not
    from 0 to 1."""
    if any(answer.calibrated is False for answer in answers):
        low = sum(entry.failure == "low_score" for entry in results.per_query)
        name = corpus.name if corpus else "CORPUS"
        key = {0: "uncalibrated", 1: "uncalibrated_one"}.get(low, "uncalibrated_failed")
        yield warning(key, n=low, corpus=name)
    most = max((hit.score or 0.0 for answer in answers for hit in answer.hits), default=0.0)
    if most > 1 and any(entry.min_score for entry in results.per_query):
        yield warning("raw_scores", most=f"{most:.3g}")


def _evidence_warnings(gold: GoldSet) -> Iterable[str]:
    """Warn that evidence cannot be checked: no hit has a text, and no corpus has it either."""
    asked = sum(
        bool(checks.evidence or any(checks.evidence_of)) for checks in map(checks_of, gold.queries)
    )
    if asked:
        key = "evidence_one" if asked == 1 else "evidence"
        yield warning(key, n=asked)


# ── places that questions expect ──────────────────────────────────────────────────────────────────


def expects_place_in(gold: GoldSet, corpora: Collection[Corpus]) -> bool:
    """Whether a document is of a law, a section or an id that the questions expect. Moments, pages
    and rows are left to the run: a hit may name them more exactly than its document. True where
    the questions expect none."""
    own = _expected_places(gold, "")
    read_in = {"": own}  # a place is read in the language of the corpus, where they write alike
    if not own or NOWHERE in own:
        return True
    for corpus in corpora:
        for document in corpus.iter():
            language = document.language
            if language not in read_in:
                read_in[language] = own | _expected_places(gold, language)
            place = known_document(document).place
            if any(matches(each, place) for each in read_in[language]):
                return True
    return False


def _expected_places(gold: GoldSet, language: str) -> set[PlaceKey]:
    """The places of all questions, each as wide as its law, its section or its document."""
    found = set()
    for query in gold.queries:
        try:
            places = checks_of(query, language=language).expected
        except InputError:  # the run says what cannot be read
            places = ()
        for place in places:
            found.add(
                PlaceKey(
                    doc_ids=place.doc_ids,
                    act_numbers=place.act_numbers,
                    law_names=place.law_names,
                    section=place.section,
                )
            )
    return found
