"""`assay compare`: the differences of each results file from the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import msgspec

from assay.core.errors import UsageError
from assay.core.results import Results
from assay.evaluation.comparison import Comparison, compare
from assay.formats.results_json import is_answer_results, read_results
from assay.workbench.judging.vote_totals import dataset_of, rulings_needed


def are_answers(paths: Sequence[Path]) -> bool:
    """Whether all files are results of answer checks."""
    return all(is_answer_results(path) for path in paths)


class ComparisonOptions(TypedDict, total=False):
    """The options of a comparison, as `evaluation.comparison.compare` describes them."""

    force: bool
    primary: str
    equivalence: float | None
    tests: bool
    worst_case: bool


def compare_results(paths: Sequence[Path], **options: Unpack[ComparisonOptions]) -> Comparison:
    """Compare each results file with the first."""
    if len(paths) < 2:
        raise UsageError("give at least two results files to compare")
    if answers := [path for path in paths if is_answer_results(path)]:
        raise UsageError(
            f"{answers[0]} has the results of an answer check, but the others do not",
            hint="Compare results of one kind.",
        )
    results = [read_results(path) for path in paths]
    found = compare_with_leaderboard(results, names_of_systems(results, paths), **options)
    dataset = dataset_of(results[0])
    rulings = rulings_needed(dataset) if dataset is not None else 0
    return msgspec.structs.replace(found, rulings=rulings)


def names_of_systems(results: Sequence[Results], paths: Sequence[Path]) -> list[str]:
    """The systems by their engines, or where these are the same by their files."""
    for names in (
        [scored.engine for scored in results],
        [path.stem for path in paths],
        [str(path) for path in paths],
    ):
        if len(set(names)) == len(names):
            break
    return names


def compare_with_leaderboard(
    results: Sequence[Results], names: Sequence[str], **options: Unpack[ComparisonOptions]
) -> Comparison:
    """Compare each results with the first; three or more also have a leaderboard."""
    found = compare(results, names, **options)
    if len(results) < 3:
        return found
    from assay.evaluation.leaderboard import leaderboard

    board = leaderboard(results, names, found)
    return msgspec.structs.replace(found, leaderboard=board)
