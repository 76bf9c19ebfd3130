"""A document as a lawyer cites it."""

from __future__ import annotations

import pytest

from assay.core.types import Document, Locator
from assay.law.citing import citation_of, title_of

ACT = {"law": "Saaristokuntalaki", "law_id": "9001/2031"}


@pytest.mark.parametrize(
    ("document", "cited"),
    [
        (
            Document(id="x", title="Inouye Advice Letter, No. A-05-044", metadata={"year": 2005}),
            "Inouye Advice Letter, No. A-05-044 (2005)",
        ),
        (
            Document(id="x", title="Letter of 2005", metadata={"date": "2005-03-10"}),
            "Letter of 2005",
        ),
        (
            Document(id="x", metadata=ACT, locator=Locator(section="11", moment="2")),
            "Saaristokuntalaki (9001/2031) 11 § 2 mom.",
        ),
        (
            Document(id="x", metadata=ACT, locator=Locator(section="14 a §")),
            "Saaristokuntalaki (9001/2031) 14 a §",
        ),
        (
            Document(
                id="x",
                metadata=ACT | {"by_chapter": True},
                locator=Locator(chapter="7b", section="14a", moment="1"),
            ),
            "Saaristokuntalaki (9001/2031) 7 b luku 14 a § 1 mom.",
        ),
        (
            Document(id="x", metadata={"law": "חוק התכנון"}, locator=Locator(section="4")),
            "סעיף 4 לחוק התכנון",
        ),
        (
            Document(id="x", title="מועד", metadata={"case_number": "ערר 1/19", "date": "2019"}),
            "ערר 1/19 מועד (2019)",
        ),
        (
            Document(id="x", title="Tilinpäätös 2023", locator=Locator(page=12)),
            "Tilinpäätös 2023, p. 12",
        ),
        (Document(id="only-an-id"), "only-an-id"),
    ],
)
def test_each_kind_has_its_form(document: Document, cited: str) -> None:
    assert citation_of(document) == cited


def test_the_place_found_is_more_exact() -> None:
    report = Document(id="x", title="Report", locator=Locator(page=1))
    assert citation_of(report, Locator(page=7, table="Table 3")) == "Report, p. 7, Table 3"


def test_a_provision_without_a_title_is_told_by_its_place() -> None:
    moment = Document(
        id="21:1",
        text="…",
        language="fi",
        locator=Locator(section="21", moment="1"),
        metadata={"law": "Lauttalaki", "law_id": "7/2001", "section_title": "Alijäämä"},
    )
    assert title_of(moment) == "Lauttalaki 21 § 1 mom. – Alijäämä"
    assert title_of(Document(id="x-1", text="…")) == "x-1"
