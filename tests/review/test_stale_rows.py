"""A row that was changed in its file after it was shown is not decided on: not on the page, not by
the API, not by the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.review import rulings
from assay.review.rulings import Correction, Stale
from assay.store import Store
from assay.store.records import ReviewItem
from assay.workbench import review, review_word
from assay.workbench.opening import Service
from assay.workbench.review_word import Pick, Refused, Said
from command_line import Assay
from waiting_rows import WORD, gold, store_url

__all__ = ["gold", "store_url"]

CHANGES: dict[str, tuple[bytes, bytes]] = {
    "a document more": (b'["a","b"]', b'["a","b","x"]'),
    "a document less": (b'["a","b"]', b'["a"]'),
    "other words": (b'"one"', b'"one, but otherwise"'),
    "another corpus": (b'"corpus":"c"', b'"corpus":"other"'),
}


@pytest.fixture
def service(store: Store, gold: Path, tmp_path: Path) -> Service:
    return Service(store=store, gold_sets={"gold-set": gold}, home=tmp_path)


def shown(service: Service, ref: str = "g001") -> ReviewItem:
    return next(item for item in service.store.review_items() if item.ref == ref)


def changed(gold: Path, how: str) -> None:
    old, new = CHANGES[how]
    first, *others = gold.read_bytes().splitlines(keepends=True)
    gold.write_bytes(b"".join([first.replace(old, new), *others]))


def untouched(service: Service, gold: Path, content: bytes) -> bool:
    votes, trail = read_votes(votes_path(gold)), service.store.audit(action="review.approved")
    return not votes and not trail and gold.read_bytes() == content


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("act", ["approve", "correct", "reject"])
def test_a_row_that_changed_is_refused_and_shown_as_it_is(
    service: Service, gold: Path, how: str, act: str
) -> None:
    item = shown(service)
    changed(gold, how)
    content = gold.read_bytes()
    said = Said(reason="no", documents=("a",) if act == "correct" else None)
    word = review_word.reject if act == "reject" else review_word.approve
    with pytest.raises(Refused, match="The row g001 changed since you saw it") as error:
        word(service, item.id, said, by="dana")
    assert error.value.key == "changed"
    assert untouched(service, gold, content)
    now = shown(service)
    held = json.loads(gold.read_bytes().splitlines()[0])
    assert [now.query, now.corpus, list(now.doc_ids)] == [
        held["query"], held["corpus"], held["relevant_case_law_ids"]]  # fmt: skip
    # pressing again on the old page is refused too; who has looked again decides
    seen = Said(reason="no", seen=item.doc_ids, row=review_word.fingerprint(item))
    with pytest.raises(Refused):
        word(service, item.id, seen, by="dana")
    assert not word(service, now.id, Said(reason="no"), by="dana").already


@pytest.mark.parametrize("act", ["approve", "correct", "reject"])
@pytest.mark.parametrize("late", [False, True])
def test_a_note_that_was_written_since_is_seen_first(
    service: Service, gold: Path, act: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, first = shown(service), gold.read_bytes().splitlines(keepends=True)
    row = review_word.fingerprint(item, "")
    said = Said(reason="no", note="mine" if act == "correct" else "", row=row)
    noted = first[0].replace(b'"note":""', b'"note":"wait for the appeal"')
    content = b"".join([noted, *first[1:]])
    if late:  # between the look at the file and its lock
        looked = review_word.note_of

        def note_of(*given: Any) -> str:
            note = looked(*given)
            gold.write_bytes(content)
            return note

        monkeypatch.setattr(review_word, "note_of", note_of)
    else:
        gold.write_bytes(content)
    word = review_word.reject if act == "reject" else review_word.approve
    with pytest.raises(Refused, match="The row g001 changed since you saw it"):
        word(service, item.id, said, by="dana")
    assert untouched(service, gold, content)
    monkeypatch.undo()
    row = review_word.fingerprint(item, "wait for the appeal")
    again = msgspec.structs.replace(said, row=row)
    assert not word(service, item.id, again, by="dana").already


def test_of_many_only_what_changed_is_left(service: Service, gold: Path) -> None:
    items = [shown(service, ref) for ref in ("g001", "g002")]
    picks = [Pick(id=item.id, seen=review_word.fingerprint(item)) for item in items]
    changed(gold, "a document more")
    done = review_word.approve_many(service, picks, by="dana")
    assert (done.done, list(done.refused)) == ([items[1].id], [items[0].id])
    assert "The row g001 changed since you saw it" in done.refused[items[0].id]
    assert {vote.query_id for vote in read_votes(votes_path(gold))} == {"g002"}
    again = review_word.approve_many(service, picks, by="dana")
    assert (again.already, list(again.refused)) == ([items[1].id], [items[0].id])


Act = Callable[[Store, Path], object]


@pytest.mark.parametrize(
    "act",
    [
        lambda s, p: rulings.promote(s, p, ["g002", "g001"], WORD),
        lambda s, p: rulings.reject(s, p, ["g001"], WORD),
        lambda s, p: rulings.correct(s, p, "g001", Correction(add=("z",)), WORD),
    ],
)
def test_every_verb_refuses(service: Service, gold: Path, act: Act) -> None:
    changed(gold, "a document more")
    content = gold.read_bytes()
    with pytest.raises(Stale, match="the row changed since you saw it") as error:
        act(service.store, gold)
    assert error.value.where == "g001"
    assert untouched(service, gold, content)
    act(service.store, gold)


def test_the_command_refuses_once(assay_cli: Assay, tmp_path: Path) -> None:
    path = tmp_path / "gold-set.jsonl"
    kept = {"id": "g001", "query": "q", "practice_area": "a", "corpus": "c", "source": "bootstrap"}
    path.write_text(json.dumps(kept | {"relevant_case_law_ids": ["A"]}) + "\n")
    said = ("gold", "promote", "g001", "--by", "eve", "--gold", path)
    with_queue = ("gold", "reject", "g001", "--by", "eve", "--why", "x", "--gold", path)
    assert assay_cli(*with_queue).code == 0
    assert assay_cli("gold", "reopen", "g001", "--by", "eve", "--gold", path).code == 0
    path.write_text(path.read_text().replace('["A"]', '["A","B"]'))
    refused = assay_cli(*said)
    assert (refused.code, "the row changed since you saw it" in refused.err) == (2, True)
    assert json.loads(path.read_text())["source"] == "bootstrap"
    assert assay_cli(*said).code == 0


@pytest.mark.parametrize("name", ["gold-set.jsonl", "set.json"])
def test_a_suggestion_on_a_question_that_was_reworded(
    service: Service, gold: Path, tmp_path: Path, name: str
) -> None:
    if name == "set.json":
        gold = tmp_path / name
        gold.write_text(json.dumps({"queries": [{"id": "g001", "text": "one"}]}))
        service = Service(store=service.store, gold_sets={"gold-set": gold}, home=tmp_path)
    pair = ("g001", "z")
    item = review.suggest(service, "gold-set", pair, 1, rationale="", by="m", allow_unknown=True)
    gold.write_bytes(gold.read_bytes().replace(b'"one"', b'"something else"'))
    with pytest.raises(Refused, match="changed since you saw it"):
        review_word.approve(service, item.id, Said(), by="dana")
    assert not votes_path(gold).exists()
    now = review.item_of(service, item.id)
    assert now is not None
    assert (now.state, now.query) == ("pending_review", "something else")
    assert review_word.approve(service, item.id, Said(), by="dana").outcome == "approved"
    # taken back it can be, whatever the question reads by then
    gold.write_bytes(gold.read_bytes().replace(b'"something else"', b'"a third"'))
    assert review_word.take_back(service, [item.id], by="dana").done == [item.id]


def test_rows_that_are_as_shown_are_decided(service: Service, gold: Path) -> None:
    with gold.open("ab") as stream:
        stream.write(b"# a note of mine\n")
    item = shown(service)
    said = Said(seen=item.doc_ids, row=review_word.fingerprint(item))
    assert review_word.approve(service, item.id, said, by="dana").outcome == "approved"
    with pytest.raises(InputError):
        review_word.approve(service, shown(service, "g002").id, Said(row="0" * 16), by="dana")
