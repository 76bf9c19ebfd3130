"""Pairs as written by step 1, split into training and validation, and drawn in batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from encoder import OWN_VIEWS, Texts, Tokens, analysis_view, facts_view

VALIDATION_OPINIONS = 400
VALIDATION_QUERIES = 600


class Pairs:
    def __init__(self, path: Path, texts: Texts, rng: np.random.Generator) -> None:
        with np.load(path) as stored:
            self.doc = stored["doc"].astype(np.int64)
            self.kind = stored["kind"]
            self.start = stored["start"]
            self.cand = stored["cand"].astype(np.int64)
            self.alike = stored["alike"].astype(np.float32)
        self.texts = texts
        self.rng = rng
        sources = rng.permutation(np.unique(self.doc))
        # a tenth at most, so that a small sample still trains
        held = np.isin(self.doc, sources[: min(VALIDATION_OPINIONS, len(sources) // 10)])
        usable = np.array([len(tokens) > 3 for tokens in texts.queries])
        self.training = np.flatnonzero(~held & usable)
        self.validation = np.flatnonzero(held & usable)[:VALIDATION_QUERIES]

    def span(self, query: int) -> slice:
        return slice(self.start[query], self.start[query + 1])

    def batches(self, size: int) -> Iterator[np.ndarray]:
        """Query numbers without end; a new order each time all were seen."""
        size = min(size, len(self.training))
        while True:
            order = self.rng.permutation(self.training)
            for at in range(0, len(order) - size + 1, size):
                yield order[at : at + size]

    def view(self, opinion: int, index_share: float) -> Tokens:
        """Mostly what will be indexed, now and then the facts or the analysis, so that these are
        known too."""
        if self.rng.random() < index_share:
            return self.texts.index[opinion]
        return (facts_view if self.rng.random() < 0.5 else analysis_view)(self.texts.parts[opinion])

    def own_view(self, query: int) -> Tokens:
        views = OWN_VIEWS[self.kind[query]]
        return views[self.rng.integers(len(views))](self.texts.parts[self.doc[query]])


def agreement(pairs: Pairs, documents: np.ndarray, queries: np.ndarray) -> float:
    """nDCG@10 of the encoder's order of the candidates of unseen queries; the gain is the teacher's
    score above its median. `queries` holds the vectors of pairs.validation."""
    discount, values = 1 / np.log2(np.arange(2, 12)), []
    for vector, query in zip(queries, pairs.validation, strict=True):
        span = pairs.span(query)
        gain = np.maximum(0, pairs.alike[span] - np.median(pairs.alike[span]))
        gains = gain[np.argsort(-(documents[pairs.cand[span]] @ vector))[:10]]
        ideal = np.sort(gain)[::-1][:10]
        values.append(
            (gains * discount[: len(gains)]).sum()
            / max(1e-9, (ideal * discount[: len(ideal)]).sum())
        )
    return float(np.mean(values)) if values else float("nan")
