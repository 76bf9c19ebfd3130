"""Exchange judging tasks with Argilla: records and dataset settings out, responses back.

The settings, STEM.settings.json beside STEM.json, have the rubric as guidelines, the question
`grade` with a label a grade and one for unsure, and the question `rationale`. What comes back is
the JSON of `records.to_json`, or the flat lists of `records.to_list(flatten=True)`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import msgspec

from assay.core.files import read_json, write_json
from assay.core.types import JsonObject, Vote
from assay.formats.ballots import (
    UNCHANGED,
    Ballot,
    Ballots,
    Guide,
    Task,
    choice_grade,
    choice_text,
    first_record,
)
from assay.formats.schema import read_record

GRADE, RATIONALE = "grade", "rationale"  # the names of the questions
FLAT = f"{GRADE}.responses"
UNSURE = "unsure"
SUBMITTED = "submitted"


def looks_like(path: Path) -> bool:
    first = first_record(path)
    return "fields" in first or FLAT in first


# ── out ───────────────────────────────────────────────────────────────────────────────────────────


class _Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    value: str | int | float | None
    user_id: str | None = None
    status: str | None = None


def write_tasks(tasks: Sequence[Task], guide: Guide, path: Path) -> list[Path]:
    settings = path.with_name(f"{path.stem}.settings.json")
    records = [_record(task, guide) for task in tasks]
    write_json(settings, _settings(guide))
    write_json(path, records)
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
        "responses": _responses(task.votes),
        "suggestions": {},
        "vectors": {},
    }


def _responses(votes: Sequence[Vote]) -> dict[str, list[_Answer]]:
    """The votes of judges as answers, by question; a question that nobody has answered is left
    out."""
    answers: dict[str, list[_Answer]] = {}
    for vote in votes:
        grade = UNSURE if vote.grade is None else str(vote.grade)
        for name, value in ((GRADE, grade), (RATIONALE, vote.rationale)):
            if value:
                answer = _Answer(value=value, user_id=vote.judge, status=SUBMITTED)
                answers.setdefault(name, []).append(answer)
    return answers


def _settings(guide: Guide) -> JsonObject:
    text = {"type": "text", "use_markdown": False}
    options = [
        {"value": str(choice.value), "text": choice_text(choice), "description": choice.definition}
        for choice in guide.grades
    ]
    options.append({"value": UNSURE, "text": UNSURE, "description": "Asks for a second judge."})
    labels = {"type": "label_selection", "options": options}
    return {
        "guidelines": guide.markdown,
        "fields": [_field(name, name, text) for name in ("query", "title", "document")],
        "questions": [
            _field(GRADE, "Grade", labels),
            _field(RATIONALE, "Why this grade", text, required=False),
        ],
        "metadata": [],
        "vectors": [],
        "allow_extra_metadata": True,
    }


def _field(name: str, title: str, settings: JsonObject, *, required: bool = True) -> JsonObject:
    return {"name": name, "title": title, "required": required, "settings": settings}


# ── in ────────────────────────────────────────────────────────────────────────────────────────────


class _Metadata(msgspec.Struct, frozen=True):
    query_id: str
    doc_id: str
    document: str | None = None
    rubric: str | None = None


Values = list[str | int | float | None]


class _ReturnedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record with its responses by question, or flat: with a list of values, one of users and one
    of statuses a question."""

    metadata: _Metadata | None = None
    responses: dict[str, list[_Answer]] | None = None
    grades: Values | None = msgspec.field(default=None, name=f"{GRADE}.responses")
    grade_users: Values | None = msgspec.field(default=None, name=f"{GRADE}.responses.users")
    grade_status: Values | None = msgspec.field(default=None, name=f"{GRADE}.responses.status")
    wrote: Values | None = msgspec.field(default=None, name=f"{RATIONALE}.responses")
    wrote_users: Values | None = msgspec.field(default=None, name=f"{RATIONALE}.responses.users")
    wrote_status: Values | None = msgspec.field(default=None, name=f"{RATIONALE}.responses.status")


def read_ballots(path: Path) -> Ballots:
    rows, blank = list[Ballot](), 0
    for number, value in enumerate(read_json(path)):
        at = f"$[{number}]"
        read = read_record(value, _ReturnedRecord, path, at, UNCHANGED)
        about = read.metadata or read_record(value, _Metadata, path, at, UNCHANGED)
        given = _ballots(read, about, f"{path}: {at}")
        rows += given
        blank += not given
    return Ballots(rows=rows, blank=blank)


def _ballots(read: _ReturnedRecord, about: _Metadata, where: str) -> list[Ballot]:
    """The submitted responses of a record; drafts and discarded responses do not count."""
    if read.grades is None:
        answers = read.responses or {}
        where = f"{where}.responses.{GRADE}"
        grades, rationales = answers.get(GRADE, []), answers.get(RATIONALE, [])
    else:
        where = f"{where}.{FLAT}"
        grades = _answers_of_lists(read.grades, read.grade_users, read.grade_status)
        rationales = _answers_of_lists(read.wrote, read.wrote_users, read.wrote_status)
    wrote = {
        answer.user_id: str(answer.value or "")
        for answer in rationales
        if answer.status in (None, SUBMITTED)
    }
    return [
        Ballot(
            where=f"{where}[{place}]",
            query_id=about.query_id,
            doc_id=about.doc_id,
            grade=choice_grade(str(answer.value), f"{where}[{place}]"),
            rationale=wrote.get(answer.user_id, "").strip(),
            judge=answer.user_id or "",
            document=about.document or "",
            rubric=about.rubric or "",
        )
        for place, answer in enumerate(grades)
        if answer.value is not None and answer.status in (None, SUBMITTED)
    ]


def _answers_of_lists(
    values: Values | None, users: Values | None, statuses: Values | None
) -> list[_Answer]:
    """Answers from the flat lists of an export; a list that is not there says nothing."""
    return [
        _Answer(
            value=value,
            user_id=None if user is None else str(user),
            status=None if status is None else str(status),
        )
        for value, user, status in zip_longest(values or (), users or (), statuses or ())
    ]
