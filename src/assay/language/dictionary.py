"""The dictionary of word forms (simplemma), loaded when the first word is looked up: it takes
seconds."""

from __future__ import annotations

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


@cache
def _simplemma() -> Any:
    return imported("simplemma", "comparing the forms of words", "words")
