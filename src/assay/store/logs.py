"""Search logs, decisions and the feedback between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    and_,
    case,
    delete,
    exists,
    func,
    literal,
    null,
    or_,
    select,
)

from assay.store.database import (
    IDS,
    LOG_LOCK,
    chunks,
    insert_into,
    insert_new,
    lock,
    reading,
    row_of,
    rows_with,
    writing,
)
from assay.store.records import (
    CITATION_SCORE,
    CaseCounts,
    Decision,
    Feedback,
    JsonObject,
    PurgeCounts,
    SearchLog,
    ShownResult,
    Support,
)
from assay.store.tables import (
    clean,
    decision_citations,
    decisions,
    finite,
    relevance_feedback,
    search_logs,
    shown_results,
)

FEEDBACK_KEY = ("log_id", "doc_id", "kind", "by")


class Logs:
    """The methods of a store for search logs, decisions and feedback."""

    _engine: Engine

    @writing
    def add_searches(self, connection: Connection, searches: Sequence[SearchLog]) -> int:
        """Keep searches and return how many were new.

        A search that arrives after a decision that was finalised later than the search was made
        gets that decision's feedback now."""
        if not searches:
            return 0
        lock(connection, LOG_LOCK, shared=True)
        by_id = {clean(search.id): search for search in reversed(searches)}
        rows = [row_of(by_id[id]) for id in sorted(by_id)]
        for row in rows:
            del row["results"]
        statement = insert_new(connection, search_logs).returning(search_logs.c.id)
        new = connection.execute(statement, rows).scalars().all()
        _add_shown(connection, {id: by_id[id].results for id in new})
        # A live log is newer than every decision, and then this costs one look at an index.
        newest = connection.execute(select(func.max(decisions.c.at))).scalar()
        late = [id for id in new if newest is not None and by_id[id].at < newest]
        _infer(connection, shown_results.c.log_id, late)
        return len(new)

    @reading
    def searches(self, connection: Connection, ids: Sequence[str]) -> list[SearchLog]:
        """Return the searches with these ids, oldest first."""
        results: dict[str, list[ShownResult]] = {}
        query = select(shown_results).where(shown_results.c.log_id.in_(IDS)).order_by("rank")
        for row in rows_with(connection, query, ids):
            results.setdefault(row.log_id, []).append(ShownResult(row.doc_id, row.rank, row.score))
        logged = rows_with(connection, select(search_logs).where(search_logs.c.id.in_(IDS)), ids)
        return [
            SearchLog(**row._mapping, results=tuple(results.get(row.id, ())))
            for row in sorted(logged, key=lambda row: (row.at, row.id))
        ]

    @reading
    def known_searches(self, connection: Connection, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that a search has."""
        wanted = select(search_logs.c.id).where(search_logs.c.id.in_(IDS))
        return {row.id for row in rows_with(connection, wanted, ids)}

    @reading
    def search_total(self, connection: Connection) -> int:
        """Count all searches."""
        return int(connection.execute(select(func.count()).select_from(search_logs)).scalar() or 0)

    @reading
    def shown_documents(self, connection: Connection, ids: Sequence[str]) -> set[str]:
        """Return those of the documents that a search has shown."""
        doc_id = shown_results.c.doc_id
        shown = select(doc_id).where(doc_id.in_(IDS)).distinct()
        return {row.doc_id for row in rows_with(connection, shown, ids)}

    @writing
    def add_decisions(
        self, connection: Connection, new_decisions: Sequence[Decision], *, same_case: bool = False
    ) -> int:
        """Keep decisions, and give every earlier search that showed a cited document
        `relevance_score = 3` for it, once for a (search, document), with decision and rank. Return
        how much feedback is new."""
        if not new_decisions:
            return 0
        lock(connection, LOG_LOCK)
        rows = [row_of(decision) | {"same_case": int(same_case)} for decision in new_decisions]
        for row in rows:
            del row["cites"]
        connection.execute(insert_new(connection, decisions), rows)
        cited = [
            {"decision_id": decision.id, "doc_id": doc_id}
            for decision in new_decisions
            for doc_id in dict.fromkeys(decision.cites)
        ]
        if cited:
            connection.execute(insert_new(connection, decision_citations), cited)
        ids = [decision.id for decision in new_decisions]
        for_all = select(decisions.c.id).where(decisions.c.id.in_(IDS), decisions.c.same_case == 0)
        same_case = not any(rows_with(connection, for_all.limit(1), ids))
        return _infer(connection, decisions.c.id, ids, same_case=same_case)

    @writing
    def add_feedback(self, connection: Connection, new_feedback: Sequence[Feedback]) -> int:
        """Keep clicks, votes and scores: one click for a (search, document, person); a person's
        later vote or score replaces an earlier one. A rank that is not given is looked up in the
        log."""
        shown = shown_results.c
        query = select(shown.log_id, shown.doc_id, func.min(shown.rank).label("rank"))
        query = query.where(shown.log_id.in_(IDS)).group_by(shown.log_id, shown.doc_id)
        unranked = [sign.log_id for sign in new_feedback if sign.rank is None]
        found = rows_with(connection, query, unranked)
        ranks = {(row.log_id, row.doc_id): row.rank for row in found}
        click = insert_new(connection, relevance_feedback)
        vote = insert_into(connection, relevance_feedback)
        vote = vote.on_conflict_do_update(
            index_elements=FEEDBACK_KEY,
            set_={name: vote.excluded[name] for name in ("relevance_score", "at", "rank")},
            where=relevance_feedback.c.at <= vote.excluded.at,
        )
        added = 0
        for row in sorted(map(row_of, new_feedback), key=itemgetter(*FEEDBACK_KEY, "at")):
            if row["rank"] is None:
                row["rank"] = ranks.get((row["log_id"], row["doc_id"]))
            added += _added(connection, click if row["kind"] == "click" else vote, row)
        return added

    @reading
    def feedback(
        self,
        connection: Connection,
        *,
        log_id: str = "",
        decision_id: str = "",
        doc_id: str = "",
        query: str = "",
        limit: int = 1000,
    ) -> list[Feedback]:
        """Return feedback with its provenance, in a fixed order. `query` is the text of the search
        as it was typed."""
        table = relevance_feedback
        filters = {"log_id": log_id, "decision_id": decision_id, "doc_id": doc_id}
        wanted = select(table).where(
            *(table.c[name] == value for name, value in filters.items() if value)
        )
        if query:
            wanted = wanted.join(search_logs, search_logs.c.id == table.c.log_id).where(
                search_logs.c.query == query
            )
        wanted = wanted.order_by(table.c.log_id, table.c.doc_id, table.c.kind, table.c.by).limit(
            limit
        )
        return [Feedback(**row) for row in connection.execute(wanted).mappings()]

    @reading
    def case_counts(self, connection: Connection, decision_ids: Sequence[str]) -> CaseCounts:
        """Count the searches that these decisions labelled by the case that each was made for.

        A label that a later decision of the search's own case confirms counts as its own."""
        counted = select(
            func.count(case((_own_case(), 1))).label("own"),
            func.count(case((_other_case(), 1))).label("other"),
            func.count().label("every"),
        ).select_from(_citations())
        wanted = counted.where(relevance_feedback.c.kind == "citation", decisions.c.id.in_(IDS))
        found = list(rows_with(connection, wanted, decision_ids))
        own, other = sum(row.own for row in found), sum(row.other for row in found)
        every = sum(row.every for row in found)
        return CaseCounts(own=own, other=other, unknown=every - own - other)

    @reading
    def of_other_cases(
        self, connection: Connection, doc_id: str, log_ids: Sequence[str]
    ) -> set[str]:
        """Return those of the searches whose label on a document comes only from decisions of
        another case."""
        given = relevance_feedback.c
        wanted = select(given.log_id).select_from(_citations())
        wanted = wanted.where(given.doc_id == doc_id, given.log_id.in_(IDS), _other_case())
        return {row.log_id for row in rows_with(connection, wanted, log_ids)}

    @reading
    def support(
        self,
        connection: Connection,
        *,
        min_score: int = CITATION_SCORE,
        since: datetime | None = None,
    ) -> list[Support]:
        """Join feedback with the logs and count it by spelling and document.

        With `min_score` below 3, votes against a document (score 0) are counted too."""
        given = relevance_feedback
        rank = case((given.c.kind == "citation", null()), else_=given.c.rank).label("rank")
        wanted = given.c.relevance_score >= min_score
        if min_score < CITATION_SCORE:
            wanted = or_(wanted, given.c.relevance_score == 0)
        keys = (
            search_logs.c.query,
            search_logs.c.corpus,
            search_logs.c.practice_area,
            given.c.doc_id,
            given.c.kind,
            given.c.relevance_score,
        )
        searched = func.count(given.c.log_id.distinct()).label("searches")
        query = (
            select(*keys, rank, searched)
            .join_from(given, search_logs, search_logs.c.id == given.c.log_id)
            .where(wanted)
            .group_by(*keys, rank)
        )
        some_case = select(decisions.c.id).where(decisions.c.case_id != "").limit(1)
        if connection.execute(some_case).first() is not None:
            others = func.count(case((_other_case(), given.c.log_id)).distinct())
            query = query.outerjoin(decisions, decisions.c.id == given.c.decision_id).add_columns(
                others.label("other_case")
            )
        if since is not None:
            query = query.where(search_logs.c.at >= since)
        kept: dict[Any, Any] = {}  # one of equal values: a query has a row for each document
        return [
            Support(*(kept.setdefault(value, value) for value in row))
            for row in connection.execute(query)
        ]

    @reading
    def showings(
        self, connection: Connection, queries: Sequence[str], *, since: datetime | None = None
    ) -> dict[tuple[str, str, str], int]:
        """Count the searches that showed each document: (query, corpus, doc_id) -> searches."""
        keys = (search_logs.c.query, search_logs.c.corpus, shown_results.c.doc_id)
        count = (
            select(*keys, func.count(search_logs.c.id.distinct()))
            .join_from(search_logs, shown_results, shown_results.c.log_id == search_logs.c.id)
            .where(search_logs.c.query.in_(IDS))
            .group_by(*keys)
        )
        if since is not None:
            count = count.where(search_logs.c.at >= since)
        found = rows_with(connection, count, sorted(set(queries)))
        return {(query, corpus, doc_id): n for query, corpus, doc_id, n in found}

    @reading
    def query_counts(self, connection: Connection) -> dict[tuple[str, str], int]:
        """Count the searches for each spelling: (query, corpus) -> searches."""
        keys = (search_logs.c.query, search_logs.c.corpus)
        counted = select(*keys, func.count()).group_by(*keys)
        return {(query, corpus): n for query, corpus, n in connection.execute(counted)}

    @writing
    def purge(
        self, connection: Connection, before: datetime, *, keep_cited: bool = False
    ) -> PurgeCounts:
        """Delete searches made before a moment, with their results and feedback."""
        lock(connection, LOG_LOCK)
        old: ColumnElement[bool] = search_logs.c.at < before
        if keep_cited:
            given = relevance_feedback.alias()
            old = and_(
                old, ~exists().where(given.c.log_id == search_logs.c.id, given.c.kind == "citation")
            )
        ids = select(search_logs.c.id).where(old)
        # Feedback on searches that never arrived goes by its own age.
        orphan = and_(
            relevance_feedback.c.at < before,
            ~exists().where(search_logs.c.id == relevance_feedback.c.log_id),
        )
        counted = [
            connection.execute(statement).rowcount
            for statement in (
                delete(relevance_feedback).where(or_(relevance_feedback.c.log_id.in_(ids), orphan)),
                delete(shown_results).where(shown_results.c.log_id.in_(ids)),
                delete(search_logs).where(old),
            )
        ]
        return PurgeCounts(feedback=counted[0], results=counted[1], searches=counted[2])


def _add_shown(connection: Connection, results: Mapping[str, Sequence[ShownResult]]) -> None:
    """Ten rows a search: given to the driver as they are, since binding them one by one would be
    most of the cost."""
    rows = [
        (id, result.rank, clean(result.doc_id), finite(result.score))
        for id, shown in results.items()
        for result in shown
    ]
    values = ", ".join(["%s" if connection.dialect.name == "postgresql" else "?"] * 4)
    insert = "INSERT INTO shown_results (log_id, rank, doc_id, score)"
    if rows:
        connection.exec_driver_sql(f"{insert} VALUES ({values}) ON CONFLICT DO NOTHING", rows)


def _infer(
    connection: Connection,
    column: ColumnElement[str],
    ids: Sequence[str],
    *,
    same_case: bool = False,
) -> int:
    """relevance_score = 3 for every (search, document) where a later decision cites the document,
    of the searches or decisions with these ids; the first such decision is the provenance, and the
    best rank the document was shown at. If all decisions are for their own case alone
    (`same_case`), the searches are found by their case, which are far fewer."""
    of_case = and_(decisions.c.case_id != "", decisions.c.case_id == search_logs.c.case_id)
    order = func.row_number().over(
        partition_by=(shown_results.c.log_id, shown_results.c.doc_id),
        order_by=(decisions.c.at, decisions.c.id, shown_results.c.rank),
    )
    pairs = (
        select(
            shown_results.c.log_id,
            shown_results.c.doc_id,
            shown_results.c.rank,
            decisions.c.at,
            decisions.c.id.label("decision_id"),
            order.label("place"),
        )
        .join_from(
            decisions, decision_citations, decision_citations.c.decision_id == decisions.c.id
        )
        .join(shown_results, shown_results.c.doc_id == decision_citations.c.doc_id)
        .join(search_logs, search_logs.c.id == shown_results.c.log_id)
        .where(
            column.in_(IDS),
            search_logs.c.at < decisions.c.at,
            decision_citations.c.doc_id != decisions.c.id,
            of_case if same_case else or_(decisions.c.same_case == 0, of_case),
        )
        .subquery()
    )
    chosen = select(
        pairs.c.log_id,
        pairs.c.doc_id,
        literal("citation"),
        literal(""),
        literal(CITATION_SCORE),
        pairs.c.at,
        pairs.c.rank,
        pairs.c.decision_id,
    ).where(pairs.c.place == 1)
    columns = (*FEEDBACK_KEY, "relevance_score", "at", "rank", "decision_id")
    statement = insert_new(connection, relevance_feedback).from_select(columns, chosen)
    return sum(_added(connection, statement, {"ids": some}) for some in chunks(ids))


def _added(connection: Connection, statement: Any, values: JsonObject) -> int:
    options = {"preserve_rowcount": True}
    return int(connection.execute(statement, values, execution_options=options).rowcount)


def _own_case() -> ColumnElement[bool]:
    """A decision of the case that the search was made for cites the document, whichever came
    first."""
    later, cited = decisions.alias(), decision_citations.alias()
    return and_(
        search_logs.c.case_id != "",
        exists()
        .where(
            later.c.case_id == search_logs.c.case_id,
            later.c.at > search_logs.c.at,
            cited.c.decision_id == later.c.id,
            cited.c.doc_id == relevance_feedback.c.doc_id,
        )
        .correlate(search_logs, relevance_feedback),
    )


def _other_case() -> ColumnElement[bool]:
    """Both cases are known and are two, and no decision of the search's own says the same."""
    return and_(
        relevance_feedback.c.kind == "citation",
        search_logs.c.case_id != "",
        decisions.c.case_id != "",
        decisions.c.case_id != search_logs.c.case_id,
        ~_own_case(),
    )


def _citations() -> Any:
    """Labels from decisions, with search and decision."""
    return relevance_feedback.join(
        search_logs, search_logs.c.id == relevance_feedback.c.log_id
    ).join(decisions, decisions.c.id == relevance_feedback.c.decision_id)
