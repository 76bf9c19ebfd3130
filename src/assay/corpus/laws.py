"""Sections and moments of laws, by name or by Akoma Ntoso address.

A section is found by the law, named or the citing document's own, and its number; a section without
a moment is all its moments. Where numbers begin anew in each chapter, a bare one means the chapter
it stands in."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from assay.law import fi, he
from assay.law.citation import Citation, Facts, Resolution, Status


class Place(NamedTuple):
    """Where a document stands in its law."""

    law: str
    chapter: str
    schedule: str
    section: str
    moment: str
    row: int


class Laws:
    def __init__(self) -> None:
        self.names: dict[str, set[str]] = defaultdict(set)
        self.sections: dict[tuple[str, str, str], list[Place]] = defaultdict(list)
        self.places: dict[int, Place] = {}
        self.titles: dict[str, str] = {}
        self.elements: dict[str, list[int]] = defaultdict(list)
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
            whole = "chp" in element or "part" in element or element.startswith("appendix")
            status: Status = (
                "no-document"
                if whole and "point" not in element and "sec" not in element
                else "missing"
            )
            return Resolution(
                status,
                (),
                "a chapter or schedule as a whole" if status != "missing" else "no such element",
            )
        others = tuple(row for row in rows if row != source)
        return (
            Resolution("resolved", others, "address")
            if others
            else Resolution("self", (), "the document itself")
        )

    def statute(self, citation: Citation, source: int | None) -> Resolution:
        parts = citation.parts
        own = self.places.get(source) if source is not None else None
        laws = self._laws_named(parts, own)
        if isinstance(laws, Resolution):
            return laws
        if "section" not in parts and own is None:
            return Resolution(
                "ambiguous", (), "a moment of the section it stands in; which one is not known here"
            )
        places = [place for law in laws for place in self._sections_of(law, parts, own)]
        if not places:
            names = ", ".join(sorted(self.titles[law] for law in laws)[:3])
            return Resolution(
                "missing",
                (),
                f"{names} has no such section" if len(laws) < 4 else "no law here has it",
            )
        moment = parts.get("moment", "")
        if (
            moment.isdigit() and len({place.law for place in places}) > 1
        ):  # only a law that has the moment can be meant
            places = [place for place in places if _same_moment(place.moment, moment)] or places
        if len({place.law for place in places}) > 1:
            titles = sorted({self.titles[place.law] for place in places})
            reason = f"no law is named, and {len(titles)} laws have this section: {', '.join(titles[:4])}"
            return Resolution("ambiguous", tuple(place.row for place in places), reason)
        return self._moments(places, parts, own)

    def _laws_named(self, parts: dict[str, str], own: Place | None) -> list[str] | Resolution:
        name = parts.get("law", "")
        if parts.get("id") in self.titles:
            return [parts["id"]]
        if name.startswith("tämä"):
            return (
                [own.law]
                if own
                else Resolution("ambiguous", (), "'this law' has a meaning only inside a law")
            )
        key = he.law_key(name)
        if name and (found := self.names.get(name) or self.names.get(key)):
            return sorted(found)
        if name and len(begun := self._laws_beginning(key)) == 1:
            return sorted(begun)
        if name or parts.get("id"):
            return Resolution(
                "missing", (), f"the law {name or parts['id']!r} is not in the corpus"
            )
        return [own.law] if own else sorted(self.titles)

    def _laws_beginning(self, key: str) -> set[str]:
        """Laws by the first words of their name, where a text says no more: at least two words."""
        if key.count(" ") < 1:
            return set()
        return {
            law for name, laws in self.names.items() if name.startswith(f"{key} ") for law in laws
        }

    def _sections_of(self, law: str, parts: dict[str, str], own: Place | None) -> list[Place]:
        inside = own is not None and own.law == law
        schedule = parts.get(
            "schedule", own.schedule if own and inside and not parts.get("law") else ""
        )
        if "section" not in parts:
            wanted = [own.section] if own else []
        else:
            wanted = self._span(law, schedule, parts["section"], parts.get("to", ""))
        places = [
            place for section in wanted for place in self.sections.get((law, schedule, section), [])
        ]
        if (
            not places and schedule and "schedule" not in parts
        ):  # a schedule may mean a section of the law's body
            places = [
                place for section in wanted for place in self.sections.get((law, "", section), [])
            ]
        chapter = parts.get("chapter", "")
        if (
            own
            and inside
            and (
                chapter == "tämä" or (not chapter and len({place.chapter for place in places}) > 1)
            )
        ):
            chapter = (
                own.chapter
            )  # numbers begin anew in each chapter: a bare one means the chapter it stands in
        if chapter and chapter != "tämä":
            places = [place for place in places if place.chapter == chapter]
        return places

    def _span(self, law: str, schedule: str, first: str, last: str) -> list[str]:
        if not last or not (
            first.rstrip("abcdefgh").isdigit() and last.rstrip("abcdefgh").isdigit()
        ):
            return [first]
        low, high = _section_key(first), _section_key(last)
        every = [section for at, kind, section in self.sections if at == law and kind == schedule]
        return [section for section in every if low <= _section_key(section) <= high]

    def _moments(self, places: list[Place], parts: dict[str, str], own: Place | None) -> Resolution:
        chapters = {place.chapter for place in places}
        if len(chapters) > 1 and "to" not in parts:
            reason = f"no chapter is named, and {len(chapters)} chapters have this section"
            return Resolution("ambiguous", tuple(place.row for place in places), reason)
        wanted = parts.get("moment") or parts.get("sub", "")
        if not wanted:
            return Resolution("resolved", tuple(place.row for place in places), "law and section")
        low, _, high = wanted.partition("–")
        names = (
            [str(n) for n in range(int(low), int(high) + 1)]
            if high and high.isdigit()
            else [wanted]
        )
        hits = [
            place.row for place in places if any(_same_moment(place.moment, name) for name in names)
        ]
        if hits:
            return Resolution("resolved", tuple(hits), "law, section and moment")
        if parts.get("sub"):  # the paragraph is inside a document, not a document
            return Resolution("resolved", tuple(place.row for place in places), "law and section")
        return Resolution("missing", (), f"the section has no moment {wanted}")


def _plain_eid(eid: str) -> str:
    """An element's id without the version of the amendment that wrote it: sec_7av20151620 is
    sec_7a."""
    return re.sub(r"v\d{8}(?=__|$)", "", eid)


def _addresses(facts: Facts) -> Iterator[str]:
    """The ids by which an address may mean a document: its own, its section's, and a schedule's by
    number."""
    steps = _plain_eid(facts.eId).split("__")
    first = next(
        (i for i, step in enumerate(steps) if step.startswith(("sec_", "point_", "art_"))),
        len(steps),
    )
    yield from ("__".join(steps[: end + 1]) for end in range(first, len(steps)))
    if steps[first : first + 1] and steps[first].startswith("sec_"):
        yield from ("__".join(steps[first : end + 1]) for end in range(first, len(steps)) if first)
    if facts.schedule and len(steps) > 1:
        yield f"appendix_{facts.schedule}_פרט_{steps[1].removeprefix('point_')}"


def _leading(text: str) -> str:
    """'8 a luku' is chapter 8a; Hebrew chapters keep their letter."""
    found = re.match(r"\s*(\d+\s?[a-z]?)\b", text)
    return "".join(found[1].split()) if found else text.strip()


def _section_key(section: str) -> tuple[int, str]:
    digits = re.match(r"\d+", section)
    return (int(digits[0]), section[digits.end() :]) if digits else (0, section)


def _same_moment(moment: str, wanted: str) -> bool:
    return moment == wanted or (
        wanted.startswith("(") and moment == wanted.strip("()").split(")(")[0]
    )
