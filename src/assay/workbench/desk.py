"""A set open for judging: who is asked for what, and every vote, kept in memory.

Files are the truth, and other programs write them too: whatever has changed on disk is read again,
of the votes only what was appended. Giving a vote therefore neither reads nor writes the set; a
vote counts as given when it is on disk."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from assay import formats
from assay.core.errors import InputError, NotHere
from assay.core.types import GoldSet, Query, Vote, VoteKind
from assay.formats.ballots import Ballot
from assay.judging import rubrics
from assay.judging.merge import Bounds, bounds, refuse_unfit
from assay.judging.policy import Policy, policy_path, read_policy
from assay.judging.pool import Pool, PooledPair, pool_path, read_pool
from assay.judging.rubrics import Rubric
from assay.judging.votes import (
    UNNAMED,
    WITHDRAWN,
    Pair,
    appending,
    in_line,
    later,
    read_votes,
    role_of,
    said_of,
    votes_from,
    votes_of_labels,
    votes_path,
)
from assay.workbench import voting

Stamp = tuple[int, int, int]
Seat = tuple[str, str]  # judge and query, or judge and role
_ENDS = 200  # bytes before the place that was read to, which tell whether the file is the same


class Votes:
    """The votes beside a set. Rulings and spot checks stand apart: they are not what a judge says
    here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reading, self.writing = threading.RLock(), threading.Lock()
        self.life = 0  # grows where the file is another one
        self.coming: deque[_Coming] = deque()
        self._forget()

    def _forget(self) -> None:
        self._stamp: Stamp | None = None
        self._read_to, self._ends = 0, b""
        self.ids: dict[str, Vote] = {}
        self._named: set[str] = set()  # by other votes
        self._begin()

    def _begin(self) -> None:
        self.life += 1
        self.kinds: dict[str, VoteKind] = {}
        self.said: dict[Pair, dict[str, Vote]] = {}  # what holds now, also what was withdrawn
        self.order: list[Pair] = []  # the pair of every vote, as the file has them
        self.apart: dict[Pair, dict[Seat, Vote]] = {}  # rulings and spot checks, by judge and role
        self.voted: dict[Seat, dict[str, None]] = {}  # the documents a judge has voted on
        self.given: Counter[str] = Counter()  # how many votes each query has

    def refresh(self) -> None:
        """Read what has been appended since; all of it where the file is another one."""
        with self.reading:
            self._refresh()

    def _refresh(self) -> None:
        stamp = stamp_of(self.path)
        if stamp == self._stamp and (stamp is not None or not self._read_to):
            return
        if stamp is None or not self._goes_on(stamp):
            self._forget()
        new, self._read_to = votes_from(self.path, self._read_to)
        if len({vote.id for vote in new} - self.ids.keys()) < len(new):
            self._forget()
            read_votes(self.path)  # says which line is there twice
        self.ids |= {vote.id: vote for vote in new}
        if any(vote.id in self._named for vote in new):  # a vote came after one that names it
            self._begin()
            new = list(self.ids.values())
        for vote in in_line(new):
            self._take(vote)
        self._ends = self._before(self._read_to)
        self._stamp = stamp

    def _goes_on(self, stamp: Stamp) -> bool:
        if self._stamp is None:
            return True
        same = stamp[0] == self._stamp[0] and stamp[1] >= self._read_to
        return same and self._before(self._read_to) == self._ends

    def _before(self, place: int) -> bytes:
        if not place:
            return b""
        with self.path.open("rb") as stream:
            start = max(place - _ENDS, 0)
            stream.seek(start)
            return stream.read(place - start)

    def _take(self, vote: Vote) -> None:
        self._named.add(vote.supersedes)
        if vote.judge != UNNAMED:
            self.kinds[vote.judge] = vote.kind
        whose = said_of(vote, self.ids)
        pair = (whose.query_id, whose.doc_id)
        self.order.append(pair)
        if role := role_of(whose.source):
            apart, seat = self.apart.setdefault(pair, {}), (whose.judge, role)
            apart[seat] = later(vote, apart.get(seat), self.ids)
            return
        self.voted.setdefault((whose.judge, whose.query_id), {})[whose.doc_id] = None
        self.given[whose.query_id] += 1
        said = self.said.setdefault(pair, {})
        said[whose.judge] = later(vote, said.get(whose.judge), self.ids)

    def holding(self, pair: Pair) -> list[Vote]:
        return [vote for vote in self.said.get(pair, {}).values() if vote.source != WITHDRAWN]

    def everything(self, pair: Pair) -> list[Vote]:
        """What holds of a pair, rulings and spot checks too."""
        apart = self.apart.get(pair, {}).values()
        return [*self.holding(pair), *(vote for vote in apart if vote.source != WITHDRAWN)]

    def of(self, judge: str, pair: Pair) -> Vote | None:
        """What a judge says of a pair now."""
        vote = self.said.get(pair, {}).get(judge)
        return vote if vote is not None and vote.source != WITHDRAWN else None


