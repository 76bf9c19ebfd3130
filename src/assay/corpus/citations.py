"""Resolve citations to the documents of a corpus, and write the citation graph of a whole
corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import msgspec
import polars as pl

from assay.core.errors import AssayError
from assay.corpus.disk import Corpus, Manifest, open_path
from assay.corpus.importers.kinds import importer
from assay.corpus.in_force import standings_of, today
from assay.corpus.laws import Laws
from assay.corpus.letters import Letters
from assay.law.citation import PLAIN, Citation, Facts, Resolution, Scheme, Status, narrowed
from assay.law.parse import parse
from assay.law.versions import IN_FORCE

# ── whether a corpus was imported by an older version ─────────────────────────────────────────────

OLDER = "the corpus was imported by an older version; import it again"


def imported_by_older(manifest: Manifest) -> bool:
    try:
        now = {"importer": importer(manifest.kind).VERSION, "resolve": VERSION}
    except AssayError:  # an importer that is not installed here
        return False
    return any(manifest.versions.get(name, version) < version for name, version in now.items())


# ────────────────────────────────────────────────────────────────────────────────────────────────

VERSION = 13  # raised when the same texts give other citations
MANY_LAWS = 5000  # beyond this, knowing all names does not help to read one


class Resolved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A citation in a text, with the ids of the documents it names."""

    citation: Citation
    status: Status
    targets: tuple[str, ...]
    reason: str
    not_in_force: dict[str, str] = {}  # of these targets: repealed, superseded, …


class Resolver:
    """The tables of one corpus. Build it with `of_frames` or `of_corpus`."""

    COLUMNS: ClassVar = ["id", "metadata", "locator.section", "locator.moment", "year"]

    def __init__(self, scheme: Scheme = PLAIN) -> None:
        self.scheme = scheme
        self.letters = Letters()
        self.laws = Laws()
        self.aliases: dict[str, list[int]] = defaultdict(list)

    @classmethod
    def of_corpus(cls, corpus: Corpus) -> Resolver:
        frame = corpus.frame.select(cls.COLUMNS).collect()
        resolver = cls.of_frames([frame], corpus.manifest.scheme)
        opinions = corpus.citations.filter(pl.col("kind") == "opinion")
        cited = opinions.select("normal", "status", "targets").collect()
        resolver.letters.learn(cited.iter_rows())
        resolver.letters.read_text = lambda row: corpus.at(row).text
        return resolver

    @classmethod
    def of_frames(cls, frames: Iterable[pl.DataFrame], scheme: Scheme) -> Resolver:
        resolver = cls(scheme)
        decode = msgspec.json.Decoder(Facts, strict=False).decode
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
            return narrowed(self.aliases[citation.normal], "id")
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
    """The citations of a text with what they name in a corpus."""
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
    """Of several places that may be meant, those that have the moment that is named."""
    moment = citation.parts.get("moment", "")
    places = resolver.laws.places
    fitting = tuple(
        row for row in resolution.rows if row in places and places[row].moment == moment
    )
    return fitting if fitting and resolution.status == "ambiguous" else resolution.rows


def _not_in_force(corpus: Corpus, resolver: Resolver, rows: Iterable[int]) -> dict[int, str]:
    """Of these rows, the provisions that do not hold today, and why."""
    provisions = [row for row in rows if row in resolver.laws.places]
    if not provisions:
        return {}
    standing = standings_of(str(corpus.data_folder))
    every = {row: standing.status(row, today()) for row in provisions}
    return {row: status for row, status in every.items() if status != IN_FORCE}


@lru_cache(maxsize=4)
def resolver_of(data_folder: str) -> Resolver:
    """The resolver of an open corpus, built once; its data folder never changes."""
    return Resolver.of_corpus(open_path(Path(data_folder).parent))
