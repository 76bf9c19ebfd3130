"""Words that look alike: BM25 in which a query word stands for every index word with like character
n-grams.

Made for inflection, compounds and typos in short texts (statutes by moment, precedent summaries).
Likeness is .6 cosine + .4 containment over idf-weighted 3- to 5-grams of the word and its lemma;
the same lemma counts as the same word. A word's frequency in a document is the sum of likeness
squared over its look-alikes, and so is its document frequency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.language.analysis import Analyzer
from assay.language.finnish import without_dots
from assay.search.lexical import Array, Counts

Doubles = np.ndarray[Any, np.dtype[np.float64]]
THRESHOLD = 0.45
SIZES = (3, 4, 5)
CACHE = 4096
K1, B = 1.2, 0.6


class Lookalikes:
    """Which index words look like a given one. `lemmas` and the gram lists are stored, so that
    opening is fast; `unseen` gives the lemma of a word the index does not have."""

    def __init__(
        self,
        words: list[str],
        lemmas: list[str],
        grams: list[str],
        starts: Array,
        holders: Array,
        unseen: Callable[[str], str],
    ) -> None:
        self.words, self.lemmas, self.grams, self.starts, self.holders = (
            words,
            lemmas,
            grams,
            starts,
            holders,
        )
        self._lemma_of = unseen
        self._number = {gram: number for number, gram in enumerate(grams)}
        size = max(1, len(words))
        self._idf = np.log1p(size / np.maximum(np.diff(starts), 1))
        self._weight = np.bincount(
            holders, weights=np.repeat(self._idf, np.diff(starts)), minlength=len(words)
        )
        self._unseen = 0.5 * float(np.log1p(size))
        self._lemma = dict(zip(words, lemmas, strict=True))
        self._by_lemma: dict[str, list[int]] = {}
        for number, lemma in enumerate(lemmas):
            self._by_lemma.setdefault(lemma, []).append(number)
        self._cache: dict[str, tuple[Array, Doubles]] = {}

    def lemma(self, word: str) -> str:
        """As it was found when the index was built, or by rules. No dictionary is loaded to search:
        the look-alikes of a word stand for it."""
        return self._lemma[word] if word in self._lemma else self._lemma_of(word)

    def same(self, word: str) -> tuple[Array, Doubles]:
        """The numbers of the word's own forms."""
        numbers = np.array(self._by_lemma.get(self.lemma(word), []), np.int64)
        return numbers, np.ones(len(numbers))

    def similar(self, word: str) -> tuple[Array, Doubles]:
        """The numbers of the words that look like this one, and how much each counts."""
        if word in self._cache:
            return self._cache[word]
        lemma = self.lemma(word)
        overlap = np.zeros(len(self.words))
        total = 1e-9
        for gram in word_grams(word, lemma):
            number = self._number.get(gram)
            if number is None:
                total += self._unseen
                continue
            total += self._idf[number]
            overlap[self.holders[self.starts[number] : self.starts[number + 1]]] += self._idf[
                number
            ]
        weight = np.maximum(self._weight, 1e-9)
        likeness = 0.6 * overlap / np.sqrt(total * weight) + 0.4 * overlap / np.minimum(
            total, weight
        )
        likeness[self._by_lemma.get(lemma, [])] = 1.0
        numbers = np.flatnonzero(likeness > THRESHOLD)
        found = (numbers, np.minimum(likeness[numbers], 1.0) ** 2)
        if len(self._cache) < CACHE:
            self._cache[word] = found
        return found


def lookalikes(words: list[str], analyzer: Analyzer) -> Lookalikes:
    lemmas = [analyzer.lemma(word) for word in words]
    holders: dict[str, list[int]] = {}
    for number, (word, lemma) in enumerate(zip(words, lemmas, strict=True)):
        for gram in word_grams(word, lemma):
            holders.setdefault(gram, []).append(number)
    starts = np.zeros(len(holders) + 1, np.int64)
    np.cumsum([len(numbers) for numbers in holders.values()], out=starts[1:])
    flat = np.fromiter(
        (n for numbers in holders.values() for n in numbers), np.int32, int(starts[-1])
    )
    return Lookalikes(words, lemmas, list(holders), starts, flat, unseen(analyzer))


def unseen(analyzer: Analyzer) -> Callable[[str], str]:
    """How the lemma of a word outside the index is found; the Finnish dictionary takes seconds to
    load."""
    return str if analyzer.language == "fi" else analyzer.lemma


def word_grams(word: str, lemma: str) -> set[str]:
    grams: set[str] = set()
    for marked in {f"_{without_dots(word)}_", f"_{without_dots(lemma)}_"}:
        for size in SIZES:
            grams.update(
                marked[start : start + size] for start in range(max(1, len(marked) - size + 1))
            )
    return grams


class SoftView:
    """One text of every document, by words."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.documents = counts.documents
        self.different = np.diff(counts.offsets)  # words of each text
        row = np.repeat(np.arange(counts.documents), np.diff(counts.offsets))
        lengths = np.bincount(row, weights=counts.frequencies, minlength=counts.documents)
        average = float(lengths[lengths > 0].mean()) if (lengths > 0).any() else 1.0
        self._norm = K1 * (1 - B + B * lengths / average)
        order = np.argsort(counts.terms, kind="stable")
        self._rows, self._frequencies = row[order], counts.frequencies[order].astype(np.float64)
        held = np.bincount(counts.terms, minlength=len(counts.vocabulary))
        self._starts = np.concatenate([[0], np.cumsum(held)])

    def frequency(self, similar: tuple[Array, Doubles]) -> Doubles:
        """How often the word, or one like it, stands in each document."""
        frequency = np.zeros(self.documents)
        for number, share in zip(*similar, strict=True):
            start, end = self._starts[number], self._starts[number + 1]
            frequency[self._rows[start:end]] += share * self._frequencies[start:end]
        return frequency

    def scores(self, frequencies: Sequence[Doubles]) -> tuple[Doubles, float]:
        """BM25 over soft frequencies, and the score of a document that holds every word without
        end."""
        scores = np.zeros(self.documents)
        attainable = 0.0
        for frequency in frequencies:
            weight = self.idf(frequency)
            scores += weight * frequency * (K1 + 1) / (frequency + self._norm)
            attainable += weight * (K1 + 1)
        return scores, attainable

    def idf(self, frequency: Doubles) -> float:
        holding = float(np.minimum(1.0, frequency).sum())
        return float(np.log1p((self.documents - holding + 0.5) / (holding + 0.5)))
