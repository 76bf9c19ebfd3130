"""The table of an HTTP engine: its keys, its mistakes, the presets, which are tables with the same
keys, and the templates of requests.

A template has placeholders: `{{query}}`, `{{top_k}}` and the values of a gold set's row. A value is
written as its position requires: as JSON in a body (with quotes if the template has none, without
them inside a text), percent-encoded in an address or a form. `{{corpus or "all"}}` has a default
for rows without the value; without a default it is null in JSON and empty elsewhere. For a query
language with quoted texts, `{{json query}}` is the value as a JSON text, quotes included, which is
then written as its position requires."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.engines.engine_table import ROW
from assay.engines.secrets import secret_names, with_secrets

METHODS = ("GET", "POST", "PUT")
# names of headers and parameters that hold a secret
SECRET_HEADER = re.compile(
    r".*(auth(?!ors?\b)|api-?key|-key|token|secret|pass(word|phrase)|credential|signature|cookie).*"
)
SECRET_PARAM = re.compile(
    r"(x-)?(api|subscription|access|auth)?[-_]?(key|token)|password|secret|sig(nature)?"
)
SECRET_IN_BODY = re.compile(r"(api|subscription|access|auth)[-_]?(key|token)|password")
_PLAIN = re.compile(r"[!-~]*")  # characters of an address
FORM = "application/x-www-form-urlencoded"
SAMPLE_VALUES = {
    "query": 'a "query"',
    "top_k": 10,
    "corpus": "c",
    "practice_area": "p",
    "language": "en",
    "as_of": "2024-01-01",
    "filters": {"court": "s"},
}


class HttpTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a table. `http` is the address and `body` the request, both with placeholders;
    `params` are added to the address. `hits` finds the list of hits; `id`, `score`, `title` and
    `text` are found in each hit. What `error` finds is an error, even if the status is good.
    `login` is a user and a password (`env:NAME` for USER:PASSWORD), `ca` a file of certificates to
    trust."""

    http: str = ""
    preset: str = ""
    method: str = ""
    body: str = ""
    params: dict[str, str] = {}
    headers: dict[str, str] = {}
    hits: str = ""
    id: str = ""
    score: str = ""
    title: str = ""
    text: str = ""
    error: str = ""
    login: str = ""
    ca: str = ""
    parameters: dict[str, Any] = {}  # more placeholders, with their values
    example: str = ""  # of a preset: an address, for who has given none


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """A preset to show: the keys of its table, and the variables that it reads."""

    name: str
    example: str
    environment: str
    table: dict[str, object]


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """The templates and expressions of a table."""

    url: Template
    body: Template
    params: tuple[tuple[str, Template], ...]
    hits: Any
    id: Any
    score: Any
    title: Any
    text: Any
    error: Any


@cache
def presets() -> dict[str, HttpTable]:
    file = resources.files("assay.engines").joinpath("presets.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {name: msgspec.convert(table, thread_safe(HttpTable)) for name, table in tables.items()}


def complete(table: HttpTable) -> HttpTable:
    """The table with the values of its preset for keys that it lacks, and defaults for the rest.
    Headers and parameters are replaced one by one; an empty one is left out."""
    preset = presets()[table.preset] if table.preset else HttpTable()
    fields: dict[str, Any] = {
        name: getattr(table, name) or getattr(preset, name) for name in table.__struct_fields__
    }
    fields["headers"] = _merge_headers(preset.headers, table.headers)
    fields["params"] = preset.params | table.params
    fields["params"] = {name: value for name, value in fields["params"].items() if value}
    fields["method"] = (fields["method"] or ("POST" if fields["body"] else "GET")).upper()
    fields["hits"] = fields["hits"] or "@"
    fields["id"] = fields["id"] or "id"
    return HttpTable(**fields)


def _merge_headers(below: dict[str, str], above: dict[str, str]) -> dict[str, str]:
    """The headers of both, those of `above` first; their names ignore case."""
    named = {name.lower() for name in above}
    kept = {name: value for name, value in below.items() if name.lower() not in named}
    return {name: value for name, value in (kept | above).items() if value}


def form_like(table: HttpTable) -> bool:
    types = [value for name, value in table.headers.items() if name.lower() == "content-type"]
    return bool(types) and types[0].lower().startswith(FORM)


def pattern_of(table: HttpTable, where: str) -> Pattern:
    """The templates and expressions of a complete table."""
    more = tuple(table.parameters)
    return Pattern(
        url=parse(table.http, "url", f"{where}.http", more),
        body=parse(table.body, "form" if form_like(table) else "json", f"{where}.body", more),
        params=tuple(
            (name, parse(value, "url", f"{where}.params.{name}", more))
            for name, value in table.params.items()
        ),
        **{
            name: _expression(getattr(table, name), f"{where}.{name}")
            for name in ("hits", "id", "score", "title", "text", "error")
        },
    )


def _expression(text: str, where: str) -> Any:
    import jmespath
    from jmespath.exceptions import JMESPathError

    if not text:
        return None
    try:
        return jmespath.compile(text)
    except JMESPathError as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"{text!r} is not a JMESPath expression: {said}",
            where=where,
            hint="A name with other characters is quoted, as in '\"@search.score\"'.",
        ) from None


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────


def mistake(table: HttpTable) -> tuple[str, str]:
    """(key, what is wrong with it) of the first mistake, or two empty texts."""
    if table.preset and table.preset not in presets():
        return "preset", f"there is no preset {table.preset!r}: {', '.join(presets())}"
    if table.example:
        return "example", "an example is for presets alone"
    return next(_mistakes(complete(table)), ("", ""))


