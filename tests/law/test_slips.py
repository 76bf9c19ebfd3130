"""Citations as they stand in real letters and notes: scanned, abbreviated, pointing back."""

from __future__ import annotations

import pytest

from assay.corpus import Scheme, parse
from assay.law.he_names import key_of, same_law

CALIFORNIA = Scheme(language="en", code="Gov. Code", regulation=r"18\d{3}")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Government Code Section\n     83114(b)", ["Gov. Code § 83114(b)"]),
        ("under Section 87103.1/ the", ["Gov. Code § 87103"]),  # the mark of a footnote
        ("Section 87lO3", []),  # and no part of it
        ("No. A-O5-123", ["No. A-05-123"]),
        ("In re Oglesby (1975) I FPPC Ops. 71", ["In re Oglesby (1975) 1 FPPC Ops. 71"]),
        ("In re Siegel (1977) 3FPPC Opns.62", ["In re Siegel (1977) 3 FPPC Ops. 62"]),
        ("subdivision (b) of Regulation 18702.2", ["Regulation 18702.2(b)"]),
        ("Regulation 18705.5 (subd. (b))", ["Regulation 18705.5(b)"]),
        (
            "Regulations 18702.1 and 18702.2, subd. (b) of Section 87103",
            ["Regulation 18702.1", "Regulation 18702.2", "Gov. Code § 87103(b)"],
        ),
        ("Cal. Code of Regs., tit. 22, § § 12301-12305", ["22 Cal. Code Regs. §§ 12301–12305"]),
        ("Gov. Code §§ 89504-05", ["Gov. Code §§ 89504–89505"]),
        ("26 CFR 1.501(c)(3)-1", ["26 C.F.R. § 1.501(c)(3)-1"]),
        ("Section 3 of Article II", ["art. II § 3"]),
        ("Title 24 of the United States Code, section 100", ["24 U.S.C. § 100"]),
        (
            "Thomson v. Call (1985) 38 Cal.3d 633. (Thomson, supra, at p. 648.) Id. at p. 650.",
            ["38 Cal.3d 633"] * 3,
        ),
        ("People v. Roe (1996) 48 Cal.App.4th 289. (People, supra.)", ["48 Cal.App.4th 289"]),
        (
            "No. A-90-281 (the Walsh Advice Letter, No. A-90-281). Walsh letter, supra",
            ["No. A-90-281"] * 3,
        ),
    ],
)
def test_english(text: str, normal: list[str]) -> None:
    found = parse(text, scheme=CALIFORNIA)
    assert [one.normal for one in found] == normal
    for one in found:
        assert parse(one.normal, "en", scheme=CALIFORNIA)[0].parts == one.parts


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("kuntalain 118 §:n ensimmäinen momentti", ["kuntalaki 118 § 1 mom."]),
        (
            "kuntalain 118 §:n toisessa ja kolmannessa momentissa",
            ["kuntalaki 118 § 2 mom.", "kuntalaki 118 § 3 mom."],
        ),
        ("kuntalain 118 §:n toisen momentin 2 kohta", ["kuntalaki 118 § 2 mom. 2 kohta"]),
        ("KuntaL 110,3 §", []),  # and not section 110
        ("erityisalojen hankintalain 25 §", ["erityisalojen hankintalaki 25 §"]),
        ("Ahvenanmaan kuntalain 5 §", ["ahvenanmaan kuntalaki 5 §"]),
    ],
)
def test_finnish(text: str, normal: list[str]) -> None:
    assert [one.normal for one in parse(text, "fi")] == normal


