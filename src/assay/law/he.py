"""Hebrew citations: sections of laws and schedules, and cases by number.

    סעיף 197 לחוק התכנון והבנייה         בסעיף 197 לחוק התכנון והבנייה, התשכ"ה-1965; ס' 197 לחוק התכנון והבנייה
    סעיף 4(5) לתוספת השלישית              סעיף 4(5) לתוספת השלישית לחוק
    ערר 8011/19                            בערר (מחוז מרכז) 8011/19

Where a law's name ends in running text is settled by its year, by a name the corpus knows, or by
grammar: the words that carry on a name begin with the article or with "and"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.law.citation import Citation, Kind, Scheme

ORDINALS = (
    "ראשונה",
    "שנייה",
    "שלישית",
    "רביעית",
    "חמישית",
    "שישית",
    "שביעית",
    "שמינית",
    "תשיעית",
    "עשירית",
)
SPELLINGS = {"שניה": "שנייה", "ששית": "שישית"}
UNITS = {
    "סעיף": "סעיף",
    "סעיפים": "סעיף",
    "סעיפי": "סעיף",
    "ס'": "סעיף",
    "סע'": "סעיף",
    "תקנה": "תקנה",
    "פרט": "פרט",
}
COURTS = (
    'ע"א',
    'רע"א',
    'בג"ץ',
    'ע"פ',
    'רע"פ',
    'דנ"א',
    'עע"מ',
    'בר"ם',
    'עת"מ',
    'ת"א',
    'ת"פ',
    'ה"פ',
    'עמ"נ',
    'ו"ע',
    'בש"א',
    'עמ"ה',
    'ע"ע',
    'דנג"ץ',
    "ערר",
    'ער"ר',
    'ת"ק',
    'בב"נ',
)
# Names of laws that go on without an article, which grammar alone would cut short.
NAMES = (
    "חוק מס ערך מוסף",
    "חוק מיסוי מקרקעין",
    "חוק יסודות התקציב",
    "חוק רשויות מקומיות",
    "פקודת מס הכנסה",
    "חוק בתי משפט לעניינים מינהליים",
    "חוק תובענות ייצוגיות",
    "חוק חופש המידע",
    "פקודת העיריות",
)

_QUOTES = str.maketrans(
    {"״": '"', "”": '"', "“": '"', "׳": "'", "’": "'", "‘": "'", "־": "-", "–": "-", "—": "-"}
)
_NUMBER = r"\d{1,4}(?:(?!ו-\d)[א-ת]{1,3}\d{0,2})?(?:\([א-ת\d]{1,4}\)){0,5}(?![א-ת\d])"
_SEPARATOR = r"(?:\s?,\s?(?:ו-?\s?)?|\s+ו-?\s?|\s+או\s+|\s+עד\s+|\s?-\s?)"
_LIST = rf"{_NUMBER}(?:{_SEPARATOR}{_NUMBER})*"
_UNIT = r"סעיפים|סעיפי|סעיף|סע'|ס'|תקנה|פרט"
_YEAR = r'(?:,?\s*ה?תש[א-ת]{0,2}"?[א-ת]\s*-\s*(?:19|20)\d\d)'
_SCHEDULE = r"(?:\s+ל?(?:ה?תוספת)\s+(?P<schedule>ה?(?:{}))(?![א-ת]))".format(
    "|".join((*ORDINALS, *SPELLINGS))
)
# looked at and not taken: where the name ends is settled later, and the words after it may hold the
# next citation
_LAW = (
    r"(?:(?=\s+(?:ל|של\s+)(?P<law>(?:ה?חוק|פקודת|תקנות|צו|חוק-יסוד)(?![א-ת])[^\n.;:()]{0,120}))|)"
)
_STATUTE = re.compile(
    rf"(?<![א-ת])[ושבלמכה]{{0,3}}(?P<unit>{_UNIT})\s*(?P<list>{_LIST}){_SCHEDULE}?{_LAW}"
)
_COURT = "|".join(re.escape(name) for name in sorted(COURTS, key=len, reverse=True))
_CASE = re.compile(
    rf"(?<![א-ת\"'])[ושבלמכה]{{0,2}}?(?P<court>{_COURT})\s*(?:\([^()]{{1,25}}\)\s*)?(?P<number>\d{{1,6}}(?:[/-]\d{{2,4}}){{1,2}})(?!\d)"
)
_ONE = re.compile(_NUMBER)
_THROUGH = re.compile(r"^(?:\s?-\s?|\s+עד\s+)$")
_CONTINUES = re.compile(r"^(?:\(.*|[הו][א-ת\"']+,?|\(?[א-ת\"' ]+\))$")


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    plain = text.translate(_QUOTES)  # one character for one, so spans hold
    for match in _STATUTE.finditer(plain):
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


def law_key(name: str) -> str:
    """A law's name for comparison: without year and vowel marks, and with either spelling of
    doubled letters."""
    plain = re.sub(r"[\u0591-\u05c7]", "", name.translate(_QUOTES))
    plain = re.sub(rf"{_YEAR}.*$|\[[^\]]*\]|\([^)]*\)", "", plain)
    words = re.sub(r"[,\"'-]", " ", plain).split()
    return " ".join(words).replace("יי", "י").replace("וו", "ו")


def _statutes(text: str, match: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    shared = {"unit": UNITS[match["unit"]]} if UNITS[match["unit"]] != "סעיף" else {}
    end = match.end("list")
    if match["schedule"]:
        word = match["schedule"].removeprefix("ה")
        shared["schedule"] = str(ORDINALS.index(SPELLINGS.get(word, word)) + 1)
        end = match.end("schedule")
    if match["law"] and (name := _law_name(match["law"], scheme)):
        shared["law"] = name
        end = match.start("law") + len(name)
    items = _sections(match)
    for index, (parts, start, stop) in enumerate(items):
        first = match.start("unit") if index == 0 else start
        yield _citation(
            text, "statute", shared | parts, first, end if index == len(items) - 1 else stop
        )


def _sections(match: re.Match[str]) -> list[tuple[dict[str, str], int, int]]:
    found = list(_ONE.finditer(match.string, match.start("list"), match.end("list")))
    items: list[tuple[dict[str, str], int, int]] = []
    for before, one in zip([None, *found], found, strict=False):
        if before and _THROUGH.match(match.string[before.end() : one.start()]):
            parts, start, _ = items[-1]
            items[-1] = (parts | {"to": one[0]}, start, one.end())
        else:
            section, bracket, rest = one[0].partition("(")
            parts = {"section": section} | ({"sub": bracket + rest} if bracket else {})
            items.append((parts, one.start(), one.end()))
    return items


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


def _citation(text: str, kind: Kind, parts: dict[str, str], start: int, end: int) -> Citation:
    return Citation(
        text=text[start:end],
        start=start,
        end=end,
        kind=kind,
        language="he",
        normal=format(kind, parts),
        parts=parts,
    )
