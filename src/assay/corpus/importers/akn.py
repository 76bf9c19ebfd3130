"""Import acts in Akoma Ntoso 3.0, one document for each subsection (moment).

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
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

import msgspec
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from assay.core.types import Document, Locator
from assay.corpus.importers.foreign_json import unreadable
from assay.corpus.importers.kinds import Options, Problem, Unit, files_below, path_of
from assay.language.detect import language_code
from assay.law import en_names, fi, he
from assay.law.citation import PLAIN
from assay.law.places import normal_chapter, normal_part, printed_number
from assay.law.versions import IN_FORCE, REPEALED, mark_of, status_of_text, with_status_mark

SCHEME = PLAIN
VERSION = 6  # raised when the same source gives other documents
OPTIONS: tuple[str, ...] = ()


class Law(NamedTuple):
    """The properties of a whole act."""

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
    root = read_root(path)
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
    law = _read_law(root, unit)
    name_schedules(root)
    sections = list(sections_of(root, (), law.language))
    documents = list(_documents(sections, law))
    yield from documents
    if not documents:
        reason = f"no section was found in {law.title or law.id}"
        yield Problem(code="no-text", where=str(path), reason=reason)
        return
    for code, reason in _find_oddities(root, sections, documents):
        yield Problem(code=code, where=str(path), reason=reason)


def _find_oddities(
    root: ElementTree.Element, sections: list[AknSection], documents: list[Document]
) -> Iterator[tuple[str, str]]:
    """Words that are not in the documents, and places that stand twice: (code, why)."""
    if loose := words_outside_sections(root, sections):
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


def _read_law(root: ElementTree.Element, unit: Unit) -> Law:
    work, expression = _read_uri(root, "FRBRWork"), _read_uri(root, "FRBRExpression")
    work = re.sub(r"/main(?:\.xml)?$", "", work)
    version = next((step for step in reversed(expression.split("/")) if "@" in step), "")
    steps = [step for step in work.split("/") if step]
    pair = re.search(r"/(\d{4})/(\d+[a-z]?)$", work)
    law_id = f"{pair[2]}/{pair[1]}" if pair else (steps[-1] if steps else unit.id)
    language = next(
        (e.get("language", "") for e in root.iter("FRBRlanguage")), version.partition("@")[0]
    )
    dated = _read_date(root)
    dated = "" if dated < "1800" else dated  # 1000-01-01 stands for a date nobody entered
    year = re.search(r"\d{4}", pair[1] if pair else dated)
    periods = _read_periods(root)
    first = next(iter(periods.values()), ("", ""))
    return Law(
        id=law_id,
        work=work,
        version=version if version.partition("@")[2] else "",
        language=language_code(language)[:2],
        title=_read_title(root) or unit.id,
        year=int(year[0]) if year else None,
        valid_from=first[0] or dated,
        valid_to=first[1],
        periods=periods,
    )


def _read_uri(root: ElementTree.Element, level: str) -> str:
    for parent in root.iter(level):
        for name in ("FRBRuri", "FRBRthis"):
            for element in parent.iter(name):
                return element.get("value", "")
    return ""


def _read_title(root: ElementTree.Element) -> str:
    for name in ("docTitle", "longTitle", "shortTitle", "FRBRtitle", "FRBRalias"):
        for element in root.iter(name):
            if text := element.get("value") or flat(element):
                return text
    body = next(root.iter("body"), None)
    title = body.find("title") if body is not None else None
    return flat(title) if title is not None else ""


def _read_date(root: ElementTree.Element) -> str:
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


def _read_periods(root: ElementTree.Element) -> dict[str, tuple[str, str]]:
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


def _documents(sections: list[AknSection], law: Law) -> Iterator[Document]:
    seen = Counter((section.schedule, section.number) for section in sections)
    names: Counter[str] = Counter()
    chapters: dict[tuple[str, str], set[str]] = {}
    parts: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for section in sections:
        places = _divisions_above(section)
        at = section.schedule, section.number
        chapters.setdefault(at, set()).add(places.get("chapter", ""))
        parts.setdefault(at, set()).add((places.get("part", ""), places.get("chapter", "")))
    for section in sections:
        at = section.schedule, section.number
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
            if (copy := names[document.id]) > 1:  # no number, or one number used twice
                document = msgspec.structs.replace(document, id=f"{document.id}~{copy}")
            yield document


def _document(law: Law, section: AknSection, moment: AknMoment, *, with_chapter: bool) -> Document:
    element = moment.element
    schedule, heading, places = section.schedule, _heading(section), _divisions_above(section)
    number = " ".join(filter(None, (section.term, moment.number)))
    # in English a section that is not divided has no subsection (1)
    printed = "" if law.language == "en" and element is section.element else number
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
    status = status_of_text(moment.text) or IN_FORCE
    return Document(
        id=":".join(part for part in id_parts if part),
        title=with_status_mark(
            _document_title(law, section, printed, chapter), status, law.language
        ),
        text=moment.text,
        fields={name: words for name, words in named.items() if words},
        locator=Locator(
            doc_id=law.id,
            part=normal_part(places.get("part")).upper() or None,
            chapter=chapter or None,
            schedule=schedule or None,
            section=section.number or None,
            moment=printed or None,
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
    law: Law, section: AknSection, element: ElementTree.Element, places: dict[str, str]
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
        "schedule": section.schedule,
        "eId": eid,
        "amended_by": f"{int(amended[2])}/{amended[1]}" if amended else "",
    }
    return {key: value for key, value in stated.items() if value not in ("", None)}


def _document_title(law: Law, section: AknSection, moment: str, chapter: str) -> str:
    """The act, the place in its language, and the heading. A chapter is told where sections begin
    anew in each."""
    schedule, number = section.schedule, section.number
    chapter = chapter if law.by_chapter else ""
    if law.language == "he":
        place = he.place_name(number, moment, schedule=schedule, chapter=chapter)
    elif law.language == "fi":
        place = fi.place_name(number, moment, schedule=schedule, chapter=chapter)
    else:
        place = en_names.place_name(number, moment, schedule=schedule, chapter=chapter)
        if law.by_part and (part := _divisions_above(section).get("part")):
            above = f"Sch. {schedule} " if schedule else ""
            place = f"{above}{part} {place.removeprefix(above)}"
    heading = _heading(section)
    return f"{law.title} {place}".rstrip() + (f" – {heading}" if heading else "")


def _divisions_above(section: AknSection) -> dict[str, str]:
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


def _heading(section: AknSection) -> str:
    heading = section.element.find("heading")
    return (flat(heading).rstrip(".") if heading is not None else "") or section.heading


def _inherited(section: AknSection, element: ElementTree.Element, attribute: str) -> str:
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


# ── sections and moments ──────────────────────────────────────────────────────────────────────────

CONTAINERS = tuple("part chapter title division subdivision book appendix attachment".split())
BASIC = ("section", "article", "rule", "clause")
# what a section of an act holds; a subchapter that is called one holds none of them
SECTION_CONTENT = ("subsection", "paragraph", "content", "intro", "wrapup", "alinea")
_NO_WORDS = ("num", "heading", "title", "subtitle")
_HOLDERS = (*CONTAINERS, "hcontainer", "doc", "attachments", "components", "component")
_SCHEDULE = "as-schedule"  # the name that a schedule was given, on its element
BLOCKS = tuple(
    "p point paragraph subparagraph intro wrapup tr block item content subsection".split()
)


class AknSection(NamedTuple):
    """A section; `term` where it is a piece of one that stands beside it, such as a definition."""

    element: ElementTree.Element
    above: tuple[ElementTree.Element, ...]
    number: str
    term: str = ""
    heading: str = ""  # that stands before it, where it has none of its own

    @property
    def schedule(self) -> str:
        return _schedule_of(self.above)


class AknMoment(NamedTuple):
    """The text of one document; `intro` are the words before the list it is a point of."""

    number: str
    element: ElementTree.Element
    text: str
    intro: str = ""


def sections_of(
    element: ElementTree.Element,
    above: tuple[ElementTree.Element, ...],
    language: str,
    titled: tuple[str, str] = ("", ""),
) -> Iterator[AknSection]:
    """The sections of an act, each with the parts, chapters and schedules around it. A point
    without a number belongs to the section before it, or has that of the line above it; if there is
    neither, points '1.', '2.' in it are sections."""
    last = ""
    for child in element:
        if child.tag in ("meta", "preface", "conclusions", "coverPage"):
            continue
        if child.tag == "subtitle":
            titled = _numbered_title(flat(child))
        elif _is_section(child):
            number = number_of(child, language) or titled[0]
            is_piece = child.tag == "point" and not _has_number(child)
            is_body = not _schedule_of(above)
            if is_piece and is_body and last:
                yield AknSection(child, above, last, number_of(child, language))
            elif is_piece and not number and _holds_sections(child):
                yield from sections_of(child, above, language)
            else:
                last = number
                yield AknSection(child, above, number, heading=titled[1])
        elif _is_schedule(child) or (
            child.tag in (*CONTAINERS, *BASIC) and child.get("eId") != "title"
        ):
            inner = list(sections_of(child, (*above, child), language))
            if not inner and _is_schedule(child) and _words_outside(child, set()):
                inner = [AknSection(child, (*above, child), "")]  # a table, a form
            yield from inner
        elif len(child):
            yield from sections_of(child, above, language, titled)


def _is_section(element: ElementTree.Element) -> bool:
    if element.tag in BASIC:
        return element.find(".//point") is None or any(
            child.tag in SECTION_CONTENT for child in element
        )
    return element.tag in ("point", "paragraph")


def _holds_sections(point: ElementTree.Element) -> bool:
    first = point.find("list/point/num")
    return first is not None and bool(re.fullmatch(r"\d+[א-ת]?\.?", flat(first)))


def _numbered_title(line: str) -> tuple[str, str]:
    """The number and the heading of a section that stand on a line of their own before it:
    'סעיף 2 אישיות משפטית', 'Article 3'; no number where the line names none."""
    named = re.match(r"(?:סעיף|Article|Section)\s+(\d+[א-ת]?)\b[.:]?\s*(.*)", line)
    return (named[1], named[2]) if named else ("", "")


def moments_of(section: AknSection, language: str = "") -> Iterator[AknMoment]:
    """Subsections and numbered paragraphs by the number they print or else by position, points by
    their number or defined term; a section without any is one moment. What stands beside them are
    words before them, or closing words, a proviso among them, that end the one before."""
    whole = section.element
    before: list[str] = []
    found: list[tuple[str, ElementTree.Element, list[str]]] = []
    for child in _children(whole):
        if child.tag in _NO_WORDS:
            continue
        if _is_moment(child, whole):
            if words := text_of(child, skip=("heading",)):
                position = "" if child.tag == "point" else str(len(found) + 1)
                has_number = child.tag == "point" or _has_number(child)
                number = number_of(child) if has_number else position
                found.append((number, child, [words]))
        elif words := text_of(child):
            (found[-1][2] if found and child.tag != "intro" else before).append(words)
    if not found:
        text = text_of(whole, skip=_NO_WORDS) or _repeal_note(whole, language)
        yield AknMoment("" if whole.tag == "point" or not section.number else "1", whole, text)
    intro = " ".join(" ".join(before).split())
    for number, element, pieces in found:
        yield AknMoment(number, element, "\n".join(pieces), intro)


def _children(whole: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The children of a section, those of its lists in their place."""
    for child in whole:
        yield from child if child.tag == "list" else (child,)


