"""Turn the files that judges send back into votes. Every row is checked against the set, and an
invalid row is refused with its line before anything is written.

The same row always gives the same vote, so merging a file twice adds nothing. Neither does a row
that another tool sends back unchanged. A judge's later vote on a pair replaces the earlier one; two
votes on one pair in one file are a mistake, and both are refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain

import msgspec

from assay.core.errors import InputError
from assay.core.types import GoldSet, Vote, VoteKind, counted
from assay.formats.ballots import UNCHANGED, Ballot, BallotProblem, Ballots, problem_of
from assay.gold.people import IMPORTED
from assay.gold.votes import (
    EDITED,
    RULING,
    WITHDRAWN,
    PairKey,
    book_of,
    by_pair,
    not_before,
    role_of,
    time_of,
)
from assay.judging.votes import too_long
from assay.store.records import folded, spelling_skeleton

LONGEST_NAME = 200  # characters of a judge's name; taste
NAMED_ROWS = 10  # invalid rows that an error names; taste
_AHEAD = timedelta(days=1)  # how far a judge's clock may be ahead: time zones differ by a day
_DAY = re.compile(r"\d{4}-\d\d-\d\d")

Seat = tuple[str, str, str, str]  # query, document, judge, role


@dataclass(frozen=True, kw_only=True)
class VoteLimits:
    """The set and the limits that ballots are checked against. `allowed_pairs` are
    those that judges were given, `documents` the ids of the corpus, `grades` the scale; None is not
    checked."""

    gold: GoldSet
    votes: Sequence[Vote]
    allowed_pairs: Set[PairKey] | None = None
    documents: Set[str] | None = None
    grades: Set[int] | None = None
    needs_rationale: bool = False
    rubric: str = ""
    queries: Set[str] = field(default_factory=frozenset)
    judged: Set[PairKey] = field(default_factory=frozenset)


def limits_of_set(gold: GoldSet, votes: Sequence[Vote]) -> VoteLimits:
    """The limits that follow from the set and its votes; the caller adds the others."""
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
    """The judge and the kind of judge for rows that do not name them, as the person who merges the
    files gives them; `source` marks rulings and spot checks."""

    judge: str = ""
    kind: VoteKind | None = None
    source: str = ""
    at: datetime


class MergedVotes(msgspec.Struct, frozen=True, kw_only=True):
    """The new votes of some files. `already` counts rows that repeat a known vote, `outdated` those
    among them that the judge has changed since; `left_out` are invalid rows of a partial merge."""

    new: list[Vote]
    already: int
    outdated: int
    left_out: list[BallotProblem] = []


@dataclass(frozen=True, kw_only=True)
class _BallotVote:
    """A ballot and its vote; `repeats` is the known vote that it repeats, if it does."""

    ballot: Ballot
    vote: Vote
    repeats: Vote | None


def merge_ballots(
    files: Iterable[Ballots], limits: VoteLimits, defaults: MergeDefaults, *, partial: bool = False
) -> MergedVotes:
    """The ballots of all files as votes, in their order. One invalid row refuses all of them; with
    `partial`, only itself."""
    box = _VoteBox(limits.votes)
    problems, good = list[BallotProblem](), 0
    for file in files:
        given, wrong = _read_file(file, limits, defaults, box)
        problems += [*file.bad, *wrong, *([file.missing] if file.missing else [])]
        good += len(given)
        for each in given:
            box.take(each)
    if problems and not partial:
        raise _refusal(problems, good)
    return MergedVotes(new=box.new, already=box.already, outdated=box.outdated, left_out=problems)


def _read_file(
    file: Ballots, limits: VoteLimits, defaults: MergeDefaults, box: _VoteBox
) -> tuple[list[_BallotVote], list[BallotProblem]]:
    """The votes of a file, and the rows that are invalid. Of two rows on one pair neither counts,
    nor of two rows in two files that do not say which is later: only the judge knows which one is
    meant, and the order in which files are named decides nothing."""
    given, problems = list[_BallotVote](), list[BallotProblem]()
    seats, contested = dict[Seat, str](), set[Seat]()
    for ballot in file.rows:
        try:
            vote = _vote_of(ballot, file, limits, defaults)
            repeats = box.repeated(ballot, vote)
            if repeats is None:
                box.refuse_unfit_name(ballot, vote.judge)
                refuse_unfit_vote(ballot, vote, limits, file.has_rationales)
                _refuse_other_kind(ballot, vote, box.kinds)
            seat = _seat_of(vote)
            if not ballot.id and seats.setdefault(seat, ballot.where) != ballot.where:
                contested.add(seat)
                raise _second_vote_error(ballot, vote, f"line {seats[seat].rpartition(':')[2]}")
            if repeats is None and (other := box.clashing(ballot, vote)):
                contested.add(seat)
                raise _second_vote_error(ballot, vote, other)
        except InputError as error:
            problems.append(problem_of(error))
            continue
        given.append(_BallotVote(ballot=ballot, vote=vote, repeats=repeats))
    return [each for each in given if _seat_of(each.vote) not in contested], problems


def _refusal(problems: Sequence[BallotProblem], good: int) -> InputError:
    """One error for all invalid rows, so that nobody has to fix a file row by row."""
    first, *others = problems
    lines = [f"  {each.where}: {each.message}" for each in others[: NAMED_ROWS - 1]]
    if len(problems) > NAMED_ROWS:
        lines.append(f"  and {len(problems) - NAMED_ROWS} more")
    rest = f"--partial imports the other {counted(good, 'row')}." if good else ""
    return InputError(
        "\n".join([first.message, *lines]),
        where=first.where,
        hint=f"{first.hint} {rest}".strip(),
    )


class _VoteBox:
    """The known votes of a set, and the new ones of the files that are merged."""

    def __init__(self, votes: Sequence[Vote]) -> None:
        self._book = book_of(votes)
        self.known = {vote.id: vote for vote in votes}
        self.holds = {_seat_of(vote): vote for vote in self._book.all_current_votes()}
        self.kinds = {vote.judge: vote.kind for vote in votes if vote.judge != IMPORTED}
        self._looks = {spelling_skeleton(judge): judge for judge in self.kinds}
        self.new: list[Vote] = []
        self.already = self.outdated = 0
        self._ruled: dict[PairKey, list[str]] = {}  # the last ruling of these files, by pair
        # what these files brought, and the vote before it
        self._brought: dict[Seat, tuple[_BallotVote, Vote | None]] = {}
        # without these files, whose order decides nothing
        self._earlier = by_pair(votes)
        self._past: dict[Seat, list[Vote]] = {}
        for vote in votes:
            self._past.setdefault(_seat_of(vote), []).append(vote)

    def repeated(self, ballot: Ballot, vote: Vote) -> Vote | None:
        """The known vote that this one repeats. Tools send back what was sent to them, without ids,
        times or reasons; a judge who votes again has a later time, or other words."""
        if there := self.known.get(vote.id):
            _refuse_rewritten(ballot, vote, there)
            return there
        if ballot.id:
            return None
        for there in reversed(self._past.get(_seat_of(vote), [])):
            if there.source == WITHDRAWN:
                continue
            if there.grade == vote.grade and _is_nothing_new(ballot, vote, there):
                return there
        return None

    def refuse_unfit_name(self, ballot: Ballot, judge: str) -> None:
        """Refuse the name of a judge that has too much, or what cannot be seen, or that a reader
        would take for the name of another judge."""
        if judge in self.kinds:
            return
        other = self._looks.setdefault(spelling_skeleton(judge), judge)
        if len(judge) > LONGEST_NAME:
            problem = f"the name of the judge has {len(judge):,} characters"
        elif not judge.isprintable():
            problem = f"the name of the judge contains invisible characters: {judge!a}"
        elif folded(other) != folded(judge):
            problem = f"the name {judge!r} looks like {other!r}, who is another judge"
        else:
            return
        raise InputError(problem, where=ballot.where, hint=f"Correct the name. {UNCHANGED}")

    def clashing(self, ballot: Ballot, vote: Vote) -> str:
        """The row of another file with the same judge and pair at the same moment, which is removed
        too; empty if there is none."""
        seat = _seat_of(vote)
        other, before = self._brought.get(seat, (None, None))
        if ballot.id or other is None or other.ballot.id or other.vote.at != vote.at:
            return ""
        del self._brought[seat], self.known[other.vote.id], self.holds[seat]
        self._past[seat].pop()
        self.new = [each for each in self.new if each.id != other.vote.id]
        if before is not None:
            self.holds[seat] = before
        return other.ballot.where

    def take(self, ballot_vote: _BallotVote) -> None:
        vote, seat = ballot_vote.vote, _seat_of(ballot_vote.vote)
        if ballot_vote.repeats is not None:
            self.already += 1
            self.outdated += seat not in self.holds or self.holds[seat].id != ballot_vote.repeats.id
            return
        if vote.id in self.known:  # twice in these files
            self.already += 1
            return
        before = self.holds.get(seat)
        if not ballot_vote.ballot.at and not ballot_vote.ballot.id:
            vote = _timed_after(vote, self._earlier.get((vote.query_id, vote.doc_id), ()))
        if before is not None and time_of(vote.at) < time_of(
            before.at
        ):  # their judge has changed it since
            self.already += 1
            self.outdated += 1
            return
        superseded = dict.fromkeys([*vote.supersedes.split(), *self._replaced(vote)])
        vote = msgspec.structs.replace(vote, supersedes=" ".join(superseded))
        self.holds[seat] = vote
        self._brought[seat] = ballot_vote, before
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
            held = [v.id for v in self._book.votes_in_memory(pair) if v.source in (RULING, EDITED)]
            return self._ruled.get(pair) or held
        if role_of(vote.source):
            before = self.holds.get(_seat_of(vote))
            return [before.id] if before is not None else []
        earlier, _ = self._brought.get(_seat_of(vote), (None, None))
        if earlier is not None:
            return [earlier.vote.id]
        return [one.id for one in self._book.votes_to_supersede(vote.judge, pair)]


def _timed_after(vote: Vote, past: Iterable[Vote]) -> Vote:
    """A row without a time gets the present time, after the earlier votes on its pair."""
    now = datetime.fromisoformat(vote.at)
    at = not_before(now, past, now)
    return msgspec.structs.replace(vote, at=at.isoformat(timespec="seconds"))


def _is_nothing_new(ballot: Ballot, vote: Vote, earlier: Vote) -> bool:
    """Whether a ballot with the judge, pair and grade of a known vote only repeats it. A vote
    without a reason never replaces one with a reason."""
    if ballot.rationale not in ("", earlier.rationale.strip()):
        return False
    if ballot.echo == earlier.id or (earlier.rationale and not ballot.rationale):
        return True
    return (
        (not ballot.at or vote.at == earlier.at)
        and _is_same_value(ballot.document, earlier.document)
        and _is_same_value(ballot.rubric, earlier.rubric)
    )


def _is_same_value(now: str, earlier: str) -> bool:
    """Whether two values are equal, as far as both are known."""
    return not now or not earlier or now == earlier


def _refuse_rewritten(ballot: Ballot, vote: Vote, earlier: Vote) -> None:
    """Votes never change: an id that comes back with other content is another vote, or the file was
    edited."""
    if ballot.id and any(getattr(vote, name) != getattr(earlier, name) for name in _FIXED):
        raise InputError(
            f"the vote {vote.id!r} of {earlier.judge} on {earlier.doc_id!r} for query "
            f"{earlier.query_id!r} is in the log with different content",
            where=ballot.where,
            hint=f"Votes never change. Give a new vote a new id, or none. {UNCHANGED}",
        )


_FIXED = ("query_id", "doc_id", "judge", "grade", "rationale", "kind")


def _seat_of(vote: Vote) -> Seat:
    return vote.query_id, vote.doc_id, vote.judge, role_of(vote.source)


def _vote_of(ballot: Ballot, file: Ballots, limits: VoteLimits, defaults: MergeDefaults) -> Vote:
    judge = (ballot.judge or defaults.judge).strip()
    if not judge:
        raise InputError("the row names no judge", where=ballot.where, hint="Give --judge NAME.")
    if defaults.kind and ballot.kind and defaults.kind != ballot.kind:
        raise InputError(
            f"the file has {judge} as {ballot.kind}, but --kind is {defaults.kind}",
            where=ballot.where,
            hint=UNCHANGED,
        )
    if ballot.source == RULING and not defaults.source and not ballot.id:
        raise InputError(
            "the row is a ruling, which `gold merge` does not import",
            where=ballot.where,
            hint=f"Import it with `assay gold adjudicate SET --from FILE --by NAME`. {UNCHANGED}",
        )
    kind = ballot.kind or defaults.kind or "human"
    source = defaults.source or ballot.source or ("" if file.has_rationales else IMPORTED)
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
        at=_moment(ballot, defaults.at),
        rationale=ballot.rationale,
        rubric=ballot.rubric or ("" if ballot.id else limits.rubric),
        document=ballot.document,
        seconds=ballot.seconds,
        supersedes=ballot.supersedes,
        source=source,
    )


def _moment(ballot: Ballot, now: datetime) -> str:
    """The time of a vote in UTC, so that times can be compared; the present time if the file has
    none. A day stays a day. A vote from the future would replace all later ones."""
    if not ballot.at:
        return "" if ballot.id else now.astimezone(UTC).isoformat(timespec="seconds")
    try:
        given = datetime.fromisoformat(ballot.at)
        moment = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(
            f"{ballot.at[:40]!r} is not a date or time",
            where=ballot.where,
            hint=f"Write it as 2026-01-31 or 2026-01-31T14:00:00Z. {UNCHANGED}",
        ) from None
    if moment > now + _AHEAD:
        raise InputError(
            f"the vote has a date in the future, {ballot.at}",
            where=ballot.where,
            hint=f"Check the clock of the judge's computer. {UNCHANGED}",
        )
    return ballot.at if _DAY.fullmatch(ballot.at) else moment.isoformat()


# ── votes that are refused ────────────────────────────────────────────────────────────────────────


def refuse_unfit_vote(ballot: Ballot, vote: Vote, limits: VoteLimits, has_rationales: bool) -> None:
    """Refuse a vote that does not belong to this set. A vote that the log had before (its ballot
    has an id) may be on a document that is gone since, and may have any rationale."""
    problems: Iterator[tuple[str, str]] = _problems(vote, limits)
    if not ballot.id:
        problems = chain(problems, _problems_of_new(vote, limits, has_rationales))
    if found := next(problems, None):
        problem, hint = found
        raise InputError(problem, where=ballot.where, hint=f"{hint} {UNCHANGED}".strip())


def _problems(vote: Vote, limits: VoteLimits) -> Iterator[tuple[str, str]]:
    """The problems of a vote, and what to do about them."""
    if vote.query_id not in limits.queries:
        yield (
            f"the gold set {limits.gold.name!r} has no query {vote.query_id!r}",
            "Check that this is the set that was judged.",
        )
    if vote.grade is not None and limits.grades is not None and vote.grade not in limits.grades:
        graded = f"grade {vote.grade} of {vote.doc_id} on query {vote.query_id}"
        yield f"{graded} is not on the scale, which is {_scale(limits.grades)}", ""


def _problems_of_new(
    vote: Vote, limits: VoteLimits, has_rationales: bool
) -> Iterator[tuple[str, str]]:
    pair = (vote.query_id, vote.doc_id)
    allowed = limits.allowed_pairs
    if allowed is not None and pair not in allowed and pair not in limits.judged:
        yield (
            f"{vote.doc_id!r} on query {vote.query_id!r} was not assigned to anyone",
            "Add --unasked to import it anyway.",
        )
    if limits.documents is not None and vote.doc_id not in limits.documents:
        yield (
            f"the corpus has no document {vote.doc_id!r}",
            "Check that this is the corpus that was judged.",
        )
    if vote.grade is not None and not vote.rationale:
        if vote.source == RULING:
            yield "the ruling has no rationale", "Explain why this grade is right."
        if limits.needs_rationale and has_rationales:
            yield (
                f"{vote.doc_id} on query {vote.query_id} has no rationale, and the rubric requires "
                "one",
                "Ask the judge to write it.",
            )
    if problem := too_long(
        vote.rationale, f"the reason for {vote.doc_id} on query {vote.query_id}"
    ):
        yield problem, "Ask the judge to shorten it."


def _scale(grades: Set[int]) -> str:
    ordered = sorted(grades)
    if ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))


def _second_vote_error(ballot: Ballot, vote: Vote, before: str) -> InputError:
    return InputError(
        f"{vote.judge} has already voted on {vote.doc_id!r} for query {vote.query_id!r}, "
        f"in {before}",
        where=ballot.where,
        hint=f"Keep one of the two. {UNCHANGED}",
    )


def _refuse_other_kind(ballot: Ballot, vote: Vote, kinds: Mapping[str, VoteKind]) -> None:
    """Refuse a name that is both a person and a machine: a machine's vote could pass for a
    person's."""
    kind = kinds.get(vote.judge, vote.kind)
    if kind != vote.kind:
        raise InputError(
            f"{vote.judge} has voted as {kind} before; this vote is {vote.kind}",
            where=ballot.where,
            hint=f"Use --kind {kind}, or give the other judge another name. {UNCHANGED}",
        )