class Count(NamedTuple):
    """How many documents of a query are asked of a judge, and how many are judged."""

    state: tuple[int, int]  # of the votes, when it was counted
    asked: int
    judged: int

    @property
    def left(self) -> int:
        return self.asked - self.judged


@dataclass(kw_only=True)
class Desk:
    """`first` are the labels that must become votes before anybody votes; `asked` the pairs of
    each query, `dealt` those of a judge on a query, `nobodys` those of a query that are dealt to
    nobody; all in the pool's order."""

    dataset: Path
    gold: GoldSet
    rubric: Rubric
    pool: Pool | None
    limits: Bounds
    policy: Policy
    asked: dict[str, list[PooledPair]]
    dealt: dict[Seat, list[PooledPair]]
    nobodys: dict[str, list[PooledPair]]
    labelled: frozenset[Pair]
    first: list[Vote]
    votes: Votes
    stamps: tuple[Stamp | None, ...]
    _counts: dict[Seat, Count] = field(default_factory=dict)

    @property
    def version(self) -> str:
        return rubrics.version(self.rubric)

    @cached_property
    def asked_twice(self) -> frozenset[Pair]:
        """The pairs that more than one judge is asked for."""
        pairs = self.pool.pairs if self.pool is not None else ()
        return frozenset(pair.key for pair in pairs if max(pair.wanted, len(pair.judges)) > 1)

    def query(self, query_id: str) -> Query:
        for query in self.gold.queries:
            if query.id == query_id:
                return query
        raise NotHere(f"no query {query_id!r} in the set", where=str(self.dataset))

    def mine(self, query_id: str, judge: str) -> list[PooledPair]:
        """What is dealt to a judge; or to nobody, and nobody else has graded it; or voted on
        already."""
        pairs = {pair.doc_id: pair for pair in self.dealt.get((judge, query_id), ())}
        for pair in self.nobodys.get(query_id, ()):
            if self._is_open(pair):
                pairs[pair.doc_id] = pair
        for doc_id in self.votes.voted.get((judge, query_id), ()):
            if doc_id not in pairs:
                pairs[doc_id] = PooledPair(query_id=query_id, doc_id=doc_id, judges=(judge,))
        return list(pairs.values())

    def count(self, query_id: str, judge: str) -> Count:
        """How much of a query is asked of a judge."""
        return self.counts(judge, (query_id,))[query_id]

    def counts(self, judge: str, query_ids: Iterable[str]) -> dict[str, Count]:
        """The same of many queries. A vote changes one query, so one is counted again: a page must
        not count ten thousand pairs for each vote of anybody."""
        counted = {}
        with self.votes.reading:
            life, given = self.votes.life, self.votes.given
            for query_id in query_ids:
                state = (life, given[query_id])
                known = self._counts.get((judge, query_id))
                if known is None or known.state != state:
                    mine = self.mine(query_id, judge)
                    judged = sum(self.votes.of(judge, pair.key) is not None for pair in mine)
                    known = self._counts[judge, query_id] = Count(state, len(mine), judged)
                counted[query_id] = known
        return counted

    def left(self, judge: str) -> int:
        """How many pairs wait for a judge's vote."""
        return sum(count.left for count in self.counts(judge, self.asked).values())

    def _is_open(self, pair: PooledPair) -> bool:
        """Whether a pair of nobody's still wants a judge."""
        said = self.votes.said.get(pair.key)
        if not said:
            return pair.wanted > 1 or pair.key not in self.labelled
        graded = sum(
            vote.grade is not None and vote.source != WITHDRAWN and vote.kind in self.policy.counts
            for vote in said.values()
        )
        return graded < pair.wanted