def _is_moment(child: ElementTree.Element, whole: ElementTree.Element) -> bool:
    if whole.tag == "point":
        return child.tag == "point"
    is_counted = child.tag in ("paragraph", "subparagraph") and _has_printed_number(child)
    return child.tag == "subsection" or is_counted


def _has_printed_number(element: ElementTree.Element) -> bool:
    num = element.find("num")
    return num is not None and re.match(r"\W*\d", flat(num)) is not None


def _repeal_note(section: ElementTree.Element, language: str) -> str:
    """The text of a section without words that its source marks as repealed."""
    is_gone = section.get("status", "").lower() in ("removed", "repealed", "omitted")
    return f"({mark_of(REPEALED, language)})" if is_gone else ""


def words_outside_sections(root: ElementTree.Element, sections: list[AknSection]) -> list[str]:
    """The words of an act that stand outside all its sections, apart from names, headings and
    signatures."""
    taken = {section.element for section in sections}
    pieces: list[str] = []
    for part in root.iter():
        if part.tag in ("preamble", "body", "mainBody", "attachment"):
            pieces += _words_outside(part, taken)
            taken.add(part)
    return pieces


def _words_outside(element: ElementTree.Element, taken: set[ElementTree.Element]) -> list[str]:
    pieces: list[str] = []
    for child in element:
        if child in taken or child.tag in (*_NO_WORDS, "meta", "conclusions"):
            continue
        if any(one in taken for one in child.iter()) or child.tag in _HOLDERS:
            pieces += _words_outside(child, taken)
        elif words := flat(child):
            pieces.append(words)
    return pieces


