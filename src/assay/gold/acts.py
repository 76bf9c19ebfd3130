"""Acts: the lines of a log. What each action is called, and votes as acts and back."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec

from assay.core.types import Vote, VoteKind
from assay.gold.people import People
from assay.gold.rows import RowChange
from assay.gold.votes import (
    EDITED,
    RULING,
    WITHDRAWN,
    VoteBook,
    VoteInMemory,
    time_of,
    vote_in_memory,
)

FORMAT = 1  # of the log; a change that older versions cannot read raises it

# an id that a client makes for its act: the same act, sent again, changes nothing
ActId = Annotated[str, msgspec.Meta(pattern="^([A-Za-z0-9_-]{8,64})?$")]

# The actions. An act with another action is kept, and its rows and votes count. The audit trail
# shows those in AUDIT_ACTIONS (workbench/project/audit_trail.py), whose value is the key of the
# sentence "did VALUE" in reports/words. VOTE and the actions in ACTION_OF_SOURCE are themselves
# votes (`_is_vote`); an act with any other action holds its votes in `votes`.
BEGIN, VOTE, WITHDRAW, RULE = "begin", "vote", "withdraw", "rule"
APPROVE, CORRECT, REJECT, UNDO = "approve", "correct", "reject", "undo"
SUGGEST, DISMISS, PUBLISH = "suggest", "dismiss", "publish"
FLAG, UNFLAG = "flag", "unflag"
BOOTSTRAP, LABEL, PROJECT, EDIT = "bootstrap", "label", "project", "edit"
ADD_QUERY, EDIT_ISSUE = "add_query", "edit_issue"
ADD_DOCUMENT, ASK_SECOND = "add_document", "ask_second"
NOTE, ASSIGN = "note", "assign"


class CastVote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A vote that an act on a row or a suggestion contains: on each document of an approved row,
    say. Who gave it, when and why stands in the act, unless it repeats an earlier vote."""

    id: str
    query: str
    doc: str
    grade: int | None = None
    who: str = ""
    rationale: str | None = None
    rubric: str = ""
    document: str = ""
    source: str = ""
    supersedes: str = ""


class Act(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a log. `who` is the id of a person, or the name of what is not one; `kind` says
    who acted: human, machine, citation or chair. `action` says what was done, and `subject` to
    what: a query, a query and a document. `rows` are the rows of the gold file that it changes,
    before and after, and `file` is the digest of the gold file that follows; `more` has what else
    belongs to the action."""

    v: int
    id: str
    at: str
    who: str
    kind: str
    action: str
    subject: dict[str, str] = {}
    grade: int | None = None
    rationale: str = ""
    rubric: str = ""
    document: str = ""
    seconds: float | None = None
    source: str = ""
    supersedes: tuple[str, ...] = ()
    rows: tuple[RowChange, ...] = ()
    votes: tuple[CastVote, ...] = ()
    file: str = ""
    more: dict[str, Any] = {}

    @property
    def time(self) -> datetime:
        return time_of(self.at)


def new_id() -> str:
    return secrets.token_hex(12)


# ── votes as acts ─────────────────────────────────────────────────────────────────────────────────


# a vote of one of these sources is an act of its own kind; of another source, a plain VOTE
ACTION_OF_SOURCE = {RULING: RULE, WITHDRAWN: WITHDRAW, EDITED: EDIT}
_SOURCE_OF_ACTION = {action: source for source, action in ACTION_OF_SOURCE.items()}


def act_of(vote: Vote, who: str) -> Act:
    """A vote as a line of the log."""
    kind = "chair" if vote.source == RULING and vote.kind == "human" else vote.kind
    return Act(
        v=FORMAT,
        id=vote.id,
        at=vote.at,
        who=who,
        kind=kind,
        action=ACTION_OF_SOURCE.get(vote.source, VOTE),
        subject={"query": vote.query_id, "doc": vote.doc_id},
        grade=vote.grade,
        rationale=vote.rationale,
        rubric=vote.rubric,
        document=vote.document,
        seconds=vote.seconds,
        source="" if vote.source in ACTION_OF_SOURCE else vote.source,
        supersedes=tuple(vote.supersedes.split()),
    )


class VoteReader:
    """Turns acts into votes. Texts that come again and again are kept once."""

    def __init__(self, people: People, book: VoteBook) -> None:
        self._people, self._book = people, book
        self._names: dict[str, str] = {}

    def held(self, act: Act, place: int) -> Iterator[VoteInMemory]:
        """The votes of an act as they are kept in memory; `place` is that of its line."""
        for vote in self.votes(act):
            held = vote_in_memory(vote)
            if vote.id == act.id:
                held.supersedes = self._superseded(act.supersedes)
                held.place = place if place >= 0 else vote
            yield held

    def vote(self, act: Act) -> Vote:
        return Vote(
            id=act.id,
            query_id=sys.intern(act.subject["query"]),
            doc_id=sys.intern(act.subject["doc"]),
            grade=act.grade,
            judge=self._name(act.who),
            kind=_kind(act.kind),
            at=act.at,
            rationale=act.rationale,
            rubric=act.rubric,
            document=act.document,
            seconds=act.seconds,
            supersedes=" ".join(act.supersedes),
            source=_SOURCE_OF_ACTION.get(act.action) or sys.intern(act.source),
        )

    def votes(self, act: Act) -> Iterator[Vote]:
        if _is_vote(act):
            yield self.vote(act)
        for cast in act.votes:
            yield self._cast(act, cast)

    def _cast(self, act: Act, cast: CastVote) -> Vote:
        return Vote(
            id=cast.id,
            query_id=sys.intern(cast.query),
            doc_id=sys.intern(cast.doc),
            grade=cast.grade,
            judge=self._name(cast.who or act.who),
            kind=_kind(act.kind),
            at=act.at,
            rationale=act.rationale if cast.rationale is None else cast.rationale,
            rubric=cast.rubric,
            document=cast.document,
            supersedes=cast.supersedes,
            source=sys.intern(cast.source),
        )

    def _name(self, who: str) -> str:
        if who not in self._names:
            self._names[who] = sys.intern(self._people.name_of(who))
        return self._names[who]

    def _superseded(self, ids: Sequence[str]) -> str:
        """The ids in one text; one that is known already is not kept twice."""
        if len(ids) != 1:
            return " ".join(ids)
        known = self._book.ids.get(ids[0])
        return known.id if known is not None else ids[0]


def _is_vote(act: Act) -> bool:
    is_one = act.action == VOTE or act.action in _SOURCE_OF_ACTION
    return is_one and "query" in act.subject and "doc" in act.subject


def _kind(kind: str) -> VoteKind:
    return "machine" if kind == "machine" else "citation" if kind == "citation" else "human"
