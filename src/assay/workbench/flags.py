"""Flags on queries: what a judge finds too narrow, too broad or without an answer here. They are
kept in the audit trail, for the chair. A judge sees their own alone, as with votes, and takes off
their own alone; a chair sees and takes off all."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from assay.core.errors import InputError
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


def flag_query(service: Service, given: FlagGiven, judge: str, chair: bool = False) -> Flag | None:
    """The flag that stands now, for whom it is told."""
    refuse_long(given.reason)
    desk = desk_of(gold_path(service, given.set))
    query = desk.query(given.query_id)
    subject = f"{name_of(service.store, desk.dataset)}/{query.id}"
    if given.flagged:
        note(service, judge, FLAG, subject, reason=given.reason.strip())
    else:
        standing = _standing(service, desk.dataset).get(query.id, {})
        gone = [flag for by, flag in standing.items() if chair or by == judge]
        if not gone and not chair:
            hint = "Who flagged it, or a chair, takes a flag off."
            raise InputError(f"you have not flagged the query {query.id!r}", hint=hint)
        for flag in gone:
            note(service, judge, UNFLAG, subject, reason=given.reason.strip(), before=flag)
    return flags_of(service, desk.dataset, judge, chair).get(query.id)


def flags_of(service: Service, dataset: Path, judge: str, chair: bool = False) -> dict[str, Flag]:
    """The flags that stand and are told to a judge, by query; those of several as one."""
    told = {
        query_id: [flag for by, flag in flags.items() if chair or by == judge]
        for query_id, flags in _standing(service, dataset).items()
    }
    return {query_id: _as_one(flags) for query_id, flags in told.items() if flags}


def _as_one(flags: list[Flag]) -> Flag:
    if len(flags) == 1:
        return flags[0]
    reasons = [f"{flag.by}: {flag.reason}" for flag in flags if flag.reason]
    return Flag(by=", ".join(flag.by for flag in flags), reason="; ".join(reasons))


def _standing(service: Service, dataset: Path) -> dict[str, dict[str, Flag]]:
    """By query and by who raised it."""
    start = f"{name_of(service.store, dataset, claim=False)}/"
    entries = [
        entry
        for action in (FLAG, UNFLAG)
        for entry in service.store.audit(action=action, limit=10_000)
        if entry.subject.startswith(start)
    ]
    standing: dict[str, dict[str, Flag]] = {}
    for entry in sorted(entries, key=_moment):
        flags = standing.setdefault(entry.subject.removeprefix(start), {})
        if entry.action == FLAG:
            flags[entry.by] = Flag(by=entry.by, reason=entry.reason)
        elif entry.before:
            flags.pop(entry.before["by"], None)
        else:  # of an older release, where one word held for all
            flags.clear()
    return standing


def _moment(entry: AuditEntry) -> tuple[datetime, str]:
    return entry.at, entry.id
