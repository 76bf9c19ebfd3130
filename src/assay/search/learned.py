"""Vectors learned from the collection itself, for a language no encoder ships for: latent semantic
analysis.

**Idea.** Words that stand in the same documents come to lie together (Deerwester et al. 1990), so
that a question finds a document that says the same in other words of this collection. The matrix of
documents by lemmas, log-frequency times rarity, is cut to its `SIZE` strongest singular directions.

**How.** Subspace iteration (Halko, Martinsson & Tropp 2011, algorithm 4.4): a random basis is
multiplied by the matrix and its transpose in turn and made orthonormal after each product; three
rounds are enough, since only the order of cosines matters. The matrix stays sparse. The random
start is seeded: the same corpus gives the same vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.search.arrays import Array, Floats, unit_rows
from assay.search.lexical import Counts
from assay.search.soft import Lookalikes, Similar

LEARNED = "learned"
SIZE = 100
ROUNDS = 3
CHUNK = 200_000  # entries multiplied at a time


@dataclass(frozen=True)
class _Sparse:
    """A sparse matrix as (row, column, value), sorted by row."""

    rows: Array
    columns: Array
    values: Array
    height: int

    def times(self, dense: Array) -> Floats:
        product = np.zeros((self.height, dense.shape[1]), np.float32)
        for start in range(0, len(self.rows), CHUNK):
            chunk = slice(start, start + CHUNK)
            rows = self.rows[chunk]
            firsts = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
            terms = dense[self.columns[chunk]] * self.values[chunk, None]
            product[rows[firsts]] += np.add.reduceat(terms, firsts, axis=0)
        return product

    def transposed(self, height: int) -> _Sparse:
        order = np.argsort(self.columns, kind="stable")
        return _Sparse(self.columns[order], self.rows[order], self.values[order], height)


def word_vectors(counts: Counts, words: Lookalikes) -> Floats:
    """A vector for each index word: that of its lemma, weighted by how rare it is; words that occur
    once have none."""
    number: dict[str, int] = {}
    lemma_of = np.array([number.setdefault(lemma, len(number)) for lemma in words.lemmas], np.int64)
    column = lemma_of[counts.terms]
    held = np.bincount(column, minlength=len(number))
    idf = np.where(held > 1, np.log1p(counts.documents / np.maximum(held, 1)), 0.0)
    value = (np.log1p(counts.frequencies.astype(np.float64)) * idf[column]).astype(np.float32)
    size = min(SIZE, counts.documents - 1, len(number) - 1)
    if size < 2:
        return np.zeros((len(words.words), 1), np.float32)
    matrix = _Sparse(_rows_of(counts), column, value, counts.documents)
    transposed = matrix.transposed(len(number))
    basis = np.random.default_rng(0).standard_normal((len(number), size)).astype(np.float32)
    for _ in range(ROUNDS):
        scores = np.linalg.qr(matrix.times(basis))[0]
        basis = np.linalg.qr(transposed.times(scores))[0]
    return np.asarray(basis[lemma_of] * idf[lemma_of, None], np.float32)


def document_vectors(counts: Counts, vectors: Floats) -> Floats:
    values = np.log1p(counts.frequencies.astype(np.float32))
    terms = counts.terms.astype(np.int64)
    return unit_rows(_Sparse(_rows_of(counts), terms, values, counts.documents).times(vectors))


def query_vector(vectors: Floats, similar: Sequence[Similar]) -> Floats:
    """The sum over the question's words, each the mean of the words that look like it."""
    total = np.zeros(vectors.shape[1])
    for numbers, shares in similar:
        if len(numbers):
            total += shares @ vectors[numbers] / max(float(shares.sum()), 1.0)
    unit: Floats = unit_rows(total[None])[0]
    return unit


def _rows_of(counts: Counts) -> Array:
    """The document of each entry."""
    return np.repeat(np.arange(counts.documents), np.diff(counts.offsets))
