"""A score sheet as a table in a notebook: by slice, n, the share that is judged, and every mean
with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from assay.core.types import ScoreSheet, Slice
from assay.evaluation import statistics

DRAWS = 10**8  # a sheet of very many queries gets fewer resamples: its intervals are narrow anyway


@dataclass(frozen=True, kw_only=True)
class NotebookSheet(ScoreSheet):
    """What `evaluate` returns. Intervals are computed when the table is shown, not before."""

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th>{escape(name)}</th>" for name in ("slice", "n", "judged@10", *self.measures)
        )
        rows = "".join(map(self._row, self.slices))
        few = any(part.n < statistics.SMALL for part in self.slices)
        note = (
            f"<br>* fewer than {statistics.SMALL} queries: too few to conclude from." if few else ""
        )
        rules = f"<small>In small type: 95% intervals. An unjudged hit counts as not relevant.{note}</small>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rules}"

    def _row(self, part: Slice) -> str:
        inside = np.array(
            [
                part.kind == "overall" or getattr(query, part.kind) == part.name
                for query in self.queries
            ]
        )
        inside &= ~np.isnan(self.values).all(axis=1)
        values, judged = self.values[inside], self.judged[inside]
        samples = int(min(statistics.SAMPLES, max(DRAWS // max(len(values), 1), 200)))
        found = statistics.mean_intervals(values, samples=samples)
        cells = [
            _cell(mean, interval) for mean, interval in zip(part.means.values(), found, strict=True)
        ]
        share = f"{np.nanmean(judged):.0%}" if (~np.isnan(judged)).any() else "–"
        name = escape(f"{part.kind} {part.name}".strip()) + (
            " *" if part.n < statistics.SMALL else ""
        )
        return (
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in (name, part.n, share, *cells)) + "</tr>"
        )


def _cell(mean: float | None, interval: statistics.Interval) -> str:
    if mean is None:
        return "–"
    between = (
        ""
        if interval.low is None
        else f"<br><small>{interval.low:.3f} to {interval.high:.3f}</small>"
    )
    return f"{mean:.3f}{between}"
