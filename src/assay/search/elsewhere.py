"""What other law, and life beside the law, is about: data/LANGUAGE.elsewhere.tsv.

**Idea.** An inheritance, a driving licence and a cake are no matter of the Municipal Act. The words
of a question that no provision has say little: people ask in their own words. What says more is
that these are the words of *another* subject. So subjects are listed with the words that people use
for them, acts by their names. A subject is here where an act of that name is in the collection, or
where one of its acts has these words throughout.

The lists were written from the areas of law and life, before anybody looked at how questions from
outside were answered (research/25).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import numpy as np

from assay.language.analysis import analyzer
from assay.search.index import Index
from assay.search.signals import acts_called
from assay.search.soft import Lookalikes, lookalikes, unseen

MANY_WORDS = 5  # of a subject that is known by its words
HAVING = 0.8  # of them that its act has,
OFTEN = 0.1  # each in this share of the provisions, on average
Subject = tuple[list[str], list[str]]  # the names of its acts, and its words


class Elsewhere:
    """The subjects that an index is not about."""

    def __init__(self, index: Index) -> None:
        language = index.profile.language
        self._words = _words(language)
        self._subjects_of: list[list[int]] = [[] for _ in self._words.words]
        numbers = {word: number for number, word in enumerate(self._words.words)}
        for subject, (acts, words) in enumerate(_subjects(language)):
            is_named = any(acts_called(index, act).any() for act in acts)
            if not is_named and not _is_spoken_of(index, words):
                for word in words:
                    self._subjects_of[numbers[word]].append(subject)

    def best(self, weights: Mapping[str, float]) -> float:
        """How much of these words, each by its weight, the subject has that has most of them."""
        totals: dict[int, float] = {}
        for word, weight in weights.items():
            alike: dict[int, float] = {}
            for number, share in zip(*self._words.similar(word), strict=True):
                for subject in self._subjects_of[number]:
                    alike[subject] = max(alike.get(subject, 0.0), float(share))
            for subject, share in alike.items():
                totals[subject] = totals.get(subject, 0.0) + weight * share
        return max(totals.values(), default=0.0)


def _is_spoken_of(index: Index, words: list[str]) -> bool:
    """Whether an act of the index has nearly all of these words, and has them often."""
    assert index.words is not None
    forms = [index.words.same(word) for word in words]
    held = sum(len(numbers) > 0 for numbers, _ in forms)
    if len(words) < MANY_WORDS or held < HAVING * len(words):
        return False
    count = max(1, len(index.acts))
    sizes = np.maximum(np.bincount(index.act_of, minlength=count), 1)
    main = index.soft["main"]
    shares = np.array(
        [
            np.bincount(index.act_of, weights=main.frequency(pair) > 0, minlength=count) / sizes
            for pair in forms
        ]
    )
    has_most = (shares > 0).mean(axis=0) >= HAVING
    return bool((has_most & (shares.mean(axis=0) >= OFTEN)).any())


@cache
def _subjects(language: str) -> list[Subject]:
    path = resources.files("assay.search") / "data" / f"{language}.elsewhere.tsv"
    if not path.is_file():
        return []
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:])
    words = analyzer(language).words
    return [
        ([act for act in acts.split("; ") if act], list(dict.fromkeys(words(said))))
        for acts, said in rows
    ]


@cache
def _words(language: str) -> Lookalikes:
    """All words of the list, to be found by their forms."""
    reader = analyzer(language)
    words = sorted({word for _, words in _subjects(language) for word in words})
    return lookalikes(words, reader, unseen(reader))
