"""A process that is killed between the gold set and the store leaves nothing that the next one does
not heal."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.formats import gold_jsonl, votes_jsonl
from assay.formats.gold_jsonl import GoldRow
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.judging.votes import current as votes_of
from assay.review import intents, one_step, rulings
from assay.review.bootstrap import Options, bootstrap
from assay.review.changed_rows import merge_rows
from assay.store import Store, StoreUnavailable, open_store
from assay.store.records import Ruling
from assay.workbench import review, review_word
from assay.workbench.doctor import examine
from assay.workbench.health import gold_health
from assay.workbench.opening import Service, open_service
from assay.workbench.voting import Allowed, merge_files
from interrupted import MADE, NOW, STEPS, WORD, gold, killed_in, left, standing, start
from voted_sets import labels

__all__ = ["gold"]


@pytest.mark.parametrize("place", STEPS)
def test_what_was_committed_is_finished_at_the_next_start_and_all_else_is_not_begun(
    gold: Path, place: str
) -> None:
    before = standing(gold)
    killed_in(gold, place)
    assert left(gold)
    checkup = examine(str(gold.with_name("assay.db")), home=gold.parent)
    assert checkup.status == "failed"
    assert checkup.gold.interrupted == ["gold-set"]  # type: ignore[union-attr]
    finished = [said for said in start(gold) if "decision on g001 was interrupted, and is" in said]
    assert len(finished) == (place in MADE)
    assert before == ("bootstrap", 0, 0, "pending_review")
    assert standing(gold) == (("chair", 1, 1, "approved") if place in MADE else before)
    assert not left(gold)


@pytest.mark.parametrize("place", [STEPS[0], STEPS[1], STEPS[3], STEPS[4]])
@pytest.mark.parametrize("old", [b"", b"old"])
def test_a_baseline_and_what_it_publishes_are_one_step(gold: Path, place: str, old: bytes) -> None:
    baseline = gold.with_name("baseline.json")
    if old:
        baseline.write_bytes(old)
    store = open_store(gold.with_name("assay.db"))
    rulings.promote(store, gold, ["g001"], WORD)
    store.close()

    def published(store: Store) -> None:
        service = Service(store=store, gold_sets={"gold-set": gold}, home=gold.parent)
        review.publish(service, gold, baseline, b"new", by="ci")

    killed_in(gold, place, published)
    start(gold)
    made = place in MADE
    assert standing(gold)[3] == ("published" if made else "approved")
    assert baseline.exists() == bool(made or old)
    assert not baseline.exists() or baseline.read_bytes() == (b"new" if made else old)
    assert not left(gold)


def test_no_file_shows_what_was_not_committed(gold: Path) -> None:
    then = gold.read_bytes()
    killed_in(gold, "before the commit")
    assert (gold.read_bytes(), read_votes(votes_path(gold))) == (then, [])


@pytest.mark.parametrize("place", STEPS)
def test_the_next_decision_heals_as_well(gold: Path, place: str) -> None:
    killed_in(gold, place)
    store = open_store(gold.with_name("assay.db"))
    done = rulings.promote(store, gold, ["g001"], WORD)
    assert (done.ids, done.already)[place in MADE] == ("g001",)
    store.close()
    assert standing(gold) == ("chair", 1, 1, "approved")
    assert not left(gold)


@pytest.mark.parametrize("place", STEPS)
def test_the_bootstrap_heals_as_well(gold: Path, place: str) -> None:
    killed_in(gold, place)
    store = open_store(gold.with_name("assay.db"))
    bootstrap(store, gold, Options(), now=NOW)
    store.close()
    assert standing(gold)[3] == ("approved" if place in MADE else "pending_review")
    assert not left(gold)


@pytest.mark.parametrize("place", STEPS)
def test_another_store_leaves_it_alone_and_doctor_names_it(gold: Path, place: str) -> None:
    killed_in(gold, place)
    were = left(gold), gold.read_bytes(), read_votes(votes_path(gold))
    start(gold, "other.db")
    assert (left(gold), gold.read_bytes(), read_votes(votes_path(gold))) == were
    store = open_store(gold.with_name("other.db"))
    told = gold_health(store, {"gold-set": gold})
    expected = [f"gold-set (by {gold.with_name('assay.db')})"]
    assert (told.interrupted, told.interrupted_elsewhere) == ([], expected)
    store.close()
    start(gold)
    assert standing(gold)[3] == ("approved" if place in MADE else "pending_review")
    assert standing(gold)[0] == ("chair" if place in MADE else "bootstrap")


def test_two_stores_decide_on_one_set_beside_each_other(gold: Path) -> None:
    killed_in(gold, "after the commit")
    store = open_store(gold.with_name("other.db"))
    rulings.promote(store, gold, ["g001"], WORD)
    store.close()
    assert len(left(gold)) == 1
    start(gold)
    assert standing(gold)[:1] + standing(gold)[3:] == ("chair", "approved")
    assert not left(gold)


@pytest.mark.parametrize("act", ["promote", "reject"])
@pytest.mark.parametrize("full", [False, True])
def test_what_else_was_edited_since_stays_and_the_decision_reaches_its_row(
    gold: Path, act: str, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = gold_jsonl.row_line(GoldRow(id="x", query="another", source="chair"))
    gold.write_bytes(gold.read_bytes() + other.raw)

    def decide(store: Store) -> object:
        return getattr(rulings, act)(store, gold, ["g001"], WORD)

    if full:
        with pytest.raises(InputError) as told:
            _decide_on_a_full_disk(gold, decide, monkeypatch)
        assert str(told.value).count("Nothing") == 1
    else:
        killed_in(gold, "after the commit", decide)
    edited = gold.read_bytes().replace(b"another", b"a third")
    gold.write_bytes(b"# mine\n" + edited)
    assert any("is finished now" in said for said in start(gold))
    lines = gold_jsonl.read_lines(gold)
    found = [(row.id, row.query, row.source) for row in gold_jsonl.rows(lines)]
    kept = [("x", "a third", "chair")]
    assert found == ([("g001", "first", "chair"), *kept] if act == "promote" else kept)
    assert lines[0].raw == b"# mine\n"
    store = open_store(gold.with_name("assay.db"))
    assert store.review_items()[0].state == ("approved" if act == "promote" else "rejected")
    store.close()
    assert [vote.grade for vote in read_votes(votes_path(gold))] == [int(act == "promote")]
    assert examine(str(gold.with_name("assay.db")), home=gold.parent).status == "ok"


def _decide_on_a_full_disk(
    gold: Path, decide: Callable[[Store], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    store = open_store(gold.with_name("assay.db"))
    with monkeypatch.context() as patch:
        patch.setattr(votes_jsonl, "_write", full)
        try:
            decide(store)
        finally:
            store.close()


@pytest.mark.parametrize("act", ["promote", "reject"])
@pytest.mark.parametrize("edit", ["reworded", "other documents", "a note", "taken out"])
def test_a_decision_on_a_row_that_was_edited_since_is_taken_back(
    gold: Path, act: str, edit: str
) -> None:
    killed_in(
        gold,
        "after the commit",
        lambda store: getattr(rulings, act)(store, gold, ["g001"], WORD),
    )
    was = gold.read_bytes()
    edits = {"reworded": (b'"first"', b'"1st"'), "other documents": (b'["a"]', b'["z"]'),
             "a note": (b'"note":"', b'"note":"wait: ')}  # fmt: skip
    now = was.replace(*edits[edit]) if edit in edits else b"# nothing\n"
    gold.write_bytes(now)
    start(gold)
    start(gold)
    assert gold.read_bytes() == now
    store = open_store(gold.with_name("assay.db"))
    gone_for_good = edit == "taken out" and act == "reject"  # as it was decided
    found = [(item.ref, item.state) for item in store.review_items()]
    waits = [] if edit == "taken out" else [("g001", "pending_review")]
    assert found == ([("g001", "rejected")] if gone_for_good else waits)
    store_votes = store.votes("gold-set")
    store.close()
    votes = read_votes(votes_path(gold))
    assert sorted(vote.id for vote in votes) == sorted(vote.id for vote in store_votes)
    assert len(votes_of(votes)) == int(gone_for_good)
    assert not left(gold)


@pytest.mark.parametrize("act", ["promote", "reject"])
def test_doctor_names_what_is_decided_and_open_in_the_file(gold: Path, act: str) -> None:
    then, store = gold.read_bytes(), open_store(gold.with_name("assay.db"))
    decide = getattr(rulings, act)
    decide(store, gold, ["g001"], WORD)
    assert gold_health(store, {"gold-set": gold}).status == "ok"
    gold.write_bytes(then)  # an older copy, from git or a backup
    told = gold_health(store, {"gold-set": gold})
    state = "approved" if act == "promote" else "rejected"
    assert told.status == "failed"
    assert told.differing == [
        f"gold-set: g001 is {state} in the store and open in the file; "
        f"{'approve' if act == 'promote' else act} it again with `assay gold {act}`"
    ]
    decide(store, gold, ["g001"], WORD)  # as it says
    assert gold_health(store, {"gold-set": gold}).status == "ok"
    store.close()


def test_a_word_on_a_document_reaches_a_row_with_other_documents() -> None:
    row = GoldRow(id="g", query="q", relevant_case_law_ids=("a", "b"), source="bootstrap")

    def lines(*ids: str, query: str = "q") -> list[gold_jsonl.Line]:
        changed = msgspec.structs.replace(row, relevant_case_law_ids=ids, query=query)
        return [gold_jsonl.row_line(changed)]

    before, after = lines("a", "b"), lines("b", "c")
    assert merge_rows(lines("a", "b", "d"), before, after) == (lines("b", "d", "c"), [])
    reworded = lines("a", "b", query="other")
    assert merge_rows(reworded, before, after) == (reworded, ["g"])
    assert merge_rows(lines("a"), before, lines("b")) == (lines("a"), ["g"])  # none would be left
    assert merge_rows([], before, after) == ([], ["g"])
    assert merge_rows([], [], after) == (after, [])  # a rejection taken back
    assert merge_rows(before * 2, before, after) == (before * 2, ["g"])
    assert merge_rows(before, before, after, without={"g"}) == (before, [])  # decided on since


def test_a_decision_whose_file_is_edited_at_that_moment_is_refused(
    gold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(gold.with_name("assay.db"))
    begin = one_step.begin

    def edited(*given: Any) -> None:
        begin(*given)
        gold.write_bytes(b"# mine\n" + gold.read_bytes())

    monkeypatch.setattr(one_step, "begin", edited)
    with pytest.raises(InputError, match="edited meanwhile"):
        rulings.promote(store, gold, ["g001"], WORD)
    store.close()
    assert standing(gold) == ("bootstrap", 0, 0, "pending_review")
    assert gold.read_bytes().startswith(b"# mine\n")
    assert not left(gold)


def test_a_file_that_cannot_be_written_follows_later(
    gold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(gold.with_name("assay.db"))
    write = intents.write_atomic

    def full(path: Path, content: bytes) -> None:
        if path == gold:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(intents, "write_atomic", full)
    with pytest.raises(InputError, match="the decision on g001 is made, but its files cannot"):
        rulings.promote(store, gold, ["g001"], WORD)
    monkeypatch.undo()
    assert rulings.promote(store, gold, ["g001"], WORD).already == ("g001",)
    store.close()
    assert standing(gold) == ("chair", 1, 1, "approved")


def test_a_store_that_goes_away_with_the_commit_says_later_what_it_has(
    gold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(gold.with_name("assay.db"))
    rule = store.rule

    def gone(*given: Any, **more: Any) -> None:
        rule(*given, **more)
        gold.with_name("assay.db").rename(gold.with_name("elsewhere.db"))
        raise StoreUnavailable("the database is gone")

    monkeypatch.setattr(store, "rule", gone)
    with pytest.raises(StoreUnavailable):
        rulings.promote(store, gold, ["g001"], WORD)
    store.close()
    gold.with_name("elsewhere.db").rename(gold.with_name("assay.db"))
    start(gold)
    assert standing(gold) == ("chair", 1, 1, "approved")


@pytest.fixture
def suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A set whose labels change with a merge, and a suggestion that waits for it."""
    monkeypatch.chdir(tmp_path)
    dataset = tmp_path / "p" / "s.json"
    dataset.parent.mkdir()
    judged = [{"opinion_id": "d1", "score": 1}]
    queries = [{"id": "q1", "text": "first", "relevance_judgments": judged}]
    dataset.write_text(json.dumps({"queries": queries}))
    with open_service("p/assay.db", gold=[dataset]) as service:
        pair = ("q1", "d2")
        item = review.suggest(service, "s", pair, 1, rationale="r", by="a", allow_unknown=True)
    return dataset, item.id


