"""Search engines of many kinds on one corpus of opinions: to pool from, and to put in a ranking.

Each class takes no argument, so that any command can be given one:

    assay gold pool eval/dataset.json --search-module benchmarks/systems.py:Fields

The corpus is `fppc` of the workspace, imported and indexed; $ASSAY_SYSTEMS_CORPUS names another.
`StockEncoder` and `StockAssay` look at the same corpus under the name `fppc-stock`, indexed with
`--encoder minilm-l6`: an encoder that has never seen an opinion."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from functools import cache

import numpy as np

from assay.core.types import SearchEngine
from assay.corpus.disk import Corpus
from assay.corpus.lookup import corpus_named
from assay.engines.indexed import open_indexed
from assay.search.dense import named_encoder
from assay.search.engine import Engine
from assay.search.index import Index

WORD = re.compile(r"\w+")
RRF_K = 60  # Cormack, Clarke & Büttcher 2009
FUSED_DEPTH = 100
CITED_FROM = 10  # first hits whose citations are followed
STOCK = "-stock"


def _name() -> str:
    return os.environ.get("ASSAY_SYSTEMS_CORPUS", "fppc")


@cache
def _corpus() -> Corpus:
    return corpus_named(_name())


@cache
def _assay(suffix: str = "") -> Engine:
    return open_indexed(_name() + suffix)


def _index(suffix: str = "") -> Index:
    return _assay(suffix)._index


def _best(index: Index, scores: np.ndarray, top_k: int) -> list[str]:
    order = np.argsort(-scores, kind="stable")[:top_k]
    return [index.ids[row] for row in order if scores[row] > 0]


class AllWords(SearchEngine):
    """Documents that hold every word asked for, the newest first; where there are too few, those
    that hold most words: what a plain search box on a web site does."""

    def search(self, query: str, top_k: int = 20) -> list[str]:
        return _newest_with_most_words(query, top_k)


@cache
def _dates() -> list[str]:
    return [str(document.metadata.get("date") or "") for document in _corpus().iter()]


@cache
def _newest_with_most_words(query: str, top_k: int) -> list[str]:
    index = _index()
    full = index.fields["full"]
    held = np.zeros(len(index), np.int64)
    for number in full.query(dict.fromkeys(index.analyzer.terms(query))):
        held[full.postings(number)] += 1
    dates = _dates()
    rows = sorted(range(len(index)), key=lambda row: dates[row], reverse=True)
    rows.sort(key=lambda row: -held[row])
    return [index.ids[row] for row in rows[:top_k] if held[row]]


class FullText(SearchEngine):
    """BM25 over the stems of the full text."""

    def search(self, query: str, top_k: int = 20) -> list[str]:
        index = _index()
        full = index.fields["full"]
        return _best(index, full.scores(full.query(index.analyzer.terms(query))), top_k)


class Fields(SearchEngine):
    """BM25 over the stems of the fields that say the question and the answer."""

    def search(self, query: str, top_k: int = 20) -> list[str]:
        index = _index()
        short = index.fields["short"]
        return _best(index, short.scores(short.query(index.analyzer.terms(query))), top_k)


class SqliteFts(SearchEngine):
    """SQLite's full-text search, version 5, with its Porter stems and BM25: any word may match."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            "create virtual table t using fts5(id unindexed, x, tokenize=porter)"
        )
        rows = ((document.id, f"{document.title} {document.text}") for document in _corpus().iter())
        self._database.executemany("insert into t values (?, ?)", rows)

    def search(self, query: str, top_k: int = 20) -> list[str]:
        words = dict.fromkeys(WORD.findall(query.lower()))
        asked = " OR ".join(f'"{word}"' for word in words)
        found = self._database.execute(
            "select id from t where t match ? order by rank, id limit ?", (asked, top_k)
        )
        return [row[0] for row in found]


class Encoder(SearchEngine):
    """The cosine of the encoder that was trained on opinions, alone."""

    suffix = ""

    def search(self, query: str, top_k: int = 20) -> list[str]:
        index = _index(self.suffix)
        assert index.vectors is not None
        vector = named_encoder(index.profile.encoder).queries([query])[0]
        return _best(index, np.asarray(index.vectors @ vector), top_k)


class StockEncoder(Encoder):
    """The cosine of an encoder as published, alone."""

    suffix = STOCK


class Fused(SearchEngine):
    """Full text and encoder by reciprocal rank fusion: the usual hybrid."""

    def search(self, query: str, top_k: int = 20) -> list[str]:
        scores: Counter[str] = Counter()
        for engine in (FullText(), Encoder()):
            for rank, doc_id in enumerate(engine.search(query, FUSED_DEPTH), start=1):
                scores[doc_id] += 1 / (RRF_K + rank)
        return sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))[:top_k]


class Citations(SearchEngine):
    """What the first hits of the full text cite or are cited by, the most linked first."""

    def search(self, query: str, top_k: int = 20) -> list[str]:
        corpus = _corpus()
        links: Counter[str] = Counter()
        for rank, doc_id in enumerate(FullText().search(query, CITED_FROM), start=1):
            linked = dict.fromkeys([*corpus.cites(doc_id), *corpus.cited_by(doc_id)])
            for other in linked:
                links[other] += 1 / (RRF_K + rank)
        return sorted(links, key=lambda doc_id: (-links[doc_id], doc_id))[:top_k]


class Assay(SearchEngine):
    """Assay's own engine."""

    suffix = ""

    def search(self, query: str, top_k: int = 20) -> list[str]:
        return [hit.doc_id for hit in _assay(self.suffix).search(query, top_k)]


class StockAssay(Assay):
    """Assay's own engine with an encoder as published."""

    suffix = STOCK


SYSTEMS: dict[str, type[SearchEngine]] = {
    "all words, newest first": AllWords,
    "SQLite FTS5": SqliteFts,
    "BM25, full text, stems": FullText,
    "BM25, question and answer": Fields,
    "citations of the first hits": Citations,
    "encoder, as published": StockEncoder,
    "encoder, trained on opinions": Encoder,
    "hybrid (RRF)": Fused,
    "Assay, encoder as published": StockAssay,
    "Assay": Assay,
}
