"""The value types of citations: a citation, its resolution, and the defaults of a collection
(`Scheme`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice
from typing import Literal, TypeVar, get_args

import msgspec

# A reference is an address inside Akoma Ntoso documents, `/akn/…#eId`: it stands in records and not
# in running text.
Kind = Literal["statute", "regulation", "constitution", "letter", "opinion", "case", "reference"]


class Citation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One citation: where it stands in the text, what it names, and its normal form.

    `parts` holds the pieces by name (code, law, chapter, section, sub, moment, number, name, year,
    …); `normal` is their printed form, which parses back to the same kind and parts. `name` is the
    addressee of a letter that the text names beside its number: evidence when the number is wrong,
    and no part of what the citation is."""

    text: str
    start: int
    end: int
    kind: Kind
    language: str
    normal: str
    parts: dict[str, str]
    name: str = ""


Spanned = tuple[
    dict[str, str], int, int
]  # the parts of a citation, and from where to where it stands


def citation_at(
    language: str,
    normal: Callable[[Kind, dict[str, str]], str],
    text: str,
    kind: Kind,
    parts: dict[str, str],
    start: int,
    end: int,
) -> Citation:
    """The citation that the grammar of a language has read between `start` and `end`."""
    return Citation(
        text=text[start:end],
        start=start,
        end=end,
        kind=kind,
        language=language,
        normal=normal(kind, parts),
        parts=parts,
    )


_Rule = TypeVar("_Rule")
# Places in one text (taste: several times as many as the fullest known document of law has), and
# one for every so many characters more, so that a long document is read to its end.
_ENOUGH = 5_000
_FURTHER = 250


def first_matches(
    text: str, by_rule: Iterable[tuple[_Rule, Iterable[re.Match[str]]]]
) -> list[tuple[_Rule, re.Match[str]]]:
    """The matches of rules in a text, rule by rule. A text with more of them than any document has
    is read up to the last place that is allowed, so that one made to be slow is not."""
    most = _ENOUGH + len(text) // _FURTHER
    found: list[tuple[_Rule, re.Match[str]]] = []
    for rule, matches in by_rule:
        found += ((rule, match) for match in islice(matches, most + 1))
    places = sorted({match.start() for _, match in found})  # where several rules may begin
    return [one for one in found if one[1].start() < places[most]] if len(places) > most else found


def is_all(text: str, start: int, end: int) -> bool:
    """Whether the text between `start` and `end` is all that a text says. Then a number that would
    be unsafe to read as a section in running text ("PL 21", "s. 12") is one."""
    first, last = _content_span(text)
    return start <= first and last <= end


@lru_cache(maxsize=1)  # all numbers of a text are asked about one after another
def _content_span(text: str) -> tuple[int, int]:
    """From where to where a text says something."""
    return len(text) - len(text.lstrip()), len(text.rstrip(" .,:;?!"))


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults of a collection: what a citation means when it leaves something out.

    `code` is the code that a bare "Section 1" belongs to; `regulation` a pattern of numbers that
    are regulations even when the text says "Section"; `laws` known names of laws, which settle
    where a name in running text ends."""

    language: str = ""
    code: str = ""
    regulation: str = ""
    laws: tuple[str, ...] = ()


PLAIN = Scheme()

Status = Literal["resolved", "self", "ambiguous", "missing", "no-document"]
STATUSES: tuple[Status, ...] = get_args(Status)


class Resolution(msgspec.Struct, frozen=True):
    """The outcome of resolving one citation: rows of the documents, and how they were found or why
    not."""

    status: Status
    rows: tuple[int, ...] = ()
    reason: str = ""


class Facts(msgspec.Struct):
    """The metadata of a document that the resolver reads. An importer sets those that its documents
    have."""

    numbers: tuple[str, ...] = ()
    title_numbers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    addressed_to: tuple[str, ...] = ()
    reported_at: str = ""
    commission_opinion: bool = False
    request: bool = False
    law: str = ""
    law_title: str = ""
    law_id: str = ""
    law_names: tuple[str, ...] = ()
    chapter: str = ""
    schedule: str = ""
    work: str = ""
    eId: str = ""
    case_number: str = ""
    aliases: tuple[str, ...] = ()


def resolution_of_rows(rows: list[int], rule: str) -> Resolution:
    """The resolution of rows that fit by a rule: one row is resolved, several are ambiguous."""
    if len(rows) == 1:
        return Resolution("resolved", (rows[0],), rule)
    return Resolution("ambiguous", tuple(rows), f"{len(rows)} documents fit by {rule}")
