"""Which documents of reports may answer a question that names towns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.language.towns import is_town
from assay.search.arrays import Array
from assay.search.fuzzy_bm25 import Similar
from assay.search.index import Index
from assay.search.reports.question import Question, similar_words

COMPANY = frozenset({"oy", "oyj", "ab", "ky", "osuuskunta", "säätiö", "ry"})


def of_towns(index: Index, asked: Question, fields: Iterable[str]) -> Array:
    """The mask of what may answer: the reports of the towns that are named. Where none of them has
    one, rows whose label names them; and where no figure is asked for, what else
    names them in these fields."""
    every = np.ones(len(index), bool)
    for place in asked.places:
        every &= _naming(index, (place,), fields)
    if not asked.towns:
        return every
    reports = np.isin(index.marked.town_of, [town for town in asked.towns])
    if reports.any():
        return every & reports
    if asked.asks == "text":
        return _naming(index, asked.towns, fields)
    return _naming(index, asked.towns, ("label",)) & ~_other_companies(index, asked)


def _other_companies(index: Index, asked: Question) -> Array:
    """Rows of companies, where the question has no word of their labels but the name of a town:
    Lapuan Jätevesi Oy has not the accounts of Lapua."""
    label = index.soft["label"]
    said = np.zeros(len(index), bool)
    for word in asked.words:
        if not any(is_town(town, word) for town in asked.towns):
            numbers, shares = similar_words(index, word)
            said |= label.frequency((numbers[shares >= 1.0], shares[shares >= 1.0])) > 0
    assert index.words is not None
    forms = [number for number, word in enumerate(index.words.words) if word in COMPANY]
    companies = label.frequency((np.array(forms, np.int64), np.ones(len(forms)))) > 0
    return np.asarray(companies & ~said)


def _naming(index: Index, towns: Sequence[str], fields: Iterable[str]) -> Array:
    """The documents that name one of these towns in one of these fields."""
    named = np.zeros(len(index), bool)
    assert index.words is not None
    for town in towns:
        start = town[:2].lower()
        forms = [
            number
            for number, word in enumerate(index.words.words)
            if word.startswith(start) and is_town(town, word)
        ]
        similar: Similar = (np.array(forms, np.int64), np.ones(len(forms)))
        for name in fields:
            if name != "page" and name in index.soft and forms:
                named |= index.soft[name].frequency(similar) > 0
    return named
