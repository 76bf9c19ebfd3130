"""Finnish citations: sections and moments, with the law by name (in any case form), by short name,
by number, or left out.

    kuntalaki 110 § 3 mom.          kuntalain 110 §:n 3 momentti; KuntaL 110.3 §
    110a §                          110 a §; 110a §:ssä; pykälä 110 a; § 110 a
    113–115 §                       113–115 §:ssä
    osakeyhtiölaki 6 luku 21 § 1 mom.         OYL 6:21.1; osakeyhtiölain 6 luvun 21.1 §
    kirjanpitolaki (1336/1997) 1 luku 5 §     kirjanpitolain (1336/1997) 1 luvun 5 §:ssä
    tämä laki 5 § 1 mom. 2 kohta    tämän lain 5 §:n 1 momentin 2 kohdan

The spellings of a section are rows of the table in `law/spellings.py`. Each is looked for by itself
(a digit or a sign is quickly found); the words before it, read backwards from there, are the
chapter and the law, those after it the moment and the item. Where two spellings overlap, the one
that begins first is meant. A list ("4 a ja 4 c §:ssä", "2 ja 3 momentissa") becomes one citation an
item, and a row of citations carries its law along.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from assay.law.citation import Citation, Kind, Scheme, citation_at, is_all
from assay.law.spellings import DASH, SHORT_NAME, SHORT_NAMES, spelled

# The last word of a law's name bends; the table says to what base form each ending belongs.
ENDINGS = {
    base: tuple(forms.split())
    for base, forms in {
        "laki": "laki lain lakia laissa laista lakiin lailla lailta laille lakina laiksi",
        "asetus": "asetus asetuksen asetusta asetuksessa asetuksesta asetukseen asetuksella "
        "asetukselle asetukseksi",
        "kaari": "kaari kaaren kaarta kaaressa kaaresta kaareen kaarella",
        "sääntö": "sääntö säännön sääntöä säännössä säännöstä sääntöön",
    }.items()
}
BASE_FORMS = {form: base for base, forms in ENDINGS.items() for form in forms}
POINTERS = {
    **dict.fromkeys(("tämän", "tässä", "tätä", "tämä"), "tämä"),
    **dict.fromkeys(("mainitun", "mainitussa", "mainittu", "saman", "sanotun"), "mainittu"),
}
_BY_SHORT_NAME = {short.casefold(): name for short, name in SHORT_NAMES.items()}

_ENDING = "|".join(sorted(BASE_FORMS, key=len, reverse=True))
_SEPARATOR = rf"(?:\s?{DASH}\s?|,\s(?:ja\s|tai\s|sekä\s)?|\s(?:ja|tai|sekä|taikka)\s)"
_UNIT = r"\d{1,4}(?:\s?[a-zåäö](?![\wåäö]))?"
_DOTTED = rf"{_UNIT}(?:\.\d{{1,2}}(?:{DASH}\d{{1,2}})?(?!\.?\d))?"
_NUMBERS = rf"\d{{1,2}}(?:{_SEPARATOR}\d{{1,2}})*"
_MOMENTS = r"(?:moment[\wåäö]*|mom\b\.?)"
_ITEMS = r"(?:koh[td]a[\wåäö]*|k\.(?!\w))"
PIECES = {
    "UNIT": _UNIT,
    "UNITS": rf"{_DOTTED}(?:{_SEPARATOR}{_DOTTED})*",
    "SIGN": r"(?:§+(?:\s?:\s?[a-zåäö]+)?|pykäl[\wåäö]*)",
    "NUMBERS": _NUMBERS,
    "MOMENTS": _MOMENTS,
    "ITEMS": _ITEMS,
}
_AFTER = (
    rf"(?:,?\s+(?P<moments>{_NUMBERS})\.?\s?{_MOMENTS})?(?:,?\s+(?P<items>{_NUMBERS})\s?{_ITEMS})?"
)
_ID = r"\d{1,4}/\d{4}"
_BEFORE = re.compile(
    rf"(?<![\wåäö/])(?:(?P<law>(?:(?:{'|'.join(POINTERS)})\s+)?[\wåäö-]*(?:{_ENDING})"
    rf"|(?P<short>{SHORT_NAME})(?::[a-zåäö]+)?)(?:\s+\((?P<id>{_ID})\))?\s+"
    rf"|\(?(?P<id_alone>{_ID})\)?\s+)?"
    rf"(?:(?P<chapter>{_UNIT}|tämän|tämä|saman)\s+(?:luvun|luku|luvussa)\s+)?$",
    re.IGNORECASE,
)
_REACH = 120  # how far back the law that belongs to a section may begin
# a number does not begin inside a word, a date, a fraction or another number
_START = r"(?<![\wåäö§/])(?<!\d[.:,])"
_RULES = [
    (
        kind,
        re.compile(
            {
                "moment": rf"{_START}(?<!{DASH})(?:{core})",
                "alone": f"{_START}(?:{core})",
            }.get(kind, f"{_START}(?:{core}){_AFTER}"),
            re.IGNORECASE,
        ),
    )
    for kind, core in spelled("fi", PIECES)
]
_GOES_ON = re.compile(r",?\s(?:(?:ja|tai|sekä|taikka)\s)?")
_ONE_MOMENT = re.compile(rf"\d{{1,2}}(?:\s?{DASH}\s?\d{{1,2}})?")
_ONE_UNIT = re.compile(
    rf"(?P<section>{_UNIT})(?:\.(?P<moment>\d{{1,2}}(?:{DASH}\d{{1,2}})?)(?!\.?\d))?",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"^\s?{DASH}\s?$")
Spanned = tuple[dict[str, str], int, int]  # what is named, and from where to where it stands


@dataclass(frozen=True)
class _Reading:
    """One spelling in a text: the words before it, and itself with what follows."""

    kind: str
    before: re.Match[str] | None
    match: re.Match[str]

    @property
    def start(self) -> int:
        return self.match.start() if self.before is None else self.before.start()

    @property
    def end(self) -> int:
        return self.match.end()

    def says(self, name: str) -> str:
        for match in (self.match, self.before):
            if match is not None and name in match.re.groupindex and match[name]:
                return str(match[name])
        return ""

    @property
    def names_law(self) -> bool:
        return bool(self.says("law") or self.says("id_alone"))


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    last: dict[str, str] = {}
    before: dict[str, str] = {}
    end_before = -1
    for reading in _readings(text):
        law = _law(reading, last)
        if reading.names_law and not law.get("law", "").startswith("tämä"):
            last = law
        goes_on = end_before >= 0 and _GOES_ON.fullmatch(text, end_before, reading.start)
        if goes_on and not reading.names_law:
            law = _carried(before, reading) | law
        spans = _spans(reading)
        for index, (parts, start, end) in enumerate(spans):
            start = reading.start if index == 0 else start
            end = reading.end if index == len(spans) - 1 else end
            before = law | parts
            yield _citation(text, "statute", before, start, end)
        end_before = reading.end


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


_citation = partial(citation_at, "fi", format)


def law_name(name: str) -> str:
    """A law's name in its base form, in lower case: 'Kuntalain' and 'KuntaL' are 'kuntalaki'."""
    words = name.lower().split()
    if not words:
        return ""
    if len(words) == 1 and words[0].partition(":")[0] in _BY_SHORT_NAME:
        return _BY_SHORT_NAME[words[0].partition(":")[0]]
    for form in sorted(BASE_FORMS, key=len, reverse=True):
        if words[-1].endswith(form):
            words[-1] = words[-1].removesuffix(form) + BASE_FORMS[form]
            break
    return " ".join(POINTERS.get(word, word) for word in words)


