"""Hebrew citations: sections of laws and schedules, and cases by number.

    סעיף 197 לחוק התכנון והבנייה         בסעיף 197 לחוק התכנון והבנייה, התשכ"ה-1965
                                           ס' 197 לחוק התכנון והבנייה
    סעיף 4(5) לתוספת השלישית              סעיף 4(5) לתוספת השלישית לחוק
    ערר 8011/19                            בערר (מחוז מרכז) 8011/19

Where a law's name ends in running text is settled by its year, by a name the corpus knows, or by
grammar: the words that carry on a name begin with the article or with "and"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from assay.language.hebrew import (
    PLAIN_QUOTES,
    PREFIX_LETTERS,
    number_of,
    single_letters,
    without_points,
)
from assay.law.citation import Citation, Kind, Scheme, citation_at
from assay.law.spellings import spelled

ORDINALS = tuple("ראשונה שנייה שלישית רביעית חמישית שישית שביעית שמינית תשיעית עשירית".split())
OTHER_ORDINALS = {"שניה": "שנייה", "ששית": "שישית"}
UNITS = {
    **dict.fromkeys(("סעיף", "סעיפים", "סעיפי", "ס'", "סע'"), "סעיף"),
    **dict.fromkeys(("תקנה", "תקנות"), "תקנה"),
    "פרט": "פרט",
}
COURTS = (
    'ע"א רע"א בג"ץ ע"פ רע"פ דנ"א עע"מ בר"ם עת"מ ת"א ת"פ ה"פ עמ"נ ו"ע בש"א עמ"ה ע"ע דנג"ץ ערר ער"ר '
    'ת"ק בב"נ'
).split()
# Names of laws that go on without an article, which grammar alone would cut short.
NAMES = (
    *("חוק מס ערך מוסף", "חוק מיסוי מקרקעין", "חוק יסודות התקציב", "חוק רשויות מקומיות"),
    *("פקודת מס הכנסה", "חוק בתי משפט לעניינים מינהליים", "חוק תובענות ייצוגיות"),
    *("חוק חופש המידע", "פקודת העיריות"),
)

# One character for one, so that places in a text hold.
_QUOTES = PLAIN_QUOTES | str.maketrans(dict.fromkeys("־‐‑‒–—―−", "-"))
_BRACKETS = r"(?:\([א-ת\d]{1,4}\)|\s\([א-ת\d]{1,2}\)){0,5}"
_NUMBER = rf"\d{{1,4}}(?:(?!ו-\d)[א-ת]{{1,3}}\d{{0,2}})?{_BRACKETS}(?![א-ת\d])"
_SEPARATOR = r"(?:\s?,\s?(?:ו-?\s?)?|\s+ו-?\s?|\s+או\s+|\s+עד\s+|\s?-\s?)"
PIECES = {"LIST": rf"{_NUMBER}(?:{_SEPARATOR}{_NUMBER})*"}
_YEAR = r'(?:,?\s*ה?תש[א-ת]{0,2}"?[א-ת]\s*-\s*(?:19|20)\d\d)'
_ORDINAL = "|".join((*ORDINALS, *OTHER_ORDINALS))
_SCHEDULE = rf"(?:\s+ל?(?:ה?תוספת)\s+(?P<schedule>ה?(?:{_ORDINAL}))(?![א-ת]))"
# looked at and not taken: where the name ends is settled later, and the words after it may hold the
# next citation
_LAW = (
    r"(?:(?=\s+(?:ל|של\s+)(?P<law>(?:ה?חוק|פקודת|תקנות|צו|חוק-יסוד)(?![א-ת])[^\n.;:()]{0,120}))|)"
)
_RULES = [
    re.compile(rf"(?<![א-ת])[{PREFIX_LETTERS}]{{0,3}}{core}{_SCHEDULE}?{_LAW}")
    for _, core in spelled("he", PIECES)
]
_COURT = "|".join(re.escape(name) for name in sorted(COURTS, key=len, reverse=True))
_CASE = re.compile(
    rf"(?<![א-ת\"'])[{PREFIX_LETTERS}]{{0,2}}?(?P<court>{_COURT})\s*(?:\([^()]{{1,25}}\)\s*)?"
    r"(?P<number>\d{1,6}(?:[/-]\d{2,4}){1,2})(?!\d)"
)
_ONE = re.compile(_NUMBER)
_THROUGH = re.compile(r"^(?:\s?-\s?|\s+עד\s+)$")
_CONTINUES = re.compile(r"^(?:\(.*|[הו][א-ת\"']+,?|\(?[א-ת\"' ]+\))$")
Spanned = tuple[dict[str, str], int, int]  # what is named, and from where to where it stands


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    plain = text.translate(_QUOTES)
    for rule in _RULES:
        for match in rule.finditer(plain):
            yield from _statutes(text, match, scheme)
    for match in _CASE.finditer(plain):
        start = match.start("court")
        parts = {"court": match["court"], "number": match["number"]}
        yield _citation(text, "case", parts, start, match.end())


def format(kind: Kind, parts: dict[str, str]) -> str:
    if kind == "case":
        return f"{parts['court']} {parts['number']}"
    to = f"-{parts['to']}" if parts.get("to") else ""
    schedule = f" לתוספת ה{ORDINALS[int(parts['schedule']) - 1]}" if parts.get("schedule") else ""
    law = f" ל{parts['law']}" if parts.get("law") else ""
    return (
        f"{parts.get('unit', 'סעיף')} {parts['section']}{parts.get('sub', '')}{to}{schedule}{law}"
    )


_citation = partial(citation_at, "he", format)


def law_name(name: str) -> str:
    """As it is written: `law_key` compares names."""
    return name


def law_key(name: str) -> str:
    """A law's name for comparison: without year and vowel marks, and with either spelling of
    doubled letters."""
    plain = without_points(name.translate(_QUOTES))
    plain = re.sub(rf"{_YEAR}.*$|\[[^\]]*\]|\([^)]*\)", "", plain)
    words = re.sub(r"[,\"'-]", " ", plain).split()
    return single_letters(" ".join(words))


def without_year(name: str) -> str:
    """A law's name as people say it: חוק התכנון והבנייה, without התשכ"ה-1965."""
    return re.sub(r",?\s*ה?תש[א-ת\"״]+[-–]\d{4}.*$", "", name)


