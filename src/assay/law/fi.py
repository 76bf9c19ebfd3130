"""Find Finnish citations in text: sections and moments, with the law by name (in any case form), by
short name, by number, or left out.

    kuntalaki 110 § 3 mom.          kuntalain 110 §:n 3 momentti; KuntaL 110.3 §
    110a §                          110 a §; 110a §:ssä; pykälä 110 a; § 110 a
    113–115 §                       113–115 §:ssä
    osakeyhtiölaki 6 luku 21 § 1 mom.         OYL 6:21.1; osakeyhtiölain 6 luvun 21.1 §
    kirjanpitolaki (1336/1997) 1 luku 5 §     kirjanpitolain (1336/1997) 1 luvun 5 §:ssä
    tämä laki 5 § 1 mom. 2 kohta    tämän lain 5 §:n 1 momentin 2 kohdan
    laki kuvista 5 §                kuvista annetun lain 5 §
    osakeyhtiölaki 13 luku          osakeyhtiölain 13 lukua

The spellings of a section are rows of the table in `law/spellings.py`. Each is looked for by itself
(a digit or a sign is quickly found); the words before it, read backwards from there, are the
chapter and the law, those after it the moment and the item. Where two spellings overlap, the one
that begins first is meant. A list ("4 a ja 4 c §:ssä", "2 ja 3 momentissa") becomes one citation an
item, and a row of citations carries its law along.

What points back ("mainitun lain 5 §", "sen 5 §", "saman pykälän 2 momentti") means the law or the
section named last before it. A law of another time ("vanhan kuntalain", "vuoden 1995 kuntalain")
keeps those words in its name, so that it is not taken for the one of today.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from assay.law.citation import (
    Citation,
    Kind,
    Scheme,
    Spanned,
    citation_at,
    first_matches,
    is_all,
)
from assay.law.spellings import DASH, OTHER_MEANINGS, SHORT_NAME, SHORT_NAMES, spelled

# ── names of laws ─────────────────────────────────────────────────────────────────────────────────

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
# What has sections and is no law, in the form in which it stands before one. A contract in general
# may as well be what an act speaks of: "hankintasopimuksen 130 §:n nojalla".
PAPERS = {
    "järjestyksen": "järjestys",
    "pöytäkirjan": "pöytäkirja",
    **{
        f"{kind}sopimuksen": f"{kind}sopimus"
        for kind in "vuokra osakas perus työehto virkaehto kauppa laina urakka".split()
    },
}
# Words for a kind of law, which name none.
LAW_KINDS = (
    "yleislaki erityislaki erillislaki puitelaki kehyslaki rinnakkaislaki muutoslaki kumoamislaki"
).split()
POINTERS = {
    **dict.fromkeys(("tämän", "tässä", "tätä", "tämä"), "tämä"),
    **dict.fromkeys(("mainitun", "mainitussa", "mainittu", "saman", "sanotun"), "mainittu"),
    **dict.fromkeys(("sanotussa", "samassa", "kyseisen", "kyseisessä", "ko.", "em."), "mainittu"),
}
# Words that say that a law is not the one in force.
FORMER = {
    **dict.fromkeys(("vanha", "vanhan", "vanhassa", "entinen", "entisen", "entisessä"), "vanha"),
    **dict.fromkeys(("kumottu", "kumotun", "kumotussa", "aiemman", "aiemmassa"), "vanha"),
    **dict.fromkeys(("aikaisemman", "aikaisemmassa", "edellisen"), "vanha"),
}
# Words that make of a law another one: a country's, a province's, that of certain sectors.
OTHER = (
    "ahvenanmaan ruotsin norjan tanskan islannin viron latvian liettuan saksan ranskan britannian "
    "englannin skotlannin venäjän puolan hollannin alankomaiden belgian espanjan italian sveitsin "
    "itävallan yhdysvaltojen kanadan erityisalojen"
).split()

BY_SHORT_NAME = {short.casefold(): name for short, name in SHORT_NAMES.items()}

ACT_NUMBER = r"\d{1,4}/\d{4}"
# a law named in passing, which what points back may mean
_LAW_ENDING = "|".join(sorted(BASE_FORMS, key=len, reverse=True))
_MENTION = re.compile(
    rf"(?<![\wåäö-])(?:[\wåäö-]{{2,}}(?:{_LAW_ENDING})|{'|'.join(SHORT_NAMES)})(?![\wåäö])"
    rf"(?:\s+\((?P<id>{ACT_NUMBER})\))?"
)
_MENTION_REACH = 400  # characters (taste)
# forms in which a law says something: by itself, its, in it
_AS_SOURCE = tuple(form for forms in ENDINGS.values() for form in (forms[0], forms[1], forms[3]))
_CASE = re.compile(r":(\w+)")
_SPOKEN_OF = re.compile(r"\s+(?:sovelta|soveltu|noudatta|mukaise|tarkoitt)")


def law_name(name: str) -> str:
    """A law's name in its base form, in lower case: 'Kuntalain' and 'KuntaL' are 'kuntalaki',
    'kuvista annetun lain' is 'laki kuvista'."""
    words = name.lower().split()
    if not words:
        return ""
    if len(words) == 1 and words[0].partition(":")[0] in BY_SHORT_NAME:
        return BY_SHORT_NAME[words[0].partition(":")[0]]
    forms = {**BASE_FORMS, **PAPERS}
    for form in sorted(forms, key=len, reverse=True):
        if words[-1].endswith(form):
            words[-1] = words[-1].removesuffix(form) + forms[form]
            break
    if len(words) > 2 and words[-2].startswith("annet") and words[-1] in ENDINGS:
        return " ".join((words[-1], *words[:-2]))
    return " ".join(POINTERS.get(word) or FORMER.get(word, word) for word in words)


def laws_named(text: str, scheme: Scheme) -> Iterator[tuple[str, int, int]]:
    """Laws by which a text asks, and where they stand: "kuntalain mukaan", "OYL:ssä". One that is
    spoken about is not: "sovelletaanko hankintalakia". The scheme is not needed: where a name ends
    shows from the name."""
    for _, match in first_matches(text, [(None, _MENTION.finditer(text))]):
        name = match[0].partition("(")[0].strip()
        case = _CASE.match(text, match.end())
        if name in SHORT_NAMES:
            if case is None or case[1].startswith(("n", "s", "l")):
                yield law_name(name), match.start(), case.end() if case else match.end()
        elif name.casefold().endswith(_AS_SOURCE) and not _SPOKEN_OF.match(text, match.end()):
            yield law_name(name), match.start(), match.end()


def mentioned(text: str, at: int, after: int) -> dict[str, str]:
    """The law that is named last before a place, and after the citation before it."""
    found = {}
    for match in _MENTION.finditer(text, max(0, after, at - _MENTION_REACH), at):
        name = law_name(match[0].partition("(")[0].strip())
        if name not in LAW_KINDS:
            found = {"law": name} | ({"id": match["id"]} if match["id"] else {})
    return found


_ENDING = "|".join(sorted({**BASE_FORMS, **PAPERS}, key=len, reverse=True))
_SEPARATOR = rf"(?:\s?{DASH}\s?|,\s(?:ja\s|tai\s|sekä\s)?|\s(?:ja|tai|sekä|taikka)\s)"
_UNIT = r"\d{1,4}(?:\s?[a-zåäö](?![\wåäö]))?"
_DOTTED = rf"{_UNIT}(?:\.\d{{1,2}}(?:{DASH}\d{{1,2}})?(?!\.?\d))?"
# A list is bounded, so that a long row of numbers takes no time that grows with its square.
_MORE = "{0,40}"  # further entries (taste: the longest lists in acts have about 30)
_NUMBERS = rf"\d{{1,2}}(?:{_SEPARATOR}\d{{1,2}}){_MORE}"
_MOMENTS = r"(?:moment[\wåäö]*|mom\b\.?)"
_ITEMS = r"(?:koh[td]a[\wåäö]*|koh[td]i(?:a|en|ssa|sta|in)(?![\wåäö])|k\.(?!\w))"
_POINTERS = "|".join(map(re.escape, POINTERS))
_SAME = r"(?:(?:edellä|viimeksi)\s+mainitun|mainitun|saman|sanotun|kyseisen|ko\.|em\.)"
PIECES = {
    "UNIT": _UNIT,
    "UNITS": rf"{_DOTTED}(?:{_SEPARATOR}{_DOTTED}){_MORE}",
    "SIGN": r"(?:§+(?:\s?:\s?[a-zåäö]+)?|pykäl[\wåäö]*)",
    "NUMBERS": _NUMBERS,
    "MORE": rf"(?:{_SEPARATOR}\d{{1,4}}){_MORE}",
    "MOMENTS": _MOMENTS,
    "ITEMS": _ITEMS,
    "SAME": _SAME,
    "CASE": r"(?::[a-zåäö]{1,4}(?![\wåäö]))?",  # "OYL 6:21:n mukaan"
}
# "ensimmäinen momentti", in any case form
_ORDINALS = {
    **{r"ensimmäi[a-zåäö]+": "1", r"toi(?:nen|s[a-zåäö]+)": "2", r"kolma[nst][a-zåäö]*": "3"},
    **{r"neljä[nst][a-zåäö]*": "4", r"viide[nst][a-zåäö]*": "5", r"kuude[nst][a-zåäö]*": "6"},
    **{r"seitsemä[nst][a-zåäö]*": "7", r"kahdeksa[nst][a-zåäö]*": "8"},
}
_ORDINAL = "|".join(_ORDINALS)
_AFTER = (
    rf"(?:,?\s+(?P<ordinals>(?:{_ORDINAL})(?:{_SEPARATOR}(?:{_ORDINAL}))*)\s+moment[\wåäö]*"
    rf"|(?:,?\s+|(?<=§))(?P<moments>{_NUMBERS})\.?\s?{_MOMENTS}(?::[a-zåäö]+)?"
    r"|,?\s+(?:momentti|mom\.?)\s(?P<moment_after>\d{1,2})(?!\d|\.\d|\s?(?:koh|§)))?"
    rf"(?:,?\s+(?P<items>{_NUMBERS})\s?{_ITEMS}"
    r"(?:\s+(?P<point>[a-zåäö])\)?[-\s]+alakoh[td]a[\wåäö]*)?)?"
)
# (410/2015), (624/2006, OYL), (OYL), 410/2015
_BRACKET = (
    rf"\((?:[^()\d§]{{1,40}}[,;]\s)?(?P<id>{ACT_NUMBER})(?:[,;]\s[^()§]{{1,60}})?\)"
    rf"|\([^()\d§]{{1,40}}\)|(?P<id_plain>{ACT_NUMBER})"
)
_YEAR_OF = r"vuoden\s+(?:18|19|20)\d\d"
# the law: bent, after a pointer or a word of time; "… annetun lain" and "laki …sta", which are read
# further back; short; by its number alone
_LAW = (
    rf"(?:(?:{_POINTERS}|{_YEAR_OF}|{'|'.join((*FORMER, *OTHER))}|annet[\wåäö]+)\s+)?"
    rf"[\wåäö-]*(?:{_ENDING})"
    rf"|(?:laki|asetus|(?P<bent>lain|asetuksen))\s+(?=[^§\d(]{{3,110}}st[aä]\s)"
    rf"(?:[a-zåäö-]+,?\s+){{0,11}}[a-zåäö-]+"
    rf"|(?P<short>{SHORT_NAME})(?::[a-zåäö]+)?|(?P<dotted>[\wåäö-]{{3,}}l\.)"
)
_BEFORE = re.compile(
    rf"(?<![\wåäö/-])(?:(?P<law>{_LAW})(?:,?\s+(?:{_BRACKET}))?"
    r"(?:(?<=laki),|(?<=asetus),|(?<=kaari),|(?<=[)\d]),)?\s+"
    r"(?:(?:[a-zåäö-]+\s+){1,4}koskev(?:an|assa)\s+)?"  # "hallintolain jääviyttä koskevan 28 §"
    rf"|\(?(?P<id_alone>{ACT_NUMBER})\)?,?\s+|(?P<its>sen)\s+)?"
    rf"(?:(?P<chapter>{_UNIT}|tämän|tämä|{_SAME})\s+(?:luvun|luku|luvussa|luv\.|l\.),?\s+"
    r"|(?P<that>luvun)\s+)?$",
    re.IGNORECASE,
)
# Most numbers follow nothing of the kind, and are quickly passed over by their last word.
_HEAD_ENDINGS = (
    *BASE_FORMS,
    *PAPERS,
    *"luvun luku luvussa luv. l. ) sen koskevan koskevassa".split(),
)
_SHORT_LAST = re.compile(rf"(?<![\wåäö/-]){SHORT_NAME}(?::[a-zåäö]+)?$", re.IGNORECASE)
_LAW_NUMBER = re.compile(r"/\d{4}$")
_TITLE_OPENS = re.compile(r"(?:laki|asetus|lain|asetuksen)\s", re.IGNORECASE)
# No head begins before these: a sign, a number that is neither a chapter nor of a law, and a
# chapter that another number follows.
_CHAPTER_WORD = r"(?:luku|luvun|luvussa|luv\.|l\.)"
_WALL = re.compile(
    rf"(?s:.*)(?:§|(?<![\w/])\d{{1,3}}\s+(?!\s|(?:[a-zåäö]\s+)?{_CHAPTER_WORD})"
    r"|(?<!\w)(?:luku|luvun|luvussa|luv\.),?\s+(?=\d))",
    re.IGNORECASE,
)
_IN_TITLE = re.compile(r"(?:st[aä]|n),?$")
# words of the sentence around a title, among them passive verbs: "sovelletaan", "säädetään"
_NOT_IN_TITLE = re.compile(r"^(?:mukaan|sekä|kuin|niin|on|tämän)$|[aeiouyäö][td](?:aan|ään)$")
_GIVEN_WORD = re.compile(r"[\wåäö-]+,?\s+$")
_DAY = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4},?\s*$")
_DAY_REACH = 24  # characters: a date and the spaces after it
# characters, by taste
_ITS_REACH = 200  # "sen 3 momentti" is of a section named so near
_REACH = 120  # how far back the law that belongs to a section may begin
# a number does not begin inside a word, a date, a fraction or another number
_START = r"(?<![\wåäö§/])(?<!\d[.:,])"
# after a dash a number of moments has begun before; a section without a sign follows a name, which
# ends in no number but that of a law
_STARTS = {
    "moment": rf"(?<!{DASH})",
    "of a short name": r"(?<=\s)(?:(?<!\d\s)|(?<=/\d{4}\s))",
}
# A list that ends in no sign is passed over whole, and not tried again from each of its numbers.
_NO_SIGN = {"(?P<units>": "UNITS", "(?:(?P<same>": "NUMBERS"}


def _rule(kind: str, core: str) -> re.Pattern[str]:
    start = _START + _STARTS.get(kind, "")
    after = "" if kind in ("moment", "alone") else _AFTER
    listed = kind != "of a short name" and next(filter(core.startswith, _NO_SIGN), "")
    passed_over = f"|{PIECES[_NO_SIGN[listed]]}" if listed else ""
    return re.compile(rf"{start}(?:(?P<core>{core}){after}{passed_over})", re.IGNORECASE)


_RULES = [
    (kind, _rule(kind, core), core.startswith("(?P<")) for kind, core in spelled("fi", PIECES)
]
_DIGITS = re.compile(r"\d+")  # a spelling that begins with its number is tried at these alone
_SIGNS = ("§", "pykäl", "mom")  # one of them is in the others
# a name and a section without a sign: the forms of the name, the number, and what may follow
_FULL_NAME = tuple(form for forms in ENDINGS.values() for form in forms[:2])
_SHORT_UNIT = r"\d{1,3}(?:\s?[a-zåäö](?![\wåäö]))?(?:\.\d{1,2})?"
_NAMED_END = re.compile(
    r"\s*(?:$|[,;:)?!\n]|\.(?!\d)|(?:ja|tai|sekä|mukaan|nojalla)(?!\w|\s+\d))", re.I
)
_CHAPTER = re.compile(rf"(?<![\wåäö.]){_UNIT}\s+(?:luku|luvu)", re.IGNORECASE)
_GOES_ON = re.compile(r",?\s(?:(?:ja|tai|sekä|taikka|että|eikä)\s)?")
_ONE_MOMENT = re.compile(rf"\d{{1,2}}(?:\s?{DASH}\s?\d{{1,2}})?")
_ONE_UNIT = re.compile(
    rf"(?P<section>{_UNIT})(?:\.(?P<moment>\d{{1,2}}(?:{DASH}\d{{1,2}})?)(?!\.?\d))?",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"^\s?{DASH}\s?$")


@dataclass(frozen=True)
class _SpellingMatch:
    """One spelling of a section in a text, with the words before it and what follows."""

    kind: str
    before: re.Match[str] | None
    match: re.Match[str]

    @property
    def start(self) -> int:
        return self.match.start() if self.before is None else self.before.start()

    @property
    def end(self) -> int:
        return self.match.end()

    def group(self, name: str) -> str:
        for match in (self.match, self.before):
            if match is not None and name in match.re.groupindex and match[name]:
                return str(match[name])
        return ""

    @property
    def names_law(self) -> bool:
        return any(map(self.group, ("law", "id_alone", "its")))


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    last: dict[str, str] = {}
    before: dict[str, str] = {}
    chapter: dict[str, str] = {}  # the one named last, with its law
    end_before = -1
    readings = _find_spellings(text, scheme)
    for at, reading in enumerate(readings):
        named = mentioned(text, reading.start, end_before) or last if reading.names_law else {}
        law = _law_parts(reading, named, scheme)
        if law.get("law") and not law["law"].startswith("tämä"):
            last = {key: law[key] for key in ("law", "id") if key in law}
        if law.get("chapter") == "mainittu":
            if not chapter or _CHAPTER.search(text, end_before, reading.start):
                continue  # of which chapter, nobody can say
            law = law | chapter
        elif not reading.names_law and _continues(text, readings, at, end_before):
            law = _carried_parts(before, reading) | law
        elif same := reading.group("same"):
            is_far = same == "sen" and reading.start - end_before > _ITS_REACH
            if is_far or not before.get("section"):
                continue  # of which section, nobody can say
            law = _carried_parts(before, reading)
        spans = _spans(reading)
        for index, (parts, start, end) in enumerate(spans):
            start = reading.start if index == 0 else start
            end = reading.end if index == len(spans) - 1 else end
            before = law | parts
            yield _citation(text, "statute", before, start, end)
        end_before = reading.end
        if before.get("chapter"):
            chapter = {key: before[key] for key in ("law", "id", "chapter") if key in before}


def format(kind: Kind, parts: dict[str, str]) -> str:
    pieces = [parts["law"]] if parts.get("law") else []
    pieces += [f"({parts['id']})"] if parts.get("id") else []
    pieces += [f"{parts['chapter']} luku"] if parts.get("chapter") else []
    if parts.get("section"):
        to = f"–{parts['to']}" if parts.get("to") else ""
        pieces.append(f"{parts['section']}{to} §")
    pieces += [f"{parts['moment']} mom."] if parts.get("moment") else []
    pieces += [f"{parts['item']} kohta"] if parts.get("item") else []
    pieces += [f"{parts['point']} alakohta"] if parts.get("point") else []
    return " ".join(pieces)


_citation = partial(citation_at, "fi", format)


def place_name(section: str, moment: str, *, schedule: str = "", chapter: str = "") -> str:
    """A place as it is printed: '6 luku 21 § 1 mom.'; a schedule is a *liite*."""
    pieces = [f"{schedule}. liite"] if schedule else []
    pieces += [f"{chapter} luku"] if chapter else []
    pieces += [f"{section} §"] if section else []
    pieces += [f"{moment} mom."] if moment else []
    return " ".join(pieces)


def _find_spellings(text: str, scheme: Scheme) -> list[_SpellingMatch]:
    """Every spelling in the text, in order; of those that overlap, the first and longest."""
    heads: dict[int, re.Match[str] | None] = {}
    readings = []
    for kind, match in first_matches(text, _matches(text)):
        if kind != "moment" and match.start() not in heads:
            heads[match.start()] = _words_before(text, match, scheme)
        before = heads[match.start()] if kind != "moment" else None
        readings.append(_SpellingMatch(kind, before, match))
    kept: list[_SpellingMatch] = []
    for reading in sorted(readings, key=lambda reading: (reading.start, -reading.end)):
        if kept and reading.start < kept[-1].end:
            continue
        if _is_meant(reading) or (kept and _continues_by_colon(kept[-1], reading)):
            kept.append(reading)
    return kept


def _matches(text: str) -> Iterator[tuple[str, Iterator[re.Match[str]]]]:
    """The kind of every rule, and its matches wherever it holds in the text."""
    numbers = [match.start() for match in _DIGITS.finditer(text)]
    if not numbers:
        return
    lowered = text.lower()
    has_sign = any(sign in lowered for sign in _SIGNS)
    for kind, pattern, begins_with_number in _RULES:
        if begins_with_number:
            found = _matches_at(pattern, text, numbers)
        else:
            found = pattern.finditer(text) if has_sign else iter(())
        yield kind, filter(partial(_is_likely, kind), found)


def _is_likely(kind: str, match: re.Match[str]) -> bool:
    """Whether a match is more than a list that was passed over, or a number without a name."""
    at = match.start()
    is_named = kind != "of a short name" or _head_begin(match.string, at) < at
    return bool(match["core"]) and is_named


def _matches_at(pattern: re.Pattern[str], text: str, places: list[int]) -> Iterator[re.Match[str]]:
    end = 0
    for place in places:
        if place >= end and (match := pattern.match(text, place)):
            end = match.end()
            yield match


def _words_before(text: str, match: re.Match[str], scheme: Scheme) -> re.Match[str] | None:
    begin = _head_begin(text, match.start())
    head = _BEFORE.search(text, begin, match.start())
    if head is None or not (head["dotted"] or head["bent"]):
        return head
    if head["dotted"] and _law_by_dotted_name(head["dotted"], scheme):
        return head
    if head["bent"] and _base_form_of_title(head["law"]) in {law.lower() for law in scheme.laws}:
        return head
    end = head.end("dotted") if head["dotted"] else head.end("bent")
    return _BEFORE.search(text, end, match.start())  # a word that is no law


def _head_begin(text: str, at: int) -> int:
    """The place from which the words before a number may belong to it; its own where none do."""
    if not text[at - 1 : at].isspace():
        return at
    begin = max(0, at - _REACH)
    if not _may_end_head(text, begin, at):
        return at
    wall = _WALL.match(text, begin, at)
    # a number in brackets may be of a law, "(410/2015, 5 artikla)"
    if wall and text.rfind("(", begin, wall.end()) <= text.rfind(")", begin, wall.end()):
        begin = wall.end()
    return begin if _may_end_head(text, begin, at) else at


def _may_end_head(text: str, begin: int, at: int) -> bool:
    words = text[begin:at].split()
    if not words:
        return False
    last = words[-1].rstrip(",")
    may_end = last.lower().endswith(_HEAD_ENDINGS) or _LAW_NUMBER.search(last)
    return bool(may_end or _SHORT_LAST.search(last) or _TITLE_OPENS.search(text, begin, at))


def _base_form_of_title(name: str) -> str:
    """'lain kuvista' is 'laki kuvista'."""
    first, _, rest = name.lower().partition(" ")
    return f"{BASE_FORMS.get(first, first)} {rest}".strip()


def _law_by_dotted_name(word: str, scheme: Scheme) -> str:
    """'kuntal.' is kuntalaki, if there is such a law."""
    name = word.lower().removesuffix("l.") + "laki"
    known = {*SHORT_NAMES.values(), *map(str.lower, scheme.laws)}
    return name if name in known else ""


def _continues_by_colon(before: _SpellingMatch, reading: _SpellingMatch) -> bool:
    """'OYL 13:1, 13:6 ja 15:1'."""
    between = reading.match.string[before.end : reading.start]
    by_colon = before.group("by_colon") and reading.group("by_colon")
    return bool(by_colon and not reading.names_law and _GOES_ON.fullmatch(between))


def _is_meant(reading: _SpellingMatch) -> bool:
    """A number without a sign is a section only after a law: "KPL 3:1", and not "klo 3:1" or
    "USA 110". After a name of two letters, as a post office box has one too ("PL 100"), it is where
    that is all there is, or where a colon shows it ("RL 30:8"). "5 kpl 3" is a number of things,
    and "12.3.2021 § 45" an item of minutes."""
    if reading.kind in ("section", "moment"):
        return reading.names_law or not _DAY.search(
            reading.match.string, max(0, reading.start - _DAY_REACH), reading.start
        )
    if reading.kind == "chapter":
        return reading.names_law and not reading.group("its")
    alone = is_all(reading.match.string, reading.start, reading.end)
    if reading.kind == "alone":
        return alone
    short = reading.group("short")
    known = short.casefold() in BY_SHORT_NAME
    by_colon = reading.kind == "of a law"
    if known and len(short) == 2:
        return alone or (by_colon and short.isupper())
    if short == "kpl" and not alone:
        return by_colon and not reading.match.string[: reading.start].rstrip()[-1:].isdigit()
    if known or (short[-2:-1].islower() and short[-1:] == "L"):
        return True
    if reading.kind == "of a short name" and not short:
        return _follows_name(reading)
    return by_colon and reading.names_law and not short


def _follows_name(reading: _SpellingMatch) -> bool:
    """ "Kuntalaki 62 a", "Kuntalaki 110, 118", "kuntalain 110 2 mom.", and not "laki 5", "Kuntalaki
    2015" or "kuntalaki 3 vuotta": the name is in full, and what follows is no thing to count."""
    name, match = reading.group("law").lower(), reading.match
    if not name.endswith(_FULL_NAME) or name in BASE_FORMS or name.split()[0] in POINTERS:
        return False
    if not re.fullmatch(rf"{_SHORT_UNIT}(?:{_SEPARATOR}{_SHORT_UNIT})*", match["units"], re.I):
        return False
    lettered = re.search(r"[a-zåäö]$", match["units"], re.I)
    return bool(match["moments"] or lettered or _NAMED_END.match(match.string, reading.end))


