"""Do 95% intervals hold the truth 95 times in 100, do tests cry wolf 5 times in 100, and how often
do gates decide wrongly? Every interval and test that Assay prints, beside SciPy's own methods.

    python benchmarks/coverage_tables.py --data ../shared/data/fppc      # with the real runs
    python benchmarks/coverage_tables.py … --write docs/measured         # coverage-*.csv there

Real: the values by query of the eleven engines in DATA/runs-dev by DATA/dataset-dev.json, as it is
and with judgments-dev-pooled.jsonl; `n` queries are drawn with replacement from the 33, whose mean
is the truth. Rates are not simulated: every count that may come is looked at.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
from measured_tables import write_table

from assay.evaluation import bounded, sequential, statistics

Floats = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
Method = Callable[[Floats], tuple[Floats, Floats]]

SIZES = (10, 20, 33, 65)
MEASURES = ("nDCG@10", "P@5", "RR", "R@10", "Success@1", "Success@5")
Z = statistics.NORMAL.inv_cdf(0.975)
RANKS = [1, 2, 3, 5, 10, 1e12]
CHANCES = [0.5, 0.2, 0.1, 0.1, 0.05, 0.05]


def _missed(rng: np.random.Generator, size: tuple[int, int], share: float, least: float) -> Floats:
    """Some queries fail wholly; the others lie between `least` and 1."""
    return np.where(rng.random(size) < share, 0.0, rng.uniform(least, 1, size))


# what a value may be, and its mean: middling nDCG, reciprocal ranks, tenths, nearly always 1, and
# rare complete misses among good values
MEANS: dict[str, tuple[Draw, float]] = {
    "skewed": (lambda rng, size: rng.beta(1, 2, size), 1 / 3),
    "reciprocal rank": (
        lambda rng, size: 1 / rng.choice(RANKS, p=CHANCES, size=size),
        float(np.dot(1 / np.array(RANKS), CHANCES)),
    ),
    "precision@10": (lambda rng, size: rng.binomial(10, rng.beta(2, 3, size)) / 10, 0.4),
    "nearly always 1": (lambda rng, size: 1 - 0.5 * (rng.random(size) < 0.06), 0.97),
    ".8 to 1, one in 30 at 0": (lambda rng, size: _missed(rng, size, 1 / 30, 0.8), 0.87),
    ".8 to 1, one in 8 at 0": (lambda rng, size: _missed(rng, size, 1 / 8, 0.8), 0.7875),
    ".4 to 1, one in 20 at 0": (lambda rng, size: _missed(rng, size, 1 / 20, 0.4), 0.665),
}


def _jump(rng: np.random.Generator, size: tuple[int, int], noise: float) -> Floats:
    """One query in fifty is won wholly; the others move a little."""
    won = rng.random(size) < 0.02
    return np.where(won, 1.0, np.clip(rng.normal(0, noise, size), -1, 1) if noise else 0.0)


CHANGES: dict[str, tuple[Draw, float]] = {
    "one query in 50 differs by 1": (lambda rng, size: _jump(rng, size, 0), 0.02),
    "the same, and the rest by about .01": (lambda rng, size: _jump(rng, size, 0.01), 0.02),
    "the same, and the rest by about .05": (lambda rng, size: _jump(rng, size, 0.05), 0.02),
    "nine ties in ten": (lambda rng, size: rng.choice([0, 1, -1], size, p=[0.9, 0.07, 0.03]), 0.04),
    "two humps": (lambda rng, size: rng.choice([-0.5, 0.5], size, p=[0.3, 0.7]), 0.2),
    "a rare loss of 1 among gains of .05": (
        lambda rng, size: rng.choice([0.05, -1.0], size, p=[0.95, 0.05]),
        -0.0025,
    ),
    "a smooth difference": (lambda rng, size: np.clip(rng.laplace(0, 0.15, size), -1, 1), 0.0),
}

NO_DIFFERENCE: dict[str, Draw] = {
    "smooth": lambda rng, size: rng.laplace(0, 0.2, size),
    "mostly ties": lambda rng, size: rng.normal(0, 0.3, size) * (rng.random(size) < 0.4),
    "one-sided tail": lambda rng, size: rng.exponential(0.2, size) - 0.2,
}
TESTS: dict[str, Callable[[Floats], Floats]] = {
    "randomization": lambda values: statistics.randomization_test(values, samples=2_000),
    "t": statistics.t_test,
    "Wilcoxon": statistics.wilcoxon_test,
}


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────


def ours(scale: bounded.Scale) -> Method:
    def method(values: Floats) -> tuple[Floats, Floats]:
        return bounded.bounds(values, Z, scale)

    return method


def student(values: Floats) -> tuple[Floats, Floats]:
    found = scipy.stats.ttest_1samp(values, 0, axis=0).confidence_interval(0.95)
    mean = values.mean(axis=0)  # where all values are the same SciPy says NaN: no width
    return np.where(np.isnan(found.low), mean, found.low), np.where(
        np.isnan(found.high), mean, found.high
    )


def scipy_bootstrap(kind: str) -> Method:
    def method(values: Floats) -> tuple[Floats, Floats]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = scipy.stats.bootstrap(
                (values,), np.mean, axis=0, n_resamples=999, batch=100, method=kind, rng=1
            ).confidence_interval
        mean = values.mean(axis=0)
        return np.where(np.isnan(found.low), mean, found.low), np.where(
            np.isnan(found.high), mean, found.high
        )

    return method


PEERS: dict[str, Method] = {
    "SciPy t": student,
    "SciPy bootstrap, percentile": scipy_bootstrap("percentile"),
    "SciPy bootstrap, BCa": scipy_bootstrap("BCa"),
}


def covered(method: Method, values: Floats, truth: float | Floats) -> tuple[Floats, Floats]:
    """By column: whether the interval holds the truth, and how wide it is."""
    low, high = method(values)
    return (low - 1e-9 <= truth) & (truth <= high + 1e-9), high - low


def coverage(name: str, n: int, repeats: int) -> float:
    """The share of simulated sets of `n` queries whose 95% interval holds the true mean."""
    draw, mean = MEANS[name]
    values = draw(np.random.default_rng([n, len(name)]), (n, repeats))
    return float(bounded.holds(values, mean, Z, bounded.SHARE).mean())


def rate_bounds(n: int) -> dict[str, tuple[Floats, Floats]]:
    """By method the bounds of a rate for every count from 0 to `n`."""
    columns = (np.arange(n)[:, None] < np.arange(n + 1)).astype(np.float64)
    found = {"Assay": bounded.bounds(columns, Z, bounded.SHARE)}
    for kind in ("exact", "wilson", "wilsoncc"):
        each = [
            scipy.stats.binomtest(count, n).proportion_ci(method=kind) for count in range(n + 1)
        ]
        lows, highs = (np.array([getattr(one, end) for one in each]) for end in ("low", "high"))
        found[f"SciPy binomtest, {kind}"] = lows, highs
    return found | {name: method(columns) for name, method in PEERS.items()}


def rates() -> Iterator[str]:
    grid = np.linspace(0.001, 0.999, 999)[:, None]
    yield (
        "| a rate | n | true .7 | .95 | .99 | worst of any rate "
        "| width, at .95 |\n|---|---|---|---|---|---|---|"
    )
    for n in SIZES:
        for name, (low, high) in rate_bounds(n).items():
            chance = scipy.stats.binom.pmf(np.arange(n + 1), n, grid)
            inside = (chance * ((low - 1e-9 <= grid) & (grid <= high + 1e-9))).sum(axis=1)
            at = [f"{float(np.interp(rate, grid[:, 0], inside)):.1%}" for rate in (0.7, 0.95, 0.99)]
            width = float((scipy.stats.binom.pmf(np.arange(n + 1), n, 0.95) * (high - low)).sum())
            yield f"| {name} | {n} | {' | '.join(at)} | {inside.min():.1%} | {width:.2f} |"


def simulated(
    cases: dict[str, tuple[Draw, float]], scale: bounded.Scale, repeats: int
) -> Iterator[str]:
    head = " | ".join(f"n = {n}" for n in SIZES)
    yield f"| interval | case | {head} |\n|---|---|" + "---|" * len(SIZES)
    for title, method in {"Assay": ours(scale), **PEERS}.items():
        for name, (draw, truth) in cases.items():
            cells = []
            for n in SIZES:
                size = (n, repeats if title == "Assay" else min(repeats, 300))
                values = draw(np.random.default_rng([n, len(name)]), size)
                inside, width = covered(method, np.asarray(values, np.float64), truth)
                cells.append(f"{inside.mean():.1%} ({width.mean():.2f})")
            yield f"| {title} | {name} | {' | '.join(cells)} |"


def quantiles(repeats: int) -> Iterator[str]:
    yield "| quantile of a latency | " + " | ".join(f"n = {n}" for n in SIZES)
    yield "|---|" + "---|" * len(SIZES)
    for at in (0.5, 0.95):
        truth, cells = scipy.stats.lognorm.ppf(at, 0.6), []
        for n in SIZES:
            drawn = np.random.default_rng(n).lognormal(0, 0.6, (repeats, n))
            found = [statistics.quantile_interval(row.tolist(), at) for row in drawn]
            told = [each for each in found if each.low is not None and each.high is not None]
            inside = [(each.low or 0) <= truth <= (each.high or 0) for each in told]
            cells.append(f"{np.mean(inside):.1%}" if told else "none")
        yield f"| {at:.0%} | {' | '.join(cells)} |"


# ── real differences ──────────────────────────────────────────────────────────────────────────────


def real_values(folder: Path) -> list[Floats]:
    """[engine, query, measure] by the judgments as they are, and with the pooled ones."""
    from assay.workbench.scoring.evaluate import evaluate

    data = json.loads((folder / "dataset-dev.json").read_text(encoding="utf-8"))
    grades = {
        query["id"]: {each["opinion_id"]: each["score"] for each in query["relevance_judgments"]}
        for query in data["queries"]
    }
    tables = []
    for pooled in (False, True):
        if pooled:
            lines = (folder / "judgments-dev-pooled.jsonl").read_text(encoding="utf-8").splitlines()
            for row in map(json.loads, lines):
                grades[row["query_id"]].setdefault(row["opinion_id"], row["score"])
        engines = []
        for path in sorted((folder / "runs-dev").glob("*.run")):
            run: dict[str, dict[str, float]] = {}
            for line in path.read_text(encoding="utf-8").splitlines():
                query_id, _, doc_id, _, score, _ = line.split()
                run.setdefault(query_id, {})[doc_id] = float(score)
            engines.append(evaluate(run, grades, MEASURES).values)
        tables.append(np.stack(engines))
    return tables


def drawn_values(tables: list[Floats], measure: int, n: int, repeats: int) -> Iterator[Any]:
    """Of every engine: samples of `n` values, and their true mean."""
    for number, table in enumerate(tables):
        for engine, row in enumerate(table[:, :, measure]):
            rng = np.random.default_rng([n, number, measure, engine])
            yield row[rng.integers(0, len(row), (n, repeats))], float(row.mean())


def drawn_pairs(tables: list[Floats], measure: int, n: int, repeats: int) -> Iterator[Any]:
    """Of every pair of engines: samples of `n` differences, and their true mean."""
    for number, table in enumerate(tables):
        for a, b in itertools.combinations(range(len(table)), 2):
            moves = table[b, :, measure] - table[a, :, measure]
            rng = np.random.default_rng([n, number, measure, a, b])
            rows = rng.integers(0, len(moves), (n, repeats))
            yield moves[rows], float(moves.mean())


def real(
    drawn: Callable[..., Iterator[Any]], tables: list[Floats], scale: bounded.Scale, repeats: int
) -> Iterator[str]:
    head = " | ".join(f"n = {n}" for n in SIZES)
    yield f"| interval | measure | {head} |\n|---|---|" + "---|" * len(SIZES)
    for title, method in {"Assay": ours(scale), **PEERS}.items():
        for column, measure in enumerate(MEASURES):
            if title != "Assay" and measure not in ("nDCG@10", "RR"):
                continue
            cells = []
            for n in SIZES:
                shares, widths = [], []
                for values, truth in drawn(tables, column, n, repeats):
                    if title == "Assay":
                        shares.append(bounded.holds(values, truth, Z, scale).mean())
                        widths.append(covered(method, values[:, :10], truth)[1].mean())
                    else:
                        inside, width = covered(method, values[:, : min(repeats, 60)], truth)
                        shares.append(inside.mean())
                        widths.append(width.mean())
                cells.append(f"{np.mean(shares):.1%}, {min(shares):.1%} ({np.mean(widths):.2f})")
            yield f"| {title} | {measure} | {' | '.join(cells)} |"


# ── tests and gates ───────────────────────────────────────────────────────────────────────────────


def size(name: str, test: str, n: int, repeats: int) -> float:
    """The share of comparisons of equal engines on `n` queries with p <= 0.05."""
    values = NO_DIFFERENCE[name](np.random.default_rng([n, len(name)]), (n, repeats))
    return float(np.mean(TESTS[test](values) <= 0.05))


def sizes(repeats: int) -> Iterator[str]:
    yield "| p <= .05 without a difference | " + " | ".join(f"n = {n}" for n in SIZES)
    yield "|---|" + "---|" * len(SIZES)
    for test in TESTS:
        for name in NO_DIFFERENCE:
            cells = [f"{size(name, test, n, repeats):.1%}" for n in SIZES]
            yield f"| {test}, {name} | {' | '.join(cells)} |"
    cells = []
    for n in SIZES:
        false = 0
        for trial in range(min(repeats, 400)):
            shared = np.random.default_rng([n, trial]).laplace(0, 0.2, (n, 7))
            p_values = statistics.randomization_test(shared, samples=1_000)
            false += min(statistics.holm(p_values.tolist())) <= 0.05
        cells.append(f"{false / min(repeats, 400):.1%}")
    yield f"| any of seven, by Holm | {' | '.join(cells)} |"


def gates(repeats: int) -> Iterator[str]:
    """How often a gate with `significance = 0.05` passes where the truth is a hair below its bound,
    and fails where it is a hair above: the bound is put on the truth itself, the hardest case."""
    yield "| a gate with significance = 0.05 | wrong | " + " | ".join(f"n = {n}" for n in SIZES)
    yield "|---|---|" + "---|" * len(SIZES)
    every = [(MEANS, bounded.SHARE, "minimum"), (CHANGES, bounded.CHANGE, "max_drop")]
    for cases, scale, kind in every:
        for name, (draw, truth) in cases.items():
            cells: dict[str, list[str]] = {"passes": [], "fails": []}
            for n in SIZES:
                drawn = draw(np.random.default_rng([n, len(name)]), (n, repeats))
                low, high = bounded.bounds(np.asarray(drawn, np.float64), Z, scale)
                cells["passes"].append(f"{(low > truth + 1e-9).mean():.1%}")
                cells["fails"].append(f"{(high < truth - 1e-9).mean():.1%}")
            for wrong, shares in cells.items():
                yield f"| {kind}, {name} | {wrong} | {' | '.join(shares)} |"


def looks(seen: list[Floats], repeats: int) -> Iterator[str]:
    """Two new queries every night for a year, 20 to begin with, and an engine that did not change:
    how often is it called worse at least once (max_drop = 0, significance = 0.05)?"""
    names = ("always_valid", "the interval every tenth query", "t, every night")
    yield f"| 365 looks at an unchanged engine | {' | '.join(names)} |"
    yield "|---|---|---|---|"
    nights = np.arange(20, 20 + 2 * 365, 2)
    cases = {name: draw for name, draw in NO_DIFFERENCE.items() if name != "one-sided tail"}
    for table, judged in zip(seen, ("as judged", "pooled"), strict=False):
        moves = table[1, :, 0] - table[0, :, 0]
        moves = np.concatenate([moves, -moves])  # which of the two is new is a coin: no change
        cases[f"real nDCG@10, {judged}"] = lambda rng, size, moves=moves: rng.choice(moves, size)
    for name, draw in cases.items():
        rng = np.random.default_rng(len(name))
        drawn = np.clip(draw(rng, (repeats, int(nights[-1]))), -1, 1)
        stake = sequential.evidence_over_time(-drawn, 1.0)[:, nights - 1]
        means = drawn.cumsum(axis=1)[:, nights - 1] / nights
        squares = (drawn**2).cumsum(axis=1)[:, nights - 1] / nights
        deviation = np.sqrt((squares - means**2) * nights / (nights - 1) / nights)
        student = means + scipy.stats.t.ppf(0.975, nights - 1) * deviation < 0
        few = drawn[: min(repeats, 100)]
        ever = np.zeros(len(few), bool)
        for n in nights[::5]:
            held = bounded.holds(few[:, :n].T, 0.0, Z, bounded.CHANGE)
            ever |= ~held & (few[:, :n].mean(axis=1) < 0)
        shares = [(stake >= 20).any(axis=1), ever, student.any(axis=1)]
        yield f"| {name} | " + " | ".join(f"{share.mean():.1%}" for share in shares) + " |"


# ── the tables ────────────────────────────────────────────────────────────────────────────────────


def tables(data: Path | None, repeats: int) -> Iterator[tuple[str, Iterator[str]]]:
    """Every table with the name of its file."""
    seen = real_values(data) if data is not None else []
    yield "rates", rates()
    yield "means", simulated(MEANS, bounded.SHARE, repeats)
    if seen:
        yield "means-real", real(drawn_values, seen, bounded.SHARE, repeats)
        yield "changes-real", real(drawn_pairs, seen, bounded.CHANGE, repeats)
    yield "changes-hard", simulated(CHANGES, bounded.CHANGE, repeats)
    yield "quantiles", quantiles(repeats)
    yield "tests", sizes(repeats)
    yield "gates", gates(repeats)
    yield "looks", looks(seen, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder with dataset-dev.json and runs-dev")
    parser.add_argument("--repeats", type=int, default=1_000)
    parser.add_argument("--write", type=Path, help="write coverage-*.csv into this folder")
    given = parser.parse_args()
    for name, table in tables(given.data, given.repeats):
        sys.stdout.write(f"\n{name}\n\n")
        lines = []
        for line in table:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            lines.append(line)
        if given.write is not None:
            write_table(given.write / f"coverage-{name}.csv", lines)


if __name__ == "__main__":
    main()
