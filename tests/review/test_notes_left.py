"""Notes of decisions whose store was copied or moved, and notes that no store has signed."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.judging.votes import current
from assay.review import intents, rulings
from assay.store import Store, open_store
from assay.workbench import review
from assay.workbench.doctor import repair_sets
from assay.workbench.grading import GivenVote, save_vote
from assay.workbench.health import gold_health
from assay.workbench.opening import Service, open_service
from assay.workbench.voting import Allowed, merge_files
from command_line import Assay
from interrupted import MADE, STEPS, WORD, gold, killed_in, left, standing, start

__all__ = ["gold"]


# ── copies of a store ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", STEPS)
@pytest.mark.parametrize("copied", ["before", "after"])
def test_a_copy_of_a_store_forgets_nothing_of_the_first(
    gold: Path, place: str, copied: str
) -> None:
    database, copy = gold.with_name("assay.db"), gold.with_name("copy.db")
    store = open_store(database)
    store.identity()
    store.close()
    if copied == "before":
        shutil.copy(database, copy)
    killed_in(gold, place)
    if copied == "after":
        for end in ("", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(f"{database}{end}", f"{copy}{end}")
    start(gold, "copy.db")
    made = place in MADE
    finished = made and copied == "after"  # the commit is in the copy as well
    assert bool(left(gold)) != finished
    store = open_store(copy)
    assert store.review_items()[0].state == ("approved" if finished else "pending_review")
    told = gold_health(store, {"gold-set": gold})
    assert told.interrupted_elsewhere == ([] if finished else [f"gold-set (by {database})"])
    assert not told.interrupted
    store.close()
    start(gold)  # the first
    assert standing(gold) == (("chair", 1, 1, "approved") if made else
                              ("bootstrap", 0, 0, "pending_review"))  # fmt: skip
    assert not left(gold)


def test_a_copy_has_an_identity_of_its_own_and_a_moved_store_keeps_its(tmp_path: Path) -> None:
    first, copy, moved = (tmp_path / name for name in ("a.db", "b.db", "elsewhere/c.db"))
    store = open_store(first)
    known = store.identity()
    store.close()
    shutil.copy(first, copy)
    store = open_store(copy)
    assert (store.identity().own != known.own, store.identity().before) == (True, known.own)
    assert store.identity() == store.identity()
    store.close()
    moved.parent.mkdir()
    first.rename(moved)
    store = open_store(moved)
    assert store.identity() == known
    store.close()


def test_a_database_that_was_loaded_elsewhere_has_an_identity_of_its_own(postgres_url: str) -> None:
    import psycopg

    store = open_store(postgres_url)
    known = store.identity()
    store.close()
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    copy = postgres_url.replace(f"/{name}?", f"/{name}_copy?")
    with psycopg.connect(
        postgres_url.replace(f"/{name}?", "/postgres?"), autocommit=True
    ) as server:
        server.execute(f"CREATE DATABASE {name}_copy TEMPLATE {name}")  # type: ignore[arg-type]
        store = open_store(copy)
        assert (store.identity().own != known.own, store.identity().before) == (True, known.own)
        store.close()
        server.execute(f"DROP DATABASE {name}_copy WITH (FORCE)")  # type: ignore[arg-type]
    store = open_store(postgres_url)
    assert store.identity() == known
    store.close()


@pytest.mark.parametrize("place", STEPS)
def test_a_store_that_was_moved_finishes_what_it_began(gold: Path, place: str) -> None:
    killed_in(gold, place)
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{gold.with_name('assay.db')}{end}").rename(f"{gold.with_name('moved.db')}{end}")
    start(gold, "moved.db")
    assert not left(gold)
    store = open_store(gold.with_name("moved.db"))
    state = "approved" if place in MADE else "pending_review"
    assert store.review_items()[0].state == state
    store.close()


@pytest.mark.parametrize("place", ["after the file", "at the end"])
def test_a_row_that_is_as_it_was_decided_was_not_edited(gold: Path, place: str) -> None:
    killed_in(gold, place)
    gold.write_bytes(b"# mine\n" + gold.read_bytes())
    assert any("is finished now" in said for said in start(gold))
    assert standing(gold) == ("chair", 1, 1, "approved")


def test_a_row_that_was_made_the_chairs_by_hand_is_not_rejected(gold: Path) -> None:
    killed_in(gold, "after the commit", lambda store: rulings.reject(store, gold, ["g001"], WORD))
    gold.write_bytes(gold.read_bytes().replace(b'"bootstrap"', b'"chair"'))
    now = gold.read_bytes()
    assert any("was edited since, and stays so" in said for said in start(gold))
    store = open_store(gold.with_name("assay.db"))
    (item,) = store.review_items()
    store.close()
    assert (gold.read_bytes(), item.state, item.decided_by) == (now, "approved", "file")
    assert current(read_votes(votes_path(gold))) == []


# ── notes that are not signed ─────────────────────────────────────────────────────────────────────


def unsigned(gold: Path, form: str) -> None:
    """The note as an older version wrote it, or as a damaged disk leaves it."""
    (name,) = left(gold)
    note = gold.with_name(name)
    body = note.read_bytes().partition(b"\n")[2]
    if form == "damaged":
        note.write_bytes(note.read_bytes()[:-30])
    elif form == "second":
        note.write_bytes(body)
    else:
        told = json.loads(body)
        for each in told["rulings"]:
            each["subject"] = f"{each.pop('gold')}/{each.pop('ref')}"
        note.unlink()
        gold.with_name(f".{gold.name}.ruling").write_text(json.dumps(told))


@pytest.mark.parametrize("place", STEPS)
@pytest.mark.parametrize("form", ["first", "second", "damaged"])
def test_what_no_store_has_signed_is_finished_from_the_store(
    gold: Path, place: str, form: str, assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_in(gold, place)
    unsigned(gold, form)
    monkeypatch.chdir(gold.parent)
    database = gold.with_name("assay.db")
    store = open_store(database)
    told = gold_health(store, {"gold-set": gold})
    store.close()
    assert (told.status, len(told.unsigned), told.interrupted) == ("failed", 1, [])
    assert "assay doctor --repair" in told.unsigned[0]
    if form != "first":  # it would be mistaken for a decision that is under way
        assert any("doctor --repair" in said for said in start(gold))
    done = assay_cli("doctor", "--repair", "--store", database)
    assert "the note is now" in done.err
    assert not left(gold)
    assert len(list(gold.parent.glob(".*.ruling.aside"))) == 1
    made = place in MADE and form != "damaged"
    if form != "damaged":
        assert standing(gold) == (("chair", 1, 1, "approved") if made else
                                  ("bootstrap", 0, 0, "pending_review"))  # fmt: skip
        assert done.code == 0
    assert repair_sets(str(database)) == []
    store = open_store(database)
    rulings.promote(store, gold, ["g001"], WORD)  # the set can be decided on again
    store.close()
    assert standing(gold)[::3] == ("chair", "approved")


def test_a_row_that_was_edited_meanwhile_stays_and_is_named(gold: Path) -> None:
    killed_in(gold, "after the commit")
    unsigned(gold, "second")
    gold.write_bytes(gold.read_bytes().replace(b'"first"', b'"reworded"'))
    now = gold.read_bytes()
    (said,) = repair_sets(str(gold.with_name("assay.db")))
    assert "g001 reads otherwise there and stays so: decide on it again" in said
    assert gold.read_bytes() == now


def test_the_queue_follows_what_is_taken_from_the_store(gold: Path) -> None:
    database, sets = gold.with_name("assay.db"), {"gold-set": gold}
    store = open_store(database)
    service = Service(store=store, gold_sets=sets, home=gold.parent)
    pair = ("g001", "z")
    new = review.suggest(service, "gold-set", pair, 1, rationale="", by="m", allow_unknown=True)
    store.close()

    def accept(store: Store) -> object:
        there = Service(store=store, gold_sets=sets, home=gold.parent)
        return review.rule_suggestion(there, new.id, accept=True, by="Dafna")

    killed_in(gold, "after the commit", accept)
    unsigned(gold, "second")
    assert repair_sets(str(database))
    store = open_store(database)
    (row,) = store.review_items(kind="gold_row")
    store.close()
    assert (row.doc_ids, row.state) == (("a", "z"), "pending_review")
    assert [vote.doc_id for vote in read_votes(votes_path(gold))] == ["z"]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"rulings": 3}', b'{"rulings": ["x"]}', b"\xff"])
def test_a_note_that_says_nothing_is_put_aside(gold: Path, content: bytes) -> None:
    gold.with_name(f".{gold.name}.ruling").write_bytes(content)
    (said,) = repair_sets(str(gold.with_name("assay.db")))
    assert said == f"{gold}: the note is now .{gold.name}.ruling.aside"


def test_a_stranger_puts_nothing_into_the_files(gold: Path) -> None:
    """Of a note that nobody signed, only the names of rows are read."""
    killed_in(gold, "before the commit")
    before = gold.read_bytes()
    unsigned(gold, "second")
    assert repair_sets(str(gold.with_name("assay.db")))
    assert (gold.read_bytes(), read_votes(votes_path(gold))) == (before, [])


def test_the_note_of_another_store_stays(gold: Path) -> None:
    killed_in(gold, "after the commit")
    start(gold, "other.db")
    assert repair_sets(str(gold.with_name("other.db"))) == []
    assert left(gold)


# ── what is said while a decision is open ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(milliseconds=1), timedelta(hours=2)])
@pytest.mark.parametrize("how", ["merged", "page"])
def test_what_is_said_now_comes_after_a_decision_that_is_open(
    tmp_path: Path, ahead: timedelta, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same second, and after the clock was put back."""
    dataset, database = tmp_path / "s.json", str(tmp_path / "assay.db")
    judged = [{"opinion_id": "d1", "score": 1}]
    queries = [{"id": "q1", "text": "first", "relevance_judgments": judged}]
    dataset.write_text(json.dumps({"queries": queries}))
    with open_service(database, gold=[dataset]) as service:
        item = review.suggest(service, "s", ("q1", "d1"), 0, rationale="r", by="a")
        later = dataclasses.replace(service, clock=lambda: datetime.now(UTC) + ahead)

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(intents, "add_votes", full)
            with pytest.raises(InputError, match="is made, but"):
                review.rule_suggestion(later, item.id, accept=True, by="dana")
        if how == "page":
            why = "it decides the very question"
            given = GivenVote(id="v" * 32, set="s", query_id="q1", doc_id="d1", grade=2,
                              rationale=why)  # fmt: skip
            save_vote(service, given, "dana")
    if how == "merged":
        ballot = tmp_path / "b.csv"
        ballot.write_text("query_id,doc_id,grade,judge,rationale\nq1,d1,2,dana,on reflection\n")
        merge_files(dataset, [ballot], allow=Allowed(unasked=True))
    with open_service(database, gold=[dataset]):
        votes = [vote for vote in read_votes(votes_path(dataset)) if vote.judge == "dana"]
    assert {vote.grade for vote in votes} == {0, 2}
    assert [vote.grade for vote in current(votes)] == [2]


def test_a_forged_note_dates_nothing(gold: Path) -> None:
    killed_in(gold, "after the commit")
    (name,) = left(gold)
    note = gold.with_name(name)
    body = json.loads(note.read_bytes().partition(b"\n")[2])
    assert len(intents.votes_to_come(gold)) == 1
    for at in ("9999-12-31T23:59:59+00:00", "soon", "2026-05-31", "2026-05-31T12:00:00"):
        body["votes"][0]["at"] = at
        note.write_bytes(b"\n" + json.dumps(body).encode())
        assert intents.votes_to_come(gold) == []
