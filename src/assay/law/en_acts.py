"""Titles of acts in English citations: recognise them, resolve references such as "that Act", and
compare two titles.

    Ferries Act 2030 § 5(2)         section 5(2) of the Ferries Act, 2030; Ferries Act 2030, s 5(2)
    Ferries Act 2030 Sch. 2 para. 3     paragraph 3 of Schedule 2 to the Ferries Act 2030

The year is part of a title, and so is what stands in brackets: the Ferries Act 1998, the Ferries
Act 2030 and the Ferries (Amendment) Act 2031 are three. "That Act" is the one named last before it,
"the 1998 Act" the one of that year, "the Act" the one that the text calls so, or the only one that
it names."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from assay.law.citation import Scheme

ORDINALS = tuple("first second third fourth fifth sixth seventh eighth ninth tenth".split())
ORDINAL = "|".join((*ORDINALS, *(word.capitalize() for word in ORDINALS)))
ONLY = "only"  # the schedule of an act that is named without a number
_KIND = r"(?:Act|Ordinance)"
_MADE = r"(?:Regulations|Rules|Order|Decree|Law|Measure)"  # acts only with their year
_WORD = rf"(?!(?:{_KIND}|{_MADE}),?\s+(?:and|or)\s)[A-Z](?:[\w’'&-]*|\.(?=\s[A-Z]))"
_BRACKET = r"\([A-Z][^()\n]{1,60}\)"
_LINK = r"(?:(?:of|for|on|in|to|with|by|from|against)(?:\s+the)?|and|&|or)"
_NAME = rf"{_WORD}(?:,?\s+(?:{_LINK}\s+)?(?:{_WORD}|{_BRACKET})){{0,12}}"
_VOLUME = (
    r",?\s+(?:R\.?\s?)?S\.?\s?[A-Z]{1,3}\.?\s+(?:1[6-9]|20)\d\d,?\s+c(?:h|hap)?\.?\s+[\w.-]*\w"
)
_NUMBERED = r",?\s+(?:No\.?\s+)?\d{1,3}\s+of\s+(?:1[6-9]|20)\d\d"
_YEAR = r",?\s+(?:of\s+)?(?:1[6-9]|20)\d\d(?![\d/.]\d|\d)"
_DATED = rf"(?:{_VOLUME}|{_NUMBERED}|{_YEAR})"
_PLACE = (
    r"(?:\s+\((?:Cth|NSW|Vic|Qld|WA|SA|Tas|ACT|NT|NZ|UK|Imp|Ont|BC|Alta|Can|India|Ireland"
    r"|Scotland|Wales|NI)\))?"
)
_FULL = rf"(?:{_NAME}\s+{_KIND}(?!\w){_DATED}?|{_NAME}\s+{_MADE}{_DATED})"
ACT = rf"{_FULL}{_PLACE}"
MADE = rf"{_NAME}\s+{_MADE}{_DATED}{_PLACE}"
DATED_ACT = rf"{_NAME}\s+(?:{_KIND}|{_MADE}){_DATED}{_PLACE}"
BACK = (
    rf"(?:(?:that|the\s+said|said|the\s+same)\s+(?:{_KIND}|{_MADE})"
    rf"|the\s+(?:1[6-9]|20)\d\d\s+(?:{_KIND}|{_MADE})|the\s+Act)(?!\w)(?!\s+of\s+\d)"
)
SCHEDULE = (
    r"Sch(?:edule|ed)?(?![A-Za-z])\.?"
    r"(?:\s+(?P<number>\d{1,2}[A-Z]{0,2}|[IVX]{1,5}|[A-Z])(?![\w-]))?"
)
_MENTION = re.compile(rf"\b{ACT}")
_CALLED = re.compile(
    r"\s*\((?:hereinafter\s+|in\s+this\s+\w+\s+)?(?:the\s+)?[“\"'‘]?(?:the\s+)?Act\b"
)
_REACH = 400
_BEGINNINGS = re.compile(
    r"(?:(?:The|Under|See|In|And|Of|This|That|Both|From|Also|Former|Thus|By|If|When|Since|As|To"
    r"|While|Section|Sections|Unlike|Although|Where|Parliament|Congress|Whereas)"
    r"(?:\s+(?:of|in|to|for|by|from|the))*,?\s+)+(?:the\s+)?"
)
_YEAR_OF = re.compile(r"\b(?:1[6-9]|20)\d\d\b")
_ROMAN = {"I": 1, "V": 5, "X": 10}


class ActKey(NamedTuple):
    """An act's name for comparison: its words, its year, and the country or state it is of."""

    base: str
    year: str
    place: str


