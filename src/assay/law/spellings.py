"""The table of ways to write a section, for all languages. Every reader of sections uses it.

A row is one way to write a section in one language: a pattern, with names for what it says, and
examples. Words in capitals stand for pieces that the language's own file spells out (UNITS: one
section or a list of them; LIST: the same with brackets). What may stand before and after a section,
such as the law, the chapter, the moment, is said once in that file too.

To add a language, say Danish: write `law/da.py` with `parse(text, scheme)`, `format(kind, parts)`
and `law_name(name)`, as in `law/sv.py`, the smallest; add its row to GRAMMARS, in any place, its
spellings to SPELLINGS, and to BARE_PIECES its word for a section if it writes one besides §; show
its examples in tests/law/spelled.py. Places are printed by PLACE_NAMES in `law/citing.py`, as in
Finnish where a language has no row there, and what is repealed is marked by MARKS in
`law/versions.py`, else in English. Reading needs no other code: `assay cite`, golden sets, search,
importers and the normal form of a query read what stands in this table (tests/law/test_spellings.py
goes through it with each of them). Signs need not tell a language from the others; they only save
reading a text that has none. Where two languages read the same place, the one that reads more of it
is meant (`assay.law.parse`), so neither Swedish "3 kap. 2 §" nor Finnish "kuntalain 110 §:n 3
momentti" depends on the order of the rows: tests/law/test_new_language.py puts Swedish in each
place.

Two things are not here. `law/places.py` refuses a field that is meant for one section and holds
half of one, or several, by words of Finnish, Hebrew and English (STRANGE, SEVERAL, NO_LAW). The
titles that `corpus/importers/akn.py` gives to sections are in English where it does not know
better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal, NamedTuple


class Grammar(NamedTuple):
    """A language that citations are read in. `signs` show that a text may hold some of them. In a
    field of its own, `chapter` is the word that may follow the number of a chapter, and `law` shows
    that words are the name of a law."""

    language: str
    module: str
    signs: str
    chapter: str = ""
    law: str = ""


class Spelling(NamedTuple):
    """One way to write a section. `kind` is the rule of the language's file that reads it."""

    language: str
    kind: str
    name: str
    pattern: str
    examples: tuple[str, ...]


DASH = "[-‐‑‒–—―−]"  # whatever people type for the dash of a range; the last is a minus
# Laws as lawyers shorten them, in Finnish. Others are kept as written (VesihuoltoL, AKL).
SHORT_NAMES = {
    **{"KuntaL": "kuntalaki", "OYL": "osakeyhtiölaki", "KPL": "kirjanpitolaki"},
    **{"KPA": "kirjanpitoasetus", "HankL": "hankintalaki", "HankintaL": "hankintalaki"},
    **{"TilintL": "tilintarkastuslaki", "TilintarkL": "tilintarkastuslaki", "RL": "rikoslaki"},
    **{"PL": "perustuslaki", "HL": "hallintolaki", "OK": "oikeudenkäymiskaari"},
    **{"PK": "perintökaari", "MK": "maakaari", "UK": "ulosottokaari", "AL": "avioliittolaki"},
    **{"JulkL": "julkisuuslaki", "MRL": "maankäyttö- ja rakennuslaki", "TSL": "työsopimuslaki"},
    **{"VahL": "vahingonkorvauslaki", "KSL": "kuluttajansuojalaki", "OKL": "osuuskuntalaki"},
    **{"ETL": "esitutkintalaki", "PKL": "pakkokeinolaki", "AVL": "arvonlisäverolaki"},
    **{"TVL": "tuloverolaki", "EVL": "elinkeinoverolaki", "YhdL": "yhdistyslaki"},
    **{"KL": "kuntalaki", "TTL": "tilintarkastuslaki", "KirjanpitoL": "kirjanpitolaki"},
    **{"KirjanpitoA": "kirjanpitoasetus", "KirjanpA": "kirjanpitoasetus"},
    **{"KirjanpL": "kirjanpitolaki", "OsakeyhtiöL": "osakeyhtiölaki"},
    **{"JulkHankL": "hankintalaki", "AOYL": "asunto-osakeyhtiölaki", "HallintoL": "hallintolaki"},
    **{"TyöturvL": "työturvallisuuslaki", "TyösopL": "työsopimuslaki", "KauppaL": "kauppalaki"},
    **{"HLL": "hallintolainkäyttölaki"},
}
# What a short name means where a collection has that law and not the one above.
OTHER_MEANINGS = {"KL": "kauppalaki", "TTL": "työturvallisuuslaki"}
# In small letters too where that is no other word; "ok", "uk" and "al" are.
_SMALL = "|".join(name for name in SHORT_NAMES if name not in ("OK", "UK", "AL"))
SHORT_NAME = rf"(?:(?-i:[A-ZÅÄÖ][a-zåäö]{{2,}}[LA]|[A-ZÅÄÖ]{{1,5}}[LKA])|{_SMALL})(?![\wåäö])"

