from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Document, Hit, Locator
from assay.evaluation.golden.scoring import checks_of
from assay.law.matching import (
    KnownDocument,
    PlaceKey,
    hit_place,
    in_force,
    is_near,
    known_document,
    matches,
    place_of,
    unreadable,
)
from assay.law.places import normal_moment, normal_section
from kit.golden_cases import hit, question

NODE = "410/2015:fin@20230780:110a:2"


@pytest.mark.parametrize(
    "form",
    ["110a", "110 a", "110 A §", "110A", " 110a ", "110 a §:n", "§ 110a", "Section 110a", "0110a"],
)
def test_one_section_has_many_spellings(form: str) -> None:
    assert normal_section(form) == "110a"


@pytest.mark.parametrize("form", [110, "110", 110.0, "110 §", "110."])
def test_a_section_number_may_be_a_number(form: object) -> None:
    assert normal_section(form) == "110"


@pytest.mark.parametrize(
    "form", [2, "2", "2.", "2 mom.", "2 momentti", 2.0, " 2 ", "02", "mom. 2", "momentti 2"]
)
def test_a_moment_may_be_number_or_text(form: object) -> None:
    assert normal_moment(form) == "2"


def test_a_moment_written_with_the_section_is_not_lost() -> None:
    found = place_of({"section": "110 a §:n 12 mom."})
    assert (found.section, found.moment) == ("110a", "12")


@given(
    st.integers(1, 999),
    st.sampled_from(["", "a", "b", "C"]),
    st.lists(st.sampled_from(["", " ", "\t"]), min_size=3),
)
def test_spaces_and_case_never_matter(number: int, suffix: str, spaces: list[str]) -> None:
    spelled = f"{spaces[0]}{number}{spaces[1]}{suffix.upper()}{spaces[2]}§"
    assert normal_section(spelled) == f"{number}{suffix.lower()}"


@pytest.mark.parametrize(
    "found",
    [
        hit("110a", 2),
        hit(110, "2", section_suffix="a"),
        hit(110, "2", section_id="110a"),
        Hit(doc_id="x", locator=Locator(section="110 a", moment="2")),
        Hit(doc_id=NODE),
    ],
    ids=["number", "suffix", "id", "locator", "node id"],
)
def test_every_way_a_hit_says_where_it_stands(found: Hit) -> None:
    assert matches(place_of({"section": "110 A §", "moment": 2}), hit_place(found))
    assert matches(place_of({"section": "110a"}), hit_place(found)), "no moment means any moment"
    assert not matches(place_of({"section": "110"}), hit_place(found))
    assert not matches(place_of({"section": "110a", "moment": "3"}), hit_place(found))


def test_a_lookup_in_the_corpus_places_a_bare_id() -> None:
    parts = {"law": "Kuntalaki", "section_num": 113, "section_suffix": None, "moment": "2"}
    known = {"d7": KnownDocument(place_of(parts))}
    assert matches(
        place_of({"law": "kuntalaki", "section": 113, "moment": 2}),
        hit_place(Hit(doc_id="d7"), known.get),
    )
    assert not matches(place_of({"section": 113}), hit_place(Hit(doc_id="d8"), known.get))


def test_documents_of_a_corpus_can_be_looked_up() -> None:
    by_locator = Document(
        id="a", text="t", locator=Locator(doc_id="lapua", page=5, table="p5-t1"), valid_from="2024"
    )
    by_metadata = Document(
        id="b",
        metadata={"law": "Kuntalaki", "section_num": 110, "section_suffix": "a", "table": {}},
    )
    known = {
        document.id: known_document(document)
        for document in (by_locator, by_metadata, Document(id=NODE))
    }
    assert matches(
        place_of({"doc_id": "lapua", "page": 5, "table": "P5-T1"}),
        hit_place(Hit(doc_id="a"), known.get),
    )
    assert matches(
        place_of({"law": "kuntalaki", "section": "110a"}), hit_place(Hit(doc_id="b"), known.get)
    )
    assert matches(place_of({"law": "410/2015", "section": "110a", "moment": 2}), known[NODE].place)
    assert (known["a"].text, known["a"].place.valid_from) == ("t", "2024")


@pytest.mark.parametrize(
    "law",
    ["Kuntalaki", "410/2015", "fi:act:410/2015", "kuntalaki_410-2015", "Kuntalaki (410/2015)"],
)
def test_a_law_goes_by_name_number_or_key(law: str) -> None:
    carried = hit(110, 1, law="Kuntalaki", law_id="410/2015")
    assert matches(place_of({"law": law, "section": "110"}), hit_place(carried))
    assert not matches(
        place_of({"law": law, "section": "110"}), hit_place(hit(110, 1, law="Osakeyhtiölaki"))
    )


@pytest.mark.parametrize(
    "wanted",
    [
        {"chapter": "5 luku", "section": "21"},
        {"section": "5:21"},
        {"section": "5 luku 21 §"},
        {"section": "21"},
    ],
)
def test_chapters_tell_sections_of_one_number_apart(wanted: dict[str, str]) -> None:
    fifth, tenth = (
        Hit(doc_id=f"624/2006:fin@20250561:{chapter}:21:1") for chapter in ("5l", "10l")
    )
    assert matches(place_of(wanted), hit_place(fifth))
    assert matches(place_of(wanted), hit_place(hit(21, 1))), "a hit need not say its chapter"
    assert matches(place_of(wanted), hit_place(tenth)) == (wanted == {"section": "21"})
    assert matches(place_of(wanted | {"law": "624/2006"}), hit_place(fifth))


