"""Edits of a gold set on its page: new queries, and issues of the taxonomy. The log records who
changed what."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.files import write_atomic
from assay.core.types import Issue, Query
from assay.gold.acts import ADD_QUERY, EDIT_ISSUE
from assay.gold.files import digest_of
from assay.gold.log import Log, writing
from assay.gold.projection import state_of_file
from assay.workbench import making
from assay.workbench.making import Made
from assay.workbench.opening import Service, gold_path
from assay.workbench.outputs import or_undone

__all__ = ["EditedIssue", "Made", "NewQuery", "add_query", "edit_issue"]

SHOWN = 200  # characters of a query in the audit trail


class NewQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query to add to a set."""

    set: str
    text: str
    type: str = ""
    topic: str = ""
    issue: str = ""


class EditedIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue of the taxonomy, as the page sends it."""

    set: str
    topic: str
    id: str
    name: str
    description: str
    key_statutes: str = ""  # separated by commas or line ends


def add_query(service: Service, given: NewQuery, *, by: str) -> Made:
    dataset = gold_path(service, given.set)
    new = Query(id="", text=given.text, type=given.type, topic=given.topic, issue=given.issue)
    with writing(dataset) as log:
        made, content = making.with_queries(dataset, [(given.set, new)])
        _edit(
            service,
            log,
            ADD_QUERY,
            content,
            by=by,
            subject={"query": ", ".join(made.added)},
            more={"after": {"text": given.text.strip()[:SHOWN]}},
        )
    return made


def edit_issue(service: Service, given: EditedIssue, *, by: str) -> Issue:
    dataset = gold_path(service, given.set)
    statutes = given.key_statutes.replace("\n", ",").split(",")
    with writing(dataset) as log:
        before, after, content = making.with_issue(
            dataset,
            given.topic,
            given.id.strip(),
            name=given.name.strip(),
            description=given.description.strip(),
            key_statutes=tuple(text.strip() for text in statutes if text.strip()),
        )
        if after != before:
            more = {"before": msgspec.to_builtins(before), "after": msgspec.to_builtins(after)}
            subject = {"topic": given.topic, "issue": after.id}
            _edit(service, log, EDIT_ISSUE, content, by=by, subject=subject, more=more)
    return after


def _edit(service: Service, log: Log, action: str, content: bytes, *, by: str, **more: Any) -> None:
    """Write the gold file, then record in the log who changed it. Queries and taxonomy live in the
    file alone: after a crash in between, the edit is there without its record."""
    # the digest claims that the log knows every label of the file: not while one is edited by hand
    file = digest_of(content) if not state_of_file(log.dataset) else ""
    with or_undone(log.dataset):
        write_atomic(log.dataset, content)
        log.append([log.act(action, who=by, at=service.clock(), file=file, **more)])
