"""Golden sets as people meet them: validate, score, gates, perturb, run."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay, Outcome

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "m1",
        "category": "b",
        "must": True,
        "query": "Mitä osia talousarviossa on?",
        "expected_any": [{"section": "110", "moment": "4"}],
    },
    {
        "id": "m2",
        "category": "a",
        "must": True,
        "query": "Kuka päättää lainanotosta?",
        "expected_any": [{"section": "14"}],
    },
    {
        "id": "s1",
        "category": "a",
        "must": False,
        "query": "Mikä on kriisikunta?",
        "expected_any": [{"section": "118"}],
    },
]


def _answers(*found: str, latency: float = 10.0) -> dict[str, Any]:
    """The results file of the suite's runner, where the questions named find what they should."""
    right = {"m1": ("110", "4"), "m2": ("14", "1"), "s1": ("118", "1")}
    rows = []
    for question in QUESTIONS:
        section, moment = right[question["id"]] if question["id"] in found else ("7", "1")
        hit = {"section_num": section, "moment": moment, "node_id": f"n{section}", "score": 0.9}
        rows.append({"id": question["id"], "latency_ms": latency, "hits": [hit]})
    return {"metrics": {}, "results": rows}


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def score(assay_cli: Assay, run: str, *options: str, gold: str = "gold.json") -> Outcome:
    """Score saved answers on a golden set."""
    return assay_cli("score", "--dataset", gold, "--run", run, *options)


VARIED = ("gold", "perturb", "gold.json", "-o", "varied.json", "--kind", "case")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_json(tmp_path / "gold.json", QUESTIONS)
    write_json(tmp_path / "all.json", _answers("m1", "m2", "s1"))
    write_json(tmp_path / "none.json", _answers())
    return tmp_path


def test_gates_decide_the_exit_code_and_are_named(assay_cli: Assay, files: Path) -> None:
    good = score(assay_cli, "all.json", "--output", "base.json")
    assert good.code == 0
    bad = score(assay_cli, "none.json", "--baseline", "base.json", "--json")
    assert bad.code == 1
    assert "gates failed: A, B, D" in bad.err
    assert bad.json["baseline"]["delta"]["pass_rate_must"] == -1
    assert [gate["status"] for gate in bad.json["gates"]] == ["fail", "fail", "pass", "fail"]


def test_failures_come_in_one_order_everywhere(assay_cli: Assay, files: Path) -> None:
    found = score(assay_cli, "none.json", "--report", "report.md")
    page = read(files / "report.md")
    for text in (found.out.partition("What failed")[2], page.partition("Failures")[2]):
        places = [text.index(name) for name in ("m2", "m1", "s1")]
        assert places == sorted(places), "MUST first, then by category"


@pytest.mark.parametrize("name", ["r.html", "r.md", "r.tex", "r.csv", "r.xml"])
def test_every_report_of_a_failing_set_with_a_baseline(
    assay_cli: Assay, files: Path, name: str
) -> None:
    score(assay_cli, "all.json", "--output", "base.json")
    args = ("--run", "none.json", "--baseline", "base.json", "--output", "scored.json")
    assert assay_cli("score", "--dataset", "gold.json", *args).code == 1
    assert assay_cli("report", "scored.json", "-o", name).code == 0
    page = read(files / name)
    if name == "r.html":
        table = page.partition('id="queries"')[2]
        places = [table.index(f"<b><bdi>{question}</bdi></b>") for question in ("m2", "m1", "s1")]
        assert places == sorted(places), "MUST first, then by category"
        assert "(-100.0)" in page, "the change from the baseline"
    elif name == "r.xml":
        failed = [
            case.get("name") for case in ET.fromstring(page) if case.find("failure") is not None
        ]
        assert failed == ["gate A", "gate B", "gate D", "m1", "m2", "s1"]
    elif name == "r.tex":
        assert "passed & 0.000 & 0.000 to" in page


