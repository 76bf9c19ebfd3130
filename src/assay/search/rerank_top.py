"""A closer look at the first documents: features that only they are read for.

Which documents come first is decided by signals that are quick to have for all of them. Of the few
that lead, more is asked (research/hebrew.md).

- How much of the question's words stand in a document or in a question that was written for it:
  people's words and the statute's together.
- How near in meaning the best of these questions is, or the text, where none was written.
- Which moment of a section comes first: the one that says more of the question; and an earlier one
  before a later one, since the rule stands before what is added to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from assay.search.arrays import Array, Floats, best_rows
from assay.search.index import Index
from assay.search.ranker import ranked
from assay.search.signals import Signals, asked_vector

LOOKED_AT = 40  # documents
MOST_WORDS = 60  # of a question
LATEST = 5  # places in a section from which on a moment is simply late


def look_closer(
    index: Index, signals: Signals, text: str, words: Sequence[str], allowed: Array | None
) -> None:
    """Add features of the first documents to their score: `words_held`, `place_in_section`, and
    `question_dense` where the index has vectors of written questions."""
    fused = signals["fused"].astype(np.float64)
    rows = best_rows(fused if allowed is None else np.where(allowed, fused, -1.0), LOOKED_AT)
    rows = rows[fused[rows] > 0]
    found = features_of(index, signals, text, words, rows)
    fused[rows] += ranked(found, index.profile.weights)
    signals["fused"] = fused
    signals |= {name: _only(rows, values, len(index)) for name, values in found.items()}


def features_of(
    index: Index, signals: Signals, text: str, words: Sequence[str], rows: Array
) -> Signals:
    """`words_held`: the share of the question's words that a document or a question written for it
    has;
    `question_dense`: the cosine of its nearest written question, or its own where it has none;
    `place_in_section`: how late in its section a moment stands, unless a moment is named."""
    found: Signals = {"words_held": _worded(index, list(dict.fromkeys(words))[:MOST_WORDS], rows)}
    if index.written is not None and index.written.vectors is not None and "dense" in signals:
        near = index.written.nearest(asked_vector(index, text), rows)
        found["question_dense"] = np.where(np.isnan(near), signals["dense"][rows], near)
    if "citation" not in signals and index.has_sections:
        starts = index.section_starts
        sections = np.searchsorted(starts, rows, side="right") - 1
        found["place_in_section"] = np.minimum(rows - starts[sections], LATEST) / LATEST
    return found


def _worded(index: Index, words: Sequence[str], rows: Array) -> Array:
    """How much of the words each document says, not counting what the rest of its section does."""
    places = np.full(len(index), -1)
    places[rows] = np.arange(len(rows))
    own = [view for view in index.soft if view != "section"]
    shares = shares_of(index, words, places, len(rows), own)
    return np.mean(list(shares.values()), axis=0) if shares else np.zeros(len(rows))


def shares_of(
    index: Index, words: Sequence[str], places: Array, count: int, views: Iterable[str]
) -> dict[str, Array]:
    """Of each word the share of its n-grams that some texts have, or questions written for them.
    `places` says for each document which of these texts it is part of, from 0, or -1; `views` what
    is read of it."""
    grams = {word: index.analyzer.terms(word) for word in dict.fromkeys(words)}
    numbers = {gram: number for number, gram in enumerate(dict.fromkeys(chain(*grams.values())))}
    found = np.zeros((len(numbers), count), bool)
    fields = [(index.fields[f"{name}.grams"], places) for name in views]
    if index.written is not None:
        fields.append((index.written.postings, places[index.written.documents]))
    for field, place_of in fields:
        rows = np.flatnonzero(place_of >= 0)  # few, and looked for in each list
        for gram, at in numbers.items():
            held = field.postings(field.numbers[gram]) if gram in field.numbers else ()
            if len(held):  # none of a word whose last document has gone
                there = np.minimum(np.searchsorted(held, rows), len(held) - 1)
                found[at, place_of[rows[held[there] == rows]]] = True
    return {
        word: found[[numbers[gram] for gram in held]].mean(axis=0)
        for word, held in grams.items()
        if held
    }


def _only(rows: Array, values: Array, size: int) -> Floats:
    """Nothing for all documents but these."""
    every = np.zeros(size, np.float32)
    every[rows] = values
    return every
