"""A closer look at the first documents, where it is known what people ask.

Which documents come first is decided by signals that are quick to have for all of them. Of the few
that lead, more is asked (research/hebrew.md).

- How much of the question's words stand in a document or in a question that was written for it:
  people's words and the statute's together.
- How near in meaning the best of these questions is, or the text, where none was written.
- Which moment of a section comes first: the one that says more of the question; and an earlier one
  before a later one, since the rule stands before what is added to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.search.apart import shares_of
from assay.search.arrays import Array, Doubles, Floats, best_rows
from assay.search.index import Index
from assay.search.signals import Signals, asked_vector

LOOKED_AT = 40  # documents
MOST_WORDS = 60  # of a question
SAID = 1.5  # what the words of a moment count beside those of its section's other moments
LATER = 0.07  # what each place further back in its section takes off a moment,
LATEST = 5  # up to so many


def look_closer(
    index: Index, signals: Signals, text: str, words: Sequence[str], allowed: Array | None
) -> None:
    """Changes `fused` for the first documents; adds `said`, and `close` where the index has vectors
    of written questions. Where it has no such questions, all stays as it is."""
    profile, asked = index.profile, index.asked
    if asked is None:
        return
    fused = signals["fused"].astype(np.float64)
    rows = best_rows(fused if allowed is None else np.where(allowed, fused, -1.0), LOOKED_AT)
    rows = rows[fused[rows] > 0]
    worded = _worded(index, list(dict.fromkeys(words))[:MOST_WORDS], rows)
    fused[rows] += profile.worded * worded
    signals["said"] = _only(rows, worded, len(index))
    if asked.vectors is not None and "dense" in signals:
        near = asked.nearest(asked_vector(index, text, []), rows)
        near = np.where(np.isnan(near), signals["dense"][rows], near)
        fused[rows] += profile.close * near
        signals["close"] = _only(rows, near, len(index))
    if "citation" not in signals:  # no moment is named
        fused[rows] = _by_moment(index, rows, fused[rows], worded)
    signals["fused"] = fused


def _worded(index: Index, words: Sequence[str], rows: Array) -> Array:
    """How much of the words each document says, not counting what the rest of its section does."""
    places = np.full(len(index), -1)
    places[rows] = np.arange(len(rows))
    own = [view for view in index.soft if view != "section"]
    shares = shares_of(index, words, places, len(rows), own)
    return np.mean(list(shares.values()), axis=0) if shares else np.zeros(len(rows))


def _only(rows: Array, values: Array, size: int) -> Floats:
    """Nothing for all documents but these."""
    every = np.zeros(size, np.float32)
    every[rows] = values
    return every


def _by_moment(index: Index, rows: Array, fused: Doubles, worded: Array) -> Doubles:
    """The places of a section's moments, dealt out among them again."""
    starts = index.section_starts
    sections = np.searchsorted(starts, rows, side="right") - 1
    later = np.minimum(rows - starts[sections], LATEST)
    wanted = fused + SAID * worded - LATER * later
    dealt = fused.copy()
    different, counts = np.unique(sections, return_counts=True)
    for section in different[counts > 1]:
        of = np.flatnonzero(sections == section)
        dealt[of[np.argsort(-wanted[of], kind="stable")]] = np.sort(fused[of])[::-1]
    return dealt