def test_the_day_of_a_question_is_given_to_an_engine_that_takes_it(
    assay_cli: Assay, files: Path
) -> None:
    dated = [QUESTIONS[0] | {"as_of": "2020-05-01"}, QUESTIONS[1]]
    write_json(files / "dated.json", dated)
    (files / "mine.py").write_text(
        "class Dated:\n    def search(self, query, top_k, as_of='today'):\n"
        "        return [f'on-{as_of}']\n"
        "class Plain:\n    def search(self, query, top_k):\n        return ['plain']\n"
    )
    found = {
        name: assay_cli(
            "score", "--dataset", "dated.json", "--search-module", f"mine:{name}", "--json"
        ).json
        for name in ("Dated", "Plain")
    }
    assert [entry["results"] for entry in found["Dated"]["per_query"]] == [
        ["on-2020-05-01"],
        ["on-today"],
    ]
    assert [entry["results"] for entry in found["Plain"]["per_query"]] == [["plain"], ["plain"]]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("[]", "not a results file"),
        (
            '{"timestamp": "", "engine": "e", "overall": {}, "per_query": [], "receipt": '
            '{"counts": {"n_scored": 0, "n_expected": 0, "n_failed": 0, "n_missing": 0}}}',
            "not scored on a golden set",
        ),
    ],
)
def test_a_bad_baseline_is_refused(assay_cli: Assay, files: Path, content: str, what: str) -> None:
    (files / "base.json").write_text(content, encoding="utf-8")
    found = score(assay_cli, "all.json", "--baseline", "base.json")
    assert (found.code, "base.json" in found.err, what in found.err) == (2, True, True), found.err


def test_a_run_of_other_questions_is_refused_and_missing_ones_are_counted(
    assay_cli: Assay, files: Path
) -> None:
    answers = _answers("m1")
    answers["results"] = answers["results"][:1]
    write_json(files / "part.json", answers)
    assert "2 of 3 questions are missing" in score(assay_cli, "part.json").err
    answers["results"][0]["id"] = "other"
    write_json(files / "part.json", answers)
    found = score(assay_cli, "part.json")
    assert (found.code, "none of the gold set's questions" in found.err) == (2, True)


def test_an_unknown_report_language_is_told_before_the_run(assay_cli: Assay, files: Path) -> None:
    found = score(
        assay_cli,
        "absent.json",
        "--report",
        "r.md",
        "--language",
        "sv",
    )
    assert (found.code, "no report in language 'sv'" in found.err) == (2, True)


def test_what_is_odd_in_a_set_is_told_without_a_corpus(assay_cli: Assay, files: Path) -> None:
    odd = [QUESTIONS[0] | {"owner": "Liisa"}, QUESTIONS[1] | {"expected_any": []}]
    write_json(files / "odd.json", odd)
    found = assay_cli("gold", "validate", "odd.json", "--json").json
    assert {finding["code"] for finding in found["findings"]} == {"unknown-key", "nothing-expected"}
    scored = score(assay_cli, "all.json", "--json", gold="odd.json")
    assert "m1: keys that are kept but not looked at: owner" in scored.err
    assert "m2: nothing is expected" in scored.err
    assert scored.json["per_query"][0]["owner"] == "Liisa", "what is not known is kept"
    twice = [question | {"owner": "Liisa"} for question in QUESTIONS[:2]]
    write_json(files / "twice.json", twice)
    (finding,) = assay_cli("gold", "validate", "twice.json", "--json").json["findings"]
    assert finding["message"].endswith("owner (2×)")  # no words: reports are in three languages


def test_the_help_names_the_table_of_a_model(assay_cli: Assay) -> None:
    assert "judges.NAME" in assay_cli("questions", "--help").out


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (
            {"expected_any": [{"section": "110–112 §"}]},
            "$[1].expected_any[0].section (m2)",
            "is not one section",
        ),
        (
            {"expected_none": [{"section": "110 § 3 mom.", "moment": 2}]},
            "$[1].expected_none[0].moment (m2)",
            "'110 §",
        ),
        ({"confusion": [" "]}, "$[1].confusion[0] (m2)", "the place is empty"),
        ({"evidence": ["!"]}, "$[1].evidence (m2)", "'!' is not a search term"),
        ({"id": "m1"}, "$[1].id", "appears twice"),
        ({"k": "five"}, "$[1].k (m2)", "expected a whole number, got a string"),
    ],
)
def test_a_mistake_in_a_set_names_file_and_place_and_nothing_is_written(
    assay_cli: Assay, files: Path, change: dict[str, Any], where: str, what: str
) -> None:
    write_json(files / "bad.json", [QUESTIONS[0], QUESTIONS[1] | change])
    before = sorted(files.iterdir())
    for command in (
        ("score", "--run", "all.json", "--output", "o.json", "--report", "r.md", "--dataset"),
        ("gold", "perturb", "--output", "o.json"),
        ("gold", "validate"),
    ):
        found = assay_cli(*command, "bad.json")
        assert found.code == 2
        assert f"bad.json: {where}: " in found.err
        assert what in found.err
        assert "\n  " in found.err, "what to do"
    assert what in assay_cli("gold", "convert", "bad.json", "o.csv").err
    assert sorted(files.iterdir()) == before


