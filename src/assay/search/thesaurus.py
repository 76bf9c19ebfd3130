"""Everyday and English words for statutory terms: data/LANGUAGE.tsv, a term a line with what people
say instead.

A question with "budjetti" or "budget" then also finds "talousarvio". Finnish inflection is looked
up in data/fi.forms.tsv (made by training/forms.py), because a dictionary of the whole language
takes seconds to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from assay.language.analysis import Analyzer, analyzer
from assay.language.hebrew import FINALS, same_word

MAX_VARIANT_WORDS = 3  # words of a variant (taste): what is longer is left out
ENDING = 4  # letters of a case ending on a foreign word (taste): "budgetin"
Term = tuple[str, ...]


class Thesaurus:
    """`entries`: what people say, as lemmas, with how it is written and a term it stands for;
    `forms`: an inflected word to its lemma; `foreign`: the English words of what people say, which
    are no forms of others, whatever they look like."""

    def __init__(
        self,
        language: Analyzer,
        entries: dict[Term, list[tuple[Term, Term]]],
        forms: dict[str, str],
        foreign: frozenset[str] = frozenset(),
    ) -> None:
        self._language = language
        self._entries = entries
        self._forms = forms
        self._foreign = foreign
        self._single = {key[0] for key in entries if len(key) == 1}

    def own(self, words: Sequence[str]) -> list[tuple[Term, Term]]:
        """The words of a question, one or several in a row, that are an entry themselves, each with
        a term that they stand for. A word that only begins as an entry does, or that has the same
        letters left when endings are cut off, is none: it may mean something else."""
        lemmas = [self._lemma(word) for word in words]
        found: list[tuple[Term, Term]] = []
        for size in range(1, MAX_VARIANT_WORDS + 1):
            for start in range(len(words) - size + 1):
                said = tuple(words[start : start + size])
                entries = self._entries.get(tuple(lemmas[start : start + size]), ())
                forms = [pair for pair in entries if all(map(self._is_form, pair[0], said))]
                # what stands there as it is written is meant, before what is changed
                whole = [pair for pair in forms if all(map(_is_within, pair[0], said))]
                found += [(said, term) for _, term in whole or forms]
        return found

    def _is_form(self, entry: str, word: str) -> bool:
        """Whether a word of a question is one of an entry: as it is written, a form that the list
        has, a foreign one with a case ending; in Hebrew with prefixes and an ending."""
        if self._language.language == "he":
            return same_word(entry, word)
        if entry in self._foreign:
            return word.startswith(entry)
        return self._forms.get(word, word) == self._forms.get(entry, entry)

    def expand(self, words: Sequence[str]) -> dict[str, list[Term]]:
        """For each word of a question the statutory terms it may stand for, alone or as part of a
        phrase."""
        lemmas = [self._lemma(word) for word in words]
        terms: dict[str, list[Term]] = {}
        for size in range(1, MAX_VARIANT_WORDS + 1):
            for start in range(len(words) - size + 1):
                for _, term in self._entries.get(tuple(lemmas[start : start + size]), ()):
                    for word in words[start : start + size]:
                        terms.setdefault(word, []).append(term)
        return terms

    def _lemma(self, word: str) -> str:
        if self._language.language != "fi":
            return self._language.lemma(word)
        if word in self._foreign:
            return word
        if word in self._forms or word in self._single:
            return self._forms.get(word, word)
        cut = (word[:-letters] for letters in range(1, ENDING + 1) if len(word) - letters >= ENDING)
        return next((stem for stem in cut if stem in self._single), word)


def _is_within(entry: str, word: str) -> bool:
    return entry.translate(FINALS) in word.translate(FINALS)


@cache
def thesaurus(language: str) -> Thesaurus | None:
    """The thesaurus of a language, or None where there is none."""
    folder = resources.files("assay.search") / "data"
    if not (folder / f"{language}.tsv").is_file():
        return None
    forms = _forms(folder / f"{language}.forms.tsv")
    reader = analyzer(language)
    entries: dict[Term, list[tuple[Term, Term]]] = {}
    foreign: set[str] = set()
    header, *lines = (folder / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines:
        term, *columns = line.split("\t")
        words = tuple(reader.words(term))
        for spoken, column in zip(header.split("\t")[1:], columns, strict=False):
            for variant in column.split(";"):
                said = reader.words(variant)
                if language != "fi":
                    key = tuple(reader.lemma(word) for word in said)
                elif spoken == language:
                    key = tuple(forms.get(word, word) for word in said)
                else:  # "minutes" is no form of *minä*
                    key = tuple(said)
                    foreign.update(said)
                # where all words but one are too common to be kept, that one does not mean the
                # phrase
                is_remnant = len(key) == 1 and len(variant.split()) > 1
                if words and 0 < len(key) <= MAX_VARIANT_WORDS and not is_remnant:
                    entries.setdefault(key, []).append((tuple(said), words))
    return Thesaurus(reader, entries, forms, frozenset(foreign))


def _forms(path: Traversable) -> dict[str, str]:
    """Inflected word -> lemma, where a language has such a list."""
    forms: dict[str, str] = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            lemma, *inflected = line.split("\t")
            forms.update(dict.fromkeys(inflected, lemma))
    return forms
