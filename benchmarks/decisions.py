"""Do intervals, tests and gates conclude, and how often are they wrong? A table for each question.

    python benchmarks/decisions.py                                  # simulated values alone
    python benchmarks/decisions.py --data ../shared/data/fppc       # and the real runs
    python benchmarks/decisions.py … --only asked-for               # the summary alone
    python benchmarks/decisions.py … --write docs/measured          # decisions-*.csv there

Real: the values by query of the eleven engines in DATA/runs-dev by DATA/dataset-dev.json, 55 pairs;
n queries are drawn with replacement from the 33, whose mean is the truth. For a true change of δ
the changes of a pair are shifted until their mean is δ. Every draw has a fixed seed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
from measured_tables import write_table

from assay.core.results import (
    Gate,
    GoldCard,
    GradedEntry,
    GradedReceipt,
    GradedResults,
    MeasureLine,
)
from assay.evaluation import statistics
from assay.evaluation.gates import decide
from assay.evaluation.leaderboard import leaderboard
from assay.workbench.deciding.compare import compare_with_leaderboard

Floats = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
Method = Callable[[Floats], tuple[Floats, Floats]]
Lines = Iterator[str]

SIZES = (10, 16, 33, 66)
MEASURES = ("nDCG@10", "RR", "P@5", "Success@1")
CHANGE = 0.1  # the true change that should be found
DROP, MARGIN, NOISE = 0.02, 0.05, 0.02


# ── intervals of a change: the candidates ─────────────────────────────────────────────────────────


def student(values: Floats) -> tuple[Floats, Floats]:
    n, mean = len(values), values.mean(axis=0)
    half = scipy.stats.t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return mean - half, mean + half


def chosen(values: Floats) -> tuple[Floats, Floats]:
    """What the program computes."""
    found = statistics.change_intervals(values)
    return np.array([each.low for each in found]), np.array([each.high for each in found])


def subsets(values: Floats) -> tuple[Floats, Floats]:
    """The randomization test inverted: quantiles of means over random subsets (Hartigan 1969)."""
    drawn = np.random.default_rng(1).integers(0, 2, (999, len(values))).astype(float)
    drawn = drawn[drawn.sum(axis=1) > 0]
    low, high = np.quantile(drawn @ values / drawn.sum(axis=1)[:, None], [0.025, 0.975], axis=0)
    return low, high


def gaffke(values: Floats) -> tuple[Floats, Floats]:
    return statistics.worst_case_bounds(values[:, :40], 0.95, statistics.CHANGE)


METHODS: dict[str, Method] = {
    "two more queries (chosen)": chosen,
    "subset means": subsets,
    "Student's t": student,
    "worst case": gaffke,
}


def _jump(rng: np.random.Generator, size: tuple[int, int], noise: float) -> Floats:
    """One query in fifty is won wholly; the others move a little."""
    won = rng.random(size) < 0.02
    return np.where(won, 1.0, np.clip(rng.normal(0, noise, size), -1, 1) if noise else 0.0)


def _trec(rng: np.random.Generator, size: tuple[int, int], round_to: float) -> Floats:
    """Two systems on queries of unequal difficulty, as in a TREC track."""
    ease = rng.beta(1.5, 2.5, size)
    one, other = (np.clip(rng.normal(ease, 0.15), 0, 1) for _ in range(2))
    return np.round(other / round_to) * round_to - np.round(one / round_to) * round_to


CASES: dict[str, tuple[Draw, float]] = {
    "TREC-like, nDCG": (lambda rng, size: _trec(rng, size, 1e-6), 0.0),
    "TREC-like, P@10": (lambda rng, size: _trec(rng, size, 0.1), 0.0),
    "smooth": (lambda rng, size: np.clip(rng.laplace(0, 0.15, size), -1, 1), 0.0),
    "skewed": (lambda rng, size: np.clip(rng.exponential(0.15, size), 0, 1), 0.15),
    "two humps": (lambda rng, size: rng.choice([-0.5, 0.5], size, p=[0.3, 0.7]), 0.2),
    "nine ties in ten": (lambda rng, size: rng.choice([0, 1, -1], size, p=[0.9, 0.07, 0.03]), 0.04),
    "one query in 50 won, the rest tie": (lambda rng, size: _jump(rng, size, 0), 0.02),
    "one query in 50 won, the rest move": (lambda rng, size: _jump(rng, size, 0.05), 0.02),
    "one query in 20 lost, the rest gain .05": (
        lambda rng, size: rng.choice([0.05, -1.0], size, p=[0.95, 0.05]),
        -0.0025,
    ),
}


def changes_of(table: Floats, measure: int) -> Iterator[tuple[tuple[int, int], Floats]]:
    for a, b in itertools.combinations(range(len(table)), 2):
        yield (a, b), table[b, :, measure] - table[a, :, measure]


def drawn(moves: Floats, n: int, repeats: int, *seed: int) -> Floats:
    rng = np.random.default_rng([n, *seed])
    return moves[rng.integers(0, len(moves), (n, repeats))]


def _held(method: Method, values: Floats, truth: float) -> tuple[float, float]:
    low, high = method(values)
    held = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
    return float(held.mean()), float((high - low).mean())


def real_changes(table: Floats, repeats: int) -> Lines:
    """Coverage (mean, worst pair) and width against Student's t, on the real pairs."""
    head = " | ".join(f"n = {n}" for n in SIZES)
    yield f"| interval of a change | measure | {head} |\n|---|---|" + "---|" * len(SIZES)
    for name, (column, measure) in itertools.product(METHODS, enumerate(MEASURES)):
        cells = []
        for n in SIZES:
            found, plain = [], []
            for pair, moves in changes_of(table, column):
                values = drawn(moves, n, repeats, column, *pair)
                found.append(_held(METHODS[name], values, float(moves.mean())))
                plain.append(_held(student, values, float(moves.mean()))[1])
            shares, widths = zip(*found, strict=True)
            ratio = np.mean(widths) / np.mean(plain)
            cells.append(f"{np.mean(shares):.3f}, {min(shares):.2f} (×{ratio:.2f})")
        yield f"| {name} | {measure} | {' | '.join(cells)} |"


