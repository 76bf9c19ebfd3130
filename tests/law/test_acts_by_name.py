"""English acts by their titles: the year is part of one, and a schedule has paragraphs."""

from __future__ import annotations

import pytest

from assay.corpus import Scheme, parse

CALIFORNIA = Scheme(language="en", code="Gov. Code", regulation=r"18\d{3}")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Section 1 of the Pilots Act 2019", ["Pilots Act 2019 § 1"]),
        ("sections 3 to 5 of the Pilots Act, 2019", ["Pilots Act 2019 §§ 3–5"]),
        ("s 5(2)(a) of the Pilots Act 2019 (NSW)", ["Pilots Act 2019 (NSW) § 5(2)(a)"]),
        ("s. 12A Pilots Act 2019", ["Pilots Act 2019 § 12A"]),
        (
            "Under the Pilots Act 2019, ss 3-5 and 7,",
            ["Pilots Act 2019 §§ 3–5", "Pilots Act 2019 § 7"],
        ),
        ("Ports and Pilots (Fees) Act 2019, s.4", ["Ports and Pilots (Fees) Act 2019 § 4"]),
        ("the Ports Act and the Pilots Act 2019, s 5", ["Pilots Act 2019 § 5"]),
        ("Pilots Act, RSC 1985, c P-4, s 12", ["Pilots Act, RSC 1985, c P-4 § 12"]),
        ("section 7 of the Pilots Act 12 of 2019", ["Pilots Act 12 of 2019 § 7"]),
        ("rule 3 of the Pilots (Appeals) Rules 2019", ["Pilots (Appeals) Rules 2019 § 3"]),
        (
            "paragraph 3(1) of Schedule 2 to the Pilots Act 2019",
            ["Pilots Act 2019 Sch. 2 para. 3(1)"],
        ),
        ("Pilots Act 2019, Sch 2, para 1", ["Pilots Act 2019 Sch. 2 para. 1"]),
        (
            "paras 1 to 3 of the First Schedule to the Pilots Act 2019",
            ["Pilots Act 2019 Sch. 1 paras. 1–3"],
        ),
        ("paragraph 2 of the Schedule to the Pilots Act 2019", ["Pilots Act 2019 Sch. para. 2"]),
        ("Schedule IV to the Pilots Act 2019", ["Pilots Act 2019 Sch. 4"]),
        ("paragraph 3 of Schedule 2 applies", ["Sch. 2 para. 3"]),
        ("Schedule 2 (paragraph 3) to the Pilots Act 2019", ["Pilots Act 2019 Sch. 2 para. 3"]),
        ("Labor Code section 1720 and section 1771", ["Lab. Code § 1720", "Lab. Code § 1771"]),
        (
            "Cal. Const., art. XII, § 7; art. XX, § 3",
            ["Cal. Const. art. XII § 7", "Cal. Const. art. XX § 3"],
        ),
        (
            "Article XIII D, section 6, of the California Constitution",
            ["Cal. Const. art. XIII D § 6"],
        ),
        ("U.S. Const., amend. XIV, § 1", ["U.S. Const. amend. XIV § 1"]),
        ("section 1 of the Fourteenth Amendment", ["U.S. Const. amend. XIV § 1"]),
        ("Code Civ. Proc., § 1094.5", ["Code of Civil Procedure § 1094.5"]),
        ("Gov. C. §87100", ["Gov. Code § 87100"]),
        ("Section 19230 et seq. of the Elections Code", ["Elec. Code § 19230"]),
    ],
)
def test_read(text: str, normal: list[str]) -> None:
    found = parse(text, "en")
    assert [one.normal for one in found] == normal
    for one in found:
        assert parse(one.normal, "en")[0].parts == one.parts


@pytest.mark.parametrize(
    "text",
    [
        "Section 4.2 of the lease provides for rent",
        "section 5 of the joint powers agreement",
        "Section 12, Township 3 South, Range 4 West",
        "Report it on Schedule D of Form 700 and on Schedule A-1.",
        "paragraph 4 of schedule 2 of the budget",
        "paragraph 4 of Schedule 2 of the annual budget",
        "each unit has Schedule 40 pipe",
        "Section 4-1682 of a city's code",
        "section 5 of that Act, which nobody has named",
        "section 4 of the 1998 Act",
        "Article 2 of the Pilots Act",
    ],
)
def test_no_citation(text: str) -> None:
    assert not parse(text, "en")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Pilots Act 2019 applies; see s.5(3) of that Act.", "Pilots Act 2019 § 5(3)"),
        (
            "The Ports Act 1998 and the Pilots Act 2019: section 4 of the 1998 Act",
            "Ports Act 1998 § 4",
        ),
        (
            "The Pilots Act 2019 (“the Act”) amends the Ports Act 1998. By section 2 of the Act",
            "Pilots Act 2019 § 2",
        ),
        ("The Ports Act 1998 and the Pilots Act 2019: section 2 of the Act", "§ 2"),
    ],
)
def test_pointing_back(text: str, normal: str) -> None:
    assert [one.normal for one in parse(text, "en")] == [normal]


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
