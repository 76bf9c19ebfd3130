"""What sets the section of a first hit apart from all others.

Two sections may look alike to each signal by itself. The right one mostly says the question's words
somewhere, in its text or in a question that was written for it, and several signals have it first.
A question from outside says words of another subject instead (elsewhere.py). What each of these
tells is in research/scores.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from assay.search.arrays import TINY, Array
from assay.search.elsewhere import Elsewhere
from assay.search.index import Index
from assay.search.signals import Signals
from assay.search.views import section_key

UNKNOWN = "\0"  # no question has it
FIRST_HITS = 10  # whose sections are compared
NEARBY = 0.3  # of fused score: what is that far behind is well behind
USUAL_LEAD = 4.0  # of the right act, where there is no other


def stands_out(
    index: Index,
    signals: Signals,
    words: Sequence[str],
    top: Array,
    allowed: Array | None,
    subjects: Elsewhere,
) -> dict[str, float]:
    """Of the section of the first hit. `worded`: how much of each word of the question stands in it
    or in a question written for it; `elsewhere`: how much of the question another subject has,
    `foreign` the part of it that this section does not have; `says_more` and `closer`: how far it
    is above all others in what a closer look has seen; `agree`: how many of the encoder and the
    written questions have it first; `sole`: 1 where no other section comes near it; `act_ahead`:
    how far its act is ahead of all others."""
    first, end = _rows_of_section(index, int(top[0]))
    aheads = {}
    for name in ("dense", "asked", "said", "close"):
        values = signals.get(name, np.zeros(len(index)))
        others = values if allowed is None else np.where(allowed, values, -1.0)
        rest = np.r_[others[:first], others[end:]]
        aheads[name] = float(values[first:end].max() - rest.max()) if len(rest) else 0.0
    places = np.full(len(index), -1)
    places[first:end] = 0
    stand = shares_of(index, words, places, 1, index.soft)
    shares = {word: float(share[0]) for word, share in stand.items()}
    weights = {word: telling(index, word) for word in shares}
    total = sum(weights.values()) + TINY
    missing = {word: weights[word] * (1 - share) for word, share in shares.items()}
    return {
        "worded": sum(shares.values()) / len(shares) if shares else 0.0,
        "elsewhere": subjects.best(weights) / total,
        "foreign": subjects.best(missing) / total,
        "says_more": aheads["said"],
        "closer": aheads["close"],
        "sole": _sole(index, signals["fused"], top[:FIRST_HITS]),
        "agree": float((aheads["dense"] >= 0) + (aheads["asked"] >= 0)),
        "act_ahead": act_ahead(index, signals["fused"], int(top[0]), allowed),
    }


def _sole(index: Index, fused: Array, top: Array) -> float:
    """The first section's share of the softmax over the sections of the first hits."""
    sections = np.searchsorted(index.section_starts, top, side="right")
    _, places = np.unique(sections, return_index=True)  # of the best of each
    return float(1 / np.exp((fused[top[places]] - fused[top[0]]) / NEARBY).sum())


def act_ahead(index: Index, fused: Array, first: int, allowed: Array | None) -> float:
    """A question from outside is answered as badly by one act as by another."""
    others = index.act_of != index.act_of[first]
    rest = fused[others if allowed is None else others & allowed]
    return float(fused[first] - rest.max()) if len(rest) else USUAL_LEAD


def is_headed(index: Index, words: Sequence[str], row: int) -> bool:
    """Whether all that is asked stands in the heading of a section: then that section is meant,
    whatever else the words may be about."""
    title = index.soft.get("title")
    if title is None or index.words is None or not words:
        return False
    first, end = _rows_of_section(index, row)
    held = (title.frequency(index.words.same(word))[first:end] for word in words)
    return all(bool((each > 0).any()) for each in held)


def acts_elsewhere(index: Index, words: Sequence[str], subjects: Elsewhere) -> tuple[str, ...]:
    """The acts, not here, that a question seems to be about."""
    if index.asked is None:
        return ()
    tell = {word: telling(index, word) for word in words if index.analyzer.terms(word)}
    return subjects.acts(tell)


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
    if index.asked is not None:
        fields.append((index.asked.postings, places[index.asked.documents]))
    for field, place_of in fields:
        known = [(at, field.numbers[gram]) for gram, at in numbers.items() if gram in field.numbers]
        if known:
            rows = [field.postings(number) for _, number in known]
            place = place_of[np.concatenate(rows)]
            held = np.flatnonzero(place >= 0)
            list_of = np.searchsorted(np.cumsum(list(map(len, rows))), held, side="right")
            found[np.array([at for at, _ in known])[list_of], place[held]] = True
    return {
        word: found[[numbers[gram] for gram in held]].mean(axis=0)
        for word, held in grams.items()
        if held
    }


def telling(index: Index, word: str) -> float:
    """How rare a word is in what people ask, up to 1, by its rarest n-gram; where no questions were
    written, in the texts. In a statute "please" is rare, too."""
    field = index.fields["main.grams"] if index.asked is None else index.asked.postings
    rarity = field.rarity
    return max(map(rarity, index.analyzer.terms(word)), default=0.0) / rarity(UNKNOWN)


def _rows_of_section(index: Index, row: int) -> tuple[int, int]:
    """Where the section of a document begins and ends."""
    starts = index.section_starts
    place = int(np.searchsorted(starts, row, side="right"))
    return int(starts[place - 1]), int(starts[place]) if place < len(starts) else len(index)


def section_of(index: Index, row: int) -> tuple[object, ...]:
    return section_key(index.sections, index.act_of, row)
