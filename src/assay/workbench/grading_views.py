"""What a judge sees and sends, as values."""

from __future__ import annotations

import msgspec

from assay.core.types import Topic
from assay.judging.packets import PacketRow
from assay.workbench.flags import Flag


class SetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A set in the list. `asked` and `judged` are this judge's; `error` says why it cannot be
    judged."""

    name: str
    title: str
    queries: int = 0
    asked: int = 0
    judged: int = 0
    pooled: bool = False
    from_logs: bool = False  # its rows are approved, not judged
    golden: bool = False  # its questions name what is to be found
    dealt_to: tuple[str, ...] = ()
    error: str = ""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The rubric's checklist on one query. `grades`, `unsure` and `without_reason` are of this
    judge's votes; `judged_by_anybody` counts documents and tells nothing of grades."""

    asked: int
    judged: int
    unsure: int
    grades: dict[str, int]
    judged_by_anybody: int
    pooled: int  # documents of the query that anybody is asked for, or has judged
    without_reason: int
    again: int  # documents that somebody else judges too
    min_judged: int
    min_high: int
    high: int  # of this judge's, from `high_from` on
    high_from: int
    flag: Flag | None = None


class QueryRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    text: str
    type: str
    topic: str
    issue: str
    asked: int
    judged: int
    flag: Flag | None = None


class SetDesk(msgspec.Struct, frozen=True, kw_only=True):
    """A set with its queries; those with something asked of this judge come first."""

    name: str
    title: str
    rubric: str
    pooled: bool
    from_logs: bool
    golden: bool
    dealt_to: tuple[str, ...]
    asked: int
    judged: int
    queries: list[QueryRow]
    topics: dict[str, Topic]


class JudgedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A document of a query, and what this judge says of it now."""

    doc_id: str
    title: str = ""
    vote: str = ""  # its id; empty where the judge has not voted
    grade: int | None = None
    rationale: str = ""
    at: str = ""


class QueryDesk(msgspec.Struct, frozen=True, kw_only=True):
    """One query of a set. `asked` and `judged` are of the whole set; `nearby` are the queries
    around this one, itself too, and `queries` says how many there are in all for this judge."""

    set: str
    title: str
    asked: int
    judged: int
    queries: int
    nearby: list[QueryRow]
    query: QueryRow
    topic: str  # its name
    issue: str
    pairs: list[JudgedPair]
    progress: Progress
    before: str  # the id of the query before it, for the keys
    after: str  # and of the next one that waits for this judge; empty where none does


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge reads of one document; `words` are to be marked."""

    row: PacketRow
    words: tuple[str, ...]
    language: str
    facts: tuple[str, ...]
    corpus: str


class GivenVote(msgspec.Struct, frozen=True, kw_only=True):
    """A vote as a page sends it. The page makes the id, so that sending it again is harmless;
    `ago` are the seconds since it was given. Without a grade the judge is unsure, or takes back
    what they said. `seen` is the id of the vote that the page showed, empty where it showed none:
    where another one holds by now, nothing is taken. Without `seen` the later vote holds."""

    id: str
    set: str
    query_id: str
    doc_id: str
    grade: int | None = None
    rationale: str = ""
    withdrawn: bool = False
    document: str = ""
    seconds: float | None = None
    ago: float = 0.0
    seen: str | None = None


class Meanwhile(msgspec.Struct, frozen=True, kw_only=True):
    """Why a vote was not taken: its judge has said something else since, which stands in `now`."""

    error: str
    now: JudgedPair


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """On disk. `holds` is false where the judge has given a later vote on the pair since; the
    progress does not say whether the query is flagged."""

    id: str
    at: str
    already: bool
    holds: bool
    progress: Progress
