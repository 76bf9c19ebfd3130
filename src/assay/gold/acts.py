"""The acts that a log can hold, one a line: their names and fields, and votes as acts and back."""

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

# The actions. To add one, give it a line here and:
# - a function that appends it, such as `assign_pairs` in workbench/judging/set_edits.py, the struct
#   of what a page sends (`Assignment`) and a route (web/judge_pages.py);
# - the audit trail: AUDIT_ACTIONS in workbench/project/audit_trail.py, and the sentence "did VALUE"
#   in reports/words/*.toml;
# - if it decides on a row or a suggestion: ROW_DECISIONS or SUGGESTION_DECISIONS in
#   review/queue.py, and DECISIONS in review/decision_acts.py if it can be undone (UNDO names the
#   acts that it undoes in `supersedes`);
# - if it is itself a vote: ACTION_OF_SOURCE below; any other act holds its votes in `votes`;
# - `export_votes` in workbench/review/rebuild.py, if it has nothing but votes to export;
# - docs/judging/log.md.
# An act with an action that is not here is kept: its rows and votes count, and it decides nothing.
BEGIN = "begin"  # a log begins, with the rows or labels that the set has
VOTE = "vote"  # a judge grades a document for a query
WITHDRAW = "withdraw"  # a judge takes a vote back
RULE = "rule"  # a chair decides on a pair on which judges disagree
APPROVE = "approve"  # a chair approves rows, or accepts a suggestion
CORRECT = "correct"  # a chair changes a row and approves it
REJECT = "reject"  # a chair removes rows, or declines a suggestion
UNDO = "undo"  # the decisions that it supersedes no longer hold
SUGGEST = "suggest"  # an agent suggests a grade
DISMISS = "dismiss"  # suggestions leave the queue, undecided
PUBLISH = "publish"  # a committed baseline was scored on these rows
FLAG = "flag"  # a judge marks a query as unfit
UNFLAG = "unflag"  # the mark is removed
BOOTSTRAP = "bootstrap"  # rows are made from search logs
LABEL = "label"  # the labels are computed from the votes
REFRESH_FILE = "project"  # the gold file is written again from the log
EDIT = "edit"  # somebody edited the gold file by hand
ADD_QUERY = "add_query"  # a query joins the set
EDIT_ISSUE = "edit_issue"  # a chair changes an issue of the taxonomy
ADD_DOCUMENT = "add_document"  # a judge adds a document to judge
ASK_SECOND = "ask_second"  # a second judge is asked for pairs that one has judged
NOTE = "note"  # a chair's note on a query, for its judges
ASSIGN = "assign"  # pairs of the pool are dealt to judges


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

    def votes_in_memory(self, act: Act, place: int) -> Iterator[VoteInMemory]:
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
            rubric=sys.intern(act.rubric),
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
