"""From a citation to the documents it names, or the reason why there is none.

A letter is found by its file number. Several documents may lay claim to one number: the answer that carries it in its
heading, the request that was filed under it, a letter whose heading was misread. Claims are weighed by where the number
stands, and the addressee that a citation names decides what is left. A section of a law is found by the law (named,
or the citing document's own) and the section; a section without a moment is all its moments.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import msgspec
import numpy as np
import polars as pl

from assay.corpus import cite_en, cite_fi, cite_he
from assay.corpus.citations import PLAIN, Citation, Scheme, parse
from assay.corpus.disk import Corpus, Part, read_arrow
from assay.corpus.parts import write_arrow

VERSION = 1

Status = Literal["resolved", "self", "ambiguous", "missing", "no-document"]
STATUSES: tuple[Status, ...] = get_args(Status)
# How much a claim to a number is worth, by where the number stands.
HEADING, TITLE, ID, FILED, DOUBTFUL = 4, 2, 2, 1, 1


class Resolution(msgspec.Struct, frozen=True):
    """What came of one citation: rows of the documents, and how they were found or why not."""

    status: Status
    rows: tuple[int, ...] = ()
    reason: str = ""


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """A citation in a text, with the ids of the documents it names."""

    citation: Citation
    status: Status
    targets: tuple[str, ...]
    reason: str


class Claim(NamedTuple):
    row: int
    weight: int
    series: str
    extension: str


class _Meta(msgspec.Struct):
    """What resolving needs of a document's metadata."""

    numbers: tuple[str, ...] = ()
    title_numbers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    reported_at: str = ""
    commission_opinion: bool = False
    law: str = ""
    law_id: str = ""
    law_names: tuple[str, ...] = ()
    chapter: str = ""
    schedule: str = ""
    work: str = ""
    eId: str = ""
    case_number: str = ""
    aliases: tuple[str, ...] = ()


class Place(NamedTuple):
    """Where a document stands in its law."""

    law: str
    chapter: str
    schedule: str
    section: str
    moment: str
    row: int


