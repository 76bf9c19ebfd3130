"""Analyse text into index terms, with one analyzer for each language.

English: Snowball stems and statute-aware numbers. Finnish: lemmas, with n-grams for compounds.
Hebrew: niqqud and punctuation removed, prefixes and endings stripped. Anything else: case-folded
words with n-grams."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, Protocol

from assay.language import dictionary, english, finnish, hebrew

# soft hyphens, zero-width and direction marks: seen by nobody, they must not split a word
UNSEEN = dict.fromkeys(
    [0xAD, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF]
)
_HAS_UNSEEN = re.compile(f"[{''.join(map(chr, UNSEEN))}]")  # most texts have none
# everything in a Hebrew text but letters, ASCII without the backtick (a geresh) and dashes
_ODD = re.compile("[^\\n -_a-~א-ת–—]")
_PLAIN = {chr(sign): "" for sign in UNSEEN} | {
    chr(sign): str(plain) for sign, plain in hebrew.PLAIN_QUOTES.items()
}


class Analyzer(Protocol):
    """The analysis of one language: `words` are the content words in order, `lemma` folds the forms
    of a word, and `terms` are what an index counts, `token_terms` those of one word."""

    language: str
    gram: int  # the length of character n-grams that serve this language best

    def words(self, text: str) -> list[str]: ...
    def lemma(self, word: str) -> str: ...
    def terms(self, text: str) -> list[str]: ...
    def token_terms(self, token: str) -> list[str]: ...


class English:
    """A section with subdivisions also yields its parents: 87103(a)(1) gives 87103, 87103(a),
    87103(a)(1)."""

    language = "en"
    gram = 4
    _TOKEN = re.compile(
        r"\d{3,5}(?:\.\d+)?(?:\([a-z0-9]{1,3}\))+|\d+(?:\.\d+)+|\$?\d[\d,]*\d|\d"
        r"|[^\W\d_]+(?:'[^\W\d_]+)?"
    )
    # the same for text in ASCII and lower case, in half the time
    _ASCII = re.compile(_TOKEN.pattern.replace(r"[^\W\d_]", "[a-z]"), re.ASCII)
    _FOLD = str.maketrans({"’": "'", "“": '"', "”": '"', "§": " "}) | UNSEEN
    _PART = re.compile(r"\([a-z0-9]+\)")
    _CITATION = re.compile(r"\d{4,5}(?:\.\d+)?(?:\(|$)")

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, before stop words are removed."""
        lower = text.lower()
        if not lower.isascii():  # nothing else is folded
            lower = lower.translate(self._FOLD)
        return (self._ASCII if lower.isascii() else self._TOKEN).findall(lower)

    def word(self, token: str) -> str:
        """The word of a token; empty for a stop word."""
        word = token.removesuffix("'s")
        return "" if word in english.STOP or (len(word) < 2 and not word.isdigit()) else word

    def words(self, text: str) -> list[str]:
        return [word for token in self.tokens(text) if (word := self.word(token))]

    def lemma(self, word: str) -> str:
        return _english_stem(word)

    def terms(self, text: str) -> list[str]:
        return [term for token in self.tokens(text) for term in self.token_terms(token)]

    def token_terms(self, token: str) -> list[str]:
        """The index terms of a token."""
        word = self.word(token)
        if not word:
            return []
        if word[0].isalpha():
            return [_english_stem(word)]
        number = word.replace(",", "").lstrip("$")
        base, parenthesis, _ = number.partition("(")
        parts = self._PART.findall(number) if parenthesis else []
        return [base, *(base + "".join(parts[: end + 1]) for end in range(len(parts)))]

    @classmethod
    def is_citation(cls, term: str) -> bool:
        """A section or regulation number such as 87103(a) or 18702.2."""
        return cls._CITATION.match(term) is not None


class Finnish:
    language = "fi"
    gram = 5
    _WORD = re.compile(r"[^\W\d_]+|\d+[a-z]?")

    def words(self, text: str) -> list[str]:
        folded = unicodedata.normalize("NFC", text).lower()
        if _HAS_UNSEEN.search(folded):
            folded = folded.translate(UNSEEN)
        return [word for word in self._WORD.findall(folded) if word not in finnish.STOP]

    def lemma(self, word: str) -> str:
        return dictionary.lemma(word, "fi")

    def terms(self, text: str) -> list[str]:
        return grams(map(finnish.without_dots, self.words(text)), self.gram)

    def token_terms(self, token: str) -> list[str]:
        return grams([finnish.without_dots(token)], self.gram)


class Hebrew:
    language = "he"
    gram = 4
    _WORD = re.compile(r"[\u05d0-\u05ea]+(?:[\"'][\u05d0-\u05ea]+)*|[a-z]+|\d+[\u05d0-\u05ea]?")

    def words(self, text: str) -> list[str]:
        plain = _without_points(text)
        words = [word for word in self._WORD.findall(plain) if word not in hebrew.STOP]
        return [
            word if word.isalnum() else word.replace('"', "").replace("'", "") for word in words
        ]

    def lemma(self, word: str) -> str:
        return hebrew.lemma(word)

    def terms(self, text: str) -> list[str]:
        return grams((word.translate(hebrew.FINALS) for word in self.words(text)), self.gram)

    def token_terms(self, token: str) -> list[str]:
        return grams([token.translate(hebrew.FINALS)], self.gram)


class Plain:
    """Any other language: words as they are."""

    gram = 4
    _WORD = re.compile(r"\w+")

    def __init__(self, language: str = "") -> None:
        self.language = language

    def words(self, text: str) -> list[str]:
        return self._WORD.findall(unicodedata.normalize("NFKC", text).translate(UNSEEN).casefold())

    def lemma(self, word: str) -> str:
        return word

    def terms(self, text: str) -> list[str]:
        return grams(self.words(text), self.gram)

    def token_terms(self, token: str) -> list[str]:
        return grams([token], self.gram)


ANALYZERS: dict[str, type[English] | type[Finnish] | type[Hebrew]] = {
    "en": English,
    "fi": Finnish,
    "he": Hebrew,
}


@cache
def analyzer(language: str) -> Analyzer:
    return ANALYZERS[language]() if language in ANALYZERS else Plain(language)


def grams(words: Iterable[str], size: int) -> list[str]:
    """Character n-grams inside each word, with its ends marked."""
    pieces: list[str] = []
    for word in words:
        marked = f"_{word}_"
        pieces.extend(
            marked[start : start + size] for start in range(max(1, len(marked) - size + 1))
        )
    return pieces


@lru_cache(maxsize=200_000)
def _english_stem(word: str) -> str:
    return str(_snowball("english").stemWord(word))


def finnish_stem(word: str) -> str:
    """The stem of a word without the dictionary, which knows more of them."""
    return str(_snowball("finnish").stemWord(word))


@cache
def _snowball(language: str) -> Any:
    from Stemmer import Stemmer

    return Stemmer(language, 0)


def _without_points(text: str) -> str:
    """Niqqud and cantillation dropped; quotes, geresh and maqaf made plain."""
    if not _ODD.search(text):
        return text.lower()
    plain = unicodedata.normalize("NFKD", text)
    for sign in set(_ODD.findall(plain)):
        if sign in _PLAIN or unicodedata.combining(sign):
            plain = plain.replace(sign, _PLAIN.get(sign, ""))
    return plain.lower()
