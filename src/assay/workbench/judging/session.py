"""A gold set open for judging: which documents each judge is asked for, and how a vote is saved.

Other programs write the files of a set too: `open_session` reads again what has changed on disk,
of the log only what was appended. A vote neither reads nor writes the gold file. It is saved once
its line in the log is on disk. `votes_to_labels` computes the labels later: in `gold merge`, with a
ruling or a new policy, after machine judges, before a run that a page starts, and when somebody
updates the labels on Home."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay import formats
from assay.core.errors import InputError, NotHere
from assay.core.files import Stamp, glance_at, resolved, stamp_of
from assay.core.types import GoldSet, Query, Vote
from assay.evaluation.receipts import gold_fingerprint
from assay.formats.ballots import Ballot
from assay.gold.acts import new_id
from assay.gold.log import Log, open_log, writing
from assay.gold.votes import WITHDRAWN, PairKey, VoteBook, time_of
from assay.judging import rubrics
from assay.judging.incoming_votes import VoteLimits, limits_of_set, refuse_unfit_vote
from assay.judging.labels import Policy, policy_path, read_policy
from assay.judging.pool import Pool, PooledPair, pool_path, read_pool
from assay.judging.rubrics import Rubric
from assay.judging.votes import label_votes_of


class JudgeCount(NamedTuple):
    """How many documents of a query a judge is asked for, how many of them they have judged, and
    of these the ones that they are unsure about."""

    assigned: int
    judged: int
    unsure: int


@dataclass(kw_only=True)
class JudgingSession:
    """A gold set with its rubric, pool, policy and log. `pool_by_query` has its pairs;
    `label_votes` are labels that must become votes in the log before the first vote."""

    dataset: Path
    gold: GoldSet
    rubric: Rubric
    pool: Pool | None
    limits: VoteLimits
    policy: Policy
    pool_by_query: dict[str, list[PooledPair]]
    label_votes: list[Vote]
    log: Log
    files: tuple[Path, ...]
    stamps: tuple[Stamp | None, ...]  # of the files and of those that name people
    # by judge and query, with the state of the votes when they were counted
    _counts: dict[tuple[str, str], tuple[object, JudgeCount]] = field(default_factory=dict)

    @property
    def votes(self) -> VoteBook:
        return self.log.book

    @property
    def version(self) -> str:
        return rubrics.version(self.rubric)

    @property
    def labelled(self) -> Set[PairKey]:
        return self.limits.judged

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the queries and labels, as the receipt of a run has it."""
        return gold_fingerprint(self.gold)

    @cached_property
    def is_rtl(self) -> bool:
        return is_rtl(self.gold)

    @cached_property
    def asked_twice(self) -> frozenset[PairKey]:
        """The pairs that more than one judge is asked for."""
        pairs = self.pool.pairs if self.pool is not None else ()
        return frozenset(pair.key for pair in pairs if max(pair.wanted, len(pair.judges)) > 1)

    def is_current(self, look: Callable[[Path], Stamp | None]) -> bool:
        """Whether all files but the log are as they were read; of the log, what is new is read."""
        self.log.refresh()
        return self.stamps == (*map(look, self.files), *self.log.people.stamps)

    def query(self, query_id: str) -> Query:
        for query in self.gold.queries:
            if query.id == query_id:
                return query
        raise NotHere(f"no query {query_id!r} in the set", where=str(self.dataset))

    def pairs_for(self, judge: str, query_id: str) -> list[PooledPair]:
        """The documents of a query that a judge is asked for: those dealt to them, those dealt to
        nobody that still need a judge, and those they have voted on."""
        pairs = {
            pair.doc_id: pair
            for pair in self.pool_by_query.get(query_id, ())
            if judge in pair.judges or (not pair.judges and self._needs_judge(pair))
        }
        for doc_id in self.votes.voted_documents.get((judge, query_id), ()):
            if doc_id not in pairs:
                pairs[doc_id] = PooledPair(query_id=query_id, doc_id=doc_id, judges=(judge,))
        return list(pairs.values())

    def has_other_judges(self, judge: str) -> bool:
        """Whether anybody else is asked to judge this set, or has judged in it."""
        kinds = self.votes.kind_of_judge
        asked = self.pool.judges if self.pool is not None else ()
        return any(
            name != judge and kinds.get(name, "human") == "human" for name in (*asked, *kinds)
        )

    def _needs_judge(self, pair: PooledPair) -> bool:
        """Whether a pair that is dealt to nobody still needs a judge."""
        if not self.votes.has(pair.key):
            return pair.wanted > 1 or pair.key not in self.labelled
        return self.votes.count_graders(pair.key, self.policy.counts) < pair.wanted

    def counts(self, judge: str, query_ids: Iterable[str]) -> dict[str, JudgeCount]:
        """A judge's counts by query. Every page shows how much is left to judge; a vote changes one
        query, and only that one is counted again (0.1 ms against 20 ms at 10,000 pairs)."""
        found = {}
        with self.log.reading:
            for query_id in query_ids:
                state = self.log.generation, self.votes.votes_per_query[query_id]
                known, count = self._counts.get((judge, query_id), (None, JudgeCount(0, 0, 0)))
                if known != state:
                    pairs = self.pairs_for(judge, query_id)
                    grades = [self.votes.grades_of(judge, pair.key) for pair in pairs]
                    unsure = sum(found_grades[-1:] == [None] for found_grades in grades)
                    count = JudgeCount(len(pairs), sum(map(bool, grades)), unsure)
                    self._counts[judge, query_id] = state, count
                found[query_id] = count
        return found

    def left(self, judge: str) -> int:
        counts = self.counts(judge, self.pool_by_query).values()
        return sum(count.assigned - count.judged for count in counts)


