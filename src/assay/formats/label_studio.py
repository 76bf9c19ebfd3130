"""Exchange judging tasks with Label Studio: tasks and labeling configuration out, annotations back.

The configuration, STEM.xml beside STEM.json, has the rubric, a choice a grade and one for unsure,
and a place for the rationale. What comes back is Label Studio's JSON export, where every task has
its `annotations`; the shorter JSON-MIN has no place to tell judges apart and is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from assay.core.errors import InputError
from assay.core.files import read_json, write_atomic, write_json
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

GRADE, RATIONALE, TEXT = "grade", "rationale", "text"  # names in the labeling configuration
UNSURE = "unsure"


def looks_like(path: Path) -> bool:
    first = first_record(path)
    return "data" in first or "annotation_id" in first


# ── what a task has ───────────────────────────────────────────────────────────────────────────────


class _Person(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: int | None = None
    email: str | None = None


class _Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    from_name: str
    to_name: str = msgspec.field(default_factory=lambda: TEXT)  # written where it is the usual too
    type: str = ""
    id: str | None = None
    value: JsonObject = {}


class _Annotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    result: list[_Result] = []
    completed_by: int | _Person | None = None
    was_cancelled: bool | None = None  # skipped
    created_at: str | None = None
    updated_at: str | None = None
    lead_time: float | None = None


class _ExportedTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    data: dict[str, str]
    annotations: list[_Annotation] = []


# ── out ───────────────────────────────────────────────────────────────────────────────────────────


def write_tasks(tasks: Sequence[Task], guide: Guide, path: Path) -> list[Path]:
    choices = {choice.value: choice_text(choice) for choice in guide.grades}
    written = [_task(task, guide, choices) for task in tasks]
    config = path.with_suffix(".xml")
    write_atomic(config, _config(guide))
    write_json(path, written)
    return [path, config]


def _task(task: Task, guide: Guide, choices: dict[int, str]) -> _ExportedTask:
    data = {
        **task.fields,
        "query_id": task.query.id,
        "query": task.query.text,
        "doc_id": task.doc_id,
        "title": task.title,
        TEXT: task.text or task.title or task.doc_id,
        "document": task.document,
        "rubric": guide.version,
    }
    return _ExportedTask(data=data, annotations=[_annotation(vote, choices) for vote in task.votes])


def _annotation(vote: Vote, choices: dict[int, str]) -> _Annotation:
    chosen = UNSURE if vote.grade is None else choices.get(vote.grade, str(vote.grade))
    # the id of a result comes back as it went out: it says which vote this was
    result = [_Result(from_name=GRADE, type="choices", id=vote.id, value={"choices": [chosen]})]
    if vote.rationale:
        wrote = {"text": [vote.rationale]}
        result.append(_Result(from_name=RATIONALE, type="textarea", value=wrote))
    return _Annotation(
        result=result,
        completed_by=_Person(email=vote.judge),
        was_cancelled=False,
        created_at=vote.at,
        lead_time=vote.seconds,
    )


def _config(guide: Guide) -> str:
    view = ElementTree.Element("View")
    fold = ElementTree.SubElement(view, "Collapse")
    panel = ElementTree.SubElement(fold, "Panel", value=f"Rubric {guide.version}")
    rules = ElementTree.SubElement(panel, "View")
    for line in guide.markdown.splitlines():
        if line.strip():
            size = "5" if line.startswith("#") else "6"
            ElementTree.SubElement(rules, "Header", value=line.lstrip("# "), size=size)
    ElementTree.SubElement(view, "Header", value="$query")
    ElementTree.SubElement(view, "Header", value="$title", size="5")
    ElementTree.SubElement(view, "Text", name=TEXT, value=f"${TEXT}")
    names = {"name": GRADE, "toName": TEXT, "choice": "single", "required": "true"}
    choices = ElementTree.SubElement(view, "Choices", names | {"showInline": "true"})
    for choice in guide.grades:
        hint = {"value": choice_text(choice), "hint": choice.definition}
        ElementTree.SubElement(choices, "Choice", hint | {"hotkey": str(choice.value)})
    ElementTree.SubElement(choices, "Choice", value=UNSURE)
    asked = {"placeholder": "Why this grade, in your own words", "rows": "3", "maxSubmissions": "1"}
    ElementTree.SubElement(view, "TextArea", {"name": RATIONALE, "toName": TEXT} | asked)
    ElementTree.indent(view)
    return f"{ElementTree.tostring(view, encoding='unicode')}\n"


# ── in ────────────────────────────────────────────────────────────────────────────────────────────


class _ReturnedData(msgspec.Struct):
    query_id: str
    doc_id: str
    document: str = ""
    rubric: str = ""


class _ReturnedTask(msgspec.Struct):
    data: _ReturnedData
    annotations: list[_Annotation] = []


def read_ballots(path: Path) -> Ballots:
    tasks: list[Any] = read_json(path)
    if "data" not in tasks[0]:
        raise InputError(
            "this is an export without annotations as such",
            where=f"{path}: $[0]",
            hint=f"Export as JSON, not as JSON-MIN. {UNCHANGED}",
        )
    rows, blank = list[Ballot](), 0
    for number, value in enumerate(tasks):
        task = read_record(value, _ReturnedTask, path, f"$[{number}]", UNCHANGED)
        given = [
            _ballot(task.data, annotation, f"{path}: $[{number}].annotations[{place}]")
            for place, annotation in enumerate(task.annotations)
            if not annotation.was_cancelled and annotation.result
        ]
        rows += given
        blank += not given
    return Ballots(rows=rows, blank=blank)


def _ballot(data: _ReturnedData, annotation: _Annotation, where: str) -> Ballot:
    chosen = _values(annotation, GRADE, "choices")
    if len(chosen) != 1:
        said = f"{len(chosen)} grades" if chosen else f"no choice named {GRADE!r}"
        raise InputError(f"the annotation has {said}", where=where, hint=UNCHANGED)
    return Ballot(
        where=where,
        query_id=data.query_id,
        doc_id=data.doc_id,
        grade=choice_grade(chosen[0], where),
        rationale="\n".join(_values(annotation, RATIONALE, "text")).strip(),
        judge=_judge_name(annotation.completed_by),
        at=annotation.updated_at or annotation.created_at or "",
        seconds=annotation.lead_time,
        document=data.document,
        rubric=data.rubric,
        echo=next((part.id or "" for part in annotation.result if part.from_name == GRADE), ""),
    )


def _values(annotation: _Annotation, name: str, key: str) -> list[str]:
    found: list[str] = []
    for result in annotation.result:
        if result.from_name == name:
            given = result.value.get(key, [])
            found += [str(text) for text in (given if isinstance(given, list) else [given])]
    return found


def _judge_name(person: int | _Person | None) -> str:
    """The address of a judge, or the number by which an export without addresses names them."""
    if isinstance(person, _Person):
        return person.email or (f"user-{person.id}" if person.id is not None else "")
    return "" if person is None else f"user-{person}"
