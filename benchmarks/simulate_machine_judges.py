"""Do intervals from machine judgments, corrected by people's, hold the truth 95 times in 100, and
how much narrower are they than people's alone? For research/judgments.md.

    python benchmarks/simulate_machine_judges.py                   # simulated judges, a minute
    python benchmarks/simulate_machine_judges.py --methods         # other methods on the same draws
    python benchmarks/simulate_machine_judges.py --hard            # skewed values, rare errors
    python benchmarks/simulate_machine_judges.py --empty           # queries with nothing relevant
    python benchmarks/simulate_machine_judges.py --real FOLDER     # dataset-dev.json and the others

A simulated query has 30 documents graded 0, 1 or 2, which an engine (weak, middling or strong) has
ranked; a judge is a way to get the machine's grades from people's. Populations have 40,000 queries,
and their mean is the truth. N queries are drawn from one, people judge n of them, the machine all.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.evaluation.prediction_powered import Estimates, estimate
from assay.evaluation.statistics import mean_intervals, t_quantile

Floats = np.ndarray[Any, np.dtype[np.float64]]
Grades = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Judge = Callable[[Grades, Grades, np.random.Generator], Grades]
Method = Callable[..., Estimates]

POPULATION = 40_000
DOCUMENTS = 30
ENGINES = {"weak": 0.4, "middling": 1.2, "strong": 3.0}
TOTALS = (33, 66, 200, 1000)
JUDGED = (10, 15, 20, 33, 66)
REAL_MEASURES = ("RR(rel=2)", "nDCG@10", "P@5", "R@10", "Success(rel=2)@5")
say = sys.stdout.write


# ── simulated queries and judges ──────────────────────────────────────────────────────────────────


def ranked(signal: float, rng: np.random.Generator) -> tuple[Grades, Grades]:
    """People's grades in the order of the engine, and the topic of each query."""
    shape = (POPULATION, DOCUMENTS)
    lean = np.clip(rng.beta(1.2, 5, POPULATION), 0.02, 0.9)[:, None]
    grades = (rng.random(shape) < lean).astype(np.int64) + (rng.random(shape) < lean * 0.8)
    grades[np.arange(POPULATION), rng.integers(0, DOCUMENTS, POPULATION)] = 2
    ease = rng.gamma(2, 0.5, POPULATION)[:, None]
    order = np.argsort(-(signal * ease * grades + rng.normal(size=shape)), axis=1)
    return np.take_along_axis(grades, order, axis=1), rng.integers(0, 5, POPULATION)


def higher(grades: Grades) -> Grades:
    return np.minimum(grades + 1, 2)


def lower(grades: Grades) -> Grades:
    return np.maximum(grades - 1, 0)


def moved(grades: Grades, to: Grades, share: float, rng: np.random.Generator) -> Grades:
    """A share of the grades replaced."""
    return np.where(rng.random(grades.shape) < share, to, grades)


def good(grades: Grades, topic: Grades, rng: np.random.Generator) -> Grades:
    return moved(moved(grades, higher(grades), 0.07, rng), lower(grades), 0.07, rng)


def by_topic(grades: Grades, topic: Grades, rng: np.random.Generator) -> Grades:
    """Lenient on two topics of five, strict on one, good on the others."""
    near = good(grades, topic, rng)
    strict = np.where((topic == 2)[:, None], lower(grades), near)
    return np.where((topic < 2)[:, None], higher(grades), strict)


def at_random(grades: Grades, rng: np.random.Generator) -> Grades:
    return rng.integers(0, 3, grades.shape)


JUDGES: dict[str, Judge] = {
    "perfect": lambda grades, topic, rng: grades,
    "good": good,
    "lenient": lambda grades, topic, rng: moved(grades, higher(grades), 0.5, rng),
    "strict": lambda grades, topic, rng: moved(grades, lower(grades), 0.5, rng),
    "noisy": lambda grades, topic, rng: moved(grades, at_random(grades, rng), 0.4, rng),
    "biased by topic": by_topic,
    "useless": lambda grades, topic, rng: at_random(grades, rng),
    "adversarial": lambda grades, topic, rng: 2 - grades,
}


