"""How results look, as files and on the terminal: one view of them, and one module per file format.
`workbench/scoring/report.py` has the commands that write reports.

`view` makes a `ReportView` from results; `render` writes it in the format of a file's ending.
"""

from __future__ import annotations

from importlib import import_module

from assay.core.errors import InputError
from assay.reports.shapes import ReportView
from assay.reports.view import view

__all__ = ["FORMATS", "ReportView", "evaluation_report", "render", "view"]

# file endings, and the module here that renders each, loaded when needed
FORMATS = {
    ".html": "html",
    ".md": "markdown",
    ".xml": "junit",
    ".csv": "csv",
    ".tex": "latex",
}


def render(report: ReportView, suffix: str) -> str:
    """The text of a file; `suffix` (.html, .md, .xml, .csv, .tex) picks the format."""
    if suffix not in FORMATS:
        results = "The results file is itself JSON. " if suffix == ".json" else ""
        raise InputError(
            f"unknown report format {suffix!r}", hint=f"{results}Known: {', '.join(FORMATS)}."
        )
    text: str = import_module(f"assay.reports.{FORMATS[suffix]}").render(report)
    return text


def evaluation_report(report: ReportView) -> str:
    """The Markdown report that goes with a change: every measure, overall and by slice."""
    from assay.reports import markdown

    return markdown.evaluation(report)
