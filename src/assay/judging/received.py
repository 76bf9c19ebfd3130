"""From ballots to votes: what judges sent back is held against the set, and what cannot be of it is
refused with its line, before anything is written.

The same ballot gives the same vote: merging a file twice adds nothing, nor does a vote that comes
back from another tool and says nothing new. A judge's later vote on a pair supersedes the earlier
one; two on one pair in one file are a slip, and refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from assay.core.errors import InputError
from assay.core.types import GoldSet, Vote, VoteKind, counted
from assay.formats.ballots import Ballot, Ballots, Problem, problem_of
from assay.gold.votes import book_of
from assay.judging.rationales import too_long
from assay.judging.votes import (
    EDITED,
    IMPORTED,
    RULING,
    UNNAMED,
    WITHDRAWN,
    Pair,
    by_pair,
    not_before,
    role_of,
)

NOTHING = "Nothing was changed."
SHOWN = 10  # rows that are named where many cannot be taken
_AHEAD = timedelta(days=1)  # how far a judge's clock may be ahead
_DAY = re.compile(r"\d{4}-\d\d-\d\d")

Seat = tuple[str, str, str, str]  # query, document, judge, role


@dataclass(frozen=True, kw_only=True)
class VoteLimits:
    """What ballots are held against. None where it is not known, and then not checked: `asked` are
    the pairs that judges were given, `documents` the ids of the corpus, `grades` the scale."""

    gold: GoldSet
    votes: Sequence[Vote]
    asked: Set[Pair] | None = None
    documents: Set[str] | None = None
    grades: Set[int] | None = None
    needs_rationale: bool = False
    rubric: str = ""
    queries: Set[str] = field(default_factory=frozenset)
    judged: Set[Pair] = field(default_factory=frozenset)


def limits_of_set(gold: GoldSet, votes: Sequence[Vote]) -> VoteLimits:
    """What the set itself and its votes say; the rest is for the caller to add."""
    labels = zip(gold.judgments["query_id"], gold.judgments["doc_id"], strict=True)
    voted = ((vote.query_id, vote.doc_id) for vote in votes)
    return VoteLimits(
        gold=gold,
        votes=votes,
        grades=set(range(gold.top_grade + 1)) if gold.top_grade else None,
        queries=frozenset(gold.query_ids),
        judged=frozenset([*labels, *voted]),
    )


@dataclass(frozen=True, kw_only=True)
class MergeDefaults:
    """What the person who merges says of the files: who judged and what they are, where a row does
    not say; `source` marks rulings and spot checks."""

    judge: str = ""
    kind: VoteKind | None = None
    source: str = ""
    at: datetime


class MergedVotes(msgspec.Struct, frozen=True, kw_only=True):
    """The votes to add; how many were there already, and how many of those their judge has changed
    since; what was left out, where the rest is taken all the same."""

    new: list[Vote]
    already: int
    outdated: int
    left_out: list[Problem] = []


@dataclass(frozen=True, kw_only=True)
class _BallotVote:
    """A ballot as a vote; `there` is the vote that it repeats, where it says nothing new."""

    ballot: Ballot
    vote: Vote
    there: Vote | None


def merge_ballots(
    files: Iterable[Ballots], limits: VoteLimits, said: MergeDefaults, *, partial: bool = False
) -> MergedVotes:
    """The ballots of all files as votes, in their order. What cannot be taken stops all of it;
    with `partial` only itself."""
    box = _VoteBox(limits.votes)
    problems, good = list[Problem](), 0
    for file in files:
        given, wrong = _read_file(file, limits, said, box)
        problems += [*file.bad, *wrong, *([file.missing] if file.missing else [])]
        good += len(given)
        for each in given:
            box.take(each)
    if problems and not partial:
        raise _refusal(problems, good)
    return MergedVotes(new=box.new, already=box.already, outdated=box.outdated, left_out=problems)


def _read_file(
    file: Ballots, limits: VoteLimits, said: MergeDefaults, box: _VoteBox
) -> tuple[list[_BallotVote], list[Problem]]:
    """What of a file can be taken, and what cannot. Of two rows on one pair neither is taken, nor
    of two in two files that do not say which is later: only the judge knows which one is meant, and
    the order in which files are named decides nothing."""
    given, problems = list[_BallotVote](), list[Problem]()
    seats, contested = dict[Seat, str](), set[Seat]()
    for ballot in file.rows:
        try:
            vote = _vote_of(ballot, file, limits, said)
            there = box.repeated(ballot, vote)
            if there is None:
                refuse_unfit_vote(ballot, vote, limits, file.has_rationales)
                _refuse_other_kind(ballot, vote, box.kinds)
            seat = _seat(vote)
            if not ballot.id and seats.setdefault(seat, ballot.where) != ballot.where:
                contested.add(seat)
                raise _twice(ballot, vote, f"line {seats[seat].rpartition(':')[2]}")
            if there is None and (other := box.clashing(ballot, vote)):
                contested.add(seat)
                raise _twice(ballot, vote, other)
        except InputError as error:
            problems.append(problem_of(error))
            continue
        given.append(_BallotVote(ballot=ballot, vote=vote, there=there))
    return [each for each in given if _seat(each.vote) not in contested], problems


def _refusal(problems: Sequence[Problem], good: int) -> InputError:
    """All of them at once, so that nobody mends a file row by row."""
    first, *others = problems
    lines = [f"  {each.where}: {each.message}" for each in others[: SHOWN - 1]]
    if len(problems) > SHOWN:
        lines.append(f"  and {len(problems) - SHOWN} more")
    rest = f"--partial takes the other {counted(good, 'row')}." if good else ""
    return InputError(
        "\n".join([first.message, *lines]),
        where=first.where,
        hint=f"{first.hint} {rest}".strip(),
    )


class _VoteBox:
    """The votes that there are, and those that come."""

    def __init__(self, votes: Sequence[Vote]) -> None:
        self._book = book_of(votes)
        self.known = {vote.id: vote for vote in votes}
        self.holds = {_seat(vote): vote for vote in self._book.current()}
        self.kinds = {vote.judge: vote.kind for vote in votes if vote.judge != UNNAMED}
        self.new: list[Vote] = []
        self.already = self.outdated = 0
        self._ruled: dict[Pair, list[str]] = {}  # the last ruling of these files, by pair
        self._brought: dict[
            Seat, tuple[_BallotVote, Vote | None]
        ] = {}  # by these files, and before it
        # without these files, whose order decides nothing
        self._earlier = by_pair(votes)
        self._past: dict[Seat, list[Vote]] = {}
        for vote in votes:
            self._past.setdefault(_seat(vote), []).append(vote)

    def repeated(self, ballot: Ballot, vote: Vote) -> Vote | None:
        """The vote that this one says again. Tools send back what was sent to them, without ids,
        times or reasons; a judge who judges again has a later time, or other words."""
        if there := self.known.get(vote.id):
            _refuse_rewritten(ballot, vote, there)
            return there
        if ballot.id:
            return None
        for there in reversed(self._past.get(_seat(vote), [])):
            if there.source == WITHDRAWN:
                continue
            if there.grade == vote.grade and _nothing_new(ballot, vote, there):
                return there
        return None

    def clashing(self, ballot: Ballot, vote: Vote) -> str:
        """Where another of these files has the same judge and pair at the same moment; it is not
        taken either."""
        seat = _seat(vote)
        other, before = self._brought.get(seat, (None, None))
        if ballot.id or other is None or other.ballot.id or other.vote.at != vote.at:
            return ""
        del self._brought[seat], self.known[other.vote.id], self.holds[seat]
        self._past[seat].pop()
        self.new = [each for each in self.new if each.id != other.vote.id]
        if before is not None:
            self.holds[seat] = before
        return other.ballot.where

    def take(self, given: _BallotVote) -> None:
        vote, seat = given.vote, _seat(given.vote)
        if given.there is not None:
            self.already += 1
            self.outdated += seat not in self.holds or self.holds[seat].id != given.there.id
            return
        if vote.id in self.known:  # twice in these files
            self.already += 1
            return
        before = self.holds.get(seat)
        if not given.ballot.at and not given.ballot.id:
            vote = _timed_after(vote, self._earlier.get((vote.query_id, vote.doc_id), ()))
        if before is not None and vote.at < before.at:  # their judge has changed it since
            self.already += 1
            self.outdated += 1
            return
        named = dict.fromkeys([*vote.supersedes.split(), *self._replaced(vote)])
        vote = msgspec.structs.replace(vote, supersedes=" ".join(named))
        self.holds[seat] = vote
        self._brought[seat] = given, before
        self.known[vote.id] = vote
        self.kinds[vote.judge] = vote.kind
        self._past.setdefault(seat, []).append(vote)
        self.new.append(vote)
        if vote.source == RULING:
            self._ruled[vote.query_id, vote.doc_id] = [vote.id]

    def _replaced(self, vote: Vote) -> list[str]:
        """The votes that a new one replaces: its judge's own; for a ruling, every ruling on the
        pair, and a label that was edited by hand."""
        pair = (vote.query_id, vote.doc_id)
        if vote.source == RULING:
            held = [v.id for v in self._book.heads(pair) if v.source in (RULING, EDITED)]
            return self._ruled.get(pair) or held
        if role_of(vote.source):
            before = self.holds.get(_seat(vote))
            return [before.id] if before is not None else []
        earlier, _ = self._brought.get(_seat(vote), (None, None))
        if earlier is not None:
            return [earlier.vote.id]
        return [one.id for one in self._book.last_of(vote.judge, pair)]


def _timed_after(vote: Vote, past: Iterable[Vote]) -> Vote:
    """A row without a time is said now, after what was said of the pair before."""
    now = datetime.fromisoformat(vote.at)
    at = not_before(now, past, now)
    return msgspec.structs.replace(vote, at=at.isoformat(timespec="seconds"))


def _nothing_new(ballot: Ballot, vote: Vote, there: Vote) -> bool:
    """Of the same judge, pair and grade. A vote without a reason never displaces one with."""
    if ballot.rationale not in ("", there.rationale.strip()):
        return False
    if ballot.echo == there.id or (there.rationale and not ballot.rationale):
        return True
    return (
        (not ballot.at or vote.at == there.at)
        and _same(ballot.document, there.document)
        and _same(ballot.rubric, there.rubric)
    )


def _same(now: str, then: str) -> bool:
    """As far as both are known."""
    return not now or not then or now == then


def _refuse_rewritten(ballot: Ballot, vote: Vote, there: Vote) -> None:
    """Votes never change: an id that comes back with something else is another vote, or a file
    that was edited."""
    if ballot.id and any(getattr(vote, name) != getattr(there, name) for name in _FIXED):
        raise InputError(
            f"the vote {vote.id!r} is known, of {there.judge} on {there.doc_id!r} for query "
            f"{there.query_id!r}, and says something else",
            where=ballot.where,
            hint=f"Votes never change; a new one has an id of its own, or none. {NOTHING}",
        )


_FIXED = ("query_id", "doc_id", "judge", "grade", "rationale", "kind")


def _seat(vote: Vote) -> Seat:
    return vote.query_id, vote.doc_id, vote.judge, role_of(vote.source)


def _vote_of(ballot: Ballot, file: Ballots, limits: VoteLimits, said: MergeDefaults) -> Vote:
    judge = (ballot.judge or said.judge).strip()
    if not judge:
        raise InputError("nobody has signed this", where=ballot.where, hint="Give --judge NAME.")
    if said.kind and ballot.kind and said.kind != ballot.kind:
        raise InputError(
            f"the file says that {judge} is {ballot.kind}, and --kind says {said.kind}",
            where=ballot.where,
            hint=NOTHING,
        )
    if ballot.source == RULING and not said.source and not ballot.id:
        raise InputError(
            "the row is a ruling, and rulings are not merged",
            where=ballot.where,
            hint=f"Bring them in with `assay gold adjudicate SET --from FILE --by NAME`. {NOTHING}",
        )
    kind = ballot.kind or said.kind or "human"
    source = said.source or ballot.source or ("" if file.has_rationales else IMPORTED)
    content = [
        ballot.query_id,
        ballot.doc_id,
        ballot.grade,
        judge,
        kind,
        ballot.rationale,
        ballot.rubric,
        ballot.document,
        source,
        ballot.at,
    ]
    return Vote(
        id=ballot.id or hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:24],
        query_id=ballot.query_id,
        doc_id=ballot.doc_id,
        grade=ballot.grade,
        judge=judge,
        kind=kind,
        at=_moment(ballot, said.at),
        rationale=ballot.rationale,
        rubric=ballot.rubric or ("" if ballot.id else limits.rubric),
        document=ballot.document,
        seconds=ballot.seconds,
        supersedes=ballot.supersedes,
        source=source,
    )


def _moment(ballot: Ballot, now: datetime) -> str:
    """When it was judged, in UTC, so that times can be compared; now where the file does not say.
    A day without a time stays a day. A vote from the future would supersede all that follow."""
    if not ballot.at:
        return "" if ballot.id else now.astimezone(UTC).isoformat(timespec="seconds")
    try:
        given = datetime.fromisoformat(ballot.at)
        moment = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(
            f"{ballot.at[:40]!r} is no date or time",
            where=ballot.where,
            hint=f"Write it as 2026-01-31 or 2026-01-31T14:00:00Z. {NOTHING}",
        ) from None
    if moment > now + _AHEAD:
        raise InputError(
            f"the vote is dated {ballot.at}, which is still to come",
            where=ballot.where,
            hint=f"Is the judge's clock right? {NOTHING}",
        )
    return ballot.at if _DAY.fullmatch(ballot.at) else moment.isoformat()


# ── what is refused ───────────────────────────────────────────────────────────────────────────────

Refusal = tuple[str, str] | None  # what is wrong, what to do
Check = Callable[[Ballot, Vote, VoteLimits, bool], Refusal]


def refuse_unfit_vote(ballot: Ballot, vote: Vote, limits: VoteLimits, has_rationales: bool) -> None:
    """Refuse a vote that cannot be of this set."""
    for check in CHECKS:
        if refusal := check(ballot, vote, limits, has_rationales):
            problem, hint = refusal
            raise InputError(problem, where=ballot.where, hint=f"{hint} {NOTHING}".strip())


def _unknown_query(ballot: Ballot, vote: Vote, limits: VoteLimits, has_rationales: bool) -> Refusal:
    if vote.query_id in limits.queries:
        return None
    return (
        f"no query {vote.query_id!r} in the gold set {limits.gold.name!r}",
        "Is it the set that was judged?",
    )


def _unknown_document(
    ballot: Ballot, vote: Vote, limits: VoteLimits, has_rationales: bool
) -> Refusal:
    if limits.documents is None or vote.doc_id in limits.documents or ballot.id:
        return None  # a vote that was taken before may be on a document that has gone
    return f"no document {vote.doc_id!r} in the corpus", "Is it the corpus that was judged?"


def _not_asked(ballot: Ballot, vote: Vote, limits: VoteLimits, has_rationales: bool) -> Refusal:
    pair = (vote.query_id, vote.doc_id)
    if limits.asked is None or pair in limits.asked or pair in limits.judged or ballot.id:
        return None
    return (
        f"nobody was asked for {vote.doc_id!r} on query {vote.query_id!r}",
        "Take it all the same with --unasked.",
    )


def _off_the_scale(ballot: Ballot, vote: Vote, limits: VoteLimits, has_rationales: bool) -> Refusal:
    if vote.grade is None or limits.grades is None or vote.grade in limits.grades:
        return None
    graded = f"grade {vote.grade} of {vote.doc_id} on query {vote.query_id}"
    return f"{graded}: the scale is {_scale(limits.grades)}", ""


def _scale(grades: Set[int]) -> str:
    ordered = sorted(grades)
    if ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))


def _no_rationale(ballot: Ballot, vote: Vote, limits: VoteLimits, has_rationales: bool) -> Refusal:
    if vote.rationale or vote.grade is None or ballot.id:
        return None
    if vote.source == RULING:
        return "a ruling without a rationale", "Say why this grade is right."
    if limits.needs_rationale and has_rationales:
        return (
            f"no rationale for {vote.doc_id} on query {vote.query_id}, and the rubric asks for one",
            "The judge has to write it.",
        )
    return None


def _long_rationale(
    ballot: Ballot, vote: Vote, limits: VoteLimits, has_rationales: bool
) -> Refusal:
    told = too_long(vote.rationale, f"the reason for {vote.doc_id} on query {vote.query_id}")
    return (told, "The judge has to say it shorter.") if told and not ballot.id else None


CHECKS: tuple[Check, ...] = (
    _unknown_query,
    _off_the_scale,
    _not_asked,
    _unknown_document,
    _no_rationale,
    _long_rationale,
)


def _twice(ballot: Ballot, vote: Vote, before: str) -> InputError:
    return InputError(
        f"{vote.judge} has voted on {vote.doc_id!r} for query {vote.query_id!r} already, in "
        + before,
        where=ballot.where,
        hint=f"Keep one of the two. {NOTHING}",
    )


def _refuse_other_kind(ballot: Ballot, vote: Vote, kinds: Mapping[str, VoteKind]) -> None:
    """One name is a person or a machine, never both: else a machine's vote could pass for a
    person's."""
    kind = kinds.get(vote.judge, vote.kind)
    if kind != vote.kind:
        raise InputError(
            f"{vote.judge} has voted as {kind} before, and this vote is {vote.kind}",
            where=ballot.where,
            hint=f"Say --kind {kind}, or give the other judge another name. {NOTHING}",
        )
