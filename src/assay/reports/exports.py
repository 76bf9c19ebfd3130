"""A results object as a file for others: one-file HTML, Markdown for a pull request, JUnit, CSV,
LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.core.errors import InputError, UsageError
from assay.reports import golden_files, graded_files
from assay.reports.golden_report import markdown
from assay.reports.graded_files import eval_report

__all__ = ["FORMATS", "eval_report", "export", "export_golden"]

Results = Mapping[str, Any]

FORMATS: dict[str, Callable[[Results, Mapping[str, Any] | None], str]] = {
    ".html": graded_files.html,
    ".md": graded_files.markdown,
    ".xml": graded_files.junit,
    ".csv": graded_files.by_query_csv,
    ".tex": graded_files.latex,
}
GOLDEN_FORMATS: dict[str, Callable[[Results], str]] = {
    ".html": golden_files.html,
    ".md": markdown,
    ".xml": golden_files.junit,
    ".csv": golden_files.by_question_csv,
    ".tex": golden_files.latex,
}


def export(results: Results, suffix: str, comparison: Mapping[str, Any] | None = None) -> str:
    """The file's text; `suffix` (.html, .md, .xml, .csv, .tex) picks the format."""
    if suffix not in FORMATS:
        raise InputError(f"unknown report format {suffix!r}", hint=f"Known: {', '.join(FORMATS)}.")
    if "gates" in results:
        return GOLDEN_FORMATS[suffix](results)
    return FORMATS[suffix](results, comparison)


def export_golden(
    results: Results, suffix: str, changed: Mapping[str, Any] | None, language: str = "en"
) -> str:
    """A golden report, with what `golden_report.changes` says against other results."""
    if suffix == ".md":
        return markdown(results, language=language, changed=changed)
    if suffix == ".html":
        return golden_files.html(results, changed)
    raise UsageError(
        f"a {suffix} report has no comparison", hint="Write .md or .html, or leave --against out."
    )