# printed over a schedule: "Second Schedule", "Annex IV", "Liite 1"
_PRINTED = re.compile(
    rf"(?P<ordinal>{en_names.ORDINAL})\s+(?:schedule|annex|appendix)"
    r"|\b(?:schedule|annex|appendix|liite)\s+(?P<number>\d{1,2}[a-z]?|[ivx]+|[a-z])\b",
    re.IGNORECASE,
)


def _schedule_of(above: tuple[ElementTree.Element, ...]) -> str:
    return next((element.get(_SCHEDULE, "1") for element in above if _is_schedule(element)), "")


def name_schedules(root: ElementTree.Element) -> None:
    """Give every schedule its name: what is printed over it (Schedule A, the Second Schedule), the
    ordinal in its name, the first with a letter as 1א, or else its number or its name; one without
    any is told by its place among those."""
    unnamed = 0
    for element in root.iter():
        if not _is_schedule(element):
            continue
        title = element.find("title")
        eid = re.sub("[_-]", " ", element.get("eId", ""))
        name = f"{eid} {flat(title) if title is not None else ''}"
        digits = re.search(r"(?<!\d)\d{1,2}(?!\d)", name)
        called = " ".join(eid.split()[1:])
        number = _printed_schedule(element) or he.schedule_number(name)
        number = number or (digits[0] if digits else called)
        unnamed += not number
        element.set(_SCHEDULE, number or str(unnamed))


