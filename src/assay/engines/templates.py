"""Templates of requests with placeholders: `{{query}}`, `{{top_k}}` and the values of a gold set's
row.

A value is written as its position requires: as JSON in a body (with quotes if the template has
none, without them inside a text), percent-encoded in an address or a form. `{{corpus or "all"}}`
has a default for rows without the value; without a default it is null in JSON and empty elsewhere.
For a query language with quoted texts, `{{json query}}` is the value as a JSON text, quotes
included, which is then written as its position requires."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote

import msgspec

from assay.core.errors import InputError
from assay.engines.secrets import filled

ROW = ("corpus", "practice_area", "language", "as_of", "filters")  # values that a row may have
PLACES = ("query", "top_k", *ROW)
_PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_INSIDE = re.compile(r"\s*(json\s+)?(\w+)(?:\s+or\s+(.+?))?\s*", re.DOTALL)

Manner = Literal["json", "url", "form"]
Values = Mapping[str, object]  # by placeholder, without values that the row does not have


class Placeholder(msgspec.Struct, frozen=True):
    """A placeholder in a template. `quoted` means that it is inside a JSON text, `twice` that the
    value is first written as a JSON text."""

    name: str
    default: str | None
    quoted: bool
    twice: bool


TemplatePart = str | Placeholder
Template = tuple[TemplatePart, ...]


def parse(text: str, manner: Manner, where: str) -> Template:
    """The parts of a template. An unknown placeholder is refused."""
    parts: list[TemplatePart] = []
    at, quoted = 0, False
    for match in _PLACE.finditer(text):
        before = text[at : match.start()]
        quoted = manner == "json" and _ends_quoted(before, quoted)
        parts += [before, _place(match[1], quoted, where)]
        at = match.end()
    return tuple(part for part in (*parts, text[at:]) if part != "")


def places(template: Template) -> set[str]:
    return {part.name for part in template if isinstance(part, Placeholder)}


def fill(template: Template, values: Values, manner: Manner) -> str:
    write = _as_json if manner == "json" else _as_url
    return "".join(part if isinstance(part, str) else write(part, values) for part in template)


def with_keys(template: Template, manner: Manner | None, where: str) -> Template:
    """The template with the secrets that its own text names (`env:NAME`), written in the manner, or
    as they are without one. The values of placeholders come from others and name no secrets."""
    spelled = _unquoted if manner == "json" else _percent if manner else str
    return tuple(
        filled(part, where, spelled) if isinstance(part, str) else part for part in template
    )


def _place(inside: str, quoted: bool, where: str) -> Placeholder:
    match = _INSIDE.fullmatch(inside)
    name = match[2] if match else inside.strip()
    if match is None or name not in PLACES:
        raise InputError(
            f"there is nothing to put in the place {{{{{inside.strip()}}}}}",
            where=where,
            hint=f"Known: {', '.join(f'{{{{{place}}}}}' for place in PLACES)}.",
        )
    return Placeholder(name, match[3], quoted, bool(match[1]))


def _ends_quoted(text: str, quoted: bool) -> bool:
    """Whether a JSON text is open at the end."""
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\" and quoted:
            escaped = True
        elif character == '"':
            quoted = not quoted
    return quoted


def _as_json(place: Placeholder, values: Values) -> str:
    if place.name not in values:
        if place.default is not None:
            return place.default.strip('"') if place.quoted else place.default
        return "" if place.quoted else "null"
    if place.quoted:
        return _unquoted(as_text(place, values))
    return _json(_json(values[place.name]) if place.twice else values[place.name])


def as_text(place: Placeholder, values: Values) -> str:
    """The value of a placeholder outside JSON."""
    value = values.get(place.name, (place.default or "").strip('"'))
    return value if isinstance(value, str) and not place.twice else _json(value)


def _as_url(place: Placeholder, values: Values) -> str:
    return _percent(as_text(place, values))


def _percent(text: str) -> str:
    return quote(text, safe="")


def _unquoted(text: str) -> str:
    return _json(text)[1:-1]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
