"""The sections of an Akoma Ntoso act and their moments, and what stands beside them.

Nothing is dropped in silence: what a section holds beside its moments is the words before them or
ends the one before it; a schedule without paragraphs is one text; what stands outside of all
sections is told (`left_out`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from assay.law import en_acts, he
from assay.law.places import printed_number
from assay.law.versions import REPEALED, mark_of

CONTAINERS = tuple("part chapter title division subdivision book appendix attachment".split())
BASIC = ("section", "article", "rule", "clause")
# what a section of an act holds; a subchapter that is called one holds none of them
OWN = ("subsection", "paragraph", "content", "intro", "wrapup", "alinea")
_NO_WORDS = ("num", "heading", "title", "subtitle")
_HOLDERS = (*CONTAINERS, "hcontainer", "doc", "attachments", "components", "component")
_SCHEDULE = "as-schedule"  # the name that a schedule was given, on its element
BLOCKS = tuple(
    "p point paragraph subparagraph intro wrapup tr block item content subsection".split()
)


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


def sections_of(
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
            titled = _titled(flat(child))
        elif _is_section(child):
            number = number_of(child, language) or titled[0]
            is_piece = child.tag == "point" and not _has_number(child)
            is_body = not _schedule_of(above)
            if is_piece and is_body and last:
                yield Section(child, above, last, number_of(child, language))
            elif is_piece and not number and _holds_sections(child):
                yield from sections_of(child, above, language)
            else:
                last = number
                yield Section(child, above, number, heading=titled[1])
        elif _is_schedule(child) or (
            child.tag in (*CONTAINERS, *BASIC) and child.get("eId") != "title"
        ):
            inner = list(sections_of(child, (*above, child), language))
            if not inner and _is_schedule(child) and _loose_words(child, set()):
                inner = [Section(child, (*above, child), "")]  # a table, a form
            yield from inner
        elif len(child):
            yield from sections_of(child, above, language, titled)


def _is_section(element: ElementTree.Element) -> bool:
    if element.tag in BASIC:
        return element.find(".//point") is None or any(child.tag in OWN for child in element)
    return element.tag in ("point", "paragraph")


def _holds_sections(point: ElementTree.Element) -> bool:
    first = point.find("list/point/num")
    return first is not None and bool(re.fullmatch(r"\d+[א-ת]?\.?", flat(first)))


def _titled(line: str) -> tuple[str, str]:
    """The number and the heading of a section that stand on a line of their own before it:
    'סעיף 2 אישיות משפטית', 'Article 3'; no number where the line names none."""
    named = re.match(r"(?:סעיף|Article|Section)\s+(\d+[א-ת]?)\b[.:]?\s*(.*)", line)
    return (named[1], named[2]) if named else ("", "")


def moments_of(section: Section, language: str = "") -> Iterator[Moment]:
    """Subsections and numbered paragraphs by the number they print or else by position, points by
    their number or defined term; a section without any is one moment. What stands beside them are
    words before them, or closing words, a proviso among them, that end the one before."""
    whole = section.element
    before: list[str] = []
    found: list[tuple[str, ElementTree.Element, list[str]]] = []
    for child in _beside(whole):
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
        text = text_of(whole, skip=("num", "heading", "title", "subtitle"))
        text = text or _gone(whole, language)
        yield Moment("" if whole.tag == "point" or not section.number else "1", whole, text)
    intro = " ".join(" ".join(before).split())
    for number, element, pieces in found:
        yield Moment(number, element, "\n".join(pieces), intro)


def _beside(whole: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The children of a section, those of its lists in their place."""
    for child in whole:
        yield from child if child.tag == "list" else (child,)


def _is_moment(child: ElementTree.Element, whole: ElementTree.Element) -> bool:
    if whole.tag == "point":
        return child.tag == "point"
    is_counted = child.tag in ("paragraph", "subparagraph") and _counted(child)
    return child.tag == "subsection" or is_counted


def _counted(element: ElementTree.Element) -> bool:
    num = element.find("num")
    return num is not None and re.match(r"\W*\d", flat(num)) is not None


def _gone(section: ElementTree.Element, language: str) -> str:
    """What is told of a section without words that its source marks as repealed."""
    is_gone = section.get("status", "").lower() in ("removed", "repealed", "omitted")
    return f"({mark_of(REPEALED, language)})" if is_gone else ""


def left_out(root: ElementTree.Element, sections: list[Section]) -> list[str]:
    """What an act says outside of all its sections, apart from names, headings and signatures."""
    taken = {section.element for section in sections}
    pieces: list[str] = []
    for part in root.iter():
        if part.tag in ("preamble", "body", "mainBody", "attachment"):
            pieces += _loose_words(part, taken)
            taken.add(part)
    return pieces


def _loose_words(element: ElementTree.Element, taken: set[ElementTree.Element]) -> list[str]:
    pieces: list[str] = []
    for child in element:
        if child in taken or child.tag in (*_NO_WORDS, "meta", "conclusions"):
            continue
        if any(one in taken for one in child.iter()) or child.tag in _HOLDERS:
            pieces += _loose_words(child, taken)
        elif words := flat(child):
            pieces.append(words)
    return pieces


_PRINTED = re.compile(
    rf"(?P<ordinal>{en_acts.ORDINAL})\s+(?:schedule|annex|appendix)"
    r"|\b(?:schedule|annex|appendix|liite)\s+(?P<number>\d{1,2}[a-z]?|[ivx]+|[a-z])\b",
    re.IGNORECASE,
)


def schedule_of(section: Section) -> str:
    return _schedule_of(section.above)


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
        said = _printed_schedule(element) or he.schedule_number(name)
        said = said or (digits[0] if digits else called)
        unnamed += not said
        element.set(_SCHEDULE, said or str(unnamed))


def _printed_schedule(element: ElementTree.Element) -> str:
    for child in element:
        if child.tag in ("num", "heading") and (found := _PRINTED.search(flat(child))):
            number = (found["number"] or "").upper()
            return en_acts.schedule_number(found["ordinal"] or "", number)
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
