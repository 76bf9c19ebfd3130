"""The words of a rubric in another language: `translations/NAME.LANGUAGE.toml` beside `NAME.toml`.
Grades are those of the rubric, and so is its version: a translation changes what judges read, not
what they vote by. What it leaves out is said as the rubric says it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import read_toml
from assay.judging.rubrics import ENDING, available
from assay.judging.rubrics.scale import EdgeCase, Grade, Rubric

FOLDER = "translations"


class TranslatedGrade(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One grade."""

    value: int
    label: str = ""
    definition: str = ""
    criteria: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Translation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Edge cases stand in the order of the rubric."""

    title: str = ""
    principle: str = ""
    grades: tuple[TranslatedGrade, ...] = ()
    edge_cases: tuple[EdgeCase, ...] = ()


def translated(rubric: Rubric, language: str, *, beside: Path | None = None) -> Rubric:
    """The rubric as it is said in a language, itself where nobody has translated it."""
    path, said = _translation_of(rubric.id, language, beside)
    if said is None:
        return rubric
    grades = {grade.value: grade for grade in said.grades}
    foreign = sorted(set(grades) - set(rubric.values))
    if foreign or len(said.edge_cases) > len(rubric.edge_cases):
        what = f"grade {foreign[0]}" if foreign else "more edge cases"
        raise InputError(f"it has {what}, and the rubric has not", where=str(path))
    cases = said.edge_cases + rubric.edge_cases[len(said.edge_cases) :]
    return msgspec.structs.replace(
        rubric,
        title=said.title or rubric.title,
        principle=said.principle or rubric.principle,
        grades=tuple(_grade(grade, grades.get(grade.value)) for grade in rubric.grades),
        edge_cases=cases,
    )


@lru_cache(maxsize=64)
def _translation_of(
    name: str, language: str, beside: Path | None
) -> tuple[Path, Translation | None]:
    """Beside the rubric that is in use; pages ask at every turn, so it is read once."""
    homes = (Path(each.path).parent for each in available(beside=beside) if each.name == name)
    path = next(homes, Path()) / FOLDER / f"{name}.{language}{ENDING}"
    return path, read_translation(path) if path.is_file() else None


def _grade(grade: Grade, said: TranslatedGrade | None) -> Grade:
    if said is None:
        return grade
    return msgspec.structs.replace(
        grade,
        label=said.label or grade.label,
        definition=said.definition or grade.definition,
        criteria=said.criteria or grade.criteria,
        examples=said.examples or grade.all_examples,
        example="",
    )


def read_translation(path: Path) -> Translation:
    try:
        return msgspec.convert(read_toml(path), Translation)
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=str(path)) from error
