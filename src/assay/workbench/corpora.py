"""`assay corpus`, `assay index`, `assay search`, `assay cite`: import documents, look at them,
index and search them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.types import Document, Finding
from assay.corpus.build import ImportReport, import_corpus
from assay.corpus.disk import Corpus, LinkedDocument, Manifest, list_corpora, open_corpus
from assay.corpus.frozen import freeze
from assay.corpus.importers.kinds import Problem
from assay.corpus.named import corpus_named, documents, is_corpus, require_corpus
from assay.corpus.quality import Stats, check, stats
from assay.corpus.resolve import Resolved, cite
from assay.engines.indexed import (
    Indexed,
    Say,
    in_force,
    index_corpus,
    is_indexed,
    open_indexed,
    silent,
)
from assay.search.answers import FoundDocument, SearchAnswer, found_documents
from assay.search.index import Tick
from assay.workbench.paging import Page, page_of, page_size

if TYPE_CHECKING:  # what a running service needs is more than an import or a search does
    from assay.workbench.opening import Service

__all__ = [
    "CorpusRow",
    "Filters",
    "FoundDocument",
    "ImportReport",
    "Indexed",
    "LinkedDocument",
    "SearchAnswer",
    "check_corpus",
    "citations_in",
    "corpus_manifest",
    "corpus_named",
    "corpus_problems",
    "corpus_rows",
    "corpus_stats",
    "document",
    "documents",
    "freeze_corpus",
    "import_corpus",
    "index_corpus",
    "is_corpus",
    "known_manifest",
    "more_like",
    "open_indexed",
    "require_corpus",
    "search",
    "search_page",
    "show_document",
]

# ── looking ───────────────────────────────────────────────────────────────────────────────────────


class CorpusRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `assay corpus list`."""

    name: str
    kind: str
    documents: int
    indexed: bool
    fingerprint: str
    source: str


def corpus_rows(home: Path | None = None) -> list[CorpusRow]:
    rows = []
    for name in list_corpora(home):
        corpus = open_corpus(home, name)
        manifest = corpus.manifest
        row = CorpusRow(
            name=name,
            kind=manifest.kind,
            documents=manifest.documents,
            indexed=is_indexed(corpus, home),
            fingerprint=manifest.fingerprint,
            source=manifest.source,
        )
        rows.append(row)
    return rows


def corpus_manifest(name: str, home: Path | None = None) -> Manifest:
    return corpus_named(name, home).manifest


def known_manifest(name: str, home: Path | None = None) -> Manifest | None:
    """What a corpus of this name is, where there is one."""
    return corpus_manifest(name, home) if is_corpus(name, home) else None


def corpus_problems(name: str, home: Path | None = None) -> list[Problem]:
    """The records of its source that could not be used."""
    return corpus_named(name, home).problems()


def corpus_stats(name: str, home: Path | None = None) -> Stats:
    return stats(corpus_named(name, home))


def check_corpus(name: str, home: Path | None = None) -> list[Finding]:
    return check(corpus_named(name, home))


def freeze_corpus(name: str, output: Path, home: Path | None = None) -> Path:
    return freeze(corpus_named(name, home), output)


def show_document(name: str, doc_id: str, home: Path | None = None) -> LinkedDocument:
    return corpus_named(name, home).linked(doc_id)


def document(service: Service, corpus: str, doc_id: str) -> Document:
    """One document of a corpus of the service's workspace."""
    opened = open_corpus(service.home, corpus)
    if doc_id not in opened:
        raise InputError(f"no document {doc_id!r} in corpus {corpus!r}")
    return opened.get(doc_id)


def citations_in(
    text: str, corpus: str | None, *, language: str | None = None, home: Path | None = None
) -> list[Resolved]:
    """The citations in a text, resolved in a corpus where one is named."""
    return cite(text, corpus_named(corpus, home) if corpus else None, language=language)


# ── searching ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which documents a search may return."""

    topic: str = ""
    statute: str = ""
    law: str = ""
    years: tuple[int, int] | None = None
    as_of: str = ""  # what was in force on this day

    def any(self) -> bool:
        return bool(self.topic or self.statute or self.law or self.years or self.as_of)


