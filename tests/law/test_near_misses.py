"""What is a near miss and what is not, and what a place says of the language and the time of its
document."""

from __future__ import annotations

import pytest

from assay.law.matching import CellText, Known, Place, close_versions, in_column, in_force, is_near
from assay.law.matching import one_language as language_of

ACT = frozenset({"410/2015"})
OTHER = frozenset({"624/2006"})
REPORT = frozenset({"report"})
ROW = Place(doc_ids=REPORT, page="15", table="t1", row="vuosikate", column="2023")


def section(number: str, *, act: frozenset[str] = ACT, **more: str) -> Place:
    return Place(act_numbers=act, section=number, **more)


@pytest.mark.parametrize(
    ("wanted", "got", "near"),
    [
        (section("110", moment="1"), section("110", moment="1"), False),  # it is right
        (section("110", moment="1"), section("110", moment="3"), True),
        (section("110", moment="1"), section("111"), True),
        (section("110"), section("109"), True),
        (section("110"), section("108"), False),
        (section("110"), section("110a"), True),
        (section("110"), section("111", act=OTHER), False),
        (section("21", chapter="5"), section("21", chapter="6"), False),
        (section("21", chapter="5"), section("22"), True),  # it does not say its chapter
        (section("110"), Place(act_numbers=ACT, page="3"), False),
        (section("x"), section("y"), False),
        (Place(doc_ids=REPORT, page="15"), Place(doc_ids=REPORT, page="16"), True),
        (Place(doc_ids=REPORT, page="15"), Place(doc_ids=REPORT, page="17"), False),
        (Place(doc_ids=REPORT, page="15"), Place(doc_ids=REPORT), False),
        (Place(doc_ids=REPORT, page="15"), Place(page="16"), False),  # of which report?
        (Place(doc_ids=REPORT, printed="9"), Place(doc_ids=REPORT, printed="8"), True),
        (Place(doc_ids=REPORT, printed="9"), Place(doc_ids=REPORT, page="8"), False),
        (ROW, Place(doc_ids=REPORT, page="15", table="t1", row="vuosikate", column="2022"), True),
        (ROW, Place(doc_ids=REPORT, page="40", table="t1", row="verotulot"), False),
    ],
)
def test_a_near_miss(wanted: Place, got: Place, near: bool) -> None:
    assert is_near(wanted, got) == near


def test_cells_of_a_column() -> None:
    cells = [CellText("TP 2023", "1"), CellText("TA 2023", "2"), CellText("TP 2022", "3")]
    assert [cell.text for cell in in_column("2023", cells)] == ["1"]


@pytest.mark.parametrize(
    ("languages", "one"), [("fi fi", "fi"), ("fi sv", ""), ("", ""), ("he", "he")]
)
def test_the_language_of_a_corpus_is_that_of_all(languages: str, one: str) -> None:
    documents = [Known(place=Place(), language=each) for each in languages.split()]
    assert language_of(documents) == one


def test_a_version_ends_the_day_before_the_next_of_its_place() -> None:
    known = {
        "old": Known(place=section("5", valid_from="2000-01-01")),
        "new": Known(place=section("5", valid_from="2010-06-01")),
        "elsewhere": Known(place=section("6", valid_from="2005-01-01")),
        "other chapter": Known(place=section("5", chapter="2", valid_from="2005-01-01")),
        "no section": Known(place=Place(act_numbers=ACT, valid_from="2001-01-01")),
    }
    closed = close_versions(known)
    ends = {name: document.place.valid_to for name, document in closed.items()}
    assert ends == {name: "2010-05-31" if name == "old" else "" for name in known}
    assert in_force(closed["old"].place, "2010-05-31")
    assert not in_force(closed["old"].place, "2010-06-01")
