"""A table of texts in three languages with the normal forms of the citations in each, as they stand
in real letters and notes: scanned, abbreviated, pointing back."""

from __future__ import annotations

import pytest

from assay.corpus import Scheme, parse

CALIFORNIA = Scheme(language="en", code="Gov. Code", regulation=r"18\d{3}")
Rows = dict[str, list[str]]  # a text, and the normal forms of its citations

FINNISH: Rows = {
    # laws that are pointed at or described
    "Kuntalakia ja sen 121 §:ää": ["kuntalaki 121 §"],
    "Kuntalaki on tiukka. Mainitun lain 5 §:n 2 momentti": ["kuntalaki 5 § 2 mom."],
    "Lain 5 §": ["5 §"],
    "lelujen turvallisuudesta annetun lain 5 §": ["laki lelujen turvallisuudesta 5 §"],
    "vientiin sovelletaan lelujen turvallisuudesta annetun lain 5 §:ää": [
        "laki lelujen turvallisuudesta 5 §"
    ],
    "vanhan kuntalain 5 §": ["vanha kuntalaki 5 §"],
    "vuoden 1995 kuntalain 5 §": ["vuoden 1995 kuntalaki 5 §"],
    "kyseisen pykälän 2 momentti": [],
    "osakeyhtiölain 6 lukuun ja 13 luvun 6 §:ään": [
        "osakeyhtiölaki 6 luku",
        "osakeyhtiölaki 13 luku 6 §",
    ],
    "Tilattiin 5 kpl 12 euron tuoleja": [],
    "kuntalain 26 §:n 1 momentin 1 kohdan a alakohta": ["kuntalaki 26 § 1 mom. 1 kohta a alakohta"],
    # a section without its sign follows the full name of a law
    "Kuntalaki 62 a": ["kuntalaki 62a §"],
    "Kuntalaki 62 a vaalit": ["kuntalaki 62a §"],
    "kuntalaki 118.4": ["kuntalaki 118 § 4 mom."],
    "Kuntalaki 110 a 2 mom.": ["kuntalaki 110a § 2 mom."],
    "ks. Kuntalaki 110, 118": ["kuntalaki 110 §", "kuntalaki 118 §"],
    "Kuntalain pykälä 121, momentti 2": ["kuntalaki 121 § 2 mom."],
    "Kuntalaki 2015": [],
    "Kuntalaki 410/2015": [],
    "kuntalaki 3 vuotta sitten": [],
    "laki 5": [],
    "tämä laki 7.": [],
    "hankintalain 50 prosentin raja": [],
    # ordinals, and laws of other countries
    "kuntalain 118 §:n ensimmäinen momentti": ["kuntalaki 118 § 1 mom."],
    "kuntalain 118 §:n toisessa ja kolmannessa momentissa": [
        "kuntalaki 118 § 2 mom.",
        "kuntalaki 118 § 3 mom.",
    ],
    "kuntalain 118 §:n toisen momentin 2 kohta": ["kuntalaki 118 § 2 mom. 2 kohta"],
    "KuntaL 110,3 §": [],  # and not section 110
    "erityisalojen hankintalain 25 §": ["erityisalojen hankintalaki 25 §"],
    "Ahvenanmaan kuntalain 5 §": ["ahvenanmaan kuntalaki 5 §"],
    # what is pointed to, and what is no law
    "Kuntalaki on yleislaki. Sen 3 §:ssä säädetään": ["kuntalaki 3 §"],
    "Lauttalain 9 §:ssä säädetään maksusta, ja sen 3 momentin mukaan": [
        "lauttalaki 9 §",
        "lauttalaki 9 § 3 mom.",
    ],
    "ja sen 3 momentin mukaan": [],  # of what, nobody can say
    "yhtiöjärjestyksen 6 §": ["yhtiöjärjestys 6 §"],
    "vuokrasopimuksen 5 §:n 2 kohta": ["vuokrasopimus 5 § 2 kohta"],
    "hankintasopimuksen 130 §:n nojalla": ["130 §"],  # what an act speaks of
    "Kunnanhallitus 15.3.2021 § 102": [],  # an item of minutes
    "voimaan 1.5.2015 kuntalain 5 §": ["kuntalaki 5 §"],
    # no piece is read for the whole
    "päättää 4 §:ssä ja tämän pykälän 1 tai 2 momentissa": ["4 §", "1 mom.", "2 mom."],
    "hallintolain (434/2003) jääviyttä koskevan 28 §:n": ["hallintolaki (434/2003) 28 §"],
    "10 luvussa tarkoitetuista ja muiden luvun 1 §:ssä tarkoitettujen": [],
    "pykälät 39 ja 40": ["39 §", "40 §"],
    "kuntalain §:t 14 ja 15": ["kuntalaki 14 §", "kuntalaki 15 §"],
    "kuntalaki 90§1mom": ["kuntalaki 90 § 1 mom."],
}
HEBREW: Rows = {
    "בסעיף 28(ב) לחוק משק הגז הטבעי ובדרישה נוספת": ["סעיף 28(ב) לחוק משק הגז הטבעי"],
    # which law is meant
    'לפי חוק המקרקעין, תשכ"ט-1969 (להלן: "החוק"). סעיף 5 לחוק קובע': [
        'סעיף 5 לחוק המקרקעין, תשכ"ט-1969'
    ],
    "חוק המקרקעין חל כאן. סעיף 5 לאותו חוק": ["סעיף 5 לחוק המקרקעין"],
    "חוק המקרקעין חל כאן. סעיף 5 לחוק זה": ["סעיף 5 לחוק זה"],
    "סעיף 44 לחוק יסודות התקציב": ["סעיף 44 לחוק יסודות התקציב"],
    "סעיף 3 לחוק שיקום אסירים קובע": ["סעיף 3 לחוק שיקום אסירים"],
    "סעיף 5 לחוק המקרקעין (בסעיף זה – החוק)": ["סעיף 5 לחוק המקרקעין"],
    "סעיף 5 לחוק המקרקעין (חיזוק בתים)": ["סעיף 5 לחוק המקרקעין (חיזוק בתים)"],
    "סעיף 2(1) לפקודה": ["סעיף 2(1) לפקודה"],
    "סעיף 5 לתוספת לחוק המקרקעין": ["סעיף 5 לתוספת לחוק המקרקעין"],
    "סעיף 5 לתוספת זו": ["סעיף 5"],
    "סעיף 5 לתוספת הראשונה א'": ["סעיף 5 לתוספת הראשונה א'"],
    # a question ends the name as a full stop does
    "מה אומר סעיף 5 לחוק זכויות החולה?": ["סעיף 5 לחוק זכויות החולה"],
    "ומה לפי סעיף 3 לחוק החברות הממשלתיות?": ["סעיף 3 לחוק החברות הממשלתיות"],
    # schedules, ranges, and papers that are no law
    "סעיף 19(ג) לתוספת ה-3 לחוק התכנון והבניה": ["סעיף 19(ג) לתוספת השלישית לחוק התכנון והבניה"],
    "פרט ב לתוספת השנייה לחוק הגנים": ["פרט ב לתוספת השנייה לחוק הגנים"],
    'ס"ס 7-9 לחוק המקרקעין': ["סעיף 7-9 לחוק המקרקעין"],
    "סעיף 16א שבחוק מיסוי מקרקעין": ["סעיף 16א לחוק מיסוי מקרקעין"],
    "סעיף 5 להסכם השכירות": [],
    "סעיף 12 לכתב התביעה": [],
    "סעיף 7 לתצהירו של פלוני": [],
    "סעיף 5 לשטר הזיכיון": [],
    "סעיף 9 לפרוטוקול זה": ["סעיף 9"],  # where it stands
    # a section of what is no law
    "סעיף 18 לאמנה": [],
    "סעיף 1 לנוסח ז'נבה": [],
    "סעיף 9 לתיקון מס' 68": [],
    "סעיף 3 להחלטת הממשלה": [],
    'ס"ק 2 או 3 לסעיף זה': [],
    "סעיף 1 לחלק ב' שבתוספת": [],
    "למעט סעיף 2 שבו": [],
}
ENGLISH: Rows = {
    # acts by their titles: the year is part of one, and a schedule has paragraphs
    "Section 1 of the Pilots Act 2019": ["Pilots Act 2019 § 1"],
    "sections 3 to 5 of the Pilots Act, 2019": ["Pilots Act 2019 §§ 3–5"],
    "s 5(2)(a) of the Pilots Act 2019 (NSW)": ["Pilots Act 2019 (NSW) § 5(2)(a)"],
    "s. 12A Pilots Act 2019": ["Pilots Act 2019 § 12A"],
    "Under the Pilots Act 2019, ss 3-5 and 7,": ["Pilots Act 2019 §§ 3–5", "Pilots Act 2019 § 7"],
    "Ports and Pilots (Fees) Act 2019, s.4": ["Ports and Pilots (Fees) Act 2019 § 4"],
    "the Ports Act and the Pilots Act 2019, s 5": ["Pilots Act 2019 § 5"],
    "Pilots Act, RSC 1985, c P-4, s 12": ["Pilots Act, RSC 1985, c P-4 § 12"],
    "section 7 of the Pilots Act 12 of 2019": ["Pilots Act 12 of 2019 § 7"],
    "rule 3 of the Pilots (Appeals) Rules 2019": ["Pilots (Appeals) Rules 2019 § 3"],
    "paragraph 3(1) of Schedule 2 to the Pilots Act 2019": ["Pilots Act 2019 Sch. 2 para. 3(1)"],
    "Pilots Act 2019, Sch 2, para 1": ["Pilots Act 2019 Sch. 2 para. 1"],
    "paras 1 to 3 of the First Schedule to the Pilots Act 2019": [
        "Pilots Act 2019 Sch. 1 paras. 1–3"
    ],
    "paragraph 2 of the Schedule to the Pilots Act 2019": ["Pilots Act 2019 Sch. para. 2"],
    "Schedule IV to the Pilots Act 2019": ["Pilots Act 2019 Sch. 4"],
    "paragraph 3 of Schedule 2 applies": ["Sch. 2 para. 3"],
    "Schedule 2 (paragraph 3) to the Pilots Act 2019": ["Pilots Act 2019 Sch. 2 para. 3"],
    "Labor Code section 1720 and section 1771": ["Lab. Code § 1720", "Lab. Code § 1771"],
    "Cal. Const., art. XII, § 7; art. XX, § 3": [
        "Cal. Const. art. XII § 7",
        "Cal. Const. art. XX § 3",
    ],
    "Article XIII D, section 6, of the California Constitution": ["Cal. Const. art. XIII D § 6"],
    "U.S. Const., amend. XIV, § 1": ["U.S. Const. amend. XIV § 1"],
    "section 1 of the Fourteenth Amendment": ["U.S. Const. amend. XIV § 1"],
    "Code Civ. Proc., § 1094.5": ["Code of Civil Procedure § 1094.5"],
    "Gov. C. §87100": ["Gov. Code § 87100"],
    "Section 19230 et seq. of the Elections Code": ["Elec. Code § 19230"],
    # "that Act" and "the 1998 Act"
    "The Pilots Act 2019 applies; see s.5(3) of that Act.": ["Pilots Act 2019 § 5(3)"],
    "The Ports Act 1998 and the Pilots Act 2019: section 4 of the 1998 Act": ["Ports Act 1998 § 4"],
    "The Pilots Act 2019 (“the Act”) amends the Ports Act 1998. By section 2 of the Act": [
        "Pilots Act 2019 § 2"
    ],
    "The Ports Act 1998 and the Pilots Act 2019: section 2 of the Act": ["§ 2"],
    # what is no citation
    "Section 4.2 of the lease provides for rent": [],
    "section 5 of the joint powers agreement": [],
    "Section 12, Township 3 South, Range 4 West": [],
    "Report it on Schedule D of Form 700 and on Schedule A-1.": [],
    "paragraph 4 of schedule 2 of the budget": [],
    "paragraph 4 of Schedule 2 of the annual budget": [],
    "each unit has Schedule 40 pipe": [],
    "Section 4-1682 of a city's code": [],
    "section 5 of that Act, which nobody has named": [],
    "section 4 of the 1998 Act": [],
    "Article 2 of the Pilots Act": [],
}
CALIFORNIAN: Rows = {
    # citations as they stand in scanned letters
    "Government Code Section\n     83114(b)": ["Gov. Code § 83114(b)"],
    "under Section 87103.1/ the": ["Gov. Code § 87103"],  # the mark of a footnote
    "Section 87lO3": [],  # and no part of it
    "No. A-O5-123": ["No. A-05-123"],
    "In re Oglesby (1975) I FPPC Ops. 71": ["In re Oglesby (1975) 1 FPPC Ops. 71"],
    "In re Siegel (1977) 3FPPC Opns.62": ["In re Siegel (1977) 3 FPPC Ops. 62"],
    "subdivision (b) of Regulation 18702.2": ["Regulation 18702.2(b)"],
    "Regulation 18705.5 (subd. (b))": ["Regulation 18705.5(b)"],
    "Regulations 18702.1 and 18702.2, subd. (b) of Section 87103": [
        "Regulation 18702.1",
        "Regulation 18702.2",
        "Gov. Code § 87103(b)",
    ],
    "Cal. Code of Regs., tit. 22, § § 12301-12305": ["22 Cal. Code Regs. §§ 12301–12305"],
    "Gov. Code §§ 89504-05": ["Gov. Code §§ 89504–89505"],
    "26 CFR 1.501(c)(3)-1": ["26 C.F.R. § 1.501(c)(3)-1"],
    "Section 3 of Article II": ["art. II § 3"],
    "Title 24 of the United States Code, section 100": ["24 U.S.C. § 100"],
    "Thomson v. Call (1985) 38 Cal.3d 633. (Thomson, supra, at p. 648.) Id. at p. 650.": [
        "38 Cal.3d 633"
    ]
    * 3,
    "People v. Roe (1996) 48 Cal.App.4th 289. (People, supra.)": ["48 Cal.App.4th 289"],
    "No. A-90-281 (the Walsh Advice Letter, No. A-90-281). Walsh letter, supra": ["No. A-90-281"]
    * 3,
}
OF_ANY_LANGUAGE: Rows = {
    # what is no citation
    "500 feet of the boundary": [],
    "call (916) 322-5660 on 12-31-1990": [],
    "Resolution No. 45-123 of the county": [],
    "the Act and its regulations": [],
    "vuonna 2024 kunnan tulos": [],
    "בשנת 1965 נחקק החוק": [],
}
TABLES: tuple[tuple[str | None, Scheme, Rows], ...] = (
    ("fi", Scheme(), FINNISH),
    ("he", Scheme(), HEBREW),
    ("en", Scheme(), ENGLISH),
    (None, CALIFORNIA, CALIFORNIAN),
    (None, Scheme(), OF_ANY_LANGUAGE),
)


@pytest.mark.parametrize(
    ("language", "scheme", "text", "normal"),
    [(*how, text, normal) for *how, rows in TABLES for text, normal in rows.items()],
)
def test_a_text_is_read_and_its_citations_read_back(
    language: str | None, scheme: Scheme, text: str, normal: list[str]
) -> None:
    found = parse(text, language, scheme=scheme)
    assert [one.normal for one in found] == normal
    for one in found:
        if one.parts.get("law") in ("yhtiöjärjestys", "vuokrasopimus"):
            continue  # a paper that is no law is known by the form before a section alone
        assert parse(one.normal, one.language, scheme=scheme)[0].parts == one.parts
