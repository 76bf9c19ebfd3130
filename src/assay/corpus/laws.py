"""Resolve citations of statutes to sections and moments of the laws in a corpus, by name or by
Akoma Ntoso address.

**Idea.** A citation of a law is a path with steps left out: law, schedule, chapter, section and
moment. What is left out is either said by the place the citation stands in ("this law", "moment 2",
a bare section inside an act) or does not matter, because only one thing fits. So every document
gets its `ProvisionPlace`, and a citation is resolved from the outside in:

1. *The law.* By its number; "this law" is the citing document's own; by its name, in the base form
   of its language; by the beginning of its name, if it is two words or more and only one law begins
   so; and where none is named, the citing document's own, or any.
2. *The section.* In the schedule the citation names or stands in. Where section numbers begin anew
   in each chapter, a bare number means the chapter it stands in, as lawyers read it.
3. *The moment.* If it names one. A section without a moment is all its moments; a paragraph inside
   a moment is the moment.

After each step what is left may be nothing, which is said with the reason, or of several laws or
chapters, which is ambiguous: the resolver never chooses by chance.

The steps are our own. They work for the reason that a relative address on the web does (RFC 3986,
section 5): the places of a law are a tree, a citation leaves out what its reader has before the
eyes, and so the place it stands in supplies exactly that. The full addresses are those of Akoma
Ntoso (OASIS, naming convention 1.0).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from assay.law import en_acts, he
from assay.law.citation import Citation, Facts, Resolution
from assay.law.he_names import LawKey, key_of, same_law
from assay.law.parse import law_name
from assay.law.places import Cited, normal_chapter, read_citation, section_key

HEBREW = re.compile("[א-ת]")
SECTION_NUMBER = re.compile(r"\d+(?:[a-zåäö]{0,2}|[א-ת]{1,3}\d{0,2})")
ACT_NUMBER = re.compile(r"\d{1,4}/\d{4}")
OF_YEAR = re.compile(r"vuoden (\d{4}) ")
SHORT_FORM = re.compile(r"([A-ZÅÄÖ][a-zåäö]{2,})([LA])")
SHORT_ENDINGS = {"L": "laki", "A": "asetus"}


class ProvisionPlace(NamedTuple):
    """The place of a document in its law."""

    law: str
    chapter: str
    schedule: str
    section: str
    moment: str
    row: int


class Laws:
    """The laws of a corpus, known by number, or by title where a law has none."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = defaultdict(set)  # base form of a name -> laws
        # Hebrew laws by the words of their name outside brackets
        self.keys: dict[str, list[tuple[LawKey, str]]] = defaultdict(list)
        # others by the words of their name without its year
        self.acts: dict[str, list[tuple[en_acts.ActKey, str]]] = defaultdict(list)
        self.schedules: dict[str, set[str]] = defaultdict(set)  # by law
        # by law, schedule and section
        self.sections: dict[tuple[str, str, str], list[ProvisionPlace]] = defaultdict(list)
        self.places: dict[int, ProvisionPlace] = {}  # by row
        self.unnumbered: dict[int, ProvisionPlace] = {}  # of a law, and no section: a form, a table
        self.titles: dict[str, str] = {}  # by law
        self.elements: dict[str, list[int]] = defaultdict(list)  # by work and element, as addressed
        self.works: set[str] = set()

    def add(self, row: int, facts: Facts, section: str, moment: str) -> None:
        law = facts.law_id or facts.law
        place = ProvisionPlace(
            law, normal_chapter(facts.chapter), facts.schedule, section, moment, row
        )
        self.places[row] = place
        self.sections[(law, facts.schedule, section)].append(place)
        if facts.work:
            self.works.add(facts.work)
            for element in _addresses(facts):
                self.elements[f"{facts.work}#{element}"].append(row)
        if law not in self.titles:
            self.titles[law] = facts.law
            for name in (facts.law, *facts.law_names):
                self.names[law_name(name)].add(law)
            for name in (facts.law_title or facts.law, *facts.law_names):
                if HEBREW.search(name):
                    key = key_of(name)
                    self.keys[key.base].append((key, law))
                else:
                    act = en_acts.key_of(name)
                    year = act.year or (law[-4:] if ACT_NUMBER.fullmatch(law) else "")
                    self.acts[act.base].append((act._replace(year=year), law))
            self.names[law].add(law)
        if facts.schedule:
            self.schedules[law].add(facts.schedule)

    def add_unnumbered(self, row: int, facts: Facts) -> None:
        """Add a text of a law that is not one of its sections: its citations refer to that law."""
        law = facts.law_id or facts.law
        chapter = normal_chapter(facts.chapter)
        self.unnumbered[row] = ProvisionPlace(law, chapter, facts.schedule, "", "", row)

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
            container = "chp" in element or "part" in element or element.startswith("appendix")
            if container and "point" not in element and "sec" not in element:
                return Resolution("no-document", (), "a chapter or schedule as a whole")
            return Resolution("missing", (), "no such element")
        others = tuple(row for row in rows if row != source)
        if not others:
            return Resolution("self", (), "the document itself")
        return Resolution("resolved", others, "address")

    def statute(self, citation: Citation, source: int | None) -> Resolution:
        cited = read_citation(citation)
        own = None if source is None else self.places.get(source) or self.unnumbered.get(source)
        laws = self._laws_named(cited, citation.parts.get("year", ""), own)
        if isinstance(laws, Resolution):
            return laws
        if citation.parts.get("unit") == he.REGULATION and not cited.law:
            # a law has none: they are of regulations that are named elsewhere
            laws = [law for law in laws if self._title(law).startswith(he.REGULATIONS)]
        if citation.parts.get("schedule") == he.ONLY:
            several = [law for law in laws if len(self.schedules[law]) > 1]
            if several:
                return Resolution("ambiguous", (), "the law has several schedules")
            only = {schedule for law in laws for schedule in self.schedules[law]}
            cited = cited._replace(schedule=only.pop() if len(only) == 1 else cited.schedule)
        if (cited.chapter or cited.schedule) and not cited.section and not cited.moment:
            whole = "a schedule" if cited.schedule else "a chapter"
            return Resolution("no-document", (), f"{whole} as a whole")
        if not cited.section and own is None:
            return Resolution(
                "ambiguous", (), "a moment of the section it stands in; which one is not known here"
            )
        of_law = citation.parts.get("law") == he.THE_LAW
        places = [
            place for law in laws for place in self._sections_of(law, cited, own, of_law=of_law)
        ]
        if not places:
            names = ", ".join(sorted(map(self._title, laws))[:3])
            reason = f"{names} has no such section" if len(laws) < 4 else "no law here has it"
            return Resolution("missing", (), reason)
        several_laws = len({place.law for place in places}) > 1
        in_brackets = bool(citation.parts.get("sub"))  # (4) may also be an item, in any of them
        if cited.moment.isdecimal() and several_laws and not in_brackets:
            # only a law that has the moment can be meant
            places = [place for place in places if place.moment == cited.moment] or places
        if len({place.law for place in places}) > 1:
            titles = sorted({self.titles[place.law] for place in places})
            listed = ", ".join(titles[:4])
            what = "several laws have this name" if cited.law else "no law is named"
            reason = f"{what}, and {len(titles)} laws have this section: {listed}"
            return Resolution("ambiguous", _rows(places), reason)
        return _moments(places, cited, in_brackets=in_brackets)

    def _title(self, law: str) -> str:
        """The title of a law; its number where none of its texts is a section."""
        return self.titles.get(law, law)

    def _laws_named(
        self, cited: Cited, year: str, own: ProvisionPlace | None
    ) -> list[str] | Resolution:
        if cited.law_id in self.titles:
            return [cited.law_id]
        if cited.law.startswith("tämä") or cited.law == he.THIS:
            if own:
                return [own.law]
            return Resolution("ambiguous", (), "'this law' has a meaning only inside a law")
        if cited.law_id and all(ACT_NUMBER.fullmatch(law) for law in self.titles):
            # another act of the same name, of another year
            return Resolution("missing", (), f"the law {cited.law_id!r} is not in the corpus")
        if laws := self._by_name(cited.law, year):
            return sorted(laws)
        if cited.law or cited.law_id:
            reason = f"the law {cited.law or cited.law_id!r} is not in the corpus"
            return Resolution("missing", (), reason)
        return [own.law] if own else sorted(self.titles)

    def _by_name(self, name: str, year: str) -> set[str]:
        """The laws of a name: in full, of the year it says, short, or by its beginning."""
        if HEBREW.search(name):
            return self._by_hebrew_name(key_of(name, year))
        if not name:
            return set()
        if named := self.names.get(name):
            return named
        if named := self._by_act(en_acts.key_of(name)):
            return named
        if dated := OF_YEAR.match(name):
            laws = self.names.get(name[dated.end() :], set())
            return {law for law in laws if law.endswith(f"/{dated[1]}")}
        short = SHORT_FORM.fullmatch(name)  # TilintL
        if short:
            begins, ends = short[1].lower(), SHORT_ENDINGS[short[2]]
        else:
            begins, ends = f"{name} ", ""
        fitting = (
            laws
            for full, laws in self.names.items()
            if full.startswith(begins) and full.endswith(ends)
        )
        laws = set().union(*fitting) if short or " " in name else set()
        return laws if len(laws) == 1 else set()

    def _by_act(self, cited: en_acts.ActKey) -> set[str]:
        """The acts of these words: "the Ferries Act" may be of any year, "the Ferries Act 2030" of
        none but its own."""
        return {law for key, law in self.acts.get(cited.base, ()) if en_acts.same_act(cited, key)}

    def _by_hebrew_name(self, cited: LawKey) -> set[str]:
        """By the words, the brackets and the year; or by the first words of a name that has no
        brackets, if they are two or more and only one law begins so."""
        if named := {law for key, law in self.keys.get(cited.base, ()) if same_law(cited, key)}:
            return named
        if cited.inside or cited.base in self.keys or " " not in cited.base:
            return set()
        begun = {
            law
            for base, laws in self.keys.items()
            if base.startswith(f"{cited.base} ")
            for key, law in laws
            if same_law(cited._replace(base=base), key)
        }
        return begun if len(begun) == 1 else set()

    def _sections_of(
        self, law: str, cited: Cited, own: ProvisionPlace | None, *, of_law: bool = False
    ) -> list[ProvisionPlace]:
        inside = own if own is not None and own.law == law else None
        is_relative = inside and not cited.law and not of_law
        schedule = cited.schedule or (inside.schedule if inside and is_relative else "")
        if cited.section:
            wanted = self._span(law, schedule, cited.section, cited.to)
        else:
            wanted = [own.section] if own else []
        places = self._at(law, schedule, wanted)
        if not places and schedule and not cited.schedule:
            places = self._at(law, "", wanted)  # a schedule may mean a section of the law's body
        chapter = cited.chapter
        restarts = not chapter and len({place.chapter for place in places}) > 1
        is_here = inside and (inside.section or chapter == "tämä")
        if inside and is_here and (chapter == "tämä" or restarts):
            # numbers begin anew in each chapter: a bare one means the chapter it stands in
            chapter = inside.chapter
        if chapter and chapter != "tämä":
            places = [place for place in places if place.chapter == chapter]
        return places

    def _at(self, law: str, schedule: str, sections: list[str]) -> list[ProvisionPlace]:
        return [
            place
            for section in sections
            for place in self.sections.get((law, schedule, section), [])
        ]

    def _span(self, law: str, schedule: str, first: str, last: str) -> list[str]:
        """The sections from the first to the last, where a citation names a row of them."""
        last = last.partition("(")[0]
        if not last or not all(SECTION_NUMBER.fullmatch(end) for end in (first, last)):
            return [first]
        low, high = section_key(first), section_key(last)
        every = [section for at, kind, section in self.sections if at == law and kind == schedule]
        return [section for section in every if low <= section_key(section) <= high]


def _moments(places: list[ProvisionPlace], cited: Cited, *, in_brackets: bool) -> Resolution:
    chapters = {place.chapter for place in places}
    if len(chapters) > 1 and not cited.to:
        reason = f"no chapter is named, and {len(chapters)} chapters have this section"
        return Resolution("ambiguous", _rows(places), reason)
    if not cited.moment:
        return Resolution("resolved", _rows(places), "law and section")
    moments = [place for place in places if cited.has_moment(place.moment)]
    if moments:
        return Resolution("resolved", _rows(moments), "law, section and moment")
    if in_brackets:  # the paragraph is inside a document, not a document
        return Resolution("resolved", _rows(places), "law and section")
    return Resolution("missing", (), f"the section has no moment {cited.moment}")


def _rows(places: list[ProvisionPlace]) -> tuple[int, ...]:
    return tuple(place.row for place in places)


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
