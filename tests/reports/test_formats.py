"""Every format, of both kinds of set, in every language, from one view."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from rich.console import Console

from assay.core.errors import InputError
from assay.core.results import GoldenResults, GradedResults, Results
from assay.core.results_file import from_json
from assay.reports import FORMATS, evaluation_report, render, view
from assay.reports.terminal import card
from assay.reports.words import LANGUAGES

RESULTS = Path(__file__).parents[1] / "fixtures" / "results-0.1"
KINDS = {"graded": "en-verdict.json", "golden": "fi-perturbed.json"}


def recorded(name: str) -> Results:
    return from_json(json.loads((RESULTS / name).read_text(encoding="utf-8")))


@pytest.fixture(scope="module", params=KINDS)
def results(request: pytest.FixtureRequest) -> Results:
    return recorded(KINDS[request.param])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_in_every_language(results: Results, suffix: str, language: str) -> None:
    text = render(view(results, language=language), suffix)
    assert (results.per_query[0].query_id if suffix == ".csv" else results.engine) in text
    assert (text == render(view(results), suffix)) == (
        language == "en" or (suffix == ".csv" and isinstance(results, GradedResults))
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_says_its_language_and_direction(results: Results, language: str) -> None:
    page = render(view(results, language=language), ".html")
    direction = ' dir="rtl"' if language == "he" else ""
    assert f'<html lang="{language}"{direction}>' in page


def test_no_english_is_left_in_a_finnish_page(results: Results) -> None:
    """But for what the set, the engine and the receipt say themselves."""
    page = render(view(results, language="fi"), ".html")
    own = r"<(style|script|pre)>.*?</\1>|<bdi>.*?</bdi>|<p dir=.auto.>.*?</p>|judged@10"
    shown = re.sub(own, " ", page, flags=re.DOTALL)
    shown = re.sub(r"<[^>]*>", " ", shown)
    english = "the|of|and|with|queries|questions|interval|passed|failed|grade|judged|unjudged|rank"
    assert re.findall(rf"\b({english})\b", shown) == []


def test_finnish_pages_sort_their_figures(results: Results) -> None:
    assert "parseFloat(x), " in render(view(results), ".html")
    finnish = render(view(results, language="fi"), ".html")
    assert r'parseFloat(x.replace(/[\s\u2066-\u2069]/g, "").replace(",", ".")), ' in finnish


def test_an_unknown_format_names_the_known_ones(results: Results) -> None:
    with pytest.raises(InputError, match=r"\.html, \.md, \.xml, \.csv, \.tex"):
        render(view(results), ".docx")


def test_the_terminal_card_names_every_rate_of_the_other_reports() -> None:
    results = recorded("fi-checks.json")
    assert results.overall["false_abstention_rate"] is not None
    console = Console(width=120, file=io.StringIO(), highlight=False)
    console.print(card(view(results)))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"^wrong abstentions +\d", shown, re.MULTILINE)
    finnish = Console(width=120, file=io.StringIO(), highlight=False)
    finnish.print(card(view(results, language="fi")))
    assert re.search(r"^väärin vastaamatta +\d", finnish.file.getvalue(), re.MULTILINE)  # type: ignore[attr-defined]


def test_junit_holds_what_an_engine_says_whatever_it_is() -> None:
    for name in KINDS.values():
        results = recorded(name)
        said = '\x1b[31mred\x00 \ud800 & <b> "quoted" äö'
        failing = msgspec.structs.replace(results.per_query[0], error=said)
        changed = msgspec.structs.replace(results, per_query=[failing, *results.per_query[1:]])
        root = ElementTree.fromstring(render(view(changed), ".xml"))
        error = root.find("testcase[@name='" + failing.query_id + "']/error")
        assert error is not None
        assert error.attrib["message"] == '�[31mred� � & <b> "quoted" äö'
        assert int(root.attrib["errors"]) == len(root.findall("testcase/error"))
        assert int(root.attrib["tests"]) == len(root.findall("testcase"))


def test_gates_are_test_cases_in_both_kinds_of_set(results: Results) -> None:
    root = ElementTree.fromstring(render(view(results), ".xml"))
    gates = root.findall("testcase[@classname='gates']")
    assert results.verdict is not None
    assert len(gates) == len(results.verdict.checks)
    statuses = [check.status for check in results.verdict.checks]
    assert len([gate for gate in gates if gate.find("failure") is not None]) == statuses.count(
        "fail"
    )
    waiting = [gate for gate in gates for tag in ("skipped", "error") if gate.find(tag) is not None]
    assert len(waiting) == statuses.count("inconclusive")
    shown = [check for check in results.verdict.checks if not check.counts]
    assert len([gate for gate in gates if gate.find("skipped") is not None]) == len(shown)
    assert len({gate.attrib["name"] for gate in gates}) == len(gates)


def test_a_table_has_every_query_to_the_last_digit(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(render(view(results, language="he"), ".csv"))))
    assert [row["query_id"] for row in rows] == [entry.query_id for entry in results.per_query]
    if isinstance(results, GradedResults):
        key = results.receipt.measures[0].key
        assert float(rows[0][key]) == results.per_query[0].metrics[key]


def test_what_cannot_be_told_is_inconclusive_in_a_golden_report() -> None:
    """A default gate without a baseline was not measured; any other that cannot be told is open."""
    results = recorded("fi-small.json")
    assert isinstance(results, GoldenResults)
    assert results.verdict is not None
    assert "not measured: D" in evaluation_report(view(results))
    checks = [msgspec.structs.replace(check, counts=True) for check in results.verdict.checks]
    passing = [
        msgspec.structs.replace(check, status="pass") if check.status == "fail" else check
        for check in checks
    ]
    verdict = msgspec.structs.replace(results.verdict, checks=passing, status="inconclusive")
    opened = msgspec.structs.replace(results, verdict=verdict)
    assert "**Inconclusive: D**" in evaluation_report(view(opened))
    assert "**Ratkaisematta: D**" in evaluation_report(view(opened, language="fi"))
    assert '<span class="badge inconclusive">RATKAISEMATTA</span>' in render(
        view(opened, language="fi"), ".html"
    )


def test_words_do_not_obey_what_a_set_is_called() -> None:
    results = recorded("en-bm25.json")
    named = msgspec.structs.replace(results, engine='<script>"{x}"')
    for language in LANGUAGES:
        page = render(view(named, language=language), ".html")
        assert "<script>&#34;" not in page
        assert "&lt;script&gt;&#34;{x}&#34;" in page
