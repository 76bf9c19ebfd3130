"""The frozen records that a store takes and gives, and the errors that it raises. Times are aware
datetimes; the store holds them in UTC."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Any, Literal

import msgspec

from assay.core.errors import AssayError, InputError

JsonObject = dict[str, Any]  # a JSON object, kept as it was given

# `score` is feedback that came with its score, as from a table of the user's own.
FeedbackKind = Literal["citation", "vote", "click", "score"]

# CITATION_SCORE is in the specification of telemetry; the others are chosen, in order of strength.
CITATION_SCORE = 3  # a decision relied on it
VOTE_SCORE = 2  # a person said it is right
CLICK_SCORE = 1  # a person opened it
SCORES = (0, CLICK_SCORE, VOTE_SCORE, CITATION_SCORE)


class ShownResult(msgspec.Struct, frozen=True, gc=False):
    """One result a search showed."""

    doc_id: str
    rank: int
    score: float | None = None


class SearchLog(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One search somebody made, and what it showed. `case_id` is the matter it was made for, where
    that is known."""

    id: str
    at: datetime
    query: str
    corpus: str = ""
    practice_area: str = ""
    engine: str = ""
    case_id: str = ""
    by: str = ""
    millis: float | None = None
    error: str = ""
    results: tuple[ShownResult, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A finalised decision and the documents it cites."""

    id: str
    at: datetime
    cites: tuple[str, ...]
    case_id: str = ""


class Feedback(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Evidence that a document is right (or wrong: score 0) for one search, and its origin. Kept as
    observed: correcting for position is done where feedback is used, so that it can be redone."""

    log_id: str
    doc_id: str
    kind: FeedbackKind
    relevance_score: int
    at: datetime
    by: str = ""
    rank: int | None = None
    decision_id: str = ""


class Support(msgspec.Struct, frozen=True, gc=False):
    """The feedback of one kind and score on one document for one spelling of a query, counted.
    `rank` is where the document stood, for kinds that need a correction for position."""

    query: str
    corpus: str
    practice_area: str
    doc_id: str
    kind: FeedbackKind
    relevance_score: int
    rank: int | None
    searches: int
    other_case: int = 0  # of the searches, how many only decisions of another case speak for


class CaseCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Labels that decisions gave: to searches made for the decision's own case, to those made for
    another, and to those where one of the two cases is not known."""

    own: int = 0
    other: int = 0
    unknown: int = 0


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An audit entry: who did what to what, when and why. Append-only."""

    id: str
    at: datetime
    by: str
    action: str
    subject: str
    reason: str = ""
    before: JsonObject | None = None
    after: JsonObject | None = None


ANSWERS = "answers:"  # before the name of a file of answers, where other runs name their gold set


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation in the history: what was measured on what, and the results object as it was
    written. `gold` names the set, or a file of answers after `answers:`.

    `summary` and `verdict` are computed from the results and kept with the run; `asked` is a digest
    of the gates and the baseline that the verdict answers. Nothing else of a run ever changes."""

    id: str
    at: datetime
    engine: str
    gold: str
    gold_fingerprint: str = ""
    corpus_fingerprint: str = ""
    results: JsonObject = {}
    summary: JsonObject | None = None
    verdict: JsonObject | None = None
    asked: str = ""


class StoreFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The database behind a store, its schema, and its rows by table."""

    backend: str
    version: str
    schema: str
    rows: dict[str, int]


class PurgeCounts(msgspec.Struct, frozen=True, kw_only=True):
    searches: int
    results: int
    feedback: int


# ── people ────────────────────────────────────────────────────────────────────────────────────────

Role = Literal["reader", "judge", "chair", "admin"]
KeyKind = Literal["log", "watch"]


TERMINAL = "terminal"  # the name under which commands on the machine itself change accounts


def may_manage(own_role: Role | None, role: Role) -> bool:
    """Whether somebody of role `own` may manage accounts of `role`: an admin manages everybody, a
    chair manages judges and readers."""
    return own_role == "admin" or (own_role == "chair" and role in ("reader", "judge"))


def folded(name: str) -> str:
    """A name as it is compared: nobody is two people by a capital letter."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


# Letters of other scripts that look like Latin ones, and Latin ones that look alike.
_LOOKS_LIKE = str.maketrans(
    "АВЕКМНОРСТХУІЈЅаеорсухіјѕԁһΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυικıІ|1lI0‐‑‒–—―−־’‘ʼ׳`´",
    "ABEKMHOPCTXYIJSaeopcyxijsdhABEZHIKMNOPTYXovpuikiiiiiio--------''''''",
)


def spelling_skeleton(name: str) -> str:
    """A form of a name that is the same for names which readers would confuse."""
    return folded(folded(name.translate(_LOOKS_LIKE)).translate(_LOOKS_LIKE)).replace("rn", "m")


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may sign in; `password` is its hash, and "" where there is none. Who has left
    is not active: the name stays with what was decided under it."""

    name: str
    role: Role
    password: str = ""
    active: bool = True
    created_at: datetime
    created_by: str = ""


class AccountAct(msgspec.Struct, frozen=True, kw_only=True):
    """The person who changes an account, with role, time and reason. `role` counts for somebody
    without an account, as at the terminal; an account has the rights of its current role."""

    by: str
    role: Role
    at: datetime
    reason: str = ""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is signed in; `id` is a digest of what its cookie holds."""

    id: str
    name: str
    created_at: datetime
    expires_at: datetime
    agent: str = ""


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """A link that works once: to join, or to set a new password. Without a name, whoever opens it
    chooses one. It has ended when it was used or taken back."""

    id: str
    kind: Literal["join", "password"]
    name: str
    role: Role
    by: str
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None


class ServiceKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a program: one that logs, or one that watches."""

    id: str
    name: str
    kind: KeyKind
    by: str
    created_at: datetime
    ended_at: datetime | None = None


class StoreError(AssayError):
    """The store refused or failed."""


class StoreUnavailable(StoreError):
    """The store cannot be reached now; the same call may succeed later."""


class StoreReadOnly(StoreUnavailable):
    """The store cannot be written."""

    exit_code = 2


class StoreConflict(StoreError):
    """The store no longer allows the change, because of what it holds now.

    `why` names the reason for programs, and `name` is the account or key that the reason is about.
    """

    def __init__(self, message: str, *, why: str = "", name: str = "") -> None:
        super().__init__(message)
        self.why, self.name = why, name


class NoStore(InputError):
    """The address names no store."""


class StoreOutdated(InputError):
    """The store lacks a table or a column, since an earlier version made it and nothing has
    upgraded it yet."""