def outcome(dataset: Path) -> tuple[str, list[str]]:
    """The state of the suggestion, and the documents that somebody has a vote on."""
    with open_service("p/assay.db", gold=[dataset]) as service:
        (item,) = service.store.review_items()
        votes = votes_of(read_votes(votes_path(dataset)))
        return item.state, sorted({vote.doc_id for vote in votes})


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_a_vote_and_its_record_are_one_step(
    suggested: tuple[Path, str], committed: bool, back: bool
) -> None:
    dataset, id = suggested
    before, after = ("pending_review", ["d1"]), ("approved", ["d1", "d2"])
    if back:
        with open_service("p/assay.db", gold=[dataset]) as service:
            review.rule_suggestion(service, id, accept=True, by="dana")
        before, after = after, before
    with (
        contextlib.suppress(Killed),
        open_service("p/assay.db", gold=[dataset]) as service,
    ):
        _copy_in(service.store, committed)
        if back:
            review_word.take_back(service, [id], by="dana")
        else:
            review.rule_suggestion(service, id, accept=True, by="dana")
    _as_then()
    assert left(dataset)
    merged(dataset)  # whoever reads the votes before the next start
    assert sorted(doc for _, doc in labels(dataset)) == before[1]
    assert outcome(dataset) == (after if committed else before)
    assert not left(dataset)