def hard_changes(repeats: int) -> Lines:
    """The same on simulated changes."""
    head = " | ".join(f"n = {n}" for n in SIZES)
    yield f"| interval of a change | values | {head} |\n|---|---|" + "---|" * len(SIZES)
    for name, (case, (draw, truth)) in itertools.product(METHODS, CASES.items()):
        cells = []
        for n in SIZES:
            values = np.asarray(draw(np.random.default_rng([n, len(case)]), (n, repeats)), float)
            share, width = _held(METHODS[name], values, truth)
            cells.append(f"{share:.3f} ({width:.2f})")
        yield f"| {name} | {case} | {' | '.join(cells)} |"


# ── what compare says ─────────────────────────────────────────────────────────────────────────────


def claims(table: Floats, repeats: int) -> Lines:
    """Of nDCG@10: how often p and the interval contradict each other, how often a difference is
    claimed where there is none, how often one of CHANGE is found, and how often `probably` is
    right."""
    head = " | ".join(f"n = {n}" for n in SIZES)
    yield f"| compare | {head} |\n|---|" + "---|" * len(SIZES)
    rows: dict[str, list[str]] = {}
    for n in SIZES:
        counts: dict[str, list[float]] = {}
        for pair, moves in changes_of(table, 0):
            still = drawn(moves - moves.mean(), n, repeats, *pair)
            for name, values in (("δ = 0", still), (f"δ = {CHANGE}", still + CHANGE)):
                p, (low, high) = statistics.change_tests(values), chosen(values)
                told = statistics.significant(values)
                outside = (low > 0) | (high < 0)
                wrong = (p <= 0.05) != outside
                wrong |= (told != 0) != outside
                counts.setdefault("interval and p contradict", []).append(wrong.mean())
                said = "false claims" if name == "δ = 0" else "found"
                found = told != 0 if name == "δ = 0" else told > 0
                counts.setdefault(f"{said}, {name}", []).append(found.mean())
                for test, claimed in _others(values).items():
                    counts.setdefault(f"{said}, {name}, {test}", []).append(claimed)
            values, truth = drawn(moves, n, repeats, 9, *pair), float(moves.mean())
            sure = statistics.chances_above(values)
            probable = ((sure >= 0.7) & (sure < 0.95)) | ((sure <= 0.3) & (sure > 0.05))
            if probable.any() and abs(truth) > 1e-9:
                right = ((sure > 0.5) == (truth > 0))[probable]
                stated = np.maximum(sure, 1 - sure)[probable]
                counts.setdefault("probably: right", []).append(right.mean())
                counts.setdefault("probably: stated", []).append(stated.mean())
        for name, shares in counts.items():
            rows.setdefault(name, []).append(f"{np.mean(shares):.1%}")
    for name, cells in rows.items():
        yield f"| {name} | {' | '.join(cells)} |"