def _law_parts(reading: _SpellingMatch, last: dict[str, str], scheme: Scheme) -> dict[str, str]:
    parts: dict[str, str] = {}
    if name := reading.group("law"):
        parts["law"] = _law_base_form(reading, name, scheme)
        points_back = parts["law"].startswith("mainittu") or parts["law"] in ENDINGS
        if points_back and not reading.group("id") and not reading.group("id_plain"):
            meant = {key: value for key, value in last.items() if key in ("law", "id")}
            # "lain 5 §" alone leaves the law open; "mainitun lain" does not
            parts = meant or (parts if parts["law"].startswith("mainittu") else {})
    elif reading.group("its"):
        parts |= {key: last[key] for key in ("law", "id") if key in last}
    if number := reading.group("id") or reading.group("id_plain") or reading.group("id_alone"):
        parts["id"] = number
        if parts.get("law") in ENDINGS:
            del parts["law"]  # "laki 410/2015" is named by its number
    if chapter := reading.group("by_colon") or reading.group("chapter") or reading.group("that"):
        is_named = chapter[0].isdigit()
        here = "tämä" if chapter.lower() in ("tämä", "tämän") else "mainittu"
        parts["chapter"] = _compact(chapter) if is_named else here
    return parts


def _law_base_form(reading: _SpellingMatch, name: str, scheme: Scheme) -> str:
    """The base form of the law that stands before a section."""
    if short := reading.group("short"):
        meant = BY_SHORT_NAME.get(short.casefold(), short)
        other = OTHER_MEANINGS.get(short.upper(), "")
        known = {law.lower() for law in scheme.laws}
        if other in known:
            return short if meant in known else other  # where both are here, nobody can say
        return meant
    if dotted := reading.group("dotted"):
        return _law_by_dotted_name(dotted, scheme)
    if reading.group("bent"):
        return _base_form_of_title(name)
    if name.lower().startswith("annet"):
        return _law_by_annettu(reading, name, scheme)
    return law_name(name)