class Resolver:
    """The tables of one corpus. Build it with `of_frames` or `of_corpus`."""

    COLUMNS: ClassVar = ["id", "metadata", "locator.section", "locator.moment", "year"]

    def __init__(self, scheme: Scheme = PLAIN) -> None:
        self.scheme = scheme
        self.letters: dict[tuple[str, str], list[Claim]] = defaultdict(list)
        self.by_name: dict[tuple[str, str], set[int]] = defaultdict(set)
        self.numbers_of: dict[int, set[tuple[str, str]]] = defaultdict(set)
        self.names_of: dict[int, frozenset[str]] = {}
        self.reported: dict[str, list[int]] = defaultdict(list)
        self.votes: dict[str, Counter[int]] = defaultdict(Counter)
        self.opinions: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.aliases: dict[str, list[int]] = defaultdict(list)
        self.laws: dict[str, set[str]] = defaultdict(set)
        self.sections: dict[tuple[str, str, str], list[Place]] = defaultdict(list)
        self.places: dict[int, Place] = {}
        self.law_titles: dict[str, str] = {}
        self.elements: dict[str, list[int]] = defaultdict(list)
        self.works: set[str] = set()
        self.years: set[str] = set()

    @classmethod
    def of_corpus(cls, corpus: Corpus) -> Resolver:
        resolver = cls.of_frames([corpus.frame.select(cls.COLUMNS).collect()], corpus.manifest.scheme)
        cited = corpus.citations.filter(pl.col("kind") == "opinion").select("normal", "status", "targets").collect()
        resolver.learn(cited.iter_rows())
        return resolver

    @classmethod
    def of_frames(cls, frames: Iterable[pl.DataFrame], scheme: Scheme) -> Resolver:
        resolver = cls(scheme)
        decode = msgspec.json.Decoder(_Meta, strict=False).decode
        row = 0
        for frame in frames:
            for doc_id, metadata, section, moment, year in frame.select(cls.COLUMNS).iter_rows():
                try:
                    meta = decode(metadata)
                except msgspec.ValidationError:  # a table's own column may have one of these names
                    meta = _Meta()
                resolver._add(row, doc_id, meta, section, moment, year)
                row += 1
        laws = tuple(sorted(set(resolver.law_titles.values())))
        resolver.scheme = msgspec.structs.replace(scheme, laws=laws) if len(laws) < 5000 else scheme
        return resolver

    def _add(self, row: int, doc_id: str, meta: _Meta, section: str | None, moment: str | None, year: int | None) -> None:
        for alias in {doc_id, meta.case_number, *meta.aliases}:
            if alias:
                self.aliases[alias].append(row)
        if meta.law and section:
            self._add_place(row, meta, section, moment or "")
            return
        if year:
            self.years.add(f"{year % 100:02d}")
        for (yy, number, extension), (weight, series) in _claims(doc_id, meta, year).items():
            self.letters[(yy, number)].append(Claim(row, weight, series, extension))
            self.numbers_of[row].add((yy, number))
        self._add_names(row, meta, year)

    def _add_names(self, row: int, meta: _Meta, year: int | None) -> None:
        self.names_of[row] = frozenset(name for full in meta.names for name in _surnames(full))
        for yy in {yy for yy, _ in self.numbers_of.get(row, ())}:
            for name in self.names_of[row]:
                self.by_name[(name, yy)].add(row)
        if meta.reported_at:
            self.reported[meta.reported_at].append(row)
        if meta.commission_opinion:
            for name in self.names_of[row]:
                self.opinions[name].append((year or 0, row))

    def _add_place(self, row: int, meta: _Meta, section: str, moment: str) -> None:
        law = meta.law_id or meta.law
        place = Place(law, _leading(meta.chapter), meta.schedule, section, moment, row)
        self.places[row] = place
        self.sections[(law, meta.schedule, section)].append(place)
        if meta.work:
            self.works.add(meta.work)
            for element in _addresses(meta):
                self.elements[f"{meta.work}#{element}"].append(row)
        if law not in self.law_titles:
            self.law_titles[law] = meta.law
            for name in (meta.law, *meta.law_names):
                self.laws[cite_fi.law_base(name)].add(law)
                self.laws[cite_he.law_key(name)].add(law)
            self.laws[law].add(law)

    def resolve(self, citation: Citation, source: int | None = None) -> Resolution:
        """The documents that a citation names. `source` is the row of the citing document, whose own law and section
        a relative citation means."""
        if citation.normal in self.aliases:
            found = _narrowed(self.aliases[citation.normal], source, "id")
        elif citation.kind == "letter":
            found = self._letter(citation, source)
        elif citation.kind == "opinion":
            found = self._opinion(citation, source)
        elif citation.kind == "statute" and self.places and citation.language in ("fi", "he"):
            found = self._statute(citation, source)
        else:
            found = Resolution("no-document", (), f"no {citation.kind} is a document of this corpus")
        if source is not None and source in found.rows:
            others = tuple(row for row in found.rows if row != source)
            return Resolution("resolved", others, found.reason) if others else Resolution("self", (), "the document itself")
        return found

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
            status: Status = "no-document" if whole and "point" not in element and "sec" not in element else "missing"
            return Resolution(status, (), "a chapter or schedule as a whole" if status != "missing" else "no such element")
        others = tuple(row for row in rows if row != source)
        return Resolution("resolved", others, "address") if others else Resolution("self", (), "the document itself")

    # ── letters ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _letter(self, citation: Citation, source: int | None) -> Resolution:
        parts = citation.parts
        key = (parts["year"], parts["number"])
        surnames = _surnames(citation.name)
        claims = _fitting(self.letters.get(key, []), parts.get("ext", ""))
        best = [claim for claim in claims if claim.weight == max(other.weight for other in claims)]
        rows = list(dict.fromkeys(claim.row for claim in best))
        if len(rows) > 1 and source in rows:
            return Resolution("self", (source,) if source is not None else ())
        for keep in (
            lambda claim: bool(surnames & self.names_of[claim.row]),
            lambda claim: claim.series == parts.get("series", ""),
        ):
            if len(rows) > 1 and any(keep(claim) for claim in best):
                best = [claim for claim in best if keep(claim)]
                rows = list(dict.fromkeys(claim.row for claim in best))
        if len(rows) == 1:
            return self._named_better(rows[0], key, surnames) or Resolution("resolved", (rows[0],), "number")
        if rows:
            return Resolution("ambiguous", tuple(rows), f"{len(rows)} documents carry this number")
        return self._by_name(key, surnames) or self._missing(citation, key)

    def _named_better(self, row: int, key: tuple[str, str], surnames: frozenset[str]) -> Resolution | None:
        """The number leads to a letter to somebody else, and one digit away is a letter to the one named."""
        if not surnames or not self.names_of[row] or surnames & self.names_of[row]:
            return None
        return self._by_name(key, surnames)

    def _by_name(self, key: tuple[str, str], surnames: frozenset[str]) -> Resolution | None:
        """One letter to that addressee whose number or year is one slip away."""
        year, number = key
        rows = set()
        for name in surnames:
            for yy in (year, f"{(int(year) - 1) % 100:02d}", f"{(int(year) + 1) % 100:02d}"):
                for row in self.by_name.get((name, yy), ()):
                    if any(_one_slip((year, number), other) for other in self.numbers_of[row]):
                        rows.add(row)
        if len(rows) == 1:
            return Resolution("resolved", tuple(rows), "addressee, number one digit off")
        return None

    def _missing(self, citation: Citation, key: tuple[str, str]) -> Resolution:
        if self.letters.get(key):
            there = ", ".join(sorted({claim.extension or "the letter itself" for claim in self.letters[key]}))
            wanted = citation.parts.get("ext") or "the letter itself"
            return Resolution("missing", (), f"of this number the corpus has {there}, not {wanted}")
        if key[0] not in self.years and not any(yy == key[0] for yy, _ in self.letters):
            return Resolution("missing", (), f"no document of the year '{key[0]} is in the corpus")
        return Resolution("missing", (), "no document carries this number")

    def _opinion(self, citation: Citation, source: int | None) -> Resolution:
        parts = citation.parts
        page = f"{parts['volume']} {parts['reporter']} {parts['page']}"
        rows = self.reported.get(page, [])
        surnames = _surnames(parts.get("name", ""))
        if len(rows) == 1 and (not surnames or surnames & self.names_of[rows[0]]):
            return Resolution("resolved", (rows[0],), "volume and page")
        year = int(parts.get("year", 0))
        named = {row for name in surnames for at, row in self.opinions.get(name, []) if not year or abs(at - year) <= 1}
        both = named & set(rows)
        if len(both or named) == 1:
            return Resolution("resolved", tuple(both or named), "name and year")
        if named:
            return _narrowed(sorted(both or named), source, "name and year")
        voted = self.votes[page].most_common(1) if page in self.votes else []
        if voted and voted[0][1] >= 5 and voted[0][1] >= 0.9 * self.votes[page].total():
            return Resolution("resolved", (voted[0][0],), "volume and page, as other documents cite it by name")
        if rows and not surnames:
            return _narrowed(rows, source, "volume and page")
        return Resolution("missing", (), "no opinion at this volume and page, and none by this name and year")

    def learn(self, citations: Iterable[tuple[str, str, list[int]]]) -> None:
        """Take the pages of opinions from citations that name them: the heading of an old scan seldom has its page."""
        for normal, status, rows in citations:
            page = re.search(r"\d+ [A-Z]+ Ops\. \d+$", normal)
            if page and status == "resolved" and len(rows) == 1:
                self.votes[page[0]][rows[0]] += 1

    # ── sections of laws ─────────────────────────────────────────────────────────────────────────────────────────

    def _statute(self, citation: Citation, source: int | None) -> Resolution:
        parts = citation.parts
        own = self.places.get(source) if source is not None else None
        laws = self._laws_named(parts, own)
        if isinstance(laws, Resolution):
            return laws
        if "section" not in parts and own is None:
            return Resolution("ambiguous", (), "a moment of the section it stands in; which one is not known here")
        places = [place for law in laws for place in self._sections_of(law, parts, own)]
        if not places:
            names = ", ".join(sorted(self.law_titles[law] for law in laws)[:3])
            return Resolution("missing", (), f"{names} has no such section" if len(laws) < 4 else "no law here has it")
        if len({place.law for place in places}) > 1:
            titles = sorted({self.law_titles[place.law] for place in places})
            reason = f"no law is named, and {len(titles)} laws have this section: {', '.join(titles[:4])}"
            return Resolution("ambiguous", tuple(place.row for place in places), reason)
        return self._moments(places, parts, own)

    def _laws_named(self, parts: dict[str, str], own: Place | None) -> list[str] | Resolution:
        name = parts.get("law", "")
        if parts.get("id") in self.law_titles:
            return [parts["id"]]
        if name.startswith("tämä"):
            return [own.law] if own else Resolution("ambiguous", (), "'this law' has a meaning only inside a law")
        if name and (found := self.laws.get(name) or self.laws.get(cite_he.law_key(name))):
            return sorted(found)
        if name and len(found := self._laws_beginning(cite_he.law_key(name))) == 1:
            return sorted(found)
        if name or parts.get("id"):
            return Resolution("missing", (), f"the law {name or parts['id']!r} is not in the corpus")
        return [own.law] if own else sorted(self.law_titles)

    def _laws_beginning(self, key: str) -> set[str]:
        """Laws by the first words of their name, where a text says no more: at least two words."""
        if key.count(" ") < 1:
            return set()
        return {law for name, laws in self.laws.items() if name.startswith(f"{key} ") for law in laws}

    def _sections_of(self, law: str, parts: dict[str, str], own: Place | None) -> list[Place]:
        inside = own is not None and own.law == law
        schedule = parts.get("schedule", own.schedule if own and inside and not parts.get("law") else "")
        if "section" not in parts:
            wanted = [own.section] if own else []
        else:
            wanted = self._span(law, schedule, parts["section"], parts.get("to", ""))
        places = [place for section in wanted for place in self.sections.get((law, schedule, section), [])]
        chapter = parts.get("chapter", "")
        if own and inside and (chapter == "tämä" or (not chapter and len({place.chapter for place in places}) > 1)):
            chapter = own.chapter  # numbers begin anew in each chapter: a bare one means the chapter it stands in
        if chapter and chapter != "tämä":
            places = [place for place in places if place.chapter == chapter]
        return places

    def _span(self, law: str, schedule: str, first: str, last: str) -> list[str]:
        if not last or not (first.rstrip("abcdefgh").isdigit() and last.rstrip("abcdefgh").isdigit()):
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
        names = [str(n) for n in range(int(low), int(high) + 1)] if high and high.isdigit() else [wanted]
        hits = [place.row for place in places if any(_same_moment(place.moment, name) for name in names)]
        if hits:
            return Resolution("resolved", tuple(hits), "law, section and moment")
        if parts.get("sub"):  # the paragraph is inside a document, not a document
            return Resolution("resolved", tuple(place.row for place in places), "law and section")
        return Resolution("missing", (), f"the section has no moment {wanted}")


