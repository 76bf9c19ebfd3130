"""Resolve citations to the documents of a corpus: find the laws that a corpus has by name and
number, and write the citation graph of a whole corpus.

Opinions are resolved twice for the graph. The first round takes those that a citation names, and
learns from them which opinion stands at which volume and page (letters.py explains why); the second
round uses that. Each normal form is parsed once, however many documents cite it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np
import polars as pl

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError
from assay.corpus.disk import Corpus, Manifest, PartFile, Rows, open_path, read_arrow
from assay.corpus.importers.kinds import importer
from assay.corpus.in_force import statuses_of_open_corpus, today
from assay.corpus.letters import LetterIndex
from assay.corpus.parts import mentions_path, write_arrow
from assay.law import en_names, he
from assay.law.citation import (
    PLAIN,
    STATUSES,
    Citation,
    Facts,
    Resolution,
    Scheme,
    Status,
    resolution_of_rows,
)
from assay.law.he import LawKey, key_of, same_law
from assay.law.parse import law_name, parse
from assay.law.places import Cited, normal_chapter, read_citation, section_key
from assay.law.versions import IN_FORCE

# ── the laws of a corpus ──────────────────────────────────────────────────────────────────────────

HEBREW = re.compile("[א-ת]")
SECTION_NUMBER = re.compile(r"\d+(?:[a-zåäö]{0,2}|[א-ת]{1,3}\d{0,2})")
ACT_NUMBER = re.compile(r"\d{1,4}/\d{4}")
OF_YEAR = re.compile(r"vuoden (\d{4}) ")
SHORT_FORM = re.compile(r"([A-ZÅÄÖ][a-zåäö]{2,})([LA])")
SHORT_ENDINGS = {"L": "laki", "A": "asetus"}
# documents with a section that a text outside all laws names alone: of more, none is meant (taste)
MANY_PLACES = 100


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
        self.acts: dict[str, list[tuple[en_names.ActKey, str]]] = defaultdict(list)
        self.schedules: dict[str, set[str]] = defaultdict(set)  # by law
        # by law, schedule and section
        self.sections: dict[tuple[str, str, str], list[ProvisionPlace]] = defaultdict(list)
        self.numbers: dict[tuple[str, str], list[str]] = defaultdict(list)  # by law and schedule
        self.having: dict[str, Counter[str]] = defaultdict(Counter)  # documents by section and law
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
        same = self.sections[(law, facts.schedule, section)]
        if not same:
            self.numbers[(law, facts.schedule)].append(section)
        same.append(place)
        self.having[section][law] += 1
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
                    act = en_names.key_of(name)
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
        if own is None and cited.section and not (cited.law or cited.law_id):
            having = self.having.get(cited.section, Counter())
            if len(having) > 1 and having.total() > MANY_PLACES:
                reason = f"no law is named, and {len(having)} laws have this section"
                return Resolution("ambiguous", (), reason)
            laws: list[str] | Resolution = sorted(having) or sorted(self.titles)[:MANY_PLACES]
        else:
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
            reason = f"{names} has no such section" if 0 < len(laws) < 4 else "no law here has it"
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

    def laws_cited(self, citation: Citation) -> list[str] | None:
        """The laws that a citation names, by number or by name; None where it names one that is not
        here, and nothing where it names none."""
        cited = read_citation(citation)
        if not cited.law and not cited.law_id:
            return []
        laws = self._laws_named(cited, citation.parts.get("year", ""), None)
        return None if isinstance(laws, Resolution) else laws

    def laws_called(self, name: str, year: str = "") -> set[str]:
        """The laws that a name can mean."""
        return self._by_name(law_name(name), year)

    def provisions(self, law: str, cited: Cited) -> list[ProvisionPlace]:
        """The documents of a law at the section that a citation names, in any moment."""
        return self._sections_of(law, cited, None)

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
        if named := self._by_act(en_names.key_of(name)):
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

    def _by_act(self, cited: en_names.ActKey) -> set[str]:
        """The acts of these words: "the Ferries Act" may be of any year, "the Ferries Act 2030" of
        none but its own."""
        return {law for key, law in self.acts.get(cited.base, ()) if en_names.same_act(cited, key)}

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
        every = self.numbers.get((law, schedule), [])
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


# ── resolving ─────────────────────────────────────────────────────────────────────────────────────

VERSION = 14  # raised when the same texts give other citations
MANY_LAWS = 5000  # beyond this, knowing all names does not help to read one (taste)
OLDER = "the corpus was imported by an older version; import it again"
CITATION_ROWS = 65_536  # read together from `citations.arrow` (taste)
NOT_UNDERSTOOD = Resolution("missing", (), "not in a form that is understood")
OWN_NUMBER = Resolution("self", (), "its own number, at the top of its pages")

Parsed = dict[tuple[str, str], Citation | None]  # by normal form and language


def imported_by_older(manifest: Manifest) -> bool:
    try:
        now = {"importer": importer(manifest.kind).VERSION, "resolve": VERSION}
    except AssayError:  # an importer that is not installed here
        return False
    return any(manifest.versions.get(name, version) < version for name, version in now.items())


class Resolved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A citation in a text with the ids of the documents it names."""

    citation: Citation
    status: Status
    targets: tuple[str, ...]
    reason: str
    not_in_force: dict[str, str] = {}  # of these targets: repealed, superseded, …


