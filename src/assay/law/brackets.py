"""Brackets after a section, 87103(b)(1) or 62א(א)(4): what one means that follows in a list."""

from __future__ import annotations

import re

_BRACKET = re.compile(r"\(([^()]+)\)")
_ROMAN = re.compile(r"[ivx]+")


def placed(before: str, further: str) -> str:
    """What brackets mean after others: they take the place of the one of their kind. After (b)(1),
    (c) is (c) and (2) is (b)(2); nothing where there is none of the kind."""
    brackets, added = _BRACKET.findall(before), _BRACKET.findall(further)
    kinds = [_kind(bracket) for bracket in brackets]
    if _kind(added[0]) not in kinds:
        return ""
    depth = kinds.index(_kind(added[0]))
    is_roman = len(brackets) > 1 and _ROMAN.fullmatch(added[0]) and _ROMAN.fullmatch(brackets[-1])
    if is_roman:
        depth = len(brackets) - 1
    return "".join(f"({bracket})" for bracket in (*brackets[:depth], *added))


def end_of(first: str, last: str) -> str:
    """The brackets in which the end of a range differs from its beginning: (3) of (g)(1)–(g)(3)."""
    brackets = [f"({bracket})" for bracket in _BRACKET.findall(last)]
    shorter = ("".join(brackets[depth:]) for depth in range(len(brackets) - 1, 0, -1))
    return next((end for end in shorter if placed(first, end) == last), last)


def _kind(bracket: str) -> str:
    if bracket.isdecimal():
        return "number"
    if "א" <= bracket[0] <= "ת":
        return "Hebrew"
    return "capital" if bracket.isupper() else "small"
