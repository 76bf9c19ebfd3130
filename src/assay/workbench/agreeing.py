"""`assay gold agreement`: how far the judges of a set agree, from the votes beside it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.types import GoldSet, Vote
from assay.judging import rubrics
from assay.judging.agreement import agreement
from assay.judging.agreement_figures import Agreement, Kind
from assay.judging.votes import read_votes
from assay.workbench.suite import stale_count

__all__ = ["Agreement", "Kind", "judges_agreement", "stale_count", "write_agreement"]


def judges_agreement(
    dataset: Path, *, kind: Kind | None = None, judges: Collection[str] = ()
) -> Agreement:
    gold = formats.read_gold(dataset)
    votes = read_votes(dataset)
    first = _relevant_from(gold, dataset)
    return agreement(gold, votes, relevant_from=first, kind=kind, judges=judges)


def agreement_between(gold: GoldSet, votes: Sequence[Vote], dataset: Path) -> Agreement:
    """The same of votes that are read already."""
    return agreement(gold, votes, relevant_from=_relevant_from(gold, dataset))


def _relevant_from(gold: GoldSet, dataset: Path) -> int:
    """By the set's rubric; a set whose rubric is not here is relevant from grade 1, and the figure
    says from which."""
    try:
        return rubrics.find(gold.rubric or rubrics.DEFAULT, beside=dataset).relevant_from
    except InputError:
        return 1


def write_agreement(agreed: Agreement, output: Path) -> None:
    from assay.reports.agreement import agreement_markdown

    if output.suffix != ".md":
        raise UsageError(
            f"the agreement is written as .md, not {output.suffix or 'without an ending'}",
            where=str(output),
            hint="--json prints it for programs.",
        )
    write_atomic(output, agreement_markdown(agreed))
