"""What sets the section of a first hit apart from all others.

Two sections may look alike to each signal by itself. The right one mostly says the question's words
somewhere, in its text or in a question that was written for it, and several signals have it first.
A question from outside says words of another subject instead (elsewhere.py). What each of these
tells is in research/22 and 25.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.search.arrays import TINY, Array
from assay.search.elsewhere import Elsewhere
from assay.search.index import Index
from assay.search.lexical import Bm25
from assay.search.signals import Signals
from assay.search.views import section_key

UNKNOWN = "\0"  # no question has it


def stands_out(
    index: Index,
    signals: Signals,
    words: Sequence[str],
    row: int,
    allowed: Array | None,
    subjects: Elsewhere,
) -> dict[str, float]:
    """`worded`: how much of each word of the question stands in the section of a row or in a
    question written for it, `held`: how much that is by words that tell something; `elsewhere`: how
    much of the question another subject has, `foreign` the part of it that this section does not
    have; `ahead`: how far its cosine is above that of all others; `agree`: how many of the encoder
    and the written questions have it first."""
    first, end = _rows_of_section(index, row)
    aheads = []
    for name in ("dense", "asked"):
        values = signals.get(name, np.zeros(len(index)))
        others = values if allowed is None else np.where(allowed, values, -1.0)
        rest = np.r_[others[:first], others[end:]]
        aheads.append(float(values[first:end].max() - rest.max()) if len(rest) else 0.0)
    shares = shares_of(index, words, first, end)
    weights = {word: _telling(index, word) for word in shares}
    total = sum(weights.values()) + TINY
    missing = {word: weights[word] * (1 - share) for word, share in shares.items()}
    return {
        "worded": sum(shares.values()) / len(shares) if shares else 0.0,
        "held": total - sum(missing.values()),
        "elsewhere": subjects.best(weights) / total,
        "foreign": subjects.best(missing) / total,
        "ahead": aheads[0],
        "agree": float(sum(ahead >= 0 for ahead in aheads)),
    }


def acts_elsewhere(index: Index, words: Sequence[str], subjects: Elsewhere) -> tuple[str, ...]:
    """The acts, not here, that a question seems to be about."""
    if index.asked is None:
        return ()
    telling = {word: _telling(index, word) for word in words if index.analyzer.terms(word)}
    return subjects.acts(telling)


def shares_of(index: Index, words: Sequence[str], first: int, end: int) -> dict[str, float]:
    """Of each word the share of its n-grams that these rows or their questions have."""
    fields = [(index.fields[f"{name}.grams"], first, end) for name in index.soft]
    if index.asked is not None:
        fields.append((index.asked.postings, *index.asked.places(first, end)))
    return {
        word: sum(any(_stands(gram, *field) for field in fields) for gram in grams) / len(grams)
        for word in dict.fromkeys(words)
        if (grams := index.analyzer.terms(word))
    }


def _telling(index: Index, word: str) -> float:
    """How rare a word is in what people ask, up to 1, by its rarest n-gram. In a statute "please"
    is rare, too."""
    assert index.asked is not None
    reach = index.asked.postings.attainable
    return max(reach([gram]) for gram in index.analyzer.terms(word)) / reach([UNKNOWN])


def _stands(term: str, field: Bm25, start: int, end: int) -> bool:
    """Whether a text of these rows has the term."""
    number = field.numbers.get(term)
    if number is None:
        return False
    rows = field.postings(number)
    place = int(np.searchsorted(rows, start))
    return place < len(rows) and int(rows[place]) < end


def _rows_of_section(index: Index, row: int) -> tuple[int, int]:
    """Where the section of a document begins and ends."""
    starts = index.section_starts
    place = int(np.searchsorted(starts, row, side="right"))
    return int(starts[place - 1]), int(starts[place]) if place < len(starts) else len(index)


def section_of(index: Index, row: int) -> tuple[object, ...]:
    return section_key(index.sections, index.act_of, row)