def _mistakes(table: HttpTable) -> Iterator[tuple[str, str]]:
    if not table.http:
        yield "http", f'say where it is, as in http = "{table.example or "http://127.0.0.1:9200/"}"'
    yield from _address_mistakes(table.http)
    if table.method not in METHODS:
        yield "method", f"the method is one of {', '.join(METHODS)}, not {table.method!r}"
    if table.body and table.method == "GET":
        yield "method", "a GET has no body: use POST, or put the query in the address"
    for name, value in table.headers.items():
        if SECRET_HEADER.fullmatch(name.lower()) and not secret_names(value):
            yield f"headers.{name}", _NAME_IT
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            yield f"headers.{name}", "this cannot be the name of a header"
    for name, value in table.params.items():
        if SECRET_PARAM.fullmatch(name.lower()) and not secret_names(value):
            yield f"params.{name}", _NAME_IT
    if table.login and not secret_names(table.login):
        yield "login", _NAME_IT
    try:
        pattern = pattern_of(table, "")
    except InputError as error:
        yield error.where.strip("."), f"{error.message}. {error.hint}"
        return
    asked = places(pattern.url) | places(pattern.body)
    asked |= {name for _, template in pattern.params for name in places(template)}
    if "query" not in asked:
        yield "body", "nothing asks the query: write {{query}} where it goes"
    if pattern.body and not form_like(table):
        yield from _body_mistakes(pattern.body, table.parameters)


_NAME_IT = "a key does not belong in a file: put it in the environment and write env:NAME here"


def _address_mistakes(url: str) -> Iterator[tuple[str, str]]:
    try:
        split = urlsplit(url)
        port_is_good = split.port is None or split.port > 0
    except ValueError:
        port_is_good = False
        split = urlsplit("")
    if split.scheme not in ("http", "https") or not split.hostname or not port_is_good:
        yield "http", "expected an address that begins with http:// or https://"
    elif split.username is not None:
        yield (
            "http",
            'a password does not belong in a file: use login = "env:NAME", with USER:PASSWORD in '
            "the environment",
        )
    elif any(f"{{{{{place}" in split.netloc for place in PLACES):
        yield "http", "the host cannot depend on the query: use corpora for several services"
    elif not _PLAIN.fullmatch(re.sub(r"\{\{.*?\}\}", "", url)):
        yield "http", "the address has characters that must be percent-encoded"
    for name, value in parse_qsl(split.query):
        if SECRET_PARAM.fullmatch(name.lower()) and not secret_names(value) and "{{" not in value:
            yield "http", f"{name}: {_NAME_IT}"


def _body_mistakes(body: Template, parameters: Values) -> Iterator[tuple[str, str]]:
    for values in (SAMPLE_VALUES, {"query": "a", "top_k": 1}):  # a row may know nothing more
        text = fill(body, {**parameters, **values}, "json")
        try:
            written = msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            yield "body", f"with the places filled it is not JSON ({error}): {text[:120]}"
            return
    for name in _keys_written_in(written):
        yield "body", f"{name}: {_NAME_IT}"


def _keys_written_in(value: Any) -> Iterator[str]:
    """The names in a body whose value is a key itself, and not the name of one."""
    if isinstance(value, list):
        for each in value:
            yield from _keys_written_in(each)
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(inner, str):
                yield from _keys_written_in(inner)
            elif SECRET_IN_BODY.fullmatch(name.lower()) and inner and not secret_names(inner):
                yield name


# ── templates ─────────────────────────────────────────────────────────────────────────────────────


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


def parse(text: str, manner: Manner, where: str, more: tuple[str, ...] = ()) -> Template:
    """The parts of a template; `more` are placeholders of the table's own. An unknown one is
    refused."""
    parts: list[TemplatePart] = []
    at, quoted = 0, False
    for match in _PLACE.finditer(text):
        before = text[at : match.start()]
        quoted = manner == "json" and _ends_quoted(before, quoted)
        parts += [before, _parse_placeholder(match[1], quoted, where, more)]
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
    spelled = _drop_quotes if manner == "json" else _percent if manner else str
    return tuple(
        with_secrets(part, where, spelled) if isinstance(part, str) else part for part in template
    )


def _parse_placeholder(inside: str, quoted: bool, where: str, more: tuple[str, ...]) -> Placeholder:
    match = _INSIDE.fullmatch(inside)
    name = match[2] if match else inside.strip()
    if match is None or name not in (*PLACES, *more):
        known = ", ".join(f"{{{{{place}}}}}" for place in (*PLACES, *more))
        raise InputError(
            f"there is no value for {{{{{inside.strip()}}}}}",
            where=where,
            hint=f"Known: {known}. Your own are listed under parameters, with their values.",
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
        return _drop_quotes(as_text(place, values))
    return _json(_json(values[place.name]) if place.twice else values[place.name])


def as_text(place: Placeholder, values: Values) -> str:
    """The value of a placeholder outside JSON."""
    value = values.get(place.name, (place.default or "").strip('"'))
    return value if isinstance(value, str) and not place.twice else _json(value)


def _as_url(place: Placeholder, values: Values) -> str:
    return _percent(as_text(place, values))


def _percent(text: str) -> str:
    return quote(text, safe="")


def _drop_quotes(text: str) -> str:
    return _json(text)[1:-1]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
