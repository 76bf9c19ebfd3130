"""The audit trail: who did what to what, when and why. Entries are added, never changed. What is
done to a file goes in by `edit_file`, together with the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.types import Vote
from assay.review.identity import name_of
from assay.review.intents import Edit, FileChange
from assay.review.one_step import record_edit
from assay.store.records import AuditEntry
from assay.telemetry.recorder import new_id
from assay.workbench.opening import Service

__all__ = ["AuditEntry", "edit_file", "note", "to_note", "trail"]


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
    """Of what is in the store alone. `before` and `after` are what was changed: an object of JSON,
    or a struct."""
    entry = to_note(service, by, action, subject, reason=reason, before=before, after=after)
    service.store.append_audit([entry])
    return entry


def to_note(
    service: Service,
    by: str,
    action: str,
    subject: str,
    *,
    reason: str = "",
    before: object = None,
    after: object = None,
) -> AuditEntry:
    """An entry that is not in the trail yet."""
    return AuditEntry(
        id=new_id(),
        at=service.clock(),
        by=by,
        action=action,
        subject=subject,
        reason=reason,
        before=msgspec.to_builtins(before),
        after=msgspec.to_builtins(after),
    )


def edit_file(
    service: Service,
    dataset: Path,
    entries: Sequence[AuditEntry],
    change: FileChange,
    votes: Sequence[Vote] = (),
) -> None:
    """Change a file of a set and say who did, in one step: both, or neither, also after a kill.
    Under the lock of the set, with what was interrupted healed."""
    edit = Edit(name_of(service.store, dataset), entries)
    record_edit(service.store, dataset, edit, change, votes)


def trail(
    service: Service, *, subject: str = "", action: str = "", limit: int = 200, offset: int = 0
) -> list[AuditEntry]:
    """The newest first."""
    return service.store.audit(subject=subject, action=action, limit=limit, offset=offset)
