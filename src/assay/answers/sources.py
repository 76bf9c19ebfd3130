"""Put citations and passages in their place: the provisions or letters of a corpus that a citation
leads to, whether the moment or page it names is there, and whether it was in force on a day."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from datetime import date
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import polars as pl

from assay.answers.readers import Passage, Reason, because
from assay.answers.texts import letters_and_digits, stands_in
from assay.core.errors import AssayError
from assay.core.results import Exists, InForce, NameCheck, Pinpoint
from assay.corpus.citations import ACT_NUMBER, ProvisionPlace, Resolver, resolver_of
from assay.corpus.disk import Corpus
from assay.corpus.importers.kinds import importer
from assay.corpus.in_force import ProvisionStatuses, statuses_of_open_corpus, today
from assay.language.detect import detect
from assay.law.citation import PLAIN, Citation, Scheme
from assay.law.he import ONLY, THE_LAW, THIS
from assay.law.parse import laws_named, parse
from assay.law.places import BRACKETS, Cited, read_citation
from assay.law.spellings import SHORT_NAMES
from assay.law.versions import IN_FORCE, NOT_YET

_REPORTED = re.compile(r"\d+ [A-Z]+ Ops\. \d+$")
_KEPT_TEXTS = 400  # documents whose text is kept for the next answer (taste)


class Provision(NamedTuple):
    """A place in a law: `path` is the moment or the brackets below the section."""

    law: str
    schedule: str
    chapter: str
    section: str
    path: tuple[str, ...] = ()

    def meets(self, other: Provision) -> bool:
        """Whether one of two places lies in the other."""
        same = (self.law, self.schedule, self.section) == (other.law, other.schedule, other.section)
        chapters = not self.chapter or not other.chapter or self.chapter == other.chapter
        shorter = min(len(self.path), len(other.path))
        return same and chapters and self.path[:shorter] == other.path[:shorter]


class CitationTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where one citation leads: documents (rows of the corpus), the place it names, the checks that
    need the corpus alone, and the reason behind each of them."""

    exists: Exists = "outside"
    rows: tuple[int, ...] = ()
    law: str = ""
    place: Provision | None = None
    pinpoint: Pinpoint = "not_given"
    name: NameCheck = "not_given"
    repealed: bool = False  # the text says so of the item that is cited
    reasons: dict[str, Reason] = {}
    candidates: tuple[str, ...] = ()


class LocatedPassage(msgspec.Struct, frozen=True, kw_only=True):
    """A passage with its documents and its place; neither where the corpus does not know it."""

    passage: Passage
    rows: frozenset[int] = frozenset()
    place: Provision | None = None

    @property
    def is_known(self) -> bool:
        return bool(self.rows)


class CitationContext(msgspec.Struct):
    """What a citation that leaves out its law can mean: the laws named before it, the latest last,
    those of the passages, and the place cited last."""

    laws: list[str] = []
    given: list[str] = []
    last: Provision | None = None  # the place cited last
    outside: bool = False  # the law named last is not in the corpus
    cited: dict[str, str] = {}  # by section that was cited or given, its law


# ── a corpus ──────────────────────────────────────────────────────────────────────────────────────


