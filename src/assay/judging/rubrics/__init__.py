"""Rubrics: what the grades of a scale mean, as data. A rubric is a file `NAME.toml` beside the gold
set, in the project, or here; judging, validation and reports read it. Its version is its content:
`version` gives `id@hash`, which every vote keeps."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.errors import InputError
from assay.core.files import read_toml
from assay.core.redaction import without_password
from assay.formats.schema import complaint
from assay.judging.rubrics.page import as_markdown
from assay.judging.rubrics.scale import (
    Checklist,
    EdgeCase,
    Grade,
    Rubric,
    checked,
    require_grades,
    span,
)

__all__ = [
    "DEFAULT",
    "Checklist",
    "EdgeCase",
    "Found",
    "Grade",
    "Rubric",
    "as_markdown",
    "available",
    "find",
    "load",
    "names",
    "read",
    "require_grades",
    "span",
    "version",
]

DEFAULT = "fppc-relevance-2"
ENDING = ".toml"
PROJECT_FILE = "assay.toml"
VERSION_DIGITS = 12

Origin = Literal["beside the set", "project", "shipped"]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A rubric that can be named, and where it is."""

    name: str
    origin: Origin
    path: str


def names() -> list[str]:
    """The rubrics that come with Assay."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(ENDING) for file in files if file.name.endswith(ENDING))


def load(name: str = DEFAULT) -> Rubric:
    """A rubric that comes with Assay."""
    if name not in names():
        raise InputError(f"unknown rubric {name!r}", hint=f"Known: {', '.join(names())}.")
    return read(_shipped(name))


def find(name: str, *, beside: Path | None = None) -> Rubric:
    """The rubric of that name (`id`, `id@hash` or a file): beside the set, in the project, or
    shipped, whichever comes first."""
    if name.endswith(ENDING):
        return read(_file(name, beside))
    plain = name.partition("@")[0]
    for found in available(beside=beside):
        if found.name == plain:
            return _of_that_name(Path(found.path), plain)
    known = dict.fromkeys(found.name for found in available(beside=beside))
    told = without_password(name).partition("@")[0]  # an address may be given by mistake
    raise InputError(
        f"unknown rubric {told!r}",
        where=str(beside or ""),
        hint=f"Known: {', '.join(known)}. Or put {told}{ENDING} beside the set.",
    )


def available(*, beside: Path | None = None) -> list[Found]:
    """Every rubric that `find` could give, in the order in which it looks."""
    folders: list[tuple[Origin, Path]] = []
    if beside is not None:
        home = (beside.resolve() if beside.is_symlink() else beside).parent
        folders += [("beside the set", home), ("beside the set", home / "rubrics")]
    folders.append(("project", _project() / "rubrics"))
    found = [
        Found(name=path.stem, origin=origin, path=str(path))
        for origin, folder in folders
        for path in sorted(folder.glob(f"*{ENDING}"))
        if path.name != PROJECT_FILE
    ]
    return found + [
        Found(name=name, origin="shipped", path=str(_shipped(name))) for name in names()
    ]


def read(path: Path) -> Rubric:
    """A rubric from its file, read strictly."""
    tables = read_toml(path)
    try:
        rubric = msgspec.convert(tables, Rubric)
    except msgspec.ValidationError as error:
        said = complaint(
            error, path, "", hint="`assay gold rubric --list` names some to copy from."
        )
        where = said.where.replace(": .", ": ").removesuffix(": ")
        raise InputError(said.message, where=where, hint=said.hint) from error
    return checked(rubric, path)


def version(rubric: Rubric) -> str:
    """`id@hash` of the content: what is written otherwise but says the same has the same
    version."""
    content = msgspec.json.encode(rubric, order="deterministic")
    return f"{rubric.id}@{hashlib.sha256(content).hexdigest()[:VERSION_DIGITS]}"


def _of_that_name(path: Path, name: str) -> Rubric:
    rubric = read(path)
    if rubric.id != name:
        raise InputError(
            f"the rubric calls itself {rubric.id!r}",
            where=f"{path}: id",
            hint=f"Its id must be its file name, {name!r}: sets and votes name it so.",
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
