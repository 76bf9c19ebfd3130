"""BM25 as flat arrays: counted once, impacts precomputed, memory-mapped; a query touches one list a
term.

**Idea.** What a term adds to a document's score does not depend on the query, so it is computed
when the index is built (its *impact*; Anh & Moffat 2002, "Impact transformation") and stored beside
the document's row, term by term. A query then adds up slices of one array by row, which numpy does
at memory speed, and no score is computed twice.

`Counts` is the forward side (document to terms): it is kept, so that a changed corpus re-analyses
changed documents only. `Bm25` is the inverted side, which postings.py makes from it; the rows of a
term ascend. The formula is Robertson & Zaragoza 2009 ("The Probabilistic Relevance
Framework"), with log(1 + …) in the idf, which is never negative, and the mean length over the
documents that have the field at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Generic, TypeVar

import numpy as np

from assay.search.arrays import Array, Floats, offsets_of

Terms = Callable[[str], list[str]]
TOGETHER = 16  # lists of postings that are added up at a time: most are short
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


def count_terms(texts: Sequence[str], terms_of: Terms) -> Counts:
    """How often each term stands in each text."""
    counter = TermCounter(terms_of)
    return replace(counter.count(texts), vocabulary=list(counter.numbers))


Text = TypeVar("Text")


class TermCounter(Generic[Text]):
    """Counts the terms of texts over one vocabulary that grows. What a token gives is found out
    once: `tokens` splits a text, `terms_of` is asked for every different token."""

    def __init__(
        self,
        tokens: Callable[[Text], Iterable[str]],
        terms_of: Callable[[str], Iterable[str]] = lambda token: (token,),
        known: Iterable[str] = (),
    ) -> None:
        self.numbers = {term: number for number, term in enumerate(known)}
        self._tokens = tokens
        self._terms_of = terms_of
        self._given = _Given(self._numbers_of)

    def count(
        self, texts: Sequence[Text], reuse: Sequence[int] = (), before: Counts | None = None
    ) -> Counts:
        """Of the next documents. Where `reuse[i]` is a row of `before`, its counts are taken over:
        the vocabulary then began with that one's. The vocabulary of the answer is empty."""
        terms: list[int] = []
        frequencies: list[int] = []
        sizes: list[int] = []
        for place, text in enumerate(texts):
            if before is not None and reuse[place] >= 0:
                held = slice(*before.offsets[reuse[place] : reuse[place] + 2])
                terms += before.terms[held].tolist()
                frequencies += before.frequencies[held].tolist()
                sizes.append(held.stop - held.start)
                continue
            given = map(self._given.__getitem__, self._tokens(text))
            counted = Counter(chain.from_iterable(given))
            terms += counted.keys()
            frequencies += counted.values()
            sizes.append(len(counted))
        times = np.minimum(np.array(frequencies, np.int64), MOST_COUNTED).astype(np.uint16)
        return Counts([], offsets_of(sizes), np.array(terms, np.int32), times)

    def _numbers_of(self, token: str) -> tuple[int, ...]:
        numbers = self.numbers
        return tuple(numbers.setdefault(term, len(numbers)) for term in self._terms_of(token))


class _Given(dict[str, tuple[int, ...]]):
    """The numbers of a token's terms, found when it is first asked for."""

    def __init__(self, find: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, token: str) -> tuple[int, ...]:
        found = self[token] = self._find(token)
        return found


def joined_counts(vocabulary: list[str], blocks: Sequence[Counts]) -> Counts:
    """Documents one after the other, numbered over one vocabulary."""
    return Counts(
        vocabulary,
        offsets_of(np.concatenate([np.diff(block.offsets) for block in blocks])),
        np.concatenate([block.terms for block in blocks]),
        np.concatenate([block.frequencies for block in blocks]),
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
        every = list(asked)
        for first in range(0, len(every), TOGETHER):
            numbers = every[first : first + TOGETHER]
            lists = [slice(*self.starts[number : number + 2].tolist()) for number in numbers]
            impacts = np.concatenate([self.impacts[each] for each in lists])
            times = np.array([asked[number] for number in numbers], np.float32)
            if (times != 1).any():
                impacts *= np.repeat(times, [each.stop - each.start for each in lists])
            # a third of the time of scores[rows] +=
            np.add.at(scores, np.concatenate([self.rows[each] for each in lists]), impacts)
        return scores

    def attainable(self, terms: Iterable[str]) -> float:
        """The score of a document that has every asked term without end; unknown terms count as the
        rarest."""
        return sum(self.rarity(term) * (self.k1 + 1) for term in terms)

    def rarity(self, term: str) -> float:
        """Its idf; that of the rarest where no document has it."""
        number = self.numbers.get(term)
        return self._rarest if number is None else float(self.idf[number])

    @cached_property
    def _rarest(self) -> float:
        return float(np.log1p((self.documents + 0.5) / 0.5))

    def postings(self, number: int) -> Array:
        return self.rows[self.starts[number] : self.starts[number + 1]]
