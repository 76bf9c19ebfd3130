"""Somebody else was faster, and what was decided is taken back: nothing that was acknowledged is
overridden, and an act and its undo leave rows, bytes and standing votes as they were."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.core.types import Vote
from assay.formats import votes_jsonl
from assay.formats.vote_order import current
from assay.formats.votes_jsonl import append, read_votes, votes_path
from assay.review import pairs, rulings, taking_back
from assay.review.one_step import Overtaken
from assay.review.rulings import Correction, Stale, Word
from assay.store import Store
from assay.store.records import ReviewItem
from assay.workbench import review, review_word
from assay.workbench.opening import Service
from assay.workbench.review_word import Pick, Refused, Said
from waiting_rows import NOW, gold, store_url

__all__ = ["gold", "store_url"]

DANA, EVE = Word(by="dana", why="so", at=NOW), Word(by="eve", why="so", at=NOW)


@pytest.fixture
def service(store: Store, gold: Path, tmp_path: Path) -> Service:
    return Service(store=store, gold_sets={"gold-set": gold}, home=tmp_path, clock=lambda: NOW)


def item(store: Store, ref: str = "g001", kind: str = "gold_row") -> ReviewItem:
    return next(each for each in store.review_items(kind=kind) if each.ref == ref)


def seen(*items: ReviewItem) -> dict[str, Any]:
    """What a page sends of the decisions that it shows."""
    return {each.id: each.decided_at for each in items}


def standing(gold: Path) -> set[tuple[str, str, int | None]]:
    return {(v.judge, v.doc_id, v.grade) for v in current(read_votes(votes_path(gold)))}


def while_it_waits(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """The next who waits for the lock gets it after another has acted."""
    locked, acts = rulings.locked_set, iter([act])

    @contextlib.contextmanager
    def waiting(store: Store, path: Path) -> Iterator[None]:
        for first in acts:
            first()
        with locked(store, path):
            yield

    for module in (rulings, taking_back, pairs):
        monkeypatch.setattr(module, "locked_set", waiting)


# ── somebody was faster ───────────────────────────────────────────────────────────────────────────

ONLY_B = Correction(relevant=("b",))


@pytest.mark.parametrize("act", ["reject", "approve", "correct"])
@pytest.mark.parametrize("first", ["correct", "promote", "reject"])
def test_who_was_faster_is_not_overridden(
    service: Service, gold: Path, monkeypatch: pytest.MonkeyPatch, act: str, first: str
) -> None:
    store, shown = service.store, item(service.store)
    firsts: dict[str, Callable[[], object]] = {
        "correct": lambda: rulings.correct(store, gold, "g001", ONLY_B, DANA),
        "promote": lambda: rulings.promote(store, gold, ["g001"], DANA),
        "reject": lambda: rulings.reject(store, gold, ["g001"], DANA),
    }
    while_it_waits(monkeypatch, firsts[first])
    word = review_word.reject if act == "reject" else review_word.approve
    said = Said(
        reason="no",
        seen=shown.doc_ids,
        row=review_word.fingerprint(shown),
        documents=("a",) if act == "correct" else None,
    )
    with pytest.raises(Refused, match="g001 is decided already, by dana") as error:
        word(service, shown.id, said, by="eve")
    assert error.value.key == "decided"
    assert [entry.by for entry in store.audit(subject="gold-set/g001")] == ["dana"]
    assert {vote.judge for vote in read_votes(votes_path(gold))} == {"dana"}


def test_of_many_only_what_another_decided_is_left(
    service: Service, gold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [item(service.store, ref) for ref in ("g001", "g002")]
    picks = [Pick(id=each.id, seen=review_word.fingerprint(each)) for each in both]
    while_it_waits(monkeypatch, lambda: rulings.reject(service.store, gold, ["g001"], DANA))
    done = review_word.approve_many(service, picks, by="eve")
    assert (done.done, list(done.refused)) == ([both[1].id], [both[0].id])
    assert "g001 is decided already, by dana" in done.refused[both[0].id]


def test_what_the_file_and_the_queue_have_otherwise_by_now_is_not_decided(
    service: Service, gold: Path
) -> None:
    """Also where the queue has followed the file already."""
    shown = item(service.store)
    gold.write_bytes(gold.read_bytes().replace(b'["a","b"]', b'["a","b","x"]', 1))
    with pytest.raises(Stale):
        rulings.promote(service.store, gold, ["g001"], EVE)
    assert item(service.store).doc_ids == ("a", "b", "x")
    with pytest.raises(Stale):
        rulings.promote(service.store, gold, ["g001"], EVE, [shown])


@pytest.mark.parametrize("act", [review_word.reject, review_word.approve])
def test_a_row_that_is_the_chairs_by_now_does_not_wait(
    service: Service, gold: Path, act: Callable[..., object]
) -> None:
    shown = item(service.store)
    gold.write_bytes(gold.read_bytes().replace(b'"bootstrap"', b'"chair"', 1))
    content = gold.read_bytes()
    with pytest.raises(Refused, match="changed since you saw it"):
        act(service, shown.id, Said(reason="no"), by="eve")
    assert gold.read_bytes() == content
    assert not votes_path(gold).exists()
    assert (item(service.store).state, item(service.store).decided_by) == ("approved", "file")


def test_an_undo_takes_back_the_decision_it_names(
    service: Service, gold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = service.store
    rulings.promote(store, gold, ["g001"], DANA)

    def decide_anew() -> None:
        taking_back.unapprove(store, gold, [item(store)], EVE)
        rulings.promote(store, gold, ["g001"], Word(by="zoe", why="yes", at=NOW))

    approved = item(store)
    while_it_waits(monkeypatch, decide_anew)
    done = review_word.take_back(service, [approved.id], by="dana")
    assert (done.done, list(done.refused)) == ([], [approved.id])
    assert item(store).decided_by == "zoe"
    assert standing(gold) == {("zoe", "a", 1), ("zoe", "b", 1)}
    with pytest.raises(Overtaken):
        taking_back.unapprove(store, gold, [approved], DANA)


# ── taken back ────────────────────────────────────────────────────────────────────────────────────


def test_a_row_comes_back_as_the_chair_had_it_whatever_was_said_of_a_suggestion(
    service: Service, gold: Path
) -> None:
    store = service.store
    rulings.correct(store, gold, "g001", Correction(relevant=("b", "z"), note="see z"), DANA)
    review.suggest(service, "gold-set", ("g001", "a"), 1, rationale="", by="m", allow_unknown=True)
    before, held = gold.read_bytes(), standing(gold)
    rulings.reject(store, gold, ["g001"], DANA)
    review_word.reject(service, item(store, kind="judgment").id, Said(reason="no"), by="dana")
    assert review_word.take_back(service, [item(store).id], by="dana").refused == {}
    assert (gold.read_bytes(), item(store).state) == (before, "approved")
    assert standing(gold) == held == {("dana", "a", 0), ("dana", "b", 1), ("dana", "z", 1)}


@pytest.mark.parametrize("state", ["waits", "approved by dana", "approved by eve"])
@pytest.mark.parametrize("back", ["dana", "eve"])
def test_a_rejection_taken_back_leaves_no_word_of_it(
    service: Service, gold: Path, state: str, back: str
) -> None:
    if state != "waits":
        rulings.promote(service.store, gold, ["g001"], Word(by=state.split()[-1], at=NOW))
    before, held = gold.read_bytes(), standing(gold)
    rulings.reject(service.store, gold, ["g001"], DANA)
    rejected = item(service.store)
    done = review_word.take_back(service, [rejected.id], by=back, seen=seen(rejected))
    assert done.done == [rejected.id]
    assert (gold.read_bytes(), standing(gold)) == (before, held)


MINE = b'{ "id":"g002", "mine": [1], "query":"two","relevant_case_law_ids":["a","b"],"corpus":"c",'
MINE += b'"source":"bootstrap","note":"\xd7\x90" }'


@pytest.mark.parametrize(("head", "end"), [(b"", b""), (b"\xef\xbb\xbf", b"\n"), (b"# x\r\n", b"")])
@pytest.mark.parametrize("order", list(itertools.permutations(["g001", "g002", "g003"], 2)))
def test_rows_come_back_byte_for_byte_where_they_were(
    store: Store, gold: Path, head: bytes, end: bytes, order: tuple[str, str]
) -> None:
    one, _, three = gold.read_bytes().splitlines()
    comment = b"# on the second"
    gold.write_bytes(head + b"\n".join([one, comment, MINE, b"", comment, three]) + end)
    before = gold.read_bytes()
    for ref in order:
        rulings.reject(store, gold, [ref], DANA)
    for ref in reversed(order):
        taking_back.reopen(store, gold, ref, EVE)
    assert gold.read_bytes() == before
    rulings.reject(store, gold, list(order), DANA)  # both in one step, and back in either order
    for ref in order:
        taking_back.reopen(store, gold, ref, EVE)
    assert [json.loads(line)["id"] for line in gold.read_text("utf-8-sig").splitlines()
            if line.startswith("{")] == ["g001", "g002", "g003"]  # fmt: skip


def test_a_rejection_made_anew_is_left_by_who_saw_the_first(store: Store, gold: Path) -> None:
    rulings.reject(store, gold, ["g001"], DANA)
    first = item(store)
    taking_back.reopen(store, gold, "g001", EVE)
    rulings.reject(store, gold, ["g001"], EVE)
    before = gold.read_bytes(), standing(gold)
    with pytest.raises(Overtaken):
        taking_back.reopen(store, gold, "g001", DANA, [first])
    assert (gold.read_bytes(), standing(gold), item(store).state) == (*before, "rejected")
    taking_back.reopen(store, gold, "g001", DANA, [item(store)])


def test_what_a_chair_said_as_a_judge_is_not_taken_back(store: Store, gold: Path) -> None:
    rulings.promote(store, gold, ["g001"], DANA)
    own = Vote(id="own", query_id="g001", doc_id="a", grade=0, judge="dana", kind="human",
               at=(NOW + timedelta(hours=1)).isoformat())  # fmt: skip
    append(votes_path(gold), [own])
    taking_back.unapprove(store, gold, [item(store)], DANA)
    assert current(read_votes(votes_path(gold))) == [own]


@pytest.mark.parametrize(
    ("then", "now", "place"),
    [
        ("1a2b3", "1cd3", 2),  # both neighbours are gone: as far down as it was
        ("1a2b3", "13ad", 3),  # below the line that it was below
        ("a2b13", "a13b", 3),  # or else above the line that it was above
        ("1a2b3", "b1a3", 0),
    ],
)
def test_a_row_finds_its_place_in_a_file_that_was_edited(
    store: Store, gold: Path, then: str, now: str, place: int
) -> None:
    rows = dict(zip("123", gold.read_bytes().splitlines(), strict=True))
    lines = rows | {name: f"# {name}".encode() for name in "abcd"}
    gold.write_bytes(b"".join(lines[name] + b"\n" for name in then))
    rulings.reject(store, gold, ["g002"], DANA)
    gold.write_bytes(b"".join(lines[name] + b"\n" for name in now))
    taking_back.reopen(store, gold, "g002", DANA)
    assert gold.read_bytes().splitlines().index(rows["2"]) == place


def test_the_mark_of_a_first_line_stays_at_the_beginning_of_a_file(
    store: Store, gold: Path
) -> None:
    one = gold.read_bytes().splitlines()[0]
    gold.write_bytes(b"\xef\xbb\xbf" + gold.read_bytes())
    rulings.reject(store, gold, ["g001"], DANA)
    gold.write_bytes(b"# mine\n" + gold.read_bytes())
    taking_back.reopen(store, gold, "g001", DANA)
    assert gold.read_bytes().splitlines()[:2] == [b"# mine", one]


def test_an_approval_taken_back_leaves_the_bytes_of_its_line(store: Store, gold: Path) -> None:
    one, _, three = gold.read_bytes().splitlines(keepends=True)
    gold.write_bytes(one + MINE + b"\n" + three)
    before = gold.read_bytes()
    rulings.correct(store, gold, "g002", Correction(add=("z",), note="new"), DANA)
    taking_back.unapprove(store, gold, [item(store, "g002")], EVE)
    assert gold.read_bytes() == before
    rulings.promote(store, gold, ["g002"], DANA)
    gold.write_bytes(gold.read_bytes().replace(b'"mine":[1]', b'"mine":[2]'))
    taking_back.unapprove(store, gold, [item(store, "g002")], EVE)
    assert json.loads(gold.read_bytes().splitlines()[1]) == {**json.loads(MINE), "mine": [2]}


def test_many_suggestions_hide_no_approval(service: Service, gold: Path) -> None:
    rulings.promote(service.store, gold, ["g001"], DANA)
    for n in range(21):
        asked: dict[str, Any] = {"rationale": "", "by": f"m{n}", "allow_unknown": True}
        new = review.suggest(service, "gold-set", ("g001", "a"), 1, **asked)
        review_word.approve(service, new.id, Said(), by="dana")
    row = item(service.store)
    assert review_word.take_back(service, [row.id], by="dana").done == [row.id]


def test_what_was_said_anew_of_a_document_is_taken_back_first(service: Service, gold: Path) -> None:
    made = []
    for by, grade in (("m1", 1), ("m2", 0)):
        asked: dict[str, Any] = {"rationale": "", "by": by, "allow_unknown": True}
        new = review.suggest(service, "gold-set", ("g001", "z"), grade, **asked)
        before = gold.read_bytes(), standing(gold)
        review_word.approve(service, new.id, Said(), by="dana")
        made.append((new.id, before))
    first, second = made
    decided = seen(*service.store.review_items(kind="judgment"))
    done = review_word.take_back(service, [first[0]], by="eve", seen=decided)
    assert "something else was said of the same document since" in done.refused[first[0]]
    for id, before in (second, first):
        (stood,) = current(read_votes(votes_path(gold)))
        assert review_word.take_back(service, [id], by="eve", seen=decided).done == [id]
        assert (gold.read_bytes(), standing(gold)) == before
        assert read_votes(votes_path(gold))[-1].supersedes == stood.id


def test_a_clock_that_stands_still_keeps_decisions_apart(service: Service, gold: Path) -> None:
    before = gold.read_bytes()
    for documents in (("a",), ("a", "b"), ("b",)):
        shown = item(service.store)
        review_word.approve(service, shown.id, Said(documents=documents), by="dana")
        assert standing(gold) == {("dana", d, int(d in documents)) for d in ("a", "b")}
        assert review_word.take_back(service, [shown.id], by="dana").done == [shown.id]
        assert (gold.read_bytes(), standing(gold)) == (before, set())
    moments = [entry.at for entry in service.store.audit(subject="gold-set/g001")]
    assert len(set(moments)) == 6
    assert max(moments) < NOW + timedelta(seconds=1)


def test_many_that_are_decided_while_the_disk_is_full_are_written_when_pressed_again(
    service: Service, gold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [item(service.store, ref) for ref in ("g001", "g002")]
    picks = [Pick(id=each.id, seen=review_word.fingerprint(each)) for each in both]
    ids = [each.id for each in both]

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(votes_jsonl, "_write", full)
        done = review_word.approve_many(service, picks, by="dana")
        assert (done.done, done.refused) == (ids, {})
        assert "is made, but its files cannot be written" in done.unwritten
        again = review_word.approve_many(service, picks, by="dana")
        assert (again.already, "cannot be written" in again.unwritten) == (ids, True)
        assert read_votes(votes_path(gold)) == []
    again = review_word.approve_many(service, picks, by="dana")
    assert (again.already, again.unwritten, len(standing(gold))) == (ids, "", 2)
    assert gold.read_bytes().count(b'"chair"') == 3


# ── which decision is meant ───────────────────────────────────────────────────────────────────────


def test_an_undo_of_an_older_decision_leaves_the_newer_one(service: Service, gold: Path) -> None:
    review_word.approve(service, item(service.store).id, Said(), by="dana")
    old = item(service.store)
    review_word.take_back(service, [old.id], by="dana")
    review_word.approve(service, old.id, Said(), by="eve")
    before = gold.read_bytes(), standing(gold)
    undone = review_word.take_back(service, [old.id], by="dana", seen=seen(old))
    assert (undone.done, "decided anew since" in undone.refused[old.id]) == ([], True)
    assert "by eve" in undone.refused[old.id]
    assert (gold.read_bytes(), standing(gold), item(service.store).state) == (*before, "approved")
    newer = item(service.store)
    assert review_word.take_back(service, [old.id], by="dana", seen=seen(newer)).done == [old.id]


@pytest.mark.parametrize("again", [False, True])
def test_who_names_no_decision_takes_back_their_own_alone(
    service: Service, gold: Path, again: bool
) -> None:
    review_word.approve(service, item(service.store).id, Said(), by="dana")
    id = item(service.store).id
    if again:
        review_word.take_back(service, [id], by="dana")
        review_word.approve(service, id, Said(), by="eve")
    undone = review_word.take_back(service, [id], by="dana")
    assert undone.done == ([] if again else [id])
    assert not again or "was decided by eve" in undone.refused[id]
    assert item(service.store).state == ("approved" if again else "pending_review")


# ── decided, and not yet written ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("act", ["approve", "reject", "take back"])
def test_one_that_is_decided_while_the_disk_is_full_is_written_when_pressed_again(
    service: Service, gold: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    id, said = item(service.store).id, Said(reason="no")
    if act == "take back":
        review_word.approve(service, id, said, by="dana")

    def press() -> review_word.Decided | review_word.Bulk:
        if act == "take back":
            return review_word.take_back(service, [id], by="dana")
        word = review_word.approve if act == "approve" else review_word.reject
        return word(service, id, said, by="dana")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = read_votes(votes_path(gold))
    with monkeypatch.context() as patched:
        patched.setattr(votes_jsonl, "_write", full)
        for already in (False, True):
            done = press()
            assert "is made, but its files cannot be written" in done.unwritten
            assert bool(done.already) == already
        assert read_votes(votes_path(gold)) == before
    again = press()
    assert (bool(again.already), again.unwritten) == (True, "")
    assert len(read_votes(votes_path(gold))) == len(before) + 2
    expected = {"approve": 2, "reject": 1, "take back": 1}[act]
    assert gold.read_bytes().count(b'"chair"') == expected
