"""SQL for the expert's queue, votes, runs and the audit trail. Every function runs inside the
caller's transaction."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from assay.core.types import Vote
from assay.store import tables
from assay.store.contract import StoreConflict
from assay.store.database import NAMES_LOCK, lock, lock_rulings
from assay.store.log_rows import chunks, insert_new, insert_new_or_change
from assay.store.records import (
    EVERYTHING,
    LOST,
    AuditEntry,
    Kept,
    Neighbours,
    QueueCount,
    ReviewFilter,
    ReviewItem,
    ReviewState,
    Ruling,
    RunRecord,
)
from assay.store.tables import audit_trail, gold_sets, issued_ids, review_items, runs

# what a new bootstrap may change on a waiting row
_CONTENT = ("ref", "query", "corpus", "practice_area", "doc_ids")


def _row(record: msgspec.Struct) -> Kept:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def _item(row: Any) -> ReviewItem:
    return ReviewItem(**{**row, "doc_ids": tuple(row["doc_ids"])})


# ── the queue ─────────────────────────────────────────────────────────────────────────────────────


def add_items(connection: Connection, items: Sequence[ReviewItem]) -> int:
    statement = insert_new(connection, review_items).returning(review_items.c.id)
    return len(connection.execute(statement, [_row(item) for item in items]).all()) if items else 0


def withdraw(
    connection: Connection, items: Sequence[ReviewItem], by: str, at: datetime, reason: str
) -> int:
    waits = review_items.c.state == "pending_review"
    gone = {
        id
        for ids in chunks([item.id for item in items])
        for id in connection.execute(
            delete(review_items)
            .where(review_items.c.id.in_(ids), waits)
            .returning(review_items.c.id)
        ).scalars()
    }
    append_audit(
        connection,
        [
            AuditEntry(
                id=secrets.token_hex(12),
                at=at,
                by=by,
                action="review.withdrawn",
                subject=f"{item.gold}/{item.ref}",
                reason=reason,
                before=msgspec.to_builtins(item),
            )
            for item in items
            if item.id in gone
        ],
    )
    return len(gone)


def sync_gold_rows(
    connection: Connection, items: Sequence[ReviewItem], gold: str, at: datetime
) -> int:
    here = (review_items.c.gold == gold, review_items.c.kind == "gold_row")
    old = {
        item.key: item
        for item in map(_item, connection.execute(select(review_items).where(*here)).mappings())
    }
    keys = {item.key for item in items}
    gone = [
        item for item in old.values() if item.state == "pending_review" and item.key not in keys
    ]
    withdraw(connection, gone, "bootstrap", at, LOST)
    new = [item for item in items if item.key not in old]
    add_items(connection, new)
    for item in items:
        was = old.get(item.key)
        if was is None or was.state == "rejected":
            continue
        changes = {
            name: getattr(item, name)
            for name in _CONTENT
            if getattr(item, name) != getattr(was, name)
        }
        if (
            was.state != "pending_review"
        ):  # the approved row was taken out of the file: its query is open again
            changes |= {
                "state": "pending_review",
                "decided_at": None,
                "decided_by": "",
                "reason": "",
                "created_at": item.created_at,
            }
        if changes:
            connection.execute(
                update(review_items).where(review_items.c.id == was.id).values(**changes)
            )
    issued = [{"gold": gold, "key": item.key, "id": item.ref} for item in items]
    if issued:
        statement = insert_new_or_change(connection, issued_ids, ["gold", "key"], ["id"])
        connection.execute(statement, issued)
    return len(new)


def names(connection: Connection) -> dict[str, str]:
    """identity -> name of every gold set that has claimed one."""
    return {row.identity: row.name for row in connection.execute(select(gold_sets))}


def free_name(known: Mapping[str, str], wanted: Sequence[str], gone: Callable[[str], bool]) -> str:
    """The first of `wanted` that nobody has, or whose owner is gone; the last is the whole path,
    and nobody's."""
    owners = {name: identity for identity, name in known.items()}
    return next((name for name in wanted if name not in owners or gone(owners[name])), wanted[-1])


def claim_name(
    connection: Connection, identity: str, wanted: Sequence[str], gone: Callable[[str], bool]
) -> str:
    lock(connection, NAMES_LOCK)
    known = names(connection)
    if identity in known:
        return known[identity]
    name = free_name(known, wanted, gone)
    connection.execute(delete(gold_sets).where(gold_sets.c.name == name))
    connection.execute(insert(gold_sets), {"identity": identity, "name": name})
    return name


