"""Choose among the settings that a sweep tried, and measure the chosen one without selection bias.

The best of forty settings looks better than it is, because its luck on these queries helped to
choose it. Three things correct for that (docs/decisions/0037-tuning.md has the reasons and the
simulations):

**The honest figure.** The queries are divided into FOLDS parts. For each part the best setting is
chosen on the other parts, and measured on this one. Every query is thus measured with a setting
that was not chosen on it. This is repeated with PARTITIONS divisions, and averaged by query; the
interval is the usual one of a mean. Optimism is the apparent mean of the winner minus this figure.

**The verdict.** Each setting is compared with the current one by the one statistic for changes (see
`statistics`). The winner's p is then corrected for the number of settings tried: it is how often
the largest of all their statistics is as large when the signs of the queries are arbitrary
(Westfall and Young 1993), which counts forty near copies of one setting as about one. The interval
of the change is widened by the same factor, so that it holds 0 just where p is above 0.05.

**An adaptive search** looks at queries to propose settings, so that neither holds for it. It runs
as two studies, each on half of the queries, and each half is measured with the winner of the other
study. Nothing was chosen on those queries: the change needs no correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from assay.core.results import Pair
from assay.core.types import JsonObject
from assay.evaluation import statistics
from assay.evaluation.statistics import ADDED, ALPHA, FLIPS, Floats, Interval

Booleans = np.ndarray[Any, np.dtype[np.bool_]]

FOLDS = 5  # with PARTITIONS: docs/decisions/0037-tuning.md
PARTITIONS = 20  # different divisions; docs/decisions/0037-tuning.md
GROUPS = 4  # of the values of a parameter that has many (taste)
FINALISTS = 5  # settings whose unjudged hits are looked at (taste)

TuneVerdict = Literal["better", "none"]


class Trial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One setting that was tried. `mean` is apparent: of all queries, with no correction; None
    where a call failed. `excluded` says why a setting cannot win: a failed call, or a limit."""

    number: int
    parameters: JsonObject
    mean: float | None
    difference: float | None = None
    unjudged: int = 0
    p95_ms: float | None = None
    cost: float | None = None
    failed: int = 0
    excluded: str = ""


class ParameterEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What one parameter does, averaged over the others: the best of its values against the value
    in use, or against the worst where that was not tried. The interval counts with the number of
    values."""

    parameter: str
    best: str
    against: str
    difference: float
    low: float | None
    high: float | None


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The winner of a sweep, by the number of its trial, and what it is worth. `honest` is the mean
    on queries that the choice did not see, with its interval; `gain` the same for the change
    against the current setting. `low_change` to `high_change` is the interval of the winner's
    change, corrected for the settings tried; `counts_as` says as how many settings they count."""

    winner: int
    verdict: TuneVerdict
    queries: int
    apparent: float
    honest: float
    low: float | None
    high: float | None
    optimism: float
    current_mean: float
    gain: float
    low_change: float | None
    high_change: float | None
    p: float
    p_adjusted: float
    counts_as: float


class TuneReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a sweep. Trial 0 is the current setting; `finalists` are the numbers of the
    settings to look at, `judge_next` the judgments expected to settle which of them is best."""

    name: str
    gold: str
    measure: str
    search: str
    choice: Choice
    trials: list[Trial]
    effects: list[ParameterEffect]
    finalists: list[int]
    engine: str = ""
    fused: list[str] = []
    judge_next: list[Pair] = []
    folder: str = ""


def choose(values: Floats, *, allowed: Booleans | None = None) -> Choice:
    """The honest choice among settings that were fixed before a query was looked at. `values` are
    [query, setting], without gaps, the current setting first; one that is not `allowed` cannot
    win."""
    order = _candidates(values, allowed)
    kept = values[:, order]
    best = _best(kept)
    tested = adjusted_p(kept[:, 1:] - kept[:, :1], best - 1) if best else (1.0, 1.0)
    return _choice(values, held_out(kept), order[best], tested)


def choose_adaptive(
    values: Floats,
    studies: Sequence[tuple[Sequence[int], Sequence[int]]],
    *,
    allowed: Booleans | None = None,
) -> Choice:
    """The honest choice of a search that looked at queries. A study is (the rows that it saw, the
    settings that it tried); its winner is measured on the rows that it did not see."""
    order = _candidates(values, allowed)
    unseen = np.full(len(values), np.nan)
    for rows, tried in studies:
        known = [each for each in order if each == 0 or each in set(tried)]
        seen = np.zeros(len(values), bool)
        seen[list(rows)] = True
        best = known[_best(values[seen][:, known])]
        unseen[~seen] = values[~seen, best]
    winner = order[_best(values[:, order])]
    p = float(statistics.change_tests((unseen - values[:, 0])[:, None])[0])
    return _choice(values, unseen, winner, (p, p), crossed=True)


def _candidates(values: Floats, allowed: Booleans | None) -> list[int]:
    """The settings that may win. The current one may always stay, and wins a tie."""
    others = range(values.shape[1]) if allowed is None else np.flatnonzero(allowed).tolist()
    return [0, *(each for each in others if each)]


def _choice(
    values: Floats,
    unseen: Floats,
    winner: int,
    tested: tuple[float, float],
    *,
    crossed: bool = False,
) -> Choice:
    p, p_adjusted = tested
    counts_as = p_adjusted / p if p > 0 else 1.0
    apparent = float(values[:, winner].mean())
    honest = statistics.mean_intervals(unseen[:, None])[0]
    gained = unseen - values[:, 0]
    moved = gained if crossed else values[:, winner] - values[:, 0]
    change = statistics.change_intervals(moved[:, None], level=1 - ALPHA / counts_as)[0]
    better = winner != 0 and p_adjusted <= ALPHA and float(moved.mean()) > 0
    return Choice(
        winner=winner,
        verdict="better" if better else "none",
        queries=len(values),
        apparent=apparent,
        honest=float(unseen.mean()),
        low=honest.low,
        high=honest.high,
        optimism=apparent - float(unseen.mean()),
        current_mean=float(values[:, 0].mean()),
        gain=float(gained.mean()),
        low_change=change.low,
        high_change=change.high,
        p=p,
        p_adjusted=p_adjusted,
        counts_as=counts_as,
    )


def _best(values: Floats) -> int:
    """The column with the largest sum; the first of those that tie."""
    return int(np.argmax(np.round(values.sum(axis=0), 12)))


def held_out(values: Floats, *, seed: int = statistics.SEED) -> Floats:
    """For each query the value of settings that were chosen on other queries, averaged over the
    divisions. The first column wins a tie."""
    n = len(values)
    total, unseen = values.sum(axis=0), np.zeros(n)
    rng = np.random.default_rng(seed)
    folds = min(FOLDS, n)
    for _ in range(PARTITIONS):
        order = rng.permutation(n)
        for fold in range(folds):
            rows = order[fold::folds]
            best = int(np.argmax(np.round(total - values[rows].sum(axis=0), 12)))
            unseen[rows] += values[rows, best]
    return np.asarray(unseen / PARTITIONS)


def adjusted_p(changes: Floats, column: int) -> tuple[float, float]:
    """The p of one column of changes, and the same corrected for having been chosen among all of
    them. `changes` are [query, setting] against the current setting."""
    n = len(changes)
    p = float(statistics.change_tests(changes[:, [column]])[0])
    if n < 2:
        return p, 1.0
    rng = np.random.default_rng(statistics.SEED)
    squares = (changes**2).sum(axis=0)
    seen = float(np.abs(_test_statistics(changes.sum(axis=0), squares, n))[column])
    signs = rng.choice([-1.0, 1.0], (FLIPS, n))
    largest = np.abs(_test_statistics(signs @ changes, squares, n)).max(axis=1)
    times = int((largest >= seen - 1e-9).sum())
    if times == 0:  # the flips are too few to tell p from 0: then every setting counts
        return p, max(p, min(p * changes.shape[1], 1 / (FLIPS + 1)))
    return p, max(p, (times + 1) / (FLIPS + 1))


def _test_statistics(sums: Floats, squares: Floats, n: int) -> Floats:
    """The statistic of `statistics.change_tests` from sums and sums of squares."""
    means = sums / n
    spread = np.maximum(squares - n * means**2, 0.0) + ADDED
    return np.asarray(means / np.sqrt(spread / ((n + 1) * n)))


# ── parameters one by one ─────────────────────────────────────────────────────────────────────────


def effects(
    values: Floats, settings: Sequence[Mapping[str, object]], current: Mapping[str, object]
) -> list[ParameterEffect]:
    """The effect of each parameter that has two values or more among the settings, the largest
    first."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    found = [_effect(values, settings, name, current.get(name)) for name in names]
    return sorted((each for each in found if each), key=lambda each: -each.difference)


def value_groups(values: Sequence[object]) -> list[str]:
    """The values of one parameter as groups: each value by itself, or for more than eight numbers
    ranges that have about as many settings each."""
    distinct = sorted({each for each in values if isinstance(each, int | float)})
    if len(distinct) <= 8 or any(isinstance(each, bool) for each in values):
        return [shown_value(each) for each in values]
    edges = [distinct[round(at * len(distinct) / GROUPS)] for at in range(GROUPS)]
    lasts = [max(each for each in distinct if each < edge) for edge in edges[1:]] + [distinct[-1]]
    names = [
        f"{shown_value(low)} to {shown_value(high)}" if low != high else shown_value(low)
        for low, high in zip(edges, lasts, strict=True)
    ]
    return [
        names[sum(each >= edge for edge in edges[1:])]
        if isinstance(each, int | float)
        else str(each)
        for each in values
    ]


def shown_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _effect(
    values: Floats, settings: Sequence[Mapping[str, object]], name: str, used: object
) -> ParameterEffect | None:
    rows = [at for at, setting in enumerate(settings) if name in setting]
    groups = value_groups([settings[at][name] for at in rows])
    by_group = {
        group: values[:, [at for at, own in zip(rows, groups, strict=True) if own == group]]
        for group in dict.fromkeys(groups)
    }
    if len(by_group) < 2:
        return None
    means = {group: part.mean(axis=1) for group, part in by_group.items()}
    best = max(means, key=lambda group: float(means[group].mean()))
    others = (group for group in means if group != best)
    worst = min(others, key=lambda group: float(means[group].mean()))
    in_use = next(
        (own for at, own in zip(rows, groups, strict=True) if settings[at][name] == used), worst
    )
    against = in_use if in_use != best else worst
    level = 1 - ALPHA / (len(means) - 1)
    changes = (means[best] - means[against])[:, None]
    interval: Interval = statistics.change_intervals(changes, level=level)[0]
    low, high = interval.low, interval.high
    mean = float(changes.mean())
    return ParameterEffect(
        parameter=name, best=best, against=against, difference=mean, low=low, high=high
    )
