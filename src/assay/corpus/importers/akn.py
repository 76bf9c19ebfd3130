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
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

import msgspec

from assay.core.types import Document, Locator
from assay.corpus.importers.jsonl import unreadable
from assay.corpus.importers.source import Options, Problem, Unit, files_below, path_of
from assay.law.citation import PLAIN
from assay.law.he import ORDINALS, SPELLINGS

SCHEME = PLAIN
VERSION = 1
OPTIONS: tuple[str, ...] = ()
MAX_BYTES = 256 * 2**20
MAX_DEPTH = 200
LANGUAGES = {
    "fin": "fi",
    "fi": "fi",
    "finnish": "fi",
    "he": "he",
    "heb": "he",
    "hebrew": "he",
    "eng": "en",
    "swe": "sv",
}
CONTAINERS = (
    "part",
    "chapter",
    "title",
    "division",
    "subdivision",
    "book",
    "appendix",
    "attachment",
)
BLOCKS = (
    "p",
    "point",
    "paragraph",
    "subparagraph",
    "intro",
    "wrapup",
    "tr",
    "block",
    "item",
    "content",
    "subsection",
)


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


class Section(NamedTuple):
    element: ElementTree.Element
    above: tuple[ElementTree.Element, ...]
    number: str


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, (".xml", ".akn"))


def read(source: str, unit: Unit, options: Options) -> Iterator[Document | Problem]:
    path = path_of(source, unit)
    root = _root(path)
    if isinstance(root, Problem):
        yield root
        return
    body = next((part for part in root.iter() if part.tag in ("body", "mainBody")), None)
    if root.tag != "akomaNtoso" or body is None:
        reason = (
            f"not an Akoma Ntoso act: <{root.tag}>"
            if root.tag != "akomaNtoso"
            else "the act has no <body>"
        )
        yield Problem(code="bad-record", where=str(path), reason=reason)
        return
    law = _law(root, unit)
    found = 0
    for document in _documents(root, law):
        found += 1
        yield document
    if not found:
        yield Problem(
            code="no-text", where=str(path), reason=f"no section was found in {law.title or law.id}"
        )


# ── XML ───────────────────────────────────────────────────────────────────────────────────────────


class _Refused(Exception):
    pass


