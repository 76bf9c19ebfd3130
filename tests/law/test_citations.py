"""Citations in three languages: what is found, what it is called, and that its name reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.corpus import Citation, Scheme, format, parse
from assay.law.fi import ENDINGS, law_name
from assay.law.he import key_of, same_law

CALIFORNIA = Scheme(language="en", code="Gov. Code", regulation=r"18\d{3}")

FORMS = [
    # English: sections of codes
    ("Section 87103(a)", "§ 87103(a)"),
    ("Gov. Code § 1090", "Gov. Code § 1090"),
    ("Government Code Section 1091, subdivision (b)(13)", "Gov. Code § 1091(b)(13)"),
    ("subdivision (a) of Section 87302", "§ 87302(a)"),
    ("Section 1090 of the Government Code", "Gov. Code § 1090"),
    ("Sections 87100 through 87105", "§§ 87100–87105"),
    ("Penal Code section 424", "Penal Code § 424"),
    ("26 U.S.C. § 501(c)(3)", "26 U.S.C. § 501(c)(3)"),
    # regulations
    ("Regulation 18702.2(a)(7)", "Regulation 18702.2(a)(7)"),
    ("2 Cal. Code Regs. Section 18702.1(a)", "Regulation 18702.1(a)"),
    ("Reg. 250.13(d)", "Regulation 250.13(d)"),
    # letters, in the number formats of five decades
    ("Smith Advice Letter, No. A-90-123", "No. A-90-123"),
    ("Letter to Mr. Prowse, No. 81-027", "No. 81-027"),
    ("A-97-208", "No. A-97-208"),
    ("Our File No. 1-91-039", "No. I-91-039"),
    ("No. A-1990-123", "No. A-90-123"),
    ("No. A-87-81", "No. A-87-081"),
    ("No. A- 04-158", "No. A-04-158"),
    ("I–00-176", "No. I-00-176"),
    ("No. I-92-133a", "No. I-92-133a"),
    ("No. A-97-251(a)", "No. A-97-251a"),
    ("No. A-14-012-1090", "No. A-14-012-1090"),
    ("No. I-89443", "No. I-89-443"),
    # reported opinions and cases
    ("In re Oglesby (1975) 1 FPPC Ops. 71", "In re Oglesby (1975) 1 FPPC Ops. 71"),
    ("In re Owen, 2 FppC ops. 77", "In re Owen, 2 FPPC Ops. 77"),
    ("38 Cal. 3d 633", "38 Cal.3d 633"),
    ("217 Cal.App.3d 1059", "217 Cal.App.3d 1059"),
    # Finnish
    ("110 §:n 3 momentti", "110 § 3 mom."),
    ("kuntalain 148 §", "kuntalaki 148 §"),
    ("110 a §", "110a §"),
    ("113–115 §", "113–115 §"),
    ("kirjanpitolain (1336/1997) 1 luvun 5 §:ssä", "kirjanpitolaki (1336/1997) 1 luku 5 §"),
    ("tämän lain 5 §:n 1 momentin 2 kohdassa", "tämä laki 5 § 1 mom. 2 kohta"),
    ("110. pykälän 3 momentti", "110 § 3 mom."),
    ("pykälä 118", "118 §"),
    ("1–3 momentissa", "1–3 mom."),
    # Hebrew
    ("סעיף 197 לחוק התכנון והבנייה", "סעיף 197 לחוק התכנון והבנייה"),
    ("בסעיף 4(5) לתוספת השלישית", "סעיף 4(5) לתוספת השלישית"),
    (
        "ס' 158ו1(א) לחוק התכנון והבניה, התשכ\"ה-1965",
        'סעיף 158ו1(א) לחוק התכנון והבניה, תשכ"ה-1965',
    ),
    (
        'סעיף 5 לחוק הפיקוח על שירותים פיננסיים (ביטוח), תשמ"א-1981',
        'סעיף 5 לחוק הפיקוח על שירותים פיננסיים (ביטוח), תשמ"א-1981',
    ),
    (
        "סעיף 19(ג)(1) לתוספת השלישית לחוק התכנון והבנייה",
        "סעיף 19(ג)(1) לתוספת השלישית לחוק התכנון והבנייה",
    ),
    ("בערר (מחוז מרכז) 8011/19", "ערר 8011/19"),
    ('ע"א 1234/05', 'ע"א 1234/05'),
]


@pytest.mark.parametrize(("text", "normal"), FORMS, ids=[text for text, _ in FORMS])
def test_a_form_has_a_normal_form_that_reads_back(text: str, normal: str) -> None:
    before = "ראו " if "\u05d0" <= max(text) <= "\u05ea" else ""
    (found,) = parse(f"{before}{text}")
    assert found.normal == normal
    assert text.endswith(found.text) or found.text in text
    (again,) = parse(found.normal, found.language)
    assert (again.kind, again.parts, again.normal) == (found.kind, found.parts, normal)


def test_spans_point_into_the_text() -> None:
    text = "See Sections 87100, 87103(a) and 87105; kuntalain 5 §:n 2 ja 3 momentti; "
    text += "ולפי סעיפים 4(5) ו-4(7) לתוספת השלישית."
    found = parse(text)
    assert all(text[one.start : one.end] == one.text for one in found)
    assert [one.normal for one in found] == [
        "§ 87100",
        "§ 87103(a)",
        "§ 87105",
        "kuntalaki 5 § 2 mom.",
        "kuntalaki 5 § 3 mom.",
        "סעיף 4(5) לתוספת השלישית",
        "סעיף 4(7) לתוספת השלישית",
    ]


def test_a_scheme_says_what_a_citation_leaves_out() -> None:
    found = parse("Section 87103 and Section 18702.1", scheme=CALIFORNIA)
    assert [one.normal for one in found] == ["Gov. Code § 87103", "Regulation 18702.1"]
    known = Scheme(laws=("חוק שמאי מקרקעין",))
    (one,) = parse("לפי סעיף 3 לחוק שמאי מקרקעין קובע המועצה", scheme=known)
    assert one.parts["law"] == "חוק שמאי מקרקעין"


def test_a_short_name_means_the_law_that_is_here() -> None:
    assert parse("KL 5 §", "fi")[0].parts["law"] == "kuntalaki"
    sale = Scheme(laws=("Kauppalaki",))
    assert parse("KL 5 §", "fi", scheme=sale)[0].parts["law"] == "kauppalaki"
    both = Scheme(laws=("Kauppalaki", "Kuntalaki"))
    assert parse("KL 5 §", "fi", scheme=both)[0].parts["law"] == "KL"


@pytest.mark.parametrize(
    ("text", "kind", "normal"),
    [
        ("Cal. Const., art. II, § 8", "constitution", "Cal. Const. art. II § 8"),
        (
            "Section 8(a) of Article IV of the Constitution",
            "constitution",
            "Cal. Const. art. IV § 8(a)",
        ),
        ("11 C.F.R. § 110.20", "regulation", "11 C.F.R. § 110.20"),
        ("14 CCR 15301", "regulation", "14 Cal. Code Regs. § 15301"),
        ("Treas. Reg. § 1.61", "regulation", "Treas. Reg. § 1.61"),
        ("2 Cal. Adm. Code Section 18702", "regulation", "Regulation 18702"),
        ("a Section 501(c)(3) organization", "statute", "Int. Rev. Code § 501(c)(3)"),
        ("Section 5 of the Brown Act", "statute", "Gov. Code § 5"),
        (
            "San Diego Municipal Code section 27.2903",
            "statute",
            "San Diego Municipal Code § 27.2903",
        ),
        ("Section 87103(a)(1)-(3)", "statute", "Gov. Code § 87103(a)(1)–(3)"),
    ],
)
def test_what_a_section_is_one_of(text: str, kind: str, normal: str) -> None:
    (found,) = parse(text, scheme=CALIFORNIA)
    assert (found.kind, found.normal) == (kind, normal)
    (again,) = parse(normal, scheme=CALIFORNIA)
    assert (again.kind, again.parts) == (kind, found.parts)


def test_section_eight_is_a_programme_too() -> None:
    assert parse("tenants with Section 8 housing vouchers", "en") == ()


CALL = "38 Cal.3d 633"
THORNER = "In re Thorner (1975) 1 FPPC Ops. 198"


def test_supra_and_id_mean_what_was_cited_before() -> None:
    text = (
        "In re Thorner (1975) 1 FPPC Ops. 198 and the Smith Advice Letter, No. A-98-123. (Id. at "
        "p. 3.) Thorner, supra, is older; so is the Jones Advice Letter, supra. Smith v. Roe was "
        "later. Id."
    )
    found = parse(text, scheme=CALIFORNIA)
    assert [one.normal for one in found] == [
        "In re Thorner (1975) 1 FPPC Ops. 198",
        *("No. A-98-123", "No. A-98-123"),
        "In re Thorner (1975) 1 FPPC Ops. 198",
    ]


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("Section 87103 defines the interest. (Ibid.)", ["Gov. Code § 87103"]),
        ("In re Thorner (1975) 1 FPPC Ops. 198 says so. Ibid.", [THORNER]),
        # a section named in passing may be what the opinion says
        ("In re Thorner (1975) 1 FPPC Ops. 198 held that Section 87103 applies. (Ibid.)", []),
        ("See In re Thorner (1975) 1 FPPC Ops. 198. Under Section 87100, no. (Ibid.)", []),
        # one that is cited by itself is what was cited last
        (
            "In re Thorner (1975) 1 FPPC Ops. 198 says so. (Section 87103.) It does. (Ibid.)",
            ["Gov. Code § 87103"],
        ),
        # a statute has no pages, and an opinion no subdivisions
        (
            "In re Thorner (1975) 1 FPPC Ops. 198 held Section 1090 applies. (Id. at p. 209.)",
            [THORNER],
        ),
        ("In re Thorner (1975) 1 FPPC Ops. 198 says so. (Id., subd. (b).)", []),
        ("Roe, 2 FPPC Ops. 77, No. 76-005 (enclosed). Id.", ["No. 76-005"]),
        # the number at the head of a page is not cited, and another section is not the same
        ("Section 1090 is broad. File No. A-23-119 Page 4 It is. (Ibid.)", []),
        ("(Thomson v. Call (1985) 38 Cal.3d 633.) File No. A-23-119 Ok. (Id. at 640.)", [CALL]),
        ("(Thomson v. Call (1985) 38 Cal.3d 633.) It is void. (Id. at p. 20.)", []),
        ("(Section 53313.) It is so. (Id. § 53358.)", []),
        # of several, nobody can say which
        ("(Section 87100; Regulation 18702.) The test is met. (Ibid.)", []),
        ("(Sections 87100 and 87103.) The test is met. (Id.)", []),
        (
            "(Section 87103(a) and (c).) The test is met. (Id., subd. (d).)",
            ["Gov. Code § 87103(d)"],
        ),
    ],
)
def test_ibid_means_the_one_authority_cited_right_before(text: str, again: list[str]) -> None:
    found = parse(text, scheme=CALIFORNIA)
    assert [one.normal for one in found if one.text.startswith(("Id", "Ibid"))] == again


def test_hebrew_laws_are_told_apart_by_bracket_and_year() -> None:
    sale = key_of('חוק המכר (דירות) (הבטחת השקעות), תשל"ה–1974')
    assert not same_law(key_of("חוק המכר", 'תשכ"ח-1968'), sale)
    assert not same_law(key_of("חוק המכר (דירות)", 'תשל"ג-1973'), sale)
    assert not same_law(key_of("חוק המכר"), sale)
    assert same_law(key_of("חוק המכר (דירות) (הבטחת השקעות)"), sale)
    tax = key_of('חוק מיסוי מקרקעין (שבח ורכישה), תשכ"ג–1963')
    assert same_law(key_of("חוק מיסוי מקרקעין"), tax)
    assert same_law(key_of("חוק מיסוי מקרקעין (שבח, מכירה ורכישה)", "1963"), tax)
    masts = key_of('חוק הרשויות המקומיות (תרנים לאנטנות), תשל"ו–1975')
    assert not same_law(key_of("חוק הרשויות המקומיות (יועץ משפטי)", 'תשל"ו-1975'), masts)
    assert same_law(key_of("חוק השתלת איברים", 'תשס"ח'), key_of('חוק השתלת אברים, התשס"ח–2008'))


def test_a_row_of_citations_carries_its_law_along() -> None:
    found = parse(
        "rikoslain 29 luvun 1 §:ssä, 2 §:ssä ja 30 luvun 8 §:ssä tarkoitettu; 4 a ja 4 c §:ssä",
        "fi",
    )
    assert [one.normal for one in found] == [
        "rikoslaki 29 luku 1 §",
        "rikoslaki 29 luku 2 §",
        "rikoslaki 30 luku 8 §",
        "4a §",
        "4c §",
    ]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("21 luvun 1 §:ssä säädetään moitteesta tai 2 §:ssä mitättömyydestä", "21 luku 2 §"),
        ("mitä 21 luvun 1 §:ssä säädetään A, 2 §:ssä B tai 3 §:ssä C", "21 luku 2 §"),
        ("mitä 21 luvun 1 §:ssä säädetään A, 2 §:ssä B tai 3 §:ssä C", "21 luku 3 §"),
        ("sekä 5 luvun 2 §:ssä että 3 §:ssä", "5 luku 3 §"),
        ("lauttalain 1 luvun 4 a §:ssä tarkoitettu alus tai 4 b §:ssä", "lauttalaki 1 luku 4b §"),
        ("lauttalain 5 §:ssä tarkoitettu alus, 6 §:ssä tarkoitettu laituri", "lauttalaki 6 §"),
        ("lauttalain 9 luvun 1 §:ssä mainittu, 9 luvun 2 §:ssä mainittu", "lauttalaki 9 luku 2 §"),
        ("lauttalain 1 luvun 3 §:n alus, johon mainitun luvun 4 §:ää", "lauttalaki 1 luku 4 §"),
        (
            "lauttalain 1 luvun 3 §:ssä. Saman luvun 4 §:n 1 momentti",
            "lauttalaki 1 luku 4 § 1 mom.",
        ),
    ],
)
def test_a_law_and_a_chapter_hold_for_the_sections_joined_to_them(text: str, normal: str) -> None:
    assert normal in [one.normal for one in parse(text, "fi")]


@pytest.mark.parametrize(
    "text",
    [
        "Jos 21 luvun 1 §:ssä säädetty ehto täyttyy, 2 §:ssä säädettyä ei sovelleta",
        "Mitä 21 luvun 1 §:ssä säädetään, 2 §:ssä tarkoitettu alus ja 3 §:ssä tarkoitettu laituri",
        "lauttalain 1 luvun 3 §:ssä tarkoitetuissa aluksissa noudatetaan 2 §:ssä säädettyä",
        "21 luvun 1 §:n nojalla päätetään ja 2 §:ssä säädetään",
        "21 luvun 1 §:ssä säädetään aluksesta. Sitä koskee 2 §:ssä säädetty",
        "21 luvun 1 §:ssä säädetään aluksesta, joka on vanha, ja 2 §:ssä laiturista",
    ],
)
def test_a_chapter_does_not_hold_beyond_its_clause(text: str) -> None:
    assert "2 §" in [one.normal for one in parse(text, "fi")]


def test_a_chapter_that_is_named_by_no_number_is_not_guessed() -> None:
    assert parse("Mainitun luvun 2 §:ssä säädetään laiturista", "fi") == ()
    (first,) = parse("1 luvun 3 §:ssä ja 2 luvussa; mainitun luvun 4 §:ssä", "fi")
    assert first.normal == "1 luku 3 §"


def test_one_number_after_a_section_is_not_another_section() -> None:
    assert [one.normal for one in parse("Section 85301, 500 feet", "en")] == ["§ 85301"]


@pytest.mark.parametrize("base", ENDINGS)
def test_every_case_form_of_a_law_leads_to_its_name(base: str) -> None:
    assert {law_name(f"satama{form}") for form in ENDINGS[base]} == {f"satama{base}"}


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InputError, match="no citation grammar"):
        parse("§ 1", "da")


# ── any citation printed in normal form parses back to itself ─────────────────────────────────────

number = st.integers(1, 99999).map(str)
subsections = st.lists(
    st.sampled_from(["(a)", "(b)", "(1)", "(12)", "(A)", "(ii)"]), max_size=3
).map("".join)
section = st.builds(lambda n, dot: n + dot, number, st.sampled_from(["", ".1", ".12", ".5"]))
year = st.integers(0, 99).map(lambda n: f"{n:02d}").filter(lambda yy: not 30 < int(yy) < 70)
file_number = st.integers(1, 999).map(lambda n: f"{n:03d}")
letters = st.sampled_from(["", "a", "b"])


def present(**parts: str) -> dict[str, str]:
    return {name: value for name, value in parts.items() if value}


english = st.one_of(
    st.tuples(
        st.just("statute"),
        st.builds(
            present,
            code=st.sampled_from(["", "Gov. Code", "Penal Code"]),
            section=section,
            sub=subsections,
        ),
    ),
    st.tuples(st.just("regulation"), st.builds(present, section=section, sub=subsections)),
    st.tuples(
        st.just("letter"),
        st.builds(
            present,
            series=st.sampled_from(["", "A", "I", "M"]),
            year=year,
            number=file_number,
            ext=letters,
        ),
    ),
    st.tuples(
        st.just("opinion"),
        st.builds(
            present,
            name=st.sampled_from(["", "Oglesby", "Owen"]),
            year=st.sampled_from(["", "1975"]),
            volume=st.integers(1, 20).map(str),
            reporter=st.just("FPPC Ops."),
            page=st.integers(1, 400).map(str),
        ),
    ),
)
small = st.integers(1, 40).map(str)
finnish = st.tuples(
    st.just("statute"),
    st.builds(
        present,
        law=st.sampled_from(
            ["", "kuntalaki", "kirjanpitoasetus", "tietoyhteiskuntakaari", "tämä laki"]
        ),
        chapter=st.sampled_from(["", "3", "8a"]),
        section=st.builds(lambda n, letter: f"{n}{letter}", st.integers(1, 300), letters),
        moment=st.one_of(st.just(""), small),
        item=st.one_of(st.just(""), small),
    ),
)
hebrew = st.tuples(
    st.just("statute"),
    st.builds(
        present,
        schedule=st.one_of(st.just(""), st.integers(1, 10).map(str)),
        law=st.sampled_from(["", "חוק התכנון והבנייה", "פקודת העיריות", "חוק מס ערך מוסף"]),
        section=st.builds(
            lambda n, letter: f"{n}{letter}", st.integers(1, 400), st.sampled_from(["", "א", "ג2"])
        ),
        sub=st.lists(st.sampled_from(["(א)", "(5)", "(ג)"]), max_size=3).map("".join),
    ),
)


@given(
    st.one_of(
        *(
            st.tuples(st.just(name), grammar)
            for name, grammar in (("en", english), ("fi", finnish), ("he", hebrew))
        )
    )
)
def test_any_citation_printed_in_normal_form_parses_back_to_itself(
    drawn: tuple[str, tuple[str, dict[str, str]]],
) -> None:
    language, (kind, parts) = drawn
    # type: ignore[arg-type]
    made = Citation(text="", start=0, end=0, kind=kind, language=language, normal="", parts=parts)
    printed = format(made)
    (found,) = parse(printed, language)
    assert (found.kind, found.parts) == (kind, parts)
    assert found.normal == printed == format(found)


@given(st.text(max_size=300))
def test_any_text_is_read_without_harm(text: str) -> None:
    for one in parse(text):
        assert text[one.start : one.end] == one.text
        assert one.normal


def test_a_capital_is_part_of_a_section_and_a_scanners_digit_is_not() -> None:
    text = "Section 12A, Section 12I, Section 8740I and Regulation 18704.1O"
    found = [citation.parts["section"] for citation in parse(text, "en")]
    assert found == ["12A", "12I", "8740", "18704.1"]


@pytest.mark.parametrize(
    ("written", "law"),
    [
        ('סעיף 197 לחוק התו"ב', 'חוק התכנון והבניה, תשכ"ה-1965'),
        ('סעיף 5 לחוק ני"ע', 'חוק ניירות ערך, תשכ"ח-1968'),
        ('סעיף 7 לחוק לשה"ר', 'חוק איסור לשון הרע, תשכ"ה-1965'),
        ('סעיף 8 לחוק השב"כ', 'חוק שירות הביטחון הכללי, תשס"ב-2002'),
        ('סעיף 2 לחוק רמ"י', 'חוק רשות מקרקעי ישראל, תש"ך-1960'),
        (
            'סעיף 3 לחוק הוותמ"ל',
            'חוק לקידום הבנייה במתחמים מועדפים לדיור (הוראת שעה), תשע"ד-2014',
        ),
        ('סעיף 4 לחוק צב"ח', 'חוק צער בעלי חיים (הגנה על בעלי חיים), תשנ"ד-1994'),
        ('סעיף 35 לפקנ"ז', "פקודת הנזיקין [נוסח חדש]"),
        ('תקנה 41 לתקסד"א', 'תקנות סדר הדין האזרחי, תשע"ט-2018'),
        ('תקנה 41 לתקנות סד"א', 'תקנות סדר הדין האזרחי, תשע"ט-2018'),
        ('סעיף 192 לחו"ע', 'חוק העונשין, תשל"ז-1977'),
        ('סעיף 55 לחוק לשכת עוה"ד', 'חוק לשכת עורכי הדין, תשכ"א-1961'),
        ('סעיף 9 לחוק מס"ש', 'חוק מיסוי מקרקעין (שבח ורכישה), תשכ"ג-1963'),
        ('סעיף 296 לחוק הבטל"א', 'חוק הביטוח הלאומי [נוסח משולב], תשנ"ה-1995'),
        ('סעיף 8 לחוק יסוד: כבוה"א', "חוק-יסוד: כבוד האדם וחירותו"),
        ('סעיף 19 לחוק הג"א', 'חוק ההתגוננות האזרחית, תשי"א-1951'),
        (
            "סעיף 21 לחוק המעצרים",
            'חוק סדר הדין הפלילי (סמכויות אכיפה - מעצרים), תשנ"ו-1996',
        ),
        ("סעיף 2 לחוק עשיית עושר", 'חוק עשיית עושר ולא במשפט, תשל"ט-1979'),
    ],
)
def test_short_names_of_israeli_laws_mean_the_law(written: str, law: str) -> None:
    (found,) = parse(written, "he")
    assert same_law(key_of(found.parts["law"]), key_of(law))
    (again,) = parse(found.normal, "he")
    assert again.parts == found.parts


@pytest.mark.parametrize(
    ("written", "law"),
    [
        ("סעיף 4 לחוק-יסוד: הכנסת, תחושב התקופה", "חוק-יסוד: הכנסת"),
        ("סעיף 3ב לחוק-יסוד: משק המדינה, ובלבד", "חוק-יסוד: משק המדינה"),
        ("סעיף 10 לפקודת הפטנטים והמדגמים הסתיימה", "פקודת הפטנטים והמדגמים"),
        ("סעיף 3 לפקודת התעבורה החלים על נהג", "פקודת התעבורה"),
        ('סעיף 224 לחוק הביטוח הלאומי חל לגביו לפני ט"ו בשבט, תשנ"ט-1999', "חוק הביטוח הלאומי"),
    ],
)
def test_a_hebrew_name_ends_where_the_sentence_goes_on(written: str, law: str) -> None:
    (found,) = parse(written, "he")
    assert (found.parts["law"], found.parts.get("year", "")) == (law, "")


def test_id_may_name_another_part_of_the_same_section() -> None:
    cited = parse("Section 87103(a). Id., subd. (c).", "en")
    assert [citation.parts["sub"] for citation in cited] == ["(a)", "(c)"]


@pytest.mark.parametrize("mark", ['"', "\u05f4", "''", "'"])
def test_the_sign_in_a_hebrew_year_is_typed_in_many_ways(mark: str) -> None:
    (found,) = parse(f"סעיף 37 לחוק המקרקעין, התשכ{mark}ט-1969", "he")
    assert found.normal == 'סעיף 37 לחוק המקרקעין, תשכ"ט-1969'


def test_a_schedule_and_a_law_after_words_that_point_to_them() -> None:
    (found,) = parse("סעיף 4(2) שבתוספת השביעית לחוק הביטוח הלאומי", "he")
    assert found.normal == "סעיף 4(2) לתוספת השביעית לחוק הביטוח הלאומי"
    found = parse("לפי חוק המקרקעין, סעיף 5, ולפי סעיף 9 לאותו החוק", "he")[-1]
    assert found.normal == "סעיף 9 לחוק המקרקעין"


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


def test_the_acts_of_a_code_keep_its_numbers() -> None:
    texts = {
        "the Political Reform Act of 1974, Section 87103": "Gov. Code § 87103",
        "the Mello-Roos Act, Section 53311": "Gov. Code § 53311",
        "Section 301(b) of the Federal Election Campaign Act of 1971": (
            "Federal Election Campaign Act of 1971 § 301(b)"
        ),
        "Public Contract Code Section 20160 and Section 87103": "Gov. Code § 87103",
    }
    for text, normal in texts.items():
        assert parse(text, scheme=CALIFORNIA)[-1].normal == normal
