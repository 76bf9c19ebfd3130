"""Towns by their inflected names."""

from __future__ import annotations

import pytest

from assay.language.towns import former_in, is_governed, towns_in


@pytest.mark.parametrize(
    ("text", "towns"),
    [
        ("Mikä oli Lapuan kaupungin vuosikate?", ["Lapua"]),
        ("Paljonko Seinäjoella oli velkaa, entä Kauhavalla?", ["Seinäjoki", "Kauhava"]),
        ("seinajoen toimintakulut", ["Seinäjoki"]),
        ("helsingin lainakanta 2024", ["Helsinki"]),
        ("Turun ja Mänttä-Vilppulan verotulot", ["Turku", "Mänttä-Vilppula"]),
        ("Lahden vuosikate", ["Lahti"]),
        ("mitä lahden pohjalla on", []),  # a bay
        ("vaalien tulos ja lainojen määrä", []),
        ("Kuka voitti jääkiekon maailmanmestaruuden?", []),
    ],
)
def test_towns_that_a_question_names(text: str, towns: list[str]) -> None:
    assert towns_in(text) == towns


@pytest.mark.parametrize(
    ("text", "former"),
    [
        ("Mitkä olivat Nurmon kunnan verotulot?", {"Nurmo": True}),
        ("ylihärmän kunnan vuosikate", {"Ylihärmä": True}),
        ("Paljonko Nurmon koulun saneeraus maksoi?", {"Nurmo": False}),
        ("Peräseinäjoella ja Alahärmässä", {"Peräseinäjoki": False, "Alahärmä": False}),
        ("Seinäjoen vuosikate", {}),
    ],
)
def test_towns_of_the_past(text: str, former: dict[str, bool]) -> None:
    assert former_in(text) == former


def test_a_town_that_only_the_collection_knows() -> None:
    assert towns_in("Sataman vuosikate", ("Satama",)) == ["Satama"]


def test_the_town_itself_or_what_has_its_name() -> None:
    assert is_governed("Saarijärvi", "Saarijärven kaupungin ruoppaus")
    assert not is_governed("Saarijärvi", "Saarijärven ruoppaus, jonka kaupunki teetti")
