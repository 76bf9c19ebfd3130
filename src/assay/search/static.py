"""A static encoder: a word is the mean of its n-grams' vectors, a text the weighted sum of its
words. No network.

static-fi-1 starts from the floret vectors of spacy-fi-experimental-web-md 0.15 (MIT), static-he-1
from what 73 statutes say; both are trained on questions to statutes, as training/README.md tells.
Weights are int8 rows with one scale each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from math import erf

import numpy as np

from assay.core.extras import require_extra
from assay.language.analysis import analyzer
from assay.search.arrays import TINY, Array, Floats, unit_rows
from assay.search.views import Parts

SEED = 2166136261
CACHE = 50_000


class StaticEncoder:
    """The gate says how much a word counts, from its vector alone."""

    def __init__(self, name: str) -> None:
        require_extra("search", f"the encoder {name}")
        self.name = name
        folder = resources.files("assay_models")
        about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        self._sizes = about["ngrams"]
        self._language = analyzer(about["language"])
        with resources.as_file(folder / f"{name}.rows.npy") as path:
            # a plain array over the mapped file: numpy's own class for it is slow to slice
            self._rows = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        with (
            resources.as_file(folder / f"{name}.gate.npz") as path,
            np.load(path, allow_pickle=False) as gate,
        ):
            self._scale = gate["scale"]
            self._inner = gate["inner"]
            self._bias = gate["bias"]
            self._outer = gate["outer"]
            self._offset = float(gate["offset"])
        self._word = lru_cache(CACHE)(self._weighted)
        self._direction = lru_cache(CACHE)(lambda word: unit_rows(self._mean(word)[None])[0])

    def likeness(self, one: str, other: str) -> float:
        """The cosine of two words."""
        return float(self._direction(one) @ self._direction(other))

    def queries(self, texts: Sequence[str]) -> Floats:
        return self._encode(texts, lambda n: None)

    def documents(self, texts: Sequence[Parts], tick: Callable[[int], None]) -> Floats:
        return self._encode([" ".join(text for text, _ in parts.texts) for parts in texts], tick)

    def _encode(self, texts: Sequence[str], tick: Callable[[int], None]) -> Floats:
        vectors = np.zeros((len(texts), self._rows.shape[1]), np.float32)
        for row, text in enumerate(texts):
            for word in dict.fromkeys(self._language.words(text)):
                vectors[row] += self._word(word)
            tick(1)
        return unit_rows(vectors)

    def _weighted(self, word: str) -> Floats:
        vector = self._mean(word)
        inner = self._inner @ (vector / (np.linalg.norm(vector) + TINY)) + self._bias
        weight = np.clip(self._outer @ _gelu(inner) + self._offset, -3.0, 3.0)
        return np.asarray(np.exp(weight) * vector, np.float32)

    def _mean(self, word: str) -> Floats:
        numbers = places(word, self._sizes, len(self._rows))
        rows = self._rows[numbers].astype(np.float32) * self._scale[numbers]
        return np.asarray(np.add.reduce(rows) / np.float32(len(rows)))


def places(word: str, sizes: Sequence[int], rows: int) -> Array:
    """The rows of a word: two for the word itself and for each of its n-grams, by their hash."""
    import mmh3

    marked = f"<{word}>"
    grams = [marked]
    for size in sizes:
        grams += [marked[at : at + size] for at in range(len(marked) - size + 1)]
    hashes = [mmh3.hash_bytes(gram.encode(), SEED, x64arch=True) for gram in grams]
    numbers = np.frombuffer(b"".join(hashes), np.uint32).reshape(len(grams), -1)
    return np.asarray(numbers[:, :2].reshape(-1) % rows, np.int64)


def _gelu(values: Floats) -> Floats:
    cumulative = 1 + np.array([*map(erf, (values / 2**0.5).tolist())])
    return np.asarray(values * np.float32(0.5) * cumulative.astype(np.float32))