def _readings(text: str) -> list[_Reading]:
    """Every spelling in the text, in order; of those that overlap, the first and longest."""
    readings = [
        _Reading(kind, _before(text, match) if kind != "moment" else None, match)
        for kind, pattern in _RULES
        for match in pattern.finditer(text)
    ]
    kept: list[_Reading] = []
    for reading in sorted(
        filter(_is_meant, readings), key=lambda reading: (reading.start, -reading.end)
    ):
        if not kept or reading.start >= kept[-1].end:
            kept.append(reading)
    return kept


def _before(text: str, match: re.Match[str]) -> re.Match[str] | None:
    return _BEFORE.search(text, max(0, match.start() - _REACH), match.start())


def _is_meant(reading: _Reading) -> bool:
    """A number without a sign is a section only after a law: "KPL 3:1", and not "klo 3:1" or
    "USA 110". After a name of two letters, as a post office box has one too ("PL 100"), it is where
    that is all there is, or where a colon shows it ("RL 30:8")."""
    if reading.kind in ("section", "moment"):
        return True
    alone = is_all(reading.match.string, reading.start, reading.end)
    if reading.kind == "alone":
        return alone
    short = reading.says("short")
    known = short.casefold() in _BY_SHORT_NAME
    if known and len(short) == 2:
        return alone or (reading.kind == "of a law" and short.isupper())
    if known or (short[-2:-1].islower() and short[-1:] == "L"):
        return True
    return reading.kind == "of a law" and reading.names_law and not short


