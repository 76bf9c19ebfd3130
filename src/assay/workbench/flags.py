"""Flags on queries: what a judge finds too narrow, too broad or without an answer here, for the
chair. Judges see and remove only their own flags, as with votes; a chair sees and removes all."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.gold.acts import FLAG, UNFLAG, Act
from assay.gold.log import Log, open_log, writing
from assay.judging.reasons import refuse_long
from assay.workbench.desk import desk_of
from assay.workbench.opening import Service, gold_path


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    reason: str


class FlagGiven(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    query_id: str
    reason: str = ""
    flagged: bool = True


def flag_query(service: Service, given: FlagGiven, judge: str, chair: bool = False) -> Flag | None:
    """Raise a flag or remove it; return what this person sees of the flags that stand."""
    refuse_long(given.reason)
    desk = desk_of(gold_path(service, given.set))
    query, reason = desk.query(given.query_id), given.reason.strip()
    with writing(desk.dataset) as log:
        raised = _raised(log).get(query.id, [])
        if given.flagged:
            gone = [act.id for act in raised if log.who(act) == judge]
            action = FLAG
        else:
            gone = [act.id for act in raised if chair or log.who(act) == judge]
            action = UNFLAG
            if not gone and not chair:
                hint = "Who flagged it, or a chair, removes a flag."
                raise InputError(f"you have not flagged the query {query.id!r}", hint=hint)
        if given.flagged or gone:
            log.append(
                [
                    log.act(
                        action,
                        who=judge,
                        kind="human",
                        at=service.clock(),
                        subject={"query": query.id},
                        rationale=reason,
                        supersedes=tuple(gone),
                    )
                ]
            )
    return flags_of(desk.dataset, judge, chair).get(query.id)


def flags_of(dataset: Path, judge: str, chair: bool = False) -> dict[str, Flag]:
    """The flags that stand and that a person may see, by query; those of several as one."""
    log = open_log(dataset)
    with log.reading:
        seen = {
            query_id: [
                Flag(by=log.who(act), reason=act.rationale)
                for act in raised
                if chair or log.who(act) == judge
            ]
            for query_id, raised in _raised(log).items()
        }
    return {query_id: _as_one(flags) for query_id, flags in seen.items() if flags}


def _as_one(flags: list[Flag]) -> Flag:
    if len(flags) == 1:
        return flags[0]
    reasons = [f"{flag.by}: {flag.reason}" for flag in flags if flag.reason]
    return Flag(by=", ".join(flag.by for flag in flags), reason="; ".join(reasons))


def _raised(log: Log) -> dict[str, list[Act]]:
    """The flags that nobody has removed, by query."""
    flags = [act for act in log.acts.values() if act.action in (FLAG, UNFLAG)]
    gone = {id for act in flags for id in act.supersedes}
    raised: dict[str, list[Act]] = {}
    for act in flags:
        if act.action == FLAG and act.id not in gone:
            raised.setdefault(act.subject["query"], []).append(act)
    return raised
