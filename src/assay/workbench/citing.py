"""A document as a lawyer would cite it, ready to be written down."""

from __future__ import annotations

import re

from assay.core.types import Document, Locator
from assay.law import fi, he
from assay.law.versions import marked

HEBREW = re.compile("[\u0590-\u05ff]")
YEAR = re.compile(r"\d{4}")


def citation_of(document: Document, place: Locator | None = None) -> str:
    """A letter by its name, number and year; a section by its act, number and moment; a case by its
    number, name and day; a page of a report by its title and number. `place` is the place found,
    where it is more exact than the document's own."""
    place = place or document.locator
    law = _said(document, "law_title", "law")
    if law and place is not None and place.section:
        return _of_law(document, law, place)
    name = document.title.strip() or document.id
    case = _said(document, "case_number", "docket")
    if case and case not in name:
        name = f"{case} {name}"
    page = (
        f", {'עמ׳' if HEBREW.search(name) else 'p.'} {place.page}" if place and place.page else ""
    )
    table = f", {place.table}" if place and place.table and place.table not in name else ""
    year = _year(document)
    return f"{name}{page}{table}" + (f" ({year})" if year and year not in name else "")


def _of_law(document: Document, law: str, place: Locator) -> str:
    number = _said(document, "law_id")
    act = f"{law} ({number})" if number and number not in law else law
    section = str(place.section).removesuffix("§").strip()
    moment = re.sub(r"\s*mom\w*\.?\s*", "", place.moment or "")
    chapter = place.chapter or "" if document.metadata.get("by_chapter") else ""
    if document.language == "he" or HEBREW.search(law):
        told = he.place_name(section, moment, schedule=place.schedule or "", chapter=chapter)
        cited = f"{told} ל{law}"
    else:
        told = fi.place_name(section, moment, schedule=place.schedule or "", chapter=chapter)
        cited = f"{act} {told}"
    return marked(cited, str(document.metadata.get("status") or ""), document.language)


def _year(document: Document) -> str:
    for key in ("year", "date"):
        found = YEAR.search(str(document.metadata.get(key) or ""))
        if found:
            return found[0]
    return document.valid_from[:4]


def _said(document: Document, *keys: str) -> str:
    texts = (document.metadata.get(key) for key in keys)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")
