"""Sections and moments of laws, by name or by Akoma Ntoso address.

**Idea.** A citation of a law is a path with steps left out: law, schedule, chapter, section and
moment. What is left out is either said by the place the citation stands in ("this law", "moment 2",
a bare section inside an act) or does not matter, because only one thing fits. So every document
gets its `Place`, and a citation is resolved from the outside in:

1. *The law.* By its number; "this law" is the citing document's own; by its name, in the base forms
   that Finnish and Hebrew citations use; by the beginning of its name, if it is two words or more
   and only one law begins so; and where none is named, the citing document's own, or any.
2. *The section.* In the schedule the citation names or stands in. Where section numbers begin anew
   in each chapter, a bare number means the chapter it stands in, as lawyers read it.
3. *The moment.* If it names one. A section without a moment is all its moments; a paragraph inside
   a moment is the moment.

After each step what is left may be nothing, which is said with the reason, or of several laws or
chapters, which is ambiguous: the resolver never chooses by chance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from assay.law import fi, he
from assay.law.citation import Citation, Facts, Resolution

Steps = dict[str, str]  # of a citation: law, id, schedule, chapter, section, to, moment, sub


class Place(NamedTuple):
    """Where a document stands in its law."""

    law: str
    chapter: str
    schedule: str
    section: str
    moment: str
    row: int


class Laws:
    """The laws of a corpus. A law is known by its number, or by its title where it has none."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = defaultdict(set)  # base form of a name -> laws
        # by law, schedule and section
        self.sections: dict[tuple[str, str, str], list[Place]] = defaultdict(list)
        self.places: dict[int, Place] = {}  # by row
        self.titles: dict[str, str] = {}  # by law
        self.elements: dict[str, list[int]] = defaultdict(list)  # by work and element, as addressed
        self.works: set[str] = set()

    def add(self, row: int, facts: Facts, section: str, moment: str) -> None:
        law = facts.law_id or facts.law
        place = Place(law, _leading(facts.chapter), facts.schedule, section, moment, row)
        self.places[row] = place
        self.sections[(law, facts.schedule, section)].append(place)
        if facts.work:
            self.works.add(facts.work)
            for element in _addresses(facts):
                self.elements[f"{facts.work}#{element}"].append(row)
        if law not in self.titles:
            self.titles[law] = facts.law
            for name in (facts.law, *facts.law_names):
                self.names[fi.law_base(name)].add(law)
                self.names[he.law_key(name)].add(law)
            self.names[law].add(law)

    def reference(self, address: str, source: int | None) -> Resolution:
        """The documents inside the element that an Akoma Ntoso address names."""
        work, _, element = address.partition("#")
        work = re.sub(r"/[a-z]{2,3}@[^/]*(?:/.*)?$|/main(?:\.xml)?$|/$", "", work)
        if work not in self.works:
            return Resolution("missing", (), "the law is not in the corpus")
        if not element:
            return Resolution("no-document", (), "a law as a whole")
        rows = self.elements.get(f"{work}#{_plain_eid(element)}")
        if rows is None:
            return _no_element(element)
        others = tuple(row for row in rows if row != source)
        if not others:
            return Resolution("self", (), "the document itself")
        return Resolution("resolved", others, "address")

    def statute(self, citation: Citation, source: int | None) -> Resolution:
        steps = citation.parts
        own = self.places.get(source) if source is not None else None
        laws = self._laws_named(steps, own)
        if isinstance(laws, Resolution):
            return laws
        if "section" not in steps and own is None:
            reason = "a moment of the section it stands in; which one is not known here"
            return Resolution("ambiguous", (), reason)
        places = [place for law in laws for place in self._sections_of(law, steps, own)]
        if not places:
            names = ", ".join(sorted(self.titles[law] for law in laws)[:3])
            reason = f"{names} has no such section" if len(laws) < 4 else "no law here has it"
            return Resolution("missing", (), reason)
        moment = steps.get("moment", "")
        if moment.isdigit() and _several_laws(places):
            # only a law that has the moment can be meant
            places = [place for place in places if _same_moment(place.moment, moment)] or places
        if _several_laws(places):
            titles = sorted({self.titles[place.law] for place in places})
            some = ", ".join(titles[:4])
            reason = f"no law is named, and {len(titles)} laws have this section: {some}"
            return Resolution("ambiguous", _rows(places), reason)
        return _moments(places, steps)

    def _laws_named(self, steps: Steps, own: Place | None) -> list[str] | Resolution:
        name = steps.get("law", "")
        if steps.get("id") in self.titles:
            return [steps["id"]]
        if name.startswith("tämä"):
            if own is None:
                return Resolution("ambiguous", (), "'this law' has a meaning only inside a law")
            return [own.law]
        key = he.law_key(name)
        if name and (laws := self.names.get(name) or self.names.get(key)):
            return sorted(laws)
        if name and len(begun := self._laws_beginning(key)) == 1:
            return sorted(begun)
        if name or steps.get("id"):
            reason = f"the law {name or steps['id']!r} is not in the corpus"
            return Resolution("missing", (), reason)
        return [own.law] if own else sorted(self.titles)

    def _laws_beginning(self, key: str) -> set[str]:
        """Laws by the first words of their name, where a text says no more: at least two words."""
        if key.count(" ") < 1:
            return set()
        longer = (laws for name, laws in self.names.items() if name.startswith(f"{key} "))
        return {law for laws in longer for law in laws}

    def _sections_of(self, law: str, steps: Steps, own: Place | None) -> list[Place]:
        """The places in one law that fit the section, schedule and chapter of a citation."""
        home = own if own is not None and own.law == law else None  # cited from the law itself
        schedule = home.schedule if home and not steps.get("law") else ""
        schedule = steps.get("schedule", schedule)
        if "section" in steps:
            wanted = self._span(law, schedule, steps["section"], steps.get("to", ""))
        else:
            wanted = [own.section] if own else []
        places = self._places(law, schedule, wanted)
        if not places and schedule and "schedule" not in steps:
            places = self._places(law, "", wanted)  # a schedule may mean a section of the body
        chapter = steps.get("chapter", "")
        begins_anew = not chapter and len({place.chapter for place in places}) > 1
        if home and (chapter == "tämä" or begins_anew):
            chapter = home.chapter
        if chapter and chapter != "tämä":
            places = [place for place in places if place.chapter == chapter]
        return places

    def _places(self, law: str, schedule: str, sections: list[str]) -> list[Place]:
        keys = ((law, schedule, section) for section in sections)
        return [place for key in keys for place in self.sections.get(key, [])]

    def _span(self, law: str, schedule: str, first: str, last: str) -> list[str]:
        """The sections from the first to the last, where a citation names a row of them."""
        are_numbers = all(end.rstrip("abcdefgh").isdigit() for end in (first, last))
        if not last or not are_numbers:
            return [first]
        low, high = _section_key(first), _section_key(last)
        every = [section for at, kind, section in self.sections if at == law and kind == schedule]
        return [section for section in every if low <= _section_key(section) <= high]


