"""The pairs of a set that wait for a ruling, and what is judged and not in its labels yet."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import AssayError
from assay.judging.disputes import Dispute, dispute_of, list_disputes, most_apart
from assay.judging.policy import Label, label_of
from assay.judging.votes import Pair
from assay.workbench.desk import Desk
from assay.workbench.shelves import reader_of
from assay.workbench.tallied import tallied


def open_labels(desk: Desk) -> list[Label]:
    """The labels that wait for a ruling, of queries that the set has."""
    ids = set(desk.gold.query_ids)
    with tallied(desk) as tally:
        pairs = [pair for pair in tally.disputed if pair[0] in ids]
        return [label_of(pair, desk.votes.everything(pair), desk.policy) for pair in pairs]


def uncounted(desk: Desk) -> int:
    """How many documents were judged since the labels were made, so that their label is another
    than the set has."""
    if desk.gold.from_logs:  # its rows are approved, not labelled
        return 0
    with tallied(desk) as tally:
        return len(tally.uncounted)


def disputes_of(desk: Desk, home: Path | None, most: int | None = None) -> list[Dispute]:
    """As somebody who rules sees them, most apart first."""
    waiting = most_apart(desk.gold, open_labels(desk))[:most]
    return list_disputes(desk.gold, waiting, stale=_stale(desk, waiting, home))


def pair_as_it_stands(desk: Desk, pair: Pair) -> Dispute | None:
    """Whether it waits or was ruled on; none where nobody has voted on it."""
    with desk.log.reading:
        votes = desk.votes.everything(pair)
    return dispute_of(desk.gold, label_of(pair, votes, desk.policy)) if votes else None


def _stale(desk: Desk, waiting: list[Label], home: Path | None) -> set[str]:
    """The votes on documents that read otherwise now; none where the corpus is not here."""
    try:
        shelf = reader_of(desk.pool, desk.dataset, home)
    except AssayError:
        return set()
    return {
        vote.id
        for label in waiting
        for vote in label.votes
        if vote.document and shelf.fingerprint(vote.doc_id) not in ("", vote.document)
    }