def cite(text: str, corpus: Corpus | None = None, *, language: str | None = None, scheme: Scheme = PLAIN) -> list[Resolved]:
    """The citations of a text with what they name in a corpus."""
    if corpus is None:
        found = parse(text, language, scheme=scheme)
        return [Resolved(citation=one, status="no-document", targets=(), reason="no corpus was given") for one in found]
    resolver = resolver_of(str(corpus.data))
    answers = []
    languages = language or (None if resolver.places else resolver.scheme.language or None)
    for citation in parse(text, languages, scheme=msgspec.structs.replace(resolver.scheme, language="")):
        outcome = resolver.resolve(citation)
        targets = tuple(corpus.at(row).id for row in outcome.rows)
        answers.append(Resolved(citation=citation, status=outcome.status, targets=targets, reason=outcome.reason))
    return answers


@lru_cache(maxsize=4)
def resolver_of(data: str) -> Resolver:
    """The resolver of an open corpus, built once; its data folder never changes."""
    from assay.corpus.disk import open_path

    return Resolver.of_corpus(open_path(Path(data).parent))


# ── the graph of a whole corpus ──────────────────────────────────────────────────────────────────────────────────────


def link(folder: Path, parts: tuple[Part, ...], resolver: Resolver) -> dict[str, int]:
    """Resolve every citation of every part; write `citations.arrow` and the graph; count what came of them."""
    starts = np.cumsum([0, *(part.rows for part in parts)])
    tables = [
        read_arrow(folder / f"{Path(part.file).stem}.mentions").with_columns(pl.col("row") + int(start))
        for part, start in zip(parts, starts[:-1], strict=True)
    ]
    mentions = pl.concat(tables)
    known: dict[tuple[str, str], Citation | None] = {}
    opinions = mentions.filter(pl.col("kind") == "opinion")
    first = _outcomes(opinions, resolver, known)
    resolver.learn((normal, found.status, list(found.rows)) for normal, found in zip(opinions["normal"], first, strict=True))
    outcomes = list(_outcomes(mentions, resolver, known))
    citations = mentions.with_columns(
        status=pl.Series([outcome.status for outcome in outcomes], dtype=pl.String),
        reason=pl.Series([outcome.reason for outcome in outcomes], dtype=pl.String),
        targets=pl.Series([list(outcome.rows) for outcome in outcomes], dtype=pl.List(pl.Int64)),
    )
    write_arrow(citations, folder / "citations.arrow", batch=65536)
    pairs = citations.filter(pl.col("status") == "resolved").select("row", "targets").explode("targets").unique()
    _write_graph(folder, int(starts[-1]), pairs.to_numpy().astype(np.int64))
    counts = dict(citations["status"].value_counts().iter_rows())
    return {status: counts.get(status, 0) for status in STATUSES} | {"edges": pairs.height}