def _printed_schedule(element: ElementTree.Element) -> str:
    for child in element:
        if child.tag in ("num", "heading") and (found := _PRINTED.search(flat(child))):
            number = (found["number"] or "").upper()
            return en_names.schedule_number(found["ordinal"] or "", number)
    return ""


def _is_schedule(element: ElementTree.Element) -> bool:
    is_named = element.tag == "hcontainer" and element.get("name") == "schedule"
    return is_named or element.tag in ("appendix", "attachment")


def _has_number(element: ElementTree.Element) -> bool:
    num = element.find("num")
    return num is not None and bool(flat(num))


def number_of(element: ElementTree.Element, language: str = "") -> str:
    """A section's number as it is cited: '110 a §' is 110a, '197א.' is 197א; a definition goes by
    its term."""
    num = element.find("num")
    if number := printed_number(flat(num), language) if num is not None else "":
        return number
    last = element.get("eId", "").rpartition("__")[2]
    tail = re.sub(r"^(?:sec|point|art|subsec)_|v\d{8}$", "", last)
    return "" if tail in ("none", "") else tail.replace("_", " ")


def flat(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def text_of(element: ElementTree.Element, *, skip: tuple[str, ...] = ()) -> str:
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


# ── XML ───────────────────────────────────────────────────────────────────────────────────────────

MAX_BYTES = 256 * 2**20  # taste: far larger than any act
MAX_DEPTH = 200  # taste: far deeper than any act, and safe for recursion


class _TooDeep(Exception):
    pass


class _LocalNames:
    """Builds the tree with names without their namespace; a very deep tree is refused."""

    def __init__(self) -> None:
        self._builder = ElementTree.TreeBuilder()
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooDeep(f"elements are nested deeper than {MAX_DEPTH}")
        local = {_local(key): value for key, value in attributes.items()}
        self._builder.start(_local(name), local)

    def end(self, name: str) -> None:
        self._depth -= 1
        self._builder.end(_local(name))

    def data(self, text: str) -> None:
        self._builder.data(text)

    def close(self) -> ElementTree.Element:
        return self._builder.close()


def parse_xml(data: bytes) -> ElementTree.Element:
    """The tree, with local names; a document type declaration or a very deep tree is refused."""
    parser = DefusedXMLParser(target=_LocalNames(), forbid_dtd=True)
    parser.feed(data)
    root = parser.close()
    assert isinstance(root, ElementTree.Element)
    return root


def read_root(path: Path) -> ElementTree.Element | Problem:
    try:
        if path.stat().st_size > MAX_BYTES:
            reason = f"the file is larger than {MAX_BYTES // 2**20} MiB"
            return Problem(code="too-large", where=str(path), reason=reason)
        return parse_xml(path.read_bytes())
    except OSError as error:
        return unreadable(path, error)
    except DefusedXmlException:
        reason = "it has a document type declaration (DOCTYPE); entities are not read"
        return Problem(code="refused-xml", where=str(path), reason=reason)
    except _TooDeep as error:
        return Problem(code="refused-xml", where=str(path), reason=str(error))
    except ElementTree.ParseError as error:
        line, column = error.position
        message = expat.errors.messages.get(error.code, str(error))
        reason = f"not well-formed XML: {message}, column {column + 1}"
        return Problem(code="bad-xml", where=f"{path}:{line}", reason=reason)
    except (LookupError, UnicodeError, ValueError) as error:
        return Problem(code="bad-xml", where=str(path), reason=f"not readable XML: {error}")


def _local(name: str) -> str:
    local = name.rpartition("}")[2]
    return "wrapup" if local == "wrapUp" else local  # both are written
