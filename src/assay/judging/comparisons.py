"""Two votes on one pair at a time, and the figures of agreement over them. The arithmetic is in
`evaluation/concordance.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from msgspec import structs

from assay.core.types import Vote
from assay.evaluation import concordance
from assay.evaluation.concordance import MIN_CLUSTERS, Estimate, Floats, estimates
from assay.judging.agreement_figures import (
    Confusion,
    Figure,
    Figures,
    GradeFigures,
    TwoSided,
    WeightedKappa,
)
from assay.judging.votes import by_pair

T = TypeVar("T")
Integers = np.ndarray[Any, np.dtype[np.int64]]

ONE_GRADE = "undefined: one grade only"
NO_OVERLAP = "undefined: no pair has two grades"
NEVER = "undefined: nobody gave it"
OVER_PAIRS = f"over pairs: fewer than {MIN_CLUSTERS} queries"
FAR = 2  # grades apart


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The grades there are, lowest first, and the first that is relevant."""

    lowest: int
    highest: int
    relevant_from: int

    @property
    def grades(self) -> list[int]:
        return list(range(self.lowest, self.highest + 1))


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """Two votes on one pair at a time, as columns: which query, which pair of query and document,
    between which two judges, and what each of the two said, as a place on the scale."""

    query: Integers
    unit: Integers
    between: Integers
    first: Integers
    second: Integers
    query_ids: tuple[str, ...]  # what `query` counts
    judges: tuple[tuple[str, str], ...]  # what `between` counts
    scale: Scale

    @property
    def queries(self) -> list[str]:
        return [self.query_ids[place] for place in np.unique(self.query)]

    def between_judges(self, wanted: Collection[tuple[str, str]]) -> Comparisons:
        places = [place for place, two in enumerate(self.judges) if two in wanted]
        return self._only(np.isin(self.between, places))

    def of_queries(self, wanted: Collection[str]) -> Comparisons:
        places = [place for place, name in enumerate(self.query_ids) if name in wanted]
        return self._only(np.isin(self.query, places))

    def _only(self, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> Comparisons:
        return replace(
            self,
            query=self.query[chosen],
            unit=self.unit[chosen],
            between=self.between[chosen],
            first=self.first[chosen],
            second=self.second[chosen],
        )


def compared(
    votes: Iterable[Vote], scale: Scale, wanted: Callable[[Vote, Vote], bool]
) -> Comparisons:
    """Every two grades on one pair whose judges are to be compared."""
    graded = by_pair(vote for vote in votes if vote.grade is not None)
    met = [
        (pair, *two)
        for pair, said in sorted(graded.items())
        for two in combinations(sorted(said, key=lambda vote: vote.judge), 2)
        if wanted(*two)
    ]
    query = _numbered(pair[0] for pair, _, _ in met)
    unit = _numbered(pair for pair, _, _ in met)
    judges = _numbered(sorted((one.judge, other.judge) for _, one, other in met))
    rows = [
        (
            query[pair[0]],
            unit[pair],
            judges[one.judge, other.judge],
            (one.grade or 0) - scale.lowest,
            (other.grade or 0) - scale.lowest,
        )
        for pair, one, other in met
    ]
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return Comparisons(
        query=columns[0],
        unit=columns[1],
        between=columns[2],
        first=columns[3],
        second=columns[4],
        query_ids=tuple(query),
        judges=tuple(judges),
        scale=scale,
    )


def _numbered(names: Iterable[T]) -> dict[T, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _weights(seen: Comparisons) -> Floats:
    """What two votes count for alpha: each vote counts once, shared among those it is compared
    with. Where all judges of a pair are compared, this is Krippendorff's 1 / (votes - 1)."""
    number = _numbered(sorted({name for two in seen.judges for name in two}))
    ends = np.array([[number[name] for name in two] for two in seen.judges], np.int64)
    votes = seen.unit[:, None] * len(number) + ends[seen.between]
    _, inverse, times = np.unique(votes, return_inverse=True, return_counts=True)
    return np.asarray((1 / times[inverse.reshape(-1, 2)]).mean(axis=1))


# ── figures ───────────────────────────────────────────────────────────────────────────────────────


def figures_of(seen: Comparisons) -> Figures:
    size, judges = len(seen.scale.grades), np.unique(seen.between)
    relevant_from = min(max(seen.scale.relevant_from - seen.scale.lowest, 0), size)
    cells = max(len(judges), 1) * size * size

    def statistic(sums: Floats) -> Floats:
        tables = sums[:, :cells].reshape(len(sums), -1, size, size)
        together = sums[:, cells : cells + size * size].reshape(-1, size, size)
        two = concordance.folded(tables, relevant_from)
        kappas = [concordance.kappa(tables, power) for power in (0, 1, 2)]
        figures = [
            concordance.exact_agreement(tables),
            *kappas,
            concordance.ordinal_alpha(together),
            concordance.mean_of(sums[:, -2:])[:, 0],
            concordance.exact_agreement(two),
            concordance.kappa(two),
        ]
        return np.stack(figures, axis=1)

    found = estimates(_parts(seen, judges, size), statistic)
    exact, cohen, linear, quadratic, alpha, far, two_exact, two_kappa = (
        _figure(estimate, seen) for estimate in found
    )
    return Figures(
        pairs=len(np.unique(seen.unit)),
        queries=len(seen.queries),
        comparisons=len(seen.unit),
        exact=exact,
        cohen_kappa=cohen,
        weighted_kappa=WeightedKappa(
            value=linear.value,
            interval=linear.interval,
            note=linear.note,
            linear=linear,
            quadratic=quadratic,
        ),
        krippendorff_alpha=alpha,
        far_apart=far,
        relevant=TwoSided(first=seen.scale.relevant_from, exact=two_exact, cohen_kappa=two_kappa),
    )


def _parts(seen: Comparisons, judges: Integers, size: int) -> Floats:
    """One row a query, or a pair where queries are few: the table of every two judges, the
    coincidences of alpha, and how many pairs are far apart, of how many."""
    resampled = seen.query if len(seen.queries) >= MIN_CLUSTERS else seen.unit
    rows, row = np.unique(resampled, return_inverse=True)
    if not len(rows):
        return np.zeros((1, (max(len(judges), 1) + 1) * size * size + 2))
    place = np.searchsorted(judges, seen.between)
    tables = np.zeros((len(rows), len(judges), size, size))
    np.add.at(tables, (row, place, seen.first, seen.second), 1)
    together = np.zeros((len(rows), size, size))
    weight = _weights(seen)
    np.add.at(together, (row, seen.first, seen.second), weight)
    np.add.at(together, (row, seen.second, seen.first), weight)
    units, first_seen, unit = np.unique(seen.unit, return_index=True, return_inverse=True)
    spread = np.zeros(len(units))
    np.maximum.at(spread, unit, np.abs(seen.first - seen.second))
    apart = np.zeros((len(rows), 2))
    np.add.at(apart, row[first_seen], np.stack([spread >= FAR, np.ones(len(units))], axis=1))
    flat = [part.reshape(len(rows), -1) for part in (tables, together, apart)]
    return np.concatenate(flat, axis=1)


def _figure(estimate: Estimate, seen: Comparisons) -> Figure:
    figure = stated(estimate, ONE_GRADE if len(seen.unit) else NO_OVERLAP)
    if figure.interval and not figure.note and len(seen.queries) < MIN_CLUSTERS:
        return structs.replace(figure, note=OVER_PAIRS)
    return figure


def by_grade(seen: Comparisons) -> dict[str, GradeFigures]:
    size, judges = len(seen.scale.grades), np.unique(seen.between)
    cells = max(len(judges), 1) * size * size
    parts = _parts(seen, judges, size)[:, :cells]

    def statistic(sums: Floats) -> Floats:
        tables = sums.reshape(len(sums), -1, size, size)
        agreed = [concordance.specific_agreement(tables, grade) for grade in range(size)]
        alone = [concordance.one_against_rest(tables, grade) for grade in range(size)]
        return np.stack([*agreed, *(concordance.kappa(table) for table in alone)], axis=1)

    found = estimates(parts, statistic)
    given = {
        grade: len(np.unique(seen.unit[(seen.first == grade) | (seen.second == grade)]))
        for grade in range(size)
    }
    return {
        str(grade + seen.scale.lowest): GradeFigures(
            pairs=given[grade],
            exact=stated(found[grade], NEVER),
            cohen_kappa=stated(found[size + grade], ONE_GRADE if given[grade] else NEVER),
        )
        for grade in range(size)
    }


def stated(estimate: Estimate, why: str) -> Figure:
    """A figure that is undefined for a known reason."""
    return Figure(
        value=estimate.value,
        interval=estimate.interval,
        note=why if estimate.value is None else estimate.note,
    )


def confusion_of(seen: Comparisons) -> Confusion:
    size = len(seen.scale.grades)
    met = [seen.judges[place] for place in np.unique(seen.between)]
    judges = sorted({name for two in met for name in two})
    counts = np.zeros((size, size), np.int64)
    np.add.at(counts, (seen.first, seen.second), 1)
    two = len(judges) == 2
    return Confusion(
        grades=seen.scale.grades,
        rows=judges[0] if two else "one judge",
        columns=judges[1] if two else "another",
        counts=(counts if two else counts + counts.T).tolist(),
    )
