"""Rubrics: the grades of a scale and what each means, read from a TOML file.

A rubric is a file `NAME.toml` beside the gold set, in the project, or in this package. Judging,
validation and reports read it. `version` gives `id@hash` of its content, which every vote keeps.
`translations/NAME.LANGUAGE.toml` beside a rubric has its words in another language: a translation
changes the text that judges read, not the grades and not the version."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import read_toml, write_atomic
from assay.core.redaction import without_password
from assay.core.types import Expected, GoldSet, Range, Targets
from assay.formats.schema import record_error

DEFAULT = "relevance-1"
FPPC = "fppc-relevance-3"  # of sets in the format of the FPPC suite that name no rubric
FPPC_TOPICS = {"conflicts_of_interest", "campaign_finance"}  # in the taxonomy of that suite
ENDING = ".toml"
PROJECT_FILE = "assay.toml"
VERSION_DIGITS = 12  # of the hash that names a version; chosen

Origin = Literal["beside the set", "project", "shipped"]
MIN_GRADES, MAX_GRADES = 2, 10  # chosen
HIGHEST = 100  # chosen: the gain of a grade may be 2 to its power
FOLDER = "translations"


# ── the rubric ────────────────────────────────────────────────────────────────────────────────────


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
    min_relevant: int = 0
    min_highly_relevant: int = 0
    items: tuple[str, ...] = ()


class Rubric(_Strict, frozen=True, kw_only=True):
    """`relevant_from` and `highly_relevant_from` are grades: those that count as relevant, and as
    an answer. `unit` is what is judged, in a word, and `about` the collection that the rubric is
    written for; that is no part of its version. `rationale` says whether votes need one:
    without a required one a vote is refused, without a wanted one it is flagged."""

    id: str
    title: str
    grades: tuple[Grade, ...]
    principle: str = ""
    unit: str = "document"
    about: str = ""
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


def check_rubric(rubric: Rubric, path: Path) -> Rubric:
    """The rubric with its grades from the highest to the lowest and its thresholds filled in; one
    that no judge could apply is refused."""
    if not rubric.id.strip() or "@" in rubric.id:
        raise _error(path, "id", f"the id is {rubric.id!r}", "Give it a name without @.")
    _check_grades(rubric, path)
    grades = tuple(sorted(rubric.grades, key=lambda grade: -grade.value))
    values = [grade.value for grade in grades]
    relevant = rubric.relevant_from or values[-2]
    high = rubric.highly_relevant_from or values[0]
    on_scale = ", ".join(map(str, reversed(values)))
    for key, value in (("relevant_from", relevant), ("highly_relevant_from", high)):
        if value not in values or value == 0:
            hint = f"The scale is {on_scale}; 0 is never relevant."
            raise _error(path, key, f"{value} is not a grade above 0 of this rubric", hint)
    if high < relevant:
        message = f"{high} is below relevant_from, which is {relevant}"
        raise _error(path, "highly_relevant_from", message, "Highly relevant is relevant too.")
    return msgspec.structs.replace(
        rubric, grades=grades, relevant_from=relevant, highly_relevant_from=high
    )


def _check_grades(rubric: Rubric, path: Path) -> None:
    count = len(rubric.grades)
    if not MIN_GRADES <= count <= MAX_GRADES:
        hint = f"A scale has {MIN_GRADES} to {MAX_GRADES} grades."
        raise _error(path, "grades", f"there are {count} grades", hint)
    seen: set[int] = set()
    for place, grade in enumerate(rubric.grades):
        at = f"grades[{place}]"
        if not 0 <= grade.value <= HIGHEST or grade.value in seen:
            what = "appears twice" if grade.value in seen else "cannot be"
            hint = f"Grades are different whole numbers from 0 to {HIGHEST}."
            raise _error(path, f"{at}.value", f"the grade {grade.value} {what}", hint)
        seen.add(grade.value)
        for key in ("label", "definition"):
            if not getattr(grade, key).strip():
                hint = "Judges and reports need it."
                raise _error(path, f"{at}.{key}", f"grade {grade.value} has no {key}", hint)
    if 0 not in seen:
        hint = "Measures take a document that nobody judged as 0."
        raise _error(path, "grades", f"the lowest grade is {min(seen)}, expected 0", hint)


def _error(path: Path, key: str, message: str, hint: str) -> InputError:
    return InputError(message, where=f"{path}: {key}", hint=hint)


def span(bounds: Range) -> str:
    return f"{bounds[0]} to {bounds[1]}"


# ── finding and reading a rubric ──────────────────────────────────────────────────────────────────


class AvailableRubric(msgspec.Struct, frozen=True, kw_only=True):
    """A rubric that can be named, and where it is."""

    name: str
    origin: Origin
    path: str
    about: str = ""


def names() -> list[str]:
    """The rubrics that come with Assay."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(ENDING) for file in files if file.name.endswith(ENDING))


def load(name: str = DEFAULT) -> Rubric:
    """A rubric that comes with Assay."""
    if name not in names():
        raise InputError(f"unknown rubric {name!r}", hint=f"Known: {', '.join(names())}.")
    return read_rubric(_shipped(name))


