"""Redaction of queries before they are stored: names and numbers are taken out by rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from assay.core.errors import InputError
from assay.language.hebrew import LETTER, PREFIX_LETTERS
from assay.store.records import SearchLog

MAX_QUERY = 10_000  # characters of a query, or of an error, that are kept
MARGIN = 1000  # longer than anything that a rule takes out
MAX_READ = MAX_QUERY + MARGIN


class Redaction(msgspec.Struct, frozen=True):
    """Text that matches `pattern` is stored as `replacement`. The pattern is a regular expression,
    as in `re`."""

    name: str
    pattern: str
    replacement: str = ""


# Identity numbers and addresses that no legal query needs. Names are the team's own: a list is a
# rule like any other.
BUILT_IN: Mapping[str, Redaction] = {
    rule.name: rule
    for rule in (
        # From the beginning of a word, and never back into it: a long text without an @ takes one
        # pass, not one for each of its letters.
        Redaction("email", r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++", "[email]"),
        # A dash or stroke with a digit beyond it belongs to a case number; with a word beyond it,
        # to the sentence.
        Redaction("israeli-id", r"(?<!\d)(?<!\d[/-])(?:\d{9}|\d{8}-\d)(?!\d|[/-]\d)", "[id]"),
        Redaction("finnish-id", r"(?i)\b\d{6}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]\b", "[id]"),
        Redaction("us-ssn", r"\b\d{3}-\d{2}-\d{4}\b", "[id]"),
        Redaction(
            "phone",
            r"(?<!\d)(?<!\d[/-])"
            r"(?:(?:\+\d{1,3}[ -]?)?0?\d{1,3}[ -]\d{3}[ -]?\d{4}|\+\d{9,14}|0\d{8,9})"
            r"(?!\d|[/-]\d)",
            "[phone]",
        ),
    )
}


def redactor(rules: Iterable[str | Redaction]) -> Sequence[tuple[re.Pattern[str], str]]:
    """Rules by name, by value or as NAME=PATTERN, compiled. A pattern that does not compile is an
    error here, not at the first query."""
    compiled = []
    for rule in rules:
        if isinstance(rule, str) and "=" in rule:
            name, _, pattern = rule.partition("=")
            if not name.strip() or not pattern:
                raise InputError(
                    f"redaction rule {rule!r} has no name or no pattern", hint="Write NAME=PATTERN."
                )
            rule = Redaction(name.strip(), pattern)
        elif isinstance(rule, str):
            if rule not in BUILT_IN:
                known = ", ".join(BUILT_IN)
                hint = f"Known: {known}; or NAME=PATTERN, a regular expression of your own."
                raise InputError(f"no redaction rule {rule!r}", hint=hint)
            rule = BUILT_IN[rule]
        try:
            compiled.append((re.compile(rule.pattern), rule.replacement or f"[{rule.name}]"))
        except re.error as error:
            raise InputError(
                f"redaction rule {rule.name!r} is not a regular expression: {error}"
            ) from error
    return compiled


_PREFIXES = f"(?:[{PREFIX_LETTERS}]{{1,3}}[-־]?(?={LETTER}))?"


def names_rule(names: Iterable[str], name: str = "name") -> Redaction:
    """A rule for a list of names, whole words, whatever their case and however many spaces or a
    dash part them; in Hebrew also with the little words that are written together with a name
    (לדפנה, ושמדפנה)."""
    listed = sorted(
        {" ".join(name.split()) for name in names if name.strip()},
        key=lambda name: (-len(name), name),
    )
    if not listed:
        raise InputError("a list of names to redact is empty")
    written = "|".join(r"[\s־-]+".join(map(re.escape, entry.split())) for entry in listed)
    return Redaction(name, rf"(?i)(?<!\w){_PREFIXES}(?:{written})(?!\w)", f"[{name}]")


def redacted(search: SearchLog, rules: Sequence[tuple[re.Pattern[str], str]]) -> SearchLog:
    """A search as it may be stored. An error message may quote the query."""
    if not rules and max(len(search.query), len(search.error)) <= MAX_QUERY:
        return search
    query, error = _redact_and_cut(search.query, rules), _redact_and_cut(search.error, rules)
    return msgspec.structs.replace(search, query=query, error=error)


def _redact_and_cut(text: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> str:
    """Redact a text, then cut it. Of a text that was cut before, the end goes too: half an address
    may stand there, and half is not recognised."""
    clean = redact(text[:MAX_READ], rules)
    return (clean if len(text) < MAX_READ else clean[:-MARGIN])[:MAX_QUERY]


def redact(text: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(lambda _, new=replacement: new, text)  # type: ignore[misc]
    return text
