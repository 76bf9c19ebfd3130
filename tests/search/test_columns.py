"""The column of a row that a question asks for."""

from __future__ import annotations

import pytest

from assay.core.types import Document
from assay.corpus.importers.report_rows import kind_of, year_of
from assay.search.reports.cells import cell_of

BUDGET = (
    "Alkuperäinen talousarvio",
    "TA Muutokset",
    "Talousarvio muutosten jälkeen",
    "Toteutuma",
    "Poikkeama",
    "Tot. %",
)
KEY = ("TP 2023", "TA 2024", "TP 2024", "MUUTOS TP2023/2024")
STAFF = ("Vakinaiset Yhteensä", "Sijaiset", "Määräaikaiset", "Työllistetyt", "Yhteensä")
SHARES = ("Kotipaikka", "Kaupungin omistusosuus %", "Konsernin omistusosuus %")
GROWTH = ("2024", "2023", "Muutos €", "Muutos %")


def _row(label: str, columns: tuple[str, ...]) -> Document:
    figures = [
        {
            "column": column,
            "text": column if column == "Kotipaikka" else str(number),
            "value": None if column == "Kotipaikka" else float(number),
            "year": year_of(column),
            "kind": kind_of(column),
        }
        for number, column in enumerate(columns)
    ]
    metadata = {"type": "row", "year": 2024, "figures": figures}
    return Document(id="r", fields={"label": label}, metadata=metadata)


@pytest.mark.parametrize(
    ("label", "columns", "question", "expected"),
    [
        ("Verotulot", BUDGET, "Mitkä olivat verotulot 2024?", "Toteutuma"),
        ("Verotulot", BUDGET, "Paljonko verotulot poikkesivat talousarviosta 2024?", "Poikkeama"),
        ("Verotulot", BUDGET, "verotulojen ero talousarvioon", "Poikkeama"),
        ("Verotulot", BUDGET, "Paljonko verotulojen talousarviota muutettiin?", "TA Muutokset"),
        (
            "Verotulot",
            BUDGET,
            "verotulot talousarviossa muutosten jälkeen 2024",
            "Talousarvio muutosten jälkeen",
        ),
        ("Verotulot", BUDGET, "Mikä oli verotulojen toteutumisprosentti?", "Tot. %"),
        ("Verotulot", BUDGET, "verotulot talousarviossa", "Alkuperäinen talousarvio"),
        ("Liikevaihto", KEY, "Paljonko liikevaihto muuttui 2023-2024?", "MUUTOS TP2023/2024"),
        ("Liikevaihto", KEY, "liikevaihto 2023", "TP 2023"),
        ("Liikevaihto", KEY, "Mikä oli budjetoitu liikevaihto 2024?", "TA 2024"),
        ("Rahavarojen muutos", KEY, "Mikä oli rahavarojen muutos 2024?", "TP 2024"),
        ("Konsernipalvelut", STAFF, "Montako sijaista konsernipalveluissa oli?", "Sijaiset"),
        ("Konsernipalvelut", STAFF, "Montako määräaikaista siellä on?", "Määräaikaiset"),
        ("Konsernipalvelut", STAFF, "Montako työllistettiin?", "Työllistetyt"),
        ("Konsernipalvelut", STAFF, "Montako työntekijää on?", "Yhteensä"),
        ("Areena Oy", SHARES, "Mikä on Areena Oy:n kotipaikka?", "Kotipaikka"),
        ("Areena Oy", SHARES, "konsernin omistusosuus Areena Oy:stä", "Konsernin omistusosuus %"),
        ("Areena Oy", SHARES, "omistusosuus Areena Oy:stä", "Kaupungin omistusosuus %"),
        ("Henkilöstö", GROWTH, "Kuinka monta prosenttia henkilöstö kasvoi?", "Muutos %"),
        ("Henkilöstö", GROWTH, "Paljonko henkilöstö kasvoi?", "Muutos €"),
    ],
)
def test_the_asked_column_wins(
    label: str, columns: tuple[str, ...], question: str, expected: str
) -> None:
    cell = cell_of(_row(label, columns), question)
    assert cell is not None
    assert cell.column == expected
