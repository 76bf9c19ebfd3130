"""Print the citation and the title of a document as a lawyer would write them; print a locator as
one line of text, and read it back."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.types import Document, Locator
from assay.law import en_names, fi, he
from assay.law.versions import with_status_mark

HEBREW = re.compile("[\u0590-\u05ff]")
LETTER = re.compile(r"(?<=\d)(?=[a-zåäö]$)")
YEAR = re.compile(r"\d{4}")
# how the place of a provision is printed; in a language that is not here, as in Finnish
PLACE_NAMES = {"en": en_names.place_name, "fi": fi.place_name, "he": he.place_name}


def title_of(document: Document) -> str:
    """The title of a document. A provision without one is named by its act, place and heading, and
    anything else by its citation."""
    if document.title.strip():
        return document.title
    law, place = _metadata_text(document, "law_title", "law"), document.locator
    if not law or place is None or not place.section:
        return citation_of(document)
    cited = _place_in_act(document, law, place)
    return " – ".join(filter(None, (cited, _metadata_text(document, "section_title"))))


def citation_of(document: Document, place: Locator | None = None, status: str = "") -> str:
    """The citation of a document: a letter by its name, number and year; a section by its act,
    number and moment; a case by its number, name and day; a page of a report by its title and
    number. `place` is the place found, where it is more exact than the document's own; `status` its
    status on the day in question, where that is known better than by the record."""
    place = place or document.locator
    law = _metadata_text(document, "law_title", "law")
    if law and place is not None and place.section:
        number = _metadata_text(document, "law_id")
        act = f"{law} ({number})" if number and number not in law else law
        cited = _place_in_act(document, act if _is_latin(document, law) else law, place)
        return with_status_mark(
            cited, status or _metadata_text(document, "status"), document.language
        )
    name = document.title.strip() or document.id
    case = _metadata_text(document, "case_number", "docket")
    if case and case not in name:
        name = f"{case} {name}"
    page = (
        f", {'עמ׳' if HEBREW.search(name) else 'p.'} {place.page}" if place and place.page else ""
    )
    table = f", {place.table}" if place and place.table and place.table not in name else ""
    year = _year(document)
    return f"{name}{page}{table}" + (f" ({year})" if year and year not in name else "")


def section_name(document: Document) -> str:
    """The section of a provision among others of its act: '110 a §'."""
    place, law = document.locator, _metadata_text(document, "law_title", "law")
    if place is None or not place.section:
        return ""
    return _place_in_words(document, place, "", is_latin=_is_latin(document, law))


def _place_in_act(document: Document, act: str, place: Locator) -> str:
    moment = re.sub(r"\s*mom\w*\.?\s*", "", place.moment or "")
    is_latin = _is_latin(document, act)
    section = _place_in_words(document, place, moment, is_latin=is_latin)
    return f"{act} {section}" if is_latin else f"{section} ל{act}"


def _place_in_words(document: Document, place: Locator, moment: str, *, is_latin: bool) -> str:
    section = str(place.section).removesuffix("§").strip()
    chapter = place.chapter or "" if document.metadata.get("by_chapter") else ""
    language = document.language if is_latin else "he"
    place_name = PLACE_NAMES.get(language, fi.place_name)
    if language not in ("en", "he"):  # 110a is written 110 a
        section, chapter = (LETTER.sub(" ", number) for number in (section, chapter))
    return place_name(section, moment, schedule=place.schedule or "", chapter=chapter)


def _is_latin(document: Document, law: str) -> bool:
    return document.language != "he" and not HEBREW.search(law)


def _year(document: Document) -> str:
    for key in ("year", "date"):
        found = YEAR.search(str(document.metadata.get(key) or ""))
        if found:
            return found[0]
    return document.valid_from[:4]


def _metadata_text(document: Document, *keys: str) -> str:
    texts = (document.metadata.get(key) for key in keys)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


# ── locators ──────────────────────────────────────────────────────────────────────────────────────

PARTS = tuple(name for name in Locator.__struct_fields__ if name != "doc_id")


def format_locator(locator: Locator) -> str:
    """`410/2015?chapter=13&section=110a&moment=2&version=fin%4020230780`."""
    parts = {name: str(value) for name in PARTS if (value := getattr(locator, name)) is not None}
    begin = "" if locator.doc_id is None else quote(locator.doc_id, safe="/:") or "%"
    return f"{begin}?{urlencode(parts)}" if parts else begin


def parse_locator(text: str) -> Locator:
    begin, _, query = text.partition("?")
    parts: dict[str, str] = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(parts) - set(PARTS))
    if unknown or (query and not parts):
        raise InputError(
            f"not a locator: {text!r}",
            hint=f"Expected `document?part=value&…` with {', '.join(PARTS)}.",
        )
    # a lone "%" stands for a document whose id is empty, which is not the same as no document
    doc_id = None if not begin else "" if begin == "%" else _unquoted(begin)
    try:
        return msgspec.convert({**parts, "doc_id": doc_id}, thread_safe(Locator), strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"not a locator: {text!r}: {error}") from error


def _unquoted(text: str) -> str:
    return dict(parse_qsl(f"id={text.replace('+', '%2B')}", keep_blank_values=True))["id"]
