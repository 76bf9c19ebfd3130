"""Which votes hold: what each judge says of each document now.

A vote is taken back or replaced by one that names it (`supersedes`); times are for people to read.
Two votes of one judge on one document that do not name each other were given in two copies of a
project: both hold, and where they differ a chair rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from assay.core.errors import InputError
from assay.core.types import Vote, VoteKind
from assay.gold.people import BY_HAND, IMPORTED

RULING = "adjudication"  # the source of a ruling
SAMPLE = "sample"  # of a spot check
WITHDRAWN = "withdrawn"  # takes back the vote that it supersedes, and puts nothing there
EDITED = "edited by hand"  # a label that somebody changed in the gold file itself

Pair = tuple[str, str]  # query and document

_FIRST_DAY = "0000-01-01"


def role_of(source: str) -> str:
    """A judge may vote, rule and spot-check on one pair: these stand beside each other."""
    return source if source in (RULING, SAMPLE, EDITED) else ""


def superseded_by(vote: Vote) -> list[str]:
    """The ids of the votes that a vote replaces."""
    return vote.supersedes.split()


class VoteBook:
    """The votes of a set as they come, and which of them hold."""

    def __init__(self) -> None:
        self.ids: dict[str, Vote] = {}
        self.kinds: dict[str, VoteKind] = {}  # of every judge: a person or a machine, never both
        self.changed: dict[Pair, None] = {}  # since somebody who follows the votes looked
        self.voted: dict[tuple[str, str], list[str]] = {}  # judge and query: documents
        self.given: Counter[str] = Counter()  # votes of each query
        self._heads: dict[Pair, tuple[Vote, ...]] = {}  # not superseded, also withdrawals
        self._early: set[str] = set()  # ids that were superseded before they were read

    def add(self, vote: Vote) -> None:
        old = superseded_by(vote)
        before = [known for id in old if (known := self.ids.get(id)) is not None]
        self._early.update(id for id in old if id not in self.ids)
        whose = before[0] if vote.source == WITHDRAWN and before else vote
        pair = (whose.query_id, whose.doc_id)
        self.ids[vote.id] = vote
        if vote.judge != IMPORTED and vote.source != WITHDRAWN:
            self.kinds[vote.judge] = vote.kind
        self.changed[pair] = None
        self.given[pair[0]] += 1
        heads = self._heads.get(pair, ())
        if not role_of(whose.source) and not any(head.judge == whose.judge for head in heads):
            self.voted.setdefault((whose.judge, pair[0]), []).append(pair[1])
        if old:
            heads = tuple(head for head in heads if head.id not in old)
        self._heads[pair] = heads if vote.id in self._early else (*heads, vote)

    def everything(self, pair: Pair) -> list[Vote]:
        """What holds of a pair, rulings and spot checks too."""
        return [vote for vote in self._heads.get(pair, ()) if vote.source != WITHDRAWN]

    def has(self, pair: Pair) -> bool:
        """Whether anybody ever voted on a pair."""
        return pair in self._heads

    def holding(self, pair: Pair) -> list[Vote]:
        """What judges say of a pair, without rulings and spot checks."""
        return [vote for vote in self.everything(pair) if not role_of(vote.source)]

    def of(self, judge: str, pair: Pair) -> Vote | None:
        """What a judge says of a pair now."""
        mine = [vote for vote in self.holding(pair) if vote.judge == judge]
        return mine[-1] if mine else None

    def last_of(self, judge: str, pair: Pair) -> list[Vote]:
        """The last votes of a judge on a pair, also where they were taken back: what the next one
        supersedes."""
        return [
            vote
            for vote in self._heads.get(pair, ())
            if not role_of((whose := self.whose(vote)).source) and whose.judge == judge
        ]

    def whose(self, vote: Vote) -> Vote:
        """The vote that a withdrawal takes back; any other vote itself."""
        while vote.source == WITHDRAWN:
            before = next((self.ids[id] for id in superseded_by(vote) if id in self.ids), None)
            if before is None:
                return vote
            vote = before
        return vote

    def current(self) -> Iterator[Vote]:
        """Every vote that holds, by pair."""
        for heads in self._heads.values():
            yield from (vote for vote in heads if vote.source != WITHDRAWN)

    def pairs(self) -> Iterator[Pair]:
        return iter(self._heads)


def book_of(votes: Iterable[Vote]) -> VoteBook:
    book = VoteBook()
    for vote in votes:
        book.add(vote)
    return book


def current(votes: Iterable[Vote]) -> list[Vote]:
    """The votes that hold now, of a list in the order of its log."""
    return list(book_of(votes).current())


def by_pair(votes: Iterable[Vote]) -> dict[Pair, list[Vote]]:
    pairs: dict[Pair, list[Vote]] = {}
    for vote in votes:
        pairs.setdefault((vote.query_id, vote.doc_id), []).append(vote)
    return pairs


def contradicts_itself(votes: Iterable[Vote]) -> bool:
    """Whether one judge gave two grades, in two copies of a project, and took neither back; or two
    chairs ruled so."""
    grades: dict[tuple[str, str], set[int | None]] = {}
    for vote in votes:
        seat = (vote.source, "") if vote.source in (RULING, EDITED) else ("", vote.judge)
        if vote.source != SAMPLE:
            grades.setdefault(seat, set()).add(vote.grade)
    return any(len(given) > 1 for given in grades.values())


# ── times ─────────────────────────────────────────────────────────────────────────────────────────


def not_before(at: datetime, votes: Iterable[Vote], now: datetime) -> datetime:
    """The time of a new vote, after those that it follows even where the clock was set back."""
    last = _last_moment(votes)
    if last is None or last <= now.replace(microsecond=now.microsecond // 1000 * 1000):
        return at
    try:
        return last + timedelta(seconds=1)
    except OverflowError:
        raise InputError(
            f"a vote is dated {last.isoformat()}, and none can follow it",
            hint="Correct its date in the log beside the set.",
        ) from None


def _last_moment(votes: Iterable[Vote]) -> datetime | None:
    """Times compare as text, so a vote that names only its day comes before all else of the day."""
    last = max((vote.at for vote in votes), default="")
    if not last:
        return None
    return datetime.fromisoformat(last + _FIRST_DAY[len(last) :]).replace(tzinfo=UTC)


__all__ = [
    "BY_HAND",
    "EDITED",
    "IMPORTED",
    "RULING",
    "SAMPLE",
    "WITHDRAWN",
    "Pair",
    "VoteBook",
    "book_of",
    "by_pair",
    "contradicts_itself",
    "current",
    "not_before",
    "role_of",
    "superseded_by",
]
