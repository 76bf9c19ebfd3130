"""What a question to longer texts names: a document by its number, what cites the one thing that it
says, or a provision. That comes first."""

from __future__ import annotations

import re

import numpy as np

from assay.law.places import Cited, citations_of_sections, sections_named, words_beside
from assay.search.arrays import Array
from assay.search.index import Index
from assay.search.signals import NAMED, Signals, acts_called
from assay.search.views import is_place_named

NUMBER = re.compile(r"\b(?=\w*-*\d)\w+(?:-\w+)+\b")  # of a document, such as A-05-044
BARE_SECTION = re.compile(r"§\s*\d[\w.()]*|\d{3,}(?:\.\d+|\(\w{1,3}\))+|\d{5}")  # alone
FEW_BESIDE = 2  # words beside a section, below which it is all that is asked for
MANY_BESIDE = 4  # words beside a section, with which it is cited in passing
BESIDE = 1.5  # what it counts then


def look_up(index: Index, signals: Signals, text: str) -> None:
    """Add to the signals what documents gain by being named."""
    written = [
        number
        for found in NUMBER.findall(text)
        for number in (found, found.upper(), found.partition("-")[2])  # A-05-044 is 05-044 too
    ]
    rows = [index.row_of[number] for number in written if number in index.row_of]
    if not any(index.sections):  # a provision is cited by its place, not by what it cites
        rows += _citing(index, text)
    named = np.zeros(len(index), np.float32)
    named[rows] = NAMED
    cited = sections_named(text, index.profile.language) if any(index.sections) else []
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
