"""Find what a text cites in a form that only its context completes, and acts by their number or
year. Answers are full of both; in a corpus the readers of each language would find too much.

    (5:27.4)                     the act that was cited before by chapters
    סעיף קטן (ב) · ס"ק (ג)(1)      the section that was cited before
    ERA s. 104 · ss 139-141 ERA 1996 · reg 12(1)(b) · section 98ZA
    kuntalaki (410/2015) · חוק המקרקעין, תשכ"ט-1969
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.law.citation import Citation

_NUMBER = r"\d{1,4}[A-Z]{0,3}(?![\w/]|[.:]\d)(?:\(\w{1,4}\))*"
_ACT = r"[A-Z][A-Za-z&]{0,10}[A-Z]{1,6}(?:\s(?:19|20)\d\d)?(?!\w)"
_FORMS = {
    "en": re.compile(
        rf"(?<![\w.§-])(?:(?P<act>{_ACT}),?\s)?(?:[Ss]s?\.?|[Ss]ections?|[Rr]egs?\.?|[Rr]egulations?)"
        rf"\s?(?P<section>{_NUMBER})"
        rf"(?:(?:,\s|\s?[-–]\s?|\s(?:and|or|to)\s)(?:{_NUMBER}|(?:\(\w{{1,4}}\))+))*"
        rf"(?:\s(?:of\s(?:the\s)?)?(?P<code>{_ACT}))?"
    ),
    "fi": re.compile(
        r"(?<=\()(?P<chapter>\d{1,2}):(?P<section>\d{1,2}(?:\s?[a-z])?)\.(?P<moment>\d{1,2})"
        r"(?=[,;)])"
    ),
    "he": re.compile(
        r"(?<![א-ת])[בלמשהכ]{0,2}(?:סעיף\s+קטן|סעיפים\s+קטנים|ס\"ק|ס״ק)\s+"
        r"(?P<sub>\(\w{1,3}\)(?:\(\w{1,3}\))*)"
    ),
}


def short_forms(text: str, language: str) -> Iterator[Citation]:
    """Every citation of a text in the short forms of a language."""
    for match in _FORMS[language].finditer(text) if language in _FORMS else ():
        parts = {key: "".join(value.split()) for key, value in match.groupdict("").items()}
        if language == "en":
            parts["section"], _, sub = parts["section"].partition("(")
            parts["sub"] = sub and f"({sub}"
            parts["code"] = match["code"] or parts.pop("act")
        yield Citation(
            text=match[0],
            start=match.start(),
            end=match.end(),
            kind="statute",
            language=language,
            normal=" ".join(match[0].split()),
            parts={key: value for key, value in parts.items() if value and key != "act"},
        )


_FINNISH_ACT = re.compile(
    r"(?<![\w-])[\w-]*(?:lak[i]\w{0,3}|lai\w{1,4}|asetu\w{1,6}|kaar\w{1,4})"
    r"\s\((?P<id>\d{1,4}/\d{4})\)",
    re.IGNORECASE,
)
_HEBREW_ACT = re.compile(
    r"(?<![א-ת\"'])(?P<prefix>[ובלמשהכ]{0,2})(?P<name>(?:חוק|פקודת|תקנות|צו)(?:-יסוד:?)?\s"
    r"(?:(?!\s[ובלמשהכ]{0,2}(?:חוק|פקודת|תקנות)\s)[^\n.;:?!\[\]·]){2,110}?"
    r"(?:\s\[נוסח\s[א-ת]{3,5}\])?),?\s"
    r"(?P<year>ה?תש[א-ת]{0,2}[\"״'׳]{1,2}[א-ת]\s?[-–־]\s?(?:19|20)\d\d)"
)


def numbered_acts(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Acts that Finnish names with their number, and Hebrew with their year."""
    for match in _FINNISH_ACT.finditer(text):
        yield match[0].partition(" (")[0], match["id"], match.start(), match.end()
    for match in _HEBREW_ACT.finditer(text):
        start = match.start() + match["prefix"].startswith("ו")
        yield match["name"].rstrip(" ,"), match["year"], start, match.end()
