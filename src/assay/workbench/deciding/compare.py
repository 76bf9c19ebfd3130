"""`assay compare`: the differences of each results file from the first; and `assay plan`: how many
queries and judgments a decision takes, from a pilot of two engines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import msgspec
import numpy as np
from msgspec.structs import replace

from assay.core.errors import InputError, UsageError
from assay.core.results import GradedResults, Results
from assay.core.types import counted
from assay.evaluation.comparison import ALPHA, Comparison, Difference, compare
from assay.evaluation.measures import parse_measure
from assay.evaluation.planning import (
    PASS,
    POWER,
    Goal,
    Plan,
    crowds_of,
    gate_needs,
    queries_for,
    queries_needed_for,
)
from assay.evaluation.unjudged.verdict_stability import imputed_spread, is_closed
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


# ── assay plan ────────────────────────────────────────────────────────────────────────────────────


POOL = 10  # results of each engine, where the measure has no cutoff; the usual depth
OTHER_DIFFERENCES = (0.01, 0.02, 0.03, 0.05, 0.1)  # shown beside the one asked for; taste


def plan_from(
    paths: tuple[Path, Path],
    *,
    difference: float,
    power: float = POWER,
    primary: str = "",
    agreement: float | None = None,
) -> Plan:
    """The queries and judgments that show a difference of this size in the primary measure."""
    for name, value, most in (("difference", difference, 1.0), ("power", power, 0.999)):
        if not 0 < value <= most:
            raise UsageError(f"--{name} must be between 0 and {most:g}, not {value:g}")
    base, other = (read_results(path) for path in paths)
    names = [base.engine, other.engine]
    if names[0] == names[1]:
        names = [str(path) for path in paths]
    row = _deciding_difference((base, other), names, primary)
    values = [_values(each, row.key) for each in (base, other)]
    moves = np.array([values[1][key] - values[0][key] for key in values[0] if key in values[1]])
    if len(moves) < 3 or moves.std() < 1e-12:
        alike = f"these results do not differ in {row.measure} from query to query"
        few = f"{counted(len(moves), 'query')} cannot say how much queries vary"
        raise InputError(
            alike if len(moves) >= 3 else few,
            where=f"{paths[0]}, {paths[1]}",
            hint="A pilot needs two different engines and at least ten common queries.",
        )
    spread, binary = float(moves.std(ddof=1)), row.key == PASS
    goal = Goal(
        difference=difference, spread=spread, power=power, level=1 - ALPHA, pass_or_fail=binary
    )
    asked = [difference, *(each for each in OTHER_DIFFERENCES if each != difference)]
    needs = [queries_needed_for(moves, replace(goal, difference=each)) for each in asked]
    documents = None
    if isinstance(base, GradedResults) and isinstance(other, GradedResults):
        documents = _documents(base, other, parse_measure(row.measure).cutoff or POOL)
    queries = needs[0].queries
    return Plan(
        measure=row.measure,
        baseline=names[0],
        system=names[1],
        pilot=len(moves),
        spread=spread,
        mean=row.value,
        power=power,
        level=goal.level,
        needs=needs,
        gates=gate_needs(moves, np.array(list(values[1].values())), goal),
        documents=documents,
        judgments=math.ceil(queries * documents) if queries and documents else None,
        changed=int((moves != 0).sum()) if binary else None,
        agreement=agreement,
        crowds=[] if agreement is None else crowds_of(agreement, goal, documents),
        **_unjudged_effect((base, other), row.measure, goal),
    )


def _deciding_difference(
    both: tuple[Results, Results], names: list[str], primary: str
) -> Difference:
    """The difference in the measure that decides."""
    try:
        found = compare(both, names, primary=primary)
    except InputError as error:  # a plan has no --force: it is of one set
        hint = error.hint.partition(" To compare anyway")[0]
        raise InputError(error.message, where=error.where, hint=hint) from error
    return next(row for row in found.differences if row.measure == found.headline)


def _documents(base: GradedResults, other: GradedResults, depth: int) -> float:
    """How many documents a query has in the top results of either."""
    lists = [{entry.query_id: entry.results for entry in each.per_query} for each in (base, other)]
    pools = [
        len({*results[:depth], *lists[1][query][:depth]})
        for query, results in lists[0].items()
        if query in lists[1]
    ]
    return sum(pools) / len(pools) if pools else 0.0


class UnjudgedEffect(TypedDict, total=False):
    """The effect of the unjudged hits on a plan."""

    unjudged: int
    hits: int
    believed: float | None
    queries_believed: int | None


def _unjudged_effect(both: tuple[Results, Results], measure: str, goal: Goal) -> UnjudgedEffect:
    """The spread takes an unjudged hit for not relevant; with grades drawn from the belief about
    such hits it is another."""
    if all(map(is_closed, both)):
        return UnjudgedEffect()
    spread = imputed_spread([each.per_query for each in both], measure)
    found = UnjudgedEffect(unjudged=spread.unjudged, hits=spread.hits, believed=spread.spread)
    if spread.spread is not None:
        found["queries_believed"] = queries_for(replace(goal, spread=spread.spread))
    return found


def _values(results: Results, key: str) -> dict[str, float]:
    return {
        entry.query_id: float(value)
        for entry in results.per_query
        if (value := entry.metrics.get(key)) is not None
    }
