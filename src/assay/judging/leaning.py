"""A judge against the others, and against themselves later: too strict, too lenient, drifting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assay.core.types import Vote
from assay.evaluation import concordance
from assay.evaluation.concordance import (
    MIN_CLUSTERS,
    Estimate,
    Floats,
    Statistic,
    estimates,
)
from assay.judging.agreement_figures import Against, Drift, Figure
from assay.judging.comparisons import ONE_GRADE, OVER_PAIRS, Scale, stated
from assay.judging.votes import by_pair

ALONE = "undefined: no pair with another judge"
ONCE = "undefined: no pair was judged twice"
ONE_TIME = "undefined: all votes are from one time"


class Difference(NamedTuple):
    """A judge's grade minus the mean of the other judges' on the same pair."""

    query_id: str
    doc_id: str
    at: str
    value: float


def differences(votes: Iterable[Vote]) -> dict[str, list[Difference]]:
    """Of every judge, in order of time."""
    found: dict[str, list[Difference]] = {}
    for (query_id, doc_id), said in by_pair(votes).items():
        graded = [(vote, vote.grade) for vote in said if vote.grade is not None]
        total = sum(grade for _, grade in graded)
        for vote, grade in graded:
            mine = found.setdefault(vote.judge, [])
            if len(graded) > 1:
                others = (total - grade) / (len(graded) - 1)
                mine.append(Difference(query_id, doc_id, vote.at, grade - others))
    return {judge: sorted(mine, key=lambda d: (d.at, d[:2])) for judge, mine in found.items()}


def against_others(mine: Sequence[Difference]) -> Against:
    sums = np.array([[difference.value, 1.0] for difference in mine]).reshape(-1, 2)
    (found,) = _over_queries(mine, sums, concordance.mean_of)
    low, high = found.interval or (0.0, 0.0)
    return Against(
        pairs=len(mine),
        difference=stated(found, ALONE),
        leaning="lenient" if low > 0 else "strict" if high < 0 else "",
    )


def drift_of(given: Sequence[Vote], mine: Sequence[Difference], scale: Scale) -> Drift:
    """`given` are all votes of a judge, those that were superseded too."""
    twice = _judged_twice(given)
    size = len(scale.grades)
    tables = np.zeros((len(twice), size * size + 2))
    for row, (first, last) in enumerate(twice):
        before, after = (first.grade or 0) - scale.lowest, (last.grade or 0) - scale.lowest
        tables[row, before * size + after] = 1
        tables[row, -2:] = after - before, 1

    def statistic(sums: Floats) -> Floats:
        table = sums[:, :-2].reshape(len(sums), 1, size, size)
        agreed = concordance.exact_agreement(table), concordance.kappa(table, 1)
        return np.stack([*agreed, concordance.mean_of(sums[:, -2:])[:, 0]], axis=1)

    again = _over_queries([first for first, _ in twice], tables, statistic)
    exact, kappa, changed = (stated(found, ONE_GRADE if twice else ONCE) for found in again)
    earlier, later, change = _halves(mine)
    return Drift(
        repeated=len(twice),
        exact=exact,
        weighted_kappa=kappa,
        repeated_change=changed,
        pairs=len(mine),
        earlier=earlier,
        later=later,
        change=change,
    )


def _judged_twice(given: Sequence[Vote]) -> list[tuple[Vote, Vote]]:
    """The first and the last grade that a judge gave to one pair."""
    graded = by_pair(
        sorted((vote for vote in given if vote.grade is not None), key=lambda vote: vote.at)
    )
    return [(said[0], said[-1]) for said in graded.values() if len(said) > 1]


def _halves(mine: Sequence[Difference]) -> list[Figure]:
    """The mean difference from the others in the earlier and the later half, and the change. Votes
    of one moment stay on one side."""
    times = [difference.at for difference in mine]
    if not times or times[0] == times[-1]:
        why = ALONE if not times else ONE_TIME
        return [Figure(value=None, interval=None, note=why)] * 3
    middle = times[len(times) // 2]
    split = times.index(middle) or next(n for n, at in enumerate(times) if at > middle)
    sums = np.zeros((len(mine), 4))
    for row, difference in enumerate(mine):
        sums[row, 2 * (row >= split) :][:2] = difference.value, 1
    found = _over_queries(mine, sums, concordance.change_of_means)
    return [stated(estimate, ALONE) for estimate in found]


def _over_queries(
    places: Sequence[Difference] | Sequence[Vote], rows: Floats, statistic: Statistic
) -> list[Estimate]:
    """Figures of the sum of the rows, resampled by query, or by pair where queries are few."""
    queries = [place.query_id for place in places]
    if len(set(queries)) < MIN_CLUSTERS:
        found = estimates(rows if len(rows) else np.zeros((1, rows.shape[1])), statistic)
        return [
            each._replace(note=OVER_PAIRS) if each.interval and not each.note else each
            for each in found
        ]
    names, row = np.unique(queries, return_inverse=True)
    parts = np.zeros((len(names), rows.shape[1]))
    np.add.at(parts, row, rows)
    return estimates(parts, statistic)


def votes_by_judge(votes: Iterable[Vote]) -> Mapping[str, list[Vote]]:
    found: dict[str, list[Vote]] = {}
    for vote in votes:
        found.setdefault(vote.judge, []).append(vote)
    return dict(sorted(found.items()))
