"""Which votes hold, labels that become votes, votes on documents that have changed, and what counts
as a reason in three languages."""

from __future__ import annotations

import re

import msgspec
import pytest

from assay.core.types import Document, GoldSet, Query, Vote, judgment_frame
from assay.gold.people import IMPORTED
from assay.gold.votes import (
    RULING,
    SPOT_CHECK,
    WITHDRAWN,
    book_of,
    contradicts_itself,
    current_votes,
)
from assay.judging.votes import document_fingerprint, is_reason, label_votes_of, stale, stale_in
from kit.votes import VOTED_AT as AT
from kit.votes import vote


def _holding(*votes: Vote) -> list[str]:
    return sorted(vote.id for vote in current_votes(votes))


def test_a_vote_holds_until_another_supersedes_it_whatever_their_times() -> None:
    old = vote("old", at="2026-01-02", supersedes="new")
    assert _holding(vote("new", at="2026-01-03"), old) == ["old"]
    assert _holding(old, vote("new", at="2026-01-03")) == ["old"]  # in either order of lines
    assert _holding(old, vote("new"), vote("last", supersedes="old")) == ["last"]
    both = vote("both", supersedes="a b")
    assert _holding(vote("a"), vote("b", grade=2), both) == ["both"]


def test_votes_of_two_copies_both_hold_and_contradict_each_other() -> None:
    one, other = vote("one"), vote("other", grade=2, at="2026-01-03")
    assert _holding(one, other) == ["one", "other"]
    assert contradicts_itself([one, other])
    assert not contradicts_itself([one, vote("same", at="2026-01-03")])
    assert not contradicts_itself([one, vote("ben", judge="ben", grade=2)])
    assert not contradicts_itself([one, vote("spot", grade=2, source=SPOT_CHECK)])
    assert not contradicts_itself([one, vote("ruling", grade=2, source=RULING)])
    two = [vote(judge, judge=judge, grade=n, source=RULING) for n, judge in enumerate("ab")]
    assert contradicts_itself(two)


def test_rulings_and_spot_checks_stand_beside_votes() -> None:
    votes = [
        vote("a"),
        vote("c", source=RULING, grade=2),
        vote("d", source=SPOT_CHECK, grade=0),
        vote("e", judge="ben", grade=2),
    ]
    assert _holding(*votes) == ["a", "c", "d", "e"]
    book = book_of(votes)
    assert [vote.id for vote in book.current_votes_by_judges(("q", "d"))] == ["a", "e"]
    assert [vote.id for vote in book.votes_to_supersede("ada", ("q", "d"))] == ["a"]


def test_a_vote_that_was_taken_back_is_as_if_not_given() -> None:
    gone = vote("x", grade=None, judge="chair", supersedes="a", source=WITHDRAWN)
    assert _holding(vote("a"), gone) == []
    assert _holding(vote("a"), vote("b", judge="ben"), gone) == ["b"]
    assert _holding(vote("a"), gone, vote("c", supersedes="x")) == ["c"]
    book = book_of([vote("a"), gone])
    assert book.current_vote_of("ada", ("q", "d")) is None
    # the next vote of the judge supersedes the withdrawal, though somebody else made it
    assert [vote.id for vote in book.votes_to_supersede("ada", ("q", "d"))] == ["x"]


def test_labels_are_votes_of_nobody() -> None:
    gold = GoldSet(
        name="g",
        queries=(Query(id="q", text="x"),),
        judgments=judgment_frame(
            ["q"] * 4, ["a", "b", "c", "d"], [2, 1, 0, 1], judge=["", "bea", "", ""],
            rationale=["", "", "so", ""], source=["", "", "", "s"], at=["", AT, "", ""],
        ),
    )  # fmt: skip
    found = label_votes_of(
        gold, book_of([vote("v", doc_id="z"), vote("w", query_id="z", doc_id="a")])
    )
    told = [(v.doc_id, v.grade, v.judge, v.source, v.at, v.rationale) for v in found]
    assert told == [
        ("a", 2, IMPORTED, IMPORTED, "", ""), ("b", 1, "bea", "", AT, ""),
        ("c", 0, IMPORTED, "", "", "so"), ("d", 1, IMPORTED, "s", "", "")]  # fmt: skip
    assert label_votes_of(gold, book_of([])) == found
    assert {v.kind for v in found} == {"human"}
    assert len({v.id for v in found}) == 4
    assert label_votes_of(gold, book_of(found)) == []  # taken in once
    voted = book_of([vote("v", doc_id="b")])
    assert [v.doc_id for v in label_votes_of(gold, voted)] == ["a", "c", "d"]


def test_a_document_that_reads_otherwise_makes_votes_stale() -> None:
    document = Document(id="d", title="t", text="x", fields={"question": "q", "summary": "s"})
    mark = document_fingerprint(document)
    assert re.fullmatch("[0-9a-f]{12}:[0-9a-f]{12}:[0-9a-f]{12}", mark)
    retitled = Document(id="e", title="u", text="x", fields={"question_synthetic": "q"})
    assert mark == document_fingerprint(retitled)  # what a judge reads is the same
    same, other, bare = vote("a", document=mark), vote("b", document="f", judge="b"), vote("c")
    given = [same, other, msgspec.structs.replace(bare, judge="c")]
    assert stale(given, {"d": document}) == {"b": ("title, text or fields",)}
    assert stale(given, {}) == {}
    changed = msgspec.structs.replace(document, text="y", fields={"conclusion": "c"})
    assert stale([same], {"d": changed}) == {"a": ("text", "question", "conclusion")}
    assert [each.id for each in stale_in(given, [document, Document(id="x")])] == ["b"]
    before = vote("e", document="63efaaea572b33b9")  # one hash, as earlier versions wrote it
    assert stale_in([before], [Document(id="d", title="t", text="x")]) == []
    again = vote("d", judge="b", document=mark, supersedes="b")  # who has read the new text
    assert stale_in([*given, again], [document]) == []


# ── reasons ───────────────────────────────────────────────────────────────────────────────────────

STARTS = [
    "The same kind of decision, but another kind of interest: ",
    "Another area of the law: ",
]


@pytest.mark.parametrize(
    "text",
    [
        "The same ticket rule.",
        "Sama esteellisyysperuste asunnosta",
        "Eri hankintalakisäännös",
        "אותו כלל של מתנה",
        f"{STARTS[0]}a source of income",
        "The same kind of decision about a lease",
        "Another area of the law entirely",
        "Another area of the law: gifts",
        "Another area of the law: lobbying",
        "Another area of the law: tax",
    ],
)
def test_a_few_words_are_a_reason(text: str) -> None:
    assert is_reason(text, STARTS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "Other",
        "no no",
        "a b c d",
        "1 0 1 0",
        "...",
        "עניין אחר",
        STARTS[0],
        STARTS[0].rstrip(": "),
        f"{STARTS[0]}x",
        "Another area of the law too.",
        "It is decided by the following rule:",
    ],
)
def test_a_letter_or_a_bare_start_is_none(text: str) -> None:
    assert not is_reason(text, STARTS)
