"""`assay calibrate`: fit what a score means to one corpus, with questions whose answers are known.

Each question is asked once. Whether its first hit is right, and whether the engine should have
abstained, fits a shift and a slope of the shipped models (search/confidence.py), with a prior that
keeps a few questions from moving much. Everyday questions stand for those that the corpus does not
answer, beside the questions of the set that must be refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from assay.core.errors import InputError
from assay.core.types import GoldSet, Query, QueryResult
from assay.engines.indexed import Say, keep_calibration, open_indexed
from assay.evaluation.golden.scoring import check_question
from assay.evaluation.reliability import Booleans, Floats, reliability
from assay.evaluation.reliability import CalibrationReport as CalibrationReport
from assay.formats import read_gold
from assay.law.matching import KnownDocument, known_document
from assay.search import confidence
from assay.search.confidence import ABSTAIN, Calibration, Evidence, Scale
from assay.search.engine import Engine, Hits

LEAST = 30  # questions with a known answer; chosen
FOLDS = 5  # of the cross-validation; the usual number
TOP = 10  # hits of a question; the usual depth
RIGHT_GRADE = 2  # the least grade of a hit that answers, or 1 if no document has it; chosen
Tick = Callable[[str, int, int], None]


class AskedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was asked: the evidence of its answer, and which hits are right; None for a
    question that the corpus does not answer, or a hit that nobody has judged."""

    evidence: Evidence
    right: list[bool | None] | None


def calibrate(
    name: str,
    dataset: Path,
    *,
    home: Path | None = None,
    tick: Tick = lambda what, done, of: None,
    say: Say = lambda text: None,
) -> CalibrationReport:
    """Fit what a score means to a corpus, and keep it beside its index."""
    gold = read_gold(dataset)
    engine = open_indexed(name, home=home, say=say)
    asked = []
    for done, query in enumerate(gold.queries):
        tick("asking", done, len(gold.queries))
        if (question := ask(engine, query, gold)) is not None:
            asked.append(question)
    inside = [
        question
        for question in asked
        if question.right is not None and question.right[0] is not None
    ]
    if len(inside) < LEAST:
        raise InputError(
            f"{len(inside)} questions have a known answer and a judged first hit; calibration "
            f"needs at least {LEAST}",
            where=str(dataset),
            hint="Add questions, or judge the first hits: assay gold next shows what to judge.",
        )
    everyday = confidence.everyday_questions(engine.language)
    outside = [question for question in asked if question.right is None]
    outside += [
        AskedQuestion(evidence=hits.evidence, right=None)
        for hits in (engine.search(text, TOP, texts=False) for text in everyday)
        if hits.evidence is not None
    ]
    logits = np.array([engine.logits(question.evidence)[1] for question in inside])
    right = np.array([bool(question.right and question.right[0]) for question in inside])
    both = [*inside, *outside]
    scope = np.array([engine.logits(question.evidence)[0] for question in both])
    is_inside = np.arange(len(both)) < len(inside)
    fitted = Calibration(
        answers=confidence.fit_scale(scope, is_inside) if outside else Scale(),
        right=confidence.fit_scale(logits, right),
        questions=len(inside),
        fitted_to=engine.models,
    )
    answers = _probabilities(fitted.answers, scope)
    return CalibrationReport(
        corpus=name,
        dataset=str(dataset),
        questions=len(inside),
        outside=len(outside),
        right=float(right.mean()),
        before=reliability(_probabilities(Scale(), logits), right),
        after=reliability(_cross_validated(logits, right), right),
        refused=float((answers[is_inside] < ABSTAIN).mean()),
        outside_refused=float((answers[~is_inside] < ABSTAIN).mean()) if outside else 0.0,
        file=str(keep_calibration(name, fitted, home)),
    )


def ask(engine: Engine, query: Query, gold: GoldSet) -> AskedQuestion | None:
    """Ask one question of a set; None where nothing is found at all, or nothing is known of it."""
    hits = engine.search(query.text, TOP, as_of=query.as_of, texts=False)
    if hits.evidence is None:
        return None
    known = grades_of(gold)
    grades = known.get(query.id)
    if grades:
        least = min(RIGHT_GRADE, max(max(each.values()) for each in known.values()))
        right: list[bool | None] | None = [
            grades[hit.doc_id] >= least if hit.doc_id in grades else None for hit in hits
        ]
    elif query.checks.get("expected_any"):
        right = _golden(engine, query, hits)
    elif query.checks.get("must_abstain"):
        right = None
    else:
        return None
    return AskedQuestion(evidence=hits.evidence, right=right)


def grades_of(gold: GoldSet) -> dict[str, dict[str, int]]:
    """The grades of a set by query and document."""
    grades: dict[str, dict[str, int]] = {}
    if gold.judgments is not None:
        rows = gold.judgments.select("query_id", "doc_id", "grade").iter_rows()
        for query_id, doc_id, grade in rows:
            grades.setdefault(query_id, {})[doc_id] = grade
    return grades


def _golden(engine: Engine, query: Query, hits: Hits) -> list[bool | None]:
    def locate(doc_id: str) -> KnownDocument:
        return known_document(engine.document(doc_id))

    answer = QueryResult(query_id=query.id, hits=tuple(hits))
    outcome = check_question(
        query, answer, locate=locate, k=TOP, min_score=0.0, language=engine.language
    )
    return [ranked.accepted for ranked in outcome.ranked]


def _probabilities(scale: Scale, logits: Floats) -> Floats:
    return np.array([scale.probability(float(logit)) for logit in logits])


def _cross_validated(logits: Floats, right: Booleans) -> Floats:
    """Each score from a fit on the other folds."""
    folds = np.random.default_rng(0).permutation(len(logits)) % FOLDS
    scores = np.zeros(len(logits))
    for fold in range(FOLDS):
        held = folds == fold
        scores[held] = _probabilities(
            confidence.fit_scale(logits[~held], right[~held]), logits[held]
        )
    return scores