def test_a_citation_will_do_for_a_section(assay_cli: Assay, files: Path) -> None:
    cited = [
        QUESTIONS[0] | {"expected_any": [{"section": "110(4)"}]},
        QUESTIONS[1] | {"expected_any": [{"section": "14 § 1 mom."}]},
        QUESTIONS[2] | {"expected_any": [{"section": "Kuntalaki 118 §"}]},
    ]
    write_json(files / "cited.json", cited)
    answers = _answers("m1", "m2", "s1")
    answers["results"][2]["hits"][0]["law"] = "Kuntalaki (410/2015)"
    write_json(files / "run.json", answers)
    found = score(assay_cli, "run.json", "--json", gold="cited.json").json
    assert found["overall"]["pass_rate_total"] == 1


def test_evidence_without_a_text_is_warned_of(assay_cli: Assay, files: Path) -> None:
    write_json(files / "gold.json", [QUESTIONS[0] | {"evidence": "talousarvio"}])
    found = score(assay_cli, "all.json", "--json")
    assert found.json["per_query"][0]["failure"] == "evidence"
    assert (
        "1 question asks for evidence, but the hits have no text to search; give --corpus"
        in found.err
    )


def test_scores_that_are_no_probabilities_are_warned_of(assay_cli: Assay, files: Path) -> None:
    answers = _answers("m1", "m2", "s1")
    said = "the engine's scores go up to 12.5; min_score expects 0 to 1"
    write_json(files / "run.json", answers)
    assert said not in score(assay_cli, "run.json").err
    answers["results"][0]["hits"][0]["score"] = 12.5
    write_json(files / "run.json", answers)
    assert said in score(assay_cli, "run.json").err
    assert said not in score(assay_cli, "run.json", "--min-score", "0").err


def _run(assay_cli: Assay, files: Path, gates: str) -> Any:
    head = '[gold.kunta]\npath = "gold.json"\n[engines.saved]\nrun = "none.json"\n'
    (files / "assay.toml").write_text(head + gates, encoding="utf-8")
    return assay_cli("run")


def test_the_gates_of_the_configuration_hold_for_golden_sets(assay_cli: Assay, files: Path) -> None:
    assert _run(assay_cli, files, "").code == 1, "without gates of its own the policy is A to D"
    lax = _run(assay_cli, files, '[[gates]]\nmeasure = "avg_latency_ms"\nbelow = 10.5\n')
    assert (lax.code, "Latency, average: 10.0 ms. Required: below 10.5 ms" in lax.out) == (0, True)
    one = (
        '[[gates]]\nname = "loans"\nmeasure = "pass_rate_total"\nslice = "category:a"\n'
        "minimum = 0.5\n"
    )
    strict = _run(assay_cli, files, one)
    assert "loans: PASS rate (TOTAL) (category: a) 0.0%. Required: at least 50.0%" in strict.out
    assert strict.code == 1
    wrong = _run(assay_cli, files, '[[gates]]\nmeasure = "pass_rate_mst"\nminimum = 0.5\n')
    assert (
        wrong.code,
        "gates[0]: the golden set kunta has no measure 'pass_rate_mst'" in wrong.err,
    ) == (2, True)


def test_a_perturbed_set_is_gated_on_its_questions(assay_cli: Assay, files: Path) -> None:
    made = assay_cli(*VARIED, "--kind", "typo-dropped")
    assert "6 variants and 3 questions written" in made.err
    assert assay_cli("gold", "validate", "varied.json").code == 0
    answers = _answers("m1", "m2", "s1")
    variants = [q["id"] for q in json.loads(read(files / "varied.json"))[3:]]
    answers["results"] += [{"id": name, "hits": []} for name in variants]
    write_json(files / "run.json", answers)
    found = score(assay_cli, "run.json", "--report", "r.md", "--json", gold="varied.json")
    assert found.code == 0, "the questions pass, whatever their variants do"
    assert found.json["overall"]["pass_rate_total"] == 1
    assert found.json["robustness"]["by_family"]["typo"]["drop"] == 1
    assert "| a letter left out (typo-dropped) | 3 | 0.0%" in read(files / "r.md")
    told = score(assay_cli, "run.json", "--output", "scored.json", gold="varied.json").out
    assert "(3 questions, including 6 variants)" in told
    assert "What failed" not in told, "variants are told under robustness"
    assert assay_cli("report", "scored.json", "-o", "r.xml").code == 0
    cases = [
        (case.get("classname"), case.find("failure") is not None)
        for case in ET.parse(files / "r.xml").iter("testcase")
    ]
    assert Counter(cases) == {
        ("gates", False): 4,
        ("MUST", False): 2,
        ("SHOULD", False): 1,
        ("variants", False): 6,
    }


