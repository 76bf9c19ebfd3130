"""Do 95% intervals cover the truth 95 times in 100, and do tests cry wolf 5 times in 100? On
simulated gold sets.

    python benchmarks/simulate_statistics.py       # the tables in docs/comparing.md, a minute

Distributions: `skewed` is Beta(1, 2), like nDCG of a middling engine; `reciprocal rank` takes 1,
1/2, 1/3, 1/5, .1, 0; `precision@10` takes tenths, with queries of different difficulty; `rate` is 0
or 1. Differences of two engines: `smooth` is Laplace; `mostly ties` is 0 for six queries in ten;
`one-sided tail` is skewed around a mean of 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.evaluation import statistics

Floats = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
RANKS = [1, 2, 3, 5, 10, 1e12]
CHANCES = [0.5, 0.2, 0.1, 0.1, 0.05, 0.05]

MEANS: dict[str, tuple[Draw, float]] = {
    "skewed": (lambda rng, size: rng.beta(1, 2, size), 1 / 3),
    "reciprocal rank": (
        lambda rng, size: 1 / rng.choice(RANKS, p=CHANCES, size=size),
        float(np.dot(1 / np.array(RANKS), CHANCES)),
    ),
    "precision@10": (lambda rng, size: rng.binomial(10, rng.beta(2, 3, size)) / 10, 0.4),
    "rate": (lambda rng, size: (rng.random(size) < 0.7).astype(np.float64), 0.7),
}
NO_DIFFERENCE: dict[str, Draw] = {
    "smooth": lambda rng, size: rng.laplace(0, 0.2, size),
    "mostly ties": lambda rng, size: rng.normal(0, 0.3, size) * (rng.random(size) < 0.4),
    "one-sided tail": lambda rng, size: rng.exponential(0.2, size) - 0.2,
}
SIZES = (12, 20, 33, 65, 200)
TESTS: dict[str, Callable[[Floats], Floats]] = {
    "randomization": lambda values: statistics.randomization_test(values, samples=2_000),
    "t": statistics.t_test,
    "Wilcoxon": statistics.wilcoxon_test,
}


def coverage(name: str, n: int, repeats: int) -> float:
    """The share of simulated sets of `n` queries whose 95% interval holds the true mean."""
    draw, mean = MEANS[name]
    values = draw(np.random.default_rng([n, len(name)]), (n, repeats))
    inside = [
        interval.low - 1e-9 <= mean <= interval.high + 1e-9
        for interval in statistics.mean_intervals(values, samples=2_000)
        if interval.low is not None and interval.high is not None
    ]
    return float(np.mean(inside))


def size(name: str, test: str, n: int, repeats: int) -> float:
    """The share of comparisons of equal engines on `n` queries with p <= 0.05."""
    values = NO_DIFFERENCE[name](np.random.default_rng([n, len(name)]), (n, repeats))
    return float(np.mean(TESTS[test](values) <= 0.05))


def main(repeats: int = 4_000) -> None:
    say = sys.stdout.write
    head = " | ".join(f"{n} queries" for n in SIZES)
    rule = "---|" * (len(SIZES) + 1)
    say(f"| coverage of 95% intervals | {head} |\n|{rule}\n")
    for name in MEANS:
        shares = [f"{coverage(name, n, repeats):.1%}" for n in SIZES]
        say(f"| {name} | {' | '.join(shares)} |\n")
        sys.stdout.flush()
    say(f"\n| p <= 0.05 without a difference | {head} |\n|{rule}\n")
    for test in TESTS:
        for name in NO_DIFFERENCE:
            shares = [f"{size(name, test, n, repeats):.1%}" for n in SIZES]
            say(f"| {test}, {name} | {' | '.join(shares)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
