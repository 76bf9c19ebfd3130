"""Detect the language of a text, from a query of three words to a whole collection.

Script first: where a third of the letters are Hebrew, it is Hebrew. Then every word votes. A word
that only holds a sentence together (ja, että; the, of) votes for its language; one that two
languages have (on, me, no) votes for neither. Any other word votes by its shape, which is what
tells short questions apart, where there may be no such word at all: Finnish has long vowels (aa,
ää), case endings (-ssa, -sta) and few consonants a word may end in; English has th, ght, -tion,
-ing. Common words of languages that have no analysis of their own here (Swedish, German, …) vote
too, and against: a text they win has no language that we know, and so has one where a letter in a
hundred is none of English or Finnish.

The answer is a code of two letters, or empty: nothing is better than a guess, since whoever asks
has a default of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from assay.language import english, finnish

SAMPLED_CHARACTERS = 200_000  # characters that are looked at, to bound the time (taste)
MIN_VOTING_SHARE = 0.1  # the share of words that must vote for a language (taste)
# words: a shorter text may be recognised by the shapes of its words alone (taste)
SHORT_TEXT_WORDS = 12
CODES = {
    "eng": "en",
    "english": "en",
    "fin": "fi",
    "finnish": "fi",
    "heb": "he",
    "iw": "he",
    "hebrew": "he",
    "swe": "sv",
}
# Letters beyond a to z that belong to a language: one in a hundred of others makes a text foreign.
OWN_LETTERS = {"en": "", "fi": "äöå"}
STOP = {"en": english.STOP - finnish.STOP, "fi": finnish.STOP - english.STOP}
# Common words of languages that have no analysis here.
SWEDISH = "och att det som är för av på med den till inte ett eller ska kan från har om vid man"
GERMAN = "der die das und ist nicht von mit für auf ein eine dem des im zu"
FRENCH = "le la les des du et est pour dans que qui une sur par au"
SPANISH = "el los las del una por con para que en y es se"
ESTONIAN = "ning või mis kui ka see oli"
ELSEWHERE = frozenset(" ".join((SWEDISH, GERMAN, FRENCH, SPANISH, ESTONIAN)).split()) - (
    english.STOP | finnish.STOP
)
OTHERS = {
    code: frozenset(words.split())
    for code, words in (("sv", SWEDISH), ("de", GERMAN), ("fr", FRENCH))
}
WORD = re.compile(r"[^\W\d_]+")
HEBREW = re.compile("[\u05d0-\u05ea]")
STRANGE = {code: re.compile(rf"[^\W\d_\x00-\x7f{own}]") for code, own in OWN_LETTERS.items()}
FINNISH_SHAPE = re.compile(
    # a long vowel, or a case ending, in a word with the letters and the end of a Finnish one
    r"(?=.{4})(?!.*[bcfqwxzåõü])(?:.*(?:aa|ii|uu|yy|ää|öö|äy|yö|öy)"
    r"|.{3,}(?:ss[aä]|st[aä]|ll[aä]|lt[aä]|lle|ksi|v[aä]t|nen|kset|jen|t[aä]v[aä]|isen|uksen"
    r"|[aeiouyäö]l(?:aki|ain))$)"
    r"(?<=.).*(?<=[aeiouyäönstlr])$"
)
ENGLISH_SHAPE = re.compile(
    r"(?=.{4})(?!.*[^a-z])(?:.*(?:th|wh|ght|tch|ough|qu)"
    r"|.{2,}(?:ing|tion|sion|ment|ness|[ai]ble|ed|ly|[ai]ty|[ae]nce|ship|ful|ck|sh|ct)s?$)"
)
SHAPES = {"fi": FINNISH_SHAPE, "en": ENGLISH_SHAPE}


def detect(texts: str | Iterable[str]) -> str:
    """ "fi", "en" or "he"; empty where the text does not say."""
    sample = (texts if isinstance(texts, str) else " ".join(texts))[:SAMPLED_CHARACTERS].lower()
    words = WORD.findall(sample)
    if not words:
        return ""
    if len(HEBREW.findall(sample)) > sum(map(len, words)) / 3:
        return "he"
    votes = _votes(words)
    best, other = max(votes, key=votes.__getitem__), min(votes, key=votes.__getitem__)
    if votes[best] == votes[other] or votes[best] < MIN_VOTING_SHARE or is_foreign(sample, best):
        return ""
    return best


def detect_any(text: str) -> str:
    """The language of a text, also where it has no analysis here: sv, de or fr."""
    if known := detect(text):
        return known
    words = WORD.findall(text[:SAMPLED_CHARACTERS].lower())
    votes = {code: sum(word in stop for word in words) for code, stop in OTHERS.items()}
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] > MIN_VOTING_SHARE * len(words) else ""


def _votes(words: list[str]) -> dict[str, float]:
    """The share of words that votes for each language, less those that vote against."""
    by_word = dict.fromkeys(STOP, 0)
    by_shape = dict.fromkeys(STOP, 0)
    against = 0
    for vote, count in Counter(map(_vote, words)).items():
        against += count * ("!" in vote)
        for name in STOP:
            by_word[name] += count * (f"{name}=" in vote)
            by_shape[name] += count * (f"{name}~" in vote)
    # The shapes of English are those of half of Europe: in a longer text its words must show.
    if len(words) > SHORT_TEXT_WORDS and by_word["en"] < MIN_VOTING_SHARE * len(words):
        by_shape["en"] = 0
    return {name: (by_word[name] + by_shape[name] - 2 * against) / len(words) for name in by_word}


@lru_cache(maxsize=100_000)
def _vote(word: str) -> str:
    """What one word says: "fi=" where it holds Finnish together, else "fi~" where it has its shape;
    "!" where it is of another language. Remembered, since a collection repeats most of its words,
    and a text, since these are counted."""
    of_word = [f"{name}=" for name, stop in STOP.items() if word in stop]
    shapes = [f"{name}~" for name, shape in SHAPES.items() if shape.match(word)]
    return "".join(of_word or shapes) + "!" * (word in ELSEWHERE)


def is_foreign(text: str, language: str) -> bool:
    """Whether more than one letter in a hundred belongs to another language than the one guessed;
    an importer may have guessed by a word or two."""
    if language not in STRANGE:
        return False
    sample = text[:SAMPLED_CHARACTERS].lower()
    strange = len(STRANGE[language].findall(sample))
    return strange > 0 and strange > sum(map(len, WORD.findall(sample))) / 100


def language_code(stated: str) -> str:
    """The two-letter code of a language as records name it: "EN", "en-US" and "eng" are en."""
    code = re.split(r"[-_]", stated.strip().lower())[0]
    return CODES.get(code, code)
