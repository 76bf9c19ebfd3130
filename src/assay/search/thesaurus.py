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

LONGEST = 3  # words of a variant
ENDING = 4  # letters of a case ending on a foreign word: "budgetin"
Term = tuple[str, ...]


class Thesaurus:
    """`variants`: what people say, as lemmas, to the terms it stands for; `forms`: an inflected
    word to its lemma."""

    def __init__(
        self, language: Analyzer, variants: dict[Term, list[Term]], forms: dict[str, str]
    ) -> None:
        self._language = language
        self._variants = variants
        self._forms = forms
        self._single = {key[0] for key in variants if len(key) == 1}

    def expand(self, words: Sequence[str]) -> dict[str, list[Term]]:
        """For each word of a question the statutory terms it may stand for, alone or as part of a
        phrase."""
        lemmas = [self._lemma(word) for word in words]
        terms: dict[str, list[Term]] = {}
        for size in range(1, LONGEST + 1):
            for start in range(len(words) - size + 1):
                for term in self._variants.get(tuple(lemmas[start : start + size]), ()):
                    for word in words[start : start + size]:
                        terms.setdefault(word, []).append(term)
        return terms

    def _lemma(self, word: str) -> str:
        if self._language.language != "fi":
            return self._language.lemma(word)
        if word in self._forms or word in self._single:
            return self._forms.get(word, word)
        cut = (word[:-letters] for letters in range(1, ENDING + 1) if len(word) - letters >= ENDING)
        return next((stem for stem in cut if stem in self._single), word)


@cache
def thesaurus(language: str) -> Thesaurus | None:
    """The thesaurus of a language, or None where there is none."""
    folder = resources.files("assay.search") / "data"
    if not (folder / f"{language}.tsv").is_file():
        return None
    forms = _forms(folder / f"{language}.forms.tsv")
    reader = analyzer(language)
    variants: dict[Term, list[Term]] = {}
    for line in (folder / f"{language}.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        term, *columns = line.split("\t")
        words = tuple(reader.words(term))
        for variant in (variant for column in columns for variant in column.split(";")):
            said = reader.words(variant)
            if language == "fi":
                key = tuple(forms.get(word, word) for word in said)
            else:
                key = tuple(reader.lemma(word) for word in said)
            # where all words but one are too common to be kept, that one does not mean the phrase
            is_remnant = len(key) == 1 and len(variant.split()) > 1
            if words and 0 < len(key) <= LONGEST and not is_remnant:
                variants.setdefault(key, []).append(words)
    return Thesaurus(reader, variants, forms)


def _forms(path: Traversable) -> dict[str, str]:
    """Inflected word -> lemma, where a language has such a list."""
    forms: dict[str, str] = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            lemma, *inflected = line.split("\t")
            forms.update(dict.fromkeys(inflected, lemma))
    return forms