# What two of them write quite alike ("§ 12") is read in the upper one where nobody says which is
# meant. The signs of English occur in all.
GRAMMARS = (
    Grammar("he", "assay.law.he", "[א-ת]", law="^חוק|^פקודת"),
    Grammar(
        "fi",
        "assay.law.fi",
        r"\d\s?[a-zåäö]?\s?§(?!\s?\d{3})|\d\s?[a-zåäö]?\.\s?§(?!\s?\d)"
        r"|pykäl|moment(?:ti|in|ei|is|ill)|\bmom\b"
        r"|(?:la(?:ki|in|issa)|kaar(?:i|en)|asetu(?:s|ksen))\s(?:\([\d/]+\)\s)?"
        r"(?:§|\d+:\d|\d{1,3}(?![\d/]))"
        r"|§\s?\d{1,3}\s[a-zåäö]\s*(?:$|[,;)])|§\s?\d{1,3}\s?[a-zåäö]\.\d{1,2}(?![\d.])"
        rf"|(?<![\wåäö]){SHORT_NAME}(?::\w+)?\s(?:\([\d/]+\)\s)?(?:§\s?)?\d",
        chapter="luku",
        law="(?:laki|lain|laissa|kaari|kaaren|asetus|asetuksen)$",
    ),
    Grammar(
        "sv",
        "assay.law.sv",
        r"\bkap\b|stycket|§\s\d+\s?st\b|(?:lag|balk|förordning)(?:en)?\b",
        chapter="kap",
        law="(?:lag|balk|förordning)(?:en)?$",
    ),
    Grammar("en", "assay.law.en", r"[A-Za-z§]", law="(?:act|code)$"),
)

