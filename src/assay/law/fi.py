"""Finnish citations: sections and moments, with the law by name (in any case form), by number, or
left out.

    kuntalaki 110 § 3 mom.          kuntalain 110 §:n 3 momentti; kuntalain 110 pykälän 3 momentissa
    110a §                          110 a §; 110a §:ssä; pykälä 110 a
    113–115 §                       113–115 §:ssä
    kirjanpitolaki (1336/1997) 1 luku 5 §     kirjanpitolain (1336/1997) 1 luvun 5 §:ssä
    tämä laki 5 § 1 mom. 2 kohta    tämän lain 5 §:n 1 momentin 2 kohdan

A list ("4 a ja 4 c §:ssä", "2 ja 3 momentissa") becomes one citation an item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.law.citation import Citation, Kind, Scheme

# The last word of a law's name bends; the table says to what base form each ending belongs.
ENDINGS = {
    "laki": (
        "laki",
        "lain",
        "lakia",
        "laissa",
        "laista",
        "lakiin",
        "lailla",
        "lailta",
        "laille",
        "lakina",
        "laiksi",
    ),
    "asetus": (
        "asetus",
        "asetuksen",
        "asetusta",
        "asetuksessa",
        "asetuksesta",
        "asetukseen",
        "asetuksella",
        "asetukselle",
        "asetukseksi",
    ),
    "kaari": ("kaari", "kaaren", "kaarta", "kaaressa", "kaaresta", "kaareen", "kaarella"),
    "sääntö": ("sääntö", "säännön", "sääntöä", "säännössä", "säännöstä", "sääntöön"),
}
BASE_FORMS = {form: base for base, forms in ENDINGS.items() for form in forms}
POINTERS = {
    "tämän": "tämä",
    "tässä": "tämä",
    "tätä": "tämä",
    "tämä": "tämä",
    "mainitun": "mainittu",
    "mainitussa": "mainittu",
    "mainittu": "mainittu",
    "saman": "mainittu",
    "sanotun": "mainittu",
}

_ENDING = "|".join(sorted(BASE_FORMS, key=len, reverse=True))
_DASH = "[-–—]"
_UNIT = r"\d{1,4}(?:\s?[a-zåäö](?![\wåäö]))?"
_SEPARATOR = rf"(?:\s?{_DASH}\s?|,\s(?:ja\s|tai\s|sekä\s)?|\s(?:ja|tai|sekä|taikka)\s)"
_UNITS = rf"{_UNIT}(?:{_SEPARATOR}{_UNIT})*"
_NUMBERS = rf"\d{{1,2}}(?:{_SEPARATOR}\d{{1,2}})*"
_LAW = rf"(?:(?P<law>(?:(?:{'|'.join(POINTERS)})\s+)?[\wåäöÅÄÖ-]*(?:{_ENDING}))\s+(?:\((?P<id>\d{{1,4}}/\d{{4}})\)\s+)?)"
_CHAPTER = rf"(?:(?P<chapter>{_UNIT}|tämän|tämä|saman)\s+(?:luvun|luku|luvussa)\s+)"
_SECTION = (
    rf"(?:(?P<units>{_UNITS})\.?\s?(?:§(?::[\wåäö]+)?|pykäl[\wåäö]*)"
    rf"|pykäl[\wåäö]*\s+(?P<units2>{_UNITS})(?!\.?\s?(?:§|pykäl)))"
)
_MOMENT = rf"(?P<moments>{_NUMBERS})\.?\s+(?:moment[\wåäö]*|mom\.)"
_ITEM = rf"(?P<items>{_NUMBERS})\s?(?:kohta[\wåäö]*|kohda[\wåäö]*)"
_OWN = rf"{_MOMENT.replace('moments', 'own')}(?:\s+{_ITEM.replace('items', 'own_items')})?"
_CITATION = re.compile(
    rf"(?<![\wåäö§/]){_LAW}?{_CHAPTER}?{_SECTION}(?:\s+{_MOMENT})?(?:\s+{_ITEM})?|(?<![\wåäö§/–-]){_OWN}",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r",?\s(?:(?:ja|tai|sekä|taikka)\s)?")
_ONE_MOMENT = re.compile(rf"\d{{1,2}}(?:\s?{_DASH}\s?\d{{1,2}})?")
_ONE_UNIT = re.compile(_UNIT, re.IGNORECASE)
_RANGE = re.compile(rf"^\s?{_DASH}\s?$")


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    last: dict[str, str] = {}
    before: dict[str, str] = {}
    end_before = -1
    for match in _CITATION.finditer(text):
        law = _law(match, last)
        if match["law"] and not law.get("law", "").startswith("tämä"):
            last = law
        if (
            end_before >= 0
            and not match["law"]
            and _GOES_ON.fullmatch(text, end_before, match.start())
        ):
            law = _carried(before, match) | law
        items = _items(match)
        for index, (parts, start, end) in enumerate(items):
            start = match.start() if index == 0 else start
            end = match.end() if index == len(items) - 1 else end
            before = law | parts
            yield _citation(text, before, start, end)
        end_before = match.end()


def format(kind: Kind, parts: dict[str, str]) -> str:
    pieces = [parts["law"]] if parts.get("law") else []
    pieces += [f"({parts['id']})"] if parts.get("id") else []
    pieces += [f"{parts['chapter']} luku"] if parts.get("chapter") else []
    if parts.get("section"):
        to = f"–{parts['to']}" if parts.get("to") else ""
        pieces.append(f"{parts['section']}{to} §")
    pieces += [f"{parts['moment']} mom."] if parts.get("moment") else []
    pieces += [f"{parts['item']} kohta"] if parts.get("item") else []
    return " ".join(pieces)


def law_base(name: str) -> str:
    """A law's name in its base form, in lower case: 'Kuntalain' is 'kuntalaki'."""
    words = name.lower().split()
    if not words:
        return ""
    for form in sorted(BASE_FORMS, key=len, reverse=True):
        if words[-1].endswith(form):
            words[-1] = words[-1].removesuffix(form) + BASE_FORMS[form]
            break
    return " ".join(POINTERS.get(word, word) for word in words)