def measured(grades: Grades) -> dict[str, Floats]:
    """Measures of a ranking of all documents; 0 where nothing is relevant."""
    discount = 1 / np.log2(np.arange(2, 12))
    ideal = (-np.sort(-grades, axis=1)[:, :10] * discount).sum(axis=1)
    best = grades[:, :20] == 2
    first = np.where(best.any(axis=1), 1 / (1 + best.argmax(axis=1)), 0.0)
    gain = (grades[:, :10] * discount).sum(axis=1)
    return {
        "RR(rel=2)": first,
        "nDCG@10": gain / np.where(ideal > 0, ideal, 1),
        "P@5": (grades[:, :5] > 0).mean(axis=1),
        "Success(rel=2)@1": (grades[:, 0] == 2).astype(np.float64),
    }


# ── what is counted ───────────────────────────────────────────────────────────────────────────────


class Cell(NamedTuple):
    """One truth, one size: how often it was held, and how wide against people alone."""

    source: str
    measure: str
    total: int
    n: int
    held: float
    alone: float
    width: float


def cell(found: Estimates, truth: float | Floats, where: tuple[str, str, int, int]) -> Cell:
    held = (found.low <= truth + 1e-9) & (truth - 1e-9 <= found.high)
    alone = (found.people_low <= truth + 1e-9) & (truth - 1e-9 <= found.people_high)
    width = (found.high - found.low).mean() / (found.people_high - found.people_low).mean()
    return Cell(*where, float(held.mean()), float(alone.mean()), float(width))


def simulated(method: Method, repeats: int) -> Iterator[Cell]:
    for engine, signal in ENGINES.items():
        rng = np.random.default_rng([12, int(10 * signal)])
        grades, topic = ranked(signal, rng)
        people = measured(grades)
        for name, judge in JUDGES.items():
            machine = measured(judge(grades, topic, rng))
            for total in TOTALS:
                drawn = rng.integers(0, POPULATION, (repeats, total))
                for measure, values in people.items():
                    found = machine[measure][drawn]
                    judged = values[drawn[:, : max(JUDGED)]]
                    for n in (n for n in JUDGED if n < total):
                        result = method(judged[:, :n], found)
                        truth = float(values.mean())
                        yield cell(result, truth, (name, f"{engine} {measure}", total, n))


# Values of a query as other engines and measures could give them, and how a machine's come from
# them. The constants of the method were not chosen on these.
SHAPES: dict[str, Callable[[np.random.Generator], Floats]] = {
    "Beta(1, 2)": lambda rng: rng.beta(1, 2, POPULATION),
    "rank of one answer": lambda rng: (
        1 / rng.choice([1, 2, 3, 5, 10, 1e12], POPULATION, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    ),
    "rank, nearly always first": lambda rng: (
        1 / rng.choice([1, 2, 3, 5, 10, 1e12], POPULATION, p=[0.85, 0.07, 0.03, 0.02, 0.01, 0.02])
    ),
    "half 0, some 1": lambda rng: np.where(
        rng.random(POPULATION) < 0.5, 0, np.minimum(1, rng.beta(2, 3, POPULATION) * 1.6)
    ),
    "mostly 0": lambda rng: np.where(rng.random(POPULATION) < 0.8, 0, rng.beta(1, 3, POPULATION)),
    "fifths": lambda rng: rng.binomial(5, rng.beta(1, 4, POPULATION)) / 5,
    "rate of .9": lambda rng: (rng.random(POPULATION) < 0.9).astype(np.float64),
}
COUPLINGS: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "right 9 in 10": lambda values, rng: np.where(
        rng.random(POPULATION) < 0.9, values, rng.permutation(values)
    ),
    "right 6 in 10": lambda values, rng: np.where(
        rng.random(POPULATION) < 0.6, values, rng.permutation(values)
    ),
    "never too low": lambda values, rng: np.maximum(
        values, np.where(rng.random(POPULATION) < 0.3, rng.permutation(values), 0)
    ),
    "all or nothing": lambda values, rng: (values > np.median(values)).astype(np.float64),
    "unrelated": lambda values, rng: rng.permutation(values),
}


def unlike(method: Method, repeats: int) -> Iterator[Cell]:
    rng = np.random.default_rng(77)
    for shape, draw in SHAPES.items():
        values = draw(rng)
        for name, couple in COUPLINGS.items():
            machine = couple(values, rng)
            for total in (66, 300):
                drawn = rng.integers(0, POPULATION, (repeats, total))
                found = machine[drawn]
                for n in (n for n in JUDGED if n < total):
                    result = method(values[drawn[:, :n]], found)
                    yield cell(result, float(values.mean()), (name, shape, total, n))


