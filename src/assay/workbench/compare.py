"""`assay compare`: each results file against the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.core.errors import UsageError
from assay.evaluation.comparison import Comparison, compare
from assay.formats.results_json import read_results


def compare_results(
    paths: Sequence[Path],
    *,
    force: bool = False,
    primary: str = "",
    equivalence: float | None = None,
) -> Comparison:
    """Paired differences; `primary` is the measure that decides, `equivalence` a margin. The
    systems are called by their engines, or where these are the same by their files."""
    if len(paths) < 2:
        raise UsageError("give at least two results files to compare")
    results = [read_results(path) for path in paths]
    for names in (
        [scored.engine for scored in results],
        [path.stem for path in paths],
        [str(path) for path in paths],
    ):
        if len(set(names)) == len(names):
            break
    return compare(results, names, force=force, primary=primary, equivalence=equivalence)
