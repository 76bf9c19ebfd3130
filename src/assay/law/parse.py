"""Find citations in running text in any language, and print them in normal form.

Every language is a row of GRAMMARS in `law/spellings.py` and a module with `parse(text, scheme)`,
`format(kind, parts)` and `law_name(name)`. Resolving against a corpus is in
`assay.corpus.citations`; one section written in a field, and what a citation says in the same words
for all languages, in `assay.law.places`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import import_module
from typing import Protocol, cast

from assay.core.errors import InputError
from assay.law.citation import PLAIN, Citation, Kind, Scheme
from assay.law.spellings import GRAMMARS, grammar_signs

__all__ = ["PLAIN", "Citation", "Scheme", "format", "law_name", "laws_named", "parse"]


class _Module(Protocol):
    def parse(self, text: str, scheme: Scheme) -> Iterable[Citation]: ...
    def format(self, kind: Kind, parts: dict[str, str]) -> str: ...
    def law_name(self, name: str) -> str: ...


def parse(
    text: str, language: str | None = None, *, scheme: Scheme = PLAIN, first: str = ""
) -> tuple[Citation, ...]:
    """Every citation in `text`, in order. Without a language, all that the text shows signs of are
    tried, beginning with `first`: what two languages write alike ("§ 12") is read in that one. Of
    the others, one that takes in all that another reads there is meant: "3 kap. 2 §" is Swedish,
    though "2 §" is Finnish too."""
    language = language or scheme.language or None
    signs = grammar_signs()
    if language is not None and language not in signs:
        raise InputError(
            f"no citation grammar for the language {language!r}",
            hint=f"Known: {', '.join(sorted(signs))}.",
        )
    tried = [first] if first in signs else []
    tried += [name for name, sign in signs.items() if name != first and sign.search(text)]
    citations: dict[int, Citation] = {}  # by where each begins
    taken = bytearray(len(text))
    for name in [language] if language else tried:
        for citation in _module(name).parse(text, scheme):
            start, end = citation.start, citation.end
            if taken.find(1, start, end) >= 0:
                if taken.find(0, start, end) < 0:  # it reads no more than the others
                    continue
                there = _overlapping(citations, taken, start, end)
                if not all(_takes_in(citation, other, first) for other in there):
                    continue
                for other in there:
                    del citations[other.start]
            citations[start] = citation
            taken[start:end] = b"\1" * (end - start)
    return tuple(sorted(citations.values(), key=lambda citation: citation.start))


def _overlapping(
    citations: dict[int, Citation], taken: bytearray, start: int, end: int
) -> list[Citation]:
    """The citations that share a place with a new one: they begin inside it, or right before."""
    begin = start
    while begin > 0 and taken[begin - 1] and begin not in citations:
        begin -= 1
    return [citations[at] for at in range(begin, end) if at in citations]


def _takes_in(citation: Citation, other: Citation, first: str) -> bool:
    """Whether a citation stands for one of another language, all of which it reads."""
    reads_all = citation.start <= other.start and other.end <= citation.end
    return reads_all and other.language not in (citation.language, first)


def format(citation: Citation) -> str:
    """The normal form: it parses back to the same kind and parts."""
    return _module(citation.language).format(citation.kind, citation.parts)


@cache
def _module(language: str) -> _Module:
    """Loaded when it is first needed: each compiles many patterns."""
    name = next(row.module for row in GRAMMARS if row.language == language)
    return cast(_Module, import_module(name))


@lru_cache(maxsize=10_000)
def law_name(name: str) -> str:
    """A law's name in its base form, whatever the language: 'kuntalain' and 'KuntaL' are
    'kuntalaki', 'Government Code' is 'Gov. Code'."""
    for row in GRAMMARS:
        name = _module(row.language).law_name(name)
    return name


def laws_named(text: str, language: str, scheme: Scheme = PLAIN) -> list[tuple[str, int, int]]:
    """The laws by which a text asks ("kuntalain mukaan"), each with where it stands; none in a
    language that has no reader of names."""
    reader = getattr(_module(language), "laws_named", None) if language in grammar_signs() else None
    return list(reader(text, scheme)) if reader else []
