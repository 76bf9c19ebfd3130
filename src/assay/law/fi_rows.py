"""Rows of Finnish citations with words between them: "21 luvun 1 §:ssä säädetään moitteesta tai
2 §:ssä mitättömyydestä". The law and the chapter that the first names hold for the others.

A conjunction right before a section joins it to the one before, where both stand in one case. A
comma may as well end a clause. It joins where the row goes on ("…, 2 §:ssä … tai 3 §:ssä …") or
both are followed by one word ("1 §:ssä tarkoitettu …, 2 §:ssä tarkoitettu …")."""

from __future__ import annotations

import re
from typing import NamedTuple

_BETWEEN = re.compile(
    r"(?P<words>\s[^.;:()§,\n]{1,120}?)(?P<by>,|\s(?:ja|tai|sekä|taikka|että|eikä))\s"
)
# What begins another clause, or names a place by itself.
_APART = re.compile(
    r"\b(?:jo[klnst]\w*|jos|kun|mitä|mikä\w*|vaikka|koska|mutta|vaan|tä[mstk]\w+)\b"
)
_CONDITION = re.compile(r"\s*(?:jos|kun|jollei\w*|ellei\w*|mikäli|vaikka|koska|milloin)\b", re.I)
_VERB = re.compile(r"[td](?:aan|ään)$")
_LAST_WORD = re.compile(r"[\wåäö]+\W*$")
_NEXT_WORD = re.compile(r"\s+([\wåäö]+)")
_CASES = {
    "ss[aä]": "in",
    "st[aä]": "from",
    "ll[aä]|lt[aä]|lle": "at",
    "(?:aa|ää|ee|ii)n|hin": "into",
    "n": "of",
    "[aä]{2}|i[aä]|jä|ja": "some",
}


class Place(NamedTuple):
    """From where to where a citation stands, and whether it names its own chapter."""

    start: int
    end: int
    has_chapter: bool = False


def joined(text: str, one: Place, two: Place, after: Place | None = None) -> bool:
    """Whether the second goes on with the row that the first is of; `after` stands next."""
    between = _BETWEEN.fullmatch(text, one.end, two.start)
    if between is None or _APART.search(between["words"].lower()):
        return False
    if _case(text, one) != _case(text, two):
        return False
    is_parallel = _next_word(text, one) == _next_word(text, two) != ""
    if two.has_chapter and not is_parallel:
        return False
    if between["by"] != ",":
        return True
    clause = text[max(text.rfind(sign, 0, one.start) for sign in ".;:,\n") + 1 : one.start]
    if _CONDITION.match(clause) or _VERB.search(between["words"]):
        return False
    return is_parallel or (after is not None and _ends_row(text, two, after))


def _ends_row(text: str, two: Place, after: Place) -> bool:
    between = _BETWEEN.fullmatch(text, two.end, after.start)
    is_last = between is not None and between["by"] != ","
    return is_last and joined(text, two, after)


def _case(text: str, place: Place) -> str:
    """In what case a citation stands, by the last of its words: "1 §:n 2 momentissa" in the one of
    "momentissa"."""
    last = _LAST_WORD.search(text, place.start, place.end)
    word = last[0].rstrip(" .,") if last else ""
    return next((name for ends, name in _CASES.items() if re.search(f"(?:{ends})$", word)), "")


def _next_word(text: str, place: Place) -> str:
    word = _NEXT_WORD.match(text, place.end)
    return word[1].lower() if word else ""
