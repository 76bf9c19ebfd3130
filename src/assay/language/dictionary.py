"""The dictionary of word forms (simplemma), loaded when the first word is looked up: it takes
seconds."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=200_000)
def lemma(word: str, language: str) -> str:
    """The headword of a form, or what the dictionary makes of a word that it does not have."""
    import simplemma

    return str(simplemma.lemmatize(word, lang=language)).lower()


@lru_cache(maxsize=65536)
def headword(word: str, language: str) -> str:
    """The headword in the dictionary; empty for a word that it does not have."""
    import simplemma

    known = lemma(word, language) if simplemma.is_known(word, lang=language) else ""
    return known if known[:1] == word[:1] else ""  # forms of one word begin alike, others are slips