def gold_names(connection: Connection) -> list[str]:
    columns = (gold_sets.c.name, review_items.c.gold, runs.c.gold, tables.votes.c.gold)
    return sorted(
        {
            name
            for column in columns
            for name in connection.execute(select(column).distinct()).scalars()
        }
    )


def issued(connection: Connection, gold: str) -> dict[str, str]:
    rows = connection.execute(
        select(issued_ids.c.key, issued_ids.c.id).where(issued_ids.c.gold == gold)
    )
    return {key: id_ for key, id_ in rows}


def items(
    connection: Connection, filters: dict[str, str], ids: Sequence[str], limit: int, offset: int
) -> list[ReviewItem]:
    query = select(review_items).where(
        *(review_items.c[name] == value for name, value in filters.items() if value)
    )
    if ids:
        query = query.where(review_items.c.id.in_(ids))
    query = query.order_by(*_ORDER)
    return [_item(row) for row in connection.execute(query.limit(limit).offset(offset)).mappings()]


MOST_NAMED = 2000  # more than these are told apart by the caller: a statement takes so many
_ORDER = (review_items.c.created_at, review_items.c.ref, review_items.c.id)


def _passing(wanted: ReviewFilter) -> list[ColumnElement[bool]]:
    names = ("gold", "kind", "state", "corpus", "practice_area")
    passing = [review_items.c[name] == value for name in names if (value := getattr(wanted, name))]
    if wanted.since is not None:
        passing.append(review_items.c.created_at >= wanted.since)
    if wanted.before is not None:
        passing.append(review_items.c.created_at < wanted.before)
    if 0 < len(wanted.named) <= MOST_NAMED:
        named = wanted.named
        passing.append(or_(review_items.c.ref.in_(named), review_items.c.key.in_(named)))
    return passing


def find(connection: Connection, wanted: ReviewFilter, limit: int, offset: int) -> list[ReviewItem]:
    query = select(review_items).where(*_passing(wanted)).order_by(*_ORDER)
    return [_item(row) for row in connection.execute(query.limit(limit).offset(offset)).mappings()]


def how_many(connection: Connection, wanted: ReviewFilter) -> int:
    query = select(func.count()).select_from(review_items).where(*_passing(wanted))
    return int(connection.execute(query).scalar_one())


def neighbours(connection: Connection, wanted: ReviewFilter, item: ReviewItem) -> Neighbours:
    table = review_items.c
    later = or_(
        table.created_at > item.created_at,
        and_(
            table.created_at == item.created_at,
            or_(table.ref > item.ref, and_(table.ref == item.ref, table.id > item.id)),
        ),
    )
    others = [*_passing(wanted), table.id != item.id]
    after = select(table.id).where(*others, later).order_by(*_ORDER).limit(1)
    newest_first = [column.desc() for column in _ORDER]
    before = select(table.id).where(*others, ~later).order_by(*newest_first).limit(1)
    counted = select(func.count()).select_from(review_items).where(*others, ~later)
    return Neighbours(
        place=int(connection.execute(counted).scalar_one()),
        previous=connection.execute(before).scalar() or "",
        next=connection.execute(after).scalar() or "",
    )


def queue_counts(connection: Connection) -> list[QueueCount]:
    table = review_items.c
    keys = (table.gold, table.kind, table.corpus, table.practice_area)
    counted = select(*keys, func.count()).where(table.state == "pending_review")
    return [QueueCount(*row) for row in connection.execute(counted.group_by(*keys).order_by(*keys))]


def last_decided(connection: Connection, by: str) -> list[ReviewItem]:
    table = review_items.c
    theirs = (table.decided_by == by, table.state.in_(("approved", "rejected")))
    newest = select(func.max(table.decided_at)).where(*theirs).scalar_subquery()
    query = select(review_items).where(*theirs, table.decided_at == newest).order_by(*_ORDER)
    return [_item(row) for row in connection.execute(query).mappings()]


def times(connection: Connection, gold: str) -> list[tuple[ReviewState, datetime, datetime | None]]:
    query = select(review_items.c.state, review_items.c.created_at, review_items.c.decided_at)
    rows = connection.execute(query.where(review_items.c.gold == gold) if gold else query)
    return [(state, created, decided) for state, created, decided in rows]