def is_rtl(gold: GoldSet) -> bool:
    """Whether most letters of the first queries are of a script from right to left."""
    some = "".join(query.text for query in gold.queries[:20])
    letters = [letter for letter in some if letter.isalpha()]
    return sum("\u0590" <= letter <= "\u07ff" for letter in letters) * 2 > len(letters) > 0


# ── opening ───────────────────────────────────────────────────────────────────────────────────────

_sessions: dict[Path, JudgingSession] = {}
_opening = threading.Lock()


def open_session(dataset: Path) -> JudgingSession:
    """The judging session of a set, up to date with its files."""
    path = resolved(dataset)
    session = _sessions.get(path)
    if session is None or not session.is_current(glance_at):
        with _opening:  # of many who ask at once, one reads
            session = _sessions.get(path)
            if session is None or not session.is_current(stamp_of):
                session = _sessions[path] = _read_session(dataset)
    return session


def _read_session(dataset: Path) -> JudgingSession:
    gold = formats.read_gold(dataset)
    rubric, log = rubrics.of_set(gold, dataset), open_log(dataset)
    files = _files(resolved(dataset), rubric.id)
    stamps = (*map(stamp_of, files), *log.people.stamps)
    pool = read_pool(dataset)
    asked: dict[str, list[PooledPair]] = {}
    known = set(gold.query_ids)
    for pair in pool.pairs if pool is not None else ():
        if pair.query_id in known:
            asked.setdefault(pair.query_id, []).append(pair)
    return JudgingSession(
        dataset=dataset,
        gold=gold,
        rubric=rubric,
        pool=pool,
        limits=limits_under(rubric, gold, ()),
        policy=read_policy(dataset),
        pool_by_query=asked,
        label_votes=[] if gold.from_logs else label_votes_of(gold, log.book),
        log=log,
        files=files,
        stamps=stamps,
    )


def limits_under(rubric: Rubric, gold: GoldSet, votes: Sequence[Vote]) -> VoteLimits:
    """The limits on votes: the queries of the set, and the grades of its rubric."""
    top = gold.top_grade
    return replace(
        limits_of_set(gold, votes),
        grades={value for value in rubric.values if not top or value <= top},
        needs_rationale=rubric.rationale == "required",
        rubric=rubrics.version(rubric),
    )


def _files(dataset: Path, rubric: str) -> tuple[Path, ...]:
    """The files that a session is read from, besides the log and those that name people."""
    home = dataset.parent
    own = (home / f"{rubric}.toml", home / "rubrics" / f"{rubric}.toml")
    return (dataset, pool_path(dataset), policy_path(dataset), *own)


# ── voting ────────────────────────────────────────────────────────────────────────────────────────


class VoteChanged(InputError):
    """The judge has changed their vote on the pair since the page showed it. `now` is the vote that
    holds, None if it was withdrawn."""

    def __init__(self, vote: Vote, now: Vote | None) -> None:
        self.now = now
        if now is None:
            change = "withdrew the vote"
        elif now.grade is None:
            change = f"marked the document as unsure at {now.at}"
        else:
            change = f"gave grade {now.grade} at {now.at}"
        super().__init__(
            f"{vote.judge} has voted on {vote.doc_id!r} for query {vote.query_id!r} in another "
            f"window: {vote.judge} {change}",
            hint="To change the vote, send it again with the current vote in `seen`.",
        )


