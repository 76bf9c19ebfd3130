"""A rubric as a page for judges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay.judging.rubrics.scale import Grade, Rubric, span


def as_markdown(rubric: Rubric) -> str:
    return "\n".join(_lines(rubric)) + "\n"


def _lines(rubric: Rubric) -> Iterator[str]:
    yield f"# {rubric.title}"
    yield from ("", f"Rubric `{rubric.id}`. A gold set names the rubric it was judged by.")
    if rubric.principle:
        yield from ("", "## What counts", "", rubric.principle.strip())
    yield from ("", "## The scale")
    for grade in rubric.grades:
        yield from _grade(grade)
    if rubric.edge_cases:
        yield from ("", "## Edge cases")
    for case in rubric.edge_cases:
        yield from ("", f"### {case.title}", "", case.rule)
        yield from _listed(case.examples)
    checks, usual = list(_checks(rubric)), _usual(rubric)
    if checks or usual:
        yield from ("", "## Before you hand in a query")
    if checks:
        yield ""
    yield from (f"{number}. {check}" for number, check in enumerate(checks, start=1))
    if usual:
        yield from ("", usual)


def _grade(grade: Grade) -> Iterator[str]:
    yield from ("", f"### {grade.value}: {grade.label}", "", grade.definition)
    if grade.criteria:
        yield from ("", "Any one of these is enough:")
        yield from _listed(grade.criteria)
    if grade.all_examples:
        yield from ("", "Examples:")
        yield from _listed(grade.all_examples)


def _listed(texts: Iterable[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        yield from (["", f"- {text}"] if not place else [f"- {text}"])


def _checks(rubric: Rubric) -> Iterator[str]:
    yield from rubric.checklist.items
    if rubric.rationale == "required" and not rubric.checklist.items:
        yield "A rationale on every judgment."


def _usual(rubric: Rubric) -> str:
    """What a query has as a rule, as far as the rubric says."""
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