def is_act(name: str) -> bool:
    return re.fullmatch(ACT, name.strip()) is not None


def title_in(text: str, scheme: Scheme) -> str:
    """The title at the end of words that may begin before it: the longest that the corpus knows,
    or all but the words that no title begins with."""
    known = {key_of(law).base for law in scheme.laws}
    begins = [0, *(space.end() for space in re.finditer(r"\s+", text))]
    for begin in begins if known else ():
        if key_of(text[begin:]).base in known:
            return text[begin:]
    return _BEGINNINGS.sub("", text, count=1) if _BEGINNINGS.match(text) else text


def act_name(text: str) -> str:
    """A title as it is printed: 'the Ferries Act, 2030' is 'Ferries Act 2030'."""
    plain = re.sub(r"^[Tt]he\s+", "", " ".join(text.split()))
    return re.sub(rf"({_KIND}|{_MADE}),\s+((?:of\s+)?(?:1[6-9]|20)\d\d)\b", r"\1 \2", plain)


def meant_by(back: str, text: str, at: int) -> str:
    """The act that "that Act", "the 1998 Act" or "the Act" means at a place in a text; empty where
    that is not plain."""
    named = [one for one in _MENTION.finditer(text, 0, at) if not _is_back(one)]
    if year := _YEAR_OF.search(back):
        fitting = {name for one in named if (name := _title(one)) and key_of(name).year == year[0]}
        return fitting.pop() if len(fitting) == 1 else ""
    if re.fullmatch(r"the\s+Act", back):
        called = {_title(one) for one in named if _CALLED.match(text, one.end())}
        every = called or {_title(one) for one in named}
        return every.pop() if len(every) == 1 else ""
    near = [one for one in named if at - one.end() <= _REACH]
    return _title(near[-1]) if near else ""


def _is_back(mention: re.Match[str]) -> bool:
    return re.fullmatch(r"(?:The|That|Said|This)\s+Act", mention[0]) is not None


def _title(mention: re.Match[str]) -> str:
    return act_name(_BEGINNINGS.sub("", mention[0], count=1))


@cache
def key_of(name: str) -> ActKey:
    plain = act_name(name).replace("&", "and").replace("’", "'").casefold()
    place = re.search(rf"(?i:{_PLACE})$", plain)
    plain = plain[: place.start()] if place else plain
    years = _YEAR_OF.findall(plain)
    base = re.split(rf"(?i){_DATED}$", plain)[0]
    return ActKey(
        base=" ".join(base.replace(",", " ").split()),
        year=years[-1] if years else "",
        place=place[0].strip(" ()") if place else "",
    )


def same_act(cited: ActKey, known: ActKey) -> bool:
    """The same words, and no other year or country."""
    return cited.base == known.base and all(
        not one or not other or one == other
        for one, other in ((cited.year, known.year), (cited.place, known.place))
    )


def schedule_number(ordinal: str, number: str) -> str:
    """The First Schedule and Schedule I are 1; the one of an act that has one is ONLY."""
    if ordinal:
        return str(ORDINALS.index(ordinal.casefold()) + 1)
    if number in ("I", "V", "X") or re.fullmatch(r"[IVX]{2,}", number):
        values = [_ROMAN[letter] for letter in number]
        return str(sum(-v if v < max(values[i:]) else v for i, v in enumerate(values)))
    return number or ONLY
