"""A clock that is put back: what is said afterwards is still what is said last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.core.types import Vote
from assay.judging.votes import RULING, not_before
from assay.review.bootstrap import Options, bootstrap
from assay.review.rulings import Word, promote, reject, reopen
from assay.store import open_store
from assay.store.records import Decision, SearchLog, Shown
from assay.workbench import adjudicating, voting
from assay.workbench.grading import save_vote
from assay.workbench.grading_views import GivenVote
from assay.workbench.opening import Service
from judged_pages import both, judged_set
from voted_sets import labels, write_set

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


def test_a_judge_changes_their_mind_after_the_clock_was_put_back(tmp_path: Path) -> None:
    path = judged_set(tmp_path, both(("q1", "d1")), judges=("Ada", "Ben"))
    store, clock = open_store(tmp_path / "assay.db"), Clock()
    service = Service(store=store, gold_sets={"set": path}, home=tmp_path, clock=clock)

    def say(grade: int, ago: float = 0) -> bool:
        given = GivenVote(id=f"vote-000{grade}-{ago}", set="set", query_id="q1", doc_id="d1",
                          grade=grade, rationale="it decides the point", ago=ago)  # fmt: skip
        return save_vote(service, given, "Ada").holds

    assert say(2)
    clock.now = NOW - timedelta(hours=1)
    assert say(1)
    assert say(0)
    clock.now = NOW + timedelta(hours=1)
    assert not say(2, ago=7200)  # sent late: it was given before the others
    store.close()


def vote(at: str, **more: object) -> Vote:
    return Vote(id="v", query_id="q0", doc_id="d", grade=1, judge="a", kind="human", at=at, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("last", ["", "2026", "2026-05-31", "2026-05-31T12:00:00+00:00"])
def test_the_time_is_the_clocks_where_nothing_is_later(last: str) -> None:
    assert not_before(NOW, [vote(last)], NOW) == NOW


def test_the_time_is_after_what_was_given_in_the_future() -> None:
    later = vote("2026-05-31T12:00:00.250000+00:00")
    assert not_before(NOW, [vote("2027"), later], NOW) == NOW + timedelta(seconds=1.25)


def test_a_ruling_after_the_clock_was_put_back_stands(tmp_path: Path) -> None:
    path = write_set(tmp_path)
    ahead = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    earlier = vote(ahead, source=RULING, rationale="so")
    voting.give(path, [earlier])
    adjudicating.rule(path, "q0", "d", 2, rationale="on reflection", by="chair")
    assert labels(path) == {("q0", "d"): 2}


def test_reviewing_goes_on_with_times_in_any_order(tmp_path: Path) -> None:
    store, gold = open_store(tmp_path / "assay.db"), tmp_path / "gold-set.jsonl"
    log = SearchLog(id="l", at=NOW, query="first", corpus="c", results=(Shown("a", 1),))
    store.add_searches([log])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))])
    bootstrap(store, gold, Options(), now=NOW)
    for hours, act in enumerate((promote, reject)):
        word = Word(by="Dafna", why="so", at=NOW - timedelta(hours=hours))
        assert act(store, gold, ["g001"], word).ids == ("g001",)
    assert not gold.read_text().strip()
    reopen(store, gold, "g001", Word(by="Dafna", why="so", at=NOW - timedelta(hours=3)))
    again = bootstrap(store, gold, Options(), now=NOW - timedelta(hours=4))
    assert (again.approval.total, again.approval.approved) == (1, 1)
    states = [entry.action for entry in store.audit(subject="gold-set/g001")]
    assert sorted(states) == ["review.approved", "review.approved", "review.rejected"]
    store.close()