# ── opening ───────────────────────────────────────────────────────────────────────────────────────

_desks: dict[Path, Desk] = {}
_opening = threading.Lock()


def desk_of(dataset: Path) -> Desk:
    """The desk of a set, as the files are now."""
    place = dataset.resolve()
    with _opening:
        known = _desks.get(place)
        if known is None or known.stamps != _stamps(dataset, known.rubric.id):
            known = _desks[place] = _open(dataset, known)
    known.votes.refresh()
    return known


def _open(dataset: Path, before: Desk | None) -> Desk:
    gold = formats.read_gold(dataset)
    rubric = rubrics.find(gold.rubric or rubrics.DEFAULT, beside=dataset)
    stamps = _stamps(dataset, rubric.id)
    pool = read_pool(dataset)
    votes = before.votes if before is not None else Votes(votes_path(dataset))
    votes.refresh()
    asked: dict[str, list[PooledPair]] = {}
    dealt: dict[Seat, list[PooledPair]] = {}
    known = set(gold.query_ids)
    for pair in pool.pairs if pool is not None else ():
        if pair.query_id in known:
            asked.setdefault(pair.query_id, []).append(pair)
            for judge in pair.judges:
                dealt.setdefault((judge, pair.query_id), []).append(pair)
    limits = bounds(gold, ())
    scale = {value for value in rubric.values if not gold.top_grade or value <= gold.top_grade}
    limits = replace(
        limits,
        grades=scale,
        needs_rationale=rubric.rationale == "required",
        rubric=rubrics.version(rubric),
    )
    return Desk(
        dataset=dataset,
        gold=gold,
        rubric=rubric,
        pool=pool,
        limits=limits,
        policy=read_policy(dataset),
        asked=asked,
        dealt=dealt,
        nobodys={id: [pair for pair in pairs if not pair.judges] for id, pairs in asked.items()},
        labelled=limits.judged if isinstance(limits.judged, frozenset) else frozenset(),
        first=[] if gold.from_logs else votes_of_labels(gold, votes.ids.values()),
        votes=votes,
        stamps=stamps,
    )


