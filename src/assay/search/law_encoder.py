"""The encoders of Finnish and Israeli law that ship: law-fi-1 and law-he-1, small transformers over
the words of a text, and the static encoders static-fi-1 and static-he-1, which are half of them.

**The transformer.** A word is the mean of the vectors of its character n-grams, plus a vector of
its own where it is frequent in legal texts, so that no form is unknown. Six layers turn the words
of a text into one vector. `training/law_encoder.py` makes the weights from statutes and court
decisions; word vectors are int8 rows with one scale each, the layers are int8 ONNX.

**The static encoder.** A word is the mean of its n-grams' vectors, and a text the weighted sum of
its words: no network. static-fi-1 starts from the floret vectors of spacy-fi-experimental-web-md
0.15 (MIT), static-he-1 from what 73 statutes say; both are trained on questions to statutes, as
training/README.md tells, and know people's wording from them. Weights are int8 rows with one scale
each.

The vector of a text has both halves: the cosine of two texts is the mean of both cosines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from math import erf
from typing import Any

import numpy as np

from assay.core.extras import require_extra
from assay.language.analysis import analyzer
from assay.search.arrays import TINY, Array, Floats, unit_rows
from assay.search.views import Parts

# of the hash of n-grams: the offset basis of FNV-1, as in training/law_encoder.py
FNV_OFFSET = 2166136261


def _shipped(name: str) -> tuple[Traversable, dict[str, Any]]:
    """The folder of the encoders that ship, and what is said of this one there."""
    require_extra("search", f"the encoder {name}")
    folder = resources.files("assay_models")
    return folder, json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


class StaticEncoder:
    """The gate says how much a word counts, from its vector alone."""

    def __init__(self, name: str) -> None:
        self.name = name
        folder, about = _shipped(name)
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
    return np.asarray(_hashes(word, tuple(sizes)) % rows, np.int64)


@lru_cache(maxsize=1_000)  # both encoders read the words of a question
def _hashes(word: str, sizes: tuple[int, ...]) -> Array:
    import mmh3

    marked = f"<{word}>"
    grams = [marked]
    for size in sizes:
        grams += [marked[at : at + size] for at in range(len(marked) - size + 1)]
    hashes = [mmh3.hash_bytes(gram.encode(), FNV_OFFSET, x64arch=True) for gram in grams]
    numbers = np.frombuffer(b"".join(hashes), np.uint32).reshape(len(grams), -1)
    return numbers[:, :2].reshape(-1)


def _gelu(values: Floats) -> Floats:
    cumulative = 1 + np.array([*map(erf, (values / 2**0.5).tolist())])
    return np.asarray(values * np.float32(0.5) * cumulative.astype(np.float32))


# ── the transformer ───────────────────────────────────────────────────────────────────────────────

QUERY_MARK = 1  # row of a mark that stands for no word: QMARK in training/law_encoder.py
DOCUMENT_MARK = 2  # DMARK in training/law_encoder.py
FIRST_WORD = 4  # FIRST in training/law_encoder.py
QUERY_WORDS = 112  # FACTS in training/law_encoder.py
DOCUMENT_WORDS = 143  # DOC without its mark in training/law_encoder.py
ACT_WORDS = 14  # TITLE in training/law_encoder.py
SIZE = 256  # numbers of the vector of the layers: SIZE in training/law_encoder.py
NGRAM_ROWS = 96  # of one word that are read: CAP in training/law_encoder.py
CACHE = 50_000  # words (taste)
_WORD = re.compile(r"[^\W_]+")
_HEBREW_MARKS = str.maketrans("", "", "\u05f3\u05f4")


class LawEncoder:
    """An encoder that ships with the package and reads statutes of one language."""

    def __init__(self, name: str) -> None:
        folder, about = _shipped(name)
        import onnxruntime

        self.name = name
        self._sizes = about["ngrams"]
        self._static = StaticEncoder(about["static"])
        frequent = (folder / f"{name}.words.txt").read_text(encoding="utf-8").split("\n")
        self._frequent = {word: row + FIRST_WORD for row, word in enumerate(frequent) if word}
        with (
            resources.as_file(folder / f"{name}.words.npz") as path,
            np.load(path, allow_pickle=False) as stored,
        ):
            self._rows: Array = stored["rows"]
            self._row_scale: Floats = stored["row_scale"]
            self._own: Array = stored["own"]
            self._own_scale: Floats = stored["own_scale"]
            self._map: Floats = stored["map"].astype(np.float32)
            self._bias: Floats = stored["bias"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            (folder / f"{name}.onnx").read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        self._word = lru_cache(CACHE)(self._vector)

    def likeness(self, one: str, other: str) -> float:
        """The cosine of two words."""
        return self._static.likeness(one, other)

    def queries(self, texts: Sequence[str]) -> Floats:
        vectors = [self._encoded(QUERY_MARK, words_of(text)[:QUERY_WORDS]) for text in texts]
        return _joined(vectors, self._static.queries(texts))

    def documents(self, texts: Sequence[Parts], tick: Callable[[int], None]) -> Floats:
        """One at a time, so that a vector does not depend on the texts encoded beside it."""
        vectors = []
        for parts in texts:
            words = words_of(parts.act)[:ACT_WORDS]
            words += [word for text, most in parts.texts for word in words_of(text)[:most]]
            vectors.append(self._encoded(DOCUMENT_MARK, words[:DOCUMENT_WORDS]))
            tick(1)
        return _joined(vectors, self._static.documents(texts, lambda number: None))

    def _encoded(self, mark: int, words: Sequence[str]) -> Floats:
        """Nothing where there are no words."""
        if not words:
            return np.zeros(SIZE, np.float32)
        first = self._bias + self._own[mark] * self._own_scale[mark]
        rows = np.array([first, *map(self._word, words)], np.float32)
        return np.asarray(self._session.run(None, {"words": rows[None]})[0][0])

    def _vector(self, word: str) -> Floats:
        numbers = places(word, self._sizes, len(self._rows))[:NGRAM_ROWS]
        mean = (self._rows[numbers] * self._row_scale[numbers]).mean(axis=0)
        vector = self._map @ mean + self._bias
        if number := self._frequent.get(word):
            vector = vector + self._own[number] * self._own_scale[number]
        return np.asarray(vector, np.float32)


def _joined(vectors: Sequence[Floats], static: Floats) -> Floats:
    return unit_rows(np.hstack([unit_rows(np.array(vectors)), static])) if vectors else static


def words_of(text: str) -> list[str]:
    """The words of a text, all of them: "who" and "when" say what is asked."""
    return _WORD.findall(text.lower().translate(_HEBREW_MARKS))
