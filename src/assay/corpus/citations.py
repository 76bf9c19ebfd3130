"""Resolve citations to the documents of a corpus, and write the citation graph of a whole
corpus.

Opinions are resolved twice for the graph. The first round takes those that a citation names, and
learns from them which opinion stands at which volume and page (letters.py explains why); the second
round uses that. Each normal form is parsed once, however many documents cite it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
import polars as pl

from assay.core.errors import AssayError
from assay.corpus.disk import Corpus, Manifest, PartFile, Rows, open_path, read_arrow
from assay.corpus.importers.kinds import importer
from assay.corpus.in_force import standings_of, today
from assay.corpus.laws import Laws
from assay.corpus.letters import Letters
from assay.corpus.parts import mentions_path, write_arrow
from assay.law.citation import (
    PLAIN,
    STATUSES,
    Citation,
    Facts,
    Resolution,
    Scheme,
    Status,
    narrowed,
)
from assay.law.parse import parse
from assay.law.versions import IN_FORCE

VERSION = 13  # raised when the same texts give other citations
MANY_LAWS = 5000  # beyond this, knowing all names does not help to read one (taste)
OLDER = "the corpus was imported by an older version; import it again"
CITATION_ROWS = 65_536  # read together from `citations.arrow`
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
    standing = standings_of(str(corpus.data_folder))
    every = {row: standing.status(row, today()) for row in provisions}
    return {row: status for row, status in every.items() if status != IN_FORCE}


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
    resolver.letters.learn(
        (normal, resolution.status, list(resolution.rows))
        for normal, resolution in zip(opinions["normal"], by_name, strict=True)
    )
    resolutions = list(_resolve_mentions(mentions, resolver, parsed))
    rows = [list(resolution.rows) for resolution in resolutions]
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