def test_perturb_refuses_what_cannot_be(assay_cli: Assay, files: Path) -> None:
    kinds = assay_cli("gold", "perturb", "gold.json", "-o", "out.json", "--kind", "hebrew")
    assert (kinds.code, "no question can be perturbed in this way" in kinds.err) == (2, True)
    same = assay_cli("gold", "perturb", "gold.json", "-o", "gold.json")
    assert (same.code, "overwrite an input" in same.err) == (2, True)


def test_two_results_are_compared_by_what_passed(assay_cli: Assay, files: Path) -> None:
    for name in ("all", "none"):
        score(
            assay_cli,
            f"{name}.json",
            "--output",
            f"{name}-scored.json",
        )
    found = assay_cli("compare", "all-scored.json", "none-scored.json", "--json").json
    assert [(row["measure"], row["difference"], row["losses"]) for row in found["differences"]] == [
        ("pass", -1, 3),
        ("first hit right", -1, 3),
        ("MRR@k", -1, 3),
    ]
    told = assay_cli("explain", "none-scored.json", "m1").out
    assert "m1 [MUST]  Mitä osia talousarviossa on?" in told
    assert "FAILED  110 § 4 mom. is not in the top 5; 7 § 1 mom. came first" in told
    assert "the top 5, with a score of at least 0.6" in told
    assert "log2" not in told, "nothing is summed where a question passes or fails"
    passed = assay_cli("explain", "all-scored.json", "m1")
    assert "expected" in passed.out.splitlines()[-1]
    assert assay_cli("explain", "all-scored.json", "m1", "--json").json["expected_any"] == [
        {"section": "110", "moment": "4"}
    ]


def test_variants_are_compared_apart_from_the_questions(assay_cli: Assay, files: Path) -> None:
    assay_cli(*VARIED, "--kind", "typo-dropped")
    variants = json.loads(read(files / "varied.json"))[3:]
    right = _answers("m1", "m2", "s1")["results"]
    for name, answered in (("a", False), ("b", True)):
        hits = {row["id"]: row["hits"] for row in right}
        rows = [{"id": q["id"], "hits": hits[q["parent"]] if answered else []} for q in variants]
        questions = _answers("m1", "m2", "s1" if answered else "")["results"]
        write_json(files / "run.json", {"results": [*questions, *rows]})
        score(assay_cli, "run.json", "--output", f"{name}.json", gold="varied.json")
    found = assay_cli("compare", "a.json", "b.json", "--json").json
    rows = [
        [(row["n"], row["baseline"], row["value"], row["wins"]) for row in found[key]]
        for key in ("differences", "variants")
    ]
    assert rows == [[(3, 2 / 3, 1, 1)] * 3, [(3, 0, 1, 3)]], "variants of one question count once"
    assert [row["query_id"] for row in found["moved"]] == ["s1"]
    assert found["warnings"] == []
    assert "pass of variants" in assay_cli("compare", "a.json", "b.json").out
    assay_cli("report", "b.json", "--against", "a.json", "-o", "r.md")
    assert "- Perturbed variants: 0 broke, 6 repaired" in read(files / "r.md")


@pytest.fixture
def scored(assay_cli: Assay, files: Path) -> Path:
    """Before, only m2 passes; after, only m1 and s1 do."""
    for name, found in (("before", ["m2"]), ("after", ["m1", "s1"])):
        write_json(files / "run.json", _answers(*found))
        score(assay_cli, "run.json", "--output", f"{name}.json")
    return files


