"""What a question to longer texts names: a document by its number, what cites the one thing that it
says, or a provision. That comes first."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from assay.law.places import Cited, citations_of_sections, sections_named, words_beside
from assay.search.arrays import TINY, Array, Floats
from assay.search.index import Index
from assay.search.signals import NAMED, Signals, acts_called
from assay.search.views import is_place_named

NUMBER = re.compile(r"\b(?=\w*-*\d)\w+(?:-\w+)+\b")  # of a document, such as A-05-044
BARE_SECTION = re.compile(r"§\s*\d[\w.()]*|\d{3,}(?:\.\d+|\(\w{1,3}\))+|\d{5}")  # alone
FEW_BESIDE = 2  # words beside a section, below which it is all that is asked for
MANY_BESIDE = 4  # words beside a section, with which it is cited in passing
BESIDE = 1.5  # what it counts then

FEWEST_WORKS = 3  # that one can stand out of
STANDS_OUT = 0.15  # of its score, by which a work that is named is ahead of the next
NAMES_FEW = 0.06  # of all works: a word that so few of them have may be a name
_PIECE = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class NamedWork:
    """A question that names what it asks of: `rest` is the question without the name, `works` how
    well each document's work is the one that is named, 1 for the best."""

    rest: str
    works: Floats


def work_named(index: Index, text: str) -> NamedWork | None:
    """The work, of which documents are passages, that a question names; None where no work stands
    out, or nothing is asked beside the name.

    Works are ranked by the question's words, as if each were one document: BM25 in which passages
    that have a word are counted. Words of the best work that next to no other has, or that stand in
    its title, are taken for the name. The rest of the question then finds the passage."""
    works, work_of = index.works, index.work_of
    if index.profile.kind == "stems" and not works:
        works, work_of = index.acts, index.act_of
    if len(works) < FEWEST_WORKS:
        return None
    pieces = dict.fromkeys(_PIECE.findall(text))
    held = {piece: rows for piece in pieces if len(rows := _holding(index, piece))}
    sizes = np.bincount(work_of, minlength=len(works))
    norm = 0.6 * (1 + sizes / sizes.mean())
    counts = {
        piece: np.bincount(work_of[rows], minlength=len(works)) for piece, rows in held.items()
    }
    scores = np.zeros(len(works))
    for count in counts.values():
        holding = int((count > 0).sum())
        rarity = np.log1p((len(works) - holding + 0.5) / (holding + 0.5))
        scores += rarity * count * 2.2 / (count + norm)
    second, first = np.sort(scores)[-2:]
    if first - second < max(STANDS_OUT * first, TINY):
        return None
    best = int(scores.argmax())
    title = set(_terms(index, works[best]))
    few = max(1.0, NAMES_FEW * len(works))
    names = {
        piece
        for piece, count in counts.items()
        if count[best] and (int((count > 0).sum()) <= few or set(_terms(index, piece)) <= title)
    }
    rest = _PIECE.sub(lambda found: "" if found[0] in names else found[0], text)
    if len(_terms(index, rest)) < FEW_BESIDE:
        return None
    return NamedWork(rest, (scores[work_of] / first).astype(np.float32))


def _terms(index: Index, text: str) -> list[str]:
    """The terms of a text as an index of either kind counts them."""
    return index.analyzer.terms(text) if index.words is None else index.lemmas(text)


def _holding(index: Index, piece: str) -> Array:
    """The documents that have a word of a question."""
    if index.words is not None:
        view = index.soft["main"]
        words = index.analyzer.words(piece)
        lists = [np.flatnonzero(view.frequency(index.words.same(word)) > 0) for word in words]
    else:
        full = index.fields["full"]
        terms = [term for term in index.analyzer.terms(piece) if term in full.numbers]
        lists = [full.postings(full.numbers[term]) for term in terms]
    return lists[0] if lists else np.empty(0, np.int64)


def look_up(index: Index, signals: Signals, text: str) -> None:
    """Add to the signals what documents gain by being named."""
    written = [
        number
        for found in NUMBER.findall(text)
        for number in (found, found.upper(), found.partition("-")[2])  # A-05-044 is 05-044 too
    ]
    rows = [index.row_of[number] for number in written if number in index.row_of]
    if not index.has_sections:  # a provision is cited by its place, not by what it cites
        rows += _citing(index, text)
    named = np.zeros(len(index), np.float32)
    named[rows] = NAMED
    cited = sections_named(text, index.profile.language) if index.has_sections else []
    places = _places(index, cited)
    beside = words_beside(text, index.profile.language) if cited else 0
    if cited and not places.any() and beside < FEW_BESIDE:
        signals["citation"] = places  # what is asked for is not here
    elif places.any():
        signals["citation"] = np.maximum(signals.get("citation", 0), places)
        if beside < MANY_BESIDE:
            named = np.maximum(named, NAMED * places)
        else:
            signals["fused"] = signals["fused"] + BESIDE * places
    if named.any():
        signals["named"] = named
        signals["fused"] = signals["fused"] + named


def _citing(index: Index, text: str) -> list[int]:
    """The documents that hold every number of a citation which is all that is asked."""
    language, full = index.profile.language, index.fields["full"]
    is_bare = BARE_SECTION.fullmatch(text.strip()) is not None
    if not is_bare and (not citations_of_sections(text, language) or words_beside(text, language)):
        return []
    asked = [term for term in index.analyzer.terms(text) if term[0].isdigit()]
    held = [
        set(full.postings(full.numbers[term]).tolist()) for term in asked if term in full.numbers
    ]
    return sorted(set.intersection(*held)) if held and len(held) == len(asked) else []


def _places(index: Index, named: list[Cited]) -> Array:
    """How well each provision is one of those that are named, of the act that is named with it."""
    best = np.zeros(len(index), np.float32)
    for cited in named:
        fits = np.array([is_place_named(place, [cited]) for place in index.sections])
        if cited.law and any(index.acts):
            fits = fits * acts_called(index, cited.law)[index.act_of]
        best = np.maximum(best, fits.astype(np.float32))
    return best