def _outcomes(
    mentions: pl.DataFrame, resolver: Resolver, known: dict[tuple[str, str], Citation | None]
) -> Iterator[Resolution]:
    plain: dict[str, Resolution] = {}
    fixed = {kind for kind in ("statute", "regulation", "case") if not resolver.places}
    for row, normal, kind, language, name in mentions.select("row", "normal", "kind", "language", "name").iter_rows():
        if not kind:
            yield Resolution("missing", (), "not in a form that is understood")
        elif kind == "reference":
            yield resolver.reference(normal, row)
        elif language == "en" and kind in fixed:
            if kind not in plain:
                plain[kind] = Resolution("no-document", (), f"no {kind} is a document of this corpus")
            yield plain[kind]
        else:
            key = (normal, language)
            if key not in known:
                known[key] = next(iter(parse(normal, language, scheme=resolver.scheme)), None)
            citation = known[key]
            if citation is None:
                yield Resolution("missing", (), "not in a form that is understood")
            else:
                yield resolver.resolve(msgspec.structs.replace(citation, name=name), row)


def _write_graph(folder: Path, rows: int, pairs: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    for name, columns in (("cites", pairs), ("cited_by", pairs[:, ::-1])):
        order = np.lexsort((columns[:, 1], columns[:, 0]))
        ends = np.cumsum(np.bincount(columns[:, 0], minlength=rows))
        np.save(folder / f"{name}.offsets.npy", np.concatenate([[0], ends]).astype(np.int64))
        np.save(folder / f"{name}.rows.npy", columns[order, 1])


# ── small things ─────────────────────────────────────────────────────────────────────────────────────────────────────

_ID = re.compile(r"(?:(?P<series>[A-Z])-)?(?P<yy>\d\d)(?P<mark>ADV-\d\d-|ADV-|A-|A|-)?(?P<nn>\d{2,3})(?!\d)(?P<rest>.*)")
_EXT = re.compile(r"\(?-?([a-zA-Z])\)?(-1090)?$|(-1090)")


def _claims(doc_id: str, meta: _Meta, year: int | None) -> dict[tuple[str, str, str], tuple[int, str]]:
    """(year, number, extension) of every number a document lays claim to, with its weight and series."""
    own = _id_numbers(doc_id)
    claims: dict[tuple[str, str, str], tuple[int, str]] = {}

    def add(number: str, weight: int) -> None:
        if parts := cite_en.letter_parts(number):
            key = (parts["year"], parts["number"], parts.get("ext", ""))
            before, series = claims.get(key, (0, ""))
            claims[key] = (before + weight, series or parts.get("series", ""))

    for number in meta.numbers:
        add(number, HEADING if _trusted(number, own, year) else DOUBTFUL)
    for number in meta.title_numbers:
        add(number, TITLE if "-" in number else FILED)
    printed = {key[:2] for key in claims}
    for number, weight in own:
        # a filing number of another series than the one in the heading is not what the letter is cited by
        parts = cite_en.letter_parts(number)
        if weight == ID or not meta.numbers or (parts and (parts["year"], parts["number"]) in printed):
            add(number, weight)
    return claims


def _id_numbers(doc_id: str) -> list[tuple[str, int]]:
    """The numbers in an id: '89-142', 'A-24-003' and '80A001' are file numbers; '75003' and '77ADV-77-001' say where
    a paper was filed; '92-481-523-614' answers three requests."""
    match = _ID.fullmatch(doc_id)
    if not match:
        return []
    weight = FILED if match["mark"] is None or match["mark"].startswith("ADV") else ID
    extension = _EXT.match(match["rest"])
    suffix = "".join(part for part in extension.groups() if part).lower() if extension else ""
    series = f"{match['series']}-" if match["series"] else ""
    numbers = [(f"{series}{match['yy']}-{match['nn'].zfill(3)}{suffix}", weight)]
    return numbers + [(f"{match['yy']}-{more}", FILED) for more in re.findall(r"-(\d{3})(?!\d)", match["rest"])]


def _trusted(number: str, own: list[tuple[str, int]], year: int | None) -> bool:
    """A heading may quote another letter's number. It is believed where the id says the same, or says nothing and the
    year fits."""
    parts = cite_en.letter_parts(number)
    if parts is None:
        return False
    stem = f"{parts['year']}-{parts['number']}"
    if any(stem in name for name, _ in own):
        return True
    near = year is None or (year - int(parts["year"])) % 100 in (0, 1, 99)
    return near and not any(weight == ID for _, weight in own)


def _fitting(claims: list[Claim], extension: str) -> list[Claim]:
    """Claims whose supplement letter is the one cited. "-1090" tells what a letter is about, and is often left out."""
    exact = [claim for claim in claims if claim.extension == extension]
    if exact:
        return exact
    if not extension:
        return [claim for claim in claims if claim.extension == "-1090"]
    if extension == "-1090":
        return [claim for claim in claims if not claim.extension]
    return []


def _surnames(name: str) -> frozenset[str]:
    words = re.findall(r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ’']+", name)
    return frozenset(word.lower() for word in words if len(word) > 2 and word.lower() not in ("and", "the", "van", "von"))


def _one_slip(cited: tuple[str, str], real: tuple[str, str]) -> bool:
    """One digit differs, two neighbours changed places, or the year is the next one."""
    (year, number), (real_year, real_number) = cited, real
    if year != real_year:
        return number == real_number
    if len(number) != len(real_number):
        return number.startswith(real_number) or real_number.startswith(number)
    wrong = [i for i, (a, b) in enumerate(zip(number, real_number, strict=True)) if a != b]
    swapped = len(wrong) == 2 and wrong[1] == wrong[0] + 1 and sorted(number) == sorted(real_number)
    return len(wrong) == 1 or swapped


def _narrowed(rows: list[int], source: int | None, rule: str) -> Resolution:
    if source is not None and source in rows:
        return Resolution("self", (source,))
    if len(rows) == 1:
        return Resolution("resolved", (rows[0],), rule)
    return Resolution("ambiguous", tuple(rows), f"{len(rows)} documents fit by {rule}")


def _plain_eid(eid: str) -> str:
    """An element's id without the version of the amendment that wrote it: sec_7av20151620 is sec_7a."""
    return re.sub(r"v\d{8}(?=__|$)", "", eid)


def _addresses(meta: _Meta) -> Iterator[str]:
    """The ids by which an address may mean a document: its own, its section's, and a schedule's by number."""
    steps = _plain_eid(meta.eId).split("__")
    first = next((i for i, step in enumerate(steps) if step.startswith(("sec_", "point_", "art_"))), len(steps))
    yield from ("__".join(steps[: end + 1]) for end in range(first, len(steps)))
    if steps[first : first + 1] and steps[first].startswith("sec_"):
        yield from ("__".join(steps[first : end + 1]) for end in range(first, len(steps)) if first)
    if meta.schedule and len(steps) > 1:
        yield f"appendix_{meta.schedule}_פרט_{steps[1].removeprefix('point_')}"


def _leading(text: str) -> str:
    """'8 a luku' is chapter 8a; Hebrew chapters keep their letter."""
    found = re.match(r"\s*(\d+\s?[a-z]?)\b", text)
    return "".join(found[1].split()) if found else text.strip()


def _section_key(section: str) -> tuple[int, str]:
    digits = re.match(r"\d+", section)
    return (int(digits[0]), section[digits.end() :]) if digits else (0, section)


def _same_moment(moment: str, wanted: str) -> bool:
    return moment == wanted or (wanted.startswith("(") and moment == wanted.strip("()").split(")(")[0])
