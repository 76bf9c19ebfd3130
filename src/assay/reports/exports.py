"""Until every caller makes a view: the former names, from results as a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.results_file import from_json
from assay.reports import FORMATS, evaluation_report, render, view

__all__ = ["FORMATS", "eval_report", "export", "export_golden"]


def export(
    results: Mapping[str, Any], suffix: str, comparison: Mapping[str, Any] | None = None
) -> str:
    from assay.evaluation.comparison import Comparison

    compared = msgspec.convert(comparison, Comparison) if comparison else None
    return render(view(from_json(results), comparison=compared), suffix)


def export_golden(
    results: Mapping[str, Any], suffix: str, changed: Any, language: str = "en"
) -> str:
    return render(view(from_json(results), changes=changed, language=language), suffix)


def eval_report(results: Mapping[str, Any], language: str = "en") -> str:
    return evaluation_report(view(from_json(results), language=language))
