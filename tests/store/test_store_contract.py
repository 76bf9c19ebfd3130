"""What every store promises, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import text

from assay.store import Store, StoreConflict, StoreError
from assay.store.records import (
    AuditEntry,
    Decision,
    Feedback,
    ReviewItem,
    Ruling,
    RunRecord,
    SearchLog,
    Shown,
    Vote,
)

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def search(id: str, *docs: str, at: datetime = NOW, **fields: Any) -> SearchLog:
    shown = tuple(Shown(doc, rank, 1 / rank) for rank, doc in enumerate(docs, start=1))
    return SearchLog(**{"id": id, "at": at, "query": f"query {id}", "results": shown, **fields})


def decision(id: str, *cites: str, at: datetime = NOW + DAY, **fields: Any) -> Decision:
    return Decision(id=id, at=at, cites=cites, **fields)


def item(key: str, **fields: Any) -> ReviewItem:
    given = {
        "id": f"i-{key}",
        "gold": "gold-set",
        "kind": "gold_row",
        "key": key,
        "ref": f"g-{key}",
        "query": key,
        "created_at": NOW,
        "doc_ids": ("a", "b"),
    }
    return ReviewItem(**(given | fields))


def ruling(one: ReviewItem, state: str = "approved", **fields: Any) -> Ruling:
    return Ruling(
        **{
            "item": one,
            "state": state,
            "by": "dafna",
            "at": NOW + DAY,
            "reason": "read it",
            **fields,
        }
    )


class TestSearches:
    def test_come_back_as_given(self, store: Store) -> None:
        one = search(
            "l1",
            "a",
            "b",
            corpus="c",
            practice_area="levy",
            engine="e",
            case_id="m1",
            by="u",
            millis=1.5,
            error="no",
        )
        assert store.add_searches([one, search("l0", at=NOW - DAY)]) == 2
        assert store.searches(["l1", "l0", "nope"]) == [search("l0", at=NOW - DAY), one]

    def test_same_id_twice_keeps_the_first_whole(self, store: Store) -> None:
        assert store.add_searches([search("l1", "a"), search("l1", "x", "y")]) == 1
        assert store.add_searches([search("l1", "x", "y", "z"), search("l2")]) == 1
        assert store.searches(["l1"]) == [search("l1", "a")]

    def test_every_time_zone_is_one_moment(self, store: Store) -> None:
        east = NOW.astimezone(timezone(timedelta(hours=3)))
        store.add_searches([search("l1", at=east)])
        assert store.searches(["l1"])[0].at == NOW
        assert store.searches(["l1"])[0].at.tzinfo is UTC

    def test_text_no_database_could_hold(self, store: Store) -> None:
        store.add_searches(
            [search("l1", query="שָׁלוֹם\0 \ud800 ä", results=(Shown("d", 1, float("nan")),))]
        )
        kept = store.searches(["l1"])[0]
        assert kept.query == "שָׁלוֹם ? ä"
        assert kept.results == (Shown("d", 1, None),)

    def test_nothing_is_fine(self, store: Store) -> None:
        assert store.add_searches([]) == store.add_decisions([]) == store.add_feedback([]) == 0
        assert store.searches([]) == []


class TestCitations:
    def test_score_3_once_with_provenance(self, store: Store) -> None:
        store.add_searches([search("l1", "x", "a"), search("l2", "a", "y", "a"), search("l3", "y")])
        assert store.add_decisions([decision("D1", "a", "unseen")]) == 2
        assert store.add_decisions([decision("D1", "a", "unseen")]) == 0
        assert store.add_decisions([decision("D2", "a", at=NOW + 2 * DAY)]) == 0
        given = {
            "doc_id": "a",
            "kind": "citation",
            "relevance_score": 3,
            "decision_id": "D1",
            "at": NOW + DAY,
        }
        assert store.feedback() == [
            Feedback(log_id="l1", rank=2, **given),
            Feedback(log_id="l2", rank=1, **given),
        ]

    def test_only_earlier_searches(self, store: Store) -> None:
        store.add_searches(
            [
                search("before", "a"),
                search("same", "a", at=NOW + DAY),
                search("after", "a", at=NOW + 2 * DAY),
            ]
        )
        store.add_decisions([decision("D", "a")])
        assert [row.log_id for row in store.feedback()] == ["before"]

    def test_a_search_that_arrives_late_gets_its_feedback(self, store: Store) -> None:
        store.add_decisions([decision("D2", "a", at=NOW + 2 * DAY), decision("D1", "a")])
        store.add_searches([search("late", "a"), search("new", "a", at=NOW + 3 * DAY)])
        assert [(row.log_id, row.decision_id) for row in store.feedback()] == [("late", "D1")]

    def test_same_case(self, store: Store) -> None:
        store.add_searches(
            [
                search("own", "a", case_id="m1"),
                search("other", "a", case_id="m2"),
                search("none", "a"),
            ]
        )
        store.add_decisions(
            [decision("D", "a", case_id="m1"), decision("no-case", "a")], same_case=True
        )
        assert [row.log_id for row in store.feedback()] == ["own"]

    def test_a_decision_does_not_cite_itself(self, store: Store) -> None:
        store.add_searches([search("l1", "D", "a")])
        store.add_decisions([decision("D", "D", "a")])
        assert [row.doc_id for row in store.feedback()] == ["a"]

    def test_an_amended_decision_adds_its_new_citations(self, store: Store) -> None:
        store.add_searches([search("l1", "a", "b")])
        assert store.add_decisions([decision("D", "a")]) == 1
        assert store.add_decisions([decision("D", "a", "b")]) == 1


class TestClicksAndVotes:
    def test_a_click_counts_once_and_finds_its_rank(self, store: Store) -> None:
        store.add_searches([search("l1", "x", "a")])
        click = Feedback(log_id="l1", doc_id="a", kind="click", relevance_score=1, at=NOW, by="u")
        assert store.add_feedback([click, click]) == 1
        assert store.feedback()[0].rank == 2

    def test_the_last_vote_of_a_person_holds(self, store: Store) -> None:
        vote = {"log_id": "l1", "doc_id": "a", "kind": "vote", "by": "u"}
        store.add_feedback([Feedback(**vote, relevance_score=2, at=NOW)])
        store.add_feedback([Feedback(**vote, relevance_score=0, at=NOW + DAY)])
        store.add_feedback([Feedback(**vote, relevance_score=2, at=NOW - DAY)])
        assert [row.relevance_score for row in store.feedback(log_id="l1")] == [0]

    def test_support_counts_by_spelling_document_and_rank(self, store: Store) -> None:
        store.add_searches([search(f"l{n}", "a", "b", query="Q", corpus="c") for n in range(3)])
        store.add_searches(
            [
                search("old", "a", query="Q", corpus="c", at=NOW - 100 * DAY),
                search("d", "a", query="Q"),
            ]
        )
        store.add_decisions([decision("D", "a")])
        store.add_feedback(
            [
                Feedback(log_id="l0", doc_id="b", kind="click", relevance_score=1, at=NOW),
                Feedback(log_id="l1", doc_id="b", kind="vote", relevance_score=0, at=NOW),
            ]
        )
        counted = {
            (row.corpus, row.doc_id, row.kind, row.relevance_score, row.rank): row.searches
            for row in store.support(min_score=1)
        }
        assert counted == {
            ("c", "a", "citation", 3, None): 4,
            ("", "a", "citation", 3, None): 1,
            ("c", "b", "click", 1, 2): 1,
            ("c", "b", "vote", 0, 2): 1,
        }
        assert {row.kind for row in store.support()} == {"citation"}
        assert [row.searches for row in store.support(since=NOW - DAY, corpora=["c"])] == [3]
        assert store.showings(["Q"])[("Q", "c", "b")] == 3


class TestPurge:
    def test_by_age(self, store: Store) -> None:
        store.add_searches([search("old", "a", at=NOW - DAY), search("new", "a")])
        store.add_decisions([decision("D", "a")])
        store.add_feedback(
            [Feedback(log_id="lost", doc_id="a", kind="click", relevance_score=1, at=NOW - DAY)]
        )
        gone = store.purge(NOW)
        assert (gone.searches, gone.results, gone.feedback) == (1, 1, 2)
        assert [row.log_id for row in store.feedback()] == ["new"]

    def test_what_a_decision_cites_can_stay(self, store: Store) -> None:
        store.add_searches([search("cited", "a", at=NOW - DAY), search("plain", "b", at=NOW - DAY)])
        store.add_decisions([decision("D", "a")])
        assert store.purge(NOW, keep_cited=True).searches == 1
        assert [row.id for row in store.searches(["cited", "plain"])] == ["cited"]


class TestReview:
    def test_waiting_rows_are_exactly_those_given(self, store: Store) -> None:
        assert store.sync_gold_rows([item("k1"), item("k2")], gold="gold-set", at=NOW) == 2
        assert (
            store.sync_gold_rows(
                [item("k2", id="other", doc_ids=("z",)), item("k3")], gold="gold-set", at=NOW
            )
            == 1
        )
        assert [(one.key, one.id, one.doc_ids) for one in store.review_items()] == [
            ("k2", "i-k2", ("z",)),
            ("k3", "i-k3", ("a", "b")),
        ]
        assert store.issued_ids("gold-set") == {"k1": "g-k1", "k2": "g-k2", "k3": "g-k3"}

    def test_what_is_withdrawn_is_in_the_audit_trail(self, store: Store) -> None:
        store.sync_gold_rows([item("k1"), item("k2")], gold="gold-set", at=NOW)
        store.sync_gold_rows([item("k2")], gold="gold-set", at=NOW)
        store.rule([ruling(item("k2"))])
        waiting = item("k3", kind="judgment")
        store.add_review_items([waiting])
        assert (
            store.withdraw([item("k2"), waiting, item("nowhere")], by="d", at=NOW, reason="moved")
            == 1
        )
        assert [(one.key, one.state) for one in store.review_items()] == [("k2", "approved")]
        gone = store.audit(action="review.withdrawn")
        assert {(entry.by, entry.subject) for entry in gone} == {
            ("bootstrap", "gold-set/g-k1"),
            ("d", "gold-set/g-k3"),
        }
        assert all(entry.before and entry.before["query"] for entry in gone)

    def test_decided_rows_stay_and_other_sets_too(self, store: Store) -> None:
        store.sync_gold_rows([item("k1")], gold="gold-set", at=NOW)
        store.sync_gold_rows([item("k1", id="x", gold="other")], gold="other", at=NOW)
        store.rule([ruling(item("k1"), "rejected")])
        store.sync_gold_rows([], gold="gold-set", at=NOW)
        assert [(one.gold, one.state) for one in store.review_items()] == [
            ("gold-set", "rejected"),
            ("other", "pending_review"),
        ]

    def test_an_approved_row_that_is_asked_for_again_waits_again(self, store: Store) -> None:
        store.rule([ruling(item("k1"))])
        store.sync_gold_rows([item("k1")], gold="gold-set", at=NOW)
        assert [one.state for one in store.review_items()] == ["pending_review"]

    def test_ruling_records_who_when_why_and_the_vote(self, store: Store) -> None:
        store.add_review_items(
            [item("k1", kind="judgment", grade=3, rationale="because", suggested_by="agent")]
        )
        vote = Vote(
            id="v1", gold="gold-set", query_id="g1", doc_id="a", grade=3, judge="dafna", at=NOW
        )
        seen = store.review_items(state="pending_review")[0]
        store.rule([ruling(seen, votes=(vote,), before={"x": 1}, after={"x": "ä\0"})])
        done = store.review_items(state="approved")[0]
        assert (done.decided_by, done.decided_at, done.reason) == ("dafna", NOW + DAY, "read it")
        assert store.votes("gold-set", query_id="g1") == [vote]
        entry = store.audit(subject="gold-set/g-k1")[0]
        assert (entry.action, entry.by, entry.before, entry.after) == (
            "review.approved",
            "dafna",
            {"x": 1},
            {"x": "ä\0"},
        )

    def test_the_second_of_two_reviewers_is_told(self, store: Store) -> None:
        store.add_review_items([item("k1")])
        store.rule([ruling(item("k1"))])
        with pytest.raises(StoreConflict, match="g-k1 is approved already, by dafna"):
            store.rule([ruling(item("k1"), "rejected", by="noa")])

    def test_nothing_is_recorded_when_the_file_cannot_be_written(self, store: Store) -> None:
        store.add_review_items([item("k1")])

        def full_disk() -> None:
            raise OSError("no space left")

        with pytest.raises(OSError, match="no space"):
            store.rule([ruling(item("k1"))], then=full_disk)
        assert store.review_times() == [("pending_review", NOW, None)]
        assert store.audit() == []

    def test_pages(self, store: Store) -> None:
        store.add_review_items([item(f"k{n}", created_at=NOW + n * DAY) for n in (2, 0, 1)])
        assert [one.key for one in store.review_items(limit=2)] == ["k0", "k1"]
        assert [one.key for one in store.review_items(limit=2, offset=2)] == ["k2"]
        assert [one.key for one in store.review_items(ids=["i-k1"])] == ["k1"]


class TestHistory:
    def test_runs(self, store: Store) -> None:
        runs = [
            RunRecord(id=f"r{n}", at=NOW + n * DAY, engine="e", gold="g", results={"n": n})
            for n in range(3)
        ]
        for run in [*runs, runs[0]]:
            store.put_run(run)
        assert store.run("r1") == runs[1]
        assert store.run("none") is None
        assert [run.id for run in store.runs(gold="g", limit=2)] == ["r2", "r1"]
        assert store.runs(gold="other") == []

    @pytest.mark.parametrize("table", ["judgments", "audit_trail"])
    @pytest.mark.parametrize("change", ["UPDATE {} SET id = 'x'", "DELETE FROM {}"])
    def test_votes_and_audit_are_append_only_in_the_database_itself(
        self, store: Any, table: str, change: str
    ) -> None:
        store.append_votes(
            [Vote(id="v", gold="g", query_id="q", doc_id="d", grade=1, judge="j", at=NOW)]
        )
        store.append_audit([AuditEntry(id="a", at=NOW, by="b", action="c", subject="d")])
        with pytest.raises(Exception, match="append-only"), store._engine.begin() as connection:
            connection.execute(text(change.format(table)))

    def test_votes_are_kept_once(self, store: Store) -> None:
        vote = Vote(id="v", gold="g", query_id="q", doc_id="d", grade=1, judge="j", at=NOW)
        assert (store.append_votes([vote]), store.append_votes([vote])) == (1, 0)

    def test_health(self, store: Store) -> None:
        store.add_searches([search("l1", "a", "b")])
        health = store.health()
        assert health.backend in ("sqlite", "postgresql")
        assert (health.rows["search_logs"], health.rows["shown_results"]) == (1, 2)


def test_driver_errors_do_not_escape(store: Any) -> None:
    with pytest.raises(StoreError):
        store.add_searches([search("l1", at=None)])