SPELLINGS = (
    # ── Swedish ───────────────────────────────────────────────────────────────────────────────────
    Spelling(
        "sv",
        "section",
        "chapter by kap. or a colon, section by its sign, stycke or mom., the law before or after",
        r"(?:(?P<law>NAMED)\s)?(?<![\w§:.])(?:(?P<chapter>UNIT)(?:\s?kap\.?\s|:))?"
        r"(?P<section>UNIT)(?:DASH(?P<to>UNIT)|\s(?:och|eller|samt)\s(?P<other>UNIT))?\s?§{1,2}"
        r"(?![\w:§])(?:\s(?:(?P<moment>\d{1,2})\s?(?:mom\b\.?|st\b\.?|stycket)"
        r"|(?P<ordinal>ORDINAL)\s(?:stycket|momentet|mom\b\.?|st\b\.?)))?"
        r"(?:\s(?P<item>\d{1,2})\s?(?:p\b\.?|punkten))?(?:\s(?:i\s)?(?P<law_after>NAMED))?",
        (
            *(
                "2 kap. 1 § stiglagen",
                "stiglagen 2 kap. 1 a § 2 mom.",
                "1 kap. 1 § 2 st. stiglagen",
            ),
            *("3 § andra stycket 2 punkten lagen (2031:404)", "1 och 2 §§ stiglagen"),
        ),
    ),
    # ── Finnish: chapter and section, moment, item ────────────────────────────────────────────────
    Spelling(
        "fi",
        "section",
        "sign or word after the number; a dot before the moment",
        r"(?P<units>UNITS)\.?\s?SIGN",
        (
            *("110 §", "110§", "110. §", "110 a §", "110a §", "110 A §", "110.3 §", "110 a.3 §"),
            *("110 §:n 3 momentti", "110 § 3 mom.", "110 a §:n 3 momentin 2 kohta"),
            *("148 pykälä", "148. pykälän 2 momentti", "6 luvun 21 §:n 1 momentti"),
            *("kuntalain 129.1 §", "Kuntalaki (410/2015) 110 a §", "OYL 6 luku 21 §"),
            *("110 ja 111 §", "110 a ja 111 §", "110–112 §", "110.3 ja 111.1 §"),
        ),
    ),
    Spelling(
        "fi",
        "section",
        "sign or word before the number",
        r"(?:pykäl[\wåäö]*\s+|(?<![\d\wåäö§])§+(?::t\s)?\s?(?=\d{1,3}(?!\d)))"
        r"(?P<units>UNITS)(?![\d(]|MORE\.?\s?(?:SIGN|MOMENTS|ITEMS))",
        ("§ 110", "§110", "pykälä 148", "§ 12.2", "§ 110 a.3", "kuntalain § 110"),
    ),
    Spelling(
        "fi",
        "section",
        "chapter, colon, section, with the sign",
        r"(?P<by_colon>UNIT):(?P<units>UNITS)\s?SIGN",
        ("6:21 §", "OYL 6:21.1 §", "RL 30:8 §"),
    ),
    Spelling(
        "fi",
        "of a law",
        "chapter, colon, section, after a law",
        r"(?P<by_colon>UNIT):(?P<units>UNITS)CASE(?![\d:/]|\.\d)",
        ("OYL 6:21.1", "OYL 6:21", "KPL 3:1", "RL 30:8", "OYL 6:21:n", "osakeyhtiölain 6:21"),
    ),
    Spelling(
        "fi",
        "of a short name",
        "number after the name of a law",
        r"(?P<units>UNITS)CASE(?![\d:/§]|[.,]\d|\s?(?:SIGN|luku|luvu|mom))",
        (
            "KuntaL 110.3",
            "KuntaL 110 a",
            "KuntaL 110:n",
            "PL 21",
            "Kuntalaki 62 a",
            "Kuntalaki 110 2 mom.",
        ),
    ),
    Spelling(
        "fi",
        "alone",
        "number after the sign, where that is all there is",
        r"(?P<units>UNITS)\.?\s?SIGN(?:,?\s?\((?P<bracket>\d{1,2})\)|,?\s(?P<only>\d{1,2}))",
        ("12 § 2", "12 § (2)", "kuntalain 110 a § 2"),
    ),
    Spelling(
        "fi",
        "moment",
        "moment alone, or of the section named before",
        r"(?:(?P<same>SAME\s+pykälän|sen)\s+)?(?P<own>NUMBERS)\.?\s?MOMENTS"
        r"(?:,?\s+(?P<own_items>NUMBERS)\s?ITEMS)?",
        ("3 mom.", "2 ja 3 momentissa", "113 § ja saman pykälän 2 momentti"),
    ),
    Spelling(
        "fi",
        "chapter",
        "chapter of a law as a whole",
        r"(?P<whole>UNIT)\s+(?:luku(?:un|a)?|luvu(?:n|ssa|sta))(?![\wåäö]|\s+UNITS\.?\s?SIGN)",
        ("osakeyhtiölain 13 luku",),
    ),
    # ── Hebrew: section, brackets, schedule, law; מס' 12 is "no. 12" ──────────────────────────────
    Spelling(
        "he",
        "section",
        "section, in words or short",
        r"(?P<unit>סעיפים|סעיפי|סעיף קטן(?=\s\d)|סעיף|סע'|סס'|(?<!מ)ס'|ס\"ס|ס\"ק)\s*(?P<list>LIST)",
        (
            *(
                'ס"ס 7-9',
                "סעיף 12",
                "ס' 12",
                "ס׳ 12(א)",
                "סעיף 12 (א)",
                "סעיף קטן 12(א)",
                "סעיף 12א(ב)(1)",
                "בסעיף 197",
            ),
            *("סעיף 4(5) לתוספת השלישית", "סעיף 197 לחוק התכנון והבנייה"),
            *("סעיפים 4(5) ו-4(7)", "סעיפים 197(א) ו-(ב)", "סעיף קטן (ב) לסעיף 197"),
            "התוספת השלישית לחוק התכנון והבניה, סעיף 14",
        ),
    ),
    Spelling(
        "he",
        "section",
        "section by a number in letters",
        r"(?P<unit>סעיף|סע'|(?<!מ)ס')\s*(?P<letters>[א-ת]{1,2}\"[א-ת]|[א-ת]')(?![א-ת\"'])",
        ('סעיף י"ב', "סעיף ה'"),
    ),
    Spelling(
        "he",
        "section",
        "regulation",
        r"(?P<unit>תקנות(?=\s\d)|תקנה)\s*(?P<list>LIST)",
        ("תקנה 5", "תקנה 5(א)"),
    ),
    Spelling(
        "he",
        "section",
        "item of a schedule",
        r"(?P<unit>פרט)\s*(?P<list>LIST)",
        ("פרט 3 לתוספת הראשונה",),
    ),
    Spelling(
        "he",
        "section",
        "item of a schedule by a letter",
        r"(?P<unit>פרט)\s+(?P<letter>[א-ת]{1,2}\d?)'?(?=\s+(?:[לב]|של\s+ה)ה?תוספת)",
        ("פרט ב לתוספת השנייה",),
    ),
    # ── English: a dot is part of the number; brackets are subdivisions ───────────────────────────
    # Patterns begin with a set of characters, which the regular expression engine skips to; what
    # must not stand before that character is looked at after it was taken.
    Spelling(
        "en",
        "statute",
        "section of an act that is named, in words or short",
        r"[Ss§](?<![\w’'.].)(?:(?<=[Ss])(?:ections?|ecs?\b\.?|s?\b\.?)|(?<=§)(?:\s?§)?)"
        r"GAP(?P<list>LIST)(?:,?\s+et\s+seq\.?,?)?"
        r"(?:,?\s+(?:of|in|under)\s+(?:(?P<back>BACK)|(?:(?:the|said)\s+)?(?P<after>ACT))"
        r"|,?\s+(?P<beside>DATED))",
        (
            *("section 5(2) of the Ferries Act 2030", "s. 5(2) of the Ferries Act, 2030"),
            "ss 3-5 of the Ferries Act 2030",
        ),
    ),
    Spelling(
        "en",
        "statute",
        "regulation, rule or article of what is made under an act",
        r"[RrAa](?<![\w’'.].)(?:(?<=[Rr])(?:egulations?|egs?\b\.?|ules?|r?\b\.?)"
        r"|(?<=[Aa])rt(?:icles?|s?\b\.?))\s?(?P<list>LIST)\s+(?:of|in)\s+(?:the\s+)?"
        r"(?P<after>MADE)",
        ("reg 5 of the Ferries (Safety) Regulations 2030",),
    ),
    Spelling(
        "en",
        "of an act",
        "short word after an act",
        r"[Ssra](?<![\w’'.].)(?:(?<=[Ss])s?\.?|(?<=r)(?:egs?\.?|r?\.?)|(?<=a)rts?\.?)\s?"
        r"(?P<list>LIST)",
        ("Ferries Act 2030, s 5(2)", "Ferries Act 2030 ss 3-5"),
    ),
    Spelling(
        "en",
        "schedule",
        "paragraph of a schedule",
        r"[Pp]ara(?:graph)?s?\.?\s?(?P<list>LIST)\s+(?:of|to|in)\s+(?:Part\s+\w+\s+of\s+)?"
        r"(?:[Tt]he\s+)?(?:(?P<ordinal>ORDINAL)\s+)?SCHEDULE"
        r"(?:\s+(?:to|of|in)\s+(?:(?P<back>BACK)|(?:the\s+)?(?P<after>ACT))"
        r"|(?!\s+(?:to|of|in)\s))",
        ("paragraph 3 of Schedule 2 to the Ferries Act 2030", "paras 1 to 3 of Schedule 2"),
    ),
    Spelling(
        "en",
        "schedule",
        "schedule first, or as a whole",
        r"(?<!\w)SCHEDULE(?:\s+(?:to|of)\s+(?:(?P<back>BACK)|(?:the\s+)?(?P<after>ACT)))?"
        r"(?:,?\s+\(?[Pp]ara(?:graph)?s?\.?\s?(?P<list>LIST)\)?"
        r"(?:\s+(?:to|of)\s+(?:the\s+)?(?P<later>ACT))?)?",
        (
            "Schedule 2, paragraph 3",
            "Ferries Act 2030 Sch. 2 para. 3",
            "Schedule 2 to the Ferries Act 2030",
        ),
    ),
    Spelling(
        "en",
        "regulation",
        "regulation",
        r"[Rr](?:egulations?|(?<=R)EGULATIONS?|egs?(?:\.|(?=\s)))(?:,?\s+SIGN)?GAP"
        r"(?!\d+\s+(?:Cal\b|C\.?\s?C\.?\s?R\b))(?P<list>LIST)",
        ("Regulation 18702.2(a)(1)", "Reg. 18702.2", "Reg 18702.2"),
    ),
    Spelling(
        "en",
        "statute",
        "section, in words or by its sign",
        r"[Ss§](?:(?<=[Ss])(?:ections?|ecs?\.)|(?<=S)(?:ECTIONS?|ecs?(?=\s))|(?<=§)(?:\s?§)?)"
        r"GAP(?P<list>LIST)"
        r"(?:(?:,?\s+et\.?\s+seq\.?)?,?\s+of\s+(?P<after>AFTER))?",
        (
            *("Section 1090", "§ 1090", "Sec. 87103(a)", "Section 87103(a)(1)", "§ 18702.2"),
            *("Section 12A", "Sec 12"),
            *("Government Code section 87100", "Gov. Code § 87103(a)"),
            *("Sections 87100 through 87105", "Section 87103(a) and (c)", "Section 87103(a)-(e)"),
            *("subdivisions (a) and (b) of Section 87103", "Cal. Const., art. II, § 8"),
            *(
                "Title 2, California Code of Regulations, Section 18730",
                "Stats. 1984, ch. 931, § 2",
            ),
        ),
    ),
    Spelling(
        "en",
        "statute",
        "number after a title of federal law, or after a code",
        r"(?P<code>\d(?<![\d.§-].)\d?\s+(?:U\.?\s?S\.?\s?C\.?(?:\s?A\.)?|C\.?\s?F\.?\s?R\.?))"
        r"(?:\s+[Pp]arts?)?\s+(?=\d)(?P<list>LIST)",
        ("11 CFR 110.20", "2 U.S.C. 441e"),
    ),
    Spelling(
        "en",
        "statute",
        "number after the name of a code",
        r"(?P<code>G(?:\.\s?C\.|C(?=\s)|ov(?:ernment|[’']?t|\.)?\s+Code)"
        r"|(?:Penal|Elec(?:tions|\.)|Educ(?:ation|\.)|Labor|Civil)\s+Code)\s+(?=\d{3})"
        r"(?P<list>LIST)",
        ("Government Code 87103", "G.C. 87103"),
    ),
    Spelling(
        "en",
        "regulation",
        "number after the administrative code",
        r"(?P<title5>\d(?<![\d.§-].)\d?)\s+(?:Cal(?:ifornia|\.)?\s+)?"
        r"(?:Adm(?:in|inistrative)?\.?\s+Code|C\.?C\.?R\.?)\s+(?=\d)(?P<list>LIST)",
        ("2 Cal. Adm. Code 18702", "2 CCR 18702"),
    ),
    Spelling(
        "en",
        "alone",
        "short word or article, where that is all there is",
        r"(?:[Ss]s?\.|[Ss]s?(?=\s)|[Ss]ecs?(?=\s)|[Aa]rts?\.|[Aa]rts?(?=\s)|[Aa]rticles?)"
        r"\s?(?P<list>LIST)",
        ("s. 12", "s 12", "ss. 12-14", "sec 12", "Article 5", "Art. 5"),
    ),
)