def test_pages_tables_and_rows() -> None:
    found = Hit(
        doc_id="lapua:p15:t1",
        locator=Locator(doc_id="lapua", page=15, table="Tuloslaskelma 2023", row="Vuosikate"),
    )
    assert place_of({"page": "s. 15"}) == place_of({"page": 15})
    assert matches(
        place_of({"doc_id": "lapua", "page": "15", "table_id": "tuloslaskelma 2023"}),
        hit_place(found),
    )
    assert matches(place_of({"doc_id": "lapua:p15:t1", "row": "vuosikate"}), hit_place(found))
    assert not matches(place_of({"doc_id": "lapua", "page": 16}), hit_place(found))
    assert is_near(place_of({"doc_id": "lapua", "page": 16}), hit_place(found))
    assert not is_near(place_of({"doc_id": "kauhava", "page": 16}), hit_place(found))


def test_an_empty_expectation_matches_nothing() -> None:
    assert not matches(PlaceKey(), hit_place(hit(1, 1)))


def test_versions_by_date_and_by_name() -> None:
    old = place_of({"section": 5, "valid_from": "2010-01-01", "valid_to": "2015-04-30"})
    assert in_force(old, "2015-04-30")
    assert not in_force(old, "2015-05-01")
    assert not in_force(old, "2009-12-31")
    assert in_force(place_of({"section": 5}), "2015-05-01"), "only what is known can refute"
    assert in_force(place_of({"effective_from": "1.5.2015"}), "2015-05-01")
    assert matches(
        place_of({"section": 5, "version": "20230780"}),
        place_of({"section": 5, "version": "fin@20230780"}),
    )


@pytest.mark.parametrize(
    "written", ["110 a § 2", "110 a §:n 2", "110 A § (2)", "§ 110 a § 2 mom.", "sec 110a § 2."]
)
def test_a_number_after_the_section_sign_is_the_moment(written: str) -> None:
    wanted = place_of({"section": written})
    assert (wanted.section, wanted.moment) == ("110a", "2"), (
        "it must not be lost, or any moment would do"
    )


@pytest.mark.parametrize(
    "written", ["110 a", "§ 110 a", "s. 110 a", "110 A §", "13 luku 110 a §", "110 a §:n"]
)
def test_a_section_alone_takes_any_moment(written: str) -> None:
    wanted = place_of({"section": written})
    assert (wanted.section, wanted.moment) == ("110a", "")


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("110a(3)", {"section": "110a", "moment": "3"}),
        ("110 a § 3 mom.", {"section": "110a", "moment": "3"}),
        ("110.3 §", {"section": "110", "moment": "3"}),
        ("110 § 3 mom. 2 kohta", {"section": "110", "moment": "3"}),
        ("Kuntalaki 110 a §", {"section": "110a", "law": "Kuntalaki"}),
        ("Kuntalain 110 a §:n 3 momentti", {"section": "110a", "moment": "3", "law": "Kuntalaki"}),
        (
            "Kuntalaki (410/2015) 110 a",
            {"section": "110a", "law": "Kuntalaki", "law_id": "410/2015"},
        ),
        ("410/2015 110 §", {"section": "110", "law": "410/2015"}),
        ("OYL 5:21.2 §", {"law": "OYL", "chapter": "5", "section": "21", "moment": "2"}),
        (
            "חוק התכנון והבניה סעיף 197(א)",
            {"law": "חוק התכנון והבניה", "section": "197", "moment": "א"},
        ),
        (
            "Government Code section 87103(a)",
            {"law": "government code", "section": "87103", "moment": "a"},
        ),
        ("18702.2", {"section": "18702.2"}),
        ("liite 1", {"section": "liite1"}),
    ],
)
def test_a_citation_written_as_the_section_is_taken_apart(
    written: str, parts: dict[str, str]
) -> None:
    assert place_of({"section": written}) == place_of(parts)
    assert unreadable({"section": written}) == ("", "")


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        ({"section": "110–112 §"}, "section"),
        ({"section": "110, 111"}, "section"),
        ({"section": "110 ja 111 §"}, "section"),
        ({"section": "110 tai 111"}, "section"),
        ({"section": "kuntalain 110 a ja 111 §"}, "section"),
        ({"section": "kuntalain 110, 111 ja 112 §"}, "section"),
        ({"section": "kuntalain 110 §:n 3 momentin ja 111 §:n 1 momentti"}, "section"),
        ({"section": "110 3"}, "section"),
        ({"section": "RL 30:8:1"}, "section"),
        ({"section": "pyk. 110"}, "section"),
        ({"section": "סעיף קטן (א)"}, "section"),
        ({"section": "3 mom."}, "section"),
        ({"section": "110a.3"}, "section"),
        ({"section": "Kuntalaki"}, "section"),
        ({"section": "momentti 3"}, "section"),
        ({"section": "§"}, "section"),
        ({"section": "110 §", "moment": "2 ja 3"}, "moment"),
        ({"section": "110 § 3 mom.", "moment": 2}, "moment"),
        ({"law": "Kuntalaki 110 §"}, "law"),
    ],
)
def test_a_place_that_nothing_could_meet_is_refused(parts: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError, match=rf"q: expected_any\[0\]\.{key}: ") as caught:
        checks_of(question(expected_any=[parts]))
    assert "several are several expectations" in str(caught.value)


def test_a_short_name_of_no_known_law_is_refused_in_a_sentence() -> None:
    """Rather than taken for a label that no hit could meet."""
    asked = question(expected_any=[{"section": "AKL 5"}], language="fi")
    with pytest.raises(InputError, match="begins with AKL, a short name of no law known here"):
        checks_of(asked)
    assert place_of({"section": "AKL 5 §"}, "fi") == place_of({"section": "5", "law": "AKL"})
