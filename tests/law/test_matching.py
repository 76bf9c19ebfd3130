"""Comparing places: what fills a gap, what matches, what is a near miss, how each place is printed,
and why one is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assay.core.types import Document, Hit, Locator
from assay.law.citing import citation_of
from assay.law.en_names import place_name
from assay.law.matching import (
    NOWHERE,
    CellText,
    KnownDocument,
    PlaceKey,
    close_versions,
    hit_place,
    in_column,
    in_force,
    is_column,
    is_near,
    known_document,
    label,
    matches,
    normal_laws,
    normal_row,
    one_language,
    parse_node_id,
    place_of,
    same_law,
    unreadable,
)

FULL = PlaceKey(
    doc_ids=frozenset({"d"}), act_numbers=frozenset({"410/2015"}),
    law_names=frozenset({"kuntalaki"}), part="2", chapter="5", schedule="1",
    section="110", moment="3", page="4", printed="5",
    table="t", row="r", column="2023", version="7",
)  # fmt: skip


def test_every_part_that_is_asked_for_has_to_be_there() -> None:
    assert matches(FULL, FULL)
    for part in ("schedule", "section", "moment", "page", "printed", "table", "row", "column"):
        wanted = PlaceKey(**{part: getattr(FULL, part)})
        assert matches(wanted, FULL), part
        for other in ("x", ""):
            assert not matches(FULL, replace(FULL, **{part: other})), part
            assert not matches(wanted, replace(FULL, **{part: other})), part
        assert matches(replace(FULL, **{part: ""}), FULL), part
    for part in ("part", "chapter"):  # these a hit need not say
        assert not matches(FULL, replace(FULL, **{part: "9"}))
        assert matches(FULL, replace(FULL, **{part: ""}))
        assert matches(replace(FULL, **{part: ""}), FULL)
    for version in ("", "8"):
        got = replace(FULL, version=version)
        assert (matches(FULL, got), matches(FULL, got, any_version=True)) == (False, True)
        assert matches(replace(FULL, version=""), got)
    assert not matches(FULL, replace(FULL, doc_ids=frozenset()))
    assert matches(replace(FULL, doc_ids=frozenset()), FULL)
    named = replace(FULL, table="p4-t1", table_names=frozenset({"t", "tase"}))
    assert matches(FULL, named)
    assert not matches(replace(FULL, table="x"), named)
    assert not matches(NOWHERE, FULL)


@pytest.mark.parametrize(
    ("wanted", "got", "same"),
    [
        (({}, {}), ({"1/2000"}, {"a"}), True),  # any law
        (({"1/2000"}, {"a"}), ({"1/2000"}, {"b"}), True),
        (({"1/2000"}, {"a"}), ({"2/2000"}, {"a"}), False),  # two acts of one name
        (({"1/2000"}, {"a"}), ({}, {"a"}), True),
        (({}, {"a"}), ({"1/2000"}, {"a"}), True),
        (({}, {"a"}), ({"1/2000"}, {"b"}), False),
        (({"1/2000"}, {}), ({}, {"a"}), False),
        (({"1/2000"}, {}), ({}, {}), False),
    ],
)
def test_a_law_is_the_same_by_number_or_by_name(wanted: Any, got: Any, same: bool) -> None:
    one, other = (
        PlaceKey(act_numbers=frozenset(numbers), law_names=frozenset(names))
        for numbers, names in (wanted, got)
    )
    assert same_law(one, other) == same
    assert one.names_law == bool(wanted[0] or wanted[1])


def test_gaps_are_filled_from_the_locator_the_corpus_and_last_the_id() -> None:
    found = Hit(
        doc_id="410/2015:fin@20230780:110:2",
        metadata={"moment": "9", "section": "110"},
        locator=Locator(section="110", moment="8", page=3),
    )
    known = KnownDocument(place_of({"section": "110", "page": 7, "table": "t", "law": "Kuntalaki"}))
    place = hit_place(found, {found.doc_id: known}.get)
    assert (place.section, place.moment, place.page, place.table) == ("110", "9", "3", "t")
    assert (place.law_names, place.act_numbers) == ({"kuntalaki"}, {"410/2015"})
    assert (place.version, place.doc_ids) == ("20230780", {found.doc_id})
    # the moment of another section is not ours; that of the same one is
    for section, moment in (("111", ""), ("110", "2")):
        bare = Hit(doc_id="410/2015:fin@1:110:2", metadata={"section": section})
        assert hit_place(bare).moment == moment
    # a whole act is its number, unless the law is named otherwise
    whole = Locator(doc_id="410/2015")
    assert hit_place(Hit(doc_id="x", locator=whole)).act_numbers == {"410/2015"}
    named = Hit(doc_id="x", locator=whole, metadata={"law": "1/2000"})
    assert hit_place(named).act_numbers == {"1/2000"}
    assert hit_place(Hit(doc_id="x"), lambda _: None) == PlaceKey(doc_ids=frozenset({"x"}))


def test_every_field_of_a_place_is_read() -> None:
    raw = {
        "doc_id": "a", "node_id": "b", "law": ["Kuntalaki", "410/2015"], "part": "2",
        "chapter": "5", "schedule": " One ", "section": "110", "section_suffix": "a",
        "moment": 3, "page": 4,
        "printed_page": "5", "table": "T 1", "row": "I Peruspääoma:", "column": "TP 2023",
        "table_title": ["Tase", ""], "columns": ["2023", "2022"], "version": "fin@7",
        "valid_from": "1.5.2015", "valid_to": "2016-01-01",
    }  # fmt: skip
    place = place_of(raw, "fi")
    assert place == PlaceKey(
        doc_ids=frozenset({"a", "b"}), act_numbers=frozenset({"410/2015"}),
        law_names=frozenset({"kuntalaki"}), part=place.part, chapter="5", schedule=place.schedule,
        section="110a", moment="3", page="4", printed="5", table="t1", row="peruspääoma",
        column="tp2023", table_names=frozenset({"tase"}), columns=frozenset({"2023", "2022"}),
        version="7", valid_from="2015-05-01", valid_to="2016-01-01",
    )  # fmt: skip
    assert (place.language, place.part != "", place.schedule != "") == ("fi", True, True)
    assert place_of({}) == NOWHERE
    assert place_of({"page_num": 6}).page == "6"
    assert place_of({"page": 5, "page_num": 6}).page == "5"
    assert place_of({"section_num": 110, "section_id": "110a"}).section == "110a"
    assert place_of({"section": "110b", "section_suffix": "a"}).section == "110b"
    assert place_of({"section": "110 § 2 mom.", "moment": "3"}).moment == "3"


def test_laws_are_numbers_and_names() -> None:
    for given, numbers, names in (
        (["kuntalaki_410-2015"], {"410/2015"}, {"kuntalaki"}),
        (["Kuntalaki (0410/2015)"], {"410/2015"}, {"kuntalaki"}),
        (["fi:act:410/2015"], {"410/2015"}, set()),
        (["410/2015", "OYL"], {"410/2015"}, {"osakeyhtiölaki"}),
        (["14100/20155"], set(), {"14100/20155"}),
        ([], set(), set()),
    ):
        assert normal_laws(given) == (numbers, names), given


def test_rows_and_columns_by_what_they_are_called() -> None:
    for said, row in (
        ("I Peruspääoma", "peruspääoma"), ("A I 2 Rakennukset", "rakennukset"),
        ("1.2. Myyntituotot:", "myyntituotot"), ("  Vuosi  kate ", "vuosikate"),
        ("I", "i"), ("2 x", "2x"), (7, "7"), (None, ""),
    ):  # fmt: skip
        assert normal_row(said) == row, said
    for heading, same in (
        ("2023", True), ("tp2023", True), ("tilinpäätös2023t€", True), ("ta2023", False),
        ("mta2023", False), ("talousarvio2023", False), ("budget2023", False),
        ("muutos2023", False), ("2023%", False), ("2022-2023", False), ("12023", False),
        ("2022", False), ("", False),
    ):  # fmt: skip
        assert is_column("2023", heading) == same, heading
    assert is_column("ero", "ero")
    whole = replace(FULL, column="", columns=frozenset({"tp2023", "tp2022"}))
    assert matches(FULL, whole)
    assert not matches(replace(FULL, column="2021"), whole)
    one = replace(whole, column="tp2022")  # a hit on one cell has that column alone
    assert not matches(FULL, one)


@pytest.mark.parametrize(
    ("node_id", "parts"),
    [
        ("410/2015:fin@2023:110a:2",
         {"law": "410/2015", "version": "fin@2023", "section": "110a", "moment": "2"}),
        ("624/2006:fin@2025:5l:21:1",
         {"law": "624/2006", "version": "fin@2025", "chapter": "5l", "section": "21",
          "moment": "1"}),
        ("kuntalaki:7", {"law": "kuntalaki", "section": "7"}),
        ("kuntalaki:7:2#x:9", {"law": "kuntalaki", "section": "7", "moment": "2"}),
        ("a:b:7a", {"law": "a:b", "section": "7a"}),
        ("kuntalaki::7:", {"law": "kuntalaki", "section": "7"}),
        ("624/2006:fin@2025:17a:18:1",
         {"law": "624/2006", "version": "fin@2025", "chapter": "17a", "section": "18",
          "moment": "1"}),
        ("7", {}),
        ("A-91-123", {}),
        ("lapua:p15", {}),
        ("lapua-tilinpaatos-2023:p15", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_what_an_id_says(node_id: str, parts: dict[str, str]) -> None:
    assert parse_node_id(node_id) == parts


@pytest.mark.parametrize(
    ("parts", "key", "why"),
    [
        ({"section": "110"}, "", ""),
        ({"section": "110 § 3 mom.", "moment": 3}, "", ""),
        ({"section": "", "section_id": None, "law": "Kuntalaki"}, "", ""),
        ({"section": "110-112"}, "section", "'110-112' is not one section"),
        ({"section_num": "110", "section_id": "1-2"}, "section_id", "'1-2' is not one section"),
        ({"section": "AKL 5"}, "section",
         "'AKL 5' begins with AKL, a short name of no law known here"),
        ({"section": "110 § 3 mom.", "moment": 2}, "moment",
         "2 is not the moment in '110 § 3 mom.'"),
        ({"section": "110", "moment": "2 ja 3"}, "moment", "'2 ja 3' is not one moment"),
        ({"law": "Kuntalaki 110 §"}, "law", "'Kuntalaki 110 §' is more than a law"),
        ({"law_name": "§"}, "law_name", "'§' is more than a law"),
        ({}, "", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_read(parts: dict[str, Any], key: str, why: str) -> None:
    assert unreadable(parts, "fi") == (key, why)


@pytest.mark.parametrize(
    ("parts", "short", "full"),
    [
        ({"law": "Kuntalaki", "section": "110", "moment": "3", "chapter": "5", "version": "7"},
         "Kuntalaki 110 § 3 mom.", "Kuntalaki 5 luku 110 § 3 mom. version 7"),
        ({"law": ["b", "a"], "section": "1", "doc_id": "x"}, "b 1 §", "b 1 §"),
        ({"law_key": "osakeyhtiolaki", "law": "Osakeyhtiölaki", "section": "1"},
         "Osakeyhtiölaki 1 §", "Osakeyhtiölaki 1 §"),
        ({"doc_id": ["long", "b", "a"], "page": 4, "section": "Tase", "printed_page": 5,
          "table": "T", "row": "r", "column": "2023"},
         "a p. 4 table T row r column 2023", "a p. 4 table T row r column 2023"),
        ({"doc_id": "a", "printed_page": 5}, "a printed p. 5", "a printed p. 5"),
        ({"law": "410/2015"}, "410/2015", "410/2015"),
        ({"moment": "2"}, "2 mom.", "2 mom."),
        ({}, "?", "?"),
        ({"law": "חוק התכנון", "section": "197", "moment": "א", "chapter": "ג", "version": "7"},
         "סעיף 197(א) לחוק התכנון", "סעיף 197(א) פרק ג' לחוק התכנון גרסה 7"),
        ({"law": "חוק התכנון", "section": "197"}, "סעיף 197 לחוק התכנון", "סעיף 197 לחוק התכנון"),
        ({"law": "חוק הדוגמה", "section": "4", "moment": "א", "schedule": "3"},
         "סעיף 4(א) לתוספת השלישית לחוק הדוגמה", "סעיף 4(א) לתוספת השלישית לחוק הדוגמה"),
    ],
)  # fmt: skip
def test_how_a_place_is_printed(parts: dict[str, Any], short: str, full: str) -> None:
    place = place_of(parts)
    assert (label(place), label(place, in_full=True)) == (short, full)


@pytest.mark.parametrize(
    ("law", "language", "printed"),
    [
        ("gifts", "en", "gifts s. 4(2)"),
        ("gifts", "", "gifts 4 § 2 mom."),
        ("kuntalaki", "en", "kuntalaki 4 § 2 mom."),
        ("410/2015", "en", "410/2015 4 § 2 mom."),
        ("148069", "he", "סעיף 4(2) 148069"),
        ("148069", "fi", "148069 4 § 2 mom."),
    ],
)
def test_a_place_is_printed_in_the_language_of_its_act(
    law: str, language: str, printed: str
) -> None:
    assert label(place_of({"law": law, "section": "4", "moment": "2"}, language)) == printed


def test_an_english_act_that_has_a_number_too_is_cited_in_english() -> None:
    place = place_of({"law": "Gift Act 2010", "section": "4", "moment": "2"}, "en")
    numbered = replace(place, act_numbers=frozenset({"17/2010"}))
    assert label(numbered) == "Gift Act 2010 s. 4(2)"


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
def test_an_english_place_in_full(place: dict[str, str], printed: str) -> None:
    assert place_name(**place) == printed


@pytest.mark.parametrize(
    ("language", "cited"), [("en", "Gift Act s. 4(2)"), ("fi", "Gift Act 4 § 2 mom.")]
)
def test_a_citation_is_in_the_language_of_its_act(language: str, cited: str) -> None:
    place = Locator(doc_id="d", section="4", moment="2")
    act = Document(id="d", text="t", locator=place, metadata={"law": "Gift Act"}, language=language)
    assert citation_of(act) == cited


def test_what_a_document_of_a_report_says_of_itself() -> None:
    row = Document(
        id="x", text="t", language="fi", valid_from="2024-01-01", valid_to="2024-12-31",
        locator=Locator(doc_id="lapua", page=5, table="p5-t1", row="Vuosikate"),
        fields={"section_title": "Talous / Tuloslaskelma", "statement": "Laskelma 2023"},
        metadata={
            "table": {"title": "Tulot"}, "year": 2023, "law": "", "printed_page": 9,
            "figures": [{"column": "2023", "text": "1", "unit": "t€"}, {"column": "2022"}, "x"],
        },
    )  # fmt: skip
    known = known_document(row)
    assert (known.text, known.language) == ("t", "fi")
    assert known.cells == (CellText("2023", "1", "t€"), CellText("2022", "", ""))
    place = known.place
    assert place.doc_ids == {"x", "lapua"}
    assert place.table_names == {
        "tulot", "laskelma2023", "tuloslaskelma", "tulot2023", "tuloslaskelma2023"}  # fmt: skip
    assert (place.columns, place.row, place.printed) == ({"2023", "2022"}, "vuosikate", "9")
    assert (place.valid_from, place.valid_to) == ("2024-01-01", "2024-12-31")
    # without a table, or without a place, nothing is said of one
    for locator in (None, Locator(doc_id="lapua", page=5)):
        bare = Document(id="x", locator=locator, fields=row.fields, metadata=row.metadata)
        assert known_document(bare).place.table_names == frozenset()
        assert known_document(bare).place.columns == frozenset()
    undated = Document(id="x", locator=row.locator, fields=row.fields, metadata={})
    assert known_document(undated).place.table_names == {"laskelma2023", "tuloslaskelma"}
    plain = Document(id="y", metadata={"section_num": 7, "section_suffix": "a", "moment": ""})
    assert (known_document(plain).place.section, known_document(plain).cells) == ("7a", ())


ACT = frozenset({"410/2015"})
OTHER = frozenset({"624/2006"})
REPORT = frozenset({"report"})
ROW = PlaceKey(doc_ids=REPORT, page="15", table="t1", row="vuosikate", column="2023")


def section(number: str, *, act: frozenset[str] = ACT, **more: str) -> PlaceKey:
    return PlaceKey(act_numbers=act, section=number, **more)


@pytest.mark.parametrize(
    ("wanted", "got", "near"),
    [
        (section("110", moment="1"), section("110", moment="1"), False),  # it is right
        (section("110", moment="1"), section("110", moment="3"), True),
        (section("110", moment="1"), section("111"), True),
        (section("110"), section("109"), True),
        (section("110"), section("108"), False),
        (section("110"), section("110a"), True),
        (section("110a", moment="1"), section("110", moment="3"), True),
        (section("110"), section("111", act=OTHER), False),
        (section("110", part="1"), section("111", part="2"), False),
        (section("21", chapter="5"), section("21", chapter="6"), False),
        (section("21", chapter="5"), section("22"), True),  # it does not say its chapter
        (section("110"), PlaceKey(act_numbers=ACT, page="3"), False),
        (section("x"), section("y"), False),
        (section("x"), section("5"), False),
        (section("5"), section("x"), False),
        (PlaceKey(doc_ids=REPORT, page="15"), PlaceKey(doc_ids=REPORT, page="16"), True),
        (PlaceKey(doc_ids=REPORT, page="15"), PlaceKey(doc_ids=REPORT, page="17"), False),
        (PlaceKey(doc_ids=REPORT, page="15"), PlaceKey(doc_ids=REPORT), False),
        (PlaceKey(doc_ids=REPORT), PlaceKey(doc_ids=REPORT, page="15"), False),
        (PlaceKey(doc_ids=REPORT, page="15"), PlaceKey(page="16"), False),  # of which report?
        (PlaceKey(doc_ids=REPORT, page="4", table="t"), replace(ROW, page="4"), True),
        (PlaceKey(doc_ids=REPORT, page="4", table="t"), PlaceKey(doc_ids=ACT, page="4"), False),
        (PlaceKey(doc_ids=REPORT, printed="9"), PlaceKey(doc_ids=REPORT, printed="8"), True),
        (PlaceKey(doc_ids=REPORT, printed="9"), PlaceKey(doc_ids=REPORT, page="8"), False),
        (PlaceKey(doc_ids=REPORT, printed="9"), PlaceKey(doc_ids=REPORT), False),
        (ROW, replace(ROW, column="2022"), True),
        (replace(ROW, page=""), replace(ROW, page="", column="x"), True),
        (replace(ROW, page=""), replace(ROW, page="", row="verotulot"), False),
        (replace(ROW, page="", row=""), replace(ROW, page="", column="x"), False),
        (ROW, PlaceKey(doc_ids=REPORT, page="40", table="t1", row="verotulot"), False),
    ],
)
def test_a_near_miss(wanted: PlaceKey, got: PlaceKey, near: bool) -> None:
    assert is_near(wanted, got) == near


def test_cells_of_a_column() -> None:
    cells = [CellText("TP 2023", "1"), CellText("TA 2023", "2"), CellText("TP 2022", "3")]
    assert [cell.text for cell in in_column("2023", cells)] == ["1"]


@pytest.mark.parametrize(
    ("languages", "one"), [("fi fi", "fi"), ("fi sv", ""), ("", ""), ("he", "he")]
)
def test_the_language_of_a_corpus_is_that_of_all(languages: str, one: str) -> None:
    documents = [KnownDocument(place=PlaceKey(), language=each) for each in languages.split()]
    assert one_language(documents) == one


def test_versions_end_where_the_next_begins() -> None:
    def known(**more: Any) -> KnownDocument:
        return KnownDocument(place_of({"law": "1/2000", "section": "5"} | more))

    given = {
        "a": known(valid_from="2000-01-01"), "b": known(valid_from="2010-01-01"),
        "moment": known(valid_from="2005-01-01", moment="2"),
        "schedule": known(valid_from="2005-01-01", schedule="1"),
        "no law": known(valid_from="2005-01-01", law=""),
        "other law": known(valid_from="2005-01-01", law="2/2000"),
        "other chapter": known(valid_from="2005-01-01", chapter="2"),
        "other section": known(valid_from="2005-01-01", section="6"),
        "no section": known(valid_from="2001-01-01", section=""),
        "no section either": known(valid_from="2003-01-01", section=""),
    }  # fmt: skip
    closed = close_versions(given)
    assert {name: each.place.valid_to for name, each in closed.items()} == dict.fromkeys(
        given, ""
    ) | {"a": "2009-12-31"}
    assert list(closed) == list(given)
    assert in_force(closed["a"].place, "2009-12-31")
    assert not in_force(closed["a"].place, "2010-01-01")
