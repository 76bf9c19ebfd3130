"""Keep corpora open for a server, since opening one takes longer than a hundred searches.
An `OpenCorpus` is a corpus with its engine; a `Reader` gives judges the documents of a pool, from a
corpus that may have no index, or from a file."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay.core.errors import InputError
from assay.core.types import Document
from assay.corpus.disk import MANIFEST, Corpus
from assay.corpus.lookup import corpus_named, documents, is_corpus, require_corpus
from assay.engines.indexed import Say, index_folder, is_indexed, open_indexed, silent
from assay.judging.pool import Pool
from assay.judging.votes import changed_parts
from assay.language.detect import detect
from assay.search.engine import Engine
from assay.search.index import Tick
from assay.workbench.searching.filters import Columns, Filters, Mask, columns_of, language_of

MAX_OPEN_CORPORA = 8  # corpora that a server keeps open; chosen
MOST_FOUND = 12  # documents that a judge may add one of; taste
Stamp = tuple[int, int, int]
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class OpenCorpus:
    """A corpus, and the engine on it."""

    corpus: Corpus
    engine: Engine

    def at(self, row: int) -> Document:
        return self.corpus.at(row)

    def get(self, doc_id: str) -> Document:
        return self.corpus.get(doc_id)

    @property
    def columns(self) -> Columns:
        return columns_of(self.corpus)

    @property
    def language(self) -> str:
        return language_of(self.corpus)

    def asked_in(self, query: str) -> str:
        """The language of a question, where no document of the corpus is in it; else empty."""
        asked = detect(query)
        return "" if asked in (self.language, *self.columns.languages.names) else asked

    def allowed(self, filters: Filters) -> Mask | None:
        """The rows that pass; None where nothing is filtered, and the columns are not read."""
        return self.columns.allowed(filters) if filters.any() else None


def open_with_engine(
    name: str,
    *,
    home: Path | None = None,
    tick: Tick = silent,
    say: Say = lambda text: None,
) -> OpenCorpus:
    """An index that is missing, outdated or damaged is built first."""
    engine = open_indexed(name, home=home, tick=tick, say=say)
    return OpenCorpus(corpus=corpus_named(name, home), engine=engine)


_kept: OrderedDict[tuple[str, str], tuple[tuple[Stamp, ...], OpenCorpus]] = OrderedDict()
_opening: dict[tuple[str, str], threading.Lock] = {}
_table = threading.Lock()


def open_cached(name: str, *, home: Path | None = None, say: Say = lambda text: None) -> OpenCorpus:
    """Opened at the first asking. A corpus or an index that was replaced since is opened anew; of
    many who ask at once, one opens."""
    key = (str(home or ""), name)
    with _table:
        lock = _opening.setdefault(key, threading.Lock())
    with lock:
        corpus = corpus_named(name, home)
        now = _stamps(corpus, home)
        with _table:
            before = _kept.get(key)
        if before is not None and before[0] == now:
            opened = before[1]
        else:
            opened = open_with_engine(name, home=home, say=say)
            now = _stamps(corpus, home)
        with _table:
            _kept[key] = (now, opened)
            _kept.move_to_end(key)
            while len(_kept) > MAX_OPEN_CORPORA:
                _kept.popitem(last=False)
        return opened


# ── for a judge ───────────────────────────────────────────────────────────────────────────────────


_reading = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Reader:
    """`get` gives a document, or None; `changed` the parts of one that read otherwise than the
    fingerprint of a vote says; `search` the ids of the best for some words."""

    corpus: str
    get: Callable[[str], Document | None]
    changed: Callable[[str, str], tuple[str, ...]]
    search: Callable[[str], list[str]]


def reader_of(pool: Pool | None, dataset: Path, home: Path | None) -> Reader:
    """The corpus of the pool beside a set."""
    name = pool.corpus if pool is not None else ""
    if not name:
        raise InputError(
            "the corpus of the documents is unknown",
            where=str(dataset),
            hint=f"Pool first: assay gold pool {dataset} --engine bm25 --corpus NAME.",
        )
    return reader_named(name, home)


def reader_named(name: str, home: Path | None) -> Reader:
    """A reader of a corpus, by its name or file."""
    with _reading:  # of many who ask at once, one opens
        if is_corpus(name, home):
            return _imported(name, home, corpus_named(name, home).fingerprint)
        require_corpus(Path(name))
        return _reader_of_file(Path(name), _stamp(Path(name)))


@lru_cache(maxsize=8)
def _imported(name: str, home: Path | None, fingerprint: str) -> Reader:
    corpus = corpus_named(name, home)

    @lru_cache(maxsize=4096)
    def get(doc_id: str) -> Document | None:
        return corpus.get(doc_id) if doc_id in corpus else None

    def search(words: str) -> list[str]:
        if not is_indexed(corpus, home):
            raise InputError(
                f"the corpus {name} has no index yet", hint=f"Build it: assay index {name}"
            )
        engine = open_cached(name, home=home).engine  # the one that the search page keeps
        found = [hit.doc_id for hit in engine.search(words, MOST_FOUND)]
        return list(dict.fromkeys([*([words.strip()] if words.strip() in corpus else []), *found]))

    return Reader(corpus=name, get=get, changed=_changed_documents(get), search=search)


@lru_cache(maxsize=8)
def _reader_of_file(path: Path, stamp: Stamp) -> Reader:
    every = {document.id: document for document in documents(path)}
    known = list(every.values())
    return Reader(
        corpus=str(path),
        get=every.get,
        changed=_changed_documents(every.get),
        search=lambda words: _with_words(known, words),
    )


def _changed_documents(
    get: Callable[[str], Document | None],
) -> Callable[[str, str], tuple[str, ...]]:
    @lru_cache(maxsize=100_000)
    def changed(doc_id: str, fingerprint: str) -> tuple[str, ...]:
        document = get(doc_id)
        return changed_parts(fingerprint, document) if document is not None else ()

    return changed


def _with_words(documents: list[Document], asked: str) -> list[str]:
    """A file has no index: the documents with most of the words."""
    words = set(_WORDS.findall(asked.lower()))
    counts = {
        document.id: len(words & set(_WORDS.findall(f"{document.title} {document.text}".lower())))
        for document in documents
    }
    best = sorted((doc_id for doc_id in counts if counts[doc_id]), key=lambda id: -counts[id])
    return [*([asked.strip()] if asked.strip() in counts else []), *best][:MOST_FOUND]


# ── changed files ─────────────────────────────────────────────────────────────────────────────────


def _stamps(corpus: Corpus, home: Path | None) -> tuple[Stamp, ...]:
    """The stamps of both manifests, which a writer replaces last, in one step."""
    folder = index_folder(corpus, home)
    return tuple(_stamp(path) for path in (corpus.path / MANIFEST, *sorted(folder.glob("*.json"))))


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_mtime_ns, found.st_size)
