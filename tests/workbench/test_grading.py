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
from assay.judging.pool import read_pool
from assay.judging.votes import current, log_path, read_votes
from assay.store import Store
from assay.workbench.judging.agreement import agreement_of, facts_of, strength_of
from assay.workbench.judging.flags import Flag, FlagForm, flag_query
from assay.workbench.judging.packets import write_packet
from assay.workbench.judging.page import (
    SavedVote,
    VoteForm,
    query_to_judge,
    read_pair,
    rubric_in_use,
    save_vote,
    set_to_judge,
    sets_to_judge,
)
from assay.workbench.judging.rulings import open_disputes, rule
from assay.workbench.judging.set_edits import EditedIssue, add_to_pool, edit_issue, find_to_add
from assay.workbench.judging.votes_to_labels import append_votes, recompute_labels
from assay.workbench.project.audit_trail import trail
from assay.workbench.project.service import Service
from kit.sets import HOSTILE, both, judged_set, labels

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


def test_a_vote_is_on_disk_and_the_same_one_may_come_again(service: Service) -> None:
    first = say(service, "Ada", ONE, 2, id="vote-0001")
    again = say(service, "Ada", ONE, 2, id="vote-0001")
    assert (first.already, again.already, again.holds) == (False, True, True)
    (vote,) = kept(service)
    assert (vote.id, vote.grade, vote.judge, vote.kind) == ("vote-0001", 2, "Ada", "human")
    assert vote.rubric.startswith("fppc-relevance-2@")
    assert again.progress.judged == 1
    assert again.progress.grades["2"] == 1
    with pytest.raises(InputError, match="another vote"):
        say(service, "Ben", ONE, 2, id="vote-0001")


def test_nobody_sees_what_another_said(service: Service) -> None:
    say(service, "Ada", ONE, 2)
    assert grades(service, "Ben") == {"d1": None, "d2": None}
    assert not any(pair.vote for pair in query_to_judge(service, "set", "q1", "Ben").pairs)


def test_the_set_is_not_rewritten_by_a_vote(service: Service) -> None:
    before = service.gold_sets["set"].read_bytes()
    say(service, "Ada", ONE, 2)
    assert service.gold_sets["set"].read_bytes() == before
    say(service, "Ben", ONE, 2)
    assert recompute_labels(service.gold_sets["set"], by="Dora").labels == 1
    assert labels(service.gold_sets["set"]) == {ONE: 2}


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
    old = Vote(
        id="old-vote",
        query_id="q1",
        doc_id="d1",
        grade=2,
        judge="Ada",
        kind="human",
        at="2026-01-01",
        rationale="x",
    )
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


def test_an_undone_vote_is_kept_and_counts_no_more(service: Service, tmp_path: Path) -> None:
    say(service, "Ada", ONE, 2)
    saved = say(service, "Ada", ONE, None, withdrawn=True)
    assert grades(service, "Ada")["d1"] is None
    assert saved.progress.judged == 0
    assert len(kept(service)) == 2
    assert not current(kept(service))
    dataset = service.gold_sets["set"]
    recompute_labels(service.gold_sets["set"], by="Dora")
    assert labels(dataset) == {}
    assert write_packet(dataset, tmp_path / "p.jsonl", judge="Ada").pairs == 3
    say(service, "Ada", ONE, 1)
    recompute_labels(service.gold_sets["set"], by="Dora")
    assert labels(dataset) == {ONE: 1}


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
    other = Vote(
        id="from-elsewhere",
        query_id="q1",
        doc_id="d2",
        grade=1,
        judge="Ada",
        kind="human",
        at="2026-01-01",
    )
    append_votes(service.gold_sets["set"], [other])
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


def test_a_flag_is_kept_and_taken_off(service: Service) -> None:
    flag_query(service, FlagForm(set="set", query_id="q1", reason="too broad"), "Ada")
    progress = query_to_judge(service, "set", "q1", "Ada").progress
    assert progress.flag == Flag(by="Ada", reason="too broad")
    assert [row.id for row in set_to_judge(service, "set", "Ada").queries if row.flag] == ["q1"]
    flag_query(service, FlagForm(set="set", query_id="q1", flagged=False), "Ada")
    assert query_to_judge(service, "set", "q1", "Ada").progress.flag is None
    with pytest.raises(InputError):
        flag_query(service, FlagForm(set="set", query_id="nothing"), "Ada")


