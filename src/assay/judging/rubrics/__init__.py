"""Rubrics as data, one file here each, `NAME.toml`. Validation, judging and reports read the scale,
the criteria and the expectations from it."""

from __future__ import annotations

from importlib import resources

import msgspec

from assay.core.errors import InputError

DEFAULT = "fppc-relevance-1"

Range = tuple[int, int]


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    value: int
    label: str
    definition: str
    criteria: tuple[str, ...] = ()
    example: str = ""


class EdgeCase(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    rule: str


class Checklist(msgspec.Struct, frozen=True, kw_only=True):
    min_judged: int
    min_highly_relevant: int
    items: tuple[str, ...]


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """How many judgments of each kind a sound query has."""

    highly_relevant: Range
    relevant: Range
    judged: Range


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """How a whole set should be spread over topics and query types."""

    queries: Range
    types: tuple[str, ...]
    topics: dict[str, Range]


class Rubric(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    principle: str
    relevant_from: int
    highly_relevant_from: int
    grades: tuple[Grade, ...]
    edge_cases: tuple[EdgeCase, ...]
    checklist: Checklist
    expected_per_query: Expected
    targets: Targets


def names() -> list[str]:
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def load(name: str = DEFAULT) -> Rubric:
    if name not in names():
        raise InputError(f"unknown rubric {name!r}", hint=f"Known: {', '.join(names())}.")
    file = resources.files(__name__) / f"{name}.toml"
    return msgspec.toml.decode(file.read_bytes(), type=Rubric)


def as_markdown(rubric: Rubric) -> str:
    """The rubric as a page for judges."""
    lines = [
        f"# {rubric.title}",
        "",
        f"Rubric `{rubric.id}`. A gold set names the rubric it was judged by.",
        "",
        "## What counts",
        "",
        rubric.principle.strip(),
        "",
        "## The scale",
        "",
    ]
    for grade in rubric.grades:
        lines += [f"### {grade.value}: {grade.label}", "", grade.definition, ""]
        lines += ["Any one of these is enough:", ""]
        lines += [f"- {criterion}" for criterion in grade.criteria]
        lines += ["", f"*{grade.example}*", ""]
    lines += ["## Edge cases", "", "| case | rule |", "|---|---|"]
    lines += [f"| {case.title} | {case.rule} |" for case in rubric.edge_cases]
    lines += ["", "## Before you hand in a query", ""]
    checks = enumerate(rubric.checklist.items, start=1)
    lines += [f"{number}. {check}" for number, check in checks]
    expected = rubric.expected_per_query
    usual = (
        f"A sound query usually has {span(expected.highly_relevant)} opinions with grade 2, "
        f"{span(expected.relevant)} with grade 1 and {span(expected.judged)} judged in all."
    )
    return "\n".join([*lines, "", usual, ""])


def span(bounds: Range) -> str:
    return f"{bounds[0]} to {bounds[1]}"
