"""Flags on queries: a judge tells the chair that a query is too narrow, too broad or cannot be
answered from this corpus. Judges see and remove their own flags; a chair sees and removes all."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.gold.acts import FLAG, UNFLAG, Act, ActId
from assay.gold.log import Log, open_log, writing
from assay.judging.rationales import refuse_long
from assay.workbench.judging.session import open_session
from assay.workbench.project.service import Service, gold_path


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """Who flagged a query, and why."""

    by: str
    reason: str


class FlagForm(msgspec.Struct, frozen=True, kw_only=True):
    """A request to flag a query, or to remove the flag."""

    set: str
    query_id: str
    reason: str = ""
    flagged: bool = True
    act: ActId = ""


def flag_query(service: Service, given: FlagForm, judge: str, chair: bool = False) -> Flag | None:
    """Flag a query or remove the flag; return the flags that this person may see."""
    refuse_long(given.reason)
    session = open_session(gold_path(service, given.set))
    query, reason = session.query(given.query_id), given.reason.strip()
    with writing(session.dataset) as log:
        if given.act in log.acts:  # the answer was lost, and the request is sent again
            return flags_of(session.dataset, judge, chair).get(query.id)
        raised = _raised(log).get(query.id, [])
        removes_all = chair and not given.flagged
        replaced = [act.id for act in raised if removes_all or log.who(act) == judge]
        if not given.flagged and not replaced and not chair:
            raise InputError(
                f"you have not flagged the query {query.id!r}",
                hint="Only the judge who flagged it, or a chair, can remove a flag.",
            )
        if given.flagged or replaced:
            act = log.act(
                FLAG if given.flagged else UNFLAG,
                **({"id": given.act} if given.act else {}),
                who=judge,
                kind="human",
                at=service.clock(),
                subject={"query": query.id},
                rationale=reason,
                supersedes=tuple(replaced),
            )
            log.append([act])
    return flags_of(session.dataset, judge, chair).get(query.id)


def flags_of(dataset: Path, judge: str, chair: bool = False) -> dict[str, Flag]:
    """The flags that a person may see, by query; those of several judges are joined."""
    log, found = open_log(dataset), dict[str, Flag]()
    with log.reading:
        for query_id, raised in _raised(log).items():
            flags = [
                (log.who(act), act.rationale) for act in raised if chair or log.who(act) == judge
            ]
            if len(flags) == 1:
                found[query_id] = Flag(by=flags[0][0], reason=flags[0][1])
            elif flags:
                reasons = [f"{by}: {reason}" for by, reason in flags if reason]
                names = ", ".join(by for by, _ in flags)
                found[query_id] = Flag(by=names, reason="; ".join(reasons))
    return found


def _raised(log: Log) -> dict[str, list[Act]]:
    """The flags that nobody has removed, by query."""
    flags = [act for act in log.acts.values() if act.action in (FLAG, UNFLAG)]
    replaced = {id for act in flags for id in act.supersedes}
    raised: dict[str, list[Act]] = {}
    for act in flags:
        if act.action == FLAG and act.id not in replaced:
            raised.setdefault(act.subject["query"], []).append(act)
    return raised
