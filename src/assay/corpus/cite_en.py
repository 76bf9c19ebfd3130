"""English citations: code sections, regulations, advice letters by number, reported opinions and cases.

Gov. Code § 87103(a)            Section 87103(a); Government Code Section 87103, subdivision (a)
Gov. Code §§ 87100–87105        Sections 87100 through 87105
Regulation 18702.2(a)(7)        Reg. 18702.2(a)(7); 2 Cal. Code Regs. Section 18702.2(a)(7)
No. A-90-123                    Smith Advice Letter, No. A-90-123; A-90-123; File No. 1-90-123 (a scanner's I)
In re Oglesby (1975) 1 FPPC Ops. 71   In re Oglesby, 1 FPPC Ops. 71
38 Cal.3d 633                   38 Cal. 3d 633
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

import msgspec

from assay.corpus.citation import Citation, Kind, Scheme

# Long and short names of codes, each with its normal form. A code that is not here keeps its own name.
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
    r"(?:Internal\s+Revenue|I\.?R\.?)": "Int. Rev.",
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

_DASH = "[-‐‑–—]"
_SUB = r"(?:\s?\((?:[a-z]{1,2}|[A-Z]{1,2}|\d{1,2}|[ivx]{1,5})\))*"
_NUMBER = r"\d{1,6}(?:\.\d{1,4})*[a-z]?(?![\d,]*\d)"
_ITEM = rf"{_NUMBER}{_SUB}(?:,\s?(?:subds?\.|subdivisions?|subsections?|subd)\s?{_SUB})?"
_LIST = rf"{_ITEM}(?:(?:,\s?(?:and|or)?\s?|\s(?:and|or|through|to)\s|\s?&\s?|\s?{_DASH}\s?)(?:§\s?)?{_ITEM})*"
_CODE = rf"(?:{'|'.join(CODES)}|[A-Z][a-z]+)\s+Code|Code\s+of\s+[A-Z][a-z]+\s+Procedure|\d+\s+U\.?\s?S\.?\s?C\.?"
_SIGN = r"(?:[Ss]ections?|[Ss]ecs?\.|SECTIONS?|§§?)"
_LEAD = rf"(?:(?P<lead>(?:subdivisions?|subds?\.)\s?{_SUB[:-1]}+)\s+of\s+)"
_STATUTE = (
    rf"{_LEAD}?(?:(?P<code>{_CODE}),?\s*)?(?P<sign>{_SIGN})\s?(?P<list>{_LIST})(?:\s+of\s+the\s+(?P<after>{_CODE}))?"
)
_TITLE = r"(?:\d+\s+)?(?:Cal(?:ifornia|\.)?\s+)?(?:Code\s+of\s+Reg(?:ulation)?s?\.?|Code\s+Regs?\.?|Adm(?:in|inistrative)?\.?\s+Code)"
_REGULATION = (
    rf"(?:{_TITLE}(?:,?\s+(?:[Tt]itle|[Tt]it\.)\s+\d+)?,?\s+(?:{_SIGN}|[Rr]egulations?)|[Rr]egulations?|REGULATIONS?|Regs?\.)"
    rf"(?:\s+{_SIGN})?\s?(?P<rlist>{_LIST})"
)
# A letter's file number: kind of letter, year, number, and what was added to tell letters on one request apart.
_DIGIT = r"[\dOolISB]"
_FILE = rf"(?P<series>[A-Z1l])\s?{_DASH}\s?(?P<yy>(?:19|20)?\d{_DIGIT})\s?{_DASH}\s?(?P<nn>{_DIGIT}{{2,4}})(?P<ext>[a-zA-Z]\b|\([a-z]\))?(?P<law>{_DASH}1090)?"
_OLD = rf"(?:[A-Z1l]?\s?{_DASH}?\s?)?(?:19|20)?\d\d\s?{_DASH}\s?\d{{2,4}}(?:[a-zA-Z]\b|\([a-z]\))?(?:{_DASH}1090)?"
_OLD_SHAPE = re.compile(
    rf"(?:(?P<series>[A-Z1l])\s?{_DASH}?\s?)?(?P<yy>(?:19|20)?\d\d)\s?{_DASH}\s?(?P<nn>\d{{2,4}})(?P<ext>[a-zA-Z]\b|\([a-z]\))?(?P<law>{_DASH}1090)?"
)
_NAME = r"[A-Z][A-Za-z’'.]*[a-z](?:[- ](?:[A-Z][A-Za-z’'.]*[a-z]|[A-Z]\.|and|&|de|la|van|von|der)){0,4}"
_NAMED = rf"(?:(?P<name>{_NAME})\s+(?:[Ii]nformal\s+)?(?:Advice\s+)?(?:Letter|Opinion|Memorandum)s?(?:\s+\([^()]{{1,30}}\))?|(?:[Ll]etters?|[Mm]emorandum|[Oo]pinion)\s+to\s+(?:(?:Mr|Ms|Mrs|Dr|Hon)\.\s+)?(?P<to>{_NAME}))"
_LETTER = rf"(?:{_NAMED},?\s+)?(?:(?:(?:[Oo]ur\s+)?[Ff]ile\s+)?(?:Nos?\.?|NO\.|#)\s*:?\s*(?P<old>{_OLD})|(?P<bare>{_FILE})|(?<=Letter\s)(?P<plain>{_OLD}))(?!{_DASH}?\d)"
_OPINION = (
    rf"(?:(?:In\s+[Rr]e|Opinion\s+requested\s+by)\s*:?\s+(?P<oname>{_NAME})\s*,?\s*)?(?:\((?P<oyear>\d{{4}})\)\s*)?"
    r"(?P<vol>\d{1,3})\s+(?P<series_of>[A-Z]{2,6})\s+[Oo]p(?:inion)?s?\.?\s+(?P<opage>\d{1,4})(?:\s*\((?P<oyear2>\d{4})\))?"
)
_CASE = rf"(?<![\d.])(?P<cvol>\d{{1,4}})\s+(?P<reporter>{'|'.join(key.replace('(', '(?:') for key in REPORTERS)})\s*(?P<cpage>\d{{1,5}})\b"

_RULES: dict[str, re.Pattern[str]] = {
    "regulation": re.compile(rf"\b{_REGULATION}"),
    "statute": re.compile(rf"(?:\b|(?=§)){_STATUTE}"),
    "letter": re.compile(rf"(?:\b|(?=#)){_LETTER}"),
    "opinion": re.compile(_OPINION),
    "case": re.compile(_CASE),
}
# Each rule runs only where one of its words stands: most of a long letter holds no citation.
_TRIGGERS: dict[str, re.Pattern[str]] = {
    "regulation": re.compile(r"[Rr]eg(?:ulation|s?\.)|REGULATION|Code\s+of\s+Reg|Adm\w*\.?\s+Code"),
    "statute": re.compile(r"[Ss]ec(?:tion|s?\.)|SECTION|§"),
    "letter": re.compile(rf"[A-Z1l]\s?{_DASH}\s?\d|\bN[oO]s?\.|#|Letter\s\d|File\s+No"),
    "opinion": re.compile(r"\s[Oo]p(?:inion)?s?\.?\s+\d"),
    "case": re.compile(r"\d\s+(?:Cal|U\.|S\.|F\.|P\.|Ops)"),
}
_ITEMS = re.compile(
    rf"(?P<number>{_NUMBER})(?P<sub>{_SUB})(?:,\s?(?:subds?\.|subdivisions?|subsections?|subd)\s?(?P<sub2>{_SUB}))?"
)
_JOIN = re.compile(rf"\s?(?:{_DASH}|through|to)\s?(?:§\s?)?$")
_SCANNER = str.maketrans("OolISB", "001158")
_TITLES = re.compile(r"^(?:(?:In|See|The|the|Also|also|Our|and|our)\s+)+")


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    """Every citation in the order of the rules; spans of different rules may overlap, the caller keeps the first."""
    for kind, pattern in _RULES.items():
        if _TRIGGERS[kind].search(text):
            for match in pattern.finditer(text):
                yield from _READERS[kind](match, scheme)


def format(kind: Kind, parts: dict[str, str]) -> str:
    return _FORMATS[kind](parts)


def letter_parts(number: str) -> dict[str, str] | None:
    """The parts of a file number that stands alone, such as a value in a record: 'A-90-123', '89-142', 'I-93418'."""
    compact = re.fullmatch(r"(?:([A-Z])-?)?(\d\d)[A-Z]?(\d{3})(?:[a-z]|\([a-z]\))?", number.strip())
    match = re.fullmatch(_FILE, number.strip()) or _OLD_SHAPE.fullmatch(number.strip())
    if match:
        return _file_parts(match)
    if compact:
        return {key: value for key, value in zip(("series", "year", "number"), compact.groups(), strict=True) if value}
    return None


def _statute(match: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    named = match["code"] or match["after"]
    code = _code_name(named) if named else scheme.code
    lead = _squeeze(re.sub(r"^\w+\.?\s?", "", match["lead"])) if match["lead"] else ""
    numbers = re.compile(scheme.regulation) if scheme.regulation and not named else None
    for parts, start, end in _items(match, "list", "after"):
        if lead and not parts.get("sub"):
            parts["sub"] = lead
        if numbers and numbers.fullmatch(parts["section"].split(".")[0]):
            yield _citation(match, "regulation", parts, start, end)
        else:
            yield _citation(match, "statute", ({"code": code} if code else {}) | parts, start, end)


def _regulation(match: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    for parts, start, end in _items(match, "rlist"):
        yield _citation(match, "regulation", parts, start, end)


def _items(match: re.Match[str], group: str, tail: str = "") -> Iterator[tuple[dict[str, str], int, int]]:
    """The sections of a list, each with its span; the first takes the words before it along, a lone one those after."""
    found = list(_ITEMS.finditer(match.string, match.start(group), match.end(group)))
    index = 0
    while index < len(found):
        first = last = found[index]
        parts = _section(first)
        if index + 1 < len(found) and _JOIN.match(match.string[first.end() : found[index + 1].start()]):
            last = found[index + 1]
            parts["to"] = _section(last)["section"] + _section(last).get("sub", "")
            index += 1
        start = match.start() if first is found[0] else first.start()
        alone = first is found[0] and last is found[-1]
        yield parts, start, match.end(tail) if alone and tail and match[tail] else last.end()
        index += 1


def _section(item: re.Match[str]) -> dict[str, str]:
    sub = _squeeze((item["sub"] or "") + (item["sub2"] or ""))
    return {"section": item["number"]} | ({"sub": sub} if sub else {})


def _letter(match: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    shape = match if match["bare"] else _OLD_SHAPE.fullmatch((match["old"] or match["plain"]).strip())
    if shape is None or not (parts := _file_parts(shape)):
        return
    name = _TITLES.sub("", " ".join((match["name"] or match["to"] or "").split())).removesuffix(" and")
    if not match["bare"] and "series" not in parts and int(parts["year"]) > 30 and int(parts["year"]) < 70:
        return  # "No. 45-123" is a bill, a permit, a resolution
    name = name if name[:1].isupper() else ""
    yield msgspec.structs.replace(_citation(match, "letter", parts, *match.span()), name=name)


def _file_parts(match: re.Match[str]) -> dict[str, str] | None:
    series = {"1": "I", "l": "I"}.get(match["series"] or "", match["series"] or "")
    year, number = match["yy"].translate(_SCANNER)[-2:], match["nn"].translate(_SCANNER)
    if not (year.isdigit() and number.isdigit()):
        return None
    extension = (match["ext"] or "").strip("()").lower() + ("-1090" if match["law"] else "")
    parts = {"series": series, "year": year, "number": number.zfill(3), "ext": extension}
    return {key: value for key, value in parts.items() if value}


def _opinion(match: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    name = " ".join((match["oname"] or "").split()).removesuffix(",")
    parts = {
        "name": name,
        "year": match["oyear"] or match["oyear2"] or "",
        "volume": match["vol"],
        "reporter": f"{match['series_of']} Ops.",
        "page": match["opage"],
    }
    yield _citation(match, "opinion", {key: value for key, value in parts.items() if value}, *match.span())


def _case(match: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    reporter = _reporter(match["reporter"])
    yield _citation(
        match, "case", {"volume": match["cvol"], "reporter": reporter, "page": match["cpage"]}, *match.span()
    )


def _citation(match: re.Match[str], kind: Kind, parts: dict[str, str], start: int, end: int) -> Citation:
    return Citation(
        text=match.string[start:end],
        start=start,
        end=end,
        kind=kind,
        language="en",
        normal=_FORMATS[kind](parts),
        parts=parts,
    )


@cache
def _code_name(text: str) -> str:
    plain = " ".join(text.split())
    federal = re.fullmatch(r"(\d+)\s+U\.?\s?S\.?\s?C\.?", plain)
    if federal:
        return f"{federal[1]} U.S.C."
    for pattern, name in CODES.items():
        if re.fullmatch(rf"(?:{pattern})\s+Code", plain):
            return f"{name} Code"
    return plain


@cache
def _reporter(text: str) -> str:
    for pattern, name in REPORTERS.items():
        if match := re.fullmatch(pattern, text.strip()):
            return name.format(*match.groups())
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


_READERS: dict[str, Callable[[re.Match[str], Scheme], Iterator[Citation]]] = {
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
