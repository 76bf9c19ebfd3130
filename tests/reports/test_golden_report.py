from __future__ import annotations

import re

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.core.results import Gate, GoldenResults
from assay.evaluation.gates import decide
from assay.evaluation.golden import perturbation_family, robustness
from assay.evaluation.golden.figures import build_results
from assay.judging.perturb import PERTURBATIONS as KINDS
from assay.reports import evaluation_report, view
from assay.reports.words import table
from kit.golden_cases import hit, outcome, question


def markdown(results: GoldenResults, *, language: str = "en") -> str:
    return evaluation_report(view(results, language=language))


def _results() -> GoldenResults:
    found = build_results(
        [
            outcome(
                question("s1", category="b", expected_any=[{"section": "110", "moment": "3"}]),
                hit(111, 1, 0.9),
            ),
            outcome(
                question("m1", must=True, category="a", expected_any=[{"section": "110"}]),
                hit(7, 2, 0.8),
                hit(110, 1, 0.4),
            ),
            outcome(question("ok", category="a", expected_any=[{"section": "7"}]), hit(7, 1)),
        ]
    )
    return msgspec.structs.replace(found, engine="bm25", verdict=decide(found))


def test_the_report_shows_rates_gates_and_what_failed() -> None:
    text = markdown(_results())
    assert "**Gates failed: A, B (not measured: D)**" in text
    assert "| PASS rate (TOTAL) | 33.3% | 6.1% – 79.2% | 3 |" in text
    assert "| a | 2 | 50.0%" in text
    assert text.index("**m1** [MUST]") < text.index("**s1** [SHOULD]")
    assert "- Expected: 110 § 3 mom." in text
    assert "- Came first: 7 § 2 mom. (score 0.800)" in text
    assert "- The expected one stood at: rank 2, score 0.400" in text
    assert "- The expected one stood at: not among the hits" in text


def test_a_place_of_a_hebrew_act_is_expected_in_hebrew() -> None:
    asked = question("q", expected_any=[{"section": "40", "moment": "2"}])
    found = build_results([outcome(asked, hit(40, 1, law="חוק השווקים"))])
    text = markdown(msgspec.structs.replace(found, engine="bm25", verdict=decide(found)))
    assert "- Expected: סעיף 40(2)" in text


def test_the_report_in_finnish() -> None:
    text = markdown(_results(), language="fi")
    assert "**Portteja ei läpäisty: A, B (ei mitattu: D)**" in text
    assert "| PASS-osuus (TOTAL) | 33,3 % |" in text
    assert "## FAIL-lista (MUST ensin): 2" in text
    assert "- Syy: odotettu osuma on sijalla 2, mutta sen pisteet 0,400 alittavat rajan 0,6" in text
    assert "| A | PASS-osuus (MUST) | 0,0 % | vähintään 95,0 % | EI LÄPI |" in text
    assert "| C | Vasteaika, keskiarvo | 12,0 ms | alle 150,0 ms | läpi |" in text
    assert "| D | PASS-osuus (MUST) | 0,0 % | laskua enintään 2,0 %-yks. | ei mitattu |" in text
    assert "- Odotettu kohta: sijalla 2, pisteet 0,400" in text