# ── fields that hold one section ──────────────────────────────────────────────────────────────────

# In a field of a record or a golden set a number alone is a section, with no word or sign to show
# it. These patterns must fit the whole field, in lower case with single spaces; NUMBER and WORD
# stand for the pieces below. A row of one language is read only where that language is meant.
BARE = (
    Spelling(
        "fi",
        "moment",
        "sign, number, dot, moment, in Finnish",
        r"WORD ?0*(?P<section>\d{1,3}(?: ?[a-zåäö])?)\.(?P<moment>\d{1,2})",
        ("§ 12.2", "§ 110 a.3"),
    ),
    Spelling(
        "",
        "number",
        "number alone",
        r"(?:WORD ?)?0*(?P<section>NUMBER)\.?",
        ("110a", "110 a", "18702.2"),
    ),
    Spelling(
        "",
        "chapter",
        "chapter, colon, section",
        r"(?P<chapter>\d+ ?[a-z]?) ?: ?(?P<section>\d+ ?[a-z]?)(?:\.(?P<moment>\d+))?",
        ("5:21", "5:21.1"),
    ),
    Spelling(
        "",
        "brackets",
        "number and brackets",
        r"(?:WORD ?)?0*(?P<section>NUMBER)(?P<brackets>(?: ?\([^()]+\))+)",
        ("110a(3)", "s. 110 a (3)"),
    ),
    Spelling(
        "",
        "moment",
        "number, sign, number",
        r"(?:WORD ?)?0*(?P<section>NUMBER) ?§+(?: ?: ?\w+)?[ ,]*"
        r"(?:\((?P<bracket>\d+)\)|(?P<moment>\d+)\.?(?: ?mom\w*\.?)?)",
        ("110 a § 2", "110 a § (2)", "§ 110 a § 2 mom."),
    ),
)
BARE_PIECES = {
    "NUMBER": r"\d+(?:\.\d+)*(?: ?[^\W\d_](?![^\W\d_])|[^\W\d_]{2,3}(?![^\W\d_]))?\d*",
    "WORD": r"(?:§+|pykälä\w*|section|sec\.?|s\.|s(?= )|art\.?|article|סעיף|ס')",
}


