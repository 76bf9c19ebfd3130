"""Dealing pairs to judges: what holds of every deal."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.judging.pool import deal, doubles_wanted


@st.composite
def deals(draw: st.DrawFn) -> tuple[int, list[str], int, int]:
    count = draw(st.integers(0, 150))
    judges = [f"judge {number}" for number in range(draw(st.integers(1, 9)))]
    doubles = draw(st.integers(0, count)) if len(judges) > 1 else 0
    return count, judges, doubles, draw(st.integers(0, 5))


@given(deals())
def test_every_pair_has_its_judges_and_nobody_has_more_than_the_others(
    dealt: tuple[int, list[str], int, int],
) -> None:
    count, judges, doubles, seed = dealt
    asked = deal(count, judges, doubles=doubles, seed=seed)
    assert len(asked) == count
    assert {len(who) for who in asked} <= {1, 2}
    assert all(len(set(who)) == len(who) for who in asked)  # nobody is asked twice
    assert sum(len(who) == 2 for who in asked) == doubles
    loads = Counter({judge: 0 for judge in judges})
    loads.update(judge for who in asked for judge in who)
    assert set(loads) == set(judges)
    assert max(loads.values()) - min(loads.values()) <= 1
    together = Counter({frozenset(two): 0 for two in combinations(judges, 2)})
    together.update(frozenset(who) for who in asked if len(who) == 2)
    assert not together or max(together.values()) - min(together.values()) <= 1
    assert asked == deal(count, judges[::-1], doubles=doubles, seed=seed)


@given(deals(), st.integers(1, 30))
def test_the_doubly_judged_are_spread_over_the_order(
    dealt: tuple[int, list[str], int, int], size: int
) -> None:
    count, judges, doubles, seed = dealt
    asked = deal(count, judges, doubles=doubles, seed=seed)
    for start in range(0, count - size + 1, size):
        double = sum(len(who) == 2 for who in asked[start : start + size])
        assert abs(double - size * doubles / count) < 2


def test_who_has_had_less_comes_first() -> None:
    loads = {"a": 5, "b": 0, "c": 3}
    assert deal(1, ["a", "b", "c"], doubles=0, loads=loads) == [("b",)]
    assert set(deal(1, ["a", "b", "c"], doubles=1, loads=loads)[0]) == {"b", "c"}


def test_what_one_judge_has_alone_stands_together() -> None:
    asked = [who[0] for who in deal(90, ["a", "b", "c"], doubles=0, seed=4)]
    assert sum(here != there for here, there in pairwise(asked)) == 2


@given(st.floats(0, 1), st.lists(st.integers(1, 40), max_size=6))
def test_the_share_is_right_however_often_the_pool_grows(
    overlap: float, batches: list[int]
) -> None:
    total = double = 0
    for batch in batches:
        total += batch
        double += doubles_wanted(overlap, total, double, batch)
        assert double == round(overlap * total)
