"""`assay explain`: the results of one query, and how the measures compute its values."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.results import Entry, GoldenResults, MeasureLine
from assay.formats.results_json import read_results


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One query, how each of its values is computed, and that machines made labels."""

    entry: Entry
    measures: list[MeasureLine]
    note: str = ""


def explain(results_file: Path, query_id: str, dataset: Path | None = None) -> Explanation:
    """A results file of another tool needs the gold set, to be scored on. Of a golden question
    passing is told in words, and no measure is summed."""
    if dataset is not None:
        from assay.workbench.scoring.score import ScoreRequest, score

        results = score(ScoreRequest(dataset=dataset, run=results_file)).results
    else:
        results = read_results(results_file)
    entries: dict[str, Entry] = {entry.query_id: entry for entry in results.per_query}
    if query_id not in entries:
        some = ", ".join(list(entries)[:5])
        hint = f"It has {some}, …" if some else "It has no queries."
        raise InputError(f"no query {query_id!r}", where=str(results_file), hint=hint)
    measures = [] if isinstance(results, GoldenResults) else results.receipt.measures
    note = results.receipt.gold.note
    return Explanation(entry=entries[query_id], measures=measures, note=note)
