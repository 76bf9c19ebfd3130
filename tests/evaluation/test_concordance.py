"""Kappas agree with scikit-learn, alpha with the textbook and a published example, and intervals
cover."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from assay.core.types import Vote
from assay.evaluation import concordance
from assay.evaluation.concordance import MOST_ROWS, resampling_rows
from assay.judging.agreement import AgreementFigures, GradeScale, compare_votes, figures_of

Grades = Sequence[int | None]

PUBLISHED: tuple[Grades, ...] = (  # Krippendorff 2011, "Computing Krippendorff's Alpha", part C
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)


def figures(*judges: Grades, top: int = 2, queries: int = 1) -> AgreementFigures:
    votes = [
        Vote(
            id=f"{judge}-{item}",
            query_id=f"q{item % queries}",
            doc_id=f"d{item}",
            grade=grade,
            judge=f"j{judge}",
            kind="human",
            at="",
        )
        for judge, grades in enumerate(judges)
        for item, grade in enumerate(grades)
    ]
    scale = GradeScale(lowest=0, highest=top, relevant_from=1)
    return figures_of(compare_votes(votes, scale))


def textbook_alpha(judges: Sequence[Grades]) -> float:
    """By the definition, one value at a time: 1 - observed / expected disagreement."""
    units = [[grade for grade in unit if grade is not None] for unit in zip(*judges, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    values = [grade for unit in units for grade in unit]

    def distance(one: int, other: int) -> float:
        low, high = sorted((one, other))
        between = sum(values.count(grade) for grade in range(low, high + 1))
        return (between - (values.count(low) + values.count(high)) / 2) ** 2

    observed = sum(
        distance(one, other) / (len(unit) - 1)
        for unit in units
        for one, other in permutations(unit, 2)
    )
    expected = sum(distance(one, other) for one, other in permutations(values, 2))
    if not expected:
        return math.nan
    return 1 - (observed / len(values)) / (expected / (len(values) * (len(values) - 1)))


pairs_of_grades = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@given(pairs_of_grades)
def test_kappas_agree_with_scikit_learn(given: list[tuple[int, int]]) -> None:
    first, second = zip(*given, strict=True)
    found = figures(first, second, top=3)
    two = [[int(grade >= 1) for grade in judge] for judge in (first, second)]
    if len({*first, *second}) == 1:  # scikit-learn divides by nothing there
        assert found.cohen_kappa.value is None
        assert found.cohen_kappa.note == "undefined: one grade only"
        return
    expected = {
        weights: cohen_kappa_score(first, second, labels=range(4), weights=weights)
        for weights in (None, "linear", "quadratic")
    }
    assert found.cohen_kappa.value == pytest.approx(expected[None], abs=1e-9)
    assert found.weighted_kappa.linear.value == pytest.approx(expected["linear"], abs=1e-9)
    assert found.weighted_kappa.value == found.weighted_kappa.linear.value
    assert found.weighted_kappa.quadratic.value == pytest.approx(expected["quadratic"], abs=1e-9)
    if len({*two[0], *two[1]}) > 1:
        relevant = cohen_kappa_score(*two)
        assert found.relevant.cohen_kappa.value == pytest.approx(relevant, abs=1e-9)


@given(
    st.lists(
        st.tuples(*[st.one_of(st.none(), st.integers(0, 4))] * 4), min_size=1, max_size=30
    ).map(lambda rows: tuple(zip(*rows, strict=True)))
)
def test_alpha_is_the_textbooks(judges: tuple[Grades, ...]) -> None:
    expected = textbook_alpha(judges)
    found = figures(*judges, top=4).krippendorff_alpha
    if math.isnan(expected):
        assert found.value is None
    else:
        assert found.value == pytest.approx(expected, abs=1e-9)


def test_alpha_of_the_published_example() -> None:
    assert round(textbook_alpha(PUBLISHED), 3) == 0.815
    found = figures(*PUBLISHED, top=5)
    assert found.krippendorff_alpha.value == pytest.approx(textbook_alpha(PUBLISHED), abs=1e-12)
    assert found.pairs == 11  # the last unit has one value


def test_kappa_by_hand() -> None:
    """Cohen 1960: 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no give 0.4."""
    table = np.array([[[20.0, 5.0], [10.0, 15.0]]])
    assert concordance.kappa(table) == pytest.approx(0.4)
    assert concordance.exact_agreement(table) == pytest.approx(0.7)
    assert concordance.specific_agreement(table, 0) == pytest.approx(40 / 55)


def test_kappa_of_three_judges_is_pooled_over_pairs_of_them() -> None:
    """Observed and chance disagreement are summed before they are divided."""
    judges = [(0, 1, 2, 2, 1, 0), (0, 1, 2, 1, 1, 0), (1, 1, 2, 2, 0, 0)]
    observed = expected = 0.0
    for first, second in ((0, 1), (0, 2), (1, 2)):
        kappa = cohen_kappa_score(judges[first], judges[second])
        share = np.mean(np.array(judges[first]) == np.array(judges[second]))
        chance = (share - kappa) / (1 - kappa)
        observed, expected = observed + 1 - share, expected + 1 - chance
    assert figures(*judges).cohen_kappa.value == pytest.approx(1 - observed / expected)


def test_two_grades_apart_is_counted_by_pair_and_not_by_judges() -> None:
    assert figures((0, 1), (2, 1), (2, 1)).far_apart.value == 0.5


def test_the_interval_over_queries_is_wider_where_queries_differ() -> None:
    """All of the disagreement is in four of twenty queries: pairs alone would hide that."""
    rng = np.random.default_rng(2)
    first = rng.integers(0, 3, 400).tolist()
    second = [(g + 1) % 3 if n % 20 < 4 else g for n, g in enumerate(first)]
    clustered, spread = figures(first, second, queries=20), figures(first, second, queries=400)
    assert clustered.exact.value == spread.exact.value == 0.8
    assert clustered.exact.interval is not None
    assert spread.exact.interval is not None
    widths = [b - a for a, b in (clustered.exact.interval, spread.exact.interval)]
    assert widths[0] > 3 * widths[1]


def test_intervals_cover() -> None:
    """Judges who disagree more on some queries than on others: 95% means it."""
    rng = np.random.default_rng(7)

    def drawn(queries: int) -> tuple[list[int], list[int]]:
        off = np.tile(rng.beta(1.5, 6, queries), 10)  # figures() deals item n to query n % queries
        first = rng.integers(0, 2, len(off))
        return first.tolist(), np.where(rng.random(len(off)) < off, 1 - first, first).tolist()

    truth = 1 - 1.5 / 7.5
    covered = 0
    for _ in range(120):
        interval = figures(*drawn(15), top=1, queries=15).exact.interval
        covered += interval is not None and interval[0] <= truth <= interval[1]
    assert covered / 120 > 0.89


def test_the_same_votes_give_the_same_interval() -> None:
    judges = ((0, 1, 2, 2, 1, 0, 1, 2), (0, 1, 2, 1, 1, 0, 2, 2))
    assert figures(*judges, queries=6) == figures(*judges, queries=6)


def test_many_pairs_are_resampled_in_a_bounded_number_of_rows() -> None:
    """The interval of a share of 12,000 pairs is still the one of the normal distribution."""
    count, row = resampling_rows(range(12_000))
    assert (count, len(row), len(set(row.tolist()))) == (MOST_ROWS, 12_000, MOST_ROWS)
    assert max(Counter(row.tolist()).values()) == 3
    dice = random.Random(4)
    other = [dice.random() < 0.7 for _ in range(12_000)]
    found = figures([1] * 12_000, [int(same) for same in other], top=1).exact
    assert found.value is not None
    assert found.interval is not None
    half = 1.96 * math.sqrt(found.value * (1 - found.value) / 12_000)
    assert found.interval == pytest.approx((found.value - half, found.value + half), abs=half / 8)
