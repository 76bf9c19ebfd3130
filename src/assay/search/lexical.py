"""BM25 as flat arrays: counted once, impacts precomputed, memory-mapped; a query touches one list a
term.

`Counts` is the forward side (document to terms): it is kept, so that a changed corpus re-analyses
changed documents only. `Bm25` is the inverted side made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Floats = np.ndarray[Any, np.dtype[np.float32]]
Terms = Callable[[str], list[str]]


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


def count_terms(
    texts: Iterable[str | None],
    terms_of: Terms,
    previous: Counts | None = None,
    reuse: Sequence[int] | None = None,
) -> Counts:
    """Count every text. Where `reuse[i]` is a row of `previous`, its counts are taken over and
    `texts` gives None."""
    numbers: dict[str, int] = (
        {word: i for i, word in enumerate(previous.vocabulary)} if previous else {}
    )
    rows: list[Array] = []
    frequencies: list[Array] = []
    for row, text in enumerate(texts):
        old = reuse[row] if reuse is not None else -1
        if previous is not None and old >= 0:
            start, end = previous.offsets[old], previous.offsets[old + 1]
            rows.append(previous.terms[start:end])
            frequencies.append(previous.frequencies[start:end])
            continue
        counted = Counter(terms_of(text or ""))
        rows.append(
            np.fromiter(
                (numbers.setdefault(t, len(numbers)) for t in counted), np.int32, len(counted)
            )
        )
        frequencies.append(
            np.fromiter((min(n, 65_535) for n in counted.values()), np.uint16, len(counted))
        )
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    empty = np.empty(0, np.int32)
    return Counts(
        list(numbers),
        offsets,
        np.concatenate([empty, *rows]),
        np.concatenate([empty.astype(np.uint16), *frequencies]),
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
        return sum(
            (rarest if number is None else float(self.idf[number])) * (self.k1 + 1)
            for number in numbers
        )

    def postings(self, number: int) -> Array:
        return self.rows[self.starts[number] : self.starts[number + 1]]

    def impact(self, number: int, row: int) -> float:
        """What one term adds to one document."""
        postings = self.postings(number)
        at = int(np.searchsorted(postings, row))
        found = at < len(postings) and postings[at] == row
        return float(self.impacts[self.starts[number] + at]) if found else 0.0


def bm25(counts: Counts, *, k1: float, b: float) -> Bm25:
    """Robertson & Zaragoza 2009, with the idf that is never negative; documents without the field
    do not count."""
    size = len(counts.vocabulary)
    lengths = np.zeros(counts.documents)
    per_row = np.diff(counts.offsets)
    row = np.repeat(np.arange(counts.documents, dtype=np.int32), per_row)
    np.add.at(lengths, row, counts.frequencies)
    filled = lengths > 0
    average = float(lengths[filled].mean()) if filled.any() else 1.0
    holding = np.bincount(counts.terms, minlength=size)
    idf = np.log1p((int(filled.sum()) - holding + 0.5) / (holding + 0.5))
    order = np.argsort(counts.terms, kind="stable")
    rows, terms = row[order], counts.terms[order]
    frequency = counts.frequencies[order].astype(np.float32)
    norm = (k1 * (1 - b + b * lengths / average)).astype(np.float32)
    impacts = (
        idf.astype(np.float32)[terms] * frequency * np.float32(k1 + 1) / (frequency + norm[rows])
    )
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(holding, out=starts[1:])
    return Bm25(
        numbers={word: number for number, word in enumerate(counts.vocabulary)},
        starts=starts,
        rows=rows,
        impacts=impacts.astype(np.float32),
        idf=idf.astype(np.float32),
        documents=counts.documents,
        k1=k1,
    )
