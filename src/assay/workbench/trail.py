"""The audit trail: who did what to what, when and why, the newest first. What was done to a set is
in its log; what was done to people and keys is in the store."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import islice
from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.gold import acts
from assay.gold.acts import Act, new_id
from assay.gold.log import Log, open_log
from assay.gold.projection import row_of
from assay.store.records import AuditEntry
from assay.workbench.opening import Service

__all__ = ["AuditEntry", "note", "trail"]

# what the pages call an act (`did ACTION` in their words); other acts are not told
TOLD = {
    acts.RULE: "gold.ruled",
    acts.APPROVE: "review.approved",
    acts.CORRECT: "review.approved",
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
}


def note(
    service: Service, by: str, action: str, subject: str, *, reason: str = "", after: object = None
) -> None:
    """Tell the trail of something that is about no set."""
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
    """`subject` is a set and what of it, as in `gold-set/g001`."""
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
    """What was done to a set, the newest first. A set that cannot be read says so on its page."""
    try:
        log = open_log(dataset)
    except (AssayError, OSError):
        return
    with log.reading:
        done = [act for act in log.acts.values() if act.action in TOLD]
    for act in sorted(done, key=lambda act: (act.moment, act.id), reverse=True):
        yield from _entries(name, log, act)


def _entries(name: str, log: Log, act: Act) -> Iterator[AuditEntry]:
    """One for each row of an act on rows, else one."""
    told = TOLD[act.action]
    rows = [row for row in act.rows if not row.doc]
    for number, row in enumerate(rows):
        yield AuditEntry(
            id=f"{act.id}.{number}" if number else act.id,
            at=act.moment,
            by=log.who(act),
            action=told,
            subject=f"{name}/{row.row}",
            reason=act.rationale,
            before=_values(row.before),
            after=_values(row.after),
        )
    if rows:
        return
    for id in act.supersedes if act.action == acts.DISMISS else ():
        suggestion = log.acts.get(id)
        if suggestion is not None:
            yield AuditEntry(
                id=f"{act.id}.{id}",
                at=act.moment,
                by=log.who(act),
                action=told,
                subject=f"{name}/{suggestion.subject['query']}",
                reason=act.rationale,
                before=msgspec.to_builtins(suggestion),
            )
    if act.action == acts.DISMISS and act.supersedes:
        return
    about = "/".join(act.subject.get(key, "") for key in ("topic", "issue", "query")).strip("/")
    values = {"doc_id": act.subject.get("doc"), "grade": act.grade}
    after = {key: value for key, value in values.items() if value is not None}
    yield AuditEntry(
        id=act.id,
        at=act.moment,
        by=log.who(act),
        action=told,
        subject="/".join(filter(None, (name, about))),
        reason=act.rationale,
        before=act.more.get("before"),
        after=act.more.get("after") or (act.more or None) or (after or None),
    )


def _values(state: str | None) -> dict[str, object] | None:
    if state is None:
        return None
    row = row_of(state)
    return {name: getattr(row, name) for name in row.__struct_fields__}
