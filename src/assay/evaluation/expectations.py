"""Looking at a golden set before a run: expectations that nothing in the corpus can meet, and ones
that fight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.core.errors import InputError
from assay.core.types import Finding, GoldSet, Locator, Query
from assay.evaluation.golden_checks import checks_of
from assay.language.terms import contains_term
from assay.law.matching import (
    EXPECTATION_KEYS,
    Fields,
    Place,
    in_force,
    label,
    matches,
    place_of,
)

NO_SUCH_PLACE = ("no-such-place", "is not in the corpus")
KNOWN_KEYS = EXPECTATION_KEYS | {"evidence", "note", "notes", "section_title"}


def check_expectations(
    gold: GoldSet,
    known_locators: Iterable[Fields | Locator] | None = None,
    *,
    file: str = "",
) -> list[Finding]:
    """What a person should look at. `known_locators` are the places of the corpus, as mappings
    (law, section, moment, doc_id, page, table, and `text` to check evidence) or Locators; without
    them only the set itself is looked at.

    A question none of whose expected places exists can never pass: an error. One wrong place among
    more is a flag. What cannot be read at all raises InputError, with the place in `file`, from
    which the set was read."""
    corpus = _Corpus(known_locators) if known_locators is not None else None
    known = set(gold.query_ids)
    findings: list[Finding] = []
    for number, query in enumerate(gold.queries):
        if query.extra.get("parent") in known:
            continue  # variants expect what their parents do
        try:
            findings += _findings(query, corpus)
        except InputError as error:
            place = error.where.removeprefix(f"{query.id}: ")
            at = f"{file or gold.name}: $[{number}].{place} ({query.id})"
            raise InputError(error.message, where=at, hint=error.hint) from error
    return findings


class _Corpus:
    """The places of a corpus, by section (or page, or neither), so that a lookup reads a few of
    them."""

    def __init__(self, locators: Iterable[Fields | Locator]) -> None:
        self._places: dict[str, list[tuple[Place, str]]] = {}
        self._every: list[tuple[Place, str]] = []
        for parts in locators:
            place = place_of(parts)
            text = "" if isinstance(parts, Locator) else str(parts.get("text") or "")
            self._every.append((place, text))
            self._places.setdefault(place.section, []).append((place, text))

    def at(self, wanted: Place) -> list[tuple[Place, str]]:
        among = self._places.get(wanted.section, []) if wanted.section else self._every
        return [
            (place, text)
            for place, text in among
            if matches(wanted, place, any_version=not place.version)
        ]


def _findings(query: Query, corpus: _Corpus | None) -> Iterator[Finding]:
    checks = checks_of(query)
    expected = list(query.checks.get("expected_any") or ())
    for where, parts in _stated(query):
        if unknown := sorted(set(parts) - KNOWN_KEYS):
            yield _finding(
                "flag",
                "unknown-key",
                query,
                f"{where}: keys that are not looked at: {', '.join(unknown)}",
            )
    if query.extra.keys() - {"parent", "perturbation"}:
        names = ", ".join(sorted(query.extra.keys() - {"parent", "perturbation"}))
        yield _finding(
            "flag", "unknown-key", query, f"keys that are kept but not looked at: {names}"
        )
    if not (checks.expected or checks.negatives or checks.must_abstain or checks.traps):
        yield _finding(
            "flag", "nothing-expected", query, "nothing is expected, so the question can never pass"
        )
    elif checks.wrong_law_fails and not (
        checks.expected and all(place.names_law for place in checks.expected)
    ):
        message = (
            "confusion is true, but not every expectation names its law, so no law is the wrong one"
        )
        yield _finding("flag", "no-law", query, message)
    if checks.must_abstain and checks.expected:
        yield _finding(
            "flag",
            "contradiction",
            query,
            "must_abstain stands beside expected_any; abstaining is what counts",
        )
    both = [
        place
        for place in checks.expected
        if any(matches(negative, place) for negative in checks.negatives)
    ]
    for place in both:
        yield _finding(
            "flag", "contradiction", query, f"{label(place)} is both expected and a hard negative"
        )
    if corpus is not None:
        yield from _against_corpus(query, expected, corpus)


def _stated(query: Query) -> Iterator[tuple[str, Fields]]:
    for check in ("expected_any", "expected_none", "confusion"):
        stated = query.checks.get(check)
        for number, parts in enumerate(stated if isinstance(stated, list) else ()):
            if isinstance(parts, Mapping):
                yield f"{check}[{number}]", parts


def _against_corpus(query: Query, expected: list[Fields], corpus: _Corpus) -> Iterator[Finding]:
    checks = checks_of(query)
    every = [corpus.at(place) for place in checks.expected]
    in_force_at = [
        [there for there in at if not checks.as_of or in_force(there[0], checks.as_of)]
        for at in every
    ]
    for number, (parts, there) in enumerate(zip(expected, in_force_at, strict=True)):
        if not there:
            level = "flag" if any(in_force_at) else "error"
            code, lacks = (
                ("not-in-force", f"was not in force on {checks.as_of}")
                if every[number]
                else NO_SUCH_PLACE
            )
            yield _finding(level, code, query, f"expected_any[{number}]: {label(parts)} {lacks}")
        terms = (*checks.evidence, *checks.evidence_of[number])
        texts = [text for _, text in there if text]
        missing = [
            term for term in terms if texts and not any(contains_term(text, term) for text in texts)
        ]
        if missing:
            lacking = f"lacks the evidence {', '.join(missing)}"
            message = f"expected_any[{number}]: the text of {label(parts)} {lacking}"
            yield _finding("flag", "no-such-evidence", query, message)
    for check, places in (("expected_none", checks.negatives), ("confusion", checks.traps)):
        for number, place in enumerate(places):
            if not corpus.at(place):
                message = f"{check}[{number}]: {label(place)} is not in the corpus"
                yield _finding("flag", "no-such-place", query, message)


def _finding(level: Any, code: str, query: Query, message: str) -> Finding:
    return Finding(level=level, code=code, where=query.id, message=message)