def _no_element(element: str) -> Resolution:
    """An address of a whole chapter or schedule means no document; of anything smaller it fails."""
    is_large = "chp" in element or "part" in element or element.startswith("appendix")
    if is_large and "point" not in element and "sec" not in element:
        return Resolution("no-document", (), "a chapter or schedule as a whole")
    return Resolution("missing", (), "no such element")


def _moments(places: list[Place], steps: Steps) -> Resolution:
    """Of the moments of one law's section, those that are cited."""
    chapters = {place.chapter for place in places}
    if len(chapters) > 1 and "to" not in steps:
        reason = f"no chapter is named, and {len(chapters)} chapters have this section"
        return Resolution("ambiguous", _rows(places), reason)
    wanted = steps.get("moment") or steps.get("sub", "")
    if not wanted:
        return Resolution("resolved", _rows(places), "law and section")
    low, _, high = wanted.partition("–")
    names = [wanted]
    if high and high.isdigit():
        names = [str(number) for number in range(int(low), int(high) + 1)]
    cited = [place for place in places if any(_same_moment(place.moment, name) for name in names)]
    if cited:
        return Resolution("resolved", _rows(cited), "law, section and moment")
    if steps.get("sub"):  # the paragraph is inside a document, not a document
        return Resolution("resolved", _rows(places), "law and section")
    return Resolution("missing", (), f"the section has no moment {wanted}")


def _rows(places: list[Place]) -> tuple[int, ...]:
    return tuple(place.row for place in places)


def _several_laws(places: list[Place]) -> bool:
    return len({place.law for place in places}) > 1


def _plain_eid(eid: str) -> str:
    """An element's id without the version of the amendment that wrote it: sec_7av20151620 is
    sec_7a."""
    return re.sub(r"v\d{8}(?=__|$)", "", eid)


def _addresses(facts: Facts) -> Iterator[str]:
    """The ids by which an address may mean a document: its own, its section's, and a schedule's by
    number."""
    steps = _plain_eid(facts.eId).split("__")
    units = (at for at, step in enumerate(steps) if step.startswith(("sec_", "point_", "art_")))
    first = next(units, len(steps))
    ends = range(first, len(steps))
    yield from ("__".join(steps[: end + 1]) for end in ends)
    if first and steps[first : first + 1] and steps[first].startswith("sec_"):
        yield from ("__".join(steps[first : end + 1]) for end in ends)  # without its chapter
    if facts.schedule and len(steps) > 1:
        yield f"appendix_{facts.schedule}_פרט_{steps[1].removeprefix('point_')}"


def _leading(text: str) -> str:
    """'8 a luku' is chapter 8a; Hebrew chapters keep their letter."""
    number = re.match(r"\s*(\d+\s?[a-z]?)\b", text)
    return "".join(number[1].split()) if number else text.strip()


def _section_key(section: str) -> tuple[int, str]:
    digits = re.match(r"\d+", section)
    return (int(digits[0]), section[digits.end() :]) if digits else (0, section)


def _same_moment(moment: str, wanted: str) -> bool:
    """ "(a)(1)" is in the moment a."""
    if moment == wanted:
        return True
    return wanted.startswith("(") and moment == wanted.strip("()").split(")(")[0]