@pytest.mark.parametrize("mark", ['"', "\u05f4", "''", "'"])
def test_the_sign_in_a_hebrew_year_is_typed_in_many_ways(mark: str) -> None:
    (found,) = parse(f"סעיף 37 לחוק המקרקעין, התשכ{mark}ט-1969", "he")
    assert found.normal == 'סעיף 37 לחוק המקרקעין, תשכ"ט-1969'


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Kuntalaki on yleislaki. Sen 3 §:ssä säädetään", ["kuntalaki 3 §"]),
        (
            "Lauttalain 9 §:ssä säädetään maksusta, ja sen 3 momentin mukaan",
            ["lauttalaki 9 §", "lauttalaki 9 § 3 mom."],
        ),
        ("ja sen 3 momentin mukaan", []),  # of what, nobody can say
        ("yhtiöjärjestyksen 6 §", ["yhtiöjärjestys 6 §"]),
        ("vuokrasopimuksen 5 §:n 2 kohta", ["vuokrasopimus 5 § 2 kohta"]),
        ("hankintasopimuksen 130 §:n nojalla", ["130 §"]),  # what an act speaks of
        ("Kunnanhallitus 15.3.2021 § 102", []),  # an item of minutes
        ("voimaan 1.5.2015 kuntalain 5 §", ["kuntalaki 5 §"]),
    ],
)
def test_what_is_pointed_to_and_what_is_no_law(text: str, normal: list[str]) -> None:
    assert [one.normal for one in parse(text, "fi")] == normal


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        (
            "סעיף 19(ג) לתוספת ה-3 לחוק התכנון והבניה",
            ["סעיף 19(ג) לתוספת השלישית לחוק התכנון והבניה"],
        ),
        ("פרט ב לתוספת השנייה לחוק הגנים", ["פרט ב לתוספת השנייה לחוק הגנים"]),
        ('ס"ס 7-9 לחוק המקרקעין', ["סעיף 7-9 לחוק המקרקעין"]),
        ("סעיף 16א שבחוק מיסוי מקרקעין", ["סעיף 16א לחוק מיסוי מקרקעין"]),
        ("סעיף 5 להסכם השכירות", []),
        ("סעיף 12 לכתב התביעה", []),
        ("סעיף 7 לתצהירו של פלוני", []),
        ("סעיף 5 לשטר הזיכיון", []),
        ("סעיף 9 לפרוטוקול זה", ["סעיף 9"]),  # where it stands
    ],
)
def test_hebrew(text: str, normal: list[str]) -> None:
    found = parse(text, "he")
    assert [one.normal for one in found] == normal
    for one in found:
        assert parse(one.normal, "he")[0].parts == one.parts


@pytest.mark.parametrize(
    "text",
    [
        *("סעיף 18 לאמנה", "סעיף 1 לנוסח ז'נבה", "סעיף 9 לתיקון מס' 68", "סעיף 3 להחלטת הממשלה"),
        *('ס"ק 2 או 3 לסעיף זה', "סעיף 1 לחלק ב' שבתוספת", "למעט סעיף 2 שבו"),
    ],
)
def test_a_section_of_what_is_no_law_in_hebrew(text: str) -> None:
    assert not parse(text, "he")


def test_a_schedule_and_a_law_after_words_that_point_to_them() -> None:
    (found,) = parse("סעיף 4(2) שבתוספת השביעית לחוק הביטוח הלאומי", "he")
    assert found.normal == "סעיף 4(2) לתוספת השביעית לחוק הביטוח הלאומי"
    found = parse("לפי חוק המקרקעין, סעיף 5, ולפי סעיף 9 לאותו החוק", "he")[-1]
    assert found.normal == "סעיף 9 לחוק המקרקעין"


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("päättää 4 §:ssä ja tämän pykälän 1 tai 2 momentissa", ["4 §", "1 mom.", "2 mom."]),
        ("hallintolain (434/2003) jääviyttä koskevan 28 §:n", ["hallintolaki (434/2003) 28 §"]),
        ("10 luvussa tarkoitetuista ja muiden luvun 1 §:ssä tarkoitettujen", []),
        ("pykälät 39 ja 40", ["39 §", "40 §"]),
        ("kuntalain §:t 14 ja 15", ["kuntalaki 14 §", "kuntalaki 15 §"]),
        ("kuntalaki 90§1mom", ["kuntalaki 90 § 1 mom."]),
    ],
)
def test_no_piece_is_read_for_the_whole_in_finnish(text: str, normal: list[str]) -> None:
    assert [one.normal for one in parse(text, "fi")] == normal


def test_a_title_that_is_bent_is_read_where_the_law_is_known() -> None:
    known = Scheme(laws=("Laki suurista lautoista",))
    (found,) = parse("lain suurista lautoista 80 §", "fi", scheme=known)
    assert found.normal == "laki suurista lautoista 80 §"
    (found,) = parse("lain suurista lautoista 80 §", "fi")
    assert found.normal == "80 §"


def test_an_item_of_minutes_is_no_section_in_any_language() -> None:
    assert not parse("Kunnanvaltuusto 12.12.2022 § 87")


def test_a_schedule_in_short_and_an_edition_in_round_brackets() -> None:
    (found,) = parse("ס' 19(ב) לתוס' השלישית לחוק התכנון והבניה", "he")
    assert found.parts["schedule"] == "3"
    known = key_of('פקודת החברות [נוסח חדש], התשמ"ג–1983')
    assert same_law(key_of("פקודת החברות (נוסח חדש)", 'תשמ"ג-1983'), known)


def test_the_addressee_stands_before_a_number_in_brackets() -> None:
    (found,) = parse("(Dorman Advice Letter (I-90-253) if the", scheme=CALIFORNIA)
    assert (found.normal, found.name) == ("No. I-90-253", "Dorman")