def test_a_later_word_stands_against_a_decision_whose_vote_comes_late(
    suggested: tuple[Path, str],
) -> None:
    dataset, id = suggested
    with contextlib.suppress(Killed), open_service("p/assay.db", gold=[dataset]) as service:
        _copy_in(service.store, committed=True)
        then = dataclasses.replace(service, clock=lambda: NOW)
        review.rule_suggestion(then, id, accept=True, by="dana")
    _as_then()
    ballot = dataset.with_name("b.csv")
    ballot.write_text("query_id,doc_id,grade,judge,rationale\nq1,d2,0,dana,on reflection not\n")
    merge_files(dataset, [ballot], allow=Allowed(unasked=True))
    assert outcome(dataset)[0] == "approved"  # healed at this start
    votes = [vote for vote in read_votes(votes_path(dataset)) if vote.doc_id == "d2"]
    assert [vote.grade for vote in votes] == [0, 1]
    assert [vote.grade for vote in votes_of(votes)] == [0]
    assert not left(dataset)


def merged(dataset: Path) -> None:
    ballot = dataset.with_name("b.csv")
    ballot.write_text("query_id,doc_id,grade,judge,rationale\nq1,d1,1,ruth,because\n")
    merge_files(dataset, [ballot], allow=Allowed(unasked=True))