def test_a_report_tells_what_broke_and_what_was_repaired(assay_cli: Assay, scored: Path) -> None:
    assert assay_cli("report", "after.json", "--against", "before.json", "-o", "r.md").code == 0
    text = read(scored / "r.md")
    changes = text.partition("## Changes from before")[2].partition("## Measures")[0]
    broke, repaired = changes.split("### Broke (MUST first): 1")[1].split(
        "### Repaired (MUST first): 2"
    )
    assert "**m2** [MUST] Kuka päättää lainanotosta?" in broke
    assert "Why: 14 § is not in the top 5" in broke
    assert "rank 1, score 0.900 → not among the hits" in broke
    assert repaired.index("**m1** [MUST]") < repaired.index("**s1** [SHOULD]"), "MUST first"
    assert "It failed because: 118 § is not in the top 5" in repaired
    assert "- PASS rate (TOTAL): 33.3% → 66.7% (+33.3 points)" in changes
    finnish = assay_cli(
        "report", "after.json", "--against", "before.json", "-o", "fi.md", "--language", "fi"
    )
    assert finnish.code == 0
    assert "### Rikkoutui (MUST ensin): 1" in read(scored / "fi.md")
    assert assay_cli("report", "after.json", "--against", "before.json", "-o", "r.html").code == 0
    page = read(scored / "r.html")
    places = [
        page.index(part)
        for part in (
            "Changes from <bdi>before",
            "<h3>Broke",
            ">m2<",
            "<h3>Repaired",
            ">m1<",
            ">s1<",
        )
    ]
    assert places == sorted(places)


def test_a_set_that_has_grown_is_compared_on_what_both_have(assay_cli: Assay, scored: Path) -> None:
    more = [*QUESTIONS, QUESTIONS[2] | {"id": "s2"}]
    write_json(scored / "more.json", more)
    score(assay_cli, "all.json", "--output", "grown.json", gold="more.json")
    assert assay_cli("report", "grown.json", "--against", "before.json", "-o", "r.md").code == 0
    text = read(scored / "r.md")
    assert "scored on different gold sets" in text
    assert "Not compared (in only one run, changed since, or not answered): s2" in text
    assert "- PASS rate (TOTAL): 33.3% → 100.0% (+66.7 points)" in text, (
        "over the questions that both have"
    )
    assert "### Repaired (MUST first): 2" in text


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--against", "before.json", "-o", "r.tex"), "a .tex report has no comparison"),
        (("--against", "gold.json", "-o", "r.md"), "gold.json"),
        (("--against", "absent.json", "-o", "r.md"), "absent.json"),
        (("-o", "r.html", "--language", "sv"), "no report in language 'sv'"),
        (("-o", "r.md", "--language", "sv"), "no report in language 'sv'"),
    ],
)
def test_a_report_that_cannot_be_is_refused(
    assay_cli: Assay, scored: Path, args: tuple[str, ...], what: str
) -> None:
    before = sorted(scored.iterdir())
    found = assay_cli("report", "after.json", *args)
    assert (found.code, what in found.err) == (2, True)
    assert sorted(scored.iterdir()) == before


@pytest.mark.parametrize("language", ["fi", "he"])
def test_a_page_in_the_language_of_the_reader(
    assay_cli: Assay, scored: Path, language: str
) -> None:
    args = ("report", "after.json", "--against", "before.json", "--language", language)
    assert assay_cli(*args, "-o", "r.html").code == 0
    page = read(scored / "r.html")
    assert f'<html lang="{language}"' in page
    assert {"fi": "<h3>Korjaantui</h3>", "he": "<h3>תוקנו</h3>"}[language] in page


def _ranked(path: Path, rank: int, questions: int) -> None:
    """Answers in which the expected place stands at this rank, of every question."""
    rows = [
        {
            "query_id": f"g{n}",
            "results": [
                {
                    "section": str(n + 1) if place == rank else f"9{place}",
                    "moment": "1",
                    "score": 1 - 0.05 * place,
                }
                for place in range(1, 6)
            ],
        }
        for n in range(questions)
    ]
    path.write_text(json.dumps({"per_query": rows}))


@pytest.mark.parametrize(
    ("questions", "said"), [(2, "which is not significant (p "), (10, "to 0% (p <0.001)")]
)
def test_a_loss_that_passes_hide_is_in_the_headline(
    questions: int, said: str, assay_cli: Assay, tmp_path: Path
) -> None:
    """Every question passes in both, and the expected hit went from the first place to the last."""
    gold = [
        {"id": f"g{n}", "query": f"question {n}", "k": 5, "min_score": 0.0, "category": "c",
         "must": True, "expected_any": [{"section": str(n + 1), "moment": "1"}], "notes": ""}
        for n in range(questions)
    ]  # fmt: skip
    write_json(tmp_path / "q.json", gold)
    for name, rank in (("before", 1), ("after", 5)):
        _ranked(tmp_path / f"{name}.json", rank, questions)
        given = ("--dataset", "q.json", "--run", f"{name}.json", "-o", f"{name}-scored.json")
        assay_cli("score", *given)
    found = " ".join(assay_cli("compare", "before-scored.json", "after-scored.json").out.split())
    assert "; but first hit right fell from 100% to 0%" in found
    assert said in found
