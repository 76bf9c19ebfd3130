"""A language that is not there yet, as small as it can be: what `law/sv.py` would begin with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.law.citation import Citation, Kind, Scheme
from assay.law.spellings import Grammar, Spelling, spelled

GRAMMAR = Grammar(
    "sv", __name__, r"\d\s?[a-z]?\s?§|\bmom\.|kap\.", chapter="kap", law="(?:lagen|lag)$"
)
SPELLING = Spelling(
    "sv",
    "section",
    "section by its sign, chapter by kap.",
    r"(?:(?P<law>\w+lagen)\s)?(?:(?P<chapter>\d+)\skap\.\s)?(?P<section>UNIT)\s?§"
    r"(?:\s(?P<moment>\d+)\smom\.)?",
    ("kommunallagen 110 a § 3 mom.", "6 kap. 21 §"),
)


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    for _, pattern in spelled("sv", {"UNIT": r"\d{1,3}(?:\s?[a-z](?!\w))?"}):
        for match in re.finditer(pattern, text):
            parts = {key: value for key, value in match.groupdict().items() if value}
            parts["section"] = parts["section"].replace(" ", "")
            start, end = match.span()
            yield Citation(
                text=text[start:end],
                start=start,
                end=end,
                kind="statute",
                language="sv",
                normal=format("statute", parts),
                parts=parts,
            )


def format(kind: Kind, parts: dict[str, str]) -> str:
    chapter = f"{parts['chapter']} kap. " if "chapter" in parts else ""
    moment = f" {parts['moment']} mom." if "moment" in parts else ""
    return f"{parts.get('law', '')} {chapter}{parts['section']} §{moment}".strip()


def law_name(name: str) -> str:
    return name
