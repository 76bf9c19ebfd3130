"""The leaderboard: every system of systems.py on a judged set of opinions, as CSV files.

    python benchmarks/leaderboard.py [--dataset eval/dataset.json] [--also SET [--judgments MORE]]
        [--output docs/measured]

Needs the corpus `fppc` in the workspace, imported and indexed (see systems.py). `--also` names a
second judged set, written to leaderboard-pooled.csv; the command then prints how far the two order
the systems alike (Kendall's tau). Systems whose index is not there are left out and named."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from measured_tables import FOLDER, write_table
from systems import SYSTEMS

from assay import evaluate, read_gold
from assay.core.errors import AssayError
from assay.core.types import GoldSet, Judgment, judgments_to_frame
from assay.evaluation.statistics import mean_intervals

MEASURES = ("nDCG@10", "RR(rel=2)", "P@10", "P(rel=2)@10", "R@20")
RANKED_BY = "nDCG@10"
DEPTH = 20
SAMPLES, SEED = 4_000, 12

Floats = np.ndarray


@dataclass(frozen=True, kw_only=True)
class Line:
    """One system on one set: its value on every query and measure, and how much was judged."""

    name: str
    values: Floats
    judged: float

    @property
    def mean(self) -> float:
        return float(self.values[:, MEASURES.index(RANKED_BY)].mean())


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


def with_more(gold: GoldSet, more: Path | None) -> GoldSet:
    """The set with further judgments; where both judge a pair, the set's own stands."""
    if more is None:
        return gold
    known = {(row.query_id, row.doc_id): row for row in gold.iter_judgments()}
    for line in more.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        pair = (row["query_id"], row["opinion_id"])
        known.setdefault(pair, Judgment(query_id=pair[0], doc_id=pair[1], grade=row["score"]))
    return replace(gold, judgments=judgments_to_frame(known.values()))


def lines(golds: Sequence[GoldSet]) -> list[list[Line]]:
    """Every system that is here, on every set."""
    tables: list[list[Line]] = [[] for _ in golds]
    for name, make in SYSTEMS.items():
        try:
            engine = make()
            for gold, table in zip(golds, tables, strict=True):
                hits = {query.id: engine.search(query.text, DEPTH) for query in gold.queries}
                run = {
                    query_id: {doc_id: float(DEPTH - rank) for rank, doc_id in enumerate(found)}
                    for query_id, found in hits.items()
                }
                sheet = evaluate(run, gold, MEASURES)
                scored = ~np.isnan(sheet.values).any(axis=1)
                judged = float(np.nanmean(sheet.judged))
                table.append(Line(name=name, values=sheet.values[scored], judged=judged))
        except AssayError as error:
            say(f"{name}: left out: {error}")
        else:
            say(f"{name}: " + ", ".join(f"{table[-1].mean:.3f}" for table in tables))
    return tables


# ── the figures ───────────────────────────────────────────────────────────────────────────────────


def tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-b (1945)."""
    agree = ties_first = ties_second = 0
    pairs = list(combinations(range(len(first)), 2))
    for a, b in pairs:
        one, other = np.sign(first[a] - first[b]), np.sign(second[a] - second[b])
        agree += int(one * other)
        ties_first += int(one == 0)
        ties_second += int(other == 0)
    total = len(pairs)
    return agree / float(np.sqrt((total - ties_first) * (total - ties_second)))


def tau_interval(first: Sequence[Line], second: Sequence[Line]) -> tuple[float, float, float]:
    """Tau of the two orders, with the 95% interval when the queries of both are drawn anew."""
    column = MEASURES.index(RANKED_BY)
    tables = [
        np.stack([line.values[:, column] for line in each], axis=1) for each in (first, second)
    ]
    draws = np.random.default_rng(SEED)
    drawn = []
    for _ in range(SAMPLES):
        means = [table[draws.integers(0, len(table), len(table))].mean(axis=0) for table in tables]
        drawn.append(tau(means[0], means[1]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return tau(tables[0].mean(axis=0), tables[1].mean(axis=0)), float(low), float(high)


def against_best(table: Sequence[Line]) -> dict[str, str]:
    """The difference of each system from the first in nDCG@10, paired by query."""
    column = MEASURES.index(RANKED_BY)
    best = table[0].values[:, column]
    said = {}
    for line in table[1:]:
        interval = mean_intervals((line.values[:, column] - best)[:, None])[0]
        mean = float((line.values[:, column] - best).mean())
        said[line.name] = f"{mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"
    return said


# ── the files ─────────────────────────────────────────────────────────────────────────────────────


def table_rows(table: Sequence[Line]) -> list[str]:
    ranked = sorted(table, key=lambda line: -line.mean)
    differences = against_best(ranked)
    head = ["place", "system", *MEASURES, f"{RANKED_BY} behind the first", "judged@10"]
    rows = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for place, line in enumerate(ranked, start=1):
        cells = [str(place), line.name]
        for column, interval in enumerate(mean_intervals(line.values)):
            mean = float(line.values[:, column].mean())
            bounds = f" [{interval.low:.3f}, {interval.high:.3f}]" if column < 2 else ""
            cells.append(f"{mean:.3f}{bounds}")
        cells += [differences.get(line.name, ""), f"{line.judged:.1%}"]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the leaderboard.")
    parser.add_argument("--dataset", type=Path, default=Path("eval/dataset.json"))
    parser.add_argument("--also", type=Path)
    parser.add_argument("--judgments", type=Path)
    parser.add_argument("--output", type=Path, default=FOLDER)
    given = parser.parse_args()
    golds = [read_gold(given.dataset)]
    if given.also is not None and given.also.exists():
        golds.append(with_more(read_gold(given.also), given.judgments))
    elif given.also is not None:
        say(f"{given.also} is not here: there is no comparison")
    tables = lines(golds)
    if not tables[0]:
        say("no system could be run: is the corpus imported and indexed? See benchmarks/systems.py")
        return 2
    for name, table in zip(("leaderboard", "leaderboard-pooled"), tables, strict=False):
        path = given.output / f"{name}.csv"
        write_table(path, table_rows(table))
        say(f"written to {path}")
    if len(tables) > 1:
        value, low, high = tau_interval(tables[0], tables[1])
        say(
            f"Kendall's tau of the two orders by {RANKED_BY}: {value:.2f} ({low:.2f} to {high:.2f})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
