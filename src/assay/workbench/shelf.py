"""The documents that a set is judged on, one at a time, and searched for one to add. Opened once
and kept: a page that shows a document waits for nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.types import Document
from assay.corpus.named import corpus_named, documents, is_corpus, require_corpus
from assay.engines.indexed import is_indexed
from assay.judging.votes import document_fingerprint
from assay.workbench.desk import Desk, Stamp, stamp_of
from assay.workbench.shelves import kept_shelf

MOST_FOUND = 12
_WORDS = re.compile(r"\w+")


class Shelf(msgspec.Struct, frozen=True, kw_only=True):
    """`get` gives a document, or None; `fingerprint` that of what a judge reads of it, empty where
    there is none; `search` the ids of the best for some words."""

    corpus: str
    get: Callable[[str], Document | None]
    fingerprint: Callable[[str], str]
    search: Callable[[str], list[str]]


def shelf_of(desk: Desk, home: Path | None) -> Shelf:
    """The corpus of the pool."""
    name = desk.pool.corpus if desk.pool is not None else ""
    if not name:
        raise InputError(
            "it is not known which corpus the documents are in",
            where=str(desk.dataset),
            hint=f"Pool first: assay gold pool {desk.dataset} --engine bm25 --corpus NAME.",
        )
    if is_corpus(name, home):
        return _imported(name, home, corpus_named(name, home).fingerprint)
    require_corpus(Path(name))
    return _of_file(Path(name), stamp_of(Path(name)))


@lru_cache(maxsize=8)
def _imported(name: str, home: Path | None, fingerprint: str) -> Shelf:
    corpus = corpus_named(name, home)

    @lru_cache(maxsize=4096)
    def get(doc_id: str) -> Document | None:
        return corpus.get(doc_id) if doc_id in corpus else None

    def search(words: str) -> list[str]:
        if not is_indexed(corpus, home):
            raise InputError(
                f"the corpus {name} has no index yet", hint=f"Build it: assay index {name}"
            )
        engine = kept_shelf(name, home=home).engine  # the one that the search page keeps
        found = [hit.doc_id for hit in engine.search(words, MOST_FOUND)]
        return list(dict.fromkeys([*([words.strip()] if words.strip() in corpus else []), *found]))

    return Shelf(corpus=name, get=get, fingerprint=_fingerprints(get), search=search)


@lru_cache(maxsize=8)
def _of_file(path: Path, stamp: Stamp | None) -> Shelf:
    every = {document.id: document for document in documents(path)}
    known = list(every.values())
    return Shelf(
        corpus=str(path),
        get=every.get,
        fingerprint=_fingerprints(every.get),
        search=lambda words: _with_words(known, words),
    )


def _fingerprints(get: Callable[[str], Document | None]) -> Callable[[str], str]:
    @lru_cache(maxsize=100_000)
    def fingerprint(doc_id: str) -> str:
        document = get(doc_id)
        return document_fingerprint(document) if document is not None else ""

    return fingerprint


def _with_words(every: list[Document], asked: str) -> list[str]:
    """A file has no index: the documents with most of the words."""
    words = set(_WORDS.findall(asked.lower()))
    counts = {
        document.id: len(words & set(_WORDS.findall(f"{document.title} {document.text}".lower())))
        for document in every
    }
    best = sorted((doc_id for doc_id in counts if counts[doc_id]), key=lambda id: -counts[id])
    return [*([asked.strip()] if asked.strip() in counts else []), *best][:MOST_FOUND]
