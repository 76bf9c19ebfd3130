"""Changing a set from a page: queries and issues of its taxonomy, by somebody who is named. What
was changed is in the audit trail."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay import formats
from assay.core.types import Issue, Query
from assay.review.identity import name_of
from assay.workbench import making
from assay.workbench.making import Made
from assay.workbench.opening import Service, gold_path
from assay.workbench.trail import note

__all__ = ["EditedIssue", "Made", "NewQuery", "add_query", "edit_issue"]

SHOWN = 200  # characters of a query in the audit trail


class NewQuery(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    text: str
    type: str = ""
    topic: str = ""
    issue: str = ""


class EditedIssue(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    topic: str
    id: str
    name: str
    description: str
    key_statutes: str = ""  # separated by commas or line ends


def add_query(service: Service, given: NewQuery, *, by: str) -> Made:
    dataset = gold_path(service, given.set)
    new = Query(id="", text=given.text, type=given.type, topic=given.topic, issue=given.issue)
    made = making.add_queries(dataset, [(given.set, new)])
    kept = name_of(service.store, dataset)
    for query_id in made.added:
        text = given.text.strip()[:SHOWN]
        note(service, by, "gold.query_added", f"{kept}/{query_id}", after={"text": text})
    return made


def edit_issue(service: Service, given: EditedIssue, *, by: str) -> Issue:
    dataset = gold_path(service, given.set)
    before = _issue(dataset, given.topic, given.id.strip())
    statutes = given.key_statutes.replace("\n", ",").split(",")
    after = making.edited_issue(
        dataset,
        given.topic,
        given.id.strip(),
        name=given.name.strip(),
        description=given.description.strip(),
        key_statutes=tuple(text.strip() for text in statutes if text.strip()),
    )
    if after != before:
        note(
            service,
            by,
            "gold.issue_edited",
            f"{name_of(service.store, dataset)}/{given.topic}/{after.id}",
            before=before,
            after=after,
        )
    return after


def _issue(dataset: Path, topic_id: str, issue_id: str) -> Issue | None:
    topic = formats.read_gold(dataset).taxonomy.get(topic_id)
    return next((each for each in topic.issues if each.id == issue_id), None) if topic else None
