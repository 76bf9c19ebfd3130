"""Resolve English citations that point back: "Thorner, supra" and "Id." mean the authority cited
before under that name, or immediately before. Where the authority is not certain, nothing is
resolved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from assay.law.citation import Citation

NAME = (
    r"[A-Z][A-Za-z’'.]*[a-z](?:[- ](?:[A-Z][A-Za-z’'.]*[a-z]|[A-Z]\.|and|&|de|la|van|von|der)){0,4}"
)
TITLES = re.compile(r"^(?:(?:In|See|The|the|Also|also|Our|and|our|Cf\.)\s+)+")
_REACH = 90  # how far back a name may begin
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
_SAME_REACH = 200
# Parties to so many cases that nobody calls a case by them.
_ANYBODY = {"People", "State", "California", "States", "Superior", "Court", "Inc.", "Corp.", "Co."}
# A letter's own number stands at the head of its pages.
_FILE = re.compile(r"\bfile\s+n[o0]", re.IGNORECASE)
_PAGE = re.compile(r"\s*page\b", re.IGNORECASE)
_LONGEST = 150  # pages of a case or an opinion, hardly more
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
        before = [citation for citation in cited if citation.end <= match.start()]
        meant = _meant(text, before, match)
        if meant is None:
            continue
        if match["sub"]:  # another part of it
            parts = {key: meant.parts[key] for key in meant.parts if key != "to"}
            parts["sub"] = match["sub"]
            yield written(text, meant.kind, parts, *match.span())
        else:
            yield _again(text, meant, *match.span())


def _meant(text: str, before: list[Citation], match: re.Match[str]) -> Citation | None:
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
    if any(_source(other, match) != _source(meant, match) for other in _beside(text, before)):
        return None
    pages = [one for one in before if not _has_no_page(text, one) and _is_near(one, match)]
    is_open = meant.kind in _SECTIONS and not match["sub"] and pages
    return None if is_open and not _is_set_off(text, meant) else meant


def _is_own_number(text: str, one: Citation) -> bool:
    is_filed = _FILE.search(text, max(0, one.start - 12), one.end)
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


def _beside(text: str, before: list[Citation]) -> Iterator[Citation]:
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
    head, tail = text[max(0, citation.start - _REACH) : citation.start], text[citation.end :]
    return bool(_OPENS.search(head) and _CLOSES.match(tail))


def _by_name(text: str, found: list[Citation]) -> Iterator[Citation]:
    named = [(citation, names) for citation in found if (names := _names(citation))]
    for match in _SUPRA.finditer(text) if named else ():
        head = _BEFORE_SUPRA.search(text, max(0, match.start() - _REACH), match.start())
        words = set(TITLES.sub("", head["name"]).split()) if head else set()
        fitting = {
            citation.normal: citation
            for citation, names in named
            if citation.end <= match.start() and words & names
        }
        if head and len(fitting) == 1:
            (meant,) = fitting.values()
            if meant.end <= head.start():
                yield _again(text, meant, head.start("name"), match.end())


def _names(citation: Citation) -> set[str]:
    """The names of a citation: the last name of the person a letter or an opinion is about, and of
    both parties to a case."""
    if citation.kind == "case":
        parties = [party.rstrip(", ").split() for party in citation.name.split(" v. ")]
        return {party[-1] for party in parties if party} - _ANYBODY
    name = citation.name or (citation.parts.get("name", "") if citation.kind == "opinion" else "")
    return set(name.split()[-1:])


def _again(text: str, meant: Citation, start: int, end: int) -> Citation:
    return msgspec.structs.replace(meant, text=text[start:end], start=start, end=end)
