"""Check a golden set before a run: find expectations that nothing in the corpus can meet, and
expectations that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.core.errors import InputError
from assay.core.types import Finding, GoldSet, Query
from assay.evaluation.golden.scoring import (
    Checks,
    checks_of,
    evidence_in_document,
    missing_terms,
    terms_in_other_columns,
)
from assay.law.matching import (
    EXPECTATION_KEYS,
    KnownDocument,
    PlaceKey,
    in_force,
    label,
    matches,
    one_language,
)

NO_SUCH_PLACE = ("no-such-place", "is not in the corpus")
KNOWN_KEYS = EXPECTATION_KEYS | {"evidence", "note", "notes", "section_title"}


def check_expectations(
    gold: GoldSet,
    documents: Iterable[KnownDocument] | None = None,
    *,
    file: str = "",
) -> list[Finding]:
    """Findings that a person should look at. `documents` are those of the corpus; without them only
    the set itself is checked.

    A question none of whose expected places exists can never pass: an error. One wrong place among
    more is a flag. What cannot be read at all raises InputError, with the place in `file`, from
    which the set was read."""
    corpus = _CorpusPlaces(documents) if documents is not None else None
    known = set(gold.query_ids)
    findings: list[Finding] = []
    for number, query in enumerate(gold.queries):
        if query.extra.get("parent") in known:
            continue  # variants expect what their parents do
        try:
            findings += _query_findings(query, corpus)
        except InputError as error:
            place = error.where.removeprefix(f"{query.id}: ")
            at = f"{file or gold.name}: {gold.rows_at}[{number}].{place} ({query.id})"
            raise InputError(error.message, where=at, hint=error.hint) from error
    return [*_unknown_key_findings(gold), *findings]


# for people who read the set; the last two are made by `gold perturb`
KNOWN_EXTRA = {"author", "tags", "variation_of", "parent", "perturbation"}


def _unknown_key_findings(gold: GoldSet) -> Iterator[Finding]:
    """Keys that nothing looks at, each set of them once, by the first question that has it."""
    seen: dict[str, list[Query]] = {}
    for query in gold.queries:
        kept = sorted(query.extra.keys() - KNOWN_EXTRA)
        messages = [
            f"keys that are not looked at: {', '.join(keys)}" for keys in _unknown_keys(query)
        ]
        if kept:
            messages.append(f"keys that are kept but not looked at: {', '.join(kept)}")
        for message in dict.fromkeys(messages):
            seen.setdefault(message, []).append(query)
    for message, queries in seen.items():
        more = f" ({len(queries)}×)" if len(queries) > 1 else ""  # a sign that needs no words
        yield _finding("flag", "unknown-key", queries[0], message + more)


class _CorpusPlaces:
    """The places of a corpus, by section (or page, or neither), so that a lookup reads a few of
    them."""

    def __init__(self, documents: Iterable[KnownDocument]) -> None:
        self._every = list(documents)
        self.language = one_language(self._every)
        self._by_section: dict[str, list[KnownDocument]] = {}
        self._by_page: dict[str, list[KnownDocument]] = {}
        for document in self._every:
            self._by_section.setdefault(document.place.section, []).append(document)
            self._by_page.setdefault(document.place.page, []).append(document)

    def at(self, wanted: PlaceKey) -> list[KnownDocument]:
        among = self._every
        if wanted.section:
            among = self._by_section.get(wanted.section, [])
        elif wanted.page:
            among = self._by_page.get(wanted.page, [])
        return [
            document
            for document in among
            if matches(wanted, document.place, any_version=not document.place.version)
        ]


def _query_findings(query: Query, corpus: _CorpusPlaces | None) -> Iterator[Finding]:
    checks = checks_of(query, language=corpus.language if corpus is not None else "")
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
        yield from _corpus_findings(query, checks, corpus)


def _unknown_keys(query: Query) -> Iterator[list[str]]:
    """The keys of each expectation that nothing reads."""
    for check in ("expected_any", "expected_none", "confusion"):
        stated = query.checks.get(check)
        for parts in stated if isinstance(stated, list) else ():
            if isinstance(parts, Mapping) and (unknown := sorted(set(parts) - KNOWN_KEYS)):
                yield unknown


def _corpus_findings(query: Query, checks: Checks, corpus: _CorpusPlaces) -> Iterator[Finding]:
    every = [corpus.at(place) for place in checks.expected]
    in_force_at = [
        [document for document in at if not checks.as_of or in_force(document.place, checks.as_of)]
        for at in every
    ]
    for number, (wanted, there) in enumerate(zip(checks.expected, in_force_at, strict=True)):
        name = label(wanted, in_full=True)
        if not there:
            level = "flag" if any(in_force_at) else "error"
            code, lacks = (
                ("not-in-force", f"was not in force on {checks.as_of}")
                if every[number]
                else NO_SUCH_PLACE
            )
            yield _finding(level, code, query, f"expected_any[{number}]: {name} {lacks}")
        terms = (*checks.evidence, *checks.evidence_of[number])
        found = [evidence_in_document(document) for document in there if document.text]
        gaps = [missing_terms(terms, wanted.column, each) for each in found]
        # each document of a law lacks some: together they may have all
        missing = [term for term in terms if found and all(term in gap for gap in gaps)]
        if missing:
            other = terms_in_other_columns(missing, wanted.column, found[0])
            stands = f" ({'; '.join(other)})" if other else ""
            what = f"lacks the evidence {', '.join(missing)}{stands}"
            message = f"expected_any[{number}]: the text of {name} {what}"
            yield _finding("flag", "no-such-evidence", query, message)
    for check, places in (("expected_none", checks.negatives), ("confusion", checks.traps)):
        for number, place in enumerate(places):
            if not corpus.at(place):
                message = f"{check}[{number}]: {label(place)} is not in the corpus"
                yield _finding("flag", "no-such-place", query, message)


def _finding(level: Any, code: str, query: Query, message: str) -> Finding:
    return Finding(level=level, code=code, where=query.id, message=message)
