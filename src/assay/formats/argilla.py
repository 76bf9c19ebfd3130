"""Argilla: records as JSON with the settings of the dataset beside them, and responses back.

The settings, STEM.settings.json beside STEM.json, have the rubric as guidelines, the question
`grade` with a label a grade and one for unsure, and the question `rationale`. What comes back is
the JSON of `records.to_json`, or the flat lists of `records.to_list(flatten=True)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import InputError
from assay.core.files import read_json, write_atomic
from assay.core.types import JsonObject, Vote
from assay.formats.ballots import Ballot, Ballots
from assay.formats.exchange import NOTHING, Guide, Task, choice_grade, choice_text
from assay.formats.schema import expect, record

GRADE, RATIONALE = "grade", "rationale"  # the names of the questions
FLAT = f"{GRADE}.responses"
UNSURE = "unsure"
SUBMITTED = "submitted"


def looks_like(path: Path) -> bool:
    if path.suffix != ".json":
        return False
    records = read_json(path)
    first = records[0] if isinstance(records, list) and records else None
    return isinstance(first, dict) and ("fields" in first or FLAT in first)


# ── out ───────────────────────────────────────────────────────────────────────────────────────────


def write_tasks(tasks: Sequence[Task], guide: Guide, path: Path) -> list[Path]:
    settings = path.with_name(f"{path.stem}.settings.json")
    records = [_record(task, guide) for task in tasks]
    for target, value in ((settings, _settings(guide)), (path, records)):
        write_atomic(target, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    return [path, settings]


def _record(task: Task, guide: Guide) -> JsonObject:
    parts = [f"{name}: {text}" for name, text in task.fields.items()]
    return {
        "id": f"{task.query.id} {task.doc_id}",
        "fields": {
            "query": task.query.text,
            "title": task.title or task.doc_id,
            "document": "\n\n".join([*parts, task.text]).strip() or task.doc_id,
        },
        "metadata": {
            "query_id": task.query.id,
            "doc_id": task.doc_id,
            "document": task.document,
            "rubric": guide.version,
        },
        "suggestions": {},
        "responses": _responses(task.votes),
        "vectors": {},
    }


def _responses(votes: Sequence[Vote]) -> JsonObject:
    if not votes:
        return {}
    grades = [UNSURE if vote.grade is None else str(vote.grade) for vote in votes]
    said = {
        GRADE: zip(votes, grades, strict=True),
        RATIONALE: ((vote, vote.rationale) for vote in votes if vote.rationale),
    }
    return {
        name: [
            {"value": value, "user_id": vote.judge, "status": SUBMITTED} for vote, value in values
        ]
        for name, values in said.items()
    }


def _settings(guide: Guide) -> JsonObject:
    text = {"type": "text", "use_markdown": False}
    options = [
        {"value": str(choice.value), "text": choice_text(choice), "description": choice.definition}
        for choice in guide.grades
    ]
    options.append({"value": UNSURE, "text": "unsure", "description": "Asks for a second judge."})
    labels = {"type": "label_selection", "options": options, "visible_options": None}
    questions = ((GRADE, "Grade", True, labels), (RATIONALE, "Why this grade", False, text))
    return {
        "guidelines": guide.markdown,
        "allow_extra_metadata": True,
        "fields": [
            {"name": name, "title": name, "required": True, "settings": text}
            for name in ("query", "title", "document")
        ],
        "questions": [
            {"name": name, "title": title, "required": required, "settings": settings}
            for name, title, required, settings in questions
        ],
        "metadata": [],
        "vectors": [],
    }


# ── in ────────────────────────────────────────────────────────────────────────────────────────────


class _Metadata(msgspec.Struct):
    query_id: str
    doc_id: str
    document: str | None = None
    rubric: str | None = None


class _Response(NamedTuple):
    value: str
    user: str
    where: str


def read_ballots(path: Path) -> Ballots:
    rows, blank = list[Ballot](), 0
    for number, value in enumerate(read_json(path)):
        at = f"$[{number}]"
        fields: JsonObject = expect(value, dict, path, at, "an object")
        nested = fields.get("metadata")
        metadata = record(
            nested if isinstance(nested, dict) else fields, _Metadata, path, at, NOTHING
        )
        wrote = {said.user: said.value for said in _said(fields, RATIONALE, path, at)}
        given = [
            Ballot(
                where=said.where,
                query_id=metadata.query_id,
                doc_id=metadata.doc_id,
                grade=choice_grade(said.value, said.where),
                rationale=wrote.get(said.user, "").strip(),
                judge=said.user,
                document=metadata.document or "",
                rubric=metadata.rubric or "",
            )
            for said in _said(fields, GRADE, path, at)
        ]
        rows += given
        blank += not given
    return Ballots(rows=rows, blank=blank)


def _said(fields: JsonObject, name: str, path: Path, at: str) -> Iterator[_Response]:
    """The submitted responses to one question; drafts and discarded ones are not given yet."""
    flat, key = f"{name}.responses", "responses"
    if flat in fields:
        at, given = f"{at}.{flat}", _zipped(fields, flat)
    else:
        responses = expect(fields.get(key) or {}, dict, path, f"{at}.{key}", "an object")
        at, given = f"{at}.{key}.{name}", responses.get(name) or []
    for place, response in enumerate(expect(given, list, path, at, "an array")):
        where = f"{at}[{place}]"
        if not isinstance(response, dict) or "value" not in response:
            raise InputError("expected a response with its value", where=f"{path}: {where}")
        if response.get("status") in (None, SUBMITTED) and response["value"] is not None:
            user = str(response.get("user_id") or "")
            yield _Response(str(response["value"]), user, f"{path}: {where}")


def _zipped(fields: JsonObject, flat: str) -> list[JsonObject]:
    """The flat lists of values, users and statuses, response by response."""
    values: list[Any] = fields[flat] or []
    users: list[Any] = fields.get(f"{flat}.users") or [None] * len(values)
    statuses: list[Any] = fields.get(f"{flat}.status") or [None] * len(values)
    return [
        {"value": value, "user_id": user, "status": status}
        for value, user, status in zip(values, users, statuses, strict=False)
    ]
