"""Vectors learned from the collection itself, for a language no encoder ships for: latent semantic
analysis.

Words that stand in the same documents come to lie together. A truncated singular value
decomposition of the documents-by-lemmas matrix, by subspace iteration, seeded: the same corpus
gives the same vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.search.lexical import Array, Counts, Floats
from assay.search.soft import Doubles, Lookalikes

LEARNED = "learned"
SIZE = 100
ROUNDS = 3
CHUNK = 200_000  # entries multiplied at a time


def word_vectors(counts: Counts, words: Lookalikes) -> Floats:
    """A vector for each index word: that of its lemma, weighted by how rare it is; words that occur
    once have none."""
    number: dict[str, int] = {}
    lemma_of = np.array([number.setdefault(lemma, len(number)) for lemma in words.lemmas], np.int64)
    row = np.repeat(np.arange(counts.documents), np.diff(counts.offsets))
    column = lemma_of[counts.terms]
    held = np.bincount(column, minlength=len(number))
    idf = np.where(held > 1, np.log1p(counts.documents / np.maximum(held, 1)), 0.0)
    value = (np.log1p(counts.frequencies.astype(np.float64)) * idf[column]).astype(np.float32)
    size = min(SIZE, counts.documents - 1, len(number) - 1)
    if size < 2:
        return np.zeros((len(words.words), 1), np.float32)
    basis = np.random.default_rng(0).standard_normal((len(number), size)).astype(np.float32)
    order = np.argsort(column, kind="stable")
    for _ in range(ROUNDS):
        scores = np.linalg.qr(_times(row, column, value, basis, counts.documents))[0]
        basis = np.linalg.qr(_times(column[order], row[order], value[order], scores, len(number)))[
            0
        ]
    return np.asarray(basis[lemma_of] * idf[lemma_of, None], np.float32)


def document_vectors(counts: Counts, vectors: Floats) -> Floats:
    row = np.repeat(np.arange(counts.documents), np.diff(counts.offsets))
    value = np.log1p(counts.frequencies.astype(np.float32))
    return _unit(_times(row, counts.terms.astype(np.int64), value, vectors, counts.documents))


def query_vector(vectors: Floats, similar: Sequence[tuple[Array, Doubles]]) -> Floats:
    """The sum over the question's words, each the mean of the words that look like it."""
    total = np.zeros(vectors.shape[1])
    for numbers, shares in similar:
        if len(numbers):
            total += shares @ vectors[numbers] / max(float(shares.sum()), 1.0)
    unit: Floats = _unit(total[None])[0]
    return unit


def _times(rows: Any, columns: Any, values: Any, dense: Any, size: int) -> Floats:
    """A sparse matrix, sorted by row, times a dense one."""
    result = np.zeros((size, dense.shape[1]), np.float32)
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        here = rows[part]
        firsts = np.flatnonzero(np.r_[True, here[1:] != here[:-1]])
        sums = np.add.reduceat(dense[columns[part]] * values[part, None], firsts, axis=0)
        result[here[firsts]] += sums
    return result


def _unit(rows: Any) -> Floats:
    return np.asarray(rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9), np.float32)
