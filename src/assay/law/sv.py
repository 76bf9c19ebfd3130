"""Find Swedish citations in text: sections with their chapter, moment (stycke) and law.

    stiglag 2 kap. 1 a § 2 mom.      2 kap. 1 a § andra stycket stiglagen; stiglagen 2:1 a § 2 st.
    2031:404 3 §                     3 § lagen (2031:404) om stigar

Laws are named by their base form (`stiglagen` is `stiglag`), as acts are titled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from assay.law.citation import Citation, Kind, Scheme
from assay.law.spellings import DASH, spelled

_NAME = r"(?:lag|balk|förordning)(?:en)?(?!\w)"
_NO_LAW = r"\w{0,50}(?:bolag|förslag)|underlag|anslag|avslag|beslag|uppslag"
_ID = r"\d{4}:\d{1,4}|\d{1,4}/\d{4}"
_ORDINALS = ("första", "andra", "tredje", "fjärde", "femte", "sjätte", "sjunde", "åttonde")
_UNIT = r"\d{1,3}(?:\s?[a-z](?!\w))?"
_PIECES = {
    "UNIT": _UNIT,
    "NAMED": rf"(?<!\w)(?!(?:{_NO_LAW})(?:en)?\b)[^\W\d_][\w-]{{0,50}}{_NAME}(?:\s\((?:{_ID})\))?"
    rf"|lag(?:en)?\s\((?:{_ID})\)|(?:{_ID})(?=\s\d)",
    "DASH": rf"\s?{DASH}\s?",
    "ORDINAL": "|".join(_ORDINALS),
}


@cache
def _patterns() -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for _, pattern in spelled("sv", _PIECES)]


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    for pattern in _patterns():
        for match in pattern.finditer(text):
            yield from _citations(match)


def _citations(match: re.Match[str]) -> Iterator[Citation]:
    """One citation, or two where two sections are named: `1 och 2 §§`."""
    found = {key: value for key, value in match.groupdict().items() if value}
    shared = _law_parts(found.get("law") or found.get("law_after", ""))
    if "chapter" in found:
        shared["chapter"] = _compact(found["chapter"])
    parts = shared | {"section": _compact(found["section"])}
    if "to" in found:
        parts["to"] = _compact(found["to"])
    if "other" in found:
        yield _citation(match, parts, match.start(), match.end("section"))
        parts = shared | {"section": _compact(found["other"])}
    if "moment" in found:
        parts["moment"] = found["moment"]
    elif "ordinal" in found:
        parts["moment"] = str(_ORDINALS.index(found["ordinal"].lower()) + 1)
    if "item" in found:
        parts["item"] = found["item"]
    start = match.start("other") if "other" in found else match.start()
    yield _citation(match, parts, start, match.end())


def _citation(match: re.Match[str], parts: dict[str, str], start: int, end: int) -> Citation:
    return Citation(
        text=match.string[start:end],
        start=start,
        end=end,
        kind="statute",
        language="sv",
        normal=format("statute", parts),
        parts=parts,
    )


def _law_parts(named: str) -> dict[str, str]:
    number = re.search(_ID, named)
    name = law_name(re.sub(rf"\s?\(?(?:{_ID})\)?", "", named))
    parts = {"law": name} if name and name != "lag" else {}
    return parts | ({"id": number[0]} if number else {})


def _compact(text: str) -> str:
    return "".join(text.split()).lower()


def format(kind: Kind, parts: dict[str, str]) -> str:
    number = parts.get("id", "")
    law = parts.get("law", "")
    named = f"{law} ({number})" if law and number else law or number
    chapter = f"{parts['chapter']} kap." if "chapter" in parts else ""
    section = f"{parts['section']}–{parts['to']} §§" if "to" in parts else f"{parts['section']} §"
    moment = f"{parts['moment']} mom." if "moment" in parts else ""
    item = f"{parts['item']} punkten" if "item" in parts else ""
    return " ".join(filter(None, (named, chapter, section, moment, item)))


def law_name(name: str) -> str:
    """The base form of a law's name, in lower case: `Stiglagen` is `stiglag`. Other names are as
    they were."""
    match = re.fullmatch(r"(.*(?:lag|balk|förordning))(?:en)?", name, re.IGNORECASE)
    return " ".join(match[1].casefold().split()) if match else name
