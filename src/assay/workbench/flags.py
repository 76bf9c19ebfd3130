"""Flags on queries: what a judge finds too narrow, too broad or without an answer here. They are
kept in the audit trail, for the chair; the last word on a query counts."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from assay.judging.reasons import refuse_long
from assay.review.identity import name_of
from assay.store.records import AuditEntry
from assay.workbench.desk import desk_of
from assay.workbench.opening import Service, gold_path
from assay.workbench.trail import note

FLAG, UNFLAG = "flag query", "unflag query"


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    reason: str


class FlagGiven(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    query_id: str
    reason: str = ""
    flagged: bool = True


def flag_query(service: Service, given: FlagGiven, judge: str) -> Flag | None:
    """The flag that stands now."""
    refuse_long(given.reason)
    desk = desk_of(gold_path(service, given.set))
    query = desk.query(given.query_id)
    subject = f"{name_of(service.store, desk.dataset)}/{query.id}"
    action = FLAG if given.flagged else UNFLAG
    note(service, judge, action, subject, reason=given.reason.strip())
    return flags_of(service, desk.dataset).get(query.id)


def flags_of(service: Service, dataset: Path) -> dict[str, Flag]:
    """The flags that stand, by query."""
    start = f"{name_of(service.store, dataset, claim=False)}/"
    entries = [
        entry
        for action in (FLAG, UNFLAG)
        for entry in service.store.audit(action=action, limit=10_000)
        if entry.subject.startswith(start)
    ]
    last = {entry.subject.removeprefix(start): entry for entry in sorted(entries, key=_moment)}
    return {
        query_id: Flag(by=entry.by, reason=entry.reason)
        for query_id, entry in last.items()
        if entry.action == FLAG
    }


def _moment(entry: AuditEntry) -> tuple[datetime, str]:
    return entry.at, entry.id