def _law_by_annettu(reading: _SpellingMatch, name: str, scheme: Scheme) -> str:
    """'julkisista hankinnoista annetun lain' is 'laki julkisista hankinnoista': the words before
    that say of what, back to where a known law begins, or as far as grammar goes."""
    text, at = reading.match.string, reading.start
    base = law_name(name).rpartition(" ")[2]
    words: list[str] = []
    title = ""
    while len(words) < 14 and (word := _GIVEN_WORD.search(text, max(0, at - 40), at)):
        at = word.start()
        words.insert(0, word[0].strip().lower())
        if f"{base} {' '.join(words)}" in {law.lower() for law in scheme.laws}:
            return f"{base} {' '.join(words)}"
        if _IN_TITLE.search(words[0]) and not _NOT_IN_TITLE.search(words[0]):
            title = " ".join(words)
        elif words[0] not in ("ja", "sekä"):
            break
    return f"{base} {title}".rstrip(" ,") if title else base


def _continues(text: str, readings: list[_SpellingMatch], at: int, end_before: int) -> bool:
    """Whether a citation continues a row with the one before it."""
    reading = readings[at]
    if end_before >= 0 and _GOES_ON.fullmatch(text, end_before, reading.start):
        return True
    if at == 0 or reading.kind != "section" or mentioned(text, reading.start, end_before):
        return False
    places = [
        CitationSpan(r.start, r.end, bool(r.group("chapter"))) for r in readings[at - 1 : at + 2]
    ]
    return continues_row(text, *places)


