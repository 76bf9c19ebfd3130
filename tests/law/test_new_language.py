"""A new language is one file and its rows in the table: nothing else is changed here, and every
reader of sections understands it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import swedish

from assay.core.types import Document, Locator
from assay.corpus import cite
from assay.law import parse, places, spellings
from assay.law.matching import place_of
from assay.law.places import Cited, read_section, sections_named
from assay.law.queries import normal_query
from assay.search import index
from assay.search.engine import Engine

WRITTEN = "kommunallagen 110 a § 3 mom."
NAMED = Cited("110a", "3", law="kommunallagen")


@pytest.fixture(autouse=True)
def with_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The two rows that Swedish would add to the table, before those of the others."""
    rows = (swedish.GRAMMAR, *spellings.GRAMMARS)
    monkeypatch.setattr(spellings, "GRAMMARS", rows)
    monkeypatch.setattr(parse, "GRAMMARS", rows)
    monkeypatch.setattr(spellings, "SPELLINGS", (swedish.SPELLING, *spellings.SPELLINGS))
    remembered = (spellings.grammar_signs, parse.law_name, places._read_section, normal_query)
    for function in remembered:
        function.cache_clear()
    yield
    for function in remembered:
        function.cache_clear()


def test_cite_golden_sets_queries_and_search_read_it() -> None:
    (answer,) = cite(WRITTEN)
    assert (answer.citation.language, answer.citation.normal) == (
        "sv",
        "kommunallagen 110a § 3 mom.",
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
