"""BM25 as flat arrays: counted once, impacts precomputed, memory-mapped; a query touches one list a
term.

**Idea.** What a term adds to a document's score does not depend on the query, so it is computed
when the index is built (its *impact*; Anh & Moffat 2002, "Impact transformation") and stored beside
the document's row, term by term. A query then adds up slices of one array by row, which numpy does
at memory speed, and no score is computed twice.

`Counts` is the forward side (document to terms): it is kept, so that a changed corpus re-analyses
changed documents only. `Bm25` is the inverted side made from it by one stable sort, so that the
rows of a term ascend. The formula is Robertson & Zaragoza 2009 ("The Probabilistic Relevance
Framework"), with log(1 + …) in the idf, which is never negative, and the mean length over the
documents that have the field at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.search.arrays import Array, Floats, offsets_of

Terms = Callable[[str], list[str]]
MOST_COUNTED = 65_535  # of a term in one document: what two bytes hold


@dataclass(frozen=True)
class Counts:
    """How often each term stands in each document: row i has terms[offsets[i]:offsets[i+1]]."""

    vocabulary: list[str]
    offsets: Array
    terms: Array
    frequencies: Array

    @property
    def documents(self) -> int:
        return len(self.offsets) - 1


def no_counts(vocabulary: list[str]) -> Counts:
    """Of no document yet: a vocabulary to go on from."""
    return Counts(vocabulary, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint16))


def count_terms(
    texts: Iterable[str | None],
    terms_of: Terms,
    previous: Counts | None = None,
    reuse: Sequence[int] | None = None,
) -> Counts:
    """Count every text. Where `reuse[i]` is a row of `previous`, its counts are taken over and
    `texts` gives None."""
    known = previous.vocabulary if previous else []
    numbers = {term: number for number, term in enumerate(known)}
    terms: list[Array] = []
    frequencies: list[Array] = []
    for row, text in enumerate(texts):
        old = reuse[row] if reuse is not None else -1
        if previous is not None and old >= 0:
            start, end = previous.offsets[old], previous.offsets[old + 1]
            terms.append(previous.terms[start:end])
            frequencies.append(previous.frequencies[start:end])
            continue
        counted = Counter(terms_of(text or ""))
        term_numbers = (numbers.setdefault(term, len(numbers)) for term in counted)
        terms.append(np.fromiter(term_numbers, np.int32, len(counted)))
        times = (min(count, MOST_COUNTED) for count in counted.values())
        frequencies.append(np.fromiter(times, np.uint16, len(counted)))
    return Counts(
        list(numbers),
        offsets_of([len(row_terms) for row_terms in terms]),
        np.concatenate([np.empty(0, np.int32), *terms]),
        np.concatenate([np.empty(0, np.uint16), *frequencies]),
    )


@dataclass(frozen=True)
class Bm25:
    """Postings with their BM25 impact. A term occurs once a document, so adding impacts by fancy
    index is exact."""

    numbers: dict[str, int]
    starts: Array
    rows: Array
    impacts: Floats
    idf: Floats
    documents: int
    k1: float

    @cached_property
    def letters(self) -> str:
        """All that terms are written with."""
        return "".join(sorted(set("".join(self.numbers))))

    def query(self, terms: Iterable[str]) -> dict[int, float]:
        """{term number: how often it is asked for}; unknown terms are left out."""
        asked: dict[int, float] = {}
        for term in terms:
            number = self.numbers.get(term)
            if number is not None:
                asked[number] = asked.get(number, 0.0) + 1.0
        return asked

    def scores(self, asked: dict[int, float]) -> Floats:
        scores = np.zeros(self.documents, np.float32)
        for number, times in asked.items():
            start, end = self.starts[number], self.starts[number + 1]
            impacts = self.impacts[start:end]
            scores[self.rows[start:end]] += impacts if times == 1.0 else impacts * np.float32(times)
        return scores

    def attainable(self, terms: Iterable[str]) -> float:
        """The score of a document that has every asked term without end; unknown terms count as the
        rarest."""
        rarest = float(np.log1p((self.documents + 0.5) / 0.5))
        numbers = (self.numbers.get(term) for term in terms)
        rarities = (rarest if number is None else float(self.idf[number]) for number in numbers)
        return sum(rarity * (self.k1 + 1) for rarity in rarities)

    def postings(self, number: int) -> Array:
        return self.rows[self.starts[number] : self.starts[number + 1]]


def bm25(counts: Counts, *, k1: float, b: float) -> Bm25:
    """The inverted side of counts."""
    size = len(counts.vocabulary)
    lengths = np.zeros(counts.documents)
    row = np.repeat(np.arange(counts.documents, dtype=np.int32), np.diff(counts.offsets))
    np.add.at(lengths, row, counts.frequencies)
    filled = lengths > 0
    average = float(lengths[filled].mean()) if filled.any() else 1.0
    holding = np.bincount(counts.terms, minlength=size)
    idf = np.log1p((int(filled.sum()) - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    by_term = np.argsort(counts.terms, kind="stable")
    rows = row[by_term]
    frequency = counts.frequencies[by_term].astype(np.float32)
    norm = (k1 * (1 - b + b * lengths / average)).astype(np.float32)
    gain = idf[counts.terms[by_term]] * frequency * np.float32(k1 + 1)
    return Bm25(
        numbers={term: number for number, term in enumerate(counts.vocabulary)},
        starts=offsets_of(holding),
        rows=rows,
        impacts=(gain / (frequency + norm[rows])).astype(np.float32),
        idf=idf,
        documents=counts.documents,
        k1=k1,
    )