# Made to break the interval: skewed values, and machines that are right but for a few queries, on
# which they are wholly wrong.
TOPICS = np.array([0.02, 0.1, 0.5, 0.9, 1.0])
HARD_SHAPES: dict[str, Callable[[tuple[int, int], np.random.Generator], Floats]] = {
    "Beta(.3, .3)": lambda size, rng: rng.beta(0.3, 0.3, size),
    "Beta(.2, 2)": lambda size, rng: rng.beta(0.2, 2, size),
    "Beta(5, 2)": lambda size, rng: rng.beta(5, 2, size),
    "8 in 10 are 0": lambda size, rng: np.where(rng.random(size) < 0.8, 0, rng.random(size)),
    "9 in 10 are 1": lambda size, rng: np.where(rng.random(size) < 0.9, 1, rng.random(size) / 2),
    "rate of .05": lambda size, rng: (rng.random(size) < 0.05) * 1.0,
    "rate of .15": lambda size, rng: (rng.random(size) < 0.15) * 1.0,
    "rate of .5": lambda size, rng: (rng.random(size) < 0.5) * 1.0,
    "by topic": lambda size, rng: np.where(
        rng.random(size) < 0.8, TOPICS[rng.integers(0, 5, size)], rng.random(size)
    ),
}
HARD_MACHINES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "perfect": lambda y, rng: y,
    "wrong on 3%": lambda y, rng: np.where(rng.random(y.shape) < 0.03, 1 - y, y),
    "wrong on 10%": lambda y, rng: np.where(rng.random(y.shape) < 0.1, 1 - y, y),
    "lenient": lambda y, rng: np.clip(y / 2 + 0.4 + 0.05 * rng.normal(size=y.shape), 0, 1),
    "noisy": lambda y, rng: np.clip(y + 0.3 * rng.normal(size=y.shape), 0, 1),
    "0 or 1": lambda y, rng: (y > 0.5) * 1.0,
    "misses": lambda y, rng: np.where((y > 0.6) & (rng.random(y.shape) < 0.5), 0, y),
    "generous": lambda y, rng: np.where((y < 0.4) & (rng.random(y.shape) < 0.3), 1, y),
    "inverted": lambda y, rng: 1 - y,
    "nearly constant": lambda y, rng: np.where(
        rng.random(y.shape) < 0.02, 1, 0.02 * rng.random(y.shape) + 0.02 * y
    ),
    "useless": lambda y, rng: rng.random(y.shape),
}


def hard(method: Method, repeats: int, finite: bool) -> Iterator[Cell]:
    rng = np.random.default_rng(12345)
    for shape, draw in HARD_SHAPES.items():
        truth = float(draw((1, 2_000_000), rng).mean())
        for total in (60, 300):
            values = draw((repeats, total), rng)
            for name, couple in HARD_MACHINES.items():
                machine = couple(values, rng)
                for n in (10, 15, 20, 30, 40):
                    found = method(values[:, :n], machine, finite=finite)
                    told = values.mean(axis=1) if finite else truth
                    yield cell(found, told, (name, shape, total, n))


# Queries on which people find nothing relevant have no value; how the machine knows them.
FINDS: dict[str, Callable[[Flags, np.random.Generator], Flags]] = {
    "knows them": lambda has, rng: has,
    "wrong on 10%": lambda has, rng: has ^ (rng.random(has.shape) < 0.1),
    "finds something in 4 of 10": lambda has, rng: has | (rng.random(has.shape) < 0.4),
    "always finds something": lambda has, rng: np.ones_like(has),
    "at random": lambda has, rng: rng.random(has.shape) < 0.7,
}
EMPTY_SHAPES = {"Beta(2, 2)": (2.0, 2.0), "Beta(.3, .6)": (0.3, 0.6)}


def empty(method: Method, repeats: int) -> Iterator[Cell]:
    rng = np.random.default_rng(3)
    sizes = [(total, n) for total in (60, 200) for n in (20, 40)]
    for shape, (a, b) in EMPTY_SHAPES.items():
        for share in (0.05, 0.15, 0.25, 0.5):
            for name, finds in FINDS.items():
                for total, n in sizes:
                    values = rng.beta(a, b, (repeats, total))
                    has = rng.random(values.shape) >= share
                    near = np.clip(values + 0.05 * rng.normal(size=values.shape), 0, 1)
                    said = np.where(has, near, 0.4 * rng.random(values.shape))
                    people = np.where(has, values, np.nan)
                    kept = has[:, :n].sum(axis=1) >= 10  # fewer are refused
                    machine = np.where(finds(has, rng), said, np.nan)
                    found = method(people[kept, :n], machine[kept])
                    yield cell(found, a / (a + b), (name, f"{shape}, {share:.0%}", total, n))