def test_no_english_is_left_in_the_finnish_report() -> None:
    """Every kind of failure, gate and section at once; the ids and names of the set are the
    reader's own."""
    asked = [
        (question("error", expected_any=[{"section": "1"}]), {"error": "alhaalla"}, ()),
        (question("answered", must_abstain=True), {}, (hit(1, 1),)),
        (
            question("negative", expected_any=[{"section": "1"}], expected_none=[{"section": "2"}]),
            {},
            (hit(2, 1),),
        ),
        (
            question("version", expected_any=[{"section": "1"}], as_of="2020-01-01"),
            {},
            (hit(1, 1, valid_from="2021-01-01"),),
        ),
        (
            question("evidence", expected_any=[{"section": "1"}], evidence="takaus"),
            {},
            (hit(1, 1, text="laina"),),
        ),
        (question("empty", expected_any=[{"section": "1"}]), {}, ()),
        (question("unfound", expected_any=[{"section": "1"}]), {}, (hit(9, 1),)),
        (
            question(
                "unfound~case",
                expected_any=[{"section": "1"}],
                extra={"parent": "unfound", "perturbation": "case"},
            ),
            {},
            (hit(9, 1),),
        ),
    ]
    found = build_results([outcome(query, *hits, **options) for query, options, hits in asked])
    policy = [
        Gate(measure="pass_rate_total", minimum=0.5, slice="perturbation:case"),
        Gate(measure="p95_latency_ms", maximum=5),
        Gate(measure="mrr_at_k", max_drop=0.1),
    ]
    before = msgspec.structs.replace(found, overall={"mrr_at_k": 0.9})
    found = msgspec.structs.replace(
        found, verdict=decide(found, policy, before), robustness=robustness(found)
    )
    text = markdown(found, language="fi")
    english, finnish = (
        set(re.findall(r"[A-Za-z]{4,}", str([*table(language).values()])))
        for language in ("en", "fi")
    )
    names = {"error", "answered", "negative", "version", "evidence", "empty", "unfound", "case"}
    assert {
        word for word in re.findall(r"[A-Za-z]{4,}", text) if word in english - finnish - names
    } == set()
    assert (
        "- **negative** [SHOULD] ?\n"
        "  - Syy: kielletty osuma 2 § 1 mom. on sijalla 1, ennen odotettua" in text
    )
    assert "puuttuu vaadittu termi: takaus" in text
    assert "ei ollut voimassa 1.1.2020" in text
    assert (
        "| isot ja pienet kirjaimet (case) | 1 | 0,0 % | 0,0 % – 79,3 % | 0,0 % | 0,0 %-yks. |"
        in text
    )
    assert "- **unfound~case** ?: odotettu osuma ei ole 5 parhaan joukossa" in text


def test_test_types_are_in_the_language_of_the_report() -> None:
    asked = [
        question(name, expected_any=[{"section": "7"}], test_type=name)
        for name in ("hard_negative", "oma tyyppi")
    ]
    found = build_results([outcome(each, hit(7, 1)) for each in asked])
    assert "| hard_negative | 1 |" in markdown(found)
    finnish = markdown(found, language="fi")
    assert "| lähellä mutta väärin | 1 |" in finnish
    assert "| oma tyyppi | 1 |" in finnish


def test_nothing_failed_and_nothing_breaks_the_table() -> None:
    found = build_results(
        [outcome(question("a|b", category="x|y", expected_any=[{"section": "7"}]), hit(7, 1))]
    )
    text = markdown(found)
    assert "None: every question passed." in text
    assert "| x\\|y | 1 |" in text


def test_every_perturbation_is_of_its_family() -> None:
    assert all(perturbation_family(name) == kind.family for name, kind in KINDS.items())
    with pytest.raises(UsageError):
        markdown(_results(), language="sv")


@pytest.mark.parametrize(
    ("checks", "words", "sanat"),
    [
        ({"expected_any": [{"opinion_id": "A-1"}, {"id": "B"}]}, "A-1; B", "A-1; B"),
        (
            {
                "expected_any": [
                    {"law_name": "Kuntalaki", "chapter": 3, "section": "5 §", "version": "fin@2020"}
                ]
            },
            "Kuntalaki 3 luku 5 § (fin@2020)",
            "Kuntalaki 3 luku 5 § (fin@2020)",
        ),
        (
            {"expected_any": [{"law": "Kuntalaki", "section": "72", "version": "fin@20230780"}]},
            "Kuntalaki 72 § (780/2023)",
            "Kuntalaki 72 § (780/2023)",
        ),
        (
            {"expected_any": [{"doc_id": "lapua", "page": 0, "table": "t1", "row": 0}]},
            "lapua p. 0 t1 row 0",
            "lapua s. 0 t1 rivi 0",
        ),
        (
            {"confusion": "Osakeyhtiölaki"},
            "Osakeyhtiölaki not on top",
            "Osakeyhtiölaki ei ensimmäisenä",
        ),
    ],
)
def test_what_was_expected_is_told_whatever_it_was(checks: dict, words: str, sanat: str) -> None:
    found = build_results([outcome(question("q", **checks), hit(9, 1, law="Osakeyhtiölaki"))])
    assert f"- Expected: {words}\n" in markdown(found)
    assert f"- Odotettiin: {sanat}\n" in markdown(found, language="fi")


def test_a_gate_does_not_round_a_rate_to_the_other_side() -> None:
    found = _results()
    verdict = decide(found, [Gate(measure="pass_rate_total", maximum=0.333)])
    (check,) = view(msgspec.structs.replace(found, verdict=verdict)).checks
    assert check.status == "fail"
    assert "33.333%" in check.message, "33.3% would be within 33.3%"
