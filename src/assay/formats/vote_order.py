"""The one order of votes: which word of a judge stands, for all who read them (decision 0030).

Votes are in the order of their times, whatever the order of lines and of files. That this is also
the order in which they were acknowledged is for those who write: a word that is given here is never
dated before one that it follows, whatever the clock says (`not_before`). An undo names the vote
that it takes back, and comes after it, whatever its own time.

At one moment they are in the order of lines, but none comes before the vote that it names
(`in_line`). So any two votes of a judge on a pair have an order, and it is the same for everybody
who has read the same lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats.votes_jsonl import RULING, SAMPLE, WITHDRAWN

_FIRST_DAY = "0000-01-01"


def current(votes: Iterable[Vote]) -> list[Vote]:
    """The vote of each judge on each pair that holds now: a later one supersedes the earlier.
    Rulings and spot checks stand beside the votes that their judge gave otherwise. One that was
    taken back, by its judge or by a chair, is as if it had not been given."""
    holds: dict[tuple[str, str, str, str], Vote] = {}
    given = in_line(votes)
    known = {vote.id: vote for vote in given}
    for vote in given:
        whose = said_of(vote, known)
        key = (whose.query_id, whose.doc_id, whose.judge, role_of(whose.source))
        before = holds.pop(key, None)
        holds[key] = later(vote, before, known)
    return [vote for vote in holds.values() if vote.source != WITHDRAWN]


def in_line(votes: Iterable[Vote]) -> list[Vote]:
    """As they were read, but each after the vote that it names: that was there first, however the
    lines were put together. Of votes that name each other in a circle none is lost."""
    read = {vote.id: vote for vote in votes}
    placed: dict[str, Vote] = {}
    for each in read.values():
        chain: dict[str, Vote] = {}
        vote: Vote | None = each
        while vote is not None and vote.id not in placed and vote.id not in chain:
            chain[vote.id] = vote
            vote = read.get(vote.supersedes)
        placed |= reversed(chain.items())
    return list(placed.values())


def later(vote: Vote, before: Vote | None, known: Mapping[str, Vote]) -> Vote:
    """The one of two that stands; at one moment the one that is later in line."""
    if before is None or _place(vote, known) >= _place(before, known):
        return vote
    return before


def said_of(vote: Vote, known: Mapping[str, Vote]) -> Vote:
    """The vote that an undo takes back, where it is known; any other vote itself."""
    return known.get(vote.supersedes, vote) if vote.source == WITHDRAWN else vote


def _place(vote: Vote, known: Mapping[str, Vote]) -> str:
    return max(vote.at, said_of(vote, known).at)


def role_of(source: str) -> str:
    """A judge may vote, rule and spot-check on one pair; each of these supersedes its own kind."""
    return source if source in (RULING, SAMPLE) else ""


def not_before(at: datetime, votes: Iterable[Vote], now: datetime) -> datetime:
    """The moment of a new word that is to stand against these. What was given in the future was
    given before the clock was put back: the new word comes after it all the same."""
    last = last_moment(votes)
    if last is None or last <= now.replace(microsecond=now.microsecond // 1000 * 1000):
        return at
    return moment_after(last, timedelta(seconds=1))


def last_moment(votes: Iterable[Vote]) -> datetime | None:
    """When the last of these was given; None where none says. Times compare as text, so a vote
    that says no more than a day (or a month) was given before all else of that day."""
    last = max((vote.at for vote in votes), default="")
    if not last:
        return None
    return datetime.fromisoformat(last + _FIRST_DAY[len(last) :]).replace(tzinfo=UTC)


def moment_after(last: datetime, step: timedelta) -> datetime:
    try:
        return last + step
    except OverflowError:
        raise InputError(
            f"a vote is dated {last.isoformat()}, and no word can follow it",
            hint="Correct its date in the votes beside the set.",
        ) from None