def of_set(gold: GoldSet, dataset: Path) -> Rubric:
    """The rubric that a set is judged by: the one it names, else the default. A set of the FPPC
    suite is known by its taxonomy."""
    unnamed = FPPC if set(gold.taxonomy) >= FPPC_TOPICS else DEFAULT
    return find(gold.rubric or unnamed, beside=dataset)


def new(name: str, copied: str = DEFAULT) -> Path:
    """Copy a rubric with its translations into the folder `rubrics` of the project, to be edited
    under a name of its own."""
    if not re.fullmatch(r"[\w][\w.-]*", name) or name.endswith(ENDING):
        raise InputError(
            f"{name!r} cannot be the name of a rubric", hint="Use letters, digits, dashes."
        )
    folder = _project() / "rubrics"
    path = folder / f"{name}{ENDING}"
    if path.exists() or name in names():
        raise InputError(f"a rubric named {name!r} already exists", hint="Choose another name.")
    source = next((Path(rubric.path) for rubric in available() if rubric.name == copied), None)
    if source is None:
        find(copied)  # says which there are
        raise AssertionError
    text = source.read_text(encoding="utf-8")
    translations = sorted((source.parent / FOLDER).glob(f"{copied}.*{ENDING}"))
    for file in translations:
        language = file.name.removeprefix(f"{copied}.")
        write_atomic(folder / FOLDER / f"{name}.{language}", file.read_bytes())
    own = re.sub(r'(?m)^id = ".*"$', f'id = "{name}"', text, count=1)
    write_atomic(path, re.sub(r"\A(?:#.*\n)+", f"# Copied from {copied}.\n", own))
    return path


def find(name: str, *, beside: Path | None = None) -> Rubric:
    """The rubric of that name (`id`, `id@hash` or a file): beside the set, in the project, or
    shipped, whichever comes first."""
    if name.endswith(ENDING):
        return read_rubric(_file(name, beside))
    plain = name.partition("@")[0]
    for found in available(beside=beside):
        if found.name == plain:
            return _of_that_name(Path(found.path), plain)
    known = dict.fromkeys(found.name for found in available(beside=beside))
    shown_name = without_password(name).partition("@")[0]  # an address may be given by mistake
    raise InputError(
        f"unknown rubric {shown_name!r}",
        where=str(beside or ""),
        hint=f"Known: {', '.join(known)}. Or put {shown_name}{ENDING} beside the set.",
    )


def available(*, beside: Path | None = None) -> list[AvailableRubric]:
    """Every rubric that `find` could give, in the order in which it looks."""
    folders: list[tuple[Origin, Path]] = []
    if beside is not None:
        home = (beside.resolve() if beside.is_symlink() else beside).parent
        folders += [("beside the set", home), ("beside the set", home / "rubrics")]
    folders.append(("project", _project() / "rubrics"))
    found = [
        AvailableRubric(name=path.stem, origin=origin, path=str(path))
        for origin, folder in folders
        for path in sorted(folder.glob(f"*{ENDING}"))
        if path.name != PROJECT_FILE
    ]
    return found + [
        AvailableRubric(name=name, origin="shipped", path=str(_shipped(name))) for name in names()
    ]


def described(beside: Path | None = None) -> list[AvailableRubric]:
    """Every rubric that can be named, with what each is about."""
    replace = msgspec.structs.replace
    return [
        replace(rubric, about=str(read_toml(Path(rubric.path)).get("about", "")))
        for rubric in available(beside=beside)
    ]


def read_rubric(path: Path) -> Rubric:
    """A rubric from its file, read strictly."""
    tables = read_toml(path)
    try:
        rubric = msgspec.convert(tables, thread_safe(Rubric))
    except msgspec.ValidationError as error:
        problem = record_error(
            error, path, "", hint="`assay gold rubric --list` names some to copy from."
        )
        where = problem.where.replace(": .", ": ").removesuffix(": ")
        raise InputError(problem.message, where=where, hint=problem.hint) from error
    return check_rubric(rubric, path)


def version(rubric: Rubric) -> str:
    """`id@hash` of the content: what is written otherwise but says the same has the same
    version."""
    rules = msgspec.structs.replace(rubric, about="")
    content = msgspec.json.encode(rules, order="deterministic")
    return f"{rubric.id}@{hashlib.sha256(content).hexdigest()[:VERSION_DIGITS]}"


def _of_that_name(path: Path, name: str) -> Rubric:
    rubric = read_rubric(path)
    if rubric.id != name:
        raise InputError(
            f"the id of the rubric is {rubric.id!r}",
            where=f"{path}: id",
            hint=f"Its id must be its file name, {name!r}: sets and votes refer to it by that.",
        )
    return rubric


def _file(name: str, beside: Path | None) -> Path:
    """A file is meant as seen from the set, or from here."""
    from_set = beside.parent / name if beside else Path(name)
    return from_set if from_set.exists() else Path(name)


