"""Swedish in any row of the table: which one it is changes nothing, and every reader of sections
understands it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.core.types import Document, Locator
from assay.corpus import cite
from assay.law import parse, places, spellings
from assay.law.matching import place_of
from assay.law.places import Cited, read_citation, read_section, sections_named
from assay.law.queries import normal_query
from assay.search import index
from assay.search.engine import Engine

WRITTEN = "kommunallagen 110 a § 3 mom."
NAMED = Cited("110a", "3", law="kommunallag")


@pytest.fixture(autouse=True, params=[0, 1, 2, 3], ids="row {}".format)
def with_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The row of Swedish before, between and after the others."""
    at: int = request.param
    others = [row for row in spellings.GRAMMARS if row.language != "sv"]
    (swedish,) = (row for row in spellings.GRAMMARS if row.language == "sv")
    rows = (*others[:at], swedish, *others[at:])
    monkeypatch.setattr(spellings, "GRAMMARS", rows)
    monkeypatch.setattr(parse, "GRAMMARS", rows)
    remembered = (
        spellings.grammar_signs,
        spellings.chapter_in_field,
        spellings.law_in_field,
        parse.law_name,
        places._read_section,
        normal_query,
    )
    for function in remembered:
        function.cache_clear()
    yield
    for function in remembered:
        function.cache_clear()


def test_each_language_is_read_where_it_says_more() -> None:
    """Swedish reads the section in the Finnish sentence too, and Finnish that in the Swedish."""
    text = "Enligt 3 kap. 2 § och kuntalain 110 §:n 3 momentti"
    swedish_one, finnish_one = (answer.citation for answer in cite(text))
    assert (swedish_one.language, read_citation(swedish_one)) == ("sv", Cited("2", chapter="3"))
    assert finnish_one.language == "fi"
    assert read_citation(finnish_one) == Cited("110", "3", law="kuntalaki")


def test_a_word_that_ends_as_a_law_is_none() -> None:
    assert sections_named("i bolagen 3 § första stycket", "sv") == [Cited("3", "1")]


def test_what_two_languages_write_alike_is_read_in_that_of_the_document() -> None:
    for language in ("sv", "fi"):
        (citation,) = parse.parse("12 § 2 mom.", first=language)
        assert (citation.language, read_citation(citation)) == (language, Cited("12", "2"))
    assert sections_named("12 § 2 mom.") == [Cited("12", "2")]


def test_a_chapter_is_its_number_in_every_language() -> None:
    assert [places.normal_chapter(text) for text in ("3 kap.", "3 luku", "17 a kap.", "3")] == [
        *("3", "3", "17a", "3")
    ]
    assert read_section("3 kap. 2 §") == Cited("2", chapter="3")
    assert place_of({"section": "3 kap. 2 §"}) == place_of({"chapter": "3 kap.", "section": "2"})
    assert read_section("Kommunallagen 110 a") == Cited("110a", law="kommunallagen")


def test_cite_golden_sets_queries_and_search_read_it() -> None:
    (answer,) = cite(WRITTEN)
    assert (answer.citation.language, answer.citation.normal) == (
        "sv",
        "kommunallag 110a § 3 mom.",
    )
    assert read_section(WRITTEN) == NAMED
    assert sections_named(f"enligt {WRITTEN} gäller") == [NAMED]
    assert place_of({"section": WRITTEN}) == place_of(
        {"law": "kommunallagen", "section": "110a", "moment": "3"}
    )
    assert normal_query("kommunallagen 110a § 3 mom.") == normal_query(WRITTEN)
    documents = [
        Document(
            id=f"{section}:{moment}",
            text=f"Bestämmelse {number}",
            locator=Locator(doc_id="1", section=section, moment=moment),
            metadata={"law": "Kommunallagen"},
            language="sv",
        )
        for number, (section, moment) in enumerate((s, m) for s in ("110", "110a") for m in "123")
    ]
    built = index.build([(document, document.id) for document in documents], dense=False)
    assert Engine(built).search("110 a § 3 mom.")[0].doc_id == "110a:3"
