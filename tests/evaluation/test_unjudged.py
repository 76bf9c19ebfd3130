"""How far unjudged documents could bring a lead down, against every grading there is."""

from __future__ import annotations

import itertools
import random

import pytest

import assay
from assay.core.results import GradedEntry
from assay.evaluation import unjudged
from assay.evaluation.measures import parse_measure

MEASURES = ("nDCG@3", "P@3", "RR", "AP", "R@3", "RBP")
TOP = 2


def _entry(docs: list[str], grades: dict[str, int], also: list[int]) -> GradedEntry:
    return GradedEntry(
        query_id="q",
        query_text="q",
        num_results=len(docs),
        results=docs,
        metrics={},
        grades=[grades.get(doc) for doc in docs],
        known_grades=sorted([*grades.values(), *also], reverse=True),
        reason="",
    )


def _leads(
    measure: str, first: list[str], second: list[str], gradings: list[dict[str, int]]
) -> list[float]:
    """Under each grading, as many queries of one set."""
    gold = {str(at): {**grades, "elsewhere": TOP} for at, grades in enumerate(gradings)}
    values = []
    for docs in (first, second):
        ranked = {doc: -rank for rank, doc in enumerate(docs)}
        values.append(assay.evaluate(dict.fromkeys(gold, ranked), gold, [measure]).values[:, 0])
    return [float(lead) for lead in values[0] - values[1]]


def _case(seed: int) -> tuple[list[str], list[str], dict[str, int]]:
    draw = random.Random(seed)
    docs = list("abcdef")
    first, second = (draw.sample(docs, draw.randint(2, 4)) for _ in range(2))
    shown = sorted({*first, *second})
    known = {doc: draw.randint(0, TOP) for doc in shown if draw.random() < 0.4}
    return first, second, known


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("every", [unjudged.MOST_GRADINGS, 0])
def test_no_grading_brings_a_lead_lower(
    measure: str, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few open hits exactly; by greedy steps alone nearly always, and never too low."""
    monkeypatch.setattr(unjudged, "MOST_GRADINGS", every)
    missed = 0
    for seed in range(25):
        first, second, known = _case(seed)
        grades = {**known, "elsewhere": TOP}
        fall = unjudged._lead_fall(
            parse_measure(measure),
            _entry(first, known, [TOP]),
            _entry(second, known, [TOP]),
            TOP,
        )
        unknown = sorted({*first, *second} - known.keys())
        every_one = itertools.product(range(TOP + 1), repeat=len(unknown))
        gradings = [
            grades,
            *({**grades, **dict(zip(unknown, each, strict=True))} for each in every_one),
        ]
        lead, *leads = _leads(measure, first, second, gradings)
        truth = lead - min(leads)
        assert fall <= truth + 1e-9
        missed += fall < truth - 1e-9
    assert missed == 0 if every else missed <= 1
