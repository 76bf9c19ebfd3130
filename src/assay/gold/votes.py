"""Decide which votes hold: what each judge says of each document now.

A vote is taken back or replaced by one that names it (`supersedes`); times are for people to read.
Two votes of one judge on one document that do not name each other were given in two copies of a
project: both hold, and where they differ a chair rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from assay.core.errors import InputError
from assay.core.types import Vote, VoteKind
from assay.gold.people import IMPORTED

# The sources of votes, as files have them. A ruling is a vote too: its act is `rule` by a `chair`,
# and under the policy `adjudicated` it decides.
RULING = "adjudication"
SPOT_CHECK = "sample"  # of a spot check
WITHDRAWN = "withdrawn"  # takes back the vote that it supersedes, and puts nothing there
EDITED = "edited by hand"  # a label that somebody changed in the gold file itself

PairKey = tuple[str, str]  # query and document

_FIRST_DAY = "0001-01-01"  # completes times that name only a year or a month


def role_of(source: str) -> str:
    """The role of a vote: a judge may vote, rule and spot-check on one pair, side by side."""
    return source if source in (RULING, SPOT_CHECK, EDITED) else ""


class VoteInMemory(msgspec.Struct, gc=False):
    """The part of a vote that is kept in memory, since a set may have a million. The rest stays in
    the log, at `place`; a vote that has no line of its own is kept whole."""

    id: str
    query_id: str
    doc_id: str
    judge: str
    kind: VoteKind
    grade: int | None
    source: str
    supersedes: str
    place: int | Vote

    @property
    def pair(self) -> PairKey:
        return self.query_id, self.doc_id


def vote_in_memory(vote: Vote) -> VoteInMemory:
    return VoteInMemory(
        id=vote.id,
        query_id=vote.query_id,
        doc_id=vote.doc_id,
        judge=vote.judge,
        kind=vote.kind,
        grade=vote.grade,
        source=vote.source,
        supersedes=vote.supersedes,
        place=vote,
    )


class VoteBook:
    """The votes of a set as they come, and which of them hold. `read` gives the vote that stands at
    a place in the log."""

    def __init__(self, read: Callable[[int], Vote] | None = None) -> None:
        self._read = read
        self.ids: dict[str, VoteInMemory] = {}
        self.kind_of_judge: dict[str, VoteKind] = {}  # person or machine, never both
        self.changed_pairs: dict[PairKey, None] = {}  # since vote totals were last counted
        self.voted_documents: dict[tuple[str, str], list[str]] = {}  # judge and query: documents
        self.votes_per_query: Counter[str] = Counter()
        self._heads: dict[
            PairKey, tuple[VoteInMemory, ...]
        ] = {}  # not superseded, also withdrawals
        # pair and id of votes that were superseded before they were read; a ruling also names acts
        # on other pairs, whose labels it changed
        self._early: set[tuple[PairKey, str]] = set()

    def add(self, vote: VoteInMemory) -> None:
        old = vote.supersedes.split()
        before = [known for id in old if (known := self.ids.get(id)) is not None]
        original = self.original_vote(before[0]) if vote.source == WITHDRAWN and before else vote
        pair = original.pair
        if len(before) < len(old):
            self._early.update((pair, id) for id in old if id not in self.ids)
        self.ids[vote.id] = vote
        if vote.judge != IMPORTED and vote.source != WITHDRAWN:
            self.kind_of_judge[vote.judge] = vote.kind
        self.changed_pairs[pair] = None
        self.votes_per_query[pair[0]] += 1
        heads = self._heads.get(pair, ())
        judge = original.judge
        if not role_of(original.source) and not any(head.judge == judge for head in heads):
            self.voted_documents.setdefault((judge, pair[0]), []).append(pair[1])
        if old and heads:
            heads = tuple(head for head in heads if head.id not in old)
        self._heads[pair] = heads if (pair, vote.id) in self._early else (*heads, vote)

    def vote(self, id: str) -> Vote | None:
        held = self.ids.get(id)
        return None if held is None else self._full_vote(held)

    def _full_vote(self, held: VoteInMemory) -> Vote:
        if not isinstance(held.place, int):
            return held.place
        assert self._read is not None
        return self._read(held.place)

    def votes_in_memory(self, pair: PairKey) -> list[VoteInMemory]:
        """The votes that hold on a pair, rulings and spot checks too, without their rationales."""
        return [vote for vote in self._heads.get(pair, ()) if vote.source != WITHDRAWN]

    def current_votes(self, pair: PairKey) -> list[Vote]:
        """The votes that hold on a pair, rulings and spot checks too."""
        return [self._full_vote(vote) for vote in self.votes_in_memory(pair)]

    def has(self, pair: PairKey) -> bool:
        """Whether anybody ever voted on a pair."""
        return pair in self._heads

    def current_votes_by_judges(self, pair: PairKey) -> list[Vote]:
        """The votes that hold on a pair, without rulings, spot checks and edits by hand."""
        return list(map(self._full_vote, self._by_judges(pair)))

    def _by_judges(self, pair: PairKey) -> list[VoteInMemory]:
        return [vote for vote in self.votes_in_memory(pair) if not role_of(vote.source)]

    def count_graders(self, pair: PairKey, kinds: Container[str]) -> int:
        """How many judges of these kinds have graded a pair."""
        votes = self._by_judges(pair)
        return sum(vote.grade is not None and vote.kind in kinds for vote in votes)

    def grades_of(self, judge: str, pair: PairKey) -> list[int | None]:
        """The grades in the votes of a judge that hold on a pair; None where they are unsure."""
        return [vote.grade for vote in self._by_judges(pair) if vote.judge == judge]

    def current_vote_of(self, judge: str, pair: PairKey) -> Vote | None:
        """The vote of a judge that holds on a pair."""
        votes = [vote for vote in self._by_judges(pair) if vote.judge == judge]
        return self._full_vote(votes[-1]) if votes else None

    def votes_to_supersede(self, judge: str, pair: PairKey) -> list[Vote]:
        """The last votes of a judge on a pair, also where they were taken back: what the next one
        supersedes."""
        return [
            self._full_vote(vote)
            for vote in self._heads.get(pair, ())
            if not role_of((first := self.original_vote(vote)).source) and first.judge == judge
        ]

    def original_vote(self, vote: VoteInMemory) -> VoteInMemory:
        """The vote that a withdrawal takes back; any other vote itself."""
        while vote.source == WITHDRAWN:
            before = (self.ids.get(id) for id in vote.supersedes.split())
            if (known := next((one for one in before if one is not None), None)) is None:
                return vote
            vote = known
        return vote

    def all_current_votes(self) -> Iterator[Vote]:
        """All votes that hold, pair by pair."""
        for pair in self._heads:
            yield from self.current_votes(pair)

    def pairs(self) -> Iterator[PairKey]:
        return iter(self._heads)


def book_of(votes: Iterable[Vote]) -> VoteBook:
    book = VoteBook()
    for vote in votes:
        book.add(vote_in_memory(vote))
    return book


def current_votes(votes: Iterable[Vote]) -> list[Vote]:
    """The votes that hold now, of a list in the order of its log."""
    return list(book_of(votes).all_current_votes())


def by_pair(votes: Iterable[Vote]) -> dict[PairKey, list[Vote]]:
    pairs: dict[PairKey, list[Vote]] = {}
    for vote in votes:
        pairs.setdefault((vote.query_id, vote.doc_id), []).append(vote)
    return pairs


def contradicts_itself(votes: Iterable[Vote]) -> bool:
    """Whether one judge gave two grades, in two copies of a project, and took neither back; or two
    chairs ruled so."""
    grades: dict[tuple[str, str], set[int | None]] = {}
    for vote in votes:
        seat = (vote.source, "") if vote.source in (RULING, EDITED) else ("", vote.judge)
        if vote.source != SPOT_CHECK:
            grades.setdefault(seat, set()).add(vote.grade)
    return any(len(given) > 1 for given in grades.values())


# ── times ─────────────────────────────────────────────────────────────────────────────────────────


def time_of(at: str) -> datetime:
    """The time of a vote or an act. Labels that became votes may name only a year, or a word, which
    comes before all times."""
    try:
        given = datetime.fromisoformat(at + _FIRST_DAY[len(at) :])
    except ValueError:
        given = datetime.fromisoformat(_FIRST_DAY)
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given


def not_before(at: datetime, votes: Iterable[Vote], now: datetime) -> datetime:
    """The time of a new vote, after those that it follows even where the clock was set back."""
    last = max((time_of(vote.at) for vote in votes), default=None)
    if last is None or last <= now.replace(microsecond=now.microsecond // 1000 * 1000):
        return at
    try:
        return (last + timedelta(seconds=1)).astimezone(UTC)
    except OverflowError:
        raise InputError(
            f"a vote has the date {last.isoformat()}, and no later one is possible",
            hint="Correct its date in the log beside the set.",
        ) from None