def table(title: str, cells: Sequence[Cell], groups: Sequence[str], key: str) -> None:
    """Coverage (mean and worst cell) and width by group and number of judged queries."""
    sizes = sorted({each.n for each in cells})
    say(f"\n| {title} | {' | '.join(f'{n} judged' for n in sizes)} |\n")
    say("|---|" + "---|" * len(sizes) + "\n")
    for group in groups:
        row = []
        for n in sizes:
            some = [each for each in cells if getattr(each, key) == group and each.n == n]
            held, width = [each.held for each in some], [each.width for each in some]
            row.append(
                f"{np.mean(held):.1%} ({min(held):.1%}), {np.mean(width):.2f}" if some else "–"
            )
        say(f"| {group} | {' | '.join(row)} |\n")
    sys.stdout.flush()


def summary(name: str, cells: Sequence[Cell], repeats: int) -> None:
    held = np.array([each.held for each in cells])
    alone = np.array([each.alone for each in cells])
    error = 100 * math.sqrt(0.95 * 0.05 / repeats)
    say(f"\n{name}: {len(cells)} cells of {repeats:,} (error of one {error:.1f} points). ")
    for who, shares in (("with the machine", held), ("people alone", alone)):
        below, above = (shares < 0.93).mean(), (shares > 0.97).mean()
        say(f"{who}: mean {shares.mean():.1%}, least {shares.min():.1%}, ")
        say(f"below 93% {below:.1%} of cells, above 97% {above:.1%}. ")
    say(f"Widest {max(each.width for each in cells):.2f}.\n")
    for each in sorted(cells, key=lambda each: each.held)[:5]:
        place = f"{each.source}, {each.measure}, {each.n} of {each.total}"
        say(f"- {place}: {each.held:.1%} (alone {each.alone:.1%}), {each.width:.2f}\n")
    sys.stdout.flush()


# ── other methods ─────────────────────────────────────────────────────────────────────────────────


def textbook(people: Floats, said: Floats, student: bool = False) -> Estimates:
    """PPI++ as published: the tuned weight within [0, 1], a normal interval; or Student's."""
    n, queries = people.shape[-1], said.shape[-1]
    machine, everywhere = said[:, :n], said.mean(axis=1)
    off = machine - machine.mean(axis=-1, keepdims=True)
    across = ((people - people.mean(axis=-1, keepdims=True)) * off).sum(axis=-1)
    inside = (off**2).sum(axis=-1)
    weight = np.clip(np.divide(across, inside, out=np.zeros(len(off)), where=inside > 0), 0, 1)
    value = people.mean(axis=-1) - weight * (machine.mean(axis=-1) - everywhere)
    left = (people - weight[:, None] * machine).var(axis=-1, ddof=1)
    own = people.var(axis=-1, ddof=1)
    quantile = t_quantile(0.975, n - 1 if student else 10_000)
    half = quantile * np.sqrt(left * (1 / n - 1 / queries) + own / queries)
    mean, whole = people.mean(axis=-1), quantile * np.sqrt(own / n)
    return Estimates(
        value=value,
        low=value - half,
        high=value + half,
        weight=weight,
        people=mean,
        people_low=mean - whole,
        people_high=mean + whole,
    )


METHODS: dict[str, Method] = {
    "PPI++, normal": textbook,
    "PPI++, Student": lambda *given: textbook(*given, student=True),
    "Assay": estimate,
}


def bootstrap_alone(repeats: int) -> None:
    """The BCa interval of people's mean, that `assay score` prints, on the same populations."""
    say("\n| people alone, BCa |" + "".join(f" {n} judged |" for n in JUDGED) + "\n")
    say("|---|" + "---|" * len(JUDGED) + "\n")
    for engine, signal in ENGINES.items():
        rng = np.random.default_rng([12, int(10 * signal)])
        for measure, values in measured(ranked(signal, rng)[0]).items():
            row = []
            for n in JUDGED:
                drawn = values[rng.integers(0, POPULATION, (n, repeats))]
                found = mean_intervals(drawn)
                low = np.array([each.low for each in found], np.float64)
                high = np.array([each.high for each in found], np.float64)
                truth = values.mean()
                row.append(f"{np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9)):.1%}")
            say(f"| {engine} {measure} | {' | '.join(row)} |\n")
            sys.stdout.flush()


# ── real judgments ────────────────────────────────────────────────────────────────────────────────