class Sources:
    """The documents that citations can lead to. Without a corpus every citation is outside."""

    def __init__(self, corpus: Corpus | None) -> None:
        self.corpus = corpus
        folder = str(corpus.data_folder) if corpus is not None else ""
        self.resolver: Resolver = resolver_of(folder) if corpus is not None else Resolver()
        self._folder = folder
        self._texts: OrderedDict[int, tuple[str, str]] = OrderedDict()
        self._located: OrderedDict[str, tuple[frozenset[int], Provision | None]] = OrderedDict()
        self._searched: OrderedDict[str, int | None] = OrderedDict()
        self._chapters_of: dict[str, frozenset[str]] = {}
        self._whole_series = corpus is not None and _declares_series(corpus)

    @property
    def scheme(self) -> Scheme:
        return self.resolver.scheme if self.corpus is not None else PLAIN

    @cached_property
    def _cited_pages(self) -> frozenset[str]:
        """The pages of reported opinions that documents of the corpus cite: one that they cite and
        the corpus lacks is outside it."""
        if self.corpus is None:
            return frozenset()
        opinions = self.corpus.citations.filter(pl.col("kind") == "opinion").select("normal")
        pages = (_REPORTED.search(normal) for normal in opinions.collect()["normal"])
        return frozenset(page[0] for page in pages if page)

    @property
    def standings(self) -> ProvisionStatuses:
        return statuses_of_open_corpus(self._folder)

    def id_of(self, row: int) -> str:
        return self.corpus.at(row).id if self.corpus is not None else ""

    def text(self, row: int) -> str:
        return self._text(row)[0]

    def flat(self, row: int) -> str:
        return self._text(row)[1]

    def _text(self, row: int) -> tuple[str, str]:
        if row not in self._texts and self.corpus is not None:
            document = self.corpus.at(row)
            whole = "\n".join((document.fields.get("intro", ""), document.text)).strip()
            self._texts[row] = (whole, letters_and_digits(whole))
            if len(self._texts) > _KEPT_TEXTS:
                self._texts.popitem(last=False)
        return self._texts[row]

    # ── passages ──

    def locate(self, passage: Passage) -> LocatedPassage:
        """Where a passage stands in the corpus, by its id (that of a document, an alias, act and
        section with colons, or a citation), else by its text, where that is a document's."""
        if self.corpus is None:
            return LocatedPassage(passage=passage)
        rows: frozenset[int] = frozenset()
        place = None
        if passage.id:
            if passage.id not in self._located:
                self._located[passage.id] = self._locate(passage.id)
                if len(self._located) > 10 * _KEPT_TEXTS:
                    self._located.popitem(last=False)
            rows, place = self._located[passage.id]
        if not rows and (same := self._by_text.get(_digest(passage.text))):
            rows = frozenset(same)
            place = self._place_of(same[0]) if len(same) == 1 else None
        return LocatedPassage(passage=passage, rows=rows, place=place)

    @cached_property
    def _by_text(self) -> dict[bytes, list[int]]:
        """The documents of every text, by its digest; a text of nothing is left out."""
        assert self.corpus is not None
        found: dict[bytes, list[int]] = {}
        for row, (text,) in enumerate(self.corpus.frame.select("text").collect().iter_rows()):
            if text.strip():
                found.setdefault(_digest(text), []).append(row)
        return found

    def _locate(self, doc_id: str) -> tuple[frozenset[int], Provision | None]:
        assert self.corpus is not None
        row = self.corpus.row(doc_id)
        if row is not None:
            return frozenset((row,)), self._place_of(row)
        if rows := self.resolver.aliases.get(doc_id):
            return frozenset(rows), self._place_of(rows[0])
        if found := self._by_colons(doc_id):
            return found
        language = detect(doc_id)
        laws = [
            law
            for name, _, _ in laws_named(doc_id, language, self.scheme)
            for law in self.resolver.laws.laws_called(name)
        ]
        for citation in parse(
            doc_id, scheme=_any_language(self.scheme), first=self.scheme.language
        ):
            target = self.target(citation, CitationContext(laws=laws))
            if target.rows:
                return frozenset(target.rows), target.place
        return frozenset(), None

    def _place_of(self, row: int) -> Provision | None:
        at = self.resolver.laws.places.get(row)
        if at is None:
            return None
        path = (at.moment,) if at.moment else ()
        return Provision(at.law, at.schedule, at.chapter, at.section, path)

    def _by_colons(self, doc_id: str) -> tuple[frozenset[int], Provision | None] | None:
        """'410/2015:110:3' and '1336/1997:2:10:1': act, chapter where sections begin anew in each,
        section, moment."""
        law, *steps = doc_id.partition("#")[0].split(":")
        if law not in self.resolver.laws.titles or not 1 <= len(steps) <= 3:
            return None
        readings = [("", steps[0], steps[1:2])] if len(steps) < 3 else []
        readings += [(steps[0], steps[1], steps[2:])] if len(steps) > 1 else []
        for chapter, section, moments in readings:
            cited = Cited(section=section.casefold(), chapter=chapter)
            places = self.resolver.laws.provisions(law, cited)
            if moments:
                places = [place for place in places if place.moment == moments[0]]
            if places and len({place.chapter for place in places}) == 1:
                path = (moments[0],) if moments else ()
                at = Provision(law, places[0].schedule, places[0].chapter, places[0].section, path)
                return frozenset(place.row for place in places), at
        return None

    # ── citations ──

    def target(self, citation: Citation, context: CitationContext) -> CitationTarget:
        """Where a citation leads. A law that it leaves out is taken from the context."""
        if self.corpus is None:
            return CitationTarget(reasons={"exists": because("no_corpus")})
        if citation.normal in self.resolver.aliases:
            rows = tuple(self.resolver.aliases[citation.normal])
            return CitationTarget(exists="found" if len(rows) == 1 else "ambiguous", rows=rows)
        if citation.kind in ("letter", "opinion"):
            return self._letter(citation)
        if citation.kind in ("statute", "regulation") and self.resolver.laws.places:
            return self._statute(citation, context)
        return CitationTarget(reasons={"exists": because("no_kind")})

    def _statute(self, citation: Citation, context: CitationContext) -> CitationTarget:
        if "authority" in citation.parts:
            return CitationTarget(reasons={"exists": because("no_kind")})
        laws = self.resolver.laws
        if citation.parts.get("law") in (THE_LAW, THIS):  # the one that the answer is about
            parts = {key: value for key, value in citation.parts.items() if key != "law"}
            citation = msgspec.structs.replace(citation, parts=parts)
        named = laws.laws_cited(citation)
        cited = _with_context(read_citation(citation), citation, context)
        if named is None and (short := self._short_name(citation, context)):
            named = [short]
        if named is None:
            context.outside = True
            reason = because("not_in_corpus")
            if cited.law_id and (other := sorted(laws.laws_called(cited.law))):
                others = ", ".join(other)
                reason = because("numbered", number=cited.law_id, name=cited.law, other=others)
            return CitationTarget(reasons={"exists": reason})
        if not named and citation.language == "en" and not context.laws:
            return CitationTarget(reasons={"exists": because("no_act")})
        if not named and context.outside and cited.section in context.cited:
            named = [context.cited[cited.section]]
        elif not named and context.outside:
            return CitationTarget(reasons={"exists": because("outside_before")})
        tried = named or [*reversed(context.laws), *context.given]
        tried = list(dict.fromkeys(tried))
        if not cited.section and cited.moment and context.last is not None:
            last = context.last
            cited = cited._replace(
                section=last.section, schedule=last.schedule, chapter=last.chapter
            )
            tried = [last.law]
        if not cited.section:
            return self._whole_act(tried, named, cited)
        having = {law: places for law in tried if (places := laws.provisions(law, cited))}
        if not having:
            return self._missing(tried, cited, citation)
        law = _best_law(having, cited)
        if cited.to and law in named and not any(p.section == cited.to for p in having[law]):
            return self._missing([law], cited._replace(section=cited.to), citation)
        if named and len(having) > 1:
            found = tuple(place.row for places in having.values() for place in places)
            titles = tuple(laws.titles[one] for one in having)
            return CitationTarget(exists="ambiguous", rows=found, candidates=titles)
        return self._provision(law, having[law], cited, citation, context)

    def _short_name(self, citation: Citation, context: CitationContext) -> str:
        """The one law of the answer or its passages that a shortened name fits: all its words are
        words of the title."""
        name = citation.parts.get("law") or citation.parts.get("code", "")
        if citation.parts.get("year") or re.search(r"\d{4}", name):
            return ""
        wanted = _name_words(name)
        fitting = [
            law
            for law in dict.fromkeys((*context.laws, *context.given))
            if wanted and wanted <= _name_words(self.resolver.laws.titles.get(law, ""))
        ]
        return fitting[0] if len(fitting) == 1 else ""

    def _whole_act(self, tried: list[str], named: list[str], cited: Cited) -> CitationTarget:
        """A chapter, a schedule or an act as a whole."""
        if len(named) != 1:
            return CitationTarget(exists="ambiguous" if tried else "outside")
        chapters = self._chapters(named[0])
        if cited.chapter and chapters and cited.chapter not in chapters:
            title = self.resolver.laws.titles.get(named[0], named[0])
            reason = because("no_chapter", law=title, chapter=cited.chapter)
            return CitationTarget(exists="not_found", law=named[0], reasons={"exists": reason})
        place = Provision(named[0], cited.schedule, cited.chapter, "")
        return CitationTarget(exists="found", law=named[0], place=place, name="agrees")

    def _chapters(self, law: str) -> frozenset[str]:
        if law not in self._chapters_of:
            places = self.resolver.laws.places.values()
            self._chapters_of[law] = frozenset(at.chapter for at in places if at.law == law) - {""}
        return self._chapters_of[law]

    def _missing(self, tried: list[str], cited: Cited, citation: Citation) -> CitationTarget:
        if not tried:
            return CitationTarget(exists="ambiguous", reasons={"exists": because("unnamed")})
        law = tried[0]
        title = self.resolver.laws.titles.get(law, law)
        place = Provision(
            law, cited.schedule, cited.chapter, cited.section, _path_of_citation(citation, cited)
        )
        reason = because("no_section", law=title, section=cited.section)
        there = self.resolver.laws.provisions(law, cited._replace(chapter=""))
        if cited.chapter and (chapters := sorted({one.chapter for one in there if one.chapter})):
            at = {"section": cited.section, "chapter": cited.chapter}
            reason = because("other_chapter", law=title, chapters=", ".join(chapters), **at)
        return CitationTarget(exists="not_found", law=law, place=place, reasons={"exists": reason})

    def _provision(
        self,
        law: str,
        places: list[ProvisionPlace],
        cited: Cited,
        citation: Citation,
        context: CitationContext,
    ) -> CitationTarget:
        chapters = {place.chapter for place in places}
        before = context.last.chapter if context.last and context.last.law == law else ""
        if len(chapters) > 1 and not cited.to and before in chapters:
            places = [place for place in places if place.chapter == before]
            chapters = {before}
        ambiguous = len(chapters) > 1 and not cited.to
        first = places[0]
        path = _path_of_citation(citation, cited)
        chapter = "" if ambiguous else first.chapter
        place = Provision(law, first.schedule, chapter, first.section, path)
        below = [one for one in places if cited.moment and cited.has_moment(one.moment)]
        pinpoint, repealed = self._pinpoint(below or places, cited, citation, bool(below))
        rows = tuple(one.row for one in below or places)
        reasons = {}
        if pinpoint == "missing":
            below_it = _printed_path(path) + (
                f" {cited.item}" if cited.item and not path[1:] else ""
            )
            reasons["pinpoint"] = because("no_item", item=below_it.strip())
        name, why = self._law_name(law, citation)
        if why:
            reasons["name"] = why
        return CitationTarget(
            exists="ambiguous" if ambiguous else "found",
            rows=rows,
            law=law,
            place=place,
            pinpoint=pinpoint,
            name=name,
            repealed=repealed,
            reasons=reasons,
            candidates=tuple(f"{chapter} luku" for chapter in sorted(chapters))
            if ambiguous
            else (),
        )

    def _pinpoint(
        self, places: list[ProvisionPlace], cited: Cited, citation: Citation, is_moment: bool
    ) -> tuple[Pinpoint, bool]:
        brackets = BRACKETS.findall(citation.parts.get("sub", ""))
        items = [cited.item] if cited.item and not brackets else []
        if not cited.moment and not items:
            return "not_given", False
        if cited.to or "–" in cited.moment:
            return ("exists" if is_moment or brackets else "missing"), False
        texts = [self.text(place.row) for place in places]
        if citation.language == "fi" or not brackets:
            moments = {place.moment for place in places}
            if cited.moment and not is_moment and not (moments == {""} and cited.moment == "1"):
                return "missing", False
            if items and not any(_has_item(text, items[0]) for text in texts):
                return "missing", False
            return "exists", False
        steps = brackets[1:] if is_moment else brackets
        if not steps:
            return "exists", False
        walked = [_is_item_repealed(text, steps) for text in texts]
        there = [repealed for repealed in walked if repealed is not None]
        return ("exists" if there else "missing"), bool(there) and all(there)

    def _law_name(self, law: str, citation: Citation) -> tuple[NameCheck, Reason | None]:
        """Whether the name of a law agrees with the number that it stands beside."""
        name = citation.parts.get("law") or citation.parts.get("code", "")
        if not _is_written(name, citation):
            return "not_given", None
        number = citation.parts.get("id", "")
        if number and number != law and ACT_NUMBER.fullmatch(law):
            return "differs", because("number_differs", name=name, law=law, number=number)
        if not number or number != law:
            return "agrees", None
        called = self.resolver.laws.laws_called(name, citation.parts.get("year", ""))
        title = self.resolver.laws.titles.get(law, law)
        if law in called or (not called and _share_a_word(name, title)):
            return "agrees", None
        return "differs", because("name_differs", number=number, title=title, name=name)

    def _letter(self, citation: Citation) -> CitationTarget:
        """A letter or an opinion: the number decides, and the name is compared with it."""
        given = citation.name or citation.parts.get("name", "")
        parts = {key: value for key, value in citation.parts.items() if key != "name"}
        unnamed = msgspec.structs.replace(citation, name="", parts=parts)
        if citation.name.startswith("In re"):  # the number of a Commission opinion
            unnamed = msgspec.structs.replace(unnamed, name="In re")
            given = citation.name.removeprefix("In re").strip()
        resolution = self.resolver.resolve(unnamed)
        if resolution.status == "resolved":
            row = resolution.rows[0]
            name, why = self._addressee(row, given)
            reasons = {"name": why} if why else {}
            return CitationTarget(exists="found", rows=(row,), name=name, reasons=reasons)
        if resolution.status == "ambiguous":
            rows = tuple(
                row for row in resolution.rows if self._addressee(row, given)[0] == "agrees"
            )
            if len(rows) == 1:
                return CitationTarget(exists="found", rows=rows, name="agrees")
            rows = rows or resolution.rows
            return CitationTarget(
                exists="ambiguous",
                rows=rows,
                reasons={"exists": because("free", text=resolution.reason)},
                candidates=tuple(self.id_of(row) for row in rows[:10]),
            )
        if citation.kind == "opinion":
            by_name = self.resolver.resolve(citation)  # the page of an old opinion is seldom known
            if by_name.status == "resolved":
                return CitationTarget(exists="found", rows=by_name.rows, name="agrees")
        if self._whole_series and self._is_nowhere(citation, given):
            return CitationTarget(exists="not_found", reasons={"exists": because("series")})
        return CitationTarget(reasons={"exists": because("free", text=resolution.reason)})

    def _is_nowhere(self, citation: Citation, given: str) -> bool:
        """Whether a whole series does not have a number: other numbers of its year are here, and
        nothing lays claim to this one."""
        letters = self.resolver.letters
        if citation.kind == "opinion":
            page = (
                f"{citation.parts['volume']} {citation.parts['reporter']} {citation.parts['page']}"
            )
            return bool(given) and not letters.has_opinion(given) and page not in self._cited_pages
        key = (citation.parts["year"], citation.parts["number"])
        return key[0] in letters.years and not letters.claims.get(key)

    def _addressee(self, row: int, given: str) -> tuple[NameCheck, Reason | None]:
        if not given:
            return "not_given", None
        if self.resolver.letters.is_named(row, given):
            return "agrees", None
        title = self.corpus.at(row).title if self.corpus is not None else ""
        return "differs", because("addressee", title=title, name=given)

    def page_check(self, row: int, page: int) -> Pinpoint:
        assert self.corpus is not None
        pages = self.corpus.at(row).metadata.get("page_count")
        if not isinstance(pages, int) or pages < 1:
            return "exists"
        return "exists" if 1 <= page <= pages else "missing"

    # ── law in time ──

    def in_force(self, target_rows: Iterable[int], day: str) -> tuple[InForce, Reason | None]:
        """Whether documents are in force on a day: one that is, is enough."""
        rows = list(target_rows)
        if not rows or self.corpus is None:
            return "unknown", None
        on = day or today()
        statuses = [self.standings.status(row, on) for row in rows]
        if any(statuses):
            return self._provisions_in_force(rows, [s for s in statuses if s])
        written = {self.corpus.at(row).valid_from or "" for row in rows}
        later = [at for at in written if at and at > on[: len(at)]]
        if day and later and len(later) == len(written):
            return "not_yet", because("dated", day=min(later))
        return "unknown", None

    def _provisions_in_force(
        self, rows: list[int], statuses: list[str]
    ) -> tuple[InForce, Reason | None]:
        if IN_FORCE in statuses:
            return "in_force", None
        begins, ends = self.standings.periods[rows[0]]
        if all(status == NOT_YET for status in statuses):
            return "not_yet", because("from", day=begins) if begins else None
        after = self._successor(rows[0])
        why = because("since", day=ends) if ends else because("repealed")
        if after:
            why = because(f"{why.why}_replaced", **why.facts, other=after)
        return "no_longer", why

    def _successor(self, row: int) -> str:
        places = self.standings.places
        if places[row] is None:
            return ""
        at = self.resolver.laws.places[row]
        for other in self.resolver.laws.sections.get((at.law, at.schedule, at.section), []):
            if other.row != row and places[other.row] == places[row]:
                return self.id_of(other.row)
        return ""

    # ── the whole corpus ──

    def search_text(self, pieces: list[str], longest: list[str]) -> int | None:
        """The first document in which a quotation stands: `longest` are words of it, by which most
        documents are passed over, and `pieces` its flat fragments."""
        if self.corpus is None or not longest:
            return None
        key = "…".join(pieces)
        if key not in self._searched:
            self._searched[key] = self._search_text(pieces, longest)
            if len(self._searched) > _KEPT_TEXTS:
                self._searched.popitem(last=False)
        return self._searched[key]

    def _search_text(self, pieces: list[str], longest: list[str]) -> int | None:
        assert self.corpus is not None
        conditions = [pl.col("text").str.contains(word, literal=True) for word in longest]
        texts = self.corpus.frame.with_row_index("row").select("row", "text")
        for condition in conditions:
            texts = texts.filter(condition)
        for row, text in texts.collect().iter_rows():
            if stands_in(pieces, letters_and_digits(text)):
                return int(row)
        return None