class Resolver:
    """Resolves citations against the documents of one corpus. Build it with `of_frames` or
    `of_corpus`."""

    COLUMNS: ClassVar = ["id", "metadata", "locator.section", "locator.moment", "year"]

    def __init__(self, scheme: Scheme = PLAIN) -> None:
        self.scheme = scheme
        self.letters = LetterIndex()
        self.laws = Laws()
        self.aliases: dict[str, list[int]] = defaultdict(list)

    @classmethod
    def of_corpus(cls, corpus: Corpus) -> Resolver:
        frame = corpus.frame.select(cls.COLUMNS).collect()
        resolver = cls.of_frames([frame], corpus.manifest.scheme)
        opinions = corpus.citations.filter(pl.col("kind") == "opinion")
        cited = opinions.select("normal", "status", "targets").collect()
        resolver.letters.learn_pages(cited.iter_rows())
        resolver.letters.read_text = lambda row: corpus.at(row).text
        return resolver

    @classmethod
    def of_frames(cls, frames: Iterable[pl.DataFrame], scheme: Scheme) -> Resolver:
        resolver = cls(scheme)
        decode = msgspec.json.Decoder(thread_safe(Facts), strict=False).decode
        row = 0
        for frame in frames:
            for doc_id, metadata, section, moment, year in frame.select(cls.COLUMNS).iter_rows():
                try:
                    facts = decode(metadata)
                except msgspec.ValidationError:  # a table's own column may have one of these names
                    facts = Facts()
                resolver._add(row, doc_id, facts, section, moment, year)
                row += 1
        laws = tuple(sorted(set(resolver.laws.titles.values())))
        if len(laws) < MANY_LAWS:
            resolver.scheme = msgspec.structs.replace(scheme, laws=laws)
        return resolver

    def _add(
        self,
        row: int,
        doc_id: str,
        facts: Facts,
        section: str | None,
        moment: str | None,
        year: int | None,
    ) -> None:
        for alias in {doc_id, facts.case_number, *facts.aliases} - {""}:
            self.aliases[alias].append(row)
        if facts.law and section:
            self.laws.add(row, facts, section, moment or "")
        else:
            self.letters.add(row, doc_id, facts, year)
            if facts.law:
                self.laws.add_unnumbered(row, facts)

    def resolve(self, citation: Citation, source: int | None = None) -> Resolution:
        """The documents that a citation names. `source` is the row of the citing document, whose
        own law and section a relative citation means."""
        resolution = self._by_kind(citation, source)
        if source is None or source not in resolution.rows:
            return resolution
        others = tuple(row for row in resolution.rows if row != source)
        if others and resolution.status == "resolved":
            return Resolution("resolved", others, resolution.reason)
        return Resolution("self", (), "the document itself")

    def _by_kind(self, citation: Citation, source: int | None) -> Resolution:
        if citation.normal in self.aliases:
            return resolution_of_rows(self.aliases[citation.normal], "id")
        if citation.kind == "letter":
            return self.letters.letter(citation, source)
        if citation.kind == "opinion":
            return self.letters.opinion(citation)
        if citation.kind == "statute" and self.laws.places:
            return self.laws.statute(citation, source)
        return Resolution("no-document", (), f"no {citation.kind} is a document of this corpus")


def cite(
    text: str, corpus: Corpus | None = None, *, language: str | None = None, scheme: Scheme = PLAIN
) -> list[Resolved]:
    """Find the citations of a text and resolve them in a corpus."""
    if corpus is None:
        return [
            Resolved(
                citation=citation, status="no-document", targets=(), reason="no corpus was given"
            )
            for citation in parse(text, language, scheme=scheme)
        ]
    resolver = resolver_of(str(corpus.data_folder))
    usual = resolver.scheme.language
    languages = language or (None if resolver.laws.places else usual or None)
    any_language = msgspec.structs.replace(resolver.scheme, language="")
    answers = []
    for citation in parse(text, languages, scheme=any_language, first=usual):
        resolution = resolver.resolve(citation)
        fitting = _with_moment(resolver, citation, resolution)
        gone = _not_in_force(corpus, resolver, fitting)
        rows = sorted(fitting, key=lambda row: row in gone)  # what is in force first
        ids = {row: corpus.at(row).id for row in rows}
        answers.append(
            Resolved(
                citation=citation,
                status=resolution.status,
                targets=tuple(ids.values()),
                reason=resolution.reason,
                not_in_force={ids[row]: status for row, status in gone.items()},
            )
        )
    return answers


def _with_moment(resolver: Resolver, citation: Citation, resolution: Resolution) -> tuple[int, ...]:
    """The rows that a citation means: where the resolution is ambiguous, only those with the moment
    it names, if there are any."""
    moment = citation.parts.get("moment", "")
    places = resolver.laws.places
    fitting = tuple(
        row for row in resolution.rows if row in places and places[row].moment == moment
    )
    return fitting if fitting and resolution.status == "ambiguous" else resolution.rows


