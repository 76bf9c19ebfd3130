"""Text to terms, language by language.

English: Snowball stems and statute-aware numbers. Finnish: lemmas, with n-grams for compounds.
Hebrew: niqqud and punctuation removed, prefixes and endings stripped. Anything else: case-folded
words with n-grams."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, Protocol

ENGLISH_STOP = frozenset(
    "a an and are as at be by for from has have he her his i if in into is it its of on or our she so such that the "
    "their them there these they this those to was we were will with you your would not no do does did may can could "
    "should must shall been being than then which who whom whose what when where why how any all each other under upon "
    "about against between both but had him me my also only own same very because until while during before after "
    "above below".split()
)
FINNISH_STOP = frozenset(
    "ja tai on ei se ne kun jos että mitä mikä mitkä miten missä milloin kuka kenen voiko saako pitääkö onko pitää "
    "olla sen sitä siitä siihen sille kuinka mihin mistä jotka joka jonka jota sekä kuin myös ovat tämä tämän tätä "
    "jossa josta joita mutta vaan niin hän he me te minä sinä voi saa tulee täytyy sanoo laki lain laissa mukaan "
    "koskee koskeva koskevat koskien liittyen liittyy "
    # the same in spoken language, and words that only fill a sentence
    "onks saaks voiks pitääks oisko mites mitäs kuis et ku ni sit sitten siis hei no joo ihan oikeesti oikeasti niinku "
    "tota tuota kai muuten nyt kyllä kyl joku jotain mä sä".split()
)
HEBREW_STOP = frozenset(
    "של את על עם או אם כי לא גם כל הוא היא הם זה זו אשר מה מי איך מתי האם יש אין אל בין לפי כדי כמה איזה היה "
    "יהיה".split()
)
HEBREW_PREFIXES = "וכש ושב ושה ולכ שב שה של שמ וה וב ול ומ וש כש מה בה לה ה ב ל מ ש ו כ".split()
HEBREW_ENDINGS = "יות ים ות יה ה ת י".split()
FINAL_LETTERS = str.maketrans("ךםןףץ", "כמנפצ")


# soft hyphens, zero-width and direction marks: seen by nobody, they must not split a word
UNSEEN = dict.fromkeys(
    [0xAD, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF]
)
CODES = {
    "eng": "en",
    "english": "en",
    "fin": "fi",
    "finnish": "fi",
    "heb": "he",
    "iw": "he",
    "hebrew": "he",
}
WITHOUT_DOTS = str.maketrans("äöåÄÖÅ", "aoaAOA")


def without_dots(word: str) -> str:
    """As people type on a keyboard without ä and ö; look-alikes are compared so."""
    return word.translate(WITHOUT_DOTS)


class Analyzer(Protocol):
    """`words` are the content words in order; `lemma` folds a word's forms; `terms` are what an
    index counts."""

    language: str
    gram: int  # the length of character n-grams that serve this language best

    def words(self, text: str) -> list[str]: ...
    def lemma(self, word: str) -> str: ...
    def terms(self, text: str) -> list[str]: ...


class English:
    """A section with subdivisions also yields its parents: 87103(a)(1) gives 87103, 87103(a),
    87103(a)(1)."""

    language = "en"
    gram = 4
    _TOKEN = re.compile(
        r"\d{3,5}(?:\.\d+)?(?:\([a-z0-9]{1,3}\))+|\d+(?:\.\d+)+|\$?\d[\d,]*\d|\d|[^\W\d_]+(?:'[^\W\d_]+)?"
    )
    _FOLD = str.maketrans({"’": "'", "“": '"', "”": '"', "§": " "}) | UNSEEN
    _PART = re.compile(r"\([a-z0-9]+\)")
    _CITATION = re.compile(r"\d{4,5}(?:\.\d+)?(?:\(|$)")

    def words(self, text: str) -> list[str]:
        found = (
            word.removesuffix("'s")
            for word in self._TOKEN.findall(text.lower().translate(self._FOLD))
        )
        return [
            word for word in found if word not in ENGLISH_STOP and (len(word) > 1 or word.isdigit())
        ]

    def lemma(self, word: str) -> str:
        return _english_stem(word)

    def terms(self, text: str) -> list[str]:
        terms: list[str] = []
        for word in self.words(text):
            if word[0].isalpha():
                terms.append(_english_stem(word))
                continue
            number = word.replace(",", "").lstrip("$")
            base, parenthesis, _ = number.partition("(")
            terms.append(base)
            if parenthesis:
                parts = self._PART.findall(number)
                terms.extend(base + "".join(parts[: end + 1]) for end in range(len(parts)))
        return terms

    @classmethod
    def is_citation(cls, term: str) -> bool:
        """A section or regulation number such as 87103(a) or 18702.2."""
        return cls._CITATION.match(term) is not None


class Finnish:
    language = "fi"
    gram = 5
    _WORD = re.compile(r"[^\W\d_]+|\d+[a-z]?")

    def words(self, text: str) -> list[str]:
        folded = unicodedata.normalize("NFC", text).lower().translate(UNSEEN)
        return [word for word in self._WORD.findall(folded) if word not in FINNISH_STOP]

    def lemma(self, word: str) -> str:
        return _lemma(word, "fi")

    def terms(self, text: str) -> list[str]:
        return grams(map(without_dots, self.words(text)), self.gram)


class Hebrew:
    language = "he"
    gram = 4
    _WORD = re.compile(r"[\u05d0-\u05ea]+(?:[\"'][\u05d0-\u05ea]+)*|[a-z]+|\d+[\u05d0-\u05ea]?")

    def words(self, text: str) -> list[str]:
        found = self._WORD.findall(_without_points(text))
        return [word.replace('"', "").replace("'", "") for word in found if word not in HEBREW_STOP]

    def lemma(self, word: str) -> str:
        """The longest prefix that leaves three letters goes, then a common ending; final letters
        are folded."""
        for prefix in HEBREW_PREFIXES:
            if word.startswith(prefix) and len(word) - len(prefix) >= 3:
                word = word[len(prefix) :]
                break
        for ending in HEBREW_ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                word = word[: -len(ending)]
                break
        return word.translate(FINAL_LETTERS)

    def terms(self, text: str) -> list[str]:
        return grams((word.translate(FINAL_LETTERS) for word in self.words(text)), self.gram)


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
    found: list[str] = []
    for word in words:
        marked = f"_{word}_"
        found.extend(
            marked[start : start + size] for start in range(max(1, len(marked) - size + 1))
        )
    return found


def language_code(stated: str) -> str:
    """What a record calls its language, as a code of two letters: "EN", "en-US" and "eng" are
    en."""
    code = re.split(r"[-_]", stated.strip().lower())[0]
    return CODES.get(code, code)


def is_foreign(text: str, language: str) -> bool:
    """Whether one letter in a hundred is none of English or Finnish: an importer may have guessed
    by a word or two."""
    own = {"en": "", "fi": "äöå"}.get(language)
    letters = [character for character in text[:200_000].lower() if character.isalpha()]
    strange = (
        0
        if own is None
        else sum(character > "\x7f" and character not in own for character in letters)
    )
    return strange > len(letters) / 100


def guess_language(texts: Iterable[str]) -> str:
    """The language of a collection that does not say: by script, then by which stop words it uses
    most."""
    sample = " ".join(texts)[:200_000].lower()
    letters = [character for character in sample if character.isalpha()]
    if not letters:
        return ""
    if sum("\u05d0" <= character <= "\u05ea" for character in letters) > len(letters) / 3:
        return "he"
    words = re.findall(r"[^\W\d_]+", sample)
    shares = {
        language: sum(word in stop for word in words) / max(len(words), 1)
        for language, stop in (("en", ENGLISH_STOP), ("fi", FINNISH_STOP))
    }
    best = max(shares, key=lambda language: shares[language])
    enough = shares[best] > (
        0.05 if best == "fi" else 0.1
    )  # "i", "under" and "for" are Scandinavian words, too
    return best if enough and not is_foreign(sample, best) else ""


@lru_cache(maxsize=200_000)
def _english_stem(word: str) -> str:
    return str(_snowball().stemWord(word))


@cache
def _snowball() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=200_000)
def _lemma(word: str, language: str) -> str:
    import simplemma

    return str(simplemma.lemmatize(word, lang=language)).lower()


_HEBREW_MARKS = str.maketrans(
    {"״": '"', "”": '"', "“": '"', "„": '"', "׳": "'", "’": "'", "‘": "'", "־": " "}
)


def _without_points(text: str) -> str:
    """Niqqud and cantillation dropped; quotes, geresh and maqaf made plain."""
    plain = unicodedata.normalize("NFKD", text).translate(UNSEEN)
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return plain.translate(_HEBREW_MARKS).lower()
