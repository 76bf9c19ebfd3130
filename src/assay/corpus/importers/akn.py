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
from assay.corpus.importers.akn_xml import root_of
from assay.corpus.importers.kinds import Options, Problem, Unit, files_below, path_of
from assay.language.detect import language_code
from assay.law import en_names, fi, he
from assay.law.citation import PLAIN
from assay.law.places import normal_chapter, normal_part, printed_number
from assay.law.versions import IN_FORCE, marked, said_of

SCHEME = PLAIN
VERSION = 5
OPTIONS: tuple[str, ...] = ()
CONTAINERS = tuple("part chapter title division subdivision book appendix attachment".split())
BLOCKS = tuple(
    "p point paragraph subparagraph intro wrapup tr block item content subsection".split()
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
    by_chapter: bool = False  # a number alone does not say which section is meant


class Section(NamedTuple):
    """A section; `term` where it is a piece of one that stands beside it, such as a definition."""

    element: ElementTree.Element
    above: tuple[ElementTree.Element, ...]
    number: str
    term: str = ""
    heading: str = ""  # that stands before it, where it has none of its own


class Moment(NamedTuple):
    """What one document is made of; `intro` are the words before the list it is a point of."""

    number: str
    element: ElementTree.Element
    text: str
    intro: str = ""


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
    empty = True
    for document in _documents(root, law):
        empty = False
        yield document
    if empty:
        reason = f"no section was found in {law.title or law.id}"
        yield Problem(code="no-text", where=str(path), reason=reason)


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
    sections = list(_sections(root, (), law.language))
    seen = Counter((_schedule(section), section.number) for section in sections)
    names: Counter[str] = Counter()
    chapters: dict[tuple[str, str], set[str]] = {}
    for section in sections:
        chapter = _places(section).get("chapter", "")
        chapters.setdefault((_schedule(section), section.number), set()).add(chapter)
    for section in sections:
        at = _schedule(section), section.number
        law = law._replace(by_chapter=not section.number or len(chapters[at]) > 1)
        repeated = seen[at] > 1
        for moment in _moments(section):
            if not moment.text:
                continue
            document = _document(law, section, moment, with_chapter=repeated)
            names[document.id] += 1
            if names[document.id] > 1:  # two sections with no number, or one number used twice
                document = _renamed(document, names[document.id])
            yield document


def _sections(
    element: ElementTree.Element,
    above: tuple[ElementTree.Element, ...],
    language: str,
    titled: tuple[str, str] = ("", ""),
) -> Iterator[Section]:
    """The sections of an act, each with the parts, chapters and schedules around it. A point
    without a number belongs to the section before it, or has that of the line above it; if there is
    neither, points '1.', '2.' in it are sections."""
    last = ""
    for child in element:
        if child.tag in ("meta", "preface", "conclusions", "coverPage"):
            continue
        if child.tag == "subtitle":
            titled = _titled(_flat(child))
        elif (
            child.tag == "point"
            or (child.tag in ("section", "article") and child.find(".//point") is None)
            or (child.tag == "paragraph" and _schedule_of(above))
        ):
            number = _number(child, language) or titled[0]
            is_piece = child.tag == "point" and not _has_number(child)
            is_body = not _schedule_of(above)
            if is_piece and is_body and last:
                yield Section(child, above, last, _number(child, language))
            elif is_piece and not number and _holds_sections(child):
                yield from _sections(child, above, language)
            else:
                last = number
                yield Section(child, above, number, heading=titled[1])
        elif _is_schedule(child) or (
            child.tag in (*CONTAINERS, "section", "article") and child.get("eId") != "title"
        ):
            yield from _sections(child, (*above, child), language)
        elif len(child):
            yield from _sections(child, above, language, titled)


def _holds_sections(point: ElementTree.Element) -> bool:
    first = point.find("list/point/num")
    return first is not None and bool(re.fullmatch(r"\d+[א-ת]?\.?", _flat(first)))


def _titled(line: str) -> tuple[str, str]:
    """The number and the heading of a section that stand on a line of their own before it:
    'סעיף 2 אישיות משפטית', 'Article 3'; no number where the line names none."""
    named = re.match(r"(?:סעיף|Article|Section)\s+(\d+[א-ת]?)\b[.:]?\s*(.*)", line)
    return (named[1], named[2]) if named else ("", "")


def _moments(section: Section) -> Iterator[Moment]:
    """Subsections by position, points by their number or defined term; a section without either is
    one moment."""
    whole = section.element
    subsections = [child for child in whole if child.tag == "subsection"]
    if subsections:
        told = [one for one in subsections if _text(one, skip=("num", "heading"))]
        intro = " ".join(_flat(child) for child in whole if child.tag == "intro")
        for position, subsection in enumerate(told, start=1):
            text = _text(subsection, skip=("heading",))
            if subsection is told[-1]:
                text = "\n".join((text, *_closing(whole)))
            yield Moment(str(position), subsection, text, intro)
        return
    groups = [child for child in whole if child.tag == "list"]
    points = [child for group in groups for child in group if child.tag == "point"]
    if whole.tag == "point" and points:
        before = [child for group in whole for child in group if child.tag == "intro"]
        intro = " ".join(map(_flat, before))
        closing = [words for group in (*groups, whole) for words in _closing(group)]
        for point in points:
            text = _text(point, skip=("heading",))
            if point is points[-1]:  # closing words, a proviso among them, end the last one
                text = "\n".join((text, *closing))
            yield Moment(_number(point), point, text, intro)
        return
    text = _text(whole, skip=("num", "heading"))
    yield Moment("" if whole.tag == "point" else "1", whole, text)


def _closing(element: ElementTree.Element) -> list[str]:
    return [_text(child) for child in element if child.tag == "wrapup"]


def _document(law: Law, section: Section, moment: Moment, *, with_chapter: bool) -> Document:
    element = moment.element
    schedule, heading, places = _schedule(section), _heading(section), _places(section)
    number = " ".join(filter(None, (section.term, moment.number)))
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
        title=marked(_label(law, section, number, chapter), status, law.language),
        text=moment.text,
        fields={name: words for name, words in named.items() if words},
        locator=Locator(
            doc_id=law.id,
            part=normal_part(places.get("part")).upper() or None,
            chapter=chapter or None,
            schedule=schedule or None,
            section=section.number or None,
            moment=number or None,
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
        "schedule": _schedule(section),
        "eId": eid,
        "amended_by": f"{int(amended[2])}/{amended[1]}" if amended else "",
    }
    return {key: value for key, value in stated.items() if value not in ("", None)}


def _renamed(document: Document, copy: int) -> Document:
    return msgspec.structs.replace(document, id=f"{document.id}~{copy}")


def _label(law: Law, section: Section, moment: str, chapter: str) -> str:
    """The act, the place in its language, and the heading. A chapter is told where sections begin
    anew in each."""
    schedule, number = _schedule(section), section.number
    chapter = chapter if law.by_chapter else ""
    if law.language == "he":
        place = he.place_name(number, moment, schedule=schedule, chapter=chapter)
    elif law.language == "fi":
        place = fi.place_name(number, moment, schedule=schedule, chapter=chapter)
    else:
        place = en_names.place_name(number, moment, schedule=schedule, chapter=chapter)
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
        places[name] = _flat(num).rstrip(":") if num is not None else ""
        places[f"{name}_title"] = _flat(title) if title is not None else ""
    return {key: value for key, value in places.items() if value}


def _schedule(section: Section) -> str:
    return _schedule_of(section.above)


def _schedule_of(above: tuple[ElementTree.Element, ...]) -> str:
    """The schedule a section stands in: by the ordinal in its name, the first with a letter as 1א;
    else by its number or its name. One without any is the first."""
    for element in above:
        if _is_schedule(element):
            title = element.find("title")
            eid = re.sub("[_-]", " ", element.get("eId", ""))
            name = f"{eid} {_flat(title) if title is not None else ''}"
            digits = re.search(r"(?<!\d)\d{1,2}(?!\d)", name)
            called = " ".join(eid.split()[1:])
            return he.schedule_number(name) or (digits[0] if digits else called or "1")
    return ""


def _is_schedule(element: ElementTree.Element) -> bool:
    is_named = element.tag == "hcontainer" and element.get("name") == "schedule"
    return is_named or element.tag in ("appendix", "attachment")


def _has_number(element: ElementTree.Element) -> bool:
    num = element.find("num")
    return num is not None and bool(_flat(num))


def _number(element: ElementTree.Element, language: str = "") -> str:
    """A section's number as it is cited: '110 a §' is 110a, '197א.' is 197א; a definition goes by
    its term."""
    num = element.find("num")
    if number := printed_number(_flat(num), language) if num is not None else "":
        return number
    last = element.get("eId", "").rpartition("__")[2]
    tail = re.sub(r"^(?:sec|point|art|subsec)_|v\d{8}$", "", last)
    return "" if tail in ("none", "") else tail.replace("_", " ")


def _heading(section: Section) -> str:
    heading = section.element.find("heading")
    return (_flat(heading).rstrip(".") if heading is not None else "") or section.heading


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
