"""The audit trail: who did what, when and why, the newest first. Acts on a gold set are in its log;
acts on people and keys are in the store."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AssayError
from assay.gold import acts
from assay.gold.acts import Act, new_id
from assay.gold.log import Log, open_log
from assay.gold.projection import row_of
from assay.store.records import AuditEntry
from assay.workbench.project.service import Service

__all__ = ["AuditEntry", "note", "trail"]

# the action of an entry, which the pages word as `did ACTION`; other acts are not in the trail
AUDIT_ACTIONS = {
    acts.RULE: "gold.ruled",
    acts.APPROVE: "review.approved",
    acts.CORRECT: "review.corrected",
    acts.REJECT: "review.rejected",
    acts.PUBLISH: "review.published",
    acts.UNDO: "review.pending_review",
    acts.DISMISS: "review.withdrawn",
    acts.FLAG: "flag query",
    acts.UNFLAG: "unflag query",
    acts.LABEL: "gold.labelled",
    acts.EDIT: "gold.edited",
    acts.ADD_QUERY: "gold.query_added",
    acts.EDIT_ISSUE: "gold.issue_edited",
    acts.ADD_DOCUMENT: "gold.document_added",
    acts.ASK_SECOND: "gold.second_asked",
    acts.NOTE: "gold.noted",
    acts.ASSIGN: "gold.assigned",
}


def note(
    service: Service, by: str, action: str, subject: str, *, reason: str = "", after: object = None
) -> None:
    """Add an entry that is not about a gold set."""
    entry = AuditEntry(
        id=new_id(),
        at=service.clock(),
        by=by,
        action=action,
        subject=subject,
        reason=reason,
        after=msgspec.to_builtins(after),
    )
    service.store.append_audit([entry])


def trail(
    service: Service, *, subject: str = "", action: str = "", limit: int = 200, offset: int = 0
) -> list[AuditEntry]:
    """A page of the trail; `subject` is a gold set and its row, as in `gold-set/g001`."""
    wanted = offset + limit
    people = service.store.audit(subject=subject, action=action, limit=wanted)
    of_sets = [
        (
            entry
            for entry in entries_of(name, path)
            if (not subject or entry.subject == subject) and (not action or entry.action == action)
        )
        for name, path in service.gold_sets.items()
    ]
    every = merge(people, *of_sets, key=lambda entry: (entry.at, entry.id), reverse=True)
    return list(islice(every, offset, wanted))


def entries_of(name: str, dataset: Path) -> Iterator[AuditEntry]:
    """The entries of one gold set, the newest first. None if it cannot be read: its own page says
    why."""
    try:
        log = open_log(dataset)
    except (AssayError, OSError):
        return
    with log.reading:
        shown = [act for act in log.acts.values() if act.action in AUDIT_ACTIONS]
    for act in sorted(shown, key=lambda act: (act.time, act.id), reverse=True):
        yield from _entries(name, log, act)


def _entries(name: str, log: Log, act: Act) -> Iterator[AuditEntry]:
    """The entries of one act: one for each row or dismissed suggestion, else one."""
    common: dict[str, Any] = {
        "at": act.time,
        "by": log.who(act),
        "action": AUDIT_ACTIONS[act.action],
        "reason": act.rationale,
    }
    rows = [row for row in act.rows if not row.doc]
    for number, row in enumerate(rows):
        yield AuditEntry(
            id=f"{act.id}.{number}" if number else act.id,
            subject=f"{name}/{row.row}",
            before=_values(row.before),
            after=_values(row.after),
            **common,
        )
    if rows:
        return
    if act.action == acts.DISMISS and act.supersedes:
        for suggestion in filter(None, map(log.acts.get, act.supersedes)):
            yield AuditEntry(
                id=f"{act.id}.{suggestion.id}",
                subject=f"{name}/{suggestion.subject['query']}",
                before=msgspec.to_builtins(suggestion),
                **common,
            )
        return
    about = "/".join(act.subject.get(key, "") for key in ("topic", "issue", "query")).strip("/")
    values = {"doc_id": act.subject.get("doc"), "grade": act.grade}
    after = {key: value for key, value in values.items() if value is not None}
    yield AuditEntry(
        id=act.id,
        subject="/".join(filter(None, (name, about))),
        before=act.more.get("before"),
        after=act.more.get("after") or (act.more or None) or (after or None),
        **common,
    )


def _values(state: str | None) -> dict[str, object] | None:
    if state is None:
        return None
    row = row_of(state)
    return {name: getattr(row, name) for name in row.__struct_fields__}