def _carried_parts(before: dict[str, str], reading: _SpellingMatch) -> dict[str, str]:
    """The parts that the next citation of a row leaves out: "rikoslain 29 luvun 1 §:ssä, 2 §:ssä ja
    30 luvun 8 §:ssä"."""
    keys = ["law", "id"]
    if not (reading.group("chapter") or reading.group("by_colon")):
        keys.append("chapter")
    if reading.kind == "moment":
        keys += ["chapter", "section", "to"]
    return {key: before[key] for key in keys if key in before}


def _spans(reading: _SpellingMatch) -> list[Spanned]:
    """The sections, moments and items of one spelling, each with its span. A moment belongs to the
    section right before it: "5 ja 6 §:n 2 momentissa" names 5 § and the second moment of 6 §."""
    match = reading.match
    if reading.kind == "chapter":
        return [({"chapter": _compact(match["whole"])}, *match.span())]
    if reading.kind == "moment":
        return _moments(match, ({}, match.start(), match.end()), "own", "own_items")
    sections = _sections(match)
    if reading.kind == "alone":
        parts, start, _ = sections[-1]
        return [
            *sections[:-1],
            (parts | {"moment": match["only"] or match["bracket"]}, start, match.end()),
        ]
    named = sections[:-1] + _moments(match, sections[-1], "moments", "items")
    parts, start, _ = named[-1]
    point = {"point": match["point"].lower()} if match["point"] else {}
    return [*named[:-1], (parts | point, start, match.end())]


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
    if group == "moments" and match["moment_after"]:
        group = "moment_after"
    in_words = group == "moments" and match["ordinals"]
    moments = (
        _ordinal_moments(match, section)
        if in_words
        else _each_number(match, section, group, "moment")
    )
    return moments[:-1] + _each_number(match, moments[-1], items, "item")