def schedule_number(name: str) -> str:
    """The number of a schedule, from the ordinal in its name: התוספת השלישית is 3."""
    for number, word in enumerate(ORDINALS, start=1):
        forms = [word, *(old for old, new in OTHER_ORDINALS.items() if new == word)]
        if re.search(rf"(?<![א-ת])ה?(?:{'|'.join(forms)})(?![א-ת])", name):
            return str(number)
    return ""


def _statutes(text: str, match: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    shared = {"unit": UNITS[match["unit"]]} if UNITS[match["unit"]] != "סעיף" else {}
    in_letters = "letters" in match.re.groupindex
    end = match.end("letters" if in_letters else "list")
    if match["schedule"]:
        shared["schedule"] = schedule_number(match["schedule"])
        end = match.end("schedule")
    if match["law"] and (name := _law_name(match["law"], scheme)):
        shared["law"] = name
        end = match.start("law") + len(name)
    if in_letters:
        parts = shared | {"section": str(number_of(match["letters"]))}
        yield _citation(text, "statute", parts, match.start("unit"), end)
        return
    sections = _sections(match)
    for index, (parts, start, stop) in enumerate(sections):
        first = match.start("unit") if index == 0 else start
        last = end if index == len(sections) - 1 else stop
        yield _citation(text, "statute", shared | parts, first, last)


def _sections(match: re.Match[str]) -> list[Spanned]:
    numbers = list(_ONE.finditer(match.string, *match.span("list")))
    sections: list[Spanned] = []
    for before, number in zip([None, *numbers], numbers, strict=False):
        written = "".join(number[0].split())
        if before and _THROUGH.match(match.string[before.end() : number.start()]):
            parts, start, _ = sections[-1]
            sections[-1] = (parts | {"to": written}, start, number.end())
        else:
            section, bracket, rest = written.partition("(")
            parts = {"section": section} | ({"sub": bracket + rest} if bracket else {})
            sections.append((parts, number.start(), number.end()))
    return sections


def _law_name(text: str, scheme: Scheme) -> str:
    """How much of the words after "to the law" is its name."""
    if (year := re.search(_YEAR, text)) and " ו" + text.split()[0] not in text[: year.start()]:
        name = text[: year.start()].rstrip(" ,")
        # the year is kept where only it shows how far the name goes, so that the printed form can
        # be read again
        return name if _law_name(name, scheme) == name else text[: year.end()]
    known = [name for name in (*scheme.laws, *NAMES) if _begins(text, name)]
    if known:
        return text[: max(_begins(text, name) for name in known)]
    words = text.split(" ")
    if words[0] in ("חוק", "החוק", "תקנות", "צו", "פקודת") and (
        len(words) == 1 or words[1].rstrip(",") == "זה"
    ):
        return ""  # "this law"
    kept = words[:2]
    for word in words[2:]:
        if not _CONTINUES.match(word) or kept[-1].endswith(","):
            break
        kept.append(word)
    name = " ".join(kept).rstrip(" ,\"'")
    return name if words[0] != "החוק" else ""


def _begins(text: str, name: str) -> int:
    """The length of `name` at the start of `text`, in either spelling; 0 when it is not there."""
    words = name.split()
    start = " ".join(text.split(" ")[: len(words)]).rstrip(" ,")
    return len(start) if law_key(start) == law_key(name) else 0
