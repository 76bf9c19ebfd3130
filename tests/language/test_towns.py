"""Towns by their inflected names."""

from __future__ import annotations

import pytest

from assay.language.towns import towns_in


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


def test_a_town_that_only_the_collection_knows() -> None:
    assert towns_in("Sataman vuosikate", ("Satama",)) == ["Satama"]
