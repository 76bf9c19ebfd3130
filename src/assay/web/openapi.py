"""The documentation of the calls, made of the route tables: `/api/openapi.json` for programs,
`/api/docs` for people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from assay.web.access import Guarded
from assay.web.shell import json, page

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{name}"


class Said(msgspec.Struct, frozen=True):
    """What a call says that was refused."""

    error: str


def document(table: Iterable[Guarded], version: str) -> Schema:
    """OpenAPI 3.1 of every call in a table; pages are left out."""
    calls = [row for row in table if row.is_api]
    used = [
        kind for row in calls for kind in (row.body, row.answer, row.query) if _has_schema(kind)
    ]
    schemas, components = msgspec.json.schema_components([*used, Said], ref_template=REFERENCE)
    shapes = iter(schemas)
    paths: dict[str, Schema] = {}
    for row in calls:
        known = {
            name: next(shapes)
            for name in ("body", "answer", "query")
            if _has_schema(getattr(row, name))
        }
        for method in row.methods:
            paths.setdefault(row.path, {})[method.lower()] = _call(row, known, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Assay", "version": version},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "assay_session"},
                "key": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _has_schema(kind: Any) -> bool:
    """A type may be one that JSON Schema cannot tell: it is documented by its summary alone."""
    try:
        msgspec.json.schema_components([kind])
    except TypeError:
        return False
    return kind is not None


def _call(row: Guarded, known: dict[str, Schema], components: dict[str, Any]) -> Schema:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _path_names(row.path)
    ]
    if "query" in known:
        shape = components[known["query"]["$ref"].rsplit("/", 1)[1]]
        parameters += [
            {"name": name, "in": "query", "required": name in shape["required"], "schema": kind}
            for name, kind in shape["properties"].items()
        ]
    answer: Schema = {"description": "Done"}
    if "answer" in known:
        answer["content"] = _content(known["answer"])
    refused = {"description": "Why not", "content": _content({"$ref": _said()})}
    call: Schema = {
        "summary": row.summary,
        "description": f"Role: {row.role}.{f' Or a key of kind {row.key}.' if row.key else ''}",
        "x-role": row.role,
        "parameters": parameters,
        "responses": {"2XX": answer, "4XX": refused},
        "security": [] if row.role == "anyone" else [{"session": []}],
    }
    if row.key:
        call["security"].append({"key": []})
    if "body" in known:
        call["requestBody"] = {"required": True, "content": _content(known["body"])}
    return call


def _content(shape: Schema) -> Schema:
    return {"application/json": {"schema": shape}}


def _said() -> str:
    return REFERENCE.format(name=Said.__name__)


def _path_names(path: str) -> list[str]:
    return re.findall(r"{(\w+)(?::\w+)?}", path)


def _document(request: Request) -> Schema:
    from assay import __version__

    return document(request.app.state.table, __version__)


def openapi(request: Request) -> Response:
    return json(_document(request))


def docs(request: Request) -> Response:
    """The same, to be read."""
    told = _document(request)
    calls = [
        (path, method, call)
        for path, methods in told["paths"].items()
        for method, call in methods.items()
    ]
    shapes = {
        name: msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()
        for name, shape in told["components"]["schemas"].items()
    }
    return page(request, "openapi.html", calls=calls, shapes=shapes, named=_named)


def _named(shape: Schema) -> str:
    """A type in a few letters: the name of a shape, or what JSON calls it."""
    if "$ref" in shape:
        return str(shape["$ref"]).rsplit("/", 1)[1]
    if shape.get("type") == "array":
        return f"[{_named(shape.get('items') or {})}]"
    if "enum" in shape:
        return " | ".join(map(str, shape["enum"]))
    if "anyOf" in shape:
        return " | ".join(_named(one) for one in shape["anyOf"])
    return str(shape.get("type", "…"))


OPENAPI_ROUTES = [
    Guarded("/api/openapi.json", openapi, ("GET",), "reader", "This documentation, for programs"),
    Guarded("/api/docs", docs, ("GET",), "reader", "This documentation, for people"),
]
