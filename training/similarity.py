"""How alike two opinions are, from their text and citations alone: BM25, LSA, shared citations,
links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from opinions import Opinion, terms
from sklearn.utils.extmath import randomized_svd

Floats = np.ndarray[Any, np.dtype[np.float32]]
K1, B = 2.5, 0.9
LSA_DIMENSIONS = 200


@dataclass(frozen=True, slots=True)
class Counts:
    """Term counts of the full texts."""

    vocabulary: dict[str, int]
    matrix: Any  # opinions x terms, CSR
    frequency: Any  # opinions that hold a term


def count_terms(opinions: Sequence[Opinion]) -> Counts:
    vocabulary: dict[str, int] = {}
    columns, values, starts = [], [], [0]
    for opinion in opinions:
        counted = Counter(terms(opinion.full))
        columns.extend(vocabulary.setdefault(term, len(vocabulary)) for term in counted)
        values.extend(counted.values())
        starts.append(len(columns))
    shape = (len(opinions), len(vocabulary))
    matrix = sp.csr_matrix(
        (np.array(values, np.float32), np.array(columns, np.int32), np.array(starts)), shape=shape
    )
    return Counts(vocabulary, matrix, np.bincount(matrix.indices, minlength=len(vocabulary)))


def idf(frequency: Any, n: int) -> Any:
    return np.log(1 + (n - frequency + 0.5) / (frequency + 0.5))


class Bm25:
    """BM25 over the full texts; a query may carry weights, so an opinion can be the query."""

    def __init__(self, counts: Counts) -> None:
        matrix = counts.matrix
        self.n = matrix.shape[0]
        length = np.asarray(matrix.sum(axis=1)).ravel()
        rows = np.repeat(np.arange(self.n), np.diff(matrix.indptr))
        norm = (K1 * (1 - B + B * length / length[length > 0].mean()))[rows]
        # as measured: only opinions with text count towards the idf
        weight = idf(counts.frequency, int((length > 0).sum()))[matrix.indices]
        impact = (matrix.data * (K1 + 1) / (matrix.data + norm) * weight).astype(np.float32)
        self.by_opinion = sp.csr_matrix((impact, matrix.indices, matrix.indptr), shape=matrix.shape)
        self.by_term = self.by_opinion.tocsc()
        self.vocabulary = counts.vocabulary
        # terms in under 3 opinions or in 30% of them say little about which opinions are alike
        self.telling = (counts.frequency >= 3) & (counts.frequency < 0.3 * self.n)

    def score(self, query: Mapping[int, float]) -> Floats:
        scores = np.zeros(self.n, np.float32)
        for term, weight in query.items():
            span = slice(self.by_term.indptr[term], self.by_term.indptr[term + 1])
            scores[self.by_term.indices[span]] += weight * self.by_term.data[span]
        return scores

    def text(self, text: str) -> Floats:
        known = (self.vocabulary[term] for term in terms(text) if term in self.vocabulary)
        return self.score(Counter(known))

    def like(self, row: int, most: int = 60) -> Floats:
        """More like this: an opinion's 60 heaviest terms as the query, on a scale where the opinion
        itself has 1."""
        span = slice(self.by_opinion.indptr[row], self.by_opinion.indptr[row + 1])
        terms_held, weight = self.by_opinion.indices[span], self.by_opinion.data[span]
        weight = weight * self.telling[terms_held]
        if len(terms_held) > most:
            heaviest = np.argpartition(-weight, most)[:most]
            terms_held, weight = terms_held[heaviest], weight[heaviest]
        scores = self.score(dict(zip(terms_held.tolist(), weight.tolist(), strict=True)))
        return scores / (scores[row] + 1e-9)


def citation_matrix(opinions: Sequence[Opinion]) -> Any:
    """Opinions x cited sections and their parents, idf-weighted, rows at unit length."""
    names: dict[str, int] = {}
    rows, columns = [], []
    for row, opinion in enumerate(opinions):
        cited = {re.sub(r"\s", "", name.lower()) for name in opinion.sections + opinion.regulations}
        for name in sorted(cited | {name.split("(")[0] for name in cited}):
            rows.append(row)
            columns.append(names.setdefault(name, len(names)))
    n = len(opinions)
    matrix = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, len(names)))
    frequency = np.bincount(matrix.indices, minlength=len(names))
    return _unit_rows(matrix @ sp.diags(np.log((n + 1) / (frequency + 1))))


def citation_links(opinions: Sequence[Opinion]) -> list[set[int]]:
    """Which opinions cite each other, in either direction. Letters before the number (A-, I-) are
    ignored."""
    places: dict[str, int] = {}
    for row, opinion in enumerate(opinions):
        places.setdefault(_number(opinion.id), row)
    links: list[set[int]] = [set() for _ in opinions]
    for row, opinion in enumerate(opinions):
        for name in opinion.prior:
            other = places.get(_number(name))
            if other is not None and other != row:
                links[row].add(other)
                links[other].add(row)
    return links


def _number(name: str) -> str:
    return re.sub(r"^[A-Z]-", "", name.upper())


def lsa(counts: Counts) -> Floats:
    """Latent semantic analysis of the full texts: log tf, idf, 200 dimensions, unit rows."""
    n = counts.matrix.shape[0]
    keep = (counts.frequency >= 4) & (counts.frequency < 0.4 * n)
    matrix = counts.matrix.copy()
    matrix.data = 1 + np.log(matrix.data)
    matrix = (
        (matrix @ sp.diags(np.log((n + 1) / (counts.frequency + 1)) * keep))
        .tocsr()
        .astype(np.float32)
    )
    matrix.eliminate_zeros()
    dimensions = min(LSA_DIMENSIONS, min(matrix.shape) - 1)
    u, s, _ = randomized_svd(
        _unit_rows(matrix).astype(np.float32), dimensions, n_iter=2, random_state=0
    )
    vectors = u * s
    return (vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)).astype(np.float32)


def _unit_rows(matrix: Any) -> Any:
    norm = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return (sp.diags(1 / np.maximum(norm, 1e-9)) @ matrix).tocsr()
