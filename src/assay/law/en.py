"""English citations: code sections, regulations, advice letters by number, reported opinions and
cases.

Gov. Code § 87103(a)            Section 87103(a); Government Code Section 87103, subdivision (a)
Gov. Code §§ 87100–87105        Sections 87100 through 87105
Regulation 18702.2(a)(7)        Reg. 18702.2(a)(7); 2 Cal. Code Regs. Section 18702.2(a)(7)
No. A-90-123                    Smith Advice Letter, No. A-90-123; A-90-123; File No. 1-90-123
                                (a scanner's I)
In re Oglesby (1975) 1 FPPC Ops. 71   In re Oglesby, 1 FPPC Ops. 71
38 Cal.3d 633                   38 Cal. 3d 633
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import cast

import msgspec

from assay.law.citation import Citation, Kind, Scheme, citation_at
from assay.law.spellings import DASH, spelled

# Long and short names of codes, each with its normal form. A code that is not here keeps its own
# name.
CODES = {
    r"Gov(?:ernment|[’']?t|\.)?": "Gov.",
    r"Pen(?:al|\.)": "Penal",
    r"Elec(?:tions?|\.)": "Elec.",
    r"Civ(?:il|\.)": "Civ.",
    r"Corp(?:orations?|s?\.)": "Corp.",
    r"Bus(?:iness|\.)\s*(?:and|&)\s*Prof(?:essions|\.)": "Bus. & Prof.",
    r"Health\s*(?:and|&)\s*Saf(?:ety|\.)": "Health & Saf.",
    r"Pub(?:lic|\.)\s*Cont(?:ract|\.)": "Pub. Cont.",
    r"Pub(?:lic|\.)\s*Res(?:ources|\.)": "Pub. Res.",
    r"Pub(?:lic|\.)\s*Util(?:ities|\.)": "Pub. Util.",
    r"Welf(?:are|\.)\s*(?:and|&)\s*Inst(?:itutions|\.)": "Welf. & Inst.",
    r"Rev(?:enue|\.)\s*(?:and|&)\s*Tax(?:ation|\.)": "Rev. & Tax.",
    r"Ed(?:ucation|uc?\.)": "Educ.",
    r"Veh(?:icle|\.)": "Veh.",
    r"Lab(?:or|\.)": "Lab.",
    r"Ins(?:urance|\.)": "Ins.",
    r"Fin(?:ancial|\.)": "Fin.",
    r"Fam(?:ily|\.)": "Fam.",
    r"Prob(?:ate|\.)": "Prob.",
    r"Evid(?:ence|\.)": "Evid.",
    r"Water": "Water",
    r"(?:Internal\s+Revenue|Int\.\s*Rev\.|I\.?R\.?)": "Int. Rev.",
}
REPORTERS = {
    r"Cal\.?\s*App\.?\s*(2d|3d|4th|5th)": "Cal.App.{}",
    r"Cal\.?\s*App\.?": "Cal.App.",
    r"Cal\.?\s*Rptr\.?\s*(2d|3d)": "Cal.Rptr.{}",
    r"Cal\.?\s*Rptr\.?": "Cal.Rptr.",
    r"Cal\.?\s*(2d|3d|4th|5th)": "Cal.{}",
    r"Cal\.": "Cal.",
    r"U\.\s*S\.": "U.S.",
    r"S\.\s*Ct\.": "S.Ct.",
    r"F\.\s*Supp\.?\s*(2d|3d)": "F.Supp.{}",
    r"F\.\s*Supp\.?": "F.Supp.",
    r"F\.\s*(2d|3d|4th)": "F.{}",
    r"P\.\s*(2d|3d)": "P.{}",
    r"Ops\.?\s*Cal\.?\s*Att(?:[’']?y|orney)?\.?\s*Gen(?:eral|\.)?": "Ops.Cal.Atty.Gen.",
}

_SUB = r"(?:\s?\((?:[a-z]{1,2}|[A-Z]{1,2}|\d{1,2}|[ivx]{1,5})\))*"
# 12A; after a long number I, J, L, O and S are what a scanner made of a digit
_CAPITAL = r"(?:[A-HKMNP-RT-Z]|(?<!\d{4})(?<!\.\d)[IJLOS])(?![A-Za-z]|\.\d|-\d\d-)"
_NUMBER = rf"\d{{1,6}}(?:\.\d{{1,4}})*(?:[a-z]|{_CAPITAL})?(?![\d,]*\d)"
_SUBDIVISION = r"(?:subds?\.|subdivisions?|subsections?|subd)"
_ITEM = rf"{_NUMBER}{_SUB}(?:,\s?{_SUBDIVISION}\s?{_SUB})?"
_SEPARATOR = rf"(?:,\s?(?:and|or)?\s?|\s(?:and|or|through|to)\s|\s?&\s?|\s?{DASH}\s?)(?:§\s?)?"
_LIST = rf"{_ITEM}(?:{_SEPARATOR}{_ITEM})*"
_CODE = (
    rf"(?:{'|'.join(CODES)}|(?!Adm)[A-Z][a-z]+)\s+Code|Code\s+of\s+[A-Z][a-z]+\s+Procedure"
    r"|\d+\s+U\.?\s?S\.?\s?C\.?"
)
_SIGN = r"(?:[Ss]ections?|[Ss]ecs?\.|Secs?(?=\s)|SECTIONS?|§§?)"
PIECES = {"LIST": _LIST, "CODE": _CODE, "SIGN": _SIGN}
# Each rule is a core and a pattern for what may stand before it.
_BEFORE_STATUTE = re.compile(
    rf"(?:\b(?P<lead>(?:subdivisions?|subds?\.)\s?{_SUB[:-1]}+)\s+of\s+)?"
    rf"(?:\b(?P<code>{_CODE}),?\s*)?$"
)
_TITLE = (
    r"(?:\d+\s+)?(?:Cal(?:ifornia|\.)?\s+)?"
    r"(?:Code\s+of\s+Reg(?:ulation)?s?\.?|Code\s+Regs?\.?|Adm(?:in|inistrative)?\.?\s+Code)"
    r"(?:,?\s+(?:[Tt]itle|[Tt]it\.)\s+\d+)?,?\s+"
)
_BEFORE_REGULATION = re.compile(
    rf"(?:\b{_TITLE}|\b(?:\d+\s+)?(?:Cal(?:ifornia|\.)?\s+)?Code\s+(?:of\s+)?)?$"
)
_BEFORE_SECTION = {"statute": _BEFORE_STATUTE, "regulation": _BEFORE_REGULATION}
_TITLE_BEFORE = re.compile(rf"\b{_TITLE}$")
# A letter's file number: kind of letter, year, number, and what was added to tell letters on one
# request apart.
_DIGIT = r"[\dOolISB]"
_EXTENSION = rf"(?P<ext>[a-km-zA-Z]\b|\([a-z]\))?(?P<law>{DASH}1090)?"
_FILE = (
    rf"(?P<series>[A-Z1l])(?<![A-Za-z\d].)\s?{DASH}\s?(?P<yy>(?:19|20)?\d{_DIGIT})\s?{DASH}\s?"
    rf"(?P<nn>{_DIGIT}{{2,4}}){_EXTENSION}"
)
_OLD = (
    rf"(?:(?:[A-Z1l]\s?{DASH}?\s?)?(?:19|20)?\d\d\s?{DASH}\s?\d{{2,4}}"
    rf"(?:[a-zA-Z]\b|\([a-z]\))?(?:{DASH}1090)?|[A-Z]-\d{{5}})"
)
_OLD_SHAPE = re.compile(
    rf"(?:(?P<series>[A-Z1l])\s?{DASH}?\s?)?(?P<yy>(?:19|20)?\d\d)\s?{DASH}\s?"
    rf"(?P<nn>\d{{2,4}}){_EXTENSION}"
)
_END = rf"(?!{DASH}?\d)"
_LETTERS = {
    "numbered": rf"[N#](?:(?<=#)|(?<=N)(?<!\w.)[oO]s?\b\.?)\s*:?\s*(?P<old>{_OLD}){_END}",
    "bare": _FILE + _END,
    "plain": rf"Letter\s(?P<old>{_OLD}){_END}",
}
_NAME = (
    r"[A-Z][A-Za-z’'.]*[a-z](?:[- ](?:[A-Z][A-Za-z’'.]*[a-z]|[A-Z]\.|and|&|de|la|van|von|der)){0,4}"
)
_BEFORE_LETTER = re.compile(
    rf"(?:\b(?P<name>{_NAME})\s+(?:[Ii]nformal\s+)?"
    r"(?:(?:Advice\s+)?(?:Letter|Opinion|Memorandum)s?(?:\s+\([^()]{1,30}\))?,?\s+|Advice,?\s+)"
    r"|\b(?:[Ll]etters?|[Mm]emorandum|[Oo]pinion)\s+to\s+(?:(?:Mr|Ms|Mrs|Dr|Hon)\.\s+)?"
    rf"(?P<to>{_NAME}),?\s+)?"
    r"(?:(?:[Oo]ur\s+)?[Ff]ile\s+|FILE\s+)?$"
)
_OPINION = (
    r"(?P<vol>\d(?<!\w.)\d{0,2})\s+(?P<of>[A-Z][A-Za-z]{1,5})\s+"
    r"[Oo]p(?:inion)?s?\.?\s+(?P<page>\d{1,4})(?:\s*\((?P<year2>\d{4})\))?"
)
_BEFORE_OPINION = re.compile(
    rf"(?:\b(?:In\s+[Rr]e|Opinion\s+requested\s+by)\s*:?\s+(?P<name>{_NAME})\s*,?\s*)?"
    r"(?:\((?P<year>\d{4})\)\s*)?$"
)
_REPORTER = "|".join(re.sub(r"\((?!\?)", "(?:", pattern) for pattern in REPORTERS)
_CASE = rf"(?P<vol>\d(?<![\w.].)\d{{0,3}})\s+(?P<reporter>(?i:{_REPORTER}))\s*(?P<page>\d{{1,5}})\b"
_NOTHING = re.compile("$")

_RULES: tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...] = (
    *(
        (cast(Kind, kind), re.compile(core), _BEFORE_SECTION[kind])
        for kind, core in spelled("en", PIECES)
        if kind != "alone"
    ),
    *(
        ("statute", re.compile(rf"\A\s*(?:{core})(?=[\s.,:;?!]*\Z)"), _NOTHING)
        for kind, core in spelled("en", PIECES)
        if kind == "alone"
    ),
    *((("letter", re.compile(core), _BEFORE_LETTER)) for core in _LETTERS.values()),
    ("opinion", re.compile(_OPINION), _BEFORE_OPINION),
    ("case", re.compile(_CASE), _NOTHING),
)
_REACH = 90  # how far back the words that belong to a citation may begin
_ONE = re.compile(
    rf"(?P<number>{_NUMBER})(?P<sub>{_SUB})(?:,\s?{_SUBDIVISION}\s?(?P<sub2>{_SUB}))?"
)
_PLURAL = re.compile(
    r"[Ss]ections|SECTIONS|[Ss]ecs\b|§§|\b[Ss]s\b|[Rr]egulations|REGULATIONS|Regs\b"
)
_JOIN = re.compile(rf"\s?(?:{DASH}|through|to)\s?(?:§\s?)?$")
Spanned = tuple[dict[str, str], int, int]  # what is named, and from where to where it stands
_SCANNER = str.maketrans("OolISB", "001158")
_TITLES = re.compile(r"^(?:(?:In|See|The|the|Also|also|Our|and|our)\s+)+")


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    """Every citation in the order of the rules; spans of different rules may overlap, the caller
    keeps the first."""
    for kind, core, before in _RULES:
        read = _READERS[kind]
        for match in core.finditer(text):
            head = before.search(text, max(0, match.start() - _REACH), match.start())
            if head is not None:
                yield from read(match, head, scheme)


def format(kind: Kind, parts: dict[str, str]) -> str:
    return _FORMATS[kind](parts)


_citation = partial(citation_at, "en", format)


def letter_parts(number: str) -> dict[str, str] | None:
    """The parts of a file number that stands alone, such as a value in a record: 'A-90-123',
    '89-142', 'I-93418'."""
    compact = re.fullmatch(r"(?:([A-Z])-?)?(\d\d)[A-Z]?(\d{3})(?:[a-z]|\([a-z]\))?", number.strip())
    match = re.fullmatch(_FILE, number.strip()) or _OLD_SHAPE.fullmatch(number.strip())
    if match:
        return _file_parts(match)
    if compact:
        return {
            key: value
            for key, value in zip(("series", "year", "number"), compact.groups(), strict=True)
            if value
        }
    return None


def _statute(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    regulation = _TITLE_BEFORE.search(match.string, max(0, match.start() - _REACH), match.start())
    said = {**head.groupdict(), **match.groupdict()}
    named = said.get("code") or said.get("after")
    code = law_name(named) if named else scheme.code
    lead = _squeeze(re.sub(r"^\w+\.?\s?", "", said.get("lead") or ""))
    numbers = re.compile(scheme.regulation) if scheme.regulation and not named else None
    begin = regulation.start() if regulation else head.start()
    for parts, start, end in _sections(match, begin, "after" if said.get("after") else ""):
        if lead and not parts.get("sub"):
            parts["sub"] = lead
        if regulation or (numbers and numbers.fullmatch(parts["section"].split(".")[0])):
            yield _citation(match.string, "regulation", parts, start, end)
        else:
            named_parts = ({"code": code} if code else {}) | parts
            yield _citation(match.string, "statute", named_parts, start, end)


def _regulation(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    for parts, start, end in _sections(match, head.start()):
        yield _citation(match.string, "regulation", parts, start, end)


def _sections(match: re.Match[str], begin: int, tail: str = "") -> Iterator[Spanned]:
    """The sections of a list, each with its span; the first takes the words before it along, a lone
    one those after."""
    text = match.string
    numbers = list(_ONE.finditer(text, *match.span("list")))
    if not _PLURAL.search(text, match.start(), match.start("list")):
        # "Section 85301, 500 feet" names one: others would have as many digits
        numbers = [number for number in numbers if _digits(number) == _digits(numbers[0])]
    index = 0
    while index < len(numbers):
        first = last = numbers[index]
        parts = _section(first)
        following = numbers[index + 1 : index + 2]
        if following and _JOIN.match(text[first.end() : following[0].start()]):
            last = following[0]
            parts["to"] = _section(last)["section"] + _section(last).get("sub", "")
            index += 1
        start = begin if first is numbers[0] else first.start()
        alone = first is numbers[0] and last is numbers[-1]
        yield parts, start, match.end(tail) if alone and tail else last.end()
        index += 1


def _digits(number: re.Match[str]) -> int:
    return len(number["number"].split(".")[0])


def _section(number: re.Match[str]) -> dict[str, str]:
    sub = _squeeze((number["sub"] or "") + (number["sub2"] or ""))
    return {"section": number["number"]} | ({"sub": sub} if sub else {})


def _letter(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    numbered = "old" in match.re.groupindex
    parts = letter_parts(match["old"]) if numbered else _file_parts(match)
    if parts is None:
        return
    if numbered and "series" not in parts and 30 < int(parts["year"]) < 70:
        return  # "No. 45-123" is a bill, a permit, a resolution
    name = _TITLES.sub("", " ".join((head["name"] or head["to"] or "").split()))
    name = name.removesuffix(" and").removesuffix(" Advice")
    citation = _citation(match.string, "letter", parts, head.start(), match.end())
    yield msgspec.structs.replace(
        citation, name=name if name[:1].isupper() and name != "Advice" else ""
    )


def _file_parts(match: re.Match[str]) -> dict[str, str] | None:
    series = {"1": "I", "l": "I"}.get(match["series"] or "", match["series"] or "")
    year, number = match["yy"].translate(_SCANNER)[-2:], match["nn"].translate(_SCANNER)
    if not (year.isdigit() and number.isdigit()):
        return None
    extension = (match["ext"] or "").strip("()").lower() + ("-1090" if match["law"] else "")
    parts = {"series": series, "year": year, "number": number.zfill(3), "ext": extension}
    return {key: value for key, value in parts.items() if value}


def _opinion(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    parts = {
        "name": " ".join((head["name"] or "").split()).removesuffix(","),
        "year": head["year"] or match["year2"] or "",
        "volume": match["vol"],
        "reporter": f"{match['of'].upper()} Ops.",
        "page": match["page"],
    }
    present = {key: value for key, value in parts.items() if value}
    yield _citation(match.string, "opinion", present, head.start(), match.end())


def _case(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    parts = {
        "volume": match["vol"],
        "reporter": _reporter(match["reporter"]),
        "page": match["page"],
    }
    yield _citation(match.string, "case", parts, *match.span())


@cache
def law_name(text: str) -> str:
    """The normal name of a code: 'Government Code' is 'Gov. Code'."""
    plain = " ".join(text.split())
    federal = re.fullmatch(r"(\d+)\s+U\.?\s?S\.?\s?C\.?", plain)
    if federal:
        return f"{federal[1]} U.S.C."
    for pattern, name in CODES.items():
        if re.fullmatch(rf"(?:{pattern})\s+Code", plain, re.IGNORECASE):
            return f"{name} Code"
    return plain


@cache
def _reporter(text: str) -> str:
    for pattern, name in REPORTERS.items():
        if match := re.fullmatch(pattern, text.strip(), re.IGNORECASE):
            return name.format(*(group.lower() for group in match.groups()))
    return text


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _print_statute(parts: dict[str, str]) -> str:
    code = f"{parts['code']} " if parts.get("code") else ""
    if to := parts.get("to"):
        return f"{code}§§ {parts['section']}{parts.get('sub', '')}–{to}"
    return f"{code}§ {parts['section']}{parts.get('sub', '')}"


def _print_regulation(parts: dict[str, str]) -> str:
    to = f"–{parts['to']}" if parts.get("to") else ""
    return f"Regulation{'s' if to else ''} {parts['section']}{parts.get('sub', '')}{to}"


def _print_letter(parts: dict[str, str]) -> str:
    series = f"{parts['series']}-" if parts.get("series") else ""
    return f"No. {series}{parts['year']}-{parts['number']}{parts.get('ext', '')}"


def _print_opinion(parts: dict[str, str]) -> str:
    name = f"In re {parts['name']}{'' if parts.get('year') else ','} " if parts.get("name") else ""
    year = f"({parts['year']}) " if parts.get("year") else ""
    return f"{name}{year}{parts['volume']} {parts['reporter']} {parts['page']}"


def _print_case(parts: dict[str, str]) -> str:
    return f"{parts['volume']} {parts['reporter']} {parts['page']}"


_READERS: dict[str, Callable[[re.Match[str], re.Match[str], Scheme], Iterator[Citation]]] = {
    "regulation": _regulation,
    "statute": _statute,
    "letter": _letter,
    "opinion": _opinion,
    "case": _case,
}
_FORMATS: dict[str, Callable[[dict[str, str]], str]] = {
    "statute": _print_statute,
    "regulation": _print_regulation,
    "letter": _print_letter,
    "opinion": _print_opinion,
    "case": _print_case,
}
