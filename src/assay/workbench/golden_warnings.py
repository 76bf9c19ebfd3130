"""What people should know before they trust the figures of a golden set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.core.errors import InputError
from assay.core.types import GoldSet, QueryResult


def golden_warnings(gold: GoldSet, answers: Sequence[QueryResult], source: str) -> Iterable[str]:
    """Questions that only the set or only the run has; with none in common the files do not belong
    together."""
    asked, answered = set(gold.query_ids), [answer.query_id for answer in answers]
    if not asked & set(answered):
        hint = f"The gold set has {gold.query_ids[0]!r} and others; the run has {answered[:3]}."
        raise InputError("the run has none of the gold set's questions", where=source, hint=hint)
    if missing := len(asked - set(answered)):
        total = len(asked)
        yield f"{missing} of {total} questions are missing from the run and count as not passed"
    if extra := len(set(answered) - asked):
        yield f"{extra} questions of the run are not in the gold set and were ignored"


def unseen_evidence(gold: GoldSet) -> Iterable[str]:
    """No hit has a text, and no corpus gives it one."""
    from assay.evaluation.golden_checks import checks_of

    asked = sum(
        bool(checks.evidence or any(checks.evidence_of)) for checks in map(checks_of, gold.queries)
    )
    if asked:
        who = "1 question asks" if asked == 1 else f"{asked} questions ask"
        yield f"{who} for evidence, and the hits have no text to find it in; give --corpus"
