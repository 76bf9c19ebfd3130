"""Numbers of the opinions of a commission, which look like those of its letters.

Until 1984 both went without a letter for the kind: the Ferraro opinion is No. 78-009, and so is a
letter to Mr. Knox. A number that stands beside the page of a reported opinion, or after the word,
is that of the opinion: its `name` begins with "In re"."""

from __future__ import annotations

import re

import msgspec

from assay.law.citation import Citation
from assay.law.en_back import NAME, TITLES

OPINION = "In re"
LAST_YEAR = 84  # from then on a letter tells the kind
# what has a number like a file and is none: "Resolution No. 78-44"
NO_FILE = re.compile(
    r"(?i)\b(?:reso(?:lution|\.)|ord(?:inance|\.)|district|tract|permit|parcel|bill|measure"
    r"|contract|project|map|case|claim|invoice|account|policy|annexation|assessment)\s+$"
)
_AFTER_PAGE = re.compile(
    r"(?:,?\s+(?:at\s+)?(?:pp?\.\s*)?\d+(?:-\d+)?)?\s*[,;]?\s*(?:\(\d{4}\))?\s*[,;]?\s*[(\[]?\s*"
)
_BEFORE_PAGE = re.compile(r"[,\s]*(?:[A-Z][a-z]+\.?\s+\d{1,2},?\s+\d{4})?[)\],\s]*")
_SAID = re.compile(
    rf"(?:\b[Oo]pinions?\s+requested\s+by:?\s+(?P<asked>{NAME})[^.;()]{{0,80}}"
    rf"|\b(?:(?P<named>{NAME})\s+)?Opinion(?!\s+[Rr]equest)(?:,?\s+dated\s[^.;()]{{4,30}})?)"
    r"[,\s]*[(\[]?\s*$"
)
_WORD = re.compile(r"\bOpinion\b(?!\s+[Rr]equest)")
_REACH = 150


def numbers_of_opinions(text: str, found: list[Citation]) -> list[Citation]:
    """The citations with those marked that are an opinion's number."""
    opinions = [one for one in found if one.kind == "opinion"]
    return [
        _marked(text, one, opinions) if one.kind == "letter" and "series" not in one.parts else one
        for one in found
    ]


def _marked(text: str, one: Citation, opinions: list[Citation]) -> Citation:
    name = _name(text, one, opinions)
    return one if name is None else msgspec.structs.replace(one, name=f"{OPINION} {name}".strip())


def _name(text: str, one: Citation, opinions: list[Citation]) -> str | None:
    """Whose opinion it is, "" where nobody is named; None where it is no opinion's number."""
    for other in opinions:
        before = other.end <= one.start and _AFTER_PAGE.fullmatch(text, other.end, one.start)
        after = one.end <= other.start and _BEFORE_PAGE.fullmatch(text, one.end, other.start)
        if before or after:
            return other.parts.get("name", "")
    if not 75 <= int(one.parts["year"]) <= LAST_YEAR:
        return None
    if one.name:
        return one.name if _WORD.search(one.text) else None
    said = _SAID.search(text, max(0, one.start - _REACH), one.start)
    if said is None:
        return "" if _WORD.search(one.text) else None
    return TITLES.sub("", said["asked"] or said["named"] or "")
