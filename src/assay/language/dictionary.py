"""Look up word forms in simplemma's dictionaries, which are loaded at the first lookup because
loading takes seconds."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cache, lru_cache
from typing import Any

from assay.core.extras import imported


@lru_cache(maxsize=200_000)
def lemma(word: str, language: str) -> str:
    """The headword of a form, or what the dictionary makes of a word that it does not have."""
    return str(_simplemma().lemmatize(word, lang=language)).lower()


@lru_cache(maxsize=65536)
def headword(word: str, language: str) -> str:
    """The headword in the dictionary; empty for a word that it does not have."""
    is_known = _simplemma().is_known(word, lang=language)
    known = lemma(word, language) if is_known else ""
    return known if known[:1] == word[:1] else ""  # forms of one word begin alike, others are slips


def forms_of(headwords: Container[str], language: str) -> Iterator[tuple[str, str]]:
    """Every form that the dictionary has of these words, with its headword."""
    module = "simplemma.strategies.dictionaries.dictionary_factory"
    factories = imported(module, "comparing the forms of words", "words")
    # where there is one that has the dictionary open, it is not opened twice
    factory = getattr(factories, "DEFAULT_DICTIONARY_FACTORY", None)
    known = (factory or factories.DefaultDictionaryFactory()).get_dictionary(language)
    for form, word in known.items():
        if word in headwords and form.islower() and form[:1] == word[:1]:
            yield form, word


@cache
def _simplemma() -> Any:
    return imported("simplemma", "comparing the forms of words", "words")
