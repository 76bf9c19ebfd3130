"""A set open for judging: who is asked for what, and the votes that hold.

Other programs write the files too: whatever has changed on disk is read again, of the log only what
was appended. A vote therefore neither reads nor writes the gold file, and it is given when its line
in the log is on disk."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay import formats
from assay.core.errors import InputError, NotHere
from assay.core.files import Stamp, stamp_of
from assay.core.fingerprints import gold_fingerprint
from assay.core.types import GoldSet, Query, Vote
from assay.formats.ballots import Ballot
from assay.gold.acts import new_id
from assay.gold.log import Log, open_log, writing
from assay.gold.people import people_files
from assay.gold.votes import VoteBook
from assay.judging import rubrics
from assay.judging.merge import Bounds, bounds, refuse_unfit
from assay.judging.policy import Policy, policy_path, read_policy
from assay.judging.pool import Pool, PooledPair, pool_path, read_pool
from assay.judging.rubrics import Rubric
from assay.judging.votes import WITHDRAWN, Pair, votes_of_labels

Seat = tuple[str, str]  # judge and query


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
    log: Log
    stamps: tuple[Stamp | None, ...]
    _counts: dict[Seat, Count] = field(default_factory=dict)

    @property
    def votes(self) -> VoteBook:
        return self.log.book

    @property
    def version(self) -> str:
        return rubrics.version(self.rubric)

    @cached_property
    def fingerprint(self) -> str:
        """Of the queries and labels of the set, as the receipt of a run has it."""
        return gold_fingerprint(self.gold)

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
        with self.log.reading:
            life, given = self.log.life, self.votes.given
            for query_id in query_ids:
                state = (life, given[query_id])
                known = self._counts.get((judge, query_id))
                if known is None or known.state != state:
                    mine = self.mine(query_id, judge)
                    judged = sum(self.votes.has_voted(judge, pair.key) for pair in mine)
                    known = self._counts[judge, query_id] = Count(state, len(mine), judged)
                counted[query_id] = known
        return counted

    def left(self, judge: str) -> int:
        """How many pairs wait for a judge's vote."""
        return sum(count.left for count in self.counts(judge, self.asked).values())

    def _is_open(self, pair: PooledPair) -> bool:
        """Whether a pair that is dealt to nobody still wants a judge."""
        if not self.votes.has(pair.key):
            return pair.wanted > 1 or pair.key not in self.labelled
        return self.votes.graded(pair.key, self.policy.counts) < pair.wanted


# ── opening ───────────────────────────────────────────────────────────────────────────────────────

_desks: dict[Path, Desk] = {}
_opening = threading.Lock()


def desk_of(dataset: Path) -> Desk:
    """The desk of a set, as the files are now."""
    place = dataset.resolve()
    with _opening:
        known = _desks.get(place)
        if known is None or known.stamps != _stamps(dataset, known.rubric.id):
            known = _desks[place] = _open(dataset)
    known.log.refresh()
    return known


def _open(dataset: Path) -> Desk:
    gold = formats.read_gold(dataset)
    rubric = rubrics.find(gold.rubric or rubrics.DEFAULT, beside=dataset)
    stamps = _stamps(dataset, rubric.id)
    pool, log = read_pool(dataset), open_log(dataset)
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
        first=[] if gold.from_logs else votes_of_labels(gold, log.book),
        log=log,
        stamps=stamps,
    )


def _stamps(dataset: Path, rubric: str) -> tuple[Stamp | None, ...]:
    home = dataset.resolve().parent
    own = (home / f"{rubric}.toml", home / "rubrics" / f"{rubric}.toml")
    beside = (pool_path(dataset), policy_path(dataset), *people_files(dataset))
    return tuple(map(stamp_of, (dataset, *beside, *own)))


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
    desk.log.coming.append(coming)
    with desk.log.writing:
        if coming.kept is None and coming.refused is None:
            waiting = desk.log.coming
            _write(desk, [waiting.popleft() for _ in range(len(waiting))])
    if coming.refused is not None:
        raise coming.refused
    return coming.kept or vote, coming.already


def _write(desk: Desk, batch: Sequence[_Coming]) -> None:
    try:
        with writing(desk.dataset) as log:
            new: dict[str, Vote] = {}
            with log.reading:
                for coming in batch:
                    _settle(desk, coming, new)
            log.append([log.act_of(vote) for vote in (*(desk.first if new else ()), *new.values())])
            desk.first = [] if new else desk.first
    except Exception as error:
        for coming in batch:
            coming.refused = coming.refused or error


def _settle(desk: Desk, coming: _Coming, new: dict[str, Vote]) -> None:
    known = desk.votes.vote(coming.vote.id) or new.get(coming.vote.id)
    try:
        if known is None:
            _refuse_overtaken(desk, coming, new)
        kept = _same(known, coming.vote) if known is not None else _checked(desk, coming.vote)
    except InputError as error:
        coming.refused = error
        return
    if known is None:
        before = _before(desk, kept, new)
        late = any(kept.at < one.at for one in before)  # times compare as text
        named = () if late else [one.id for one in before]
        kept = msgspec.structs.replace(kept, supersedes=" ".join(named))
        new[kept.id] = kept
        if late:
            gone = _taken_back(kept)
            new[gone.id] = gone
    coming.kept, coming.already = kept, known is not None


def _before(desk: Desk, vote: Vote, new: dict[str, Vote]) -> list[Vote]:
    """What the judge said of the pair last, also where it was taken back."""
    pair = (vote.query_id, vote.doc_id)
    here = [v for v in new.values() if (v.judge, v.query_id, v.doc_id) == (vote.judge, *pair)]
    first = [v for v in desk.first if (v.judge, v.query_id, v.doc_id) == (vote.judge, *pair)]
    gone = {id for v in here for id in v.supersedes.split()}
    every = [*(desk.votes.last_of(vote.judge, pair) or first), *here]
    return [v for v in every if v.id not in gone]


def _taken_back(vote: Vote) -> Vote:
    """The withdrawal of a vote that was sent late: its judge has said something else since."""
    return msgspec.structs.replace(
        vote, id=new_id(), grade=None, rationale="", supersedes=vote.id, source=WITHDRAWN
    )


def _refuse_overtaken(desk: Desk, coming: _Coming, new: dict[str, Vote]) -> None:
    """Two windows of one judge: the second must not overwrite what it does not show."""
    vote = coming.vote
    last = [one for one in _before(desk, vote, new) if one.source != WITHDRAWN]
    now = last[-1] if last else None
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
    judges = {held.judge for held in desk.votes.heads(pair)}
    mine = bool(desk.votes.last_of(vote.judge, pair))
    if asked is not None and asked.judges and not mine and vote.judge not in asked.judges:
        raise InputError(f"{vote.doc_id!r} on query {vote.query_id!r} is dealt to somebody else")
    known = asked is not None or judges or mine or pair in desk.labelled
    limits = replace(desk.limits, asked={pair} if known else set())
    where = f"{vote.query_id} {vote.doc_id}"
    ballot = Ballot(
        where=where, query_id=pair[0], doc_id=pair[1], grade=vote.grade, rationale=vote.rationale
    )
    refuse_unfit(ballot, vote, limits, True)
    return vote
