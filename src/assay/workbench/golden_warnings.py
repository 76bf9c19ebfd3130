"""What people should know before they trust the figures of a golden set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.core.errors import InputError
from assay.core.types import GoldSet, QueryResult
from assay.reports.wording import run_warnings


def golden_warnings(gold: GoldSet, answers: Sequence[QueryResult], source: str) -> Iterable[str]:
    """Questions that only the set or only the run has; with none in common the files do not belong
    together."""
    asked, answered = set(gold.query_ids), [answer.query_id for answer in answers]
    if not asked & set(answered):
        hint = f"The gold set has {gold.query_ids[0]!r} and others; the run has {answered[:3]}."
        raise InputError("the run has none of the gold set's questions", where=source, hint=hint)
    counts = {
        "n_expected": len(asked),
        "n_missing": len(asked - set(answered)),
        "n_extra": len(set(answered) - asked),
    }
    yield from run_warnings(counts, golden=True)


def unseen_evidence(gold: GoldSet) -> Iterable[str]:
    """No hit has a text, and no corpus gives it one."""
    from assay.evaluation.golden_checks import checks_of

    asked = sum(
        bool(checks.evidence or any(checks.evidence_of)) for checks in map(checks_of, gold.queries)
    )
    if asked:
        who = "1 question asks" if asked == 1 else f"{asked} questions ask"
        yield f"{who} for evidence, and the hits have no text to find it in; give --corpus"
