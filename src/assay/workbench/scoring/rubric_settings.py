"""What a set's rubric and votes say to whoever scores it: from which grade on a document counts,
and what no longer stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import InputError
from assay.core.types import GoldSet, counted
from assay.evaluation.graded import default_measures
from assay.gold.log import has_log
from assay.judging import rubrics
from assay.judging.rubrics import Rubric


def suite(gold: GoldSet, dataset: Path) -> tuple[str, ...]:
    """The measures where nobody names any, with the thresholds of the set's rubric. A set that
    names none, or one that is not here, has the usual thresholds."""
    rubric = rubric_of(gold, dataset)
    if rubric is None:
        return default_measures(gold)
    return default_measures(gold, rubric.relevant_from, rubric.highly_relevant_from)


def rubric_of(gold: GoldSet, dataset: Path) -> Rubric | None:
    """The rubric that the set names, where it is here. One that is here and cannot be read is an
    error: the figures depend on it."""
    name = gold.rubric.partition("@")[0]
    if not gold.rubric.endswith(rubrics.ENDING):
        here = {found.name for found in rubrics.available(beside=dataset)}
        return rubrics.find(name, beside=dataset) if name in here else None
    try:
        return rubrics.find(gold.rubric, beside=dataset)
    except InputError:
        return None


def doubts(gold: GoldSet, dataset: Path) -> Iterator[str]:
    """What should be known before the figures of a set are believed."""
    rubric = rubric_of(gold, dataset)
    if rubric is None and gold.rubric:
        yield f"the rubric {gold.rubric} of the set is not here: relevant is grade 1 or more"
    used = set(gold.judgments["grade"].to_list())
    if rubric is not None and (lost := sorted(used - set(rubric.values))):
        grades = ", ".join(map(str, lost))
        yield f"the rubric {rubric.id} has no grade {grades}, and the set does; see gold validate"
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
