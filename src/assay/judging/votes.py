"""The votes of a gold set, read from its log: who gave which grade to which document, and whether
the document has changed since.

`policy` makes labels of votes. `gold.votes` decides which votes hold; its names can be imported
from here too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from assay.core.types import Document, GoldSet, Judgment, Vote
from assay.gold.files import beside, has_log, log_path
from assay.gold.log import open_log
from assay.gold.people import IMPORTED
from assay.gold.votes import (
    EDITED,
    RULING,
    SAMPLE,
    WITHDRAWN,
    Pair,
    VoteBook,
    book_of,
    by_pair,
    contradicts_itself,
    current,
    not_before,
    role_of,
)

__all__ = [
    "EDITED",
    "IMPORTED",
    "RULING",
    "SAMPLE",
    "UNNAMED",
    "WITHDRAWN",
    "Pair",
    "beside",
    "book_of",
    "by_pair",
    "contradicts_itself",
    "current",
    "document_fingerprint",
    "has_log",
    "log_path",
    "not_before",
    "read_votes",
    "role_of",
    "stale",
    "stale_in",
    "votes_of_labels",
]

UNNAMED = IMPORTED  # the judge of labels that a set had before anybody voted


def read_votes(dataset: Path) -> list[Vote]:
    """Every vote ever given on a set, in the order of its log; none where nobody has voted."""
    return open_log(dataset).votes() if has_log(dataset) else []


def stale(votes: Iterable[Vote], fingerprints: Mapping[str, str]) -> list[Vote]:
    """The votes whose document reads otherwise now than when it was judged."""
    return [
        vote
        for vote in votes
        if vote.document and fingerprints.get(vote.doc_id, vote.document) != vote.document
    ]


def stale_in(votes: Iterable[Vote], documents: Iterable[Document]) -> list[Vote]:
    """The votes that hold now, and whose document the corpus has otherwise than it was read."""
    holding = [vote for vote in current(votes) if vote.document]
    read = {vote.doc_id for vote in holding}
    prints = {
        document.id: document_fingerprint(document) for document in documents if document.id in read
    }
    return stale(holding, prints)


def document_fingerprint(document: Document) -> str:
    """What of a document a judge reads: its title, its named parts and its text."""
    parts = [document.title, document.text, sorted(document.fields.items())]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def votes_of_labels(gold: GoldSet, book: VoteBook) -> list[Vote]:
    """The labels on which nobody has voted, as votes, so that computing labels anew loses none. A
    label that does not say when it was made is older than every vote."""
    return [
        Vote(
            id=_label_id(judgment),
            query_id=judgment.query_id,
            doc_id=judgment.doc_id,
            grade=judgment.grade,
            judge=judgment.judge or UNNAMED,
            kind="human",
            at=judgment.at,
            rationale=judgment.rationale,
            rubric=judgment.rubric,
            source=judgment.source or ("" if judgment.rationale or judgment.judge else IMPORTED),
        )
        for judgment in gold.iter_judgments()
        if not book.has((judgment.query_id, judgment.doc_id))
    ]


def _label_id(judgment: Judgment) -> str:
    """The same label gives the same id, so that taking labels in twice takes them in once."""
    parts = [judgment.query_id, judgment.doc_id, judgment.grade, judgment.judge, judgment.at]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:24]
