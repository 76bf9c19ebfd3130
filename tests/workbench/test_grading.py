"""Judging on a page: what is asked, votes that come twice or late, taking back, adding."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.gold.rows import log_path
from assay.judging.votes import read_votes
from assay.store import Store
from assay.workbench.judging.agreement import agreement_of, facts_of, strength_of
from assay.workbench.judging.page import (
    SavedVote,
    VoteForm,
    query_to_judge,
    read_pair,
    rubric_in_use,
    save_vote,
    sets_to_judge,
)
from assay.workbench.judging.set_edits import (
    EditedIssue,
    Flag,
    FlagForm,
    add_to_pool,
    edit_issue,
    find_to_add,
    flag_query,
)
from assay.workbench.judging.votes_to_labels import append_votes
from assay.workbench.project.service import Service
from kit.sets import HOSTILE, both, judged_set
from kit.votes import vote_on

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
ONE, TWO = ("q1", "d1"), ("q1", "d2")


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    path = judged_set(tmp_path, both(ONE, TWO, ("q2", "d4")), judges=("Ada", "Ben"))
    return Service(store=store, gold_sets={"set": path}, home=tmp_path, clock=Clock())


def say(
    service: Service,
    judge: str,
    pair: tuple[str, str],
    grade: int | None,
    *,
    id: str = "",
    why: str = "it decides the point",
    withdrawn: bool = False,
    ago: float = 0,
) -> SavedVote:
    given = VoteForm(
        id=id or f"{judge}-{pair[0]}-{pair[1]}-{grade}-{withdrawn}",
        set="set",
        query_id=pair[0],
        doc_id=pair[1],
        grade=grade,
        rationale=why if grade is not None else "",
        withdrawn=withdrawn,
        ago=ago,
    )
    return save_vote(service, given, judge)


def kept(service: Service) -> list[Vote]:
    return read_votes(service.gold_sets["set"])


def grades(service: Service, judge: str) -> dict[str, int | None]:
    return {pair.doc_id: pair.grade for pair in query_to_judge(service, "set", "q1", judge).pairs}


def test_labels_that_were_there_become_votes_first(service: Service) -> None:
    path = service.gold_sets["set"]
    content = json.loads(path.read_text())
    content["queries"][0]["relevance_judgments"] = [{"opinion_id": "d1", "score": 1}]
    path.write_text(json.dumps(content))
    say(service, "Ada", ONE, 2)
    say(service, "Ada", TWO, 0)
    assert [(vote.judge, vote.grade) for vote in kept(service)] == [
        ("imported", 1),
        ("Ada", 2),
        ("Ada", 0),
    ]


@pytest.mark.parametrize(
    ("pair", "grade", "why", "complaint"),
    [
        (("q9", "d1"), 1, "on the point", "no query"),
        (("q1", "d5"), 1, "on the point", "was not assigned to anyone"),
        (ONE, 7, "on the point", "scale"),
        (ONE, 1, " ", "rationale"),
        (ONE, 1, "x", "not a full reason yet"),
        (ONE, 1, "Other", "not a full reason yet"),
        (ONE, 2, "Decides the question that was asked:", "not a full reason yet"),
        (ONE, 1, "x" * 4001, "at most"),
    ],
)
def test_what_cannot_be_is_refused(
    service: Service, pair: tuple[str, str], grade: int, why: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        say(service, "Ada", pair, grade, why=why)
    assert not kept(service)


def test_a_start_of_the_rubric_needs_its_end(service: Service) -> None:
    _, starts = rubric_in_use(service, "set")
    for bare in (starts[2][0], f"{starts[2][0]}so", starts[2][0].rstrip(": ")):
        with pytest.raises(InputError, match="not a full reason yet"):
            say(service, "Ada", ONE, 2, why=bare)
    assert say(service, "Ada", ONE, 2, why=f"{starts[2][0]}the ticket rule").holds


def test_an_earlier_reason_may_be_given_again(service: Service) -> None:
    """Undoing restores what was said, also from before reasons were asked for."""
    old = vote_on(*ONE, "Ada", 2, at="2026-01-01", rationale="x")
    append_votes(service.gold_sets["set"], [old])
    say(service, "Ada", ONE, 1)
    assert say(service, "Ada", ONE, 2, why="x").holds


def test_a_strange_id_is_refused(service: Service) -> None:
    with pytest.raises(InputError, match="not a valid vote id"):
        say(service, "Ada", ONE, 1, id="<script>alert(1)</script>")


def test_what_is_dealt_to_others_is_not_mine(service: Service) -> None:
    assert query_to_judge(service, "set", "q1", "Cy").pairs == []
    with pytest.raises(InputError, match="someone else"):
        say(service, "Cy", ONE, 1)


def test_a_late_vote_does_not_replace_a_newer_one(service: Service) -> None:
    """Two tabs: one lost its connection, and sends later what was given before."""
    say(service, "Ada", ONE, 2)
    late = say(service, "Ada", ONE, 0, ago=3600)
    assert not late.holds
    assert grades(service, "Ada")["d1"] == 2
    assert [vote.grade for vote in kept(service)] == [2, 0, None], "kept, and taken back at once"
    assert not say(service, "Ada", ONE, None, withdrawn=True, ago=3600).holds
    assert grades(service, "Ada")["d1"] == 2
    assert say(service, "Ada", ONE, 1).holds
    assert grades(service, "Ada")["d1"] == 1


def test_unsure_asks_one_more(service: Service) -> None:
    dataset = service.gold_sets["set"]
    pool = json.loads((dataset.parent / "set.pool.json").read_text())
    pool["judges"] = ["Ada", "Ben", "Cy"]
    (dataset.parent / "set.pool.json").write_text(json.dumps(pool))
    say(service, "Ada", ONE, None)
    assert not query_to_judge(service, "set", "q1", "Cy").pairs
    say(service, "Ben", ONE, None)
    assert [pair.doc_id for pair in query_to_judge(service, "set", "q1", "Cy").pairs] == ["d1"]


def test_pairs_of_nobody_are_everybodys_until_graded(store: Store, tmp_path: Path) -> None:
    path = judged_set(tmp_path, {ONE: (), TWO: ()})
    service = Service(store=store, gold_sets={"set": path}, home=tmp_path, clock=Clock())
    say(service, "Ada", ONE, 2)
    say(service, "Ada", TWO, None)
    assert set(grades(service, "Ben")) == {"d2"}
    assert set(grades(service, "Ada")) == {"d1", "d2"}
    (row,) = sets_to_judge(service, "Ben")
    assert (row.asked, row.judged) == (1, 0)


def test_votes_of_another_program_are_seen(service: Service) -> None:
    say(service, "Ada", ONE, 2)
    path = log_path(service.gold_sets["set"])
    append_votes(service.gold_sets["set"], [vote_on(*TWO, "Ada", at="2026-01-01")])
    assert grades(service, "Ada") == {"d1": 2, "d2": 1}
    begun, _, second = path.read_text().splitlines(keepends=True)
    path.write_text(begun + second)  # another file altogether
    assert grades(service, "Ada") == {"d1": None, "d2": 1}
    path.unlink()
    assert grades(service, "Ada") == {"d1": None, "d2": None}


def test_many_at_once_lose_nothing(service: Service) -> None:
    def judge(name: str) -> None:
        for n in range(20):
            for _ in range(2):
                say(service, name, ONE if n % 2 else TWO, n % 3, id=f"{name}-vote-{n:04}")

    threads = [threading.Thread(target=judge, args=(name,)) for name in ("Ada", "Ben")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [vote.id for vote in kept(service)]
    assert len(ids) == len(set(ids)) == 40


def test_the_page_reads_the_passages_and_the_rubric(service: Service) -> None:
    shown = read_pair(service, "set", "q1", "d1")
    assert "tickets" in shown.words
    assert shown.row.document
    assert HOSTILE in read_pair(service, "set", "q1", "d2").row.text
    rubric, starts = rubric_in_use(service, "set")
    assert rubric.rationale == "required"
    assert all(start.endswith(": ") and len(start) < 120 for start in starts[2])
    with pytest.raises(InputError, match="no document"):
        read_pair(service, "set", "q1", "nothing")


def test_every_judge_has_an_order_of_their_own(store: Store, tmp_path: Path) -> None:
    pairs = {("q1", f"x{n}"): () for n in range(12)}
    path = judged_set(tmp_path, {pair: () for pair in pairs})
    service = Service(store=store, gold_sets={"set": path}, home=tmp_path)
    orders = {
        tuple(pair.doc_id for pair in query_to_judge(service, "set", "q1", judge).pairs)
        for judge in ("Ada", "Ben", "Ada")
    }
    assert len(orders) == 2


def test_a_vote_says_by_which_rubric_and_the_progress_counts_it(service: Service) -> None:
    flag_query(service, FlagForm(set="set", query_id="q1", reason="too broad"), "Ada")
    saved = say(service, "Ada", ONE, 2)
    assert (saved.progress.judged, saved.progress.grades["2"]) == (1, 1)
    assert kept(service)[0].rubric.startswith("fppc-relevance-2@")
    assert say(service, "Ada", ONE, None, withdrawn=True).progress.judged == 0
    progress = query_to_judge(service, "set", "q1", "Ada").progress
    assert progress.flag == Flag(by="Ada", reason="too broad")


def test_a_document_that_is_added_is_asked_of_who_found_it(service: Service) -> None:
    add_to_pool(service, "set", "q1", "d5", "Ada")
    assert [found.is_asked for found in find_to_add(service, "set", "q1", "behested")] == [True]
    assert ("d5" in grades(service, "Ada"), "d5" in grades(service, "Ben")) == (True, False)
    add_to_pool(service, "set", "q1", "d5", "Ben")
    assert "d5" in grades(service, "Ben")


@pytest.mark.parametrize(
    ("change", "said"), [({"topic": "nothing"}, "no topic"), ({"name": " "}, "no name")]
)
def test_an_issue_that_cannot_be_is_refused(
    service: Service, change: dict[str, str], said: str
) -> None:
    issue = EditedIssue(set="set", topic="gifts", id="travel", name="Travel", description="d")
    with pytest.raises(InputError, match=said):
        edit_issue(service, msgspec.structs.replace(issue, **change), by="Dora")


def test_how_far_two_judges_agree_in_one_sentence(service: Service) -> None:
    for judge, grade in (("Ada", 2), ("Ben", 0)):
        say(service, judge, ONE, grade)
        say(service, judge, TWO, 1)
    figures, newer = agreement_of(service.gold_sets["set"])
    (fact,) = facts_of(figures)
    assert (newer, fact.judges, fact.pairs, fact.exact) == (0, ("Ada", "Ben"), 2, 0.5)


def test_kappa_in_words() -> None:
    said = [strength_of(value) for value in (None, -0.2, 0.2, 0.395, 0.71, 0.85, 1.0)]
    assert said == [None, "none", "none", "weak", "moderate", "strong", "almost perfect"]
