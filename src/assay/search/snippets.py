"""The passage of a document that a lawyer reads first, and the words of the question it holds.

Every sentence is scored by how many different words of the question it has, over the square root of
its length (plus eight, so that a heading of two words does not win by being short). What counted in
the search counts here: the same lemma, a look-alike, a term of the thesaurus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from assay.core.types import Document
from assay.search.index import Index
from assay.search.signals import ALIKE, MAX_WORDS, alike, similar_words, statutory_terms

LONGEST = 280  # characters of a passage
MAX_TEXT = 60_000  # characters of a document that are looked through
SHOWN = 0.3  # how much a look-alike must count to be shown as a word of the question
SAME_WORD = 0.85  # how alike two lemmas must be
FIRST_FIELDS = ("conclusion", "question", "summary")  # where the answer of an opinion stands


IsAsked = Callable[[str], bool]


def best_passage(index: Index, is_asked: IsAsked, document: Document) -> tuple[str, list[str]]:
    """The passage with most of the question's words, and those words."""
    language = index.analyzer
    best = document.text[:LONGEST]
    best_score = -1.0
    best_words: list[str] = []
    for sentence in _sentences(document):
        words = language.words(sentence)
        held = [word for word in dict.fromkeys(words) if is_asked(word)]
        score = len({index.lemma(word) for word in held}) / (8 + len(words)) ** 0.5
        if score > best_score:
            best = sentence
            best_score = score
            best_words = held
    return _shortened(best), best_words


def asked_for(index: Index, question: str) -> IsAsked:
    """Whether a document's word is one of the question's. It remembers what it was asked: the
    documents found share most of their words."""
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

    return is_asked


def _sentences(document: Document) -> Iterator[str]:
    fields = [document.fields[name] for name in FIRST_FIELDS if document.fields.get(name)]
    for text in [*fields, document.text[:MAX_TEXT]]:
        for sentence in re.split(r"(?<=[.?!;:])\s+|\n{2,}", text):
            if len(sentence) > 30 or len(text) <= 60:
                yield " ".join(sentence.split())


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
