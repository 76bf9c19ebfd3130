"""Votes: who said what of which document, kept beside the set in STEM.votes.jsonl.

The file is the truth; labels are computed from it by a policy (see `policy`). Reading and appending
are in `formats.votes_jsonl`, and which of them stands in `formats.vote_order`; both come from here
too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from assay.core.types import Document, GoldSet, Judgment, Vote
from assay.formats.vote_order import current, in_line, later, not_before, role_of, said_of
from assay.formats.votes_jsonl import (
    IMPORTED,
    RULING,
    SAMPLE,
    WITHDRAWN,
    append,
    appending,
    beside,
    read_votes,
    votes_from,
    votes_path,
)

__all__ = [
    "IMPORTED",
    "RULING",
    "SAMPLE",
    "UNNAMED",
    "WITHDRAWN",
    "Pair",
    "append",
    "appending",
    "beside",
    "by_pair",
    "current",
    "document_fingerprint",
    "in_line",
    "later",
    "not_before",
    "read_votes",
    "role_of",
    "said_of",
    "stale",
    "stale_in",
    "votes_from",
    "votes_of_labels",
    "votes_path",
]

Pair = tuple[str, str]  # (query, document)

UNNAMED = "imported"  # the judge of labels that a set had before anybody voted


def by_pair(votes: Iterable[Vote]) -> dict[Pair, list[Vote]]:
    pairs: dict[Pair, list[Vote]] = {}
    for vote in votes:
        pairs.setdefault((vote.query_id, vote.doc_id), []).append(vote)
    return pairs


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


def votes_of_labels(gold: GoldSet, votes: Iterable[Vote] = ()) -> list[Vote]:
    """The labels on which nobody has voted, as votes, so that computing labels anew loses none. A
    label that does not say when it was made is older than every vote."""
    voted = {(vote.query_id, vote.doc_id) for vote in votes}
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
        if (judgment.query_id, judgment.doc_id) not in voted
    ]


def _label_id(judgment: Judgment) -> str:
    """The same label gives the same id, so that taking labels in twice takes them in once."""
    parts = [judgment.query_id, judgment.doc_id, judgment.grade, judgment.judge, judgment.at]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:24]
