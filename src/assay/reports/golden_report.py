"""Until every caller makes a view: the former names, from results as a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.results_file import from_json
from assay.reports import evaluation_report, view
from assay.reports.words import LANGUAGES

__all__ = ["LANGUAGES", "markdown"]


def markdown(results: Mapping[str, Any], *, language: str = "en") -> str:
    return evaluation_report(view(from_json(results), language=language))
