"""A process that is killed between the gold set and the store leaves nothing that the next one does
not heal."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.formats import gold_jsonl
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.judging.votes import current as votes_of
from assay.review import rulings
from assay.review.bootstrap import Options, bootstrap
from assay.review.intents import intent_path, interrupted
from assay.review.rulings import Word
from assay.store import Store, open_store
from assay.store.records import Decision, Ruling, SearchLog, Shown
from assay.workbench import review, review_word
from assay.workbench.doctor import examine
from assay.workbench.opening import open_service

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
WORD = Word(by="Dafna", why="right", at=NOW)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    store = open_store(tmp_path / "assay.db")
    shown = (Shown("a", 1),)
    store.add_searches([SearchLog(id="l", at=NOW, query="first", corpus="c", results=shown)])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))])
    bootstrap(store, tmp_path / "gold-set.jsonl", Options(), now=NOW)
    store.close()
    return tmp_path / "gold-set.jsonl"


def killed_in(gold: Path, place: str) -> None:
    """Promote a row in a process that dies at this place, as by SIGKILL."""
    child = os.fork()
    if child == 0:
        store = open_store(gold.with_name("assay.db"))
        real = rulings._save

        def dying(path: Path, lines: list[gold_jsonl.Line]) -> None:
            if place == "before the file":
                os._exit(9)
            real(path, lines)
            if place == "before the commit":
                os._exit(9)

        rulings._save = dying  # type: ignore[assignment]
        if place == "after the commit":
            rulings.intended.__wrapped__.__globals__["intent_path"] = _dying_path(store)  # type: ignore[attr-defined]
        rulings.promote(store, gold, ["g001"], WORD)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def _dying_path(store: Store):  # type: ignore[no-untyped-def]
    def path(gold: Path) -> Path:
        if store.audit(action="review.approved"):
            os._exit(9)
        return intent_path(gold)

    return path


def standing(gold: Path) -> tuple[str, int, int, str]:
    """The row's source, its votes, its entries in the audit trail, and its state in the queue."""
    store = open_store(gold.with_name("assay.db"))
    source = gold_jsonl.rows(gold_jsonl.read_lines(gold))[0].source
    votes = len(read_votes(votes_path(gold))) if votes_path(gold).exists() else 0
    found = source, votes, len(store.audit(action="review.approved")), store.review_items()[0].state
    store.close()
    return found


@pytest.mark.parametrize("place", ["before the file", "before the commit"])
def test_what_was_not_committed_is_undone_at_the_next_start(gold: Path, place: str) -> None:
    before = standing(gold)
    killed_in(gold, place)
    assert interrupted(gold)
    checkup = examine(str(gold.with_name("assay.db")), home=gold.parent)
    assert checkup.status == "failed"
    assert checkup.gold.interrupted == ["gold-set"]  # type: ignore[union-attr]
    heard: list[str] = []
    with open_service(str(gold.with_name("assay.db")), gold=[gold], say=heard.append):
        pass
    undone = [said for said in heard if "decision on g001 was interrupted and is undone" in said]
    assert len(undone) == (place == "before the commit")  # before that, nobody sees a change
    assert standing(gold) == before == ("bootstrap", 0, 0, "pending_review")
    assert not interrupted(gold)


def test_what_was_committed_stays(gold: Path) -> None:
    killed_in(gold, "after the commit")
    assert interrupted(gold)
    with open_service(str(gold.with_name("assay.db")), gold=[gold]):
        pass
    assert standing(gold) == ("chair", 1, 1, "approved")
    assert not interrupted(gold)


def test_the_next_decision_heals_as_well(gold: Path) -> None:
    killed_in(gold, "before the commit")
    store = open_store(gold.with_name("assay.db"))
    assert rulings.promote(store, gold, ["g001"], WORD).ids == ("g001",)
    store.close()
    assert standing(gold) == ("chair", 1, 1, "approved")
    assert not interrupted(gold)


def test_a_file_that_was_edited_since_is_left_alone(gold: Path) -> None:
    killed_in(gold, "before the commit")
    gold.write_bytes(b"# mine\n" + gold.read_bytes())
    heard: list[str] = []
    with open_service(str(gold.with_name("assay.db")), gold=[gold], say=heard.append):
        pass
    assert gold.read_bytes().startswith(b"# mine\n")
    assert any("edited since" in said for said in heard)


@pytest.fixture
def suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A set whose labels change with a merge, and a suggestion that waits for it."""
    monkeypatch.chdir(tmp_path)
    qrels = tmp_path / "p" / "s.qrels"
    qrels.parent.mkdir()
    qrels.write_text("q1 0 d1 1\n")
    with open_service("p/assay.db", gold=[qrels]) as service:
        pair = ("q1", "d2")
        item = review.suggest(service, "s", pair, 1, rationale="r", by="a", allow_unknown=True)
    return qrels, item.id


def outcome(qrels: Path) -> tuple[str, list[str]]:
    """The state of the suggestion, and the documents that somebody has a vote on."""
    with open_service("p/assay.db", gold=[qrels]) as service:
        (item,) = service.store.review_items()
        votes = votes_of(read_votes(votes_path(qrels)))
        return item.state, sorted(vote.doc_id for vote in votes)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_a_vote_and_its_record_are_one_step(
    suggested: tuple[Path, str], committed: bool, back: bool
) -> None:
    qrels, id = suggested
    before, after = ("pending_review", ["d1"]), ("approved", ["d1", "d2"])
    if back:
        with open_service("p/assay.db", gold=[qrels]) as service:
            review.rule_suggestion(service, id, accept=True, by="dana")
        before, after = after, before
    with (
        contextlib.suppress(Killed),
        open_service("p/assay.db", gold=[qrels]) as service,
    ):
        _copy_in(service.store, committed)
        if back:
            review_word.take_back(service, [id], by="dana")
        else:
            review.rule_suggestion(service, id, accept=True, by="dana")
    shutil.rmtree("p")
    Path("then").rename("p")
    assert interrupted(qrels)
    assert outcome(qrels) == (after if committed else before)
    assert not interrupted(qrels)


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


def test_without_the_vote_there_is_no_decision(suggested: tuple[Path, str]) -> None:
    qrels, id = suggested
    votes_path(qrels).write_text("no vote\n")
    with open_service("p/assay.db", gold=[qrels]) as service:
        with pytest.raises(InputError):
            review.rule_suggestion(service, id, accept=True, by="dana")
        assert review.item_of(service, id).state == "pending_review"  # type: ignore[union-attr]
    votes_path(qrels).unlink()
    assert not interrupted(qrels)
