"""When two people typed the same query: one form for all spellings of it, in any script, with care for Hebrew and
Finnish. Only what people vary without meaning anything is removed; words are never stemmed."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Vowel points and cantillation of Hebrew. Marks of other scripts stay: in Finnish ä is a letter, not an a with dots.
_HEBREW_MARKS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u034f]")
_FINAL_LETTERS = str.maketrans("ךםןףץ", "כמנפצ")
# Gershayim (תב"ע) and geresh (צ'ק) as people type them: the Hebrew signs, ASCII, curly, primes, or two single ones.
_QUOTES_IN_HEBREW = re.compile(
    "(?<=[א-ת])(?:[\"״“”„‟″′’‘‚‛'׳`´]{1,2})(?=[א-ת])"
)
# The geresh that ends an abbreviation (עמ', מס') says no more than its letters.
_GERESH_AT_END = re.compile("(?<=[א-ת])['׳’′`´](?![א-ת])")
_SECTION_LETTER = re.compile(r"(?<=\d)\s+([a-zåäö])(?=\s*§)")  # Finnish 110 a § is 110a §
_SECTION_SIGN = re.compile(r"\s*(§+)\s*")
_INSIDE_WORD = re.compile(r"(?<=[^\W\d_])[:'’ʼ-‐‑](?=[^\W\d_])")  # EU:n, don't, self-dealing
_KEPT = "§%"


@lru_cache(maxsize=65536)
def normal_query(text: str) -> str:
    """The key queries are grouped by. Idempotent; empty when there is nothing to search for."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = "".join(sign for sign in folded if unicodedata.category(sign) not in ("Cf", "Cs"))
    folded = _HEBREW_MARKS.sub("", folded)
    folded = _QUOTES_IN_HEBREW.sub("", folded).translate(_FINAL_LETTERS)
    folded = _GERESH_AT_END.sub(" ", folded)
    folded = _SECTION_SIGN.sub(r" \1 ", _SECTION_LETTER.sub(r"\1", folded))
    return " ".join("".join(map(_word_or_space, folded)).split())


def _word_or_space(sign: str) -> str:
    if sign in _KEPT or unicodedata.category(sign)[0] in "LNMS":
        return sign
    return " "


def row_key(query: str, corpus: str) -> str:
    """What makes two gold rows the same row. A tab, since no normal query has one."""
    return f"{corpus.strip()}\t{normal_query(query)}"
