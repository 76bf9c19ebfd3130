"""The normal form of a query, by which two spellings of one query are recognised as the same.

Only differences without meaning are removed, in any script and with care for Hebrew and Finnish;
words are never stemmed. A section is one section however it is written: `kuntalain 110.3 §` and
`KuntaL 110 § 3 mom.` are one query, and so are `§ 12` and `12 §`."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import msgspec

from assay.language import hebrew
from assay.law.citation import Citation
from assay.law.parse import format
from assay.law.places import citations_of_sections, read_citation

_ACUTE = str.maketrans("´", "'")  # its compatibility form is a space and an accent
_SECTION_SIGN = re.compile(r"\s*(§+)\s*")
# Quotation marks around words; between Hebrew letters they are gershayim and part of a number.
_QUOTES = re.compile('(?<![א-ת])["“”„«»]|["“”„«»](?![א-ת])')
_NUMBER_AFTER_HEBREW = re.compile(r"(?<=[א-ת])(?=\d)")  # תמ"א38 is תמ"א 38
_ACT_AFTER = re.compile(r"\s?\((\d{1,4}/\d{4})\)")
_LONGEST = 4_000  # characters: in what is longer, and no query, no sections are read (taste)
_ROUNDS = 10  # taste: far more than any text has needed


@lru_cache(maxsize=65536)
def normal_query(text: str) -> str:
    """The key queries are grouped by. Idempotent; empty when there is nothing to search for."""
    normal = _words(_sections_in_one_form(_fold(text)))
    # Without its punctuation a text may read as a section that it was not before, "110, a §" for
    # one. What comes out must read as itself.
    for _ in range(_ROUNDS):
        again = _words(_sections_in_one_form(normal))
        if again == normal:
            break
        normal = again
    return normal


def row_key(query: str, corpus: str) -> str:
    """The key by which two gold rows are the same row. It is joined by a tab, which no normal query
    has."""
    return f"{corpus.strip()}\t{normal_query(query)}"


def _fold(text: str) -> str:
    """Small letters, without unseen signs and vowel points. Marks of other scripts stay: in Finnish
    ä is a letter, not an a with dots."""
    seen = (sign for sign in text.translate(_ACUTE) if not _is_unseen(sign))
    folded = unicodedata.normalize("NFKC", hebrew.without_points("".join(seen))).casefold()
    plain = hebrew.without_points(unicodedata.normalize("NFKC", folded))
    return _NUMBER_AFTER_HEBREW.sub(" ", plain)


def _is_unseen(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cf", "Cs")


def _sections_in_one_form(folded: str) -> str:
    text = " ".join(_QUOTES.sub(" ", folded).split())
    if len(text) > _LONGEST:
        return text
    pieces, at = [], 0
    for citation in citations_of_sections(text):
        act = _ACT_AFTER.match(text, citation.end) if citation.language == "fi" else None
        pieces += [text[at : citation.start], _normal_section(citation, act[1] if act else "")]
        at = act.end() if act else citation.end
    return "".join((*pieces, text[at:]))


def _normal_section(citation: Citation, act: str = "") -> str:
    """The normal form; an English section with its sign behind it, as in Finnish, and the number of
    an act before its section, whose number it would else seem to be."""
    if act and "id" not in citation.parts:
        named = msgspec.structs.replace(citation, parts=citation.parts | {"id": act})
        return format(named).casefold()
    if citation.language == "he" and "year" in citation.parts:
        parts = {key: value for key, value in citation.parts.items() if key != "year"}
        return format(msgspec.structs.replace(citation, parts=parts)).casefold()
    if citation.language != "en" or citation.kind != "statute":
        return f"{citation.normal.casefold()} {act}".rstrip()
    cited = read_citation(citation)
    if cited.to and cited.moment:
        return citation.normal.casefold()
    section = f"{cited.section}–{cited.to}" if cited.to else cited.section
    return " ".join(filter(None, (cited.law, f"{section} §", cited.moment, cited.item)))


def _words(text: str) -> str:
    plain = hebrew.QUOTES_IN_WORD.sub("", text).translate(hebrew.FINALS)
    plain = _NUMBER_AFTER_HEBREW.sub(" ", plain)
    spaced = unicodedata.normalize("NFC", _SECTION_SIGN.sub(r" \1 ", plain))
    return " ".join("".join(map(_word_or_space, spaced)).split())


def _word_or_space(sign: str) -> str:
    """Letters, numbers, their marks and currencies; and the two signs that carry meaning in a legal
    query."""
    category = unicodedata.category(sign)
    return sign if category[0] in "LNM" or category == "Sc" or sign in "§%" else " "
