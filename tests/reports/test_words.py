"""One table of words in three languages: nothing is named in one of them alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.results import BOUNDS, DROPS, EVIDENCE, Gate
from assay.evaluation.gates import decide
from assay.evaluation.golden.figures import FIGURES, SLICES
from assay.evaluation.golden.scoring import FAILURES
from assay.evaluation.measures import MEASURES
from assay.formats.results_json import read_results
from assay.judging.perturb import FAMILIES, PERTURBATIONS
from assay.reports.numbers import Numbers
from assay.reports.wording import Sentences, warning
from assay.reports.words import (
    LANGUAGES,
    PAGES,
    Words,
    language_of,
    page_table,
    page_words,
    table,
)
from assay.web.page_frame import NAVIGATION

RESULTS = Path(__file__).parents[1] / "fixtures" / "results-0.1"
OTHERS = [language for language in LANGUAGES if language != "en"]


def texts(language: str) -> Iterator[tuple[str, str]]:
    for section, entries in table(language).items():
        for key, entry in entries.items():
            for text in [entry] if isinstance(entry, str) else entry:
                yield f"{section}.{key}", text
    for page in page_names():
        for key, entry in page_table(page, language).items():
            for text in [entry] if isinstance(entry, str) else entry:
                yield f"{page}.{key}", text


def page_names() -> list[str]:
    return sorted({path.name.partition(".")[0] for path in PAGES.glob("*.toml")})


# a packet is a file without a header
@pytest.mark.parametrize("page", sorted(set(page_names()) - {"packet"}))
def test_a_page_does_not_rename_the_entries_of_the_header(page: str) -> None:
    for language in LANGUAGES:
        words, header = page_table(page, language), table(language)["pages"]
        assert all(words.get(word, header[word]) == header[word] for _, word in NAVIGATION)


@pytest.mark.parametrize("page", page_names())
def test_a_page_has_its_words_in_every_language(page: str) -> None:
    english = page_table(page, "en")
    for language in OTHERS:
        other = page_table(page, language)
        assert {key: type(entry) for key, entry in other.items()} == {
            key: type(entry) for key, entry in english.items()
        }
        for key, entry in other.items():
            assert holes(entry) == holes(english[key]), key


def holes(entry: str | list[str]) -> set[str]:
    return set(re.findall(r"{(\w+)", str(entry)))


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_every_word(language: str) -> None:
    english, other = table("en"), table(language)
    assert {name: set(entries) for name, entries in other.items()} == {
        name: set(entries) for name, entries in english.items()
    }
    for key, text in texts(language):
        section, _, name = key.partition(".")
        facts = holes((english.get(section) or page_table(section, "en"))[name])
        assert set(re.findall(r"{(\w+)", text)) <= facts, key


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_can_stand_in_a_page(language: str) -> None:
    """Words are put into pages as they are, also between quotes."""
    assert [key for key, text in texts(language) if re.search('[<>&"]', text)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_that_results_can_hold_has_a_name(language: str) -> None:
    words = table(language)
    assert set(FIGURES) <= set(words["figures"])
    assert set(FAILURES) <= set(words["failures"])
    assert {*FAMILIES, *PERTURBATIONS} <= set(words["perturbations"])
    assert set(SLICES) <= set(words["slices"])
    assert set(MEASURES) == set(words["formulas"])
    assert {*BOUNDS, *DROPS} <= set(words["golden"])
    assert {*EVIDENCE, "significance", "worst_case"} <= set(words["gate"])


def test_english_sentences_of_the_results_are_known() -> None:
    """They are looked up to be said in another language."""
    formulas = {name: formula.text for name, formula in MEASURES.items()}
    assert table("en")["formulas"] == formulas
    for section in ("policies", "reasons"):
        for text in table("en")[section].values():
            if "{" not in text:
                assert Words("fi").translated(section, str(text)) != text


@pytest.mark.parametrize("language", ["fi", "he"])
def test_every_warning_is_told_with_its_facts_in_every_language(language: str) -> None:
    words = Words(language)
    for key, sentence in table("en")["warnings"].items():
        names = re.findall(r"\{(\w+)\}", sentence)
        facts = {name: f"{n}-'x.json'" for n, name in enumerate(names)}
        told = words.translated("warnings", warning(key, **facts))
        assert told == words(f"warnings.{key}", **facts) != warning(key, **facts)
    assert words.translated("warnings", "an unknown sentence") == "an unknown sentence"


def test_figures_as_a_language_writes_them() -> None:
    finnish, hebrew = Numbers(Words("fi")), Numbers(Words("he"))
    assert finnish.percent(0.3333) == "33,3 %"
    assert finnish.percents((0.41, 0.93)) == "41–93 %"
    assert finnish.millis(1234.5) == "1 234 ms"
    assert finnish.change("pass_rate_must", -0.02, "+") == "-2,0 %-yks."
    assert hebrew.signed(-0.5) == "\u2068-0.500\u2069", "its sign stays before it"
    assert Words("fi").counted(1, "query") == "1 kysely"
    assert Words("he").counted(2, "query") == "2 שאילתות"


def test_the_language_of_a_reader() -> None:
    assert language_of("he") == "he"
    assert language_of("", "sv;q=0.9, fi-FI;q=0.8") == "fi"
    assert language_of("sv", "sv") == "en"
    assert page_words("fi")["review"] == "Tarkastus"
    with pytest.raises(UsageError, match="no report in language 'sv'"):
        Words("sv")


def test_a_gate_and_a_report_give_a_reason_in_the_same_words() -> None:
    """A results file keeps the sentence of the gate; reports word it from the facts beside it."""
    results = read_results(RESULTS / "en-my-engine.json")
    gates = [
        Gate(measure="nDCG@10", minimum=0.6, significance=0.05),
        Gate(measure="nDCG@10", minimum=0.6, worst_case=True),
        Gate(measure="nDCG@10", minimum=0.6),
        Gate(measure="P@5", minimum=0.1, min_judged=0.99, min_queries=1_000),
        Gate(measure="nDCG@10", slice="topic:lobbying", minimum=0.1, significance=0.05),
        Gate(measure="nDCG@10", max_drop=0.02),
    ]
    tell, kinds = Sentences(Words("en")), set()
    for check in decide(results, gates).checks:
        kinds |= {why.kind for why in check.whys}
        if "no_baseline" not in kinds:  # which says how to record one, too
            said = "; ".join(map(tell.why, check.whys))
            assert check.message.endswith(f". Inconclusive: {said}" if said else "0.6")
    assert {"few_judged", "few_queries", "needs_queries"} <= kinds
