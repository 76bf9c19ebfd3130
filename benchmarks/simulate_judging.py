"""How many judgments does a decision take? Hide the grades of a fully judged set, judge in three
orders, and stop each by the same rule: when `next_to_judge` is 95% sure of the sign.

    python benchmarks/simulate_judging.py --write docs/measured   # next-*.csv there, 30 min
    python benchmarks/simulate_judging.py --repeats 10     # quicker, wider intervals
    python benchmarks/simulate_judging.py --results a.json b.json [--gold-share 0.3]   # your own

Orders: `next` is what `assay gold next` gives; `pool` is depth-k pooling (every query's rank 1 of
each system, then every rank 2, …); `random` takes any hit of the two top tens. An error is a
decision whose sign is not that of the fully judged set.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measured_tables import write_table

from assay.core.results import GradedEntry, GradedResults
from assay.evaluation import statistics
from assay.formats.results_json import read_results
from assay.judging.next import decision_state, next_to_judge

DEPTH = 10
BATCH = 5
SURE = 0.95
QUERIES = 40
DOCUMENTS = 60
# how much more of a grade the better system sees
GAPS = {"small": 0.08, "middle": 0.16, "large": 0.3}
RATES = (0.2, 0.4, 0.6)  # how much of the two top tens an earlier engine's pool has judged
ORDERS = ("next", "pool", "random")
Pair = tuple[int, str]


class Decided(NamedTuple):
    """How many judgments an order took, and whether the decision was right."""

    judgments: int
    is_right: bool


class Simulation(NamedTuple):
    """One set: the true distance, and what came of each order."""

    truth: float
    orders: dict[str, Decided]


@dataclass(frozen=True)
class World:
    """A fully judged set: grades by query, and what two systems return."""

    grades: list[dict[str, int]]
    runs: tuple[list[list[str]], ...]

    def entries(
        self, system: int, known: set[Pair], asked: set[Pair] = frozenset()
    ) -> list[GradedEntry]:
        """What `assay score` gives when only `known` is judged, `asked` of it on request."""
        entries = []
        for query, (grades, ranking) in enumerate(zip(self.grades, self.runs[system], strict=True)):
            judged = [grade for doc, grade in grades.items() if (query, doc) in known]
            entries.append(
                GradedEntry(
                    query_id=str(query),
                    results=ranking,
                    metrics={},
                    grades=[grades[doc] if (query, doc) in known else None for doc in ranking],
                    known_grades=sorted(judged, reverse=True),
                    judged_on_request=[doc for doc in ranking if (query, doc) in asked],
                )
            )
        return entries

    def everything(self) -> set[Pair]:
        return {(query, doc) for query, grades in enumerate(self.grades) for doc in grades}

    def pool(self, systems: int) -> list[Pair]:
        """Depth-k pooling over the top tens: rank by rank, query by query."""
        pairs = []
        for rank, query, system in product(range(DEPTH), range(len(self.grades)), range(systems)):
            ranking = self.runs[system][query]
            if rank < len(ranking):
                pairs.append((query, ranking[rank]))
        return list(dict.fromkeys(pairs))


def synthetic(rng: np.random.Generator, gap: float) -> tuple[World, list[list[str]]]:
    """Two systems that see the grades through noise, partly the same noise, and an earlier, weaker
    one."""
    rate = rng.beta(1.5, 5, QUERIES)[:, None]
    relevant = rng.random((QUERIES, DOCUMENTS)) < rate
    relevant[np.arange(QUERIES), rng.integers(0, DOCUMENTS, QUERIES)] = True
    grades = np.where(relevant, rng.choice([1, 2], (QUERIES, DOCUMENTS), p=[0.6, 0.4]), 0)
    shared = rng.normal(0, 0.8, grades.shape)
    sides = (1.0, 1.0 + gap) if rng.random() < 0.5 else (1.0 + gap, 1.0)
    own = [rng.normal(0, 0.7, grades.shape) for _ in range(3)]
    qualities = (*sides, 0.8)
    scores = [
        quality * grades + shared + noise for quality, noise in zip(qualities, own, strict=True)
    ]
    orders = [np.argsort(-score, axis=1) for score in scores]
    runs = [[[f"d{doc}" for doc in row[:20]] for row in order] for order in orders]
    by_query = [{f"d{doc}": int(grade) for doc, grade in enumerate(row)} for row in grades]
    return World(by_query, (runs[0], runs[1])), [[f"d{doc}" for doc in row] for row in orders[2]]


def pooled_before(world: World, earlier: list[list[str]], rate: float) -> set[Pair]:
    """What an earlier engine's pool judged: to the depth where `rate` of the hits of both are
    covered, and at least one relevant document a query, since a query without one is in no gold
    set."""
    hits = set(world.pool(2))
    known: set[Pair] = set()
    for depth in range(len(earlier[0])):
        known |= {(query, ranking[depth]) for query, ranking in enumerate(earlier)}
        if len(hits & known) >= rate * len(hits):
            break
    for query, grades in enumerate(world.grades):
        if not any(grades[doc] > 0 for other, doc in known if other == query):
            known.add((query, next(doc for doc in grades if grades[doc] > 0)))
    return known


def judgments_to_decide(
    world: World,
    known: set[Pair],
    order: str,
    rng: np.random.Generator,
    threshold: float | None = None,
) -> tuple[int, float]:
    """Judge in this order until the sign is 95% sure: how many judgments, and the difference
    believed then."""
    systems = 2 if threshold is None else 1
    known = set(known)
    asked: set[Pair] = set()
    queue = [pair for pair in world.pool(systems) if pair not in known]
    if order == "random":
        queue = [queue[place] for place in rng.permutation(len(queue))]
    done = 0
    while True:
        second = world.entries(1, known, asked) if systems == 2 else None
        first = world.entries(0, known, asked)
        stand = decision_state(first, second, threshold=threshold or 0.0)
        if stand.confidence >= SURE:
            return done, stand.expected
        if order == "next":
            pairs = next_to_judge(first, second, threshold=threshold or 0.0).pairs
            step = [(int(pair.query_id), pair.doc_id) for pair in pairs[:BATCH]]
        else:
            step = queue[:BATCH]
            queue = queue[BATCH:]
        if not step:
            return done, stand.expected
        known |= set(step)
        asked |= set(step)
        done += len(step)


def simulate(kind: str, gap: float, rate: float, seed: int) -> Simulation:
    """One simulated set: the judgments each order takes, and whether it decided rightly."""
    rng = np.random.default_rng([seed, round(gap * 1000), round(rate * 1000)])
    world, earlier = synthetic(rng, gap)
    known = pooled_before(world, earlier, rate)
    whole = world.everything()
    threshold = None
    if kind == "gate":
        # the bound lies a part of the gap from what A reaches when all its hits are judged
        whole = known | set(world.pool(1))
        reached = decision_state(world.entries(0, whole)).expected
        threshold = reached + rng.choice([-1, 1]) * gap / 5
    second = world.entries(1, whole) if kind == "better" else None
    truth = decision_state(world.entries(0, whole), second, threshold=threshold or 0.0).expected
    return _decided(world, known, truth, seed, threshold)


def _decided(
    world: World, known: set[Pair], truth: float, seed: int, threshold: float | None = None
) -> Simulation:
    orders = {}
    for order in ORDERS:
        rng = np.random.default_rng(seed)
        count, believed = judgments_to_decide(world, known, order, rng, threshold)
        orders[order] = Decided(count, (believed > 0) == (truth > 0))
    return Simulation(truth, orders)


def row(label: str, simulations: list[Simulation]) -> str:
    """A line of the table: mean judgments with 95% intervals, wrong decisions, and the saving."""
    counts = {}
    for order in ORDERS:
        judgments = [simulation.orders[order].judgments for simulation in simulations]
        counts[order] = np.array(judgments, float)
    distance = np.mean([abs(simulation.truth) for simulation in simulations])
    cells = [label, f"{distance:.3f}"]
    for order in ORDERS:
        interval = statistics.mean_intervals(counts[order][:, None])[0]
        cells.append(f"{counts[order].mean():.0f} ({interval.low:.0f}–{interval.high:.0f})")
    for order in ("pool", "random"):
        total = np.stack([counts["next"], counts[order]], axis=1)
        drawn = np.random.default_rng(1).integers(len(total), size=(10_000, len(total)))
        means = total[drawn].mean(axis=1)
        ratio = means[:, 0] / np.maximum(means[:, 1], 1e-9)
        low, high = np.quantile(ratio, [0.025, 0.975])
        cells.append(f"{total[:, 0].sum() / max(total[:, 1].sum(), 1):.2f} ({low:.2f}–{high:.2f})")
    wrong = []
    for order in ORDERS:
        errors = sum(not simulation.orders[order].is_right for simulation in simulations)
        wrong.append(f"{errors / len(simulations):.0%}")
    cells.append(" / ".join(wrong))
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| set | true distance | next | pool | random | next : pool | next : random "
    "| wrong (next / pool / random) |\n"
    "|---|---|---|---|---|---|---|---|"
)


def tables(repeats: int, workers: int, write: Path | None) -> None:
    """Print both tables, and write them into the folder where one is named."""
    titles = {
        "better": ("Which of A and B is better", "next-better.csv"),
        "gate": ("Does A reach the bound", "next-reaches.csv"),
    }
    with ProcessPoolExecutor(workers) as pool:
        for kind, (title, name) in titles.items():
            _say(f"\n{title}\n\n{HEAD}")
            every: list[Simulation] = []
            lines = [HEAD]
            for (gap_name, gap), rate in product(GAPS.items(), RATES):
                jobs = [pool.submit(simulate, kind, gap, rate, seed) for seed in range(repeats)]
                simulations = [job.result() for job in jobs]
                every += simulations
                lines.append(row(f"{gap_name} gap, {rate:.0%} judged", simulations))
                _say(lines[-1])
            lines.append(row("all", every))
            _say(lines[-1])
            if write is not None:
                write_table(write / name, lines)


def from_results(paths: list[Path], share: float, repeats: int) -> list[Simulation]:
    """Two real results files: unjudged hits are taken out of both lists, then grades are hidden at
    random."""
    world = _world_of([_entries_of(path) for path in paths])
    whole = world.everything()
    truth = decision_state(world.entries(0, whole), world.entries(1, whole)).expected
    simulations = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        keep = {pair for pair in sorted(whole) if rng.random() < share}
        for query, by_doc in enumerate(world.grades):
            best = max(by_doc, key=lambda doc: (by_doc[doc], doc))
            keep.add((query, best))
        simulations.append(_decided(world, keep, truth, seed))
    return simulations


def _entries_of(path: Path) -> dict[str, GradedEntry]:
    results = read_results(path)
    if not isinstance(results, GradedResults):
        raise SystemExit(f"{path}: no graded results")
    return {entry.query_id: entry for entry in results.per_query}


def _world_of(entries: list[dict[str, GradedEntry]]) -> World:
    grades: list[dict[str, int]] = []
    runs: tuple[list[list[str]], ...] = ([], [])
    for query, entry in entries[0].items():
        if query not in entries[1] or max(entry.known_grades, default=0) <= 0:
            continue
        known: dict[str, int] = {}
        for table, run in zip(entries, runs, strict=True):
            graded = zip(table[query].results, table[query].grades, strict=True)
            own = {doc: max(grade, 0) for doc, grade in graded if grade is not None}
            known |= own
            run.append(list(own))
        rest = sorted(entry.known_grades, reverse=True)
        for grade in known.values():
            if grade in rest:
                rest.remove(grade)
        for number, grade in enumerate(rest):
            known[f"not-returned-{number}"] = max(grade, 0)
        grades.append(known)
    return World(grades, runs)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, nargs=2)
    parser.add_argument(
        "--gold-share", type=float, default=0.3, help="with --results: how many grades are known"
    )
    parser.add_argument("--write", type=Path, help="write next-*.csv into this folder")
    asked = parser.parse_args()
    if asked.results:
        simulations = from_results(asked.results, asked.gold_share, asked.repeats)
        _say(HEAD)
        _say(row(f"{asked.gold_share:.0%} known", simulations))
        return
    tables(asked.repeats, asked.workers, asked.write)


if __name__ == "__main__":
    main()
