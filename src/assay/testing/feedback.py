"""A model in plain Python of the feedback that a store derives from searches and decisions.

It makes small random worlds in which every boundary comes up: equal times, equal cases, documents
that are shown twice, and searches that arrive after the decision."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from assay.store.records import (
    CITATION_SCORE,
    CaseCounts,
    Decision,
    Feedback,
    SearchLog,
    Shown,
    Support,
)

if TYPE_CHECKING:
    from assay.store import Store

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
DOCUMENTS = "abcd"
SIGNS = (("click", 1), ("vote", 2), ("vote", 0))  # kinds of feedback that people give, with scores


def minute(n: int) -> datetime:
    return NOW + timedelta(minutes=n)


class World:
    """Searches, decisions, clicks and votes, and the feedback that follows from them."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        early, late = ([self._search(n) for n in some] for some in (range(14), range(14, 22)))
        self.early, self.late = early, late
        self.decisions = [self._decision(id) for id in ("a", "D1", "D2")]
        self.own_case = [self._decision(id) for id in ("D3", "D4")]  # label only their own case
        self.signs = [self._sign() for _ in range(24)]
        self.searches = {each.id: each for each in [*early, *late]}
        self._feedback: dict[tuple[str, str, str, str], Feedback] = {}
        self._infer(early, self.decisions, ())
        self._infer(early, (), self.own_case)
        self._infer(late, self.decisions, self.own_case)
        for sign in sorted(self.signs, key=lambda s: (s.log_id, s.doc_id, s.kind, s.by, s.at)):
            self._add_sign(sign)

    def fill(self, store: Store) -> None:
        store.add_searches(self.early)
        store.add_decisions(self.decisions)
        store.add_decisions(self.own_case, same_case=True)
        store.add_searches([*self.late, self.early[0]])
        store.add_feedback(self.signs)

    def _search(self, n: int) -> SearchLog:
        dice = self._dice
        documents = dice.choices(DOCUMENTS, k=dice.randint(0, 4))
        return SearchLog(
            id=f"s{n:02d}",
            at=minute(dice.randint(0, 5)),
            query=f"q{dice.randint(0, 2)}",
            corpus=dice.choice(["", "c", "e"]),
            practice_area=dice.choice(["", "p"]),
            case_id=dice.choice(["", "k1", "k2"]),
            results=tuple(Shown(doc_id, rank) for rank, doc_id in enumerate(documents, start=1)),
        )

    def _decision(self, id: str) -> Decision:
        dice = self._dice
        cites = tuple(dice.choices(DOCUMENTS, k=dice.randint(1, 3)))
        case_id = dice.choice(["", "k1", "k2"])
        return Decision(id=id, at=minute(dice.randint(0, 5)), case_id=case_id, cites=cites)

    def _sign(self) -> Feedback:
        dice = self._dice
        kind, score = dice.choice(SIGNS)
        return Feedback(
            log_id=f"s{dice.randint(0, 22):02d}",  # s22 never arrives
            doc_id=dice.choice(DOCUMENTS),
            kind="click" if kind == "click" else "vote",
            relevance_score=score,
            at=minute(dice.randint(0, 5)),
            by=dice.choice(["", "x"]),
            rank=dice.choice([None, None, 3]),
        )

    def _infer(
        self, searches: Iterable[SearchLog], any_case: Sequence[Decision], own: Sequence[Decision]
    ) -> None:
        """A document that a later decision cites scores 3 for the search; the first such decision
        is the provenance."""
        for search in searches:
            for doc_id in {shown.doc_id for shown in search.results}:
                citing = [
                    each
                    for each in [*any_case, *own]
                    if doc_id in each.cites
                    and search.at < each.at
                    and doc_id != each.id
                    and (each in any_case or (each.case_id and each.case_id == search.case_id))
                ]
                if citing:
                    first = min(citing, key=lambda each: (each.at, each.id))
                    label = Feedback(
                        log_id=search.id,
                        doc_id=doc_id,
                        kind="citation",
                        relevance_score=CITATION_SCORE,
                        at=first.at,
                        rank=self._rank(search.id, doc_id),
                        decision_id=first.id,
                    )
                    self._feedback.setdefault((search.id, doc_id, "citation", ""), label)

    def _rank(self, log_id: str, doc_id: str) -> int | None:
        results = self.searches[log_id].results if log_id in self.searches else ()
        return min((shown.rank for shown in results if shown.doc_id == doc_id), default=None)

    def _add_sign(self, sign: Feedback) -> None:
        key = (sign.log_id, sign.doc_id, sign.kind, sign.by)
        before = self._feedback.get(key)
        if before is None or (sign.kind == "vote" and before.at <= sign.at):
            rank = self._rank(sign.log_id, sign.doc_id) if sign.rank is None else sign.rank
            self._feedback[key] = replace(sign, rank=rank)

    def feedback(self, **fields: str) -> list[Feedback]:
        rows = (self._feedback[key] for key in sorted(self._feedback))
        return [
            row
            for row in rows
            if all(getattr(row, name) == value for name, value in fields.items())
        ]

    def of_query(self, query: str) -> list[Feedback]:
        asked = {each.id for each in self.searches.values() if each.query == query}
        return [row for row in self.feedback() if row.log_id in asked]

    def of_own_case(self, row: Feedback) -> bool:
        search = self.searches[row.log_id]
        return bool(search.case_id) and any(
            each.case_id == search.case_id and each.at > search.at and row.doc_id in each.cites
            for each in [*self.decisions, *self.own_case]
        )

    def of_other_case(self, row: Feedback) -> bool:
        if row.kind != "citation":
            return False
        case_id = self.searches[row.log_id].case_id
        made = {each.id: each.case_id for each in [*self.decisions, *self.own_case]}
        other = made[row.decision_id]
        return bool(case_id and other) and case_id != other and not self.of_own_case(row)

    def case_counts(self, decision_ids: Sequence[str]) -> CaseCounts:
        rows = [row for row in self.feedback(kind="citation") if row.decision_id in decision_ids]
        own, other = sum(map(self.of_own_case, rows)), sum(map(self.of_other_case, rows))
        return CaseCounts(own=own, other=other, unknown=len(rows) - own - other)

    def support(
        self, min_score: int, since: datetime | None, corpora: Sequence[str]
    ) -> Counter[Support]:
        groups: dict[tuple[Any, ...], list[Feedback]] = {}
        for row in self.feedback():
            search = self.searches.get(row.log_id)
            against = min_score < CITATION_SCORE and (row.kind, row.relevance_score) == ("vote", 0)
            if search is None or not (row.relevance_score >= min_score or against):
                continue
            if (since and search.at < since) or (corpora and search.corpus not in corpora):
                continue
            rank = None if row.kind == "citation" else row.rank
            spelling = (search.query, search.corpus, search.practice_area)
            key = (*spelling, row.doc_id, row.kind, row.relevance_score, rank)
            groups.setdefault(key, []).append(row)
        return Counter(
            Support(
                **dict(zip(Support.__struct_fields__, key, strict=False)),
                searches=len({row.log_id for row in rows}),
                other_case=len({row.log_id for row in rows if self.of_other_case(row)}),
            )
            for key, rows in groups.items()
        )

    def showings(
        self, queries: Sequence[str], since: datetime | None
    ) -> dict[tuple[str, str, str], int]:
        return Counter(
            (each.query, each.corpus, doc_id)
            for each in self.searches.values()
            if each.query in queries and (since is None or each.at >= since)
            for doc_id in {shown.doc_id for shown in each.results}
        )
