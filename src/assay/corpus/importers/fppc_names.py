"""Who asked for an opinion of the Commission: the name that it goes by, from its caption.

The caption has two columns that a scanner ran together: who asked and what they are, and the number
and the day. "State Comptroller Kenneth Cory ) October 1, 1975" is the Cory opinion."""

from __future__ import annotations

import re

_ASKED = re.compile(r"(?i)opinions?\s+requested\s+by\s*:?")
_MONTHS = (
    "January February March April May June July August September October November December "
    "Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec"
).split()
_DAY = rf"(?:{'|'.join(_MONTHS)})\b\.?\s+\d{{1,2}},?\s*(?:\d{{4}})?"
# the other column, and the lines between them
_BESIDE = re.compile(rf"(?i:\bN[o0]s?\.)\s*[\d-]+(?:-?[A-Za-z]\b)?|\b{_DAY}|[)_]+")
_NAME = re.compile(r"[A-Z][A-Za-z’'-]*\.?(?:[ \t]+[A-Z][A-Za-z’'-]*\.?)*")
_OFFICES = frozenset(
    (
        "State City County Comptroller Controller Assemblyman Assemblywoman Senator Mayor Clerk "
        "Deputy Attorney Manager Director Member Members President Treasurer Honorable Hon Mr Mrs "
        "Ms Dr The Executive Secretary Legislative General Counsel Board Supervisor Councilman "
        "Councilwoman Judge Administrative Law Special Chairman Chief Assistant District Vice "
        "Representing And Of"
    ).split()
)
_BODIES = frozenset(
    "Federation Association Committee League Council Company Union Institute Coalition".split()
)
_AFTER = frozenset("Jr Sr II III Esq".split())


def who_asked(text: str, start: int) -> str:
    """The last name of the first person in a caption, or the name of a body; empty where there is
    neither."""
    asked = _ASKED.search(text, start, start + 300)
    if asked is None:
        return ""
    caption = text[asked.end() : asked.end() + 300].split("BY THE COMMISSION")[0]
    for found in _NAME.finditer(_BESIDE.sub(" ,", caption)):
        words = [word.strip(".,") for word in found[0].split()]
        if any(word in _BODIES for word in words):
            return " ".join(words)
        while words and words[0].title() in _OFFICES:
            del words[0]
        ends = (at for at, word in enumerate(words) if word.title() in _OFFICES)
        words = [word for word in words[: next(ends, len(words))] if word not in _AFTER]
        if len(words) > 1 and len(words[-1]) > 2:
            return words[-1]
    return ""


def is_no_name(word: str) -> bool:
    """A month or an office in a caption."""
    return word.title() in _OFFICES or word.title() in _MONTHS
