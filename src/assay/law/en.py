"""Find English citations in text: code sections, acts, regulations, advice letters by number,
reported opinions and cases.

Gov. Code § 87103(a)            Section 87103(a); Government Code Section 87103, subdivision (a)
Gov. Code § 87103(a)–(e)        Section 87103(a)-(e); subdivisions (a) through (e) of Section 87103
11 C.F.R. § 110.20              11 CFR 110.20
Cal. Const. art. XI § 7         Section 7 of Article XI of the California Constitution
Gov. Code §§ 87100–87105        Sections 87100 through 87105
Ferries Act 2030 § 5(2)         section 5(2) of the Ferries Act, 2030; Ferries Act 2030, s 5(2)
Ferries Act 2030 Sch. 2 para. 3     paragraph 3 of Schedule 2 to the Ferries Act 2030
Regulation 18702.2(a)(7)        Reg. 18702.2(a)(7); 2 Cal. Code Regs. Section 18702.2(a)(7)
No. A-90-123                    Smith Advice Letter, No. A-90-123; A-90-123; File No. 1-90-123
                                (a scanner's I)
In re Oglesby (1975) 1 FPPC Ops. 71   In re Oglesby, 1 FPPC Ops. 71
38 Cal.3d 633                   38 Cal. 3d 633

A list of subdivisions is one citation each: what follows 87103(b)(1) is read at the depth that its
kind has there, so that "and (c)" is 87103(c) and "and (2)" is 87103(b)(2). "Thorner, supra" and
"Id." mean what was cited before under that name, or right before; where that is not plain, they
mean nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple, cast

import msgspec

from assay.law.citation import Citation, Kind, Scheme, Spanned, citation_at, first_matches
from assay.law.en_names import (
    ACT,
    AFTER,
    BACK,
    CODE,
    DATED_ACT,
    MADE,
    NO_LAW,
    ONLY,
    ORDINAL,
    REPORTERS,
    SCHEDULE,
    SOURCE,
    act_name,
    is_act,
    kind_of_source,
    law_name,
    meant_by,
    reporter,
    schedule_number,
    title_in,
)
from assay.law.spellings import DASH, Join, Subdivision, range_end, spelled, subdivisions

NAME = (
    r"[A-Z][A-Za-z’'.]*[a-z](?:[- ](?:[A-Z][A-Za-z’'.]*[a-z]|[A-Z]\.|and|&|de|la|van|von|der)){0,4}"
)
TITLES = re.compile(r"^(?:(?:In|See|The|the|Also|also|Our|and|our|Cf\.)\s+)+")
_REACH = 90  # characters: how far back the words of a citation may begin (taste)

# ── lists of sections ─────────────────────────────────────────────────────────────────────────────

_BRACKET = r"\(\s?(?:[a-z]{1,2}|[A-Z]{1,2}|\d{1,2}|[ivx]{1,5})\s?\)"
_SUB = rf"{_BRACKET}(?:\s?{_BRACKET})*"
# 12A; after a long number I, J, L, O and S are what a scanner made of a digit
_CAPITAL = r"(?:[A-HKMNP-RT-Z]|(?<!\d{4})(?<!\.\d)[IJLOS])(?![A-Za-z]|\.\d|-\d\d-)"
# no part of a number that a scanner spoilt (87lO3), nor the mark of a footnote (18702.2.1/)
_NUMBER = rf"\d{{1,6}}(?:\.(?!\d{{1,2}}/)\d{{1,4}})*(?:[a-z]|{_CAPITAL})?(?![\d,]*\d|[A-Za-z]+\d)"
_SUBDIVISION = r"(?:subds?\.|subdivisions?|subsections?|subd|paragraphs?|pars?\.)"
_AND = rf"(?:,\s?(?:and|or)?\s?|\s?(?:and|or|through|thru|to)\s|\s?&\s?|\s?{DASH}\s?)"
# (a), (b) and (d); subdivision (a), paragraph (1)
_FURTHER = rf"(?:{_AND}(?:{_SUBDIVISION}\s?)?{_SUB}(?!\s(?:whether|that|if)\b))*"
SUBS = rf"{_SUB}{_FURTHER}"
# what belongs to the section after it is not the one's before: "…, subd. (b) of Section 87103"
_UNDER = (
    rf"\s?{SUBS}|,?\s?{_SUBDIVISION}\s?(?>{SUBS})(?!\s+of\s+(?:[Ss]ec|§|[Rr]eg))"
    rf"|\s?\({_SUBDIVISION}\s?{SUBS}\)"
)
_ITEM = rf"{_NUMBER}(?:{_UNDER})?"
_SEPARATOR = rf"(?:,\s?(?:and|or)?\s?|\s(?:and|or|through|thru|to)\s|\s?&\s?|\s?{DASH}\s?)(?:§\s?)?"
LIST = rf"{_ITEM}(?:{_SEPARATOR}{_ITEM})*"
SIGN = r"(?:[Ss]ections?|[Ss]ecs?\.|Secs?(?=\s)|SECTIONS?|§(?:\s?§)?)"
# to the next line, however far that is indented
GAP = r"\s?(?:(?<=\n)[ \t]+)?"
_ONE = re.compile(rf"(?P<number>{_NUMBER})(?P<subs>{_UNDER})?")
_DEEPER = re.compile(r"paragraphs?|pars?\.")
_EACH_SUB = re.compile(rf"(?P<join>{_AND}|)(?P<word>,?\s?{_SUBDIVISION})?\s?(?P<sub>{_SUB})")
_THROUGH = re.compile(rf"\s?(?:{DASH}|through|thru|to)\s?$")
_PLURAL = re.compile(
    r"[Ss]ections|SECTIONS|[Ss]ecs\b|§§|\b[Ss]s\b|[Rr]egulations|REGULATIONS|[Rr]egs\b"
    r"|[Pp]aragraphs|[Pp]aras\b|[Rr]ules|\b[Rr]r\b|[Aa]rticles|[Cc]lauses"
)
_JOIN = re.compile(rf"\s?(?:{DASH}|through|thru|to)\s?(?:§\s?)?$")


def sections(match: re.Match[str], begin: int, tail: int = 0) -> Iterator[Spanned]:
    """The sections of a list, each with its span; the first takes the words before it along, a lone
    one those after, up to `tail`."""
    text = match.string
    numbers = list(_ONE.finditer(text, *match.span("list")))
    if not _PLURAL.search(text, match.start(), match.start("list")):
        longer = _digits(numbers[1]) - _digits(numbers[0]) if _is_range(text, numbers) else 0
        if longer > 1:
            return  # "Section 4-1682" of a city's code is one number
        # "Section 85301, 500 feet" names one: others would have as many digits
        digits = {_digits(numbers[0]), _digits(numbers[0]) + longer}
        numbers = [number for number in numbers if _digits(number) in digits]
    if _is_dashed(text, numbers[0]):
        return  # "County Code section 530-2.802": a part of such a number would be another section
    named: list[Spanned] = []
    for before, number in zip([None, *numbers], numbers, strict=False):
        each = list(_one_section(number))
        if before and _JOIN.match(text[before.end() : number.start()]):
            parts, start, _ = named.pop()
            first, _, end = each[0]
            last = _complete_range_end(parts["section"], first["section"]) + first.get("sub", "")
            if "." in parts["section"] and last.isdecimal() and len(last) < 3:
                # the last piece of a number, as federal regulations have them: 1.501(c)(3)-1
                tail_of = "sub" if parts.get("sub") else "section"
                each[0] = (parts | {tail_of: f"{parts[tail_of]}-{last}"}, start, end)
            else:
                each[0] = (parts | {"to": last}, start, end)
        named += each
    for index, (parts, start, end) in enumerate(named):
        only = len(named) == 1
        yield parts, begin if index == 0 else start, max(end, tail) if only else end


def _is_range(text: str, numbers: list[re.Match[str]]) -> bool:
    if len(numbers) < 2 or numbers[0]["subs"]:
        return False
    dash = re.fullmatch(DASH, text[numbers[0].end() : numbers[1].start()])
    return dash is not None and _digits(numbers[1]) > _digits(numbers[0])


def _complete_range_end(first: str, last: str) -> str:
    """The end of a row that is written without the digits it shares: 05 of 87100-05."""
    whole = first[: -len(last)] + last
    shares = first.isdecimal() and last.isdecimal() and 1 < len(last) < len(first)
    return whole if shares and first < whole else last


def _one_section(number: re.Match[str]) -> Iterator[Spanned]:
    """A section with its subdivisions, one by one."""
    section = number["number"]
    if not number["subs"]:
        yield {"section": section}, *number.span()
        return
    at = number.start("subs")
    for index, (first, last, start, end) in enumerate(_subdivisions(number["subs"])):
        to = {"to": section + last} if last else {}
        begin = number.start() if index == 0 else at + start
        yield {"section": section, "sub": first} | to, begin, at + end


def _subdivisions(text: str) -> list[Subdivision]:
    """The subdivisions of a list such as "(a)(1)-(3) and (b)"."""
    return subdivisions(
        (squeeze(each["sub"]), _join_of(each), each.start("sub"), each.end())
        for each in _EACH_SUB.finditer(text)
    )


def _join_of(sub: re.Match[str]) -> Join:
    if _DEEPER.search(sub["word"] or ""):
        return "within"
    return "to" if _THROUGH.match(sub["join"]) else "and"


def _is_dashed(text: str, number: re.Match[str]) -> bool:
    """Whether a number is the first piece of one with a dash in it."""
    rest = re.match(rf"{DASH}(\d+)\.\d", text[number.end() : number.end() + 12])
    return rest is not None and not number["subs"] and len(rest[1]) < _digits(number)


def _digits(number: re.Match[str]) -> int:
    return len(number["number"].split(".")[0])


def squeeze(text: str) -> str:
    return "".join(text.split())


# ── citations ─────────────────────────────────────────────────────────────────────────────────────

PIECES = {
    **{"GAP": GAP, "LIST": LIST, "CODE": CODE, "SIGN": SIGN, "AFTER": AFTER, "ACT": ACT},
    **{"DATED": DATED_ACT, "BACK": BACK, "SCHEDULE": SCHEDULE},
    **{"ORDINAL": ORDINAL, "MADE": MADE},
}
# Each rule is a core and a pattern for what may stand before it.
_LEAD = (
    rf"(?:\b(?:paragraphs?\s?(?P<paragraph>{SUBS})\s+of\s+)?"
    rf"(?P<lead>(?:subdivisions?|subds?\.|subsections?)\s?{SUBS})\s+of\s+"
    r"(?:(?:Commission|FPPC)\s+)?)?"
)
_BEFORE_STATUTE = re.compile(rf"{_LEAD}(?:\b(?P<code>{SOURCE}),?\s*)?$")
_TITLE = (
    r"(?:[Tt]itle\s+(?P<title>\d+),?\s+(?:of\s+the\s+)?)?(?:(?P<title2>\d+)\s+)?"
    r"(?:Cal(?:ifornia|\.)?\s+)?"
    r"(?:Code\s+of\s+Reg(?:ulation)?s?\.?|Code\s+Regs?\.?|Adm(?:in|inistrative)?\.?\s+Code"
    r"|C\.?\s?C\.?\s?R\.?)"
    r"(?:,?\s+(?:[Tt]itle|[Tt]it\.)\s+(?P<title3>\d+))?"
    r"(?:,?\s+(?:[Dd]iv(?:ision|\.)|[Cc]h(?:apter|\.)|[Aa]rt(?:icle|\.))\s+[\d.]+)*,?\s+"
)
_BEFORE_REGULATION = re.compile(
    rf"{_LEAD}(?:\b{_TITLE}|\b(?P<of>Treas(?:ury|\.)|FEC|IRS|FCC|HUD|SEC|Federal|[Ff]ederal)\s+"
    r"|\b(?:[Tt]itle\s+(?P<title6>\d+),?\s+(?:of\s+the\s+)?)?(?:(?P<title4>\d+)\s+)?"
    r"(?:Cal(?:ifornia|\.)?\s+)?Code\s+(?:of\s+)?)?$"
)
_BEFORE_ACT = rf"(?:\b(?P<code>{ACT}),?\s*)"
_BEFORE_SECTION = {
    "statute": _BEFORE_STATUTE,
    "of an act": re.compile(rf"{_BEFORE_ACT}$"),
    "schedule": re.compile(
        rf"{_BEFORE_ACT}?(?:(?:\b[Tt]he\s+)?(?:\b(?P<ordinal>{ORDINAL})\s+)?)?$"
    ),
    "regulation": _BEFORE_REGULATION,
}
_TITLE_BEFORE = re.compile(rf"\b{_TITLE}$")
_OF_REGULATIONS = re.compile(
    r",?\s+of\s+(?:[Tt]itle\s+(?P<title>\d+)\s*,?\s+(?:of\s+)?)?(?:the\s+)?"
    r"(?:Cal(?:ifornia|\.)\s+)?(?:Code\s+of\s*)?Regulations"
)
# A letter's file number: kind of letter, year, number, and what was added to tell letters on one
# request apart.
_DIGIT = r"[\dOolISB]"
_EXTENSION = rf"(?P<ext>[a-km-zA-Z]\b|\([a-z]\))?(?P<law>{DASH}1090)?"
_FILE = (
    rf"(?P<series>[A-Z1l])(?<![A-Za-z\d].)\s?{DASH}\s?(?P<yy>(?:19|20)?(?:\d{_DIGIT}|O\d))"
    rf"\s?{DASH}\s?(?P<nn>{_DIGIT}{{2,4}}){_EXTENSION}"
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
_BEFORE_LETTER = re.compile(
    rf"(?:\b(?P<name>{NAME})\s+(?:[Ii]nformal\s+)?"
    r"(?:(?:Advice\s+)?(?:Letter|Opinion|Memorandum)s?(?:\s+\([^()]{1,30}\))?,?\s+\(?|Advice,?\s+)"
    r"|\b(?:[Ll]etters?|[Mm]emorandum|[Oo]pinion)\s+to\s+(?:(?:Mr|Ms|Mrs|Dr|Hon)\.\s+)?"
    rf"(?P<to>{NAME}),?\s+)?"
    r"(?:(?:[Oo]ur\s+)?[Ff]ile\s+|FILE\s+)?$"
)
_OPINION = (
    r"(?P<vol>[\dIl](?<!\w.)(?:(?<=\d)\d{0,2}|(?=\s+FPPC)))\s*"
    r"(?P<of>[A-Z][A-Za-z]{1,5}|F\.\s?P\.\s?P\.\s?C\.)\s+"
    r"(?:[Oo]p(?:inion|n)?s?(?:\.\s*|\s+)|(?<=FPPC\s))(?P<page>\d{1,4})(?:\s*\((?P<year2>\d{4})\))?"
)
_BEFORE_OPINION = re.compile(
    r"(?:\b(?:In\s+[Rr]e|In\s+the\s+[Mm]atter\s+of|Opinion\s+requested\s+by)\s*:?\s+"
    rf"(?P<name>{NAME})\s*,?\s*|\b(?P<called>{NAME})(?:\s+Opinion)?,?\s+(?=$|\(\d{{4}}\)))?"
    r"(?:\((?P<year>\d{4})\)\s*)?$"
)
_REPORTER = "|".join(re.sub(r"\((?!\?)", "(?:", pattern) for pattern in REPORTERS)
_CASE = rf"(?P<vol>\d(?<![\w.].)\d{{0,3}})\s+(?P<reporter>(?i:{_REPORTER}))\s*(?P<page>\d{{1,5}})\b"
_NOTHING = re.compile("$")
_BEFORE_CASE = re.compile(
    rf"(?:\b(?P<first>{NAME})(?:,\s+(?:Inc|Ltd|Co)\.)?\s+v\.\s+(?P<second>[A-Z][^()\d;]{{1,70}}?)"
    r"\s*,?\s*(?:\(\d{4}\)\s*)?)?$"
)

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
    ("case", re.compile(_CASE), _BEFORE_CASE),
)
# Of the federal tax code without its name: "a Section 501(c)(3) organization", "a 401(k) plan".
_TAX = re.compile(r"501\(c\)|401\(k\)|403\(b\)|457\(b\)|527$")
_DAY = re.compile(r"\b\d{1,2}\.\d{1,2}\.\d{4},?\s*$")  # "12.3.2021 § 45" is an item of minutes
_YEAR_OF_INSTRUMENT = re.compile(
    r"(?:Regulations\s|[Rr]egulation\s(?=\d{4}/))(?:1[6-9]|20)\d\d(?![\d(]|\.\d|-\d|\w)"
)
_POINTS = re.compile(rf",?\s+of\s+(?!the\s+Act){BACK}")
_JOINT = re.compile(r"\s?(?:[,;]|,?\s(?P<and>and|or|&))\s$")
_SMALL_SIGN = re.compile(r"sections?\s|§")
_HOUSING = re.compile(r"\s+(?:[Hh]ousing|[Vv]oucher|[Cc]ertificate|[Rr]ent|[Tt]enant|[Pp]rogram)")
_SCANNER = str.maketrans("OolISB", "001158")


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    """Every citation in the order of the rules; spans of different rules may overlap, the caller
    keeps the first."""
    found: list[Citation] = []
    rules = (((kind, before), core.finditer(text)) for kind, core, before in _RULES)
    for (kind, before), match in first_matches(text, rules):
        head = before.search(text, max(0, match.start() - _REACH), match.start())
        if head is not None:
            found += _READERS[kind](match, head, scheme)
    found = mark_opinion_numbers(text, _complete_rows(text, found, scheme))
    yield from found
    yield from pointing_back(text, found, _citation)


def _complete_rows(text: str, found: list[Citation], scheme: Scheme) -> list[Citation]:
    """Add the source that later citations of a row leave out: "Labor Code section 1720 and section
    1771", "Cal. Const., art. XII, § 7; art. XX, § 3". A capital ("Section 87103") says that the
    code of the collection continues."""
    ends = {one.end: one for one in reversed(found) if one.parts.get("code")}
    rows = []
    for one in found:
        code = one.parts.get("code", "")
        joint = _JOINT.search(text, max(0, one.start - 12), one.start)
        before = ends.get(joint.start()) if joint and one.kind == "statute" else None
        source = before.parts["code"] if before else ""
        is_article = code.startswith("art.") and "Const." in source
        is_bare = code == scheme.code and _SMALL_SIGN.match(one.text) and joint and joint["and"]
        is_bare = is_bare and not re.match(r",?\s+of\s", text[one.end : one.end + 9])
        if is_article:
            source = f"{source.partition(' art.')[0]} {code}"
        if source and (is_article or is_bare):
            parts = {"code": source} | {k: v for k, v in one.parts.items() if k != "code"}
            one = _citation(text, kind_of_source(source), parts, one.start, one.end)
            ends[one.end] = one
        rows.append(one)
    return rows


def format(kind: Kind, parts: dict[str, str]) -> str:
    return _FORMATS[kind](parts)


_citation = partial(citation_at, "en", format)


@lru_cache(maxsize=4_096)  # documents of one act have ids that begin alike
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


class _Source(NamedTuple):
    """The source of sections that a text names, and from where to where its words reach."""

    code: str
    is_named: bool
    begin: int
    tail: int


def _read_source(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> _Source | None:
    """The code or the act that is named after a section, or else before it; None where a text
    points to one and nobody can say to which."""
    groups = {key: value for key, value in match.groupdict().items() if value}
    before = head.groupdict().get("code") or ""
    begin = head.start() if head.end() == match.start() else match.start()
    for group in ("after", "beside", "later"):
        if named := groups.get(group):
            code = law_name(f"{before} of {named}" if _is_article(before, named) else named)
            return _Source(code, True, begin, match.end(group))
    if back := groups.get("back"):
        meant = "" if scheme.code else meant_by(back, match.string, match.start())
        if meant:
            return _Source(law_name(meant), True, begin, match.end("back"))
        is_open = scheme.code or back.split() == ["the", "Act"]
        return _Source(scheme.code, False, begin, 0) if is_open else None
    if before and is_act(before):
        title = title_in(before, scheme)
        code = law_name(title)
        if scheme.code and code == act_name(title):
            return _Source(scheme.code, False, match.start(), 0)  # its sections are the code's
        return _Source(code, True, head.end("code") - len(title), 0)
    if groups.get("code"):
        return _Source(law_name(groups["code"]), True, begin, 0)
    return _Source(law_name(before) if before else scheme.code, bool(before), begin, 0)


def _read_statutes(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    text = match.string
    source = _read_source(match, head, scheme)
    is_item = _DAY.search(text, max(0, match.start() - 12), match.start())
    is_open = source is None or not (source.is_named or scheme.code)
    if is_open and _POINTS.match(text, match.end("list")):
        return  # to an act, and nobody can say to which
    if source is None or NO_LAW.match(text, match.end("list")) or is_item:
        return
    title = _TITLE_BEFORE.search(text, max(0, match.start() - _REACH), match.start())
    of_title = title or _OF_REGULATIONS.match(text, match.end("list"))
    is_free = scheme.regulation and not source.is_named
    numbers = re.compile(scheme.regulation) if is_free else None
    begin = title.start() if title else source.begin
    for parts, start, end in _with_lead(sections(match, begin, source.tail), head):
        section = parts["section"]
        if of_title or (numbers and numbers.fullmatch(section.split(".")[0])):
            yield _citation(text, "regulation", _title_of_regulations(of_title) | parts, start, end)
            continue
        code = source.code
        if not source.is_named and _TAX.match(section + parts.get("sub", "")):
            code = "Int. Rev. Code"
        if section == "8" and not source.is_named and _HOUSING.match(text, end):
            continue  # a programme that goes by the number
        kind = kind_of_source(code)
        yield _citation(text, kind, ({"code": code} if code else {}) | parts, start, end)


def _read_schedules(
    match: re.Match[str], head: re.Match[str], scheme: Scheme
) -> Iterator[Citation]:
    """A paragraph of a schedule, or a schedule of an act as a whole. Where no act is named, what
    has a number and a paragraph is one of an act, unless the collection is of a code."""
    source = _read_source(match, head, scheme)
    ordinal = match.groupdict().get("ordinal") or head["ordinal"] or ""
    number = schedule_number(ordinal, match["number"] or "")
    listed = bool(match["list"])
    is_plain = listed and number != ONLY and not scheme.code
    if source is None or not (source.is_named or is_plain):
        return
    shared = ({"code": source.code} if source.is_named else {}) | {"schedule": number}
    if not listed:
        yield _citation(match.string, "statute", shared, source.begin, match.end())
        return
    for parts, start, end in sections(match, source.begin, source.tail):
        yield _citation(match.string, "statute", shared | parts, start, end)


def _is_article(before: str, after: str) -> bool:
    """An article before a section and the constitution after it are one source."""
    return bool(re.match(r"[Aa]rt|[Aa]mend", before) and re.search(r"[Cc]onst", after))


def _title_of_regulations(match: re.Match[str] | None) -> dict[str, str]:
    """The title of a code of regulations, where it is not the second, which is the usual one."""
    stated = (value for key, value in (match.groupdict() if match else {}).items() if value)
    title = next(stated, "2")
    return {"title": title} if title != "2" else {}


def _read_regulations(
    match: re.Match[str], head: re.Match[str], scheme: Scheme
) -> Iterator[Citation]:
    if _YEAR_OF_INSTRUMENT.match(match.string, match.start()):
        return  # "the Parental Leave Regulations 1999"; "Regulation (EU) 2016/679" has no such year
    groups = head.groupdict() | match.groupdict()
    of = groups.pop("of")
    titles = (value for key, value in groups.items() if value and key.startswith("title"))
    title = next(titles, "2")
    shared = {"title": title} if title != "2" else {}
    if of:
        shared = {"code": f"{'Treas.' if of.startswith('Treas') else of} Reg."}
    for parts, start, end in _with_lead(sections(match, head.start()), head):
        yield _citation(match.string, "regulation", shared | parts, start, end)


def _with_lead(sections: Iterator[Spanned], head: re.Match[str]) -> Iterator[Spanned]:
    """The subdivisions that stand before a section: "subdivisions (a) and (b) of Section 87103"."""
    lead = head.groupdict().get("lead") or ""
    for parts, start, end in sections:
        if not lead or parts.get("sub"):
            yield parts, start, end
            continue
        section, at = parts["section"], head.start("lead")
        below = [sub for sub, _, _, _ in _subdivisions(head["paragraph"] or "")] or [""]
        listed = _subdivisions(lead)
        for index, (first, last, begin, stop) in enumerate(listed):
            start = start if index == 0 else at + begin
            stop = end if index == len(listed) - 1 else at + stop
            yield (
                parts | {"sub": first + below[0]} | ({"to": section + last} if last else {}),
                start,
                stop,
            )
        lead = ""


def _read_letters(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    numbered = "old" in match.re.groupindex
    parts = letter_parts(match["old"]) if numbered else _file_parts(match)
    if parts is None:
        return
    if numbered and "series" not in parts and 30 < int(parts["year"]) < 70:
        return  # "No. 45-123" is a bill, a permit, a resolution
    near = max(0, match.start() - _NO_FILE_REACH)
    if numbered and "series" not in parts and NO_FILE.search(match.string, near, match.start()):
        return
    name = TITLES.sub("", " ".join((head["name"] or head["to"] or "").split()))
    name = name.removesuffix(" and").removesuffix(" Advice")
    citation = _citation(match.string, "letter", parts, head.start(), match.end())
    yield msgspec.structs.replace(
        citation, name=name if name[:1].isupper() and name != "Advice" else ""
    )


def _file_parts(match: re.Match[str]) -> dict[str, str] | None:
    series = {"1": "I", "l": "I"}.get(match["series"] or "", match["series"] or "")
    year, number = match["yy"].translate(_SCANNER)[-2:], match["nn"].translate(_SCANNER)
    if not (year.isdecimal() and number.isdecimal()):
        return None
    extension = (match["ext"] or "").strip("()").lower() + ("-1090" if match["law"] else "")
    parts = {"series": series, "year": year, "number": number.zfill(3), "ext": extension}
    return {key: value for key, value in parts.items() if value}


def _read_opinions(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    parts = {
        "name": _opinion_name(head),
        "year": head["year"] or match["year2"] or "",
        "volume": match["vol"].translate(_SCANNER),
        "reporter": f"{re.sub(r'[^A-Z]', '', match['of'].upper())} Ops.",
        "page": match["page"],
    }
    present = {key: value for key, value in parts.items() if value}
    yield _citation(match.string, "opinion", present, head.start(), match.end())


def _opinion_name(head: re.Match[str]) -> str:
    name = " ".join((head["name"] or head["called"] or "").split()).removesuffix(",")
    if head["called"]:
        name = re.sub(r"^(?:The |the )?Commission[’']s ", "", TITLES.sub("", name))
        name = name.removesuffix(" Opinion")
        name = "" if name in ("Commission", "Opinion", "FPPC", "See", "In") else name
    return name


def _read_cases(match: re.Match[str], head: re.Match[str], scheme: Scheme) -> Iterator[Citation]:
    parts = {
        "volume": match["vol"],
        "reporter": reporter(match["reporter"]),
        "page": match["page"],
    }
    citation = _citation(match.string, "case", parts, *match.span())
    first, second = (" ".join((head[side] or "").split()) for side in ("first", "second"))
    name = f"{TITLES.sub('', first)} v. {second}" if second else ""
    yield msgspec.structs.replace(citation, name=name)


def _print_statute(parts: dict[str, str]) -> str:
    code = f"{parts['code']} " if parts.get("code") else ""
    if schedule := parts.get("schedule"):
        number = "" if schedule == ONLY else f" {schedule}"
        unit = (
            f" para{'s' if _is_range_of_sections(parts) else ''}. " if parts.get("section") else ""
        )
        return f"{code}Sch.{number}{unit}{_print_section(parts) if unit else ''}"
    return f"{code}§{'§' if _is_range_of_sections(parts) else ''} {_print_section(parts)}"


def _print_regulation(parts: dict[str, str]) -> str:
    if parts.get("code"):
        return _print_statute(parts)
    if parts.get("title"):
        return f"{parts['title']} Cal. Code Regs. {_print_statute(parts)}"
    return f"Regulation{'s' if _is_range_of_sections(parts) else ''} {_print_section(parts)}"


def _is_range_of_sections(parts: dict[str, str]) -> bool:
    """Whether it is a row of sections, and not of subdivisions of one."""
    return bool(parts.get("to")) and not parts["to"].startswith(f"{parts['section']}(")


def _print_section(parts: dict[str, str]) -> str:
    to = f"–{parts['to']}" if parts.get("to") else ""
    if to and not _is_range_of_sections(parts):
        to = f"–{range_end(parts.get('sub', ''), parts['to'].removeprefix(parts['section']))}"
    return f"{parts['section']}{parts.get('sub', '')}{to}"


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
    "regulation": _read_regulations,
    "statute": _read_statutes,
    "of an act": _read_statutes,
    "schedule": _read_schedules,
    "letter": _read_letters,
    "opinion": _read_opinions,
    "case": _read_cases,
}
_FORMATS: dict[str, Callable[[dict[str, str]], str]] = {
    "statute": _print_statute,
    "constitution": _print_statute,
    "regulation": _print_regulation,
    "letter": _print_letter,
    "opinion": _print_opinion,
    "case": _print_case,
}


# ── numbers of Commission opinions ────────────────────────────────────────────────────────────────

OPINION = "In re"
LAST_YEAR = 84  # the Commission's later numbers begin with a letter for their kind
# what has a number like a file and is none: "Resolution No. 78-44"
NO_FILE = re.compile(
    r"(?i)\b(?:reso(?:lution|\.)|ord(?:inance|\.)|district|tract|permit|parcel|bill|measure"
    r"|contract|project|map|case|claim|invoice|account|policy|annexation|assessment)\s+$"
)
_NO_FILE_REACH = 40  # characters: the longest of these words, and blanks
_AFTER_PAGE = re.compile(
    r"(?:,?\s+(?:at\s+)?(?:pp?\.\s*)?\d+(?:-\d+)?)?\s*[,;]?\s*(?:\(\d{4}\))?\s*[,;]?\s*[(\[]?\s*"
)
_BEFORE_PAGE = re.compile(r"[,\s]*(?:[A-Z][a-z]+\.?\s+\d{1,2},?\s+\d{4})?[)\],\s]*")
_BEFORE_NUMBER = re.compile(
    rf"(?:\b[Oo]pinions?\s+requested\s+by:?\s+(?P<asked>{NAME})[^.;()]{{0,80}}"
    rf"|\b(?:(?P<named>{NAME})\s+)?Opinion(?!\s+[Rr]equest)(?:,?\s+dated\s[^.;()]{{4,30}})?)"
    r"[,\s]*[(\[]?\s*$"
)
_OPINION_WORD = re.compile(r"\bOpinion\b(?!\s+[Rr]equest)")
_OPINION_REACH = 150  # characters before a number that may name the opinion (taste)


def mark_opinion_numbers(text: str, found: list[Citation]) -> list[Citation]:
    """The citations, with the numbers of opinions marked as such."""
    opinions = [one for one in found if one.kind == "opinion"]
    starts = sorted(opinions, key=lambda opinion: opinion.start)
    ends = sorted(opinions, key=lambda opinion: opinion.end)
    return [
        _mark_opinion_number(text, one, _next_to(one, starts, ends))
        if one.kind == "letter" and "series" not in one.parts
        else one
        for one in found
    ]


def _next_to(one: Citation, starts: list[Citation], ends: list[Citation]) -> list[Citation]:
    """The last opinion that ends before a number, and the first that begins after it."""
    before = bisect_right(ends, one.start, key=lambda opinion: opinion.end)
    after = bisect_left(starts, one.end, key=lambda opinion: opinion.start)
    return [*ends[max(0, before - 1) : before], *starts[after : after + 1]]


def _mark_opinion_number(text: str, one: Citation, opinions: list[Citation]) -> Citation:
    name = _opinion_of_number(text, one, opinions)
    return one if name is None else msgspec.structs.replace(one, name=f"{OPINION} {name}".strip())


def _opinion_of_number(text: str, one: Citation, opinions: list[Citation]) -> str | None:
    """Whose opinion a number is of, "" where nobody is named; None where it is not the number of an
    opinion."""
    for other in opinions:
        before = other.end <= one.start and _AFTER_PAGE.fullmatch(text, other.end, one.start)
        after = one.end <= other.start and _BEFORE_PAGE.fullmatch(text, one.end, other.start)
        if before or after:
            return other.parts.get("name", "")
    if not 75 <= int(one.parts["year"]) <= LAST_YEAR:
        return None
    if one.name:
        return one.name if _OPINION_WORD.search(one.text) else None
    before = _BEFORE_NUMBER.search(text, max(0, one.start - _OPINION_REACH), one.start)
    if before is None:
        return "" if _OPINION_WORD.search(one.text) else None
    return TITLES.sub("", before["asked"] or before["named"] or "")


# ── citations that point back ─────────────────────────────────────────────────────────────────────

# supra, 1 FPPC Ops. at p. 203
_SUPRA = re.compile(
    r"\bsupra\b(?:,?\s+(?:\d{1,3}\s+[A-Z][A-Za-z.]*(?:\s?[\w.]+){0,3}\s+)?"
    r"at\s+(?:pp?\.\s*)?\d+(?:-\d+)?)?"
)
_BEFORE_SUPRA = re.compile(
    rf"(?:\bIn\s+re\s+)?\b(?P<name>{NAME})"
    r"(?:\s+(?:[Aa]dvice\s+)?(?:[Ll]etter|[Oo]pinion|[Mm]emorandum))?\s*[,(]?\s*$"
)
_SAME = re.compile(
    r"\b(?:Id|Ibid)\b\.?(?=[\s,;)]|$)"
    r"(?!,?\s+(?:and\s+)?(?:at\s+)?(?:§|[Ss]ec))"  # another section of the same code
    r"(?:,?\s+(?P<page>(?:at\s+(?:pp?(?:ages?|\.)?\s*)?|pp?\.\s*)(?P<number>\d{1,5}))"
    r"|,?\s+(?:at\s+)?subd(?:ivision|\.)?\s*(?P<sub>(?:\(\w{1,4}\))+))?"
)
# What shows that something else was cited before "Id.", which is not read here.
_OTHER_SOURCE = re.compile(r"\bv\.|\bsupra\b|\bOps?\.|\bCode\b|\bCal\.|\bAct\b|\bActs?,|\b\d{4}\)")
_SAME_REACH = 200  # characters from a citation to its "Id." (taste)
_LONGEST_ROW = 50  # citations between two semicolons; taste
# Parties to so many cases that nobody calls a case by them.
_ANYBODY = {"People", "State", "California", "States", "Superior", "Court", "Inc.", "Corp.", "Co."}
# A letter's own number stands at the head of its pages.
_OWN_FILE = re.compile(r"\bfile\s+n[o0]", re.IGNORECASE)
_PAGE = re.compile(r"\s*page\b", re.IGNORECASE)
_LONGEST = 150  # pages of a case or an opinion, hardly more (taste)
_SECTIONS = ("statute", "regulation", "constitution")
_ROW = re.compile(r"[\s,;]*(?:(?:and|or|&|[Ss]ee|also|[Cc]f\.)[\s,]*)*")
_OPENS = re.compile(r"(?:\(|[.?!]\)?\s+)(?:(?:[Ss]ee|also|[Cc]f\.|e\.g\.,?)\s+)*$")
_CLOSES = re.compile(r"\s*[.;)]")


def pointing_back(
    text: str, found: list[Citation], written: Callable[..., Citation]
) -> Iterator[Citation]:
    """Citations that point back to the citations found; `written` makes a citation of its parts."""
    again = list(_by_name(text, found))
    yield from again
    cited = sorted([*found, *again], key=lambda citation: citation.end)
    for match in _SAME.finditer(text) if found else ():
        meant = _authority_before(text, _citations_near(cited, match.start()), match)
        if meant is None:
            continue
        if match["sub"]:  # another part of it
            parts = {key: meant.parts[key] for key in meant.parts if key != "to"}
            parts["sub"] = match["sub"]
            yield written(text, meant.kind, parts, *match.span())
        else:
            yield _repeat_citation(text, meant, *match.span())


def _citations_near(cited: list[Citation], at: int) -> list[Citation]:
    """The citations of which the end is so near before a place that "Id." there may mean them, and
    those in one row with them; `cited` is in the order of ends."""
    first = bisect_left(cited, at - _SAME_REACH, key=lambda citation: citation.end)
    last = bisect_right(cited, at, key=lambda citation: citation.end)
    return cited[max(0, first - _LONGEST_ROW) : last]


def _authority_before(text: str, before: list[Citation], match: re.Match[str]) -> Citation | None:
    """The one authority cited right before "Id.". A page shows that it is no statute, and a
    subdivision that it is one. A section named in passing, soon after a case or an opinion, may be
    what that says and not what is cited: then nobody can say which is meant."""
    while match["page"] and before and _has_no_page(text, before[-1]):
        before = before[:-1]
    if not before:
        return None
    meant = before[-1]
    if _is_own_number(text, meant):
        return None  # the notes of the page before may stand between
    if match["sub"] and meant.kind not in _SECTIONS:
        return None
    if match["page"] and not _has_page(meant, match["number"]):
        return None
    between = text[meant.end : match.start()]
    if len(between) > _SAME_REACH or _OTHER_SOURCE.search(between):
        return None
    if any(_source(other, match) != _source(meant, match) for other in _same_row(text, before)):
        return None
    pages = [one for one in before if not _has_no_page(text, one) and _is_near(one, match)]
    is_open = meant.kind in _SECTIONS and not match["sub"] and pages
    return None if is_open and not _is_set_off(text, meant) else meant


def _is_own_number(text: str, one: Citation) -> bool:
    is_filed = _OWN_FILE.search(text, max(0, one.start - 12), one.end)
    return one.kind == "letter" and bool(is_filed or _PAGE.match(text, one.end))


def _has_no_page(text: str, one: Citation) -> bool:
    return one.kind in _SECTIONS or _is_own_number(text, one)


def _has_page(citation: Citation, page: str) -> bool:
    first = citation.parts.get("page", "1")
    return not first.isdigit() or int(first) <= int(page) <= int(first) + _LONGEST


def _is_near(citation: Citation, match: re.Match[str]) -> bool:
    return match.start() - citation.end <= _SAME_REACH


def _source(citation: Citation, match: re.Match[str]) -> object:
    """The parts that two citations must share for "Id." to mean either: with a subdivision of its
    own, the section."""
    if not match["sub"]:
        return citation.normal
    return {key: value for key, value in citation.parts.items() if key != "sub"}


def _same_row(text: str, before: list[Citation]) -> Iterator[Citation]:
    """The citations in one row with the last of these: "(Section 87100; Regulation 18702.)"."""
    for one, two in zip(before[-2::-1], before[:0:-1], strict=False):
        row = _ROW.fullmatch(text, one.end, max(one.end, two.start))
        if row is None:
            return
        # "2 FPPC Ops. 77, No. 76-005" is one opinion, by its page and its number
        if row[0].strip() != "," or one.kind in _SECTIONS or two.kind in _SECTIONS:
            yield one


def _is_set_off(text: str, citation: Citation) -> bool:
    """Whether it is cited in brackets or as a sentence of its own."""
    head = text[max(0, citation.start - _REACH) : citation.start]
    return bool(_OPENS.search(head) and _CLOSES.match(text, citation.end))


def _by_name(text: str, found: list[Citation]) -> Iterator[Citation]:
    named = [citation for citation in found if _names(citation)]
    later = sorted(named, key=lambda citation: citation.end, reverse=True)
    called: dict[str, dict[str, Citation]] = {}  # by a name and the normal form
    for match in _SUPRA.finditer(text) if named else ():
        while later and later[-1].end <= match.start():
            citation = later.pop()
            for name in _names(citation):
                called.setdefault(name, {})[citation.normal] = citation
        head = _BEFORE_SUPRA.search(text, max(0, match.start() - _REACH), match.start())
        words = TITLES.sub("", head["name"]).split() if head else []
        fitting = [called[word] for word in words if word in called]
        if head and fitting and all(len(each) == 1 for each in fitting):
            meant, *others = (citation for each in fitting for citation in each.values())
            is_one = all(other.normal == meant.normal for other in others)
            if is_one and meant.end <= head.start():
                yield _repeat_citation(text, meant, head.start("name"), match.end())


def _names(citation: Citation) -> set[str]:
    """The names of a citation: the last name of the person a letter or an opinion is about, and of
    both parties to a case."""
    if citation.kind == "case":
        parties = [party.rstrip(", ").split() for party in citation.name.split(" v. ")]
        return {party[-1] for party in parties if party} - _ANYBODY
    name = citation.name or (citation.parts.get("name", "") if citation.kind == "opinion" else "")
    return set(name.split()[-1:])


def _repeat_citation(text: str, meant: Citation, start: int, end: int) -> Citation:
    return msgspec.structs.replace(meant, text=text[start:end], start=start, end=end)