def real_values(folder: Path, both_only: bool) -> Iterator[tuple[str, str, Floats, Floats]]:
    """For every run and measure the values by the original judgments and by the pooled ones; with
    `both_only` over the pairs that have both, and rankings without the other documents."""
    from assay import formats
    from assay.core.types import judgment_frame
    from assay.evaluation.graded import evaluate

    gold = formats.read_gold(folder / "dataset-dev.json")
    lines = (folder / "judgments-dev-pooled.jsonl").read_text(encoding="utf-8").splitlines()
    pooled = {(row["query_id"], row["opinion_id"]): row["score"] for row in map(json.loads, lines)}
    original = {(each.query_id, each.doc_id): each.grade for each in gold.iter_judgments()}
    shared = original.keys() & pooled.keys() if both_only else None
    sides = [
        {pair: grade for pair, grade in side.items() if shared is None or pair in shared}
        for side in (original, pooled)
    ]
    golds = [
        dataclasses.replace(
            gold,
            top_grade=2,
            judgments=judgment_frame(
                [query for query, _ in side], [doc for _, doc in side], list(side.values())
            ),
        )
        for side in sides
    ]
    for path in sorted((folder / "runs-dev").glob("*.run")):
        run = formats.read_run(path)
        scored = {
            query.id: {
                doc: -float(rank)
                for rank, doc in enumerate(run.doc_ids(query.id))
                if shared is None or (query.id, doc) in shared
            }
            for query in gold.queries
        }
        people, machine = (evaluate(scored, side, REAL_MEASURES).values for side in golds)
        known = ~np.isnan(people).any(axis=1)
        for column, measure in enumerate(REAL_MEASURES):
            found = np.nan_to_num(machine[known, column])
            yield path.stem, measure, people[known, column], found


def real(folder: Path, repeats: int) -> None:
    for title, both_only in (("as they stand", False), ("pairs that both judged", True)):
        these, new = list[Cell](), list[Cell]()
        fits = dict[str, list[float]]()
        for name, measure, people, machine in real_values(folder, both_only):
            rng = np.random.default_rng([len(name), len(measure)])
            fits.setdefault(measure, []).append(float(np.corrcoef(people, machine)[0, 1]))
            total = len(people)
            order = rng.random((repeats, total)).argsort(axis=1)
            for n in (n for n in (10, 15, 20, 25) if n < total):
                found = estimate(people[order[:, :n]], machine[order], finite=True)
                these.append(cell(found, float(people.mean()), (name, measure, total, n)))
            for drawn_total in (33, 66, 200):
                drawn = rng.integers(0, total, (repeats, drawn_total))
                for n in (n for n in (10, 15, 20, 33) if n < drawn_total):
                    found = estimate(people[drawn[:, :n]], machine[drawn])
                    new.append(cell(found, float(people.mean()), (name, measure, drawn_total, n)))
        said = ", ".join(f"{measure} {np.mean(values):.2f}" for measure, values in fits.items())
        say(f"\n## {title}: {total} queries; mean correlation of people and machine: {said}\n")
        for part, cells in (("these queries", these), ("queries like these", new)):
            summary(part, cells, repeats)
            table(part, cells, REAL_MEASURES, "measure")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", type=Path)
    for name in ("--methods", "--hard", "--empty"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--repeats", type=int, default=4_000)
    given = parser.parse_args()
    if given.real:
        real(given.real, given.repeats)
        return
    if given.hard:
        for title, finite in (("queries like these", False), ("these queries", True)):
            cells = list(hard(estimate, given.repeats, finite))
            summary(title, cells, given.repeats)
            table("by judge", cells, list(HARD_MACHINES), "source")
        return
    if given.empty:
        cells = list(empty(estimate, given.repeats))
        summary("queries with nothing relevant", cells, given.repeats)
        table("by judge", cells, list(FINDS), "source")
        return
    if given.methods:
        for name, method in METHODS.items():
            summary(name, list(simulated(method, given.repeats)), given.repeats)
        bootstrap_alone(given.repeats)
        return
    cells = list(simulated(estimate, given.repeats))
    summary("all", cells, given.repeats)
    table("by judge", cells, list(JUDGES), "source")
    for total in TOTALS:
        some = [each for each in cells if each.total == total]
        table(f"N = {total}", some, list(JUDGES), "source")
    others = list(unlike(estimate, given.repeats))
    summary("other populations", others, given.repeats)
    table("by judge", others, list(COUPLINGS), "source")
    table("by shape", others, list(SHAPES), "measure")
    measures = sorted({each.measure for each in cells if each.source == "good"})
    table("good judge", [each for each in cells if each.source == "good"], measures, "measure")


if __name__ == "__main__":
    main()
