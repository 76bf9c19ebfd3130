"""A score sheet as a table in a notebook: by slice, n, the share that is judged, and every mean
with its interval."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape

import numpy as np

from assay.core.types import ScoreSheet, Slice
from assay.evaluation import statistics

RULES = "In small type: 95% intervals. An unjudged hit counts as not relevant."
FEW = f"<br>* fewer than {statistics.SMALL} queries: too few to conclude from."


@dataclass(frozen=True, kw_only=True)
class NotebookSheet(ScoreSheet):
    """A score sheet that a notebook shows. Intervals are computed when the table is shown, not
    before."""

    def _repr_html_(self) -> str:
        names = ("slice", "n", "judged@10", *self.measures)
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = "".join(map(self._row, self.slices))
        note = FEW if any(part.n < statistics.SMALL for part in self.slices) else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"{table}<small>{RULES}{note}</small>"

    def _row(self, part: Slice) -> str:
        inside = np.array(
            [
                part.kind == "overall" or getattr(query, part.kind) == part.name
                for query in self.queries
            ]
        )
        inside &= ~np.isnan(self.values).all(axis=1)
        values, judged = self.values[inside], self.judged[inside]
        intervals = statistics.mean_intervals(values)
        means = part.means.values()
        cells = [_cell(mean, between) for mean, between in zip(means, intervals, strict=True)]
        share = f"{np.nanmean(judged):.0%}" if (~np.isnan(judged)).any() else "–"
        name = escape(f"{part.kind} {part.name}".strip())
        name += " *" if part.n < statistics.SMALL else ""
        return (
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in (name, part.n, share, *cells)) + "</tr>"
        )


def shown(sheet: ScoreSheet) -> NotebookSheet:
    """The same sheet, with a table for notebooks."""
    return NotebookSheet(**{field.name: getattr(sheet, field.name) for field in fields(sheet)})


def _cell(mean: float | None, interval: statistics.Interval) -> str:
    if mean is None:
        return "–"
    if interval.low is None:
        return f"{mean:.3f}"
    return f"{mean:.3f}<br><small>{interval.low:.3f} to {interval.high:.3f}</small>"
