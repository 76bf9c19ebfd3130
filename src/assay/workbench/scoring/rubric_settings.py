"""The rubric of a gold set when it is scored: from which grade a document counts as relevant, and
warnings about labels and votes that no longer fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import InputError
from assay.core.types import GoldSet, counted
from assay.evaluation.graded import default_measures
from assay.gold.rows import has_log
from assay.reports.wording import warning

if TYPE_CHECKING:  # most sets name no rubric
    from assay.judging.rubrics import Rubric


def measures_of_set(gold: GoldSet, dataset: Path) -> tuple[str, ...]:
    """The default measures of a set, with the thresholds of its rubric. A set without a rubric, or
    whose rubric cannot be found, has the usual thresholds."""
    rubric = rubric_of(gold, dataset)
    if rubric is None:
        return default_measures(gold)
    return default_measures(gold, rubric.relevant_from, rubric.highly_relevant_from)


def rubric_of(gold: GoldSet, dataset: Path) -> Rubric | None:
    """The rubric that the set names, if it can be found. One that is found and cannot be read is an
    error: the figures depend on it."""
    if not gold.rubric:
        return None
    from assay.judging import rubrics

    name = gold.rubric.partition("@")[0]
    if not gold.rubric.endswith(rubrics.ENDING):
        here = {found.name for found in rubrics.available(beside=dataset)}
        return rubrics.find(name, beside=dataset) if name in here else None
    try:
        return rubrics.find(gold.rubric, beside=dataset)
    except InputError:
        return None


def rubric_warnings(gold: GoldSet, dataset: Path) -> Iterator[str]:
    """Warnings about the rubric and the votes of a set, before its figures are trusted."""
    rubric = rubric_of(gold, dataset)
    if rubric is None and gold.rubric:
        yield warning("no_rubric", rubric=gold.rubric)
    used = set(gold.judgments["grade"].to_list())
    if rubric is not None and (lost := sorted(used - set(rubric.values))):
        grades = ", ".join(map(str, lost))
        yield warning("no_grade", rubric=rubric.id, grades=grades)
    if stale := stale_count(dataset):
        yield f"{stale}: judge them again, or score what was judged"


def stale_count(dataset: Path) -> str:
    """The votes on texts that have changed since, in words; empty where there are none, or where
    the corpus is not here to tell."""
    if not has_log(dataset):
        return ""
    from assay.judging.votes import read_votes
    from assay.workbench.judging.pool_documents import corpus_texts, stale_votes

    votes = read_votes(dataset)
    if not any(vote.document for vote in votes):
        return ""
    try:
        texts = corpus_texts(dataset, None)
    except InputError:
        return ""
    stale = stale_votes(votes, texts) if texts is not None else []
    if not stale:
        return ""
    return f"{counted(len(stale), 'vote')} on documents that have changed since they were read"
