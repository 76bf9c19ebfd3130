"""Evidence in the column that is expected, and pages by their printed number."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.types import Document, Hit, Locator, Query, QueryResult
from assay.evaluation.golden.scoring import Outcome, check_question
from assay.law.matching import known_document

ROW = Document(
    id="lapua:p15:t1:r6",
    text="Lapua 2023 | Tuloslaskelma | Vuosikate | 2023: 3 400 (1 000 €) | 2022: 3 100 (1 000 €)",
    fields={"label": "Vuosikate", "statement": "Tuloslaskelma"},
    locator=Locator(doc_id="lapua", page=15, table="p15-t1", row="Vuosikate"),
    metadata={
        "type": "row",
        "printed_page": "13",
        "figures": [
            {"column": "2023", "text": "3 400", "value": 3400.0, "unit": "1 000 €"},
            {"column": "2022", "text": "3 100", "value": 3100.0, "unit": "1 000 €"},
        ],
    },
)


def _checked(place: dict[str, Any], evidence: list[Any], **hit: Any) -> Outcome:
    query = Query(id="q", text="?", checks={"expected_any": [place], "evidence": evidence})
    found = Hit(doc_id=ROW.id, score=1.0, **hit)
    known = known_document(ROW)
    return check_question(
        query, QueryResult(query_id="q", hits=(found,)), locate={ROW.id: known}.get
    )


@pytest.mark.parametrize("figure", [3400, "3 400", 3_400_000, "3 400 000,00"])
def test_the_figure_of_the_column(figure: Any) -> None:
    assert _checked({"row": "Vuosikate", "column": "2023"}, [figure]).passed


@pytest.mark.parametrize("figure", [3100, 3_100_000, -3400, 1000, 2023])
def test_another_figure_of_the_row_is_no_evidence(figure: Any) -> None:
    assert not _checked({"row": "Vuosikate", "column": "2023"}, [figure]).passed


def test_a_word_may_stand_beside_the_cell_and_in_no_other_cell() -> None:
    place = {"row": "Vuosikate", "column": "2023"}
    assert _checked(place, ["Tuloslaskelma"]).passed
    assert _checked(place, ["Vuosikate"], text=ROW.text).passed
    other = ROW.text.replace("3 100 (1 000 €)", "3 100 (arvio)")
    assert not _checked(place, ["arvio"], text=other).passed
    cell = {"cell": {"column": "2023", "text": "3 400", "unit": "1 000 €"}}
    assert _checked(place, ["Vuosikate"], text=ROW.text, metadata=cell).passed


def test_the_reason_says_where_the_figure_stands() -> None:
    outcome = _checked({"row": "Vuosikate", "column": "2023"}, [3100])
    assert outcome.failure == "evidence"
    assert outcome.reason.endswith(
        "its column 2023 says 3 400 (1 000 €) and lacks the evidence: 3100 "
        "(3100 stands in the column 2022)"
    )


@pytest.mark.parametrize(
    ("figure", "holds"),
    [
        ("3 400 t€", True),
        ("3\u00a0400 (1 000 €)", True),
        ("3 400 tuhatta euroa", True),
        ("3 400 000 €", True),
        ("3,4 milj. €", True),
        ("3,4 miljoonaa euroa", True),
        ("3 400 €", False),
        ("3 400 milj. €", False),
        ("3 400 %", False),
        ("-3 400 t€", False),
        ("(3 400) t€", False),
        ("400 3 t€", False),
        ("3 100 t€", False),
    ],
)
def test_a_figure_with_its_unit_is_reckoned_in_the_unit_of_the_cell(
    figure: str, holds: bool
) -> None:
    assert _checked({"row": "Vuosikate", "column": "2023"}, [figure]).passed is holds
    in_text = _checked({"row": "Vuosikate"}, [figure]).passed
    assert in_text is (holds or figure == "3 100 t€")


@pytest.mark.parametrize(
    ("place", "passes"),
    [
        ({"table": "Tuloslaskelma"}, True),
        ({"table": "3.1 tuloslaskelma"}, True),
        ({"table": "3.1"}, True),
        ({"table": "Tuloslaskelma 2024"}, True),
        ({"table": "Tuloslaskelma 2023"}, False),
        ({"table": "3.2 Tuloslaskelma"}, False),
        ({"row": "Rahoitustuotot ja –kulut"}, True),
        ({"row": "kaupunki / rahoitustuotot ja -kulut"}, True),
        ({"row": "Tulot / Kaupunki / Rahoitustuotot ja -kulut"}, True),
        ({"row": "Menot / Rahoitustuotot ja -kulut"}, False),
        ({"row": "Rahoitustuotot"}, False),
        ({"column": "Toteuma"}, True),
        ({"column": "Toteutuma"}, True),
        ({"column": "TP 2024"}, True),
        ({"column": "2024"}, True),
        ({"column": "2022"}, False),
        ({"column": "TA 2024"}, False),
        ({"column": "TP 2023"}, False),
    ],
)
def test_a_figure_is_named_as_people_name_it(place: dict[str, Any], passes: bool) -> None:
    figures = [
        {"column": "Talousarvio €", "text": "-700 000", "unit": "€"},
        {"column": "Toteuma €", "text": "(768 243)", "unit": "€"},
        {"column": "Toteuma %", "text": "109,7 %", "unit": "%"},
        {"column": "Tilinpäätös 2023", "text": "-1 040 017", "unit": "€"},
    ]
    row = Document(
        id="row",
        text="Rahoitustuotot ja -kulut | -700 000 | (768 243) | 109,7 % | -1 040 017",
        fields={
            "label": "Rahoitustuotot ja -kulut",
            "parent": "Tulot / Kaupunki",
            "statement": "3.1 Tuloslaskelma",
        },
        locator=Locator(doc_id="a", page=1, table="p1-t1", row="Rahoitustuotot ja -kulut"),
        metadata={"year": 2024, "figures": figures},
    )
    checks = {"expected_any": [{"doc_id": "a", **place}], "evidence": ["−768 243 €"]}
    hits = (Hit(doc_id="row", score=1.0),)
    query = Query(id="q", text="?", checks=checks)
    found = check_question(
        query, QueryResult(query_id="q", hits=hits), locate={"row": known_document(row)}.get
    )
    assert found.passed is passes, found.reason


def test_a_row_that_lacks_the_column_says_which_it_has() -> None:
    outcome = _checked({"row": "Vuosikate", "column": "TA 2023"}, [])
    assert "row Vuosikate (columns 2022, 2023) is on top instead of" in outcome.reason
    assert outcome.reason.endswith("row Vuosikate column TA 2023")
    another = _checked({"row": "Toimintakate", "column": "2023"}, [])
    assert "(columns" not in another.reason


def test_without_a_column_the_whole_row_is_looked_through() -> None:
    assert _checked({"row": "Vuosikate"}, [3100]).passed


def test_words_may_stand_beside_the_figure() -> None:
    place = {"row": "Vuosikate", "column": "2023"}
    assert _checked(place, ["vuosikate", "Tuloslaskelma", 3400]).passed
    assert not _checked(place, ["toimintakate"]).passed


def test_what_the_engine_gives_as_its_cell_is_believed() -> None:
    cell = {"column": "2023", "text": "9 999", "unit": ""}
    place = {"row": "Vuosikate", "column": "2023"}
    assert _checked(place, [9999], metadata={"cell": cell}).passed
    assert not _checked(place, [3400], metadata={"cell": cell}).passed
    share = {"column": "2023", "text": "12 %", "unit": "%"}
    told = _checked(place, [3400], metadata={"cell": share})
    assert "its column 2023 says 12 % and lacks" in told.reason


def test_the_right_row_in_a_wrong_column_is_close() -> None:
    where = Locator(doc_id="lapua", page=15, table="p15-t1", row="Vuosikate", column="2022")
    outcome = _checked({"row": "Vuosikate", "column": "2023"}, [], locator=where)
    assert outcome.failure == "near_miss"
    assert "column 2022 is on top instead of row Vuosikate column 2023" in outcome.reason


@pytest.mark.parametrize(
    ("place", "passes"),
    [
        ({"doc_id": "lapua", "page": 15}, True),
        ({"doc_id": "lapua", "printed_page": "s. 13"}, True),
        ({"doc_id": "lapua", "page": 15, "printed_page": 13}, True),
        ({"doc_id": "lapua", "page": 13}, False),
        ({"doc_id": "lapua", "printed_page": 15}, False),
    ],
)
def test_a_page_by_its_place_or_by_its_printed_number(place: Any, passes: bool) -> None:
    assert _checked(place, []).passed == passes
