"""An approval taken back: row, queue and votes are what they were, and nothing else is touched."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats.votes_jsonl import RULING, WITHDRAWN, append, read_votes, votes_path
from assay.review import rulings
from assay.review.bootstrap import Group, Options, bootstrap, with_settled
from assay.review.pairs import settle_pair, unsettle_pair
from assay.review.rulings import Correction, Word, votes_on
from assay.review.taking_back import approval_of, unapprove, votes_back
from assay.store import Store
from assay.store.records import Decision, ReviewItem, Ruling, SearchLog, Shown

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
DAFNA = Word(by="Dafna", why="right", at=NOW)
BACK = Word(by="Noa", at=LATER)


@pytest.fixture
def gold(store: Store, tmp_path: Path) -> Path:
    for query in ("first", "second"):
        shown = (Shown("a", 1), Shown("b", 2))
        store.add_searches([SearchLog(id=query, at=NOW, query=query, corpus="c", results=shown)])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a", "b"))])
    bootstrap(store, tmp_path / "gold-set.jsonl", Options(), now=NOW)
    return tmp_path / "gold-set.jsonl"


def row_item(store: Store, ref: str = "g001") -> ReviewItem:
    return next(i for i in store.review_items(kind="gold_row") if i.ref == ref)


def rows(path: Path) -> dict[str, Any]:
    return {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}


def settled(store: Store, gold: Path, doc_id: str, grade: int) -> ReviewItem:
    """A word on one document, by the same expert at the same moment as an approval."""
    item = ReviewItem(
        id="p1", gold="gold-set", kind="judgment", key=f"g001|{doc_id}", ref="g001", query="first",
        created_at=NOW, doc_ids=(doc_id,),
    )  # fmt: skip
    store.add_review_items([item])
    votes = votes_on("g001", {doc_id: grade}, DAFNA)
    ruling = Ruling(item=item, state="approved", by="Dafna", at=NOW, votes=votes)
    settle_pair(store, gold, ruling, grade)
    return next(i for i in store.review_items(kind="judgment") if i.id == "p1")


def test_an_approved_row_waits_again_and_its_votes_are_withdrawn(store: Store, gold: Path) -> None:
    before = gold.read_bytes()
    rulings.promote(store, gold, ["g001", "g002"], DAFNA)
    given = {vote.id for vote in read_votes(votes_path(gold)) if vote.query_id == "g001"}
    unapprove(store, gold, [row_item(store)], BACK)
    assert rows(gold)["g002"]["source"] == "chair"
    assert gold.read_bytes().splitlines()[0] == before.splitlines()[0]
    assert (row_item(store).state, row_item(store, "g002").state) == ("pending_review", "approved")
    taken = [vote for vote in read_votes(votes_path(gold)) if vote.source == WITHDRAWN]
    assert {vote.supersedes for vote in taken} == given
    assert {(vote.grade, vote.judge, vote.kind, vote.at) for vote in taken} == {
        (None, "Noa", "human", LATER.isoformat())
    }
    entry = store.audit(action="review.pending_review")[0]
    assert (entry.by, entry.at, entry.reason) == ("Noa", LATER, "approval taken back")
    assert (entry.before or {})["source"] == "chair"
    assert (entry.after or {})["source"] == "bootstrap"


def test_a_correction_taken_back_leaves_what_it_did_not_change(store: Store, gold: Path) -> None:
    line = json.dumps({**rows(gold)["g001"], "mine": 1})
    gold.write_text(line + "\n")
    rulings.correct(store, gold, "g001", Correction(add=("z",), note="see z"), DAFNA)
    unapprove(store, gold, [row_item(store)], BACK)
    assert rows(gold) == {"g001": json.loads(line)}


def test_what_was_decided_on_row_and_document_at_one_moment_is_told_apart(
    store: Store, gold: Path
) -> None:
    rulings.promote(store, gold, ["g001"], DAFNA)
    pair = settled(store, gold, "b", 0)
    assert rows(gold)["g001"]["relevant_case_law_ids"] == ["a"]
    then, given = approval_of(store, pair)
    assert (then.source, then.relevant_case_law_ids) == ("chair", ("a", "b"))
    assert (given.source, given.relevant_case_law_ids) == ("chair", ("a",))
    then, given = approval_of(store, row_item(store))
    assert (then.source, given.source) == ("bootstrap", "chair")
    assert given.relevant_case_law_ids == ("a", "b")
    # the row's word is on both documents, the pair's on one
    taken = {vote.supersedes for vote in votes_back(gold, pair, "Noa", LATER)}
    assert [vote.id in taken for vote in read_votes(votes_path(gold))] == [False, False, True]


def test_a_document_is_in_its_row_again_where_it_was(store: Store, gold: Path) -> None:
    pair = settled(store, gold, "a", 0)
    assert rows(gold)["g001"]["relevant_case_law_ids"] == ["b"]
    before, _ = approval_of(store, pair)
    votes = votes_back(gold, pair, "Noa", LATER)
    ruling = Ruling(item=pair, state="pending_review", by="Noa", at=LATER, votes=votes)
    unsettle_pair(store, gold, ruling, before)
    assert rows(gold)["g001"]["relevant_case_law_ids"] == ["a", "b"]
    assert row_item(store).doc_ids == ("a", "b")


def test_an_undo_at_the_moment_of_a_decision_is_no_part_of_it(tmp_path: Path) -> None:
    """Of an older vote, by the same person."""
    item = ReviewItem(
        id="p1", gold="gold-set", kind="judgment", key="k", ref="g001", query="first",
        created_at=NOW, doc_ids=("a",), state="approved", decided_at=NOW, decided_by="Dafna",
    )  # fmt: skip

    def vote(id: str, at: datetime, source: str, over: str = "") -> Vote:
        grade = None if source == WITHDRAWN else 1
        return Vote(id=id, query_id="g001", doc_id="a", grade=grade, judge="Dafna", kind="human",
                    at=at.isoformat(), source=source, supersedes=over)  # fmt: skip

    old, given = vote("o", NOW - timedelta(days=1), ""), vote("v", NOW, "suggested by m")
    gold = tmp_path / "gold-set.jsonl"
    append(votes_path(gold), [old, vote("u", NOW, WITHDRAWN, "o"), given])
    assert [each.supersedes for each in votes_back(gold, item, "Noa", LATER)] == ["v"]


def test_what_cannot_be_taken_back_is_said_and_changes_nothing(store: Store, gold: Path) -> None:
    with pytest.raises(InputError, match="not given on this page"):
        unapprove(store, gold, [row_item(store)], BACK)
    rulings.promote(store, gold, ["g001", "g002"], DAFNA)
    with pytest.raises(InputError, match="say who"):
        unapprove(store, gold, [row_item(store)], Word(by=" ", at=LATER))
    gold.write_text(gold.read_text().replace('"second"', '"edited"'))
    before = gold.read_bytes()
    with pytest.raises(InputError, match="changed after it was approved"):
        unapprove(store, gold, [row_item(store), row_item(store, "g002")], BACK)
    assert gold.read_bytes() == before
    assert row_item(store).state == "approved"
    assert len(read_votes(votes_path(gold))) == 4


def test_an_approval_taken_back_leaves_what_was_said_of_one_document() -> None:
    """Taking the row back takes its rulings back, not the vote on a document before."""
    at = "2026-05-31T12:00:00+00:00"
    said = Vote(id="a", query_id="g001", doc_id="z", grade=1, judge="d", kind="human", at=at)
    ruled = msgspec.structs.replace(said, id="b", source=RULING)
    undone = msgspec.structs.replace(ruled, id="c", grade=None, source=WITHDRAWN, supersedes="b")
    group = Group(key="k", query="q", corpus="", practice_area="", doc_ids=("a",))
    (kept,) = with_settled([group], {"k": "g001"}, [said, ruled, undone])
    assert kept.doc_ids == ("a", "z")
