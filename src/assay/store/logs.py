"""Search logs, decisions and the feedback between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace
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

from assay.store.database import LOG_LOCK, lock, reading, writing
from assay.store.records import (
    CITATION_SCORE,
    CaseCounts,
    Decision,
    Feedback,
    Kept,
    Purged,
    SearchLog,
    Shown,
    Support,
)
from assay.store.statements import chunks, insert_into, insert_new, row_of
from assay.store.tables import (
    clean,
    decision_citations,
    decisions,
    finite,
    relevance_feedback,
    search_logs,
    shown_results,
)

_LOG_FIELDS = tuple(column.name for column in search_logs.columns)


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
        searches = [
            replace(search, id=clean(search.id)) if "\0" in search.id else search
            for search in searches
        ]
        rows = [{name: getattr(search, name) for name in _LOG_FIELDS} for search in searches]
        statement = insert_new(connection, search_logs).returning(search_logs.c.id)
        new = set(connection.execute(statement, sorted(rows, key=lambda row: row["id"])).scalars())
        _add_shown(connection, [search for search in _first_of_each(searches) if search.id in new])
        _give_late_feedback(connection, [search for search in searches if search.id in new])
        return len(new)

    @reading
    def searches(self, connection: Connection, ids: Sequence[str]) -> list[SearchLog]:
        """Return the searches with these ids, oldest first."""
        shown: dict[str, list[Shown]] = {}
        rows: list[Kept] = []
        for some_ids in chunks(ids):
            query = (
                select(shown_results)
                .where(shown_results.c.log_id.in_(some_ids))
                .order_by("log_id", "rank")
            )
            for row in connection.execute(query):
                shown.setdefault(row.log_id, []).append(Shown(row.doc_id, row.rank, row.score))
            logged = select(search_logs).where(search_logs.c.id.in_(some_ids))
            rows += map(dict, connection.execute(logged).mappings())
        rows.sort(key=lambda row: (row["at"], row["id"]))
        return [SearchLog(**row, results=tuple(shown.get(row["id"], ()))) for row in rows]

    @reading
    def search_total(self, connection: Connection) -> int:
        """Count all searches."""
        return int(connection.execute(select(func.count()).select_from(search_logs)).scalar() or 0)

    @reading
    def shown_documents(self, connection: Connection, ids: Sequence[str]) -> set[str]:
        """Return those of the documents that a search has shown."""
        found: set[str] = set()
        for some_ids in chunks([clean(id) for id in ids]):
            doc_id = shown_results.c.doc_id
            shown = select(doc_id).where(doc_id.in_(some_ids)).distinct()
            found |= set(connection.execute(shown).scalars())
        return found

    @writing
    def add_decisions(
        self, connection: Connection, given: Sequence[Decision], *, same_case: bool = False
    ) -> int:
        """Keep decisions, and give every earlier search that showed a cited document
        `relevance_score = 3` for it, once for a (search, document), with decision and rank. Return
        how much feedback is new."""
        if not given:
            return 0
        lock(connection, LOG_LOCK)
        rows = [
            {
                "id": decision.id,
                "at": decision.at,
                "case_id": decision.case_id,
                "same_case": int(same_case),
            }
            for decision in given
        ]
        connection.execute(insert_new(connection, decisions), rows)
        cited = [
            {"decision_id": decision.id, "doc_id": doc_id}
            for decision in given
            for doc_id in dict.fromkeys(decision.cites)
        ]
        if cited:
            connection.execute(insert_new(connection, decision_citations), cited)
        return sum(
            _infer(connection, decisions.c.id.in_(ids))
            for ids in chunks([decision.id for decision in given])
        )

    @writing
    def add_feedback(self, connection: Connection, given: Sequence[Feedback]) -> int:
        """Keep clicks and votes: one click for a (search, document, person); a person's later vote
        replaces an earlier one. A rank that is not given is looked up in the log."""
        ranks = _shown_ranks(connection, [sign.log_id for sign in given if sign.rank is None])
        added = 0
        for sign in sorted(given, key=_identity_and_time):
            row = row_of(sign)
            if sign.rank is None:
                row["rank"] = ranks.get((sign.log_id, sign.doc_id))
            statement = insert_into(connection, relevance_feedback)
            if sign.kind == "vote":
                changed = {
                    name: statement.excluded[name] for name in ("relevance_score", "at", "rank")
                }
                statement = statement.on_conflict_do_update(
                    index_elements=["log_id", "doc_id", "kind", "by"],
                    set_=changed,
                    where=relevance_feedback.c.at <= statement.excluded.at,
                )
            else:
                statement = statement.on_conflict_do_nothing()
            added += _added(connection, statement, row)
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
        own = other = every = 0
        for ids in chunks(decision_ids):
            counted = (
                select(
                    func.count(case((_own_case(), 1))),
                    func.count(case((_other_case(), 1))),
                    func.count(),
                )
                .select_from(_citations())
                .where(relevance_feedback.c.kind == "citation", decisions.c.id.in_(ids))
            )
            some_own, some_other, some = connection.execute(counted).one()
            own, other, every = own + some_own, other + some_other, every + some
        return CaseCounts(own=own, other=other, unknown=every - own - other)

    @reading
    def of_other_cases(
        self, connection: Connection, doc_id: str, log_ids: Sequence[str]
    ) -> set[str]:
        """Return those of the searches whose label on a document comes only from decisions of
        another case."""
        found: set[str] = set()
        for ids in chunks(log_ids):
            wanted = (
                select(relevance_feedback.c.log_id)
                .select_from(_citations())
                .where(
                    relevance_feedback.c.doc_id == doc_id,
                    relevance_feedback.c.log_id.in_(ids),
                    _other_case(),
                )
            )
            found |= set(connection.execute(wanted).scalars())
        return found

    @reading
    def support(
        self,
        connection: Connection,
        *,
        min_score: int = CITATION_SCORE,
        since: datetime | None = None,
        corpora: Sequence[str] = (),
    ) -> list[Support]:
        """Join feedback with the logs and count it by spelling and document.

        With `min_score` below 3, votes against a document (score 0) are counted too."""
        given = relevance_feedback
        rank = case((given.c.kind == "citation", null()), else_=given.c.rank).label("rank")
        wanted = given.c.relevance_score >= min_score
        if min_score < CITATION_SCORE:
            wanted = or_(wanted, and_(given.c.kind == "vote", given.c.relevance_score == 0))
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
        if _knows_cases(connection):
            others = func.count(case((_other_case(), given.c.log_id)).distinct())
            query = query.outerjoin(decisions, decisions.c.id == given.c.decision_id).add_columns(
                others.label("other_case")
            )
        if since is not None:
            query = query.where(search_logs.c.at >= since)
        if corpora:
            query = query.where(search_logs.c.corpus.in_(corpora))
        return [Support(**row) for row in connection.execute(query).mappings()]

    @reading
    def showings(
        self, connection: Connection, queries: Sequence[str], *, since: datetime | None = None
    ) -> dict[tuple[str, str, str], int]:
        """Count the searches that showed each document: (query, corpus, doc_id) -> searches."""
        counts: dict[tuple[str, str, str], int] = {}
        for spellings in chunks(sorted(set(queries))):
            count = (
                select(
                    search_logs.c.query,
                    search_logs.c.corpus,
                    shown_results.c.doc_id,
                    func.count(search_logs.c.id.distinct()),
                )
                .join_from(search_logs, shown_results, shown_results.c.log_id == search_logs.c.id)
                .where(search_logs.c.query.in_(spellings))
                .group_by(search_logs.c.query, search_logs.c.corpus, shown_results.c.doc_id)
            )
            if since is not None:
                count = count.where(search_logs.c.at >= since)
            counts |= {
                (query, corpus, doc_id): n for query, corpus, doc_id, n in connection.execute(count)
            }
        return counts

    @reading
    def query_counts(self, connection: Connection) -> dict[tuple[str, str], int]:
        """Count the searches for each spelling: (query, corpus) -> searches."""
        keys = (search_logs.c.query, search_logs.c.corpus)
        counted = select(*keys, func.count()).group_by(*keys)
        return {(query, corpus): n for query, corpus, n in connection.execute(counted)}

    @writing
    def purge(
        self, connection: Connection, before: datetime, *, keep_cited: bool = False
    ) -> Purged:
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
        return Purged(feedback=counted[0], results=counted[1], searches=counted[2])


def _add_shown(connection: Connection, searches: Sequence[SearchLog]) -> None:
    """Ten rows a search: given to the driver as they are, since binding them one by one would be
    most of the cost."""
    rows = [
        (search.id, result.rank, clean(result.doc_id), finite(result.score))
        for search in searches
        for result in search.results
    ]
    place = "%s" if connection.dialect.name == "postgresql" else "?"
    if rows:
        connection.exec_driver_sql(
            "INSERT INTO shown_results (log_id, rank, doc_id, score) "
            f"VALUES ({place}, {place}, {place}, {place}) "
            "ON CONFLICT DO NOTHING",
            rows,
        )


def _first_of_each(searches: Iterable[SearchLog]) -> Iterable[SearchLog]:
    return {search.id: search for search in reversed(list(searches))}.values()


def _give_late_feedback(connection: Connection, searches: Sequence[SearchLog]) -> None:
    """A live log is newer than every decision, and then this costs one look at an index."""
    if not searches:
        return
    newest = connection.execute(select(func.max(decisions.c.at)).select_from(decisions)).scalar()
    late = [search.id for search in searches if newest is not None and search.at < newest]
    for ids in chunks(late):
        _infer(connection, shown_results.c.log_id.in_(ids))


def _infer(connection: Connection, which: ColumnElement[bool]) -> int:
    """relevance_score = 3 for every (search, document) where a later decision cites the document;
    the first such decision is the provenance, and the best rank the document was shown at."""
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
            which,
            search_logs.c.at < decisions.c.at,
            decision_citations.c.doc_id != decisions.c.id,
            or_(
                decisions.c.same_case == 0,
                and_(decisions.c.case_id != "", decisions.c.case_id == search_logs.c.case_id),
            ),
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
    columns = ("log_id", "doc_id", "kind", "by", "relevance_score", "at", "rank", "decision_id")
    return _added(
        connection, insert_new(connection, relevance_feedback).from_select(columns, chosen)
    )


def _added(connection: Connection, statement: Any, row: Kept | None = None) -> int:
    return int(
        connection.execute(statement, row, execution_options={"preserve_rowcount": True}).rowcount
    )


def _identity_and_time(sign: Feedback) -> tuple[str, str, str, str, datetime]:
    return sign.log_id, sign.doc_id, sign.kind, sign.by, sign.at


def _shown_ranks(connection: Connection, log_ids: Sequence[str]) -> dict[tuple[str, str], int]:
    ranks: dict[tuple[str, str], int] = {}
    for ids in chunks(log_ids):
        query = select(
            shown_results.c.log_id, shown_results.c.doc_id, func.min(shown_results.c.rank)
        )
        query = query.where(shown_results.c.log_id.in_(ids)).group_by("log_id", "doc_id")
        ranks |= {(log_id, doc_id): rank for log_id, doc_id, rank in connection.execute(query)}
    return ranks


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


def _knows_cases(connection: Connection) -> bool:
    known = select(decisions.c.id).where(decisions.c.case_id != "").limit(1)
    return connection.execute(known).first() is not None