def _law(match: re.Match[str], last: dict[str, str]) -> dict[str, str]:
    parts: dict[str, str] = {}
    if match["law"]:
        parts["law"] = law_base(match["law"])
        if parts["law"].startswith("mainittu") and last:
            parts = {key: last[key] for key in ("law", "id") if key in last}
        if match["id"]:
            parts["id"] = match["id"]
    if chapter := match["chapter"]:
        parts["chapter"] = "tämä" if chapter.lower() in POINTERS else _compact(chapter)
    return parts


def _carried(before: dict[str, str], match: re.Match[str]) -> dict[str, str]:
    """What the next of a row of citations leaves out: "rikoslain 29 luvun 1 §:ssä, 2 §:ssä ja 30
    luvun 8 §:ssä"."""
    keys = ["law", "id"]
    if not match["chapter"]:
        keys.append("chapter")
    if match["own"]:
        keys += ["section", "to"]
    return {key: before[key] for key in keys if key in before}


def _sections(match: re.Match[str]) -> list[tuple[dict[str, str], int, int]]:
    group = "units" if match["units"] else "units2"
    found = list(_ONE_UNIT.finditer(match.string, match.start(group), match.end(group)))
    sections: list[tuple[dict[str, str], int, int]] = []
    for before, unit in zip([None, *found], found, strict=False):
        if before and _RANGE.match(match.string[before.end() : unit.start()]):
            parts, start, _ = sections[-1]
            sections[-1] = (parts | {"to": _compact(unit[0])}, start, unit.end())
        else:
            sections.append(({"section": _compact(unit[0])}, unit.start(), unit.end()))
    return sections


def _items(match: re.Match[str]) -> list[tuple[dict[str, str], int, int]]:
    """What one match names, each with its span. A moment belongs to the section right before it: "5
    ja 6 §:n 2 momentissa" names 5 § and the second moment of 6 §."""
    if match["own"]:
        return _moments(match, ({}, match.start(), match.end()), "own", "own_items")
    sections = _sections(match)
    return sections[:-1] + _moments(match, sections[-1], "moments", "items")


def _moments(
    match: re.Match[str], section: tuple[dict[str, str], int, int], group: str, items: str
) -> list[tuple[dict[str, str], int, int]]:
    parts, start, end = section
    item = {"item": _dashed(match[items]).split()[0].rstrip(",")} if match[items] else {}
    if not match[group]:
        return [(parts | item, start, end)]
    found = [
        (parts | {"moment": _dashed(one[0])}, start if i == 0 else one.start(), one.end())
        for i, one in enumerate(
            _ONE_MOMENT.finditer(match.string, match.start(group), match.end(group))
        )
    ]
    last, at, to = found[-1]
    return [*found[:-1], (last | item, at, to)]


def _dashed(text: str) -> str:
    return re.sub(r"\s?[-–—]\s?", "–", text)


def _compact(text: str) -> str:
    return "".join(text.split()).lower()


def _citation(text: str, parts: dict[str, str], start: int, end: int) -> Citation:
    return Citation(
        text=text[start:end],
        start=start,
        end=end,
        kind="statute",
        language="fi",
        normal=format("statute", parts),
        parts=parts,
    )
