"""The pairs of a set that wait for a ruling, kept: a vote changes one pair, so one is looked at."""

from __future__ import annotations

import threading
from pathlib import Path

from assay.core.errors import AssayError
from assay.judging.disputes import Dispute, dispute_of, is_disputed, list_disputes
from assay.judging.labelling import grade_given
from assay.judging.policy import Label, Policy, label_of
from assay.judging.votes import Pair
from assay.workbench.desk import Desk
from assay.workbench.shelves import reader_of


class _Open:
    """What waits by one policy, as far as the votes were read."""

    def __init__(self, policy: Policy, life: int) -> None:
        self.policy, self.life, self.read = policy, life, 0
        self.labels: dict[Pair, Label] = {}
        self.grades: dict[Pair, int | None] = {}  # what the labels will be

    def read_on(self, desk: Desk) -> None:
        votes = desk.votes
        for pair in dict.fromkeys(votes.order[self.read :]):
            label = label_of(pair, votes.everything(pair), self.policy)
            self.grades[pair] = grade_given(label)
            if is_disputed(label):
                self.labels[pair] = label
            else:
                self.labels.pop(pair, None)
        self.read = len(votes.order)


_open: dict[Path, _Open] = {}
_lock = threading.Lock()


def open_labels(desk: Desk) -> list[Label]:
    """The labels that wait for a ruling, of queries that the set has."""
    with _lock, desk.votes.reading:
        ids = set(desk.gold.query_ids)
        return [label for label in _read(desk).labels.values() if label.query_id in ids]


def uncounted(desk: Desk) -> int:
    """How many documents were judged since the labels were made, so that their label is another
    than the set has."""
    if desk.gold.from_logs:  # its rows are approved, not labelled
        return 0
    with _lock, desk.votes.reading:
        grades = dict(_read(desk).grades)
    if not grades:
        return 0
    ids = set(desk.gold.query_ids)
    written = {(row.query_id, row.doc_id): row.grade for row in desk.gold.iter_judgments()}
    return sum(pair[0] in ids and written.get(pair) != grade for pair, grade in grades.items())


def _read(desk: Desk) -> _Open:
    place = desk.dataset.resolve()
    known = _open.get(place)
    if known is None or (known.policy, known.life) != (desk.policy, desk.votes.life):
        known = _open[place] = _Open(desk.policy, desk.votes.life)
    known.read_on(desk)
    return known


def disputes_of(desk: Desk, home: Path | None) -> list[Dispute]:
    """As somebody who rules sees them, most apart first."""
    waiting = open_labels(desk)
    return list_disputes(desk.gold, waiting, stale=_stale(desk, waiting, home))


def pair_as_it_stands(desk: Desk, pair: Pair) -> Dispute | None:
    """Whether it waits or was ruled on; none where nobody has voted on it."""
    with desk.votes.reading:
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
