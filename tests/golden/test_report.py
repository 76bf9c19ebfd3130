from __future__ import annotations

import pytest

from assay.errors import UsageError
from assay.golden import evaluate_gates, results
from assay.golden.checks import FAILURES
from assay.golden.summary import RATES
from assay.golden_report import FINNISH_FAILURES, MEASURES, markdown

from .helpers import hit, outcome, question


def _results() -> dict:
    found = results(
        [
            outcome(question("s1", category="b", expected_any=[{"section": "110", "moment": "3"}]), hit(111, 1, 0.9)),
            outcome(
                question("m1", must=True, category="a", expected_any=[{"section": "110"}]),
                hit(7, 2, 0.8),
                hit(110, 1, 0.4),
            ),
            outcome(question("ok", category="a", expected_any=[{"section": "7"}]), hit(7, 1)),
        ]
    )
    return found | {"engine": "bm25", "gates": evaluate_gates(found)}


def test_the_report_shows_rates_gates_and_what_failed() -> None:
    text = markdown(_results())
    assert "**Gates failed: A, B**" in text
    assert "| PASS rate (TOTAL) | 33.3% | 6.1% – 79.2% | 3 |" in text
    assert "| a | 2 | 50.0%" in text
    assert text.index("**m1** [MUST]") < text.index("**s1** [SHOULD]")
    assert "- Expected: 110 § 3 mom." in text
    assert "- Came first: 7 § 2 mom. (score 0.800)" in text
    assert "- The expected one stood at: rank 2, score 0.400" in text
    assert "- The expected one stood at: not among the hits" in text


def test_the_report_in_finnish() -> None:
    text = markdown(_results(), language="fi")
    assert "**Portteja ei läpäisty: A, B**" in text
    assert "| PASS-osuus (TOTAL) | 33,3 % |" in text
    assert "## FAIL-lista (MUST ensin): 2" in text
    assert "- Syy: odotettu osuma löytyi, mutta sen pisteet jäävät alle rajan" in text
    assert "- Odotettu oli: sija 2, pisteet 0,400" in text


def test_nothing_failed_and_nothing_breaks_the_table() -> None:
    found = results([outcome(question("a|b", category="x|y", expected_any=[{"section": "7"}]), hit(7, 1))])
    text = markdown(found)
    assert "None: every question passed." in text
    assert "| x\\|y | 1 |" in text


def test_every_failure_and_measure_has_its_words() -> None:
    assert set(FINNISH_FAILURES) == set(FAILURES)
    assert set(RATES) <= set(MEASURES)
    with pytest.raises(UsageError):
        markdown(_results(), language="sv")
