"""What a rubric is made of, and what makes one sound."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.errors import InputError
from assay.core.types import Expected, Range, Targets

MIN_GRADES, MAX_GRADES = 2, 10
HIGHEST = 100  # the gain of a grade may be 2 to its power


class _Strict(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Unknown keys are refused, since a slip in a name would lose a rule silently. Defaults are
    left out, so that a new key changes no version of a rubric that does not have it."""


class Grade(_Strict, frozen=True, kw_only=True):
    value: int
    label: str
    definition: str
    criteria: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    example: str = ""  # how rubrics wrote their only one before they had several

    @property
    def all_examples(self) -> tuple[str, ...]:
        return ((self.example,) if self.example else ()) + self.examples


class EdgeCase(_Strict, frozen=True, kw_only=True):
    title: str
    rule: str
    examples: tuple[str, ...] = ()


class Checklist(_Strict, frozen=True, kw_only=True):
    min_judged: int = 0
    min_highly_relevant: int = 0
    items: tuple[str, ...] = ()


class Rubric(_Strict, frozen=True, kw_only=True):
    """`relevant_from` and `highly_relevant_from` are grades: those that count as relevant, and as
    an answer. `unit` is what is judged, in a word. `rationale` says whether votes need one:
    without a required one a vote is refused, without a wanted one it is flagged."""

    id: str
    title: str
    grades: tuple[Grade, ...]
    principle: str = ""
    unit: str = "document"
    rationale: Literal["required", "wanted", "optional"] = "wanted"
    relevant_from: int = 0
    highly_relevant_from: int = 0
    edge_cases: tuple[EdgeCase, ...] = ()
    checklist: Checklist = Checklist()
    expected_per_query: Expected = Expected()
    targets: Targets | None = None  # of older rubrics: read, and not used; they stand in the set

    @property
    def values(self) -> tuple[int, ...]:
        """The grades there are, the highest first."""
        return tuple(grade.value for grade in self.grades)

    @property
    def top(self) -> int:
        return self.grades[0].value


def checked(rubric: Rubric, path: Path) -> Rubric:
    """The rubric with its grades from the highest to the lowest and its thresholds filled in; one
    that no judge could apply is refused."""
    if not rubric.id.strip() or "@" in rubric.id:
        raise _wrong(path, "id", f"the id is {rubric.id!r}", "Give it a name without @.")
    _check_grades(rubric, path)
    grades = tuple(sorted(rubric.grades, key=lambda grade: -grade.value))
    values = [grade.value for grade in grades]
    relevant = rubric.relevant_from or values[-2]
    high = rubric.highly_relevant_from or values[0]
    on_scale = ", ".join(map(str, reversed(values)))
    for key, value in (("relevant_from", relevant), ("highly_relevant_from", high)):
        if value not in values or value == 0:
            hint = f"The scale is {on_scale}; 0 is never relevant."
            raise _wrong(path, key, f"{value} is not a grade above 0 of this rubric", hint)
    if high < relevant:
        message = f"{high} is below relevant_from, which is {relevant}"
        raise _wrong(path, "highly_relevant_from", message, "Highly relevant is relevant too.")
    return msgspec.structs.replace(
        rubric, grades=grades, relevant_from=relevant, highly_relevant_from=high
    )


def require_grades(rubric: Rubric, used: Iterable[int], where: str) -> None:
    """Refuse a rubric that has no place for a grade that is in use."""
    lost = sorted(set(used) - set(rubric.values))
    if lost:
        names = ", ".join(map(str, lost))
        scale = ", ".join(map(str, reversed(rubric.values)))
        raise InputError(
            f"grade {names} is in use, and the rubric {rubric.id} has no such grade",
            where=where,
            hint=f"Its scale is {scale}. Give the grade back to it, or judge those pairs again.",
        )


def _check_grades(rubric: Rubric, path: Path) -> None:
    count = len(rubric.grades)
    if not MIN_GRADES <= count <= MAX_GRADES:
        hint = f"A scale has {MIN_GRADES} to {MAX_GRADES} grades."
        raise _wrong(path, "grades", f"there are {count} grades", hint)
    seen: set[int] = set()
    for place, grade in enumerate(rubric.grades):
        at = f"grades[{place}]"
        if not 0 <= grade.value <= HIGHEST or grade.value in seen:
            what = "comes twice" if grade.value in seen else "cannot be"
            hint = f"Grades are different whole numbers from 0 to {HIGHEST}."
            raise _wrong(path, f"{at}.value", f"the grade {grade.value} {what}", hint)
        seen.add(grade.value)
        for key in ("label", "definition"):
            if not getattr(grade, key).strip():
                hint = "Judges and reports need it."
                raise _wrong(path, f"{at}.{key}", f"grade {grade.value} has no {key}", hint)
    if 0 not in seen:
        hint = "Measures take a document that nobody judged as 0."
        raise _wrong(path, "grades", f"the lowest grade is {min(seen)}, expected 0", hint)


def _wrong(path: Path, key: str, message: str, hint: str) -> InputError:
    return InputError(message, where=f"{path}: {key}", hint=hint)


def span(bounds: Range) -> str:
    return f"{bounds[0]} to {bounds[1]}"
