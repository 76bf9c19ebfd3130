"""The honest end of a sweep: figures by hand, and what holds over many simulated sweeps."""

from __future__ import annotations

import numpy as np
import pytest

from assay.evaluation import statistics, tuning
from assay.evaluation.statistics import Floats
from assay.evaluation.tuning import adjusted_p, choose, choose_adaptive, effects, held_out


def drawn(rng: np.random.Generator, n: int, settings: int, better: float = 0.0) -> Floats:
    """Paired differences have a standard deviation of .10; setting 1 may be better."""
    values = rng.normal(0.5, 0.15, (n, 1)) + rng.normal(0, 0.1 / 2**0.5, (n, settings))
    values[:, 1] += better
    return np.asarray(np.clip(values, 0, 1))


def test_the_held_out_values_are_of_settings_chosen_on_other_queries() -> None:
    # setting 0 is best on every query but one, so it is chosen whatever is left out
    values = np.array([[1.0, 0.0]] * 9 + [[0.0, 1.0]])
    assert held_out(values).tolist() == values[:, 0].tolist()


def test_a_winner_by_luck_is_chosen_against_by_the_other_queries() -> None:
    # each setting is right on one query of its own: nothing is learnt from the others
    assert held_out(np.eye(6)).sum() == 0
    choice = choose(np.eye(6))
    assert choice.apparent == pytest.approx(1 / 6)
    assert choice.honest == 0
    assert choice.optimism == pytest.approx(1 / 6)
    assert choice.verdict == "none"


def test_one_setting_is_tested_as_compare_tests_it() -> None:
    rng = np.random.default_rng(1)
    values = drawn(rng, 40, 2, 0.05)
    choice = choose(values)
    changes = values[:, [1]] - values[:, [0]]
    assert choice.p == statistics.change_tests(changes)[0]
    assert choice.p_adjusted == pytest.approx(choice.p, abs=0.01)
    (interval,) = statistics.change_intervals(changes, level=1 - 0.05 / choice.counts_as)
    assert (choice.low_change, choice.high_change) == (interval.low, interval.high)


def test_forty_copies_of_one_setting_count_as_one_and_different_ones_as_many() -> None:
    rng = np.random.default_rng(2)
    changes = rng.normal(0.05, 0.1, (40, 1))
    p, corrected = adjusted_p(np.repeat(changes, 40, axis=1), 0)
    assert corrected == pytest.approx(p, abs=0.02)
    p, corrected = adjusted_p(np.hstack([changes, rng.normal(0, 0.1, (40, 39))]), 0)
    assert corrected > 8 * p


def test_the_interval_of_the_change_holds_nothing_just_where_p_says_so() -> None:
    rng = np.random.default_rng(3)
    for better in (0.0, 0.03, 0.05, 0.08):
        choice = choose(drawn(rng, 50, 10, better))
        if choice.winner:
            assert choice.low_change is not None
            assert (choice.low_change > 0) == (choice.p_adjusted <= 0.05)
            assert (choice.verdict == "better") == (choice.low_change > 0)


def test_the_current_setting_wins_a_tie_and_what_is_not_allowed_cannot_win() -> None:
    assert choose(np.full((10, 3), 0.5)).winner == 0
    values = np.tile([0.2, 0.9, 0.5], (20, 1))
    values += np.linspace(-0.05, 0.05, 20)[:, None]
    assert choose(values).winner == 1
    limited = choose(values, allowed=np.array([True, False, True]))
    assert limited.winner == 2
    assert limited.verdict == "better"
    assert limited.honest == pytest.approx(values[:, 2].mean())


def test_an_adaptive_search_is_measured_on_the_half_it_did_not_see() -> None:
    values = np.array([[0.0, 1.0, 0.0]] * 4 + [[0.0, 0.0, 1.0]] * 4)
    halves = [(range(4), [1]), (range(4, 8), [2])]
    choice = choose_adaptive(values, [(list(rows), tried) for rows, tried in halves])
    assert choice.honest == 0
    assert choice.apparent == 0.5
    assert choice.verdict == "none"


def test_equal_settings_are_rarely_called_better_and_a_better_one_is_found() -> None:
    rng = np.random.default_rng(4)
    false = sum(choose(drawn(rng, 66, 40)).verdict == "better" for _ in range(100))
    assert false <= 8
    found = [choose(drawn(rng, 66, 40, 0.05)) for _ in range(60)]
    assert sum(each.verdict == "better" and each.winner == 1 for each in found) >= 36


def test_effects_by_hand() -> None:
    settings = [{"k": k, "m": m} for k in (10, 60) for m in ("a", "b")]
    values = np.array([[0.1, 0.2, 0.5, 0.6], [0.2, 0.3, 0.6, 0.7], [0.3, 0.4, 0.7, 0.8]])
    by_k, by_m = effects(values, settings, {"k": 10, "m": "a"})
    assert (by_k.parameter, by_k.best, by_k.against) == ("k", "60", "10")
    assert by_k.difference == pytest.approx(0.4)
    assert by_m.difference == pytest.approx(0.1)


def test_many_numbers_are_grouped_into_ranges() -> None:
    groups = tuning.value_groups(list(range(1, 13)))
    assert list(dict.fromkeys(groups)) == ["1 to 3", "4 to 6", "7 to 9", "10 to 12"]
