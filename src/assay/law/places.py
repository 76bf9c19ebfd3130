"""Read sections, moments and chapters, in running text and in fields that hold one section.

Whatever names a section is read here: an expectation of a golden set, a hit, `assay cite`, a
question to the search engine, the records of an importer, the normal form of a logged query. The
spellings are rows of the table in `law/spellings.py`; each language's file finds them in running
text (`law/fi.py`, `law/he.py`, `law/en.py`), and `read_citation` says what a citation names in the
same words for all of them.

A field that holds one section and nothing else is read by four rules, in this order. A number alone
is a section there (`110a`, `5:21`), which it is nowhere else. What running text would read as one
citation, from the first word to the last, is that citation; words before it are the law
(`Laki laivoista 5 §`). A number alone may follow a law (`Kuntalaki 110 a`). Anything else is a
label that stands for itself (`liite 1`, `IV`), unless it looks like a section or several
(`110–112 §`, `110 3`, `AKL 5`): that is refused, since nothing could ever meet it, and a golden
test that nothing meets would be wrong about every engine.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from assay.language.hebrew import PREFIX_LETTERS
from assay.law.citation import Citation
from assay.law.parse import parse
from assay.law.spellings import (
    BARE,
    BARE_PIECES,
    DASH,
    SHORT_NAMES,
    chapter_in_field,
    filled,
    law_in_field,
)

# characters that are read of a section (taste); a law with a long name is shorter
MAX_SECTION = 300
SECTION = re.compile(r"\d+[a-zåäö]*")
CHAPTER = re.compile(r"(\d+[a-z]?)(?:l|luku)?\.?")  # of a node id
HEBREW_CHAPTER = re.compile(r"(?:פרק|חלק)?([א-ת]{1,3}\d*)[-–]?")
PART = re.compile(
    r"([ivxlc]+|\d+[a-z]?|[א-ת]{1,3}\d*)\.?(?:osa|osasto)?|(?:part|חלק)([ivxlc\dא-ת]+)"
)
MOMENT = re.compile(r"\(?(?:mom[^\W\d]*\.?)?(\d+)\.?\)?(?:mom\w*\.?)?")
PAGE = re.compile(r"(?:s|p|sivu|page)\.?(\d+)")
_WORDS = re.compile(r"\w+")
BRACKETS = re.compile(r"\(([^()]+)\)")
NO_NAME = "חוק"  # "the law", in Hebrew, which names none
# the name of a law before a number that stands alone
LAW_BEFORE = re.compile(r"([^§]*[^§\s,:\d]|[^§]*\d/\d{4}\)?)[\s,:]+(?=\d)")
NO_LAW = re.compile(r"[\d(]|mom|luku|luvu")
SEVERAL = re.compile(rf"\d+\w*\s*(?:,|{DASH}|/|ja |tai |and |or |to )\s*\d")
# 'kuntalain 110 a ja' before 111 is no law
IS_LIST = re.compile(rf"§|\d\s*[a-zåäö]?\s*(?:,|{DASH}|ja|tai|sekä|and|or|to)$")
STRANGE = re.compile(
    rf"{SEVERAL.pattern}|§|\bmom|\bluku|\bluvu|\bpyk|סעיף קטן|^\d+\w* |^\d+[a-z]\.\d"
    r"|(?:laki|lain|kaari|asetus)$"
)
# a law by a short name, and a number that could not be read as its section
SHORT_LAW = re.compile(rf"({'|'.join(SHORT_NAMES)}|[A-ZÅÄÖ][a-zåäö]{{2,}}L)(?::\w+)? \d")
SHORT_IN_FINNISH = re.compile(r"([A-ZÅÄÖ]{1,5}[LK])(?::\w+)? \d")


class Cited(NamedTuple):
    """A section as it is cited, with moment, chapter and law. `to` is the last section of a
    range."""

    section: str
    moment: str = ""
    chapter: str = ""
    law: str = ""
    item: str = ""
    to: str = ""
    schedule: str = ""
    law_id: str = ""

    @property
    def is_one(self) -> bool:
        """One section, in one moment if in any."""
        return bool(self.section) and not self.to and "–" not in self.moment + self.item

    def has_section(self, section: str) -> bool:
        """Whether a section is the one named, or lies in the range."""
        if self.to:
            return section_key(self.section) <= section_key(section) <= section_key(self.to)
        return self.section == section

    def has_moment(self, moment: str) -> bool:
        """Whether a moment is the one named, or lies in the range; any where none is."""
        low, _, high = self.moment.partition("–")
        if low.isdecimal() and high.isdecimal() and moment.isdecimal():
            return int(low) <= int(moment) <= int(high)
        if high and len(low) == len(high) == len(moment) == 1:
            return low <= moment <= high
        return not self.moment or self.moment == moment


# ── running text ──────────────────────────────────────────────────────────────────────────────────


def read_citation(citation: Citation) -> Cited:
    """The section that a citation names, in the same terms for all languages: the first bracket of
    87103(a)(1) and of 12א(ב)(1) is what Finnish calls a moment."""
    parts = citation.parts
    moment, *items = BRACKETS.findall(parts.get("sub", "")) or [""]
    to = parts.get("to", "")
    if to.startswith(f"{parts.get('section')}("):  # 87103(a)–(e) is a range of moments
        last, *last_items = BRACKETS.findall(to)
        moment = moment if last == moment else f"{moment}–{last}"
        items = [f"{one}–{other}" for one, other in zip(items, last_items, strict=False)]
        to = ""
    return Cited(
        section=parts.get("section", "").casefold(),
        moment=parts.get("moment", "") or moment.casefold(),
        chapter=parts.get("chapter", ""),
        law="" if parts.get("law") == NO_NAME else parts.get("law", "") or parts.get("code", ""),
        item=parts.get("item", "") + parts.get("point", "")
        or "".join(f"({item})" for item in items)[1:-1],
        to=to.casefold(),
        schedule="1" if parts.get("schedule") == "only" else parts.get("schedule", ""),
        law_id=parts.get("id", ""),
    )


def citations_of_sections(text: str, language: str = "") -> list[Citation]:
    """The citations in a text that name sections. What languages write alike is read in the one
    given."""
    kinds = ("statute", "regulation")
    return [citation for citation in parse(text, first=language) if citation.kind in kinds]


def sections_named(text: str, language: str = "") -> list[Cited]:
    """Every section that a text names, once."""
    named = (read_citation(citation) for citation in citations_of_sections(text, language))
    return list(dict.fromkeys(cited for cited in named if cited.section))


def without_sections(text: str, language: str = "") -> str:
    """The text with only the law left of each citation of a section."""
    pieces, at = [], 0
    for citation in citations_of_sections(text, language):
        pieces += [text[at : citation.start], read_citation(citation).law]
        at = citation.end
    return " ".join((*pieces, text[at:]))


def words_of_sections(text: str, language: str = "") -> set[str]:
    """The words in lower case that stand only in citations of sections, without the names of the
    laws: "110", "mom" of "kuntalaki 110 § 2 mom."."""
    cited = " ".join(citation.text for citation in citations_of_sections(text, language))
    rest = without_sections(text, language)
    return {*_WORDS.findall(cited.casefold())} - {*_WORDS.findall(rest.casefold())}


def words_beside(text: str, language: str) -> int:
    """The number of words of a text outside the sections it cites."""
    cited = citations_of_sections(text, language)
    rest = "".join(
        text[before.end if before else 0 : after.start if after else len(text)]
        for before, after in zip([None, *cited], [*cited, None], strict=True)
    )
    return len(re.findall(r"[^\W\d_]{3,}", rest))


# ── a field that holds one section ────────────────────────────────────────────────────────────────


def read_section(value: object, language: str = "") -> Cited | None:
    """'Kuntalaki 110 a § 3 mom.' taken apart; a label of another kind ('liite 1', 'IV') as it is.
    None where it looks like a section and is not one: '110–112 §', '110 3'. What languages write
    alike is read in the one given: '§ 12.2' is moment 2 in Finnish."""
    return _read_section(
        " ".join(str(_without_zero_decimals(value))[:MAX_SECTION].split()), language
    )


@lru_cache(maxsize=100_000)
def _read_section(text: str, language: str) -> Cited | None:
    folded = text.casefold()
    if cited := _read_bare_number(folded, language):
        return cited
    if (citations := citations_of_sections(text, language)) and (
        cited := _only_citation(text, citations)
    ):
        return cited
    law = LAW_BEFORE.match(folded)
    if law and law_in_field().search(law[1]) and not IS_LIST.search(law[1]):
        cited = _read_bare_number(folded[law.end() :], language)
        return cited and cited._replace(law=law[1])
    if citations or STRANGE.search(folded) or short_law(text, language):
        return None
    return Cited("".join(folded.split()).strip("."))


def short_law(value: object, language: str = "") -> str:
    """The short name of a law that a field begins with, before a number: 'AKL' in 'AKL 5'. Where
    the field cannot be read, that may be why."""
    text = str(value).strip()
    name = SHORT_LAW.match(text) or (SHORT_IN_FINNISH.match(text) if language == "fi" else None)
    return name[1] if name else ""


_BARE = [(row.language, re.compile(filled(row.pattern, BARE_PIECES) + "[.: ]*")) for row in BARE]


def _read_bare_number(folded: str, language: str) -> Cited | None:
    for of_language, pattern in _BARE:
        if of_language not in ("", language) or not (match := pattern.fullmatch(folded)):
            continue
        groups = match.groupdict(default="")
        moment, *items = BRACKETS.findall(groups.get("brackets", "")) or [""]
        return Cited(
            section="".join(groups["section"].split()),
            moment=normal_moment(moment or groups.get("moment") or groups.get("bracket")),
            chapter=normal_chapter(groups.get("chapter")),
            item="".join(f"({item})" for item in items)[1:-1],
        )
    return None


def _only_citation(text: str, citations: list[Citation]) -> Cited | None:
    """The one citation that is all there is in a text, apart from the name of a law before it."""
    cited = read_citation(citations[0])
    before = text[: citations[0].start].rstrip(" ,:")
    after = text[citations[0].end :].strip(" .,:")
    if len(citations) > 1 or after or not cited.is_one:
        return None
    if not before or not before.strip(PREFIX_LETTERS):  # בסעיף: in the section
        return cited
    if cited.law or cited.law_id or IS_LIST.search(before) or NO_LAW.match(before.casefold()):
        return None
    return cited._replace(law=before)


# ── normal forms ──────────────────────────────────────────────────────────────────────────────────


def normal_section(value: object) -> str:
    """'110 A §', '110 a' and '110a' are '110a'; 110 and 110.0 are '110'."""
    cited = read_section(value) if value is not None else None
    return cited.section if cited else without_spaces(value)


def printed_number(text: str, language: str = "") -> str:
    """The number that a source prints before a section or a point: '110 a §' is 110a, '197א.' is
    197א, '(5)' is 5, '18702.2.' is 18702.2; a name stays a name."""
    cited = read_section(text, language)
    if cited and cited.section[:1].isdigit() and not BRACKETS.search(text):
        return cited.section  # 4א(1) before a section is a number of its own
    return re.sub(r"[()\[\]:.§]", "", without_spaces(text))


def normal_chapter(value: object) -> str:
    """'17 a luku', '17a' and the '17al' of node ids are '17a'; 'פרק ג׳1' is 'ג1'."""
    text = without_spaces(value)
    if numbered := chapter_in_field().fullmatch(text):
        return numbered[1].removesuffix("l")
    lettered = HEBREW_CHAPTER.fullmatch(re.sub("[\"'׳״]", "", text))
    return lettered[1] if lettered else text


def normal_part(value: object) -> str:
    """'I OSA', 'Part I' and 'I' are 'i'; 'חלק א׳' is 'א'."""
    text = re.sub("[\"'׳״]", "", without_spaces(value))
    numbered = PART.fullmatch(text)
    return (numbered[1] or numbered[2]) if numbered else text


def normal_moment(value: object) -> str:
    """2, '2', '2.', '2 mom.' and 'mom. 2' are '2'."""
    text = without_spaces(value)
    numbered = MOMENT.fullmatch(text)
    return numbered[1].lstrip("0") or "0" if numbered else text


def normal_page(value: object) -> str:
    """5, '5', 's. 5' and 'page 5' are '5'."""
    text = without_spaces(value)
    numbered = PAGE.fullmatch(text)
    return numbered[1] if numbered else text


def section_key(section: str) -> tuple[int, str]:
    """Sections in their order: 9, 10, 10a."""
    digits = re.match(r"\d+", section)
    return (int(digits[0]), section[digits.end() :]) if digits else (0, section)


def without_spaces(value: object) -> str:
    return "" if value is None else "".join(str(_without_zero_decimals(value)).split()).casefold()


def _without_zero_decimals(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value