def _digest(text: str) -> bytes:
    return blake2b(" ".join(text.split()).encode(), digest_size=16).digest()


def _declares_series(corpus: Corpus) -> bool:
    """Whether the importer says that its documents are a whole series, so that a number which is
    not there does not exist."""
    try:
        return bool(getattr(importer(corpus.manifest.kind), "WHOLE_SERIES", False))
    except AssayError:
        return False


def _any_language(scheme: Scheme) -> Scheme:
    return msgspec.structs.replace(scheme, language="")


def _with_context(cited: Cited, citation: Citation, context: CitationContext) -> Cited:
    """A citation with the schedule that "the schedule" means: the one cited last."""
    if citation.parts.get("schedule") == ONLY and context.last and context.last.schedule:
        return cited._replace(schedule=context.last.schedule)
    return cited


_KINDS_OF_LAW = frozenset("חוק פקודת תקנות צו laki asetus act the regulations of".split())


def _name_words(name: str) -> frozenset[str]:
    """The words of a law's name without its kind and without the letters that Hebrew puts first."""
    plain = (word.casefold() for word in re.findall(r"[^\W\d_]{2,}", name))
    return frozenset(
        re.sub(r"^[הבלמוש](?=[א-ת]{3})", "", word) for word in plain if word not in _KINDS_OF_LAW
    )


