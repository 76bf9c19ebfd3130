"""Fusion of runs: the figures are those that ranx 0.3.21 gives for the same runs."""

from __future__ import annotations

import pytest

from assay.core.errors import InputError
from assay.core.runs import fuse
from assay.core.types import Run
from assay.workbench.scoring.notebook_input import run_from_dict

FIRST = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 0.5}, "q2": {"d9": 1.0}}
SECOND = {"q1": {"d2": 9.0, "d4": 1.0}}
# ranx.fuse([first, second], norm="min-max", method=...)
OF_RANX = {
    "rrf": {
        "d2": 0.03252247488101534,
        "d1": 0.01639344262295082,
        "d4": 0.016129032258064516,
        "d3": 0.015873015873015872,
    },
    "combsum": {"d2": 1.6, "d1": 1.0, "d3": 0.0, "d4": 0.0},
    "combmnz": {"d2": 3.2, "d1": 1.0, "d3": 0.0, "d4": 0.0},
}


def fused(method: str, **more: object) -> Run:
    return fuse([run_from_dict(FIRST), run_from_dict(SECOND)], method=method, **more)  # type: ignore[arg-type]


def scores(run: Run, query: str) -> dict[str, float]:
    row = run.rows_by_query[query]
    hits = run.hits[int(run.offsets[row]) : int(run.offsets[row + 1])]
    return dict(zip(hits["doc_id"].to_list(), hits["score"].to_list(), strict=True))


@pytest.mark.parametrize("method", OF_RANX)
def test_fused_scores_are_those_of_ranx(method: str) -> None:
    found = scores(fused(method), "q1")
    assert found == pytest.approx(OF_RANX[method], abs=1e-12)
    assert next(iter(found)) == "d2"


def test_a_query_that_one_run_lacks_is_kept() -> None:
    assert scores(fused("rrf"), "q2") == pytest.approx({"d9": 1 / 61})


def test_weights_multiply_and_zero_leaves_a_run_out() -> None:
    weighted = scores(fused("rrf", weights=[2.0, 0.5], k=0), "q1")
    assert weighted["d2"] == pytest.approx(2 / 2 + 0.5 / 1)
    alone = scores(fused("combmnz", weights=[1.0, 0.0]), "q1")
    assert alone == pytest.approx({"d1": 1.0, "d2": 0.6, "d3": 0.0})


def test_mistakes_are_named() -> None:
    for given in (
        {"method": "max"},
        {"method": "rrf", "weights": [1.0]},
        {"method": "rrf", "k": -1},
    ):
        with pytest.raises(InputError):
            fused(**given)
    with pytest.raises(InputError, match="at least one"):
        fused("rrf", weights=[0.0, 0.0])