def write_vote(
    session: JudgingSession, vote: Vote, seen_version: str | None = None
) -> tuple[Vote, bool]:
    """Write a vote to the log; it is on disk when this returns. The second value says whether it
    was there already: the same vote may be sent any number of times. `seen_version` is the id of
    the vote that the judge's page showed, empty for none: if the judge has changed it since, the
    new vote is refused. Without it the later vote holds."""
    with session.log.writing, writing(session.dataset) as log:
        with log.reading:
            known = session.votes.vote(vote.id)
            if known is not None:
                _refuse_reused_id(known, vote)
                return known, True
            before = _last_votes(session, vote)
            if seen_version is not None:
                _refuse_changed(vote, seen_version, before)
            _refuse_unfit(session, vote)
        is_late = any(time_of(vote.at) < time_of(earlier.at) for earlier in before)
        replaced = "" if is_late else " ".join(earlier.id for earlier in before)
        saved = msgspec.structs.replace(vote, supersedes=replaced)
        # another process may have written the first votes since this session was opened
        votes = [
            *(earlier for earlier in session.label_votes if earlier.id not in log.book.ids),
            saved,
        ]
        if is_late:  # the judge has voted again since: the late vote is kept, and does not hold
            withdrawal = msgspec.structs.replace(
                vote, id=new_id(), grade=None, rationale="", supersedes=vote.id, source=WITHDRAWN
            )
            votes.append(withdrawal)
        log.append([log.act_of(earlier) for earlier in votes])
        session.label_votes = []
    return saved, False


def _last_votes(session: JudgingSession, vote: Vote) -> list[Vote]:
    """The last votes of the same judge on the same pair, withdrawals included."""
    pair = (vote.query_id, vote.doc_id)
    first = (
        label_vote
        for label_vote in session.label_votes
        if (label_vote.query_id, label_vote.doc_id) == pair
    )
    label_votes = [label_vote for label_vote in first if label_vote.judge == vote.judge]
    return session.votes.votes_to_supersede(vote.judge, pair) or label_votes


def _refuse_changed(vote: Vote, seen_version: str, before: Sequence[Vote]) -> None:
    """Refuse a vote that would overwrite one which the judge's other window made."""
    now = next((earlier for earlier in reversed(before) if earlier.source != WITHDRAWN), None)
    held = None if now is None else (now.grade, now.rationale)
    new = None if vote.source == WITHDRAWN else (vote.grade, vote.rationale)
    if seen_version != (now.id if now is not None else "") and held != new:
        raise VoteChanged(vote, now)


def _refuse_reused_id(known: Vote, vote: Vote) -> None:
    """Refuse another vote under an id that was used."""
    one, other = ((v.query_id, v.doc_id, v.grade, v.judge, v.rationale) for v in (known, vote))
    if one != other:
        raise InputError(
            f"the id {vote.id!r} belongs to another vote", hint="Give every vote its own id."
        )


def _refuse_unfit(session: JudgingSession, vote: Vote) -> None:
    """Refuse a vote that does not belong to this set, or that this judge is not asked for."""
    pair = (vote.query_id, vote.doc_id)
    kind = session.votes.kind_of_judge.get(vote.judge, vote.kind)
    if kind != vote.kind:
        raise InputError(
            f"{vote.judge} has voted as {kind} before",
            hint="Use one name for a person and another for a machine.",
        )
    pooled = session.pool_by_query.get(vote.query_id, ())
    asked = next((one for one in pooled if one.doc_id == vote.doc_id), None)
    has_voted = bool(session.votes.votes_to_supersede(vote.judge, pair))
    if asked is not None and asked.judges and not has_voted and vote.judge not in asked.judges:
        raise InputError(f"{vote.doc_id!r} on query {vote.query_id!r} is assigned to someone else")
    is_known = asked is not None or has_voted or session.votes.votes_in_memory(pair)
    ballot = Ballot(
        where=" ".join(pair),
        query_id=vote.query_id,
        doc_id=vote.doc_id,
        grade=vote.grade,
        rationale=vote.rationale,
    )
    limits = replace(session.limits, allowed_pairs={pair} if is_known else set())
    refuse_unfit_vote(ballot, vote, limits, True)
