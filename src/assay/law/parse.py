"""Citations: parse them in text, print them in normal form. Resolving against a corpus is in
`assay.corpus.resolve`.

A new language is one module with `parse(text, scheme)` and `format(kind, parts)`, and one row in
LANGUAGES."""

from __future__ import annotations

import re

from assay.core.errors import InputError
from assay.law import en, fi, he
from assay.law.citation import PLAIN, Citation, Scheme

__all__ = ["LANGUAGES", "PLAIN", "Citation", "Scheme", "format", "parse"]

LANGUAGES = {"en": en, "fi": fi, "he": he}

# What shows that a text may hold citations of a language. English comes last: its signs occur in
# all texts.
_SIGNS = {
    "he": re.compile("[א-ת]"),
    "fi": re.compile(
        r"\d\s?[a-z]?\s?§(?!\s?\d{3})|pykäl|moment(?:ti|in|ei|is|ill)|\bmom\.", re.IGNORECASE
    ),
    "en": re.compile(r"[A-Za-z§]"),
}


def parse(
    text: str, language: str | None = None, *, scheme: Scheme = PLAIN
) -> tuple[Citation, ...]:
    """Every citation in `text`, in order. Without a language, all that the text shows signs of are
    tried."""
    language = language or scheme.language or None
    if language is not None and language not in LANGUAGES:
        raise InputError(
            f"no citation grammar for the language {language!r}",
            hint=f"Known: {', '.join(LANGUAGES)}.",
        )
    found: list[Citation] = []
    taken = bytearray(len(text))
    for name in (
        [language] if language else [name for name, signs in _SIGNS.items() if signs.search(text)]
    ):
        for citation in LANGUAGES[name].parse(text, scheme):
            if taken.find(1, citation.start, citation.end) < 0:
                found.append(citation)
                taken[citation.start : citation.end] = b"\1" * (citation.end - citation.start)
    return tuple(sorted(found, key=lambda citation: citation.start))


def format(citation: Citation) -> str:
    """The normal form: it parses back to the same kind and parts."""
    printed: str = LANGUAGES[citation.language].format(citation.kind, citation.parts)
    return printed
