"""The passage of a document that a lawyer reads first, and the words of the question it holds.

Every sentence is scored by how many different words of the question it has, over the square root of
its length (plus eight, so that a heading of two words does not win by being short). What counted in
the search counts here: the same lemma, a look-alike, a term of the thesaurus.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from assay.core.types import Document
from assay.search.arrays import Array
from assay.search.index import Index
from assay.search.shown import PADDING, Passages, sentence_spans, shown_texts
from assay.search.signals import ALIKE, MAX_WORDS, alike, similar_words, statutory_terms

LONGEST = 280  # characters of a passage
SHOWN = 0.3  # how much a look-alike must count to be shown as a word of the question
SAME_WORD = 0.85  # how alike two lemmas must be


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a question asks for: whether a document's word is one of its words, and the mask of
    those lemmas that the index keeps sentences with, where it does."""

    is_asked: Callable[[str], bool]
    lemmas: Array | None


def best_passage(index: Index, asked: Asked, document: Document) -> tuple[str, list[str]]:
    """The passage with most of the question's words, and those words."""
    texts = shown_texts(document)
    row = index.row_of.get(document.id)
    if index.passages is not None and asked.lemmas is not None and row is not None:
        span = index.passages.best(row, asked.lemmas)
    else:
        span = _best_span(index, asked, texts)
    if span is None:
        return _shortened(document.text[:LONGEST]), []
    best, words = with_words(index, asked, " ".join("".join(texts)[slice(*span)].split()))
    return _shortened(best), words


def with_words(index: Index, asked: Asked, text: str) -> tuple[str, list[str]]:
    """A text, and those of its words that are asked for."""
    words = dict.fromkeys(index.analyzer.words(text))
    return text, [word for word in words if asked.is_asked(word)]


def _best_span(index: Index, asked: Asked, texts: list[str]) -> tuple[int, int] | None:
    """By reading them: short texts, whose words count by their looks too."""
    text = "".join(texts)
    best: tuple[int, int] | None = None
    best_score = -1.0
    for begin, end in sentence_spans(texts):
        words = index.analyzer.words(text[begin:end])
        held = {index.lemma(word) for word in words if asked.is_asked(word)}
        score = len(held) / (PADDING + len(words)) ** 0.5
        if score > best_score:
            best = begin, end
            best_score = score
    return best


def asked_for(index: Index, question: str) -> Asked:
    """It remembers which words it was asked about: the documents found share most of theirs."""
    words = list(dict.fromkeys(index.analyzer.words(question)))[:MAX_WORDS]
    lemmas = {index.lemma(word) for word in words}
    beginnings: dict[str, list[str]] = {}  # what is alike begins alike
    for lemma in lemmas:
        beginnings.setdefault(lemma[:ALIKE], []).append(lemma)
    meant: set[str] = set()
    if index.words is not None:
        terms = statutory_terms(index, words)
        for word in words:
            numbers, shares = similar_words(index, word, terms.get(word, []))
            meant.update(index.words.words[number] for number in numbers[shares > SHOWN])

    @cache
    def is_asked(word: str) -> bool:
        lemma = index.lemma(word)
        if word in meant or lemma in lemmas:
            return True
        near = beginnings.get(lemma[:ALIKE], ())
        return any(alike(lemma, asked) > SAME_WORD for asked in near)

    mask = _asked_lemmas(index.passages, lemmas) if index.passages is not None else None
    return Asked(is_asked=is_asked, lemmas=mask)


def _asked_lemmas(passages: Passages, lemmas: set[str]) -> Array:
    """The mask of the lemmas that are one of these, or nearly so: then they begin alike for most of
    their length."""
    mask = np.zeros(len(passages.lemmas), np.bool_)
    for asked in lemmas:
        if len(asked) < ALIKE:
            number = bisect_left(passages.lemmas, asked)
            mask[number : number + 1] |= passages.lemmas[number : number + 1] == [asked]
            continue
        common = max(ALIKE, int(SAME_WORD * len(asked)) + 1)  # letters, at the least
        for number in passages.beginning_with(asked[:common]):
            mask[number] |= alike(passages.lemmas[number], asked) > SAME_WORD
    return mask


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
