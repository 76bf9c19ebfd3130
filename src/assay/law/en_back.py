"""English citations that point back: "Thorner, supra" and "Id." mean what was cited before under
that name, or right before. Where that is not plain, they mean nothing."""

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
    r"\b(?:Id|Ibid)\b\.?(?=[\s,;)])(?:,?\s+at\s+pp?(?:ages?|\.)?\s*\d+"
    r"|,?\s+(?:at\s+)?subd(?:ivision|\.)?\s*(?P<sub>(?:\(\w{1,4}\))+))?"
)
# What shows that something else was cited before "Id.", which is not read here.
_OTHER_SOURCE = re.compile(r"\bv\.|\bsupra\b|\bOps?\.|\bCode\b|\bCal\.|\bAct\b|\bActs?,|\b\d{4}\)")
_SAME_REACH = 200
# Parties to so many cases that nobody calls a case by them.
_ANYBODY = {"People", "State", "California", "States", "Superior", "Court", "Inc.", "Corp.", "Co."}
_PAGED = ("letter", "opinion", "case")


def pointing_back(
    text: str, found: list[Citation], written: Callable[..., Citation]
) -> Iterator[Citation]:
    """What points back to the citations found; `written` makes a citation of its parts."""
    again = list(_by_name(text, found))
    yield from again
    starts = sorted([*found, *again], key=lambda citation: citation.end)
    for match in _SAME.finditer(text) if found else ():
        before = [citation for citation in starts if citation.end <= match.start()][-1:]
        for meant in before:
            between = text[meant.end : match.start()]
            if " at " in match[0] and meant.kind not in _PAGED:
                continue  # a statute has no pages
            if len(between) <= _SAME_REACH and not _OTHER_SOURCE.search(between):
                if match["sub"] and meant.kind in ("statute", "regulation"):  # another part of it
                    parts = {key: meant.parts[key] for key in meant.parts if key != "to"}
                    parts["sub"] = match["sub"]
                    yield written(text, meant.kind, parts, *match.span())
                else:
                    yield _again(text, meant, *match.span())


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
    """What a citation is called by: the last name of who a letter or an opinion is about, and of
    both parties to a case."""
    if citation.kind == "case":
        parties = [party.rstrip(", ").split() for party in citation.name.split(" v. ")]
        return {party[-1] for party in parties if party} - _ANYBODY
    name = citation.name or (citation.parts.get("name", "") if citation.kind == "opinion" else "")
    return set(name.split()[-1:])


def _again(text: str, meant: Citation, start: int, end: int) -> Citation:
    return msgspec.structs.replace(meant, text=text[start:end], start=start, end=end)
