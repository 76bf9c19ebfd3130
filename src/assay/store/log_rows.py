"""SQL for searches, decisions and the feedback between them. Every function runs inside the
caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
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
from sqlalchemy.dialects import postgresql, sqlite

from assay.store.database import LOG_LOCK, lock
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
from assay.store.tables import (
    clean,
    decision_citations,
    decisions,
    finite,
    relevance_feedback,
    search_logs,
    shown_results,
)

replace = msgspec.structs.replace
T = TypeVar("T")
CHUNK = 5000  # below both databases' limits on parameters in one statement


def chunks(items: Sequence[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def insert_new(connection: Connection, table: Any) -> Any:
    """INSERT that leaves rows alone that are there already."""
    return _insert(connection, table).on_conflict_do_nothing()


def insert_new_or_change(
    connection: Connection, table: Any, key: Sequence[str], changed: Sequence[str]
) -> Any:
    statement = _insert(connection, table)
    return statement.on_conflict_do_update(
        index_elements=list(key), set_={name: statement.excluded[name] for name in changed}
    )


def _insert(connection: Connection, table: Any) -> Any:
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)


# ── searches ──────────────────────────────────────────────────────────────────────────────────────

_LOG_FIELDS = tuple(column.name for column in search_logs.columns)


def add_searches(connection: Connection, searches: Sequence[SearchLog]) -> int:
    if not searches:
        return 0
    lock(connection, LOG_LOCK, shared=True)
    searches = [
        replace(search, id=clean(search.id)) if "\0" in search.id else search for search in searches
    ]
    rows = [{name: getattr(search, name) for name in _LOG_FIELDS} for search in searches]
    statement = insert_new(connection, search_logs).returning(search_logs.c.id)
    new = set(connection.execute(statement, sorted(rows, key=lambda row: row["id"])).scalars())
    _add_shown(connection, [search for search in _first_of_each(searches) if search.id in new])
    _give_late_feedback(connection, [search for search in searches if search.id in new])
    return len(new)


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


def searches(connection: Connection, ids: Sequence[str]) -> list[SearchLog]:
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


def search_total(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(search_logs)).scalar() or 0)


def shown_documents(connection: Connection, ids: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for some_ids in chunks([clean(id) for id in ids]):
        doc_id = shown_results.c.doc_id
        shown = select(doc_id).where(doc_id.in_(some_ids)).distinct()
        found |= set(connection.execute(shown).scalars())
    return found


def purge(connection: Connection, before: datetime, keep_cited: bool) -> Purged:
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


# ── feedback ──────────────────────────────────────────────────────────────────────────────────────


def add_decisions(connection: Connection, given: Sequence[Decision], same_case: bool) -> int:
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


def add_feedback(connection: Connection, given: Sequence[Feedback]) -> int:
    """Where the rank is not given, the log says it. A click is kept once; a vote is replaced by the
    person's next."""
    ranks = _shown_ranks(connection, [sign.log_id for sign in given if sign.rank is None])
    added = 0
    for sign in sorted(given, key=_identity_and_time):
        row = {name: getattr(sign, name) for name in Feedback.__struct_fields__}
        if sign.rank is None:
            row["rank"] = ranks.get((sign.log_id, sign.doc_id))
        statement = _insert(connection, relevance_feedback)
        if sign.kind == "vote":
            changed = {name: statement.excluded[name] for name in ("relevance_score", "at", "rank")}
            statement = statement.on_conflict_do_update(
                index_elements=["log_id", "doc_id", "kind", "by"],
                set_=changed,
                where=relevance_feedback.c.at <= statement.excluded.at,
            )
        else:
            statement = statement.on_conflict_do_nothing()
        added += _added(connection, statement, row)
    return added


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


def feedback(
    connection: Connection, filters: dict[str, str], query: str, limit: int
) -> list[Feedback]:
    table = relevance_feedback
    wanted = select(table).where(
        *(table.c[name] == value for name, value in filters.items() if value)
    )
    if query:
        wanted = wanted.join(search_logs, search_logs.c.id == table.c.log_id).where(
            search_logs.c.query == query
        )
    wanted = wanted.order_by(table.c.log_id, table.c.doc_id, table.c.kind, table.c.by).limit(limit)
    return [Feedback(**row) for row in connection.execute(wanted).mappings()]


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


def case_counts(connection: Connection, decision_ids: Sequence[str]) -> CaseCounts:
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


def of_other_cases(connection: Connection, doc_id: str, log_ids: Sequence[str]) -> set[str]:
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


def support(
    connection: Connection, min_score: int, since: datetime | None, corpora: Sequence[str]
) -> list[Support]:
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


def _knows_cases(connection: Connection) -> bool:
    known = select(decisions.c.id).where(decisions.c.case_id != "").limit(1)
    return connection.execute(known).first() is not None


def showings(
    connection: Connection, queries: Sequence[str], since: datetime | None
) -> dict[tuple[str, str, str], int]:
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


def query_counts(connection: Connection) -> dict[tuple[str, str], int]:
    keys = (search_logs.c.query, search_logs.c.corpus)
    counted = select(*keys, func.count()).group_by(*keys)
    return {(query, corpus): n for query, corpus, n in connection.execute(counted)}