@cache
def grammar_signs() -> dict[str, re.Pattern[str]]:
    """The signs of each language, in the order in which languages are tried."""
    return {row.language: re.compile(row.signs, re.IGNORECASE) for row in GRAMMARS}


@cache
def chapter_in_field() -> re.Pattern[str]:
    """A chapter by its number, with or without its word, in lower case without spaces: '17aluku',
    and the '17al' of node ids."""
    words = "|".join(["l", *(row.chapter for row in GRAMMARS if row.chapter)])
    return re.compile(rf"(\d+[a-z]?)(?:{words})?\.?")


@cache
def law_in_field() -> re.Pattern[str]:
    """A pattern that shows that the words before a number are a law: its number, or a word of its
    name."""
    words = (row.law for row in GRAMMARS if row.law)
    return re.compile("|".join([r"\d{1,4}/\d{4}\)?$", *words]))


def spelled(language: str, pieces: Mapping[str, str]) -> list[tuple[str, str]]:
    """(kind, pattern) of each row of a language, with its pieces in place of their names."""
    rows = [row for row in SPELLINGS if row.language == language]
    return [(row.kind, filled(row.pattern, pieces)) for row in rows]


def filled(pattern: str, pieces: Mapping[str, str]) -> str:
    names = "|".join(sorted(pieces, key=len, reverse=True))
    return re.sub(rf"\b(?:{names})\b", lambda name: pieces[name[0]], pattern)


