"""Akoma Ntoso 3.0 acts, one document a subsection (moment).

Two shapes are read. In Finland's, a `section` holds `subsection`s; in Israel's, an outermost
`point` is a section and the points in it are its paragraphs, and an `appendix` is a schedule.
Moments without a number are counted by position, as Finlex's own are. References keep their address
(`/akn/…#eId`), so that they resolve to the element they name.

No DTD is read: a document type declaration is refused, and with it every entity, inside or outside
the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

import msgspec

from assay.core.types import Document, Locator
from assay.corpus.importers.akn_sections import (
    Moment,
    Section,
    flat,
    left_out,
    moments_of,
    name_schedules,
    schedule_of,
    sections_of,
)
from assay.corpus.importers.akn_xml import root_of
from assay.corpus.importers.kinds import Options, Problem, Unit, files_below, path_of
from assay.language.detect import language_code
from assay.law import en_names, fi, he
from assay.law.citation import PLAIN
from assay.law.places import normal_chapter, normal_part
from assay.law.versions import IN_FORCE, marked, said_of

SCHEME = PLAIN
VERSION = 6
OPTIONS: tuple[str, ...] = ()


class Law(NamedTuple):
    """What holds for a whole act."""

    id: str
    work: str
    version: str
    language: str
    title: str
    year: int | None
    valid_from: str
    valid_to: str
    periods: dict[str, tuple[str, str]]
    by_chapter: bool = False  # a number alone does not say which section is meant
    by_part: bool = False  # nor does the chapter with it


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, (".xml", ".akn"))


def read(source: str, unit: Unit, options: Options) -> Iterator[Document | Problem]:
    path = path_of(source, unit)
    root = root_of(path)
    if isinstance(root, Problem):
        yield root
        return
    body = next((element for element in root.iter() if element.tag in ("body", "mainBody")), None)
    if root.tag != "akomaNtoso" or body is None:
        reason = "the act has no <body>"
        if root.tag != "akomaNtoso":
            reason = f"not an Akoma Ntoso act: <{root.tag}>"
        yield Problem(code="bad-record", where=str(path), reason=reason)
        return
    law = _law(root, unit)
    name_schedules(root)
    sections = list(sections_of(root, (), law.language))
    documents = list(_documents(sections, law))
    yield from documents
    if not documents:
        reason = f"no section was found in {law.title or law.id}"
        yield Problem(code="no-text", where=str(path), reason=reason)
        return
    for code, reason in _odd(root, sections, documents):
        yield Problem(code=code, where=str(path), reason=reason)


def _odd(
    root: ElementTree.Element, sections: list[Section], documents: list[Document]
) -> Iterator[tuple[str, str]]:
    """What is not in the documents, or stands twice: (code, why)."""
    if loose := left_out(root, sections):
        words, first = sum(len(piece.split()) for piece in loose), " ".join(loose[0].split()[:8])
        yield "left-out", f"{words:,} words stand outside of all sections, the first {first!r}"
    empty = [section for section in sections if not any(one.text for one in moments_of(section))]
    if empty := [section for section in empty if not section.element.get("status")]:
        listed = ", ".join(section.number or "one without a number" for section in empty[:5])
        yield "empty-section", f"{len(empty):,} sections have no words: {listed}"
    titles = Counter(one.title for one in documents if one.locator and one.locator.section)
    if twice := [title for title, times in titles.items() if times > 1]:
        yield "twice", f"{len(twice):,} places stand here more than once, the first {twice[0]}"


# ── the act ───────────────────────────────────────────────────────────────────────────────────────


def _law(root: ElementTree.Element, unit: Unit) -> Law:
    work, expression = _uri(root, "FRBRWork"), _uri(root, "FRBRExpression")
    work = re.sub(r"/main(?:\.xml)?$", "", work)
    version = next((step for step in reversed(expression.split("/")) if "@" in step), "")
    steps = [step for step in work.split("/") if step]
    pair = re.search(r"/(\d{4})/(\d+[a-z]?)$", work)
    law_id = f"{pair[2]}/{pair[1]}" if pair else (steps[-1] if steps else unit.id)
    language = next(
        (e.get("language", "") for e in root.iter("FRBRlanguage")), version.partition("@")[0]
    )
    dated = _dates(root)
    dated = "" if dated < "1800" else dated  # 1000-01-01 stands for a date nobody entered
    year = re.search(r"\d{4}", pair[1] if pair else dated)
    periods = _periods(root)
    first = next(iter(periods.values()), ("", ""))
    return Law(
        id=law_id,
        work=work,
        version=version if version.partition("@")[2] else "",
        language=language_code(language)[:2],
        title=_title(root) or unit.id,
        year=int(year[0]) if year else None,
        valid_from=first[0] or dated,
        valid_to=first[1],
        periods=periods,
    )


def _uri(root: ElementTree.Element, level: str) -> str:
    for parent in root.iter(level):
        for name in ("FRBRuri", "FRBRthis"):
            for element in parent.iter(name):
                return element.get("value", "")
    return ""


def _title(root: ElementTree.Element) -> str:
    for name in ("docTitle", "longTitle", "shortTitle", "FRBRtitle", "FRBRalias"):
        for element in root.iter(name):
            if text := element.get("value") or flat(element):
                return text
    body = next(root.iter("body"), None)
    title = body.find("title") if body is not None else None
    return flat(title) if title is not None else ""


def _dates(root: ElementTree.Element) -> str:
    """When the act came into force, or else its own date."""
    for element in root.iter():
        if element.tag.lower() in ("dateentryintoforce", "entryintoforce"):
            return element.get("date") or flat(element)
    for event in root.iter("FRBRdate"):
        if "force" in event.get("name", "").lower():
            return event.get("date", "")
    for parent in root.iter("FRBRWork"):
        for element in parent.iter("FRBRdate"):
            return element.get("date", "")
    return ""


def _periods(root: ElementTree.Element) -> dict[str, tuple[str, str]]:
    events = {event.get("eId", ""): event.get("date", "") for event in root.iter("eventRef")}
    periods = {}
    for group in root.iter("temporalGroup"):
        for interval in group.iter("timeInterval"):
            start, end = (
                events.get(interval.get(key, "").lstrip("#"), "") for key in ("start", "end")
            )
            periods[group.get("eId", "")] = (start, end)
    return periods


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def _documents(sections: list[Section], law: Law) -> Iterator[Document]:
    seen = Counter((schedule_of(section), section.number) for section in sections)
    names: Counter[str] = Counter()
    chapters: dict[tuple[str, str], set[str]] = {}
    parts: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for section in sections:
        places = _places(section)
        at = schedule_of(section), section.number
        chapters.setdefault(at, set()).add(places.get("chapter", ""))
        parts.setdefault(at, set()).add((places.get("part", ""), places.get("chapter", "")))
    for section in sections:
        at = schedule_of(section), section.number
        law = law._replace(
            by_chapter=not section.number or len(chapters[at]) > 1,
            by_part=len(parts[at]) > len(chapters[at]),
        )
        repeated = seen[at] > 1
        for moment in moments_of(section, law.language):
            if not moment.text:
                continue
            document = _document(law, section, moment, with_chapter=repeated)
            names[document.id] += 1
            if names[document.id] > 1:  # two sections with no number, or one number used twice
                document = _renamed(document, names[document.id])
            yield document


def _document(law: Law, section: Section, moment: Moment, *, with_chapter: bool) -> Document:
    element = moment.element
    schedule, heading, places = schedule_of(section), _heading(section), _places(section)
    number = " ".join(filter(None, (section.term, moment.number)))
    # in English a section that is not divided has no subsection (1)
    told = "" if law.language == "en" and element is section.element else number
    chapter = normal_chapter(places.get("chapter"))
    period = _inherited(section, element, "period").lstrip("#")
    valid_from, valid_to = law.periods.get(period, (law.valid_from, law.valid_to))
    id_parts = (
        law.id,
        law.version,
        f"schedule-{schedule}" if schedule else "",
        f"{chapter}l" if "luku" in places.get("chapter", "") and with_chapter else "",
        section.number or element.get("eId", "x"),
        number,
    )
    named = {"section_title": heading, "intro": moment.intro}
    status = said_of(moment.text) or IN_FORCE
    return Document(
        id=":".join(part for part in id_parts if part),
        title=marked(_label(law, section, told, chapter), status, law.language),
        text=moment.text,
        fields={name: words for name, words in named.items() if words},
        locator=Locator(
            doc_id=law.id,
            part=normal_part(places.get("part")).upper() or None,
            chapter=chapter or None,
            schedule=schedule or None,
            section=section.number or None,
            moment=told or None,
            version=law.version or None,
        ),
        citations=tuple(_references(element, law)),
        language=law.language,
        valid_from=valid_from,
        valid_to=valid_to,
        metadata=_metadata(law, section, element, places)
        | {"status": status}
        | ({"by_chapter": True} if law.by_chapter and chapter else {}),
    )


def _metadata(
    law: Law, section: Section, element: ElementTree.Element, places: dict[str, str]
) -> dict[str, str | int | None]:
    eid = element.get("eId", "") or section.element.get("eId", "")
    amended = re.search(r"v(\d{4})(\d{4})(?:__|$)", eid)
    stated: dict[str, str | int | None] = {
        "type": "statute",
        "law": he.without_year(law.title),
        "law_title": law.title,
        "law_id": law.id,
        "work": law.work,
        "year": law.year,
        **places,
        "section_title": _heading(section),
        "schedule": schedule_of(section),
        "eId": eid,
        "amended_by": f"{int(amended[2])}/{amended[1]}" if amended else "",
    }
    return {key: value for key, value in stated.items() if value not in ("", None)}


def _renamed(document: Document, copy: int) -> Document:
    return msgspec.structs.replace(document, id=f"{document.id}~{copy}")


def _label(law: Law, section: Section, moment: str, chapter: str) -> str:
    """The act, the place in its language, and the heading. A chapter is told where sections begin
    anew in each."""
    schedule, number = schedule_of(section), section.number
    chapter = chapter if law.by_chapter else ""
    if law.language == "he":
        place = he.place_name(number, moment, schedule=schedule, chapter=chapter)
    elif law.language == "fi":
        place = fi.place_name(number, moment, schedule=schedule, chapter=chapter)
    else:
        place = en_names.place_name(number, moment, schedule=schedule, chapter=chapter)
        if law.by_part and (part := _places(section).get("part")):
            above = f"Sch. {schedule} " if schedule else ""
            place = f"{above}{part} {place.removeprefix(above)}"
    heading = _heading(section)
    return f"{law.title} {place}".rstrip() + (f" – {heading}" if heading else "")


def _places(section: Section) -> dict[str, str]:
    """The number and the heading of every part and chapter above a section."""
    places: dict[str, str] = {}
    for element in section.above:
        name = "subchapter" if element.tag == "section" else element.tag
        num = element.find("num")
        title = element.find("heading")
        title = element.find("title") if title is None else title
        places[name] = flat(num).rstrip(":") if num is not None else ""
        places[f"{name}_title"] = flat(title) if title is not None else ""
    return {key: value for key, value in places.items() if value}


def _heading(section: Section) -> str:
    heading = section.element.find("heading")
    return (flat(heading).rstrip(".") if heading is not None else "") or section.heading


def _inherited(section: Section, element: ElementTree.Element, attribute: str) -> str:
    for owner in (element, section.element, *reversed(section.above)):
        if value := owner.get(attribute):
            return value
    return ""


def _references(element: ElementTree.Element, law: Law) -> Iterator[str]:
    seen = set()
    for reference in element.iter():
        href = reference.get("href", "") if reference.tag in ("ref", "mref", "rref") else ""
        address = law.work + href if href.startswith("#") else href
        if address.startswith("/akn/") and address not in seen:
            seen.add(address)
            yield address
