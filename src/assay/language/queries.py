"""When two people typed the same query: one form for all spellings of it, in any script, with care
for Hebrew and Finnish. Only what people vary without meaning anything is removed; words are never
stemmed."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Vowel points and cantillation of Hebrew. Marks of other scripts stay: in Finnish ä is a letter,
# not an a with dots.
_HEBREW_MARKS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u034f]")
_FINAL_LETTERS = str.maketrans("ךםןףץ", "כמנפצ")
# Gershayim (תב"ע) and geresh (צ'ק) as people type them: the Hebrew signs, ASCII, curly, primes, or
# two single ones.
_QUOTES_IN_HEBREW = re.compile("(?<=[א-ת])[\"״“”„‟″'׳’‘‚‛′`]{1,2}(?=[א-ת])")
_ACUTE = str.maketrans("´", "'")  # its compatibility form is a space and an accent
_SECTION_LETTER = re.compile(r"(?<=\d)\s+([a-zåäö])(?=\s*§)")  # Finnish: 110 a § is 110a §
_SECTION_SIGN = re.compile(r"\s*(§+)\s*")


@lru_cache(maxsize=65536)
def normal_query(text: str) -> str:
    """The key queries are grouped by. Idempotent; empty when there is nothing to search for."""
    bare = "".join(
        sign for sign in text.translate(_ACUTE) if unicodedata.category(sign) not in ("Cf", "Cs")
    )
    folded = unicodedata.normalize("NFKC", _HEBREW_MARKS.sub("", bare)).casefold()
    folded = _HEBREW_MARKS.sub("", unicodedata.normalize("NFKC", folded))
    folded = _QUOTES_IN_HEBREW.sub("", folded).translate(_FINAL_LETTERS)
    folded = _SECTION_SIGN.sub(r" \1 ", _SECTION_LETTER.sub(r"\1", folded))
    return " ".join("".join(map(_word_or_space, unicodedata.normalize("NFC", folded))).split())


def _word_or_space(sign: str) -> str:
    """Letters, numbers, their marks and currencies; and the two signs that carry meaning in a legal
    query."""
    category = unicodedata.category(sign)
    return sign if category[0] in "LNM" or category == "Sc" or sign in "§%" else " "


def row_key(query: str, corpus: str) -> str:
    """What makes two gold rows the same row. A tab, since no normal query has one."""
    return f"{corpus.strip()}\t{normal_query(query)}"
