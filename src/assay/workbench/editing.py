"""Changing a set from a page: queries and issues of its taxonomy, by somebody who is named. What
was changed is in the audit trail."""

from __future__ import annotations

import msgspec

from assay.core.types import Issue, Query
from assay.review.identity import name_of
from assay.review.intents import FileChange
from assay.review.rulings import locked_set
from assay.workbench import making
from assay.workbench.making import Made
from assay.workbench.opening import Service, gold_path
from assay.workbench.trail import edit_file, to_note

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
    said = {"text": given.text.strip()[:SHOWN]}
    with locked_set(service.store, dataset):
        before = dataset.read_bytes()
        made, content = making.with_queries(dataset, [(given.set, new)])
        kept = name_of(service.store, dataset)
        entries = [
            to_note(service, by, "gold.query_added", f"{kept}/{query_id}", after=said)
            for query_id in made.added
        ]
        edit_file(service, dataset, entries, FileChange(dataset, before, content))
    return made


def edit_issue(service: Service, given: EditedIssue, *, by: str) -> Issue:
    dataset = gold_path(service, given.set)
    statutes = given.key_statutes.replace("\n", ",").split(",")
    with locked_set(service.store, dataset):
        written = dataset.read_bytes()
        before, after, content = making.with_issue(
            dataset,
            given.topic,
            given.id.strip(),
            name=given.name.strip(),
            description=given.description.strip(),
            key_statutes=tuple(text.strip() for text in statutes if text.strip()),
        )
        if after != before:
            subject = f"{name_of(service.store, dataset)}/{given.topic}/{after.id}"
            entry = to_note(service, by, "gold.issue_edited", subject, before=before, after=after)
            edit_file(service, dataset, [entry], FileChange(dataset, written, content))
    return after
