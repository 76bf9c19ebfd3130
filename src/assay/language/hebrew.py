"""Hebrew letters, marks, prefixes and endings, for every reader of Hebrew.

Four things vary without meaning anything: vowel points (niqqud), the five letters that have another
form at the end of a word, the signs that people type for geresh and gershayim, and the doubled vav
and yod of full spelling. Little words (and, that, in, to, the, …) are written together with the
word they stand before."""

from __future__ import annotations

import re
from functools import lru_cache

STOP = frozenset(
    "של את על עם או אם כי לא גם כל הוא היא הם זה זו אשר מה מי איך מתי האם יש אין אל בין לפי כדי "
    "כמה איזה היה יהיה".split()
)
LETTER = "[א-ת]"
# Vowel points and cantillation, and the joiner that some keyboards put between them.
NIQQUD = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u034f]")
FINALS = str.maketrans("ךםןףץ", "כמנפצ")
# Gershayim, geresh and maqaf as ASCII: one character for one, so that places in a text hold.
GERSHAYIM, GERESH = '"״“”„‟″', "'׳’‘‚‛′`"
PLAIN_QUOTES = str.maketrans(
    {sign: '"' for sign in GERSHAYIM} | {sign: "'" for sign in GERESH} | {"־": "-"}
)
# Inside a word (תב"ע, צ'ק), where they may as well be missing; two single ones are a double one.
QUOTES_IN_WORD = re.compile(f"(?<={LETTER})[{GERSHAYIM}{GERESH}]{{1,2}}(?={LETTER})")

PREFIX_LETTERS = "ובכלמשה"  # and, in, as, to, from, that, the
# The combinations that stand before a word, longest first, and the order they come in.
PREFIXES = "וכש ושב ושה ולכ שב שה של שמ וה וב ול ומ וש כש מה בה לה ה ב ל מ ש ו כ".split()
PREFIX = re.compile("ו?(?:לכש|מש|כש|ש)?[בכלמ]?ה?")
# What a search cuts off a word: of number and gender.
ENDINGS = "יות ים ות יה ה ת י".split()
# Number, construct state and whose it is; by how the word ends, final letters folded.
INFLECTIONS = {
    "ית": ("ית", "יות", "יתו", "יתה", "יתמ", "יותיו", "יותיה", "יותיהמ"),
    "ות": ("ות", "ויות", "ותו", "ותה", "ותמ", "ויותיו"),
    "ימ": ("ימ", "י", "", "יו", "יה", "יהמ"),
    "ה": ("ה", "ת", "ות", "תו", "תה", "תמ", "ותיו", "ותיה", "ותיהמ", "ימ", "י"),
    "": ("", "ימ", "י", "ות", "ו", "מ", "יו", "יה", "יהמ", "ותיו", "ותיהמ"),
}
# the values of letters as numerals (gematria)
NUMERALS = dict(
    zip(
        "אבגדהוזחטיכלמנסעפצקרשת",
        (*range(1, 11), *range(20, 100, 10), *range(100, 401, 100)),
        strict=True,
    )
)


def without_points(text: str) -> str:
    return NIQQUD.sub("", text)


def single_letters(text: str) -> str:
    """The doubled vav and yod of full spelling as one."""
    return text.replace("יי", "י").replace("וו", "ו")


def number_of(letters: str) -> int:
    """The number that letters stand for: י"ב is 12, ה' is 5."""
    return sum(NUMERALS[letter] for letter in letters.translate(FINALS) if letter in NUMERALS)


@lru_cache(maxsize=65536)
def lemma(word: str) -> str:
    """The longest prefix that leaves three letters goes, then a common ending; final letters are
    folded."""
    for prefix in PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= 3:
            word = word[len(prefix) :]
            break
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word.translate(FINALS)


def same_word(term: str, word: str) -> bool:
    """Whether `word` is `term` with prefixes and an ending. The term is taken as written: its first
    letter may be a part of it, as in היתר, or not."""
    forms, plain = _forms(term), single_letters(word.translate(FINALS))
    longest = PREFIX.match(plain)
    starts = range(longest.end() + 1) if longest else (0,)
    return any(PREFIX.fullmatch(plain, 0, start) and plain[start:] in forms for start in starts)


@lru_cache(maxsize=4096)
def _forms(term: str) -> frozenset[str]:
    plain = single_letters(term.translate(FINALS))
    end = next(end for end in INFLECTIONS if plain.endswith(end) and len(plain) - len(end) >= 2)
    stem = plain[: len(plain) - len(end)]
    return frozenset(stem + other for other in INFLECTIONS[end]) | {plain}
