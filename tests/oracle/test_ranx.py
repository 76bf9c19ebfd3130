"""The randomization test agrees with SciPy and with ranx's Fisher randomization, within simulation
error."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from assay.evaluation import statistics

SAMPLES = 20_000
# two simulated p-values of the same test differ by their simulation errors: four standard
# deviations of that
CASES = {"clear": (0.09, 0.2), "near": (0.05, 0.2), "none": (0.0, 0.2), "many ties": (0.06, 0.2)}


def pair(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(len(name))
    shift, spread = CASES[name]
    first = rng.beta(2, 3, 33)
    change = rng.normal(shift, spread, 33) * (rng.random(33) < 0.5 if name == "many ties" else 1)
    return first, first + change


def within(p: float) -> float:
    return 4 * (2 * p * (1 - p) / SAMPLES) ** 0.5 + 2 / SAMPLES


@pytest.mark.parametrize("name", CASES)
def test_scipy(name: str) -> None:
    first, second = pair(name)
    ours = float(statistics.randomization_test((second - first)[:, None], samples=SAMPLES)[0])
    theirs = scipy.stats.permutation_test(
        (second - first,),
        lambda x, axis: np.abs(np.mean(x, axis=axis)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=SAMPLES,
        rng=5,
    ).pvalue
    assert ours == pytest.approx(theirs, abs=within(theirs))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ranx() -> None:
    """One test for all cases: importing ranx compiles for most of a minute."""
    ranx = pytest.importorskip("ranx.statistical_tests.fisher_randomization_test")
    for name in CASES:
        first, second = pair(name)
        ours = float(statistics.randomization_test((second - first)[:, None], samples=SAMPLES)[0])
        theirs = float(ranx.fisher_randomization_test(first, second, SAMPLES)[0])
        assert ours == pytest.approx(theirs, abs=within(theirs)), name
