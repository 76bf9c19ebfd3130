"""Which votes hold, labels that become votes, and votes on documents that have changed."""

from __future__ import annotations

import msgspec

from assay.core.types import Document, GoldSet, Judgment, Query, Vote, judgments_to_frame
from assay.judging.votes import (
    RULING,
    SAMPLE,
    WITHDRAWN,
    book_of,
    contradicts_itself,
    current,
    document_fingerprint,
    stale_in,
    votes_of_labels,
)


def _vote(id: str, **fields: object) -> Vote:
    known = {"query_id": "q", "doc_id": "d", "grade": 1, "judge": "ada", "kind": "human"}
    return msgspec.convert({"id": id, "at": "2026-01-02", **known, **fields}, Vote)


def _holding(*votes: Vote) -> list[str]:
    return sorted(vote.id for vote in current(votes))


def test_a_vote_holds_until_another_supersedes_it_whatever_their_times() -> None:
    old = _vote("old", at="2026-01-02", supersedes="new")
    assert _holding(_vote("new", at="2026-01-03"), old) == ["old"]
    assert _holding(old, _vote("new", at="2026-01-03")) == ["old"]  # in either order of lines
    assert _holding(old, _vote("new"), _vote("last", supersedes="old")) == ["last"]
    both = _vote("both", supersedes="a b")
    assert _holding(_vote("a"), _vote("b", grade=2), both) == ["both"]


def test_votes_of_two_copies_both_hold_and_contradict_each_other() -> None:
    one, other = _vote("one"), _vote("other", grade=2, at="2026-01-03")
    assert _holding(one, other) == ["one", "other"]
    assert contradicts_itself([one, other])
    assert not contradicts_itself([one, _vote("same", at="2026-01-03")])
    assert not contradicts_itself([one, _vote("ben", judge="ben", grade=2)])
    assert not contradicts_itself([one, _vote("spot", grade=2, source=SAMPLE)])
    assert not contradicts_itself([one, _vote("ruling", grade=2, source=RULING)])
    two = [_vote(judge, judge=judge, grade=n, source=RULING) for n, judge in enumerate("ab")]
    assert contradicts_itself(two)


def test_rulings_and_spot_checks_stand_beside_votes() -> None:
    votes = [
        _vote("a"),
        _vote("c", source=RULING, grade=2),
        _vote("d", source=SAMPLE, grade=0),
        _vote("e", judge="ben", grade=2),
    ]
    assert _holding(*votes) == ["a", "c", "d", "e"]
    book = book_of(votes)
    assert [vote.id for vote in book.holding(("q", "d"))] == ["a", "e"]
    assert [vote.id for vote in book.last_of("ada", ("q", "d"))] == ["a"]


def test_a_vote_that_was_taken_back_is_as_if_not_given() -> None:
    gone = _vote("x", grade=None, judge="chair", supersedes="a", source=WITHDRAWN)
    assert _holding(_vote("a"), gone) == []
    assert _holding(_vote("a"), _vote("b", judge="ben"), gone) == ["b"]
    assert _holding(_vote("a"), gone, _vote("c", supersedes="x")) == ["c"]
    book = book_of([_vote("a"), gone])
    assert book.of("ada", ("q", "d")) is None
    # the next vote of the judge supersedes the withdrawal, though somebody else made it
    assert [vote.id for vote in book.last_of("ada", ("q", "d"))] == ["x"]


def test_labels_become_votes_once_and_only_where_nobody_has_voted() -> None:
    labels = [
        Judgment(query_id="q", doc_id="d", grade=2),
        Judgment(query_id="q", doc_id="e", grade=0, judge="ada", rationale="no"),
    ]
    gold = GoldSet(
        name="s", queries=(Query(id="q", text="?"),), judgments=judgments_to_frame(labels)
    )
    first, second = votes_of_labels(gold, book_of([]))
    assert (first.judge, first.source, first.at) == ("imported", "imported", "")
    assert (second.judge, second.source, second.rationale) == ("ada", "", "no")
    assert votes_of_labels(gold, book_of([first, second])) == []
    assert [vote.doc_id for vote in votes_of_labels(gold, book_of([_vote("x")]))] == ["e"]


def test_a_vote_on_a_document_that_has_changed_is_stale() -> None:
    was, now = (Document(id="d", text=text) for text in ("old", "new"))
    read, unknown = _vote("a", document=document_fingerprint(was)), _vote("b", judge="ben")
    assert stale_in([read, unknown], [was]) == []
    assert stale_in([read, unknown], [now]) == [read]
    again = _vote("c", document=document_fingerprint(now), supersedes="a")
    assert stale_in([read, again], [now]) == []  # who has read the new text is up to date
