"""Windows: long documents cut into stretches of about 200 words, each compared by itself.

A long document says many things, and what answers a question is a small part of it. Counted whole,
that part drowns, and an encoder reads only the beginning. So where many documents are long, each is
also compared window by window, and its best window counts beside the whole (Callan 1994,
"Passage-Level Evidence in Document Retrieval"). research/ranking.md has what it gives.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np

from assay.search.arrays import Array, Floats, cosines
from assay.search.fuzzy_bm25 import SoftView
from assay.search.lexical import Bm25, Counts
from assay.search.views import Parts, View

SIZE = 200  # words
MOST = 60  # windows of one document; the last one has the rest
LONG = 2_000  # characters of a text that is long, about 300 words
SHARE = 0.25  # of documents that are long, from which on a collection has windows
TOKENS = 254  # of a window that the encoder reads


@dataclass(frozen=True, kw_only=True)
class Windows:
    """`offsets`: of each document its first window; every document has one. `postings` are of terms
    or n-grams, `counts` of words that look alike; `vectors` are those of every window but the first
    of a document, which the document's own vector stands for."""

    offsets: Array
    postings: Bm25
    counts: Counts | None = None
    vectors: Floats | None = None

    @cached_property
    def view(self) -> SoftView:
        assert self.counts is not None
        return SoftView(self.counts)

    @cached_property
    def later(self) -> Array:
        """The document of every window but the first of each."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets) - 1)

    def best(self, values: Array) -> Array:
        """Of each document the best of its windows."""
        return np.asarray(np.maximum.reduceat(values, self.offsets[:-1]))

    def nearest(self, own: Floats, query: Floats) -> Floats:
        """The cosine of each document, by its own vector or by its best window."""
        if self.vectors is None or not len(self.vectors):
            return own
        best = own.copy()
        np.maximum.at(best, self.later, cosines(self.vectors, query))
        return best


def cut(text: str) -> list[str]:
    """Windows of about the same length; a text that is not much longer than one is one."""
    words = text.split()
    count = min(MOST, max(1, round(len(words) / SIZE)))
    if count == 1:
        return [text]
    ends = [round(number * len(words) / count) for number in range(count + 1)]
    return [" ".join(words[begin:end]) for begin, end in itertools.pairwise(ends)]


def later_parts(view: View, texts: list[str]) -> list[Parts]:
    """What the encoder reads of the windows after the first: the title and the window."""
    return [
        msgspec.structs.replace(
            view.dense, texts=((f"{view.title} {text}".strip(), TOKENS),), most=TOKENS, cited=""
        )
        for text in texts[1:]
    ]