def test_a_flag_is_its_judge_s_own_and_a_chair_sees_all(service: Service) -> None:
    off = FlagForm(set="set", query_id="q1", flagged=False)
    flag_query(service, FlagForm(set="set", query_id="q1", reason="too broad"), "Ada")
    assert query_to_judge(service, "set", "q1", "Ben").progress.flag is None
    assert not any(row.flag for row in set_to_judge(service, "set", "Ben").queries)
    with pytest.raises(InputError, match="you have not flagged"):
        flag_query(service, off, "Ben")
    flag_query(service, FlagForm(set="set", query_id="q1", reason="two in one"), "Ben")
    seen = query_to_judge(service, "set", "q1", "Dora", chair=True).query.flag
    assert seen == Flag(by="Ada, Ben", reason="Ada: too broad; Ben: two in one")
    flag_query(service, off, "Ben")
    assert query_to_judge(service, "set", "q1", "Ada").query.flag == Flag(
        by="Ada", reason="too broad"
    )
    assert flag_query(service, off, "Dora", chair=True) is None
    assert query_to_judge(service, "set", "q1", "Ada").query.flag is None


def test_a_document_is_found_and_added(service: Service) -> None:
    found = find_to_add(service, "set", "q1", "behested payments")
    assert found[0].doc_id == "d5"
    assert not found[0].is_asked
    assert not add_to_pool(service, "set", "q1", "d5", "Ada").already
    assert add_to_pool(service, "set", "q1", "d5", "Ada").already
    assert "d5" in grades(service, "Ada")
    assert "d5" not in grades(service, "Ben")
    add_to_pool(service, "set", "q1", "d5", "Ben")
    assert "d5" in grades(service, "Ben")
    pool = read_pool(service.gold_sets["set"])
    assert pool is not None
    assert len(pool.pairs) == 4
    with pytest.raises(InputError, match="no document"):
        add_to_pool(service, "set", "q1", "nothing", "Ada")


def test_an_issue_is_edited_and_all_else_stays(service: Service) -> None:
    path = service.gold_sets["set"]
    before = json.loads(path.read_text())
    issue = EditedIssue(set="set", topic="gifts", id="limit", name=HOSTILE, description="d",
                        key_statutes="89503")  # fmt: skip
    edit_issue(service, issue, by="Dora")
    travel = EditedIssue(set="set", topic="gifts", id="travel", name="Travel", description="d")
    edit_issue(service, travel, by="Dora")
    edit_issue(service, travel, by="Dora")  # says nothing new
    assert len(trail(service, action="gold.issue_edited")) == 2
    after = json.loads(path.read_text())
    first, second = after["taxonomy"]["gifts"].pop("issues")
    assert (first["name"], first["odd"], first["key_statutes"]) == (HOSTILE, 1, ["89503"])
    assert second["id"] == "travel"
    before["taxonomy"]["gifts"].pop("issues")
    assert after == before
    with pytest.raises(InputError, match="no topic"):
        edit_issue(service, msgspec.structs.replace(travel, topic="nothing"), by="Dora")
    with pytest.raises(InputError, match="no name"):
        edit_issue(service, msgspec.structs.replace(travel, name=" "), by="Dora")


def test_disagreements_are_read_and_ruled_on(service: Service) -> None:
    for judge, grade in (("Ada", 2), ("Ben", 0)):
        say(service, judge, ONE, grade)
        say(service, judge, TWO, 1)
    dataset = service.gold_sets["set"]
    figures, newer = agreement_of(dataset)
    (fact,) = facts_of(figures)
    assert newer == 0
    assert fact.judges == ("Ada", "Ben")
    assert fact.pairs == 2
    assert fact.exact == 0.5
    (dispute,) = open_disputes(dataset, service.home)
    assert (dispute.doc_id, dispute.apart) == ("d1", 2)
    assert rule(dataset, *ONE, 2, rationale="same rule", by="Dora", kind="human").ruled == 1
    again = rule(dataset, *ONE, 2, rationale="same rule", by="Dora", kind="human")
    assert again.already == 1  # pressed twice
    assert not open_disputes(dataset, service.home)
    assert labels(dataset) == {ONE: 2, TWO: 1}


def test_kappa_in_words() -> None:
    said = [strength_of(value) for value in (None, -0.2, 0.2, 0.395, 0.71, 0.85, 1.0)]
    assert said == [None, "none", "none", "weak", "moderate", "strong", "almost perfect"]