def _others(values: Floats) -> dict[str, float]:
    low, high = student(values)
    drawn_signs = statistics.randomization_test(values[:, :50], samples=1_000)
    return {
        "Student's t": float(((low > 0) | (high < 0)).mean()),
        "randomization": float((drawn_signs <= 0.05).mean()),
    }


def boards(table: Floats) -> Lines:
    """Pairs of the eleven engines that two files decide and the board does not, although its
    correction would."""
    names = [f"engine {place}" for place in range(len(table))]
    every = [results_of(row[:, 0]) for row in table]
    found = compare_with_leaderboard(every, names)
    board = found.leaderboard or leaderboard(every, names, found)
    two, both, lost = 0, 0, 0
    for pair in board.pairs:
        results = [every[names.index(name)] for name in (pair.other, pair.system)]
        row = compare_with_leaderboard(results, [pair.other, pair.system]).differences[0]
        decided = row.verdict in ("better", "worse")
        two += decided
        both += (told := pair.verdict in ("better", "worse"))
        lost += decided and not told and pair.p_adjusted <= 0.05
    heads = ("pairs", "decided by two files", "decided on the board", "lost beyond the correction")
    yield f"| {' | '.join(heads)} |\n|---|---|---|---|"
    yield f"| {len(board.pairs)} | {two} | {both} | {lost} |"


# ── what gates say ────────────────────────────────────────────────────────────────────────────────


def results_of(values: Sequence[float] | Floats, lists: str = "a") -> GradedResults:
    """Results with these values of nDCG@10, of a closed set."""
    entries = [
        GradedEntry(
            query_id=f"q{number}",
            metrics={"ndcg@10": float(value)},
            results=[f"{lists}{number}"],
            grades=[1],
            known_grades=[1],
            num_results=1,
        )
        for number, value in enumerate(values)
    ]
    line = MeasureLine(key="ndcg@10", measure="nDCG@10", cutoff=10)
    return GradedResults(
        timestamp="",
        engine="engine",
        overall={"ndcg@10": float(np.mean(values))},
        per_query=entries,
        receipt=GradedReceipt(measures=[line], gold=GoldCard(fingerprint="g", judgments=1)),
    )


def _statuses(gate: Gate, changes: Floats) -> list[str]:
    """What the gate says of engines that changed by these values, one column each."""
    before = results_of(np.full(len(changes), 0.5))
    return [
        decide(results_of(0.5 + column, "b"), [gate], before).checks[0].status
        for column in changes.T
    ]