def _not_in_force(corpus: Corpus, resolver: Resolver, rows: Iterable[int]) -> dict[int, str]:
    """The provisions among these rows that are not in force today, with their status."""
    provisions = [row for row in rows if row in resolver.laws.places]
    if not provisions:
        return {}
    standing = statuses_of_open_corpus(str(corpus.data_folder))
    every = {row: standing.status(row, today()) for row in provisions}
    return {row: status for row, status in every.items() if status not in ("", IN_FORCE)}


@lru_cache(maxsize=4)
def resolver_of(data_folder: str) -> Resolver:
    """The resolver of an open corpus, built once; its data folder never changes."""
    return Resolver.of_corpus(open_path(Path(data_folder).parent))


# ── the graph of a whole corpus ───────────────────────────────────────────────────────────────────


def write_graph(folder: Path, parts: tuple[PartFile, ...], resolver: Resolver) -> dict[str, int]:
    """Resolve every citation of every part, write `citations.arrow` and the graph, and count the
    citations by status."""
    starts = np.cumsum([0, *(part.rows for part in parts)])
    mentions = _all_mentions(folder, parts, starts)
    resolver.letters.read_text = _text_reader(folder, parts, starts)
    parsed: Parsed = {}
    opinions = mentions.filter(pl.col("kind") == "opinion")
    by_name = _resolve_mentions(opinions, resolver, parsed)
    resolver.letters.learn_pages(
        (normal, resolution.status, list(resolution.rows))
        for normal, resolution in zip(opinions["normal"], by_name, strict=True)
    )
    resolutions = list(_resolve_mentions(mentions, resolver, parsed))
    rows = [resolution.rows for resolution in resolutions]
    citations = mentions.with_columns(
        status=pl.Series([resolution.status for resolution in resolutions], dtype=pl.String),
        reason=pl.Series([resolution.reason for resolution in resolutions], dtype=pl.String),
        targets=pl.Series(rows, dtype=pl.List(pl.Int64)),
    )
    write_arrow(citations, folder / "citations.arrow", batch=CITATION_ROWS)
    resolved = citations.filter(pl.col("status") == "resolved").select("row", "targets")
    pairs = resolved.explode("targets").unique()
    _write_edges(folder, int(starts[-1]), pairs.to_numpy().astype(np.int64))
    counts = dict(citations["status"].value_counts().iter_rows())
    return {status: counts.get(status, 0) for status in STATUSES} | {"edges": pairs.height}


def _all_mentions(folder: Path, parts: tuple[PartFile, ...], starts: Rows) -> pl.DataFrame:
    """The citations of all parts, with rows of the corpus in place of rows of a part."""
    tables = []
    for part, start in zip(parts, starts[:-1], strict=True):
        table = read_arrow(mentions_path(folder, Path(part.file).stem))
        tables.append(table.with_columns(pl.col("row") + int(start)))
    return pl.concat(tables)


def _text_reader(folder: Path, parts: tuple[PartFile, ...], starts: Rows) -> Callable[[int], str]:
    def read_text(row: int) -> str:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        texts = pl.scan_ipc(folder / parts[part].file).select("text")
        return str(texts.slice(row - int(starts[part]), 1).collect().item())

    return read_text


def _resolve_mentions(
    mentions: pl.DataFrame, resolver: Resolver, parsed: Parsed
) -> Iterator[Resolution]:
    no_documents = {
        kind: Resolution("no-document", (), f"no {kind} is a document of this corpus")
        for kind in ("statute", "regulation", "case")
        if not resolver.laws.places
    }
    columns = ("row", "normal", "kind", "language", "name", "own")
    for row, normal, kind, language, name, own in mentions.select(columns).iter_rows():
        if own:
            yield OWN_NUMBER
        elif not kind:
            yield NOT_UNDERSTOOD
        elif kind == "reference":
            yield resolver.laws.reference(normal, row)
        elif language == "en" and kind in no_documents:
            yield no_documents[kind]
        else:
            key = (normal, language)
            if key not in parsed:
                parsed[key] = next(iter(parse(normal, language, scheme=resolver.scheme)), None)
            citation = parsed[key]
            if citation is None:
                yield NOT_UNDERSTOOD
            else:
                yield resolver.resolve(msgspec.structs.replace(citation, name=name), row)


def _write_edges(folder: Path, rows: int, pairs: Rows) -> None:
    """Both directions as (offsets, rows), from pairs of a citing and a cited row."""
    for name, columns in (("cites", pairs), ("cited_by", pairs[:, ::-1])):
        order = np.lexsort((columns[:, 1], columns[:, 0]))
        ends = np.cumsum(np.bincount(columns[:, 0], minlength=rows))
        np.save(folder / f"{name}.offsets.npy", np.concatenate([[0], ends]).astype(np.int64))
        np.save(folder / f"{name}.rows.npy", columns[order, 1])
