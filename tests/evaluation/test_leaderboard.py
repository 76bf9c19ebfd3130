"""Who is best and who cannot be told apart; a small slice does not shout."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.results import GoldCard, GradedEntry, GradedReceipt, GradedResults, MeasureLine
from assay.evaluation.comparison import Leaderboard, compare
from assay.evaluation.leaderboard import leaderboard
from assay.evaluation.statistics import slice_chances


def results(name: str, values: list[float], types: list[str]) -> GradedResults:
    entries = [
        GradedEntry(
            query_id=f"q{row}",
            query_type=kind,
            metrics={"p": value},
            results=[],
            grades=[],
            known_grades=[],
        )
        for row, (value, kind) in enumerate(zip(values, types, strict=True))
    ]
    line = MeasureLine(key="p", measure="P@5", cutoff=5)
    receipt = GradedReceipt(measures=[line], gold=GoldCard(fingerprint="g"))
    return GradedResults(timestamp="", engine=name, overall={}, per_query=entries, receipt=receipt)


def board(columns: dict[str, np.ndarray], types: list[str]) -> Leaderboard:
    every = [results(name, column.tolist(), types) for name, column in columns.items()]
    return leaderboard(every, list(columns), compare(every, list(columns)))


def test_systems_that_cannot_be_told_apart_share_a_letter() -> None:
    rng = np.random.default_rng(1)
    base = rng.uniform(0.3, 0.6, 40)
    columns = {
        "low": base - 0.2,
        "one": base + rng.normal(0, 0.01, 40),
        "two": base + rng.normal(0, 0.01, 40),
        "best": base + 0.2,
    }
    found = board(columns, ["keyword"] * 40)
    letters = {place.system: place.letters for place in found.places}
    assert found.places[0].system == "best"
    assert letters["one"] == letters["two"]
    assert len({letters["best"], letters["one"], letters["low"]}) == 3
    assert len(found.pairs) == 6
    told = ("better", "worse")
    alike = {(pair.system, pair.other) for pair in found.pairs if pair.verdict not in told}
    assert {frozenset(pair) for pair in alike} == {frozenset(("one", "two"))}


def test_a_system_between_two_groups_is_in_both() -> None:
    base, wave = np.full(30, 0.5), np.tile([0.2, -0.17], 15)
    columns = {"a": base + 0.04, "b": base + wave, "c": base - 0.04}
    found = board(columns, ["keyword"] * 30)
    letters = {place.system: place.letters for place in found.places}
    assert (letters["a"], letters["b"], letters["c"]) == ("a", "ab", "b")


def test_a_slice_of_four_is_drawn_towards_the_rest() -> None:
    rng = np.random.default_rng(3)
    types = ["keyword"] * 60 + ["fact"] * 60 + ["odd"] * 4
    base = rng.uniform(0.4, 0.6, 124)
    moves = np.concatenate([rng.normal(-0.05, 0.15, 120), [0.2, 0.15, 0.25, 0.1]])
    found = board({"base": base, "other": base + moves, "third": base - 0.3}, types)
    odd = next(s for s in found.slices if s.slice == "type:odd" and s.system == "other")
    assert odd.difference == pytest.approx(0.175)
    assert odd.shrunk < odd.difference / 2
    assert not odd.is_shown


def test_slices_that_truly_differ_are_told() -> None:
    rng = np.random.default_rng(4)
    types = ["keyword"] * 50 + ["fact"] * 50
    base = np.full(100, 0.5)
    moves = np.concatenate([rng.normal(-0.2, 0.1, 50), rng.normal(0.15, 0.1, 50)])
    found = board({"base": base, "other": base + moves, "third": base - 0.3}, types)
    told = {s.slice: s.shrunk for s in found.slices if s.is_shown and s.system == "other"}
    assert told["type:keyword"] < 0 < told["type:fact"]


def test_a_pair_of_the_board_is_what_two_files_say_beyond_the_correction() -> None:
    """Of four systems there are six pairs on the board, and three headlines against the first."""
    base = np.full(33, 0.5)
    waves = {"one": 22, "two": 23, "three": 25}  # queries that go up, of 33
    columns = {"base": base} | {
        name: base + np.where(np.arange(33) < up, 0.1, -0.1) for name, up in waves.items()
    }
    types = ["keyword"] * 33
    every = [results(name, column.tolist(), types) for name, column in columns.items()]
    compared = compare(every, list(columns))
    found = leaderboard(every, list(columns), compared)
    assert (compared.tests, len(found.pairs)) == (3, 6)
    letters = {place.system: place.letters for place in found.places}
    for pair in found.pairs:
        two = [every[list(columns).index(name)] for name in (pair.other, pair.system)]
        (row,) = compare(two, [pair.other, pair.system]).differences
        assert (pair.p, pair.low, pair.high, pair.sure) == (row.p, row.low, row.high, row.sure)
        significant = pair.verdict in ("better", "worse")
        assert significant == (pair.p_adjusted <= 0.05) == ((pair.low_adjusted or 0) > 0)
        lost = not significant and row.verdict == "better" and pair.verdict == "probably better"
        assert pair.verdict == row.verdict or lost
        apart = not set(letters[pair.system]) & set(letters[pair.other])
        assert apart == significant
    by_system = {row.system: row for row in compared.differences}
    assert by_system["three"].p_adjusted == pytest.approx(3 * by_system["three"].p)
    of_three = next(p for p in found.pairs if {p.system, p.other} == {"three", "base"})
    assert of_three.p_adjusted == pytest.approx(6 * of_three.p)


def test_boards_of_chance_seldom_make_any_claim_by_slice() -> None:
    """Signs are arbitrary, and slices small: of 120 boards at most one in twenty claims anything,
    against the system that happens to be best."""
    rng = np.random.default_rng(7)
    parts = [range(15), range(15, 22), range(22, 33), range(0, 33, 3), range(1, 33, 3)]
    claims = 0
    for _ in range(120):
        values = 0.5 + rng.laplace(0, 0.1, (33, 5)) * rng.choice([-1, 1], (33, 5))
        chances = slice_chances(values, parts)
        best = int(values.mean(axis=0).argmax())
        claims += bool((np.delete(chances[:, :, best], best, axis=1) <= 0.05).any())
    assert claims <= 6


def test_a_slice_of_five_makes_no_claim_and_one_of_thirty_does() -> None:
    values = np.full((60, 3), 0.5)
    values[:35, 1] += 0.3
    values[:, 2] += np.random.default_rng(1).normal(0, 0.05, 60)
    few, many = slice_chances(values, [range(5), range(5, 35)])[:, 1, 0]
    assert many < 0.01
    assert few > 0.05
