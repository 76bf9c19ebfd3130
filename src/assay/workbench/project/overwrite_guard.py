"""Refusing to overwrite a file of judgments that somebody has filled in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.types import GoldSet, Vote, counted
from assay.formats.ballots import Ballot, Ballots, read_ballots, same_text


def spare_judgments(
    output: Path | None, gold: GoldSet | None = None, votes: Sequence[Vote] = ()
) -> None:
    """A file that somebody has filled in is not written over. What the set has already, as a label
    or as a vote, is not lost with the file."""
    if output is None or not output.is_file() or not output.stat().st_size:
        return
    if output.suffix.lower() in (".html", ".htm", ".xml", ".md"):
        return  # the page of a packet keeps its votes in the browser
    judged = _read_judgments(output)
    if judged is None:
        raise UsageError(
            "the file already exists and is not an empty packet",
            where=str(output),
            hint="Give another file name.",
        )
    known = _known_judgments(gold, votes)
    ids = {same_text(query.text): query.id for query in gold.queries} if gold else {}
    lost = len(judged.bad) + sum(_judgment_of_row(row, ids) not in known for row in judged.rows)
    if lost:
        raise UsageError(
            f"the file has {counted(lost, 'judgment')} already"
            + (" that the set does not have" if known else ""),
            where=str(output),
            hint="Import them with `assay gold merge`, or give another file name.",
        )


_GivenJudgment = tuple[str, str, int | None, str]


def _known_judgments(gold: GoldSet | None, votes: Sequence[Vote]) -> set[_GivenJudgment]:
    """The judgments with and without rationale: a format may have no place for it."""
    rows = [*(gold.iter_judgments() if gold else ()), *votes]
    return {
        (row.query_id, row.doc_id, row.grade, wrote)
        for row in rows
        for wrote in ("", row.rationale.strip())
    }


def _judgment_of_row(row: Ballot, ids: dict[str, str]) -> _GivenJudgment:
    query_id = ids.get(same_text(row.query), "") if row.query else row.query_id
    return query_id, row.doc_id, row.grade, row.rationale


def _read_judgments(path: Path) -> Ballots | None:
    """The judgments in a ballot or gold set; None if the file is neither."""
    try:
        return read_ballots(path)
    except InputError:
        pass
    try:
        rows = formats.read_gold(path).iter_judgments()
    except InputError:
        return None
    return Ballots(
        rows=[
            Ballot(
                where=str(path),
                query_id=row.query_id,
                doc_id=row.doc_id,
                grade=row.grade,
                rationale=row.rationale.strip(),
            )
            for row in rows
        ]
    )