class Killed(BaseException):
    """All is as it was when the copy was made."""


def _copy_in(store: Store, committed: bool) -> None:
    """The files as a kill would leave them there."""
    real = store.rule

    def rule(given: Sequence[Ruling], then: Callable[[], None]) -> None:
        def saved() -> None:
            then()
            if not committed:
                shutil.copytree("p", "then")
                raise Killed

        real(given, then=saved)
        shutil.copytree("p", "then")
        raise Killed

    store.rule = rule  # type: ignore[assignment, method-assign]


def _as_then() -> None:
    """In the files that there are: a store in another file is a copy, which forgets nothing."""
    for path in Path("p").iterdir():
        if not Path("then", path.name).exists():
            path.unlink()
    for path in Path("then").iterdir():
        shutil.copyfile(path, Path("p", path.name))


def test_without_the_vote_there_is_no_decision(suggested: tuple[Path, str]) -> None:
    dataset, id = suggested
    votes_path(dataset).write_text("no vote\n")
    with open_service("p/assay.db", gold=[dataset]) as service:
        with pytest.raises(InputError):
            review.rule_suggestion(service, id, accept=True, by="dana")
        assert review.item_of(service, id).state == "pending_review"  # type: ignore[union-attr]
    votes_path(dataset).unlink()
    assert not left(dataset)
