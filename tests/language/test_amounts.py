"""Figures as reports print them."""

from __future__ import annotations

import pytest

from assay.language.amounts import (
    factor_of,
    number_in,
    numbers_in,
    stated_unit,
    unit_in,
    without_unit,
)
from assay.language.terms import contains_term


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-38 396 165,19", -38_396_165.19),
        ("− 565 051", -565_051.0),
        ("(12)", -12.0),
        ("5,3 %", 5.3),
        ("3 400 000 €", 3_400_000.0),
        ("2,5 milj. €", 2.5),
        ("-351 t€", -351.0),
        ("12.345,6", 12_345.6),
        ("12,345.6", 12_345.6),
        ("2024", 2024.0),
        ("+4", 4.0),
        ("–", None),
        ("", None),
        ("Vuosikate", None),
        ("31.12.2024", None),
    ],
)
def test_a_cell_is_a_number_or_none(text: str, number: float | None) -> None:
    assert number_in(text) == number


def test_the_numbers_of_a_text() -> None:
    text = "Vuosikate | 2023: 3 400 000 € | 2022: -3 100,5, vuosina 2021–2022 kasvua 1.234"
    numbers = numbers_in(text)
    assert {3_400_000.0, -3_100.5, 2023.0, 2022.0, 1_234.0, 1.234} <= numbers
    assert not {400.0, 3.0, -2022.0, 3_100.5} & numbers


@pytest.mark.parametrize(
    ("heading", "unit", "factor"),
    [
        ("Tuloslaskelma (1 000 €)", "1 000 €", 1_000),
        ("milj. euroa", "milj. €", 1_000_000),
        ("Lainakanta €/asukas", "€/asukas", 1),
        ("Muutos-%", "%", 1),
        ("TP 2024", "", 1),
    ],
)
def test_the_unit_of_a_heading(heading: str, unit: str, factor: int) -> None:
    assert unit_in(heading) == unit
    assert factor_of(unit) == factor


@pytest.mark.parametrize(
    ("text", "term", "holds"),
    [
        ("Vuosikate | 2023: 3 400 000 €", "3400000", True),
        ("Vuosikate | 2023: 3 400 000,00", "3 400 000", True),
        ("Vuosikate 2023: 3 400 (1 000 €)", "3 400 000", True),
        ("Toimintakate: -45,2 miljoonaa euroa", "-45200000", True),
        ("Toimintakate: -45,2", "45,2", False),
        ("Henkilöstö 1 438", "438", False),
        ("Henkilöstö 438 henkilöä", "438", True),
        ("31.12.2024", "2024", True),
        ("Tappio (565 051)", "-565051", True),
        ("Tappio (565 051)", "(565 051)", True),
        ("Tulos -565 051 €", "565 051 €", False),
        ("Tulos -565 051 €", "−565.051,00 euroa", True),
        ("Kasvu 12,3 %", "12,3 %", True),
        ("Kasvu 12,3 prosenttia", "12,3 %", True),
        ("Kasvu 3,12 %", "12,3 %", False),
        ("Kasvu 12,3 %", "12,3 €", False),
        ("Vuosikate oli 3,4 miljoonaa euroa", "3 400 000 €", True),
        ("Vuosikate oli 3,4 miljoonaa euroa", "3,4 t€", False),
        ("Vuosikate 3 400 (1 000 €)", "1 000 €", False),
        ("määräaika on 30 päivää", "30 päivän", True),
    ],
)
def test_evidence_that_is_a_number_is_compared_as_one(text: str, term: str, holds: bool) -> None:
    assert contains_term(text, term) is holds


@pytest.mark.parametrize(
    ("heading", "unit", "bare"),
    [
        ("2024 1 000 €", "1 000 €", "2024"),
        ("TA 2024 (1 000 euroa)", "1 000 €", "TA 2024"),
        ("2024 milj. €", "milj. €", "2024"),
        ("1 000 €", "1 000 €", "1 000 €"),
        ("121 000 €", "€", "121 000 €"),
        ("Kassan riittävyys, pv", "pv", "Kassan riittävyys, pv"),
        ("Asukasmäärä 31.12.", "asukasta", "Asukasmäärä 31.12."),
    ],
)
def test_a_heading_without_its_unit(heading: str, unit: str, bare: str) -> None:
    assert unit_in(heading) == unit
    assert without_unit(heading) == bare


@pytest.mark.parametrize(
    ("title", "unit"),
    [
        ("Takausvastuut ovat yhteensä 208,6 milj. euroa", ""),
        ("Lainaa 2 345 €/asukas", ""),
        ("Takausvastuut ovat 208,6 milj. euroa (1 000 €)", "1 000 €"),
        ("Tase 31.12.2024 milj. €", "milj. €"),
        ("Tuloslaskelma 2024 1 000 €", "1 000 €"),
        ("Lainakanta, €/asukas", "€/asukas"),
    ],
)
def test_a_sum_in_a_title_is_not_the_unit_of_its_table(title: str, unit: str) -> None:
    assert stated_unit(title) == unit
