"""A report as a CSV table, one row a query. Columns are keys of the results, in every language;
those that end in `_before` are of the results compared with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from assay.formats.spreadsheet import guarded_row
from assay.reports.shapes import ReportQuery, ReportView

QUERY = ("query_id", "query_text", "query_type", "query_topic", "num_results")
# columns that are fields of a golden question
PASSING = ("category", "must", "passed", "first_rank", "expected_rank", "rr")
OF_ENTRY = (*PASSING, "parent", "perturbation", "failure")

Cell = str | int | float | bool | None


def render(report: ReportView) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    rows = _questions(report) if report.kind == "golden" else _queries(report)
    for row in rows:
        writer.writerow(guarded_row("" if cell is None else cell for cell in row))
    return stream.getvalue()


def _queries(report: ReportView) -> Iterator[list[Cell]]:
    keys = [line.key for line in report.measures]
    # a column where rows are approved one by one
    standing: list[Cell] = [report.standing] if report.standing else []
    head = [*QUERY, *keys, "judged@10", "reason", *(["gold_set"] if standing else [])]
    yield [*head, *(f"{key}_before" for key in keys if report.before)]
    for line in report.queries:
        values = [_exact(line.values.get(key)) for key in keys]
        row = [line.query_id, line.text, line.type, line.topic, line.num_results, *values]
        yield [*row, _exact(line.judged), line.reason, *standing, *_old_cells(report, line, keys)]


def _old_cells(report: ReportView, line: ReportQuery, keys: Sequence[str]) -> list[Cell]:
    then = report.before.get(line.query_id, {})
    return [_exact(then.get(key)) for key in keys] if report.before else []


def _questions(report: ReportView) -> Iterator[list[Cell]]:
    beside = ("pass", "mrr_at_k") if report.before else ()
    head = ("query_id", "query_text", *OF_ENTRY, "reason")
    yield [*head, *(f"{key}_before" for key in beside)]
    for line in report.queries:
        assert line.outcome is not None
        values = (getattr(line.outcome.entry, name) for name in OF_ENTRY)
        yield [line.query_id, line.text, *values, line.reason, *_old_cells(report, line, beside)]


def _exact(value: float | None) -> str | None:
    """Every digit: a table that is computed with is not rounded."""
    return None if value is None else repr(value)