def _shipped(name: str) -> Path:
    return Path(str(resources.files(__name__) / f"{name}{ENDING}"))


def _project() -> Path:
    """The folder of the nearest assay.toml, or the current one."""
    here = Path.cwd()
    homes = (folder for folder in (here, *here.parents) if (folder / PROJECT_FILE).is_file())
    return next(homes, here)


# ── a rubric in another language ──────────────────────────────────────────────────────────────────


class TranslatedGrade(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A grade in another language."""

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
    path, translation = _translation_of(rubric.id, language, beside)
    if translation is None:
        return rubric
    grades = {grade.value: grade for grade in translation.grades}
    foreign = sorted(set(grades) - set(rubric.values))
    if foreign or len(translation.edge_cases) > len(rubric.edge_cases):
        what = f"grade {foreign[0]}" if foreign else "more edge cases"
        raise InputError(f"it has {what}, but the rubric does not", where=str(path))
    cases = translation.edge_cases + rubric.edge_cases[len(translation.edge_cases) :]
    return msgspec.structs.replace(
        rubric,
        title=translation.title or rubric.title,
        principle=translation.principle or rubric.principle,
        grades=tuple(_translated_grade(grade, grades.get(grade.value)) for grade in rubric.grades),
        edge_cases=cases,
    )


@lru_cache(maxsize=64)
def _translation_of(
    name: str, language: str, beside: Path | None
) -> tuple[Path, Translation | None]:
    """The translation beside the rubric in use, read once since pages ask for it often."""
    homes = (Path(each.path).parent for each in available(beside=beside) if each.name == name)
    path = next(homes, Path()) / FOLDER / f"{name}.{language}{ENDING}"
    return path, read_translation(path) if path.is_file() else None


def _translated_grade(grade: Grade, translated: TranslatedGrade | None) -> Grade:
    if translated is None:
        return grade
    return msgspec.structs.replace(
        grade,
        label=translated.label or grade.label,
        definition=translated.definition or grade.definition,
        criteria=translated.criteria or grade.criteria,
        examples=translated.examples or grade.all_examples,
        example="",
    )


def read_translation(path: Path) -> Translation:
    try:
        return msgspec.convert(read_toml(path), thread_safe(Translation))
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=str(path)) from error


# ── a rubric as a page for judges ─────────────────────────────────────────────────────────────────


def as_markdown(rubric: Rubric) -> str:
    return "\n".join(_page_lines(rubric)) + "\n"


def _page_lines(rubric: Rubric) -> Iterator[str]:
    yield f"# {rubric.title}"
    about = f", for {rubric.about}" if rubric.about else ""
    yield from ("", f"Rubric `{rubric.id}`{about}. A gold set names the rubric it was judged by.")
    if rubric.principle:
        yield from ("", "## What counts", "", rubric.principle.strip())
    yield from ("", "## The scale")
    for grade in rubric.grades:
        yield from _grade_lines(grade)
    if rubric.edge_cases:
        yield from ("", "## Edge cases")
    for case in rubric.edge_cases:
        yield from ("", f"### {case.title}", "", case.rule)
        yield from _bullet_lines(case.examples)
    checks, usual = list(_checks(rubric)), _usual_sentence(rubric)
    if checks or usual:
        yield from ("", "## Before you hand in a query")
    if checks:
        yield ""
    yield from (f"{number}. {check}" for number, check in enumerate(checks, start=1))
    if usual:
        yield from ("", usual)


def _grade_lines(grade: Grade) -> Iterator[str]:
    yield from ("", f"### {grade.value}: {grade.label}", "", grade.definition)
    if grade.criteria:
        yield from ("", "Any one of these is enough:")
        yield from _bullet_lines(grade.criteria)
    if grade.all_examples:
        yield from ("", "Examples:")
        yield from _bullet_lines(grade.all_examples)


def _bullet_lines(texts: Iterable[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        yield from (["", f"- {text}"] if not place else [f"- {text}"])


def _checks(rubric: Rubric) -> Iterator[str]:
    yield from rubric.checklist.items
    if rubric.rationale == "required" and not rubric.checklist.items:
        yield "A rationale on every judgment."


def _usual_sentence(rubric: Rubric) -> str:
    """A sentence on what the rubric expects of a query."""
    expected, high, low = rubric.expected_per_query, rubric.highly_relevant_from, rubric.values[-1]
    lower = [value for value in rubric.values if rubric.relevant_from <= value < high]
    rows = (
        (expected.highly_relevant, f"with {_grades([v for v in rubric.values if v >= high])}"),
        (expected.relevant, f"with {_grades(lower)}" if lower else ""),
        (expected.judged, "judged in all"),
    )
    parts = [f"{span(bounds)} {what}" for bounds, what in rows if bounds and what]
    if not parts or low:
        return ""
    listed = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return f"Of {rubric.unit}s, a sound query usually has {listed}."


def _grades(values: list[int]) -> str:
    return f"grade {values[0]}" if len(values) == 1 else f"grades {values[-1]} to {values[0]}"
