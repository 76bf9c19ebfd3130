"""Baseline engines over any documents: random order, plain BM25, and BM25 that folds the forms of
words."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from assay.core.types import Document, Hit, SearchEngine
from assay.language.analysis import analyzer
from assay.language.detect import detect

WORD = re.compile(r"\w+")
LANGUAGE_DOCUMENTS = 20  # documents that tell the language where none says it; taste


class RandomEngine(SearchEngine):
    """Documents in an order drawn from the query's text and the seed: the floor under every
    measure."""

    def __init__(self, documents: Iterable[Document], *, seed: int = 0) -> None:
        self._ids = [document.id for document in documents]
        self._seed = seed

    def name(self) -> str:
        return "random"

    def search(self, query: str, top_k: int = 20) -> list[str]:
        return random.Random(f"{self._seed}:{query}").sample(self._ids, min(top_k, len(self._ids)))


class Bm25Engine(SearchEngine):
    """Okapi BM25 over lower-cased words of the title and the text; no stemming, no fields.

    Robertson & Zaragoza 2009, with the idf that is never negative (as in Lucene)."""

    def __init__(self, documents: Sequence[Document], *, k1: float = 1.2, b: float = 0.75) -> None:
        self._ids = [document.id for document in documents]
        counts = [
            Counter(self._terms(f"{document.title} {document.text}")) for document in documents
        ]
        lengths = np.array([sum(count.values()) for count in counts], np.float64)
        norm = k1 * (
            1 - b + b * lengths / max(float(lengths.mean()) if len(lengths) else 1.0, 1e-9)
        )
        postings: dict[str, list[tuple[int, int]]] = {}
        for row, count in enumerate(counts):
            for word, frequency in count.items():
                postings.setdefault(word, []).append((row, frequency))
        self._postings: dict[str, tuple[Any, Any]] = {}
        for word, places in postings.items():
            rows, frequencies = np.array(places).T
            idf = np.log1p((len(documents) - len(rows) + 0.5) / (len(rows) + 0.5))
            self._postings[word] = rows, idf * frequencies * (k1 + 1) / (frequencies + norm[rows])

    def name(self) -> str:
        return "bm25"

    def search(self, query: str, top_k: int = 20) -> list[Hit]:
        scores = np.zeros(len(self._ids))
        for word in self._terms(query):
            if word in self._postings:
                rows, weights = self._postings[word]
                scores[rows] += weights
        best = np.argsort(-scores, kind="stable")[:top_k]
        return [
            Hit(doc_id=self._ids[row], score=float(scores[row])) for row in best if scores[row] > 0
        ]

    def _terms(self, text: str) -> list[str]:
        return WORD.findall(text.lower())


class Bm25FormsEngine(Bm25Engine):
    """The same over stems in English, and over character n-grams in other languages, so that other
    forms of a word are found, too."""

    def __init__(self, documents: Sequence[Document], *, k1: float = 1.2, b: float = 0.75) -> None:
        named = Counter(document.language for document in documents if document.language)
        sample = " ".join(document.text[:2000] for document in documents[:LANGUAGE_DOCUMENTS])
        language = named.most_common(1)[0][0] if named else detect(sample)
        self._analyzer = analyzer(language)
        super().__init__(documents, k1=k1, b=b)

    def name(self) -> str:
        return "bm25-forms"

    def _terms(self, text: str) -> list[str]:
        return self._analyzer.terms(text)
