"""The documentation of the route tables: `/api/openapi.json` for programs, `/api/docs` for people,
and the table of roles in the reference."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from assay.web.access import GET, Guarded
from assay.web.page_frame import json, page

REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")  # of a path, without what may stand there
_WHERE = re.compile(
    rf'(?<=")({re.escape(REFERENCE.format(name=""))})?assay\.(?:\w+\.)*(\w+)\.(\w+)(?=")'
)
DOORS = {
    "session": {"type": "apiKey", "in": "cookie", "name": "assay_session"},
    "key": {"type": "http", "scheme": "bearer"},
}


class CallError(msgspec.Struct, frozen=True):
    """The answer of a call that failed."""

    error: str


class Media(msgspec.Struct, frozen=True):
    schema: object


Content = dict[Literal["application/json"], Media]


class Parameter(msgspec.Struct, frozen=True, kw_only=True, rename={"place": "in"}):
    name: str
    place: Literal["path", "query"]
    required: bool
    schema: object


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    description: str
    content: Content | UnsetType = UNSET


class Sends(msgspec.Struct, frozen=True, kw_only=True):
    required: bool
    content: Content


class Call(
    msgspec.Struct, frozen=True, kw_only=True, rename={"role": "x-role", "sends": "requestBody"}
):
    summary: str
    description: str
    role: str
    parameters: list[Parameter]
    responses: dict[str, Reply]
    security: list[dict[str, list[str]]]
    sends: Sends | UnsetType = UNSET


class Info(msgspec.Struct, frozen=True):
    title: str
    version: str


class Components(msgspec.Struct, frozen=True, rename="camel"):
    schemas: dict[str, object]
    security_schemes: dict[str, dict[str, str]]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    openapi: str = "3.1.0"
    info: Info
    paths: dict[str, dict[str, Call]]
    components: Components


def document(table: Iterable[Guarded], version: str) -> Document:
    """OpenAPI 3.1 of every call in a table; pages are left out."""
    calls = [row for row in table if row.is_api]
    used = [kind for row in calls for kind in (row.body, row.answer, row.query)]
    shapes, components = _with_short_names(
        msgspec.json.schema_components(
            [*filter(_has_schema, used), CallError], ref_template=REFERENCE
        )
    )
    remaining = iter(shapes)  # in the order of `used`
    refused = shapes[-1]  # by its own name: another type may be called so too
    paths: dict[str, dict[str, Call]] = {}
    for row in calls:
        sent, answered, asked = (
            next(remaining) if _has_schema(kind) else None
            for kind in (row.body, row.answer, row.query)
        )
        call = _call(row, sent, answered, _query_parameters(asked, components), refused)
        for method in row.methods:
            paths.setdefault(_PARAMETER.sub(r"{\1}", row.path), {})[method.lower()] = call
    return Document(
        info=Info("Assay", version), paths=paths, components=Components({**components}, DOORS)
    )


def _with_short_names(schemas: Any) -> Any:
    """Types that share a name come with their place in the source. Readers get it as one word:
    ReviewItemGrade, and not assay.workbench.review.item.Grade."""

    def word(found: re.Match[str]) -> str:
        return (found[1] or "") + found[2].title().replace("_", "") + found[3]

    return msgspec.json.decode(_WHERE.sub(word, msgspec.json.encode(schemas).decode()))


def _has_schema(kind: Any) -> bool:
    """Whether JSON Schema can describe a type; one that it cannot is left out."""
    try:
        msgspec.json.schema_components([kind])
    except TypeError:
        return False
    return kind is not None


def _call(
    row: Guarded, sent: object, answered: object, asked: list[Parameter], refused: object
) -> Call:
    in_path = [
        Parameter(name=name, place="path", required=True, schema={"type": "string"})
        for name in _PARAMETER.findall(row.path)
    ]
    doors = [] if row.role == "anyone" else ["session", *(["key"] if row.key else [])]
    return Call(
        summary=row.summary,
        description=f"Role: {row.role}.{f' Or a key of kind {row.key}.' if row.key else ''}",
        role=row.role,
        parameters=in_path + asked,
        responses={
            "2XX": Reply(description="Done", content=_content(answered) if answered else UNSET),
            "4XX": Reply(description="Why not", content=_content(refused)),
        },
        security=[{door: []} for door in doors],
        sends=Sends(required=True, content=_content(sent)) if sent else UNSET,
    )


def _query_parameters(reference: Any, components: Any) -> list[Parameter]:
    """The fields of a query string."""
    if reference is None:
        return []
    shape = components[reference["$ref"].rsplit("/", 1)[1]]
    return [
        Parameter(name=name, place="query", required=name in shape["required"], schema=kind)
        for name, kind in shape["properties"].items()
    ]


def _content(shape: object) -> Content:
    return {"application/json": Media(shape)}


def describe(app: Starlette) -> Document:
    """Made once: the table of a server does not change."""
    from assay import __version__

    state = app.state
    if not hasattr(state, "openapi"):
        state.openapi = document(state.table, __version__)
    described: Document = state.openapi
    return described


def openapi(request: Request) -> Response:
    return json(describe(request.app))


def docs(request: Request) -> Response:
    """The page that documents the calls."""
    described = describe(request.app)
    calls = [
        (path, method, call, _shape_of(call.sends), _shape_of(call.responses["2XX"]))
        for path, methods in described.paths.items()
        for method, call in methods.items()
    ]
    shapes = {
        name: msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()
        for name, shape in described.components.schemas.items()
    }
    return page(request, "openapi.html", calls=calls, shapes=shapes, named=type_name)


def _shape_of(part: Sends | Reply | UnsetType) -> str:
    if isinstance(part, UnsetType) or isinstance(part.content, UnsetType):
        return ""
    return type_name(part.content["application/json"].schema)


def type_name(shape: object) -> str:
    """A type in a few letters: the name of a shape, or what JSON calls it."""
    if not isinstance(shape, dict):
        return "…"
    if "$ref" in shape:
        return str(shape["$ref"]).rsplit("/", 1)[1]
    if shape.get("type") == "array":
        return f"[{type_name(shape.get('items'))}]"
    if "enum" in shape:
        return " | ".join(map(str, shape["enum"]))
    if "anyOf" in shape:
        return " | ".join(type_name(one) for one in shape["anyOf"])
    return str(shape.get("type", "…"))


def role_table(table: Iterable[Guarded]) -> str:
    """A Markdown table of the lowest role for each page and call, narrow enough for a phone."""
    lines = ["| who | call |", "|---|---|"]
    for row in table:
        who = f"{row.key} key, {row.role}" if row.key else row.role
        lines.append(f"| {who} | `{'/'.join(row.methods)} {row.path}`<br>{row.summary} |")
    return "\n".join(lines) + "\n"


OPENAPI_ROUTES = [
    Guarded("/api/openapi.json", openapi, GET, "reader", "This documentation, for programs"),
    Guarded("/api/docs", docs, GET, "reader", "This documentation, for people"),
]
