"""What other law, and life beside the law, is about: data/LANGUAGE.elsewhere.tsv.

**Idea.** An inheritance, a driving licence and a cake are no matter of the Municipal Act. The words
of a question that no provision has say little: people ask in their own words. What says more is
that these are the words of *another* subject. So subjects are listed with the words that people use
for them, acts by their names. A subject is here where an act of that name is in the collection, or
where most of these words stand in the headings of one act. A word of a phrase (`_` joins its words)
counts half where the rest is not said: homework is no rate, though Hebrew has one word for both.

The lists were written from the areas of law and life, before anybody looked at how questions from
outside were answered (research/scores.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from typing import NamedTuple

import numpy as np

from assay.language.analysis import analyzer
from assay.law.he import is_called
from assay.search.index import Index
from assay.search.soft import CACHE, Lookalikes, lookalikes, unseen

MANY_WORDS = 5  # of a subject that is known by its words
HEADED = 0.7  # of them stand in the headings of an act that is about it
CLEARLY = 0.3  # of a question that a subject has, from which on its acts are named
NAMED_ACTS = 2
IN_PHRASE = 0.5  # how alike a word must be to stand for one of a phrase
IN_PART = 0.5  # what a word of a phrase counts that is not said as a whole
PHRASE = "_"
Words = tuple[str, ...]
Subject = tuple[list[str], list[Words]]  # the names of its acts, and its words and phrases


class _Meant(NamedTuple):
    """What a word may be: words of the list that stand for it, and of the subjects that have one of
    them in a phrase the subject, the phrase and how alike the word is."""

    words: frozenset[int]
    subjects: tuple[tuple[int, frozenset[int], float], ...]


class Elsewhere:
    """The subjects that an index is not about."""

    def __init__(self, index: Index) -> None:
        language = index.profile.language
        self._words = _words(language)
        self._meant = lru_cache(CACHE)(self._may_mean)
        # of each word the subjects that have it, and the phrase it stands in there
        self._subjects_of: list[list[tuple[int, frozenset[int]]]] = [[] for _ in self._words.words]
        self._acts = [acts for acts, _ in _subjects(language)]
        numbers = {word: number for number, word in enumerate(self._words.words)}
        for subject, (acts, phrases) in enumerate(_subjects(language)):
            is_named = any(_is_named(index, act) for act in acts)
            if not is_named and not _is_spoken_of(index, list(dict.fromkeys(chain(*phrases)))):
                for phrase in (frozenset(numbers[word] for word in words) for words in phrases):
                    for number in phrase:
                        self._subjects_of[number].append((subject, phrase))

    def best(self, weights: Mapping[str, float]) -> float:
        """How much of these words, each by its weight, the subject has that has most of them."""
        return max(self._totals(weights).values(), default=0.0)

    def acts(self, weights: Mapping[str, float]) -> tuple[str, ...]:
        """The acts on the subject that has most of these words, where it has enough of them."""
        totals = self._totals(weights)
        subject = max(totals, key=totals.__getitem__, default=None)
        if subject is None or totals[subject] < CLEARLY * sum(weights.values()):
            return ()
        return tuple(self._acts[subject][:NAMED_ACTS])

    def _totals(self, weights: Mapping[str, float]) -> dict[int, float]:
        totals: dict[int, float] = {}
        meant = {word: self._meant(word) for word in weights}
        said = frozenset(chain(*(each.words for each in meant.values())))
        for word, weight in weights.items():
            alike: dict[int, float] = {}
            for subject, phrase, share in meant[word].subjects:
                counts = share if len(phrase) == 1 or phrase <= said else IN_PART * share
                alike[subject] = max(alike.get(subject, 0.0), counts)
            for subject, share in alike.items():
                totals[subject] = totals.get(subject, 0.0) + weight * share
        return totals

    def _may_mean(self, word: str) -> _Meant:
        numbers, shares = self._words.similar(word)
        pairs = list(zip(numbers.tolist(), shares.tolist(), strict=True))
        return _Meant(
            frozenset(number for number, share in pairs if share >= IN_PHRASE),
            tuple(
                (subject, phrase, share)
                for number, share in pairs
                for subject, phrase in self._subjects_of[number]
            ),
        )


def _is_named(index: Index, act: str) -> bool:
    """Whether an act of the index has this name, with or without more behind it in Finnish: a law
    on housing companies is none on companies."""
    if index.profile.language == "he":
        return any(is_called(each, act) for each in index.acts)
    return any(each.casefold().startswith(act.casefold()) for each in index.acts)


def _is_spoken_of(index: Index, words: list[str]) -> bool:
    """Whether most of these words stand in the headings of one act."""
    title = index.soft.get("title")
    if title is None or index.words is None or len(words) < MANY_WORDS:
        return False
    forms = [pair for pair in map(index.words.same, words) if len(pair[0])]
    if len(forms) < HEADED * len(words):
        return False
    count = max(1, len(index.acts))
    held = [
        np.bincount(index.act_of, weights=title.frequency(pair) > 0, minlength=count) > 0
        for pair in forms
    ]
    return bool(np.sum(held, axis=0).max() >= HEADED * len(words))


@cache
def _subjects(language: str) -> list[Subject]:
    path = resources.files("assay.search") / "data" / f"{language}.elsewhere.tsv"
    if not path.is_file():
        return []
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:])
    return [
        ([act for act in acts.split("; ") if act], _phrases(said, analyzer(language).words))
        for acts, said in rows
    ]


def _phrases(said: str, words: Callable[[str], list[str]]) -> list[Words]:
    joined = [tuple(words(each.replace(PHRASE, " "))) for each in said.split() if PHRASE in each]
    single = words(" ".join(each for each in said.split() if PHRASE not in each))
    return list(dict.fromkeys([*joined, *((word,) for word in single)]))


@cache
def _words(language: str) -> Lookalikes:
    """All words of the list, to be found by their forms."""
    reader = analyzer(language)
    words = sorted({word for _, phrases in _subjects(language) for word in chain(*phrases)})
    return lookalikes(words, reader, unseen(reader))
