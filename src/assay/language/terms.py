"""Test whether a text contains a term in any inflected form.

Every word of a term must be found, in some form: Finnish words are inflected by rule and by
dictionary, English words are compared by their headword, a Hebrew word may carry prefixes and
endings. The rules of one language find chance forms in another, so the language of the text
decides, where it can be told; where it cannot, English and Finnish are both tried."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection

from assay.language import english, finnish, hebrew
from assay.language.amounts import (
    amount_in,
    amounts_in,
    factors_in,
    is_amount,
    number_in,
    numbers_in,
    unit_in,
)
from assay.language.detect import detect

WORD = re.compile(r"[^\W_]+")
IGNORED = re.compile(r"[\u00ad\u200b-\u200f]")


def contains_term(text: str, term: str) -> bool:
    """Every word of `term` stands in `text` in some form; a number, and a sum or a share with its
    unit, is compared as a number."""
    if (number := number_of_term(term)) is not None:
        return has_number(text, number, factors_in(text))
    if (amount := amount_in(term)) is not None:
        factors = factors_in(text)
        return any(is_amount(*amount, found, factors) for found in amounts_in(text))
    folded = fold(text)
    words = frozenset(WORD.findall(folded))
    wanted = WORD.findall(fold(term))
    if not wanted or not words:
        return False
    missing = [word for word in wanted if word not in words]
    language = detect(folded) if missing else ""
    return all(_has_form(word, words, language) for word in missing)


def number_of_term(term: str) -> float | None:
    """The number that a term is; None for words, and for a number with its unit."""
    return number_in(term) if not unit_in(term) else None


def has_number(text: str, number: float, factors: Collection[int]) -> bool:
    """Whether a text has a number, as printed or in full: in thousands or millions, as the factors
    say."""
    return any(
        math.isclose(number, found * factor, rel_tol=1e-12)
        for found in numbers_in(text)
        for factor in factors
    )


def _has_form(term: str, words: frozenset[str], language: str) -> bool:
    if language == "fi" and any(finnish.by_rule(term, word) for word in words):
        return True  # before the dictionary, which takes seconds to load
    return any(same_word(term, word, language) for word in words)


def has_words(term: str) -> bool:
    """Whether there is anything in a term to look for."""
    return WORD.search(fold(term)) is not None


def fold(text: str) -> str:
    """Lower case without accents, niqqud and soft hyphens; å, ä and ö are letters and stay."""
    bare = hebrew.without_points(unicodedata.normalize("NFC", text))
    text = IGNORED.sub("", bare).casefold()
    if text.isascii():
        return text
    kept = (char if char in "åäö" else unicodedata.normalize("NFD", char) for char in text)
    return "".join(char for chars in kept for char in chars if not unicodedata.combining(char))


def same_word(term: str, word: str, language: str = "") -> bool:
    """Whether the folded `word` is a form of the folded `term`; without a language Finnish and
    English are tried."""
    if term == word:
        return True
    if "\u0590" <= term[:1] <= "\u05ff":
        return hebrew.same_word(term, word)
    if term.isdigit() or word.isdigit() or len(term) < 3 or len(word) < 3:
        return False
    if language != "fi" and english.same_word(term, word, sure=language == "en"):
        return True
    maybe_finnish = language == "fi" or not (language == "en" or english.is_english(term, word))
    return maybe_finnish and finnish.same_word(term, word)


def same_by_rule(term: str, word: str, language: str = "") -> bool:
    """The same by rules alone, without the dictionaries."""
    if term == word:
        return True
    if "\u0590" <= term[:1] <= "\u05ff":
        return hebrew.same_word(term, word)
    return language == "fi" and finnish.by_rule(term, word)