def _law(reading: _Reading, last: dict[str, str]) -> dict[str, str]:
    parts: dict[str, str] = {}
    if name := reading.says("law"):
        short = reading.says("short")
        parts["law"] = _BY_SHORT_NAME.get(short.casefold(), short) if short else law_name(name)
        if parts["law"].startswith("mainittu") and last:
            parts = {key: last[key] for key in ("law", "id") if key in last}
    if number := reading.says("id") or reading.says("id_alone"):
        parts["id"] = number
    if chapter := reading.says("by_colon") or reading.says("chapter"):
        parts["chapter"] = "tämä" if chapter.lower() in POINTERS else _compact(chapter)
    return parts


def _carried(before: dict[str, str], reading: _Reading) -> dict[str, str]:
    """What the next of a row of citations leaves out: "rikoslain 29 luvun 1 §:ssä, 2 §:ssä ja 30
    luvun 8 §:ssä"."""
    keys = ["law", "id"]
    if not (reading.says("chapter") or reading.says("by_colon")):
        keys.append("chapter")
    if reading.kind == "moment":
        keys += ["section", "to"]
    return {key: before[key] for key in keys if key in before}


def _spans(reading: _Reading) -> list[Spanned]:
    """What one spelling names, each with its span. A moment belongs to the section right before it:
    "5 ja 6 §:n 2 momentissa" names 5 § and the second moment of 6 §."""
    match = reading.match
    if reading.kind == "moment":
        return _moments(match, ({}, match.start(), match.end()), "own", "own_items")
    sections = _sections(match)
    if reading.kind == "alone":
        parts, start, _ = sections[-1]
        return [
            *sections[:-1],
            (parts | {"moment": match["only"] or match["bracket"]}, start, match.end()),
        ]
    return sections[:-1] + _moments(match, sections[-1], "moments", "items")


def _sections(match: re.Match[str]) -> list[Spanned]:
    units = list(_ONE_UNIT.finditer(match.string, *match.span("units")))
    sections: list[Spanned] = []
    for before, unit in zip([None, *units], units, strict=False):
        if before and _RANGE.match(match.string[before.end() : unit.start()]):
            parts, start, _ = sections[-1]
            sections[-1] = (parts | {"to": _compact(unit["section"])}, start, unit.end())
        else:
            moment = {"moment": _dashed(unit["moment"])} if unit["moment"] else {}
            sections.append(
                ({"section": _compact(unit["section"])} | moment, unit.start(), unit.end())
            )
    return sections


def _moments(match: re.Match[str], section: Spanned, group: str, items: str) -> list[Spanned]:
    parts, start, end = section
    item = {"item": _dashed(match[items]).split()[0].rstrip(",")} if match[items] else {}
    if not match[group]:
        return [(parts | item, start, end)]
    moments = [
        (parts | {"moment": _dashed(moment[0])}, start if i == 0 else moment.start(), moment.end())
        for i, moment in enumerate(_ONE_MOMENT.finditer(match.string, *match.span(group)))
    ]
    last, at, to = moments[-1]
    return [*moments[:-1], (last | item, at, to)]


def _dashed(text: str) -> str:
    return re.sub(rf"\s?{DASH}\s?", "–", text)


def _compact(text: str) -> str:
    return "".join(text.split()).lower()