def parse_xml(data: bytes) -> ElementTree.Element:
    """The tree, with local names; a document type declaration or a very deep tree is refused."""
    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise _Refused(f"elements are nested deeper than {MAX_DEPTH}")
        builder.start(_local(name), {_local(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_local(name))

    def doctype(*_: object) -> None:
        raise _Refused("it has a document type declaration (DOCTYPE); entities are not read")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = doctype
    parser.Parse(data, True)
    return builder.close()


def _root(path: Path) -> ElementTree.Element | Problem:
    try:
        if path.stat().st_size > MAX_BYTES:
            limit = MAX_BYTES // 2**20
            return Problem(
                code="too-large", where=str(path), reason=f"the file is larger than {limit} MiB"
            )
        return parse_xml(path.read_bytes())
    except OSError as error:
        return unreadable(path, error)
    except _Refused as error:
        return Problem(code="refused-xml", where=str(path), reason=str(error))
    except expat.ExpatError as error:
        reason = f"not well-formed XML: {expat.errors.messages.get(error.code, error)}, column {error.offset + 1}"
        return Problem(code="bad-xml", where=f"{path}:{error.lineno}", reason=reason)
    except (LookupError, UnicodeError, ValueError) as error:
        return Problem(code="bad-xml", where=str(path), reason=f"not readable XML: {error}")


def _local(name: str) -> str:
    return name.rpartition("}")[2]


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
        language=LANGUAGES.get(language.lower(), language.lower()[:2]),
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
            if text := element.get("value") or _flat(element):
                return text
    body = next(root.iter("body"), None)
    title = body.find("title") if body is not None else None
    return _flat(title) if title is not None else ""


def _dates(root: ElementTree.Element) -> str:
    """When the act came into force, or else its own date."""
    for element in root.iter():
        if element.tag.lower() in ("dateentryintoforce", "entryintoforce"):
            return element.get("date") or _flat(element)
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


def _documents(root: ElementTree.Element, law: Law) -> Iterator[Document]:
    sections = list(_sections(root, ()))
    seen = Counter((_schedule(section), section.number) for section in sections)
    names: Counter[str] = Counter()
    for section in sections:
        repeated = seen[(_schedule(section), section.number)] > 1
        for moment, element, intro in _moments(section):
            text = _text(
                element, skip=("num", "heading") if element is section.element else ("heading",)
            )
            if not text:
                continue
            document = _document(law, section, moment, element, text, intro, with_chapter=repeated)
            names[document.id] += 1
            if names[document.id] > 1:  # two sections with no number, or one number used twice
                document = _renamed(document, names[document.id])
            yield document


def _sections(
    element: ElementTree.Element, above: tuple[ElementTree.Element, ...]
) -> Iterator[Section]:
    """The sections of an act, each with the parts, chapters and schedules around it."""
    for child in element:
        if child.tag in ("meta", "preface", "conclusions", "coverPage"):
            continue
        if child.tag == "point" or (
            child.tag in ("section", "article") and child.find(".//point") is None
        ):
            yield Section(child, above, _number(child))
        elif child.tag in (*CONTAINERS, "section", "article") and child.get("eId") != "title":
            yield from _sections(child, (*above, child))
        elif len(child):
            yield from _sections(child, above)


def _moments(section: Section) -> Iterator[tuple[str, ElementTree.Element, str]]:
    """(moment, element, words before the list): subsections by position, points by their number or
    defined term."""
    element = section.element
    parts = [child for child in element if child.tag == "subsection"]
    if parts:
        position = 0
        for part in parts:
            if _text(part, skip=("num", "heading")):
                position += 1
                yield str(position), part, ""
        return
    points = [
        child for group in element if group.tag == "list" for child in group if child.tag == "point"
    ]
    if element.tag == "point" and points:
        intro = " ".join(
            _flat(child) for group in element for child in group if child.tag == "intro"
        )
        for point in points:
            yield _number(point), point, intro
        return
    yield "" if element.tag == "point" else "1", element, ""


def _document(
    law: Law,
    section: Section,
    moment: str,
    element: ElementTree.Element,
    text: str,
    intro: str,
    *,
    with_chapter: bool,
) -> Document:
    schedule = _schedule(section)
    heading = _heading(section.element)
    places = _places(section)
    chapter = (
        re.sub(r"\s+", "", places.get("chapter", "").split("luku")[0])
        if "luku" in places.get("chapter", "")
        else ""
    )
    period = law.periods.get(
        _inherited(section, element, "period").lstrip("#"), (law.valid_from, law.valid_to)
    )
    id_parts = (
        law.id,
        law.version,
        f"schedule-{schedule}" if schedule else "",
        f"{chapter}l" if chapter and with_chapter else "",
        section.number or element.get("eId", "x"),
        moment,
    )
    eid = element.get("eId", "") or section.element.get("eId", "")
    amended = re.search(r"v(\d{4})(\d{4})(?:__|$)", eid)
    metadata: dict[str, Any] = {
        "type": "statute",
        "law": re.sub(r",?\s*ה?תש[א-ת\"״]+[-–]\d{4}.*$", "", law.title),
        "law_title": law.title,
        "law_id": law.id,
        "work": law.work,
        "year": law.year,
        **places,
        "section_title": heading,
        "schedule": schedule,
        "eId": eid,
        "amended_by": f"{int(amended[2])}/{amended[1]}" if amended else "",
    }
    fields = {
        name: value for name, value in (("section_title", heading), ("intro", intro)) if value
    }
    return Document(
        id=":".join(part for part in id_parts if part),
        title=_label(law, section.number, moment, schedule, heading),
        text=text,
        fields=fields,
        locator=Locator(
            doc_id=law.id,
            section=section.number or None,
            moment=moment or None,
            version=law.version or None,
        ),
        citations=tuple(_references(element, law)),
        language=law.language,
        valid_from=period[0],
        valid_to=period[1],
        metadata={key: value for key, value in metadata.items() if value not in ("", None)},
    )


def _renamed(document: Document, copy: int) -> Document:
    return msgspec.structs.replace(document, id=f"{document.id}~{copy}")


def _label(law: Law, section: str, moment: str, schedule: str, heading: str) -> str:
    if law.language == "he":
        place = f"סעיף {section}" + (f"({moment})" if moment else "")
        place += (
            f" לתוספת ה{ORDINALS[int(schedule) - 1]}"
            if schedule.isdigit() and int(schedule) <= len(ORDINALS)
            else ""
        )
    elif law.language == "fi":
        place = f"{section} §" + (f" {moment} mom." if moment else "")
    else:
        place = f"Section {section}" + (f"({moment})" if moment else "")
    return f"{law.title} {place}" + (f" – {heading}" if heading else "")


def _places(section: Section) -> dict[str, str]:
    """The number and the heading of every part and chapter above a section."""
    places: dict[str, str] = {}
    for element in section.above:
        name = "subchapter" if element.tag == "section" else element.tag
        num = element.find("num")
        title = element.find("heading")
        title = element.find("title") if title is None else title
        places[name] = _flat(num).rstrip(":") if num is not None else ""
        places[f"{name}_title"] = _flat(title) if title is not None else ""
    return {key: value for key, value in places.items() if value}


def _schedule(section: Section) -> str:
    """The number of the schedule a section stands in, from the ordinal in its name."""
    for element in section.above:
        if element.tag in ("appendix", "attachment"):
            title = element.find("title")
            name = f"{element.get('eId', '')} {_flat(title) if title is not None else ''}".replace(
                "_", " "
            )
            for number, word in enumerate(ORDINALS, start=1):
                forms = [word, *(old for old, new in SPELLINGS.items() if new == word)]
                if re.search(rf"(?<![א-ת])ה?(?:{'|'.join(forms)})(?![א-ת])", name):
                    return str(number)
            digits = re.search(r"\d+", name)
            return digits[0] if digits else "1"
    return ""


def _number(element: ElementTree.Element) -> str:
    """A section's number as it is cited: '110 a §' is 110a, '197א.' is 197א; a definition goes by
    its term."""
    num = element.find("num")
    text = _flat(num) if num is not None else ""
    text = re.sub(r"[§.()\[\]:]", "", "".join(text.split())).lower()
    if text:
        return text
    last = element.get("eId", "").rpartition("__")[2]
    tail = re.sub(r"^(?:sec|point|art|subsec)_|v\d{8}$", "", last)
    return "" if tail in ("none", "") else tail.replace("_", " ")


def _heading(element: ElementTree.Element) -> str:
    heading = element.find("heading")
    return _flat(heading).rstrip(".") if heading is not None else ""


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


def _flat(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _text(element: ElementTree.Element, *, skip: tuple[str, ...] = ()) -> str:
    """The words of an element: one line for a paragraph or an item, cells of a table row between
    bars."""
    pieces: list[str] = []
    _collect(element, skip, pieces)
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    text = "\n".join(line for line in lines if line and line != "|")
    return re.sub(
        r"(?m)^((?:\([^()\n]{1,4}\)|\d{1,3}[.)])\s*)\n", r"\1 ", text
    )  # a number and its words are one line


def _collect(element: ElementTree.Element, skip: tuple[str, ...], pieces: list[str]) -> None:
    block = element.tag in BLOCKS
    pieces.append("\n" if block else "")
    pieces.append(element.text or "")
    for child in element:
        if child.tag not in skip:
            _collect(child, (), pieces)
        if child.tag in ("td", "th"):
            pieces.append(" | ")
        pieces.append(child.tail or "")
    pieces.append("\n" if block or element.tag in ("br", "num") else "")