NO_FILTERS = Filters()


def search(
    name: str,
    query: str,
    *,
    top_k: int = 10,
    filters: Filters = NO_FILTERS,
    home: Path | None = None,
    tick: Tick = silent,
    say: Say = lambda text: None,
) -> SearchAnswer:
    """Hits with titles, snippets and why each is there."""
    if not query.strip():
        raise InputError(
            "the query is empty", hint="Give a question, keywords or a description of facts."
        )
    engine = open_indexed(name, home=home, tick=tick, say=say)
    corpus = corpus_named(name, home)
    allowed = _allowed(corpus, filters) if filters.any() else None
    hits = engine.search(query, top_k, allowed=allowed, explain=True)
    shown = found_documents(hits, engine, query, corpus)
    return SearchAnswer(query=query, corpus=corpus.name, abstained=hits.abstained, hits=shown)


def more_like(
    name: str,
    doc_id: str,
    *,
    top_k: int = 10,
    filters: Filters = NO_FILTERS,
    home: Path | None = None,
    say: Say = lambda text: None,
) -> SearchAnswer:
    corpus = corpus_named(name, home)
    title = corpus.get(doc_id).title
    engine = open_indexed(name, home=home, say=say)
    hits = engine.like(doc_id, top_k, allowed=_allowed(corpus, filters) if filters.any() else None)
    shown = found_documents(hits, engine, title, corpus)
    return SearchAnswer(query=f"like {doc_id}", corpus=corpus.name, abstained=False, hits=shown)


def search_page(
    service: Service, corpus: str, query: str, limit: int = 10, offset: int = 0
) -> Page[FoundDocument]:
    """A page of hits, for agents and pages."""
    size = page_size(limit)
    answer = search(corpus, query, top_k=offset + size + 1, home=service.home, say=service.say)
    return page_of(answer.hits[offset:], offset, size)


# ── filters ───────────────────────────────────────────────────────────────────────────────────────

Rows = np.ndarray[Any, np.dtype[np.bool_]]  # which rows of a corpus
TOPIC_KEYS = ("topic_primary", "topic", "practice_area")
LAW_KEYS = ("law", "law_id")


def _allowed(corpus: Corpus, filters: Filters) -> Rows:
    """The rows that pass every filter; it is an error when none does."""
    frame = corpus.frame.select("year", "metadata", "citations").collect()
    allowed = np.ones(frame.height, bool)
    if filters.years:
        first, last = filters.years
        allowed &= frame["year"].fill_null(-1).is_between(first, last).to_numpy()
    if filters.topic:
        allowed &= _said_under(frame, TOPIC_KEYS, filters.topic)
    if filters.law:
        allowed &= _said_under(frame, LAW_KEYS, filters.law)
    if filters.statute:
        named = _naming(filters.statute)
        cites = [any(map(named, texts)) for texts in frame["citations"].to_list()]
        allowed &= np.array(cites, bool)
    if filters.as_of:
        allowed &= in_force(corpus, filters.as_of)
    if not allowed.any():
        raise InputError(
            "no document of the corpus passes these filters",
            hint="Check --topic, --law, --statute, --year, --as-of.",
        )
    return allowed


def _said_under(frame: pl.DataFrame, keys: Sequence[str], wanted: str) -> Rows:
    """Rows whose metadata has this value under any of the keys, whatever its case."""
    matched = np.zeros(frame.height, bool)
    for key in keys:
        values = frame["metadata"].str.json_path_match(f"$.{key}").fill_null("")
        matched |= (values.str.to_lowercase() == wanted.lower()).to_numpy()
    return matched


def _naming(statute: str) -> Callable[[str], object]:
    """Whether a citation names this statute or a part of it: 87103 is in 87103(a), and not in
    87103.5 or 187103."""
    words = r"\s+".join(map(re.escape, statute.split()))
    return re.compile(rf"(?<![\w.]){words}(?!\w|\.\d)", re.IGNORECASE).search
