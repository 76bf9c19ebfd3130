"""A place of an act in English is printed in English."""

from dataclasses import replace

import pytest

from assay.core.types import Document, Locator
from assay.law.citing import citation_of
from assay.law.en_names import place_name
from assay.law.matching import label, place_of


@pytest.mark.parametrize(
    ("place", "printed"),
    [
        ({"section": "4", "moment": "2"}, "s. 4(2)"),
        ({"section": "4", "moment": "(2)(a)"}, "s. 4(2)(a)"),
        ({"section": "4a", "moment": "", "chapter": "3"}, "ch. 3 s. 4a"),
        ({"section": "4", "moment": "2", "schedule": "1"}, "Sch. 1 para. 4(2)"),
        ({"section": "", "moment": "2", "schedule": "1"}, "Sch. 1 (2)"),
    ],
)
def test_as_it_is_printed(place: dict[str, str], printed: str) -> None:
    assert place_name(**place) == printed


@pytest.mark.parametrize(
    ("language", "cited"), [("en", "Gift Act s. 4(2)"), ("fi", "Gift Act 4 § 2 mom.")]
)
def test_a_citation_is_in_the_language_of_its_act(language: str, cited: str) -> None:
    place = Locator(doc_id="d", section="4", moment="2")
    act = Document(id="d", text="t", locator=place, metadata={"law": "Gift Act"}, language=language)
    assert citation_of(act) == cited


@pytest.mark.parametrize(
    ("law", "language", "told"),
    [
        ("gifts", "en", "gifts s. 4(2)"),
        ("gifts", "", "gifts 4 § 2 mom."),
        ("kuntalaki", "en", "kuntalaki 4 § 2 mom."),
        ("410/2015", "en", "410/2015 4 § 2 mom."),
    ],
)
def test_a_finnish_act_is_cited_in_finnish_whoever_asks(law: str, language: str, told: str) -> None:
    assert label(place_of({"law": law, "section": "4", "moment": "2"}, language)) == told


def test_an_english_act_that_has_a_number_too_is_cited_in_english() -> None:
    place = place_of({"law": "Gift Act 2010", "section": "4", "moment": "2"}, "en")
    numbered = replace(place, act_numbers=frozenset({"17/2010"}))
    assert label(numbered) == "gift act 2010 s. 4(2)"