def _ordinal_moments(match: re.Match[str], section: Spanned) -> list[Spanned]:
    """The moments that a text names by ordinals: "toisessa ja kolmannessa momentissa"."""
    parts, start, _ = section
    words = list(re.finditer(_ORDINAL, match["ordinals"], re.IGNORECASE))
    at = match.start("ordinals")
    return [
        (
            parts | {"moment": _number_of(word[0])},
            start if i == 0 else at + word.start(),
            match.end() if i == len(words) - 1 else at + word.end(),
        )
        for i, word in enumerate(words)
    ]


def _number_of(word: str) -> str:
    return next(n for form, n in _ORDINALS.items() if re.fullmatch(form, word, re.IGNORECASE))


def _each_number(match: re.Match[str], whole: Spanned, group: str, name: str) -> list[Spanned]:
    """One of the numbers of a list after another: "2 ja 3 momentti", "1–4 kohta"."""
    parts, start, _ = whole
    if not match[group]:
        return [whole]
    return [
        (parts | {name: _dashed(number[0])}, start if i == 0 else number.start(), number.end())
        for i, number in enumerate(_ONE_MOMENT.finditer(match.string, *match.span(group)))
    ]


def _dashed(text: str) -> str:
    return re.sub(rf"\s?{DASH}\s?", "–", text)