def stamp_of(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _stamps(dataset: Path, rubric: str) -> tuple[Stamp | None, ...]:
    home = dataset.resolve().parent
    own = (home / f"{rubric}.toml", home / "rubrics" / f"{rubric}.toml")
    return tuple(map(stamp_of, (dataset, pool_path(dataset), policy_path(dataset), *own)))


# ── voting ────────────────────────────────────────────────────────────────────────────────────────


class Overtaken(InputError):
    """The judge has said something else of the pair since they saw it: `now` is what holds, None
    where it was taken back."""

    def __init__(self, vote: Vote, now: Vote | None) -> None:
        self.now = now
        said = "was taken back" if now is None else f"was given the grade {now.grade}"
        said = "was marked as unsure" if now is not None and now.grade is None else said
        at = f" at {now.at}" if now is not None else ""
        super().__init__(
            f"{vote.doc_id!r} on query {vote.query_id!r} {said} by {vote.judge}{at} meanwhile",
            hint="Send it again with `seen` as it is now, to change it.",
        )


@dataclass
class _Coming:
    """A vote on its way to the disk, and what became of it. `seen` is the vote that its judge had
    before them, empty for none; None where nobody says."""

    vote: Vote
    seen: str | None = None
    kept: Vote | None = None
    already: bool = False
    refused: Exception | None = None


def put(desk: Desk, vote: Vote, seen: str | None = None) -> tuple[Vote, bool]:
    """Take a vote: on disk when this returns. The second value is whether it was there already:
    the same vote may come any number of times. Votes that come at once are synced at once. With
    `seen` it is refused where its judge has said something else since."""
    coming = _Coming(vote, seen)
    desk.votes.coming.append(coming)
    with desk.votes.writing:
        if coming.kept is None and coming.refused is None:
            _write(desk, [desk.votes.coming.popleft() for _ in range(len(desk.votes.coming))])
    if coming.refused is not None:
        raise coming.refused
    return coming.kept or vote, coming.already


def _write(desk: Desk, batch: Sequence[_Coming]) -> None:
    try:
        if desk.first:
            voting.give(desk.dataset, ())  # the labels of the set, as votes
            desk.first = []
        with appending(desk.votes.path) as write:
            new: dict[str, Vote] = {}
            with desk.votes.reading:
                desk.votes.refresh()
                for coming in batch:
                    _settle(desk, coming, new)
            write(list(new.values()))
            desk.votes.refresh()
    except Exception as error:
        for coming in batch:
            coming.refused = coming.refused or error


def _settle(desk: Desk, coming: _Coming, new: dict[str, Vote]) -> None:
    known = desk.votes.ids.get(coming.vote.id) or new.get(coming.vote.id)
    try:
        if known is None:
            _refuse_overtaken(desk, coming, new)
        kept = _same(known, coming.vote) if known is not None else _checked(desk, coming.vote)
    except InputError as error:
        coming.refused = error
        return
    coming.kept, coming.already = kept, known is not None
    if known is None:
        new[kept.id] = kept


def _refuse_overtaken(desk: Desk, coming: _Coming, new: dict[str, Vote]) -> None:
    """Two windows of one judge: the second must not overwrite what it does not show."""
    vote, pair = coming.vote, (coming.vote.query_id, coming.vote.doc_id)
    here = [v for v in new.values() if (v.judge, v.query_id, v.doc_id) == (vote.judge, *pair)]
    now = here[-1] if here else desk.votes.of(vote.judge, pair)
    now = None if now is not None and now.source == WITHDRAWN else now
    if coming.seen is None or coming.seen == (now.id if now is not None else ""):
        return
    held = None if now is None else (now.grade, now.rationale)
    if held != (None if vote.source == WITHDRAWN else (vote.grade, vote.rationale)):
        raise Overtaken(vote, now)


def _same(known: Vote, vote: Vote) -> Vote:
    told = [(each.query_id, each.doc_id, each.grade, each.judge) for each in (known, vote)]
    if told[0] != told[1]:
        raise InputError(
            f"the vote {vote.id!r} is another one already", hint="Every vote has an id of its own."
        )
    return known


def _checked(desk: Desk, vote: Vote) -> Vote:
    """What cannot be of this set, or is not asked of this judge, is refused."""
    pair = (vote.query_id, vote.doc_id)
    if desk.votes.kinds.get(vote.judge, vote.kind) != vote.kind:
        raise InputError(
            f"{vote.judge} has voted as {desk.votes.kinds[vote.judge]} before",
            hint="One name is a person or a machine, never both.",
        )
    asked = next((each for each in desk.asked.get(pair[0], ()) if each.doc_id == pair[1]), None)
    said = desk.votes.said.get(pair, {})
    if asked is not None and asked.judges and vote.judge not in (*asked.judges, *said):
        raise InputError(f"{vote.doc_id!r} on query {vote.query_id!r} is dealt to somebody else")
    known: Sequence[Pair] = [pair] if asked is not None or said or pair in desk.labelled else []
    limits = replace(desk.limits, asked=set(known))
    where = f"{vote.query_id} {vote.doc_id}"
    ballot = Ballot(
        where=where, query_id=pair[0], doc_id=pair[1], grade=vote.grade, rationale=vote.rationale
    )
    refuse_unfit(ballot, vote, limits, True)
    return vote