# ── brackets after a section ──────────────────────────────────────────────────────────────────────

_BRACKET = re.compile(r"\(([^()]+)\)")
_ROMAN = re.compile(r"[ivx]+")

Join = Literal["within", "and", "to"]
Subdivision = tuple[str, str, int, int]  # first, last (empty where it is no range), start, end


def sibling_brackets(before: str, further: str) -> str:
    """The full brackets of a sibling: they replace the one of their kind. After (b)(1), (c) is (c)
    and (2) is (b)(2); empty where there is none of the kind."""
    brackets, added = _BRACKET.findall(before), _BRACKET.findall(further)
    kinds = [_bracket_kind(bracket) for bracket in brackets]
    if _bracket_kind(added[0]) not in kinds:
        return ""
    depth = kinds.index(_bracket_kind(added[0]))
    is_roman = len(brackets) > 1 and _ROMAN.fullmatch(added[0]) and _ROMAN.fullmatch(brackets[-1])
    if is_roman:
        depth = len(brackets) - 1
    return "".join(f"({bracket})" for bracket in (*brackets[:depth], *added))


def subdivisions(brackets: Iterable[tuple[str, Join, int, int]]) -> list[Subdivision]:
    """The subdivisions of a list such as "(a)(1)-(3) and (b)", from its brackets: each with how it
    is joined to the one before, and its start and end."""
    found: list[Subdivision] = []
    for bracket, join, start, end in brackets:
        if not found:
            found.append((bracket, "", start, end))
            continue
        first, last, begin, _ = found[-1]
        if join == "within":
            found[-1] = (first + bracket, last, begin, end)
        elif not (meant := sibling_brackets(last or first, bracket)):
            break
        elif join == "to":
            found[-1] = (first, meant, begin, end)
        else:
            found.append((meant, "", start, end))
    return found


def range_end(first: str, last: str) -> str:
    """The brackets in which the end of a range differs from its beginning: (3) of (g)(1)–(g)(3)."""
    brackets = [f"({bracket})" for bracket in _BRACKET.findall(last)]
    shorter = ("".join(brackets[depth:]) for depth in range(len(brackets) - 1, 0, -1))
    return next((end for end in shorter if sibling_brackets(first, end) == last), last)


def _bracket_kind(bracket: str) -> str:
    if bracket.isdecimal():
        return "number"
    if "א" <= bracket[0] <= "ת":
        return "Hebrew"
    return "capital" if bracket.isupper() else "small"
