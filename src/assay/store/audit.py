"""The audit trail of the server: who changed accounts, keys and settings, when and why. What
happens to a gold set is in the log beside it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Engine, insert, select

from assay.store.database import reading, row_of, writing
from assay.store.records import AuditEntry
from assay.store.tables import audit_trail

OF_SETS = ("review.", "gold.", "flag query", "unflag query")  # actions of earlier versions


class AuditTrail:
    """The methods of a store for the audit trail. Entries are never changed or removed, and the
    database itself refuses to."""

    _engine: Engine

    @writing
    def append_audit(self, connection: Connection, entries: Sequence[AuditEntry]) -> None:
        add_entries(connection, entries)

    @reading
    def audit(
        self,
        connection: Connection,
        *,
        subject: str = "",
        action: str = "",
        limit: int = 100,
        offset: int = 0,
    ) -> list[AuditEntry]:
        """Return entries, newest first. What earlier versions noted of sets is in their logs."""
        query = select(audit_trail).order_by(audit_trail.c.at.desc(), audit_trail.c.id.desc())
        query = query.limit(limit).offset(offset)
        query = query.where(audit_trail.c.subject == subject) if subject else query
        query = query.where(audit_trail.c.action == action) if action else query
        query = query.where(*(audit_trail.c.action.notlike(f"{start}%") for start in OF_SETS))
        return [AuditEntry(**row) for row in connection.execute(query).mappings()]


def add_entries(connection: Connection, entries: Sequence[AuditEntry]) -> None:
    """Add entries in the caller's transaction, together with the change that they record."""
    if entries:
        connection.execute(insert(audit_trail), [row_of(entry) for entry in entries])
