"""The verbs on corpora and their indexes: import, look, check, index, search. Part of the service
layer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import msgspec
import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.types import Document
from assay.core.workspace import workspace
from assay.corpus import Corpus, cite, import_corpus, list_corpora, open_corpus
from assay.corpus.frozen import freeze, open_frozen
from assay.corpus.quality import check, stats
from assay.engines.baselines import read_documents
from assay.law.versions import holds_on, normal_date, validity
from assay.search import index_files
from assay.search.dense import named_encoder
from assay.search.engine import Engine
from assay.search.index import Index, Tick, build
from assay.search.index_files import IndexProblem

__all__ = [
    "Filters",
    "check",
    "cite",
    "corpus_named",
    "corpus_rows",
    "documents",
    "freeze",
    "import_corpus",
    "index_corpus",
    "is_corpus",
    "more_like",
    "open_engine",
    "require_corpus",
    "search",
    "stats",
]

Say = Callable[[str], None]


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


def corpus_named(name: str, home: Path | None = None) -> Corpus:
    """A corpus of the workspace, or a frozen one by its file."""
    return open_frozen(Path(name), home=home) if _is_frozen(name) else open_corpus(home, name)


def is_corpus(name: str, home: Path | None = None) -> bool:
    return name in list_corpora(home) or _is_frozen(name)


def require_corpus(corpus: Path) -> None:
    """Say what was looked for, and where, when there is neither a corpus nor a file of this
    name."""
    if not corpus.exists() and not is_corpus(str(corpus)):
        known = ", ".join(list_corpora()) or "none"
        raise InputError(
            f"there is no corpus {str(corpus)!r} in the workspace {workspace().resolve()}, and no file or "
            f"folder {corpus.absolute()}",
            hint=f"Imported corpora: {known}.",
        )


def _is_frozen(name: str) -> bool:
    """A file that `assay corpus freeze` wrote; any ending will do, a text file will not."""
    path = Path(name)
    return path.suffix not in (".jsonl", ".json", ".csv") and path.is_file() and is_zipfile(path)


def index_folder(corpus: Corpus, home: Path | None = None) -> Path:
    return workspace(home) / "indexes" / corpus.name


def index_corpus(
    name: str,
    *,
    home: Path | None = None,
    dense: bool = True,
    encoder: str = "",
    fresh: bool = False,
    tick: Tick = lambda what, done, of: None,
) -> dict[str, Any]:
    """Build the index of a corpus, or bring it up to date; says what it did."""
    corpus = corpus_named(name, home)
    if encoder:
        named_encoder(encoder)  # an unknown name is refused before the work begins
    built, reused = _build(corpus, home, dense=dense, encoder=encoder, fresh=fresh, tick=tick)
    return {
        "corpus": corpus.name,
        "documents": len(built),
        "reused": reused,
        "profile": built.profile.name,
        "language": built.profile.language,
        "encoder": built.profile.encoder,
        "folder": str(index_folder(corpus, home)),
    }


def _build(
    corpus: Corpus,
    home: Path | None,
    *,
    dense: bool = True,
    encoder: str = "",
    fresh: bool = False,
    tick: Tick,
) -> tuple[Index, int]:
    folder = index_folder(corpus, home)
    previous = None if fresh else _readable(folder)
    digests = corpus.frame.select("digest").collect()["digest"].to_list()
    built = build(
        zip(corpus.iter(), digests, strict=True),
        encoder=encoder,
        dense=dense,
        previous=previous,
        tick=tick,
    )
    index_files.save(built, folder, corpus.fingerprint)
    old = (
        set(previous.digests)
        if previous is not None and previous.profile == built.profile
        else set()
    )
    return built, sum(digest in old for digest in digests)


def _readable(folder: Path) -> Index | None:
    try:
        return index_files.load(folder)
    except IndexProblem:
        return None


def open_engine(
    name: str,
    *,
    home: Path | None = None,
    tick: Tick = lambda what, done, of: None,
    say: Say = lambda text: None,
) -> Engine:
    """The engine on a corpus. An index that is missing, outdated or damaged is built again, and
    `say` tells why."""
    corpus = corpus_named(name, home)
    folder = index_folder(corpus, home)
    try:
        found = index_files.load(folder, corpus.fingerprint)
    except IndexProblem as problem:
        say(f"{corpus.name}: {problem}; building the index")
        dense, encoder = _as_before(folder)
        found, _ = _build(corpus, home, dense=dense, encoder=encoder, tick=tick)
    return Engine(
        found,
        name=corpus.name,
        lookup=lru_cache(maxsize=4096)(corpus.get),
        in_force=lru_cache(maxsize=64)(partial(in_force, corpus)),
    )


def _as_before(folder: Path) -> tuple[bool, str]:
    """(dense, encoder): whoever built without the encoder, or with one of their own, wants it
    rebuilt so."""
    try:
        profile = index_files.read_manifest(folder).profile
    except IndexProblem:
        return True, ""
    return bool(profile.encoder), profile.encoder if profile.encoder.startswith(
        ("openai:", "st:")
    ) else ""


def search(
    name: str,
    query: str,
    *,
    top_k: int = 10,
    filters: Filters = Filters(),  # noqa: B008 - frozen
    home: Path | None = None,
    tick: Tick = lambda what, done, of: None,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """Hits with titles, snippets and why each is there; `abstained` when nothing here answers the
    question."""
    if not query.strip():
        raise InputError(
            "the query is empty", hint="Give a question, keywords or a description of facts."
        )
    engine = open_engine(name, home=home, tick=tick, say=say)
    corpus = corpus_named(name, home)
    allowed = _allowed(corpus, filters) if filters.any() else None
    hits = engine.search(query, top_k, allowed=allowed, explain=True)
    return {
        "query": query,
        "corpus": corpus.name,
        "abstained": hits.abstained,
        "hits": [
            _shown(rank, hit, engine, query, corpus) for rank, hit in enumerate(hits, start=1)
        ],
    }


def more_like(
    name: str,
    doc_id: str,
    *,
    top_k: int = 10,
    filters: Filters = Filters(),  # noqa: B008 - frozen
    home: Path | None = None,
    say: Say = lambda t: None,
) -> dict[str, Any]:
    corpus = corpus_named(name, home)
    document = corpus.get(doc_id)
    engine = open_engine(name, home=home, say=say)
    hits = engine.like(doc_id, top_k, allowed=_allowed(corpus, filters) if filters.any() else None)
    shown = [
        _shown(rank, hit, engine, document.title, corpus) for rank, hit in enumerate(hits, start=1)
    ]
    return {"query": f"like {doc_id}", "corpus": corpus.name, "abstained": False, "hits": shown}


def _shown(rank: int, hit: Any, engine: Engine, query: str, corpus: Corpus) -> dict[str, Any]:
    document = corpus.get(hit.doc_id)
    snippet, words = engine.snippet(query, document)
    row: dict[str, Any] = {
        "rank": rank,
        "doc_id": hit.doc_id,
        "score": hit.score,
        "title": document.title,
        "snippet": snippet,
        "words": words,
        "signals": hit.explanation,
    }
    if document.locator is not None:
        row["locator"] = msgspec.to_builtins(document.locator)
    if citations := _cited_by_both(query, document):
        row["citations"] = citations
    return row


def _cited_by_both(query: str, document: Document) -> list[str]:
    from assay.corpus import parse

    asked = {citation.normal for citation in parse(query)}
    return (
        sorted(asked & {citation.normal for text in document.citations for citation in parse(text)})
        if asked
        else []
    )


def _allowed(corpus: Corpus, filters: Filters) -> Any:
    frame = corpus.frame.select("year", "metadata", "citations").collect()
    allowed = np.ones(frame.height, bool)
    if filters.years:
        low, high = filters.years
        allowed &= frame["year"].fill_null(-1).is_between(low, high).to_numpy()
    for value, keys in (
        (filters.topic, ("topic_primary", "topic", "practice_area")),
        (filters.law, ("law", "law_id")),
    ):
        if value:
            matched = np.zeros(frame.height, bool)
            for key in keys:
                found = frame["metadata"].str.json_path_match(f"$.{key}").fill_null("")
                matched |= (found.str.to_lowercase() == value.lower()).to_numpy()
            allowed &= matched
    if filters.statute:
        named = _naming(filters.statute)
        holds = pl.Series([any(map(named, texts)) for texts in frame["citations"].to_list()])
        allowed &= holds.to_numpy()
    if filters.as_of:
        allowed &= in_force(corpus, filters.as_of)
    if not allowed.any():
        raise InputError(
            "no document of the corpus passes these filters",
            hint="Check --topic, --law, --statute, --year, --as-of.",
        )
    return allowed


def in_force(corpus: Corpus, as_of: str) -> Any:
    """Which rows were in force on a day: of several versions of a place, the last one that had
    begun. What does not say when it began or ended is not left out."""
    day = normal_date(as_of)
    said = [
        pl.col("metadata").str.json_path_match(f"$.{key}").alias(key)
        for key in ("law_id", "law", "chapter")
    ]
    place = [pl.col(f"locator.{part}") for part in ("doc_id", "section", "moment")]
    rows = corpus.frame.select("valid_from", "valid_to", *said, *place).collect().rows()
    versions = [
        ((number or law or source, chapter, section, moment) if section else None, begins, ends)
        for begins, ends, number, law, chapter, source, section, moment in rows
    ]
    return np.array([holds_on(day, *period) for period in validity(versions)], bool)


def _naming(statute: str) -> Callable[[str], Any]:
    """Whether a citation names this statute or a part of it: 87103 is in 87103(a), and not in
    87103.5 or 187103."""
    words = r"\s+".join(map(re.escape, statute.split()))
    return re.compile(rf"(?<![\w.]){words}(?!\w|\.\d)", re.IGNORECASE).search


def corpus_rows(home: Path | None = None) -> list[dict[str, Any]]:
    """What `assay corpus list` shows."""
    rows = []
    for name in list_corpora(home):
        corpus = open_corpus(home, name)
        manifest = corpus.manifest
        indexed = (index_folder(corpus, home) / index_files.MANIFEST).exists()
        rows.append(
            {
                "name": name,
                "kind": manifest.kind,
                "documents": manifest.documents,
                "indexed": indexed,
                "fingerprint": manifest.fingerprint,
                "source": manifest.source,
            }
        )
    return rows


def documents(corpus: Path) -> list[Document]:
    """A corpus by name, or a JSONL file, or a folder of opinion files `{year}/*.json`."""
    require_corpus(corpus)
    if is_corpus(str(corpus)):
        return list(corpus_named(str(corpus)).iter())
    if corpus.is_file():
        return read_documents(corpus)
    found = [_opinion(path) for path in sorted(corpus.rglob("*.json"))]
    if not found:
        raise InputError("the folder has no .json files", where=str(corpus))
    return found


class _Content(msgspec.Struct):
    full_text: str = ""


class _Opinion(msgspec.Struct):
    id: str | None = None
    content: _Content | None = None


def _opinion(path: Path) -> Document:
    try:
        opinion = msgspec.json.decode(path.read_bytes(), type=_Opinion)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"not an opinion file: {error}", where=str(path)) from error
    return Document(
        id=opinion.id or path.stem, text=opinion.content.full_text if opinion.content else ""
    )