def _best_law(having: dict[str, list[ProvisionPlace]], cited: Cited) -> str:
    """Of the laws that have the section, the first that has the moment too."""
    for law, places in having.items():
        if not cited.moment or any(cited.has_moment(place.moment) for place in places):
            return law
    return next(iter(having))


def _path_of_citation(citation: Citation, cited: Cited) -> tuple[str, ...]:
    if brackets := BRACKETS.findall(citation.parts.get("sub", "")):
        return tuple(brackets) if "–" not in cited.moment else ()
    return (cited.moment,) if cited.moment and "–" not in cited.moment else ()


def _is_written(name: str, citation: Citation) -> bool:
    """Whether the words of a citation name its law, and not a citation before it."""
    words = citation.text.casefold()
    stems = {word[:4] for word in re.findall(r"\w{3,}", name.casefold())} - _KINDS_OF_LAW
    return (
        any(stem in words for stem in stems)
        or any(short in citation.text for short in SHORT_NAMES)
        or bool(citation.parts.get("id") and citation.parts["id"] in words)
    )


def _printed_path(path: tuple[str, ...]) -> str:
    return "".join(f"({step})" for step in path)


def _has_item(text: str, item: str) -> bool:
    low, _, high = item.partition("–")
    return all(re.search(rf"(?<![\w.]){re.escape(end)}\)", text) for end in (low, high or low))


def _is_item_repealed(text: str, steps: list[str]) -> bool | None:
    """Whether the item at the end of brackets is repealed; None where one of them is not there.
    A bracket counts at the start of a line, or after the one above it."""
    at = 0
    for step in steps:
        found = re.compile(
            rf"(?:^|\n|(?<=[:;.–—-])|(?<=\)))\s*(?:\d+[א-ת]*\.\s*)?(?:\(\w{{1,3}}\)\s*)?"
            rf"\({re.escape(step)}\)"
        ).search(text, at)
        if found is None:
            return None
        at = found.end()
    return re.match(r"\s*\(?(?:בוטל|נמחק|פקע|repealed|kumottu)", text[at : at + 40]) is not None


def _share_a_word(name: str, title: str) -> bool:
    stems = {word[:5].casefold() for word in re.findall(r"\w{4,}", title)}
    return any(word[:5].casefold() in stems for word in re.findall(r"\w{4,}", name))


def is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