def _compact(text: str) -> str:
    return "".join(text.split()).lower()


# ── rows of citations with words between them ─────────────────────────────────────────────────────

_BETWEEN = re.compile(
    r"(?P<words>\s[^.;:()§,\n]{1,120}?)(?P<by>,|\s(?:ja|tai|sekä|taikka|että|eikä))\s"
)
# What begins another clause, or names a place by itself.
_NEW_CLAUSE = re.compile(
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


class CitationSpan(NamedTuple):
    """The span of a citation, and whether it names its own chapter."""

    start: int
    end: int
    has_chapter: bool = False


def continues_row(
    text: str, one: CitationSpan, two: CitationSpan, after: CitationSpan | None = None
) -> bool:
    """Whether the second citation continues the row of the first; `after` is the next one."""
    between = _BETWEEN.fullmatch(text, one.end, two.start)
    if between is None or _NEW_CLAUSE.search(between["words"].lower()):
        return False
    if _case_of(text, one) != _case_of(text, two):
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


def _ends_row(text: str, two: CitationSpan, after: CitationSpan) -> bool:
    between = _BETWEEN.fullmatch(text, two.end, after.start)
    is_last = between is not None and between["by"] != ","
    return is_last and continues_row(text, two, after)


def _case_of(text: str, place: CitationSpan) -> str:
    """The grammatical case of a citation, by the last of its words: "1 §:n 2 momentissa" has that
    of "momentissa"."""
    last = _LAST_WORD.search(text, place.start, place.end)
    word = last[0].rstrip(" .,") if last else ""
    return next((name for ends, name in _CASES.items() if re.search(f"(?:{ends})$", word)), "")


def _next_word(text: str, place: CitationSpan) -> str:
    word = _NEXT_WORD.match(text, place.end)
    return word[1].lower() if word else ""
