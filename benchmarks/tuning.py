"""How honest `assay tune` is: the fusion of saved runs on a judged set, and simulated sweeps.

    python benchmarks/tuning.py --runs FOLDER --gold dataset.json [--sweeps 400] [--sets 1000]

Prints the apparent and the honest figure of the best of 40 settings; for queries drawn from the
set, how often the honest interval holds the winner's true mean, and the optimism that is printed
beside the true one; for simulated engines, how often "better" is claimed where all settings are
equal, and how often a setting that is .05 better is found."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from assay import formats
from assay.core.runs import fuse
from assay.evaluation.graded import evaluate
from assay.evaluation.statistics import Floats, mean_intervals
from assay.evaluation.tuning import choose, choose_adaptive, search_space

MEASURE = "nDCG@10"
SETTINGS = 40


def put(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def fused_values(folder: Path, gold_path: Path, seed: int) -> Floats:
    """[query, setting]: the current setting, RRF with k = 60 and equal weights, comes first."""
    gold = formats.read_gold(gold_path)
    runs = [formats.read_run(path) for path in sorted(folder.glob("*.run"))]
    space: dict[str, tuple[float, ...]] = {"k": (5, 10, 30, 60, 100)}
    space |= {str(at): (0, 0.5, 1, 2) for at in range(len(runs))}
    columns = [evaluate(fuse(runs), gold, [MEASURE]).values[:, 0]]
    for setting in search_space.draw_settings(space, SETTINGS, seed):
        weights = [float(setting[str(at)]) for at in range(len(runs))]
        fused = fuse(runs, k=float(setting["k"]), weights=weights)
        columns.append(evaluate(fused, gold, [MEASURE]).values[:, 0])
    values = np.stack(columns, axis=1)
    return np.asarray(values[~np.isnan(values).any(axis=1)])


def coverage(values: Floats, sets: int, n: int, rng: np.random.Generator) -> str:
    """Sets of n queries drawn from those at hand, whose means are then the truth."""
    truth = values.mean(axis=0)
    held = apparent_held = 0
    above, printed = [], []
    for _ in range(sets):
        drawn = values[rng.integers(0, len(values), n)]
        choice = choose(drawn)
        true = truth[choice.winner]
        held += choice.low is not None and choice.low <= true <= (choice.high or 1)
        (apparent,) = mean_intervals(drawn[:, [choice.winner]])
        apparent_held += (apparent.low or 0) <= true <= (apparent.high or 1)
        above.append(choice.apparent - true)
        printed.append(choice.optimism)
    return (
        f"honest interval holds the true mean {held / sets:.1%}, apparent "
        f"{apparent_held / sets:.1%}; "
        f"apparent above the truth {np.mean(above):+.4f}, optimism printed {np.mean(printed):+.4f}"
    )


def simulated(n: int, better: float, rng: np.random.Generator) -> Floats:
    """Paired differences have a standard deviation of .10; setting 1 is better by `better`."""
    values = rng.normal(0.5, 0.15, (n, 1)) + rng.normal(0, 0.1 / 2**0.5, (n, SETTINGS))
    values[:, 1] += better
    return np.asarray(np.clip(values, 0, 1))


def adaptive(values: Floats, rng: np.random.Generator) -> bool:
    """Two studies on halves, each of which looks at its half to try half of the settings: those
    that do best on its first queries."""
    order = rng.permutation(len(values))
    studies = []
    for half in range(2):
        rows = order[half::2]
        first = values[rows[: len(rows) // 2]].mean(axis=0)
        studies.append((rows.tolist(), np.argsort(-first)[: SETTINGS // 2].tolist()))
    return choose_adaptive(values, studies).verdict == "better"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--sweeps", type=int, default=400)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    values = fused_values(given.runs, given.gold, given.seed)
    choice = choose(values)
    put(
        f"best of {SETTINGS} on {len(values)} queries: apparent {choice.apparent:.3f}, honest "
        f"{choice.honest:.3f} [{choice.low:.3f}, {choice.high:.3f}], optimism "
        f"{choice.optimism:+.3f}, current {choice.current_mean:.3f}, p corrected "
        f"{choice.p_adjusted:.3f}, verdict {choice.verdict}"
    )
    for n in (len(values), 2 * len(values)):
        put(f"drawn from these, n = {n}: {coverage(values, given.sets, n, rng)}")
    equal = np.clip(values - values.mean(axis=0) + values.mean(), 0, 1)
    equal += values.mean() - equal.mean(axis=0)
    put(f"the same, all settings equal: {coverage(equal, given.sets, len(equal), rng)}")
    sweeps = given.sweeps
    for n in (33, 66):
        false = sum(choose(simulated(n, 0.0, rng)).verdict == "better" for _ in range(sweeps))
        put(f"simulated, n = {n}, all equal: better claimed in {false / sweeps:.1%} of {sweeps}")
    drawn = (equal[rng.integers(0, len(equal), 66)] for _ in range(sweeps))
    false = sum(choose(each).verdict == "better" for each in drawn)
    put(f"dev runs made equal, n = 66: better claimed in {false / sweeps:.1%} of {sweeps}")
    found = [choose(simulated(66, 0.05, rng)) for _ in range(sweeps)]
    hit = sum(each.verdict == "better" and each.winner == 1 for each in found)
    put(f"simulated, n = 66, one better by .05: found in {hit / sweeps:.1%}")
    false = sum(adaptive(simulated(66, 0.0, rng), rng) for _ in range(sweeps))
    hit = sum(adaptive(simulated(66, 0.05, rng), rng) for _ in range(sweeps))
    put(
        f"adaptive search: better claimed in {false / sweeps:.1%} where equal, in "
        f"{hit / sweeps:.1%} where one is better"
    )


if __name__ == "__main__":
    main()
