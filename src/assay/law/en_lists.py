"""Lists of sections in English citations: 87103(a), (c) and (d); 3 to 5; 87100-05."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.law.brackets import placed
from assay.law.spellings import DASH

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
Spanned = tuple[dict[str, str], int, int]  # what is named, and from where to where it stands


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
            last = _in_full(parts["section"], first["section"]) + first.get("sub", "")
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


def _in_full(first: str, last: str) -> str:
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
    for index, (first, last, start, end) in enumerate(subdivisions(number["subs"])):
        to = {"to": section + last} if last else {}
        begin = number.start() if index == 0 else at + start
        yield {"section": section, "sub": first} | to, begin, at + end


def subdivisions(text: str) -> list[tuple[str, str, int, int]]:
    """(first, last, from, to) of each subdivision in a list such as "(a)(1)-(3) and (b)"; `last` is
    empty where it is no range."""
    found: list[tuple[str, str, int, int]] = []
    for each in _EACH_SUB.finditer(text):
        sub = squeeze(each["sub"])
        if not found:
            found.append((sub, "", each.start("sub"), each.end()))
            continue
        first, last, start, _ = found[-1]
        if _DEEPER.search(each["word"] or ""):
            found[-1] = (first + sub, last, start, each.end())
            continue
        if not (meant := placed(last or first, sub)):
            break
        if _THROUGH.match(each["join"]):
            found[-1] = (first, meant, start, each.end())
        else:
            found.append((meant, "", each.start("sub"), each.end()))
    return found


def _is_dashed(text: str, number: re.Match[str]) -> bool:
    """Whether a number is the first piece of one with a dash in it."""
    rest = re.match(rf"{DASH}(\d+)\.\d", text[number.end() : number.end() + 12])
    return rest is not None and not number["subs"] and len(rest[1]) < _digits(number)


def _digits(number: re.Match[str]) -> int:
    return len(number["number"].split(".")[0])


def squeeze(text: str) -> str:
    return "".join(text.split())
