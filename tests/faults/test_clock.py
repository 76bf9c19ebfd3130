"""A clock that is put back: what is said afterwards is still what is said last."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.gold.log import open_log
from assay.gold.votes import RULING, WITHDRAWN, current_votes, not_before
from assay.review.bootstrap import BootstrapOptions, bootstrap
from assay.review.decision_acts import ReviewDecision, approve, reject, reopen
from assay.store import open_store
from assay.store.records import Decision, SearchLog, ShownResult
from assay.workbench.judging import rulings, votes_to_labels
from assay.workbench.judging.page import VoteForm, save_vote
from assay.workbench.project.service import Service
from assay.workbench.review import decisions, suggestions
from assay.workbench.review.decisions import DecisionForm
from kit.sets import both, judged_set, labels, write_set

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
        given = VoteForm(id=f"vote-000{grade}-{ago}", set="set", query_id="q1", doc_id="d1",
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
    assert not_before(NOW, [vote("2026"), later], NOW) == NOW + timedelta(seconds=1.25)


@pytest.mark.parametrize("day", ["2026-06-01", "2026-06", "2027"])
def test_the_time_is_after_a_day_that_is_still_to_come(day: str) -> None:
    at = not_before(NOW, [vote("2026-05-31T12:00:00.250000+00:00"), vote(day)], NOW)
    assert at.isoformat() > day
    assert at.tzinfo is not None


def test_nothing_follows_a_vote_at_the_end_of_time(tmp_path: Path) -> None:
    path = write_set(tmp_path)
    votes_to_labels.append_votes(path, [vote("9999-12-31T23:59:59.999999+00:00", rationale="so")])
    with pytest.raises(InputError, match="no later one is possible"):
        rulings.rule(path, "q0", "d", 2, rationale="on reflection", by="chair")


def test_a_judge_corrects_a_vote_that_is_dated_by_the_next_day(tmp_path: Path) -> None:
    path = write_set(tmp_path)
    day = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    row = {"query_id": "q0", "doc_id": "d", "judge": "a", "rationale": "it decides the point"}
    for number, ballot in enumerate([{"grade": 2, "at": day}, {"grade": 0}]):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(json.dumps(row | ballot) + "\n")
        votes_to_labels.merge_files(
            path, [file], allow=votes_to_labels.MergeOverrides(unasked=True)
        )
    assert [each.grade for each in open_log(path).book.all_current_votes()] == [0]


def test_a_ruling_after_the_clock_was_put_back_stands(tmp_path: Path) -> None:
    path = write_set(tmp_path)
    ahead = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    earlier = vote(ahead, source=RULING, rationale="so")
    votes_to_labels.append_votes(path, [earlier])
    rulings.rule(path, "q0", "d", 2, rationale="on reflection", by="chair")
    assert labels(path) == {("q0", "d"): 2}


def test_reviewing_goes_on_with_times_in_any_order(tmp_path: Path) -> None:
    store, gold = open_store(tmp_path / "assay.db"), tmp_path / "gold-set.jsonl"
    log = SearchLog(id="l", at=NOW, query="first", corpus="c", results=(ShownResult("a", 1),))
    store.add_searches([log])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))])
    bootstrap(store, gold, BootstrapOptions(), now=NOW)
    for hours, act in enumerate((approve, reject)):
        decision = ReviewDecision(by="Dafna", reason="so", at=NOW - timedelta(hours=hours))
        assert act(gold, ["g001"], decision).ids == ("g001",)
    assert not gold.read_text().strip()
    reopen(gold, "g001", ReviewDecision(by="Dafna", reason="so", at=NOW - timedelta(hours=3)))
    again = bootstrap(store, gold, BootstrapOptions(), now=NOW - timedelta(hours=4))
    assert (again.approval.total, again.approval.approved) == (1, 1)
    steps = [act.action for act in open_log(gold).acts.values()]
    assert steps == ["begin", "bootstrap", "approve", "reject", "undo"]
    store.close()


STEPS = ["1", "1 undo", "1 undo 2", "1 undo 2 undo", "1 undo 2 undo 0", "1 merge undo merge 2",
         "1 merge undo", "0 undo merge 1 merge undo merge 2"]  # fmt: skip


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("hours", [-2, 2])
@pytest.mark.parametrize("name", ["set.json", "set.jsonl"])
def test_the_last_word_on_a_suggestion_stands(
    tmp_path: Path, name: str, hours: int, steps: str
) -> None:
    path, clock = tmp_path / name, Clock()
    if name == "set.jsonl":
        row = {"id": "q1", "query": "first", "relevant_case_law_ids": ["d1"], "source": "bootstrap"}
        path.write_text(json.dumps(row | {"corpus": "c", "practice_area": ""}) + "\n")
    else:
        judged = [{"opinion_id": "d1", "score": 2}, {"opinion_id": "d3", "score": 0}]
        queries = [{"id": "q1", "text": "first", "relevance_judgments": judged}]
        path.write_text(json.dumps({"queries": queries}))
    store = open_store(tmp_path / "assay.db")
    service = Service(store=store, gold_sets={"set": path}, home=tmp_path, clock=clock)
    item = suggestions.suggest(
        service, "set", ("q1", "d2"), 1, rationale="", by="m", allow_unknown=True
    )
    last: int | None = None
    for step in steps.split():
        if step == "undo":
            (mine,) = decisions.last_decided(service, "dana")
            assert decisions.undo(service, [mine.id], by="dana").done == [item.id]
            last = None
        elif step == "merge" and name == "set.json":
            votes_to_labels.recompute_labels(path)
        elif step != "merge":
            last = int(step)
            decisions.approve(service, item.id, DecisionForm(grade=last), by="dana")
        clock.now += timedelta(hours=hours)
    holds = {vote.doc_id: vote.grade for vote in open_log(path).book.all_current_votes()}
    assert holds.get("d2") == last
    if name == "set.json":
        votes_to_labels.recompute_labels(path)
        assert labels(path).get(("q1", "d2")) == last
    else:
        (row,) = gold_jsonl.rows(gold_jsonl.read_lines(path))
        assert ("d2" in row.relevant_case_law_ids) == bool(last)
    store.close()


def test_what_a_person_decided_last_is_taken_back_first(tmp_path: Path) -> None:
    path, clock = tmp_path / "set.json", Clock()
    path.write_text(json.dumps({"queries": [{"id": "q1", "text": "first"}]}))
    store = open_store(tmp_path / "assay.db")
    service = Service(store=store, gold_sets={"set": path}, home=tmp_path, clock=clock)
    for doc in ("d1", "d2", "d3"):
        pair = ("q1", doc)
        item = suggestions.suggest(
            service, "set", pair, 1, rationale="", by="m", allow_unknown=True
        )
        decide = decisions.reject if doc == "d3" else decisions.approve
        decide(service, item.id, DecisionForm(reason="so"), by="dana")
        assert [each.doc_ids for each in decisions.last_decided(service, "dana")] == [(doc,)]
        clock.now -= timedelta(hours=2)
    store.close()


def test_an_undo_comes_after_what_it_names_whatever_its_time_and_line() -> None:
    said = vote("2026-05-31T12:00:00+00:00")
    undo = Vote(id="w", query_id="q0", doc_id="d", grade=None, judge="chair", kind="human",
                at="2026-05-31T10:00:00+00:00", source=WITHDRAWN, supersedes="v")  # fmt: skip
    again = msgspec.structs.replace(said, id="x", at="2026-05-31T12:00:00.000001+00:00")
    for lines in itertools.permutations([said, undo]):
        assert current_votes(lines) == []
    for lines in itertools.permutations([said, undo, again]):
        assert current_votes(lines) == [again]


def voted_ahead(folder: Path, policy: str = "") -> Path:
    """A set with a vote from two hours ahead of the clock."""
    path = write_set(folder)
    ahead = (datetime.now(UTC) + timedelta(hours=2)).isoformat(timespec="seconds")
    votes_to_labels.append_votes(path, [vote(ahead)])
    if policy:
        votes_to_labels.set_policy(path, policy)
    return path


def merge_grades(path: Path, *grades: tuple[str, int]) -> None:
    """Merge one file without times for each judge."""
    files = [path.with_name(f"{judge}.csv") for judge, _ in grades]
    for file, (judge, grade) in zip(files, grades, strict=True):
        file.write_text(f"query_id,doc_id,grade,judge\nq0,d,{grade},{judge}\n")
    votes_to_labels.merge_files(path, files, allow=votes_to_labels.MergeOverrides(unasked=True))


@pytest.mark.parametrize("act", ["rule", "merge"])
def test_the_word_given_last_is_the_latest_of_all_judges(tmp_path: Path, act: str) -> None:
    path = voted_ahead(tmp_path, "latest")
    if act == "rule":
        rulings.rule(path, "q0", "d", 2, rationale="so", by="chair")
    else:
        merge_grades(path, ("ben", 2))
    assert labels(path) == {("q0", "d"): 2}


def test_files_without_times_are_said_at_one_moment(tmp_path: Path) -> None:
    """Whichever is named first: neither of two judges is the later."""
    for order in ((("x", 2), ("y", 0)), (("y", 0), ("x", 2))):
        folder = tmp_path / order[0][0]
        folder.mkdir()
        path = voted_ahead(folder, "latest")
        merge_grades(path, *order)
        assert labels(path) == {}


def test_a_file_without_times_is_said_after_what_the_clock_has_not_seen(tmp_path: Path) -> None:
    path = voted_ahead(tmp_path)
    merge_grades(path, ("a", 2))
    assert labels(path) == {("q0", "d"): 2}
