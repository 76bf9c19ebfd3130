"""What older versions of Assay kept about gold sets in the store, for the upgrade of a project.

The functions only read. A table that does not exist holds nothing."""

from __future__ import annotations

from sqlalchemy import Executable, column, literal, select, table

from assay.core.types import Vote
from assay.store.database import read
from assay.store.records import AuditEntry, JsonObject, StoreOutdated
from assay.store.store import Store
from assay.store.tables import ABOUT_SETS, JsonText, UtcTime, audit_trail

_SETS = table("gold_sets", column("identity"), column("name"))
_IDS = table("issued_ids", column("gold"), column("key"), column("id"))
_VOTES = table("votes", column("gold"), *(column(name) for name in Vote.__struct_fields__))
_TEXTS = (
    "id gold kind key ref query corpus practice_area grade rationale suggested_by state decided_by"
    " reason"
)
_ITEMS = table(
    "review_items",
    *(column(name) for name in _TEXTS.split()),
    column("doc_ids", JsonText),
    column("created_at", UtcTime),
    column("decided_at", UtcTime),
)


def identities(store: Store) -> dict[str, str]:
    """Return identity -> short name of every gold set. The first versions kept no identities: their
    name of a set is the stem of its file."""
    reviewed = select(literal(""), _ITEMS.c.gold)
    rows = _rows(store, select(_SETS).union(reviewed).order_by("name"))
    named = {row["identity"]: row["name"] for row in rows if row["identity"]}
    known = {*named.values()}
    return named | {f"./{n}.jsonl": n for n in (row["name"] for row in rows) if n not in known}


def review_items(store: Store, gold: str) -> list[JsonObject]:
    """Return the items of the review queue of a set, decided ones included, oldest first."""
    items = _ITEMS.c
    query = select(_ITEMS).where(items.gold == gold)
    return _rows(store, query.order_by(items.created_at, items.ref, items.id))


def votes(store: Store, gold: str) -> list[Vote]:
    """Return the store's copies of the votes on a set, oldest first."""
    query = select(*(each for each in _VOTES.c if each.name != "gold")).where(_VOTES.c.gold == gold)
    query = query.order_by(_VOTES.c.at, _VOTES.c.query_id, _VOTES.c.doc_id, _VOTES.c.id)
    return [Vote(**row) for row in _rows(store, query)]


def issued_ids(store: Store, gold: str) -> dict[str, str]:
    """Return key -> id of every row that a set ever had."""
    query = select(_IDS).where(_IDS.c.gold == gold)
    return {row["key"]: row["id"] for row in _rows(store, query)}


def audit(store: Store, prefix: str) -> list[AuditEntry]:
    """Return the audit entries about a set, oldest first: those on `prefix` or on something below
    `prefix/`."""
    rows = _rows(store, select(audit_trail).order_by(audit_trail.c.at, audit_trail.c.id))
    return [
        AuditEntry(**row)
        for row in rows
        if (row["subject"] == prefix or row["subject"].startswith(f"{prefix}/"))
        and row["action"].startswith(ABOUT_SETS)
    ]


def _rows(store: Store, query: Executable) -> list[JsonObject]:
    try:
        found = read(store._engine, lambda connection: connection.execute(query).mappings().all())
    except StoreOutdated:
        return []
    return [dict(row) for row in found]
