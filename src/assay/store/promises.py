"""What every store promises, as checks that anybody can run on a store of their own: see
`assay.testing.check_store`. Each takes an empty store, and raises AssertionError where a promise is
not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from msgspec.structs import replace

from assay.core.types import Vote
from assay.store.contract import Store, StoreConflict
from assay.store.records import (
    CaseCounts,
    Decision,
    Feedback,
    Neighbours,
    ReviewFilter,
    ReviewItem,
    ReviewState,
    Ruling,
    RunRecord,
    SearchLog,
    Shown,
)

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def same(got: object, expected: object) -> None:
    if got != expected:
        raise AssertionError(f"got {got!r}, expected {expected!r}")


@contextmanager
def refused(error: type[Exception], message: str) -> Iterator[None]:
    try:
        yield
    except error as raised:
        if message not in str(raised):
            raise AssertionError(f"said {str(raised)!r}, expected {message!r}") from raised
    else:
        raise AssertionError(f"{error.__name__} was not raised")


def _search(id: str, *docs: str, **fields: Any) -> SearchLog:
    shown = tuple(Shown(doc, rank, 1 / rank) for rank, doc in enumerate(docs, start=1))
    return replace(SearchLog(id=id, at=NOW, query=f"query {id}", results=shown), **fields)


def _decision(id: str, *cites: str, **fields: Any) -> Decision:
    return replace(Decision(id=id, at=NOW + DAY, cites=cites), **fields)


def _item(key: str, **fields: Any) -> ReviewItem:
    plain = ReviewItem(
        id=f"i-{key}",
        gold="gold-set",
        kind="gold_row",
        key=key,
        ref=f"g-{key}",
        query=key,
        created_at=NOW,
        doc_ids=("a", "b"),
    )
    return replace(plain, **fields)


def _ruling(item: ReviewItem, state: ReviewState = "approved", **fields: Any) -> Ruling:
    plain = Ruling(item=item, state=state, by="dafna", at=NOW + DAY, reason="read it")
    return replace(plain, **fields)


# ── searches ──────────────────────────────────────────────────────────────────────────────────────


def searches_come_back_as_given(store: Store) -> None:
    whole = _search(
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
    same(store.add_searches([whole, _search("l0", at=NOW - DAY)]), 2)
    same(store.searches(["l1", "l0", "nope"]), [_search("l0", at=NOW - DAY), whole])


def a_search_sent_twice_is_kept_once(store: Store) -> None:
    same(store.add_searches([_search("l1", "a"), _search("l1", "x", "y")]), 1)
    same(store.add_searches([_search("l1", "x", "y", "z"), _search("l2")]), 1)
    same(store.searches(["l1"]), [_search("l1", "a")])


def every_time_zone_is_one_moment(store: Store) -> None:
    east = NOW.astimezone(timezone(timedelta(hours=3)))
    store.add_searches([_search("l1", at=east)])
    same(store.searches(["l1"])[0].at, NOW)
    same(store.searches(["l1"])[0].at.tzinfo, UTC)


def text_that_no_database_could_hold_is_mended(store: Store) -> None:
    store.add_searches(
        [_search("l1", query="שָׁלוֹם\x00 \ud800 ä", results=(Shown("d", 1, float("nan")),))]
    )
    kept = store.searches(["l1"])[0]
    same(kept.query, "שָׁלוֹם ? ä")
    same(kept.results, (Shown("d", 1, None),))


def nothing_is_fine(store: Store) -> None:
    same(store.add_searches([]), 0)
    same(store.add_decisions([]), 0)
    same(store.add_feedback([]), 0)
    same(store.searches([]), [])


def cases_are_told_apart(store: Store) -> None:
    store.add_searches(
        [
            _search("own", "a", case_id="m1"),
            _search("other", "a", case_id="m2"),
            _search("both", "a", case_id="m3"),
            _search("nobody's", "a"),
        ]
    )
    store.add_decisions([_decision("D1", "a", case_id="m1")])
    store.add_decisions([_decision("D3", "a", case_id="m3", at=NOW + 2 * DAY)])
    same(store.case_counts(["D1", "D3"]), CaseCounts(own=2, other=1, unknown=1))
    same(store.case_counts([]), CaseCounts())
    same(store.of_other_cases("a", ["own", "other", "both", "nobody's"]), {"other"})
    same(store.of_other_cases("b", ["other"]), set())
    counted = {row.query: (row.searches, row.other_case) for row in store.support()}
    same(counted["query other"], (1, 1))
    same(counted["query both"], (1, 0))
    same(store.shown_documents(["a", "x"]), {"a"})
    same(store.search_total(), 4)


# ── citations ─────────────────────────────────────────────────────────────────────────────────────


def a_citation_scores_3_once_with_provenance(store: Store) -> None:
    store.add_searches([_search("l1", "x", "a"), _search("l2", "a", "y", "a"), _search("l3", "y")])
    same(store.add_decisions([_decision("D1", "a", "unseen")]), 2)
    same(store.add_decisions([_decision("D1", "a", "unseen")]), 0)
    same(store.add_decisions([_decision("D2", "a", at=NOW + 2 * DAY)]), 0)
    cited = Feedback(
        log_id="l1",
        doc_id="a",
        kind="citation",
        relevance_score=3,
        at=NOW + DAY,
        rank=2,
        decision_id="D1",
    )
    same(store.feedback(), [cited, replace(cited, log_id="l2", rank=1)])


def only_earlier_searches_get_feedback(store: Store) -> None:
    store.add_searches(
        [
            _search("before", "a"),
            _search("same", "a", at=NOW + DAY),
            _search("after", "a", at=NOW + 2 * DAY),
        ]
    )
    store.add_decisions([_decision("D", "a")])
    same([row.log_id for row in store.feedback()], ["before"])


def a_search_that_arrives_late_gets_its_feedback(store: Store) -> None:
    store.add_decisions([_decision("D2", "a", at=NOW + 2 * DAY), _decision("D1", "a")])
    store.add_searches([_search("late", "a"), _search("new", "a", at=NOW + 3 * DAY)])
    same([(row.log_id, row.decision_id) for row in store.feedback()], [("late", "D1")])


def feedback_may_keep_to_its_own_case(store: Store) -> None:
    store.add_searches(
        [
            _search("own", "a", case_id="m1"),
            _search("other", "a", case_id="m2"),
            _search("none", "a"),
        ]
    )
    store.add_decisions(
        [_decision("D", "a", case_id="m1"), _decision("no-case", "a")], same_case=True
    )
    same([row.log_id for row in store.feedback()], ["own"])


def a_decision_does_not_cite_itself(store: Store) -> None:
    store.add_searches([_search("l1", "D", "a")])
    store.add_decisions([_decision("D", "D", "a")])
    same([row.doc_id for row in store.feedback()], ["a"])


def an_amended_decision_adds_its_new_citations(store: Store) -> None:
    store.add_searches([_search("l1", "a", "b")])
    same(store.add_decisions([_decision("D", "a")]), 1)
    same(store.add_decisions([_decision("D", "a", "b")]), 1)


# ── clicks and votes ──────────────────────────────────────────────────────────────────────────────


def a_click_counts_once_and_finds_its_rank(store: Store) -> None:
    store.add_searches([_search("l1", "x", "a")])
    click = Feedback(log_id="l1", doc_id="a", kind="click", relevance_score=1, at=NOW, by="u")
    same(store.add_feedback([click, click]), 1)
    same(store.feedback()[0].rank, 2)


def the_last_vote_of_a_person_holds(store: Store) -> None:
    vote = Feedback(log_id="l1", doc_id="a", kind="vote", by="u", relevance_score=2, at=NOW)
    store.add_feedback([vote])
    store.add_feedback([replace(vote, relevance_score=0, at=NOW + DAY)])
    store.add_feedback([replace(vote, at=NOW - DAY)])
    same([row.relevance_score for row in store.feedback(log_id="l1")], [0])


def support_counts_by_spelling_document_and_rank(store: Store) -> None:
    store.add_searches([_search(f"l{n}", "a", "b", query="Q", corpus="c") for n in range(3)])
    store.add_searches(
        [
            _search("old", "a", query="Q", corpus="c", at=NOW - 100 * DAY),
            _search("d", "a", query="Q"),
        ]
    )
    store.add_decisions([_decision("D", "a")])
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
    same(
        counted,
        {
            ("c", "a", "citation", 3, None): 4,
            ("", "a", "citation", 3, None): 1,
            ("c", "b", "click", 1, 2): 1,
            ("c", "b", "vote", 0, 2): 1,
        },
    )
    same({row.kind for row in store.support()}, {"citation"})
    same([row.searches for row in store.support(since=NOW - DAY, corpora=["c"])], [3])
    same(store.showings(["Q"])["Q", "c", "b"], 3)
    same(store.query_counts(), {("Q", "c"): 4, ("Q", ""): 1})


# ── forgetting ────────────────────────────────────────────────────────────────────────────────────


def searches_are_purged_by_age(store: Store) -> None:
    store.add_searches([_search("old", "a", at=NOW - DAY), _search("new", "a")])
    store.add_decisions([_decision("D", "a")])
    store.add_feedback(
        [Feedback(log_id="lost", doc_id="a", kind="click", relevance_score=1, at=NOW - DAY)]
    )
    gone = store.purge(NOW)
    same((gone.searches, gone.results, gone.feedback), (1, 1, 2))
    same([row.log_id for row in store.feedback()], ["new"])


def what_a_decision_cites_can_stay(store: Store) -> None:
    store.add_searches([_search("cited", "a", at=NOW - DAY), _search("plain", "b", at=NOW - DAY)])
    store.add_decisions([_decision("D", "a")])
    same(store.purge(NOW, keep_cited=True).searches, 1)
    same([row.id for row in store.searches(["cited", "plain"])], ["cited"])


# ── review ────────────────────────────────────────────────────────────────────────────────────────


def waiting_rows_are_exactly_those_given(store: Store) -> None:
    same(store.sync_gold_rows([_item("k1"), _item("k2")], gold="gold-set", at=NOW), 2)
    same(
        store.sync_gold_rows(
            [_item("k2", id="other", doc_ids=("z",)), _item("k3")], gold="gold-set", at=NOW
        ),
        1,
    )
    same(
        [(item.key, item.id, item.doc_ids) for item in store.review_items()],
        [("k2", "i-k2", ("z",)), ("k3", "i-k3", ("a", "b"))],
    )
    same(store.issued_ids("gold-set"), {"k1": "g-k1", "k2": "g-k2", "k3": "g-k3"})


def what_is_withdrawn_is_in_the_audit_trail(store: Store) -> None:
    store.sync_gold_rows([_item("k1"), _item("k2")], gold="gold-set", at=NOW)
    store.sync_gold_rows([_item("k2")], gold="gold-set", at=NOW)
    store.rule([_ruling(_item("k2"))])
    waiting = _item("k3", kind="judgment")
    store.add_review_items([waiting])
    same(
        store.withdraw([_item("k2"), waiting, _item("nowhere")], by="d", at=NOW, reason="moved"), 1
    )
    same([(item.key, item.state) for item in store.review_items()], [("k2", "approved")])
    gone = store.audit(action="review.withdrawn")
    same(
        {(entry.by, entry.subject) for entry in gone},
        {("bootstrap", "gold-set/g-k1"), ("d", "gold-set/g-k3")},
    )
    same([bool(entry.before and entry.before["query"]) for entry in gone], [True, True])


def decided_rows_stay_and_other_sets_too(store: Store) -> None:
    store.sync_gold_rows([_item("k1")], gold="gold-set", at=NOW)
    store.sync_gold_rows([_item("k1", id="x", gold="other")], gold="other", at=NOW)
    store.rule([_ruling(_item("k1"), "rejected")])
    store.sync_gold_rows([], gold="gold-set", at=NOW)
    same(
        [(item.gold, item.state) for item in store.review_items()],
        [("gold-set", "rejected"), ("other", "pending_review")],
    )


def an_approved_row_that_is_asked_for_again_waits_again(store: Store) -> None:
    store.rule([_ruling(_item("k1"))])
    store.sync_gold_rows([_item("k1")], gold="gold-set", at=NOW)
    same([item.state for item in store.review_items()], ["pending_review"])


def a_ruling_records_who_when_why_and_the_vote(store: Store) -> None:
    store.add_review_items(
        [_item("k1", kind="judgment", grade=3, rationale="because", suggested_by="agent")]
    )
    vote = _vote("v1", grade=3, rationale="the same rule", judge="dafna")
    seen = store.review_items(state="pending_review")[0]
    store.rule([_ruling(seen, votes=(vote,), before={"x": 1}, after={"x": "ä\x00"})])
    done = store.review_items(state="approved")[0]
    same((done.decided_by, done.decided_at, done.reason), ("dafna", NOW + DAY, "read it"))
    same(store.votes("gold-set", query_id="g1"), [vote])
    entry = store.audit(subject="gold-set/g-k1")[0]
    same(
        (entry.action, entry.by, entry.before, entry.after),
        ("review.approved", "dafna", {"x": 1}, {"x": "ä\x00"}),
    )


def the_second_of_two_reviewers_is_told(store: Store) -> None:
    store.add_review_items([_item("k1")])
    store.rule([_ruling(_item("k1"))])
    with refused(StoreConflict, "g-k1 is approved already, by dafna"):
        store.rule([_ruling(_item("k1"), "rejected", by="noa")])


def nothing_is_recorded_when_the_file_cannot_be_written(store: Store) -> None:
    store.add_review_items([_item("k1")])

    def full_disk() -> None:
        raise OSError("no space left")

    with refused(OSError, "no space"):
        store.rule([_ruling(_item("k1"))], then=full_disk)
    same(store.review_times(), [("pending_review", NOW, None)])
    same(store.audit(), [])


def the_queue_has_pages(store: Store) -> None:
    store.add_review_items([_item(f"k{n}", created_at=NOW + n * DAY) for n in (2, 0, 1)])
    same([item.key for item in store.review_items(limit=2)], ["k0", "k1"])
    same([item.key for item in store.review_items(limit=2, offset=2)], ["k2"])
    same([item.key for item in store.review_items(ids=["i-k1"])], ["k1"])


def the_queue_is_found_by_what_items_have_in_common(store: Store) -> None:
    items = [
        _item(f"k{n}", created_at=NOW + n * DAY, corpus="ab"[n % 2], practice_area="p")
        for n in (2, 0, 1, 3)
    ]
    store.add_review_items(items)
    even = ReviewFilter(corpus="a", state="pending_review")
    same([item.key for item in store.find_items(even)], ["k0", "k2"])
    same([item.key for item in store.find_items(even, limit=1, offset=1)], ["k2"])
    named = ReviewFilter(named=("g-k3", "k0"))
    same([item.key for item in store.find_items(named)], ["k0", "k3"])
    aged = ReviewFilter(since=NOW + DAY, before=NOW + 3 * DAY)
    same((store.count_items(aged), store.count_items(ReviewFilter(gold="none"))), (2, 0))
    same(store.item_neighbours(even, items[2]), Neighbours(1, "i-k0", "i-k2"))
    same(store.item_neighbours(even, items[1]), Neighbours(0, "", "i-k2"))
    same([(row.corpus, row.items) for row in store.queue_counts()], [("a", 2), ("b", 2)])


def what_somebody_decided_last_is_one_step(store: Store) -> None:
    store.add_review_items([_item(f"k{n}") for n in range(4)])
    same(store.last_decided("dafna"), [])
    store.rule([_ruling(_item("k0"), at=NOW)])
    store.rule([_ruling(_item("k1")), _ruling(_item("k2"), "rejected")])
    store.rule([_ruling(_item("k3"), by="noa", at=NOW + 5 * DAY)])
    last = store.last_decided("dafna")
    same([item.key for item in last], ["k1", "k2"])
    store.rule([_ruling(item, "pending_review", at=NOW + 2 * DAY) for item in last])
    same([item.key for item in store.last_decided("dafna")], ["k0"])


# ── history ───────────────────────────────────────────────────────────────────────────────────────


def what_waits_is_counted(store: Store) -> None:
    same(store.waiting(), (0, None))
    store.add_review_items([_item("a", created_at=NOW + DAY), _item("b"), _item("c")])
    store.rule([_ruling(_item("c"))])
    same(store.waiting(), (2, NOW))


def runs_are_kept_once_and_listed_newest_first(store: Store) -> None:
    runs = [
        RunRecord(id=f"r{n}", at=NOW + n * DAY, engine="e", gold="g", results={"n": n})
        for n in range(3)
    ]
    for run in [*runs, runs[0]]:
        store.put_run(run)
    same(store.run("r1"), runs[1])
    same(store.run("none"), None)
    same([run.id for run in store.runs(gold="g", limit=2)], ["r2", "r1"])
    same(store.runs(gold="other"), [])


def votes_are_kept_once_for_each_set(store: Store) -> None:
    vote = _vote("v", document="0af1", seconds=4.5, supersedes="u", rubric="r@1", source="sample")
    same((store.append_votes("g", [vote]), store.append_votes("g", [vote])), (1, 0))
    same((store.append_votes("h", [vote]), store.votes("h")), (1, [vote]))


def an_unsure_vote_is_one_without_a_grade(store: Store) -> None:
    vote = _vote("v", grade=None, kind="machine")
    store.append_votes("g", [vote])
    same(store.votes("g"), [vote])


def _vote(id: str, **fields: Any) -> Vote:
    known: dict[str, Any] = {"query_id": "g1", "doc_id": "a", "grade": 1, "judge": "j"}
    return Vote(id=id, **(known | {"kind": "human", "at": NOW.isoformat()} | fields))


def health_counts_rows(store: Store) -> None:
    store.add_searches([_search("l1", "a", "b")])
    health = store.health()
    same((bool(health.backend), bool(health.version)), (True, True))
    same((health.rows["search_logs"], health.rows["shown_results"]), (1, 2))


PROMISES: tuple[Callable[[Store], None], ...] = (
    searches_come_back_as_given,
    a_search_sent_twice_is_kept_once,
    every_time_zone_is_one_moment,
    text_that_no_database_could_hold_is_mended,
    nothing_is_fine,
    cases_are_told_apart,
    a_citation_scores_3_once_with_provenance,
    only_earlier_searches_get_feedback,
    a_search_that_arrives_late_gets_its_feedback,
    feedback_may_keep_to_its_own_case,
    a_decision_does_not_cite_itself,
    an_amended_decision_adds_its_new_citations,
    a_click_counts_once_and_finds_its_rank,
    the_last_vote_of_a_person_holds,
    support_counts_by_spelling_document_and_rank,
    searches_are_purged_by_age,
    what_a_decision_cites_can_stay,
    waiting_rows_are_exactly_those_given,
    what_is_withdrawn_is_in_the_audit_trail,
    decided_rows_stay_and_other_sets_too,
    an_approved_row_that_is_asked_for_again_waits_again,
    a_ruling_records_who_when_why_and_the_vote,
    the_second_of_two_reviewers_is_told,
    nothing_is_recorded_when_the_file_cannot_be_written,
    the_queue_has_pages,
    the_queue_is_found_by_what_items_have_in_common,
    what_somebody_decided_last_is_one_step,
    what_waits_is_counted,
    runs_are_kept_once_and_listed_newest_first,
    votes_are_kept_once_for_each_set,
    an_unsure_vote_is_one_without_a_grade,
    health_counts_rows,
)
