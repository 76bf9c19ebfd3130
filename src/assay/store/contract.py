"""What a store promises, and the errors it may raise. Backends and users both build on this
file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from assay.core.errors import AssayError, InputError
from assay.core.types import Vote
from assay.store.records import (
    Account,
    AuditEntry,
    CaseCounts,
    Decision,
    Feedback,
    Invitation,
    Neighbours,
    Purged,
    QueueCount,
    ReviewFilter,
    ReviewItem,
    ReviewState,
    Ruling,
    RunRecord,
    SearchLog,
    ServiceKey,
    Session,
    StoreFacts,
    StoreIdentity,
    Support,
)


class StoreError(AssayError):
    """The store refused or failed."""


class StoreUnavailable(StoreError):
    """The store cannot be reached now; the same call may succeed later."""


class StoreConflict(StoreError):
    """Somebody else was first."""


class NoStore(InputError):
    """The address names no store."""


class People(Protocol):
    """What a store promises about people. Names are compared without case; what opens a door (a
    session, a link, a key) is known by its digest alone. An `entry` goes into the audit trail with
    the change or not at all."""

    def accounts(self) -> list[Account]:
        """Everybody, who has left too, by name."""

    def account(self, name: str) -> Account | None: ...

    def put_account(self, account: Account, entry: AuditEntry) -> None:
        """Add somebody, or change who is there under this name."""

    def add_session(self, session: Session) -> None:
        """Keep a session, and forget those whose time is over."""

    def signed_in(self, id: str, at: datetime) -> Account | None:
        """Whose session it is, while it lasts and its owner is active."""

    def sessions(self, at: datetime) -> list[Session]:
        """Those that last, the oldest first."""

    def end_sessions(self, *, name: str = "", ids: Sequence[str] = ()) -> int:
        """End all sessions of somebody, or those with these ids; returns how many."""

    def add_invitation(self, invitation: Invitation, entry: AuditEntry) -> None:
        """Keep an invitation; an earlier one of the same name and kind ends."""

    def invitations(self, at: datetime) -> list[Invitation]:
        """Those that can be used, the oldest first."""

    def accept_invitation(self, id: str, account: Account, entry: AuditEntry) -> None:
        """Use an invitation: the account is as given, and its sessions end. `StoreConflict` where
        it was used before or its time is over."""

    def end_invitation(self, id: str, entry: AuditEntry) -> None:
        """Take one back; `StoreConflict` as above."""

    def add_service_key(self, key: ServiceKey, entry: AuditEntry) -> None:
        """`StoreConflict` where a key in use has this name."""

    def service_keys(self) -> list[ServiceKey]:
        """Those in use, the oldest first."""

    def service_key(self, id: str) -> ServiceKey | None:
        """One in use."""

    def end_service_key(self, name: str, entry: AuditEntry) -> None:
        """`StoreConflict` where none in use has this name."""

    def server_secret(self, name: str) -> str:
        """A random text that is made once and is always the same for this store."""

    def identity(self) -> StoreIdentity:
        """By what this store is known, and no other: a copy of a store has one of its own when it
        is first asked. A store that was moved keeps it."""

    def renew_identity(self) -> None:
        """It has another from now on, as a copy has."""


class Store(People, Protocol):
    """What every backend promises; `assay.store.promises` holds every backend to it.

    - Every method is one transaction: all of it happens or none.
    - A method that returns has made its change durable and visible to every other connection.
    - Writing the same thing twice (same id, or same identity where there is one) changes nothing
      the second time.
    - Votes and audit entries are never changed or removed, and the database itself refuses to.
    - Concurrent writers wait for each other; none sees an error because another one is writing.
    - Unreachable is `StoreUnavailable`; anything else that fails is `StoreError`. No driver error
      escapes. An address that names no store is `InputError`.
    """

    address: str  # without its password
    created: bool  # whether opening it made it

    def add_searches(self, searches: Sequence[SearchLog]) -> int:
        """Keep searches; returns how many were new. A search that arrives after a decision that was
        finalised later than the search was made gets that decision's feedback now."""

    def searches(self, ids: Sequence[str]) -> list[SearchLog]:
        """The searches with these ids, in the order of time."""

    def add_decisions(self, decisions: Sequence[Decision], *, same_case: bool = False) -> int:
        """Keep decisions, and give every earlier search that showed a cited document
        `relevance_score = 3` for it, once for a (search, document), with decision and rank. Returns
        how much feedback is new."""

    def add_feedback(self, feedback: Sequence[Feedback]) -> int:
        """Keep clicks and votes: one click for a (search, document, person); a later vote replaces
        an earlier one."""

    def feedback(
        self,
        *,
        log_id: str = "",
        decision_id: str = "",
        doc_id: str = "",
        query: str = "",
        limit: int = 1000,
    ) -> list[Feedback]:
        """Feedback with its provenance, in a fixed order. `query` is the text of the search, as it
        was typed."""

    def case_counts(self, decision_ids: Sequence[str]) -> CaseCounts:
        """For whose case the searches were made that these decisions gave a label. A label that a
        later decision of the search's own case confirms is its own."""

    def of_other_cases(self, doc_id: str, log_ids: Sequence[str]) -> set[str]:
        """Those of the searches whose label on a document comes from decisions of another case
        alone."""

    def shown_documents(self, ids: Sequence[str]) -> set[str]:
        """Those of the documents that a search has shown."""

    def search_total(self) -> int:
        """How many searches are kept, whoever logged them."""

    def support(
        self, *, min_score: int = 3, since: datetime | None = None, corpora: Sequence[str] = ()
    ) -> list[Support]:
        """Feedback joined with the logs and counted, by spelling and document. With `min_score`
        below 3, votes against a document (score 0) are counted too."""

    def showings(
        self, queries: Sequence[str], *, since: datetime | None = None
    ) -> dict[tuple[str, str, str], int]:
        """How often each document was shown for a spelling: (query, corpus, doc_id) -> searches."""

    def query_counts(self) -> dict[tuple[str, str], int]:
        """How often each spelling was searched for: (query, corpus) -> searches."""

    def purge(self, before: datetime, *, keep_cited: bool = False) -> Purged:
        """Forget searches made before a moment, with their results and feedback."""

    def append_votes(self, gold: str, votes: Sequence[Vote]) -> int:
        """Keep a copy of votes on a gold set; returns how many are new."""

    def votes(self, gold: str, *, query_id: str = "") -> list[Vote]: ...

    def sync_gold_rows(self, items: Sequence[ReviewItem], *, gold: str, at: datetime) -> int:
        """Make the gold rows that wait for review be exactly these, and remember their ids, the
        latest of each; a rejected row stays rejected; one that waited and is not among them is
        withdrawn. Returns how many are new."""

    def withdraw(self, items: Sequence[ReviewItem], *, by: str, at: datetime, reason: str) -> int:
        """Take items that wait out of the queue; each is kept in the audit trail. One that is
        decided stays."""

    def gold_name(
        self,
        identity: str,
        names: Sequence[str],
        *,
        gone: Callable[[str], bool],
        claim: bool = True,
    ) -> str:
        """The name that the history of one gold set is kept under, always the same for the same
        identity: the first of `names` that belongs to no other set, or to one that is `gone`.
        Without `claim` nothing is recorded."""

    def gold_identities(self) -> dict[str, str]:
        """identity -> name of every gold set that has a name."""

    def gold_names(self) -> list[str]:
        """Every gold set there is anything about, in order."""

    def issued_ids(self, gold: str) -> dict[str, str]:
        """key -> id of every gold row there ever was."""

    def add_review_items(self, items: Sequence[ReviewItem]) -> int:
        """Queue items; one that is there already stays as it is."""

    def review_items(
        self,
        *,
        gold: str = "",
        kind: str = "",
        state: str = "",
        ids: Sequence[str] = (),
        limit: int = 100,
        offset: int = 0,
    ) -> list[ReviewItem]:
        """Items, the oldest first."""

    def find_items(
        self, wanted: ReviewFilter, *, limit: int = 100, offset: int = 0
    ) -> list[ReviewItem]:
        """Items that pass a filter, the oldest first."""

    def count_items(self, wanted: ReviewFilter) -> int: ...

    def item_neighbours(self, wanted: ReviewFilter, item: ReviewItem) -> Neighbours:
        """Where an item stands, or would stand, among those that pass a filter."""

    def queue_counts(self) -> list[QueueCount]:
        """What waits, counted, in a fixed order."""

    def last_decided(self, by: str) -> list[ReviewItem]:
        """What a person approved or rejected last: all that was decided in that one step."""

    def rule(self, rulings: Sequence[Ruling], *, then: Callable[[], None] = lambda: None) -> None:
        """Record an expert's rulings, with votes and audit; an item that is not queued is added.
        `StoreConflict` when an item is no longer in the state the expert saw. `then` runs inside
        the transaction just before it commits: if it fails nothing is recorded. It may run more
        than once."""

    def was_ruled(self, gold: str, ref: str, *, action: str, by: str, at: datetime) -> bool:
        """Whether the audit trail has this ruling, once those on the set that are under way have
        ended. `StoreUnavailable` where one does not end."""

    def review_times(self, gold: str = "") -> list[tuple[ReviewState, datetime, datetime | None]]:
        """(state, created, decided) of every item: all that the backlog is computed from, seen at
        one moment."""

    def waiting(self) -> tuple[int, datetime | None]:
        """How many items wait for review, and since when the oldest does."""

    def put_run(self, run: RunRecord) -> None: ...

    def run(self, run_id: str) -> RunRecord | None: ...

    def runs(self, *, gold: str = "", limit: int = 50, offset: int = 0) -> list[RunRecord]:
        """Runs without their results, the newest first."""

    def append_audit(
        self,
        entries: Sequence[AuditEntry],
        *,
        gold: str = "",
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Add to the audit trail; with `gold`, one after another with rulings on this set. `then`
        is as in `rule`."""

    def was_noted(self, gold: str, entry_id: str) -> bool:
        """Whether the audit trail has an entry of a set, as `was_ruled` says it."""

    def audit(
        self, *, subject: str = "", action: str = "", limit: int = 100, offset: int = 0
    ) -> list[AuditEntry]:
        """Entries, the newest first; `offset` leaves out the first of them."""

    def health(self) -> StoreFacts:
        """Backend, version, schema revision and row counts."""

    def close(self) -> None: ...
