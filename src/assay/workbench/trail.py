"""The audit trail: who did what to what, when and why. Entries are added, never changed."""

from __future__ import annotations

import msgspec

from assay.store.records import AuditEntry
from assay.telemetry.recorder import new_id
from assay.workbench.opening import Service

__all__ = ["AuditEntry", "note", "trail"]


def note(
    service: Service,
    by: str,
    action: str,
    subject: str,
    *,
    reason: str = "",
    before: object = None,
    after: object = None,
) -> AuditEntry:
    """`before` and `after` are what was changed: an object of JSON, or a struct."""
    entry = AuditEntry(
        id=new_id(),
        at=service.clock(),
        by=by,
        action=action,
        subject=subject,
        reason=reason,
        before=msgspec.to_builtins(before),
        after=msgspec.to_builtins(after),
    )
    service.store.append_audit([entry])
    return entry


def trail(
    service: Service, *, subject: str = "", action: str = "", limit: int = 200, offset: int = 0
) -> list[AuditEntry]:
    """The newest first."""
    return service.store.audit(subject=subject, action=action, limit=limit, offset=offset)
