"""The store against a model in plain Python, on random worlds that are small enough for every
boundary to come up: moments that are the same, cases that are, documents shown twice, names that
sort alike (benchmarks/mutants.py)."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assay.core.types import Vote
from assay.store import Store
from assay.store.contract import StoreConflict
from assay.store.records import (
    CaseCounts,
    Decision,
    Feedback,
    Neighbours,
    QueueCount,
    ReviewFilter,
    ReviewItem,
    Ruling,
    SearchLog,
    Shown,
    Support,
)

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


def minute(n: int) -> datetime:
    return NOW + timedelta(minutes=n)


# ── searches, decisions, feedback ─────────────────────────────────────────────────────────────────


class World:
    """What was logged and decided, and the feedback that follows, by the rule of the contract."""

    def __init__(self, dice: random.Random) -> None:
        def search(n: int) -> SearchLog:
            docs = dice.choices("abcd", k=dice.randint(0, 4))
            return SearchLog(
                id=f"s{n:02d}", at=minute(dice.randint(0, 5)), query=f"q{dice.randint(0, 2)}",
                corpus=dice.choice(["", "c", "e"]), practice_area=dice.choice(["", "p"]),
                case_id=dice.choice(["", "k1", "k2"]),
                results=tuple(Shown(doc, rank) for rank, doc in enumerate(docs, start=1)),
            )  # fmt: skip

        def decision(id: str) -> Decision:
            return Decision(
                id=id, at=minute(dice.randint(0, 5)), case_id=dice.choice(["", "k1", "k2"]),
                cites=tuple(dice.choices("abcd", k=dice.randint(1, 3))),
            )  # fmt: skip

        self.early, self.late = [search(n) for n in range(14)], [search(n) for n in range(14, 22)]
        self.decisions = [decision(id) for id in ("a", "D1", "D2")]
        self.own_case = [decision(id) for id in ("D3", "D4")]
        self.signs = [
            Feedback(
                log_id=f"s{dice.randint(0, 22):02d}", doc_id=dice.choice("abcd"), kind=kind,
                relevance_score=score, at=minute(dice.randint(0, 5)), by=dice.choice(["", "x"]),
                rank=dice.choice([None, None, 3]),
            )
            for kind, score in dice.choices(
                [("click", 1), ("vote", 2), ("vote", 0)], k=24
            )
        ]  # fmt: skip
        self.searches = {each.id: each for each in [*self.early, *self.late]}
        self.feedback: dict[tuple[str, str, str, str], Feedback] = {}
        self._infer(self.early, self.decisions, ())
        self._infer(self.early, (), self.own_case)
        self._infer(self.late, self.decisions, self.own_case)
        for sign in sorted(self.signs, key=lambda s: (s.log_id, s.doc_id, s.kind, s.by, s.at)):
            self._tell(sign)

    def fill(self, store: Store) -> None:
        assert store.add_searches(self.early) == len(self.early)
        store.add_decisions(self.decisions)
        store.add_decisions(self.own_case, same_case=True)
        assert store.add_searches([*self.late, self.early[0]]) == len(self.late)
        store.add_feedback(self.signs)

    def _infer(
        self,
        searches: Iterable[SearchLog],
        any_case: Sequence[Decision],
        same_case: Sequence[Decision],
    ) -> None:
        for search in searches:
            for doc in {shown.doc_id for shown in search.results}:
                citing = [
                    each
                    for each in [*any_case, *same_case]
                    if doc in each.cites
                    and search.at < each.at
                    and doc != each.id
                    and (each in any_case or (each.case_id and each.case_id == search.case_id))
                ]
                if citing:
                    first = min(citing, key=lambda each: (each.at, each.id))
                    self.feedback.setdefault(
                        (search.id, doc, "citation", ""),
                        Feedback(
                            log_id=search.id, doc_id=doc, kind="citation", relevance_score=3,
                            at=first.at, rank=self.rank(search.id, doc), decision_id=first.id,
                        ),
                    )  # fmt: skip

    def rank(self, log_id: str, doc: str) -> int | None:
        search = self.searches.get(log_id)
        ranks = [shown.rank for shown in search.results if shown.doc_id == doc] if search else []
        return min(ranks, default=None)

    def _tell(self, sign: Feedback) -> None:
        key = (sign.log_id, sign.doc_id, sign.kind, sign.by)
        before = self.feedback.get(key)
        if before is None or (sign.kind == "vote" and before.at <= sign.at):
            rank = sign.rank if sign.rank is not None else self.rank(sign.log_id, sign.doc_id)
            given = {name: getattr(sign, name) for name in Feedback.__struct_fields__}
            self.feedback[key] = Feedback(**given | {"rank": rank})

    def rows(self) -> list[Feedback]:
        return [self.feedback[key] for key in sorted(self.feedback)]

    def of_own_case(self, row: Feedback) -> bool:
        search = self.searches[row.log_id]
        return any(
            search.case_id and each.case_id == search.case_id and each.at > search.at
            and row.doc_id in each.cites
            for each in [*self.decisions, *self.own_case]
        )  # fmt: skip

    def of_other_case(self, row: Feedback) -> bool:
        if row.kind != "citation":
            return False
        search = self.searches[row.log_id]
        (cited,) = (e for e in [*self.decisions, *self.own_case] if e.id == row.decision_id)
        known = bool(search.case_id and cited.case_id) and search.case_id != cited.case_id
        return known and not self.of_own_case(row)

    def support(
        self, min_score: int, since: datetime | None, corpora: Sequence[str]
    ) -> Counter[Support]:
        knows = any(each.case_id for each in [*self.decisions, *self.own_case])
        groups: dict[tuple[Any, ...], list[Feedback]] = {}
        for row in self.rows():
            search = self.searches.get(row.log_id)
            against = min_score < 3 and row.kind == "vote" and row.relevance_score == 0
            if search is None or not (row.relevance_score >= min_score or against):
                continue
            if (since and search.at < since) or (corpora and search.corpus not in corpora):
                continue
            rank = None if row.kind == "citation" else row.rank
            key = (search.query, search.corpus, search.practice_area, row.doc_id, row.kind,
                   row.relevance_score, rank)  # fmt: skip
            groups.setdefault(key, []).append(row)
        names = Support.__struct_fields__[:7]
        return Counter(
            Support(
                **dict(zip(names, key, strict=True)),
                searches=len({row.log_id for row in rows}),
                other_case=len({row.log_id for row in rows if self.of_other_case(row)})
                if knows
                else 0,
            )
            for key, rows in groups.items()
        )


@pytest.mark.parametrize("seed", range(3))
def test_feedback_is_what_the_contract_says(store: Store, seed: int) -> None:
    world = World(random.Random(seed))
    world.fill(store)
    every = world.rows()
    assert store.feedback() == every
    assert store.search_total() == len(world.searches)
    for field, values in {"log_id": ["s03"], "doc_id": ["a"], "decision_id": ["a", "D3"]}.items():
        for value in values:
            expected = [row for row in every if getattr(row, field) == value]
            assert store.feedback(**{field: value}) == expected  # type: ignore[arg-type]
    asked = [row for row in every if row.log_id in world.searches
             and world.searches[row.log_id].query == "q1"]  # fmt: skip
    assert store.feedback(query="q1") == asked
    assert store.feedback(query="q1", limit=1) == asked[:1]
    for min_score, since, corpora in itertools.product(
        (1, 2, 3), (None, minute(3)), ((), ("c",), ("c", "e"))
    ):
        found = Counter(store.support(min_score=min_score, since=since, corpora=corpora))
        assert found == world.support(min_score, since, corpora), (min_score, since, corpora)
    cited = [row for row in every if row.kind == "citation"]
    for ids in (["a"], ["D1", "D3"], ["a", "D1", "D2", "D3", "D4"], []):
        ours = [row for row in cited if row.decision_id in ids]
        own = sum(map(world.of_own_case, ours))
        other = sum(map(world.of_other_case, ours))
        counts = CaseCounts(own=own, other=other, unknown=len(ours) - own - other)
        assert store.case_counts(ids) == counts
    logs = sorted(world.searches)
    for doc in "abcd":
        of_others = {row.log_id for row in cited if row.doc_id == doc and world.of_other_case(row)}
        assert store.of_other_cases(doc, logs) == of_others
        assert store.of_other_cases(doc, logs[:9]) == of_others & set(logs[:9])


def test_a_decision_of_the_moment_of_the_search_is_not_after_it(store: Store) -> None:
    search = SearchLog(id="s", at=NOW, query="q", case_id="k1", results=(Shown("a", 1),))
    store.add_searches([search])
    others = Decision(id="D1", at=minute(1), case_id="k2", cites=("a",))
    store.add_decisions([others, Decision(id="D2", at=NOW, case_id="k1", cites=("a",))])
    assert store.case_counts(["D1", "D2"]) == CaseCounts(own=0, other=1, unknown=0)
    assert store.of_other_cases("a", ["s"]) == {"s"}
    store.add_decisions([Decision(id="D3", at=minute(2), case_id="k1", cites=("a",))])
    assert store.case_counts(["D1", "D2"]) == CaseCounts(own=1, other=0, unknown=0)
    assert store.of_other_cases("a", ["s"]) == set()


@pytest.mark.parametrize("seed", range(2))
def test_searches_are_counted_and_come_back_in_order(store: Store, seed: int) -> None:
    world = World(random.Random(seed))
    world.fill(store)
    searches = list(world.searches.values())
    ordered = sorted(searches, key=lambda each: (each.at, each.id))
    assert store.searches([each.id for each in searches]) == ordered
    asked = {"s05", "s01", "none"}
    assert store.searches(sorted(asked)) == [each for each in ordered if each.id in asked]
    shown = {hit.doc_id for each in searches for hit in each.results}
    assert store.shown_documents(["a", "b", "x"]) == shown & {"a", "b"}
    for since in (None, minute(3)):
        counted = Counter(
            (each.query, each.corpus, doc)
            for each in searches
            if each.query in ("q0", "q1") and (since is None or each.at >= since)
            for doc in {hit.doc_id for hit in each.results}
        )
        assert store.showings(["q1", "q0", "q0"], since=since) == counted
    assert store.query_counts() == Counter((each.query, each.corpus) for each in searches)


@pytest.mark.parametrize("keep_cited", [False, True])
def test_what_is_purged_is_gone_and_nothing_else(store: Store, keep_cited: bool) -> None:
    world = World(random.Random(9))
    world.fill(store)
    before = minute(3)
    cited = {row.log_id for row in world.rows() if row.kind == "citation"}
    gone = {
        each.id
        for each in world.searches.values()
        if each.at < before and not (keep_cited and each.id in cited)
    }
    lost = [
        row
        for row in world.rows()
        if row.log_id in gone or (row.log_id not in world.searches and row.at < before)
    ]
    done = store.purge(before, keep_cited=keep_cited)
    assert (done.searches, done.feedback) == (len(gone), len(lost))
    assert done.results == sum(len(world.searches[id].results) for id in gone)
    assert store.feedback() == [row for row in world.rows() if row not in lost]
    left = sorted(set(world.searches) - gone)
    assert sorted(each.id for each in store.searches(sorted(world.searches))) == left


# ── the queue ─────────────────────────────────────────────────────────────────────────────────────


def queue(dice: random.Random, n: int = 24) -> list[ReviewItem]:
    return [
        ReviewItem(
            id=f"i{number:02d}", gold=dice.choice("gh"), kind=dice.choice(["gold_row", "judgment"]),
            key=f"k{number}", ref=f"r{dice.randint(0, 3)}", query="q",
            created_at=minute(dice.randint(0, 3)), corpus=dice.choice(["", "c"]),
            practice_area=dice.choice(["", "p"]), doc_ids=("a", "b"),
        )
        for number in dice.sample(range(n), n)
    ]  # fmt: skip


def oldest_first(items: Iterable[ReviewItem]) -> list[ReviewItem]:
    return sorted(items, key=lambda item: (item.created_at, item.ref, item.id))


FILTERS = [
    ReviewFilter(), ReviewFilter(gold="g"), ReviewFilter(kind="judgment"),
    ReviewFilter(state="approved"), ReviewFilter(corpus="c"), ReviewFilter(practice_area="p"),
    ReviewFilter(since=minute(1)), ReviewFilter(before=minute(2)),
    ReviewFilter(since=minute(1), before=minute(2), gold="h"),
    ReviewFilter(named=("r1", "k3")), ReviewFilter(named=("k1", "k2"), state="pending_review"),
    ReviewFilter(gold="none"),
]  # fmt: skip


def passes(wanted: ReviewFilter, item: ReviewItem) -> bool:
    same = ("gold", "kind", "state", "corpus", "practice_area")
    return (
        all(getattr(wanted, name) in ("", getattr(item, name)) for name in same)
        and (wanted.since is None or item.created_at >= wanted.since)
        and (wanted.before is None or item.created_at < wanted.before)
        and (not wanted.named or item.ref in wanted.named or item.key in wanted.named)
    )


def test_the_queue_is_found_counted_and_walked_as_a_sorted_list(store: Store) -> None:
    given = queue(random.Random(3))
    assert store.add_review_items(given) == len(given)
    assert store.add_review_items(given[:5]) == 0
    rulings = [
        Ruling(item=item, state="approved" if n % 2 else "rejected", by=by, at=minute(10 + n // 3))
        for n, (item, by) in enumerate(zip(given[:7], "xxyxyxx", strict=True))
    ]
    store.rule(rulings)
    items = oldest_first(store.review_items(limit=1000))
    assert {item.id for item in items} == {item.id for item in given}
    for wanted in FILTERS:
        found = [item for item in items if passes(wanted, item)]
        assert store.find_items(wanted) == found
        assert store.find_items(wanted, limit=3, offset=2) == found[2:5]
        assert store.count_items(wanted) == len(found)
        for item in items[::5]:
            others = [each for each in found if each.id != item.id]
            at = len([each for each in oldest_first([*others, item])[: len(found) + 1]
                      if (each.created_at, each.ref, each.id)
                      < (item.created_at, item.ref, item.id)])  # fmt: skip
            assert store.item_neighbours(wanted, item) == Neighbours(
                at,
                others[at - 1].id if at else "",
                others[at].id if at < len(others) else "",
            ), (wanted, item.id)
    waiting = [item for item in items if item.state == "pending_review"]
    assert store.waiting() == (len(waiting), min(item.created_at for item in waiting))
    counted = Counter((i.gold, i.kind, i.corpus, i.practice_area) for i in waiting)
    assert store.queue_counts() == [QueueCount(*key, counted[key]) for key in sorted(counted)]
    for by in "xyz":
        theirs = [item for item in items if item.decided_by == by]
        last = max((item.decided_at for item in theirs if item.decided_at), default=None)
        assert store.last_decided(by) == [item for item in theirs if item.decided_at == last]
    for gold in ("", "g"):
        times = [(i.state, i.created_at, i.decided_at) for i in items if gold in ("", i.gold)]
        assert Counter(store.review_times(gold)) == Counter(times)
    for filters in (
        {"gold": "g"},
        {"kind": "judgment", "state": "rejected"},
        {"ids": ["i03", "i05"]},
    ):
        names = {name: value for name, value in filters.items() if name != "ids"}
        expected = [
            item
            for item in items
            if all(getattr(item, name) == value for name, value in names.items())
            and item.id in filters.get("ids", item.id)
        ]
        assert store.review_items(**filters) == expected  # type: ignore[arg-type]
        assert store.review_items(**filters, limit=1, offset=1) == expected[1:2]  # type: ignore[arg-type]
    assert store.gold_names() == ["g", "h"]


def test_a_ruling_on_what_has_changed_says_who_was_first(store: Store) -> None:
    first, second = queue(random.Random(1))[:2]
    store.add_review_items([first])
    store.rule([Ruling(item=first, state="approved", by="ada", at=NOW, reason="so")])
    vote = Vote(id="v", query_id="q", doc_id="d", grade=1, judge="b", kind="human", at="2026")
    late = [
        Ruling(item=second, state="approved", by="bea", at=NOW, votes=(vote,)),
        Ruling(item=first, state="rejected", by="bea", at=NOW, votes=(vote,)),
    ]
    with pytest.raises(StoreConflict, match=f"{first.ref} is approved already, by ada"):
        store.rule(late)
    assert [item.decided_by for item in store.review_items()] == ["ada"]
    assert store.votes(first.gold) == []
    assert [(entry.by, entry.action, entry.subject, entry.reason) for entry in store.audit()] == [
        ("ada", "review.approved", f"{first.gold}/{first.ref}", "so")
    ]


def test_rows_of_a_bootstrap_are_brought_up_to_date(store: Store) -> None:
    def row(key: str, **more: Any) -> ReviewItem:
        fields = {"id": f"i{key}", "gold": "g", "kind": "gold_row", "ref": f"g{key}", "query": "q",
                  "created_at": NOW}  # fmt: skip
        return ReviewItem(key=key, **(fields | more))

    other = row("1", id="o", gold="h")
    suggested = row("9", id="j", kind="judgment")
    store.add_review_items([other, suggested])
    rows = [row("1"), row("2"), row("3"), row("4")]
    assert store.sync_gold_rows(rows, gold="g", at=NOW) == 4
    items = {item.key: item for item in store.review_items(gold="g", kind="gold_row")}
    store.rule([Ruling(item=items["2"], state="approved", by="x", at=NOW, reason="r")])
    store.rule([Ruling(item=items["3"], state="rejected", by="x", at=NOW, reason="r")])
    again = [
        row(key, id=f"n{key}", created_at=minute(1), query="new", corpus="c", practice_area="p",
            doc_ids=("z",), ref=f"h{key}")
        for key in "1235"
    ]  # fmt: skip
    assert store.sync_gold_rows(again, gold="g", at=minute(2)) == 1
    found = {item.key: item for item in store.review_items(gold="g", kind="gold_row")}
    assert sorted(found) == ["1", "2", "3", "5"]
    for key, state, created in (("1", "pending_review", NOW), ("2", "pending_review", minute(1))):
        item = found[key]
        assert (item.id, item.state, item.created_at) == (f"i{key}", state, created)
        assert (item.query, item.corpus, item.practice_area, item.doc_ids, item.ref) == (
            "new", "c", "p", ("z",), f"h{key}")  # fmt: skip
        assert (item.decided_at, item.decided_by, item.reason) == (None, "", "")
    assert (found["3"].state, found["3"].query, found["5"].id) == ("rejected", "q", "n5")
    assert store.issued_ids("g") == {"1": "h1", "2": "h2", "3": "h3", "4": "g4", "5": "h5"}
    (entry,) = store.audit(action="review.withdrawn")
    assert (entry.subject, entry.by, entry.at) == ("g/g4", "bootstrap", minute(2))
    assert (entry.before or {})["id"] == "i4"
    assert [item.id for item in store.review_items(gold="h")] == ["o"]
    assert [item.id for item in store.review_items(kind="judgment")] == ["j"]
    gone = store.review_items(gold="g", kind="gold_row")
    assert store.withdraw(gone, by="z", at=NOW, reason="w") == 3  # what is rejected stays
    assert store.withdraw(gone, by="z", at=NOW, reason="w") == 0
    assert len(store.audit(action="review.withdrawn")) == 4


def test_a_name_goes_to_the_first_who_asks(store: Store) -> None:
    def gone(identity: str) -> bool:
        return identity == "left"

    assert store.gold_name("left", ["g", "a/g"], gone=gone) == "g"
    assert store.gold_name("left", ["x"], gone=gone) == "g"
    assert store.gold_name("one", ["g", "a/g"], gone=gone) == "g"
    assert store.gold_name("two", ["g", "a/g"], gone=gone) == "a/g"
    assert store.gold_name("three", ["g", "a/g"], gone=gone) == "a/g"
    assert store.gold_identities() == {"one": "g", "three": "a/g"}