def gates(table: Floats | None, repeats: int) -> Lines:
    head = " | ".join(f"n = {n}" for n in SIZES)
    yield f"| gates with significance = 0.05 | {head} |\n|---|" + "---|" * len(SIZES)
    drop = Gate(measure="nDCG@10", max_drop=DROP, significance=0.05)
    no_worse = Gate(measure="nDCG@10", no_worse_than=MARGIN, significance=0.05)
    few = max(repeats // 40, 5)
    rows: dict[str, list[str]] = {}
    for n in SIZES:
        if table is not None:
            shifts = {"fails at δ = -0.1": -0.1, "fails at the bound": -DROP}
            for said, shift in shifts.items():
                share = [
                    np.mean([status == "fail" for status in _statuses(drop, values + shift)])
                    for pair, moves in changes_of(table, 0)
                    for values in [drawn(moves - moves.mean(), n, few, *pair)]
                ]
                rows.setdefault(f"max_drop = {DROP} {said}", []).append(f"{np.mean(share):.1%}")
            share = [
                np.mean([status == "pass" for status in _statuses(no_worse, values - MARGIN)])
                for pair, moves in changes_of(table, 0)
                for values in [drawn(moves - moves.mean(), n, few, *pair)]
            ]
            said = f"no_worse_than = {MARGIN} passes at the bound"
            rows.setdefault(said, []).append(f"{np.mean(share):.1%}")
        same = results_of(np.linspace(0, 1, n))
        passed = decide(same, [drop, no_worse], same).status
        rows.setdefault("the same file, drop gates", []).append(passed)
        noise = np.random.default_rng(n).normal(0, NOISE, (n, repeats // 4))
        for name, gate in (("max_drop", drop), ("no_worse_than", no_worse)):
            share = np.mean([status == "pass" for status in _statuses(gate, noise)])
            said = f"re-run with noise of {NOISE} passes {name} = {gate.drop}"
            rows.setdefault(said, []).append(f"{share:.1%}")
    for name, cells in rows.items():
        yield f"| {name} | {' | '.join(cells)} |"


# ── means and rates ───────────────────────────────────────────────────────────────────────────────

RANKS, CHANCES = [1, 2, 3, 5, 10, 1e12], [0.5, 0.2, 0.1, 0.1, 0.05, 0.05]


def _missed(rng: np.random.Generator, size: tuple[int, int], share: float, least: float) -> Floats:
    """Some queries fail wholly; the others lie between `least` and 1."""
    return np.where(rng.random(size) < share, 0.0, rng.uniform(least, 1, size))


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
}


def of_mean(values: Floats) -> tuple[Floats, Floats]:
    found = statistics.mean_intervals(values)
    return np.array([each.low for each in found]), np.array([each.high for each in found])


def coverage(name: str, n: int, repeats: int) -> float:
    """How often the interval of a mean of n such values holds the truth."""
    draw, truth = MEANS[name]
    return _held(of_mean, draw(np.random.default_rng([n, len(name)]), (n, repeats)), truth)[0]


def means(table: Floats | None, repeats: int) -> Lines:
    head = " | ".join(f"n = {n}" for n in SIZES)
    yield f"| interval of a mean | values | {head} |\n|---|---|" + "---|" * len(SIZES)
    methods: dict[str, Method] = {"effective Wilson": of_mean, "Student's t": student}
    for title, method in methods.items():
        for column, measure in enumerate(MEASURES if table is not None else ()):
            cells = []
            for n in SIZES:
                found = [
                    _held(method, drawn(row, n, repeats, column, place), float(row.mean()))
                    for place, row in enumerate(np.asarray(table)[:, :, column])
                ]
                shares, widths = zip(*found, strict=True)
                cells.append(f"{np.mean(shares):.3f}, {min(shares):.2f} ({np.mean(widths):.2f})")
            yield f"| {title} | real {measure} | {' | '.join(cells)} |"
        for name, (draw, truth) in MEANS.items():
            cells = []
            for n in SIZES:
                values = draw(np.random.default_rng([n, len(name)]), (n, repeats))
                share, width = _held(method, values, truth)
                cells.append(f"{share:.3f} ({width:.2f})")
            yield f"| {title} | {name} | {' | '.join(cells)} |"


def rates() -> Lines:
    """Not simulated: every count that may come is looked at."""
    head = " | ".join(f"n = {n}" for n in SIZES)
    yield f"| interval of a rate: mean coverage, least | {head} |\n|---|" + "---|" * len(SIZES)
    rate = np.linspace(0.02, 0.98, 97)[:, None]
    for title, exact in (("Wilson (cards)", False), ("Clopper and Pearson (gates)", True)):
        cells = []
        for n in SIZES:
            counts = np.arange(n + 1)
            found = [statistics.rate_interval(int(k), n, exact=exact) for k in counts]
            lows, highs = (np.array([getattr(f, end) for f in found]) for end in ("low", "high"))
            chances = scipy.stats.binom.pmf(counts, n, rate)
            held = (chances * ((lows <= rate) & (rate <= highs))).sum(axis=1)
            cells.append(f"{held.mean():.3f}, {held.min():.3f}")
        yield f"| {title} | {' | '.join(cells)} |"


# ── what was asked for, in one table ──────────────────────────────────────────────────────────────


def asked_for(table: Floats, repeats: int) -> Lines:
    """Every row of what decisions must show, with what was measured, on nDCG@10."""
    yield "| | wanted | measured |\n|---|---|---|"
    covered: dict[int, list[tuple[float, float, float]]] = {n: [] for n in SIZES}
    claimed: dict[int, list[tuple[float, float, float]]] = {n: [] for n in SIZES}
    for n, (pair, moves) in itertools.product(SIZES, changes_of(table, 0)):
        values, truth = drawn(moves, n, repeats, *pair), float(moves.mean())
        share, width = _held(chosen, values, truth)
        covered[n].append((share, width, _held(student, values, truth)[1]))
        still = drawn(moves - moves.mean(), n, repeats, *pair, 1)
        there = still + CHANGE
        low, high = chosen(there)
        apart = (statistics.change_tests(there) <= 0.05) != ((low > 0) | (high < 0))
        none, found = (statistics.significant(each) for each in (still, there))
        claimed[n].append((apart.mean(), (none != 0).mean(), (found > 0).mean()))
    shares = {n: np.mean(rows, axis=0) for n, rows in covered.items()}
    claims_at = {n: np.mean(rows, axis=0) for n, rows in claimed.items()}
    rows = {
        "interval and p contradict each other, δ = .10": (
            "never",
            [f"{claims_at[n][0]:.1%}" for n in SIZES],
        ),
        "coverage for a change, n = 10 / 16 / 33 / 66": (
            ".93–.99 / .94–.985 / .94–.975 / .94–.97",
            [f"{shares[n][0]:.3f}" for n in SIZES],
        ),
        "width against t, n = 16 / 33": (
            "1.25 / 1.12",
            [f"{shares[n][1] / shares[n][2]:.2f}" for n in (16, 33)],
        ),
        "false claims at δ = 0": ("5%", [f"{claims_at[n][1]:.1%}" for n in SIZES]),
        "compare decides δ = .10, n = 16 / 33": (
            ".64 / .90",
            [f"{claims_at[n][2]:.2f}" for n in (16, 33)],
        ),
        **_gates_asked_for(table, repeats),
        "board pairs open though two files decide them, beyond the correction": (
            "0",
            [list(boards(table))[-1].split(" | ")[-1].strip(" |")],
        ),
        "gold next asks again for pairs with two grades": (
            "0",
            ["{} of {}".format(*asked_again())],
        ),
    }
    for name, (wanted, measured) in rows.items():
        yield f"| {name} | {wanted} | {' / '.join(measured)} |"


def _gates_asked_for(table: Floats, repeats: int) -> dict[str, tuple[str, list[str]]]:
    drop = Gate(measure="nDCG@10", max_drop=DROP, significance=0.05)
    no_worse = Gate(measure="nDCG@10", no_worse_than=MARGIN, significance=0.05)
    few = max(repeats // 20, 5)
    failing = [
        np.mean(
            [
                np.mean([each == "fail" for each in _statuses(drop, still + shift)])
                for pair, moves in changes_of(table, 0)
                for still in [drawn(moves - moves.mean(), 33, few, *pair)]
            ]
        )
        for shift in (-CHANGE, -DROP)
    ]
    same = [results_of(np.linspace(0, 1, n)) for n in range(1, 67)]
    passed = sum(decide(each, [drop, no_worse], each).status == "pass" for each in same)
    noise = np.random.default_rng(33).normal(0, NOISE, (33, repeats))
    again = np.mean([each == "pass" for each in _statuses(no_worse, noise)])
    return {
        "max_drop = .02 with significance fails at δ = -.10, n = 33; at the bound": (
            "75% / at most 5%",
            [f"{share:.1%}" for share in failing],
        ),
        "the same file passes drop gates, 1 to 66 queries": ("always", [f"{passed} of 66"]),
        "re-run with noise of .02 passes no_worse_than = .05, n = 33": ("90%", [f"{again:.1%}"]),
    }


def asked_again(queries: int = 9, disputed: int = 10) -> tuple[int, int]:
    """Of so many pairs that two judges graded differently, how many `gold next` asks for again."""
    from assay.core.types import Vote
    from assay.workbench.judging.next import next_pairs
    from assay.workbench.judging.votes_to_labels import append_votes
    from assay.workbench.scoring.request import ScoreRequest
    from assay.workbench.scoring.score import score

    with tempfile.TemporaryDirectory() as folder:
        gold, files = Path(folder, "set.json"), [Path(folder, f"{name}.json") for name in "ab"]
        docs, ids = (
            [f"d{number}" for number in range(10)],
            [f"q{number}" for number in range(queries)],
        )
        rows = [
            {"opinion_id": doc, "score": 2 * (place % 3 == 0), "rationale": "so"}
            for place, doc in enumerate(docs[:4])
        ]
        set_of = [{"id": query, "text": query, "relevance_judgments": rows} for query in ids]
        gold.write_text(json.dumps({"queries": set_of}), encoding="utf-8")
        for path, order in zip(files, (docs, docs[::-1]), strict=True):
            lines = [
                f"{query} Q0 {doc} {rank} {-rank} x"
                for query in ids
                for rank, doc in enumerate(order)
            ]
            run = path.with_suffix(".trec")
            run.write_text("\n".join(lines), encoding="utf-8")
            score(ScoreRequest(dataset=gold, run=run, output=path))
        open_pairs = [(pair.query_id, pair.doc_id) for pair in next_pairs(*files).pairs]
        votes = [
            Vote(
                id=f"{query}-{doc}-{who}",
                query_id=query,
                doc_id=doc,
                judge=who,
                grade=grade,
                kind="human",
                at="2026-05-31T12:00:00+00:00",
            )
            for query, doc in open_pairs[:disputed]
            for who, grade in (("ada", 2), ("bea", 0))
        ]
        append_votes(gold, votes)
        left = {(pair.query_id, pair.doc_id) for pair in next_pairs(*files).pairs}
        return len(left & set(open_pairs[:disputed])), len(open_pairs)


# ── the tables ────────────────────────────────────────────────────────────────────────────────────


def real_values(folder: Path) -> Floats:
    """[engine, query, measure] by the judgments that were published with the set."""
    from assay.workbench.scoring.in_memory import evaluate

    data = json.loads((folder / "dataset-dev.json").read_text(encoding="utf-8"))
    grades = {
        query["id"]: {each["opinion_id"]: each["score"] for each in query["relevance_judgments"]}
        for query in data["queries"]
    }
    engines = []
    for path in sorted((folder / "runs-dev").glob("*.run")):
        run: dict[str, dict[str, float]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            query_id, _, doc_id, _, score, _ = line.split()
            run.setdefault(query_id, {})[doc_id] = float(score)
        engines.append(evaluate(run, grades, MEASURES).values)
    return np.stack(engines)


def tables(data: Path | None, repeats: int) -> Iterator[tuple[str, Lines]]:
    """Every table with the name of its file."""
    table = real_values(data) if data is not None else None
    if table is not None:
        yield "asked-for", asked_for(table, repeats)
        yield "changes-real", real_changes(table, repeats)
        yield "compare", claims(table, repeats)
        yield "boards", boards(table)
    yield "changes-hard", hard_changes(repeats)
    yield "gates", gates(table, repeats)
    yield "means", means(table, repeats)
    yield "rates", rates()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder with dataset-dev.json and runs-dev")
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--write", type=Path, help="write decisions-*.csv into this folder")
    parser.add_argument("--only", help="one table, by name")
    given = parser.parse_args()
    for name, table in tables(given.data, given.repeats):
        if given.only not in (None, name):
            continue
        sys.stdout.write(f"\n{name}\n\n")
        lines = []
        for line in table:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            lines.append(line)
        if given.write is not None:
            write_table(given.write / f"decisions-{name}.csv", lines)


if __name__ == "__main__":
    main()