def rule(connection: Connection, rulings: Sequence[Ruling]) -> None:
    for gold in sorted({ruling.item.gold for ruling in rulings}):
        lock_rulings(connection, gold)
    add_items(connection, [ruling.item for ruling in rulings])
    for ruling in rulings:
        item = ruling.item
        here = (
            review_items.c.gold == item.gold,
            review_items.c.kind == item.kind,
            review_items.c.key == item.key,
        )
        seen = [review_items.c.state == item.state]
        if item.state != "pending_review":  # decided anew is another decision
            seen.append(review_items.c.decided_at == item.decided_at)
        changed = connection.execute(
            update(review_items)
            .where(*here, *seen)
            .values(
                state=ruling.state, decided_at=ruling.at, decided_by=ruling.by, reason=ruling.reason
            )
        ).rowcount
        if not changed:
            now = connection.execute(select(review_items).where(*here)).mappings().one()
            raise StoreConflict(
                f"{item.ref or item.key} is {now['state']} already, "
                f"by {now['decided_by'] or 'somebody'}"
            )
    for ruling in rulings:
        append_votes(connection, ruling.item.gold, ruling.votes)
    append_audit(connection, [_audit_of(ruling) for ruling in rulings])


def was_ruled(
    connection: Connection, item: tuple[str, str], action: str, word: tuple[str, datetime]
) -> bool:
    gold, ref = item
    lock_rulings(connection, gold)
    trail = audit(connection, f"{gold}/{ref}", action, EVERYTHING, 0)
    return any((entry.by, entry.at) == word for entry in trail)


def was_noted(connection: Connection, gold: str, entry_id: str) -> bool:
    lock_rulings(connection, gold)
    asked = select(audit_trail.c.id).where(audit_trail.c.id == entry_id)
    return connection.execute(asked).first() is not None


def _audit_of(ruling: Ruling) -> AuditEntry:
    return AuditEntry(
        id=secrets.token_hex(12),
        at=ruling.at,
        by=ruling.by,
        action=f"review.{ruling.state}",
        subject=f"{ruling.item.gold}/{ruling.item.ref}",
        reason=ruling.reason,
        before=ruling.before,
        after=ruling.after,
    )


# ── votes, runs, audit ────────────────────────────────────────────────────────────────────────────


def append_votes(connection: Connection, gold: str, votes: Sequence[Vote]) -> int:
    statement = insert_new(connection, tables.votes).returning(tables.votes.c.id)
    rows = [{"gold": gold, **_row(vote)} for vote in votes]
    return len(connection.execute(statement, rows).all()) if rows else 0


def votes(connection: Connection, gold: str, query_id: str) -> list[Vote]:
    table = tables.votes.c
    columns = [column for column in tables.votes.columns if column.name != "gold"]
    query = select(*columns).where(table.gold == gold)
    query = query.where(table.query_id == query_id) if query_id else query
    query = query.order_by(table.at, table.query_id, table.doc_id, table.id)
    return [Vote(**row) for row in connection.execute(query).mappings()]


def put_run(connection: Connection, run: RunRecord) -> None:
    connection.execute(insert_new(connection, runs), _row(run))


def run(connection: Connection, run_id: str) -> RunRecord | None:
    row = connection.execute(select(runs).where(runs.c.id == run_id)).mappings().first()
    return RunRecord(**row) if row else None


def run_list(connection: Connection, gold: str, limit: int, offset: int) -> list[RunRecord]:
    columns = [column for column in runs.columns if column.name != "results"]
    query = select(*columns).where(*([runs.c.gold == gold] if gold else []))
    query = query.order_by(runs.c.at.desc(), runs.c.id.desc()).limit(limit).offset(offset)
    return [RunRecord(**row) for row in connection.execute(query).mappings()]


def append_audit(connection: Connection, entries: Sequence[AuditEntry]) -> None:
    if entries:
        connection.execute(insert(audit_trail), [_row(entry) for entry in entries])


def audit(
    connection: Connection, subject: str, action: str, limit: int, offset: int
) -> list[AuditEntry]:
    query = select(audit_trail).order_by(audit_trail.c.at.desc(), audit_trail.c.id.desc())
    query = query.limit(limit).offset(offset)
    query = query.where(audit_trail.c.subject == subject) if subject else query
    query = query.where(audit_trail.c.action == action) if action else query
    return [AuditEntry(**row) for row in connection.execute(query).mappings()]


def waiting(connection: Connection) -> tuple[int, datetime | None]:
    asked = select(func.count(), func.min(review_items.c.created_at)).where(
        review_items.c.state == "pending_review"
    )
    number, oldest = connection.execute(asked).one()
    return int(number), oldest


def count(connection: Connection, table: Any) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())
